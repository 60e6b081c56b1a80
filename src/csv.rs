//! Records as CSV with a header: columns are pin names, vector elements `xi[0]`.

mod quick;

use crate::failure::Failure;
use crate::{input, output};
use hdl::op::meaning::Real;
use hdl::{Flags, Format};
use host::job::Table;
use pg2::report::shown::{self, shown};
use rayon::prelude::*;
use std::path::Path;

/// A column: its name in the header and its format.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub format: Format,
    /// The format of the patterns in a table, which is wider where a backend rounds to none.
    pub held: Format,
}

impl Column {
    pub fn new(name: String, format: Format) -> Column {
        Column { name, format, held: format }
    }
}

/// Reads the wanted columns of a file into a table, in the order of `columns`. Other columns are an error, since a
/// misspelt name would otherwise go unseen. With `raw`, fields are unsigned integers of bit patterns. A table of no
/// columns holds one element of 0 for each row, so that rows still count.
pub fn read(path: &Path, columns: &[Column], raw: bool) -> Result<Table, Failure> {
    let bytes = bytes_of(path)?;
    match quick::read(&bytes, columns, raw) {
        Some(table) => Ok(table),
        None => read_rows(path, &bytes, columns, raw, &mut |_| {}),
    }
}

/// The same with the line of each record.
pub fn read_numbered(path: &Path, columns: &[Column], raw: bool) -> Result<(Table, Vec<usize>), Failure> {
    let bytes = bytes_of(path)?;
    let mut lines = Vec::new();
    let (mut at, mut line) = (0, 1);
    let table = read_rows(path, &bytes, columns, raw, &mut |position| {
        // Counted on from the record before, so that long files take no longer by the line.
        let start = record_start(&bytes, position);
        line += bytes[at..start].iter().filter(|b| **b == b'\n').count();
        at = start;
        lines.push(line);
    })?;
    Ok((table, lines))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    input::read(path)
}

/// Record by record, with every mistake in its place; `seen` is told the position of each record.
fn read_rows(
    path: &Path,
    bytes: &[u8],
    columns: &[Column],
    raw: bool,
    seen: &mut dyn FnMut(Option<&csv::Position>),
) -> Result<Table, Failure> {
    let wrong = |line: usize, what: String| Failure::Input(format!("{}:{line}: {what}", shown::path(path)));
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(bytes);
    let broken = |e: csv::Error| wrong(line_at(bytes, e.position()), reason(&e));
    let header = reader.headers().map_err(broken)?.clone();
    let header: Vec<&str> = header.iter().map(|h| h.trim_start_matches('\u{feff}')).collect();
    let mut places = Vec::new();
    for c in columns {
        match header.iter().enumerate().filter(|(_, h)| **h == c.name).map(|(k, _)| k).collect::<Vec<_>>()[..] {
            [k] => places.push(k),
            [] => return Err(wrong(1, format!("no column `{}`; {}", c.name, wanted(columns)))),
            _ => return Err(wrong(1, format!("two columns are called `{}`; keep one", c.name))),
        }
    }
    // Without pins of this class the rows only count, under any header.
    let foreign = |h: &&&str| !columns.is_empty() && !columns.iter().any(|c| c.name == **h);
    if let Some(name) = header.iter().find(foreign) {
        return Err(wrong(1, format!("`{}` is no pin of this kernel here; {}", shown(name), wanted(columns))));
    }
    let mut table = Table { elements: columns.len().max(1), bits: Vec::new() };
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(broken)? {
        seen(record.position());
        if columns.is_empty() {
            table.bits.push(0);
        }
        for (c, &k) in columns.iter().zip(&places) {
            let field = record.get(k).unwrap_or("");
            let bits = self::field(c, field, raw).map_err(|e| {
                let line = line_at(bytes, record.position());
                wrong(line, format!("column `{}`: {e}", c.name))
            })?;
            table.bits.push(bits);
        }
    }
    Ok(table)
}

fn wanted(columns: &[Column]) -> String {
    let names: Vec<String> = columns.iter().map(|c| format!("{} ({})", c.name, c.format)).collect();
    format!("the columns are {}", names.join(", "))
}

/// The line of a record.
fn line_at(bytes: &[u8], position: Option<&csv::Position>) -> usize {
    1 + bytes[..record_start(bytes, position)].iter().filter(|b| **b == b'\n').count()
}

/// Where a record begins. The reader's own position is before the blank lines and comments that it skips.
fn record_start(bytes: &[u8], position: Option<&csv::Position>) -> usize {
    let mut at = position.map_or(0, |p| p.byte() as usize).min(bytes.len());
    loop {
        at += match bytes.get(at) {
            Some(b'\r' | b'\n') => 1,
            Some(b'#') => bytes[at..].iter().take_while(|b| **b != b'\n').count(),
            _ => return at,
        };
    }
}

/// What is wrong with a file as CSV, without the place.
fn reason(e: &csv::Error) -> String {
    match e.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("values in this line: {len}, columns in the header: {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "the text is not UTF-8; save it as UTF-8".into(),
        csv::ErrorKind::Io(e) => format!("cannot be read: {e}"),
        _ => e.to_string(),
    }
}

/// The pattern that a table holds for one field: that of a decimal number rounded once, or with `raw` the one given.
pub fn field(column: &Column, field: &str, raw: bool) -> Result<u64, String> {
    let Column { format, held, .. } = *column;
    if !raw {
        let (low, high) = (format.min_bits(), format.max_bits());
        let range =
            || format!("{} to {}", hdl::number::exact::print(format, low), hdl::number::exact::print(format, high));
        let parsed = |format| hdl::number::exact::parse(format, field);
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

/// Records that one thread makes text of at a time.
const CHUNK: usize = 4096;

/// Writes a table; with `raw` as bit patterns, and with the names of each record's flags behind it if they are given.
pub fn write(
    path: &Path,
    columns: &[Column],
    table: &Table,
    flags: Option<&[Flags]>,
    raw: bool,
) -> Result<(), Failure> {
    let text_of = |records: std::ops::Range<usize>| -> std::io::Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for k in records {
            let fields = columns.iter().zip(table.record(k)).map(|(c, &bits)| text(c, bits, raw));
            writer.write_record(fields.chain(flags.map(|f| f[k].names().join(" "))))?;
        }
        writer.into_inner().map_err(|e| e.into_error())
    };
    let chunks: Vec<usize> = (0..table.len()).step_by(CHUNK).collect();
    output::write_with(path, |out| {
        let mut header = csv::Writer::from_writer(Vec::new());
        header.write_record(columns.iter().map(|c| c.name.as_str()).chain(flags.map(|_| FLAGS)))?;
        out.write_all(&header.into_inner().map_err(|e| e.into_error())?)?;
        // A few chunks a thread at a time, so that the text of a large table never stands in memory whole.
        for some in chunks.chunks(64) {
            let texts: Vec<std::io::Result<Vec<u8>>> =
                some.par_iter().map(|&first| text_of(first..(first + CHUNK).min(table.len()))).collect();
            texts.into_iter().try_for_each(|text| out.write_all(&text?))?;
        }
        out.flush()
    })
}
