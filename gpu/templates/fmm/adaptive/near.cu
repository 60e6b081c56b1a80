// P2P: the particles of a leaf against those of its list U.

PF uint32_t count_of(const Part &part) { return part.count & UNDER_IMAGE; }

// A part of the sources of a block that are none of its targets: what stands before these in their leaf, what stands behind them, and then
// the other parts of the leaf's list.
PF Part part_of(const Problem &p, const Part &list, const Cell &own, const TargetPart &targets, const uint32_t k)
{
    const uint32_t here = numbered(Image());
    if (k == 0)
        return {own.first, (targets.first - own.first) | here};
    if (k == 1)
        return {targets.first + targets.count, (own.end - targets.first - targets.count) | here};
    if (k - 2 >= list.count)
        return {0, here};
    const Part part = p.u[list.first + k - 2];
    const bool is_own = part.first == own.first && part.count == ((own.end - own.first) | here);
    return {part.first, is_own ? here : part.count};
}

PF Stretch stretch_of(const Problem &p, const Part &part, const uint32_t begin, const Frame &frame)
{
#if PERIODIC
    return {begin, part.first - begin, seen_from(frame, image_of(part.count), p)};
#else
    return {begin, part.first - begin};
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) p2p(const Problem p)
{
    __shared__ Block block;
    // There may be fewer blocks than were started, and more pairs than are worth it: the host sees both later.
    if (blockIdx.x >= p.status->blocks || p.status->p2p > p.most_pairs)
        return;
    const uint64_t work = p.work[blockIdx.x];
    const uint32_t leaf = (uint32_t)work;
    const Cell own = p.cells[p.leaves[leaf]];
    const Part list = p.u_at[leaf];
    const TargetPart targets = target_part(own.first, own.end, (uint32_t)(work >> 32));
    if (targets.count == 0)
        return;
    const Frame frame = frame_of(p, own);
    take_block(p, targets, frame, setting_of(p, side(own.level)), block, list.count + 2, [&](const uint32_t before) {
        if (threadIdx.x >= 32)
            return;
        const uint32_t k = 2 * threadIdx.x;
        const Part a = part_of(p, list, own, targets, before + k), b = part_of(p, list, own, targets, before + k + 1);
        const uint32_t upto = sum_to_lane(count_of(a) + count_of(b)), begin = upto - count_of(a) - count_of(b);
        block.stretches[k] = stretch_of(p, a, begin, frame);
        block.stretches[k + 1] = stretch_of(p, b, begin + count_of(a), frame);
        if (threadIdx.x == 31)
            (block.stretches[PARTS].begin = upto, block.sources = upto);
    });
}

// The leaf of a sorted particle.
PF uint32_t leaf_of(const Problem &p, const uint32_t i)
{
    uint32_t low = 0, high = (uint32_t)p.leaf_count;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (p.cells[p.leaves[middle]].first <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// One block: the first sorted particles of parts of the leaves with about as many particles each, and the end of all.
extern "C" __global__ void __launch_bounds__(128) share_leaves(const Problem p, const uint32_t parts)
{
    for (uint32_t k = threadIdx.x; k <= parts; k += 128) {
        const uint32_t i = (uint32_t)(p.n * k / parts);
        p.counts[k] = k < parts ? p.cells[p.leaves[leaf_of(p, i)]].first : (uint32_t)p.n;
    }
}

// Scaled coordinates and the charge of a sorted particle, as the input has them.
PF Record wide_of(const Problem &p, const uint32_t sorted)
{
#if SINGLE
    const uint32_t i = p.order[0][sorted];
    return {scaled(p.x[i], 0, p), scaled(p.y[i], 1, p), scaled(p.z[i], 2, p), p.q[i] * p.charge};
#else
    return p.records[sorted];
#endif
}

// A block a target with pairs that were too close: all its pairs in f64, but those at its very place. A warp takes a part of the list.
#define AGAIN_THREADS 256

extern "C" __global__ void __launch_bounds__(AGAIN_THREADS) again(const Problem p)
{
    __shared__ double all[AGAIN_THREADS][RESULTS];
    for (uint64_t k = blockIdx.x; k < min(p.status->again, p.again_room); k += gridDim.x) {
        const uint32_t i = p.again[k], leaf = leaf_of(p, i);
        const Cell own = p.cells[p.leaves[leaf]];
        const double edge = p.size / side(own.level), close = SINGLE ? edge * edge * CLOSE : 0;
        const Record at = wide_of(p, i);
        const Part list = p.u_at[leaf];
        double sum[RESULTS] = {};
        for (uint32_t part = threadIdx.x / 32; part < list.count; part += AGAIN_THREADS / 32) {
            const Part sources = p.u[list.first + part];
            const Image image = image_of(sources.count);
            for (uint32_t j = sources.first + threadIdx.x % 32; j < sources.first + count_of(sources); j += 32) {
                if (!is_source(p.records[j]))
                    continue;
                double moment[3];
                wide_moment(p.records[j], p, moment);
                const Record s = wide_of(p, j);
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
        for (uint32_t half = AGAIN_THREADS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half)
                for (int a = 0; a < RESULTS; a++)
                    all[threadIdx.x][a] += all[threadIdx.x + half][a];
        }
        const double potential = SINGLE && !BLACK_BOX ? edge : 1, gradient = potential * potential;
        if (threadIdx.x == 0)
            p.near[i] = scaled_result(all[0], potential, gradient);
        __syncthreads();
    }
}
