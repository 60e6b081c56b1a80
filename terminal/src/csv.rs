//! Files of records as text with a header, which `pairforge::kernel::csv` reads and writes; parameters on the command line.

use crate::failure::Failure;
use crate::{input, output};
use fmm::data::npy;
use fmm::shown::shown;
use hdl::Flags;
use pipelines::job::Table;
use rayon::prelude::*;
use std::path::Path;

pub use pairforge::kernel::csv::{Column, FLAGS, Text, columns, field, held_columns};
use pairforge::kernel::csv::{Numbered, header, lines};

/// Reads the wanted columns of a file into a table, in the order of `columns`. Other columns are left out, and that is said. With `raw`,
/// fields are unsigned integers of bit patterns.
pub fn read(path: &Path, columns: &[Column], raw: bool) -> Result<Table, Failure> {
    let (table, ignored) = open(path)?.table(columns, raw).map_err(Failure::Input)?;
    input::note_ignored(path, &ignored);
    Ok(table)
}

/// The same with the line of each record.
pub fn read_numbered(path: &Path, columns: &[Column], raw: bool) -> Result<(Table, Vec<usize>), Failure> {
    let Numbered { table, lines, ignored } = open(path)?.numbered(columns, raw).map_err(Failure::Input)?;
    input::note_ignored(path, &ignored);
    Ok((table, lines))
}

/// The text of a file.
pub fn open(path: &Path) -> Result<Text, Failure> {
    let (name, bytes) = (input::name(path), input::read(path)?);
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|b| **b == b'\n').count();
        let is_array = npy::is_npy(e.as_bytes());
        let what =
            if is_array { "this is a NumPy array; save it as CSV" } else { "the text is not UTF-8; save it as UTF-8" };
        Failure::Input(format!("{name}:{line}: {what}"))
    })?;
    Ok(Text::made(name, text))
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
    let chunks: Vec<usize> = (0..table.len()).step_by(CHUNK).collect();
    output::write_with(path, |out| {
        out.write_all(header(columns, flags.is_some()).as_bytes())?;
        // A few chunks a thread at a time, so that the text of a large table never stands in memory whole.
        for some in chunks.chunks(64) {
            let text_of = |&first: &usize| lines(columns, table, flags, (first..(first + CHUNK).min(table.len()), raw));
            let texts: Vec<String> = some.par_iter().map(text_of).collect();
            texts.iter().try_for_each(|text| out.write_all(text.as_bytes()))?;
        }
        out.flush()
    })
}

/// The patterns of the parameters, each of which must be given once where it has no value of its own: an element by its name, or all
/// elements of a vector, of a matrix or of a row by a list of values, or by a file of them behind `@`.
pub fn parameters(columns: &[Column], given: &[String], raw: bool) -> Result<Vec<u64>, Failure> {
    let mut values: Vec<Option<u64>> = vec![None; columns.len()];
    for text in given {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("--param takes NAME=VALUE, not `{}`", shown(text))))?;
        let (name, value) = (name.trim(), value.trim());
        let wrong = |e: String| Failure::Input(format!("--param {name}: {e}"));
        let mut set = |k: usize, text: &str| {
            let bits = field(&columns[k], text, raw).map_err(wrong)?;
            match values[k].replace(bits) {
                Some(_) => Err(Failure::Usage(format!("--param {} is given twice", columns[k].name))),
                None => Ok(()),
            }
        };
        if let Some(k) = columns.iter().position(|c| c.name == name) {
            set(k, value)?;
            continue;
        }
        let first = columns.iter().position(|c| is_element(&c.name, name)).ok_or_else(|| {
            let known = if columns.is_empty() { "it has none".into() } else { format!("it has {}", names(columns)) };
            Failure::Input(format!("the kernel has no parameter `{}`; {known}", shown(name)))
        })?;
        let count = columns[first..].iter().take_while(|c| is_element(&c.name, name)).count();
        let listed = match value.strip_prefix('@') {
            Some(path) => open(Path::new(path))?.text().to_string(),
            None => value.to_string(),
        };
        let lines = listed.lines().map(|line| line.split('#').next().unwrap_or_default());
        let words = lines.flat_map(|line| line.split(|c: char| c == ',' || c == ';' || c.is_whitespace()));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        if words.len() != count {
            let ends = format!("`{}` to `{}`", columns[first].name, columns[first + count - 1].name);
            let given = if words.len() == 1 { "1 value is".to_string() } else { format!("{} values are", words.len()) };
            return Err(wrong(format!("{given} given for the {count} elements {ends}")));
        }
        words.iter().enumerate().try_for_each(|(k, word)| set(first + k, word))?;
    }
    values.iter_mut().zip(columns).for_each(|(value, column)| *value = value.or(column.default));
    let Some(k) = values.iter().position(Option::is_none) else { return Ok(values.into_iter().flatten().collect()) };
    let (name, format) = (&columns[k].name, columns[k].format);
    let all = match name.split_once('[') {
        Some((vector, _)) => format!(", or all elements of `{vector}` with --param {vector}=@FILE"),
        None => String::new(),
    };
    Err(Failure::Input(format!("the parameter `{name}` has no value; add --param {name}=VALUE ({format}){all}")))
}

/// Whether a column is an element of the vector, matrix or row of that name.
fn is_element(column: &str, of: &str) -> bool {
    column.strip_prefix(of).is_some_and(|rest| rest.starts_with('['))
}

/// The names of parameters with their formats; of a long vector the first and the last.
fn names(columns: &[Column]) -> String {
    let vector = |c: &Column| c.name.split('[').next().unwrap_or_default().to_string();
    let of = |group: &[Column]| match group {
        [first, .., last] if group.len() > 4 => vec![format!("{} to {} ({})", first.name, last.name, first.format)],
        _ => group.iter().map(|c| format!("{} ({})", c.name, c.format)).collect(),
    };
    columns.chunk_by(|a, b| vector(a) == vector(b)).flat_map(of).collect::<Vec<_>>().join(", ")
}
