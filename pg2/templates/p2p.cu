// P2P: a block of THREADS computes up to SHARED * THREADS targets of one cell against the concatenated stretches of its sources.

// A cell's part of the targets, and the frame in which its sums are done.
struct Block {
    double origin[3], factor;       // a place in the frame is (x - origin) * factor
    Real low[3], high[3];           // sources outside of this box are far enough from all targets
    Real eps2, least;               // squares in the frame's unit: softening, and the distance of pairs too close
    uint32_t first, count;          // targets
    uint32_t uidx, uidx_end;        // in ulist
    uint32_t sources, unused;       // how many in all
};

// A stretch of sources: where it begins among all of the cell, what to add for the particle, and the block's origin as seen
// from these sources, which may be images.
struct Stretch { uint32_t begin, shift; double origin[3]; };

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) p2p(
    const double *__restrict__ target_x, const double *__restrict__ target_y, const double *__restrict__ target_z,
    const double *__restrict__ x, const double *__restrict__ y, const double *__restrict__ z, const Real *__restrict__ q,
    const Block *__restrict__ cidx, const Stretch *__restrict__ ulist, Real *__restrict__ force, uint32_t *__restrict__ close_pairs)
{
    __shared__ Real4 tile[Room<Real4, Sums, SHARED>::sources];
    __shared__ Guards guards;
    const Block *const __restrict__ block = cidx + blockIdx.x;
    const uint32_t count = block->count;
    const Division d = divide(count, SHARED);
    const double factor = block->factor;
    Real at[SHARED][3];
    for (int t = 0; t < SHARED; t++) {
        const uint32_t i = block->first + target_of(d, t, count);
        at[t][0] = (Real)((target_x[i] - block->origin[0]) * factor);
        at[t][1] = (Real)((target_y[i] - block->origin[1]) * factor);
        at[t][2] = (Real)((target_z[i] - block->origin[2]) * factor);
    }
    const Real eps2 = block->eps2, least = block->least;
    const uint32_t uidx_end = block->uidx_end;
    Sums sums[SHARED] = {};

    uint32_t u = block->uidx;
    add_sources(block->sources, d, tile, guards, at, eps2, least, sums, [&](const uint32_t number, Real4 &s) {
        while (u + 1 < uidx_end && number >= ulist[u + 1].begin)
            u++;
        const uint32_t j = number + ulist[u].shift;
        s = {(Real)((x[j] - ulist[u].origin[0]) * factor), (Real)((y[j] - ulist[u].origin[1]) * factor),
             (Real)((z[j] - ulist[u].origin[2]) * factor), q[j]};
        return s.x >= block->low[0] && s.x <= block->high[0] && s.y >= block->low[1] && s.y <= block->high[1] &&
               s.z >= block->low[2] && s.z <= block->high[2];
    });

    take_joined(sums, (Sums *)tile, d, count, [&](const uint32_t target, const Sums &sum) {
        const uint64_t i = block->first + target;
        for (int a = 0; a < 4; a++)
            force[4 * i + a] = sum.values[a];
        close_pairs[i] = sum.close;
    });
}
