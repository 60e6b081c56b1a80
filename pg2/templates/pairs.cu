// Any job: a block computes some targets of one run against all stretches of its sources.

// Sources of a tile in shared memory.
#define TILE (sizeof(Source) <= 64 ? 256 : sizeof(Source) <= 256 ? 64 : 16)
// Whether the sums of threads that share a target fit in shared memory.
#define SHARE (sizeof(Sums) * THREADS <= 32768)

struct Pair { uint32_t x, y; };

extern "C" __global__ void __launch_bounds__(THREADS, 3) pairs(
    const uint64_t *__restrict__ targets, const uint64_t *__restrict__ sources, const uint64_t *__restrict__ params,
    const Pair *__restrict__ cidx, const Pair *__restrict__ cpart_idx, const uint32_t *__restrict__ uidx,
    const Pair *__restrict__ ulist, uint64_t *__restrict__ results, uint32_t *__restrict__ flags)
{
    __shared__ __align__(16) char memory[sizeof(Source) * TILE > (SHARE ? sizeof(Sums) * THREADS : 16)
                                             ? sizeof(Source) * TILE : (SHARE ? sizeof(Sums) * THREADS : 16)];
    Source *tile = (Source *)memory;
    const Pair block = cidx[blockIdx.x], cell = cpart_idx[block.x];
    const uint32_t left = cell.y - block.y, count = left < THREADS ? left : THREADS;
    const uint32_t ways = SHARE ? THREADS / count : 1;
    const uint32_t way = threadIdx.x / count, place = threadIdx.x % count;
    const bool works = way < ways;
    const uint64_t at = (uint64_t)cell.x + block.y + place;

    Params constants;
    load(constants, params);
    Target target;
    load(target, targets + at * TARGET_WORDS);
    Sums sums;
    start(sums);
    for (uint32_t u = uidx[block.x]; u < uidx[block.x + 1]; u++) {
        const Pair stretch = ulist[u];
        for (uint32_t first = 0; first < stretch.y; first += TILE) {
            const uint32_t n = stretch.y - first < TILE ? stretch.y - first : TILE;
            __syncthreads();
            for (uint32_t k = threadIdx.x; k < n; k += THREADS)
                load(tile[k], sources + ((uint64_t)stretch.x + first + k) * SOURCE_WORDS);
            __syncthreads();
            if (works)
                for (uint32_t k = way; k < n; k += ways)
                    pair(target, tile[k], constants, sums);
        }
    }
    if (SHARE && ways > 1) {
        Sums *all = (Sums *)memory;
        __syncthreads();
        if (works)
            all[threadIdx.x] = sums;
        __syncthreads();
        if (way == 0)
            for (uint32_t k = 1; k < ways; k++)
                join(sums, all[k * count + place]);
    }
    if (way == 0)
        flags[at] = finish(sums, results + at * RESULT_WORDS);
}
