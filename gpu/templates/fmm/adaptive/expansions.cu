// P2M, P2L, M2P and L2P in real solid harmonics, lengths in units of a cell.

// The place to whose regular harmonics, over the distance, the irregular ones at a place are equal; and one over the distance.
PF Real inverted(Real *at)
{
    const Real inverse = rsqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]), inverse2 = inverse * inverse;
    for (int a = 0; a < 3; a++)
        at[a] *= inverse2;
    return inverse;
}

// Adds the harmonics of particles around a cell's centre to a warp's sums; lanes are particles.
template <class Start>
PF void add_moments(const Problem &p, const uint32_t first, const uint32_t end, const Middle &middle, WarpSums &sums, const Start start)
{
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t k = first; k < end; k += 32) {
        Real at[3] = {0, 0, 0}, q = 0;
        if (k + lane < end) {
            const Record r = p.records[k + lane];
            relative(r, middle, p, at);
            q = start(at, r);
        }
        BASIS(at[0], at[1], at[2], q, [&](const int place, const Real value) { add_of_warp(sums, place, value); });
    }
}

// A warp a leaf.
extern "C" __global__ void __launch_bounds__(128) p2m(const Problem p)
{
    const uint32_t leaf = blockIdx.x * 4 + threadIdx.x / 32;
    if (leaf >= p.leaf_count)
        return;
    const uint32_t cell = p.leaves[leaf];
    const Cell own = p.cells[cell];
    WARP_SUMS(sums);
    add_moments(p, own.first, own.end, middle_of(own), sums, [](const Real *, const Record &r) { return (Real)r.q; });
#if DIPOLES
    const double box = side(own.level);
    add_dipoles(p, sums, [&](const int axis, WarpSums &of_axis) {
        add_moments(p, own.first, own.end, middle_of(own), of_axis, [&](const Real *, const Record &r) {
            Real moment[3];
            moment_within(r, box, p, moment);
            return moment[axis];
        });
    });
#endif
    Real *const m = p.m + (uint64_t)cell * PITCH;
    take_sums(sums, [&](const int place, const Real sum) { m[place] = sum; });
}

// Adds the moments of the sources in a list of leaves around a cell's middle.
template <class Start>
PF void add_list(const Problem &p, const Part &list, const Middle &middle, WarpSums &to, const Start start)
{
    for (uint32_t k = 0; k < list.count; k++) {
        const uint32_t entry = p.x_list[list.first + k];
        const Cell source = p.cells[entry & UNDER_IMAGE];
        add_moments(p, source.first, source.end, moved(middle, image_of(entry), -1), to, start);
    }
}

// A warp a cell: adds what the particles of leaves in its list X give to its local expansion.
extern "C" __global__ void __launch_bounds__(128) p2l(const Problem p)
{
    const uint32_t cell = p.level_start[2] + blockIdx.x * 4 + threadIdx.x / 32;
    if (cell >= p.cell_count)
        return;
    const Part list = p.x_at[cell];
    if (list.count == 0)
        return;
    const Middle middle = middle_of(p.cells[cell]);
    WARP_SUMS(sums);
#if DIPOLES
    // By inversion to y = x / x^2, a dipole p at x is one of (p - 2 p.x y) / x^3 and a charge of -p.x / x^3.
    const double box = side(p.cells[cell].level);
    add_list(p, list, middle, sums, [&](Real *const at, const Record &r) {
        Real moment[3];
        moment_within(r, box, p, moment);
        const Real along = moment[0] * at[0] + moment[1] * at[1] + moment[2] * at[2], inverse = inverted(at);
        return ((Real)r.q - along * (inverse * inverse)) * inverse;
    });
    add_dipoles(p, sums, [&](const int axis, WarpSums &of_axis) {
        add_list(p, list, middle, of_axis, [&](Real *const at, const Record &r) {
            Real moment[3];
            moment_within(r, box, p, moment);
            const Real along = moment[0] * at[0] + moment[1] * at[1] + moment[2] * at[2], inverse = inverted(at);
            return (moment[axis] - 2 * along * at[axis]) * (inverse * inverse * inverse);
        });
    });
#else
    add_list(p, list, middle, sums, [](Real *const at, const Record &r) { return (Real)r.q * inverted(at); });
#endif
    Real *const l = p.l + (uint64_t)cell * PITCH;
    take_sums(sums, [&](const int place, const Real sum) { l[place] += sum; });
}

// The factors from what P2P gives for a leaf to boxes.
PF void units_of(const Problem &p, const Cell &leaf, Real &potential, Real &gradient)
{
    const Real edge = SINGLE && !BLACK_BOX ? (Real)side(leaf.level) : (Real)1;
    potential = edge * (Real)p.potential;
    gradient = edge * edge * (Real)p.gradient;
}

