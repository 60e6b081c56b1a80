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
    let wrong = |line: u64, what: String| Failure::Input(format!("{}:{line}: {what}", path.display()));
    let file = std::fs::File::open(path).map_err(|e| Failure::file(path, format!("cannot be read: {e}")))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(file);
    let header = reader.headers().map_err(|e| wrong(1, e.to_string()))?.clone();
    let header: Vec<&str> = header.iter().map(|h| h.trim_start_matches('\u{feff}')).collect();
    let mut places = Vec::new();
    for c in columns {
        match header.iter().enumerate().filter(|(_, h)| **h == c.name).map(|(k, _)| k).collect::<Vec<_>>()[..] {
            [k] => places.push(k),
            [] => return Err(wrong(1, format!("no column `{}`; {}", c.name, wanted(columns)))),
            _ => return Err(wrong(1, format!("two columns are called `{}`; keep one", c.name))),
        }
    }
    if let Some(name) = header.iter().find(|h| !columns.iter().any(|c| c.name == **h)) {
        return Err(wrong(1, format!("`{name}` is no pin of this kernel here; {}", wanted(columns))));
    }
    let mut table = Table { elements: columns.len().max(1), bits: Vec::new() };
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| wrong(reader_line(&e), e.to_string()))? {
        let line = record.position().map_or(0, |p| p.line());
        if columns.is_empty() {
            table.bits.push(0);
        }
        for (c, &k) in columns.iter().zip(&places) {
            let field = record.get(k).unwrap_or("");
            table
                .bits
                .push(self::field(c.format, field, raw).map_err(|e| wrong(line, format!("column `{}`: {e}", c.name)))?);
        }
    }
    Ok(table)
}

fn wanted(columns: &[Column]) -> String {
    let names: Vec<String> = columns.iter().map(|c| format!("{} ({})", c.name, c.format)).collect();
    if names.is_empty() {
        "it has no pins of this class".into()
    } else {
        format!("the columns are {}", names.join(", "))
    }
}

fn reader_line(e: &csv::Error) -> u64 {
    e.position().map_or(0, |p| p.line())
}

/// The pattern of one field: a decimal number rounded once, or with `raw` the pattern itself.
pub fn field(format: Format, field: &str, raw: bool) -> Result<u64, String> {
    if !raw {
        return hdl::exact::parse(format, field).map_err(|e| e.to_string());
    }
    let value: u64 = field
        .parse()
        .map_err(|_| format!("`{field}` is not an unsigned integer; --raw takes bit patterns in decimal"))?;
    hdl::exact::check_raw(format, value)
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
