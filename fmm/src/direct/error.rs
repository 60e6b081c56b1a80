//! How far an FMM is from direct summation (RULES H10).

pub mod by_target;

use crate::arith::exp2;
use crate::arith::scale::{exponent, ldexp};
use crate::data::Force;
use crate::data::particles::{Field, Particles};
use crate::data::periodic::Periodic;
use crate::data::problem::Geometry;
use crate::data::random::Random;
use crate::direct::ewald;
use crate::direct::summation::{self, Direct};
use crate::parallel::prelude::*;
use crate::tree::boxmap::BoxMap;
use by_target::{ByTarget, Compared};
use serde::Serialize;

/// Errors over sampled targets; those of the gradient are absent when only the potential was computed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Errors {
    pub samples: usize,
    pub potential_rel_l2: f64,
    pub gradient_rel_l2: Option<f64>,
    pub gradient_median: Option<f64>,
    pub gradient_p99: Option<f64>,
    /// Absent unless second derivatives were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hessian_rel_l2: Option<f64>,
    /// Whether the true gradients are nothing but rounding; errors of gradients are then relative to the potential over the edge
    /// of the box.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gradient_vanishes: bool,
    /// Whether the true potentials, or gradients, are 0 and results are not; these errors are then relative to what was found: 1.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reference_vanishes: bool,
}

/// Gradients vanish if they are less than this part of the potential over the edge of the box. What is left of sums that cancel, as in
/// a crystal, is a thousandth of it or less.
const VANISHING: f64 = 1e-8;

/// `min(k, n)` distinct targets from the second stream of the seed alone, ascending.
pub fn sample(n: usize, k: usize, seed: u64) -> Vec<usize> {
    draw(n, k, &mut Random::second_stream(seed))
}

/// `min(k, n)` distinct targets, ascending.
pub fn draw(n: usize, k: usize, random: &mut Random) -> Vec<usize> {
    let k = k.min(n);
    // The first k places of a Fisher-Yates shuffle.
    let mut all: Vec<usize> = (0..n).collect();
    for place in 0..k {
        let other = place + (random.unit() * (n - place) as f64) as usize;
        all.swap(place, other);
    }
    all.truncate(k);
    all.sort_unstable();
    all
}

/// Reference values at some targets: by direct summation, or by Ewald sums with periodic boundaries.
pub fn reference(particles: &Particles, targets: &[usize], eps: f64, periodic: Option<&Periodic>) -> Vec<Force> {
    match periodic {
        None => summation::reference(particles, targets, eps),
        Some(periodic) => ewald::reference(particles, targets, eps, periodic),
    }
}

/// Compares `field` with direct summation at `min(k, n)` targets.
pub fn measure(particles: &Particles, field: &Field, k: usize, seed: u64, eps: f64) -> Errors {
    let targets = sample(particles.len(), k, seed);
    compare(field, &targets, &summation::reference(particles, &targets, eps), edge(particles.columns(), None))
}

/// The edge of the box of all points, or the period.
pub fn edge<'a>(geometry: impl Into<Geometry<'a>>, periodic: Option<&Periodic>) -> f64 {
    let Geometry { sources, targets } = geometry.into();
    BoxMap::around(BoxMap::ends(&[sources, targets.unwrap_or(sources)]), periodic).edge()
}

/// Compares `field`, its Hessian included where it has one, with direct summation, or with Ewald sums, at `min(k, n)` targets.
pub fn measure_all(direct: &Direct, periodic: Option<&Periodic>, field: &Field, k: usize, seed: u64) -> Errors {
    measure_each(direct, periodic, field, sample(direct.targets()[0].len(), k, seed)).0
}

/// The same at given targets, and how the errors are spread over them.
pub fn measure_each(
    direct: &Direct,
    periodic: Option<&Periodic>,
    field: &Field,
    targets: Vec<usize>,
) -> (Errors, ByTarget) {
    let reference = reference_of(direct, &targets, periodic);
    let forces: Vec<Force> = reference.iter().map(|all| [all[0], all[1], all[2], all[3]]).collect();
    let edge = edge(direct.geometry, periodic);
    let mut errors = compare(field, &targets, &forces, edge);
    let compared = Compared { field, targets: &targets, reference: &forces, edge };
    let by_target = compared.by_target(direct.geometry, periodic);
    if let Some(hessian) = &field.hessian {
        let seconds: Vec<[f64; 6]> = reference.iter().map(|all| std::array::from_fn(|a| all[a + 4])).collect();
        errors.hessian_rel_l2 = Some(of_hessians(hessian, &targets, &seconds));
    }
    (errors, by_target)
}

