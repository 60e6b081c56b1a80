//! Extents, a row each, within larger ones: which part of what a format holds its values take.

use super::axis::{Axis, Scale, Unit, label};
use super::{Frame, WITHIN, columns, escaped, names, opened_within};
use std::fmt::Write;

/// Height of a row in pixels.
const ROW: f64 = 22.0;

/// Room beside the outermost extents within which the larger ones are shown, in units of the axis.
const BESIDE: f64 = 16.0;

pub struct Extents {
    pub title: String,
    pub x: Axis,
    pub rows: Vec<Extent>,
}

/// A row.
pub struct Extent {
    pub name: String,
    /// Words behind the name in the mark.
    pub about: String,
    pub colour: usize,
    /// None where there is nothing to show.
    pub own: Option<(f64, f64)>,
    pub within: (f64, f64),
}

impl Extents {
    /// The figure of a page.
    pub fn within(&self) -> String {
        let frame = Frame { left: 110.0, width: 360.0, height: ROW * self.rows.len().max(1) as f64, ..WITHIN };
        let own = || self.rows.iter().filter_map(|row| row.own);
        let (low, high) = own().fold((0.0f64, 0.0f64), |(l, h), (a, b)| (l.min(a), h.max(b)));
        let (low, high) = (low - BESIDE, high + BESIDE);
        let x = Scale { is_log: false, low, high, from: frame.left, to: frame.right() };
        let y = Scale { is_log: false, low: 0.0, high: 1.0, from: frame.bottom(), to: frame.top };
        let mut out = opened_within(&frame, &self.title);
        columns(&mut out, &frame, [&x, &y], Unit::Plain);
        names(&mut out, &frame, &self.x.name, "");
        let at = |v: f64| x.at(v.clamp(low, high));
        for (k, row) in self.rows.iter().enumerate() {
            let middle = frame.top + ROW * (k as f64 + 0.5);
            let name: String = row.name.chars().take(14).collect();
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" class=\"ink\">{}</text>",
                frame.left - 8.0,
                middle + 4.5,
                escaped(&name)
            );
            let _ = writeln!(
                out,
                "<path d=\"M{:.1} {middle:.1}H{:.1}\" class=\"frame\"/>",
                at(row.within.0),
                at(row.within.1)
            );
            // An end of the format that the figure shows.
            for end in [row.within.0, row.within.1].iter().filter(|end| (low..=high).contains(*end)) {
                let _ = writeln!(out, "<path d=\"M{:.1} {:.1}v12\" class=\"frame\"/>", x.at(*end), middle - 6.0);
            }
            let Some((from, to)) = row.own else { continue };
            let powers = [from, to, row.within.0, row.within.1].map(|v| label(v, Unit::Plain));
            let about = format!(
                "{} {}: values 2^{} to 2^{}, format 2^{} to 2^{}",
                row.name, row.about, powers[0], powers[1], powers[2], powers[3]
            );
            let _ = writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"10\" rx=\"2\" class=\"f{}\"><title>{}</title></rect>",
                at(from) - 1.0,
                middle - 5.0,
                (at(to) - at(from)).max(1.0) + 2.0,
                row.colour,
                escaped(&about)
            );
        }
        out + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_beyond_all_values_is_not_shown() {
        let row = |name: &str, own| Extent {
            name: name.into(),
            about: "float".into(),
            colour: 0,
            own,
            within: (-1022.0, 20.0),
        };
        let rows = vec![row("a", Some((-3.0, 4.0))), row("b", None)];
        let svg = Extents { title: "t".into(), x: Axis::linear("power of two"), rows }.within();
        // One value, and of each format the end that is near.
        assert_eq!((svg.matches("<title>").count(), svg.matches("v12\"").count()), (1, 2), "{svg}");
        assert!(svg.contains("a float: values 2^-3 to 2^4, format 2^-1022 to 2^20") && !svg.contains("NaN"), "{svg}");
    }
}
