// Periodic boundaries: the box repeats itself along some axes, with its edge as the period. Cells see images of cells as other cells, at
// their places; what is in no list, all images of the root but those around it, acts through one matrix. See docs/method/periodic.md.

#if PERIODIC
// The coordinate that differs by a multiple of the period and lies in the box, of which the middle is 0: exact, as every remainder is.
PF double wrapped(const double x, const double period)
{
    const double half = 0.5 * period, rest = fabs(x) < period ? x : fmod(x, period);
    return rest >= half ? rest - period : rest < -half ? rest + period : rest;
}

PF double scaled(const double x, const int axis, const Problem &p)
{
    const double plain = __dmul_rn(x, p.shift);
    return p.wraps >> axis & 1 ? wrapped(plain, p.size) : plain;
}

// Brings a coordinate of a cell that is up to an edge outside the box into it, and says in which image it was; whether there is one.
PF bool enter(int &x, int &image, const int side, const int axis, const Problem &p)
{
    image = x < 0 ? -1 : x >= side ? 1 : 0;
    x -= image * side;
    return image == 0 || (p.wraps >> axis & 1);
}
#else
// Rounded by itself, so that a place is the same whether it comes from the input or from a sorted particle.
PF double scaled(const double x, const int, const Problem &p) { return __dmul_rn(x, p.shift); }
#endif
