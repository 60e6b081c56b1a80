// M2M and L2L in an adaptive tree up to order 10: a thread for each term of each child.

// A block a cell of a level, if it is split: what its children give. A thread has a term of what one child gives.
extern "C" __global__ void __launch_bounds__(8 * TERMS) m2m(const Problem p, const uint32_t level)
{
    __shared__ Real children[8][TERMS], parts[8][TERMS];
    const uint32_t octant = threadIdx.x / TERMS, row = threadIdx.x % TERMS, cell = p.level_start[level] + blockIdx.x;
    const uint32_t mask = p.masks[cell];
    if (mask == 0)
        return;
    const bool is_there = mask >> octant & 1;
    if (is_there)
        children[octant][row] = p.m[(uint64_t)child_of(p, cell, mask, octant) * PITCH + row];
    __syncthreads();
    Real part = 0;
    if (is_there)
#pragma unroll 12
        for (int c = 0; c < TERMS; c++)
            part += p.up[(octant * TERMS + c) * TERMS + row] * children[octant][c];
    parts[octant][row] = part;
    __syncthreads();
    if (octant != 0)
        return;
    for (uint32_t o = 1; o < 8; o++)
        part += parts[o][row];
    p.m[(uint64_t)cell * PITCH + row] = part;
}

// The same for the local expansions of children.
extern "C" __global__ void __launch_bounds__(8 * TERMS) l2l(const Problem p, const uint32_t level)
{
    __shared__ Real parent[TERMS];
    const uint32_t octant = threadIdx.x / TERMS, row = threadIdx.x % TERMS, cell = p.level_start[level] + blockIdx.x;
    const uint32_t mask = p.masks[cell];
    if (mask == 0 || !is_own(p, p.cells[cell]))
        return;
    if (octant == 0)
        parent[row] = p.l[(uint64_t)cell * PITCH + row];
    __syncthreads();
    if ((mask >> octant & 1) == 0)
        return;
    Real sum = 0;
#pragma unroll 12
    for (int c = 0; c < TERMS; c++)
        sum += p.down[(octant * TERMS + c) * TERMS + row] * parent[c];
    p.l[(uint64_t)child_of(p, cell, mask, octant) * PITCH + row] += sum;
}
