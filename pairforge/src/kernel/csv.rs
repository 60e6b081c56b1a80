//! Records as text with a header: columns are pin names, vector elements `xi[0]`; with commas where they are written.

use fmm::data::text::{Table as Lines, decimal};
use fmm::shown::shown;
use hdl::op::semantics::Real;
use hdl::{Flags, Format};
use pg2::graph::{Graph, PinClass};
use pipelines::job::{Backend, Table};
use rayon::prelude::*;
use std::ops::Range;

/// A column: its name in the header and its format.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub format: Format,
    /// The format of the patterns in a table, which is wider where a backend rounds to none.
    pub held: Format,
    /// Of a parameter that need not be given: its pattern as it is held.
    pub default: Option<u64>,
}

impl Column {
    pub fn new(name: String, format: Format) -> Column {
        Column { name, format, held: format, default: None }
    }
}

/// A file of records.
pub struct Text {
    name: String,
    text: String,
}

/// The records of a text, with the line of each.
pub struct Numbered {
    pub table: Table,
    pub lines: Vec<usize>,
    /// Names of columns that are left out.
    pub ignored: Vec<String>,
}

/// Wanted columns, and for each column of the file its place among them.
struct Wanted<'a> {
    columns: &'a [Column],
    places: &'a [Option<usize>],
    raw: bool,
}

impl Text {
    /// Records that come from no file.
    pub fn made(name: impl Into<String>, text: String) -> Text {
        Text { name: name.into(), text }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The wanted columns, in their order, and the names of columns that are left out. With `raw`, fields are unsigned integers of bit
    /// patterns. A table of no columns holds one element of 0 for each row, so that rows still count.
    pub fn table(&self, columns: &[Column], raw: bool) -> Result<(Table, Vec<String>), String> {
        let (lines, places, ignored) = self.open(columns)?;
        let wanted = Wanted { columns, places: &places, raw };
        // All cores read it; what is wrong is then looked for line by line.
        let parts: Option<Vec<Vec<u64>>> = lines.pieces(PIECE).par_iter().map(|part| wanted.bits(part)).collect();
        let table = match parts {
            Some(parts) => Table { elements: columns.len().max(1), bits: parts.concat() },
            None => self.rows(&lines, &wanted, &mut |_| {})?,
        };
        Ok((table, ignored))
    }

    /// The same with the line of each record.
    pub fn numbered(&self, columns: &[Column], raw: bool) -> Result<Numbered, String> {
        let (lines, places, ignored) = self.open(columns)?;
        let mut numbers = Vec::new();
        let table = self.rows(&lines, &Wanted { columns, places: &places, raw }, &mut |line| numbers.push(line))?;
        Ok(Numbered { table, lines: numbers, ignored })
    }

    fn wrong(&self, line: usize, what: String) -> String {
        format!("{}:{line}: {what}", self.name)
    }

    /// The header, the place of each of its columns among the wanted ones, and what is left out.
    #[allow(clippy::type_complexity, reason = "three things that one header says")]
    fn open(&self, columns: &[Column]) -> Result<(Lines<'_>, Vec<Option<usize>>, Vec<String>), String> {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let is_header = |found: &[String]| names.iter().all(|name| found.iter().any(|f| f == name));
        let lines =
            Lines::open(&self.text, &names.join(","), &is_header).map_err(|(line, what)| match columns.first() {
                Some(first) if line == 0 => {
                    self.wrong(1, format!("no column `{}`: {what}; {}", first.name, wanted(columns)))
                }
                _ => self.wrong(line.max(1), what),
            })?;
        let mut places = vec![None; lines.names.len()];
        for (k, column) in columns.iter().enumerate() {
            places[self.place(&lines, column, columns)?] = Some(k);
        }
        let is_out = |(_, place): &(&String, &Option<usize>)| place.is_none() && !columns.is_empty();
        let ignored = lines.names.iter().zip(&places).filter(is_out).map(|(name, _)| name.clone()).collect();
        Ok((lines, places, ignored))
    }

    /// The place of a column in the file: by its name, or by the only one that differs in capitals alone.
    fn place(&self, lines: &Lines, column: &Column, columns: &[Column]) -> Result<usize, String> {
        let of = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
            lines.names.iter().enumerate().filter(|(_, name)| is(name)).map(|(k, _)| k).collect()
        };
        let is_other = |name: &str| columns.iter().any(|c| c.name == name);
        let exact = of(&|name| name == column.name);
        let near = of(&|name| name.eq_ignore_ascii_case(&column.name) && !is_other(name));
        match (&exact[..], &near[..]) {
            ([k], _) | ([], [k]) => Ok(*k),
            ([], _) => {
                let what = format!("no column `{}`; {}{}", column.name, wanted(columns), lines.hint());
                Err(self.wrong(lines.line, what))
            }
            _ => Err(self.wrong(lines.line, format!("two columns are called `{}`; keep one", column.name))),
        }
    }

    /// Line by line, with every mistake in its place; `seen` is given the line of each record.
    fn rows(&self, lines: &Lines, wanted: &Wanted, seen: &mut dyn FnMut(usize)) -> Result<Table, String> {
        let mut bits = Vec::new();
        for (line, text) in lines.rows() {
            seen(line);
            wanted.add(lines, text, &mut bits).map_err(|what| self.wrong(line, what))?;
        }
        Ok(Table { elements: wanted.columns.len().max(1), bits })
    }
}

