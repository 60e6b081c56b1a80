//! Pages of `build` and `synth`: the pipeline as a drawing, what each line of the source costs, and the time between registers.

use pairforge::kernel::schedule::Schedule;
use pg2::backend::build::Built;
use pg2::report::explain::svg;
use pg2::syntax::sources::Sources;
use terminal::report::{Block, Cell, Data, Figure, Key, Listing, ListingLine, Quantity, Section, Table};

/// Most operators and pins that are drawn, and listed one by one: a drawing of more is too large to be read.
const MOST: usize = 400;

/// A kernel that was built, with its source.
pub struct Drawn<'a> {
    pub built: &'a Built,
    pub sources: &'a Sources,
    /// Of its own file.
    pub text: &'a str,
}

impl Drawn<'_> {
    pub fn schedule(&self) -> Schedule {
        Schedule::of(self.built, self.sources)
    }
}

/// The columns of costs, with their keys.
const COSTS: [(&str, &str); 4] = [
    ("register bits", "operator_bits"),
    ("of delays", "delay_bits"),
    ("multipliers", "multipliers"),
    ("bits of tables", "rom_bits"),
];

/// The sections of a kernel, the `k`-th of `schedules`; of several each has the kernel's name.
pub fn sections(drawn: &Drawn, data: &Data, (k, count): (usize, usize)) -> Vec<Section> {
    let at = |key: &str| format!("schedules/{k}/{key}");
    let of = |heading: &str| match count {
        1 => heading.to_string(),
        _ => format!("{heading} of {}", data.text(&at("kernel"))),
    };
    let fact = |name: &str, key: &str, quantity| (name.to_string(), data.cell(&at(key), quantity));
    let facts = vec![
        fact("clocks from pins to outputs", "cycles", Quantity::Count),
        fact("clock", "mhz", Quantity::Of("MHz")),
        fact("register bits of operators", "operator_bits", Quantity::Count),
        fact("register bits of delays", "delay_bits", Quantity::Count),
        fact("register bits of flags", "flag_bits", Quantity::Count),
        fact("lookup tables of a lane, estimated", "tables", Quantity::Count),
        fact("registers of a lane", "registers", Quantity::Count),
        fact("multipliers of a lane", "multipliers", Quantity::Count),
        fact("block memories of a lane", "memories", Quantity::Count),
    ];
    let values = data.len(&at("values"));
    let mut pipeline = Vec::new();
    let mut notes = Vec::new();
    match values <= MOST {
        true => pipeline.push(Block::Figure(drawing(drawn))),
        false => notes.push(format!(
            "The pipeline has more than {MOST} operators, too many to be drawn; `pairforge explain --svg` draws it by itself."
        )),
    }
    pipeline.push(Block::Facts(facts));
    pipeline.push(Block::Table(paths(data, k)));
    if values <= MOST {
        pipeline.push(Block::Table(operators(data, k)));
    }
    let source = vec![Block::Listing(listing(drawn, data, k)), Block::Table(by_line(data, k))];
    vec![Section::new(of("Pipeline"), pipeline).with_notes(notes), Section::new(of("Area by line"), source)]
}

fn drawing(drawn: &Drawn) -> Figure {
    Figure {
        caption: "The pipeline: a row a value, clocks from left to right; a box is an operator, an orange line a value that waits".into(),
        svg: svg(drawn.built, drawn.sources),
        keys: Vec::<Key>::new(),
        data: None,
        is_wide: true,
    }
}

/// The longest times between registers.
fn paths(data: &Data, k: usize) -> Table {
    let row = |n: usize| {
        let at = |key: &str| format!("schedules/{k}/paths/{n}/{key}");
        let ns = |key: &str| data.cell(&at(key), Quantity::Of("ns"));
        vec![Cell::text(data.text(&at("of"))), ns("ns"), ns("slack")]
    };
    let heads = ["longest path of", "time", "slack"].map(String::from).into();
    let rows = (0..data.len(&format!("schedules/{k}/paths"))).map(row).collect();
    Table { caption: "Time between two registers, by the model of the target".into(), heads, rows }
}

/// All operators and pins.
fn operators(data: &Data, k: usize) -> Table {
    let row = |n: usize| {
        let at = |key: &str| format!("schedules/{k}/values/{n}/{key}");
        let texts = ["operator", "name", "formats"].map(|key| Cell::text(data.text(&at(key))));
        let counts = ["line", "start", "ready"].into_iter().chain(COSTS.map(|c| c.1));
        texts.into_iter().chain(counts.map(|key| data.cell(&at(key), Quantity::Count))).collect()
    };
    let heads = ["operator", "value", "formats", "line", "from clock", "to"].into_iter().chain(COSTS.map(|c| c.0));
    let rows = (0..data.len(&format!("schedules/{k}/values"))).map(row).collect();
    Table { caption: "Operators and pins".into(), heads: heads.map(String::from).collect(), rows }
}

/// The cost of each line.
fn by_line(data: &Data, k: usize) -> Table {
    let row = |n: usize| {
        let at = |key: &str| format!("schedules/{k}/lines/{n}/{key}");
        let count = |key: &str| data.cell(&at(key), Quantity::Count);
        let file = data.text(&at("file"));
        let mut row = vec![count("line"), Cell::text(format!("{}{}", prefix(file), data.text(&at("text"))))];
        row.extend(["operators"].into_iter().chain(COSTS.map(|c| c.1)).map(count));
        row
    };
    let heads = ["line", "text", "operators"].into_iter().chain(COSTS.map(|c| c.0)).map(String::from).collect();
    let rows = (0..data.len(&format!("schedules/{k}/lines"))).map(row).collect();
    Table { caption: "Cost of each line".into(), heads, rows }
}

/// The words before a line of an included file.
fn prefix(file: &str) -> String {
    if file.is_empty() { String::new() } else { format!("{file}: ") }
}

/// The source with the costs of its lines.
fn listing(drawn: &Drawn, data: &Data, k: usize) -> Listing {
    let count = data.len(&format!("schedules/{k}/lines"));
    let at = |n: usize, key: &str| format!("schedules/{k}/lines/{n}/{key}");
    let notes = |number: usize| {
        let is_here =
            |n: &usize| data.number(&at(*n, "line")) == Some(number as f64) && data.text(&at(*n, "file")).is_empty();
        let of = |n: usize| {
            let kinds = COSTS.iter().zip(["register bits", "bits of delays", "multipliers", "bits of tables"]);
            let there = kinds.filter(move |((_, key), _)| data.number(&at(n, key)).is_some_and(|x| x > 0.0));
            there.map(move |((_, key), unit)| data.cell(&at(n, key), Quantity::Of(unit))).collect::<Vec<_>>()
        };
        (0..count).filter(is_here).flat_map(of).collect()
    };
    let line = |(n, text): (usize, &str)| ListingLine { number: n + 1, text: text.to_string(), notes: notes(n + 1) };
    Listing {
        caption: "Source, with the cost of its lines".into(),
        lines: drawn.text.lines().enumerate().map(line).collect(),
    }
}
