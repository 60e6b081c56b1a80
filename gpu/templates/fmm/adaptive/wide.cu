// M2M, M2L and L2L in an adaptive tree for orders above 10, by products of dense matrices.

// The child of a cell in an octant, if it has one.
PF uint32_t child_or_none(const Problem &p, const uint32_t cell, const uint32_t octant)
{
    const uint32_t mask = cell < p.cell_count ? p.masks[cell] : 0;
    return mask >> octant & 1 ? child_of(p, cell, mask, octant) : NOWHERE;
}

// 64 cells of a level a block and part of the rows: what their children give, if they are split.
extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS) m2m(const Problem p, const uint32_t level)
{
    PRODUCT_BUFFERS(buffers);
    const ProductPart part = part_of_block();
    const uint32_t first_row = part.first_row, first = p.level_start[level] + part.tile * CELLS;
    const uint32_t end = p.level_start[level + 1];
    ProductSums sums = {};
    add_steps(sums, buffers, p.m, first_row, 8, [&](const uint32_t octant, const uint32_t c) {
        const uint32_t source = first + c < end ? child_or_none(p, first + c, octant) : NOWHERE;
        const Move move = {p.up + (uint64_t)octant * TERMS * PITCH, TERMS, source};
        return move;
    });
    take_products(sums, first_row, [&](const uint32_t row, const uint32_t c, const Real sum) {
        if (first + c < end && p.masks[first + c] != 0)
            p.m[(uint64_t)(first + c) * PITCH + row] = sum;
    });
}

// The same for the local expansions of the children in one octant.
extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS) l2l(const Problem p, const uint32_t level)
{
    PRODUCT_BUFFERS(buffers);
    const ProductPart part = part_of_block();
    const uint32_t first_row = part.first_row, octant = part.tile % 8;
    const uint32_t first = p.level_start[level] + part.tile / 8 * CELLS, end = p.level_start[level + 1];
    const auto child = [&](const uint32_t c) {
        const bool is_needed = first + c < end && is_own(p, p.cells[first + c]);
        return is_needed ? child_or_none(p, first + c, octant) : NOWHERE;
    };
    ProductSums sums = {};
    add_steps(sums, buffers, p.l, first_row, 1, [&](const uint32_t, const uint32_t c) {
        const Move move = {p.down + (uint64_t)octant * TERMS * PITCH, TERMS, child(c) == NOWHERE ? NOWHERE : first + c};
        return move;
    });
    take_products(sums, first_row, [&](const uint32_t row, const uint32_t c, const Real sum) {
        const uint32_t to = child(c);
        if (to != NOWHERE)
            p.l[(uint64_t)to * PITCH + row] += sum;
    });
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 2) m2l(const Problem p)
{
    PRODUCT_BUFFERS(buffers);
    __shared__ Targets all;
    const ProductPart part = part_of_block();
    const uint32_t first_row = part.first_row, octant = find_targets(p, all, part.tile);
    ProductSums sums = {};
    add_steps(sums, buffers, p.m, first_row, all.step_count, [&](const uint32_t k, const uint32_t c) {
        const Step step = step_of(p, octant, all.steps[k]);
        const Move move = {p.matrices + (uint64_t)step.matrix * TERMS * PITCH, (uint32_t)step.columns, source_of(p, all, step, c)};
        return move;
    });
    take_products(sums, first_row, [&](const uint32_t row, const uint32_t c, const Real sum) {
        if (all.cells[c] != NONE)
            p.l[(uint64_t)all.cells[c] * PITCH + row] = sum;
    });
}
