//! Writing results: to a temporary file beside the target, then renamed, so that nothing is left half written.

mod pending;
mod tree;

use crate::declared::{self, Identity, folder_of, followed, is_open_file, is_standard_output};
use crate::failure::Failure;
use fmm::shown;
pub use pending::remove_when_interrupted;
use pending::{Pending, uninterrupted};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
pub use tree::Tree;

/// Where a result goes.
enum Place {
    /// Standard output.
    Standard,
    /// A device, a pipe or an open file, which a rename cannot replace.
    Direct(PathBuf),
    /// A file, its links followed; what is known of the one that it replaces.
    File { path: PathBuf, old: Option<fs::Metadata> },
}

fn wrong(path: &Path) -> impl Fn(io::Error) -> Failure {
    let path = if path.as_os_str() == "-" { PathBuf::from("standard output") } else { path.to_path_buf() };
    move |e| Failure::file(&path, format!("cannot be written: {e}"))
}

/// Whether a file can be written, before the work for it begins.
pub fn check(path: &Path) -> Result<(), Failure> {
    let Place::File { path: end, .. } = place(path)? else { return Ok(()) };
    // The error's own text would name the temporary file, which nobody asked for.
    let denied = |e: io::Error| wrong(path)(e.kind().into());
    temporary(folder_of(&end)).map_err(denied)
}

/// Whether files can be written into a folder, which is made if it is absent.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    let end = followed(path).map_err(wrong(path))?;
    let _made = Folder::at(&end)?;
    temporary(&end).map_err(|e| wrong(path)(e.kind().into()))
}

/// Makes a file in a folder, and removes it. It has no name where the system can do that, so that nothing can be left of it.
fn temporary(folder: &Path) -> io::Result<()> {
    uninterrupted(|| tempfile::tempfile_in(folder).map(drop))
}

/// Where `path` leads.
fn place(path: &Path) -> Result<Place, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Place::Standard);
    }
    let end = followed(path).map_err(wrong(path))?;
    if is_standard_output(&end) {
        return Ok(Place::Standard);
    }
    let old = match fs::metadata(&end) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        found => Some(found.map_err(wrong(path))?),
    };
    if old.as_ref().is_some_and(|m| m.is_dir()) {
        return Err(Failure::file(path, "is a folder; name a file"));
    }
    if old.as_ref().is_some_and(|m| !m.is_file() || is_open_file(&end)) {
        return Ok(Place::Direct(end));
    }
    let folder = folder_of(&end);
    if !folder.is_dir() {
        return Err(Failure::file(path, format!("the folder {} does not exist; make it first", shown::path(folder))));
    }
    if let Some(found) = &old {
        // For root, too: who takes all permissions away wants the file kept.
        if found.permissions().readonly() {
            return Err(Failure::file(path, "is write-protected; name another file, or allow writing by `chmod u+w`"));
        }
        File::options().write(true).open(&end).map_err(wrong(path))?;
    }
    Ok(Place::File { path: end, old })
}

/// Files that are written whole, all of them or none.
#[derive(Default)]
pub struct Batch {
    files: Vec<Staged>,
    /// Files that are there under another name.
    moved: Vec<(PathBuf, PathBuf)>,
}

/// A file that waits for its name.
struct Staged {
    temp: tempfile::NamedTempFile,
    to: PathBuf,
    /// As the user named it.
    shown: PathBuf,
    _pending: Pending,
}

impl Batch {
    /// Writes a file that appears at [`Batch::finish`]. What is no file is written at once.
    pub fn add(&mut self, path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let (to, old) = match place(path)? {
            Place::Standard => {
                let mut out = BufWriter::new(io::stdout().lock());
                return fill(&mut out).and_then(|()| out.flush()).map_err(wrong(path));
            }
            Place::Direct(end) => {
                let mut out = BufWriter::new(File::options().append(true).open(end).map_err(wrong(path))?);
                return fill(&mut out).and_then(|()| out.flush()).map_err(wrong(path));
            }
            Place::File { path, old } => (path, old),
        };
        debug_assert!(
            declared::has(&Identity::of_output(&to)),
            "{} is no output that the command has declared",
            to.display()
        );
        declared::keep_inputs(&to)?;
        // The error's own text would name the temporary file, which nobody asked for.
        let denied = |e: io::Error| wrong(path)(e.kind().into());
        let (mut temp, _pending) = uninterrupted(|| {
            let temp = staged(&to, old.is_some())?;
            let pending = Pending::new(temp.path());
            io::Result::Ok((temp, pending))
        })
        .map_err(denied)?;
        {
            let mut out = BufWriter::new(temp.as_file_mut());
            fill(&mut out).and_then(|()| out.flush()).map_err(wrong(path))?;
        }
        if let Some(old) = &old {
            keep(temp.as_file(), old).map_err(wrong(path))?;
        }
        self.files.push(Staged { temp, to, shown: path.to_path_buf(), _pending });
        Ok(())
    }

