//! The figures and the table from what was measured.

use super::cases::{LEAF, LEAVES};
use super::measured::{Measured, Row, Side, What};
use super::{paper, table};
use fmm::plane::mesh;
use gpu::cuda::plane::STAGES;
use terminal::chart::{Across, Axis, BESIDE, Bars, Chart, Rule, Series, Style, Unit};

/// A figure's name, its SVG and its numbers.
pub struct Figure {
    pub name: &'static str,
    pub svg: String,
    pub csv: String,
}

type Line = Vec<(f64, f64)>;

/// Everything that is drawn.
pub fn figures(measured: &Measured) -> Vec<Figure> {
    let sides = &measured.sides[..];
    let runs = |whats: &[What]| table::runs(sides, whats);
    let figure = |name, svg, csv| Figure { name, svg, csv };
    let by_box = |r: &Row| r.case.n as f64 / 4f64.powi(r.levels as i32);
    vec![
        figure("table1", shares(sides), table::shares(sides)),
        figure("fig2", parts(sides, &FIG2, by_box), runs(&[What::Boxes])),
        figure("fig3", leaves(sides), table::curves(sides, "leaf,relative_time", by_leaf)),
        figure("fig4", parts(sides, &FIG4, |r| r.case.order as f64), runs(&[What::Order])),
        figure("fig5", best(sides), table::curves(sides, "order,best_leaf", best_by_order)),
        figure("fig6", totals(sides), runs(&[What::Size, What::Direct])),
        figure("fig7", speed_ups(sides), runs(&[What::Size, What::Direct])),
        figure("fig8", parts(sides, &FIG8, |r| r.case.n as f64), runs(&[What::Size])),
        figure("fig9", distributions(sides), runs(&[What::Distribution])),
        figure("fig10", robustness(sides), table::relative(sides, relative)),
    ]
}

/// The side that speed-ups are against, and the one that is quicker: the paper's are a CPU with one thread and a GPU.
pub fn compared(sides: &[Side]) -> Option<[&Side; 2]> {
    let [base, .., fast] = sides else { return None };
    (!base.is_gpu()).then_some([base, fast])
}

fn against([base, fast]: [&Side; 2]) -> String {
    format!("{} ({}) against {} ({})", fast.name(), fast.device, base.name(), base.device)
}

/// The devices of all sides.
fn devices(sides: &[Side]) -> String {
    sides.iter().map(|s| format!("{}: {}", s.name(), s.device)).collect::<Vec<_>>().join("; ")
}

/// How many times as quick the runs of one side are as the same of the other, by the number of points; each side has the
/// points a box that suit it.
pub fn speed_up(base: &Side, fast: &Side, what: What, time: fn(&Row) -> f64) -> Line {
    let slow = base.quickest(what);
    let ratio = |r: &&Row| Some((r.case.n as f64, time(slow.iter().find(|s| s.case.n == r.case.n)?) / time(r)));
    fast.quickest(what).iter().filter_map(ratio).collect()
}

/// The value at the right end of a line.
pub fn largest(line: &[(f64, f64)]) -> Option<f64> {
    line.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map(|p| p.1)
}

/// Points from which on the FMM is quicker than direct summation, between the last size where it is not and the next, on a
/// straight line of the logarithms.
pub fn break_even(side: &Side) -> Option<f64> {
    let direct = side.quickest(What::Direct);
    let both: Vec<(f64, f64)> = (side.quickest(What::Size).iter())
        .filter_map(|f| Some((f, direct.iter().find(|d| d.case.n == f.case.n)?)))
        .map(|(f, d)| ((f.case.n as f64).ln(), (f.time() / d.time()).ln()))
        .collect();
    let last = both.iter().rposition(|b| b.1 >= 0.0)?;
    let (a, b) = (both[last], *both.get(last + 1)?);
    Some((a.0 + (b.0 - a.0) * a.1 / (a.1 - b.1)).exp())
}

