//! Records as CSV with a header: columns are pin names, vector elements `xi[0]`.

use crate::failure::Failure;
use crate::output;
use hdl::Format;
use host::backend::Table;
use std::path::Path;

/// A column: its name in the header and its format.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub format: Format,
}

/// Reads the wanted columns of a file into a table, in the order of `columns`. Other columns are an error, since a
/// misspelt name would otherwise go unseen. With `raw`, fields are unsigned integers of bit patterns. A table of no
/// columns holds one element of 0 for each row, so that rows still count.
pub fn read(path: &Path, columns: &[Column], raw: bool) -> Result<Table, Failure> {
    let wrong = |line: usize, what: String| Failure::Input(format!("{}:{line}: {what}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| Failure::file(path, format!("cannot be read: {e}")))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(&bytes[..]);
    let broken = |e: csv::Error| wrong(line_at(&bytes, e.position()), reason(&e));
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
        return Err(wrong(1, format!("`{name}` is no pin of this kernel here; {}", wanted(columns))));
    }
    let mut table = Table { elements: columns.len().max(1), bits: Vec::new() };
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(broken)? {
        if columns.is_empty() {
            table.bits.push(0);
        }
        for (c, &k) in columns.iter().zip(&places) {
            let field = record.get(k).unwrap_or("");
            let bits = self::field(c.format, field, raw).map_err(|e| {
                let line = line_at(&bytes, record.position());
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

/// The line of a record. The reader's own count stops before the blank lines and comments that it skips.
fn line_at(bytes: &[u8], position: Option<&csv::Position>) -> usize {
    let mut at = position.map_or(0, |p| p.byte() as usize).min(bytes.len());
    loop {
        at += match bytes.get(at) {
            Some(b'\r' | b'\n') => 1,
            Some(b'#') => bytes[at..].iter().take_while(|b| **b != b'\n').count(),
            _ => return 1 + bytes[..at].iter().filter(|b| **b == b'\n').count(),
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

/// The pattern of one field: a decimal number rounded once, or with `raw` the pattern itself.
pub fn field(format: Format, field: &str, raw: bool) -> Result<u64, String> {
    if !raw {
        let (low, high) = (format.min_bits(), format.max_bits());
        let range = || format!("{} to {}", hdl::exact::print(format, low), hdl::exact::print(format, high));
        return hdl::exact::parse(format, field)
            .map_err(|e| format!("`{}`: {e}; {format} takes {}", shortened(field), range()));
    }
    let value: u64 = field.parse().map_err(|_| {
        format!("`{}` is not an unsigned integer; --raw takes bit patterns in decimal", shortened(field))
    })?;
    hdl::exact::check_raw(format, value)
}

/// The first characters of a field that may have any length.
fn shortened(field: &str) -> String {
    field.chars().take(40).collect()
}

/// Writes a table; with `raw` as bit patterns.
pub fn write(path: &Path, columns: &[Column], table: &Table, raw: bool) -> Result<(), Failure> {
    output::write_with(path, |out| {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(columns.iter().map(|c| c.name.as_str()))?;
        for k in 0..table.len() {
            let fields = columns
                .iter()
                .zip(table.record(k))
                .map(|(c, &bits)| if raw { bits.to_string() } else { hdl::exact::print(c.format, bits) });
            writer.write_record(fields)?;
        }
        writer.flush()
    })
}
