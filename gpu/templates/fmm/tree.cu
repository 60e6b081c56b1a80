// Sorting particles by cell.

// What a block of `bounds` finds; the last kernel joins them.
PF void join(Bounds &a, const Bounds &b)
{
    for (int k = 0; k < 3; k++) {
        a.low[k] = fmin(a.low[k], b.low[k]);
        a.high[k] = fmax(a.high[k], b.high[k]);
    }
    a.most = fmax(a.most, b.most);
    a.least = fmin(a.least, b.least);
    a.most_moment = fmax(a.most_moment, b.most_moment);
    a.least_moment = fmin(a.least_moment, b.least_moment);
    a.bad |= b.bad;
}

PF Bounds nothing()
{
    const double no = 1.7976931348623157e308;
    return {{no, no, no}, {-no, -no, -no}, 0, no, 0, no, 0};
}

PF void reduce(Bounds own, Bounds *out)
{
    __shared__ Bounds all[256];
    all[threadIdx.x] = own;
    for (uint32_t half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            join(all[threadIdx.x], all[threadIdx.x + half]);
    }
    if (threadIdx.x == 0)
        *out = all[0];
}

extern "C" __global__ void __launch_bounds__(256) bounds(const Problem p)
{
    Bounds own = nothing();
    for (uint64_t i = blockIdx.x * 256u + threadIdx.x; i < p.n; i += gridDim.x * 256u) {
        const double at[3] = {p.x[i], p.y[i], p.z[i]}, q = fabs(p.q[i]);
        for (int k = 0; k < 3; k++) {
            own.low[k] = fmin(own.low[k], at[k]);
            own.high[k] = fmax(own.high[k], at[k]);
            own.bad |= !(fabs(at[k]) <= 1.7976931348623157e308);
        }
        own.bad |= !(q <= 1.7976931348623157e308);
        own.most = fmax(own.most, q);
        if (q > 0)
            own.least = fmin(own.least, q);
#if DIPOLES
        double moment = 0;
        for (int k = 0; k < 3 && i < p.targets; k++) {
            const double component = fabs(p.dipoles[k][i]);
            own.bad |= !(component <= 1.7976931348623157e308);
            moment = fmax(moment, component);
        }
        own.most_moment = fmax(own.most_moment, moment);
        if (moment > 0)
            own.least_moment = fmin(own.least_moment, moment);
#endif
    }
    reduce(own, p.bounds + 1 + blockIdx.x);
}

// One block: joins what `blocks` blocks found.
extern "C" __global__ void __launch_bounds__(256) all_bounds(const Problem p, const uint32_t blocks)
{
    Bounds own = nothing();
    for (uint32_t k = threadIdx.x; k < blocks; k += 256)
        join(own, p.bounds[1 + k]);
    reduce(own, p.bounds);
}

// One block: how many of SAMPLES particles, evenly among the numbers of `all`, are in this share, whose numbers begin at `first`, in each
// cell of the fourth level: into `near`, behind the pairs of particles in one cell.
#define SAMPLES 4096
#define SAMPLED 4096

extern "C" __global__ void __launch_bounds__(1024) sample(const Problem p, const uint32_t first, const uint32_t all)
{
    __shared__ uint32_t counts[SAMPLED];
    for (uint32_t k = threadIdx.x; k < SAMPLED; k += 1024)
        counts[k] = 0;
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < SAMPLES; k += 1024) {
        const uint32_t i = (uint32_t)((uint64_t)k * all / SAMPLES) - first;
        if (i < p.n) {
            const uint32_t x = grid(unit(p.x[i], 0, p)) >> 27, y = grid(unit(p.y[i], 1, p)) >> 27, z = grid(unit(p.z[i], 2, p)) >> 27;
            atomicAdd(&counts[z << 8 | y << 4 | x], 1u);
        }
    }
    __syncthreads();
    uint64_t pairs = 0, all_pairs;
    for (uint32_t k = threadIdx.x; k < SAMPLED; k += 1024) {
        const uint64_t own = counts[k];
        pairs += own * own - own;
        ((uint32_t *)p.near)[2 + k] = counts[k];
    }
    sum_before(pairs, &all_pairs);
    if (threadIdx.x == 0)
        *(uint64_t *)p.near = all_pairs;
}