/// Reference at some targets, second derivatives included where they are wanted.
pub fn reference_of(direct: &Direct, targets: &[usize], periodic: Option<&Periodic>) -> Vec<[f64; 10]> {
    match periodic {
        None => direct.at(targets),
        Some(periodic) => ewald::reference_of(direct, targets, periodic),
    }
}

/// The relative L2 error of second derivatives at some targets.
pub fn of_hessians(hessian: &[Vec<f64>; 6], targets: &[usize], reference: &[[f64; 6]]) -> f64 {
    let both = |(t, all): (&usize, &[f64; 6])| (hessian.iter().map(|h| h[*t]).collect(), all.to_vec());
    relative_l2(&targets.iter().zip(reference).map(both).collect::<Vec<_>>())
}

/// The unit of errors of gradients where the gradients vanish: the potential over the edge of the box.
pub fn in_place_of_gradients(reference: &[Force], edge: f64) -> Option<f64> {
    let gradients: Vec<f64> = reference.iter().flat_map(|f| f[1..].to_vec()).collect();
    let potentials: Vec<f64> = reference.iter().map(|f| f[0]).collect();
    let most = largest(&potentials, &[]);
    // Of points in one place nothing has a length.
    let has_unit = edge > 0.0 && most > 0.0;
    let vanishes = has_unit && relative(&gradients, &potentials) * edge < VANISHING;
    vanishes.then(|| {
        let e = exponent(most);
        let squares: f64 = potentials.iter().map(|p| ldexp(*p, -e).powi(2)).sum();
        ldexp((squares / potentials.len() as f64).sqrt() / edge, e)
    })
}

/// Compares `field` at some targets with what is right there. The particles' box, or the period, has this edge.
pub fn compare(field: &Field, targets: &[usize], reference: &[Force], edge: f64) -> Errors {
    let pairs = || targets.iter().copied().zip(reference);
    let potential = pairs().map(|(t, f)| (vec![field.potential[t]], vec![f[0]])).collect::<Vec<_>>();
    let mut errors = Errors {
        samples: targets.len(),
        potential_rel_l2: relative_l2(&potential),
        gradient_rel_l2: None,
        gradient_median: None,
        gradient_p99: None,
        hessian_rel_l2: None,
        gradient_vanishes: false,
        reference_vanishes: is_beside_nothing(norms_of_all(&potential)),
    };
    if let Some(gradient) = &field.gradient {
        let both = |(t, f): (usize, &[f64; 4])| (gradient.iter().map(|g| g[t]).collect(), f[1..].to_vec());
        let both: Vec<(Vec<f64>, Vec<f64>)> = pairs().map(both).collect();
        let instead = in_place_of_gradients(reference, edge);
        let (mut each, all) = match instead {
            Some(size) => parts_of(size, &both),
            None => (parts_of_own(&both), relative_l2(&both)),
        };
        errors.reference_vanishes |= instead.is_none() && is_beside_nothing(norms_of_all(&both));
        each.sort_unstable_by(f64::total_cmp);
        errors.gradient_rel_l2 = Some(all);
        errors.gradient_median = Some(percentile(&each, 0.5));
        errors.gradient_p99 = Some(percentile(&each, 0.99));
        errors.gradient_vanishes = instead.is_some();
    }
    errors
}

/// |found - wanted| / |wanted| of each target.
fn parts_of_own(both: &[(Vec<f64>, Vec<f64>)]) -> Vec<f64> {
    let norms: Vec<(f64, f64)> =
        both.iter().map(|(found, wanted)| norms(found, wanted, largest(found, wanted))).collect();
    // Where the reference is 0, an error has no relative size, unless it is so everywhere.
    let is_nothing = norms.iter().all(|norms| is_beside_nothing(*norms));
    let has_part = |norms: &&(f64, f64)| is_nothing || !is_beside_nothing(**norms);
    norms.iter().filter(has_part).map(|(off, size)| ratio(*off, *size)).collect()
}

