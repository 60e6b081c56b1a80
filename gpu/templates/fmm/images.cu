// With periodic boundaries: what the images of the root but those around it give, and the uniform background along three axes.

// One block: the local expansion of the root, from its multipole.
extern "C" __global__ void __launch_bounds__(TERMS) far_images(const Problem p)
{
    __shared__ Real root[TERMS];
    root[threadIdx.x] = p.m[threadIdx.x];
    __syncthreads();
    double sum = 0;
#pragma unroll 12
    for (int k = 0; k < TERMS; k++)
        sum += p.lattice[k * TERMS + threadIdx.x] * root[k];
    p.l[threadIdx.x] = (Real)sum;
}

// Numbers of `moments`: a number takes two integers, of which sums have no order.
#define MOMENTS 5
#define MOMENT_STEPS 2147483648.0

// Adds up q, q x, q y, q z and q |x|^2 of all charges, in boxes.
extern "C" __global__ void __launch_bounds__(256) moments(const Problem p)
{
    int64_t sums[2 * MOMENTS] = {};
    for (uint64_t i = blockIdx.x * 256u + threadIdx.x; i < p.n; i += gridDim.x * 256u) {
        const double x = in_box(scaled(p.x[i], 0, p), 0, p), y = in_box(scaled(p.y[i], 1, p), 1, p), z = in_box(scaled(p.z[i], 2, p), 2, p);
        const double q = charge(i, p);
        double values[MOMENTS] = {q, q * x, q * y, q * z, q * (x * x + y * y + z * z)};
#if DIPOLES
        // A dipole is two charges in the limit.
        const double px = moment_in_box(i, 0, p), py = moment_in_box(i, 1, p), pz = moment_in_box(i, 2, p);
        (values[1] += px, values[2] += py, values[3] += pz, values[4] += 2 * (px * x + py * y + pz * z));
#endif
#pragma unroll
        for (int k = 0; k < MOMENTS; k++) {
            const double steps = values[k] * MOMENT_STEPS, whole = rint(steps);
            sums[2 * k] += (int64_t)whole;
            sums[2 * k + 1] += (int64_t)rint((steps - whole) * MOMENT_STEPS);
        }
    }
#pragma unroll
    for (int k = 0; k < 2 * MOMENTS; k++) {
        int64_t sum = sums[k];
        for (uint32_t step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(~0u, sum, step);
        if (threadIdx.x % 32 == 0)
            atomicAdd((unsigned long long *)p.moments + k, (unsigned long long)sum);
    }
}

PF double moment(const Problem &p, const int k)
{
    return ((double)p.moments[2 * k] + (double)p.moments[2 * k + 1] / MOMENT_STEPS) / MOMENT_STEPS;
}

// The background around a place in the box: 2 pi / 3 times the sum of q_j |x - x_j|^2, in powers of steps from there.
struct Background { Real constant, slopes[3], square; };

PF Background background(const Problem &p, const double x, const double y, const double z)
{
    if (BLACK_BOX || p.wraps != 7)
        return {0, {0, 0, 0}, 0};
    const double factor = 2.0943951023931953, at[3] = {x, y, z}, q = moment(p, 0);
    double constant = moment(p, 4), slopes[3];
    for (int a = 0; a < 3; a++) {
        const double dipole = moment(p, 1 + a);
        constant += at[a] * (q * at[a] - 2 * dipole);
        slopes[a] = q * at[a] - dipole;
    }
    return {(Real)(factor * constant), {(Real)(2 * factor * slopes[0]), (Real)(2 * factor * slopes[1]), (Real)(2 * factor * slopes[2])},
            (Real)(factor * q)};
}

// Adds it at a step, in units of a cell of which the box has `side` along an edge, to what is in boxes.
PF void add_background(const Background &b, const Real *const step, const Real side, Result &out)
{
    const Real d[3] = {step[0] / side, step[1] / side, step[2] / side};
    out.x += b.constant + d[0] * b.slopes[0] + d[1] * b.slopes[1] + d[2] * b.slopes[2] +
             b.square * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    out.y += b.slopes[0] + 2 * b.square * d[0];
    out.z += b.slopes[1] + 2 * b.square * d[1];
    out.w += b.slopes[2] + 2 * b.square * d[2];
#if HESSIAN
    (out.hessian[0] += 2 * b.square, out.hessian[3] += 2 * b.square, out.hessian[5] += 2 * b.square);
#endif
}
