// The adaptive FMM in two dimensions on a GPU: what all its kernels share.
//
// Points, boxes and lists are those of the module `plane`, to the bit: this text says how they are found, and `plane/mesh.rs`
// and `plane/lists.rs` what they are. Lengths are in units of the frame, strengths are scaled to at most 1.

// Numbers whose powers may leave f64, as in plane/mesh.rs.
#define LEAST 0x1p-400

#ifdef __CUDACC__
#define PF_INLINE __device__ __forceinline__
#else
#define PF_INLINE inline
#endif

// What a block of `bounds` finds of coordinates and strengths.
struct Extent { double low[2], high[2], most; uint64_t bad; };

// The units: a coordinate is (x - origin) * factor, and results are multiplied by the last ones.
struct Frame { double origin[2], factor, strength, log_length, vector, potential; };

// What the host reads after a run.
struct Status {
    uint64_t unfit;             // the arithmetic of the GPU is too narrow for the points
    uint64_t pairs, p2l, m2p;   // of points of P2P, and of points and boxes of the others
    uint64_t items[4];          // in the lists of M2L, of strong coupling, of P2L and of M2P
};

// What tells the lower half of a segment: keys below this one, and the first so many of those equal to it.
struct Pivot { uint64_t key; uint32_t ties, unused; };

// A list of boxes.
struct List { uint32_t start, count; };

// A sorted point and its strength.
struct __align__(16) Source { double x, y, re, im; };

struct __align__(16) Complex { double re, im; };

// Everything on the GPU.
struct Problem {
    const double *input_x, *input_y, *input_re, *input_im;
    Extent *extents;
    Frame *frame;
    Status *status;
    Source *scaled;             // of many points, in the order of the input; at last what is computed there
    double *x, *y;              // two columns of n: splits of many points move them from one to the other
    uint32_t *order;            // for each point its place in the input, two columns; when all is sorted, the column of the last split
    uint64_t *rectangles;       // for each segment that tiles split: greatest keys, of -x, x, -y, y
    uint32_t *histograms, *cursors;
    uint64_t *tiles;            // of each tile the points that are surely lower, and in the high half those equal to the pivot
    uint64_t *keys;             // of the points of a segment that may be the pivot; then space of the blocks that split alone
    uint32_t *key_tiles;
    Pivot *pivots;
    double *low_x, *low_y, *high_x, *high_y, *centre_x, *centre_y, *radius, *unit;  // of all boxes, level by level
    uint32_t *start;            // of each finest box the first point, and the end of all
    Source *sources;            // box by box
    List *weak, *strong, *p2l, *m2p;        // strong: two columns for levels in turn; the last two of the finest boxes
    uint32_t *items[4];         // what the lists have, in the order of `Status`
    uint64_t capacity[4];       // in items
    double *m, *l;              // expansions: real parts, then imaginary parts
    const double *binomials;    // row n of Pascal's triangle from n (n + 1) / 2 on
    double *near;               // what P2P gives: columns of real and imaginary parts, and of potentials
    double *out;                // the same of everything, in the user's units and the order of the input
    double theta;
    uint64_t n, levels, most;   // no finest box has more points than `most`
    uint64_t part, ways;        // of P2P: targets of a block, and threads that share one
};

// The place of the first box of a level.
PF uint32_t first_box(const uint32_t level) { return ((1u << 2 * level) - 1) / 3; }

struct Span { uint32_t start, count; };

// Segment k after so many splits.
PF Span segment(const uint32_t n, const uint32_t splits, const uint32_t k)
{
    Span s = {0, n};
    for (uint32_t bit = splits; bit-- > 0;) {
        const uint32_t half = s.count / 2;
        if (k >> bit & 1)
            s = {s.start + half, s.count - half};
        else
            s.count = half;
    }
    return s;
}

PF Span points_of(const Problem &p, const uint32_t finest)
{
    return {p.start[finest], p.start[finest + 1] - p.start[finest]};
}

// Joins a value of each thread of a block, whose threads are whole warps; all threads get the result.
template <class T, class Join> PF T reduced(T own, const Join join)
{
    __shared__ T warps[32];
    for (uint32_t step = 16; step > 0; step /= 2)
        own = join(own, __shfl_xor_sync(~0u, own, step));
    if (blockDim.x <= 32)
        return own;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = own;
    __syncthreads();
    own = warps[0];
    for (uint32_t k = 1; k < blockDim.x / 32; k++)
        own = join(own, warps[k]);
    return own;
}

PF uint32_t sum_of_block(const uint32_t own)
{
    return reduced(own, [](const uint32_t a, const uint32_t b) { return a + b; });
}
