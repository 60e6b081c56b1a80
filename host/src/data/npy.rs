//! NumPy's `.npy` files: particles of shape (n, 4) in, particles and results out.
//!
//! The crate `npyz` would take 25 more crates for the 40 lines that read a header here, among them one that needs a C
//! compiler to be built.

use crate::data::particles::{ParticleError, Particles};
use pg2::report::shown::shown;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Whether the bytes begin as an `.npy` file does.
pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads an array of shape (n, m), `<f8` or `<f4`, C order, for any m that there are names of columns for.
pub fn read_columns(bytes: &[u8], names: &[&[&str]]) -> Result<Vec<Vec<f64>>, ParticleError> {
    let (header, data) = split(bytes)?;
    let width = match quoted(header, "descr") {
        Some("<f8") => 8,
        Some("<f4") => 4,
        other => {
            return wrong(format!("its numbers are `{}`; `<f8` and `<f4` can be read", shown(other.unwrap_or("?"))));
        }
    };
    match after(header, "fortran_order") {
        Some(rest) if rest.starts_with("False") => {}
        _ => return wrong("it is in Fortran order; save it with numpy.ascontiguousarray".into()),
    }
    let shape = shape(header).ok_or_else(|| ParticleError::File("its header names no shape".into()))?;
    let found = names.iter().find(|names| matches!(shape[..], [_, m] if m == names.len()));
    let Some((names, n)) = found.map(|names| (names, shape[0])) else {
        let one = |names: &&[&str]| format!("(n, {}) with the columns {}", names.len(), names.join(", "));
        let wanted = names.iter().map(one).collect::<Vec<_>>().join(" or ");
        return wrong(format!("its shape is {}; {wanted} is needed", shown(&format!("{shape:?}"))));
    };
    let needed = n.checked_mul(names.len() * width);
    if needed != Some(data.len()) {
        return wrong(format!("{n} rows were announced, but {} bytes of numbers follow", data.len()));
    }
    let mut columns: Vec<Vec<f64>> = names.iter().map(|_| Vec::with_capacity(n)).collect();
    for (row, record) in data.chunks_exact(names.len() * width).enumerate() {
        for ((column, name), bytes) in columns.iter_mut().zip(*names).zip(record.chunks_exact(width)) {
            let value = match width {
                8 => f64::from_le_bytes(bytes.try_into().expect("a chunk of 8")),
                _ => f32::from_le_bytes(bytes.try_into().expect("a chunk of 4")) as f64,
            };
            if !value.is_finite() {
                return Err(ParticleError::Row { row, what: format!("{name} = {value} is not a finite number") });
            }
            column.push(value);
        }
    }
    Ok(columns)
}

/// Particles as an array of shape (n, 4), `<f8`.
pub fn write_particles(p: &Particles) -> Vec<u8> {
    write(&[&p.x, &p.y, &p.z, &p.q])
}

/// Named columns as an array of `<f8`, a row for each of their places.
pub fn write_columns(columns: &[(String, &[f64])]) -> Vec<u8> {
    write(&columns.iter().map(|c| c.1).collect::<Vec<_>>())
}

fn write(columns: &[&[f64]]) -> Vec<u8> {
    let mut bytes = head(columns[0].len(), columns.len());
    put_rows(&mut bytes, columns);
    bytes
}

/// How a file of so many rows and columns of `<f8` begins.
pub fn head(rows: usize, columns: usize) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // Magic, version, length and header together fill a multiple of 64 bytes, ending in a newline.
    let filled = (10 + header.len() + 1).next_multiple_of(64);
    header.push_str(&" ".repeat(filled - 10 - header.len() - 1));
    header.push('\n');
    [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat()
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

fn wrong<T>(what: String) -> Result<T, ParticleError> {
    Err(ParticleError::File(what))
}

/// The rows of a file, which can be read apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pub count: usize,
    /// Where the first one begins, and how many bytes each has.
    pub start: usize,
    pub bytes: usize,
    width: usize,
    format: String,
}

/// Bytes at the beginning of a file that hold the header of any array that can be read.
pub const HEAD: usize = 4096;

/// The rows of a file, by its beginning and its length; `None` for what [`read_columns`] refuses as a whole with columns of these numbers.
pub fn rows(head: &[u8], length: u64, widths: &[usize]) -> Option<Rows> {
    let (header, data) = split(head).ok()?;
    let format = quoted(header, "descr")?.to_string();
    let size = if format == "<f4" { 4 } else { 8 };
    let [count, width] = shape(header)?[..] else { return None };
    let start = head.len() - data.len();
    let is_whole = count.checked_mul(width * size)? as u64 == length.checked_sub(start as u64)?;
    let is_plain = ["<f4", "<f8"].contains(&&format[..]) && after(header, "fortran_order")?.starts_with("False");
    (is_whole && is_plain && widths.contains(&width)).then_some(Rows {
        count,
        start,
        bytes: width * size,
        width,
        format,
    })
}

