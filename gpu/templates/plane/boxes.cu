// The boxes: rectangles, centres and radii, as `Shape` of plane/mesh.rs has them; sorted sources.

PF double length_of(const double x, const double y) { return sqrt(x * x + y * y); }

// Writes what follows from the rectangle of a box.
PF void write_box(const Problem &p, const uint32_t box, const double low[2], const double high[2], const double radius)
{
    (p.low_x[box] = low[0], p.low_y[box] = low[1], p.high_x[box] = high[0], p.high_y[box] = high[1]);
    p.centre_x[box] = 0.5 * (low[0] + high[0]);
    p.centre_y[box] = 0.5 * (low[1] + high[1]);
    p.radius[box] = radius;
    // Where all points are at one place, powers of a short unit are 0, and none of a distance over it is large.
    p.unit[box] = power_of_two(radius == 0 ? -400 : max(exponent_of(radius), -400));
}

// A warp a finest box. The sources of few points come from the input.
extern "C" __global__ void __launch_bounds__(128) boxes(const Problem p, const uint32_t are_many)
{
    const uint32_t k = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (k >= 1u << 2 * p.levels)
        return;
    const Span own = segment(p.n, 2 * p.levels, k);
    if (lane == 0) {
        p.start[k] = own.start;
        p.start[k + 1] = own.start + own.count;     // what the next box writes too
    }
    const double no = 1.7976931348623157e308;
    const Frame f = *p.frame;
    double ends[4] = {no, no, no, no};
    for (uint32_t i = own.start + lane; i < own.start + own.count; i += 32) {
        const uint32_t from = p.order[i];
        const Source s = are_many ? p.scaled[from] : source_of(p, f, from);
        if (!are_many && is_tiny(p, f, from))
            p.status->unfit = 1;
        p.sources[i] = s;
        ends[0] = fmin(ends[0], s.x);
        ends[1] = fmin(ends[1], -s.x);
        ends[2] = fmin(ends[2], s.y);
        ends[3] = fmin(ends[3], -s.y);
    }
    for (uint32_t a = 0; a < 4; a++)
        for (uint32_t step = 16; step > 0; step /= 2)
            ends[a] = fmin(ends[a], __shfl_xor_sync(~0u, ends[a], step));
    const double low[2] = {ends[0], ends[2]}, high[2] = {-ends[1], -ends[3]};
    const double x = 0.5 * (low[0] + high[0]), y = 0.5 * (low[1] + high[1]);
    double most = 0;
    for (uint32_t i = own.start + lane; i < own.start + own.count; i += 32) {
        const double dx = p.sources[i].x - x, dy = p.sources[i].y - y;
        most = fmax(most, dx * dx + dy * dy);
    }
    for (uint32_t step = 16; step > 0; step /= 2)
        most = fmax(most, __shfl_xor_sync(~0u, most, step));
    const double half[2] = {0.5 * (high[0] - low[0]), 0.5 * (high[1] - low[1])};
    if (lane == 0)
        write_box(p, first_box(p.levels) + k, low, high, fmax(half[0], half[1]) >= LEAST ? sqrt(most) : half[0] + half[1]);
}

PF void box_above(const Problem &p, const uint32_t level, const uint32_t k)
{
    const uint32_t child = first_box(level + 1) + 4 * k;
    double low[2] = {p.low_x[child], p.low_y[child]}, high[2] = {p.high_x[child], p.high_y[child]};
    for (uint32_t c = child + 1; c < child + 4; c++) {
        (low[0] = fmin(low[0], p.low_x[c]), low[1] = fmin(low[1], p.low_y[c]));
        (high[0] = fmax(high[0], p.high_x[c]), high[1] = fmax(high[1], p.high_y[c]));
    }
    const double x = 0.5 * (low[0] + high[0]), y = 0.5 * (low[1] + high[1]);
    double far = 0;
    for (uint32_t c = child; c < child + 4; c++)
        far = fmax(far, length_of(p.centre_x[c] - x, p.centre_y[c] - y) + p.radius[c]);
    const double half = length_of(0.5 * (high[0] - low[0]), 0.5 * (high[1] - low[1]));
    write_box(p, first_box(level) + k, low, high, fmin(half, far * (1.0 + 4.0 * 2.220446049250313e-16)));
}

extern "C" __global__ void __launch_bounds__(128) boxes_above(const Problem p, const uint32_t level)
{
    const uint32_t k = blockIdx.x * 128 + threadIdx.x;
    if (k < 1u << 2 * level)
        box_above(p, level, k);
}

// One block: all boxes from this level up.
extern "C" __global__ void __launch_bounds__(256) boxes_top(const Problem p, const uint32_t level)
{
    for (uint32_t l = level + 1; l-- > 0;) {
        for (uint32_t k = threadIdx.x; k < 1u << 2 * l; k += 256)
            box_above(p, l, k);
        __syncthreads();
    }
}
