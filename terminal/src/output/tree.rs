//! A folder of files that appears whole or not at all, whenever the program is ended.
//!
//! A new folder is filled under another name beside its place and then gets its own. One that is there is exchanged for another in one
//! step, in which the user's other files are too, wherever this is possible: not if it is where a program works, or has folders in it.
//! There files get their names one by one: the index, which says what is in the folder, goes first and comes last.

use super::pending::{Pending, uninterrupted};
use super::{Batch, Folder, Place, Staged, keep, place, wrong};
use crate::declared::{self, folder_of, followed};
use crate::failure::Failure;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The files of a folder, by their names in it.
pub struct Tree {
    dir: PathBuf,
    /// The last one is the index.
    files: Vec<(String, String)>,
}

/// A file of a folder that is there.
struct Old {
    path: PathBuf,
    found: Option<Metadata>,
}

/// Entries of a folder up to which it is exchanged.
const MOST: usize = 4096;

impl Tree {
    pub fn new(dir: &Path) -> Tree {
        // Without a dot or a slash at its end, which no folder can be renamed to.
        Tree { dir: dir.components().collect(), files: Vec::new() }
    }

    pub fn add_text(&mut self, name: &str, text: String) {
        self.files.push((name.to_string(), text));
    }

    pub fn add_json(&mut self, name: &str, value: &impl serde::Serialize) {
        self.add_text(name, super::json(value));
    }

    /// Makes the folder, which must not be there yet.
    pub fn finish_new(self) -> Result<(), Failure> {
        if fs::symlink_metadata(&self.dir).is_ok() {
            return Err(Failure::file(&self.dir, "exists already; choose another name, or remove it"));
        }
        self.appear()
    }

    /// Makes the folder or renews it. `stale` are names that an earlier run has written there; those that come no more go.
    pub fn finish(self, stale: &[String]) -> Result<(), Failure> {
        if !self.dir.exists() {
            let dir = followed(&self.dir).map_err(wrong(&self.dir))?;
            return Tree { dir, ..self }.appear();
        }
        let dir = self.dir.canonicalize().map_err(wrong(&self.dir))?;
        let mut old = Vec::new();
        for (name, _) in &self.files {
            let path = self.dir.join(name);
            declared::keep_inputs(&path)?;
            match place(&path)? {
                Place::File { path, old: found } => old.push(Old { path, found }),
                _ => return Err(Failure::file(&path, "is no file; name another folder")),
            }
        }
        let stale = self.stale(&dir, stale);
        let is_plain = old.iter().zip(&self.files).all(|(old, (name, _))| old.path == self.dir.join(name));
        if is_plain && self.exchange(&dir, &old, &stale)? {
            return Ok(());
        }
        let mut batch = Batch::default();
        self.files.iter().try_for_each(|(name, text)| batch.add_text(&self.dir.join(name), text))?;
        let stale: Vec<PathBuf> = stale.iter().map(|name| dir.join(name)).collect();
        batch.finish_indexed(&stale)
    }

    /// Names of files that go: plain ones that can be written, and no input of this run.
    fn stale(&self, dir: &Path, named: &[String]) -> Vec<String> {
        let goes = |name: &&String| {
            let path = dir.join(name);
            let is_name = Path::new(name.as_str()).file_name().is_some_and(|n| n.to_str() == Some(name));
            let is_file = fs::symlink_metadata(&path).is_ok_and(|m| m.is_file() && !m.permissions().readonly());
            is_name
                && is_file
                && !self.files.iter().any(|(new, _)| new == *name)
                && declared::keep_inputs(&path).is_ok()
        };
        named.iter().filter(goes).cloned().collect()
    }

    /// Fills a folder under another name, and then gives it its own.
    fn appear(&self) -> Result<(), Failure> {
        let denied = |e: io::Error| Failure::file(&self.dir, format!("cannot be made: {e}"));
        let _around = Folder::at(folder_of(&self.dir)).map_err(|e| renamed(e, &self.dir))?;
        let mut scratch = Scratch::beside(&self.dir).map_err(|e| denied(e.kind().into()))?;
        for (name, text) in &self.files {
            scratch.add(name, text, None).map_err(wrong(&self.dir.join(name)))?;
        }
        uninterrupted(|| {
            rename_to_absent(scratch.dir.path(), &self.dir).map_err(denied)?;
            scratch.keep();
            Ok(())
        })
    }

    /// Exchanges the folder for one with the new files and the user's other ones. Says whether that was possible; if not, nothing
    /// has changed.
    fn exchange(&self, dir: &Path, old: &[Old], stale: &[String]) -> Result<bool, Failure> {
        let Some(others) = self.others(dir, stale) else { return Ok(false) };
        let Ok(mut scratch) = Scratch::beside(dir) else { return Ok(false) };
        if !is_alike(scratch.dir.path(), dir) {
            return Ok(false);
        }
        for ((name, text), old) in self.files.iter().zip(old) {
            scratch.add(name, text, old.found.as_ref()).map_err(wrong(&self.dir.join(name)))?;
        }
        if others.iter().any(|name| scratch.link(dir, name).is_err()) {
            return Ok(false);
        }
        Ok(uninterrupted(|| {
            if !exchanged(scratch.dir.path(), dir) {
                return false;
            }
            let before = scratch.keep();
            let gone: Vec<&String> = self.files.iter().map(|(name, _)| name).chain(stale).collect();
            clear(&before, dir, &gone);
            true
        }))
    }