impl Rows {
    /// A file of some rows alone.
    pub fn file(&self, rows: &[u8]) -> Vec<u8> {
        let (n, width, format) = (rows.len() / self.bytes.max(1), self.width, &self.format);
        let header = format!("{{'descr': '{format}', 'fortran_order': False, 'shape': ({n}, {width}), }}\n");
        let mut bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
        bytes.extend(rows);
        bytes
    }
}

/// The text of the header and the bytes behind it.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), ParticleError> {
    let cut = || ParticleError::File("it is not a whole .npy file".into());
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

/// What follows `'key':` in the header.
fn after<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let at = header.find(&format!("'{key}'"))?;
    Some(header[at + key.len() + 2..].trim_start().strip_prefix(':')?.trim_start())
}

fn quoted<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    after(header, key)?.strip_prefix('\'')?.split('\'').next()
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let inside = after(header, "shape")?.strip_prefix('(')?.split(')').next()?;
    inside.split(',').map(str::trim).filter(|t| !t.is_empty()).map(|t| t.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::input::Input;
    use crate::data::random::{Charge, Distribution, generate};

    fn read_particles(bytes: &[u8]) -> Result<Particles, ParticleError> {
        Input::from_npy(bytes).map(|input| input.particles)
    }

    #[test]
    fn rows_are_read_apart() {
        let p = generate(17, Distribution::Uniform, Charge::Random, 3);
        let bytes = write_particles(&p);
        let rows = rows(&bytes[..bytes.len().min(HEAD)], bytes.len() as u64, &[3, 4]).unwrap();
        let range = |first: usize, end: usize| &bytes[rows.start + first * rows.bytes..rows.start + end * rows.bytes];
        let some = read_particles(&rows.file(range(5, 9))).unwrap();
        assert_eq!((rows.count, &some.x[..], &some.q[..]), (17, &p.x[5..9], &p.q[5..9]));
        assert!(read_particles(&rows.file(range(3, 3))).unwrap().is_empty());
        // A file that is cut is refused as a whole.
        assert_eq!(super::rows(&bytes, bytes.len() as u64, &[3, 7]), None);
        assert_eq!(super::rows(&bytes, bytes.len() as u64 - 8, &[3, 4]), None);
        assert_eq!(super::rows(b"x,y,z,q", 7, &[3, 4]), None);
    }

    #[test]
    fn arrays_read_back_to_the_bit() {
        for n in [0, 1, 17] {
            let p = generate(n, Distribution::Uniform, Charge::Random, 3);
            let bytes = write_particles(&p);
            assert_eq!((bytes.len() - n * 32) % 64, 0);
            assert_eq!(read_particles(&bytes).expect("own bytes"), p);
        }
    }

    #[test]
    fn single_precision_is_read() {
        let mut bytes = write_particles(&Particles { x: vec![0.0], y: vec![0.0], z: vec![0.0], q: vec![0.0] });
        bytes.truncate(bytes.len() - 32);
        for x in [1.5f32, -2.0, 0.1, 3.0] {
            bytes.extend(x.to_le_bytes());
        }
        let text = bytes.windows(3).position(|w| w == b"<f8").expect("the descr");
        bytes[text + 2] = b'4';
        let p = read_particles(&bytes).expect("good bytes");
        assert_eq!((p.x[0], p.y[0], p.z[0], p.q[0]), (1.5, -2.0, 0.1f32 as f64, 3.0));
    }

    #[test]
    fn bad_files_are_refused() {
        let p = generate(3, Distribution::Uniform, Charge::Random, 3);
        let good = write_particles(&p);
        for cut in [0, 5, 7, 9, 40, good.len() - 1] {
            assert!(read_particles(&good[..cut]).is_err(), "{cut}");
        }
        let mut nan = p.clone();
        nan.y[1] = f64::NAN;
        let error = read_particles(&write_particles(&nan)).expect_err("NaN").to_string();
        assert_eq!(error, "row 1: y = NaN is not a finite number");
        let one = write_columns(&[("potential".into(), &[1.0])]);
        assert!(read_particles(&one).expect_err("one column").to_string().contains("(n, 4)"));
    }
}
