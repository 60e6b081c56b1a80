// Splits around pivots from 32 points, Algorithms 3.1 and 3.2 of the paper: what the other splits are compared with. Their boxes have the
// same points, in an order that depends on which block comes first.
//
// Of the part of a segment that its median is looked for in, points lower than the pivot go to the front, the others to the
// back. What is surely in a half has its place; the other part is looked through again. Three columns of points: before a
// split, after it, and a third one that the parts go through in turn with the first.

// Points up to which one block looks for a median: `single_thread_limit`.
#define PIVOT_TILE 2048

struct PointColumn { double *x, *y; uint32_t *order; };

PF PointColumn points_at(const Problem &p, const uint32_t column)
{
    if (column < 2)
        return {p.x + column * p.n, p.y + column * p.n, p.order + column * p.n};
    double *const third = (double *)p.sources;
    return {third, third + p.n, (uint32_t *)(third + 2 * p.n)};
}

// The coordinate that a segment is split by, and what is lower by it: of equal ones, the first of the input.
struct Ordered { uint64_t key; uint32_t order; };

PF bool is_lower(const Ordered &a, const Ordered &b) { return a.key != b.key ? a.key < b.key : a.order < b.order; }

PF bool is_split_along_x(const State &s)
{
    return value_of(s.ends[1]) - value_of(~s.ends[0]) >= value_of(s.ends[3]) - value_of(~s.ends[2]);
}

PF Ordered ordered(const PointColumn &c, const bool is_along_x, const uint32_t i)
{
    return {key_of(is_along_x ? c.x[i] : c.y[i]), c.order[i]};
}

PF void move_point(const PointColumn &from, const uint32_t i, const PointColumn &to, const uint32_t k)
{
    (to.x[k] = from.x[i], to.y[k] = from.y[i], to.order[k] = from.order[i]);
}

PF Ordered of_lane(const Ordered &own, const uint32_t lane)
{
    return {__shfl_sync(~0u, own.key, lane), __shfl_sync(~0u, own.order, lane)};
}

// How many of the lanes that are there have a lower one.
PF uint32_t rank_of_lane(const Ordered &own, const bool is_there)
{
    uint32_t rank = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        const Ordered other = of_lane(own, lane);
        rank += __shfl_sync(~0u, is_there, lane) && is_lower(other, own);
    }
    return rank;
}

// The pivot among 32 points of a part of more, by a warp: that at the place of the median in the part. A lower one is among them.
PF Ordered pivot_of_32(const PointColumn &c, const bool is_along_x, const uint32_t begin, const uint32_t count, const uint32_t median)
{
    const uint32_t lane = threadIdx.x % 32;
    const Ordered own = ordered(c, is_along_x, begin + (uint32_t)((uint64_t)lane * count / 32));
    const uint32_t wanted = max(1u, min(31u, (uint32_t)((uint64_t)(median - begin) * 32 / count)));
    const uint32_t rank = rank_of_lane(own, true);
    return of_lane(own, __ffs(__ballot_sync(~0u, rank == wanted)) - 1);
}

// A part, after so much of it was found lower. Nothing is left of it where that ends at the median.
PF void narrow(uint32_t &begin, uint32_t &count, const uint32_t lower, const uint32_t median)
{
    if (median < begin + lower)
        count = lower;
    else if (median > begin + lower)
        (begin += lower, count -= lower);
    else
        count = 0;
}

// The column that the points of a part go on to, if they are still looked through.
PF uint32_t next_column(const uint32_t column, const uint32_t splits) { return column == 2 ? splits % 2 : 2; }

extern "C" __global__ void __launch_bounds__(256) pivots_begin(const Problem p, const uint32_t splits)
{
    const uint32_t k = blockIdx.x * 256 + threadIdx.x;
    if (k >= 1u << splits)
        return;
    const Span all = segment(p.n, splits, k);
    p.states[k] = {{0, 0, 0, 0}, 0, 0, all.start, all.count, splits % 2, 0, 0, 0, 0};
}

// The rectangle of each segment.
extern "C" __global__ void __launch_bounds__(256) pivots_extent(const Problem p, const uint32_t splits, const uint32_t tiles)
{
    const uint32_t k = blockIdx.x / tiles;
    const Span all = segment(p.n, splits, k);
    const PointColumn c = points_at(p, splits % 2);
    const uint32_t first = blockIdx.x % tiles * PIVOT_TILE, end = min(first + PIVOT_TILE, all.count);
    uint64_t most[4] = {0, 0, 0, 0};
    for (uint32_t i = all.start + first + threadIdx.x; i < all.start + end; i += blockDim.x) {
        const uint64_t x = key_of(c.x[i]), y = key_of(c.y[i]);
        (most[0] = max(most[0], ~x), most[1] = max(most[1], x), most[2] = max(most[2], ~y), most[3] = max(most[3], y));
    }
    for (uint32_t a = 0; a < 4; a++) {
        __syncthreads();
        const uint64_t all_most = reduced(most[a], [](const uint64_t u, const uint64_t v) { return u > v ? u : v; });
        if (threadIdx.x == 0)
            lift(&p.states[k].ends[a], all_most);
    }
}

// A warp a segment of more than `limit` points: what is left of the part after the step before, and the next pivot.
extern "C" __global__ void __launch_bounds__(32) pivots_choose(const Problem p, const uint32_t splits, const uint32_t limit)
{
    State s = p.states[blockIdx.x];
    const Span all = segment(p.n, splits, blockIdx.x);
    const uint32_t median = all.start + all.count / 2;
    if (s.lower > 0) {
        narrow(s.begin, s.count, s.lower, median);
        s.column = next_column(s.column, splits);
        s.lower = 0;
    }
    if (s.count > limit) {
        const Ordered pivot = pivot_of_32(points_at(p, s.column), is_split_along_x(s), s.begin, s.count, median);
        (s.key = pivot.key, s.order = pivot.order, s.low = 0, s.high = 0);
    }
    __syncwarp();
    if (threadIdx.x == 0)
        p.states[blockIdx.x] = s;
}