/// Table 1.
fn shares(sides: &[Side]) -> String {
    let mut series = vec![("paper, Tesla C2075".to_string(), BESIDE, paper::SHARES.map(|s| s.1).to_vec())];
    for (k, side) in sides.iter().enumerate() {
        let Some(row) = side.of(What::Shares).next() else { continue };
        let of = |with_copies| paper::shares(row, with_copies).into_iter().map(Some).collect();
        series.push((side.name(), 2 * k, of(true)));
        if side.is_gpu() {
            series.push((format!("{}, without copies", side.name()), 2 * k + 1, of(false)));
        }
    }
    let n = sides.iter().find_map(|s| s.of(What::Shares).next()).map_or(0, |r| r.case.n);
    Bars {
        title: format!("Table 1: shares of the parts, {n} points, p = 17"),
        note: devices(sides),
        y: Axis::linear("share of the total time").of(Unit::Percent),
        categories: paper::SHARES.map(|s| s.0.to_string()).to_vec(),
        series,
    }
    .svg()
}

/// A figure of the speed-up of stages.
struct Parts {
    title: &'static str,
    what: What,
    parts: &'static [&'static str],
    axis: (&'static str, bool),
    rule: Option<(&'static str, f64)>,
}

const FIG2: Parts = Parts {
    title: "Fig. 2: parts by points a box",
    what: What::Boxes,
    parts: &["sort", "P2M", "L2P", "P2P"],
    axis: ("points a finest box", false),
    rule: None,
};
const FIG4: Parts = Parts {
    title: "Fig. 4: parts by order",
    what: What::Order,
    parts: &["P2M", "M2M", "M2L", "L2L", "L2P"],
    axis: ("order p", false),
    rule: Some(("paper: M2L slower from 42 on", paper::FEWER_BLOCKS)),
};
const FIG8: Parts =
    Parts { title: "Fig. 8: parts by points", what: What::Size, parts: &STAGES, axis: ("points N", true), rule: None };

/// Speed-ups of stages on the same mesh, or their times where one device ran.
fn parts(sides: &[Side], of: &Parts, x: impl Fn(&Row) -> f64) -> String {
    let used = |r: &&Row| of.what != What::Size || r.case.leaf == LEAF;
    let both = compared(sides);
    let line = |name: &str| -> Line {
        match (both, sides.first()) {
            (Some([base, fast]), _) => {
                let same = |r: &Row| base.rows.iter().find(|b| b.case == r.case);
                let ratio = |r: &Row| Some((x(r), same(r)?.stage(name) / r.stage(name)));
                fast.of(of.what).filter(used).filter_map(ratio).collect()
            }
            (None, Some(side)) => {
                side.of(of.what).filter(used).map(|r| (x(r), r.stage(name) / r.case.n as f64)).collect()
            }
            (None, None) => Vec::new(),
        }
    };
    let series = of.parts.iter().enumerate().map(|(k, name)| Series::new(*name, k, Style::Line, line(name)));
    let (name, is_log) = of.axis;
    let y = if both.is_some() { Axis::log("speed-up") } else { Axis::log("time a point").of(Unit::Seconds) };
    Chart {
        title: of.title.into(),
        note: both.map_or_else(|| devices(sides), against),
        x: if is_log { Axis::log(name) } else { Axis::linear(name) },
        y,
        series: series.collect(),
        rules: of.rule.map(|(name, at)| Rule::new(name, Across::X(at))).into_iter().collect(),
    }
    .svg()
}

/// Times by N_d beside the best: the mean over numbers of points, of the logarithms of what each takes beside its own best.
pub fn by_leaf(side: &Side) -> Line {
    let rows = side.quickest(What::Levels);
    let time = |n: usize, leaf: usize| {
        let levels = mesh::levels(n, leaf);
        side.of(What::Levels).find(|r| r.case.n == n && r.levels == levels).map(Row::time)
    };
    let mut line = Line::new();
    for leaf in LEAVES {
        let each: Option<Vec<f64>> = rows.iter().map(|r| Some((time(r.case.n, leaf)? / r.time()).ln())).collect();
        let Some(each) = each.filter(|each| !each.is_empty()) else { continue };
        line.push((leaf as f64, (each.iter().sum::<f64>() / each.len() as f64).exp()));
    }
    let least = line.iter().fold(f64::INFINITY, |least, p| least.min(p.1));
    line.iter().map(|p| (p.0, p.1 / least)).collect()
}

/// The middle of the N_d that take least.
pub fn best_leaf(side: &Side) -> Option<f64> {
    let line = by_leaf(side);
    let least: Vec<f64> = line.iter().filter(|p| p.1 <= 1.0).map(|p| p.0).collect();
    Some((least.first()? + least.last()?) / 2.0)
}

fn leaves(sides: &[Side]) -> String {
    let series = sides.iter().enumerate().map(|(k, s)| Series::new(s.name(), k, Style::Curve, by_leaf(s))).collect();
    Chart {
        title: "Fig. 3: time by N_d, the best being 1".into(),
        note: format!("{}; GPU without copies", devices(sides)),
        x: Axis::linear("N_d of (5.2)"),
        y: Axis::linear("time beside the best"),
        series,
        rules: vec![
            Rule::new("paper: best on the GPU, 45", Across::X(paper::BEST_GPU)),
            Rule::new("paper: best on the CPU, 35", Across::X(paper::BEST_CPU)),
        ],
    }
    .svg()
}

/// The N_d at which as many points take the same time with two numbers of levels, by order.
pub fn best_by_order(side: &Side) -> Line {
    let mut orders: Vec<usize> = side.of(What::Best).map(|r| r.case.order).collect();
    orders.dedup();
    let best = |order: usize| {
        // Runs of a pair stand one behind the other.
        let rows: Vec<&Row> = side.of(What::Best).filter(|r| r.case.order == order).collect();
        let pairs: Vec<(f64, f64)> =
            rows.chunks_exact(2).map(|p| ((p[0].case.leaf as f64).ln(), (p[0].time() / p[1].time()).ln())).collect();
        let last = pairs.iter().rposition(|p| p.1 <= 0.0)?;
        let (a, b) = (pairs[last], *pairs.get(last + 1)?);
        Some((order as f64, (a.0 + (b.0 - a.0) * a.1 / (a.1 - b.1)).exp()))
    };
    orders.into_iter().filter_map(best).collect()
}

fn best(sides: &[Side]) -> String {
    let mut series: Vec<Series> =
        sides.iter().enumerate().map(|(k, s)| Series::new(s.name(), k, Style::Line, best_by_order(s))).collect();
    for (name, best) in [("paper: GPU, 45", paper::BEST_GPU), ("paper: CPU, 35", paper::BEST_CPU)] {
        series.push(Series::new(name, BESIDE, Style::Marks, vec![(17.0, best)]));
    }
    Chart {
        title: "Fig. 5: the best N_d by order".into(),
        note: format!("{}; GPU without copies", devices(sides)),
        x: Axis::linear("order p"),
        y: Axis::linear("best N_d"),
        series,
        rules: Vec::new(),
    }
    .svg()
}

fn totals(sides: &[Side]) -> String {
    let line = |rows: Vec<&Row>, time: fn(&Row) -> f64| rows.iter().map(|r| (r.case.n as f64, time(r))).collect();
    let mut series = Vec::new();
    for (k, side) in sides.iter().enumerate() {
        let (fmm, direct) = (side.quickest(What::Size), side.quickest(What::Direct));
        if side.is_gpu() {
            let name = format!("{}, FMM without copies", side.name());
            series.push(Series::new(name, k + 4, Style::Line, line(fmm.clone(), Row::time)));
            let name = format!("{}, direct without copies", side.name());
            series.push(Series::new(name, k + 4, Style::Dashed, line(direct.clone(), Row::time)));
        }
        series.push(Series::new(format!("{}, FMM", side.name()), k, Style::Line, line(fmm, Row::total)));
        series.push(Series::new(format!("{}, direct", side.name()), k, Style::Dashed, line(direct, Row::total)));
    }
    Chart {
        title: "Fig. 6: total time, p = 17".into(),
        note: devices(sides),
        x: Axis::log("points N"),
        y: Axis::log("time").of(Unit::Seconds),
        series,
        rules: vec![Rule::new("paper: break-even on the GPU", Across::X(paper::BREAK_EVEN))],
    }
    .svg()
}

fn speed_ups(sides: &[Side]) -> String {
    let mut series = Vec::new();
    let gpu = sides.last().filter(|side| side.is_gpu());
    let bases: Vec<&Side> = sides.iter().filter(|s| !s.is_gpu()).collect();
    for (k, base) in bases.iter().copied().enumerate() {
        let Some(fast) = gpu.or(sides.last()).filter(|fast| !std::ptr::eq(*fast, base)) else { continue };
        let mut add = |what: &str, colour: usize, style, line| {
            // The title names the only one.
            let name = if bases.len() > 1 { format!("{what}, {}", base.name()) } else { what.into() };
            series.push(Series::new(name, colour + 3 * k, style, line));
        };
        add("FMM", 0, Style::Line, speed_up(base, fast, What::Size, Row::total));
        if fast.is_gpu() {
            add("FMM without copies", 1, Style::Line, speed_up(base, fast, What::Size, Row::time));
        }
        add("direct", 2, Style::Dashed, speed_up(base, fast, What::Direct, Row::total));
    }
    let fast = sides.last().map_or(String::new(), Side::name);
    let base = if let [base] = bases[..] { base.name() } else { "CPU".into() };
    let title = match sides.len() {
        ..=1 => format!("Fig. 7: speed-ups of the paper alone; only the {fast} was measured"),
        _ => format!("Fig. 7: speed-up of the {fast} over the {base}, by points"),
    };
    Chart {
        title,
        note: devices(sides),
        x: Axis::log("points N"),
        y: Axis::log("speed-up"),
        series,
        rules: vec![
            Rule::new("paper: FMM, 11", Across::Y(paper::FMM)),
            Rule::new("paper: direct, 15", Across::Y(paper::DIRECT)),
        ],
    }
    .svg()
}

/// The first and the last of the sides, which differ most.
fn two(sides: &[Side]) -> Vec<(&Side, Style)> {
    let ends = [sides.first().map(|s| (s, Style::Dashed)), sides.last().map(|s| (s, Style::Line))];
    let ends: Vec<(&Side, Style)> = ends.into_iter().flatten().collect();
    if sides.len() == 1 { vec![(ends[0].0, Style::Line)] } else { ends }
}

fn distributions(sides: &[Side]) -> String {
    let mut series = Vec::new();
    for (side, style) in two(sides) {
        for (k, name) in ["uniform", "normal", "layer"].into_iter().enumerate() {
            let rows = side.of(What::Distribution).filter(|r| r.case.spread.name() == name);
            let mut line: Line = rows.map(|r| (r.case.n as f64, r.time())).collect();
            line.sort_by(|a, b| a.0.total_cmp(&b.0));
            series.push(Series::new(format!("{}, {name}", side.name()), k, style, line));
        }
    }
    Chart {
        title: "Fig. 9: three distributions, p = 17".into(),
        note: format!("{}; GPU without copies", devices(sides)),
        x: Axis::log("points N"),
        y: Axis::log("time").of(Unit::Seconds),
        series,
        rules: Vec::new(),
    }
    .svg()
}

/// A run of Fig. 10 beside that of uniform points.
pub fn relative(side: &Side, row: &Row) -> Option<f64> {
    let uniform = side.of(What::Sigma).find(|r| r.case.spread.sigma().is_none())?;
    Some(row.time() / uniform.time())
}

fn robustness(sides: &[Side]) -> String {
    let mut series = Vec::new();
    for (side, style) in two(sides) {
        for (k, name) in ["normal", "layer"].into_iter().enumerate() {
            let rows = side.of(What::Sigma).filter(|r| r.case.spread.name() == name);
            let line = rows.filter_map(|r| Some((r.case.spread.sigma()?, relative(side, r)?))).collect();
            series.push(Series::new(format!("{}, {name}", side.name()), k, style, line));
        }
    }
    let n = sides.iter().find_map(|s| s.of(What::Sigma).next()).map_or(0, |r| r.case.n);
    Chart {
        title: format!("Fig. 10: time beside uniform points, {n} points"),
        note: format!("{}; GPU without copies", devices(sides)),
        x: Axis::log("standard deviation sigma"),
        y: Axis::linear("time beside uniform points"),
        series,
        rules: Vec::new(),
    }
    .svg()
}
