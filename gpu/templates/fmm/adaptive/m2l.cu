// M2L: products of dense matrices. A block takes up to 64 cells of a level that are in the same octant of their parents, and goes through
// those offsets of that octant's list at which one of them has a source.
//
// Matrices and sources of an offset come into shared memory while the offset before is computed.

PF void load(Buffer &buffer, const Problem &p, const Step &step, const uint32_t chunk, const Targets &all)
{
    const int vectors = CHUNK / VECTOR;
    const Real *const matrix = p.matrices + (uint64_t)(step.matrix + FIRST_MATRIX(all.level)) * TERMS * PITCH + chunk * CHUNK;
    const Real *const m = p.m + chunk * CHUNK;
    for (uint32_t k = threadIdx.x; k < TERMS * vectors; k += M2L_THREADS) {
        const uint32_t row = k / vectors, v = k % vectors;
        copy(buffer.matrix + row * ROW + v * VECTOR, matrix + row * PITCH + v * VECTOR, true);
    }
    for (uint32_t k = threadIdx.x; k < CELLS * vectors; k += M2L_THREADS) {
        const uint32_t c = k / vectors, v = k % vectors;
        const uint32_t cell = source_of(all, step, c);
        copy(buffer.sources + c * ROW + v * VECTOR, m + (cell == NONE ? 0 : (uint64_t)cell) * PITCH + v * VECTOR, cell != NONE);
    }
    end_copies();
}

extern "C" __global__ void __launch_bounds__(M2L_THREADS, M2L_BLOCKS) m2l(const Problem p)
{
    __shared__ Buffer buffers[2];
    __shared__ Targets all;
    const uint32_t octant = find_targets(p, all, blockIdx.x);

    const uint32_t group = threadIdx.x / GROUPS, place = threadIdx.x % GROUPS, count = all.step_count;
    Real sums[OWN_ROWS][SHARE] = {};
    if (count > 0) {
        Step step = step_of(p, octant, all.steps[0]), next = step;
        load(buffers[0], p, step, 0, all);
        uint32_t k = 0, chunk = 0, now = 0;
        while (k < count) {
            // What comes after this: the next columns, or the next offset.
            uint32_t next_k = k, next_chunk = chunk + 1;
            if ((int)(next_chunk * CHUNK) >= step.columns) {
                next_k++;
                next_chunk = 0;
                if (next_k < count)
                    next = step_of(p, octant, all.steps[next_k]);
            }
            if (next_k < count)
                load(buffers[now ^ 1], p, next, next_chunk, all);
            else
                end_copies();
            wait_but_one();
            __syncthreads();
            const int rest = step.columns - (int)(chunk * CHUNK), columns = rest < CHUNK ? rest : CHUNK;
            add_products(sums, buffers[now], group, place, columns);
            __syncthreads();
            (k = next_k, chunk = next_chunk, step = next, now ^= 1);
        }
    }
#pragma unroll
    for (int j = 0; j < SHARE; j++) {
        const uint32_t cell = all.cells[place + j * GROUPS];
        if (cell != NONE)
#pragma unroll
            for (int i = 0; i < OWN_ROWS; i++)
                p.l[(uint64_t)cell * PITCH + group + i * ROW_GROUPS] = sums[i][j];
    }
}
