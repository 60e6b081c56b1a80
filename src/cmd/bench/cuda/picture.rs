//! The seconds of FMMs by their number of particles, as a picture with logarithmic axes.

use super::fmm::Row;
use crate::cmd::explore::picture::{Log, escaped};
use std::fmt::Write;

const PANEL: (f64, f64) = (560.0, 360.0);
const LEFT: f64 = 80.0;
const TOP: f64 = 60.0;

/// A line of the picture: what it is, its colour, and its seconds.
type Line = (&'static str, &'static str, fn(&Row) -> f64);

const LINES: [Line; 4] = [
    ("direct summation on the GPU", "#a0522d", |r| r.direct_seconds),
    ("FMM on the GPU", "#2f6f9f", |r| r.gpu_seconds),
    ("FMM, P2P on the GPU", "#7a5aa0", |r| r.mixed_seconds),
    ("FMM on the CPU", "#4d8f3a", |r| r.cpu_seconds),
];

/// The whole picture.
pub fn svg(device: &str, rows: &[Row]) -> String {
    let (width, height) = (LEFT + PANEL.0 + 240.0, TOP + PANEL.1 + 60.0);
    let (right, bottom) = (LEFT + PANEL.0, TOP + PANEL.1);
    let x = Log::around(rows.iter().map(|r| r.n as f64), LEFT, right);
    let seconds = LINES.iter().flat_map(|(_, _, of)| rows.iter().map(of));
    let y = Log::around(seconds, bottom, TOP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"15\">{}: seconds from particles to field</text>\n\
         <rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999\"/>\n",
        escaped(device),
        PANEL.0,
        PANEL.1
    );
    for tick in x.ticks() {
        let at = x.at(tick);
        let _ = writeln!(out, "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#eee\"/>");
        let _ = writeln!(out, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{tick:.0e}</text>", bottom + 18.0);
    }
    for tick in y.ticks() {
        let at = y.at(tick);
        let _ = writeln!(out, "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#eee\"/>");
        let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick:.0e}</text>", LEFT - 8.0, at + 4.0);
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">particles</text>",
        (LEFT + right) / 2.0,
        bottom + 42.0
    );
    for (k, (name, colour, of)) in LINES.iter().enumerate() {
        let points: Vec<String> = rows.iter().map(|r| format!("{:.1},{:.1}", x.at(r.n as f64), y.at(of(r)))).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        let at = TOP + 20.0 + 20.0 * k as f64;
        let _ = writeln!(out, "<text x=\"{}\" y=\"{at}\" fill=\"{colour}\">{name}</text>", right + 14.0);
    }
    out + "</svg>\n"
}
