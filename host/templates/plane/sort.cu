// From the input to points in units of the frame, and splits of large segments by many blocks.
//
// A split finds the median by a histogram of the segment, then among the few points of the median's bin, and moves all points
// to their half in their order. Blocks of a segment have tiles of it that follow each other.

#define TILE 2048               // points of a block
#define BINS 2048

// Keys in the order of numbers; both zeros are one.
PF uint64_t key_of(const double x)
{
    const uint64_t bits = pattern(x + 0.0);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

PF double value_of(const uint64_t key) { return number(key >> 63 ? key & ~(1ull << 63) : ~key); }

PF Extent joined(const Extent &a, const Extent &b)
{
    return {{fmin(a.low[0], b.low[0]), fmin(a.low[1], b.low[1])}, {fmax(a.high[0], b.high[0]), fmax(a.high[1], b.high[1])},
            fmax(a.most, b.most), a.bad | b.bad};
}

PF Extent nothing()
{
    const double no = 1.7976931348623157e308;
    return {{no, no}, {-no, -no}, 0, 0};
}

// For blocks of 256.
PF Extent of_block(const Extent own)
{
    __shared__ Extent all[256];
    all[threadIdx.x] = own;
    for (uint32_t half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            all[threadIdx.x] = joined(all[threadIdx.x], all[threadIdx.x + half]);
    }
    __syncthreads();
    return all[0];
}

extern "C" __global__ void __launch_bounds__(256) bounds(const Problem p)
{
    Extent own = nothing();
    for (uint64_t i = blockIdx.x * 256u + threadIdx.x; i < p.n; i += gridDim.x * 256u) {
        const double x = p.input_x[i], y = p.input_y[i];
        const double q = fmax(fabs(p.input_re[i]), p.input_im ? fabs(p.input_im[i]) : 0);
        const bool is_good = fabs(x) <= 1e300 && fabs(y) <= 1e300 && fabs(p.input_re[i]) <= 1e300 && q <= 1e300;
        own = joined(own, {{x, y}, {x, y}, q, (uint64_t)!is_good});
    }
    own = of_block(own);
    if (threadIdx.x == 0)
        p.extents[blockIdx.x] = own;
}

// The e with x * 2^-e in (1/2, 1], for normal numbers; 0 for 0.
PF int exponent_of(const double x)
{
    const uint64_t bits = pattern(x);
    return x == 0 ? 0 : (int)(bits >> 52 & 0x7ff) - 1023 + (bits << 12 != 0);
}

PF double power_of_two(const int e) { return e < -1022 ? 0 : number((uint64_t)(min(e, 1023) + 1023) << 52); }

PF double origin_of(const double low, const double high)
{
    return low > 0 && 0.5 * high <= low ? low : high < 0 && 0.5 * low >= high ? high : 0;
}

PF Frame frame_of(const Extent &e)
{
    const double extent = fmax(0.5 * e.high[0] - 0.5 * e.low[0], 0.5 * e.high[1] - 0.5 * e.low[1]);
    const int length = extent > 0 ? exponent_of(extent) + 1 : 0, strength = exponent_of(e.most);
    return {{origin_of(e.low[0], e.high[0]), origin_of(e.low[1], e.high[1])}, power_of_two(-length), power_of_two(-strength),
            length * 0.6931471805599453, power_of_two(strength - length), power_of_two(strength)};
}

PF double in_frame(const double x, const double origin, const double factor) { return (x - origin) * factor; }

// Points in units of the frame. Each block joins what the `blocks` of `bounds` found.
extern "C" __global__ void __launch_bounds__(256) scale(const Problem p, const uint32_t blocks)
{
    Extent all = nothing();
    for (uint32_t k = threadIdx.x; k < blocks; k += 256)
        all = joined(all, p.extents[k]);
    all = of_block(all);
    const Frame f = frame_of(all);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *p.frame = f;
        const double extent = fmax(all.high[0] - all.low[0], all.high[1] - all.low[1]);
        const bool is_held = all.most == 0 || (all.most > 0x1p-500 && all.most < 0x1p500);
        if (all.bad || !is_held || (extent != 0 && !(extent > 0x1p-500 && extent < 0x1p500)))
            p.status->unfit = 1;
        for (uint32_t a = 0; a < 2; a++) {
            p.rectangles[2 * a] = ~key_of(in_frame(all.low[a], f.origin[a], f.factor));
            p.rectangles[2 * a + 1] = key_of(in_frame(all.high[a], f.origin[a], f.factor));
        }
    }
    for (uint64_t i = blockIdx.x * 256u + threadIdx.x; i < p.n; i += gridDim.x * 256u) {
        const double at[2] = {p.input_x[i], p.input_y[i]};
        const double x = in_frame(at[0], f.origin[0], f.factor), y = in_frame(at[1], f.origin[1], f.factor);
        if ((at[0] != f.origin[0] && fabs(x) < LEAST) || (at[1] != f.origin[1] && fabs(y) < LEAST))
            p.status->unfit = 1;
        p.x[i] = x;
        p.y[i] = y;
        p.order[i] = i;
    }
}

