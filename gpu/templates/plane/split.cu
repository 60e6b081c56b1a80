// All splits that are left of a segment, by a block of 1024 in its shared memory.
//
// The block ranks its points once along x and once along y; of equal coordinates the first in the order is lower. A point is then
// the pair of its ranks, x in the high half, and stands in three lists: in the order of x, of y and of the input. A split halves one of
// the first two as it is, and moves the points of the other and of the third to their halves. Nothing is searched for.

#define LOG_RANK_BINS 13
#define RANK_BINS (1 << LOG_RANK_BINS)
// Points of a thread. An odd number: threads that take as many points each, one behind the other, meet in no bank of shared memory.
#define ROUNDS ((MANY + 1023) / 1024 | 1)
// Where a bin has more points than this, all points are sorted at once.
#define CROWD 128

// A column as it is ranked: the 48 bits of `code` rise with the coordinate, if not with every one.
struct Column {
    const double *from;
    double origin, factor, low, scale;
    PF_INLINE double at(const uint32_t i) const { return in_frame(from[i], origin, factor); }
    PF_INLINE uint64_t code(const uint32_t i) const
    {
        return (uint64_t)fmin(fmax((at(i) - low) * scale, 0.0), 0x1p48 - 1);
    }
};

// `ends` are keys of the least coordinate, negated, and of the greatest.
PF Column column_of(const double *const from, const double origin, const double factor, const uint64_t ends[2])
{
    const double low = value_of(~ends[0]), extent = value_of(ends[1]) - low;
    return {from, origin, factor, low, extent > 0 ? fmin(0x1p48 / extent, 1e300) : 0};
}

// A word is the code of a point and, in the low 16 bits, its place.
PF bool is_before(const Column &column, const uint64_t a, const uint64_t b)
{
    if ((a ^ b) >> 16 != 0)
        return a < b;
    const uint64_t key_a = key_of(column.at(a & 0xffff)), key_b = key_of(column.at(b & 0xffff));
    return key_a != key_b ? key_a < key_b : a < b;
}

// Batcher's network, for which words that are not there are the last.
PF void sort_words(const Column &column, const uint32_t count, uint64_t *const words)
{
    uint32_t size = 1;
    while (size < count)
        size *= 2;
    for (uint32_t width = 2; width <= size; width *= 2)
        for (uint32_t step = width / 2; step > 0; step /= 2) {
            for (uint32_t k = threadIdx.x; k < size / 2; k += blockDim.x) {
                const uint32_t low = k / step * 2 * step + k % step;
                const uint32_t high = step == width / 2 ? (k / step * 2 + 2) * step - 1 - k % step : low + step;
                if (high < count && is_before(column, words[high], words[low])) {
                    const uint64_t word = words[low];
                    words[low] = words[high];
                    words[high] = word;
                }
            }
            __syncthreads();
        }
}

// Counts points by bin, and makes of the counts the place of the first of each. Says whether a bin is crowded.
PF bool starts_of_bins(const uint64_t (&codes)[ROUNDS], const uint32_t count, uint32_t *const bins)
{
    __shared__ uint32_t is_crowded;
    const uint32_t each = RANK_BINS / 1024, first = threadIdx.x * each;
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < RANK_BINS; k += 1024)
        bins[k] = 0;
    if (threadIdx.x == 0)
        is_crowded = 0;
    __syncthreads();
#pragma unroll
    for (uint32_t r = 0; r < ROUNDS; r++)
        if (threadIdx.x + r * 1024 < count)
            atomicAdd(&bins[codes[r] >> (48 - LOG_RANK_BINS)], 1u);
    __syncthreads();
    uint32_t own[each], sum = 0, most = 0, all;
#pragma unroll
    for (uint32_t k = 0; k < each; k++) {
        sum += own[k] = bins[first + k];
        most = max(most, own[k]);
    }
    if (most > CROWD)
        atomicOr(&is_crowded, 1u);
    uint32_t before = sum_before(sum, &all);
#pragma unroll
    for (uint32_t k = 0; k < each; k++) {
        bins[first + k] = before;
        before += own[k];
    }
    __syncthreads();
    return is_crowded;
}

// Ranks points along a column: hands each point and its rank over, and writes for each rank whose it is.
template <class Give> PF void rank(const Column &column, const uint32_t count, uint64_t *const words, uint32_t *const bins,
                                   uint32_t *const owners, const Give give)
{
    uint64_t codes[ROUNDS];
#pragma unroll
    for (uint32_t r = 0; r < ROUNDS; r++) {
        const uint32_t i = threadIdx.x + r * 1024;
        codes[r] = i < count ? column.code(i) : 0;
    }
    const bool is_crowded = starts_of_bins(codes, count, bins);
#pragma unroll
    for (uint32_t r = 0; r < ROUNDS; r++) {
        const uint32_t i = threadIdx.x + r * 1024;
        if (i < count)
            words[atomicAdd(&bins[codes[r] >> (48 - LOG_RANK_BINS)], 1u)] = codes[r] << 16 | i;
    }
    __syncthreads();
    if (is_crowded)
        sort_words(column, count, words);
    for (uint32_t k = threadIdx.x; k < count; k += 1024) {
        const uint64_t own = words[k];
        const uint32_t i = own & 0xffff, bin = own >> (64 - LOG_RANK_BINS);
        uint32_t place = k;
        if (!is_crowded) {
            // What was the start of a bin is now its end.
            const uint32_t start = bin > 0 ? bins[bin - 1] : 0, end = bins[bin];
            place = start;
            for (uint32_t j = start; j < end; j++)
                place += j != k && is_before(column, words[j], own);
        }
        give(i, place);
        owners[place] = i;
    }
    __syncthreads();
}

