// The FMM of 1/r on GPUs: what all its kernels share.
//
// The octree has one depth: all cells of a level are there, numbered x fastest, so that every list follows from coordinates.
// Particles are sorted by cell, and within a cell by their place in the input. All sums of floats have one order.
//
// Several GPUs share the input and the leaves. Of the input a GPU has a share, which it sorts, and whose results it has in the end.
// Of the leaves it has some that follow each other, and it is given the particles of these and of their neighbours by the GPUs whose
// shares they are in. Cells and expansions have the same numbers on all GPUs; sorted particles are numbered from the first one that a
// GPU is given.
//
// A share is one part of the input, or two where targets are no sources: a part of the sources, and a part of the targets. Particles
// of a cell are in the order of parts: all of sources by the numbers of their GPUs, then all of targets.

#define SIDE(level) (1u << (level))
#define FIRST_LEVEL (PERIODIC ? 0 : 2)  // the first one with expansions: with periodic boundaries, images of cells are far from the second on
#define VECTOR (16 / (int)sizeof(Real))

struct __align__(16) Vector { Real v[VECTOR]; };

// A sorted particle.
#if SINGLE
// Grid coordinates, of which differences are exact, and the charge.
#if DIPOLES
struct __align__(16) Record { uint32_t x, y, z; float q, px, py, pz; };
#else
struct __align__(16) Record { uint32_t x, y, z; float q; };
#endif
#define CLOSE (1.0f / 65536)    // squares of distances too close, in cells
#else
// Scaled coordinates, the charge, and the moment.
typedef Source Record;
#define CLOSE 1e-120
#endif

// Counts that the host reads.
struct Status {
    uint64_t again;             // targets that are computed again in f64
    uint64_t close;             // their pairs at different places that were too close
    uint64_t lost;              // pairs and results that no arithmetic here holds
    uint64_t wanted;            // particles whose f64 coordinates the GPU wants of others
};

// Of the cells of a row along x: the pairs of P2P, each target's own place included, and the `starts` of the first cell.
struct Row { uint64_t pairs, start; };

// Cells of a level that follow each other.
struct Span { uint32_t first, end; };

// The least and greatest coordinates, the greatest charge and the least that is not 0, by magnitude; the same of the largest components of
// dipole moments; whether all are numbers.
struct Bounds { double low[3], high[3], most, least, most_moment, least_moment; uint64_t bad; };

// A particle of a part of the input, by its place among the sorted ones of the share.
struct Slot { uint32_t part, slot; };

// The share of a GPU, as other GPUs read it.
struct Peer { const double *x, *y, *z, *q; const uint32_t *order; };

// Coordinates and the charge as f64, scaled.
struct __align__(16) Wide { double x, y, z, q; };

// Everything on the GPU. A place in the box is ((x * shift - centre) - rest) / size.
struct Problem {
    const double *x, *y, *z, *q;            // the GPU's share of the input
    Bounds *bounds;
    Status *status;
    Row *rows;                              // of the leaves, and the end of all
    uint32_t *cell;                         // of each particle of the share
    uint32_t *rank;                         // of each, how many of its cell came before
    uint32_t *unsettled;                    // the sorted share, by any order within a cell
    uint32_t *order;                        // the same, in the order of the input
    uint32_t *tally;                        // the share's particles of each cell
    uint32_t *parts;                        // with several GPUs, of each part of the input: where cells begin in the sorted share
    uint32_t *sums32;                       // particles of 1024 cells of the share
    uint32_t *counts;                       // the particles of each cell
    uint64_t *sums;                         // particles of 1024 cells, and blocks of P2P above them
    uint64_t *starts;                       // the same, of all cells before
    uint32_t *row_parts;                    // with several GPUs, of each row what `parts` has of its first cell, and the ends
    uint32_t *bases;                        // for each part what takes the places in its sorted share to those of results for it
    Record *share;                          // the sorted share
    Record *arrived;                        // what other GPUs sent
    Record *records;                        // sorted particles of the leaves around
    uint64_t *work;                         // for each block of P2P its cell, and its part above
    uint32_t *again;                        // sorted targets to be computed again
    uint32_t *wide_at;                      // of each sorted particle the number of its f64 coordinates, from 1, if it has been asked for
    Slot *wanted;                           // whose these are
    Wide *wide;
    const Peer *peers;                      // with several GPUs, of each one, if this one reads the memory of all
    Real *m, *l;                            // expansions of all levels from the first one that has them on
    Result *near, *out;                     // P2P's in units of its frame, all in boxes
    const Real *up, *down, *matrices, *slopes;
    const int32_t *steps, *slope_terms;
    double shift, centre[3], rest[3], size, charge;
    double eps2;                            // of P2P, in boxes in f32, and in scaled coordinates in f64
    double wide_eps2;                       // the same in scaled coordinates
    double potential, gradient;             // of P2P, from units of its frame to boxes
    double wide_potential, wide_gradient;   // from scaled coordinates to units of the frame
    uint64_t n, depth;                      // particles of the share
    uint64_t number;                        // of its first one in the input, where the share is one part
    uint64_t targets;                       // the first of the share that is no source; n if there is none
    uint64_t is_apart;                      // whether targets are no sources
    uint64_t device, devices;               // the number of this GPU, and of all
    uint64_t kinds;                         // parts of a share
    uint64_t base;                          // the first sorted particle of the leaves around, among all
    Span own, around;                       // leaves of this GPU, and those with their neighbours
    Span parents[8];                        // of each level, what is above them
    uint64_t wraps;                         // bits of the axes along which the box repeats itself
    const double *lattice;                  // with periodic boundaries, what takes the root's multipole to its local expansion: by columns
    const int64_t *moments;                 // and those of all charges
    const double *law;                      // of a black-box expansion: see setting.cu
    const double *dipoles[3];               // of the share of the input
    uint64_t again_room;                    // targets that `again` has room for
};

