//! A pipeline as data: its values with their clocks, the cost of each line of the source, and the time between registers.

use pg2::backend::build::Built;
use pg2::report::area;
use pg2::report::explain::{Row, explain};
use pg2::report::origins::lines_of_nodes;
use pg2::syntax::sources::Sources;
use serde::Serialize;
use std::collections::BTreeMap;

/// The pipeline of a kernel, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
pub struct Schedule {
    kernel: String,
    target: &'static str,
    mhz: f64,
    cycles: u32,
    /// Of a lane by the compiler's own estimate: lookup tables, registers, multipliers and block memories.
    tables: u64,
    registers: u64,
    multipliers: u64,
    memories: u64,
    /// Register bits of operators, of delays, and of flags on their way.
    operator_bits: u64,
    delay_bits: u64,
    flag_bits: u64,
    values: Vec<Value>,
    lines: Vec<LineCost>,
    /// Nanoseconds that the clock leaves between two registers.
    period: f64,
    paths: Vec<PathTime>,
}

/// An operator or a pin.
#[derive(Serialize)]
struct Value {
    operator: &'static str,
    name: String,
    formats: String,
    line: usize,
    start: u32,
    ready: u32,
    #[serde(flatten)]
    cost: Cost,
}

/// The cost of an operator, or of all operators of a line.
#[derive(Clone, Copy, Default, Serialize)]
struct Cost {
    operator_bits: u64,
    delay_bits: u64,
    multipliers: u32,
    rom_bits: u64,
}

/// A line of the source.
#[derive(Serialize)]
struct LineCost {
    /// The included file that it is in; null in the kernel's own.
    file: Option<String>,
    line: usize,
    text: String,
    operators: u32,
    #[serde(flatten)]
    cost: Cost,
}

/// The longest time between two registers of a part of the lane, and what is left of the period.
#[derive(Serialize)]
struct PathTime {
    of: String,
    ns: f64,
    slack: f64,
}

impl Cost {
    fn of(row: &Row) -> Cost {
        let Row { operator_bits, delay_bits, multipliers, rom_bits, .. } = *row;
        Cost { operator_bits, delay_bits, multipliers, rom_bits }
    }

    fn add(&mut self, other: Cost) {
        self.operator_bits += other.operator_bits;
        self.delay_bits += other.delay_bits;
        self.multipliers += other.multipliers;
        self.rom_bits += other.rom_bits;
    }
}

impl Schedule {
    /// Operators and pins.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn of(built: &Built, sources: &Sources) -> Schedule {
        let account = explain(built, sources);
        let lane = area::lane(built);
        let paths = [("pipeline".to_string(), built.worst)].into_iter().chain(
            built
                .sums()
                .into_iter()
                .map(|(output, ns)| (format!("sum of {}", output.strip_prefix("o_").unwrap_or(&output)), ns)),
        );
        let value = |row: &Row| Value {
            operator: row.operator,
            name: row.name.clone(),
            formats: row.formats.clone(),
            line: row.line,
            start: row.start,
            ready: row.ready,
            cost: Cost::of(row),
        };
        Schedule {
            kernel: account.kernel.clone(),
            target: account.target,
            mhz: account.mhz,
            cycles: account.depth,
            tables: lane.tables,
            registers: lane.registers,
            multipliers: lane.multipliers,
            memories: lane.memories,
            operator_bits: account.operator_bits,
            delay_bits: account.delay_bits,
            flag_bits: account.flag_bits,
            lines: lines((built, sources), &account.rows),
            values: account.rows.iter().filter(|row| !row.fixed).map(value).collect(),
            period: account.budget,
            paths: paths.map(|(of, ns)| PathTime { of, ns, slack: account.budget - ns }).collect(),
        }
    }
}

/// The cost of each line, in the order of the text.
fn lines((built, sources): (&Built, &Sources), rows: &[Row]) -> Vec<LineCost> {
    let places = lines_of_nodes(&built.graph, sources);
    let mut lines: BTreeMap<(Option<String>, usize), LineCost> = BTreeMap::new();
    for row in rows {
        let Some(place) = &places[row.node as usize] else { continue };
        let (file, line) = (place.file.clone(), place.number);
        let none = || LineCost {
            file: file.clone(),
            line,
            text: place.statement.clone(),
            operators: 0,
            cost: Cost::default(),
        };
        let of = lines.entry((file.clone(), line)).or_insert_with(none);
        of.operators += (row.operator != "pin") as u32;
        of.cost.add(Cost::of(row));
    }
    lines.into_values().collect()
}