    /// The user's files in the folder, if it can be exchanged.
    fn others(&self, dir: &Path, stale: &[String]) -> Option<Vec<PathBuf>> {
        if is_worked_in(dir) {
            return None;
        }
        let mut others = Vec::new();
        for entry in fs::read_dir(dir).ok()? {
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            if !(kind.is_file() || kind.is_symlink()) || others.len() > MOST {
                return None;
            }
            let name = PathBuf::from(entry.file_name());
            let is_ours = |own: &String| name.as_os_str() == own.as_str();
            if !self.files.iter().any(|(own, _)| is_ours(own)) && !stale.iter().any(is_ours) {
                others.push(name);
            }
        }
        Some(others)
    }
}

/// A failure to make a folder around `dir`, reported for `dir` itself.
fn renamed(e: Failure, dir: &Path) -> Failure {
    let text = e.text();
    let reason = text.rsplit_once("cannot be made: ").map(|(_, reason)| format!("cannot be made: {reason}"));
    reason.map_or(e, |reason| Failure::file(dir, reason))
}

/// A folder under a passing name, removed with all that was put into it unless it is kept.
struct Scratch {
    dir: tempfile::TempDir,
    pending: Vec<Pending>,
}

impl Scratch {
    fn beside(dir: &Path) -> io::Result<Scratch> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".pairforge-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        uninterrupted(|| {
            let dir = builder.tempdir_in(folder_of(dir))?;
            let pending = vec![Pending::new(dir.path())];
            Ok(Scratch { dir, pending })
        })
    }

    /// Adds a file, with the mode and the owner of the one that it replaces.
    fn add(&mut self, name: &str, text: &str, old: Option<&Metadata>) -> io::Result<()> {
        let path = self.dir.path().join(name);
        let mut file = uninterrupted(|| {
            let file = File::create_new(&path)?;
            self.pending.push(Pending::new(&path));
            io::Result::Ok(file)
        })?;
        file.write_all(text.as_bytes())?;
        old.map_or(Ok(()), |old| keep(&file, old))
    }

    /// Gives a file of another folder a second name here.
    fn link(&mut self, from: &Path, name: &Path) -> io::Result<()> {
        let path = self.dir.path().join(name);
        uninterrupted(|| {
            fs::hard_link(from.join(name), &path)?;
            self.pending.push(Pending::new(&path));
            Ok(())
        })
    }

    /// Leaves what is there under its name.
    fn keep(self) -> PathBuf {
        self.dir.keep()
    }
}

/// Removes what was replaced from the folder that was exchanged. What has come into it meanwhile goes to the new one.
fn clear(before: &Path, dir: &Path, gone: &[&String]) {
    for entry in fs::read_dir(before).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_ours = gone.iter().any(|own| name == own.as_str());
        if is_ours || is_one_file(&path, &dir.join(&name)) {
            let _ = fs::remove_file(&path);
        } else {
            let _ = rename_to_absent(&path, &dir.join(&name));
        }
    }
    // What is not empty stays.
    let _ = fs::remove_dir(before);
}

#[cfg(unix)]
fn is_one_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |path: &Path| fs::symlink_metadata(path).ok().map(|m| (m.dev(), m.ino()));
    number(a).is_some() && number(a) == number(b)
}

#[cfg(not(unix))]
fn is_one_file(_: &Path, _: &Path) -> bool {
    false
}

/// Renames to a name that nothing has.
#[cfg(target_os = "linux")]
fn rename_to_absent(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // File systems that do not know it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
        done => Ok(done?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_to_absent(from: &Path, to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Exchanges two folders in one step, if the system can.
#[cfg(target_os = "linux")]
fn exchanged(a: &Path, b: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn exchanged(_: &Path, _: &Path) -> bool {
    false
}

/// Gives a new folder the owner and the mode of the one that it is to replace; says whether it can stand for it.
#[cfg(target_os = "linux")]
fn is_alike(new: &Path, old: &Path) -> bool {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let (Ok(own), Ok(wanted)) = (new.metadata(), old.metadata()) else { return false };
    if own.dev() != wanted.dev() || has_rules_of_its_own(old) {
        return false;
    }
    let is_owned = (own.uid(), own.gid()) == (wanted.uid(), wanted.gid())
        || chown(new, Some(wanted.uid()), Some(wanted.gid())).is_ok();
    is_owned && fs::set_permissions(new, fs::Permissions::from_mode(wanted.mode() & 0o7777)).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn is_alike(_: &Path, _: &Path) -> bool {
    false
}

/// Whether a folder has access control lists, which a new one would not have.
#[cfg(target_os = "linux")]
fn has_rules_of_its_own(dir: &Path) -> bool {
    let mut names = [0; 4096];
    match rustix::fs::listxattr(dir, &mut names[..]) {
        Ok(length) => names[..length].windows(9).any(|w| w == b"posix_acl"),
        // File systems without such attributes.
        Err(_) => false,
    }
}

/// Whether a program works in the folder: it would go on in the one that was replaced.
fn is_worked_in(dir: &Path) -> bool {
    let own = std::env::current_dir().and_then(|here| here.canonicalize());
    let others = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = others.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
    own.into_iter().chain(others).any(|here| here.starts_with(dir))
}

impl Batch {
    /// Gives all files their names, of which the last is the index: an earlier one goes first, so that a folder with an index is whole.
    /// `stale` files go.
    fn finish_indexed(self, stale: &[PathBuf]) -> Result<(), Failure> {
        let name = |file: Staged| file.temp.persist(&file.to).map_err(|e| wrong(&file.shown)(e.error));
        uninterrupted(|| {
            if let Some(index) = self.files.last() {
                let _ = fs::remove_file(&index.to);
            }
            let count = self.files.len();
            for (k, file) in self.files.into_iter().enumerate() {
                if k + 1 == count {
                    stale.iter().for_each(|path| drop(fs::remove_file(path)));
                }
                name(file)?;
            }
            Ok(())
        })
    }
}
