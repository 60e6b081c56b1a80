// P2M and L2P, lengths in units of a cell.

// A warp a leaf: lanes are particles.
extern "C" __global__ void __launch_bounds__(128) p2m(const Problem p)
{
    const uint32_t cell = p.own.first + blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (cell >= p.own.end)
        return;
    const uint32_t start = start_of(p, cell), end = start_of(p, cell + 1);
    WARP_SUMS(sums);
    for (uint32_t first = start; first < end; first += 32) {
        Real at[3] = {0, 0, 0}, q = 0;
        if (first + lane < end)
            q = relative(p.records[first + lane], cell, p, at);
        BASIS(at[0], at[1], at[2], q, [&](const int place, const Real value) { add_of_warp(sums, place, value); });
    }
#if DIPOLES
    add_dipoles(p, sums, [&](const int axis, WarpSums &of_axis) {
        for (uint32_t first = start; first < end; first += 32) {
            Real at[3] = {0, 0, 0}, moment[3] = {0, 0, 0};
            if (first + lane < end) {
                relative(p.records[first + lane], cell, p, at);
                moment_within(p.records[first + lane], SIDE(p.depth), p, moment);
            }
            BASIS(at[0], at[1], at[2], moment[axis], [&](const int place, const Real value) { add_of_warp(of_axis, place, value); });
        }
    });
#endif
    Real *const m = p.m + (uint64_t)(level_start(p.depth) + cell) * PITCH;
    take_sums(sums, [&](const int place, const Real sum) { m[place] = sum; });
}

// The first of eight children, and the step to each other one along z, y, x.
PF uint32_t first_child(const uint32_t parent, const uint32_t level)
{
    const uint32_t side = SIDE(level), x = parent % side, y = parent / side % side, z = parent / side / side;
    return ((2 * z << (level + 1) | 2 * y) << (level + 1)) | 2 * x;
}

PF uint32_t child_step(const uint32_t octant, const uint32_t level)
{
    return (octant >> 2 & 1) | ((octant >> 1 & 1) | (octant & 1) << (level + 1)) << (level + 1);
}

// A warp a leaf: adds the local expansion to what P2P gave, and writes all in boxes: in its place, or, with several GPUs, for each part of
// the input in the order of the sorted share.
extern "C" __global__ void __launch_bounds__(32 * L2P_WARPS) l2p(const Problem p)
{
    __shared__ Result all[L2P_WARPS][TERMS];
    const uint32_t cell = p.own.first + blockIdx.x * L2P_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (cell >= p.own.end)
        return;
    const uint32_t start = start_of(p, cell), end = start_of(p, cell + 1);
    if (start == end)
        return;
    Result *const factors = all[threadIdx.x / 32];
    if (p.depth >= FIRST_LEVEL) {
        make_factors(p, p.l + (uint64_t)(level_start(p.depth) + cell) * PITCH, factors);
        __syncwarp();
    }
    const Real side = (Real)SIDE(p.depth), potential = POTENTIAL_UNIT(side), gradient = potential * side * slope_of(p);
#if PERIODIC
    const Place place = place_of(p, cell);
    const double edge = 1.0 / SIDE(p.depth);
    const Background around = background(p, (place.x + 0.5) * edge - 0.5, (place.y + 0.5) * edge - 0.5, (place.z + 0.5) * edge - 0.5);
#endif
    for (uint32_t i = start + lane; i < end; i += 32) {
        Real sum[RESULTS] = {};
        Real at[3] = {0, 0, 0};
        if (p.depth >= FIRST_LEVEL) {
            relative(p.records[i], cell, p, at);
            add_regular(factors, at, sum);
        }
        Result out = scaled_result(sum, potential, gradient);
        add_scaled(out, p.near[i], (Real)p.potential, (Real)p.gradient);
#if PERIODIC
        add_background(around, at, potential, out);
#endif
        if (!is_number(out))
            atomicAdd((unsigned long long *)&p.status->lost, 1ull);
        if (p.devices == 1) {
            p.near[i] = out;
        } else {
            const Slot slot = slot_of(p, cell, i - start);
            p.out[p.bases[slot.part] + slot.slot] = out;
        }
    }
}

// Brings results from the order of the sorted share, in `records`, to that of the input, in `near`. One GPU has them the other way round.
extern "C" __global__ void __launch_bounds__(256) spread(const Problem p)
{
    const uint32_t k = blockIdx.x * 256u + threadIdx.x;
    if (k < p.n)
        p.near[p.order[k]] = ((const Result *)p.records)[k];
}
