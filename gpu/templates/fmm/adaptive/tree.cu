// The cells, from sorted keys alone: a particle knows the levels on which its cell begins with it, and the level of its leaf.

// The level down to which two keys have the same cells.
PF int common(const uint64_t a, const uint64_t b, const Problem &p)
{
    return min(a == b ? DEEPEST : (__clzll(a ^ b) - 1) / 3, (int)p.last_level);
}

#define MOST_LEAF 1024

// Those of some lanes of a warp that are in an octant, of which each lane has another one in mind: the lowest bits of its number.
PF uint32_t in_octant(const uint32_t lanes, const uint32_t octant, const uint32_t lane)
{
    uint32_t found = lanes;
    for (uint32_t bit = 0; bit < 3; bit++) {
        const uint32_t set = __ballot_sync(~0u, octant >> bit & 1);
        found &= lane >> bit & 1 ? set : ~set;
    }
    return found;
}

// A thread a particle. Its cell of a level has more than `most_leaf` particles if so many more than one that stand one behind the other,
// it among them, have the level in common; so its leaf is one level below the deepest of these. Counts the cells that begin in a block.
extern "C" __global__ void __launch_bounds__(1024) mark_cells(const Problem p)
{
    __shared__ signed char windows[2][1024 + MOST_LEAF];
    __shared__ uint32_t counts[COUNTS];
    const uint32_t block = blockIdx.x * 1024, leaf = (uint32_t)p.most_leaf, n = (uint32_t)p.n, i = block + threadIdx.x;
    const uint64_t *const keys = p.keys[0];
    for (uint32_t k = threadIdx.x; k < COUNTS; k += 1024)
        counts[k] = 0;
    for (uint32_t k = threadIdx.x; k < 1024 + leaf; k += 1024) {
        const int64_t first = (int64_t)block + k - leaf, last = first + leaf;
        windows[0][k] = first >= 0 && last < n ? common(keys[first], keys[last], p) : -1;
    }
    __syncthreads();
    // The greatest of so many windows from each on, a power of two; two of these are all that a particle is in.
    uint32_t now = 0, width = 1;
    for (; 2 * width <= leaf + 1; width *= 2, now ^= 1) {
        for (uint32_t k = threadIdx.x; k < 1024 + leaf; k += 1024)
            windows[now ^ 1][k] = (signed char)max((int)windows[now][k], (int)windows[now][min(k + width, 1023 + leaf)]);
        __syncthreads();
    }
    uint32_t own_from = LEVELS, own_leaf = 0;
    uint64_t key = 0;
    bool is_full = false;
    if (i < n) {
        const int deepest = max((int)windows[now][threadIdx.x], (int)windows[now][threadIdx.x + leaf + 1 - width]);
        key = keys[i];
        own_leaf = (uint32_t)min(deepest + 1, (int)p.last_level);
        is_full = deepest == (int)p.last_level;
        own_from = i == 0 ? 0 : (uint32_t)common(keys[i - 1], key, p) + 1;
        p.from[i] = (Byte)own_from;
        p.leaf[i] = (Byte)own_leaf;
    }
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t level = 0; level < LEVELS; level++) {
        const uint32_t starts = __ballot_sync(~0u, own_from <= level && level <= own_leaf);
        if (starts == 0)
            continue;
        const uint32_t octant = level == 0 ? 0 : key >> 3 * (DEEPEST - level) & 7;
        const uint32_t of_lane = in_octant(starts, octant, lane);
        if (lane < 8 && of_lane != 0)
            atomicAdd(&counts[8 * level + lane], (uint32_t)__popc(of_lane));
    }
    const uint32_t leaves = __ballot_sync(~0u, own_from <= own_leaf), full = __ballot_sync(~0u, is_full);
    if (lane == 0) {
        atomicAdd(&counts[LEAVES], (uint32_t)__popc(leaves));
        atomicAdd(&counts[FULL], (uint32_t)__popc(full));
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < COUNTS; k += 1024)
        p.counts[(uint64_t)k * gridDim.x + blockIdx.x] = counts[k];
}

