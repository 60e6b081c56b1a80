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
