//! The table of an FMM in two dimensions, for a terminal and as a page.

use super::super::fmm::page::{self, Row};
use super::super::fmm::roofline;
use fmm::plane::stats::Stats;
use terminal::report::{Block, Data, Page, Quantity, Section};

/// The stages in the order of the algorithm.
fn rows(s: &Stats) -> Vec<Row> {
    let row = |stage, what, seconds, pairs| Row { stage, what, seconds, pairs, cycles: None, utilisation: None };
    let t = &s.seconds;
    vec![
        row("sort", "the mesh", t.sort.unwrap_or(0.0), None),
        row("connect", "the lists", t.connect.unwrap_or(0.0), None),
        row("P2M", "points to multipoles", t.p2m, None),
        row("M2M", "multipoles to parents", t.m2m, None),
        row("M2L", "multipoles to local expansions", t.m2l, Some(s.pairs.m2l)),
        row("P2L", "points to local expansions", t.p2l, Some(s.pairs.p2l)),
        row("L2L", "local expansions to children", t.l2l, None),
        row("L2P", "local expansions to points", t.l2p, None),
        row("M2P", "multipoles to points", t.m2p, Some(s.pairs.m2p)),
        Row {
            cycles: s.cycles.p2p,
            utilisation: s.utilisation.p2p,
            ..row("P2P", "points to points", t.p2p, Some(s.pairs.p2p))
        },
    ]
}

/// The table as text.
pub fn text(s: &Stats) -> String {
    let mut out = format!(
        "FMM of {} points of a plane on {}: kernel {}, order {}, theta {}, leaf {}, {} levels\n\n",
        s.n, s.backend, s.kernel, s.order, s.theta, s.leaf, s.levels
    );
    out += &page::text(rows(s), false);
    out += &format!("{:<7} {:>10.4}\n", "total", s.seconds.total);
    let mut facts = Vec::new();
    if let Some(w) = s.waited {
        let (who, seconds) = if w.cpu > 0.0 { ("CPU", w.cpu) } else { ("device", w.device) };
        facts.push(format!("P2P ran beside the other stages; then the {who} waited {seconds:.4} s"));
    }
    if s.words.i > 0 {
        let (j, i, result) = (s.words.j, s.words.i, s.words.result);
        facts.push(format!("words over the link: {j} of sources, {i} of targets, {result} of results"));
    }
    if !s.flags.is_empty() {
        facts.push(format!("flags: {}", s.flags.join(", ")));
    }
    if s.close_pairs > 0 {
        facts.push(format!("pairs too close for the arithmetic of P2P: {}", s.close_pairs));
    }
    if s.recomputed > 0 {
        facts.push(format!("targets computed again on the CPU in wider arithmetic: {}", s.recomputed));
    }
    facts.extend(errors(s).into_iter().map(|(name, value)| format!("{name}: {value}")));
    if !facts.is_empty() {
        out += &format!("\n{}\n", facts.join("\n"));
    }
    out
}

/// The known errors, as names and numbers.
fn errors(s: &Stats) -> Vec<(&'static str, String)> {
    let Some(e) = &s.error else { return Vec::new() };
    let mut errors = vec![("targets compared with direct summation", e.samples.to_string())];
    let numbers = [
        ("potential, relative L2 error", Some(e.potential_rel_l2)),
        ("potential, largest relative error of a target", Some(e.potential_largest)),
        ("gradient, relative L2 error", e.gradient_rel_l2),
        ("gradient, median relative error", e.gradient_median),
        ("gradient, 99th percentile", e.gradient_p99),
        ("gradient, largest relative error of a target", e.gradient_largest),
    ];
    errors.extend(numbers.into_iter().filter_map(|(name, x)| Some((name, format!("{:.3e}", x?)))));
    errors
}

/// The page of `--report`.
pub fn page(s: &Stats, data: &Data) -> Page {
    let mut accuracy = Vec::new();
    if s.error.is_some() {
        accuracy.push(page::facts(data, &ERRORS));
    }
    let flags = Block::Facts(vec![("flags".into(), data.words("flags"))]);
    Page {
        title: format!("FMM of {} points of a plane on {}", s.n, s.backend),
        about: format!(
            "kernel {}, order {}, theta {}, about {} points in a finest box",
            s.kernel, s.order, s.theta, s.leaf
        ),
        first: page::first(data),
        sections: vec![
            page::time(data, &rows(s), Vec::new()),
            Section::new("Errors", accuracy),
            Section::new("Counts", vec![page::facts(data, &NUMBERS), flags]),
            roofline::section(data),
        ],
    }
}

/// Errors as facts of a page.
const ERRORS: [(&str, &str, Quantity); 7] = [
    ("targets compared with direct summation", "error/samples", Quantity::Count),
    ("potential, relative L2 error", "error/potential_rel_l2", Quantity::Error),
    ("potential, largest relative error of a target", "error/potential_largest", Quantity::Error),
    ("gradient, relative L2 error", "error/gradient_rel_l2", Quantity::Error),
    ("gradient, median relative error", "error/gradient_median", Quantity::Error),
    ("gradient, 99th percentile", "error/gradient_p99", Quantity::Error),
    ("gradient, largest relative error of a target", "error/gradient_largest", Quantity::Error),
];

/// Counts as facts of a page.
const NUMBERS: [(&str, &str, Quantity); 8] = [
    ("order", "order", Quantity::Count),
    ("opening angle theta", "theta", Quantity::Plain),
    ("points of a finest box", "leaf", Quantity::Count),
    ("targets computed again in wider arithmetic", "recomputed", Quantity::Count),
    ("pairs too close for the arithmetic of P2P", "close_pairs", Quantity::Count),
    ("words of sources over the link", "words/j", Quantity::Count),
    ("words of targets over the link", "words/i", Quantity::Count),
    ("words of results over the link", "words/result", Quantity::Count),
];
