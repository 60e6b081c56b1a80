//! NumPy's `.npy` files: arrays of numbers and of records in, particles and results out.
//!
//! The crate `npyz` would take 25 more crates for the lines that read a header here, among them one that needs a C compiler to be
//! built.

mod header;

use super::particles::{ParticleError, Particles};
use super::text::{Columns, chosen};
use header::{Header, Scalar};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Whether the bytes begin as an `.npy` file does.
pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Columns of an array of numbers.
pub struct Shape {
    /// The names of so many columns, if an array can have them.
    pub columns: fn(usize) -> Option<Vec<String>>,
    /// The same in words.
    pub words: &'static str,
}

/// Where the values of a column are.
struct Place {
    name: String,
    scalar: Scalar,
    first: usize,
    stride: usize,
}

/// Reads an array of shape (n, m) in C or Fortran order, whose columns `shape` names, or of n records, of whose fields `known` names the
/// columns (it is asked in small letters); the others are noted in `ignored`. Numbers are floats of 2, 4 or 8 bytes or integers of 1
/// to 8, of either byte order.
pub fn read_columns(
    bytes: &[u8],
    shape: &Shape,
    known: &dyn Fn(&str) -> Option<String>,
    ignored: &mut Vec<String>,
) -> Result<Columns, ParticleError> {
    let (header, data) = whole(bytes).map_err(ParticleError::File)?;
    header.check_rows().map_err(ParticleError::File)?;
    let places = places(&header, shape, known, ignored).map_err(ParticleError::File)?;
    places.into_iter().map(|place| Ok((place.name.clone(), column(&place, data, header.rows)?))).collect()
}

fn whole(bytes: &[u8]) -> Result<(Header<'_>, &[u8]), String> {
    let (text, data) = split(bytes)?;
    let header = Header::parse(text)?;
    check_size(&header, data)?;
    Ok((header, data))
}

fn check_size(header: &Header, data: &[u8]) -> Result<(), String> {
    let size = header.row_bytes().and_then(|size| size.checked_mul(header.rows));
    match size == Some(data.len()) {
        true => Ok(()),
        false => Err(format!("{} rows were announced, but {} bytes of numbers follow", header.rows, data.len())),
    }
}

/// An array that is one of several in a file, so that its own name says what it holds.
pub struct Array {
    pub rows: usize,
    pub columns: Numbers,
}

/// The numbers of an array, not all of which need be finite.
pub enum Numbers {
    /// One dimension.
    Line(Vec<f64>),
    /// A row for each particle.
    Rows(Vec<Vec<f64>>),
    /// Fields by their names, and the names of those that hold no plain numbers.
    Records(Columns, Vec<String>),
}

impl Array {
    /// Reads an `.npy` file of one or two dimensions.
    pub fn read(bytes: &[u8]) -> Result<Array, ParticleError> {
        let (header, data) = whole(bytes).map_err(ParticleError::File)?;
        Ok(Array::of(&header, data))
    }

    /// Reads numbers in C order that another file describes, in NumPy's words: a format such as `'<f8'` in quotes or a list of fields.
    pub fn from_parts(descr: &str, shape: &[usize], data: &[u8]) -> Result<Array, ParticleError> {
        let header = Header::of(descr, false, shape).map_err(ParticleError::File)?;
        check_size(&header, data).map_err(ParticleError::File)?;
        Ok(Array::of(&header, data))
    }

    fn of(header: &Header, data: &[u8]) -> Array {
        let rows = header.rows;
        let columns = match header.plain {
            Some((scalar, _)) if header.is_line => {
                Numbers::Line(values((scalar, 0, scalar.size), data, rows).collect())
            }
            // Without rows, columns would be as many as a file says.
            Some((_, width)) if rows == 0 => Numbers::Rows(vec![Vec::new(); width.min(data.len() + 4)]),
            Some((scalar, width)) => {
                let column = |k| values(plain_place(header, scalar, width, k), data, rows).collect();
                Numbers::Rows((0..width).map(column).collect())
            }
            None => {
                let (mut columns, mut others) = (Columns::new(), Vec::new());
                for field in &header.fields {
                    match field.scalar {
                        Some(scalar) => {
                            let column = values((scalar, field.offset, header.record), data, rows).collect();
                            columns.push((field.name.clone(), column));
                        }
                        None => others.push(field.name.clone()),
                    }
                }
                Numbers::Records(columns, others)
            }
        };
        Array { rows, columns }
    }
}

/// The format of a column of an array of numbers, where it begins, and the distance of its values.
fn plain_place(header: &Header, scalar: Scalar, width: usize, k: usize) -> (Scalar, usize, usize) {
    match header.is_fortran {
        true => (scalar, k * header.rows * scalar.size, scalar.size),
        false => (scalar, k * scalar.size, width * scalar.size),
    }
}

fn values(
    (scalar, first, stride): (Scalar, usize, usize),
    data: &[u8],
    rows: usize,
) -> impl Iterator<Item = f64> + use<'_> {
    (0..rows).map(move |row| first + row * stride).map(move |start| scalar.value(&data[start..start + scalar.size]))
}

fn places(
    header: &Header,
    shape: &Shape,
    known: &dyn Fn(&str) -> Option<String>,
    ignored: &mut Vec<String>,
) -> Result<Vec<Place>, String> {
    let Some((scalar, width)) = header.plain else {
        let names: Vec<String> = header.fields.iter().map(|field| field.name.clone()).collect();
        let chosen = chosen(&names, known, ignored)?;
        let place = |(k, name): (usize, String)| {
            let field = &header.fields[k];
            let scalar = field.scalar.ok_or_else(|| format!("the field `{name}` holds no plain numbers"))?;
            Ok(Place { name, scalar, first: field.offset, stride: header.record })
        };
        return chosen.into_iter().map(place).collect();
    };
    let wrong = || {
        format!(
            "its shape is ({}, {width}); {} is needed, or an array of records with such fields",
            header.rows, shape.words
        )
    };
    let names = (shape.columns)(width).ok_or_else(wrong)?;
    let place = |(k, name): (usize, String)| {
        let (scalar, first, stride) = plain_place(header, scalar, width, k);
        Place { name, scalar, first, stride }
    };
    Ok(names.into_iter().enumerate().map(place).collect())
}