// A block a leaf with a list W, of whose cells each warp takes some: adds to what P2P gave, in its units.
extern "C" __global__ void __launch_bounds__(32 * M2P_WARPS) m2p(const Problem p)
{
    __shared__ Result all[M2P_WARPS][TERMS], sums[M2P_WARPS][32];
    const uint32_t leaf = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Part list = p.w_at[leaf];
    if (list.count == 0)
        return;
    const Cell own = p.cells[p.leaves[leaf]];
    Result *const factors = all[warp];
    Real potential, gradient;
    units_of(p, own, potential, gradient);
    // 32 particles at a time, since every expansion serves all of them.
    for (uint32_t first = own.first; first < own.end; first += 32) {
        const uint32_t i = first + lane;
        const Record r = p.records[i < own.end ? i : own.first];
        Result total = {};
        for (uint32_t k = warp; k < list.count; k += M2P_WARPS) {
            const uint32_t entry = p.w[list.first + k], source = entry & UNDER_IMAGE;
            __syncwarp();
            make_factors(p, p.m + (uint64_t)source * PITCH, factors);
            __syncwarp();
            const Middle middle = moved(middle_of(p.cells[source]), image_of(entry));
            // With y = x / x^2 the potential is F(y) / |x|, of which F is a sum of regular harmonics.
            Real x[3], y[3], sum[RESULTS] = {};
            relative(r, middle, p, x);
            for (int a = 0; a < 3; a++)
                y[a] = x[a];
            const Real inverse = inverted(y), inverse2 = inverse * inverse, edge = (Real)middle.side;
            add_regular(factors, y, sum);
            const Real along = 2 * (y[0] * sum[1] + y[1] * sum[2] + y[2] * sum[3]) + sum[0];
            const Real scale = inverse * inverse2 * (edge * edge);
            total.x += sum[0] * inverse * edge;
            total.y += (sum[1] - along * x[0]) * scale;
            total.z += (sum[2] - along * x[1]) * scale;
            total.w += (sum[3] - along * x[2]) * scale;
#if HESSIAN
            // With H the second derivatives of F and w = 3 grad F + 2 H y, those of F(y) / |x| are
            // (H - w x^T - x w^T - along |x|^2 + (3 along + 6 y.grad F + 4 y.H y) x x^T) / |x|^5.
            const Real *const h = sum + 4;
            const Real hy[3] = {h[0] * y[0] + h[1] * y[1] + h[2] * y[2], h[1] * y[0] + h[3] * y[1] + h[4] * y[2],
                                h[2] * y[0] + h[4] * y[1] + h[5] * y[2]};
            const Real w[3] = {3 * sum[1] + 2 * hy[0], 3 * sum[2] + 2 * hy[1], 3 * sum[3] + 2 * hy[2]};
            const Real both = 3 * along + 3 * (along - sum[0]) + 4 * (y[0] * hy[0] + y[1] * hy[1] + y[2] * hy[2]);
            const Real unit = along / inverse2, fifth = scale * inverse2 * edge;
            int pair = 0;
            for (int a = 0; a < 3; a++)
                for (int b = a; b < 3; b++, pair++)
                    total.hessian[pair] += (h[pair] - w[a] * x[b] - x[a] * w[b] + both * x[a] * x[b] - (a == b ? unit : 0)) * fifth;
#endif
        }
        sums[warp][lane] = total;
        __syncthreads();
        if (warp == 0 && i < own.end) {
            for (uint32_t w = 1; w < M2P_WARPS; w++)
                add_result(total, sums[w][lane]);
            Result near = p.near[i];
            near.x += total.x / potential;
            near.y += total.y / gradient;
            near.z += total.z / gradient;
            near.w += total.w / gradient;
#if HESSIAN
            for (int a = 0; a < 6; a++)
                near.hessian[a] += total.hessian[a] / (potential * gradient);
#endif
            p.near[i] = near;
        }
        __syncthreads();
    }
}

// A warp a leaf: adds its local expansion to what P2P and M2P gave, and writes all in boxes, in the order of the input, or, with several
// GPUs, in that of sorted particles.
extern "C" __global__ void __launch_bounds__(32 * L2P_WARPS) l2p(const Problem p)
{
    __shared__ Result all[L2P_WARPS][TERMS];
    const uint32_t leaf = blockIdx.x * L2P_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (leaf >= p.leaf_count)
        return;
    const uint32_t cell = p.leaves[leaf];
    const Cell own = p.cells[cell];
    if (!is_own(p, own))
        return;
    Result *const factors = all[threadIdx.x / 32];
    const Middle middle = middle_of(own);
    const Real side = (Real)middle.side, potential = POTENTIAL_UNIT(side), gradient = potential * side * slope_of(p);
#if PERIODIC
    const double unit = SINGLE ? 1 : middle.side;
    const Background around = background(p, middle.x / unit, middle.y / unit, middle.z / unit);
#endif
    Real of_near, of_slope;
    units_of(p, own, of_near, of_slope);
    if (own.level >= FIRST_LEVEL) {
        make_factors(p, p.l + (uint64_t)cell * PITCH, factors);
        __syncwarp();
    }
    for (uint32_t i = own.first + lane; i < own.end; i += 32) {
        Real sum[RESULTS] = {};
        Real at[3] = {0, 0, 0};
        if (own.level >= FIRST_LEVEL) {
            relative(p.records[i], middle, p, at);
            add_regular(factors, at, sum);
        }
        Result out = scaled_result(sum, potential, gradient);
        add_scaled(out, p.near[i], of_near, of_slope);
#if PERIODIC
        add_background(around, at, potential, out);
#endif
        if (!is_number(out))
            atomicAdd((unsigned long long *)&p.status->lost, 1ull);
        if (p.is_shared)
            p.near[i] = out;
        else
            p.out[p.order[0][i]] = out;
    }
}

// With several GPUs: brings the results of all from the order of sorted particles to that of the sources and targets in the GPU's share
// of the input, which have numbers that follow each other.
extern "C" __global__ void __launch_bounds__(256) spread(const Problem p, const uint32_t sources, const uint32_t source_count,
                                                               const uint32_t targets, const uint32_t target_count)
{
    const uint32_t k = blockIdx.x * 256u + threadIdx.x;
    if (k >= p.n)
        return;
    const uint32_t i = p.order[0][k];
    if (i - sources < source_count)
        p.out[i - sources] = p.near[k];
    else if (i - targets < target_count)
        p.out[source_count + i - targets] = p.near[k];
}
