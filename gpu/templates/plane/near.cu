// P2P, Algorithm 3.7: a block has some targets of a finest box, and `ways` threads each of them. Sources of the boxes near it
// come through shared memory; a source is read by all threads of a way at once.

#define TILE_SOURCES 1024
// Added to squares of distances, of which it changes only 0: its reciprocal times the difference 0 is 0.
#define TINY 0x1p-980

// 1 / x to the last place or so, for normal numbers: the GPU's approximation, good to 2^-20, and one step of the third order.
PF double reciprocal(const double x)
{
#ifdef __CUDACC__
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
#else
    const double y = (1 + 0x1p-21) / x;
#endif
    const double e = fma(-x, y, 1.0);
    return fma(fma(e, e, e), y, y);
}

// What a source adds at a place; `potential` without the logarithm of the frame's unit.
PF void pair(const double x, const double y, const Source &s, Sum &sum, double &strength)
{
    const double dx = s.x - x, dy = s.y - y, r2 = fma(dx, dx, fma(dy, dy, TINY)), inverted = reciprocal(r2);
#if LOG
    const double q = r2 < 2 * TINY ? 0 : s.re, w = q * inverted;
    sum.re -= w * dx;
    sum.im -= w * dy;
    sum.potential += q * log(r2);
    strength += q;
#elif COMPLEX
    sum.re = fma(fma(s.re, dx, s.im * dy), inverted, sum.re);
    sum.im = fma(fma(s.im, dx, -(s.re * dy)), inverted, sum.im);
#else
    const double w = s.re * inverted;
    sum.re += w * dx;
    sum.im -= w * dy;
#endif
}

extern "C" __global__ void __launch_bounds__(384) p2p(const Problem p)
{
    __shared__ Source tile[TILE_SOURCES];
    const uint32_t parts = (p.most + p.part - 1) / p.part, k = blockIdx.x / parts;
    const Span own = points_of(p, k);
    const uint32_t begin = min(blockIdx.x % parts * (uint32_t)p.part, own.count), count = min((uint32_t)p.part, own.count - begin);
    const uint32_t ways = p.ways, way = threadIdx.x / p.part, place = threadIdx.x - way * p.part;
    const bool works = way < ways && place < count;
    const uint32_t i = own.start + begin + (works ? place : 0);
    const double x = p.sources[i].x, y = p.sources[i].y;
    const List list = p.strong[(p.levels % 2 << 2 * p.levels) + k];
    // Every box has space for `most` sources.
    const uint32_t all = list.count * p.most, each = TILE_SOURCES / ways;
    Sum sum = {0, 0, 0};
    double strength = 0;
    for (uint32_t first = 0; first < all; first += each * ways) {
        const uint32_t rows = min(each, (all - first + ways - 1) / ways);
        __syncthreads();
        for (uint32_t q = threadIdx.x; q < rows * ways; q += blockDim.x) {
            const uint32_t entry = (first + q) / (uint32_t)p.most, at = (first + q) - entry * p.most;
            // Far from all points, and without strength.
            Source s = {1e3, 1e3, 0, 0};
            if (entry < list.count) {
                const Span from = points_of(p, p.items[1][list.start + entry]);
                if (at < from.count)
                    s = p.sources[from.start + at];
            }
            tile[q] = s;
        }
        __syncthreads();
        if (works) {
            const Source *s = tile + way;
#pragma unroll 4
            for (uint32_t row = 0; row < rows; row++, s += ways)
                pair(x, y, *s, sum, strength);
        }
    }
    if (LOG)
        sum.potential = 0.5 * sum.potential + strength * p.frame->log_length;
    Sum *const parted = (Sum *)tile;
    __syncthreads();
    if (works && way > 0)
        parted[(way - 1) * p.part + place] = sum;
    __syncthreads();
    if (!works || way > 0)
        return;
    for (uint32_t w = 1; w < ways; w++) {
        const Sum &other = parted[(w - 1) * p.part + place];
        sum = {sum.re + other.re, sum.im + other.im, sum.potential + other.potential};
    }
    p.near[i] = sum.re;
    p.near[p.n + i] = sum.im;
    if (LOG)
        p.near[2 * p.n + i] = sum.potential;
}
