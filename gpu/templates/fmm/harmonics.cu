// Regular real solid harmonics at a point.

// Calls `take(place, value)` for every regular harmonic at a point, times `start`; up to order 10 places are known when this is compiled.
template <class Take> PF void harmonics(const Real x, const Real y, const Real z, const Real start, const Take take)
{
    const Real r2 = x * x + y * y + z * z;
    Real c = start, s = 0;
    int step = 0;
#pragma unroll UNROLL_TERMS
    for (int m = 0; m <= ORDER; m++) {
        if (m > 0) {
            const Real next = (x * c - y * s) * SECTORS[m];
            s = (x * s + y * c) * SECTORS[m];
            c = next;
        }
        Real last[2] = {c, s}, before[2] = {0, 0};
#pragma unroll UNROLL_TERMS
        for (int n = m; n <= ORDER; n++) {
            if (n > m) {
                const Real up = STEPS[step][0] * z, two = STEPS[step][1] * r2;
                step++;
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    const Real next = up * last[k] + two * before[k];
                    before[k] = last[k];
                    last[k] = next;
                }
            }
            const int place = n * n + (m > 0 ? 2 * m - 1 : 0);
            take(place, last[0]);
            if (m > 0)
                take(place + 1, last[1]);
        }
    }
}
