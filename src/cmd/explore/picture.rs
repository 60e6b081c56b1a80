//! An exploration as a figure: error against each cost, on logarithmic axes, with the front of each.

use super::Axis;
use super::point::Point;
use std::fmt::Write;
use terminal::chart::axis::Scale;
use terminal::chart::{escaped, opened};

/// Sides of a panel and what lies around it, in pixels.
const PANEL: (f64, f64) = (320.0, 320.0);
const LEFT: f64 = 80.0;
const GAP: f64 = 40.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 100.0;
/// Width of a digit of a label and height of its line, in pixels.
const DIGIT: (f64, f64) = (7.0, 12.0);

/// A cost or an error as a tick shows it.
fn tick(x: f64) -> String {
    match x {
        x if x >= 1e6 => format!("{}M", x / 1e6),
        x if x >= 1e3 => format!("{}k", x / 1e3),
        x if x >= 0.01 => format!("{}", (x * 1e6).round() / 1e6),
        _ => format!("{x:.0e}"),
    }
}

/// The whole figure.
pub fn svg(kernel: &str, axes: &[Axis], points: &[Point]) -> String {
    let names = ["register bits", "multiplier bits", "table bits"];
    let shown: Vec<usize> = (0..3).filter(|c| points.iter().all(|p| p.of.costs()[*c] > 0)).collect();
    let width = LEFT + shown.len().max(1) as f64 * (PANEL.0 + GAP);
    let height = TOP + PANEL.1 + BOTTOM;
    let mut out = opened(width, height);
    let varied: Vec<&str> = axes.iter().map(|a| a.name.as_str()).collect();
    let title = escaped(&format!("{kernel}: error against cost over {}", varied.join(" and ")));
    let _ =
        writeln!(out, "<text x=\"{LEFT}\" y=\"26\" font-size=\"16\" font-weight=\"bold\" class=\"ink\">{title}</text>");
    let outputs = points[0].of.errors.iter().map(|e| e.output.as_str()).collect::<Vec<_>>().join(", ");
    let measure = escaped(&format!("relative L2 error against f64, the largest of {outputs}"));
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"46\" class=\"soft\">{measure}</text>");
    // Errors of 0 and those beyond all numbers lie on the frame.
    let finite = points.iter().map(|p| p.of.error).filter(|e| *e > 0.0 && e.is_finite());
    let y = Scale::log(finite, TOP + PANEL.1, TOP);
    for (panel, cost) in shown.iter().enumerate() {
        let left = LEFT + panel as f64 * (PANEL.0 + GAP);
        let x = Scale::log(points.iter().map(|p| p.of.costs()[*cost] as f64), left, left + PANEL.0);
        frame(&mut out, &x, &y, names[*cost], panel == 0);
        scatter(&mut out, &x, &y, points, *cost);
    }
    legend(&mut out, axes, height - 22.0);
    out + "</svg>\n"
}

/// Grid lines, ticks and the name of the cost.
fn frame(out: &mut String, x: &Scale, y: &Scale, name: &str, first: bool) {
    for t in y.ticks() {
        let at = y.at(t);
        let _ = writeln!(out, "<path d=\"M{:.1} {at:.1}H{:.1}\" class=\"grid\"/>", x.from, x.to);
        if first {
            let (px, py) = (x.from - 8.0, at + 4.0);
            let _ =
                writeln!(out, "<text x=\"{px:.1}\" y=\"{py:.1}\" text-anchor=\"end\" class=\"ink\">{}</text>", tick(t));
        }
    }
    let mut free = f64::NEG_INFINITY;
    for t in x.ticks() {
        let at = x.at(t);
        let _ = writeln!(out, "<path d=\"M{at:.1} {:.1}V{:.1}\" class=\"grid\"/>", y.from, y.to);
        // Labels do not run into each other.
        if at > free {
            let _ = writeln!(
                out,
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" class=\"ink\">{}</text>",
                y.from + 18.0,
                tick(t)
            );
            free = at + 34.0;
        }
    }
    let (w, h) = (x.to - x.from, y.from - y.to);
    let _ = writeln!(
        out,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" class=\"frame\"/>",
        x.from, y.to
    );
    let (px, py) = ((x.from + x.to) / 2.0, y.from + 40.0);
    let _ = writeln!(
        out,
        "<text x=\"{px:.1}\" y=\"{py:.1}\" text-anchor=\"middle\" font-size=\"13\" class=\"ink\">{name}</text>"
    );
}

