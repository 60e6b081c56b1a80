//! How far a run is from direct summation.

use super::direct::Direct;
use super::{Field, Kernel};
use crate::direct::error::{is_beside_nothing, ratio, sample};
use crate::octree::stats::Measured;
use serde::Serialize;

/// Errors over sampled targets: relative L2 norms, and the largest relative error of a target, which is the norm (5.3) of the paper.
/// For `harmonic` the potential is Phi and there is no gradient.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Errors {
    pub samples: usize,
    pub potential_rel_l2: f64,
    pub potential_largest: f64,
    pub gradient_rel_l2: Option<f64>,
    pub gradient_median: Option<f64>,
    pub gradient_p99: Option<f64>,
    pub gradient_largest: Option<f64>,
}

impl Measured for Errors {
    const IN_SPACE: bool = false;
}

impl Errors {
    /// The error that a tolerance is for: that of the gradient, or of Phi.
    pub fn of_vector(&self) -> f64 {
        self.gradient_rel_l2.unwrap_or(self.potential_rel_l2)
    }
}

/// Reference values at some targets.
pub struct Reference {
    kernel: Kernel,
    targets: Vec<usize>,
    /// For each set of strengths what it gives at each of the targets.
    right: Vec<Vec<[f64; 3]>>,
}

impl Reference {
    /// Direct summation at `min(count, n)` targets. Several sets are the parts of complex strengths.
    pub fn new(parts: &[Direct], count: usize, seed: u64) -> Reference {
        let targets = sample(parts.first().map_or(0, Direct::targets), count, seed);
        let right = parts.iter().map(|direct| direct.at(&targets)).collect();
        Reference { kernel: parts.first().map_or(Kernel::Harmonic, |p| p.kernel), targets, right }
    }

    /// Compares what a run gave for each set.
    pub fn errors(&self, fields: &[&Field]) -> Errors {
        let vector =
            self.norms(&|field, t| vec![field.vector[0][t], field.vector[1][t]], &|r| vec![r[0], r[1]], fields);
        let mut errors = Errors {
            samples: self.targets.len(),
            potential_rel_l2: vector.l2,
            potential_largest: vector.part(1.0),
            gradient_rel_l2: None,
            gradient_median: None,
            gradient_p99: None,
            gradient_largest: None,
        };
        if self.kernel == Kernel::Log {
            let potential = self.norms(&|field, t| vec![field.potential[t]], &|r| vec![r[2]], fields);
            errors.potential_rel_l2 = potential.l2;
            errors.potential_largest = potential.part(1.0);
            errors.gradient_rel_l2 = Some(vector.l2);
            errors.gradient_median = Some(vector.part(0.5));
            errors.gradient_p99 = Some(vector.part(0.99));
            errors.gradient_largest = Some(vector.part(1.0));
        }
        errors
    }

    /// The errors of the columns that two functions pick out of a field and out of what is right.
    fn norms(
        &self,
        of_field: &dyn Fn(&Field, usize) -> Vec<f64>,
        of_right: &dyn Fn(&[f64; 3]) -> Vec<f64>,
        fields: &[&Field],
    ) -> Norms {
        let one = |(k, t): (usize, &usize)| {
            let found = fields.iter().flat_map(|field| of_field(field, *t)).collect::<Vec<f64>>();
            (found, self.right.iter().flat_map(|r| of_right(&r[k])).collect::<Vec<f64>>())
        };
        Norms::of(&self.targets.iter().enumerate().map(one).collect::<Vec<_>>())
    }
}

/// The relative L2 error of all targets, and the relative errors of each in ascending order.
struct Norms {
    l2: f64,
    each: Vec<f64>,
}

impl Norms {
    /// Of each target what was found and what is right.
    fn of(both: &[(Vec<f64>, Vec<f64>)]) -> Norms {
        // In units of the largest number no square leaves the range of f64, and one that vanishes does not count.
        let largest = both.iter().flat_map(|(f, w)| f.iter().chain(w)).fold(0.0, |a: f64, x| a.max(x.abs()));
        let length = |x: &mut dyn Iterator<Item = f64>, unit: f64| {
            if unit == 0.0 { 0.0 } else { x.map(|x| (x / unit).powi(2)).sum::<f64>().sqrt() }
        };
        let off = &mut both.iter().flat_map(|(f, w)| f.iter().zip(w).map(|(f, w)| f - w));
        let size = &mut both.iter().flat_map(|(_, w)| w.iter().copied());
        let l2 = ratio(length(off, largest), length(size, largest));
        let one = |(f, w): &(Vec<f64>, Vec<f64>)| {
            let unit = f.iter().chain(w).fold(0.0, |a: f64, x| a.max(x.abs()));
            let off = length(&mut f.iter().zip(w).map(|(f, w)| f - w), unit);
            (off, length(&mut w.iter().copied(), unit))
        };
        let norms: Vec<(f64, f64)> = both.iter().map(one).collect();
        // Where the reference is 0, an error has no relative size, unless it is so everywhere.
        let is_nothing = norms.iter().all(|norms| is_beside_nothing(*norms));
        let has_part = |norms: &&(f64, f64)| is_nothing || !is_beside_nothing(**norms);
        let mut each: Vec<f64> = norms.iter().filter(has_part).map(|(off, size)| ratio(*off, *size)).collect();
        each.sort_unstable_by(f64::total_cmp);
        Norms { l2, each }
    }

    /// The smallest error that at least this part of the targets do not exceed.
    fn part(&self, part: f64) -> f64 {
        let rank = (part * self.each.len() as f64).ceil() as usize;
        self.each.get(rank.max(1) - 1).copied().unwrap_or(0.0)
    }
}
