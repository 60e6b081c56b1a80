// Sums over the particles of a cell, by a warp.

// A warp's sums of terms: in registers, a place in each lane, where places are known when this is compiled, else in shared memory.
#if WIDE
typedef Real WarpSums[TERMS];
#define WARP_SUMS(name)                                \
    __shared__ WarpSums name##_of_block[4];            \
    WarpSums &name = name##_of_block[threadIdx.x / 32]; \
    for (uint32_t k = threadIdx.x % 32; k < TERMS; k += 32) \
        name[k] = 0;                                   \
    __syncwarp()
#else
typedef Real WarpSums[(TERMS + 31) / 32];
#define WARP_SUMS(name) WarpSums name = {}
#endif

// Adds what all lanes have to the sum of a place.
PF void add_of_warp(WarpSums &sums, const int place, Real value)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    const uint32_t lane = threadIdx.x % 32;
#if WIDE
    if (lane == 0)
        sums[place] += value;
#else
    if (lane == place % 32)
        sums[place / 32] += value;
#endif
}

// Adds `value(place)` to the sum of each place.
template <class Value> PF void add_to_sums(WarpSums &sums, const Value value)
{
    const int lane = (int)threadIdx.x % 32;
#if WIDE
    __syncwarp();
    for (int place = lane; place < TERMS; place += 32)
        sums[place] += value(place);
#else
#pragma unroll
    for (int k = 0; k < (TERMS + 31) / 32; k++)
        if (k * 32 + lane < TERMS)
            sums[k] += value(k * 32 + lane);
#endif
}

// Calls `take(place, sum)` for each place, in one of the lanes.
template <class Take> PF void take_sums(WarpSums &sums, const Take take)
{
    const int lane = (int)threadIdx.x % 32;
#if WIDE
    __syncwarp();
    for (int place = lane; place < TERMS; place += 32)
        take(place, sums[place]);
#else
#pragma unroll
    for (int k = 0; k < (TERMS + 31) / 32; k++)
        if (k * 32 + lane < TERMS)
            take(k * 32 + lane, sums[k]);
#endif
}
