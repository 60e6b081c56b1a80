// M2L in a tree of one depth. A block takes one octant of 64 parents, and goes through the offsets of its list.
// The first and the last of a GPU's parents may have children that only another GPU needs, and these are left out.

extern "C" __global__ void __launch_bounds__(M2L_THREADS, M2L_BLOCKS) m2l(const Problem p)
{
    __shared__ Buffer buffers[M2L_BUFFERS];
    __shared__ Sources sources;
    __shared__ Target targets[CELLS];
    const Tile tile = tile_of(p, blockIdx.x);
    if (!is_needed(p, tile))
        return;
    for (uint32_t k = threadIdx.x; k < CELLS; k += M2L_THREADS)
        targets[k] = target_of(p, tile, k);
    __syncthreads();
    const uint64_t first = (uint64_t)level_start(tile.level) * PITCH;
    ProductSums sums = {};
    add_steps(sums, buffers, sources, matrices_of(p, tile.level), p.m + first, LISTED, [&](const uint32_t k) { return step_of(p, tile.octant, k); },
              [&](const Step &step, const uint32_t c) { return source_of(p, targets[c], step, tile.level); });
    take_sums(sums, product_place(), [&](const int c, const int row, const Real sum) {
        const int cell = targets[c].cell;
        if (cell >= 0)
            p.l[first + (uint64_t)cell * PITCH + row] = sum;
    });
}
