//! Reading files: what cannot end or cannot be held is refused with a sentence.

use crate::failure::Failure;
use crate::memory;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// How long a pipe may stay without a writer.
const PATIENCE: Duration = Duration::from_secs(5);
/// A kernel, manifest or report is never longer.
const LONGEST_TEXT: u64 = 64 << 20;

/// The bytes of a file of data. What is made of them takes about as much again.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let most = memory::free().map_or(u64::MAX, |free| free / 2);
    bytes(path, most).map_err(|reason| Failure::file(path, format!("cannot be read: {reason}")))
}

/// The text of a file of data that is no array.
pub fn csv<'b>(path: &Path, bytes: &'b [u8]) -> Result<&'b str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::file(path, "is neither CSV text nor an .npy file"))
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
    let too_long = |size: u64| {
        let (size, most) = (memory::gigabytes(size), memory::gigabytes(most));
        format!("it has {size} or more, and at most {most} can be read")
    };
    if let Some(kind) = unreadable(&found) {
        return Err(format!("it is {kind}; name a file"));
    }
    if found.is_file() && found.len() > most {
        return Err(too_long(found.len()));
    }
    let file = open(path, &found)?;
    let mut bytes = Vec::with_capacity(if found.is_file() { found.len() as usize } else { 0 });
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(said)?;
    if bytes.len() as u64 > most {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// What cannot be read as a file, in words.
#[cfg(unix)]
fn unreadable(found: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let kind = found.file_type();
    // A terminal may be the standard input, and the null device has an end.
    let endless = kind.is_char_device() && {
        let (major, minor) = (libc::major(found.rdev()), libc::minor(found.rdev()));
        major == 1 && minor != 3
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
    if !found.file_type().is_fifo() {
        return File::open(path).map_err(said);
    }
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path).map_err(said)?;
    let wait = rustix::event::Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&wait)).map_err(|e| said(e.into()))?;
    // Without a writer a pipe is at its end; with one that has not written yet it would block.
    let silent = ready == 0 && !has_writer(&file);
    if silent {
        return Err(format!("it is a pipe, and nothing has written to it for {} s", PATIENCE.as_secs()));
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
