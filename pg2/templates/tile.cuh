// What the kernels of P2P share: sources of a tile in shared memory against the targets of a thread.
//
// A thread has SHARED targets, so that a source read from shared memory serves several pairs. With fewer targets than a block
// takes, `ways` threads have the same ones: each takes one stretch of every tile, and their sums meet in shared memory, in one
// order. Where a source may be too close to a target, distances are looked at, in groups of UNROLL; pairs that are too close are
// left out and counted.

// Threads that have the same targets at most: each has a group of sources in a full tile.
#define MOST_WAYS (TILE / UNROLL < 32 ? TILE / UNROLL : 32)
#define WARPS (THREADS / 32)
#define GUARDS (TILE / UNROLL / 32 + 1)     // words with a bit for each group of a warp's stretches
static_assert(WARPS * GUARDS <= THREADS, "each guard is cleared by a thread of its own");

struct __align__(4 * sizeof(Real)) Real4 { Real x, y, z, w; };

// What is summed for a target, and how many sources were left out.
struct Sums { Real potential, gradient[3]; uint32_t close; };

// Adds what a source gives at a place. A text that sums other things has this, and the two functions below, for its own sources and sums.
PF void add_pair(const Real *const at, const Real4 &s, const Setting &setting, Sums &sums)
{
    const Real x[3] = {s.x, s.y, s.z};
    pair(at, x, s.w, setting, &sums.potential, sums.gradient);
}

// The source at another x, where it adds 0.
PF Real4 silent(const Real4 &s, const Real x) { return {x, s.y, s.z, 0}; }

PF void add_sums(Sums &sum, const Sums &other)
{
    sum.potential += other.potential;
    for (int a = 0; a < 3; a++)
        sum.gradient[a] += other.gradient[a];
    sum.close += other.close;
}

typedef uint32_t Guards[WARPS][GUARDS];

PF void clear(Guards &guards)
{
    if (threadIdx.x < WARPS * GUARDS)
        guards[threadIdx.x / GUARDS][threadIdx.x % GUARDS] = 0;
}

// Notes that source k of a way's stretch may be too close: for all warps that have threads of this way.
PF void mark(Guards &guards, const uint32_t way, const uint32_t threads, const uint32_t k)
{
    // There are few warps; unrolled, the loop takes registers that the sums need.
#pragma unroll 1
    for (uint32_t warp = way * threads / 32; warp <= (way * threads + threads - 1) / 32; warp++)
        atomicOr(&guards[warp][k / UNROLL / 32], 1u << (k / UNROLL % 32));
}

// The targets of a thread against the groups of its stretch.
template <class Source, class Sums>
PF void add_stretch(const Source *s, const uint32_t groups, const Guards &guards, const Real (&at)[SHARED][3], const Setting &setting,
                    const Real least, Sums (&sums)[SHARED])
{
    for (uint32_t group = 0; group < groups;) {
        const uint32_t left = groups - group, known = 32 - group % 32;
        const uint32_t guard = guards[threadIdx.x / 32][group / 32] >> (group % 32);
        if (guard & 1) {
#pragma unroll UNROLL_GUARDED
            for (int k = 0; k < UNROLL; k++, s++) {
                const Source a = *s;
#pragma unroll
                for (int t = 0; t < SHARED; t++) {
                    const Real d[3] = {a.x - at[t][0], a.y - at[t][1], a.z - at[t][2]};
                    const bool is_close = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < least;
                    sums[t].close += is_close;
                    // Moved so that all is a number.
                    add_pair(at[t], is_close ? silent(a, at[t][0] + 1) : a, setting, sums[t]);
                }
            }
            group++;
            continue;
        }
        // All groups up to the next guarded one.
        uint32_t plain = guard ? __ffs(guard) - 1 : known;
        plain = plain < left ? plain : left;
        group += plain;
        for (; plain > 0; plain--, s += UNROLL) {
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                const Source a = s[k];
#pragma unroll
                for (int t = 0; t < SHARED; t++)
                    add_pair(at[t], a, setting, sums[t]);
            }
        }
    }
}

// The threads of a block: so many ways, of which each has a thread for every SHARED targets; a thread's way, and its place among those.
struct Division { uint32_t threads, ways, way, place; };

PF Division divide(const uint32_t targets)
{
    const uint32_t threads = (targets + SHARED - 1) / SHARED;
    const uint32_t ways = THREADS / threads < MOST_WAYS ? THREADS / threads : MOST_WAYS, way = threadIdx.x / threads;
    return {threads, ways, way, threadIdx.x - way * threads};
}

// The target t of a thread. Where the targets do not come out even, the last is computed twice.
PF uint32_t target_of(const Division &d, const uint32_t t, const uint32_t targets)
{
    return d.place + t * d.threads < targets ? d.place + t * d.threads : targets - 1;
}

// All sources against the targets of a thread, tile by tile. `load` brings the source of a number, which rises, and says whether it may be
// too close to a target. Each way begins in another bank: its stretch has an odd number of sources.
template <class Source, class Sums, class Load>
PF void add_sources(const uint32_t sources, const Division &d, Source (&tile)[TILE + MOST_WAYS], Guards &guards,
                    const Real (&at)[SHARED][3], const Setting &setting, const Real least, Sums (&sums)[SHARED], Load load)
{
    const uint32_t threads = d.threads, ways = d.ways, way = d.way, place = d.place;
    const bool works = way < ways;
    // The sources of a way in a full tile, a multiple of UNROLL, and the distance of two ways in the tile.
    const uint32_t most = TILE / ways / UNROLL * UNROLL;
    for (uint32_t begin = 0; begin < sources; begin += ways * most) {
        const uint32_t rest = sources - begin;
        const uint32_t each = rest < ways * most ? (rest + ways - 1) / ways : most;
        const uint32_t filled = (each + UNROLL - 1) / UNROLL * UNROLL, pitch = filled | 1;
        __syncthreads();
        clear(guards);
        __syncthreads();
        if (works) {
            for (uint32_t k = place; k < filled; k += threads) {
                const uint32_t number = begin + way * each + k;
                Source s = {(Real)3e4, (Real)3e4, (Real)3e4};
                if (k < each && number < sources && load(number, s))
                    mark(guards, way, threads, k);
                tile[way * pitch + k] = s;
            }
        }
        __syncthreads();
        if (works)
            add_stretch(tile + way * pitch, filled / UNROLL, guards, at, setting, least, sums);
    }
}

// The sums of all ways for a target, which the first way has afterwards. All threads of the block come here.
template <class Sums> PF Sums joined(Sums sum, Sums *const parts, const Division &d)
{
    if (d.ways == 1)
        return sum;
    __syncthreads();
    if (d.way < d.ways)
        parts[threadIdx.x] = sum;
    __syncthreads();
    if (d.way == 0) {
#pragma unroll 1
        for (uint32_t k = 1; k < d.ways; k++)
            add_sums(sum, parts[k * d.threads + d.place]);
    }
    return sum;
}