/// Bytes of one thread's piece.
const PIECE: usize = 1 << 20;

impl Wanted<'_> {
    /// The records of some lines, if all can be read.
    fn bits(&self, lines: &Lines) -> Option<Vec<u64>> {
        let mut bits = Vec::new();
        lines.rows().try_for_each(|(_, text)| self.add(lines, text, &mut bits).ok())?;
        Some(bits)
    }

    /// Adds the record of a line.
    fn add(&self, lines: &Lines, text: &str, bits: &mut Vec<u64>) -> Result<(), String> {
        let start = bits.len();
        bits.resize(start + self.columns.len().max(1), 0);
        let count = lines.each(text, |k, text| {
            let Some(place) = self.places.get(k).copied().flatten() else { return Ok::<(), String>(()) };
            let column = &self.columns[place];
            bits[start + place] =
                field(column, text, self.raw).map_err(|e| format!("column `{}`: {e}", column.name))?;
            Ok(())
        })?;
        match lines.names.len() {
            wanted if wanted != count => Err(format!("values in this line: {count}, columns in the header: {wanted}")),
            _ => Ok(()),
        }
    }
}

fn wanted(columns: &[Column]) -> String {
    let names: Vec<String> = columns.iter().map(|c| format!("{} ({})", c.name, c.format)).collect();
    format!("the columns are {}", names.join(", "))
}

/// The pattern that a table holds for one field: that of a decimal number rounded once, or with `raw` the one given.
pub fn field(column: &Column, field: &str, raw: bool) -> Result<u64, String> {
    let Column { format, held, .. } = *column;
    if !raw {
        let (low, high) = (format.min_bits(), format.max_bits());
        let range =
            || format!("{} to {}", hdl::number::exact::print(format, low), hdl::number::exact::print(format, high));
        let plain = decimal(field);
        let parsed = |format| hdl::number::exact::parse(format, plain.as_deref().unwrap_or(field));
        // The range is the format's own, however the number is held.
        let bits = parsed(format).and_then(|bits| if held == format { Ok(bits) } else { parsed(held) });
        return bits.map_err(|e| format!("`{}`: {e}; {format} takes {}", shown(field), range()));
    }
    let value: u64 = field
        .parse()
        .map_err(|_| format!("`{}` is not an unsigned integer; --raw takes bit patterns in decimal", shown(field)))?;
    let bits = hdl::number::exact::check_raw(format, value)?;
    Ok(if held == format { bits } else { Real::read(format, bits).bits() })
}

/// The column of flags.
pub const FLAGS: &str = "flags";

/// The text of one pattern of a table.
fn text(column: &Column, bits: u64, raw: bool) -> String {
    match raw {
        true if column.held == column.format => bits.to_string(),
        true => Real::of_bits(bits).nearest(column.format).to_string(),
        false => {
            let is_end = |end: &u64| Real::read(column.format, *end) == Real::of_bits(bits);
            match [column.format.min_bits(), column.format.max_bits()].into_iter().find(is_end) {
                // Without sources an output is an end of its format, and should look like it.
                Some(end) => hdl::number::exact::print(column.format, end),
                None => hdl::number::exact::print(column.held, bits),
            }
        }
    }
}

/// The line of the names of columns, with that of flags behind them if they are wanted.
pub fn header(columns: &[Column], with_flags: bool) -> String {
    let names = columns.iter().map(|c| c.name.as_str()).chain(with_flags.then_some(FLAGS));
    names.collect::<Vec<_>>().join(",") + "\n"
}

/// The lines of some records; with `raw` as bit patterns, and with the names of each record's flags behind it if they are given. No
/// number and no name of a pin or of a flag has a character that would have to be quoted.
pub fn lines(
    columns: &[Column],
    table: &Table,
    flags: Option<&[Flags]>,
    (records, raw): (Range<usize>, bool),
) -> String {
    let line = |k: usize| {
        let fields = columns.iter().zip(table.record(k)).map(|(c, &bits)| text(c, bits, raw));
        fields.chain(flags.map(|f| f[k].names().join(" "))).collect::<Vec<_>>().join(",") + "\n"
    };
    records.map(line).collect()
}

/// The CSV columns of a pin class, in record order.
pub fn columns(graph: &Graph, class: PinClass) -> Vec<Column> {
    let column = |(pin, element): (usize, u32)| {
        let pin = &graph.pins[pin];
        Column { default: pin.default_bits(element, pin.format), ..Column::new(pin.column(element), pin.format) }
    };
    graph.elements_of(class).into_iter().map(column).collect()
}

/// The same as a backend holds them in its records.
pub fn held_columns(graph: &Graph, class: PinClass, backend: &dyn Backend) -> Vec<Column> {
    let elements = graph.elements_of(class).into_iter().zip(columns(graph, class));
    let held = |((pin, element), column): ((usize, u32), Column)| {
        let held = backend.held(column.format);
        Column { held, default: graph.pins[pin].default_bits(element, held), ..column }
    };
    elements.map(held).collect()
}
