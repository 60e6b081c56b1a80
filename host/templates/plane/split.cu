// Splits of segments that one block has in shared memory.

// Moves the points of segment `blockIdx.x` to their halves.
template <uint32_t MOST> PF void split(const Problem &p, const uint32_t splits)
{
    __shared__ uint64_t keys[MOST];
    __shared__ uint32_t counts[8][2];
    const Span all = segment(p.n, splits, blockIdx.x);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const uint64_t from = splits % 2 * p.n + all.start, to = (splits + 1) % 2 * p.n + all.start;
    const double *const x = p.x + from, *const y = p.y + from;
    const double no = 1.7976931348623157e308;
    double ends[4] = {no, no, no, no};
    for (uint32_t k = threadIdx.x; k < all.count; k += blockDim.x) {
        ends[0] = fmin(ends[0], x[k]);
        ends[1] = fmin(ends[1], -x[k]);
        ends[2] = fmin(ends[2], y[k]);
        ends[3] = fmin(ends[3], -y[k]);
    }
    for (uint32_t k = 0; k < 4; k++)
        ends[k] = reduced(ends[k], [](const double a, const double b) { return fmin(a, b); });
    const double *const column = -ends[1] - ends[0] >= -ends[3] - ends[2] ? x : y;
    for (uint32_t k = threadIdx.x; k < all.count; k += blockDim.x)
        keys[k] = key_of(column[k]);
    __syncthreads();
    Halves halves = {{0, 0, 0}, all.count / 2, 0, 0};
    if (halves.half > 0)
        halves.pivot = lowest(all.count, halves.half, [&](const uint32_t k) { return keys[k]; });
    const uint32_t rounds = (all.count + blockDim.x - 1) / blockDim.x, first = warp * rounds * 32 + lane;
    for (uint32_t r = 0; r < rounds; r++) {
        const uint32_t k = first + r * 32;
        halves.lower += __popc(__ballot_sync(~0u, k < all.count && keys[k] < halves.pivot.key));
        halves.equal += __popc(__ballot_sync(~0u, k < all.count && keys[k] == halves.pivot.key));
    }
    if (lane == 0)
        (counts[warp][0] = halves.lower, counts[warp][1] = halves.equal);
    __syncthreads();
    (halves.lower = 0, halves.equal = 0);
    for (uint32_t k = 0; k < min(warp, warps); k++)
        (halves.lower += counts[k][0], halves.equal += counts[k][1]);
    for (uint32_t r = 0; r < rounds; r++) {
        const uint32_t k = first + r * 32;
        const bool is_there = k < all.count;
        bool is_high;
        const uint32_t place = halves.next(is_there, is_there ? keys[k] : 0, k, &is_high);
        if (!is_there)
            continue;
        p.x[to + place] = x[k];
        p.y[to + place] = y[k];
        p.order[to + place] = p.order[from + k];
    }
}

extern "C" __global__ void __launch_bounds__(256) split_few(const Problem p, const uint32_t splits) { split<FEW>(p, splits); }

extern "C" __global__ void __launch_bounds__(256) split_many(const Problem p, const uint32_t splits) { split<MANY>(p, splits); }
