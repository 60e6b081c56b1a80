//! The common parts of the tables of FMMs: the rows of stages as text, and the page of `--report`.

use super::roofline;
use askama::Template;
use terminal::failure::Failure;

/// A stage's row.
pub struct Row {
    pub stage: &'static str,
    pub what: &'static str,
    pub seconds: f64,
    pub pairs: Option<u64>,
    pub cycles: Option<u64>,
    pub utilisation: Option<f64>,
}

/// Seconds of a stage, to a microsecond where a GPU ran it.
pub fn seconds(x: f64, on_card: bool) -> String {
    if on_card { format!("{x:.6}") } else { format!("{x:.4}") }
}

/// A number, or a dash where there is none.
pub fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or("-".into(), show)
}

/// A row as shown: numbers are text, and the bar is the stage's share of the time in percent.
pub struct Shown {
    stage: &'static str,
    what: &'static str,
    seconds: String,
    bar: String,
    pairs: String,
    cycles: String,
    utilisation: String,
}

pub fn shown(rows: Vec<Row>, on_card: bool) -> Vec<Shown> {
    let longest = rows.iter().map(|r| r.seconds).fold(1e-9, f64::max);
    let row = |r: Row| Shown {
        stage: r.stage,
        what: r.what,
        seconds: seconds(r.seconds, on_card),
        bar: format!("{:.1}", 100.0 * r.seconds / longest),
        pairs: or_dash(r.pairs, |p| p.to_string()),
        cycles: or_dash(r.cycles, |c| c.to_string()),
        utilisation: or_dash(r.utilisation, |u| format!("{u:.3}")),
    };
    rows.into_iter().map(row).collect()
}

/// Rows as text, under their heads.
pub fn text(rows: Vec<Row>, on_card: bool) -> String {
    let width = rows.iter().map(|r| r.stage.len()).fold(6, usize::max);
    let mut out =
        format!("{:<width$} {:>10} {:>14} {:>14} {:>12}\n", "stage", "seconds", "pairs", "cycles", "utilisation");
    for r in shown(rows, on_card) {
        let Shown { stage, seconds, pairs, cycles, utilisation, .. } = r;
        out += &format!("{stage:<width$} {seconds:>10} {pairs:>14} {cycles:>14} {utilisation:>12}\n");
    }
    out
}

/// A row of relative L2 errors: by truncation (where there is none, by rounding), the grid, the formats of P2P, those of M2L, and of all.
pub struct ErrorRow {
    pub name: &'static str,
    pub errors: [String; 5],
}

/// The heads of such rows.
pub const CAUSES: [&str; 5] = ["truncation", "grid", "P2P formats", "M2L formats", "all"];

/// The report's template.
#[derive(Template)]
#[template(path = "fmm.html")]
pub struct Page {
    pub title: String,
    pub settings: String,
    pub rows: Vec<Shown>,
    /// Notes on what the rows do not show, in sentences.
    pub notes: Vec<String>,
    pub facts: Vec<(&'static str, String)>,
    /// The parts of the error, where they were asked for.
    pub parts: Vec<ErrorRow>,
    /// P2P on GPUs and boards.
    pub predicted: Vec<roofline::Row>,
}

impl Page {
    pub fn causes(&self) -> [&'static str; 5] {
        CAUSES
    }

    /// The self-contained page.
    pub fn html(&self) -> Result<String, Failure> {
        self.render().map_err(|e| Failure::Tool(format!("the report cannot be made: {e}")))
    }
}