// The cell of each particle of the share, how many of its cell came before, and how many particles of the share a cell has.
extern "C" __global__ void __launch_bounds__(256) count(const Problem p)
{
    const uint32_t i = blockIdx.x * 256u + threadIdx.x, down = 31 - p.depth;
    if (i >= p.n)
        return;
    const uint32_t x = grid(unit(p.x[i], 0, p)) >> down, y = grid(unit(p.y[i], 1, p)) >> down,
                   z = grid(unit(p.z[i], 2, p)) >> down, cell = (z << p.depth | y) << p.depth | x;
    p.cell[i] = cell;
    p.rank[i] = atomicAdd(&p.tally[kind_of(p, i) * ((1u << 3 * p.depth) + 1) + cell], 1u);
}

// With several GPUs: where the cells of the share begin, within 1024 cells. Of each part there is one place more than cells.
extern "C" __global__ void __launch_bounds__(1024) share_cells(const Problem p)
{
    const uint32_t k = blockIdx.x * 1024 + threadIdx.x, places = (uint32_t)p.kinds * ((1u << 3 * p.depth) + 1);
    uint32_t all;
    const uint32_t before = sum_before(k < places ? p.tally[k] : 0, &all);
    if (k < places)
        p.tally[k] = before;
    if (threadIdx.x == 0)
        p.sums32[blockIdx.x] = all;
}

// Some sums, each of which becomes the sum of those before it, by one block, 1024 at a time.
template <class T> PF T scan(T *const sums, const uint32_t count)
{
    T so_far = 0;
    for (uint32_t first = 0; first < count; first += 1024) {
        const uint32_t k = first + threadIdx.x;
        T all;
        const T before = sum_before(k < count ? sums[k] : 0, &all);
        if (k < count)
            sums[k] = so_far + before;
        so_far += all;
        __syncthreads();
    }
    return so_far;
}

extern "C" __global__ void __launch_bounds__(1024) share_sums(const Problem p, const uint32_t count) { scan(p.sums32, count); }

extern "C" __global__ void __launch_bounds__(1024) share_add(const Problem p)
{
    const uint32_t k = blockIdx.x * 1024 + threadIdx.x;
    if (k < (uint32_t)p.kinds * ((1u << 3 * p.depth) + 1))
        p.tally[k] += p.sums32[blockIdx.x];
}

PF uint64_t with_blocks(const uint64_t count) { return count | (count + MOST_TARGETS - 1) / MOST_TARGETS << 32; }

// The particles of each cell in all parts of the input, and their sums within 1024 cells.
extern "C" __global__ void __launch_bounds__(1024) scan_cells(const Problem p)
{
    const uint32_t cell = blockIdx.x * 1024 + threadIdx.x, cells = 1u << 3 * p.depth;
    uint32_t own = 0;
    if (cell < cells && p.devices == 1) {
        own = p.counts[cell];
    } else if (cell < cells) {
        for (uint32_t part = 0; part < p.devices * p.kinds; part++)
            own += part_starts(p, part)[cell + 1] - part_starts(p, part)[cell];
        p.counts[cell] = own;
    }
    uint64_t all;
    const uint64_t before = sum_before(with_blocks(own), &all);
    if (cell < cells)
        p.starts[cell] = before;
    if (threadIdx.x == 0)
        p.sums[blockIdx.x] = all;
}

// One block: sums over these sums.
extern "C" __global__ void __launch_bounds__(1024) scan_sums(const Problem p, const uint32_t count)
{
    const uint64_t so_far = scan(p.sums, count);
    if (threadIdx.x == 0) {
        p.starts[1u << 3 * p.depth] = so_far;
        p.rows[1u << 2 * p.depth].start = so_far;
    }
}

