//! Bars in groups: a group for each category, in it a bar for each series.

use super::axis::{Axis, Scale, label};
use super::{ALONE, Legend, escaped, grid, head, names};
use std::fmt::Write;

pub struct Bars {
    pub title: String,
    /// One line below the title.
    pub note: String,
    pub y: Axis,
    /// The names below the groups.
    pub categories: Vec<String>,
    pub series: Vec<BarSeries>,
}

/// The name, the colour and the bars of a series, some of which may be absent.
pub type BarSeries = (String, usize, Vec<Option<f64>>);

impl Bars {
    /// The figure.
    pub fn svg(&self) -> String {
        let bottom = ALONE.bottom();
        let values = || self.series.iter().flat_map(|s| s.2.iter().flatten().copied());
        let y = Scale::linear(values().chain([0.0]), bottom, ALONE.top);
        let mut out = head(&self.title, &self.note, self.series.len());
        grid(&mut out, &ALONE, &y, self.y.unit);
        names(&mut out, &ALONE, "", &self.y.name);
        let group = ALONE.width / self.categories.len().max(1) as f64;
        let width = 0.84 * group / self.series.len().max(1) as f64;
        for (k, category) in self.categories.iter().enumerate() {
            let left = ALONE.left + group * k as f64;
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" class=\"ink\">{}</text>",
                left + group / 2.0,
                bottom + 18.0,
                escaped(category)
            );
            for (at, (name, colour, bars)) in self.series.iter().enumerate() {
                let Some(value) = bars.get(k).copied().flatten().filter(|v| v.is_finite()) else { continue };
                let (x, top) = (left + 0.08 * group + width * at as f64, y.at(value));
                let about = escaped(&format!("{name}, {category}: {}", label(value, self.y.unit)));
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"f{colour}\"><title>{about}</title></rect>",
                    width - 1.0,
                    bottom - top
                );
            }
        }
        let mut legend = Legend::default();
        self.series.iter().for_each(|(name, colour, _)| legend.bar(&mut out, *colour, name));
        out + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Unit;

    #[test]
    fn bars_stand_on_the_axis_with_heights_in_proportion() {
        let bars = Bars {
            title: "Shares".into(),
            note: String::new(),
            y: Axis::linear("share").of(Unit::Percent),
            categories: vec!["P2P".into(), "sort".into()],
            series: vec![("ours".into(), 0, vec![Some(40.0), Some(20.0)]), ("paper".into(), 1, vec![None, Some(10.0)])],
        };
        let svg = bars.svg();
        let of = |line: &str, name: &str| -> f64 {
            line.split(&format!(" {name}=\"")).nth(1).and_then(|t| t.split('"').next()?.parse().ok()).expect("a number")
        };
        let found: Vec<&str> = svg.lines().filter(|l| l.contains("<title>")).collect();
        assert_eq!(found.len(), 3, "{svg}");
        let heights: Vec<f64> = found.iter().map(|l| of(l, "height")).collect();
        assert!((heights[0] - 2.0 * heights[1]).abs() < 0.3 && (heights[1] - 2.0 * heights[2]).abs() < 0.3, "{svg}");
        assert!(found.iter().all(|l| (of(l, "y") + of(l, "height") - ALONE.bottom()).abs() < 0.2), "{svg}");
        assert!(found[2].contains("paper, sort: 10 %"), "{svg}");
    }
}
