//! The work of a stage, as the reports have it.

use super::rounding::{Rounded, Rounding};
use crate::arith::wide::WideValues;
use serde::Serialize;

/// Whether pairs at distance 0 act, a particle and itself among them, by a P2P kernel that is not 1/r and not 0 there (RULES H1). Pairs
/// of 1/r never do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coincident {
    #[default]
    Include,
    Exclude,
}

/// 32-bit words of records over the link to an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Words {
    pub j: u64,
    pub i: u64,
    pub result: u64,
}

/// The sticky flags of results (RULES N6), in the order of the bits of [`Work::flags`].
pub const FLAGS: [&str; 5] = ["overflow", "underflow", "saturation", "invalid", "wrap"];

/// The names of the flags that are set.
pub fn flag_names(bits: u8) -> Vec<&'static str> {
    FLAGS.iter().enumerate().filter(|(k, _)| bits >> k & 1 == 1).map(|(_, name)| *name).collect()
}

/// The work done by one stage.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub streamed: u64,
    pub recomputed: u64,
    /// Pairs at different places that are too close for the arithmetic of P2P, each counted once for each of its targets.
    pub close: u64,
    /// Particles that share their integer coordinates with one at another place.
    pub shared: u64,
    /// Sorted targets with terms that are not in the sums, in the user's units; in the plane, the first three values are in use.
    pub wide: Vec<(usize, WideValues)>,
    /// Part that P2P alone leaves out of a kernel that is not 0 between cells that are not near, where it is known.
    pub left_out: Option<Rounding>,
    /// Where a kernel is not 0 at distance 0, whether such pairs acted.
    pub coincident: Option<Coincident>,
    /// Of some targets, by how much their near field is off since terms were rounded to the steps of outputs; and, once all stages are
    /// done, how that compares with their results.
    pub rounded: Vec<Rounded>,
    pub rounding: Rounding,
    /// Of all results, a bit for each of [`FLAGS`].
    pub flags: u8,
    pub cycles: Option<u64>,
    pub words: Words,
    pub pipelines: u32,
    /// Clocks from one pair to the next; 0 where there is no engine.
    pub ii: u32,
    pub has_gradient: bool,
}

impl Work {
    /// The work of a stage, summed over all sets of charges.
    pub fn sum(all: Vec<Work>) -> Work {
        let mut sum = Work::default();
        for work in all {
            sum.streamed = sum.streamed.saturating_add(work.streamed);
            sum.recomputed += work.recomputed;
            // Pairs of points are the same ones for each set.
            sum.close = sum.close.max(work.close);
            sum.shared = sum.shared.max(work.shared);
            sum.rounding = sum.rounding.join(work.rounding);
            sum.left_out = match (sum.left_out, work.left_out) {
                (Some(one), Some(other)) => Some(one.join(other)),
                (one, other) => one.or(other),
            };
            sum.coincident = sum.coincident.or(work.coincident);
            sum.flags |= work.flags;
            sum.cycles = sum.cycles.max(work.cycles.map(|cycles| cycles.saturating_add(sum.cycles.unwrap_or(0))));
            sum.words.j += work.words.j;
            sum.words.i += work.words.i;
            sum.words.result += work.words.result;
            sum.pipelines = work.pipelines;
            sum.ii = work.ii;
            sum.has_gradient |= work.has_gradient;
        }
        sum
    }

    /// Pairs over those that the pipelines could take in as many cycles.
    pub fn utilisation(&self) -> Option<f64> {
        let slots = self.cycles? as f64 * self.pipelines as f64;
        (slots > 0.0).then(|| self.streamed as f64 * self.ii.max(1) as f64 / slots)
    }
}
