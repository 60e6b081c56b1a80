//! Files of particles in the formats of the field, told by their first bytes: text, `.npy`, `.npz`, HDF5, and what LAMMPS writes
//! (docs/guides/files.md).
//!
//! A name may go on inside of a file: `FILE:/PLACE` names a dataset or group of HDF5, an array of an `.npz`, a frame of a dump, or the
//! atom style of a data file.

mod arrays;
mod data;
mod dump;
mod hdf5;
mod lines;
mod npz;

use crate::failure::Failure;
use crate::{input, output};
use fmm::data::input::{self as sources, Input};
use fmm::data::npy::{self, Shape};
use fmm::data::particles::ParticleError;
use fmm::data::plane::{self, Points};
use fmm::data::text::Columns;
use fmm::shown;
use pairforge::nbody::{self, Bodies};
use std::path::{Path, PathBuf};

/// Makes an input of a text and its delimiter, where one is stated; the names of columns that are left out go into the list.
type FromText<T> = fn(&str, Option<char>, &mut Vec<String>) -> Result<T, ParticleError>;

/// Makers of a kind of input, one for each format.
pub struct Reader<T> {
    text: FromText<T>,
    npy: fn(&[u8], &mut Vec<String>) -> Result<T, ParticleError>,
    named: fn(Columns, &mut Vec<String>) -> Result<T, ParticleError>,
    wanted: Wanted,
}

/// The part that a kind of input takes of files that hold more.
#[derive(Clone, Copy)]
struct Wanted {
    /// The columns of a single array.
    shape: &'static Shape,
    has_charges: bool,
    has_velocities: bool,
}

/// Sources in space.
pub const SOURCES: Reader<Input> = Reader {
    text: Input::from_separated,
    npy: Input::from_npy_noting,
    named: Input::from_named,
    wanted: Wanted { shape: &sources::SOURCES, has_charges: true, has_velocities: false },
};

/// Targets in space.
pub const TARGETS: Reader<[Vec<f64>; 3]> = Reader {
    text: sources::targets_from_separated,
    npy: sources::targets_from_npy,
    named: sources::targets_from_named,
    wanted: Wanted { shape: &sources::TARGETS, has_charges: false, has_velocities: false },
};

/// Sources in the plane.
pub const PLANE_SOURCES: Reader<Points> = Reader {
    text: Points::from_separated,
    npy: Points::from_npy,
    named: Points::from_named,
    wanted: Wanted { shape: &plane::SOURCES, has_charges: true, has_velocities: false },
};

/// Targets in the plane.
pub const PLANE_TARGETS: Reader<[Vec<f64>; 2]> = Reader {
    text: plane::targets_from_separated,
    npy: plane::targets_from_npy,
    named: plane::targets_from_named,
    wanted: Wanted { shape: &plane::TARGETS, has_charges: false, has_velocities: false },
};

/// Bodies of a simulation.
pub const BODIES: Reader<Bodies> = Reader {
    text: nbody::from_separated,
    npy: nbody::from_npy,
    named: nbody::from_named,
    wanted: Wanted { shape: &nbody::SHAPE, has_charges: true, has_velocities: true },
};

/// Options of reading text.
#[derive(clap::Args, Clone, Copy)]
pub struct TextArgs {
    /// The character between the values of text files [default: the comma, semicolon, tab or blanks that are found]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<char>,
}

fn delimiter(text: &str) -> Result<char, String> {
    let one = if text == "\\t" || text == "tab" { "\t" } else { text };
    let mut chars = one.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) if !(c.is_alphanumeric() || "\"#+-.\n\r".contains(c)) => Ok(c),
        _ => Err("a delimiter is one character that no number has, such as `|`, or `tab`".into()),
    }
}

/// The content of a file.
#[derive(Default)]
struct Found {
    columns: Columns,
    /// Columns that are not used.
    ignored: Vec<String>,
    /// Sentences on what else is not used, and what was chosen.
    notes: Vec<String>,
}

type Outcome = Result<Found, ParticleError>;

/// A mistake of the file as a whole.
fn wrong<T>(what: impl Into<String>) -> Result<T, ParticleError> {
    Err(ParticleError::File(what.into()))
}

