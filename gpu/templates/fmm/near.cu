// P2P: the particles of a cell against those of all cells near it.

// The rows along x that cells near a cell are in.
#define NEAR_ROWS ((2 * REACH + 1) * (2 * REACH + 1))

// How far the cells near a cell reach along x in a row that is y and z away; -1 where there are none.
PF int reach_along_x(const int y, const int z)
{
    int reach = REACH == 1 ? 1 : -1;
    while (REACH > 1 && is_near(reach + 1, y, z))
        reach++;
    return reach;
}

// The cells of a row near a cell: their sorted particles stand one behind the other.
PF uint2 row_of(const Problem &p, const uint32_t cell, const uint32_t row)
{
    const uint32_t side = SIDE(p.depth);
    const Place at = place_of(p, cell);
    const int dy = (int)(row % (2 * REACH + 1)) - REACH, dz = (int)(row / (2 * REACH + 1)) - REACH;
    const int y = (int)at.y + dy, z = (int)at.z + dz, reach = reach_along_x(dy, dz);
    if (reach < 0 || min(y, z) < 0 || max(y, z) >= (int)side)
        return make_uint2(0, 0);
    const uint32_t first = ((uint32_t)z << p.depth | y) << p.depth;
    return make_uint2(start_of(p, first + ((int)at.x > reach ? at.x - reach : 0)), start_of(p, first + min(at.x + reach + 1, side)));
}

#if PERIODIC
// Sorted particles near a cell that stand one behind the other, from `first` to before `end`, and the image of the box that they are in.
struct Near { uint32_t first, end; Image image; };

// The cells around a cell have up to so many of them: a row of three cells, or where a row leaves the box, a cell.
#define NEAR_PARTS 27

PF Near near_part(const Problem &p, const uint32_t cell, const uint32_t part)
{
    const int side = SIDE(p.depth);
    const Place at = place_of(p, cell);
    const bool is_whole = at.x > 0 && (int)at.x + 1 < side;
    Near near = {0, 0, {0, 0, 0}};
    int x = (int)at.x + (int)(part % 3) - 1, y = (int)at.y + (int)(part / 3 % 3) - 1, z = (int)at.z + (int)(part / 9) - 1;
    const bool is_in_x = enter(x, near.image.x, side, 0, p), is_in_y = enter(y, near.image.y, side, 1, p),
               is_in_z = enter(z, near.image.z, side, 2, p);
    if (!is_in_x || !is_in_y || !is_in_z || (is_whole && part % 3 != 1))
        return near;
    const uint32_t first = (((uint32_t)z << p.depth | y) << p.depth) + x;
    near.first = start_of(p, is_whole ? first - 1 : first);
    near.end = start_of(p, is_whole ? first + 2 : first + 1);
    return near;
}
#else
struct Near { uint32_t first, end; Image image; };

#define NEAR_PARTS NEAR_ROWS

PF Near near_part(const Problem &p, const uint32_t cell, const uint32_t part)
{
    const uint2 row = row_of(p, cell, part);
    return {row.x, row.y, {0, 0, 0}};
}
#endif

#define OWN_PART (NEAR_PARTS / 2)   // the one that the cell is in

// A warp: the stretches of the particles near a cell that are none of a block's targets. What stands before these in their part and what
// stands behind them are two.
PF void fill_stretches(const Problem &p, const uint32_t cell, const TargetPart &targets, const Frame &frame, Block &block)
{
    const uint32_t lane = threadIdx.x;
    Near near = lane <= NEAR_PARTS ? near_part(p, cell, lane < NEAR_PARTS ? lane : OWN_PART) : Near();
    if (lane == OWN_PART)
        near.end = targets.first;
    if (lane == NEAR_PARTS)
        near.first = targets.first + targets.count;
    const uint32_t own = near.end - near.first, begin = sum_to_lane(own) - own;
    // Without empty ones, so that a cell away from the faces has the parts that it has without images.
    const uint32_t filled = __ballot_sync(~0u, own > 0), place = __popc(filled & ((1u << lane) - 1));
#if PERIODIC
    if (own > 0)
        block.stretches[place] = {begin, near.first - begin, seen_from(frame, near.image, p)};
#else
    if (own > 0)
        block.stretches[place] = {begin, near.first - begin};
#endif
    if (lane == 31)
        (block.stretches[place].begin = begin, block.sources = begin);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) p2p(const Problem p)
{
    __shared__ Block block;
    const uint64_t work = p.work[(p.starts[p.own.first] >> 32) + blockIdx.x];
    const uint32_t cell = (uint32_t)work;
    const TargetPart targets = target_part(start_of(p, cell), start_of(p, cell + 1), (uint32_t)(work >> 32));
    if (targets.count == 0)
        return;
    const Frame frame = frame_of(p, cell);
    take_block(p, targets, frame, setting_of(p, SIDE(p.depth)), block, PARTS, [&](uint32_t) {
        if (threadIdx.x < 32)
            fill_stretches(p, cell, targets, frame, block);
    });
}

