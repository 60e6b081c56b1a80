// Connectivity, a level a launch: a warp finds the lists of a box among the children of what its parent is strongly coupled to.
//
// Where a list stands depends on which block comes first; what is in it, and in which order, does not.

#define WEAK 0
#define STRONG 1
#define TO_LOCAL 2
#define FROM_MULTIPOLE 3
#define NONE 4

// How box a, as a target, is coupled to b, as a source: `Couple::coupling` of plane/lists.rs.
PF uint32_t coupling(const Problem &p, const uint32_t a, const uint32_t b, const bool is_finest)
{
    const double d = length_of(p.centre_x[b] - p.centre_x[a], p.centre_y[b] - p.centre_y[a]);
    const double ra = p.radius[a], rb = p.radius[b], large = fmax(ra, rb), small = fmin(ra, rb);
    if (d < LEAST) {
        const bool is_one_place = d == 0 && large == 0;
        return is_one_place && a != b ? NONE : STRONG;
    }
    if (large + p.theta * small <= p.theta * d)
        return WEAK;
    // A box of one place may lie at a point of the larger one, on which it does not act.
    const bool is_outside = large < d * (1.0 - 0x1p-40);
    if (!is_finest || !is_outside || small + p.theta * large > p.theta * d)
        return STRONG;
    return rb > ra ? TO_LOCAL : FROM_MULTIPOLE;
}

// The lists of the eight boxes from `first` on, one a warp, by a block of 256.
PF void couple_eight(const Problem &p, const uint32_t level, const uint32_t first)
{
    __shared__ uint32_t counts[8][4], starts[8][4];
    __shared__ uint64_t pairs_of[8][3];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, k = first + warp, place = first_box(level);
    const uint32_t boxes = 1u << 2 * p.levels;
    const bool is_finest = level == p.levels, is_there = k < 1u << 2 * level;
    // The children of the root are candidates of each other, as is the root of itself where it is the finest box.
    const List above = level < 2 || !is_there ? List{0, 0} : p.strong[(level + 1) % 2 * boxes + k / 4];
    const uint32_t *const parents = p.items[STRONG] + above.start, all = !is_there ? 0 : level < 2 ? 1u << 2 * level : 4 * above.count;
    const auto other = [&](const uint32_t c) { return level < 2 ? c : 4 * parents[c / 4] + c % 4; };
    uint32_t own[4] = {0, 0, 0, 0};
    uint64_t pairs = 0, p2l = 0;
    for (uint32_t c = 0; is_there && c < all; c += 32) {
        const uint32_t kind = c + lane < all ? coupling(p, place + k, place + other(c + lane), is_finest) : NONE;
#pragma unroll
        for (uint32_t list = 0; list < 4; list++)
            own[list] += __popc(__ballot_sync(~0u, kind == list));
        if (is_finest && kind == STRONG)
            pairs += points_of(p, other(c + lane)).count;
        if (is_finest && kind == TO_LOCAL)
            p2l += points_of(p, other(c + lane)).count;
    }
    if (is_finest)
        for (uint32_t step = 16; step > 0; step /= 2) {
            pairs += __shfl_xor_sync(~0u, pairs, step);
            p2l += __shfl_xor_sync(~0u, p2l, step);
        }
    __syncthreads();
    if (lane == 0 && is_finest) {
        const uint64_t targets = is_there ? points_of(p, k).count : 0;
        (pairs_of[warp][0] = pairs * targets, pairs_of[warp][1] = p2l, pairs_of[warp][2] = own[FROM_MULTIPOLE] * targets);
    }
    if (lane < 4)
        counts[warp][lane] = lane == 0 ? own[0] : lane == 1 ? own[1] : lane == 2 ? own[2] : own[3];
    __syncthreads();
    if (threadIdx.x < 4) {
        uint32_t sum = 0;
        for (uint32_t w = 0; w < 8; w++)
            (starts[w][threadIdx.x] = sum, sum += counts[w][threadIdx.x]);
        uint64_t start = 0;
        if (sum > 0)
            start = atomicAdd((unsigned long long *)&p.status->items[threadIdx.x], (unsigned long long)sum);
        // Without capacity there are no lists; the host sees what would have been needed.
        const bool is_full = start + sum > p.capacity[threadIdx.x];
        for (uint32_t w = 0; w < 8; w++) {
            starts[w][threadIdx.x] += (uint32_t)start;
            counts[w][threadIdx.x] = is_full ? 0 : counts[w][threadIdx.x];
        }
    }
    if (is_finest && threadIdx.x >= 32 && threadIdx.x < 35) {
        // Sums of integers, which no order changes.
        uint64_t sum = 0;
        for (uint32_t w = 0; w < 8; w++)
            sum += pairs_of[w][threadIdx.x - 32];
        if (sum > 0)
            atomicAdd((unsigned long long *)(&p.status->pairs + (threadIdx.x - 32)), (unsigned long long)sum);
    }
    __syncthreads();
    if (!is_there)
        return;
    if (lane < 4) {
        const List list = {starts[warp][lane], counts[warp][lane]};
        if (lane == WEAK)
            p.weak[place + k] = list;
        else if (lane == STRONG)
            p.strong[level % 2 * boxes + k] = list;
        else if (is_finest)
            (lane == TO_LOCAL ? p.p2l : p.m2p)[k] = list;
    }
    uint32_t at[4];
#pragma unroll
    for (uint32_t list = 0; list < 4; list++)
        at[list] = starts[warp][list];
    for (uint32_t c = 0; c < all; c += 32) {
        const uint32_t kind = c + lane < all ? coupling(p, place + k, place + other(c + lane), is_finest) : NONE;
#pragma unroll
        for (uint32_t list = 0; list < 4; list++) {
            const uint32_t those = __ballot_sync(~0u, kind == list);
            if (kind == list && counts[warp][list] > 0)
                p.items[list][at[list] + __popc(those & lanes_before())] = other(c + lane) + (list == WEAK ? place : 0);
            at[list] += __popc(those);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) couple(const Problem p, const uint32_t level)
{
    couple_eight(p, level, blockIdx.x * 8);
}

// One block: all levels from below the root to this one, or the root where there are no others.
extern "C" __global__ void __launch_bounds__(256) couple_top(const Problem p, const uint32_t level)
{
    for (uint32_t l = min(level, 1u); l <= level; l++)
        for (uint32_t first = 0; first < 1u << 2 * l; first += 8) {
            couple_eight(p, l, first);
            __syncthreads();
        }
}
