// M2L in an adaptive tree. A block takes up to 64 cells of a level that are in the same octant of their parents, and goes through those
// offsets of that octant's list at which one of them has a source.

extern "C" __global__ void __launch_bounds__(M2L_THREADS, M2L_BLOCKS) m2l(const Problem p)
{
    __shared__ Buffer buffers[M2L_BUFFERS];
    __shared__ Sources sources;
    __shared__ Targets all;
    const uint32_t octant = find_targets(p, all, blockIdx.x);
    ProductSums sums = {};
    add_steps(sums, buffers, sources, matrices_of(p, all.level), p.m, all.step_count, [&](const uint32_t k) { return step_of(p, octant, all.steps[k]); },
              [&](const Step &step, const uint32_t c) { return source_of(p, all, step, c); });
    take_sums(sums, product_place(), [&](const int c, const int row, const Real sum) {
        const uint32_t cell = all.cells[c];
        if (cell != NONE)
            p.l[(uint64_t)cell * PITCH + row] = sum;
    });
}
