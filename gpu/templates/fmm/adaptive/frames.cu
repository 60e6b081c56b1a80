// What takes places around a leaf to its centre, in units of its edge, in f32; in f64 places stay as they are.
#if SINGLE
struct Frame { double x, y, z, side; };

PF Frame frame_of(const Problem &, const Cell &c)
{
    const Middle m = middle_of(c);
    return {m.x, m.y, m.z, m.side};
}

// To the nearest float. What multiplies and adds takes the smallest ones for 0, so that nothing is done here for that.
PF float rounded(const double x)
{
#ifdef __CUDACC__
    float y;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(y) : "d"(x));
    return y;
#else
    return (float)x;
#endif
}

PF Source in_frame(const Record &r, const Frame &f)
{
    Source s = {rounded((r.x - f.x) * f.side), rounded((r.y - f.y) * f.side), rounded((r.z - f.z) * f.side), rounded(r.q)};
#if DIPOLES
    (s.px = rounded(r.px * f.side), s.py = rounded(r.py * f.side), s.pz = rounded(r.pz * f.side));
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
#endif
