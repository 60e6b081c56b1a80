//! An exploration as text.

use super::Axis;
use super::point::{Failed, Point};
use hdl::Flags;
use std::fmt::Write;

/// One line a point; `*` marks the front, `=` the file as it is.
pub fn table(axes: &[Axis], points: &[Point]) -> String {
    let mut header = vec![String::new()];
    header.extend(axes.iter().map(|a| a.name.clone()));
    header.extend(["register bits", "multiplier bits", "table bits", "cycles"].map(String::from));
    for e in &points[0].of.errors {
        header.extend([format!("{} L2", e.output), format!("{} max", e.output)]);
    }
    header.push("flags".into());
    let mut rows = vec![header];
    for p in points {
        let mark = [(p.front, '*'), (p.as_written, '=')];
        let mut row: Vec<String> = vec![mark.iter().filter(|m| m.0).map(|m| m.1).collect()];
        row.extend(p.written.iter().cloned());
        row.extend(p.of.costs().map(|c| c.to_string()));
        row.push(p.of.cycles.to_string());
        row.extend(p.of.errors.iter().flat_map(|e| [e.rel_l2, e.rel_max]).map(|x| format!("{x:.2e}")));
        row.push(p.of.flags.join(" "));
        rows.push(row);
    }
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (c, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let left = c == 0 || c + 1 == row.len();
            let _ = if left { write!(line, "{cell:width$}  ") } else { write!(line, "{cell:>width$}  ") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text += "\n* on the Pareto front: no point is as exact and costs less; L2 and max are relative to the real meaning in f64\n";
    text
}

/// A warning that the reference itself raised flags.
pub fn flagged(flags: Flags) -> String {
    let names = flags.names().join(", ");
    format!(
        "the file's own kernel raises {names} on these data, also in f64: the errors above are measured against that\n"
    )
}

/// One line a point that could not be run.
pub fn failures(axes: &[Axis], failed: &[Failed]) -> String {
    let mut text = String::from("not possible:\n");
    for f in failed {
        let names = axes.iter().zip(&f.numbers).map(|(a, n)| format!("{} {n}", a.name));
        let _ = writeln!(text, "  {}: {}", names.collect::<Vec<_>>().join(", "), f.reason);
    }
    text
}