/// A file, and the place inside of it that a name leads to.
pub struct Located {
    pub file: PathBuf,
    inside: Option<String>,
}

/// Divides a name at `:/`, if there is no file of the whole name and one of what stands before.
pub fn located(path: &Path) -> Located {
    let is_file = |at: &usize, text: &str| text[..*at] == *"-" || Path::new(&text[..*at]).exists();
    let divided = path.to_str().filter(|_| !path.exists()).and_then(|text| {
        let at = text.match_indices(":/").map(|(at, _)| at).find(|at| is_file(at, text))?;
        Some(Located { file: text[..at].into(), inside: Some(text[at + 2..].trim_matches('/').to_string()) })
    });
    divided.unwrap_or_else(|| Located { file: path.to_path_buf(), inside: None })
}

/// Reads a file, and says what of it is left out.
pub fn read<T>(path: &Path, reader: &Reader<T>, text: TextArgs) -> Result<T, Failure> {
    let Located { file, inside } = located(path);
    let bytes = input::read(&file)?;
    let (mut ignored, mut notes) = (Vec::new(), Vec::new());
    let made = match format(&bytes) {
        Format::Npy => outside(&inside).and_then(|()| (reader.npy)(&bytes, &mut ignored)),
        Format::Other(what) => wrong(what),
        Format::Text => match outside(&inside) {
            Err(e) => Err(e),
            Ok(()) => (reader.text)(input::csv(path, &bytes)?, text.delimiter, &mut ignored),
        },
        Format::Several(read) => read(bytes, inside.as_deref(), reader.wanted).and_then(|found| {
            (ignored, notes) = (found.ignored, found.notes);
            (reader.named)(found.columns, &mut ignored)
        }),
    };
    let made = made.map_err(|e| input::wrong(path, e))?;
    input::note_ignored(path, &ignored);
    notes.iter().for_each(|note| output::tell(&format!("note: {}: {note}\n", input::name(path))));
    Ok(made)
}

fn outside(inside: &Option<String>) -> Result<(), ParticleError> {
    match inside {
        None => Ok(()),
        Some(place) => {
            wrong(format!("it holds one table, and no place `{}`; name the file alone", shown::shown(place)))
        }
    }
}

enum Format {
    Text,
    Npy,
    /// A format that holds more than a table.
    Several(fn(Vec<u8>, Option<&str>, Wanted) -> Outcome),
    /// A format that is known and not read, in a sentence.
    Other(&'static str),
}

/// The format of a file by what it begins with.
fn format(bytes: &[u8]) -> Format {
    let begins = |with: &[u8]| bytes.starts_with(with);
    match () {
        _ if npy::is_npy(bytes) => Format::Npy,
        _ if npz::is_npz(bytes) => Format::Several(npz::read),
        _ if hdf5::is_hdf5(bytes) => Format::Several(hdf5::read),
        _ if dump::is_dump(bytes) => Format::Several(dump::read),
        _ if data::is_data(bytes) => Format::Several(data::read),
        _ if begins(b"\x1f\x8b") => Format::Other("it is compressed by gzip; unpack it by gunzip"),
        _ if begins(b"# vtk DataFile") || begins(b"<?xml") || begins(b"<VTKFile") => {
            Format::Other("it is a VTK file, which is written and not read; save the points as CSV, .npy or HDF5")
        }
        // A record of 256 bytes, or the block's name before it.
        _ if begins(&[0, 1, 0, 0]) || begins(b"\x08\0\0\0HEAD") => {
            Format::Other("it looks like a Gadget snapshot of format 1 or 2; save it as HDF5 (SnapFormat 3)")
        }
        _ => Format::Text,
    }
}

/// The note on a box that a file has, by its edges.
fn boxed(edges: [f64; 3], is_known: bool) -> String {
    let [x, y, z] = edges;
    let what = if is_known { "its periodic box" } else { "its box" };
    match x == y && y == z {
        true => format!("{what} of edge {x:?} is not used; `fmm --periodic {x:?}` makes it periodic"),
        false => format!("{what} of {x:?} x {y:?} x {z:?} is not used; `fmm --periodic` takes cubes"),
    }
}

#[cfg(test)]
mod tests;
