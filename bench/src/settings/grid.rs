//! Runs of an FMM by every setting that meets an error, and by the one that is chosen for it.

use fmm::data::particles::Particles;
use fmm::expansion::basis::Basis;
use fmm::expansion::solid::m2l::M2lBy;
use fmm::octree::tune::cost::{Costs, Shape};
use fmm::octree::tune::{self, Free, Problem};
use fmm::octree::{FmmError, FmmOptions, Plan, Precision};

/// Squared offsets below which cells are near.
pub const NEAR2: [u64; 5] = [4, 5, 6, 8, 9];

/// Leaf sizes in those that the model of costs gives.
const LEAVES: [f64; 3] = [0.5, 1.0, 2.0];

/// A setting with the error that it has and its seconds of plan and run, the tables of its order among them.
pub struct Setting {
    pub options: FmmOptions,
    pub error: f64,
    pub seconds: f64,
}

impl Setting {
    /// In a few words.
    pub fn name(&self) -> String {
        let FmmOptions { order, lower_beyond, theta, leaf, enlarge, precision, .. } = self.options;
        let part = lower_beyond.map_or(String::new(), |d| format!(" beyond {d}"));
        let by = if self.options.has_waves() { "waves" } else { "matrices" };
        format!("{precision:?} theta {theta:.3} order {order}{part} by {by}, leaf {leaf}, root cell {enlarge:.3}")
    }
}

/// Particles, and an error of the gradient that they are to have.
pub struct Case<'a> {
    pub particles: &'a Particles,
    pub wanted: f64,
    pub repeat: u32,
}

impl Case<'_> {
    /// The setting that a wanted error takes by itself.
    pub fn chosen(&self) -> Result<Setting, FmmError> {
        let precision = tune::precision(self.wanted);
        let options = FmmOptions { basis: Basis::Solid, precision, ..FmmOptions::default() };
        let options = tune::start(&options, self.wanted);
        self.searched(&self.shaped(&options, 1.0), Free { theta: true, precision: true, leaf: true, enlarge: true })
    }

    /// The settings that meet the error, of every opening angle, precision, translation and leaf size: each with the lowest order that does.
    pub fn all(&self) -> Result<Vec<Setting>, FmmError> {
        let mut all = Vec::new();
        for near2 in NEAR2 {
            for m2l_by in [M2lBy::Cheapest, M2lBy::Matrices] {
                for precision in [Precision::F32, Precision::F64] {
                    let options = FmmOptions {
                        basis: Basis::Solid,
                        precision,
                        m2l_by,
                        theta: (near2 as f64).sqrt().recip(),
                        ..FmmOptions::default()
                    };
                    self.of_leaves(&tune::start(&options, self.wanted), &mut all)?;
                }
            }
        }
        Ok(all)
    }

    /// Adds those of one angle, precision and translation, if any meets the error.
    fn of_leaves(&self, options: &FmmOptions, all: &mut Vec<Setting>) -> Result<(), FmmError> {
        let Ok(found) = self.searched(&self.shaped(options, 1.0), Free::default()) else { return Ok(()) };
        // Without plane waves there is nothing to compare.
        let has_waves = FmmOptions { m2l_by: M2lBy::Cheapest, ..found.options.clone() }.has_waves();
        if options.m2l_by == M2lBy::Matrices && !has_waves {
            return Ok(());
        }
        for times in LEAVES {
            let options = self.shaped(&found.options, times);
            all.push(Setting { seconds: self.seconds(&options)?, options, error: found.error });
        }
        Ok(())
    }

    /// With a leaf size and root cell by the model of costs, or so many times as large leaves.
    fn shaped(&self, options: &FmmOptions, times: f64) -> FmmOptions {
        let Shape { leaf, enlarge } =
            tune::native_shape(&Costs::default(), self.particles.len(), options, times == 1.0);
        let leaf = ((leaf as f64 * times) as usize).max(8);
        FmmOptions { leaf, enlarge, ..options.clone() }
    }

    fn searched(&self, options: &FmmOptions, free: Free) -> Result<Setting, FmmError> {
        let problem = Problem {
            geometry: self.particles.columns().into(),
            sets: vec![self.particles.q[..].into()],
            hessian: false,
            p2p: None,
            near: None,
            seed: 1,
            is_promise: true,
            free,
            costs: &Costs::default(),
        };
        let tuned = tune::within(self.wanted, &problem, options, &mut [], &mut |_, _, _| {})?;
        let error = tuned.errors[0].gradient_rel_l2.unwrap_or(f64::NAN);
        let options = tuned.plan.options.clone();
        drop(tuned.plan);
        Ok(Setting { seconds: self.seconds(&options)?, options, error })
    }

    /// The least of some runs.
    fn seconds(&self, options: &FmmOptions) -> Result<f64, FmmError> {
        let mut least = f64::INFINITY;
        for _ in 0..self.repeat {
            let plan = Plan::new(self.particles.columns(), options)?;
            least = least.min(plan.solve(&self.particles.q, &mut [], &mut |_, _, _| {})?.stats.seconds.total);
        }
        Ok(least)
    }
}