#if SINGLE
// From a target to a source in an image, in steps of the grid, of which a cell has 2^31 at depth 0; and whether the pair may be too close.
struct Steps { double d[3]; bool may_be_close; };

PF Steps steps_to(const Record &target, const Record &source, const Image &image, const Problem &p)
{
    const double period = 2147483648.0;
    const double d[3] = {(double)(int32_t)(source.x - target.x) + image.x * period, (double)(int32_t)(source.y - target.y) + image.y * period,
                         (double)(int32_t)(source.z - target.z) + image.z * period};
    // Both ends are up to a step off, and a cell has 2^23 steps or more.
    const double edge = (double)(1u << (31 - p.depth));
    return {{d[0], d[1], d[2]}, d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < edge * edge * (1.01 * CLOSE)};
}

PF Wide wide_in(const Peer &share, const uint32_t slot, const Problem &p)
{
    const uint32_t i = share.order[slot];
    return {scaled(share.x[i], 0, p), scaled(share.y[i], 1, p), scaled(share.z[i], 2, p), share.q[i] * p.charge};
}

// Of a sorted particle of a cell. A GPU has the f64 coordinates of its share alone. Those of others it reads there, or it has asked for
// them.
PF Wide wide_of(const uint32_t sorted, const uint32_t cell, const Problem &p)
{
    if (p.devices == 1)
        return wide_in({p.x, p.y, p.z, p.q, p.order}, sorted, p);
    if (p.peers == nullptr)
        return p.wide[p.wide_at[sorted] - 1];
    const Slot slot = slot_of(p, cell, sorted - start_of(p, cell));
    return wide_in(p.peers[slot.part / p.kinds], slot.slot, p);
}
#else
PF Wide wide_of(const uint32_t sorted, const uint32_t, const Problem &p)
{
    const Record r = p.records[sorted];
    return {r.x, r.y, r.z, r.w};
}
#endif

// A block a target with pairs that were too close: all its pairs in f64, but those at its very place. In f32, the distances of pairs
// that are not close are those of the grid, as in P2P.
extern "C" __global__ void __launch_bounds__(128) again(const Problem p)
{
    __shared__ double all[128][RESULTS];
    const double edge = p.size / SIDE(p.depth), close = SINGLE ? edge * edge * CLOSE : 0;
    for (uint64_t k = blockIdx.x; k < min(p.status->again, p.again_room); k += gridDim.x) {
        const uint32_t i = p.again[k], cell = cell_of(p.records[i], p);
        const Wide at = wide_of(i, cell, p);
        double sum[RESULTS] = {};
        for (uint32_t r = 0; r < NEAR_PARTS; r++) {
            const Near near = near_part(p, cell, r);
            const Image &image = near.image;
            for (uint32_t j = near.first + threadIdx.x; j < near.end; j += 128) {
                const Record other = p.records[j];
                if (!is_source(other))
                    continue;
                double moment[3];
                wide_moment(other, p, moment);
#if SINGLE
                const Steps steps = steps_to(p.records[i], other, image, p);
                if (!steps.may_be_close) {
                    const double step = p.size / 2147483648.0;
                    const double far[3] = {steps.d[0] * step, steps.d[1] * step, steps.d[2] * step};
                    add_wide(far, other.q, moment, wide_setting(p), sum);
                    continue;
                }
#endif
                const Wide s = wide_of(j, cell_of(other, p), p);
                const double d[3] = {(s.x + image.x * p.size) - at.x, (s.y + image.y * p.size) - at.y, (s.z + image.z * p.size) - at.z};
                const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                if (d[0] == 0 && d[1] == 0 && d[2] == 0)
                    continue;
                if (r2 < close)
                    atomicAdd((unsigned long long *)&p.status->close, 1ull);
                if (r2 < 1e-120)
                    atomicAdd((unsigned long long *)&p.status->lost, 1ull);
                else
                    add_wide(d, s.q, moment, wide_setting(p), sum);
            }
        }
        for (int a = 0; a < RESULTS; a++)
            all[threadIdx.x][a] = sum[a];
        for (uint32_t half = 64; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half)
                for (int a = 0; a < RESULTS; a++)
                    all[threadIdx.x][a] += all[threadIdx.x + half][a];
        }
        if (threadIdx.x == 0)
            p.near[i] = scaled_result(all[0], p.wide_potential, p.wide_gradient);
        __syncthreads();
    }
}
