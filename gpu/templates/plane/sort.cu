// From the input to points in units of the frame, and splits of large segments by many blocks.
//
// A split finds the median by a histogram of the segment, then among the few points of the median's bin, and moves all points
// to their half in their order. Blocks of a segment have tiles of it that follow each other.

#define TILE 2048               // points of a block
#define LOG_BINS 11
#define BINS (1 << LOG_BINS)

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

PF Extent of_warp(Extent own)
{
    for (uint32_t step = 16; step > 0; step /= 2) {
        const auto other = [&](const double x) { return __shfl_xor_sync(~0u, x, step); };
        own = joined(own, {{other(own.low[0]), other(own.low[1])}, {other(own.high[0]), other(own.high[1])}, other(own.most),
                           __shfl_xor_sync(~0u, own.bad, step)});
    }
    return own;
}

// All threads of the block get it.
PF Extent of_block(const Extent own)
{
    __shared__ Extent warps[32];
    const Extent of_own = of_warp(own);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = of_own;
    __syncthreads();
    return of_warp(threadIdx.x % 32 < blockDim.x / 32 ? warps[threadIdx.x % 32] : nothing());
}

// Of every `step`-th point from `first` on.
PF Extent extent_of(const Problem &p, const uint64_t first, const uint64_t step)
{
    Extent own = nothing();
    const double *const input_im = p.input_im ? p.input_im : p.input_re;
#pragma unroll 4
    for (uint64_t i = first; i < p.n; i += step) {
        const double x = p.input_x[i], y = p.input_y[i], re = fabs(p.input_re[i]), im = fabs(input_im[i]), q = fmax(re, im);
        const bool is_good = fabs(x) <= 1e300 && fabs(y) <= 1e300 && re <= 1e300 && im <= 1e300;
        own = joined(own, {{x, y}, {x, y}, q, (uint64_t)!is_good});
    }
    return own;
}

extern "C" __global__ void __launch_bounds__(256) bounds(const Problem p)
{
    const Extent all = of_block(extent_of(p, blockIdx.x * 256u + threadIdx.x, gridDim.x * 256u));
    if (threadIdx.x == 0)
        p.extents[blockIdx.x] = all;
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

// Whether the arithmetic is too narrow for what has these bounds.
PF bool is_beyond(const Extent &e)
{
    const double extent = fmax(e.high[0] - e.low[0], e.high[1] - e.low[1]);
    const bool is_held = e.most == 0 || (e.most > 0x1p-500 && e.most < 0x1p500);
    return e.bad || !is_held || (extent != 0 && !(extent > 0x1p-500 && extent < 0x1p500));
}

// Whether a point lies so close to an origin, without being there, that powers of differences leave f64.
PF bool is_tiny(const Problem &p, const Frame &f, const uint64_t i)
{
    const double at[2] = {p.input_x[i], p.input_y[i]};
    return (at[0] != f.origin[0] && fabs(in_frame(at[0], f.origin[0], f.factor)) < LEAST) ||
           (at[1] != f.origin[1] && fabs(in_frame(at[1], f.origin[1], f.factor)) < LEAST);
}

PF Source source_of(const Problem &p, const Frame &f, const uint64_t i)
{
    return {in_frame(p.input_x[i], f.origin[0], f.factor), in_frame(p.input_y[i], f.origin[1], f.factor),
            p.input_re[i] * f.strength, p.input_im ? p.input_im[i] * f.strength : 0};
}

// The rectangle in units of the frame, as keys of -x, x, -y and y.
PF void ends_of(const Extent &e, const Frame &f, uint64_t ends[4])
{
    for (uint32_t a = 0; a < 2; a++) {
        ends[2 * a] = ~key_of(in_frame(e.low[a], f.origin[a], f.factor));
        ends[2 * a + 1] = key_of(in_frame(e.high[a], f.origin[a], f.factor));
    }
}

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
        if (is_beyond(all))
            p.status->unfit = 1;
        ends_of(all, f, p.rectangles);
    }
    for (uint64_t i = blockIdx.x * 256u + threadIdx.x; i < p.n; i += gridDim.x * 256u) {
        const Source s = source_of(p, f, i);
        if (is_tiny(p, f, i))
            p.status->unfit = 1;
        p.scaled[i] = s;
        p.x[i] = s.x;
        p.y[i] = s.y;
        p.order[i] = i;
    }
}

