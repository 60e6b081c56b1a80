//! How far a run is from direct summation.

use super::direct::Direct;
use super::{Field, Kernel};
use crate::direct::error::sample;
use serde::Serialize;

/// Errors over sampled targets: relative L2 norms, and the largest relative error of a target, which is the norm (5.3) of the paper.
/// For `harmonic` the potential is Phi and there is no gradient.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Errors {
    pub samples: usize,
    pub potential_rel_l2: f64,
    pub potential_largest: f64,
    pub gradient_rel_l2: Option<f64>,
    pub gradient_median: Option<f64>,
    pub gradient_p99: Option<f64>,
    pub gradient_largest: Option<f64>,
}

impl Errors {
    /// The error that a tolerance is for: that of the gradient, or of Phi.
    pub fn of_vector(&self) -> f64 {
        self.gradient_rel_l2.unwrap_or(self.potential_rel_l2)
    }
}

/// Compares fields with direct summation at `min(count, n)` targets. Several fields with what they are sums of are the parts of
/// one field with complex strengths.
pub fn measure(parts: &[(Direct, &Field)], count: usize, seed: u64) -> Errors {
    let targets = sample(parts.first().map_or(0, |p| p.1.vector[0].len()), count, seed);
    let right: Vec<Vec<[f64; 3]>> = parts.iter().map(|(direct, _)| direct.at(&targets)).collect();
    let kernel = parts.first().map_or(Kernel::Harmonic, |p| p.0.kernel);
    // Of each target what was found and what is right, one number after the other.
    let both = |columns: &dyn Fn(&Field, usize) -> Vec<f64>, pick: &dyn Fn(&[f64; 3]) -> Vec<f64>| {
        let one = |(k, t): (usize, &usize)| {
            let found = parts.iter().flat_map(|(_, field)| columns(field, *t)).collect::<Vec<f64>>();
            (found, right.iter().flat_map(|r| pick(&r[k])).collect::<Vec<f64>>())
        };
        targets.iter().enumerate().map(one).collect::<Vec<(Vec<f64>, Vec<f64>)>>()
    };
    let vector = both(&|field, t| vec![field.vector[0][t], field.vector[1][t]], &|r| vec![r[0], r[1]]);
    let vector = Norms::of(&vector);
    let mut errors = Errors {
        samples: targets.len(),
        potential_rel_l2: vector.l2,
        potential_largest: vector.part(1.0),
        gradient_rel_l2: None,
        gradient_median: None,
        gradient_p99: None,
        gradient_largest: None,
    };
    if kernel == Kernel::Log {
        let potential = Norms::of(&both(&|field, t| vec![field.potential[t]], &|r| vec![r[2]]));
        errors.potential_rel_l2 = potential.l2;
        errors.potential_largest = potential.part(1.0);
        errors.gradient_rel_l2 = Some(vector.l2);
        errors.gradient_median = Some(vector.part(0.5));
        errors.gradient_p99 = Some(vector.part(0.99));
        errors.gradient_largest = Some(vector.part(1.0));
    }
    errors
}

/// The relative L2 error of all targets, and the relative errors of each in ascending order.
struct Norms {
    l2: f64,
    each: Vec<f64>,
}

impl Norms {
    fn of(both: &[(Vec<f64>, Vec<f64>)]) -> Norms {
        // In units of the largest number no square leaves the range of f64, and one that vanishes does not count.
        let largest = both.iter().flat_map(|(f, w)| f.iter().chain(w)).fold(0.0, |a: f64, x| a.max(x.abs()));
        let ratio = |off: f64, size: f64| if off == 0.0 { 0.0 } else { off / size };
        let length = |x: &mut dyn Iterator<Item = f64>, unit: f64| {
            if unit == 0.0 { 0.0 } else { x.map(|x| (x / unit).powi(2)).sum::<f64>().sqrt() }
        };
        let off = &mut both.iter().flat_map(|(f, w)| f.iter().zip(w).map(|(f, w)| f - w));
        let size = &mut both.iter().flat_map(|(_, w)| w.iter().copied());
        let l2 = ratio(length(off, largest), length(size, largest));
        let one = |(f, w): &(Vec<f64>, Vec<f64>)| {
            let unit = f.iter().chain(w).fold(0.0, |a: f64, x| a.max(x.abs()));
            let off = length(&mut f.iter().zip(w).map(|(f, w)| f - w), unit);
            ratio(off, length(&mut w.iter().copied(), unit))
        };
        let mut each: Vec<f64> = both.iter().map(one).filter(|e| !e.is_infinite()).collect();
        each.sort_unstable_by(f64::total_cmp);
        Norms { l2, each }
    }

    /// The smallest error that at least this part of the targets do not exceed.
    fn part(&self, part: f64) -> f64 {
        let rank = (part * self.each.len() as f64).ceil() as usize;
        self.each.get(rank.max(1) - 1).copied().unwrap_or(0.0)
    }
}
