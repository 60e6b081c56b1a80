//! Spans of time, a row each: what ran when, and beside what.

use super::axis::{Axis, Scale, Unit, label};
use super::{Frame, WITHIN, columns, escaped, names, opened_within};
use std::fmt::Write;

/// Height of a row in pixels.
const ROW: f64 = 24.0;

pub struct Spans {
    pub title: String,
    /// From 0.
    pub x: Axis,
    pub rows: Vec<Span>,
}

/// A row.
pub struct Span {
    pub name: String,
    /// Words of its mark, before its time.
    pub about: String,
    pub colour: usize,
    pub start: f64,
    pub end: f64,
}

impl Spans {
    /// The figure of a page.
    pub fn within(&self) -> String {
        let frame = Frame { height: ROW * self.rows.len().max(1) as f64, ..WITHIN };
        let ends = self.rows.iter().map(|row| row.end).chain([0.0]);
        let x = Scale::around(false, ends, frame.left, frame.right());
        let y = Scale { is_log: false, low: 0.0, high: 1.0, from: frame.bottom(), to: frame.top };
        let mut out = opened_within(&frame, &self.title);
        columns(&mut out, &frame, [&x, &y], self.x.unit);
        names(&mut out, &frame, &self.x.name, "");
        for (k, row) in self.rows.iter().enumerate() {
            let top = frame.top + ROW * k as f64;
            let (left, right) = (x.at(row.start), x.at(row.end));
            let seconds = [row.start, row.end, row.end - row.start].map(|s| label(s, Unit::Seconds));
            let about = escaped(&format!("{}: {} to {}, {}", row.about, seconds[0], seconds[1], seconds[2]));
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" class=\"ink\">{}</text>\n\
                 <rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"f{}\"><title>{about}</title></rect>",
                frame.left - 8.0,
                top + ROW / 2.0 + 4.5,
                escaped(&row.name),
                top + 3.0,
                (right - left).max(1.5),
                ROW - 6.0,
                row.colour
            );
        }
        out + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_in_their_order_and_as_long_as_they_took() {
        let row =
            |name: &str, start: f64, end: f64| Span { name: name.into(), about: name.into(), colour: 0, start, end };
        let rows = vec![row("tree", 0.0, 0.02), row("P2M", 0.02, 0.03), row("P2P", 0.02, 0.06)];
        let svg = Spans { title: "time".into(), x: Axis::linear("time").of(Unit::Seconds), rows }.within();
        let of = |line: &str, name: &str| -> f64 {
            line.split(&format!(" {name}=\"")).nth(1).and_then(|t| t.split('"').next()?.parse().ok()).expect("a number")
        };
        let found: Vec<&str> = svg.lines().filter(|l| l.contains("<title>")).collect();
        let [left, widths, tops] =
            ["x", "width", "y"].map(|name| found.iter().map(|l| of(l, name)).collect::<Vec<f64>>());
        assert!((left[0] + widths[0] - left[1]).abs() < 0.2 && left[1] == left[2], "{svg}");
        assert!((widths[0] - 2.0 * widths[1]).abs() < 0.3 && (widths[2] - 4.0 * widths[1]).abs() < 0.6, "{svg}");
        assert!(tops[0] < tops[1] && tops[1] < tops[2] && found[1].contains("P2M: 20 ms to 30 ms, 10 ms"), "{svg}");
    }
}