// What a block works on: its lists, and for each rank along x and along y whose it is.
struct Lists { uint32_t *by_input, *by_x, *by_y; const uint32_t *owners[2]; };

// How a segment is split: shifted up by the low half of this, points of the first half are below the high half.
PF uint32_t cut_of(const Lists &lists, const Column &x, const Column &y, const Span all)
{
    const uint32_t first = all.start, last = all.start + all.count - 1, half = all.start + all.count / 2;
    const double wide = x.at(lists.owners[0][lists.by_x[last] >> 16]) - x.at(lists.owners[0][lists.by_x[first] >> 16]);
    const double high = y.at(lists.owners[1][lists.by_y[last] & 0xffff]) - y.at(lists.owners[1][lists.by_y[first] & 0xffff]);
    return wide >= high ? lists.by_x[half] & 0xffff0000 : lists.by_y[half] << 16 | 16;
}

// Of a sum over threads, what those before this one have, within a team: 2^log of the 1024 threads.
PF uint32_t sum_before_in_team(const uint32_t own, const uint32_t log)
{
    __shared__ uint32_t warps[32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = sum_to_lane(own, 1u << min(log, 5u));
    uint32_t before = 0;
    if (log > 5) {
        if (lane == 31)
            warps[warp] = sum;
        __syncthreads();
        before = lane >= (warp >> (log - 5) << (log - 5)) && lane < warp ? warps[lane] : 0;
        for (uint32_t step = 16; step > 0; step /= 2)
            before += __shfl_xor_sync(~0u, before, step);
    }
    return before + sum - own;
}

// Moves the points of two lists of a segment to its halves, each in its order, by a team of 2^log threads. Each of them has some
// points that follow each other.
PF void move(const Lists &lists, const uint32_t cut, const Span all, const uint32_t log)
{
    const uint32_t team = 1u << log, each = (all.count + team - 1) >> log | 1, first = min((threadIdx.x & (team - 1)) * each, all.count);
    const uint32_t own = min(each, all.count - first), up = cut & 0xffff, pivot = cut & 0xffff0000, half = all.count / 2;
    uint32_t *const across = (up == 0 ? lists.by_y : lists.by_x) + all.start, *const by_input = lists.by_input + all.start;
    uint32_t points[2][ROUNDS], lower = 0;
#pragma unroll
    for (uint32_t r = 0; r < ROUNDS; r++)
        if (r < own) {
            (points[0][r] = across[first + r], points[1][r] = by_input[first + r]);
            lower += (points[0][r] << up < pivot ? 1 : 0) + (points[1][r] << up < pivot ? 1 << 16 : 0);
        }
    // Of both lists, in the halves of a word. A team of several warps waits here, so that all have read.
    const uint32_t before = sum_before_in_team(lower, log);
    __syncwarp();
    uint32_t *low[2] = {across + (before & 0xffff), by_input + (before >> 16)};
    uint32_t *high[2] = {across + half + first - (before & 0xffff), by_input + half + first - (before >> 16)};
#pragma unroll
    for (uint32_t r = 0; r < ROUNDS; r++)
        if (r < own)
            for (uint32_t list = 0; list < 2; list++)
                *(points[list][r] << up < pivot ? low[list]++ : high[list]++) = points[list][r];
    if (team > 32)
        __syncthreads();
    __syncwarp();
}

#ifdef __CUDACC__
extern __shared__ __align__(16) uint32_t room_of_block[];
#else
alignas(16) static uint32_t room_of_block[3 * MANY + RANK_BINS];
#endif

// The lists of a block in its shared memory. Ranking needs space behind the first of them.
PF Lists lists_of_block(const uint32_t *const owners_x, const uint32_t *const owners_y)
{
    return {room_of_block, room_of_block + MANY, room_of_block + 2 * MANY, {owners_x, owners_y}};
}

PF uint64_t *words_of_block() { return (uint64_t *)(room_of_block + MANY); }
PF uint32_t *bins_of_block() { return room_of_block + 3 * MANY; }

// Splits the `count` points of a block, whose lists are there, so many times.
PF void split_lists(const Lists &lists, const Column &x, const Column &y, const uint32_t count, const uint32_t splits)
{
    __syncthreads();
    for (uint32_t s = 0; s < splits; s++) {
        // A segment has some threads or, of more than 1024 segments, a thread has some.
        const uint32_t log = s < 10 ? 10 - s : 0, segments = s < 10 ? 1 : 1u << (s - 10);
        for (uint32_t k = 0; k < segments; k++) {
            const Span all = segment(count, s, (threadIdx.x >> log) * segments + k);
            move(lists, cut_of(lists, x, y, all), all, log);
        }
    }
    __syncthreads();
}

// All splits from this one to before the last, of many points.
extern "C" __global__ void __launch_bounds__(1024) split_rest(const Problem p, const uint32_t first, const uint32_t end)
{
    const Span all = segment(p.n, first, blockIdx.x);
    const uint64_t *const ends = p.rectangles + 4ull * ((1u << first) - 1 + blockIdx.x);
    const uint64_t from = first % 2 * p.n + all.start, to = (first + 1) % 2 * p.n + all.start;
    const Column x = column_of(p.x + from, 0, 1, ends), y = column_of(p.y + from, 0, 1, ends + 2);
    uint32_t *const owners = (uint32_t *)p.keys + 2ull * all.start;
    const Lists lists = lists_of_block(owners, owners + all.count);
    rank(x, all.count, words_of_block(), bins_of_block(), owners,
         [&](const uint32_t i, const uint32_t place) { lists.by_input[i] = place << 16; });
    rank(y, all.count, words_of_block(), bins_of_block(), owners + all.count,
         [&](const uint32_t i, const uint32_t place) { lists.by_input[i] |= place; });
    for (uint32_t i = threadIdx.x; i < all.count; i += 1024) {
        const uint32_t point = lists.by_input[i];
        lists.by_x[point >> 16] = point;
        lists.by_y[point & 0xffff] = point;
    }
    split_lists(lists, x, y, all.count, end - first);
    for (uint32_t i = threadIdx.x; i < all.count; i += 1024)
        p.order[to + i] = p.order[from + owners[lists.by_input[i] >> 16]];
}

// `ends` are those along the axis.
PF Column column_of_input(const Problem &p, const Frame &f, const uint32_t axis, const uint64_t *const ends)
{
    const double origin = axis == 0 ? f.origin[0] : f.origin[1];
    return column_of(axis == 0 ? p.input_x : p.input_y, origin, f.factor, ends);
}

// Two blocks: of few points, one ranks them along x and one along y. Each joins what the `blocks` of `bounds` found.
extern "C" __global__ void __launch_bounds__(1024) rank_few(const Problem p, const uint32_t blocks)
{
    const uint32_t axis = blockIdx.x;
    const Extent all = of_block(threadIdx.x < blocks ? p.extents[threadIdx.x] : nothing());
    __shared__ Frame frame;
    if (threadIdx.x == 0)
        frame = frame_of(all);
    __syncthreads();
    const Frame f = frame;
    if (axis == 0 && threadIdx.x == 0) {
        *p.frame = f;
        *p.status = {is_beyond(all), 0, 0, 0, {0, 0, 0, 0}};
        ends_of(all, f, p.rectangles);
    }
    uint64_t ends[4];
    ends_of(all, f, ends);
    // No place in an array depends on the axis: such an array would stand in memory.
    const uint64_t own[2] = {axis == 0 ? ends[0] : ends[2], axis == 0 ? ends[1] : ends[3]};
    // The high half of a point is its rank along x.
    unsigned short *const ranks = (unsigned short *)p.key_tiles;
    rank(column_of_input(p, f, axis, own), p.n, words_of_block(), bins_of_block(), (uint32_t *)p.keys + axis * p.n,
         [&](const uint32_t i, const uint32_t place) { ranks[2 * i + 1 - axis] = (unsigned short)place; });
}

// Splits of few points that were ranked, from this one to before the last of all: a block has a segment. Where more splits are to
// come it leaves the lists, in which the next blocks find them, else the order.
extern "C" __global__ void __launch_bounds__(1024) split_few(const Problem p, const uint32_t first, const uint32_t end,
                                                             const uint32_t splits)
{
    const Span all = segment(p.n, first, blockIdx.x);
    const Frame f = *p.frame;
    const Column x = column_of_input(p, f, 0, p.rectangles), y = column_of_input(p, f, 1, p.rectangles + 2);
    uint32_t *const owners = (uint32_t *)p.keys, *const kept = (uint32_t *)p.x + all.start;
    const Lists lists = lists_of_block(owners, owners + p.n);
    for (uint32_t i = threadIdx.x; i < all.count; i += 1024)
        if (first == 0) {
            const uint32_t point = p.key_tiles[i];
            lists.by_input[i] = point;
            lists.by_x[point >> 16] = point;
            lists.by_y[point & 0xffff] = point;
        } else {
            lists.by_input[i] = kept[i];
            lists.by_x[i] = kept[p.n + i];
            lists.by_y[i] = kept[2 * p.n + i];
        }
    split_lists(lists, x, y, all.count, end - first);
    for (uint32_t i = threadIdx.x; i < all.count; i += 1024)
        if (end == splits) {
            p.order[all.start + i] = owners[lists.by_input[i] >> 16];
        } else {
            kept[i] = lists.by_input[i];
            kept[p.n + i] = lists.by_x[i];
            kept[2 * p.n + i] = lists.by_y[i];
        }
}