// Whether cells at an offset are near.
PF bool is_near(const int x, const int y, const int z) { return x * x + y * y + z * z < NEAR2; }

// The cells of all levels from the first one with expansions to before this one.
PF uint32_t level_start(uint32_t level) { return ((1u << 3 * level) - (1u << 3 * FIRST_LEVEL)) / 7; }

// An image of the box, by how many periods it is away: from -1 to 1 along each axis. Without periodic boundaries, the box itself.
struct Image { int x, y, z; };

// In the box along periodic axes.
PF double scaled(double x, int axis, const Problem &p);

#if DIPOLES
PF double moment_in_box(uint32_t i, int axis, const Problem &p);
PF double moment_of_record(uint32_t i, int axis, const Problem &p);
#endif

PF double in_box(const double scaled, const int axis, const Problem &p)
{
    const double u = ((scaled - p.centre[axis]) - p.rest[axis]) / p.size;
    return fmin(fmax(u, -0.5), 0.5 - 2.220446049250313e-16);
}

PF double unit(const double x, const int axis, const Problem &p) { return in_box(scaled(x, axis, p), axis, p); }

// A coordinate on the grid of 2^31 steps, from 0.
PF uint32_t grid(const double unit)
{
    const double g = floor(unit * 2147483648.0) + 1073741824.0;
    return g < 0 ? 0 : g > 2147483647.0 ? 2147483647u : (uint32_t)g;
}

// The first sorted particle of a cell around.
PF uint32_t start_of(const Problem &p, const uint64_t cell) { return (uint32_t)p.starts[cell] - (uint32_t)p.base; }

// Parts of the input have numbers by GPU and kind, and a place in the order of the input by kind and GPU.
PF uint32_t part_at(const Problem &p, const uint32_t place)
{
    const uint32_t kind = place / (uint32_t)p.devices;
    return (place - kind * (uint32_t)p.devices) * (uint32_t)p.kinds + kind;
}

// Where the particles of a cell begin in the sorted share that a part belongs to; behind the last cell, where the part ends.
PF uint32_t *part_starts(const Problem &p, const uint32_t part) { return p.parts + (uint64_t)part * ((1u << 3 * p.depth) + 1); }

PF uint32_t kind_of(const Problem &p, const uint32_t number) { return p.kinds > 1 && number >= p.targets ? 1 : 0; }

// The integer coordinates of a cell of the deepest level.
struct Place { uint32_t x, y, z; };

PF Place place_of(const Problem &p, const uint32_t cell)
{
    const uint32_t most = SIDE(p.depth) - 1;
    return {cell & most, cell >> p.depth & most, cell >> 2 * p.depth};
}

// The charge of a particle of the share. That of a target which is no source is -0, that of a source is not: sums of floats, which
// begin at 0, are the same with both.
PF double charge(const uint32_t i, const Problem &p)
{
    const double q = p.q[i] * p.charge;
    return i >= p.targets ? -0.0 : q == 0 ? 0.0 : q;
}

