//! The table of an FMM run, for a terminal and as a page.

use super::page::{self, Row, or_dash, seconds};
use super::roofline;
use super::slice::Slice;
use fmm::octree::budget::{Budget, Cause, Parts};
use fmm::octree::stats::{LeafBy, Reference, Stats};
use terminal::report::{Block, Cell, Data, Page, Quantity, Section, Table};

/// The stages in the order of the algorithm.
fn rows(s: &Stats) -> Vec<Row> {
    let cpu = |stage, what, seconds, pairs| Row { stage, what, seconds, pairs, cycles: None, utilisation: None };
    vec![
        cpu("tree", "tree and lists", s.seconds.tree, None),
        cpu("P2M", "particles to multipoles", s.seconds.p2m, None),
        cpu("M2M", "multipoles to parents", s.seconds.m2m, None),
        Row {
            stage: "M2L",
            what: "multipoles to local expansions",
            seconds: s.seconds.m2l,
            pairs: Some(s.pairs.m2l),
            cycles: s.cycles.m2l,
            utilisation: s.utilisation.m2l,
        },
        cpu("P2L", "particles to local expansions", s.seconds.p2l, Some(s.pairs.p2l)),
        cpu("L2L", "local expansions to children", s.seconds.l2l, None),
        cpu("L2P", "local expansions to particles", s.seconds.l2p, None),
        cpu("M2P", "multipoles to particles", s.seconds.m2p, Some(s.pairs.m2p)),
        Row {
            stage: "P2P",
            what: "particles to particles",
            seconds: s.seconds.p2p,
            pairs: Some(s.pairs.p2p),
            cycles: s.cycles.p2p,
            utilisation: s.utilisation.p2p,
        },
    ]
}

/// The device that computed targets again.
fn again(s: &Stats) -> String {
    format!("targets computed again on the {} in wider arithmetic", if s.on_gpu.is_some() { "GPU" } else { "CPU" })
}

/// The order, and that of cells farther away.
fn order(s: &Stats) -> String {
    match s.softened {
        // The steps are those of the softened far field's order.
        Some(_) => s.order.to_string(),
        None => with_lower(s, s.order),
    }
}

/// An order with the one below that M2L takes between far cells, if it does.
fn with_lower(s: &Stats, order: usize) -> String {
    let lower = |d| format!(" ({} beyond d.d = {d})", order.saturating_sub(1).max(1));
    order.to_string() + &s.lower_beyond.map_or(String::new(), lower)
}

/// The table as text.
pub fn text(s: &Stats) -> String {
    let mut out = format!(
        "FMM of {} particles on {}: order {}, theta {}, leaf {}, {} levels\n\n",
        s.n,
        s.backend,
        order(s),
        s.theta,
        s.leaf,
        s.levels
    );
    out += &page::text(rows(s), s.on_gpu.is_some());
    out += &format!("{:<6} {:>10}\n\n", "total", seconds(s.seconds.total, s.on_gpu.is_some()));
    for note in notes(s) {
        out += &(note + "\n");
    }
    if s.words.i > 0 {
        let (j, i, result) = (s.words.j, s.words.i, s.words.result);
        out += &format!("words over the link: {j} of sources, {i} of targets, {result} of results\n");
        if s.streamed.m2l > 0 {
            out += &format!(
                "M2L pairs streamed {} (masked near cells included), of which {:.3} are of use\n",
                s.streamed.m2l,
                s.pairs.m2l as f64 / s.streamed.m2l as f64
            );
        }
    }
    if !s.flags.is_empty() {
        out += &format!("flags: {}\n", s.flags.join(", "));
    }
    if s.close_pairs > 0 {
        out += &format!("pairs too close for the arithmetic of P2P: {}\n", s.close_pairs);
    }
    if s.recomputed > 0 {
        out += &format!("{}: {}\n", again(s), s.recomputed);
    }
    for (name, value) in errors(s) {
        out += &format!("{name}: {value}\n");
    }
    if let Some(budget) = &s.budget {
        out += &shares(budget);
    }
    out
}

/// Sentences on results that are not what they seem: on standard error, and on the page.
pub fn warnings(s: &Stats) -> Vec<String> {
    let left_out = s.left_out.iter().map(|left_out| left_out.sentence());
    left_out.chain(s.rounding.iter().map(|rounding| rounding.sentence())).collect()
}

