// Chebyshev polynomials at a point, the basis of a black-box expansion.

// The place of a product of polynomials of these degrees: by total degree, and in it by the degrees along x and y, which fall.
PF int place_of(const int x, const int y, const int z)
{
    const int degree = x + y + z, rest = degree - x;
    return degree * (degree + 1) * (degree + 2) / 6 + rest * (rest + 1) / 2 + rest - y;
}

// Calls `take(place, value)` for every product of polynomials at a point up to the total degree ORDER, times `start`.
template <class Take> PF void polynomials(const Real x, const Real y, const Real z, const Real start, const Take take)
{
    // Places are in units of a cell's edge, the polynomials' arguments in halves of it.
    const Real at[3] = {2 * x, 2 * y, 2 * z};
    Real t[3][ORDER + 1];
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        t[axis][0] = 1;
        t[axis][1] = at[axis];
#pragma unroll
        for (int n = 2; n <= ORDER; n++)
            t[axis][n] = 2 * at[axis] * t[axis][n - 1] - t[axis][n - 2];
    }
#pragma unroll
    for (int a = 0; a <= ORDER; a++) {
        const Real along_x = start * t[0][a];
#pragma unroll
        for (int b = 0; b <= ORDER - a; b++) {
            const Real along_xy = along_x * t[1][b];
#pragma unroll
            for (int c = 0; c <= ORDER - a - b; c++)
                take(place_of(a, b, c), along_xy * t[2][c]);
        }
    }
}