// A sorted particle with its dipole moment: in f32 in boxes, in f64 in scaled coordinates.
PF Record with_moment(Record r, const uint32_t i, const Problem &p)
{
#if DIPOLES
    (r.px = moment_of_record(i, 0, p), r.py = moment_of_record(i, 1, p), r.pz = moment_of_record(i, 2, p));
#endif
    return r;
}

#if SINGLE
PF Record record(const uint32_t i, const Problem &p)
{
    Record r = {grid(unit(p.x[i], 0, p)), grid(unit(p.y[i], 1, p)), grid(unit(p.z[i], 2, p)), (Real)charge(i, p)};
    return with_moment(r, i, p);
}

PF Real charge_of(const Record &r) { return r.q; }

PF uint32_t cell_of(const Record &r, const Problem &p)
{
    const uint32_t down = 31 - p.depth;
    return (r.z >> down << p.depth | r.y >> down) << p.depth | r.x >> down;
}

// What takes places around a cell to its centre, in units of its edge.
struct Frame { uint32_t x, y, z; float factor; };

PF Frame frame_of(const Problem &p, const uint32_t cell)
{
    const uint32_t down = 31 - p.depth, half = 1u << down >> 1;
    const Place at = place_of(p, cell);
    return {(at.x << down) + half, (at.y << down) + half, (at.z << down) + half, __int_as_float((127 - down) << 23)};
}

PF Source in_frame(const Record &r, const Frame &f)
{
    Source s = {(float)(int32_t)(r.x - f.x) * f.factor, (float)(int32_t)(r.y - f.y) * f.factor,
                (float)(int32_t)(r.z - f.z) * f.factor, r.q};
#if DIPOLES
    const float side = f.factor * 2147483648.0f;
    (s.px = r.px * side, s.py = r.py * side, s.pz = r.pz * side);
#endif
    return s;
}

#if PERIODIC
// A frame as an image of the box sees it. Coordinates of images take one bit more than those of the box; in the root's own frame differences
// of them do not fit, and the image's place is added last.
struct Seen { Frame frame; float x, y, z; };

PF Seen seen_from(const Frame &f, const Image &i, const Problem &p)
{
    const uint32_t period = p.depth == 0 ? 0 : 1u << 31;
    const float whole = p.depth == 0;
    return {{f.x - i.x * period, f.y - i.y * period, f.z - i.z * period, f.factor}, i.x * whole, i.y * whole, i.z * whole};
}

PF Source in_frame(const Record &r, const Seen &s)
{
    Source a = in_frame(r, s.frame);
    (a.x += s.x, a.y += s.y, a.z += s.z);
    return a;
}
#endif

// Whether a source may be too close to a particle of the cell: somewhat more than the distance, for rounding.
PF bool is_close_to_cell(const Source &s, const Frame &f)
{
    return fmaxf(fmaxf(fabsf(s.x), fabsf(s.y)), fabsf(s.z)) <= 0.5f + 1.01f / 256;
}

PF Real relative(const Record &r, const uint32_t cell, const Problem &p, Real *at)
{
    const Source s = in_frame(r, frame_of(p, cell));
    (at[0] = s.x, at[1] = s.y, at[2] = s.z);
    return s.w;
}
#else
PF Record record(const uint32_t i, const Problem &p)
{
    const Record r = {scaled(p.x[i], 0, p), scaled(p.y[i], 1, p), scaled(p.z[i], 2, p), charge(i, p)};
    return with_moment(r, i, p);
}

PF Real charge_of(const Record &r) { return r.w; }

PF uint32_t cell_of(const Record &r, const Problem &p)
{
    const uint32_t down = 31 - p.depth;
    const uint32_t x = grid(in_box(r.x, 0, p)) >> down, y = grid(in_box(r.y, 1, p)) >> down, z = grid(in_box(r.z, 2, p)) >> down;
    return (z << p.depth | y) << p.depth | x;
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

PF Source in_frame(const Record &r, const Frame &) { return r; }

#if PERIODIC
// What an image of the box adds to coordinates.
struct Seen { double x, y, z; };

PF Seen seen_from(const Frame &, const Image &i, const Problem &p) { return {i.x * p.size, i.y * p.size, i.z * p.size}; }

PF Source in_frame(Record r, const Seen &s)
{
    (r.x += s.x, r.y += s.y, r.z += s.z);
    return r;
}
#endif

PF bool is_close_to_cell(const Source &s, const Frame &f)
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

PF bool is_source(const Record &r) { return !(charge_of(r) == 0 && signbit(charge_of(r))); }
