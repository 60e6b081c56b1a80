// The lists of leaves: U for P2P, W for M2P, and of any cell X for P2L. Where a list of W or X would hold few particles, U has them.
//
// Lists stand in the order in which blocks ask for room. What a list has, and in which order, is the same each time.

// With periodic boundaries, cells are images, and a target is seen from the image that a source is in.

// Whether two cells are near, of which the first is on the same level or above.
PF bool reaches(const Cell &big, const int x, const int y, const int z, const uint32_t level)
{
    const uint32_t up = level - big.level;
    const int64_t edge = (int64_t)1 << up;
    const int64_t d[3] = {x - (int)big.x * edge, y - (int)big.y * edge, z - (int)big.z * edge};
    int64_t gap[3];
    for (int a = 0; a < 3; a++)
        gap[a] = d[a] < 0 ? -d[a] : d[a] < edge ? 0 : d[a] - edge + 1;
    return is_near(gap[0], gap[1], gap[2]);
}

PF bool reaches(const Cell &big, const Cell &small) { return reaches(big, small.x, small.y, small.z, small.level); }

// Whether a cell is near the one on a level that another is in.
PF bool reaches_above(const Cell &big, const Cell &small, const uint32_t level)
{
    const uint32_t up = small.level - level;
    return reaches(big, (int)small.x >> up, (int)small.y >> up, (int)small.z >> up, level);
}

// Goes through the cells below a split colleague of a leaf: those that act on it one by one, and others as a whole.
template <class Direct, class Whole>
PF void descend(const Problem &p, const Cell &target, const uint32_t colleague, const Direct direct, const Whole whole)
{
    uint32_t at = p.cells[colleague].child;
    for (;;) {
        const Cell own = p.cells[at];
        if (reaches(target, own)) {
            if (own.leaf == NONE) {
                at = own.child;
                continue;
            }
            direct(own);
        } else if (own.end - own.first > p.worth) {
            whole(at);
        } else {
            direct(own);
        }
        // The next sibling, or that of the nearest one above.
        uint32_t parent = own.parent, last = p.cells[parent].child + __popc(p.masks[parent]) - 1;
        while (at == last && parent != colleague) {
            at = parent;
            parent = p.cells[at].parent;
            last = p.cells[parent].child + __popc(p.masks[parent]) - 1;
        }
        if (at == last)
            return;
        at++;
    }
}

// The cell on a level that a cell is in.
PF uint32_t above(const Problem &p, uint32_t cell, const uint32_t level)
{
    while (p.cells[cell].level > level)
        cell = p.cells[cell].parent;
    return cell;
}

// Goes through what acts on a leaf, by the colleagues of a way from it and from the cells above.
template <class Direct, class Whole>
PF void visit_way(const Problem &p, const uint32_t cell, const Cell &target, const uint32_t way, const Direct direct, const Whole whole)
{
    const uint32_t entry = p.colleagues[cell * (uint32_t)WAYS + way];
    const Image around = image_around(target, way);
    if (entry != NONE && (entry & IS_LEAF) != 0)
        direct(p.cells[entry & ~IS_LEAF], around);
    else if (entry != NONE)
        descend(p, seen_from(around, target), entry, [&](const Cell &s) { direct(s, around); },
                [&](const uint32_t s) { whole(s, around); });
    if (target.level == 0)
        return;
    // Leaves among the colleagues of cells above.
    for (uint32_t a = p.nearest[target.parent]; a != NONE;) {
        const uint32_t coarse = p.colleagues[a * (uint32_t)WAYS + way];
        if (coarse != NONE && (coarse & IS_LEAF) != 0) {
            const Cell source = p.cells[coarse & ~IS_LEAF];
            const Image image = image_around(p.cells[a], way);
            const Cell seen = seen_from(image, target);
            bool is_direct = reaches(source, seen);
            if (!is_direct) {
                // It acts on the first cell that it is not near, by P2L or on each of its particles.
                uint32_t level = source.level + 1;
                while (reaches_above(source, seen, level))
                    level++;
                const Cell whole_target = p.cells[above(p, cell, level)];
                is_direct = whole_target.end - whole_target.first <= p.worth;
            }
            if (is_direct)
                direct(source, image);
        }
        a = p.cells[a].level == 0 ? NONE : p.nearest[p.cells[a].parent];
    }
}

// The same by all colleagues of a lane.
template <class Direct, class Whole>
PF void visit(const Problem &p, const uint32_t cell, const Cell &target, const uint32_t lane, const Direct direct, const Whole whole)
{
    for (uint32_t way = lane; way < WAYS; way += 32)
        visit_way(p, cell, target, way, direct, whole);
}