// Adds the sums before each 1024 cells, lists the blocks of P2P, and counts its pairs.
extern "C" __global__ void __launch_bounds__(1024) scan_add(const Problem p)
{
    const uint32_t cell = blockIdx.x * 1024 + threadIdx.x, side = SIDE(p.depth);
    if (cell >= 1u << 3 * p.depth)
        return;
    const uint64_t start = p.starts[cell] + p.sums[blockIdx.x], own = p.counts[cell];
    p.starts[cell] = start;
    Row *const row = p.rows + cell / side;
    if (cell % side == 0)
        row->start = start;
    const uint32_t parts = (uint32_t)(p.devices * p.kinds);
    if (p.devices > 1 && cell % side == 0)
        for (uint32_t part = 0; part < parts; part++)
            p.row_parts[cell / side * parts + part] = part_starts(p, part)[cell];
    if (p.devices > 1 && cell + 1 == 1u << 3 * p.depth)
        for (uint32_t part = 0; part < parts; part++)
            p.row_parts[(cell / side + 1) * parts + part] = part_starts(p, part)[cell + 1];
    if (own == 0)
        return;
    for (uint64_t part = 0; part < (own + MOST_TARGETS - 1) / MOST_TARGETS; part++)
        p.work[(start >> 32) + part] = cell | part << 32;
    const int at[3] = {(int)(cell % side), (int)(cell / side % side), (int)(cell / side / side)};
    uint64_t near = 0;
    const int ways = 2 * REACH + 1;
    for (int k = 0; k < ways * ways * ways; k++) {
        const int d[3] = {k % ways - REACH, k / ways % ways - REACH, k / ways / ways - REACH};
        int x = at[0] + d[0], y = at[1] + d[1], z = at[2] + d[2];
        if (REACH > 1 && !is_near(d[0], d[1], d[2]))
            continue;
#if PERIODIC
        Image image;
        const bool is_in_x = enter(x, image.x, side, 0, p), is_in_y = enter(y, image.y, side, 1, p), is_in_z = enter(z, image.z, side, 2, p);
        const bool is_there = is_in_x && is_in_y && is_in_z;
#else
        const bool is_there = min(min(x, y), z) >= 0 && max(max(x, y), z) < (int)side;
#endif
        if (is_there)
            near += p.counts[((uint32_t)z << p.depth | y) << p.depth | x];
    }
    // Sums of integers, which no order changes.
    atomicAdd((unsigned long long *)&row->pairs, near * own);
}

// Where the share's particles of a cell begin when they are sorted.
PF uint32_t share_start(const Problem &p, const uint32_t kind, const uint32_t cell)
{
    return p.devices == 1 ? start_of(p, cell) : part_starts(p, p.device * p.kinds + kind)[cell];
}

// Gives each particle of the share a place in its cell: in any order, which `settle` mends.
extern "C" __global__ void __launch_bounds__(256) scatter(const Problem p)
{
    const uint32_t i = blockIdx.x * 256u + threadIdx.x;
    if (i < p.n)
        p.unsettled[share_start(p, kind_of(p, i), p.cell[i]) + p.rank[i]] = i;
}

// Puts the particles of each cell into the order of the input.
extern "C" __global__ void __launch_bounds__(256) settle(const Problem p)
{
    const uint32_t i = blockIdx.x * 256u + threadIdx.x;
    if (i >= p.n)
        return;
    const uint32_t own = p.unsettled[i], cell = p.cell[own], kind = kind_of(p, own);
    const uint32_t start = share_start(p, kind, cell), end = share_start(p, kind, cell + 1);
    uint32_t place = start;
    for (uint32_t k = start; k < end; k++)
        place += p.unsettled[k] < own;
    p.order[place] = own;
    p.share[place] = record(own, p);
}

// The sorted share once more, for other charges of its particles.
extern "C" __global__ void __launch_bounds__(256) refill(const Problem p)
{
    const uint32_t place = blockIdx.x * 256u + threadIdx.x;
    if (place < p.n)
        p.share[place] = record(p.order[place], p);
}

// Puts `count` particles of a part of the input, from its sorted share's place `first` on, where they belong among all of the leaves
// around. They are in this GPU's share, or stand among what arrived from `from` on.
extern "C" __global__ void __launch_bounds__(256) merge(const Problem p, const uint32_t part, const uint32_t first, const uint32_t count, const uint32_t from)
{
    const uint32_t k = blockIdx.x * 256u + threadIdx.x;
    if (k >= count)
        return;
    const Record r = part / p.kinds == p.device ? p.share[first + k] : p.arrived[from + k];
    const uint32_t cell = cell_of(r, p);
    uint32_t place = start_of(p, cell) + first + k - part_starts(p, part)[cell];
    for (uint32_t before = 0; part_at(p, before) != part; before++) {
        const uint32_t *const starts = part_starts(p, part_at(p, before)) + cell;
        place += starts[1] - starts[0];
    }
    p.records[place] = r;
}

// The part of the input that sorted particle `offset` of a cell is from, and its place in the sorted share.
PF Slot slot_of(const Problem &p, const uint32_t cell, uint32_t offset)
{
    for (uint32_t place = 0;; place++) {
        const uint32_t part = part_at(p, place), *const starts = part_starts(p, part) + cell, count = starts[1] - starts[0];
        if (offset < count)
            return {part, starts[0] + offset};
        offset -= count;
    }
}
