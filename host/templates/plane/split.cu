// Splits of segments by a block each.

// Moves the points of segment k to their halves, by a block or a warp. The keys are kept where `kept` says, or read again and
// again; `counts` has room for what each warp finds.
template <class Team> PF void split(const Problem &p, const uint32_t splits, const uint32_t k, const Team team,
                                    uint64_t *const kept, uint32_t (*const counts)[2])
{
    const Span all = segment(p.n, splits, k);
    const uint32_t warp = team.place() / 32, lane = threadIdx.x % 32;
    const uint64_t from = splits % 2 * p.n + all.start, to = (splits + 1) % 2 * p.n + all.start;
    const double *const x = p.x + from, *const y = p.y + from;
    const double no = 1.7976931348623157e308;
    double ends[4] = {no, no, no, no};
    for (uint32_t i = team.place(); i < all.count; i += team.size()) {
        ends[0] = fmin(ends[0], x[i]);
        ends[1] = fmin(ends[1], -x[i]);
        ends[2] = fmin(ends[2], y[i]);
        ends[3] = fmin(ends[3], -y[i]);
    }
    for (uint32_t a = 0; a < 4; a++)
        ends[a] = team.all(ends[a], [](const double a, const double b) { return fmin(a, b); });
    const double *const column = -ends[1] - ends[0] >= -ends[3] - ends[2] ? x : y;
    for (uint32_t i = team.place(); kept && i < all.count; i += team.size())
        kept[i] = key_of(column[i]);
    team.sync();
    const auto key = [&](const uint32_t i) { return kept ? kept[i] : key_of(column[i]); };
    Halves halves = {{0, 0, 0}, all.count / 2, 0, 0};
    if (halves.half > 0)
        halves.pivot = lowest(team, all.count, halves.half, key);
    const uint32_t rounds = (all.count + team.size() - 1) / team.size(), first = warp * rounds * 32 + lane;
    if (team.size() > 32) {
        for (uint32_t r = 0; r < rounds; r++) {
            const uint32_t i = first + r * 32;
            const uint64_t own = i < all.count ? key(i) : ~0ull;
            halves.lower += __popc(__ballot_sync(~0u, i < all.count && own < halves.pivot.key));
            halves.equal += __popc(__ballot_sync(~0u, i < all.count && own == halves.pivot.key));
        }
        team.sync();
        if (lane == 0)
            (counts[warp][0] = halves.lower, counts[warp][1] = halves.equal);
        team.sync();
        (halves.lower = 0, halves.equal = 0);
        for (uint32_t w = 0; w < warp; w++)
            (halves.lower += counts[w][0], halves.equal += counts[w][1]);
    }
    for (uint32_t r = 0; r < rounds; r++) {
        const uint32_t i = first + r * 32;
        const bool is_there = i < all.count;
        bool is_high;
        const uint32_t place = halves.next(is_there, is_there ? key(i) : 0, i, &is_high);
        if (!is_there)
            continue;
        p.x[to + place] = x[i];
        p.y[to + place] = y[i];
        p.order[to + place] = p.order[from + i];
    }
}

extern "C" __global__ void __launch_bounds__(1024) split_alone(const Problem p, const uint32_t splits)
{
    __shared__ uint32_t counts[32][2];
    split(p, splits, blockIdx.x, Block(), (uint64_t *)0, counts);
}

// All splits from this one to before the last: a block keeps to its segment, whose parts the block takes one by one, and its
// warps at once as soon as there is one for each.
extern "C" __global__ void __launch_bounds__(256) split_rest(const Problem p, const uint32_t first, const uint32_t end)
{
    __shared__ uint64_t keys[MANY];
    __shared__ uint32_t counts[8][2];
    const uint32_t start = segment(p.n, first, blockIdx.x).start, warps = blockDim.x / 32;
    for (uint32_t splits = first; splits < end; splits++) {
        const uint32_t parts = 1u << (splits - first);
        for (uint32_t part = 0; parts < warps && part < parts; part++) {
            split(p, splits, blockIdx.x * parts + part, Block(), keys, counts);
            __syncthreads();
        }
        for (uint32_t part = threadIdx.x / 32; parts >= warps && part < parts; part += warps) {
            const uint32_t k = blockIdx.x * parts + part;
            split(p, splits, k, Warp(), keys + (segment(p.n, splits, k).start - start), (uint32_t(*)[2])0);
        }
        __syncthreads();
    }
}