// A warp a leaf: its lists U and W, and its blocks of P2P.
extern "C" __global__ void __launch_bounds__(256) list_leaves(const Problem p)
{
    __shared__ uint32_t counts[8][3], starts[8][3];
    __shared__ uint64_t pairs[8][2];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, leaf = blockIdx.x * 8 + warp;
    const bool is_there = leaf < p.leaf_count;
    const uint32_t cell = is_there ? p.leaves[leaf] : 0;
    const Cell target = p.cells[cell];
    const bool is_needed = is_there && is_own(p, target);
    uint32_t direct = 0, whole = 0, sources = 0;
    if (is_needed)
        visit(p, cell, target, lane, [&](const Cell &s, const Image &) { direct++, sources += s.end - s.first; },
              [&](uint32_t, const Image &) { whole++; });
    const uint32_t own = target.end - target.first;
    const uint32_t u = sum_to_lane(direct), w = sum_to_lane(whole), all = sum_to_lane(sources);
    const uint32_t parts = is_needed ? (own + MOST_TARGETS - 1) / MOST_TARGETS : 0;
    if (lane == 31) {
        (counts[warp][0] = u, counts[warp][1] = w, counts[warp][2] = parts);
        (pairs[warp][0] = (uint64_t)all * own, pairs[warp][1] = (uint64_t)w * own);
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        uint64_t *const places[3] = {&p.status->u, &p.status->w, &p.status->blocks};
        uint32_t sum = 0;
        for (uint32_t k = 0; k < 8; k++) {
            starts[k][threadIdx.x] = sum;
            sum += counts[k][threadIdx.x];
        }
        const uint32_t start = sum == 0 ? 0 : (uint32_t)atomicAdd((unsigned long long *)places[threadIdx.x], (unsigned long long)sum);
        for (uint32_t k = 0; k < 8; k++)
            starts[k][threadIdx.x] += start;
    } else if (threadIdx.x < 5) {
        uint64_t *const places[2] = {&p.status->p2p, &p.status->m2p};
        uint64_t sum = 0;
        for (uint32_t k = 0; k < 8; k++)
            sum += pairs[k][threadIdx.x - 3];
        if (sum != 0)
            atomicAdd((unsigned long long *)places[threadIdx.x - 3], (unsigned long long)sum);
    }
    __syncthreads();
    if (!is_there)
        return;
    const uint32_t first_u = starts[warp][0], first_w = starts[warp][1];
    const bool fits = (uint64_t)first_u + counts[warp][0] <= p.u_room && (uint64_t)first_w + counts[warp][1] <= p.w_room;
    if (lane == 0) {
        p.u_at[leaf] = {first_u, fits ? counts[warp][0] : 0};
        p.w_at[leaf] = {first_w, fits ? counts[warp][1] : 0};
    }
    if (!is_needed || !fits)
        return;
    for (uint32_t k = lane; k < parts; k += 32)
        p.work[starts[warp][2] + k] = leaf | (uint64_t)k << 32;
    uint32_t to = first_u + u - direct, to_w = first_w + w - whole;
    visit(p, cell, target, lane, [&](const Cell &s, const Image &i) { p.u[to++] = {s.first, (s.end - s.first) | numbered(i)}; },
          [&](const uint32_t s, const Image &i) { p.w[to_w++] = s | numbered(i); });
}

// Goes through the coarser leaves that act on a cell by P2L, by the colleagues of a lane.
template <class Take> PF void visit_far(const Problem &p, const uint32_t cell, const uint32_t lane, const Take take)
{
    const Cell target = p.cells[cell], parent = p.cells[target.parent];
    if (!is_own(p, target) || target.end - target.first <= p.worth)
        return;
    for (uint32_t way = lane; way < WAYS; way += 32)
        for (uint32_t a = p.nearest[target.parent]; a != NONE;) {
            const uint32_t coarse = p.colleagues[a * (uint32_t)WAYS + way];
            if (coarse != NONE && (coarse & IS_LEAF) != 0) {
                const Cell source = p.cells[coarse & ~IS_LEAF];
                const Image image = image_around(p.cells[a], way);
                if (reaches(source, seen_from(image, parent)) && !reaches(source, seen_from(image, target)))
                    take((coarse & ~IS_LEAF) | numbered(image), source);
            }
            a = p.cells[a].level == 0 ? NONE : p.nearest[p.cells[a].parent];
        }
}

// A warp a cell: its list X.
extern "C" __global__ void __launch_bounds__(256) list_cells(const Problem p)
{
    __shared__ uint32_t counts[8], starts[8];
    __shared__ uint64_t pairs[8];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = p.level_start[2] + blockIdx.x * 8 + warp;
    const bool is_there = c < p.cell_count;
    uint32_t own = 0, particles = 0;
    if (is_there)
        visit_far(p, c, lane, [&](uint32_t, const Cell &s) { own++, particles += s.end - s.first; });
    const uint32_t all = sum_to_lane(own), sources = sum_to_lane(particles);
    if (lane == 31)
        // Of a cell that several GPUs share, one counts the pairs.
        (counts[warp] = all, pairs[warp] = is_there && p.cells[c].first >= p.first_target ? sources : 0);
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t sum = 0;
        uint64_t of_pairs = 0;
        for (uint32_t k = 0; k < 8; k++) {
            starts[k] = sum;
            sum += counts[k];
            of_pairs += pairs[k];
        }
        const uint32_t start = sum == 0 ? 0 : (uint32_t)atomicAdd((unsigned long long *)&p.status->x, (unsigned long long)sum);
        for (uint32_t k = 0; k < 8; k++)
            starts[k] += start;
        if (of_pairs != 0)
            atomicAdd((unsigned long long *)&p.status->p2l, (unsigned long long)of_pairs);
    }
    __syncthreads();
    if (!is_there)
        return;
    const bool fits = (uint64_t)starts[warp] + counts[warp] <= p.x_room;
    if (lane == 0)
        p.x_at[c] = {starts[warp], fits ? counts[warp] : 0};
    uint32_t to = starts[warp] + all - own;
    if (fits)
        visit_far(p, c, lane, [&](const uint32_t s, const Cell &) { p.x_list[to++] = s; });
}
