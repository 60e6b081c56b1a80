// Particles made on the GPU, and direct sums over all of them, for problems that no host has to hold.

// Number k of a stream, in [0, 1): SplitMix64 (Steele, Lea and Flood 2014), whose state after k steps is known.
PF double drawn(const uint64_t seed, const uint64_t k)
{
    uint64_t z = seed + (k + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (double)((z ^ z >> 31) >> 11) * 1.1102230246251565e-16;
}

// Uniform in the unit cube, charges in [0, 1), by their numbers in the input.
extern "C" __global__ void __launch_bounds__(256) make(const Problem p, const uint32_t seed)
{
    const uint64_t i = blockIdx.x * 256u + threadIdx.x;
    if (i >= p.n)
        return;
    const double *const columns[4] = {p.x, p.y, p.z, p.q};
    for (int a = 0; a < 4; a++)
        ((double *)columns[a])[i] = drawn(seed, 4 * (p.number + i) + a);
}

// What `slices` blocks add up of the share for a place, which stands in `centre`, in f64 and the user's units: into `near`, four
// numbers a block.
extern "C" __global__ void __launch_bounds__(256) direct(const Problem p, const uint32_t slices)
{
    __shared__ double all[256][4];
    const double *const at = p.centre;
    double sum[4] = {0, 0, 0, 0};
    for (uint64_t j = blockIdx.x * 256u + threadIdx.x; j < p.n; j += slices * 256u) {
        const double d[3] = {p.x[j] - at[0], p.y[j] - at[1], p.z[j] - at[2]};
        const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if (r2 == 0)
            continue;
        const double potential = p.q[j] / sqrt(r2), force = potential / r2;
        sum[0] += potential;
        for (int a = 0; a < 3; a++)
            sum[1 + a] += force * d[a];
    }
    for (int a = 0; a < 4; a++)
        all[threadIdx.x][a] = sum[a];
    for (uint32_t half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            for (int a = 0; a < 4; a++)
                all[threadIdx.x][a] += all[threadIdx.x + half][a];
    }
    if (threadIdx.x < 4)
        ((double *)p.near)[4 * blockIdx.x + threadIdx.x] = all[0][threadIdx.x];
}

// What each of some slices of the share's sources gives at `count` places, in f64 and the user's units. A block takes 128 places and a
// slice. `up` has the places, three numbers each; five come to `near` for each place of each slice: potential, gradient, and how many
// sources are so close that f64 does not hold what they give. Sums of a kernel that is not 1/r are in its own units, for a box whose edge
// stands in `size`.
extern "C" __global__ void __launch_bounds__(128) reference(const Problem p, const uint32_t count, const uint32_t slices)
{
    __shared__ Wide tile[128];
    const uint32_t slice = blockIdx.x % slices, place = blockIdx.x / slices * 128 + threadIdx.x, own = place < count ? place : 0;
    const double *const at = (const double *)p.up + 3 * own;
    const uint64_t begin = p.targets * slice / slices, end = p.targets * (slice + 1) / slices;
    double sum[5] = {0, 0, 0, 0, 0};
#if BLACK_BOX
    const wide::Setting setting = wide_setting(p);
    const double origin[3] = {0, 0, 0};
#endif
    for (uint64_t first = begin; first < end; first += 128) {
        const uint64_t j = first + threadIdx.x < end ? first + threadIdx.x : begin;
        tile[threadIdx.x] = {p.x[j], p.y[j], p.z[j], p.q[j]};
        __syncthreads();
        const uint32_t here = end - first < 128 ? (uint32_t)(end - first) : 128;
#pragma unroll 4
        for (uint32_t k = 0; k < here; k++) {
            const Wide s = tile[k];
            const double d[3] = {s.x - at[0], s.y - at[1], s.z - at[2]};
            const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            const bool is_apart = r2 > 0;
            sum[4] += r2 < 1e-100 && (d[0] != 0 || d[1] != 0 || d[2] != 0);
#if BLACK_BOX
            if (is_apart)
                wide::pair(origin, d, s.q, setting, &sum[0], sum + 1);
#else
            const double inverse = is_apart ? rsqrt(r2 + p.eps2) : 0, potential = s.q * inverse, force = potential * (inverse * inverse);
            sum[0] += potential;
            for (int a = 0; a < 3; a++)
                sum[1 + a] += force * d[a];
#endif
        }
        __syncthreads();
    }
    if (place < count)
        for (int a = 0; a < 5; a++)
            ((double *)p.near)[5 * ((uint64_t)slice * count + place) + a] = sum[a];
}