/// |found - wanted| of each target and of all as parts of a size that all have.
fn parts_of(size: f64, both: &[(Vec<f64>, Vec<f64>)]) -> (Vec<f64>, f64) {
    let off =
        |(found, wanted): &(Vec<f64>, Vec<f64>)| -> Vec<f64> { found.iter().zip(wanted).map(|(f, w)| f - w).collect() };
    let each = both.iter().map(|both| relative(&off(both), &[size])).collect();
    let all: Vec<f64> = both.iter().flat_map(off).collect();
    (each, relative(&all, &vec![size; both.len()]))
}

/// The gradient of a field at a target, or its potential where there is no gradient.
fn vector(field: &Field, target: usize) -> [f64; 3] {
    match &field.gradient {
        Some(g) => [g[0][target], g[1][target], g[2][target]],
        None => [field.potential[target], 0.0, 0.0],
    }
}

/// Targets that a thread looks at together.
const TOGETHER: usize = 1 << 14;

/// The largest magnitude among the components of the gradient, or of the potential where there is no gradient.
pub fn unit(field: &Field) -> f64 {
    let columns = match &field.gradient {
        Some(gradient) => gradient.each_ref().map(|g| &g[..]),
        None => [&field.potential[..], &[], &[]],
    };
    let of_some = |some: &[f64]| largest(some, &[]);
    let of_column = |column: &[f64]| column.par_chunks(TOGETHER).map(of_some).reduce(|| 0.0, f64::max);
    columns.into_iter().map(of_column).fold(0.0, f64::max)
}

/// The length of the gradient (the size of the potential, where there is no gradient) at every target, in units of about `unit`.
pub fn lengths(field: &Field, unit: f64) -> Vec<f64> {
    let unit = Unit::of(unit);
    let length = |k: usize| unit.apart(&[0.0; 3], &vector(field, k));
    (0..field.potential.len()).into_par_iter().map(length).collect()
}

/// The length of a field's error at some targets, given the reference there.
pub fn lengths_off(field: &Field, targets: &[usize], reference: &[Force], unit: f64) -> Vec<f64> {
    let right = |f: &Force| if field.gradient.is_some() { [f[1], f[2], f[3]] } else { [f[0], 0.0, 0.0] };
    let unit = Unit::of(unit);
    targets.iter().zip(reference).map(|(t, f)| unit.apart(&vector(field, *t), &right(f))).collect()
}

/// The length of the difference of two fields at every target.
pub fn lengths_between(one: &Field, other: &Field, unit: f64) -> Vec<f64> {
    let unit = Unit::of(unit);
    let length = |k: usize| unit.apart(&vector(one, k), &vector(other, k));
    (0..one.potential.len()).into_par_iter().map(length).collect()
}

/// A unit of lengths: a power of two.
#[derive(Clone, Copy)]
struct Unit {
    exponent: i32,
    /// Factor that gives numbers in this unit, where f64 holds it.
    inverse: Option<f64>,
}

/// Exponents of powers of two that are held with their inverses.
const HELD: i32 = 900;

/// Sums of squares that have lost nothing: neither is one of them too large, nor one too small that counts beside the others.
const SAFE: std::ops::RangeInclusive<f64> = 1e-240..=1e240;

impl Unit {
    /// About as large as `unit`.
    fn of(unit: f64) -> Unit {
        let exponent = exponent(unit);
        Unit { exponent, inverse: (exponent.abs() <= HELD).then(|| ldexp(1.0, -exponent)) }
    }

    /// The length of `found - wanted`, where these may be far smaller than the unit.
    fn apart(self, found: &[f64; 3], wanted: &[f64; 3]) -> f64 {
        if let Some(inverse) = self.inverse {
            let square = |a: usize| (found[a] * inverse - wanted[a] * inverse).powi(2);
            let squares = square(0) + square(1) + square(2);
            // Powers of two change no digit: this has the bits of what follows.
            if SAFE.contains(&squares) {
                return squares.sqrt();
            }
        }
        let own = largest(found, wanted);
        if own == 0.0 { 0.0 } else { ldexp(norms(found, wanted, own).0, exponent(own) - self.exponent) }
    }
}

