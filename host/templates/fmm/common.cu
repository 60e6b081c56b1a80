// The FMM of 1/r on cards: what all its kernels share.
//
// The octree has one depth: all cells of a level are there, numbered x fastest, so that every list follows from coordinates.
// Particles are sorted by cell, and within a cell by their place in the input. All sums of floats have one order.
//
// Several cards share the leaves: each has some that follow each other, and sorts the particles of these and of their neighbours.
// Cells, particles and expansions have the same numbers on all cards. The input is shared too, by its numbers: a card counts the
// particles of its share, and has the results of these in the end.

#define SIDE(level) (1u << (level))
#define ROWS (ORDER + 1)        // degrees of an expansion
#define TERMS (ROWS * ROWS)     // its terms, by degree
#define VECTOR (16 / (int)sizeof(Real))

struct __align__(16) Vector { Real v[VECTOR]; };

// A sorted particle.
#if SINGLE
// Grid coordinates, of which differences are exact, and the charge.
struct __align__(16) Record { uint32_t x, y, z; float q; };
#define CLOSE (1.0f / 65536)    // squares of distances too close, in cells
#else
// Scaled coordinates and the charge.
typedef Real4 Record;
#define CLOSE 1e-120
#endif

// Counts that the host reads.
struct Status {
    uint64_t again;             // targets that are computed again in f64
    uint64_t close;             // their pairs at different places that were too close
    uint64_t lost;              // pairs and results that no arithmetic here holds
};

// Of the cells of a row along x: the pairs of P2P, each target's own place included, and the `starts` of the first cell.
struct Row { uint64_t pairs, start; };

// Cells of a level that follow each other.
struct Span { uint32_t first, end; };

// The least and greatest coordinates, the greatest charge and the least that is not 0, by magnitude; whether all are numbers.
struct Bounds { double low[3], high[3], most, least; uint64_t bad; };

// Everything on the card. A place in the box is ((x * shift - centre) - rest) / size.
struct Problem {
    const double *x, *y, *z, *q;            // the input
    Bounds *bounds;
    Status *status;
    Row *rows;                              // of the leaves, and the end of all
    uint32_t *cell;                         // of each particle of the input
    uint32_t *rank;                         // of those of the share, how many of its cell came before
    uint32_t *shares;                       // the particles of each cell in the first card's share, then those in the next one's
    uint32_t *counts;                       // the particles of each cell, without those of other shares that have a place
    uint64_t *sums;                         // particles of 1024 cells, and blocks of P2P above them
    uint64_t *starts;                       // the same, of all cells before
    uint64_t *row_shares;                   // of each row, with several cards: its particles in each one's share
    uint32_t *cursors;                      // for each card the place of the next result that it is sent
    uint32_t *unsettled, *order;            // for each sorted particle its place in the input
    Record *records;                        // sorted particles
    uint64_t *work;                         // for each block of P2P its cell, and its part above
    uint32_t *again;                        // sorted targets to be computed again
    Real *m, *l;                            // expansions of all levels from the second on
    Real4 *near, *out;                      // potential and gradient: P2P's in units of its frame, all in boxes
    const Real *up, *down, *matrices, *slopes;
    const int32_t *steps, *slope_terms;
    double shift, centre[3], rest[3], size, charge;
    double eps2;                            // of P2P, in units of its frame
    double wide_eps2;                       // the same in scaled coordinates
    double potential, gradient;             // of P2P, from units of its frame to boxes
    double wide_potential, wide_gradient;   // from scaled coordinates to units of the frame
    uint64_t n, depth;
    uint64_t sources;                       // so many of the first particles, if others are targets
    uint64_t first_target;
    uint64_t card, cards;                   // the number of this card, and of all
    uint64_t share, share_end;              // of the input
    Span own, around;                       // leaves of this card, and those with their neighbours
    Span parents[8];                        // of each level, what is above them
};

// The cells of all levels from the second to before this one.
PF uint32_t level_start(uint32_t level) { return ((1u << 3 * level) - 64) / 7; }

PF double scaled(const double x, const Problem &p) { return x * p.shift; }

