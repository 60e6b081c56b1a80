//! Explaining a pipeline: what stands where, for how many cycles, and what it costs, as data and as a table.

mod svg;

pub use svg::svg;

use crate::backend::build::Built;
use crate::graph::{Graph, NodeId, NodeKind};
use crate::middle::fold::Folded;
use crate::middle::lines::Lines;
use crate::report::lane::{LaneBits, lane};
use crate::report::selections;
use crate::syntax::sources::Text;
use hdl::op::{Inst, TableUse};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One value of the pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub node: u32,
    /// Whether it depends on parameters and constants alone; then the cycles say when it has settled.
    pub fixed: bool,
    pub start: u32,
    pub latency: u32,
    pub ready: u32,
    /// Line of the source, from 1; 0 without a source.
    pub line: usize,
    /// The included file that the line is in; empty in the kernel's own.
    pub file: String,
    /// The source's name, or empty.
    pub name: String,
    pub operator: &'static str,
    /// `float18.9 float18.9 -> float18.9`, with the attributes.
    pub formats: String,
    /// Its arguments: nodes as `%3`, pins by name, constants as patterns.
    pub reads: String,
    pub operator_bits: u64,
    pub delay_bits: u64,
    /// Multipliers, and bits of tables; of operators that share a unit those of the unit, once.
    pub multipliers: u32,
    pub rom_bits: u64,
}

/// All uses of one operator.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperatorUses {
    pub name: &'static str,
    /// How many times it stands in the pipeline.
    pub count: u32,
    /// Different circuits: formats, attributes and known signs.
    pub circuits: u32,
    pub register_bits: u64,
    pub multipliers: u32,
    /// The sum over them of the products of their operands' widths.
    pub multiplier_bits: u64,
    pub rom_bits: u64,
}

/// A function's table.
#[derive(Clone, PartialEq, Debug)]
pub struct TableRow {
    pub operator: &'static str,
    pub formats: String,
    /// How many nodes have one.
    pub count: u32,
    pub table: TableUse,
}

/// The whole account.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explain {
    pub kernel: String,
    pub target: &'static str,
    pub mhz: f64,
    /// Cycles from pins to outputs.
    pub depth: u32,
    /// Operators and pins in the order of their start, static ones first.
    pub rows: Vec<Row>,
    /// By name.
    pub kinds: Vec<OperatorUses>,
    /// One row for each function and format, in the order of the source.
    pub tables: Vec<TableRow>,
    pub operator_bits: u64,
    pub delay_bits: u64,
    /// Bits that wait in memory instead of registers.
    pub memory_bits: u64,
    /// All register bits if everything came as early as possible, and the fewest that the solver's dual allows; in both
    /// what waits in memory counts too.
    pub early_bits: u64,
    pub bound_bits: u64,
    /// Registers of the flags on their way.
    pub flag_bits: u64,
    /// The lane that is built around the pipeline.
    pub lane: LaneBits,
    /// The longest time between two registers in ns, and what the clock leaves for it.
    pub worst: f64,
    pub budget: f64,
    /// Where a pair comes every several clocks: how operators share units.
    pub folded: Option<Units>,
    /// Outputs that are gathered together.
    pub selections: Vec<selections::Row>,
}

/// How operators share units.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Units {
    /// Clocks from one pair to the next.
    pub ii: u32,
    /// For each kind what it is, its uses, its units, and the fewest that there can be.
    pub kinds: Vec<(String, usize, u32, u32)>,
    /// Lookup tables of the multiplexers, about.
    pub choices: u64,
}

impl Explain {
    /// All flip-flop bits of a lane, its accumulators included.
    pub fn register_bits(&self) -> u64 {
        self.lane.register_bits
    }

    /// Flip-flop bits of the pipeline's operators, results and flags.
    pub fn pipeline_bits(&self) -> u64 {
        self.operator_bits + self.delay_bits + self.flag_bits
    }

    pub fn multipliers(&self) -> u32 {
        self.kinds.iter().map(|k| k.multipliers).sum()
    }

    pub fn multiplier_bits(&self) -> u64 {
        self.kinds.iter().map(|k| k.multiplier_bits).sum()
    }

    pub fn rom_bits(&self) -> u64 {
        self.kinds.iter().map(|k| k.rom_bits).sum()
    }
}