// What a block knows of the segment that its tile is of, after `splits` splits.
struct Tile { Span all; uint32_t segment, before, first, end; double low, scale; const double *column; };

PF Tile tile_of(const Problem &p, const uint32_t splits, const uint32_t tiles, const uint32_t size)
{
    Tile t;
    t.segment = blockIdx.x / tiles;
    t.all = segment(p.n, splits, t.segment);
    // Segments before this one, of earlier splits too.
    t.before = (1u << splits) - 1 + t.segment;
    const uint32_t place = blockIdx.x % tiles * size;
    t.first = min(place, t.all.count);
    t.end = min(place + size, t.all.count);
    const uint64_t *const r = p.rectangles + 4ull * t.before;
    const double low_x = value_of(~r[0]), low_y = value_of(~r[2]), wide = value_of(r[1]) - low_x, high = value_of(r[3]) - low_y;
    const bool is_x = wide >= high;
    t.low = is_x ? low_x : low_y;
    t.scale = fmin(BINS / (is_x ? wide : high), 1e300);
    t.column = (is_x ? p.x : p.y) + splits % 2 * p.n + t.all.start;
    return t;
}

PF uint32_t bin_of(const double x, const Tile &t) { return (uint32_t)fmin((x - t.low) * t.scale, BINS - 1.0); }

// A block has four tiles.
extern "C" __global__ void __launch_bounds__(1024) histogram(const Problem p, const uint32_t splits, const uint32_t tiles)
{
    __shared__ uint32_t bins[BINS];
    const Tile t = tile_of(p, splits, (tiles + 3) / 4, 4 * TILE);
    for (uint32_t k = threadIdx.x; k < BINS; k += 1024)
        bins[k] = 0;
    __syncthreads();
#pragma unroll
    for (uint32_t r = 0; r < 4 * TILE / 1024; r++) {
        const uint32_t i = t.first + threadIdx.x + r * 1024;
        if (i < t.end)
            atomicAdd(&bins[bin_of(t.column[i], t)], 1u);
    }
    __syncthreads();
    uint32_t *const all = p.histograms + (uint64_t)t.before * BINS;
    for (uint32_t k = threadIdx.x; k < BINS; k += 1024)
        if (bins[k] > 0)
            atomicAdd(&all[k], bins[k]);
}

struct Bin { uint32_t bin, below; };

// The bin that the `wanted` lowest of all end in, and how many are in lower ones. The block waits between two calls.
PF Bin bin_of(const uint32_t *const bins, const uint32_t wanted)
{
    __shared__ Bin found;
    const uint32_t each = BINS / 256;
    uint32_t own[each], sum = 0, all;
#pragma unroll
    for (uint32_t k = 0; k < each; k++)
        sum += own[k] = bins[threadIdx.x * each + k];
    uint32_t before = sum_before(sum, &all);
#pragma unroll
    for (uint32_t k = 0; k < each; k++) {
        if (before < wanted && wanted <= before + own[k])
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
    const Tile t = tile_of(p, splits, tiles, TILE);
    const Bin median = bin_of(p.histograms + (uint64_t)t.before * BINS, t.all.count / 2);
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

// The `wanted` lowest of n keys, 1 or more, by a block: histograms of ever smaller intervals between two of the keys.
PF Pivot lowest(const uint64_t *const keys, const uint32_t n, uint32_t wanted)
{
    __shared__ uint32_t bins[BINS];
    const auto least = [](const uint64_t a, const uint64_t b) { return a < b ? a : b; };
    const auto greatest = [](const uint64_t a, const uint64_t b) { return a > b ? a : b; };
    uint64_t low = ~0ull, high = 0;
    for (uint32_t k = threadIdx.x; k < n; k += 256)
        (low = least(low, keys[k]), high = greatest(high, keys[k]));
    low = reduced(low, least);
    high = reduced(high, greatest);
    for (uint32_t turn = 0; low < high; turn++) {
        // Bins by value, and every second time by pattern: these narrow any interval by a factor.
        const double from = value_of(low), scale = fmin(BINS / (value_of(high) - from), 1e300);
        const uint32_t down = max(64 - LOG_BINS - __clzll(high - low), 0);
        const auto bin = [&](const uint64_t key) {
            return turn % 2 ? (uint32_t)((key - low) >> down) : (uint32_t)fmin((value_of(key) - from) * scale, BINS - 1.0);
        };
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < BINS; k += 256)
            bins[k] = 0;
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < n; k += 256)
            if (low <= keys[k] && keys[k] <= high)
                atomicAdd(&bins[bin(keys[k])], 1u);
        __syncthreads();
        const Bin found = bin_of(bins, wanted);
        wanted -= found.below;
        uint64_t next_low = ~0ull, next_high = 0;
        for (uint32_t k = threadIdx.x; k < n; k += 256)
            if (low <= keys[k] && keys[k] <= high && bin(keys[k]) == found.bin)
                (next_low = least(next_low, keys[k]), next_high = greatest(next_high, keys[k]));
        low = reduced(next_low, least);
        high = reduced(next_high, greatest);
    }
    return {low, wanted, 0};
}

