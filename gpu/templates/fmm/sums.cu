// What P2P reads of a source and sums at a target, and results: potential and gradient, with HESSIAN second derivatives too.

#if DIPOLES
// The place of a source, its charge and its dipole moment.
struct __align__(4 * sizeof(Real)) Source { Real x, y, z, w, px, py, pz; };
#else
typedef Real4 Source;
#endif

#if HESSIAN
#define RESULTS 10

// The potential, its gradient, and its derivatives xx, xy, xz, yy, yz and zz.
struct __align__(4 * sizeof(Real)) Result { Real x, y, z, w, hessian[6]; };
#else
#define RESULTS 4

typedef Real4 Result;
#endif

#if HESSIAN || DIPOLES
typedef SumsOf<RESULTS> TargetSums;

// Adds what a charge, and with DIPOLES a moment, give at a distance, from target to source: fmm/src/direct/p2p/derivatives.rs has the
// formula. No value between is farther from 1 than results are.
template <class R> PF void add_derivatives(const R *const d, const R q, const R *const moment, const R eps2, R *const sum)
{
    const R i = rsqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + eps2), i2 = i * i;
    const R n[3] = {d[0] * i, d[1] * i, d[2] * i};
#if DIPOLES
    const R e[3] = {moment[0] * i, moment[1] * i, moment[2] * i}, along = e[0] * n[0] + e[1] * n[1] + e[2] * n[2];
#else
    (void)moment;
    const R e[3] = {0, 0, 0}, along = 0;
#endif
    const R c = q - 3 * along;
    sum[0] += (q - along) * i;
    for (int a = 0; a < 3; a++)
        sum[1 + a] += (c * n[a] + e[a]) * i2;
#if HESSIAN
    const R i3 = i2 * i, bend = (R)1.5 * q - (R)7.5 * along;
    const R f[3] = {bend * n[0] + 3 * e[0], bend * n[1] + 3 * e[1], bend * n[2] + 3 * e[2]};
    int pair = 4;
    for (int a = 0; a < 3; a++)
        for (int b = a; b < 3; b++, pair++)
            sum[pair] += (n[a] * f[b] + f[a] * n[b] - (a == b ? c : 0)) * i3;
#endif
}

PF void add_pair(const Real *const d, const Source &s, const Setting &eps2, TargetSums &sums)
{
#if DIPOLES
    const Real moment[3] = {s.px, s.py, s.pz};
    add_derivatives(d, s.w, moment, eps2, sums.values);
#else
    add_derivatives(d, s.w, (const Real *)nullptr, eps2, sums.values);
#endif
}

#if DIPOLES
PF Source unless(const bool is_silent, const Source &s)
{
    return {s.x, s.y, s.z, is_silent ? 0 : s.w, is_silent ? 0 : s.px, is_silent ? 0 : s.py, is_silent ? 0 : s.pz};
}
#endif

// Adds a pair at a distance in f64.
PF void add_wide(const double *const d, const double q, const double *const moment, const wide::Setting &eps2, double *const sum)
{
    add_derivatives(d, q, moment, eps2, sum);
}
#else
typedef Sums TargetSums;

PF void add_wide(const double *const d, const double q, const double *, const wide::Setting &setting, double *const sum)
{
    const double origin[3] = {0, 0, 0};
    wide::pair(origin, d, q, setting, &sum[0], sum + 1);
}
#endif

#if HESSIAN
PF Result result_of(const TargetSums &s)
{
    Result r = {s.values[0], s.values[1], s.values[2], s.values[3]};
    for (int a = 0; a < 6; a++)
        r.hessian[a] = s.values[4 + a];
    return r;
}

PF void add_result(Result &sum, const Result &other)
{
    (sum.x += other.x, sum.y += other.y, sum.z += other.z, sum.w += other.w);
    for (int a = 0; a < 6; a++)
        sum.hessian[a] += other.hessian[a];
}

// Numbers in units of which a potential has `potential`, a gradient `gradient`, and second derivatives their product.
template <class R> PF Result scaled_result(const R *const values, const R potential, const R gradient)
{
    Result r = {(Real)(values[0] * potential), (Real)(values[1] * gradient), (Real)(values[2] * gradient), (Real)(values[3] * gradient)};
    for (int a = 0; a < 6; a++)
        r.hessian[a] = (Real)(values[4 + a] * (potential * gradient));
    return r;
}

// Adds another one, in such units.
PF void add_scaled(Result &sum, const Result &other, const Real potential, const Real gradient)
{
    (sum.x += other.x * potential, sum.y += other.y * gradient, sum.z += other.z * gradient, sum.w += other.w * gradient);
    for (int a = 0; a < 6; a++)
        sum.hessian[a] += other.hessian[a] * (potential * gradient);
}

PF bool is_number(const Result &r)
{
    Real zero = 0 * (r.x + r.y + r.z + r.w);
    for (int a = 0; a < 6; a++)
        zero += 0 * r.hessian[a];
    return zero == 0;
}
#else
PF Result result_of(const TargetSums &s) { return {s.values[0], s.values[1], s.values[2], s.values[3]}; }

PF void add_result(Result &sum, const Result &other) { (sum.x += other.x, sum.y += other.y, sum.z += other.z, sum.w += other.w); }

template <class R> PF Result scaled_result(const R *const values, const R potential, const R gradient)
{
    return {(Real)(values[0] * potential), (Real)(values[1] * gradient), (Real)(values[2] * gradient), (Real)(values[3] * gradient)};
}

PF void add_scaled(Result &sum, const Result &other, const Real potential, const Real gradient)
{
    (sum.x += other.x * potential, sum.y += other.y * gradient, sum.z += other.z * gradient, sum.w += other.w * gradient);
}

PF bool is_number(const Result &r)
{
    const Real zero = 0 * (r.x + r.y + r.z + r.w);
    return zero == 0;
}
#endif
