//! The runs that split an error by its causes ([`fmm::octree::budget`]), all on the GPUs.

use super::{Gpu, prices};
use crate::cuda::driver::Outcome;
use crate::cuda::octree::Fields as Summed;
use fmm::data::particles::Field;
use fmm::data::problem::{Geometry, Sources};
use fmm::octree::budget::{self, Fields};
use fmm::octree::options::Wanted;
use fmm::octree::{FmmError, FmmOptions, Precision, Solutions};

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
        let in_f64 = FmmOptions { precision: Precision::F64, ..options.clone() };
        // Fields of two precisions are put together, and so are those of one tree.
        self.prices = Some(prices(options));
        let mut solve = |options: &FmmOptions, summed: Summed| {
            self.fields = summed;
            let found = self.solve_for(geometry, &[sources], options, Wanted::default())?;
            Ok(found.map(|mut found| found.fields.remove(0)))
        };
        let runs = [(options, Summed::Far), (&in_f64, Summed::Far), (&in_f64, Summed::All)];
        let runs = runs.map(|(options, summed)| solve(options, summed));
        (self.fields, self.prices) = (Summed::All, None);
        let runs: Result<Vec<Outcome<Field>>, FmmError> = runs.into_iter().collect();
        Ok(runs?.into_iter().collect::<Outcome<Vec<Field>>>().map(|runs| {
            let without_p2p = with_other_far(&runs[2], &runs[1], &runs[0]);
            let in_f64 = runs.into_iter().next_back().expect("there are three");
            Fields { on_grid: None, without_p2p, in_f64, is_direct }
        }))
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
