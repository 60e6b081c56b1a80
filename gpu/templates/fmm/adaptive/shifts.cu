// M2M and L2L in an adaptive tree up to order 10: a thread for each term of a child, or of some, of OCTANTS at a time.

// A block a cell of a level, if it is split: what its children give. A thread has a term of what a child gives.
extern "C" __global__ void __launch_bounds__(OCTANTS * TERMS) m2m(const Problem p, const uint32_t level)
{
    __shared__ Real children[8][TERMS], parts[8][TERMS];
    const uint32_t first = threadIdx.x / TERMS, row = threadIdx.x % TERMS, cell = p.level_start[level] + blockIdx.x;
    const uint32_t mask = p.masks[cell];
    if (mask == 0)
        return;
    for (uint32_t octant = first; octant < 8; octant += OCTANTS)
        if (mask >> octant & 1)
            children[octant][row] = p.m[(uint64_t)child_of(p, cell, mask, octant) * PITCH + row];
    __syncthreads();
    for (uint32_t octant = first; octant < 8; octant += OCTANTS) {
        Real part = 0;
        if (mask >> octant & 1)
#pragma unroll 12
            for (int c = 0; c < TERMS; c++)
                part += p.up[(octant * TERMS + c) * TERMS + row] * children[octant][c];
        parts[octant][row] = part;
    }
    __syncthreads();
    if (first != 0)
        return;
    Real part = parts[0][row];
    for (uint32_t o = 1; o < 8; o++)
        part += parts[o][row];
    p.m[(uint64_t)cell * PITCH + row] = part;
}

// The same for the local expansions of children.
extern "C" __global__ void __launch_bounds__(OCTANTS * TERMS) l2l(const Problem p, const uint32_t level)
{
    __shared__ Real parent[TERMS];
    const uint32_t first = threadIdx.x / TERMS, row = threadIdx.x % TERMS, cell = p.level_start[level] + blockIdx.x;
    const uint32_t mask = p.masks[cell];
    if (mask == 0 || !is_own(p, p.cells[cell]))
        return;
    if (first == 0)
        parent[row] = p.l[(uint64_t)cell * PITCH + row];
    __syncthreads();
    for (uint32_t octant = first; octant < 8; octant += OCTANTS) {
        if ((mask >> octant & 1) == 0)
            continue;
        Real sum = 0;
#pragma unroll 12
        for (int c = 0; c < TERMS; c++)
            sum += p.down[(octant * TERMS + c) * TERMS + row] * parent[c];
        p.l[(uint64_t)child_of(p, cell, mask, octant) * PITCH + row] += sum;
    }
}
