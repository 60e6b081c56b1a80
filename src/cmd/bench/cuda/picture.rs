//! The seconds of FMMs by their number of particles, as a figure with logarithmic axes.

use super::fmm::Row;
use terminal::chart::{Axis, Chart, Series, Style, Unit};

/// A line of the figure: what it is, and its seconds.
type Line = (&'static str, fn(&Row) -> f64);

const LINES: [Line; 4] = [
    ("direct summation on the GPU", |r| r.direct_seconds),
    ("FMM on the GPU", |r| r.gpu_seconds),
    ("FMM, P2P on the GPU", |r| r.mixed_seconds),
    ("FMM on the CPU", |r| r.cpu_seconds),
];

/// The whole figure.
pub fn svg(device: &str, rows: &[Row]) -> String {
    let line = |(k, (name, of)): (usize, &Line)| {
        Series::new(*name, k, Style::Line, rows.iter().map(|r| (r.n as f64, of(r))).collect())
    };
    Chart {
        title: format!("{device}: seconds from particles to field"),
        note: String::new(),
        x: Axis::log("particles"),
        y: Axis::log("time").of(Unit::Seconds),
        series: LINES.iter().enumerate().map(line).collect(),
        rules: Vec::new(),
    }
    .svg()
}