// Writes the cells that begin in a block, and where cells end. `masks` are zeros before.
extern "C" __global__ void __launch_bounds__(1024) make_cells(const Problem p)
{
    __shared__ uint32_t before[32][COUNTS + 1];     // of each warp, then where its first cell of a level and octant stands
    __shared__ uint32_t octants[8 * LEVELS];        // where a level's cells of an octant begin in `listed`
    const uint32_t n = (uint32_t)p.n, i = blockIdx.x * 1024 + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t below = (1u << lane) - 1, deepest = (uint32_t)p.deepest;
    const bool is_there = i < n;
    const uint32_t from = is_there ? p.from[i] : LEVELS, leaf = is_there ? p.leaf[i] : 0;
    const uint32_t leaf_before = is_there && i > 0 ? p.leaf[i - 1] : 0;
    const uint64_t key = is_there ? p.keys[0][i] : 0;
    for (uint32_t k = threadIdx.x; k < 32 * (COUNTS + 1); k += 1024)
        (&before[0][0])[k] = 0;
    if (threadIdx.x < LEVELS) {
        uint32_t start = p.level_start[threadIdx.x];
        for (uint32_t octant = 0; octant < 8; octant++) {
            octants[8 * threadIdx.x + octant] = start;
            start += p.totals[8 * threadIdx.x + octant];
        }
    }
    __syncthreads();
    const uint32_t leaves = __ballot_sync(~0u, from <= leaf);
    for (uint32_t level = 0; level <= deepest; level++) {
        const uint32_t starts = __ballot_sync(~0u, from <= level && level <= leaf);
        if (starts == 0)
            continue;
        const uint32_t octant = level == 0 ? 0 : key >> 3 * (DEEPEST - level) & 7;
        const uint32_t of_lane = in_octant(starts, octant, lane);
        if (lane < 8)
            before[warp][8 * level + lane] = __popc(of_lane);
    }
    if (lane == 0)
        before[warp][LEAVES] = __popc(leaves);
    __syncthreads();
    if (threadIdx.x < COUNTS) {
        uint32_t so_far = p.counts[(uint64_t)threadIdx.x * gridDim.x + blockIdx.x];
        for (uint32_t w = 0; w < 32; w++) {
            const uint32_t own = before[w][threadIdx.x];
            before[w][threadIdx.x] = so_far;
            so_far += own;
        }
    }
    __syncthreads();
    const uint32_t number = before[warp][LEAVES] + __popc(leaves & below);
    // Where the warp's first cell of a level stands among those of the level: a level a lane.
    uint32_t first = 0;
    for (uint32_t o = 0; o < 8 && lane < LEVELS; o++)
        first += before[warp][8 * lane + o];
    uint32_t above = 0, started = NONE;
    for (uint32_t level = 0; level <= deepest; level++) {
        const bool begins = from <= level && level <= leaf;
        const uint32_t starts = __ballot_sync(~0u, begins);
        const uint32_t octant = level == 0 ? 0 : key >> 3 * (DEEPEST - level) & 7;
        uint32_t same = starts;
        if (starts != 0)
            for (uint32_t bit = 0; bit < 3; bit++) {
                const uint32_t set = __ballot_sync(~0u, octant >> bit & 1);
                same &= octant >> bit & 1 ? set : ~set;
            }
        uint32_t cell = p.level_start[level] + __shfl_sync(~0u, first, level) + __popc(starts & below);
        // Cells that end with the particle before this one.
        if (is_there && i > 0 && from <= level && level <= leaf_before)
            p.cells[cell - 1].end = i;
        if (begins) {
            const uint64_t place = key >> 3 * (DEEPEST - level);
            Cell *const own = p.cells + cell;
            own->x = contracted(place >> 2);
            own->y = contracted(place >> 1);
            own->z = contracted(place);
            own->level = level;
            own->first = i;
            own->parent = above;
            own->child = 0;
            own->leaf = level == leaf ? number : NONE;
            p.listed[octants[8 * level + octant] + before[warp][8 * level + octant] + __popc(same & below)] = cell;
            if (level > 0)
                atomicOr(&p.masks[above], 1u << octant);
            if (started != NONE)
                p.cells[started].child = cell;
            if (level == leaf)
                p.leaves[number] = cell;
        } else {
            cell--;     // the one that the particle is in
        }
        if (is_there && i == n - 1 && level <= leaf)
            p.cells[cell].end = n;
        above = cell;
        started = begins ? cell : NONE;
    }
}

