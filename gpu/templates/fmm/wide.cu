// M2M, M2L and L2L in a tree of one depth for orders above 10, by products of dense matrices.

// 64 of the parents of a level from `start` to before `end` a block and part of the rows.
extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS) m2m(const Problem p, const uint32_t level, const uint32_t start, const uint32_t end)
{
    PRODUCT_BUFFERS(buffers);
    const ProductPart part = part_of_block();
    const uint32_t first_row = part.first_row, first = start + part.tile * CELLS;
    ProductSums sums = {};
    add_steps(sums, buffers, p.m + (uint64_t)level_start(level + 1) * PITCH, first_row, 8, [&](const uint32_t octant, const uint32_t c) {
        const uint32_t source = first + c < end ? first_child(first + c, level) + child_step(octant, level) : NOWHERE;
        const Move move = {p.up + (uint64_t)octant * TERMS * PITCH, TERMS, source};
        return move;
    });
    Real *const m = p.m + (uint64_t)level_start(level) * PITCH;
    take_products(sums, first_row, [&](const uint32_t row, const uint32_t c, const Real sum) {
        if (first + c < end)
            m[(uint64_t)(first + c) * PITCH + row] = sum;
    });
}

// The same for the local expansions of the children in one octant.
extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS) l2l(const Problem p, const uint32_t level)
{
    PRODUCT_BUFFERS(buffers);
    const Span parents = p.parents[level];
    const ProductPart part = part_of_block();
    const uint32_t first_row = part.first_row, octant = part.tile % 8;
    const uint32_t first = parents.first + part.tile / 8 * CELLS;
    ProductSums sums = {};
    add_steps(sums, buffers, p.l + (uint64_t)level_start(level) * PITCH, first_row, 1, [&](const uint32_t, const uint32_t c) {
        const Move move = {p.down + (uint64_t)octant * TERMS * PITCH, TERMS, first + c < parents.end ? first + c : NOWHERE};
        return move;
    });
    Real *const l = p.l + (uint64_t)level_start(level + 1) * PITCH;
    take_products(sums, first_row, [&](const uint32_t row, const uint32_t c, const Real sum) {
        if (first + c < parents.end)
            l[(uint64_t)(first_child(first + c, level) + child_step(octant, level)) * PITCH + row] += sum;
    });
}

// One octant of 64 parents a block and part of the rows, through the offsets of its list. The first and the last of a GPU's parents may
// have children that only another GPU needs, and these are left out.
extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 2) m2l(const Problem p)
{
    PRODUCT_BUFFERS(buffers);
    const ProductPart part = part_of_block();
    const Tile tile = tile_of(p, part.tile);
    if (!is_needed(p, tile))
        return;
    const Target own = target_of(p, tile, min(threadIdx.x / COLUMN_VECTORS, (uint32_t)CELLS - 1));
    const uint64_t first = (uint64_t)level_start(tile.level) * PITCH;
    ProductSums sums = {};
    add_steps(sums, buffers, p.m + first, part.first_row, LISTED, [&](const uint32_t k, const uint32_t) {
        const Step step = step_of(p, tile.octant, k);
        const Move move = {p.matrices + (uint64_t)step.matrix * TERMS * PITCH, (uint32_t)step.columns,
                           source_of(p, own, step, tile.level)};
        return move;
    });
    take_products(sums, part.first_row, [&](const uint32_t row, const uint32_t c, const Real sum) {
        const Target t = target_of(p, tile, c);
        if (t.cell >= 0)
            p.l[first + (uint64_t)t.cell * PITCH + row] = sum;
    });
}
