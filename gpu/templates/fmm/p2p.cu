// P2P of a block, in both trees: up to MOST_TARGETS particles of a cell against all that are near it.

// Sorted particles of a cell.
struct TargetPart { uint32_t first, count; };

// The targets of a block, of which a cell has a part each, about as large.
PF TargetPart target_part(const uint32_t first, const uint32_t end, const uint32_t part)
{
    const uint32_t all = end - first, parts = (all + MOST_TARGETS - 1) / MOST_TARGETS;
    const uint32_t size = parts <= 1 ? all : (all + parts - 1) / parts;
    return {first + part * size, min(size, all - min(all, part * size))};
}

// Sorted particles that stand one behind the other: where they begin among all sources, what takes their numbers among these to sorted
// particles, and how they are seen.
#if PERIODIC
struct Stretch { uint32_t begin, shift; Seen frame; };
#else
struct Stretch { uint32_t begin, shift; };
#endif

// Stretches in shared memory at a time: two of a lane.
#define PARTS 64

// What a block has in shared memory. Behind the last stretch stands where the sources end.
struct Block {
    Source tile[Room<Source, TargetSums, SHARED>::sources];
    Guards guards;
    Frame frame;
    Stretch stretches[PARTS + 1];
    uint32_t sources;
};

// The block's targets, which stand in the tile, as sources. Each is too close to itself.
template <int S>
PF void add_targets(const Source *const tile, const uint32_t count, const Division &d, const Real (&at)[S][3], const Setting &setting,
                    TargetSums (&sums)[S])
{
    const uint32_t each = quotient(count + d.ways - 1, inverse_of(d.ways)), end = min(count, (d.way + 1) * each);
    if (d.way < d.ways)
#pragma unroll 1
        for (uint32_t k = d.way * each; k < end; k++) {
            const Source a = tile[k];
            add_guarded(a, at, setting, (Real)CLOSE, sums);
        }
}

// The sums of a block with S targets a thread; the first stretches are there.
template <int S, class Fill>
PF void add_block(const Problem &p, const TargetPart &targets, const Setting &setting, Block &block, const uint32_t parts, const Fill fill)
{
    const Division d = divide(targets.count, S);
    Real at[S][3];
    for (int t = 0; t < S; t++) {
        const Source target = block.tile[target_of(d, t, targets.count)];
        (at[t][0] = target.x, at[t][1] = target.y, at[t][2] = target.z);
    }
    TargetSums sums[S] = {};
    add_targets(block.tile, targets.count, d, at, setting, sums);
    for (uint32_t before = 0;;) {
        uint32_t u = 0, upto = block.stretches[1].begin;
        add_sources(block.sources, d, block.tile, block.guards, at, setting, (Real)CLOSE, sums, [&](const uint32_t number, Source &s) {
            while (number >= upto)
                upto = block.stretches[++u + 1].begin;
            const Record r = p.records[number + block.stretches[u].shift];
#if PERIODIC
            s = in_frame(r, block.stretches[u].frame);
#else
            s = in_frame(r, block.frame);
#endif
            return is_close_to_cell(s, block.frame);
        });
        before += PARTS;
        if (before >= parts)
            break;
        __syncthreads();
        fill(before);
        __syncthreads();
    }
    take_joined(sums, (TargetSums *)block.tile, d, targets.count, [&](const uint32_t target, const TargetSums &sum) {
        const uint32_t i = targets.first + target;
        p.near[i] = result_of(sum);
        if (sum.close == 1 || (p.is_apart && is_source(p.records[i])))
            return;
        // Without room for it, it is counted alone, and the host sees that later.
        const uint64_t k = atomicAdd((unsigned long long *)&p.status->again, 1ull);
        if (k < p.again_room)
            p.again[k] = i;
    });
}

// The number of targets a thread with which the fewest threads are idle.
PF uint32_t best_shared(const uint32_t targets)
{
    uint32_t best = SHARED, ways = divide(targets, SHARED).ways;
#pragma unroll
    for (uint32_t shared = SHARED - 1; shared >= LEAST_SHARED; shared--) {
        const uint32_t own = divide(targets, shared).ways;
        if (shared * ways < best * own)
            (best = shared, ways = own);
    }
    return best;
}

// The sums of a block with `best` targets a thread, of which there are S at most.
template <int S, class Fill>
PF void add_best_block(const Problem &p, const TargetPart &targets, const Setting &setting, Block &block, const uint32_t parts,
                       const Fill fill, const uint32_t best)
{
    if constexpr (S > LEAST_SHARED) {
        if (best < S) {
            add_best_block<S - 1>(p, targets, setting, block, parts, fill, best);
            return;
        }
    }
    add_block<S>(p, targets, setting, block, parts, fill);
}

// All of a block. Of the sources that are none of its targets `fill` brings stretches, of which there are so many parts, to shared memory.
template <class Fill>
PF void take_block(const Problem &p, const TargetPart &targets, const Frame &frame, const Setting &setting, Block &block,
                   const uint32_t parts, const Fill fill)
{
#pragma unroll 1
    for (uint32_t k = threadIdx.x; k < targets.count; k += THREADS) {
        const Record r = p.records[targets.first + k];
        block.tile[k] = in_frame(r, frame);
    }
    if (threadIdx.x == 0)
        block.frame = frame;
    fill(0);
    __syncthreads();
    add_best_block<SHARED>(p, targets, setting, block, parts, fill, best_shared(targets.count));
}
