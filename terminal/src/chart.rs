//! Charts as SVG: lines and marks over one or two logarithmic axes, and bars, with ticks, units, a legend, and colours that are
//! distinguishable on a light and on a dark ground.

pub mod axis;
mod bars;
mod columns;
mod extents;
mod spans;

pub use axis::{Axis, Unit};
pub use bars::Bars;
pub use columns::{Bin, Columns};
pub use extents::{Extent, Extents};
pub use spans::{Span, Spans};

use axis::{Scale, label};
use std::fmt::Write;

/// The area of the data, and where it begins, in pixels.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    /// Half the width of a character.
    character: f64,
}

/// A figure by itself, with title and legend.
const ALONE: Frame = Frame { left: 84.0, top: 70.0, width: 560.0, height: 360.0, character: 3.8 };

/// A figure of a page, which has title and legend as text.
const WITHIN: Frame = Frame { left: 70.0, top: 12.0, width: 400.0, height: 240.0, character: 4.6 };

const BOTTOM: f64 = 60.0;
const LEGEND: f64 = 270.0;
/// The height of a line of the legend.
const ENTRY: f64 = 20.0;

/// Colours of series, of middle luminance and hues that few eyes confuse. The last is for what is beside the data.
const COLOURS: [&str; 9] =
    ["#2f7ebc", "#d9822b", "#3a9a5b", "#a45fc0", "#d1495b", "#1f9ea8", "#9c6b3f", "#b59b00", "#8a8f98"];

/// The place of the colour for what is beside the data, such as a paper's values.
pub const BESIDE: usize = COLOURS.len() - 1;

/// The dashes of rules, one after the other.
const RULES: [&str; 3] = ["2 4", "9 3", "9 3 2 3"];

/// A chart of lines and marks.
pub struct Chart {
    pub title: String,
    /// One line below the title.
    pub note: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    pub rules: Vec<Rule>,
}

/// The data drawn for one name of the legend.
pub struct Series {
    pub name: String,
    pub colour: usize,
    pub style: Style,
    /// In the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// Words of the points' marks; none where the series' name says enough.
    pub words: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line with a dot at each point.
    Line,
    /// The same, dashed.
    Dashed,
    /// A line alone.
    Curve,
    /// Large marks that are not joined.
    Marks,
}

/// A value of one axis, as a dashed line across the chart.
pub struct Rule {
    pub name: String,
    pub at: Across,
}

#[derive(Clone, Copy)]
pub enum Across {
    X(f64),
    Y(f64),
}

impl Series {
    pub fn new(name: impl Into<String>, colour: usize, style: Style, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), colour: colour % COLOURS.len(), style, points, words: Vec::new() }
    }

    /// The same with words for each point.
    pub fn with_words(self, words: Vec<String>) -> Series {
        Series { words, ..self }
    }
}

impl Rule {
    pub fn new(name: impl Into<String>, at: Across) -> Rule {
        Rule { name: name.into(), at }
    }
}

impl Chart {
    /// The figure by itself.
    pub fn svg(&self) -> String {
        let mut out = head(&self.title, &self.note, self.series.len() + self.rules.len());
        self.draw(&mut out, &ALONE);
        let mut legend = Legend::default();
        self.series.iter().for_each(|s| legend.series(&mut out, s));
        self.rules.iter().zip(RULES.into_iter().cycle()).for_each(|(r, dash)| legend.rule(&mut out, &r.name, dash));
        out + "</svg>\n"
    }

    /// The figure of a page, without title and legend.
    pub fn within(&self) -> String {
        let mut out = opened_within(&WITHIN, &self.title);
        self.draw(&mut out, &WITHIN);
        out + "</svg>\n"
    }

    fn draw(&self, out: &mut String, frame: &Frame) {
        let drawn = || self.series.iter().flat_map(|s| &s.points).filter(|p| p.0.is_finite() && p.1.is_finite());
        let ruled = |wanted: fn(Across) -> Option<f64>| self.rules.iter().filter_map(move |r| wanted(r.at));
        let xs = drawn().map(|p| p.0).chain(ruled(|at| if let Across::X(x) = at { Some(x) } else { None }));
        let (left, right, top, bottom) = (frame.left, frame.right(), frame.top, frame.bottom());
        let x = Scale::around(self.x.is_log, xs, left, right);
        let ys = drawn().map(|p| p.1).chain(ruled(|at| if let Across::Y(y) = at { Some(y) } else { None }));
        let y = Scale::around(self.y.is_log, ys, bottom, top);
        grid(out, frame, &y, self.y.unit);
        columns(out, frame, [&x, &y], self.x.unit);
        names(out, frame, &self.x.name, &self.y.name);
        for (rule, dash) in self.rules.iter().zip(RULES.into_iter().cycle()) {
            let path = match rule.at {
                Across::X(at) => format!("M{:.1} {top}V{bottom}", x.at(at)),
                Across::Y(at) => format!("M{left} {:.1}H{right}", y.at(at)),
            };
            let _ = writeln!(out, "<path d=\"{path}\" class=\"s{BESIDE}\" stroke-dasharray=\"{dash}\"/>");
        }
        for series in &self.series {
            draw(out, series, &x, &y, [self.x.unit, self.y.unit]);
        }
    }
}

