//! The runs that split an error by its causes ([`fmm::octree::budget`]), all on the GPUs.

use super::{Gpu, prices};
use crate::cuda::driver::Outcome;
use crate::cuda::octree::Fields as Summed;
use fmm::data::particles::Field;
use fmm::data::problem::{Geometry, Sources};
use fmm::octree::budget::{self, Fields};
use fmm::octree::options::Wanted;
use fmm::octree::{FmmError, FmmOptions, Precision, Solutions};

/// A run on GPUs with some options, as whoever splits an error makes it; or why they do not compute it.
pub type Solve<'a, E> = dyn FnMut(&mut Gpu, &FmmOptions) -> Result<Outcome<Field>, E> + 'a;

impl Gpu {
    /// The results of a run's problem with formats taken away, or why the GPU does not compute them. `found` is what the run has given.
    pub fn split(
        &mut self,
        geometry: Geometry,
        sources: Sources,
        options: &FmmOptions,
        found: &Solutions,
    ) -> Result<Outcome<Fields>, FmmError> {
        let (is_direct, field) = (budget::is_direct(options, &found.stats.pairs), &found.fields[0]);
        if options.precision == Precision::F64 {
            let [without_p2p, in_f64] = [field.clone(), field.clone()];
            return Ok(Ok(Fields { on_grid: None, without_p2p, in_f64, is_direct }));
        }
        let runs = self.split_runs(options, &mut |gpu, options| {
            let found = gpu.solve_for(geometry, &[sources], options, Wanted::default())?;
            Ok::<_, FmmError>(found.map(|mut found| found.fields.remove(0)))
        })?;
        Ok(runs.map(|[without_p2p, in_f64]| Fields { on_grid: None, without_p2p, in_f64, is_direct }))
    }

    /// The fields of a run in f32 with P2P in f64, and with all stages in f64, by whatever makes a run with some options; or why the GPU
    /// does not compute them.
    pub fn split_runs<E>(&mut self, options: &FmmOptions, solve: &mut Solve<E>) -> Result<Outcome<[Field; 2]>, E> {
        let in_f64 = FmmOptions { precision: Precision::F64, ..options.clone() };
        // Fields of two precisions are put together, and so are those of one tree.
        self.prices = Some(prices(options));
        let mut solve = |options: &FmmOptions, summed: Summed| {
            self.fields = summed;
            solve(self, options)
        };
        let mut all = || -> Result<Outcome<[Field; 2]>, E> {
            let mut found = Vec::new();
            for (options, summed) in [(options, Summed::Far), (&in_f64, Summed::Far), (&in_f64, Summed::All)] {
                match solve(options, summed)? {
                    Ok(field) => found.push(field),
                    Err(why) => return Ok(Err(why)),
                }
            }
            let without_p2p = with_other_far(&found[2], &found[1], &found[0]);
            Ok(Ok([without_p2p, found.pop().expect("there are three")]))
        };
        let found = all();
        (self.fields, self.prices) = (Summed::All, None);
        found
    }
}

/// A field of all pairs with another far field in place of its own.
pub(super) fn with_other_far(all: &Field, own: &Field, other: &Field) -> Field {
    let sums = |[all, own, other]: [&[f64]; 3]| {
        all.iter().zip(own).zip(other).map(|((all, own), other)| all - own + other).collect::<Vec<f64>>()
    };
    let gradient = |field: &'_ Field, a: usize| field.gradient.as_ref().expect("it was computed")[a].clone();
    Field {
        potential: sums([&all.potential, &own.potential, &other.potential]),
        gradient: Some([0, 1, 2].map(|a| sums([all, own, other].map(|f| gradient(f, a)).each_ref().map(|c| &c[..])))),
        hessian: None,
    }
}
