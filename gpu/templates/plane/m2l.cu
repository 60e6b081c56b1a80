// M2L of all levels by Algorithm 3.6, with the corrections that it needs (docs/fmm2.md): two threads have a shift, one the real
// and one the imaginary parts, which meet only in the scaling before and after the triangles of sums.

#define SHIFTS 8                // of a box at a time

// The next power of w. Both parts are kept: a thread has those of (-i)^h w^j or of its conjugate, so that the real part alone is
// what it wants.
struct Powers {
    Complex now, step;
    PF_INLINE void next() { now = now * step; }
};

extern "C" __global__ void __launch_bounds__(128) m2l(const Problem p, const uint32_t boxes)
{
    const uint32_t lane = threadIdx.x % (2 * SHIFTS), box = blockIdx.x * (128 / (2 * SHIFTS)) + threadIdx.x / (2 * SHIFTS);
    const uint32_t part = lane % 2;
    const List list = box < boxes ? p.weak[box] : List{0, 0};
    const uint32_t mine = list.count;
    // The two boxes of a warp go on together, since they exchange values.
    const uint32_t other = __shfl_xor_sync(~0u, mine, 16), most = mine > other ? mine : other;
    const double unit = box < boxes ? p.unit[box] : 1, log_length = p.frame->log_length;
    double sums[TERMS] = {};
    for (uint32_t first = 0; first < most; first += SHIFTS) {
        const uint32_t at = first + lane / 2;
        const bool is_there = at < mine;
        const uint32_t from = is_there ? p.items[0][list.start + at] : 0;
        const double *const m = p.m + (uint64_t)from * STRIDE;
        Complex r = {1, 0};
        if (is_there)
            r = {p.centre_x[from] - p.centre_x[box], p.centre_y[from] - p.centre_y[box]};
        const Complex inverted = inverse(r);
        const double factor = is_there ? 1 : 0;
        double b[TERMS];
        // b_{j-1} := a_j (-1 / r)^j
        Powers w;
        w.step = -p.unit[from] * inverted;
        w.now = part ? Complex{factor * w.step.im, -factor * w.step.re} : factor * w.step;
#pragma unroll
        for (int j = 1; j <= ORDER; j++) {
            b[j - 1] = m[j] * w.now.re - m[TERMS + j] * w.now.im;
            w.next();
        }
        b[ORDER] = 0;
#pragma unroll
        for (int k = 2; k <= ORDER; k++)
#pragma unroll
            for (int j = ORDER - k; j <= ORDER - 2; j++)
                b[j] += b[j + 1];
#pragma unroll
        for (int k = ORDER; k >= 1; k--)
#pragma unroll
            for (int j = k; j <= ORDER; j++)
                b[j] += b[j - 1];
#if LOG
        const double a0 = factor * m[part * TERMS];
        sums[0] += b[0] + a0 * (0.5 * log(r.re * r.re + r.im * r.im) + log_length);
#else
        sums[0] += b[0];
#endif
        // b_j := (b_j - a_0 / j) / r^j
        w.step = unit * inverted;
        if (part == 0)
            w.step.im = -w.step.im;
        w.now = w.step;
#pragma unroll
        for (int j = 1; j <= ORDER; j++) {
            double own = b[j];
#if LOG
            own -= a0 * (1.0 / j);
#endif
            const double partner = __shfl_xor_sync(~0u, own, 1);
            sums[j] += own * w.now.re + partner * w.now.im;
            w.next();
        }
    }
#pragma unroll
    for (int j = 0; j <= ORDER; j++) {
#pragma unroll
        for (uint32_t step = SHIFTS; step >= 2; step /= 2)
            sums[j] += __shfl_xor_sync(~0u, sums[j], step);
        if (lane / 2 == j % SHIFTS && box < boxes)
            p.l[(uint64_t)box * STRIDE + part * TERMS + j] = sums[j];
    }
}
