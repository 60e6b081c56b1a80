//! Columns between two values of the horizontal axis: a histogram.

use super::axis::{Axis, Scale, label};
use super::{WITHIN, columns, escaped, grid, names, opened_within};
use std::fmt::Write;

/// A histogram.
pub struct Columns {
    pub title: String,
    pub x: Axis,
    /// From 0.
    pub y: Axis,
    pub colour: usize,
    pub bins: Vec<Bin>,
}

/// A column: its ends, and its height.
#[derive(Clone, Copy)]
pub struct Bin {
    pub from: f64,
    pub to: f64,
    pub height: f64,
}

impl Columns {
    /// The figure of a page.
    pub fn within(&self) -> String {
        let ends = self.bins.iter().flat_map(|bin| [bin.from, bin.to]);
        let x = Scale::around(self.x.is_log, ends, WITHIN.left, WITHIN.right());
        let heights = self.bins.iter().map(|bin| bin.height).chain([0.0]);
        let y = Scale::around(false, heights, WITHIN.bottom(), WITHIN.top);
        let mut out = opened_within(&WITHIN, &self.title);
        grid(&mut out, &WITHIN, &y, self.y.unit);
        columns(&mut out, &WITHIN, [&x, &y], self.x.unit);
        names(&mut out, &WITHIN, &self.x.name, &self.y.name);
        for bin in self.bins.iter().filter(|bin| x.shows(bin.from) && x.shows(bin.to)) {
            let (left, right, top) = (x.at(bin.from), x.at(bin.to), y.at(bin.height));
            let (from, to) = (label(bin.from, self.x.unit), label(bin.to, self.x.unit));
            let about = escaped(&format!("{from} to {to}: {}", label(bin.height, self.y.unit)));
            let _ = writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"f{}\"><title>{about}</title></rect>",
                (right - left - 1.0).max(0.5),
                y.from - top,
                self.colour
            );
        }
        out + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_side_by_side_with_heights_in_proportion() {
        let bin = |k: i32, height: f64| Bin { from: 10f64.powi(k), to: 10f64.powi(k + 1), height };
        let (x, y) = (Axis::log("error"), Axis::linear("targets"));
        let bins = vec![bin(-4, 10.0), bin(-3, 5.0), bin(-2, 0.0)];
        let svg = Columns { title: "a \"b\" < c".into(), x, y, colour: 1, bins }.within();
        let of = |line: &str, name: &str| -> f64 {
            line.split(&format!(" {name}=\"")).nth(1).and_then(|t| t.split('"').next()?.parse().ok()).expect("a number")
        };
        let found: Vec<&str> = svg.lines().filter(|l| l.contains("<title>")).collect();
        let [heights, left, widths] =
            ["height", "x", "width"].map(|name| found.iter().map(|l| of(l, name)).collect::<Vec<f64>>());
        assert!((heights[0] - 2.0 * heights[1]).abs() < 0.3 && heights[2] == 0.0, "{svg}");
        assert!((left[0] + widths[0] + 1.0 - left[1]).abs() < 0.3 && (widths[0] - widths[1]).abs() < 0.3, "{svg}");
        assert!(svg.contains("aria-label=\"a &quot;b&quot; &lt; c\"") && found[1].contains("1e-3 to 0.01: 5"), "{svg}");
    }
}