/// Accounts for a built kernel; `text` is its source.
pub fn explain<'a>(built: &Built, text: impl Into<Text<'a>>) -> Explain {
    let (graph, s, clock) = (&built.graph, &built.schedule, built.library.clock);
    let lines = Lines::new(text.into());
    let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
    order.sort_by_key(|k| (!s.fixed[*k], s.start[*k], *k));
    let shown = |k: &usize| !matches!(graph.nodes[*k].kind, NodeKind::Const { .. });
    Explain {
        kernel: graph.name.clone(),
        target: clock.target.name,
        mhz: clock.mhz,
        depth: s.depth,
        rows: order.into_iter().filter(shown).map(|k| row(built, &lines, k)).collect(),
        kinds: kinds(built),
        tables: tables(&built.graph),
        operator_bits: s.operator_bits.iter().sum(),
        delay_bits: s.delay_bits.iter().sum(),
        early_bits: built.early_bits,
        bound_bits: built.bound_bits,
        memory_bits: built.memory_bits,
        flag_bits: built.flag_bits,
        lane: lane(built),
        worst: built.longest(),
        budget: clock.budget(),
        folded: built.folded.as_ref().map(|f| units(f, graph)),
        selections: selections::rows(graph),
    }
}

fn units(folded: &Folded, graph: &Graph) -> Units {
    let kind = |k: &crate::middle::fold::SharedUses| {
        let uses = k.items.len();
        (k.what.clone(), uses, k.units, k.least(folded.ii))
    };
    Units { ii: folded.ii, kinds: folded.kinds.iter().map(kind).collect(), choices: folded.choices(graph) }
}

fn row(built: &Built, lines: &Lines, k: usize) -> Row {
    let (graph, s) = (&built.graph, &built.schedule);
    let node = &graph.nodes[k];
    let line = lines.line(node.span.start);
    let leads = built.folded.as_ref().is_none_or(|f| f.leads(k));
    let module = built.library.module(NodeId(k as u32)).filter(|_| leads);
    let (operator, formats, reads) = match &node.kind {
        NodeKind::Pin { pin, element } => ("pin", node.format.to_string(), graph.pins[*pin].column(*element)),
        NodeKind::Const { bits } => ("const", node.format.to_string(), format!("{bits:#x}")),
        NodeKind::Op { op, inst, args } => {
            let mut formats: Vec<String> = inst.args.iter().map(|f| f.to_string()).collect();
            formats.dedup();
            let mut what = format!("{} -> {}", formats.join(" "), inst.result);
            if inst.attrs.n != 0 || inst.attrs.d != 0 {
                let _ = write!(what, ", n = {}, d = {}", inst.attrs.n, inst.attrs.d);
            }
            if inst.truncates() {
                what += ", toward zero";
            }
            if let Some(function) = &inst.attrs.function {
                let _ = write!(what, ", {}", function.text);
            }
            what += &entries(inst);
            if inst.nonneg != 0 {
                let signs = (0..args.len()).filter(|k| inst.is_nonneg(*k)).map(|k| (b'a' + k as u8) as char);
                let _ = write!(what, ", {} >= 0", signs.map(String::from).collect::<Vec<_>>().join(", "));
            }
            let reads: Vec<String> = args.iter().map(|a| label(built, *a)).collect();
            (op.name(), what, reads.join(" "))
        }
    };
    Row {
        node: k as u32,
        fixed: s.fixed[k],
        start: s.start[k],
        latency: s.latency[k],
        ready: s.ready(NodeId(k as u32)),
        line: line.as_ref().map_or(0, |l| l.number),
        file: line.and_then(|l| l.file).unwrap_or_default().to_string(),
        name: node.name.clone(),
        operator,
        formats,
        reads,
        operator_bits: s.operator_bits[k],
        delay_bits: s.delay_bits[k],
        multipliers: module.map_or(0, |m| m.multipliers),
        rom_bits: module.map_or(0, |m| m.rom_bits + m.ram_bits),
    }
}

/// The entries of a table that is read by an index.
fn entries(inst: &Inst) -> String {
    let Some(table) = &inst.attrs.lookup else { return String::new() };
    let shape: String = table.limits().iter().map(|n| format!("[{n}]")).collect();
    match &table.loaded {
        Some(loaded) => format!(", {}{shape}", loaded.port.trim_start_matches("t_")),
        None => format!(", {shape}"),
    }
}

/// The label of a node among the arguments in a row.
fn label(built: &Built, id: NodeId) -> String {
    match &built.graph.node(id).kind {
        NodeKind::Pin { pin, element } => built.graph.pins[*pin].column(*element),
        NodeKind::Const { bits } => format!("{bits:#x}"),
        NodeKind::Op { .. } => format!("%{}", id.0),
    }
}