impl Frame {
    fn right(&self) -> f64 {
        self.left + self.width
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// A series over its axes. Points that an axis cannot show are left out, and the line is broken there.
fn draw(out: &mut String, series: &Series, x: &Scale, y: &Scale, units: [Unit; 2]) {
    let colour = series.colour;
    let place = |p: &(f64, f64)| (x.shows(p.0) && y.shows(p.1)).then(|| (x.at(p.0), y.at(p.1)));
    if series.style != Style::Marks {
        let mut path = String::new();
        let mut is_begun = false;
        for at in series.points.iter().map(place) {
            if let Some((px, py)) = at {
                let _ = write!(path, "{}{px:.1} {py:.1}", if is_begun { 'L' } else { 'M' });
            }
            is_begun = at.is_some();
        }
        let dash = if series.style == Style::Dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let _ = writeln!(out, "<path d=\"{path}\" class=\"s{colour}\"{dash}/>");
    }
    let radius = match series.style {
        Style::Curve => return,
        Style::Marks => 5.0,
        Style::Line | Style::Dashed => 2.5,
    };
    for (k, p, (px, py)) in series.points.iter().enumerate().filter_map(|(k, p)| Some((k, p, place(p)?))) {
        let name = series.words.get(k).unwrap_or(&series.name);
        let about = escaped(&format!("{name}: {}, {}", label(p.0, units[0]), label(p.1, units[1])));
        let _ = writeln!(
            out,
            "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"{radius}\" class=\"f{colour}\"><title>{about}</title></circle>"
        );
    }
}

/// The beginning of a figure, with its ground, its title and space for some lines of the legend.
fn head(title: &str, note: &str, entries: usize) -> String {
    let width = ALONE.right() + LEGEND;
    let height = (ALONE.bottom() + BOTTOM).max(ALONE.top + 30.0 + ENTRY * entries as f64);
    let mut out = opened(width, height);
    let _ = writeln!(
        out,
        "<text x=\"{left}\" y=\"28\" font-size=\"15\" font-weight=\"bold\" class=\"ink\">{}</text>\n\
         <text x=\"{left}\" y=\"50\" class=\"soft\">{}</text>",
        escaped(title),
        escaped(note),
        left = ALONE.left
    );
    out
}

/// The beginning of any figure: its size, its colours on a light and on a dark ground, and the ground.
pub fn opened(width: f64, height: f64) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\">\n<style>\n\
         .ground{{fill:#ffffff}} .ink{{fill:#222222}} .soft{{fill:#666666}}\n\
         .grid{{stroke:#e4e4e4}} .frame{{stroke:#888888;fill:none}}\n"
    );
    out += &series_style();
    out + "@media (prefers-color-scheme: dark){.ground{fill:#16181d} .ink{fill:#e6e6e6} .soft{fill:#a8a8a8} .grid{stroke:#333842}}\n\
           </style>\n<rect width=\"100%\" height=\"100%\" class=\"ground\"/>\n"
}

/// The colours of series, as a style.
pub fn series_style() -> String {
    let mut out = String::new();
    for (k, colour) in COLOURS.iter().enumerate() {
        let _ = writeln!(out, ".s{k}{{stroke:{colour};fill:none;stroke-width:2}} .f{k}{{fill:{colour}}}");
    }
    out
}

/// The beginning of a figure of a page, which has the style.
fn opened_within(frame: &Frame, title: &str) -> String {
    let (width, height) = (frame.right() + 22.0, frame.bottom() + BOTTOM - 8.0);
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" class=\"fits\" role=\"img\" aria-label=\"{}\" font-size=\"13\">\n",
        escaped(title).replace('"', "&quot;")
    )
}

/// Lines across the chart at the ticks of the vertical axis, their labels, and the frame.
fn grid(out: &mut String, frame: &Frame, y: &Scale, unit: Unit) {
    let Frame { left, top, width, height, .. } = *frame;
    let right = frame.right();
    for tick in y.ticks() {
        let at = y.at(tick);
        let _ = writeln!(
            out,
            "<path d=\"M{left} {at:.1}H{right}\" class=\"grid\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" class=\"ink\">{}</text>",
            left - 8.0,
            at + 4.0,
            label(tick, unit)
        );
    }
    let _ = writeln!(out, "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" class=\"frame\"/>");
}

/// The same of the horizontal axis. Labels do not run into each other.
fn columns(out: &mut String, frame: &Frame, [x, y]: [&Scale; 2], unit: Unit) {
    let mut free = f64::NEG_INFINITY;
    for tick in x.ticks() {
        let (at, text) = (x.at(tick), label(tick, unit));
        let _ = writeln!(out, "<path d=\"M{at:.1} {:.1}V{:.1}\" class=\"grid\"/>", y.from, y.to);
        let half = frame.character * text.chars().count() as f64;
        if at - half > free {
            let base = y.from + 18.0;
            let _ =
                writeln!(out, "<text x=\"{at:.1}\" y=\"{base:.1}\" text-anchor=\"middle\" class=\"ink\">{text}</text>");
            free = at + half + 4.0;
        }
    }
}

