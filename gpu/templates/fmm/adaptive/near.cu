// P2P: a block takes up to MOST_TARGETS particles of a leaf against the particles of its list U.

// What takes places around a leaf to its centre, in units of its edge, in f32; in f64 places stay as they are.
#if SINGLE
struct Frame { double x, y, z, side; };

PF Frame frame_of(const Problem &, const Cell &c)
{
    const Middle m = middle_of(c);
    return {m.x, m.y, m.z, m.side};
}

PF Source in_frame(const Record &r, const Frame &f)
{
    Source s = {(float)((r.x - f.x) * f.side), (float)((r.y - f.y) * f.side), (float)((r.z - f.z) * f.side), (float)r.q};
#if DIPOLES
    (s.px = (float)(r.px * f.side), s.py = (float)(r.py * f.side), s.pz = (float)(r.pz * f.side));
#endif
    return s;
}

// Whether a source may be too close to a particle of the cell: somewhat more than the distance, for rounding.
PF bool is_close_to_cell(const Source &s, const Frame &)
{
    return fmaxf(fmaxf(fabsf(s.x), fabsf(s.y)), fabsf(s.z)) <= 0.5f + 1.01f / 256;
}
#else
struct Frame { double x, y, z, half; };

PF Frame frame_of(const Problem &p, const Cell &c)
{
    const double s = side(c.level), edge = p.size / s, half = 0.5 - 0.5 * s;
    return {p.centre[0] + (c.x + half) * edge, p.centre[1] + (c.y + half) * edge, p.centre[2] + (c.z + half) * edge, 0.5000001 * edge};
}

PF Source in_frame(const Record &r, const Frame &)
{
#if DIPOLES
    return {r.x, r.y, r.z, r.q, r.px, r.py, r.pz};
#else
    return {r.x, r.y, r.z, r.q};
#endif
}

PF bool is_close_to_cell(const Source &s, const Frame &f)
{
    return fabs(s.x - f.x) <= f.half && fabs(s.y - f.y) <= f.half && fabs(s.z - f.z) <= f.half;
}
#endif

#if PERIODIC
// A frame as an image of the box sees it, or what the image adds to coordinates.
#if SINGLE
typedef Frame Seen;

PF Seen seen_from(const Frame &f, const Image &i, const Problem &) { return {f.x - i.x, f.y - i.y, f.z - i.z, f.side}; }
#else
struct Seen { double x, y, z; };

PF Seen seen_from(const Frame &, const Image &i, const Problem &p) { return {i.x * p.size, i.y * p.size, i.z * p.size}; }

PF Source in_frame(Record r, const Seen &s)
{
    (r.x += s.x, r.y += s.y, r.z += s.z);
    return in_frame(r, Frame());
}
#endif

PF uint32_t count_of(const Part &part) { return part.count & UNDER_IMAGE; }
#else
PF uint32_t count_of(const Part &part) { return part.count; }
#endif

// Parts of a list that are in shared memory at a time: two of a lane.
#define PARTS 64

#if PERIODIC
struct Stretch { uint32_t begin, shift; Seen frame; };
#else
struct Stretch { uint32_t begin, shift; };
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) p2p(const Problem p)
{
    __shared__ Source tile[TILE + MOST_WAYS];
    __shared__ Guards guards;
    __shared__ Stretch rows[PARTS + 1];
    // There may be fewer blocks than were started, and more pairs than are worth it: the host sees both later.
    if (blockIdx.x >= p.status->blocks || p.status->p2p > p.most_pairs)
        return;
    const uint64_t work = p.work[blockIdx.x];
    const uint32_t leaf = (uint32_t)work, part = (uint32_t)(work >> 32);
    const Cell own = p.cells[p.leaves[leaf]];
    const Part list = p.u_at[leaf];
    const uint32_t all = own.end - own.first;
    const uint32_t parts = (all + MOST_TARGETS - 1) / MOST_TARGETS, size = (all + parts - 1) / parts;
    const uint32_t first = own.first + part * size, count = min(size, all - min(all, part * size));
    if (count == 0)
        return;
    const Division d = divide(count);
    const Frame frame = frame_of(p, own);
    const Setting setting = setting_of(p, side(own.level));
    Real at[SHARED][3];
    for (int t = 0; t < SHARED; t++) {
        const Source target = in_frame(p.records[first + target_of(d, t, count)], frame);
        (at[t][0] = target.x, at[t][1] = target.y, at[t][2] = target.z);
    }
    TargetSums sums[SHARED] = {};

    for (uint32_t before = 0; before < list.count; before += PARTS) {
        if (threadIdx.x < 32) {
            const uint32_t k = before + 2 * threadIdx.x;
            const Part none = {0, 0}, a = k < list.count ? p.u[list.first + k] : none;
            const Part b = k + 1 < list.count ? p.u[list.first + k + 1] : none;
            const uint32_t upto = sum_to_lane(count_of(a) + count_of(b)), begin = upto - count_of(a) - count_of(b);
#if PERIODIC
            rows[2 * threadIdx.x] = {begin, a.first - begin, seen_from(frame, image_of(a.count), p)};
            rows[2 * threadIdx.x + 1] = {begin + count_of(a), b.first - begin - count_of(a), seen_from(frame, image_of(b.count), p)};
#else
            rows[2 * threadIdx.x] = {begin, a.first - begin};
            rows[2 * threadIdx.x + 1] = {begin + a.count, b.first - begin - a.count};
#endif
            if (threadIdx.x == 31)
                rows[PARTS].begin = upto;
        }
        __syncthreads();
        uint32_t u = 0;
        add_sources(rows[PARTS].begin, d, tile, guards, at, setting, CLOSE, sums, [&](const uint32_t number, Source &s) {
            while (number >= rows[u + 1].begin)
                u++;
#if PERIODIC
            s = in_frame(p.records[number + rows[u].shift], rows[u].frame);
#else
            s = in_frame(p.records[number + rows[u].shift], frame);
#endif
            return is_close_to_cell(s, frame);
        });
        __syncthreads();
    }

    for (int t = 0; t < SHARED; t++) {
        const TargetSums sum = joined(sums[t], (TargetSums *)tile, d);
        if (d.way == 0 && d.place + t * d.threads < count) {
            const uint32_t i = first + d.place + t * d.threads;
            p.near[i] = result_of(sum);
            // Each target is too close to itself.
            if (sum.close != 1 && !(p.is_apart && is_source(p.records[i])))
                p.again[atomicAdd((unsigned long long *)&p.status->again, 1ull)] = i;
        }
    }
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
    for (uint64_t k = blockIdx.x; k < p.status->again; k += gridDim.x) {
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
