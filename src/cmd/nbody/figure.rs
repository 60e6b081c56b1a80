//! Figures of a run.

use super::Args;
use super::track::{Noted, Track};
use pairforge::nbody::Conserved;
use terminal::chart::{Axis, Chart, Series, Style};

/// The distance of a sum that is kept from that of the start.
type Drift = fn(&Conserved, &Conserved) -> f64;

/// Points of a curve: more are not told apart.
const MOST: usize = 2000;

/// The parts by which energy, momentum and angular momentum have changed.
pub fn energies(track: &Track, args: &Args) -> String {
    let curves: [(&str, Drift); 3] = [
        ("energy", |first, now| (now.energy() - first.energy()) / first.energy()),
        ("momentum", |first, now| distance(first.momentum, now.momentum)),
        ("angular momentum", |first, now| distance(first.angular, now.angular)),
    ];
    let first = &track.log[0].sums;
    let series = curves.into_iter().enumerate().map(|(colour, (name, of))| {
        let points = thinned(&track.log).map(|now| (now.sums.time, of(first, &now.sums).abs())).collect();
        Series::new(name, colour, Style::Curve, points)
    });
    let note = format!("{} bodies, steps of {}, on {}", track.len(), args.step, track.backend);
    let chart = Chart {
        title: "Change of what should be conserved".into(),
        note: note + "; energy relative to itself, the others in units of the run",
        x: Axis::linear("time"),
        y: Axis::log("magnitude of the change"),
        series: series.collect(),
        rules: Vec::new(),
    };
    chart.svg()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Some rows, evenly spread, with the last one.
pub fn thinned(log: &[Noted]) -> impl Iterator<Item = &Noted> {
    let stride = log.len().div_ceil(MOST).max(1);
    log.iter().rev().step_by(stride).rev()
}