// Counts in each part that is longer than `limit` what is lower than the pivot.
extern "C" __global__ void __launch_bounds__(256) pivots_count(const Problem p, const uint32_t tiles, const uint32_t limit)
{
    State *const s = p.states + blockIdx.x / tiles;
    const uint32_t first = blockIdx.x % tiles * PIVOT_TILE, count = s->count;
    if (count <= limit || first >= count)
        return;
    const PointColumn c = points_at(p, s->column);
    const Ordered pivot = {s->key, s->order};
    const bool is_along_x = is_split_along_x(*s);
    uint32_t lower = 0;
    for (uint32_t i = first + threadIdx.x; i < min(first + PIVOT_TILE, count); i += 256)
        lower += is_lower(ordered(c, is_along_x, s->begin + i), pivot);
    lower = sum_of_block(lower);
    if (threadIdx.x == 0)
        atomicAdd(&s->lower, lower);
}

// Where the points of a part go that are lower than its pivot, and the others.
struct Sides {
    PointColumn from, low, high;
    PF_INLINE Sides(const Problem &p, const uint32_t splits, const uint32_t column, const uint32_t middle, const uint32_t median)
    {
        const PointColumn next = points_at(p, next_column(column, splits)), end = points_at(p, (splits + 1) % 2);
        from = points_at(p, column);
        low = median < middle ? next : end;
        high = median > middle ? next : end;
    }
};

// Moves them. Each block takes space for its own by atomic additions.
extern "C" __global__ void __launch_bounds__(256) pivots_move(const Problem p, const uint32_t splits, const uint32_t tiles,
                                                              const uint32_t limit)
{
    __shared__ uint32_t places[2];
    const uint32_t k = blockIdx.x / tiles, each = PIVOT_TILE / 256;
    State *const s = p.states + k;
    const uint32_t tile = blockIdx.x % tiles * PIVOT_TILE, count = s->count, begin = s->begin, middle = begin + s->lower;
    if (count <= limit || tile >= count)
        return;
    const Span all = segment(p.n, splits, k);
    const Sides sides(p, splits, s->column, middle, all.start + all.count / 2);
    const Ordered pivot = {s->key, s->order};
    const bool is_along_x = is_split_along_x(*s);
    const uint32_t first = tile + threadIdx.x;
    uint32_t lower = 0, own = 0;
    for (uint32_t r = 0; r < each; r++)
        if (first + r * 256 < count) {
            lower |= (uint32_t)is_lower(ordered(sides.from, is_along_x, begin + first + r * 256), pivot) << r;
            own += 1;
        }
    uint32_t sum;
    // Of both sides, in the halves of a word.
    const uint32_t lows = __popc(lower), before = sum_before(lows | (own - lows) << 16, &sum);
    if (threadIdx.x == 0) {
        places[0] = begin + atomicAdd(&s->low, sum & 0xffff);
        places[1] = middle + atomicAdd(&s->high, sum >> 16);
    }
    __syncthreads();
    uint32_t low = places[0] + (before & 0xffff), high = places[1] + (before >> 16);
    for (uint32_t r = 0; r < own; r++) {
        const bool is_low = lower >> r & 1;
        move_point(sides.from, begin + first + r * 256, is_low ? sides.low : sides.high, is_low ? low++ : high++);
    }
}

// The rest of each split, by a block.
extern "C" __global__ void __launch_bounds__(256) pivots_rest(const Problem p, const uint32_t splits)
{
    const State s = p.states[blockIdx.x];
    const Span all = segment(p.n, splits, blockIdx.x);
    const uint32_t median = all.start + all.count / 2;
    const bool is_along_x = is_split_along_x(s);
    uint32_t begin = s.begin, count = s.count, column = s.column;
    while (count > 32) {
        const PointColumn from = points_at(p, column);
        // Each warp finds the same one.
        const Ordered pivot = pivot_of_32(from, is_along_x, begin, count, median);
        const uint32_t each = (count + blockDim.x - 1) / blockDim.x, first = min(threadIdx.x * each, count);
        const uint32_t own = min(each, count - first);
        uint32_t lows = 0, lower;
        for (uint32_t r = 0; r < own; r++)
            lows += is_lower(ordered(from, is_along_x, begin + first + r), pivot);
        uint32_t low = begin + sum_before(lows, &lower), high = begin + lower + first - (low - begin);
        const Sides sides(p, splits, column, begin + lower, median);
        for (uint32_t r = 0; r < own; r++) {
            const uint32_t i = begin + first + r;
            const bool is_low = is_lower(ordered(from, is_along_x, i), pivot);
            move_point(from, i, is_low ? sides.low : sides.high, is_low ? low++ : high++);
        }
        narrow(begin, count, lower, median);
        column = next_column(column, splits);
        __syncthreads();
    }
    if (threadIdx.x >= 32)
        return;
    const PointColumn from = points_at(p, column);
    const bool is_there = threadIdx.x < count;
    const Ordered own = is_there ? ordered(from, is_along_x, begin + threadIdx.x) : Ordered{~0ull, ~0u};
    const uint32_t rank = rank_of_lane(own, is_there);
    if (is_there)
        move_point(from, begin + threadIdx.x, points_at(p, (splits + 1) % 2), begin + rank);
}
