//! Reading files: what cannot end or cannot be held is refused with a sentence.

use crate::failure::Failure;
use crate::{memory, output};
use fmm::shown;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// How long a pipe may stay without a writer.
#[cfg(unix)]
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);
/// A kernel, manifest or report is never longer.
const LONGEST_TEXT: u64 = 64 << 20;

/// The bytes of a file of data, or of standard input for `-`. What is made of them takes about as much again.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let most = memory::free().map_or(u64::MAX, |free| free / 2);
    let bytes = if is_standard(path) { standard(most) } else { bytes(path, most) };
    bytes.map_err(|reason| Failure::Input(format!("{}: cannot be read: {reason}", name(path))))
}

/// Whether a name is that of standard input.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A file of data as messages name it.
pub fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".into() } else { shown::path(path) }
}

/// Failure of a file of data.
pub fn wrong(path: &Path, what: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("{}: {what}", name(path)))
}

/// The text of a kernel that comes by standard input.
pub fn standard_text() -> Result<String, Failure> {
    let wrong = |reason: String| Failure::Input(format!("standard input cannot be read: {reason}"));
    let bytes = standard(LONGEST_TEXT).map_err(wrong)?;
    String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".into()))
}

fn standard(most: u64) -> Result<Vec<u8>, String> {
    limited(io::stdin().lock(), Vec::new(), most)
}

/// Says what of a file of data is left out, where something is.
pub fn note_ignored(path: &Path, ignored: &[String]) {
    const MOST: usize = 8;
    if ignored.is_empty() {
        return;
    }
    let names: Vec<String> = ignored.iter().take(MOST).map(|name| shown::shown(name)).collect();
    let more = ignored.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let columns = if ignored.len() == 1 { "the column" } else { "the columns" };
    let are = if ignored.len() == 1 { "is" } else { "are" };
    output::tell(&format!("note: {}: {columns} {}{more} {are} not used\n", name(path), names.join(", ")));
}

/// The text of a file of data that is no array.
pub fn csv<'b>(path: &Path, bytes: &'b [u8]) -> Result<&'b str, Failure> {
    std::str::from_utf8(bytes)
        .map_err(|_| Failure::Input(format!("{} is neither CSV text nor an .npy file", name(path))))
}

/// The text of a manifest or report; `hint` ends the sentence that says why it cannot be read.
pub fn text(path: &Path, hint: &str) -> Result<String, Failure> {
    let wrong = |reason: String| Failure::file(path, format!("cannot be read: {reason}{hint}"));
    String::from_utf8(kernel(path).map_err(wrong)?).map_err(|_| wrong("it is not UTF-8".into()))
}

/// The bytes of a kernel, or why there are none.
pub fn kernel(path: &Path) -> Result<Vec<u8>, String> {
    bytes(path, LONGEST_TEXT)
}

fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let said = |e: io::Error| e.to_string();
    let found = path.metadata().map_err(said)?;
    if let Some(kind) = unreadable(&found) {
        return Err(format!("it is {kind}; name a file"));
    }
    if found.is_file() && found.len() > most {
        return Err(too_long(found.len(), most));
    }
    let file = open(path, &found)?;
    limited(file, Vec::with_capacity(if found.is_file() { found.len() as usize } else { 0 }), most)
}

/// All that can be read, behind `bytes`.
fn limited(from: impl Read, mut bytes: Vec<u8>, most: u64) -> Result<Vec<u8>, String> {
    from.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| match e.kind() {
        // Logs of the system are files by their kind, and are waited for at their end.
        io::ErrorKind::WouldBlock => "it has no end; name a file that has one".to_string(),
        _ => e.to_string(),
    })?;
    if bytes.len() as u64 > most { Err(too_long(bytes.len() as u64, most)) } else { Ok(bytes) }
}

fn too_long(size: u64, most: u64) -> String {
    let (size, most) = (memory::gigabytes(size), memory::gigabytes(most));
    format!("it has {size} or more, and at most {most} can be read")
}

/// The kind of a file that cannot be read, in words.
#[cfg(unix)]
fn unreadable(found: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let kind = found.file_type();
    // A terminal may be the standard input, and the null device has an end. Others may have none, or act on being opened.
    let endless = kind.is_char_device() && {
        let (major, minor) = (libc::major(found.rdev()), libc::minor(found.rdev()));
        let is_input = std::fs::metadata("/dev/fd/0").is_ok_and(|own| own.rdev() == found.rdev());
        (major, minor) != (1, 3) && (major == 1 || !is_input)
    };
    match () {
        _ if kind.is_dir() => Some("a folder"),
        _ if kind.is_socket() => Some("a socket"),
        _ if kind.is_block_device() || endless => Some("a device"),
        _ => None,
    }
}

#[cfg(not(unix))]
fn unreadable(found: &Metadata) -> Option<&'static str> {
    found.is_dir().then_some("a folder")
}

/// Opens a file. A pipe is opened without waiting, and given up where nobody writes to it.
#[cfg(unix)]
fn open(path: &Path, found: &Metadata) -> Result<File, String> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    let said = |e: io::Error| e.to_string();
    // A file of a disk is read at once in any case, and one of the system's that would be waited for says so.
    let is_plain = found.is_file() || found.file_type().is_fifo();
    let flags = if is_plain { OFlags::NONBLOCK } else { OFlags::empty() };
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path).map_err(said)?;
    if !found.file_type().is_fifo() {
        return Ok(file);
    }
    let wait = rustix::event::Timespec { tv_sec: TIMEOUT.as_secs() as i64, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&wait)).map_err(|e| said(e.into()))?;
    // Without a writer a pipe is at its end; with one that has not written yet it would block.
    let silent = ready == 0 && !has_writer(&file);
    if silent {
        return Err(format!("it is a pipe, and nothing has written to it for {} s", TIMEOUT.as_secs()));
    }
    let flags = fcntl_getfl(&file).map_err(|e| said(e.into()))?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(|e| said(e.into()))?;
    Ok(file)
}

/// Whether an empty pipe has a writer: reading it would then block.
#[cfg(unix)]
fn has_writer(mut file: &File) -> bool {
    matches!(file.read(&mut [0]), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
}

#[cfg(not(unix))]
fn open(path: &Path, _: &Metadata) -> Result<File, String> {
    File::open(path).map_err(|e| e.to_string())
}
