// Sorting particles by Morton key: a radix sort from the lowest digit of 8 bits on, each pass of which keeps the order of equal digits.
// It may begin at a higher digit. Pass 7 is the last one, and what it gives stands in the first of two memories.

#define DIGITS 256
#define SORT_ITEMS 8
#define SORT_TILE (256 * SORT_ITEMS)

// Every third bit from 21 bits.
PF uint64_t dilated(uint64_t x)
{
    x = (x | x << 32) & 0x1f00000000ffffull;
    x = (x | x << 16) & 0x1f0000ff0000ffull;
    x = (x | x << 8) & 0x100f00f00f00f00full;
    x = (x | x << 4) & 0x10c30c30c30c30c3ull;
    return (x | x << 2) & 0x1249249249249249ull;
}

PF uint32_t contracted(uint64_t x)
{
    x &= 0x1249249249249249ull;
    x = (x | x >> 2) & 0x10c30c30c30c30c3ull;
    x = (x | x >> 4) & 0x100f00f00f00f00full;
    x = (x | x >> 8) & 0x1f0000ff0000ffull;
    x = (x | x >> 16) & 0x1f00000000ffffull;
    return (uint32_t)(x | x >> 32) & ((1u << DEEPEST) - 1);
}

PF uint64_t grid(const double x, const int axis, const Problem &p)
{
    const double g = floor((in_box(scaled(x, axis, p), axis, p) + 0.5) * (1u << DEEPEST));
    return g < 0 ? 0 : g > (double)((1u << DEEPEST) - 1) ? (1u << DEEPEST) - 1 : (uint64_t)g;
}

extern "C" __global__ void __launch_bounds__(256) keys(const Problem p, const uint32_t pass)
{
    const uint32_t i = blockIdx.x * 256u + threadIdx.x;
    if (i >= p.n)
        return;
    p.keys[pass & 1][i] = dilated(grid(p.x[i], 0, p)) << 2 | dilated(grid(p.y[i], 1, p)) << 1 | dilated(grid(p.z[i], 2, p));
    p.order[pass & 1][i] = i;
}

// How many keys of a tile have each digit.
extern "C" __global__ void __launch_bounds__(256) count_digits(const Problem p, const uint32_t pass)
{
    __shared__ uint32_t counts[DIGITS];
    counts[threadIdx.x] = 0;
    __syncthreads();
    const uint64_t *const keys = p.keys[pass & 1];
    for (uint32_t item = 0; item < SORT_ITEMS; item++) {
        const uint64_t i = (uint64_t)blockIdx.x * SORT_TILE + item * 256 + threadIdx.x;
        if (i < p.n)
            atomicAdd(&counts[keys[i] >> 8 * pass & 255], 1u);
    }
    __syncthreads();
    p.counts[threadIdx.x * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

// A block of as many threads as suit it a row of counts, each of which becomes the sum of those before it.
extern "C" __global__ void __launch_bounds__(1024) scan_rows(const Problem p, const uint32_t length)
{
    uint32_t *const row = p.counts + (uint64_t)blockIdx.x * length, so_far = 0;
    for (uint32_t first = 0; first < length; first += blockDim.x) {
        const uint32_t k = first + threadIdx.x;
        uint32_t all;
        const uint32_t before = sum_before(k < length ? row[k] : 0u, &all);
        if (k < length)
            row[k] = so_far + before;
        so_far += all;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        p.totals[blockIdx.x] = so_far;
}

// Puts the keys of a tile in the order of a digit: within the tile first, so that keys of a digit go to their places side by side. A warp
// takes keys that follow each other, 32 at a time.
extern "C" __global__ void __launch_bounds__(256) place_digits(const Problem p, const uint32_t pass)
{
    __shared__ uint32_t counts[8][DIGITS], shifts[DIGITS], numbers[SORT_TILE];
    __shared__ uint64_t keys[SORT_TILE];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, below = (1u << lane) - 1;
    const uint64_t *const from = p.keys[pass & 1];
    const uint32_t *const order = p.order[pass & 1];
    const uint64_t tile = (uint64_t)blockIdx.x * SORT_TILE, first = tile + warp * 32 * SORT_ITEMS + lane;
    for (uint32_t w = 0; w < 8; w++)
        counts[w][threadIdx.x] = 0;
    __syncthreads();
    uint64_t own[SORT_ITEMS];
    uint32_t own_numbers[SORT_ITEMS], ranks[SORT_ITEMS];
#pragma unroll
    for (uint32_t item = 0; item < SORT_ITEMS; item++) {
        const uint64_t i = first + item * 32;
        own[item] = i < p.n ? from[i] : 0;
        own_numbers[item] = i < p.n ? order[i] : 0;
    }
#pragma unroll
    for (uint32_t item = 0; item < SORT_ITEMS; item++) {
        const bool is_there = first + item * 32 < p.n;
        const uint32_t digit = own[item] >> 8 * pass & 255;
        uint32_t same = __ballot_sync(~0u, is_there);
#pragma unroll
        for (uint32_t bit = 0; bit < 8; bit++) {
            const uint32_t set = __ballot_sync(~0u, digit >> bit & 1);
            same &= digit >> bit & 1 ? set : ~set;
        }
        const uint32_t before = counts[warp][digit];
        __syncwarp();
        if (is_there && (same & below) == 0)
            counts[warp][digit] = before + __popc(same);
        __syncwarp();
        ranks[item] = before + __popc(same & below);
    }
    __syncthreads();
    uint32_t all, count = 0;
    for (uint32_t w = 0; w < 8; w++)
        count += counts[w][threadIdx.x];
    uint32_t place = sum_before(count, &all);
    __syncthreads();
    const uint32_t start = sum_before(p.totals[threadIdx.x], &all) + p.counts[threadIdx.x * gridDim.x + blockIdx.x];
    shifts[threadIdx.x] = start - place;
    for (uint32_t w = 0; w < 8; w++) {
        const uint32_t of_warp = counts[w][threadIdx.x];
        counts[w][threadIdx.x] = place;
        place += of_warp;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t item = 0; item < SORT_ITEMS; item++) {
        if (first + item * 32 >= p.n)
            continue;
        const uint32_t to = counts[warp][own[item] >> 8 * pass & 255] + ranks[item];
        keys[to] = own[item];
        numbers[to] = own_numbers[item];
    }
    __syncthreads();
    uint64_t *const keys_to = p.keys[~pass & 1];
    uint32_t *const order_to = p.order[~pass & 1];
    for (uint32_t k = threadIdx.x; k < SORT_TILE && tile + k < p.n; k += 256) {
        const uint64_t key = keys[k];
        const uint32_t to = shifts[key >> 8 * pass & 255] + k;
        keys_to[to] = key;
        order_to[to] = numbers[k];
    }
}

// Sorted particles, as the stages read them.
extern "C" __global__ void __launch_bounds__(256) place_records(const Problem p)
{
    const uint32_t k = blockIdx.x * 256u + threadIdx.x;
    if (k >= p.n)
        return;
    const uint32_t i = p.order[0][k];
    const double x = scaled(p.x[i], 0, p), y = scaled(p.y[i], 1, p), z = scaled(p.z[i], 2, p);
#if SINGLE
    Record r = {in_box(x, 0, p), in_box(y, 1, p), in_box(z, 2, p), charge(i, p)};
#else
    Record r = {x, y, z, charge(i, p)};
#endif
#if DIPOLES
    (r.px = moment_of_record(i, 0, p), r.py = moment_of_record(i, 1, p), r.pz = moment_of_record(i, 2, p));
#endif
    p.records[k] = r;
}
