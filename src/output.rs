//! Writing results: to a temporary file beside the target, then renamed, so that nothing is left half written.

mod pending;

use crate::failure::Failure;
#[cfg(unix)]
pub use pending::remove_when_interrupted;
use pending::{Pending, uninterrupted};
use pg2::report::shown;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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
    tempfile::Builder::new().prefix(".pairforge-").tempfile_in(folder_of(&end)).map(drop).map_err(denied)
}

/// The same for files that may have been asked for.
pub fn check_all<'a>(paths: impl IntoIterator<Item = &'a Option<PathBuf>>) -> Result<(), Failure> {
    paths.into_iter().flatten().try_for_each(|path| check(path))
}

/// The same for the files of some options, of which no two may name one file.
pub fn check_apart(named: &[(&str, &Option<PathBuf>)]) -> Result<(), Failure> {
    check_all(named.iter().map(|n| n.1))?;
    let is_device = |path: &Path| path.metadata().is_ok_and(|m| !m.is_file());
    let named: Vec<(&str, &PathBuf)> = named.iter().filter_map(|(o, path)| Some((*o, path.as_ref()?))).collect();
    for (k, (option, path)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..k].iter().find(|(_, p)| p == path && !is_device(path)) {
            let name = path.display();
            return Err(Failure::Usage(format!("{other} and {option} both name {name}; give them two files")));
        }
    }
    Ok(())
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

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path without links at its end. A link may lead to a file that is not there yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
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
fn is_open_file(path: &Path) -> bool {
    let parent = folder_of(path).to_string_lossy();
    matches!(&*parent, "/dev" | "/dev/fd") || (parent.starts_with("/proc/") && parent.ends_with("/fd"))
}

fn is_standard_output(path: &Path) -> bool {
    ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|p| path == Path::new(p))
}

/// Files that are written whole, all of them or none.
#[derive(Default)]
pub struct Batch {
    files: Vec<Staged>,
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
        // The error's own text would name the temporary file, which nobody asked for.
        let denied = |e: io::Error| wrong(path)(e.kind().into());
        let mut temp = staged(&to, old.is_some()).map_err(denied)?;
        let _pending = Pending::new(temp.path());
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
        let text = serde_json::to_string_pretty(value).expect("statistics are plain numbers, names and lists");
        self.add_text(path, &(text + "\n"))
    }

    /// Gives all files their names.
    pub fn finish(self) -> Result<(), Failure> {
        let name = |file: Staged| file.temp.persist(&file.to).map_err(|e| wrong(&file.shown)(e.error));
        uninterrupted(|| self.files.into_iter().try_for_each(|file| name(file).map(drop)))
    }
}

/// A temporary file beside `to`. A new file gets the mode that any gets; one that is to replace another is private until it
/// has that one's mode.
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
    /// Those that were made, outer ones first.
    made: Vec<(PathBuf, Pending)>,
}

impl Folder {
    /// The folder at `path`, made with those around it where it is absent.
    pub fn at(path: &Path) -> Result<Folder, Failure> {
        if path.exists() && !path.is_dir() {
            return Err(Failure::file(path, "is a file; name a folder"));
        }
        let mut folder = Folder { made: Vec::new() };
        let absent: Vec<&Path> = path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
        for one in absent.into_iter().rev() {
            folder.make(one).map_err(|e| Failure::file(path, format!("cannot be made: {e}")))?;
        }
        Ok(folder)
    }

    /// A folder that must not be there yet.
    pub fn new(path: &Path) -> io::Result<Folder> {
        let mut folder = Folder { made: Vec::new() };
        folder.make(path)?;
        Ok(folder)
    }

    fn make(&mut self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)?;
        self.made.push((path.to_path_buf(), Pending::new(path)));
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is not empty stays.
        self.made.iter().rev().for_each(|(path, _)| drop(fs::remove_dir(path)));
    }
}

/// Prints on standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    done.map_err(|e| Failure::Input(format!("standard output cannot be written: {e}")))
}

/// Ends the program where there is no memory, without asking for any.
pub fn end_without_memory(line: &[u8]) -> ! {
    pending::end_with(line, 1)
}

/// Prints on standard error; where that cannot be written, nobody can be told.
pub fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints a line on standard output, as `println!` does, but gives a failure where it cannot be written.
macro_rules! say {
    ($($words:tt)*) => { $crate::output::print(&(format!($($words)*) + "\n")) };
}
pub(crate) use say;