/// Notes on how it ran, in sentences.
fn notes(s: &Stats) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(t) = s.on_gpu {
        let ms = [t.computed, t.sent, t.fetched].map(|x| format!("{:.2} ms", 1e3 * x));
        out.push(format!("all stages ran on the GPU in {}; sending took {}, fetching {}", ms[0], ms[1], ms[2]));
    }
    if let Some(why) = &s.left_to_cpu {
        out.push(format!("the GPU ran P2P alone, since {why}"));
    }
    if let Some(w) = s.waited {
        let (who, seconds) = if w.cpu > 0.0 { ("CPU", w.cpu) } else { ("device", w.device) };
        out.push(format!("P2P ran beside the other stages; then the {who} waited {seconds:.4} s"));
    }
    if s.leaf_by != LeafBy::Given {
        let by = if s.leaf_by == LeafBy::MeasuredCosts { "those measured here" } else { "built-in ones" };
        let root = s.enlarge.map_or(String::new(), |times| {
            format!(", and the edge of the root cell, {times:.3} times that of the particles' box")
        });
        out.push(format!("leaf size by the costs of the stages ({by}){root}"));
    }
    if let Some(order) = s.softened {
        let order = with_lower(s, order);
        out.push(format!("the far field is softened too: its expansion is that of softened 1/r, of order {order}"));
    }
    out
}

/// A row of relative L2 errors, in the order of [`page::CAUSES`].
struct ErrorRow {
    name: &'static str,
    errors: [String; 5],
}

/// The parts of the error.
fn parts(budget: &Budget) -> Vec<ErrorRow> {
    let row = |(name, parts): (&'static str, &Parts)| {
        let Parts { truncation, rounding, grid, p2p, m2l, total, .. } = *parts;
        // One of both is 0: direct sums have no truncation.
        let errors = [truncation.max(rounding), grid, p2p, m2l, total].map(number);
        ErrorRow { name, errors }
    };
    let both = [Some(("potential", &budget.potential)), budget.gradient.as_ref().map(|g| ("gradient", g))];
    both.into_iter().flatten().map(row).collect()
}

/// Where more bits or orders would help.
fn advice(budget: &Budget) -> String {
    let p = budget.judged();
    let of = if budget.gradient.is_some() { "gradient" } else { "potential" };
    let (what, more) = match p.largest {
        None => return format!("the {of} has no error at these targets"),
        Some(Cause::Rounding) => {
            return format!("the error of the {of} is the rounding of f64: all pairs are summed directly");
        }
        Some(Cause::Truncation) => {
            (format!("the order limits the error of the {of}"), "an order more halves that part, about, and")
        }
        Some(Cause::Grid) => (
            format!(
                "the error of the {of} comes from the grid of 31 bits on which kernels get coordinates, not from formats"
            ),
            "native P2P",
        ),
        Some(Cause::P2p) => (format!("the error of the {of} comes from P2P: spend bits there"), "a fraction bit more"),
        Some(Cause::M2l) => (format!("the error of the {of} comes from M2L: spend bits there"), "a fraction bit more"),
    };
    format!("{what}; {more} would give {}", number(p.next))
}

/// Both as text.
fn shares(budget: &Budget) -> String {
    let line = |name: &str, cells: &[&str]| {
        format!("{name:<22}{}\n", cells.iter().map(|c| format!("{c:>13}")).collect::<String>())
    };
    let mut out = "\n".to_string() + &line("relative L2 error by", &page::CAUSES);
    for ErrorRow { name, errors } in parts(budget) {
        out += &line(name, &errors.each_ref().map(String::as_str));
    }
    out + &advice(budget) + "\n"
}

fn compared(with: Reference) -> &'static str {
    match with {
        Reference::DirectSummation => "targets compared with direct summation",
        Reference::EwaldSums => "targets compared with Ewald sums",
        Reference::KernelSums => "targets compared with direct summation of what the kernel means",
    }
}

fn number(x: f64) -> String {
    format!("{x:.3e}")
}

/// The known errors, as names and numbers.
fn errors(s: &Stats) -> Vec<(&'static str, String)> {
    let Some(e) = &s.error else { return Vec::new() };
    let mut errors = vec![
        (compared(s.reference), e.samples.to_string()),
        ("potential, relative L2 error", number(e.potential_rel_l2)),
        ("gradient, relative L2 error", or_dash(e.gradient_rel_l2, number)),
        ("gradient, median relative error", or_dash(e.gradient_median, number)),
        ("gradient, 99th percentile", or_dash(e.gradient_p99, number)),
    ];
    if e.reference_vanishes {
        errors.push(("the reference is 0; its errors are relative to", "the results".into()));
    }
    if e.gradient_vanishes {
        errors
            .push(("gradients vanish; their errors are relative to", "the potential over the edge of the box".into()));
    }
    errors.extend(e.hessian_rel_l2.map(|h| ("Hessian, relative L2 error", number(h))));
    if !s.more_errors.is_empty() {
        let each: Vec<String> = s.more_errors.iter().map(|e| or_dash(e.gradient_rel_l2, number)).collect();
        errors.push(("gradient of further charges, relative L2 errors", each.join(", ")));
    }
    errors
}