fn kinds(built: &Built) -> Vec<OperatorUses> {
    let mut kinds: BTreeMap<&'static str, (OperatorUses, Vec<&str>)> = BTreeMap::new();
    for (k, node) in built.graph.nodes.iter().enumerate() {
        let (NodeKind::Op { op, .. }, Some(m)) = (&node.kind, built.library.module(NodeId(k as u32))) else { continue };
        let (kind, names) = kinds.entry(op.name()).or_default();
        kind.name = op.name();
        kind.count += 1;
        kind.register_bits += built.schedule.operator_bits[k];
        // What shares a unit has its multipliers and tables once.
        if built.folded.as_ref().is_none_or(|f| f.leads(k)) {
            kind.multipliers += m.multipliers;
            kind.multiplier_bits += m.multiplier_bits;
            kind.rom_bits += m.rom_bits + m.ram_bits;
        }
        if !names.contains(&m.module.name.as_str()) {
            names.push(&m.module.name);
            kind.circuits += 1;
        }
    }
    kinds.into_values().map(|(kind, _)| kind).collect()
}

/// The tables of a kernel's functions.
pub fn tables(graph: &Graph) -> Vec<TableRow> {
    let mut rows: Vec<TableRow> = Vec::new();
    for node in &graph.nodes {
        let NodeKind::Op { op, inst, .. } = &node.kind else { continue };
        let Some(table) = op.table(inst) else { continue };
        let mut formats = inst.result.to_string();
        if inst.attrs.n != 0 || inst.attrs.d != 0 {
            let _ = write!(formats, ", n = {}, d = {}", inst.attrs.n, inst.attrs.d);
        }
        if let Some(function) = &inst.attrs.function {
            let _ = write!(formats, ", {}", function.text);
        }
        formats += &entries(inst);
        match rows.iter_mut().find(|r| r.operator == op.name() && r.formats == formats) {
            Some(row) => row.count += 1,
            None => rows.push(TableRow { operator: op.name(), formats, count: 1, table }),
        }
    }
    rows
}

/// The account as text: the schedule, then the sums.
impl std::fmt::Display for Explain {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        writeln!(f, "{}: {} cycles at {} MHz on `{}`", self.kernel, self.depth, self.mhz, self.target)?;
        writeln!(f)?;
        let rows: Vec<Vec<String>> = self.rows.iter().map(cells).collect();
        match f.alternate() {
            true => f.write_str(&table(&COLUMNS.map(String::from), &rows, &[0, 1, 2, 4, 9, 10]))?,
            false => {
                let mut rows = rows;
                rows.iter_mut().for_each(|r| drop(r.remove(LINE)));
                let mut header = COLUMNS.map(String::from).to_vec();
                header.remove(LINE);
                f.write_str(&table(&header, &rows, &[0, 1, 2, 8, 9]))?;
            }
        }
        writeln!(f)?;
        let header = ["operator", "count", "circuits", "register bits", "multipliers", "ROM bits"].map(String::from);
        let rows: Vec<Vec<String>> = self.kinds.iter().map(kind_cells).collect();
        f.write_str(&table(&header, &rows, &[1, 2, 3, 4, 5]))?;
        writeln!(f)?;
        if !self.tables.is_empty() {
            let header =
                ["table of", "formats", "count", "pieces", "degree", "bits", "ulp", "exact from"].map(String::from);
            f.write_str(&table(&header, &self.tables.iter().map(table_cells).collect::<Vec<_>>(), &[2, 3, 4, 5, 6]))?;
            writeln!(f)?;
        }
        if let Some(units) = &self.folded {
            units.fmt(f)?;
            if self.memory_bits > 0 {
                writeln!(f, "bits in memory {:>8}  behind the units, where their values wait", self.memory_bits)?;
            }
            return self.sums(f);
        }
        let all = self.pipeline_bits() + self.memory_bits;
        let beside = match self.memory_bits {
            0 => String::new(),
            bits => format!(" and {bits} bits that wait in memory"),
        };
        let least = match self.bound_bits == all {
            true => "the least for this depth is",
            false => "this depth takes no fewer than",
        };
        writeln!(
            f,
            "pipeline       {:>8}  bits of registers{beside}; {least} {}; {} more if all came as early as possible",
            self.pipeline_bits(),
            self.bound_bits,
            self.early_bits - all.min(self.early_bits)
        )?;
        self.sums(f)
    }
}

