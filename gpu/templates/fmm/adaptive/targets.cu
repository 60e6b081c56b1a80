// Targets and steps of M2L in an adaptive tree.

// A step of the list: the colleague of the parent and its octant, the offset's matrix, and how many columns that has.
struct Step { int way, octant, matrix, columns; };

PF Step step_of(const Problem &p, const uint32_t octant, const uint32_t k)
{
    const int32_t *const s = p.steps + (octant * LISTED + k) * 5;
    const int x = (int)(octant >> 2 & 1) + s[0], y = (int)(octant >> 1 & 1) + s[1], z = (int)(octant & 1) + s[2];
    return {(int)way_of(x >> 1, y >> 1, z >> 1), (x & 1) << 2 | (y & 1) << 1 | (z & 1), s[3], s[4]};
}

// The octants of a colleague's children, if it is split.
PF uint32_t mask_of(const Problem &p, const uint32_t entry) { return entry != NONE && (entry & IS_LEAF) == 0 ? p.masks[entry] : 0; }

#if REACH == 1
// For the targets of a block the colleagues of their parents: the first children, and the octants of all.
struct Around { uint32_t child[WAYS][CELLS]; Byte mask[WAYS][CELLS]; };

PF void set_parent(Around &, const uint32_t, const uint32_t) {}

PF void set_around(const Problem &p, Around &around, const uint32_t way, const uint32_t c, const uint32_t parent)
{
    const uint32_t entry = parent == NONE ? NONE : p.colleagues[parent * (uint32_t)WAYS + way], mask = mask_of(p, entry);
    around.mask[way][c] = (Byte)mask;
    around.child[way][c] = mask != 0 ? p.cells[entry].child : 0;
}

PF uint32_t mask_around(const Problem &, const Around &around, const uint32_t way, const uint32_t c) { return around.mask[way][c]; }
PF uint32_t child_around(const Problem &, const Around &around, const uint32_t way, const uint32_t c) { return around.child[way][c]; }

typedef Byte StepNumber;
#else
// There are too many colleagues for shared memory: the parents of a block's targets.
struct Around { uint32_t parent[CELLS]; };

PF void set_parent(Around &around, const uint32_t c, const uint32_t parent) { around.parent[c] = parent; }
PF void set_around(const Problem &, Around &, uint32_t, uint32_t, uint32_t) {}

PF uint32_t entry_around(const Problem &p, const Around &around, const uint32_t way, const uint32_t c)
{
    const uint32_t parent = around.parent[c];
    return parent == NONE ? NONE : p.colleagues[parent * (uint32_t)WAYS + way];
}

PF uint32_t mask_around(const Problem &p, const Around &around, const uint32_t way, const uint32_t c) { return mask_of(p, entry_around(p, around, way, c)); }
PF uint32_t child_around(const Problem &p, const Around &around, const uint32_t way, const uint32_t c) { return p.cells[entry_around(p, around, way, c)].child; }

typedef unsigned short StepNumber;
#endif

// The targets of a block, some cells of a level in the same octant of their parents, and the steps of that octant's list at which one of
// them has a source.
struct Targets {
    Around around;
    uint32_t cells[CELLS], there[WAYS], step_count, level;
    StepNumber steps[LISTED];
};

// The source of a target at a step, if there is one.
PF uint32_t source_of(const Problem &p, const Targets &all, const Step &step, const uint32_t c)
{
    const uint32_t mask = mask_around(p, all.around, step.way, c);
    return mask >> step.octant & 1 ? child_around(p, all.around, step.way, c) + __popc(mask & ((1u << step.octant) - 1)) : NONE;
}

// Finds the targets of a tile; its octant.
PF uint32_t find_targets(const Problem &p, Targets &all, const uint32_t tile)
{
    // The levels from the deepest on, and their octants. The root has none.
    uint32_t low = 0, high = 8 * ((uint32_t)p.deepest - (PERIODIC ? 0 : 1));
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (p.tiles[middle] <= tile)
            low = middle;
        else
            high = middle;
    }
    const uint32_t level = (uint32_t)p.deepest - low / 8, octant = low % 8, *const totals = p.totals + 8 * level;
    uint32_t first = p.level_start[level];
    for (uint32_t o = 0; o < octant; o++)
        first += totals[o];
    const uint32_t end = first + totals[octant];
    first += (tile - p.tiles[low]) * CELLS;
    for (uint32_t k = threadIdx.x; k < CELLS; k += blockDim.x) {
        const uint32_t cell = first + k < end ? p.listed[first + k] : NONE;
        all.cells[k] = cell != NONE && is_own(p, p.cells[cell]) ? cell : NONE;
        set_parent(all.around, k, all.cells[k] == NONE ? NONE : p.cells[cell].parent);
    }
    for (uint32_t k = threadIdx.x; k < WAYS; k += blockDim.x)
        all.there[k] = 0;
    if (threadIdx.x == 0)
        (all.step_count = 0, all.level = level);
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < WAYS * CELLS; k += blockDim.x) {
        const uint32_t way = k / CELLS, c = k % CELLS;
        set_around(p, all.around, way, c, all.cells[c] == NONE ? NONE : p.cells[all.cells[c]].parent);
        const uint32_t mask = mask_around(p, all.around, way, c);
        if (mask != 0)
            atomicOr(&all.there[way], mask);
    }
    __syncthreads();
    // The steps with a source, in their order.
    if (threadIdx.x < 32) {
        uint32_t count = 0;
        for (uint32_t k = threadIdx.x; k < (LISTED + 31) / 32 * 32; k += 32) {
            bool is_needed = false;
            if (k < LISTED) {
                const Step step = step_of(p, octant, k);
                is_needed = all.there[step.way] >> step.octant & 1;
            }
            const uint32_t needed = __ballot_sync(~0u, is_needed);
            if (is_needed)
                all.steps[count + __popc(needed & ((1u << threadIdx.x) - 1))] = (StepNumber)k;
            count += __popc(needed);
        }
        if (threadIdx.x == 0)
            all.step_count = count;
    }
    __syncthreads();
    return octant;
}
