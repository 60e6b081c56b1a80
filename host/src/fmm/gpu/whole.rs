//! All stages of an FMM on the GPU, tree included, beside which the CPU does nothing.

use super::Gpu;
use crate::cuda::CudaError;
use crate::cuda::device::Device;
use crate::cuda::p2p::Number;
use crate::cuda::whole::{DEEPEST, MOST_ORDER, NEAR2, Outcome, Run, STAGES, Units, Whole, best_leaf};
use crate::data::particles::{Columns, Field};
use crate::expansion::basis::Basis;
use crate::fmm::stats::{OnCard, Pairs, PerKernel, Seconds, Stats};
use crate::fmm::{FmmError, FmmOptions, Precision, Solution, options};
use crate::job::BackendError;
use crate::tree::lists::near2;
use pg2::backend::cuda::p2p::Real;
use rayon::prelude::*;
use std::time::Instant;

/// What is on the card for an order and a precision.
pub(super) enum Ready {
    F32(usize, Whole<f32>),
    F64(usize, Whole<f64>),
}

/// What a whole run gives, or why the problem is one for P2P on the card beside the CPU.
pub type Answer = Result<Solution, String>;

impl Gpu {
    /// Why the card does not run all stages with these options.
    pub fn refuses(&self, options: &FmmOptions) -> Option<String> {
        let why = match () {
            _ if self.units.gradient.is_none() => "the P2P kernel gives no gradient",
            _ if options.basis != Basis::Solid => "the expansion is not the one in solid harmonics",
            _ if near2(options.theta) != NEAR2 => "theta is not 0.5",
            _ if options.near_only => "there is no far field",
            _ if options.periodic.is_some() => "the boundaries are periodic",
            _ if options.order > MOST_ORDER => return Some(format!("the order is above {MOST_ORDER}")),
            _ => return None,
        };
        Some(why.into())
    }

    /// The leaf size that costs least for uniform particles if the card runs all stages.
    pub fn whole_leaf(n: usize, options: &FmmOptions) -> usize {
        best_leaf(n, options.order, real(options.precision))
    }

    /// Computes potential and gradient at all particles. `leaf` bounds the particles a leaf has in the mean.
    pub fn whole(
        &mut self,
        columns: Columns,
        charges: &[f64],
        options: &FmmOptions,
        leaf: usize,
    ) -> Result<Answer, FmmError> {
        options.check()?;
        options::check_positions(columns.into())?;
        if let Some(why) = self.refuses(options) {
            return Ok(Err(why));
        }
        let task = Task { name: self.name, columns, charges, options, leaf };
        let found = self.prepare(options).and_then(|()| match self.whole.as_mut().expect("it was made") {
            Ready::F32(_, whole) => task.run(&self.device, whole),
            Ready::F64(_, whole) => task.run(&self.device, whole),
        });
        match found {
            // P2P alone takes less room.
            Err(CudaError::TooLarge(why)) => {
                self.whole = None;
                Ok(Err(why))
            }
            found => Ok(found.map_err(BackendError::from)?),
        }
    }

    /// Compiles the kernels and sends tables, unless they are there.
    fn prepare(&mut self, options: &FmmOptions) -> Result<(), CudaError> {
        let (order, precision) = (options.order, options.precision);
        let is_there = match &self.whole {
            Some(Ready::F32(o, _)) => *o == order && precision == Precision::F32,
            Some(Ready::F64(o, _)) => *o == order && precision == Precision::F64,
            None => false,
        };
        if is_there {
            return Ok(());
        }
        self.whole = None;
        let units = Units {
            potential: self.units.units.potential,
            gradient: self.units.units.gradient,
            length: self.units.length,
        };
        let (device, kernel) = (&mut self.device, &self.kernel);
        self.whole = Some(match precision {
            Precision::F32 => Ready::F32(order, Whole::new(device, kernel, order, units)?),
            Precision::F64 => Ready::F64(order, Whole::new(device, kernel, order, units)?),
        });
        Ok(())
    }
}

