// The potential of a sum of regular harmonics, or of polynomials, and its derivatives, which are such sums too.

// The factors of these functions in a potential and in its derivatives, by a warp.
PF void make_factors(const Problem &p, const Real *const terms, Result *const factors)
{
    for (uint32_t k = threadIdx.x % 32; k < TERMS; k += 32) {
        Real slopes[3] = {0, 0, 0};
        for (int axis = 0; axis < 3; axis++)
            for (int s = 0; s < SLOPES; s++) {
                const uint32_t entry = (axis * TERMS + k) * SLOPES + s;
                slopes[axis] += p.slopes[entry] * terms[p.slope_terms[entry]];
            }
        factors[k] = {terms[k], slopes[0], slopes[1], slopes[2]};
    }
#if HESSIAN
    __syncwarp();
    for (uint32_t k = threadIdx.x % 32; k < TERMS; k += 32) {
        Real bends[6] = {0, 0, 0, 0, 0, 0};
        for (int axis = 0; axis < 3; axis++)
            for (int s = 0; s < SLOPES; s++) {
                const uint32_t entry = (axis * TERMS + k) * SLOPES + s;
                const Real factor = p.slopes[entry];
                const Result &of = factors[p.slope_terms[entry]];
                // The second derivatives of which the later axis is this one.
                if (axis == 0)
                    bends[0] += factor * of.y;
                else if (axis == 1)
                    (bends[1] += factor * of.y, bends[3] += factor * of.z);
                else
                    (bends[2] += factor * of.y, bends[4] += factor * of.z, bends[5] += factor * of.w);
            }
        for (int a = 0; a < 6; a++)
            factors[k].hessian[a] = bends[a];
    }
#endif
}

PF void add_regular(const Result *const factors, const Real *const at, Real (&sum)[RESULTS])
{
    BASIS(at[0], at[1], at[2], (Real)1, [&](const int place, const Real value) {
        const Result f = factors[place];
        sum[0] += f.x * value;
        if (place < SLOPE_TERMS) {
            sum[1] += f.y * value;
            sum[2] += f.z * value;
            sum[3] += f.w * value;
        }
#if HESSIAN
        if (place < BEND_TERMS)
            for (int a = 0; a < 6; a++)
                sum[4 + a] += f.hessian[a] * value;
#endif
    });
}
