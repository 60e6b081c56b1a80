// Dipole moments of sources. A derivative of a sum of harmonics is such a sum, so what a dipole gives to a term follows from what
// charges as great as the components of its moment give to the terms of lower degree: behind the slopes are the same factors by terms.

#if DIPOLES
// The component of a particle's moment along an axis, in boxes.
PF double moment_in_box(const uint32_t i, const int axis, const Problem &p)
{
    return i >= p.targets ? 0.0 : p.dipoles[axis][i] * p.shift * p.charge / p.size;
}

// The same in scaled coordinates in f64, as sorted particles have it.
PF double moment_of_record(const uint32_t i, const int axis, const Problem &p)
{
    return SINGLE ? moment_in_box(i, axis, p) : i >= p.targets ? 0.0 : p.dipoles[axis][i] * p.shift * p.charge;
}

// The moment of a sorted particle in units of which a box has `box`.
template <class R> PF void moment_within(const Record &r, const double box, const Problem &p, R *const moment)
{
    const double factor = SINGLE ? box : box / p.size;
    (moment[0] = (R)(r.px * factor), moment[1] = (R)(r.py * factor), moment[2] = (R)(r.pz * factor));
}

// Adds what dipoles give to a warp's sums of terms. `add` adds the harmonics of particles that have charges as great as the components of
// their moments along an axis.
template <class Add> PF void add_dipoles(const Problem &p, WarpSums &sums, const Add add)
{
    __shared__ Real all[4][TERMS];
    Real *const charges = all[threadIdx.x / 32];
    for (int axis = 0; axis < 3; axis++) {
        WARP_SUMS(of_axis);
        add(axis, of_axis);
        __syncwarp();
        take_sums(of_axis, [&](const int place, const Real sum) { charges[place] = sum; });
        __syncwarp();
        add_to_sums(sums, [&](const int place) {
            Real sum = 0;
            for (int s = 0; s < SLOPES; s++) {
                const uint32_t entry = ((3 + axis) * TERMS + place) * SLOPES + s;
                sum += p.slopes[entry] * charges[p.slope_terms[entry]];
            }
            return sum;
        });
    }
}
#endif

// The moment of a source in scaled coordinates, if sources have any.
PF void wide_moment(const Record &r, const Problem &p, double (&moment)[3])
{
#if DIPOLES
    moment_within(r, p.size, p, moment);
#else
    (void)r, (void)p, (void)moment;
#endif
}
