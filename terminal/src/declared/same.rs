//! Identity of files: what tells one from all others, whatever it is called.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// A file, a pipe, or a place where a file can come to be.
#[derive(Default)]
pub struct Identity {
    /// The standard output.
    pub standard: bool,
    /// Whether it gives its bytes once, as a pipe or the standard input does.
    pub once: bool,
    /// Named as standard input, whatever that is.
    is_input: bool,
    /// Device and number on it. Terminals and the null device have none: any number of uses are fine.
    file: Option<(u64, u64)>,
    /// The path without links.
    path: Option<PathBuf>,
}

impl Identity {
    pub fn of_input(path: &Path) -> Identity {
        let is_input = path.as_os_str() == "-";
        let found = if is_input { open_file(0) } else { fs::metadata(path).ok() };
        let once = is_input || found.as_ref().is_some_and(is_once);
        Identity { once, is_input, file: found.as_ref().and_then(number), ..Identity::at(path) }
    }

    pub fn of_output(path: &Path) -> Identity {
        let end = followed(path).unwrap_or_else(|_| path.to_path_buf());
        let standard = path.as_os_str() == "-" || is_standard_output(&end);
        let found = if standard { open_file(1) } else { fs::metadata(&end).ok() };
        // Of a device or an open file the name says nothing.
        let is_plain = !standard && found.as_ref().is_none_or(|f| f.is_file()) && !is_open_file(&end);
        let named = if is_plain { Identity::at(&end) } else { Identity::default() };
        Identity { standard, file: found.as_ref().and_then(number), ..named }
    }

    /// The standard output where it is a file.
    pub fn redirected() -> Option<Identity> {
        let found = open_file(1).filter(Metadata::is_file)?;
        Some(Identity { standard: true, file: number(&found), ..Identity::default() })
    }

    /// Identity by the name alone.
    fn at(path: &Path) -> Identity {
        let in_folder = || {
            let folder = folder_of(path).canonicalize().ok()?;
            Some(folder.join(path.file_name()?))
        };
        let is_name = path.as_os_str() != "-";
        Identity { path: path.canonicalize().ok().or_else(in_folder).filter(|_| is_name), ..Identity::default() }
    }

    pub fn is_same(&self, other: &Identity) -> bool {
        let equal = |a: &Option<PathBuf>, b: &Option<PathBuf>| a.is_some() && a == b;
        (self.standard && other.standard)
            || (self.is_input && other.is_input)
            || (self.file.is_some() && self.file == other.file)
            || (equal(&self.path, &other.path) && (self.file.is_none() || other.file.is_none()))
    }

    /// Whether it is in a folder, which may not be there yet.
    pub fn lies_in(&self, folder: &Path) -> bool {
        let absolute = folder.canonicalize().or_else(|_| std::path::absolute(folder)).unwrap_or_default();
        self.path.as_ref().is_none_or(|path| path.starts_with(absolute))
    }
}

pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path without links at its end. A link may lead to a file that is not there yet.
pub fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        if is_open_file(&path) || !fs::symlink_metadata(&path).is_ok_and(|m| m.is_symlink()) {
            return Ok(path);
        }
        let target = fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many links lead to each other"))
}

/// Files that are open already, which their names stand for.
pub fn is_open_file(path: &Path) -> bool {
    let parent = folder_of(path).to_string_lossy();
    matches!(&*parent, "/dev" | "/dev/fd") || (parent.starts_with("/proc/") && parent.ends_with("/fd"))
}

pub fn is_standard_output(path: &Path) -> bool {
    ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|p| path == Path::new(p))
}

/// Device and number of what is no character device.
#[cfg(unix)]
fn number(found: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    (!found.file_type().is_char_device()).then(|| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(unix)]
fn is_once(found: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_fifo() || found.file_type().is_socket()
}

#[cfg(not(unix))]
fn is_once(_: &Metadata) -> bool {
    false
}

/// File behind a descriptor.
#[cfg(unix)]
fn open_file(descriptor: i32) -> Option<Metadata> {
    fs::metadata(format!("/dev/fd/{descriptor}")).ok()
}

#[cfg(not(unix))]
fn open_file(_: i32) -> Option<Metadata> {
    None
}
