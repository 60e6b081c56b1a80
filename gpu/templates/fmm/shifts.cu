// M2M and L2L up to order 10: a thread for each term of a cell.

// Some of the parents of a level from `start` to before `end` a block: a thread for each term of each. The last one is computed
// again where they do not come out even.
extern "C" __global__ void __launch_bounds__(TERMS * FAMILIES) m2m(const Problem p, const uint32_t level, const uint32_t start, const uint32_t end)
{
    __shared__ Real children[FAMILIES][8][TERMS];
    const uint32_t family = threadIdx.x / TERMS, row = threadIdx.x % TERMS;
    const uint32_t parent = min(start + blockIdx.x * FAMILIES + family, end - 1);
    const uint32_t first = first_child(parent, level);
    const Real *const m = p.m + (uint64_t)level_start(level + 1) * PITCH;
    for (int o = 0; o < 8; o++)
        children[family][o][row] = m[(uint64_t)(first + child_step(o, level)) * PITCH + row];
    __syncthreads();
    Real sum = 0;
    for (int o = 0; o < 8; o++)
#pragma unroll 12
        for (int k = 0; k < TERMS; k++)
            sum += p.up[(o * TERMS + k) * TERMS + row] * children[family][o][k];
    p.m[(uint64_t)(level_start(level) + parent) * PITCH + row] = sum;
}

// The same for the local expansions of the children of a level's parents. A block has their children in one octant: of upper levels there
// are few blocks, of which each then takes less time.
extern "C" __global__ void __launch_bounds__(TERMS * FAMILIES) l2l(const Problem p, const uint32_t level)
{
    __shared__ Real parents[FAMILIES][TERMS];
    const uint32_t family = threadIdx.x / TERMS, row = threadIdx.x % TERMS;
    const uint32_t parent = p.parents[level].first + blockIdx.x / 8 * FAMILIES + family, o = blockIdx.x % 8;
    const uint32_t first = first_child(parent, level);
    const bool is_there = parent < p.parents[level].end;
    Real *const l = p.l + (uint64_t)level_start(level + 1) * PITCH;
    if (is_there)
        parents[family][row] = p.l[(uint64_t)(level_start(level) + parent) * PITCH + row];
    __syncthreads();
    if (!is_there)
        return;
    Real sum = 0;
#pragma unroll 12
    for (int k = 0; k < TERMS; k++)
        sum += p.down[(o * TERMS + k) * TERMS + row] * parents[family][k];
    l[(uint64_t)(first + child_step(o, level)) * PITCH + row] += sum;
}
