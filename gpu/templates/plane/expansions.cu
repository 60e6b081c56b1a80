// P2M, M2M, L2L, P2L, L2P and M2P. An expansion has STRIDE numbers: the real parts of its coefficients 0 to ORDER, then their
// imaginary parts, in the box's unit of length u: a_j / u^j and b_j u^j of (2.2) and (2.3).
//
// M2M and L2L go by Horner's rule for each coefficient rather than by Algorithms 3.4 and 3.5: a warp has the coefficients of a
// box, lengths need no division, and no power of a short distance leaves the range of f64.

#define TERMS (ORDER + 1)
#define STRIDE (2 * TERMS)
#define EACH ((TERMS + 31) / 32)    // coefficients of a lane

PF Complex operator+(const Complex a, const Complex b) { return {a.re + b.re, a.im + b.im}; }
PF Complex operator*(const Complex a, const Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
PF Complex operator*(const double a, const Complex b) { return {a * b.re, a * b.im}; }

PF Complex inverse(const Complex a)
{
    const double square = 1 / (a.re * a.re + a.im * a.im);
    return {a.re * square, -a.im * square};
}

PF double power_of_two(const int64_t e) { return e < -1022 ? 0 : number((uint64_t)(e + 1023) << 52); }

// The e of 2^e.
PF int64_t exponent_of(const double power) { return (int64_t)(pattern(power) >> 52) - 1023; }

PF double binomial(const Problem &p, const uint32_t n, const uint32_t k) { return p.binomials[n * (n + 1) / 2 + k]; }

PF Complex at_centre(const Problem &p, const uint32_t box, const double x, const double y)
{
    return {x - p.centre_x[box], y - p.centre_y[box]};
}

// Sums over the lanes of a warp of terms that each lane makes from the last: term j is start * step^j, for j of `count`, and
// `sums` gets those of coefficients lane % 8 and so on, the imaginary ones in lanes 8 to 15.
#define CHUNKS ((TERMS + 7) / 8)
typedef double Room[32][17];

PF void add_terms(Room &room, Complex term, const Complex step, double (&sums)[CHUNKS])
{
    const uint32_t lane = threadIdx.x % 32, column = lane % 16, half = lane / 16;
#pragma unroll
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
#pragma unroll
        for (uint32_t j = 0; j < 8; j++) {
            (room[lane][j] = term.re, room[lane][8 + j] = term.im);
            term = term * step;
        }
        __syncwarp();
        double sum = 0;
#pragma unroll
        for (uint32_t row = 0; row < 16; row++)
            sum += room[2 * row + half][column];
        sums[chunk] += sum + __shfl_xor_sync(~0u, sum, 16);
        __syncwarp();
    }
}

// What a source gives to a_1 / u (`harmonic`) or to a_0 (`log`), and the terms that follow.
extern "C" __global__ void __launch_bounds__(128) p2m(const Problem p)
{
    __shared__ Room rooms[4];
    const uint32_t k = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (k >= 1u << 2 * p.levels)
        return;
    const uint32_t box = first_box(p.levels) + k;
    const Span own = points_of(p, k);
    const double length = 1 / p.unit[box];
    double sums[CHUNKS] = {};
    for (uint32_t i = own.start; i < own.start + own.count; i += 32) {
        Source s = {p.centre_x[box], p.centre_y[box], 0, 0};
        if (i + lane < own.start + own.count)
            s = p.sources[i + lane];
        const Complex step = length * at_centre(p, box, s.x, s.y);
        add_terms(rooms[threadIdx.x / 32], {s.re, s.im}, step, sums);
    }
    double *const m = p.m + (uint64_t)box * STRIDE;
    const uint32_t part = lane / 8 % 2;
    if (lane >= 16)
        return;
#pragma unroll
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        const uint32_t j = chunk * 8 + lane % 8;
#if LOG
        if (j < TERMS)
            m[part * TERMS + j] = j == 0 ? sums[chunk] : -sums[chunk] / j;
#else
        if (j + 1 < TERMS)
            m[part * TERMS + j + 1] = -sums[chunk] * length;
        if (j == 0)
            m[part * TERMS] = 0;
#endif
    }
}

// What a shift between a box and one of its children takes: where the child is, and the exponent of its unit, both in that of the box.
struct Shift { Complex r; int64_t down; };

PF Shift shift_of(const Problem &p, const uint32_t box, const uint32_t child)
{
    const double length = 1 / p.unit[box];
    return {length * at_centre(p, box, p.centre_x[child], p.centre_y[child]), exponent_of(p.unit[child]) - exponent_of(p.unit[box])};
}