    pub fn add_text(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        self.add(path, |out| out.write_all(text.as_bytes()))
    }

    /// Adds a JSON object, indented, with a final newline.
    pub fn add_json(&mut self, path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
        self.add_text(path, &json(value))
    }

    /// Adds a file that is there under another name.
    pub fn add_moved(&mut self, from: &Path, to: &Path) {
        self.moved.push((from.to_path_buf(), to.to_path_buf()));
    }

    /// Gives all files their names.
    pub fn finish(self) -> Result<(), Failure> {
        let name = |file: Staged| file.temp.persist(&file.to).map_err(|e| wrong(&file.shown)(e.error));
        uninterrupted(|| {
            self.moved.iter().try_for_each(|(from, to)| fs::rename(from, to).map_err(wrong(to)))?;
            self.files.into_iter().try_for_each(|file| name(file).map(drop))
        })
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("statistics are plain numbers, names and lists") + "\n"
}

/// A temporary file beside `to`. A new file gets the mode that any gets; one that is to replace another is private until it
/// has that one's mode.
#[cfg_attr(not(unix), expect(unused_variables, reason = "files have no modes"))]
fn staged(to: &Path, replaces: bool) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pairforge-");
    #[cfg(unix)]
    if !replaces {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(to))
}

/// Gives a file the owner, if the system allows it, and the mode of the one that it replaces.
#[cfg(unix)]
fn keep(file: &File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        let _ = fchown(file, Some(old.uid()), Some(old.gid())).or_else(|_| fchown(file, None, Some(old.gid())));
    }
    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))
}

#[cfg(not(unix))]
fn keep(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Writes `path` through `fill`; `-` is standard output.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut batch = Batch::default();
    batch.add(path, fill)?;
    batch.finish()
}

/// Writes a text file.
pub fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write_with(path, |out| out.write_all(text.as_bytes()))
}

/// Writes a JSON object, indented, with a final newline.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut batch = Batch::default();
    batch.add_json(path, value)?;
    batch.finish()
}

/// A folder to write into. If it was made here and nothing comes into it, it is removed again.
pub struct Folder {
    /// The folders that were made, outer ones first.
    made: Vec<(PathBuf, Pending)>,
}

impl Folder {
    /// The folder at `path`, made with those around it where it is absent.
    pub fn at(path: &Path) -> Result<Folder, Failure> {
        if path.exists() && !path.is_dir() {
            return Err(Failure::file(path, "is a file; name a folder"));
        }
        // Without a dot at its end, which cannot be made.
        let plain: PathBuf = path.components().collect();
        let mut folder = Folder { made: Vec::new() };
        let absent: Vec<&Path> = plain.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
        for one in absent.into_iter().rev() {
            folder.make(one).map_err(|e| Failure::file(path, format!("cannot be made: {e}")))?;
        }
        Ok(folder)
    }

    fn make(&mut self, path: &Path) -> io::Result<()> {
        uninterrupted(|| {
            fs::create_dir(path)?;
            self.made.push((path.to_path_buf(), Pending::new(path)));
            Ok(())
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is not empty stays.
        self.made.iter().rev().for_each(|(path, _)| drop(fs::remove_dir(path)));
    }
}

/// Prints on standard output what is for people, unless a file goes there.
pub fn print(text: &str) -> Result<(), Failure> {
    if declared::standard_is_taken() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    done.map_err(|e| Failure::Input(format!("standard output cannot be written: {e}")))
}

/// Ends the program where there is no memory, without asking for any.
pub fn end_without_memory(line: &[u8]) -> ! {
    pending::end_with(line, 1)
}

/// Prints on standard error; where that cannot be written, nothing is reported.
pub fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints a line on standard output, as `println!` does, but gives a failure where it cannot be written.
#[macro_export]
macro_rules! say {
    ($($words:tt)*) => { $crate::output::print(&(format!($($words)*) + "\n")) };
}
