// The matrices of M2L of a black-box expansion.

// Of one level at all offsets, a block a row: a sum of those of `count` functions, with weights in `law`. `up` has for each function, `stride`
// numbers after the one before, the matrices in f64 of offsets from which all others follow by exchanging and mirroring axes; `steps` for each offset the number of its own, the number of the exchange, and the mirrored axes, a bit
// each; `slope_terms` for each term the axes along which its degree is odd, and then for each exchange the term that each term is.
extern "C" __global__ void __launch_bounds__(256) place_matrices(const Problem p, const uint32_t count, const uint32_t stride)
{
    const uint32_t offset = blockIdx.x / TERMS, row = blockIdx.x % TERMS;
    const int32_t *const placed = p.steps + 3 * offset, *const odd = p.slope_terms, *const exchanged = odd + (placed[1] + 1) * TERMS;
    const double *const from = (const double *)p.up + ((uint64_t)placed[0] * TERMS + exchanged[row]) * TERMS;
    Real *const to = (Real *)p.matrices + ((uint64_t)offset * TERMS + row) * PITCH;
    for (uint32_t column = threadIdx.x; column < PITCH; column += 256) {
        double entry = 0;
        if (column < TERMS) {
            for (uint32_t k = 0; k < count; k++)
                entry += p.law[k] * from[(uint64_t)k * stride + exchanged[column]];
            if (__popc((odd[row] ^ odd[column]) & placed[2]) % 2 != 0)
                entry = -entry;
        }
        to[column] = (Real)entry;
    }
}
