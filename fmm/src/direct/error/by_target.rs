//! Errors target by target: how they are spread, and how they depend on how near the nearest source is.

use super::{in_place_of_gradients, is_beside_nothing, largest, norms, parts_of, ratio};
use crate::arith::scale::{exponent, ldexp};
use crate::data::Force;
use crate::data::particles::Field;
use crate::data::periodic::Periodic;
use crate::data::problem::Geometry;
use crate::parallel::prelude::*;
use serde::Serialize;

/// The spread of the relative errors of some targets.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ByTarget {
    /// `gradient`, or `potential` where there is no gradient.
    pub of: &'static str,
    /// Targets without any error, which no bin holds.
    pub exact: usize,
    /// By size of the error.
    pub histogram: Vec<Bin>,
    /// By distance to the nearest source that acts, in the user's units.
    pub by_distance: Vec<NearBin>,
}

/// Targets whose errors lie between two values.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Bin {
    pub from: f64,
    pub to: f64,
    pub targets: usize,
}

/// Errors of the targets whose nearest source is at a distance between two values.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct NearBin {
    pub from: f64,
    pub to: f64,
    pub targets: usize,
    pub median: f64,
    pub largest: f64,
}

/// Results at some targets, and what is right there.
pub struct Compared<'a> {
    pub field: &'a Field,
    pub targets: &'a [usize],
    pub reference: &'a [Force],
    /// Edge of the particles' box, or the period.
    pub edge: f64,
}

/// Most bins of the errors, and of the distances.
const MOST: (usize, usize) = (24, 16);

/// Most pairs that are looked at for the nearest sources, unless so few targets have more: a part of what the reference sums.
const MOST_PAIRS: usize = 100_000_000;
const FEW: usize = 64;

impl Compared<'_> {
    /// The spread of the errors, and its dependence on the distance to the nearest source.
    pub fn by_target(&self, geometry: Geometry, periodic: Option<&Periodic>) -> ByTarget {
        let errors = self.each();
        let known = || errors.iter().copied().flatten();
        let mut out = ByTarget {
            of: if self.field.gradient.is_some() { "gradient" } else { "potential" },
            exact: known().filter(|error| *error == 0.0).count(),
            ..ByTarget::default()
        };
        let sizes: Vec<f64> = known().collect();
        let steps = Steps::of(&sizes, MOST.0);
        out.histogram = steps
            .iter()
            .flat_map(|s| s.all(&sizes))
            .map(|(from, to, own)| Bin { from, to, targets: own.len() })
            .collect();
        let looked_at = (MOST_PAIRS / geometry.sources[0].len().max(1)).max(FEW);
        let step = self.targets.len().div_ceil(looked_at).max(1);
        let distances = self.nearest(geometry, periodic, step);
        let near = |(from, to, own): (f64, f64, Vec<usize>)| {
            let mut errors: Vec<f64> = own.iter().filter_map(|k| errors[k * step]).collect();
            errors.sort_unstable_by(f64::total_cmp);
            let (median, largest) = (errors.get(errors.len() / 2), errors.last());
            Some(NearBin { from, to, targets: errors.len(), median: *median?, largest: *largest? })
        };
        let steps = Steps::of(&distances, MOST.1);
        out.by_distance = steps.iter().flat_map(|s| s.all(&distances)).filter_map(near).collect();
        out
    }

    /// The relative error at each target; none where the reference is 0.
    fn each(&self) -> Vec<Option<f64>> {
        let found = |t: usize| match &self.field.gradient {
            Some(gradient) => gradient.iter().map(|g| g[t]).collect(),
            None => vec![self.field.potential[t]],
        };
        let right = |f: &Force| if self.field.gradient.is_some() { f[1..].to_vec() } else { vec![f[0]] };
        let both: Vec<(Vec<f64>, Vec<f64>)> =
            self.targets.iter().zip(self.reference).map(|(t, f)| (found(*t), right(f))).collect();
        let instead = in_place_of_gradients(self.reference, self.edge).filter(|_| self.field.gradient.is_some());
        if let Some(size) = instead {
            return parts_of(size, &both).0.into_iter().map(Some).collect();
        }
        let own = |(found, right): &(Vec<f64>, Vec<f64>)| {
            let norms = norms(found, right, largest(found, right));
            (!is_beside_nothing(norms)).then(|| ratio(norms.0, norms.1))
        };
        both.iter().map(own).collect()
    }

    /// The distance from every target of so many to the nearest source elsewhere; 0 where there is none.
    fn nearest(&self, geometry: Geometry, periodic: Option<&Periodic>, step: usize) -> Vec<f64> {
        let (sources, places) = (geometry.sources, geometry.targets.unwrap_or(geometry.sources));
        let e = exponent(self.edge.max(f64::MIN_POSITIVE));
        // By a product, since there are many; no square of it leaves the numbers.
        let scale = ldexp(1.0, -e);
        let one = |t: &usize| {
            let at = [0, 1, 2].map(|a| places[a][*t]);
            let apart = |k: usize| -> f64 {
                let along = |a: usize| {
                    let d = sources[a][k] - at[a];
                    (scale * periodic.map_or(d, |p| p.wrap(a, d))).powi(2)
                };
                (0..3).map(along).sum()
            };
            let least = (0..sources[0].len()).map(apart).filter(|d| *d > 0.0).fold(f64::INFINITY, f64::min);
            if least.is_finite() { ldexp(least.sqrt(), e) } else { 0.0 }
        };
        let some: Vec<usize> = self.targets.iter().copied().step_by(step).collect();
        some.par_iter().map(one).collect()
    }
}