/// Writes the names of the axes.
fn names(out: &mut String, frame: &Frame, x: &str, y: &str) {
    let (middle, below) = (frame.left + frame.width / 2.0, frame.bottom() + 42.0);
    let (aside, half) = (frame.left - 64.0, frame.top + frame.height / 2.0);
    let aside = aside.max(14.0);
    let _ = writeln!(
        out,
        "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\" class=\"ink\">{}</text>\n\
         <text x=\"{aside}\" y=\"{half}\" text-anchor=\"middle\" transform=\"rotate(-90 {aside} {half})\" class=\"ink\">{}</text>",
        escaped(x),
        escaped(y)
    );
}

/// The legend, a line after the other.
#[derive(Default)]
struct Legend(usize);

impl Legend {
    fn series(&mut self, out: &mut String, series: &Series) {
        let (x, y, colour) = (ALONE.right() + 14.0, self.base(), series.colour);
        if series.style != Style::Marks {
            let dash = if series.style == Style::Dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let _ = writeln!(out, "<path d=\"M{x} {:.1}h24\" class=\"s{colour}\"{dash}/>", y - 4.0);
        }
        if series.style != Style::Curve {
            let radius = if series.style == Style::Marks { 5.0 } else { 2.5 };
            let _ =
                writeln!(out, "<circle cx=\"{}\" cy=\"{:.1}\" r=\"{radius}\" class=\"f{colour}\"/>", x + 12.0, y - 4.0);
        }
        self.name(out, &series.name);
    }

    fn rule(&mut self, out: &mut String, name: &str, dash: &str) {
        let (x, y) = (ALONE.right() + 14.0, self.base());
        let _ = writeln!(out, "<path d=\"M{x} {:.1}h24\" class=\"s{BESIDE}\" stroke-dasharray=\"{dash}\"/>", y - 4.0);
        self.name(out, name);
    }

    fn bar(&mut self, out: &mut String, colour: usize, name: &str) {
        let (x, y) = (ALONE.right() + 14.0, self.base());
        let _ = writeln!(out, "<rect x=\"{x}\" y=\"{}\" width=\"24\" height=\"11\" class=\"f{colour}\"/>", y - 10.0);
        self.name(out, name);
    }

    fn base(&self) -> f64 {
        ALONE.top + 14.0 + ENTRY * self.0 as f64
    }

    fn name(&mut self, out: &mut String, name: &str) {
        let (x, y) = (ALONE.right() + 46.0, self.base());
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y:.1}\" class=\"ink\">{}</text>", escaped(name));
        self.0 += 1;
    }
}

/// Text as XML has it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        let series = vec![Series::new("a < b", 0, Style::Line, points)];
        let (x, y) = (Axis::log("points N"), Axis::log("time").of(Unit::Seconds));
        let rules = vec![Rule::new("paper: 3500", Across::X(3500.0)), Rule::new("one", Across::Y(1.0))];
        Chart { title: "A & B".into(), note: String::new(), x, y, series, rules }
    }

    /// The numbers of an attribute of all elements of a kind.
    fn numbers(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
        let of = |line: &str| line.split(&format!("{attribute}=\"")).nth(1)?.split('"').next()?.parse().ok();
        svg.lines().filter(|l| l.starts_with(&format!("<{element} "))).filter_map(of).collect()
    }

    #[test]
    fn points_lie_within_the_frame_in_their_order_and_text_is_escaped() {
        let svg = chart(vec![(100.0, 1e-3), (1e4, 1e-2), (1e6, 10.0)]).svg();
        // The last circle is the legend's.
        let (x, y) = (numbers(&svg, "circle", "cx"), numbers(&svg, "circle", "cy"));
        assert_eq!((x.len(), y.len()), (4, 4), "{svg}");
        let is_within =
            |x: &f64, y: &f64| (ALONE.left..=ALONE.right()).contains(x) && (ALONE.top..=ALONE.bottom()).contains(y);
        assert!(x.iter().zip(&y).take(3).all(|(x, y)| is_within(x, y)), "{svg}");
        // Equal ratios are equal lengths.
        assert!((x[1] - x[0] - (x[2] - x[1])).abs() < 0.2 && y[0] > y[1] && y[1] > y[2], "{svg}");
        assert!(svg.contains("A &amp; B") && svg.contains("a &lt; b: 100, 1 ms") && !svg.contains("a < b"), "{svg}");
    }

    #[test]
    fn what_a_logarithmic_axis_cannot_show_breaks_the_line() {
        let svg = chart(vec![(100.0, 1e-3), (1e3, 0.0), (1e4, f64::NAN), (1e5, 1e-2), (1e6, 1e-1)]).svg();
        let line = svg.lines().find(|l| l.contains("class=\"s0\"")).expect("there is a line");
        assert_eq!((line.matches('M').count(), line.matches('L').count()), (2, 1), "{line}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn an_empty_chart_is_a_picture_still() {
        let svg = Chart { rules: Vec::new(), ..chart(Vec::new()) }.svg();
        assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
    }
}
