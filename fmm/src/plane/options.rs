//! The options of an FMM in two dimensions, and their checks.

use super::{Columns, Geometry, Strengths};
use crate::arith::scale::{exponent, ldexp};
use crate::octree::field::beyond;
use crate::octree::{FmmError, MOST_PARTICLES, Precision};
use crate::parallel::prelude::*;
use crate::stages::Cancel;

/// The interaction of two points z_i (target) and z_j (source) of the complex plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kernel {
    /// Gamma_j / (z_j - z_i), with complex strengths: equation (5.1) of the paper.
    #[default]
    Harmonic,
    /// q_j log |z_i - z_j| and its gradient with respect to z_i, with real strengths. Complex ones are two sets of real ones.
    Log,
}

impl Kernel {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Harmonic => "harmonic",
            Kernel::Log => "log",
        }
    }
}

/// The highest order of expansions.
pub const MOST_ORDER: usize = 60;

/// The range of theta: below it, nearly all pairs of boxes are near; above it, expansions hardly converge.
const THETA: std::ops::RangeInclusive<f64> = 0.05..=0.95;

/// The options of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    pub kernel: Kernel,
    /// p of (2.2) and (2.3), 1 to [`MOST_ORDER`].
    pub order: usize,
    /// Theta of the criterion (2.1).
    pub theta: f64,
    /// N_d of (5.2), the wanted number of points of a finest box.
    pub leaf: usize,
    /// Arithmetic of expansions.
    pub precision: Precision,
    /// Ends runs between two stages.
    pub cancel: Cancel,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            kernel: Kernel::Harmonic,
            order: 17,
            theta: 0.5,
            leaf: 35,
            precision: Precision::F64,
            cancel: Cancel::default(),
        }
    }
}

impl Options {
    /// Says which option is out of its range.
    pub fn check(&self) -> Result<(), FmmError> {
        let wrong = |what: String| Err(FmmError::Option(what));
        if !(1..=MOST_ORDER).contains(&self.order) {
            return wrong(format!("the order must be 1 to {MOST_ORDER}, not {}", self.order));
        }
        if !THETA.contains(&self.theta) {
            return wrong(format!("theta must be {} to {}, not {:?}", THETA.start(), THETA.end(), self.theta));
        }
        if self.leaf == 0 {
            return wrong("a box must be allowed at least one point".into());
        }
        Ok(())
    }
}

/// Real strengths.
impl<'a> From<&'a [f64]> for Strengths<'a> {
    fn from(re: &'a [f64]) -> Strengths<'a> {
        Strengths { re, im: None }
    }
}

/// Says what is wrong with points.
pub fn check_positions(geometry: Geometry) -> Result<(), FmmError> {
    let wrong = |what: String| Err(FmmError::Range(what));
    for [x, y] in [Some(geometry.sources), geometry.targets].into_iter().flatten() {
        if x.len() != y.len() {
            return wrong(format!("there are {} coordinates x but {} coordinates y", x.len(), y.len()));
        }
    }
    let all = geometry.sources[0].len() + geometry.targets.map_or(0, |t| t[0].len());
    if all > MOST_PARTICLES {
        return wrong(format!("at most {MOST_PARTICLES} points can be sorted, not {all}"));
    }
    let finite = |columns: Columns| beyond(&columns).is_none();
    if !finite(geometry.sources) || !geometry.targets.is_none_or(finite) {
        return wrong("coordinates and strengths must be finite numbers".into());
    }
    Ok(())
}

/// The least strength in units of the largest one.
const LEAST_STRENGTH: f64 = 1e-270;

/// Says what is wrong with the strengths of a run.
pub fn check_strengths(n: usize, kernel: Kernel, strengths: &Strengths) -> Result<(), FmmError> {
    let wrong = |what: String| Err(FmmError::Range(what));
    let columns = || [Some(strengths.re), strengths.im].into_iter().flatten();
    if let Some(column) = columns().find(|c| c.len() != n) {
        return wrong(format!("{} strengths were given for {n} sources", column.len()));
    }
    if kernel == Kernel::Log && strengths.im.is_some() {
        return Err(FmmError::Option("complex strengths of the kernel log are two runs with real ones".into()));
    }
    if beyond(&columns().collect::<Vec<_>>()).is_some() {
        return wrong("coordinates and strengths must be finite numbers".into());
    }
    let one = |q: &f64| if *q == 0.0 { [0.0, f64::MAX] } else { [q.abs(); 2] };
    let both = |a: [f64; 2], b: [f64; 2]| [a[0].max(b[0]), a[1].min(b[1])];
    let of = |c: &[f64]| c.par_iter().map(one).reduce(|| [0.0, f64::MAX], both);
    let [largest, least] = columns().map(of).fold([0.0, f64::MAX], both);
    if least < largest && ldexp(least, -exponent(largest)) < LEAST_STRENGTH {
        return wrong(format!(
            "strengths as small as {least:e} are lost beside one of {largest:e}, since f64 holds numbers that are up to 1e270 \
             apart; leave them out, or give 0 for them"
        ));
    }
    Ok(())
}