PF double unit(const double x, const int axis, const Problem &p)
{
    const double u = ((scaled(x, p) - p.centre[axis]) - p.rest[axis]) / p.size;
    return fmin(fmax(u, -0.5), 0.5 - 2.220446049250313e-16);
}

// A coordinate on the grid of 2^31 steps, from 0.
PF uint32_t grid(const double unit)
{
    const double g = floor(unit * 2147483648.0) + 1073741824.0;
    return g < 0 ? 0 : g > 2147483647.0 ? 2147483647u : (uint32_t)g;
}

PF uint32_t start_of(const Problem &p, const uint64_t cell) { return (uint32_t)p.starts[cell]; }

// The integer coordinates of a cell of the deepest level.
struct Place { uint32_t x, y, z; };

PF Place place_of(const Problem &p, const uint32_t cell)
{
    const uint32_t most = SIDE(p.depth) - 1;
    return {cell & most, cell >> p.depth & most, cell >> 2 * p.depth};
}

#if SINGLE
PF Record record(const uint32_t i, const Problem &p)
{
    return {grid(unit(p.x[i], 0, p)), grid(unit(p.y[i], 1, p)), grid(unit(p.z[i], 2, p)), (float)(p.q[i] * p.charge)};
}

// What takes places around a cell to its centre, in units of its edge.
struct Frame { uint32_t x, y, z; float factor; };

PF Frame frame_of(const Problem &p, const uint32_t cell)
{
    const uint32_t down = 31 - p.depth, half = 1u << down >> 1;
    const Place at = place_of(p, cell);
    return {(at.x << down) + half, (at.y << down) + half, (at.z << down) + half, __int_as_float((127 - down) << 23)};
}

PF Real4 in_frame(const Record &r, const Frame &f)
{
    return {(float)(int32_t)(r.x - f.x) * f.factor, (float)(int32_t)(r.y - f.y) * f.factor,
            (float)(int32_t)(r.z - f.z) * f.factor, r.q};
}

// Whether a source may be too close to a particle of the cell: somewhat more than the distance, for rounding.
PF bool is_close_to_cell(const Real4 &s, const Frame &f)
{
    return fmaxf(fmaxf(fabsf(s.x), fabsf(s.y)), fabsf(s.z)) <= 0.5f + 1.01f / 256;
}

PF Real relative(const Record &r, const uint32_t cell, const Problem &p, Real *at)
{
    const Real4 s = in_frame(r, frame_of(p, cell));
    (at[0] = s.x, at[1] = s.y, at[2] = s.z);
    return s.w;
}
#else
PF Record record(const uint32_t i, const Problem &p)
{
    return {scaled(p.x[i], p), scaled(p.y[i], p), scaled(p.z[i], p), p.q[i] * p.charge};
}

// Scaled coordinates as they are: the middle of the cell and half its edge with a margin.
struct Frame { double x, y, z, half; };

PF Frame frame_of(const Problem &p, const uint32_t cell)
{
    const Place at = place_of(p, cell);
    const double edge = p.size / SIDE(p.depth), middle = 0.5 - 0.5 * SIDE(p.depth);
    return {p.centre[0] + (at.x + middle) * edge, p.centre[1] + (at.y + middle) * edge, p.centre[2] + (at.z + middle) * edge,
            0.5000001 * edge};
}

PF Real4 in_frame(const Record &r, const Frame &) { return r; }

PF bool is_close_to_cell(const Real4 &s, const Frame &f)
{
    return fabs(s.x - f.x) <= f.half && fabs(s.y - f.y) <= f.half && fabs(s.z - f.z) <= f.half;
}

PF Real relative(const Record &r, const uint32_t cell, const Problem &p, Real *at)
{
    const Place c = place_of(p, cell);
    const double side = SIDE(p.depth), middle = 0.5 * side - 0.5;
    at[0] = ((r.x - p.centre[0]) - p.rest[0]) / p.size * side - (c.x - middle);
    at[1] = ((r.y - p.centre[1]) - p.rest[1]) / p.size * side - (c.y - middle);
    at[2] = ((r.z - p.centre[2]) - p.rest[2]) / p.size * side - (c.z - middle);
    return r.w;
}
#endif
