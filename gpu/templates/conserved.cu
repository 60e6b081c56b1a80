// Sums over bodies that a right integration keeps, behind the text of columns: each block those of BLOCK bodies, in the order of
// fmm::direct::conserved. Columns are mass, position, velocity and potential; the first one that is written to has the sums of all blocks.

extern "C" __global__ void __launch_bounds__(LANES) conserved(const Problem p)
{
    __shared__ double lanes[LANES][SUMS];
    const uint32_t lane = threadIdx.x;
    const uint64_t first = (uint64_t)blockIdx.x * BLOCK;
    const uint64_t end = first + BLOCK < p.n ? first + BLOCK : p.n;
    double sums[SUMS] = {};
    for (uint64_t k = first + lane; k < end; k += LANES) {
        const double m = read(p.from[0], k);
        const double x = read(p.from[1], k), y = read(p.from[2], k), z = read(p.from[3], k);
        const double u = read(p.from[4], k), v = read(p.from[5], k), w = read(p.from[6], k);
        sums[0] += 0.5 * m * (u * u + v * v + w * w);
        sums[1] += -0.5 * m * read(p.from[7], k);
        sums[2] += m * u;
        sums[3] += m * v;
        sums[4] += m * w;
        sums[5] += m * (y * w - z * v);
        sums[6] += m * (z * u - x * w);
        sums[7] += m * (x * v - y * u);
    }
    for (uint32_t s = 0; s < SUMS; s++)
        lanes[lane][s] = sums[s];
    __syncthreads();
    if (lane < SUMS) {
        double sum = 0.0;
        for (uint32_t l = 0; l < LANES; l++)
            sum += lanes[l][lane];
        write(p.to[0], (uint64_t)blockIdx.x * SUMS + lane, sum);
    }
}
