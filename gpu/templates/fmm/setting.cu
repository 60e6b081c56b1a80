// What the function of a pair is given besides places and charge, and the units of the far field.

// `law` has, for a kernel that is expanded as it is: its unit of length in boxes, its gradient in units of the potential's, and the values
// of its parameters. The potential of its expansion is in boxes, that of harmonics in units of a cell.
#if BLACK_BOX
template <class S, class R> PF S law_of(const Problem &p, const double side)
{
    S setting;
    setting.length = (R)(p.law[0] / side);
#pragma unroll
    for (int k = 0; k < PARAMETERS; k++)
        setting.own[k] = (R)p.law[2 + k];
    return setting;
}

// For P2P in a cell of a level with so many cells along an axis: lengths are in cells in f32, and scaled coordinates in f64.
PF Setting setting_of(const Problem &p, const double side) { return law_of<Setting, Real>(p, SINGLE ? side : p.size); }

PF wide::Setting wide_setting(const Problem &p) { return law_of<wide::Setting, double>(p, p.size); }

PF Real slope_of(const Problem &p) { return (Real)p.law[1]; }
#else
PF Setting setting_of(const Problem &p, const double side) { return (Real)(SINGLE ? p.eps2 * side * side : p.eps2); }

PF wide::Setting wide_setting(const Problem &p) { return p.wide_eps2; }

PF Real slope_of(const Problem &) { return 1; }
#endif

// The matrices of M2L on a level.
PF const Real *matrices_of(const Problem &p, const uint32_t level) { return p.matrices + (uint64_t)(FIRST_MATRIX(level)) * TERMS * PITCH; }
