//! The header of an `.npy` file: a literal of Python that says which numbers follow, in which order.

use crate::shown::shown;

/// A number of a format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar {
    kind: char,
    pub size: usize,
    is_big: bool,
}

/// A field of a record.
#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub offset: usize,
    /// Absent where it is no plain number.
    pub scalar: Option<Scalar>,
}

/// Content of a header.
#[derive(Debug)]
pub struct Header<'h> {
    /// The format as it is written.
    pub descr: &'h str,
    /// Of an array of numbers the format and how many are in a row; of records nothing.
    pub plain: Option<(Scalar, usize)>,
    pub fields: Vec<Field>,
    /// Bytes of a record.
    pub record: usize,
    pub rows: usize,
    /// Whether it is an array of one dimension.
    pub is_line: bool,
    pub is_fortran: bool,
}

/// Records in records, at most.
const DEPTH: usize = 16;

impl<'h> Header<'h> {
    pub fn parse(text: &'h str) -> Result<Header<'h>, String> {
        let descr = after(text, "descr").ok_or("its header names no format")?;
        let is_fortran = match after(text, "fortran_order") {
            Some(rest) if rest.starts_with("False") => false,
            Some(rest) if rest.starts_with("True") => true,
            _ => return Err("its header names no order".into()),
        };
        let shape = shape(text).ok_or("its header names no shape")?;
        Header::of(descr, is_fortran, &shape)
    }

    /// The header of an array with this format, from its beginning on, and shape.
    pub fn of(descr: &'h str, is_fortran: bool, shape: &[usize]) -> Result<Header<'h>, String> {
        let mut read = Reader { rest: descr, depth: 0 };
        if descr.starts_with('[') {
            let rows = match *shape {
                [n] | [n, 1] => n,
                _ => return Err(dimensions(shape.len(), "an array of records has one dimension")),
            };
            let mut fields = Vec::new();
            let record = read.record(0, Some(&mut fields))?;
            let descr = &descr[..descr.len() - read.rest.len()];
            return Ok(Header { descr, plain: None, fields, record, rows, is_line: true, is_fortran: false });
        }
        let name = read.quoted().ok_or("its format cannot be read")?;
        let descr = &descr[..descr.len() - read.rest.len()];
        let scalar = scalar(name).ok_or_else(|| unread(name))?;
        let (rows, width) = match *shape {
            [rows] => (rows, 1),
            [rows, width] => (rows, width),
            _ => return Err(dimensions(shape.len(), ROWS)),
        };
        let is_line = shape.len() == 1;
        Ok(Header { descr, plain: Some((scalar, width)), fields: Vec::new(), record: 0, rows, is_line, is_fortran })
    }

    /// Refuses a line of numbers where rows are needed.
    pub fn check_rows(&self) -> Result<(), String> {
        if self.plain.is_some() && self.is_line { Err(dimensions(1, ROWS)) } else { Ok(()) }
    }

    pub fn row_bytes(&self) -> Option<usize> {
        self.plain.map_or(Some(self.record), |(scalar, width)| scalar.size.checked_mul(width))
    }
}

/// The dimensions that an array of numbers must have.
const ROWS: &str = "a row for each particle is needed, and so two";

fn dimensions(count: usize, wanted: &str) -> String {
    format!("it is an array of {count} dimensions; {wanted}")
}

fn unread(format: &str) -> String {
    format!("its numbers are `{}`; floats of 2, 4 and 8 bytes and integers can be read, such as `<f8`", shown(format))
}

/// The format of a name such as `<f8`, if its numbers can be read.
fn scalar(name: &str) -> Option<Scalar> {
    let (is_big, rest) = order(name);
    let kind = rest.chars().next()?;
    let size: usize = rest.get(1..)?.parse().ok()?;
    let is_known = match kind {
        'f' => matches!(size, 2 | 4 | 8),
        'i' | 'u' => matches!(size, 1 | 2 | 4 | 8),
        'b' => size == 1,
        _ => false,
    };
    is_known.then_some(Scalar { kind, size, is_big })
}

/// The bytes of a format of any kind; `None` for objects, which are elsewhere.
fn size(name: &str) -> Option<usize> {
    let rest = order(name).1;
    let (kind, digits) = (rest.chars().next()?, rest.get(1..)?);
    let digits = digits.split('[').next().unwrap_or_default();
    let count: usize = digits.parse().ok()?;
    match kind {
        'U' => count.checked_mul(4),
        'f' | 'i' | 'u' | 'b' | 'c' | 'S' | 'a' | 'V' | 'M' | 'm' | 't' => Some(count),
        _ => None,
    }
}

/// Whether numbers begin with their high byte, and the name behind what says so.
fn order(name: &str) -> (bool, &str) {
    match name.as_bytes().first() {
        Some(b'<' | b'|') => (false, &name[1..]),
        Some(b'>') => (true, &name[1..]),
        Some(b'=') => (cfg!(target_endian = "big"), &name[1..]),
        _ => (cfg!(target_endian = "big"), name),
    }
}

impl Scalar {
    /// The number of these bytes.
    pub fn value(self, bytes: &[u8]) -> f64 {
        let mut low = [0; 8];
        low[..bytes.len()].copy_from_slice(bytes);
        if self.is_big {
            low[..bytes.len()].reverse();
        }
        let bits = u64::from_le_bytes(low);
        // Shifted up and down again, so that the sign is extended.
        let spare = 64 - 8 * self.size as u32;
        match (self.kind, self.size) {
            ('f', 8) => f64::from_bits(bits),
            ('f', 4) => f32::from_bits(bits as u32) as f64,
            ('f', _) => half(bits as u16),
            ('i', _) => ((bits << spare) as i64 >> spare) as f64,
            _ => bits as f64,
        }
    }
}

/// A float of 2 bytes.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

/// A literal of Python, from its beginning on.
struct Reader<'h> {
    rest: &'h str,
    depth: usize,
}

impl<'h> Reader<'h> {
    fn takes(&mut self, mark: char) -> bool {
        let rest = self.rest.trim_start();
        self.rest = rest.strip_prefix(mark).unwrap_or(rest);
        self.rest.len() < rest.len()
    }