// The multipole expansion of a box from those of its children, by a warp with space for four expansions.
PF void m2m_box(const Problem &p, const uint32_t level, const uint32_t k, double *const room)
{
    const uint32_t lane = threadIdx.x % 32, box = first_box(level) + k, child = first_box(level + 1) + 4 * k;
    Complex r[4];
    __syncwarp();
#pragma unroll
    for (uint32_t c = 0; c < 4; c++) {
        const Shift shift = shift_of(p, box, child + c);
        r[c] = shift.r;
        const double *const m = p.m + (uint64_t)(child + c) * STRIDE;
        for (uint32_t j = lane; j < TERMS; j += 32) {
            const double factor = power_of_two(shift.down * j);
            (room[c * STRIDE + j] = m[j] * factor, room[c * STRIDE + TERMS + j] = m[TERMS + j] * factor);
        }
    }
    __syncwarp();
    for (uint32_t j = lane; j < TERMS; j += 32) {
        Complex sums[4];
#pragma unroll
        for (uint32_t c = 0; c < 4; c++) {
            const Complex own = {room[c * STRIDE], room[c * STRIDE + TERMS]};
            sums[c] = j == 0 ? own : (-1.0 / j) * own;
        }
        for (uint32_t i = 1; i <= j; i++) {
            const double factor = binomial(p, j - 1, i - 1);
#pragma unroll
            for (uint32_t c = 0; c < 4; c++)
                sums[c] = sums[c] * r[c] + factor * Complex{room[c * STRIDE + i], room[c * STRIDE + TERMS + i]};
        }
        const Complex sum = ((sums[0] + sums[1]) + sums[2]) + sums[3];
        double *const m = p.m + (uint64_t)box * STRIDE + j;
        (m[0] = sum.re, m[TERMS] = sum.im);
    }
}

// Adds the local expansion of a box to those of its children.
PF void l2l_box(const Problem &p, const uint32_t level, const uint32_t k, double *const room)
{
    const uint32_t lane = threadIdx.x % 32, box = first_box(level) + k, child = first_box(level + 1) + 4 * k;
    const double *const l = p.l + (uint64_t)box * STRIDE;
    __syncwarp();
    for (uint32_t j = lane; j < STRIDE; j += 32)
        room[j] = l[j];
    __syncwarp();
    Shift shifts[4];
#pragma unroll
    for (uint32_t c = 0; c < 4; c++)
        shifts[c] = shift_of(p, box, child + c);
    for (uint32_t j = lane; j < TERMS; j += 32) {
        Complex sums[4] = {};
        for (uint32_t i = TERMS; i-- > j;) {
            const Complex own = binomial(p, i, j) * Complex{room[i], room[TERMS + i]};
#pragma unroll
            for (uint32_t c = 0; c < 4; c++)
                sums[c] = sums[c] * shifts[c].r + own;
        }
#pragma unroll
        for (uint32_t c = 0; c < 4; c++) {
            const double factor = power_of_two(shifts[c].down * j);
            double *const to = p.l + (uint64_t)(child + c) * STRIDE + j;
            to[0] += sums[c].re * factor;
            to[TERMS] += sums[c].im * factor;
        }
    }
}

// The boxes of a level, four a block.
template <auto Box> PF void of_level(const Problem &p, const uint32_t level)
{
    __shared__ double rooms[4][4 * STRIDE];
    const uint32_t k = blockIdx.x * 4 + threadIdx.x / 32;
    if (k < 1u << 2 * level)
        Box(p, level, k, rooms[threadIdx.x / 32]);
}

// Those of all levels between this one and that below the root, by one block. The root's expansions are never used.
template <auto Box> PF void of_top(const Problem &p, const uint32_t level, const bool is_down)
{
    __shared__ double rooms[8][4 * STRIDE];
    for (uint32_t turn = 1; turn <= level; turn++) {
        const uint32_t l = is_down ? turn : level + 1 - turn;
        for (uint32_t k = threadIdx.x / 32; k < 1u << 2 * l; k += 8)
            Box(p, l, k, rooms[threadIdx.x / 32]);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(128) m2m(const Problem p, const uint32_t level) { of_level<m2m_box>(p, level); }
extern "C" __global__ void __launch_bounds__(128) l2l(const Problem p, const uint32_t level) { of_level<l2l_box>(p, level); }
extern "C" __global__ void __launch_bounds__(256) m2m_top(const Problem p, const uint32_t level) { of_top<m2m_box>(p, level, false); }
extern "C" __global__ void __launch_bounds__(256) l2l_top(const Problem p, const uint32_t level) { of_top<l2l_box>(p, level, true); }

// Adds to the local expansion of a finest box what the sources of larger ones give.
PF void p2l_box(const Problem &p, const uint32_t k, Room &room)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t box = first_box(p.levels) + k;
    const double unit = p.unit[box], log_length = p.frame->log_length;
    double sums[CHUNKS] = {}, constant = 0;
    for (uint32_t b = 0; b < p.p2l[k].count; b++) {
        const Span from = points_of(p, p.items[2][p.p2l[k].start + b]);
        for (uint32_t i = from.start; i < from.start + from.count; i += 32) {
            Source s = {0, 0, 0, 0};
            Complex d = {unit, 0};
            if (i + lane < from.start + from.count) {
                s = p.sources[i + lane];
                d = at_centre(p, box, s.x, s.y);
            }
            const Complex inverted = inverse(d);
            constant += s.re * (0.5 * log(d.re * d.re + d.im * d.im) + log_length);
            const Complex first = LOG ? Complex{s.re, s.im} : Complex{s.re, s.im} * inverted;
            add_terms(room, first, unit * inverted, sums);
        }
    }
    if (LOG)
        for (uint32_t step = 16; step > 0; step /= 2)
            constant += __shfl_xor_sync(~0u, constant, step);
    double *const l = p.l + (uint64_t)box * STRIDE;
    if (lane >= 16)
        return;
#pragma unroll
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        const uint32_t j = chunk * 8 + lane % 8, part = lane / 8;
        if (j < TERMS && LOG)
            l[part * TERMS + j] += j > 0 ? -sums[chunk] / j : part == 0 ? constant : 0;
        else if (j < TERMS)
            l[part * TERMS + j] += sums[chunk];
    }
}

