//! The options of the method with which a run goes on in another process: what was found for its first positions, or chosen by the costs of
//! a machine, stays as it was.

use super::{Fmm, Found, Options};
use crate::Error;
use crate::turn::locked;
use fmm::expansion::basis::Basis;
use fmm::octree::{FmmOptions, Precision};

/// The choices that [`Options`](super::Options) leave open, as they were made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pinned {
    pub order: usize,
    pub lower_beyond: Option<f64>,
    pub theta: f64,
    pub leaf: usize,
    pub enlarge: f64,
    pub precision: Precision,
    pub basis: Basis,
}

const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];
const BASES: [Basis; 4] = [Basis::Cartesian, Basis::Solid, Basis::Chebyshev, Basis::Softened];

impl Pinned {
    fn of(options: &FmmOptions) -> Pinned {
        let FmmOptions { order, lower_beyond, theta, leaf, enlarge, precision, basis, .. } = *options;
        Pinned { order, lower_beyond, theta, leaf, enlarge, precision, basis }
    }

    fn onto(&self, options: FmmOptions) -> FmmOptions {
        let Pinned { order, lower_beyond, theta, leaf, enlarge, precision, basis } = *self;
        FmmOptions { order, lower_beyond, theta, leaf, enlarge, precision, basis, ..options }
    }

    /// Options that ask for what was found in place of a tolerance.
    pub(crate) fn in_place_of_tolerance(&self, asked: &Options) -> Options {
        let Pinned { order, lower_beyond, theta, precision, basis, .. } = *self;
        Options {
            tolerance: None,
            order: Some(order),
            lower_beyond,
            theta: Some(theta),
            precision: Some(precision),
            expansion: Some(basis),
            ..asked.clone()
        }
    }

    /// As numbers for a file.
    pub fn to_numbers(&self) -> [f64; 7] {
        let precision = PRECISIONS.iter().position(|p| *p == self.precision).expect("all are listed");
        let basis = BASES.iter().position(|b| *b == self.basis).expect("all are listed");
        let beyond = self.lower_beyond.unwrap_or(f64::INFINITY);
        [self.order as f64, beyond, self.theta, self.leaf as f64, self.enlarge, precision as f64, basis as f64]
    }

    /// From such numbers, if they are.
    pub fn from_numbers(numbers: &[f64]) -> Option<Pinned> {
        let [order, beyond, theta, leaf, enlarge, precision, basis] = *numbers else { return None };
        let whole = |x: f64| (x >= 0.0 && x.fract() == 0.0 && x < 1e15).then_some(x as usize);
        Some(Pinned {
            order: whole(order)?,
            lower_beyond: beyond.is_finite().then_some(beyond),
            theta,
            leaf: whole(leaf)?,
            enlarge,
            precision: *PRECISIONS.get(whole(precision)?)?,
            basis: *BASES.get(whole(basis)?)?,
        })
    }
}

impl Fmm {
    /// Options that were found for a problem like one of `n` particles.
    pub(super) fn sized(&self, found: &FmmOptions, n: usize) -> Result<FmmOptions, Error> {
        Ok(match &self.0.native {
            Some(native) => native.sized(found, n),
            None => self.0.solver.take()?.sized(found, n),
        })
    }

    /// The options that plans of `n` particles take after the first run; none where there is no plan on the CPU.
    pub fn pinned(&self, n: usize) -> Result<Option<Pinned>, Error> {
        let found = locked(&self.0.found).clone();
        Ok(match found {
            Some(Found::Pinned(options)) => Some(Pinned::of(&options)),
            Some(Found::Sized(options)) => Some(Pinned::of(&self.sized(&options, n)?)),
            None => None,
        })
    }

    /// The options that a GPU which runs all stages has found for a tolerance, if one has.
    pub(crate) fn found_on_gpu(&self) -> Result<Option<Pinned>, Error> {
        #[cfg(feature = "cuda")]
        if self.0.native.is_none() {
            return Ok(self.0.solver.take()?.found_on_gpu().map(Pinned::of));
        }
        Ok(None)
    }

    /// Lets all plans from now on take these options, whatever else is asked for or found.
    pub fn pin(&self, n: usize, pinned: &Pinned) -> Result<(), Error> {
        let usual = match &self.0.native {
            Some(native) => native.options_for(n),
            None => self.0.solver.take()?.options_for(n),
        };
        let options = pinned.onto(usual);
        options.check()?;
        *locked(&self.0.found) = Some(Found::Pinned(options));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmm::Options;

    #[test]
    fn a_pinned_solver_has_the_bits_of_the_one_that_found_the_options() {
        let particles = crate::random::uniform(3000, 1);
        let options = Options::default().tolerance(1e-5);
        let first = Fmm::new(&options).unwrap();
        first.plan(particles.columns()).run(&particles.q).unwrap();
        let pinned = first.pinned(particles.len()).unwrap().expect("there is a plan on the CPU");
        assert_eq!(Pinned::from_numbers(&pinned.to_numbers()), Some(pinned));
        let second = Fmm::new(&options).unwrap();
        second.pin(particles.len(), &pinned).unwrap();
        let moved = crate::random::uniform(3000, 2);
        let [one, two] = [&first, &second].map(|fmm| fmm.plan(moved.columns()).run(&moved.q).unwrap());
        assert_eq!(one, two);
        assert_eq!(Pinned::from_numbers(&[1.0; 6]), None);
        assert_eq!(Pinned::from_numbers(&[1.0, 1.0, 0.5, 64.0, 1.0, 7.0, 0.0]), None);
    }
}