/// Steps of equal ratio, a part or a multiple of a power of ten, that hold some values above 0.
struct Steps {
    /// Decades of a step, and the first step.
    decades: f64,
    first: i32,
    count: usize,
}

impl Steps {
    /// As narrow as they can be for at most so many; none where no value is above 0.
    fn of(values: &[f64], most: usize) -> Option<Steps> {
        let above = || values.iter().copied().filter(|x| x.is_finite() && *x > 0.0);
        let (low, high) = above().fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
        let with = |decades: f64| {
            let [first, last] = [low, high].map(|x| (x.log10() / decades).floor() as i32);
            Steps { decades, first, count: (last - first + 1) as usize }
        };
        let widths = [1.0 / 16.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        (high > 0.0).then(|| widths.into_iter().map(with).find(|steps| steps.count <= most)).flatten()
    }

    /// The ends of each step, and the places of the values in it.
    fn all(&self, values: &[f64]) -> Vec<(f64, f64, Vec<usize>)> {
        let end = |k: usize| 10f64.powf((self.first + k as i32) as f64 * self.decades);
        let mut all: Vec<(f64, f64, Vec<usize>)> = (0..self.count).map(|k| (end(k), end(k + 1), Vec::new())).collect();
        for (place, x) in values.iter().enumerate().filter(|(_, x)| x.is_finite() && **x > 0.0) {
            let step = (x.log10() / self.decades).floor() as i32 - self.first;
            all[(step.max(0) as usize).min(self.count - 1)].2.push(place);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(found: &[f64], right: &[f64], x: &[f64]) -> ByTarget {
        let zeros = vec![0.0; x.len()];
        let field = Field { potential: found.to_vec(), gradient: None, hessian: None };
        let reference: Vec<Force> = right.iter().map(|p| [*p, 0.0, 0.0, 0.0]).collect();
        let targets: Vec<usize> = (0..x.len()).collect();
        let compared = Compared { field: &field, targets: &targets, reference: &reference, edge: 10.0 };
        compared.by_target(Geometry { sources: [x, &zeros, &zeros], targets: None }, None)
    }

    #[test]
    fn each_target_is_counted_once_in_the_bin_of_its_error() {
        let found = [1.001, 2.002, 3.0, 4.4, 5.0];
        let by = compared(&found, &[1.0, 2.0, 3.0, 4.0, 0.0], &[0.0, 1.0, 2.0, 5.0, 10.0]);
        // The last has an error beside nothing, and the third none.
        assert_eq!((by.of, by.exact, by.histogram.iter().map(|bin| bin.targets).sum::<usize>()), ("potential", 1, 3));
        let holds = |error: f64| by.histogram.iter().any(|bin| bin.targets > 0 && bin.from <= error && error < bin.to);
        assert!(holds(0.00101) || holds(0.000999), "{by:?}");
        assert!(holds(0.1001) || holds(0.0999), "{by:?}");
        assert!(by.histogram.len() <= MOST.0);
    }

    #[test]
    fn distances_are_those_to_the_nearest_source_elsewhere() {
        let right = [1.0; 5];
        // Two in one place are 3 from the next one.
        let by = compared(&[1.1, 1.2, 1.01, 1.0, 1.0], &right, &[0.0, 0.0, 3.0, 4.0, 8.5]);
        let own = |distance: f64| by.by_distance.iter().find(|bin| bin.from <= distance && distance < bin.to).unwrap();
        assert_eq!((own(3.0).targets, own(1.0).targets, own(4.5).targets), (2, 2, 1), "{by:?}");
        assert!((own(3.0).largest - 0.2).abs() < 1e-12 && own(4.5).largest == 0.0, "{by:?}");
        assert!(compared(&[1.0], &[1.0], &[5.0]).by_distance.is_empty());
    }
}