// What a block knows of the segment that its tile is of, after `splits` splits.
struct Tile { Span all; uint32_t segment, before, first, end; double low, scale; const double *column; };

PF Tile tile_of(const Problem &p, const uint32_t splits, const uint32_t tiles)
{
    Tile t;
    t.segment = blockIdx.x / tiles;
    t.all = segment(p.n, splits, t.segment);
    // Segments before this one, of earlier splits too.
    t.before = (1u << splits) - 1 + t.segment;
    const uint32_t place = blockIdx.x % tiles * TILE;
    t.first = min(place, t.all.count);
    t.end = min(place + TILE, t.all.count);
    const uint64_t *const r = p.rectangles + 4ull * t.before;
    const double low_x = value_of(~r[0]), low_y = value_of(~r[2]), wide = value_of(r[1]) - low_x, high = value_of(r[3]) - low_y;
    const bool is_x = wide >= high;
    t.low = is_x ? low_x : low_y;
    t.scale = fmin(BINS / (is_x ? wide : high), 1e300);
    t.column = (is_x ? p.x : p.y) + splits % 2 * p.n + t.all.start;
    return t;
}

PF uint32_t bin_of(const double x, const Tile &t) { return (uint32_t)fmin((x - t.low) * t.scale, BINS - 1.0); }

extern "C" __global__ void __launch_bounds__(256) histogram(const Problem p, const uint32_t splits, const uint32_t tiles)
{
    __shared__ uint32_t bins[BINS];
    const Tile t = tile_of(p, splits, tiles);
    for (uint32_t k = threadIdx.x; k < BINS; k += 256)
        bins[k] = 0;
    __syncthreads();
    for (uint32_t i = t.first + threadIdx.x; i < t.end; i += 256)
        atomicAdd(&bins[bin_of(t.column[i], t)], 1u);
    __syncthreads();
    uint32_t *const all = p.histograms + (uint64_t)t.before * BINS;
    for (uint32_t k = threadIdx.x; k < BINS; k += 256)
        if (bins[k] > 0)
            atomicAdd(&all[k], bins[k]);
}

struct Bin { uint32_t bin, below; };

// The bin of the median, and the points in lower ones.
PF Bin bin_of_median(const uint32_t *const all, const uint32_t half)
{
    __shared__ uint32_t warps[8];
    __shared__ Bin found;
    const uint32_t each = BINS / 256, lane = threadIdx.x % 32;
    uint32_t own[each], sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < each; k++)
        sum += own[k] = all[threadIdx.x * each + k];
    uint32_t before = sum;
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, before, step);
        if (lane >= step)
            before += other;
    }
    if (lane == 31)
        warps[threadIdx.x / 32] = before;
    __syncthreads();
    before -= sum;
    for (uint32_t k = 0; k < threadIdx.x / 32; k++)
        before += warps[k];
#pragma unroll
    for (uint32_t k = 0; k < each; k++) {
        if (before < half && half <= before + own[k])
            found = {threadIdx.x * each + k, before};
        before += own[k];
    }
    __syncthreads();
    return found;
}

// Collects the points of the median's bin, and counts those of lower bins in each tile.
extern "C" __global__ void __launch_bounds__(256) gather(const Problem p, const uint32_t splits, const uint32_t tiles,
                                                         const uint32_t tiles_before)
{
    const Tile t = tile_of(p, splits, tiles);
    const Bin median = bin_of_median(p.histograms + (uint64_t)t.before * BINS, t.all.count / 2);
    uint32_t below = 0;
    for (uint32_t i = t.first + threadIdx.x; i < t.end; i += 256) {
        const double x = t.column[i];
        const uint32_t bin = bin_of(x, t);
        below += bin < median.bin;
        if (bin == median.bin) {
            // In any order, on which nothing depends.
            const uint32_t place = t.all.start + atomicAdd(&p.cursors[2 * t.before], 1u);
            p.keys[place] = key_of(x);
            p.key_tiles[place] = blockIdx.x;
        }
    }
    below = sum_of_block(below);
    if (threadIdx.x == 0) {
        p.tiles[tiles_before + blockIdx.x] = below;
        if (blockIdx.x % tiles == 0)
            p.cursors[2 * t.before + 1] = median.below;
    }
}

