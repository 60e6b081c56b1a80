// M2L: products of dense matrices. A block takes one octant of 64 parents, and goes through the offsets of its list.
// The first and the last of a GPU's parents may have children that only another GPU needs, and these are left out.
//
// Matrices and sources of an offset come into shared memory while the offset before is computed.

PF void load(Buffer &buffer, const Problem &p, const Step &step, const uint32_t chunk, const Target *targets, const uint32_t level)
{
    const int vectors = CHUNK / VECTOR;
    const Real *const matrix = p.matrices + (uint64_t)(step.matrix + FIRST_MATRIX(level)) * TERMS * PITCH + chunk * CHUNK;
    const Real *const m = p.m + (uint64_t)level_start(level) * PITCH + chunk * CHUNK;
    for (uint32_t k = threadIdx.x; k < TERMS * vectors; k += M2L_THREADS) {
        const uint32_t row = k / vectors, v = k % vectors;
        copy(buffer.matrix + row * ROW + v * VECTOR, matrix + row * PITCH + v * VECTOR, true);
    }
    for (uint32_t k = threadIdx.x; k < CELLS * vectors; k += M2L_THREADS) {
        const uint32_t c = k / vectors, v = k % vectors;
        const Target t = targets[c];
        uint32_t cell;
        const bool is_there = find_source(p, t, step, level, cell);
        copy(buffer.sources + c * ROW + v * VECTOR, m + (uint64_t)cell * PITCH + v * VECTOR, is_there);
    }
    end_copies();
}

extern "C" __global__ void __launch_bounds__(M2L_THREADS, M2L_BLOCKS) m2l(const Problem p)
{
    __shared__ Buffer buffers[2];
    __shared__ Target targets[CELLS];
    // The deepest level comes first.
    uint32_t level = p.depth, tile = blockIdx.x;
    for (;; level--) {
        const Span parents = p.parents[level - 1];
        const uint32_t tiles = 8 * ((parents.end - parents.first + CELLS - 1) / CELLS);
        if (tile < tiles)
            break;
        tile -= tiles;
    }
    const Span parents = p.parents[level - 1], needed = level == p.depth ? p.own : p.parents[level];
    const uint32_t octant = tile % 8, first = parents.first + tile / 8 * CELLS;
    const uint32_t end = first + CELLS < parents.end ? first + CELLS : parents.end;
    // Children in one octant have the order of their parents.
    if ((uint32_t)child(first, octant, level).cell >= needed.end || (uint32_t)child(end - 1, octant, level).cell < needed.first)
        return;
    for (uint32_t k = threadIdx.x; k < CELLS; k += M2L_THREADS) {
        const Target none = {-1000000, 0, 0, -1}, t = child(first + k, octant, level);
        const bool is_needed = first + k < end && (uint32_t)t.cell >= needed.first && (uint32_t)t.cell < needed.end;
        targets[k] = is_needed ? t : none;
    }
    __syncthreads();

    const uint32_t group = threadIdx.x / GROUPS, place = threadIdx.x % GROUPS;
    Real sums[OWN_ROWS][SHARE] = {};
    Step step = step_of(p, octant, 0), next = step;
    load(buffers[0], p, step, 0, targets, level);
    uint32_t k = 0, chunk = 0, now = 0;
    while (k < LISTED) {
        // What comes after this: the next columns, or the next offset.
        uint32_t next_k = k, next_chunk = chunk + 1;
        if ((int)(next_chunk * CHUNK) >= step.columns) {
            next_k++;
            next_chunk = 0;
            if (next_k < LISTED)
                next = step_of(p, octant, next_k);
        }
        if (next_k < LISTED)
            load(buffers[now ^ 1], p, next, next_chunk, targets, level);
        else
            end_copies();
        wait_but_one();
        __syncthreads();
        const int rest = step.columns - (int)(chunk * CHUNK), columns = rest < CHUNK ? rest : CHUNK;
        add_products(sums, buffers[now], group, place, columns);
        __syncthreads();
        (k = next_k, chunk = next_chunk, step = next, now ^= 1);
    }

    Real *const l = p.l + (uint64_t)level_start(level) * PITCH;
#pragma unroll
    for (int j = 0; j < SHARE; j++) {
        const int cell = targets[place + j * GROUPS].cell;
        if (cell >= 0)
#pragma unroll
            for (int i = 0; i < OWN_ROWS; i++)
                l[(uint64_t)cell * PITCH + group + i * ROW_GROUPS] = sums[i][j];
    }
}