// The child of a cell in an octant that it has.
PF uint32_t child_of(const Problem &p, const uint32_t cell, const uint32_t mask, const uint32_t octant)
{
    return p.cells[cell].child + __popc(mask & ((1u << octant) - 1));
}

PF uint32_t octant_of(const Cell &c) { return (c.x & 1) << 2 | (c.y & 1) << 1 | (c.z & 1); }

// A cell's colleague of a way, among the children of its parent's. The root has itself alone, or its images along periodic axes too.
PF uint32_t find_colleague(const Problem &p, const uint32_t c, const Cell &own, const Offset &to)
{
    if (!is_near(to.x, to.y, to.z))
        return NONE;
    if (own.level == 0) {
#if PERIODIC
        const bool is_there = (to.x == 0 || p.wraps & 1) && (to.y == 0 || p.wraps & 2) && (to.z == 0 || p.wraps & 4);
        return is_there ? c : NONE;
#else
        return to.x == 0 && to.y == 0 && to.z == 0 ? c : NONE;
#endif
    }
    const int at[3] = {(int)(own.x & 1) + to.x, (int)(own.y & 1) + to.y, (int)(own.z & 1) + to.z};
    const uint32_t of_parent = p.colleagues[own.parent * (uint32_t)WAYS + way_of(at[0] >> 1, at[1] >> 1, at[2] >> 1)];
    if (of_parent == NONE || (of_parent & IS_LEAF) != 0)
        return NONE;
    const uint32_t octant = (uint32_t)((at[0] & 1) << 2 | (at[1] & 1) << 1 | (at[2] & 1)), mask = p.masks[of_parent];
    return mask >> octant & 1 ? child_of(p, of_parent, mask, octant) : NONE;
}

// A warp a cell of a level: its colleagues.
extern "C" __global__ void __launch_bounds__(256) find_colleagues(const Problem p, const uint32_t level)
{
    __shared__ uint32_t pairs[8];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t c = p.level_start[level] + blockIdx.x * 8 + warp;
    const bool is_there = c < p.level_start[level + 1];
    uint32_t sources = 0, parent = 0;
    bool has_leaf = false;
    if (is_there) {
        const Cell own = p.cells[c];
        parent = own.parent;
        for (uint32_t way = lane; way < WAYS; way += 32) {
            uint32_t entry = find_colleague(p, c, own, offset_of(way));
            if (level > 0) {
                // Of the children of the parent's colleagues, those that are not near are sources of M2L.
                const uint32_t whole = p.colleagues[parent * (uint32_t)WAYS + way];
                if (whole != NONE && (whole & IS_LEAF) == 0)
                    sources += __popc(p.masks[whole]);
                sources -= entry != NONE;
            }
            if (entry != NONE && p.masks[entry] == 0) {
                entry |= IS_LEAF;
                has_leaf = true;
            }
            p.colleagues[c * (uint32_t)WAYS + way] = entry;
        }
    }
    const bool has_any = __ballot_sync(~0u, has_leaf) != 0;
    if (is_there && lane == 0)
        p.nearest[c] = has_any ? c : level == 0 ? NONE : p.nearest[parent];
    const uint32_t sum = sum_to_lane(sources);
    if (lane == 31)
        pairs[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint64_t all = 0;
        for (uint32_t w = 0; w < 8; w++)
            all += pairs[w];
        if (all != 0)
            atomicAdd((unsigned long long *)&p.status->m2l, (unsigned long long)all);
    }
}