// A block a segment: the pivot among the points of the median's bin, and for each tile the points before it that are lower or
// equal.
extern "C" __global__ void __launch_bounds__(256) choose(const Problem p, const uint32_t splits, const uint32_t tiles,
                                                         const uint32_t tiles_before)
{
    const Span all = segment(p.n, splits, blockIdx.x);
    const uint32_t before = (1u << splits) - 1 + blockIdx.x, count = p.cursors[2 * before];
    const uint64_t *const keys = p.keys + all.start;
    const Pivot pivot = lowest(keys, count, all.count / 2 - p.cursors[2 * before + 1]);
    if (threadIdx.x == 0)
        p.pivots[before] = pivot;
    for (uint32_t k = threadIdx.x; k < count; k += 256)
        if (keys[k] <= pivot.key)
            atomicAdd((unsigned long long *)&p.tiles[tiles_before + p.key_tiles[all.start + k]],
                      keys[k] < pivot.key ? 1ull : 1ull << 32);
    __syncthreads();
    uint64_t *const own = p.tiles + tiles_before + blockIdx.x * tiles;
    uint64_t done = 0;
    for (uint32_t first = 0; first < tiles; first += 256) {
        const uint64_t value = first + threadIdx.x < tiles ? own[first + threadIdx.x] : 0;
        uint64_t sum;
        const uint64_t lower = sum_before(value, &sum);
        if (first + threadIdx.x < tiles)
            own[first + threadIdx.x] = done + lower;
        done += sum;
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
    const Tile t = tile_of(p, splits, tiles, TILE);
    const uint64_t before = p.tiles[tiles_before + blockIdx.x];
    const uint64_t from = splits % 2 * p.n + t.all.start, to = (splits + 1) % 2 * p.n + t.all.start;
    const bool is_along_x = t.column == p.x + from;
    Halves halves = {p.pivots[t.before], t.all.count / 2, 0, 0};
    const uint32_t first = t.first + warp * rounds * 32 + lane;
    // All is read at once; what lies behind the tile is not used.
    double x[rounds], y[rounds];
    uint32_t order[rounds];
#pragma unroll
    for (uint32_t r = 0; r < rounds; r++) {
        const uint64_t i = from + min(first + r * 32, t.all.count - 1);
        (x[r] = p.x[i], y[r] = p.y[i], order[r] = p.order[i]);
    }
    const auto key = [&](const uint32_t r) { return key_of(is_along_x ? x[r] : y[r]); };
#pragma unroll
    for (uint32_t r = 0; r < rounds; r++) {
        const bool is_there = first + r * 32 < t.end;
        halves.lower += __popc(__ballot_sync(~0u, is_there && key(r) < halves.pivot.key));
        halves.equal += __popc(__ballot_sync(~0u, is_there && key(r) == halves.pivot.key));
    }
    if (lane == 0)
        (counts[warp][0] = halves.lower, counts[warp][1] = halves.equal);
    __syncthreads();
    (halves.lower = (uint32_t)before, halves.equal = (uint32_t)(before >> 32));
    for (uint32_t k = 0; k < warp; k++)
        (halves.lower += counts[k][0], halves.equal += counts[k][1]);
    uint64_t most[2][4] = {};
#pragma unroll
    for (uint32_t r = 0; r < rounds; r++) {
        const uint32_t i = first + r * 32;
        const bool is_there = i < t.end;
        bool is_high;
        const uint32_t place = halves.next(is_there, key(r), i, &is_high);
        if (!is_there)
            continue;
        p.x[to + place] = x[r];
        p.y[to + place] = y[r];
        p.order[to + place] = order[r];
        const uint64_t ends[4] = {~key_of(x[r]), key_of(x[r]), ~key_of(y[r]), key_of(y[r])};
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