// Threads that work together: a block, or a warp of one.
struct Block {
    PF_INLINE uint32_t size() const { return blockDim.x; }
    PF_INLINE uint32_t place() const { return threadIdx.x; }
    PF_INLINE void sync() const { __syncthreads(); }
    template <class T, class Join> PF_INLINE T all(const T own, const Join join) const { return reduced(own, join); }
};

struct Warp {
    PF_INLINE uint32_t size() const { return 32; }
    PF_INLINE uint32_t place() const { return threadIdx.x % 32; }
    PF_INLINE void sync() const { __syncwarp(); }
    template <class T, class Join> PF_INLINE T all(T own, const Join join) const
    {
        for (uint32_t step = 16; step > 0; step /= 2)
            own = join(own, __shfl_xor_sync(~0u, own, step));
        return own;
    }
};

// The `wanted` lowest of n keys, 1 or more, by threads together: a search in the interval that the last of them is in, by interpolation
// and, every third time, by halves.
template <class Team, class Key> PF Pivot lowest(const Team team, const uint32_t n, const uint32_t wanted, const Key key)
{
    uint64_t low = ~0ull, high = 0;
    for (uint32_t k = team.place(); k < n; k += team.size()) {
        low = min(low, (uint64_t)key(k));
        high = max(high, (uint64_t)key(k));
    }
    low = team.all(low, [](const uint64_t a, const uint64_t b) { return a < b ? a : b; });
    high = team.all(high, [](const uint64_t a, const uint64_t b) { return a > b ? a : b; });
    // Keys below `low`, and those up to `high`.
    uint32_t below = 0, within = n;
    for (uint32_t turn = 0; low < high; turn++) {
        uint64_t middle = low + (high - low) / 2;
        if (turn % 3 < 2) {
            const double a = value_of(low), b = value_of(high);
            const uint64_t at = key_of(a + (b - a) * (((double)(wanted - below) - 0.5) / (double)(within - below)));
            middle = at < low ? low : at >= high ? high - 1 : at;
        }
        uint32_t count = 0;
        for (uint32_t k = team.place(); k < n; k += team.size())
            count += key(k) <= middle;
        count = team.all(count, [](const uint32_t a, const uint32_t b) { return a + b; });
        if (count == wanted)
            return {middle, ~0u, 0};
        if (count > wanted)
            (high = middle, within = count);
        else
            (low = middle + 1, below = count);
    }
    return {low, wanted - below, 0};
}

// A block a segment: the pivot among the points of the median's bin, and for each tile the points before it that are lower or
// equal.
extern "C" __global__ void __launch_bounds__(256) choose(const Problem p, const uint32_t splits, const uint32_t tiles,
                                                         const uint32_t tiles_before)
{
    __shared__ uint64_t sums[8];
    const Span all = segment(p.n, splits, blockIdx.x);
    const uint32_t before = (1u << splits) - 1 + blockIdx.x, count = p.cursors[2 * before];
    const uint64_t *const keys = p.keys + all.start;
    const Pivot pivot = lowest(Block(), count, all.count / 2 - p.cursors[2 * before + 1], [&](const uint32_t k) { return keys[k]; });
    if (threadIdx.x == 0)
        p.pivots[before] = pivot;
    for (uint32_t k = threadIdx.x; k < count; k += 256)
        if (keys[k] <= pivot.key)
            atomicAdd((unsigned long long *)&p.tiles[tiles_before + p.key_tiles[all.start + k]],
                      keys[k] < pivot.key ? 1ull : 1ull << 32);
    __syncthreads();
    uint64_t *const own = p.tiles + tiles_before + blockIdx.x * tiles;
    const uint32_t lane = threadIdx.x % 32;
    uint64_t done = 0;
    for (uint32_t first = 0; first < tiles; first += 256) {
        const uint64_t value = first + threadIdx.x < tiles ? own[first + threadIdx.x] : 0;
        uint64_t sum = value;
        for (uint32_t step = 1; step < 32; step *= 2) {
            const uint64_t other = __shfl_up_sync(~0u, sum, step);
            if (lane >= step)
                sum += other;
        }
        if (lane == 31)
            sums[threadIdx.x / 32] = sum;
        __syncthreads();
        uint64_t lower = done;
        for (uint32_t k = 0; k < 8; k++) {
            if (k < threadIdx.x / 32)
                lower += sums[k];
            done += sums[k];
        }
        if (first + threadIdx.x < tiles)
            own[first + threadIdx.x] = lower + sum - value;
        __syncthreads();
    }
}