fn real(precision: Precision) -> Real {
    if precision == Precision::F32 { Real::F32 } else { Real::F64 }
}

struct Task<'a> {
    name: &'a str,
    columns: Columns<'a>,
    charges: &'a [f64],
    options: &'a FmmOptions,
    leaf: usize,
}

impl Task<'_> {
    fn run<T: Number>(&self, device: &Device, whole: &mut Whole<T>) -> Result<Answer, CudaError> {
        let start = Instant::now();
        whole.send(device, self.columns, self.charges)?;
        let sent = start.elapsed().as_secs_f64();
        let run = match whole.run(device, self.leaf, self.options.eps)? {
            Outcome::Done(run) => run,
            Outcome::Unfit(why) => return Ok(Err(why)),
        };
        let back = Instant::now();
        let values = whole.fetch(device)?;
        let field = field(&run, &values);
        let fetched = back.elapsed().as_secs_f64();
        let times = OnCard { sent, computed: run.total, fetched };
        Ok(Ok(Solution { field, stats: self.stats(&run, times, start.elapsed().as_secs_f64()) }))
    }

    fn stats(&self, run: &Run, times: OnCard, total: f64) -> Stats {
        let of = |name: &str| STAGES.iter().zip(run.seconds).filter(|s| *s.0 == name).map(|s| s.1).sum::<f64>();
        let seconds = Seconds {
            tree: of("box") + of("sort"),
            p2m: of("P2M"),
            m2m: of("M2M"),
            m2l: of("M2L"),
            l2l: of("L2L"),
            l2p: of("L2P"),
            p2p: of("P2P"),
            total,
            ..Seconds::default()
        };
        let pairs = Pairs { p2p: run.status.pairs, m2l: m2l_pairs(run.depth), ..Pairs::default() };
        Stats {
            backend: self.name.to_string(),
            n: self.charges.len(),
            order: self.options.order,
            theta: self.options.theta,
            leaf: self.leaf,
            levels: run.depth as usize + 1,
            seconds,
            on_card: Some(times),
            pairs,
            streamed: PerKernel { p2p: pairs.p2p, m2l: 0 },
            recomputed: run.status.again,
            close_pairs: run.status.close.div_ceil(2),
            has_gradient: true,
            ..Stats::default()
        }
    }
}

/// Pairs of cells that M2L goes over in a tree of one depth: on each level, pairs whose parents are near, less those that are
/// near themselves.
fn m2l_pairs(depth: u32) -> u64 {
    let near = |level: u32| (3 * (1u64 << level) - 2).pow(3);
    (2..=depth.min(DEEPEST)).map(|level| 64 * near(level - 1) - near(level)).sum()
}

/// Results in the user's units.
fn field<T: Number>(run: &Run, values: &[T]) -> Field {
    let column = |a: usize| {
        let (unit, power) = run.map.wide(a, 1.0);
        let factor = unit * 2f64.powi(power + run.exponent);
        values.par_chunks_exact(4).map(|v| v[a].f64() * factor).collect::<Vec<f64>>()
    };
    Field { potential: column(0), gradient: Some([1, 2, 3].map(column)), hessian: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::random::{Charge, Distribution, generate};
    use crate::fmm::Plan;

    #[test]
    fn pairs_of_cells_are_those_of_a_full_tree() {
        // So many particles that no cell down to the third level is empty, nor one there has more than 80.
        let particles = generate(20_000, Distribution::Uniform, Charge::Random, 1);
        let options = FmmOptions { basis: Basis::Solid, leaf: 80, ..FmmOptions::default() };
        let plan = Plan::new(particles.columns(), &options).expect("good options");
        assert_eq!(plan.tree.levels.len(), 4);
        assert_eq!(plan.pairs.m2l, m2l_pairs(3));
        assert_eq!((m2l_pairs(0), m2l_pairs(1)), (0, 0));
    }
}
