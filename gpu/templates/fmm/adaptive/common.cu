// The FMM of 1/r on one GPU for particles of any distribution: what the kernels of the adaptive tree share.
//
// Particles are sorted by Morton key, x the most significant bit of an octant, and by their place in the input where keys are the same.
// A cell has particles; it is split while it has more than `leaf`, down to level DEEPEST. Cells stand level by level, in Morton order
// within a level, so that the children of a cell follow each other. Two cells of one level are near if the square of their offset is below
// NEAR2, and a leaf and a smaller cell if a cell of that size within the leaf would be. All sums of floats have one order.

#define DEEPEST 21
#define LEVELS (DEEPEST + 1)
#define LEAVES (8 * LEVELS)     // the row of counts that has the leaves, behind those by level and octant
#define FULL (LEAVES + 1)       // that of particles in leaves of the last level which hold more than a leaf should
#define COUNTS (FULL + 1)
#define NONE 0xffffffffu
#define IS_LEAF 0x80000000u     // of an entry of the table of colleagues
#define SPAN (2 * REACH + 1)
#define WAYS (SPAN * SPAN * SPAN)   // to cells of a level that may be near
#define VECTOR (16 / (int)sizeof(Real))
#define FIRST_LEVEL (PERIODIC ? 0 : 2)  // the first one with local expansions: with periodic boundaries, images of cells are far from there on

typedef unsigned char Byte;

struct __align__(16) Vector { Real v[VECTOR]; };

#if SINGLE
#define CLOSE (1.0f / 65536)    // squares of distances too close, in cells
#else
#define CLOSE 1e-120
#endif

// A sorted particle: in f32 its place in the box, from -1/2 to 1/2, in f64 scaled coordinates; the charge, and the moment in such units.
#if DIPOLES
struct __align__(16) Record { double x, y, z, q, px, py, pz; };
#else
struct __align__(16) Record { double x, y, z, q; };
#endif

// Integer coordinates on the cell's level, its particles, its parent, its first child, and its leaf's number if it is one.
struct Cell { uint32_t x, y, z, level, first, end, parent, child, leaf, unused[3]; };

// A part of a list.
struct Part { uint32_t first, count; };

// Counts that the host reads.
struct Status {
    uint64_t again;             // targets that are computed again in f64
    uint64_t close;             // their pairs at different places that were too close
    uint64_t lost;              // pairs and results that no arithmetic here holds
    uint64_t p2p, m2l, m2p, p2l;    // pairs: of particles, of cells, of targets and cells, of sources and cells
    uint64_t u, w, x, blocks;   // entries that the lists have, or would have with enough memory
};

// Everything on the GPU. A place in the box is ((x * shift - centre) - rest) / size.
struct Problem {
    const double *x, *y, *z, *q;
    uint64_t *keys[2];          // sorted by turns from one to the other
    uint32_t *order[2];
    uint32_t *counts;           // by rows: of digits or of cells, in each block of the sort or of particles
    uint32_t *totals;           // of each row
    Byte *from, *leaf;       // the first level on which a particle is the first of its cell, and the level of its leaf
    Record *records;
    Cell *cells;
    uint32_t *masks;            // octants of children
    uint32_t *listed;           // the cells of each level by octant
    uint32_t *leaves;
    uint32_t *colleagues;       // of each cell WAYS, x fastest: the cells of its level that are near
    uint32_t *nearest;          // the cell itself or the nearest one above it with a leaf among its colleagues
    Part *u_at, *w_at, *x_at;   // of each leaf its lists for P2P and M2P, of each cell its list for P2L
    Part *u;                    // sorted particles
    uint32_t *w, *x_list;       // cells
    uint64_t *work;             // for each block of P2P its leaf, and its part above
    uint32_t *again;
    const uint32_t *tiles;      // where the tiles of M2L of each level and octant begin, the deepest level first
    Status *status;
    Real *m, *l;
    Result *near, *out;
    const Real *up, *down, *matrices, *slopes;
    const int32_t *steps, *slope_terms;
    double shift, centre[3], rest[3], size, charge;
    double eps2;                // of P2P, in boxes in f32, and in scaled coordinates in f64
    double wide_eps2;           // in scaled coordinates
    double potential, gradient; // of P2P, from units of its frame to boxes; in f32 a cell's edge is left out
    uint64_t n, targets;        // particles, and the first of them that is no source; n if there is none
    uint64_t is_apart;          // whether targets are no sources
    uint64_t is_shared;         // whether other GPUs have results of other leaves
    uint64_t last_level;        // cells there are not split
    uint64_t most_leaf, worth;  // particles of a leaf at most; particles of a cell up to which P2P takes less time than M2P or P2L
    uint64_t cell_count, leaf_count, deepest;
    uint64_t u_room, w_room, x_room, most_pairs;
    uint32_t level_start[LEVELS + 1];
    uint32_t first_target, end_target;  // sorted particles whose results this GPU has
    uint64_t wraps;             // bits of the axes along which the box repeats itself
    const double *lattice;      // with periodic boundaries, what takes the root's multipole to its local expansion: by columns
    const int64_t *moments;     // and those of all charges
    const double *law;          // of a black-box expansion: see setting.cu
    const double *dipoles[3];
    uint64_t again_room;        // targets that `again` has room for
};

