// Targets and steps of M2L in a tree of one depth.

// The target cells of a block: coordinates, and the place on its level.
struct Target { int x, y, z, cell; };

// The child in an octant of a parent on the level above.
PF Target child(const uint32_t parent, const uint32_t octant, const uint32_t level)
{
    const uint32_t side = SIDE(level - 1);
    Target t;
    t.x = 2 * (parent % side) + (octant >> 2 & 1);
    t.y = 2 * (parent / side % side) + (octant >> 1 & 1);
    t.z = 2 * (parent / side / side) + (octant & 1);
    t.cell = (t.z << level | t.y) << level | t.x;
    return t;
}

// A step of the list: the offset of the source from the target, its matrix, and how many columns that has.
struct Step { int d[3], matrix, columns; };

PF Step step_of(const Problem &p, const uint32_t octant, const uint32_t k)
{
    const int32_t *const s = p.steps + (octant * LISTED + k) * 5;
    return {{s[0], s[1], s[2]}, s[3], s[4]};
}

// The source of a target at a step, by its place on the level, if there is one.
PF bool find_source(const Problem &p, const Target &t, const Step &step, const uint32_t level, uint32_t &source)
{
    const int side = SIDE(level);
    int x = t.x + step.d[0], y = t.y + step.d[1], z = t.z + step.d[2];
#if PERIODIC
    const int within = side - 1;
    (x = p.wraps & 1 ? x & within : x, y = p.wraps & 2 ? y & within : y, z = p.wraps & 4 ? z & within : z);
#endif
    const bool is_there = (uint32_t)x < (uint32_t)side && (uint32_t)y < (uint32_t)side && (uint32_t)z < (uint32_t)side;
    source = is_there ? ((uint32_t)z << level | y) << level | x : 0;
    return is_there;
}