/// |off| / |size| of vectors with these components, none of whose squares need fit in f64.
pub fn relative(off: &[f64], size: &[f64]) -> f64 {
    let length = |parts: &[f64]| {
        let e = exponent(largest(parts, &[]));
        let squares: f64 = match e.abs() <= HELD {
            true => parts.iter().map(|x| (x * exp2(-e)).powi(2)).sum(),
            false => parts.iter().map(|x| ldexp(*x, -e).powi(2)).sum(),
        };
        (squares.sqrt(), e)
    };
    let ((off, of_off), (size, of_size)) = (length(off), length(size));
    if off == 0.0 { 0.0 } else { ldexp(off / size, of_off - of_size) }
}

/// The largest magnitude among both.
fn largest(found: &[f64], wanted: &[f64]) -> f64 {
    found.iter().chain(wanted).fold(0.0, |a: f64, x| a.max(x.abs()))
}

/// The lengths of `found - wanted` and of `wanted`, in units of about `unit`: neither a difference nor a square leaves the
/// range of f64.
fn norms(found: &[f64], wanted: &[f64], unit: f64) -> (f64, f64) {
    let e = exponent(unit);
    let length = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let off = &mut found.iter().zip(wanted).map(|(f, w)| ldexp(*f, -e) - ldexp(*w, -e));
    (length(off), length(&mut wanted.iter().map(|w| ldexp(*w, -e))))
}

/// |found - wanted| / |wanted| over all targets.
fn relative_l2(both: &[(Vec<f64>, Vec<f64>)]) -> f64 {
    let (off, size) = norms_of_all(both);
    ratio(off, size)
}

/// |found - wanted| and |wanted| over all targets, in one unit.
fn norms_of_all(both: &[(Vec<f64>, Vec<f64>)]) -> (f64, f64) {
    let unit = both.iter().fold(0.0, |a: f64, (found, wanted)| a.max(largest(found, wanted)));
    let norms: Vec<(f64, f64)> = both.iter().map(|(found, wanted)| norms(found, wanted, unit)).collect();
    let sum = |pick: fn(&(f64, f64)) -> f64| norms.iter().map(|n| pick(n).powi(2)).sum::<f64>().sqrt();
    (sum(|n| n.0), sum(|n| n.1))
}

/// Whether there is an error where the reference is 0, or so small beside the error that f64 does not hold the quotient.
pub fn is_beside_nothing((off, size): (f64, f64)) -> bool {
    off != 0.0 && !(off / size).is_finite()
}

/// 0 where there is no error, even where the reference is 0. 1 where there is an error [beside nothing](is_beside_nothing).
pub fn ratio(off: f64, size: f64) -> f64 {
    match () {
        _ if off == 0.0 => 0.0,
        _ if is_beside_nothing((off, size)) => 1.0,
        _ => off / size,
    }
}

/// The smallest value that at least `part` of the sorted values do not exceed.
fn percentile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths have the digits that they have in a unit of their own, however far apart numbers are.
    #[test]
    fn lengths_have_the_same_digits_in_any_unit() {
        let parts = [0.0, 1.0, 0.7, -0.3, 1.0 + f64::EPSILON];
        for scale in [0, -2, -300, -420, -600, -1000, 300, 700] {
            for (k, below) in [0, -30, -200, -500, -900].into_iter().enumerate() {
                let found = [0, 1, 2].map(|a| ldexp(parts[(k + a) % 5], scale + if a == 1 { below } else { 0 }));
                let wanted = [0, 1, 2].map(|a| ldexp(parts[(k + 2 * a) % 5], scale + if a == 1 { below } else { 0 }));
                for unit in [-950, -600, 0, 5, 600, 950] {
                    let own = largest(&found, &wanted);
                    let right = ldexp(norms(&found, &wanted, own).0, exponent(own) - unit);
                    let length = Unit::of(ldexp(1.0, unit)).apart(&found, &wanted);
                    assert_eq!(length, right, "{scale} {below} {unit}");
                }
            }
        }
        assert_eq!(Unit::of(1.0).apart(&[0.0; 3], &[0.0; 3]), 0.0);
    }
}