// An image of the box, by how many periods it is away: from -REACH to REACH along each axis. Without periodic boundaries, the box itself.
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

// The charge of a particle. That of a target which is no source is -0, that of a source is not: sums of floats, which begin at 0, are
// the same with both.
PF double charge(const uint32_t i, const Problem &p)
{
    const double q = p.q[i] * p.charge;
    return i >= p.targets ? -0.0 : q == 0 ? 0.0 : q;
}

PF bool is_source(const Record &r) { return !(r.q == 0 && signbit(r.q)); }

PF double side(const uint32_t level) { return (double)(1u << level); }

// Whether cells are near that are so far from each other along the axes, in cells of the smaller one's size.
PF bool is_near(const int64_t x, const int64_t y, const int64_t z)
{
    const bool is_within = x >= -REACH && x <= REACH && y >= -REACH && y <= REACH && z >= -REACH && z <= REACH;
    return is_within && (3 * REACH * REACH < NEAR2 || x * x + y * y + z * z < NEAR2);
}

// The offset of one of the ways from a cell.
struct Offset { int x, y, z; };

PF Offset offset_of(const uint32_t way) { return {(int)(way % SPAN) - REACH, (int)(way / SPAN % SPAN) - REACH, (int)(way / (SPAN * SPAN)) - REACH}; }

PF uint32_t way_of(const int x, const int y, const int z) { return (uint32_t)(x + REACH + SPAN * (y + REACH) + SPAN * SPAN * (z + REACH)); }

// The edge of a cell, in boxes.
PF double edge_of(const uint32_t level) { return number((uint64_t)(1023 - level) << 52); }

// The places of a cell's particles are taken to its centre, in units of its edge.
struct Middle { double x, y, z, side; };

PF Middle middle_of(const Cell &c)
{
    const double s = side(c.level), half = 0.5 - 0.5 * s;
#if SINGLE
    const double e = edge_of(c.level);
    return {(c.x + half) * e, (c.y + half) * e, (c.z + half) * e, s};
#else
    return {c.x + half, c.y + half, c.z + half, s};
#endif
}

PF void relative(const Record &r, const Middle &c, const Problem &p, Real *at)
{
#if SINGLE
    at[0] = (Real)((r.x - c.x) * c.side);
    at[1] = (Real)((r.y - c.y) * c.side);
    at[2] = (Real)((r.z - c.z) * c.side);
#else
    at[0] = ((r.x - p.centre[0]) - p.rest[0]) / p.size * c.side - c.x;
    at[1] = ((r.y - p.centre[1]) - p.rest[1]) / p.size * c.side - c.y;
    at[2] = ((r.z - p.centre[2]) - p.rest[2]) / p.size * c.side - c.z;
#endif
}

#if PERIODIC
// Images have numbers, which stand above the places of cells and the counts of particles in lists.
#define IMAGE_BITS (REACH == 1 ? 27 : 25)
#define UNDER_IMAGE ((1u << IMAGE_BITS) - 1)

PF uint32_t numbered(const Image &i) { return way_of(i.x, i.y, i.z) << IMAGE_BITS; }

PF Image image_of(const uint32_t entry)
{
    const Offset of = offset_of(entry >> IMAGE_BITS);
    return {of.x, of.y, of.z};
}

// The image that one of the cells around a cell is in.
PF Image image_around(const Cell &c, const uint32_t way)
{
    const Offset to = offset_of(way);
    return {(int)c.x + to.x >> c.level, (int)c.y + to.y >> c.level, (int)c.z + to.z >> c.level};
}

// A cell as an image of the box sees it.
PF Cell seen_from(const Image &i, Cell c)
{
    const int edge = (int)(1u << c.level);
    (c.x -= i.x * edge, c.y -= i.y * edge, c.z -= i.z * edge);
    return c;
}

// The middle of a cell's image, or, with a sign, the middle of a cell as an image sees it.
PF Middle moved(const Middle &m, const Image &i, const int sign = 1)
{
    const double box = SINGLE ? sign : sign * m.side;
    return {m.x + i.x * box, m.y + i.y * box, m.z + i.z * box, m.side};
}
#else
#define UNDER_IMAGE (~0u)

PF uint32_t numbered(const Image &) { return 0; }
PF Image image_of(const uint32_t) { return {0, 0, 0}; }
PF Image image_around(const Cell &, const uint32_t) { return {0, 0, 0}; }
PF const Cell &seen_from(const Image &, const Cell &c) { return c; }
PF const Middle &moved(const Middle &m, const Image &, const int = 1) { return m; }
#endif

// Whether this GPU has results of a cell's particles.
PF bool is_own(const Problem &p, const Cell &c) { return c.first < p.end_target && c.end > p.first_target; }
