// What the kernels of P2P share: sources of a tile in shared memory against the targets of a thread.
//
// A thread has several targets, so that a source read from shared memory serves several pairs. With fewer targets than a block
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
template <int N> struct SumsOf { Real values[N]; uint32_t close; };

// The potential, and its gradient.
typedef SumsOf<4> Sums;

// Sources that a block has room for in shared memory: those of a tile, and later the sums of its threads, which have S targets each.
template <class Source, class Sums, int S> struct Room {
    static constexpr uint32_t tile = TILE + MOST_WAYS, sums = (THREADS * S * sizeof(Sums) + sizeof(Source) - 1) / sizeof(Source);
    static constexpr uint32_t sources = tile > sums ? tile : sums;
};

// Adds what a source gives at a distance, from target to source. A text that sums other things has this, and the function below, for its
// own sources and sums.
PF void add_pair(const Real *const d, const Real4 &s, const Setting &setting, Sums &sums)
{
    const Real origin[3] = {0, 0, 0};
    pair(origin, d, s.w, setting, &sums.values[0], sums.values + 1);
}

// The source, or what adds 0 in its place.
PF Real4 unless(const bool is_silent, const Real4 &s) { return {s.x, s.y, s.z, is_silent ? 0 : s.w}; }

template <int N> PF void add_sums(SumsOf<N> &sum, const SumsOf<N> &other)
{
#pragma unroll
    for (int a = 0; a < N; a++)
        sum.values[a] += other.values[a];
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

// A source against the targets of a thread.
template <class Source, class Sums, int S>
PF void add_plain(const Source &a, const Real (&at)[S][3], const Setting &setting, Sums (&sums)[S])
{
#pragma unroll
    for (int t = 0; t < S; t++) {
        const Real d[3] = {a.x - at[t][0], a.y - at[t][1], a.z - at[t][2]};
        add_pair(d, a, setting, sums[t]);
    }
}

// The same where it may be too close.
template <class Source, class Sums, int S>
PF void add_guarded(const Source &a, const Real (&at)[S][3], const Setting &setting, const Real least, Sums (&sums)[S])
{
#pragma unroll
    for (int t = 0; t < S; t++) {
        Real d[3] = {a.x - at[t][0], a.y - at[t][1], a.z - at[t][2]};
        const bool is_close = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < least;
        sums[t].close += is_close;
        // Moved so that all is a number.
        d[0] = is_close ? 1 : d[0];
        add_pair(d, unless(is_close, a), setting, sums[t]);
    }
}

// The targets of a thread against the groups of its stretch.
template <class Source, class Sums, int S>
PF void add_stretch(const Source *s, const uint32_t groups, const Guards &guards, const Real (&at)[S][3], const Setting &setting,
                    const Real least, Sums (&sums)[S])
{
    for (uint32_t group = 0; group < groups;) {
        const uint32_t left = groups - group, known = 32 - group % 32;
        const uint32_t guard = guards[threadIdx.x / 32][group / 32] >> (group % 32);
        if (guard & 1) {
#pragma unroll UNROLL_GUARDED
            for (int k = 0; k < UNROLL; k++, s++) {
                const Source a = *s;
                add_guarded(a, at, setting, least, sums);
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
            for (int k = 0; k < UNROLL; k++)
                add_plain(s[k], at, setting, sums);
        }
    }
}

// What makes quotients by `by` of multiplications, as long as a number times `by` is below 65536.
PF uint32_t inverse_of(const uint32_t by) { return (uint32_t)__fdividef(65536.0f, (float)by) + 1; }

PF uint32_t quotient(const uint32_t number, const uint32_t inverse) { return number * inverse >> 16; }

// The threads of a block: so many ways, of which each has a thread for every few targets; a thread's way, and its place among those.
struct Division { uint32_t threads, ways, way, place; };

// With so many targets a thread.
PF Division divide(const uint32_t targets, const uint32_t of_thread)
{
    const uint32_t threads = (targets + of_thread - 1) / of_thread, inverse = inverse_of(threads);
    const uint32_t most = quotient(THREADS, inverse), ways = most < MOST_WAYS ? most : MOST_WAYS, way = quotient(threadIdx.x, inverse);
    return {threads, ways, way, threadIdx.x - way * threads};
}

// The target t of a thread. Where the targets do not come out even, the last is computed twice.
PF uint32_t target_of(const Division &d, const uint32_t t, const uint32_t targets)
{
    return d.place + t * d.threads < targets ? d.place + t * d.threads : targets - 1;
}

// All sources against the targets of a thread, tile by tile. `load` brings the source of a number, which rises, and says whether it may be
// too close to a target. Each way begins in another bank: its stretch has an odd number of sources.
template <class Source, class Sums, int S, class Load>
PF void add_sources(const uint32_t sources, const Division &d, Source *const tile, Guards &guards,
                    const Real (&at)[S][3], const Setting &setting, const Real least, Sums (&sums)[S], Load load)
{
    const uint32_t threads = d.threads, ways = d.ways, way = d.way, inverse = inverse_of(ways);
    const bool works = way < ways;
    // The sources of a way in a full tile, a multiple of UNROLL, and the distance of two ways in the tile.
    const uint32_t most = quotient(TILE, inverse) / UNROLL * UNROLL;
    for (uint32_t begin = 0; begin < sources; begin += ways * most) {
        const uint32_t rest = sources - begin;
        const uint32_t each = rest < ways * most ? quotient(rest + ways - 1, inverse) : most;
        const uint32_t filled = (each + UNROLL - 1) / UNROLL * UNROLL, pitch = filled | 1;
        __syncthreads();
        clear(guards);
        __syncthreads();
        if (works) {
            const uint32_t first = begin + way * each, own = min(each, sources - min(sources, first));
            uint32_t k = d.place;
            for (; k < own; k += threads)
                if (load(first + k, tile[way * pitch + k]))
                    mark(guards, way, threads, k);
            for (; k < filled; k += threads)
                tile[way * pitch + k] = {(Real)3e4, (Real)3e4, (Real)3e4};
        }
        __syncthreads();
        if (works)
            add_stretch(tile + way * pitch, filled / UNROLL, guards, at, setting, least, sums);
    }
}

// Adds up the sums of all ways, in `parts`, and gives `take` those of each target. All threads of the block come here.
template <int N, int S, class Take>
PF void take_joined(const SumsOf<N> (&sums)[S], SumsOf<N> *const parts, const Division &d, const uint32_t targets, const Take take)
{
    __syncthreads();
    if (d.way < d.ways)
#pragma unroll
        for (int t = 0; t < S; t++)
            if (d.place + t * d.threads < targets)
                parts[d.way * targets + d.place + t * d.threads] = sums[t];
    __syncthreads();
#pragma unroll 1
    for (uint32_t target = threadIdx.x; target < targets; target += THREADS) {
        SumsOf<N> sum = parts[target];
#pragma unroll 1
        for (uint32_t way = 1; way < d.ways; way++)
            add_sums(sum, parts[way * targets + target]);
        take(target, sum);
    }
}
