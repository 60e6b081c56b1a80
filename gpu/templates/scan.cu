// Sums over the threads before a thread.

// The sum over the lanes of a warp up to this one, or over those of its group: a power of two of lanes.
template <class T> PF T sum_to_lane(T own, const uint32_t group = 32)
{
    for (uint32_t step = 1; step < group; step *= 2) {
        const T before = __shfl_up_sync(~0u, own, step);
        if ((threadIdx.x & (group - 1)) >= step)
            own += before;
    }
    return own;
}

// The sum over the threads of a block before this one, and over all of them, for blocks of whole warps. The block waits between two
// calls.
template <class T> PF T sum_before(const T own, T *const all)
{
    __shared__ T warps[32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T sum = sum_to_lane(own);
    if (lane == 31)
        warps[warp] = sum;
    __syncthreads();
    const T sums = sum_to_lane(lane < blockDim.x / 32 ? warps[lane] : (T)0);
    *all = __shfl_sync(~0u, sums, 31);
    const T before = __shfl_sync(~0u, sums, warp > 0 ? warp - 1 : 0);
    return sum - own + (warp > 0 ? before : 0);
}
