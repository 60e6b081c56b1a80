//! The results in the paper's text (Goude & Engblom, "Adaptive fast multipole methods on the GPU"), and those of our runs. Its figures
//! have more, which cannot be read from the text.

use super::draw::{best_leaf, break_even, largest, speed_up};
use super::measured::{Measured, Row, Side, What};
use gpu::cuda::plane::STAGES;

/// Table 1: percents of the total time on the paper's GPU, copies included. Those below 1 are absent.
pub const SHARES: [(&str, Option<f64>); 9] = [
    ("P2P", Some(43.0)),
    ("sort", Some(30.0)),
    ("M2L", Some(11.0)),
    ("P2M", Some(5.0)),
    ("L2P", Some(2.0)),
    ("connect", Some(1.0)),
    ("M2M", None),
    ("L2L", None),
    ("other", Some(8.0)),
];

/// Section 5.1 and Fig. 3: the best N_d.
pub const BEST_GPU: f64 = 45.0;
pub const BEST_CPU: f64 = 35.0;

/// Section 5.2 and Fig. 4: the order from which on a block less fits on a multiprocessor for M2L.
pub const FEWER_BLOCKS: f64 = 42.0;

/// Section 5.3 and Fig. 6: points from which on the FMM is quicker on the GPU.
pub const BREAK_EVEN: f64 = 3500.0;

/// Section 5.3 and Fig. 7: speed-ups for many points, of the FMM and of direct summation.
pub const FMM: f64 = 11.0;
pub const DIRECT: f64 = 15.0;

/// A value of the text, where it stands, and ours on each device.
pub struct Value {
    pub what: &'static str,
    pub place: &'static str,
    pub paper: &'static str,
    /// Nothing on devices that the value is not of, or that did not run enough.
    pub ours: Vec<Option<f64>>,
}

/// All values with ours of each side.
pub fn values(measured: &Measured) -> Vec<Value> {
    let sides = &measured.sides;
    let value = |what, place, paper, of: &dyn Fn(&Side) -> Option<f64>| {
        let ours = sides.iter().map(|side| of(side).filter(|x| x.is_finite())).collect();
        Value { what, place, paper, ours }
    };
    let on =
        |is_gpu: bool, of: fn(&Side) -> Option<f64>| move |side: &Side| of(side).filter(|_| side.is_gpu() == is_gpu);
    // The paper compares with one thread.
    let base = sides.first().filter(|side| !side.is_gpu());
    let over = |what: What| {
        move |side: &Side| {
            let base = base.filter(|base| !std::ptr::eq(*base, side))?;
            largest(&speed_up(base, side, what, Row::total))
        }
    };
    vec![
        value("best N_d on the GPU", "5.1, Fig. 3", "45", &on(true, best_leaf)),
        value("best N_d on the CPU", "5.1, Fig. 3", "35", &on(false, best_leaf)),
        value("time of sorting beside M2L", "5.1, Table 1", "about 3", &on(true, sort_by_m2l)),
        value("share of P2P from 20 to 64 points a box, least, %", "5.1", "25", &on(true, |s| Some(p2p_shares(s)?[0]))),
        value(
            "share of P2P from 20 to 64 points a box, greatest, %",
            "5.1",
            "55",
            &on(true, |s| Some(p2p_shares(s)?[1])),
        ),
        value("largest relative error with p = 17", "5.1, (5.3)", "1e-6", &|s| Some(s.of(What::Shares).next()?.error)),
        value(
            "points from which on the FMM is quicker than direct summation",
            "5.3, Fig. 6",
            "3500 (GPU)",
            &break_even,
        ),
        value("speed-up of the FMM for many points, copies included", "5.3, Fig. 7", "11", &over(What::Size)),
        value("speed-up of direct summation for many points", "5.3, Fig. 7", "15", &over(What::Direct)),
    ]
}

fn sort_by_m2l(side: &Side) -> Option<f64> {
    let row = side.of(What::Shares).next()?;
    Some(row.stage("sort") / row.stage("M2L"))
}

/// The least and the greatest share of P2P of the stages, while there are that many levels.
fn p2p_shares(side: &Side) -> Option<[f64; 2]> {
    let of = |row: &Row| 100.0 * row.stage("P2P") / row.stages.iter().sum::<f64>();
    let shares = side.of(What::Boxes).filter(|r| (20..=64).contains(&r.case.leaf)).map(of);
    let ends = shares.fold([f64::INFINITY, 0f64], |[low, high], s| [low.min(s), high.max(s)]);
    (ends[0] <= ends[1]).then_some(ends)
}

/// Percents of the total time, in the order of [`SHARES`], with copies or without them.
pub fn shares(row: &Row, with_copies: bool) -> Vec<f64> {
    let stages: f64 = row.stages.iter().sum();
    // Stages that are timed one by one run beside each other otherwise, and take less together.
    let kernels = stages.max(row.time());
    let all = if with_copies { kernels + row.copies } else { kernels };
    let of = |name: &str| if STAGES.contains(&name) { row.stage(name) } else { all - stages };
    SHARES.iter().map(|(name, _)| 100.0 * of(name) / all).collect()
}
