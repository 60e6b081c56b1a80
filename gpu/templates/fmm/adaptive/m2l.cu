// M2L: products of dense matrices. A block takes up to 64 cells of a level that are in the same octant of their parents, and goes through
// those offsets of that octant's list at which one of them has a source.
//
// Matrices and sources of an offset come into shared memory while the offset before is computed.

// A step of the list: the colleague of the parent and its octant, the offset's matrix, and how many columns that has.
struct Step { int way, octant, matrix, columns; };

PF Step step_of(const Problem &p, const uint32_t octant, const uint32_t k)
{
    const int32_t *const s = p.steps + (octant * LISTED + k) * 5;
    const int x = (int)(octant >> 2 & 1) + s[0], y = (int)(octant >> 1 & 1) + s[1], z = (int)(octant & 1) + s[2];
    return {(x >> 1) + 1 + 3 * ((y >> 1) + 1) + 9 * ((z >> 1) + 1), (x & 1) << 2 | (y & 1) << 1 | (z & 1), s[3], s[4]};
}

// For the targets of a block the colleagues of their parents: the first children, and the octants of all.
struct Around { uint32_t child[27][CELLS]; Byte mask[27][CELLS]; };

PF void load(Buffer &buffer, const Problem &p, const Step &step, const uint32_t chunk, const Around &around)
{
    const int vectors = CHUNK / VECTOR;
    const Real *const matrix = p.matrices + (uint64_t)step.matrix * TERMS * PITCH + chunk * CHUNK;
    const Real *const m = p.m + chunk * CHUNK;
    for (uint32_t k = threadIdx.x; k < TERMS * vectors; k += M2L_THREADS) {
        const uint32_t row = k / vectors, v = k % vectors;
        copy(buffer.matrix + row * ROW + v * VECTOR, matrix + row * PITCH + v * VECTOR, true);
    }
    for (uint32_t k = threadIdx.x; k < CELLS * vectors; k += M2L_THREADS) {
        const uint32_t c = k / vectors, v = k % vectors;
        const uint32_t mask = around.mask[step.way][c];
        const bool is_there = mask >> step.octant & 1;
        const uint64_t cell = is_there ? around.child[step.way][c] + __popc(mask & ((1u << step.octant) - 1)) : 0;
        copy(buffer.sources + c * ROW + v * VECTOR, m + cell * PITCH + v * VECTOR, is_there);
    }
    end_copies();
}

extern "C" __global__ void __launch_bounds__(M2L_THREADS, M2L_BLOCKS) m2l(const Problem p)
{
    __shared__ Buffer buffers[2];
    __shared__ Around around;
    __shared__ uint32_t targets[CELLS], there[27];
    __shared__ Byte steps[LISTED];
    __shared__ uint32_t step_count;
    // The levels from the deepest on, and their octants. The root has none.
    uint32_t low = 0, high = 8 * ((uint32_t)p.deepest - (PERIODIC ? 0 : 1));
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (p.tiles[middle] <= blockIdx.x)
            low = middle;
        else
            high = middle;
    }
    const uint32_t level = (uint32_t)p.deepest - low / 8, octant = low % 8, *const totals = p.totals + 8 * level;
    uint32_t first = p.level_start[level];
    for (uint32_t o = 0; o < octant; o++)
        first += totals[o];
    const uint32_t end = first + totals[octant];
    first += (blockIdx.x - p.tiles[low]) * CELLS;
    for (uint32_t k = threadIdx.x; k < CELLS; k += M2L_THREADS) {
        const uint32_t cell = first + k < end ? p.listed[first + k] : NONE;
        targets[k] = cell != NONE && is_own(p, p.cells[cell]) ? cell : NONE;
    }
    for (uint32_t k = threadIdx.x; k < 27; k += M2L_THREADS)
        there[k] = 0;
    if (threadIdx.x == 0)
        step_count = 0;
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < 27 * CELLS; k += M2L_THREADS) {
        const uint32_t way = k / CELLS, c = k % CELLS;
        const uint32_t entry = targets[c] == NONE ? NONE : p.colleagues[p.cells[targets[c]].parent * 27u + way];
        const bool is_split = entry != NONE && (entry & IS_LEAF) == 0;
        const uint32_t mask = is_split ? p.masks[entry] : 0;
        around.mask[way][c] = (Byte)mask;
        around.child[way][c] = is_split ? p.cells[entry].child : 0;
        if (mask != 0)
            atomicOr(&there[way], mask);
    }
    __syncthreads();
    // The steps with a source, in their order.
    if (threadIdx.x < 32) {
        uint32_t count = 0;
        for (uint32_t k = threadIdx.x; k < (LISTED + 31) / 32 * 32; k += 32) {
            bool is_needed = false;
            if (k < LISTED) {
                const Step step = step_of(p, octant, k);
                is_needed = there[step.way] >> step.octant & 1;
            }
            const uint32_t needed = __ballot_sync(~0u, is_needed);
            if (is_needed)
                steps[count + __popc(needed & ((1u << threadIdx.x) - 1))] = (Byte)k;
            count += __popc(needed);
        }
        if (threadIdx.x == 0)
            step_count = count;
    }
    __syncthreads();

    const uint32_t group = threadIdx.x / GROUPS, place = threadIdx.x % GROUPS, count = step_count;
    Real sums[ROWS][SHARE] = {};
    if (count > 0) {
        Step step = step_of(p, octant, steps[0]), next = step;
        load(buffers[0], p, step, 0, around);
        uint32_t k = 0, chunk = 0, now = 0;
        while (k < count) {
            // What comes after this: the next columns, or the next offset.
            uint32_t next_k = k, next_chunk = chunk + 1;
            if ((int)(next_chunk * CHUNK) >= step.columns) {
                next_k++;
                next_chunk = 0;
                if (next_k < count)
                    next = step_of(p, octant, steps[next_k]);
            }
            if (next_k < count)
                load(buffers[now ^ 1], p, next, next_chunk, around);
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
        const uint32_t cell = targets[place + j * GROUPS];
        if (cell != NONE)
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                p.l[(uint64_t)cell * PITCH + group + i * ROWS] = sums[i][j];
    }
}
