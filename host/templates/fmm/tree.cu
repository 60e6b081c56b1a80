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
    a.bad |= b.bad;
}

PF Bounds nothing()
{
    const double no = 1.7976931348623157e308;
    return {{no, no, no}, {-no, -no, -no}, 0, no, 0};
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
    for (uint64_t i = p.share + blockIdx.x * 256u + threadIdx.x; i < p.share_end; i += gridDim.x * 256u) {
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

PF uint32_t cell_of(const Problem &p, const uint64_t i)
{
    const uint32_t down = 31 - p.depth;
    const uint32_t x = grid(unit(p.x[i], 0, p)) >> down, y = grid(unit(p.y[i], 1, p)) >> down,
                   z = grid(unit(p.z[i], 2, p)) >> down;
    return (z << p.depth | y) << p.depth | x;
}

// The cell of each particle of the card's share, how many of its cell came before, and how many particles of the share a cell has.
extern "C" __global__ void __launch_bounds__(256) count(const Problem p)
{
    const uint64_t i = p.share + blockIdx.x * 256u + threadIdx.x;
    if (i >= p.share_end)
        return;
    const uint32_t cell = cell_of(p, i);
    p.cell[i] = cell;
    p.rank[i] = atomicAdd(&p.shares[(p.card << 3 * p.depth) + cell], 1u);
}

PF uint64_t with_blocks(const uint64_t count) { return count | (count + MOST_TARGETS - 1) / MOST_TARGETS << 32; }

// The particles of each cell in all shares, and their sums within 1024 cells.
extern "C" __global__ void __launch_bounds__(1024) scan_cells(const Problem p)
{
    const uint32_t cell = blockIdx.x * 1024 + threadIdx.x, cells = 1u << 3 * p.depth;
    uint32_t own = 0;
    if (cell < cells) {
        for (uint64_t card = 0; card < p.cards; card++)
            own += p.shares[card * cells + cell];
        p.counts[cell] = own;
    }
    uint64_t all;
    const uint64_t before = sum_before(with_blocks(own), &all);
    if (cell < cells)
        p.starts[cell] = before;
    if (threadIdx.x == 0)
        p.sums[blockIdx.x] = all;
}

// One block: sums over these sums, 1024 at a time.
extern "C" __global__ void __launch_bounds__(1024) scan_sums(const Problem p, const uint32_t count)
{
    uint64_t so_far = 0;
    for (uint32_t first = 0; first < count; first += 1024) {
        const uint32_t k = first + threadIdx.x;
        uint64_t all;
        const uint64_t before = sum_before(k < count ? p.sums[k] : 0, &all);
        if (k < count)
            p.sums[k] = so_far + before;
        so_far += all;
        __syncthreads();
    }
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
    if (own == 0)
        return;
    if (p.cards > 1)
        for (uint64_t card = 0; card < p.cards; card++) {
            const uint64_t of_share = p.shares[(card << 3 * p.depth) + cell];
            if (of_share > 0)
                atomicAdd((unsigned long long *)&p.row_shares[cell / side * p.cards + card], of_share);
        }
    for (uint64_t part = 0; part < (own + MOST_TARGETS - 1) / MOST_TARGETS; part++)
        p.work[(start >> 32) + part] = cell | part << 32;
    const int at[3] = {(int)(cell % side), (int)(cell / side % side), (int)(cell / side / side)};
    uint64_t near = 0;
    for (int k = 0; k < 27; k++) {
        const int x = at[0] + k % 3 - 1, y = at[1] + k / 3 % 3 - 1, z = at[2] + k / 9 - 1;
        if (min(min(x, y), z) >= 0 && max(max(x, y), z) < (int)side)
            near += p.counts[((uint32_t)z << p.depth | y) << p.depth | x];
    }
    // Sums of integers, which no order changes.
    atomicAdd((unsigned long long *)&row->pairs, near * own);
}

// Gives each particle of the leaves around a place in its cell, those of other shares before the own ones: in any order, which
// `settle` mends.
extern "C" __global__ void __launch_bounds__(256) scatter(const Problem p)
{
    const uint64_t i = blockIdx.x * 256u + threadIdx.x;
    if (i >= p.n)
        return;
    const bool is_counted = i >= p.share && i < p.share_end;
    const uint32_t cell = is_counted ? p.cell[i] : cell_of(p, i);
    if (cell < p.around.first || cell >= p.around.end)
        return;
    const uint32_t own = p.shares[(p.card << 3 * p.depth) + cell];
    if (is_counted) {
        p.unsettled[start_of(p, cell + 1) - own + p.rank[i]] = i;
    } else {
        p.cell[i] = cell;
        p.unsettled[start_of(p, cell) + atomicSub(&p.counts[cell], 1u) - own - 1] = i;
    }
}

// Puts the particles of each cell into the order of the input.
extern "C" __global__ void __launch_bounds__(256) settle(const Problem p)
{
    const uint32_t i = start_of(p, p.around.first) + blockIdx.x * 256u + threadIdx.x;
    if (i >= start_of(p, p.around.end))
        return;
    const uint32_t own = p.unsettled[i], cell = p.cell[own];
    const uint32_t start = start_of(p, cell), end = start_of(p, cell + 1);
    uint32_t place = start;
    for (uint32_t k = start; k < end; k++)
        place += p.unsettled[k] < own;
    p.order[place] = own;
    p.records[place] = record(own, p);
}