/// The page of `--report`.
pub fn page(s: &Stats, data: &Data, slice: Option<&Slice>) -> Page {
    let about = format!("order {}, theta {}, at most {} particles a leaf", order(s), s.theta, s.leaf);
    let mut tree: Vec<Block> = page::levels(data).into_iter().map(Block::Figure).collect();
    tree.extend(slice.map(|slice| Block::Figure(slice.figure(data))));
    let mut accuracy = page::errors(data);
    if s.error.is_some() {
        accuracy.push(page::facts(data, &ERRORS));
    }
    accuracy.extend(s.budget.as_ref().map(|budget| Block::Table(causes(budget, data))));
    let told = [errors_told(s), s.budget.as_ref().map(advice).into_iter().collect()].concat();
    let numbers = page::facts(data, &NUMBERS);
    let flags = Block::Facts(vec![("flags".into(), data.words("flags"))]);
    Page {
        title: format!("FMM of {} particles on {}", s.n, s.backend),
        about,
        first: page::first(data),
        sections: vec![
            page::time(data, &rows(s), [notes(s), warnings(s)].concat()),
            Section::new("Tree", tree),
            Section::new("Errors", accuracy).with_notes(told),
            Section::new("Counts", vec![numbers, flags]),
            roofline::section(data),
        ],
    }
}

/// Sentences on the reference of errors.
fn errors_told(s: &Stats) -> Vec<String> {
    let words = errors(s).into_iter().filter(|(_, value)| value != "-" && value.parse::<f64>().is_err());
    let against = compared(s.reference).trim_start_matches("targets compared with ");
    let reference = s.error.iter().map(|_| format!("Errors are those against {against}."));
    reference.chain(words.map(|(name, value)| format!("{name}: {value}"))).collect()
}

/// Errors as facts of a page.
const ERRORS: [(&str, &str, Quantity); 6] = [
    ("targets compared", "error/samples", Quantity::Count),
    ("potential, relative L2 error", "error/potential_rel_l2", Quantity::Error),
    ("gradient, relative L2 error", "error/gradient_rel_l2", Quantity::Error),
    ("gradient, median relative error", "error/gradient_median", Quantity::Error),
    ("gradient, 99th percentile", "error/gradient_p99", Quantity::Error),
    ("Hessian, relative L2 error", "error/hessian_rel_l2", Quantity::Error),
];

/// Counts as facts of a page.
const NUMBERS: [(&str, &str, Quantity); 13] = [
    ("targets that are not the particles", "targets", Quantity::Count),
    ("order", "order", Quantity::Count),
    ("order of the softened far field", "softened", Quantity::Count),
    ("opening angle theta", "theta", Quantity::Plain),
    ("particles of a leaf, at most", "leaf", Quantity::Count),
    ("edge of the root cell in edges of the particles' box", "enlarge", Quantity::Plain),
    ("M2L pairs streamed, masked ones included", "streamed/m2l", Quantity::Count),
    ("P2P pairs streamed", "streamed/p2p", Quantity::Count),
    ("targets computed again in wider arithmetic", "recomputed", Quantity::Count),
    ("pairs too close for the arithmetic of P2P", "close_pairs", Quantity::Count),
    ("words of sources over the link", "words/j", Quantity::Count),
    ("words of targets over the link", "words/i", Quantity::Count),
    ("words of results over the link", "words/result", Quantity::Count),
];

/// The parts of the error as a table of a page.
fn causes(budget: &Budget, data: &Data) -> Table {
    let row = |(of, parts): (&str, &Parts)| {
        let first = if parts.rounding > parts.truncation { "rounding" } else { "truncation" };
        let cell = |key: &str| data.cell(&format!("budget/{of}/{key}"), Quantity::Error);
        let cells = [first, "grid", "p2p", "m2l", "total"].map(cell);
        std::iter::once(Cell::text(of)).chain(cells).collect()
    };
    let heads = ["of"].into_iter().chain(page::CAUSES).map(String::from).collect();
    let both = [Some(("potential", &budget.potential)), budget.gradient.as_ref().map(|g| ("gradient", g))];
    Table {
        caption: "Relative L2 errors by their causes".into(),
        heads,
        rows: both.into_iter().flatten().map(row).collect(),
    }
}