impl Units {
    /// A line for each kind, then what was reached.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let header = ["units of", "uses", "units", "at least"].map(String::from);
        let row = |(what, uses, units, bound): &(String, usize, u32, u32)| {
            vec![what.clone(), uses.to_string(), units.to_string(), bound.to_string()]
        };
        f.write_str(&table(&header, &self.kinds.iter().map(row).collect::<Vec<_>>(), &[1, 2, 3]))?;
        writeln!(f)?;
        let (most, bound) = self.most();
        writeln!(f, "a pair every   {:>8} clocks; no unit is used twice in one", self.ii)?;
        writeln!(f, "most units     {:>8}  of one kind; any schedule needs {bound}", most)?;
        writeln!(f, "multiplexers   {:>8}  lookup tables, about", self.choices)
    }

    /// The most units of a kind, and the bound: the most that any schedule needs of a kind.
    pub fn most(&self) -> (u32, u32) {
        let of = |unit: fn(&(String, usize, u32, u32)) -> u32| self.kinds.iter().map(unit).max().unwrap_or(0);
        (of(|k| k.2), of(|k| k.3))
    }
}

impl Explain {
    /// The sums at the end of the text.
    fn sums(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let lane = &self.lane;
        writeln!(f, "register bits  {:>8}  of a lane", self.register_bits())?;
        writeln!(f, "  operators    {:>8}", self.operator_bits)?;
        writeln!(f, "  results      {:>8}  on their way to where they are read", self.delay_bits)?;
        writeln!(f, "  flags        {:>8}", self.flag_bits)?;
        writeln!(
            f,
            "  sums         {:>8}  of the outputs, with guard bits, and what is kept of the last targets",
            lane.sum_bits
        )?;
        writeln!(f, "  targets      {:>8}  in the banks of i registers", lane.target_bits)?;
        let others = self.register_bits().saturating_sub(self.pipeline_bits() + lane.sum_bits + lane.target_bits);
        writeln!(f, "  entry        {others:>8}  pairs as they come, what travels beside them, addresses of memories")?;
        if lane.memory_bits > 0 {
            writeln!(f, "  in memory    {:>8}  of sums, and of what travels beside the pairs", lane.memory_bits)?;
        }
        writeln!(f, "multipliers    {:>8}", self.multipliers())?;
        writeln!(f, "ROM bits       {:>8}", self.rom_bits())?;
        writeln!(f, "longest path   {:>8.2} ns of {:.2} ns, flip-flops not counted", self.worst, self.budget)?;
        self.selections.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

/// Columns of the table.
const COLUMNS: [&str; 11] = [
    "start",
    "cycles",
    "ready",
    "node",
    "line",
    "name",
    "operator",
    "formats",
    "reads",
    "operator bits",
    "waiting bits",
];
/// The column that the alternate form `{:#}` alone shows: without it the table does not change with a file's layout.
const LINE: usize = 4;

fn cells(r: &Row) -> Vec<String> {
    let none = |n: u64| if n == 0 { String::new() } else { n.to_string() };
    let start = if r.fixed { "static".to_string() } else { r.start.to_string() };
    vec![
        start,
        r.latency.to_string(),
        r.ready.to_string(),
        format!("%{}", r.node),
        if r.file.is_empty() { none(r.line as u64) } else { format!("{}:{}", r.file, r.line) },
        r.name.clone(),
        r.operator.to_string(),
        r.formats.clone(),
        r.reads.clone(),
        none(r.operator_bits),
        none(r.delay_bits),
    ]
}

fn table_cells(r: &TableRow) -> Vec<String> {
    let t = &r.table;
    let floor = t.floor.map_or(String::new(), |x| format!("{x:.1e}"));
    let numbers = [r.count as u64, t.pieces as u64, t.degree as u64, t.bits].map(|n| n.to_string());
    let text = [r.operator.to_string(), r.formats.clone()].into_iter();
    text.chain(numbers).chain([format!("{:.2}", t.error), floor]).collect()
}

fn kind_cells(k: &OperatorUses) -> Vec<String> {
    let numbers = [k.count as u64, k.circuits as u64, k.register_bits, k.multipliers as u64, k.rom_bits];
    std::iter::once(k.name.to_string()).chain(numbers.map(|n| n.to_string())).collect()
}

/// Columns padded to their widest cell; those in `right` are set flush right.
fn table(header: &[String], rows: &[Vec<String>], right: &[usize]) -> String {
    let all: Vec<&[String]> = std::iter::once(header).chain(rows.iter().map(Vec::as_slice)).collect();
    let wide = |c: usize| all.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(wide).collect();
    let mut text = String::new();
    for row in all {
        let cell = |(c, t): (usize, &String)| {
            if right.contains(&c) { format!("{t:>0$}", widths[c]) } else { format!("{t:<0$}", widths[c]) }
        };
        let line: Vec<String> = row.iter().enumerate().map(cell).collect();
        let _ = writeln!(text, "{}", line.join("  ").trim_end());
    }
    text
}