struct Sum { double re, im, potential; };

// The value of a local expansion, or its potential and gradient.
PF Sum local_at(const double *const l, const Complex w, const double length)
{
    Complex value = {l[ORDER], l[TERMS + ORDER]}, slope = {0, 0};
#pragma unroll 4
    for (int j = ORDER - 1; j >= 0; j--) {
        if (LOG)
            slope = slope * w + value;
        value = value * w + Complex{l[j], l[TERMS + j]};
    }
    return LOG ? Sum{slope.re * length, -slope.im * length, value.re} : Sum{value.re, value.im, 0};
}

// The same of a multipole expansion, d from its centre.
PF Sum multipole_at(const double *const m, const Complex d, const double unit, const double log_length)
{
    const Complex inverted = inverse(d), w = unit * inverted;
    Complex value = {0, 0}, slope = {0, 0};
#pragma unroll 4
    for (int j = ORDER; j >= 1; j--) {
        const Complex own = {m[j], m[TERMS + j]};
        if (LOG)
            slope = slope * w + (double)-j * own;
        value = value * w + own;
    }
    value = value * w;
    slope = (slope * w + Complex{m[0], m[TERMS]}) * inverted;
    const double potential = LOG ? m[0] * (0.5 * log(d.re * d.re + d.im * d.im) + log_length) : 0;
    return LOG ? Sum{slope.re, -slope.im, potential + value.re} : Sum{value.re, value.im, 0};
}

PF void put_result(const Problem &p, const uint64_t to, const Sum &sum)
{
    p.out[to] = sum.re;
    p.out[p.n + to] = sum.im;
    if (LOG)
        p.out[2 * p.n + to] = sum.potential;
}

// A block a finest box: P2L, then all of the far field to what P2P gave, in the user's units and the order of the input. Results of
// many points stay together, each in one sector of memory, until `spread`. With registers for four blocks nothing is spilled.
extern "C" __global__ void __launch_bounds__(256, 4) l2p(const Problem p, const uint32_t are_many)
{
    __shared__ Room room;
    const uint32_t k = blockIdx.x, box = first_box(p.levels) + k;
    const Span own = points_of(p, k);
    if (p.p2l[k].count > 0) {
        if (threadIdx.x < 32)
            p2l_box(p, k, room);
        __syncthreads();
    }
    const Frame f = *p.frame;
    const double length = 1 / p.unit[box];
    for (uint32_t i = own.start + threadIdx.x; i < own.start + own.count; i += blockDim.x) {
        const double x = p.sources[i].x, y = p.sources[i].y;
        Sum sum = local_at(p.l + (uint64_t)box * STRIDE, length * at_centre(p, box, x, y), length);
        for (uint32_t b = 0; b < p.m2p[k].count; b++) {
            const uint32_t from = first_box(p.levels) + p.items[3][p.m2p[k].start + b];
            const Sum more = multipole_at(p.m + (uint64_t)from * STRIDE, at_centre(p, from, x, y), p.unit[from], f.log_length);
            sum = {sum.re + more.re, sum.im + more.im, sum.potential + more.potential};
        }
        const uint32_t to = p.order[i];
        sum.re = (sum.re + p.near[i]) * f.vector;
        sum.im = (sum.im + p.near[p.n + i]) * f.vector;
        sum.potential = LOG ? (sum.potential + p.near[2 * p.n + i]) * f.potential : 0;
        const double zero = 0 * (sum.re + sum.im + sum.potential);
        if (!(zero == 0))
            p.status->unfit = 1;
        if (are_many)
            p.scaled[to] = {sum.re, sum.im, sum.potential, 0};
        else
            put_result(p, to, sum);
    }
}

extern "C" __global__ void __launch_bounds__(256) spread(const Problem p)
{
    const uint64_t i = blockIdx.x * 256ull + threadIdx.x;
    if (i < p.n)
        put_result(p, i, {p.scaled[i].x, p.scaled[i].y, p.scaled[i].re});
}