/// The points, and the front of this cost alone.
fn scatter(out: &mut String, x: &Scale, y: &Scale, points: &[Point], cost: usize) {
    let place = |p: &Point| (x.at(p.of.costs()[cost] as f64), y.at(p.of.error.clamp(y.low, y.high)));
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| {
        (a.of.costs()[cost], a.of.error)
            .partial_cmp(&(b.of.costs()[cost], b.of.error))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut best = f64::INFINITY;
    let mut line = String::new();
    for p in sorted {
        if p.of.error < best {
            best = p.of.error;
            let (px, py) = place(p);
            // A step: between two points of the front there is nothing cheaper.
            let _ = if line.is_empty() { write!(line, "M{px:.1} {py:.1}") } else { write!(line, "H{px:.1}V{py:.1}") };
        }
    }
    let _ = writeln!(out, "<path d=\"{line}\" fill=\"none\" stroke=\"#1f6feb\" stroke-width=\"1.5\" opacity=\"0.6\"/>");
    let mut labels = Labels { panel: (x.from, x.to, y.to), taken: points.iter().map(|p| mark(place(p), p)).collect() };
    // The front lies on top.
    for p in points.iter().filter(|p| !p.front).chain(points.iter().filter(|p| p.front)) {
        let (px, py) = place(p);
        let (fill, stroke) = if p.front { ("#1f6feb", "#1f6feb") } else { ("white", "#888") };
        let about = escaped(&format!("{}: {:.2e}", p.written.join(", "), p.of.error));
        let _ = writeln!(
            out,
            "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"{stroke}\"><title>{about}</title></circle>"
        );
        if p.as_written {
            let _ = writeln!(
                out,
                "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"8\" fill=\"none\" stroke=\"#d1242f\" stroke-width=\"1.5\"/>"
            );
        }
        if p.front {
            let label = p.numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
            if let Some((at, base)) = labels.place(px, py, &label) {
                let _ =
                    writeln!(out, "<text x=\"{at:.1}\" y=\"{base:.1}\" font-size=\"11\" class=\"ink\">{label}</text>");
            }
        }
    }
}

/// Left, right, upper and lower end.
type Area = (f64, f64, f64, f64);

/// The area of a point's mark.
fn mark((px, py): (f64, f64), p: &Point) -> Area {
    let r = if p.as_written { 9.0 } else { 5.0 };
    (px - r, px + r, py - r, py + r)
}

/// Where the labels of a panel stand, so that none covers a mark or another label, or leaves the panel.
struct Labels {
    /// Left, right and upper end of the panel.
    panel: (f64, f64, f64),
    taken: Vec<Area>,
}

impl Labels {
    /// Left end and base line of the label of a point: above it if there is space, else below it; `None` where others
    /// leave no place.
    fn place(&mut self, px: f64, py: f64, label: &str) -> Option<(f64, f64)> {
        let width = DIGIT.0 * label.len() as f64;
        let bases = [py - 6.0, py + 16.0];
        let places = bases.into_iter().flat_map(|base| [px + 6.0, px - 6.0 - width].map(|from| (from, base)));
        let area = |(from, base): (f64, f64)| (from, from + width, base - DIGIT.1 + 3.0, base);
        let free = |place: &(f64, f64)| {
            let (left, right, top, bottom) = area(*place);
            let clear = |t: &Area| t.1 < left || right < t.0 || t.3 < top || bottom < t.2;
            self.panel.0 <= left && right <= self.panel.1 && self.panel.2 <= top && self.taken.iter().all(clear)
        };
        let found = places.into_iter().find(free)?;
        self.taken.push(area(found));
        Some(found)
    }
}

fn legend(out: &mut String, axes: &[Axis], y: f64) {
    let numbers = axes.iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(", ");
    let entries = [
        (
            "#1f6feb",
            "#1f6feb",
            4.0,
            format!("on the Pareto front of all costs, labelled by {numbers}"),
            20.0 + 6.2 * (46 + numbers.len()) as f64,
        ),
        ("white", "#888", 4.0, "other points".to_string(), 120.0),
        ("none", "#d1242f", 7.0, "the file as it is".to_string(), 0.0),
    ];
    let mut x = LEFT;
    for (fill, stroke, r, text, width) in entries {
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"{r}\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
            y - 4.0
        );
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{y:.1}\" class=\"ink\">{}</text>", x + 12.0, escaped(&text));
        x += width;
    }
}
