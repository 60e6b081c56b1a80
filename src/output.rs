//! Writing results: to a temporary file beside the target, then renamed, so that nothing is left half written.

use crate::failure::Failure;
use std::ffi::CString;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Writes `path` through `fill`; `-` is standard output.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    let wrong = |e: std::io::Error| Failure::file(path, format!("cannot be written: {e}"));
    if path.as_os_str() == "-" {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        return fill(&mut out).and_then(|()| out.flush()).map_err(wrong);
    }
    // Devices and pipes cannot be replaced by a rename; they are written in place.
    if path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let mut out = std::io::BufWriter::new(std::fs::OpenOptions::new().write(true).open(path).map_err(wrong)?);
        return fill(&mut out).and_then(|()| out.flush()).map_err(wrong);
    }
    let folder = folder_of(path)?;
    // The error's own text would name the temporary file, which nobody asked for.
    let denied = |e: std::io::Error| wrong(e.kind().into());
    let mut file = tempfile::Builder::new().prefix(".pairforge-").tempfile_in(folder).map_err(denied)?;
    let _pending = Pending::new(file.path());
    {
        let mut out = std::io::BufWriter::new(file.as_file_mut());
        fill(&mut out).and_then(|()| out.flush()).map_err(wrong)?;
    }
    // A temporary file is private to the user; a result gets the mode any new file would have.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mask = unsafe {
            // SAFETY: umask only swaps a process-wide number, and no other thread creates files here.
            let mask = libc::umask(0o022);
            libc::umask(mask);
            mask
        };
        let mode = 0o666 & !(mask as u32);
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).map_err(wrong)?;
    }
    file.persist(path).map_err(|e| wrong(e.error))?;
    Ok(())
}

/// Says before the work that a file cannot be written. Devices and pipes are only opened once there is something for them.
pub fn check(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" || path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return Ok(());
    }
    let denied =
        |e: std::io::Error| Failure::file(path, format!("cannot be written: {}", std::io::Error::from(e.kind())));
    let folder = folder_of(path)?;
    tempfile::Builder::new().prefix(".pairforge-").tempfile_in(folder).map(|_| ()).map_err(denied)
}

/// The folder that a file is to be written to, if there can be such a file.
pub fn folder_of(path: &Path) -> Result<&Path, Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(Failure::file(path, "is a folder; name a file"));
    }
    if !folder.is_dir() {
        return Err(Failure::file(path, format!("the folder {} does not exist; make it first", folder.display())));
    }
    Ok(folder)
}

/// The temporary file that is being written, for [`remove_when_interrupted`]; null if there is none.
static PENDING: AtomicPtr<libc::c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Keeps [`PENDING`] set for as long as it lives.
struct Pending;

impl Pending {
    fn new(path: &Path) -> Pending {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).unwrap_or_default();
        PENDING.store(name.into_raw(), Ordering::SeqCst);
        Pending
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let name = PENDING.swap(std::ptr::null_mut(), Ordering::SeqCst);
        if !name.is_null() {
            // SAFETY: the pointer came from `into_raw` above, and the swap gave it to nobody else. A handler that read it
            // just before ends the process.
            drop(unsafe { CString::from_raw(name) });
        }
    }
}

/// Lets Ctrl-C and a request to end remove the temporary file that is being written, and then end the program as they
/// would have.
#[cfg(unix)]
pub fn remove_when_interrupted() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler = end as extern "C" fn(libc::c_int);
        // SAFETY: `end` calls only functions that are safe in a signal handler.
        unsafe {
            if libc::signal(signal, handler as libc::sighandler_t) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

#[cfg(unix)]
extern "C" fn end(signal: libc::c_int) {
    let name = PENDING.load(Ordering::SeqCst);
    // SAFETY: unlink, signal and raise are async-signal-safe, and the name is whole while the pointer is set.
    unsafe {
        if !name.is_null() {
            libc::unlink(name);
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Writes a text file.
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write_with(path, |out| out.write_all(text.as_bytes()))
}

/// Writes a JSON object, indented, with a final newline.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("statistics are plain numbers, names and lists");
    write_text(path, &(text + "\n"))
}
