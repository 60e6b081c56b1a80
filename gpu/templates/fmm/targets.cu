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
PF uint32_t source_of(const Problem &p, const Target &t, const Step &step, const uint32_t level)
{
    const int side = SIDE(level);
    int x = t.x + step.d[0], y = t.y + step.d[1], z = t.z + step.d[2];
#if PERIODIC
    const int within = side - 1;
    (x = p.wraps & 1 ? x & within : x, y = p.wraps & 2 ? y & within : y, z = p.wraps & 4 ? z & within : z);
#endif
    const bool is_there = (uint32_t)x < (uint32_t)side && (uint32_t)y < (uint32_t)side && (uint32_t)z < (uint32_t)side;
    return is_there ? ((uint32_t)z << level | y) << level | x : NOWHERE;
}

// Some children in one octant of parents on the level above: those of up to 64 parents from the first one on.
struct Tile { uint32_t level, octant, first, end; };

// The tile of a number. The deepest level comes first.
PF Tile tile_of(const Problem &p, uint32_t number)
{
    uint32_t level = p.depth;
    for (;; level--) {
        const Span parents = p.parents[level - 1];
        const uint32_t tiles = 8 * ((parents.end - parents.first + CELLS - 1) / CELLS);
        if (number < tiles)
            break;
        number -= tiles;
    }
    const Span parents = p.parents[level - 1];
    const uint32_t first = parents.first + number / 8 * CELLS;
    return {level, number % 8, first, min(first + CELLS, parents.end)};
}

// The cells of a tile's level whose local expansions this GPU needs.
PF Span needed_of(const Problem &p, const Tile &tile) { return tile.level == p.depth ? p.own : p.parents[tile.level]; }

// Whether a tile has such cells. Children in one octant have the order of their parents.
PF bool is_needed(const Problem &p, const Tile &tile)
{
    const Span needed = needed_of(p, tile);
    return (uint32_t)child(tile.first, tile.octant, tile.level).cell < needed.end &&
           (uint32_t)child(tile.end - 1, tile.octant, tile.level).cell >= needed.first;
}

// A target of a tile, or one outside the box where it is not needed.
PF Target target_of(const Problem &p, const Tile &tile, const uint32_t c)
{
    const Span needed = needed_of(p, tile);
    const Target none = {-1000000, 0, 0, -1}, t = child(min(tile.first + c, tile.end - 1), tile.octant, tile.level);
    return tile.first + c < tile.end && (uint32_t)t.cell >= needed.first && (uint32_t)t.cell < needed.end ? t : none;
}
