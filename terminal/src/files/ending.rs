//! Formats by the endings of names: those that are written, and those that look like data and cannot be read.

use crate::failure::Failure;
use fmm::shown;
use std::path::{Path, PathBuf};

/// Format of an output by the endings of its name. A name without one is fine.
#[derive(Clone, Copy)]
pub struct FileType {
    /// In words, behind "writes".
    what: &'static str,
    /// None for any.
    endings: &'static [&'static str],
    /// Whether a format may stand in front of the name: `npy:-`.
    takes_format: bool,
}

const fn kind(what: &'static str, endings: &'static [&'static str]) -> FileType {
    FileType { what, endings, takes_format: false }
}

/// Columns of numbers.
pub const TABLE: FileType = FileType {
    takes_format: true,
    ..kind("CSV (.csv, .txt), a NumPy array (.npy) or VTK (.vtk, .vtu)", &["csv", "txt", "npy", "vtk", "vtu"])
};
pub const CSV: FileType = kind("CSV (.csv, .txt)", &["csv", "txt"]);
pub const JSON: FileType = kind("JSON (.json)", &["json"]);
pub const SVG: FileType = kind("SVG (.svg)", &["svg"]);
pub const HTML: FileType = kind("HTML (.html, .htm)", &["html", "htm"]);
pub const WAVE: FileType = kind("a waveform (.fst)", &["fst"]);
pub const KERNEL: FileType = kind("a kernel (.pg2)", &["pg2"]);
/// A line of text, under any name.
pub const PLAIN: FileType = kind("text", &[]);

impl FileType {
    /// Refuses a name that promises another format.
    pub fn check(self, option: &str, path: &Path) -> Result<(), Failure> {
        match ending(path) {
            Some(found) if !self.endings.is_empty() && !self.endings.contains(&&found[..]) => {
                Err(Failure::file(path, format!("`.{found}` is not written here; {option} writes {}", self.what)))
            }
            _ => Ok(()),
        }
    }

    /// The file of a name that may begin with a format.
    pub fn without_format(self, path: &Path) -> PathBuf {
        if self.takes_format { table(path).1 } else { path.to_path_buf() }
    }
}

/// Format of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Csv,
    Npy,
    /// Legacy VTK.
    Vtk,
    Vtu,
}

const FORMATS: [(&str, Format); 4] =
    [("csv", Format::Csv), ("npy", Format::Npy), ("vtk", Format::Vtk), ("vtu", Format::Vtu)];

/// The format and the file of a name: `npy:NAME`, `csv:NAME`, `vtk:NAME` and `vtu:NAME` say the format, else the ending does.
pub fn table(path: &Path) -> (Format, PathBuf) {
    let name = path.to_str().unwrap_or_default();
    let stated = FORMATS.iter().find_map(|(word, format)| Some((format, name.strip_prefix(word)?.strip_prefix(':')?)));
    if let Some((format, rest)) = stated {
        return (*format, rest.into());
    }
    let found = ending(path);
    let format = FORMATS.iter().find(|(word, _)| found.as_deref() == Some(word)).map_or(Format::Csv, |(_, f)| *f);
    (format, path.to_path_buf())
}

/// The ending of a name in lower case: letters and digits that begin with a letter. Names of temporary files have longer ones, which
/// mean nothing.
fn ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let is_word =
        ending.starts_with(|c: char| c.is_ascii_lowercase()) && ending.chars().all(|c| c.is_ascii_alphanumeric());
    (is_word && ending.len() <= 8).then_some(ending)
}

/// Endings of formats that hold particles elsewhere and are not read.
const FOREIGN: [&str; 22] = [
    "h5", "hdf5", "hdf", "npz", "mat", "parquet", "feather", "arrow", "vtk", "vtu", "vtp", "ply", "pcd", "json",
    "xlsx", "xls", "ods", "fits", "nc", "gz", "zip", "pkl",
];

/// Of these, what is read where particles are.
const OF_PARTICLES: [&str; 4] = ["h5", "hdf5", "hdf", "npz"];

/// Refuses an input of records whose name promises what is not read. Any other is read by its content.
pub fn check_data(option: &str, path: &Path) -> Result<(), Failure> {
    check_foreign(option, path, &[], "text with a header (.csv, .txt) can")
}

/// The same for an input of particles.
pub fn check_particles(option: &str, path: &Path) -> Result<(), Failure> {
    let what =
        "text with a header (.csv, .txt), NumPy arrays (.npy, .npz), HDF5, and dumps and data files of LAMMPS can";
    check_foreign(option, path, &OF_PARTICLES, what)
}

fn check_foreign(option: &str, path: &Path, read: &[&str], what: &str) -> Result<(), Failure> {
    match ending(path).filter(|found| FOREIGN.contains(&&found[..]) && !read.contains(&&found[..])) {
        Some(found) => {
            Err(Failure::Input(format!("{option} {}: `.{found}` cannot be read; {what}", shown::path(path))))
        }
        None => Ok(()),
    }
}
