//! Accelerations and potentials of bodies by an FMM, or by P2P alone.

use super::{Bodies, Progress};
use crate::Error;
use crate::fmm::{Fmm, Options, Outputs, Pinned};

/// The field at all bodies.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Field {
    pub potential: Vec<f64>,
    pub acceleration: [Vec<f64>; 3],
}

/// A solver for bodies that move.
pub struct Forces {
    fmm: Fmm,
}

impl Forces {
    /// Finds the options for the first positions, and computes the field there.
    pub fn first(options: &Options, bodies: &Bodies, progress: &mut Progress) -> Result<(Forces, Field), Error> {
        let fmm = Fmm::new(options)?;
        let found = fmm.plan(bodies.columns()).run_with(&[bodies.mass[..].into()], progress)?;
        let first = found.fields.into_iter().next().expect("there is one set of charges");
        let acceleration = first.gradient.ok_or_else(|| {
            Error::Input("the P2P kernel gives a potential and no gradient, so that nothing moves; name one with `gout[3]`, such as p2p".into())
        })?;
        // Later plans are those of a run that is taken up.
        match fmm.pinned(bodies.len())? {
            Some(pinned) => fmm.pin(bodies.len(), &pinned)?,
            None if options.tolerance.is_some() && fmm.found_on_gpu()?.is_none() => {
                let why = "with a tolerance the order is found anew where a run is taken up, as this backend keeps no plan; give an order";
                return Err(Error::Options(why.into()));
            }
            None => {}
        }
        Ok((Forces { fmm }, Field { potential: first.potential, acceleration }))
    }

    /// Goes on with `n` bodies.
    pub fn again(options: &Options, n: usize, pinned: Option<&Pinned>) -> Result<Forces, Error> {
        let fmm = Fmm::new(options)?;
        if let Some(pinned) = pinned {
            fmm.pin(n, pinned)?;
        }
        Ok(Forces { fmm })
    }

    /// The options of the method that were found for `n` bodies, where there are any.
    pub fn pinned(&self, n: usize) -> Result<Option<Pinned>, Error> {
        self.fmm.pinned(n)
    }

    /// The options that a GPU has found for a tolerance, which later runs may ask for.
    pub fn found_on_gpu(&self) -> Result<Option<Pinned>, Error> {
        self.fmm.found_on_gpu()
    }

    /// Computes the field where the bodies are now.
    pub fn update(&self, bodies: &Bodies, field: &mut Field, progress: &mut Progress) -> Result<(), Error> {
        let Field { potential, acceleration } = field;
        let gradient = acceleration.each_mut().map(|g| &mut g[..]);
        let mut out = [Outputs { potential, gradient, hessian: None }];
        self.fmm.plan(bodies.columns()).run_all_into(&[bodies.mass[..].into()], &mut out, progress).map(drop)
    }
}