PF uint32_t lanes_before() { return (1u << threadIdx.x % 32) - 1; }

// Where the points of a warp go: those before it that are lower than the pivot or equal to it, and the halves of the segment.
struct Halves {
    Pivot pivot;
    uint32_t half, lower, equal;
    // The place of the next point of each lane within the segment, which is in the segment at `at`.
    PF_INLINE uint32_t next(const bool is_there, const uint64_t key, const uint32_t at, bool *const is_high)
    {
        const uint32_t all_lower = __ballot_sync(~0u, is_there && key < pivot.key);
        const uint32_t all_equal = __ballot_sync(~0u, is_there && key == pivot.key);
        const uint32_t ties = equal + __popc(all_equal & lanes_before());
        const uint32_t low = lower + __popc(all_lower & lanes_before()) + min(ties, pivot.ties);
        *is_high = !(key < pivot.key || (key == pivot.key && ties < pivot.ties));
        lower += __popc(all_lower);
        equal += __popc(all_equal);
        return *is_high ? half + (at - low) : low;
    }
};

// Lifts what stands at a place in memory.
PF void lift(uint64_t *const place, const uint64_t key)
{
    if (key > *place)
        atomicMax((unsigned long long *)place, (unsigned long long)key);
}

// Moves the points of a tile to their halves, and finds the rectangles of these.
extern "C" __global__ void __launch_bounds__(256) scatter(const Problem p, const uint32_t splits, const uint32_t tiles,
                                                          const uint32_t tiles_before)
{
    __shared__ uint32_t counts[8][2];
    const uint32_t rounds = TILE / 256, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const Tile t = tile_of(p, splits, tiles);
    const uint64_t before = p.tiles[tiles_before + blockIdx.x];
    Halves halves = {p.pivots[t.before], t.all.count / 2, 0, 0};
    const uint32_t first = t.first + warp * rounds * 32 + lane;
    uint64_t keys[rounds];
#pragma unroll
    for (uint32_t r = 0; r < rounds; r++) {
        const bool is_there = first + r * 32 < t.end;
        keys[r] = is_there ? key_of(t.column[first + r * 32]) : 0;
        halves.lower += __popc(__ballot_sync(~0u, is_there && keys[r] < halves.pivot.key));
        halves.equal += __popc(__ballot_sync(~0u, is_there && keys[r] == halves.pivot.key));
    }
    if (lane == 0)
        (counts[warp][0] = halves.lower, counts[warp][1] = halves.equal);
    __syncthreads();
    (halves.lower = (uint32_t)before, halves.equal = (uint32_t)(before >> 32));
    for (uint32_t k = 0; k < warp; k++)
        (halves.lower += counts[k][0], halves.equal += counts[k][1]);
    const uint64_t from = splits % 2 * p.n + t.all.start, to = (splits + 1) % 2 * p.n + t.all.start;
    uint64_t most[2][4] = {};
#pragma unroll
    for (uint32_t r = 0; r < rounds; r++) {
        const uint32_t i = first + r * 32;
        const bool is_there = i < t.end;
        bool is_high;
        const uint32_t place = halves.next(is_there, keys[r], i, &is_high);
        if (!is_there)
            continue;
        const double x = p.x[from + i], y = p.y[from + i];
        p.x[to + place] = x;
        p.y[to + place] = y;
        p.order[to + place] = p.order[from + i];
        const uint64_t ends[4] = {~key_of(x), key_of(x), ~key_of(y), key_of(y)};
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            most[0][k] = max(most[0][k], is_high ? (uint64_t)0 : ends[k]);
            most[1][k] = max(most[1][k], is_high ? ends[k] : (uint64_t)0);
        }
    }
#pragma unroll
    for (uint32_t k = 0; k < 8; k++) {
        uint64_t key = most[k / 4][k % 4];
        for (uint32_t step = 16; step > 0; step /= 2)
            key = max(key, (uint64_t)__shfl_xor_sync(~0u, key, step));
        if (lane == 0)
            lift(&p.rectangles[4ull * (2 * t.before + 1) + k], key);
    }
}
