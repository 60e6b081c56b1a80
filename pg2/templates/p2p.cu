// P2P: a block computes up to THREADS targets of one cell against the concatenated stretches of its sources.
//
// With fewer targets than threads, `ways` threads share a target: each takes one stretch of every tile. Their sums meet in
// shared memory, in one order. Sources that may be too close to a target are looked at one by one, in groups of UNROLL.

#define UNROLL 8
// Threads that share a target at most: each has a group of sources in a full tile.
#define MOST_WAYS (TILE / UNROLL < 32 ? TILE / UNROLL : 32)

// A cell's part of the targets, and the frame in which its sums are done.
struct Block {
    double origin[3], factor;       // a place in the frame is (x - origin) * factor
    Real low[3], high[3];           // sources outside of this box are far enough from all targets
    Real eps2, least;               // squares in the frame's unit: softening, and the distance of pairs too close
    uint32_t first, count;          // targets
    uint32_t uidx, uidx_end;        // in ulist
    uint32_t sources, unused;       // how many in all
};

// A stretch of sources: where it begins among all of the cell, and what to add for the particle.
struct Stretch { uint32_t begin, shift; };

struct __align__(4 * sizeof(Real)) Source { Real x[3], q; };

extern "C" __global__ void __launch_bounds__(THREADS, 3) p2p(
    const double *__restrict__ x, const double *__restrict__ y, const double *__restrict__ z, const Real *__restrict__ q,
    const Block *__restrict__ cidx, const Stretch *__restrict__ ulist, Real *__restrict__ force, uint32_t *__restrict__ close_pairs)
{
    // Each way begins in another bank: its stretch has an odd number of sources.
    __shared__ Source tile[TILE + MOST_WAYS];
    __shared__ uint32_t guards[TILE / UNROLL / 32 + 1];
    const Block *const __restrict__ block = cidx + blockIdx.x;
    const uint32_t count = block->count, ways = THREADS / count < MOST_WAYS ? THREADS / count : MOST_WAYS;
    const uint32_t way = threadIdx.x / count, place = threadIdx.x - way * count;
    const bool works = way < ways;
    const uint32_t i = block->first + place;
    const double ox = block->origin[0], oy = block->origin[1], oz = block->origin[2], factor = block->factor;
    const Real at[3] = {(Real)((x[i] - ox) * factor), (Real)((y[i] - oy) * factor), (Real)((z[i] - oz) * factor)};
    const Real eps2 = block->eps2, least = block->least;
    const uint32_t sources = block->sources, uidx_end = block->uidx_end;
    // The sources of a way in a full tile, a multiple of UNROLL, and the distance of two ways in the tile.
    const uint32_t most = TILE / ways / UNROLL * UNROLL;
    Real potential = 0, gradient[3] = {0, 0, 0};
    uint32_t close = 0;

    uint32_t u = block->uidx;
    for (uint32_t begin = 0; begin < sources; begin += ways * most) {
        const uint32_t rest = sources - begin;
        const uint32_t each = rest < ways * most ? (rest + ways - 1) / ways : most;
        const uint32_t filled = (each + UNROLL - 1) / UNROLL * UNROLL, pitch = filled | 1;
        __syncthreads();
        if (threadIdx.x < sizeof(guards) / 4)
            guards[threadIdx.x] = 0;
        __syncthreads();
        if (works) {
            for (uint32_t k = place; k < filled; k += count) {
                const uint32_t number = begin + way * each + k;
                Source s = {{(Real)3e4, (Real)3e4, (Real)3e4}, 0};
                if (k < each && number < sources) {
                    while (u + 1 < uidx_end && number >= ulist[u + 1].begin)
                        u++;
                    const uint32_t j = number + ulist[u].shift;
                    s.x[0] = (Real)((x[j] - ox) * factor);
                    s.x[1] = (Real)((y[j] - oy) * factor);
                    s.x[2] = (Real)((z[j] - oz) * factor);
                    s.q = q[j];
                    const bool is_near = s.x[0] >= block->low[0] && s.x[0] <= block->high[0] && s.x[1] >= block->low[1] &&
                                         s.x[1] <= block->high[1] && s.x[2] >= block->low[2] && s.x[2] <= block->high[2];
                    if (is_near)
                        atomicOr(&guards[k / UNROLL / 32], 1u << (k / UNROLL % 32));
                }
                tile[way * pitch + k] = s;
            }
        }
        __syncthreads();
        if (works) {
            const Source *s = tile + way * pitch;
            for (uint32_t group = 0; group < filled / UNROLL; group++, s += UNROLL) {
                if (guards[group / 32] >> (group % 32) & 1) {
                    for (int k = 0; k < UNROLL; k++) {
                        const Source a = s[k];
                        const Real d[3] = {a.x[0] - at[0], a.x[1] - at[1], a.x[2] - at[2]};
                        if (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < least)
                            close++;
                        else
                            pair(at, a.x, a.q, eps2, &potential, gradient);
                    }
                } else {
#pragma unroll
                    for (int k = 0; k < UNROLL; k++) {
                        const Source a = s[k];
                        pair(at, a.x, a.q, eps2, &potential, gradient);
                    }
                }
            }
        }
    }

    struct Sums { Real force[4]; uint32_t close; };
    Sums sums = {{potential, gradient[0], gradient[1], gradient[2]}, close};
    if (ways > 1) {
        Sums *all = (Sums *)tile;
        __syncthreads();
        if (works)
            all[threadIdx.x] = sums;
        __syncthreads();
        if (way == 0) {
            for (uint32_t k = 1; k < ways; k++) {
                const Sums &other = all[k * count + place];
                for (int a = 0; a < 4; a++)
                    sums.force[a] += other.force[a];
                sums.close += other.close;
            }
        }
    }
    if (way == 0) {
        for (int a = 0; a < 4; a++)
            force[4 * (uint64_t)i + a] = sums.force[a];
        close_pairs[i] = sums.close;
    }
}