    fn needs(&mut self, mark: char) -> Result<(), String> {
        if self.takes(mark) { Ok(()) } else { Err("its records cannot be read".into()) }
    }

    fn quoted(&mut self) -> Option<&'h str> {
        let mark = self.rest.trim_start().chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (name, rest) = self.rest.trim_start()[1..].split_once(mark)?;
        self.rest = rest;
        Some(name)
    }

    /// The bytes of a record that begins at `offset`, and its fields, if they matter.
    fn record(&mut self, offset: usize, mut fields: Option<&mut Vec<Field>>) -> Result<usize, String> {
        let unread = || "its records cannot be read".to_string();
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(unread());
        }
        self.needs('[')?;
        let mut bytes = 0usize;
        while !self.takes(']') {
            self.needs('(')?;
            // A title may stand beside a name.
            let name = match self.takes('(') {
                true => {
                    self.quoted().ok_or_else(unread)?;
                    self.needs(',')?;
                    let name = self.quoted().ok_or_else(unread)?;
                    self.needs(')')?;
                    name
                }
                false => self.quoted().ok_or_else(unread)?,
            };
            self.needs(',')?;
            let at = offset.checked_add(bytes).ok_or_else(unread)?;
            let (one, scalar) = match self.rest.trim_start().starts_with('[') {
                true => (self.record(at, None)?, None),
                false => {
                    let format = self.quoted().ok_or_else(unread)?;
                    (size(format).ok_or_else(|| self::unread(format))?, scalar(format))
                }
            };
            let shape = if self.takes(',') { self.shape()? } else { Vec::new() };
            self.needs(')')?;
            let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).ok_or_else(unread)?;
            let whole = one.checked_mul(count).ok_or_else(unread)?;
            bytes = bytes.checked_add(whole).ok_or_else(unread)?;
            if let Some(fields) = fields.as_deref_mut() {
                add(fields, name, at, (scalar, one), &shape);
            }
            self.takes(',');
        }
        self.depth -= 1;
        Ok(bytes)
    }

    fn shape(&mut self) -> Result<Vec<usize>, String> {
        let unread = || "its records cannot be read".to_string();
        if !self.takes('(') {
            let (digits, rest) = self.rest.split_once(')').ok_or_else(unread)?;
            let count = digits.trim().parse().map_err(|_| unread())?;
            self.rest = &self.rest[self.rest.len() - rest.len() - 1..];
            return Ok(vec![count]);
        }
        let (inside, rest) = self.rest.split_once(')').ok_or_else(unread)?;
        self.rest = rest;
        numbers(inside).ok_or_else(unread)
    }
}

/// Names of fields that hold a position as a whole.
const POSITIONS: [&str; 6] = ["pos", "position", "positions", "coordinates", "xyz", "xy"];

fn add(fields: &mut Vec<Field>, name: &str, offset: usize, (scalar, bytes): (Option<Scalar>, usize), shape: &[usize]) {
    match shape {
        // NumPy calls what fills a record so.
        _ if name.is_empty() => {}
        [2 | 3] if scalar.is_some() && POSITIONS.contains(&&name.to_lowercase()[..]) => {
            let axes = ["x", "y", "z"].into_iter().take(shape[0]).enumerate();
            fields.extend(axes.map(|(k, axis)| Field { name: axis.into(), offset: offset + k * bytes, scalar }));
        }
        _ => {
            let scalar = scalar.filter(|_| shape.iter().all(|d| *d == 1));
            fields.push(Field { name: name.into(), offset, scalar });
        }
    }
}

/// Text behind `'key':` in the header.
fn after<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let key = format!("'{key}'");
    // A field may be called so, too.
    header
        .match_indices(&key)
        .find_map(|(at, _)| Some(header[at + key.len()..].trim_start().strip_prefix(':')?.trim_start()))
}

fn shape(header: &str) -> Option<Vec<usize>> {
    numbers(after(header, "shape")?.strip_prefix('(')?.split(')').next()?)
}

/// Numbers between commas, as Python 2 may have written them.
fn numbers(inside: &str) -> Option<Vec<usize>> {
    let one = |text: &str| text.trim_end_matches('L').parse().ok();
    inside.split(',').map(str::trim).filter(|t| !t.is_empty()).map(one).collect()
}
