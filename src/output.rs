//! Writing results: to a temporary file beside the target, then renamed, so that nothing is left half written.

use crate::failure::Failure;
use std::io::Write;
use std::path::Path;

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
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(Failure::file(path, "is a folder; name a file"));
    }
    let mut file = tempfile::Builder::new().prefix(".pairforge-").tempfile_in(folder).map_err(wrong)?;
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

/// Writes a text file.
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write_with(path, |out| out.write_all(text.as_bytes()))
}

/// Writes a JSON object, indented, with a final newline.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("statistics are plain numbers, names and lists");
    write_text(path, &(text + "\n"))
}