fn column(place: &Place, data: &[u8], rows: usize) -> Result<Vec<f64>, ParticleError> {
    let Place { name, scalar, first, stride } = place;
    let mut column = Vec::with_capacity(rows);
    for (row, value) in values((*scalar, *first, *stride), data, rows).enumerate() {
        if !value.is_finite() {
            return Err(ParticleError::Row { row, what: format!("{name} = {value} is not a finite number") });
        }
        column.push(value);
    }
    Ok(column)
}

/// Particles as an array of shape (n, 4), `<f8`.
pub fn write_particles(p: &Particles) -> Vec<u8> {
    let mut bytes = head(p.len(), 4);
    put_rows(&mut bytes, &[&p.x, &p.y, &p.z, &p.q]);
    bytes
}

/// Named columns as an array of `<f8`, a row for each of their places.
pub fn write_columns(columns: &[(String, &[f64])]) -> Vec<u8> {
    let columns: Vec<&[f64]> = columns.iter().map(|c| c.1).collect();
    let mut bytes = head(columns[0].len(), columns.len());
    put_rows(&mut bytes, &columns);
    bytes
}

/// How a file of so many rows and columns of `<f8` begins.
pub fn head(rows: usize, columns: usize) -> Vec<u8> {
    begun("'<f8'", &format!("({rows}, {columns})"))
}

/// The same for columns that are read back: as an array where `shape` gives them these names, else as records.
pub fn head_named(rows: usize, names: &[&str], shape: &Shape) -> Vec<u8> {
    if (shape.columns)(names.len()).is_some_and(|own| own == names) {
        return head(rows, names.len());
    }
    let fields: Vec<String> = names.iter().map(|name| format!("('{name}', '<f8')")).collect();
    begun(&format!("[{}]", fields.join(", ")), &format!("({rows},)"))
}

fn begun(descr: &str, shape: &str) -> Vec<u8> {
    let mut header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version, length and header together fill a multiple of 64 bytes, ending in a newline. A long header has a longer length.
    let before = if header.len() < 65_000 { 10 } else { 12 };
    let filled = (before + header.len() + 1).next_multiple_of(64);
    header.push_str(&" ".repeat(filled - before - header.len() - 1));
    header.push('\n');
    let length = (header.len() as u32).to_le_bytes();
    let (version, length) = if before == 10 { (1, &length[..2]) } else { (2, &length[..]) };
    [MAGIC, &[version, 0], length, header.as_bytes()].concat()
}

/// Rows as they stand behind the head.
pub fn put_rows(bytes: &mut Vec<u8>, columns: &[&[f64]]) {
    let n = columns.first().map_or(0, |column| column.len());
    bytes.reserve_exact(n * columns.len() * 8);
    for k in 0..n {
        for column in columns {
            bytes.extend(column[k].to_le_bytes());
        }
    }
}

/// The rows of a file, which can be read apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pub count: usize,
    /// Where the first one begins, and how many bytes each has.
    pub start: usize,
    pub bytes: usize,
    /// As the header has them: the format, and the number of columns where there are some.
    descr: String,
    width: Option<usize>,
}

/// Bytes at the beginning of a file that hold the header of most arrays.
pub const HEAD: usize = 4096;

/// The rows of a file, by its beginning and its length; `None` where rows do not lie behind each other, and for what [`read_columns`]
/// refuses as a whole with columns of this shape.
pub fn rows(head: &[u8], length: u64, shape: &Shape) -> Option<Rows> {
    let (text, data) = split(head).ok()?;
    let header = Header::parse(text).ok().filter(|header| header.check_rows().is_ok())?;
    let (start, bytes) = (head.len() - data.len(), header.row_bytes()?);
    let is_whole = header.rows.checked_mul(bytes)? as u64 == length.checked_sub(start as u64)?;
    let is_known = header.plain.is_none_or(|(_, width)| (shape.columns)(width).is_some());
    let is_by_rows = header.plain.is_none() || !header.is_fortran;
    (is_whole && is_known && is_by_rows).then(|| Rows {
        count: header.rows,
        start,
        bytes,
        descr: header.descr.to_string(),
        width: header.plain.map(|(_, width)| width),
    })
}

impl Rows {
    /// A file of some rows alone.
    pub fn file(&self, rows: &[u8]) -> Vec<u8> {
        let n = rows.len() / self.bytes.max(1);
        let shape = self.width.map_or(format!("({n},)"), |width| format!("({n}, {width})"));
        let mut bytes = begun(&self.descr, &shape);
        bytes.extend(rows);
        bytes
    }
}

/// The text of the header and the bytes behind it.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let cut = || "it is not a whole .npy file".to_string();
    if !is_npy(bytes) {
        return Err(cut());
    }
    let version = *bytes.get(6).ok_or_else(cut)?;
    let size = if version == 1 { 2 } else { 4 };
    let mut length = 0usize;
    for b in bytes.get(8..8 + size).ok_or_else(cut)?.iter().rev() {
        length = length << 8 | *b as usize;
    }
    let header = bytes.get(8 + size..8 + size + length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| cut())?;
    Ok((header, &bytes[8 + size + length..]))
}
