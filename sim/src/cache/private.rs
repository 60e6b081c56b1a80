//! Folders and files that nobody but the user and the system's administrator can have put there or can change.
//!
//! Entries found in a cache are loaded and run. So each folder on the way to them is looked at, as ssh does with keys: who owns it,
//! and who can write to it. Once the way is safe, nobody else can exchange anything on it between a look and a use.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Why a path is not used.
#[derive(Debug)]
pub enum Refusal {
    /// The file or folder on the way, and what is wrong with it.
    Unsafe { place: PathBuf, what: String },
    /// It could not be looked at or made.
    Io { place: PathBuf, source: io::Error },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refusal::Unsafe { place, what } => write!(f, "{} {what}", place.display()),
            Refusal::Io { place, source } => write!(f, "{}: {source}", place.display()),
        }
    }
}

fn refuse<T>(place: &Path, what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Unsafe { place: place.to_path_buf(), what: what.into() })
}

pub(super) fn io(place: &Path) -> impl FnOnce(io::Error) -> Refusal {
    let place = place.to_path_buf();
    move |source| Refusal::Io { place, source }
}

/// More links than any path has on purpose.
const MOST_LINKS: usize = 40;

/// Checks a file or folder and each folder on the way to it; the path without links, as far as it exists. Whoever owns the
/// root folder owns the programs too, so it is not looked at.
pub fn check(path: &Path) -> Result<PathBuf, Refusal> {
    let path = std::path::absolute(path).map_err(io(path))?;
    let mut at = PathBuf::new();
    let mut rest: Vec<PathBuf> = parts(&path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        match part.components().next() {
            Some(Component::Normal(_)) => at.push(&part),
            Some(Component::ParentDir) => {
                at.pop();
                continue;
            }
            // The root replaces what was there.
            _ => {
                at.push(&part);
                continue;
            }
        }
        let found = match fs::symlink_metadata(&at) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                at.extend(rest.iter().rev());
                return Ok(at);
            }
            found => found.map_err(io(&at))?,
        };
        trusted_owner(&at, &found)?;
        if found.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return refuse(&at, "is a link to itself");
            }
            let target = fs::read_link(&at).map_err(io(&at))?;
            at.pop();
            rest.extend(parts(&target));
        } else {
            closed(&at, &found)?;
        }
    }
    Ok(at)
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().filter(|c| *c != Component::CurDir).map(|c| PathBuf::from(c.as_os_str())).collect()
}

/// The user's own folder at `path`: made with all folders on the way if it is absent, its mode 0700. A folder that others
/// can write to is taken only where `ours` knows the names of all that lies in it.
pub fn folder(path: &Path, ours: impl Fn(&str) -> bool) -> Result<PathBuf, Refusal> {
    let path = std::path::absolute(path).map_err(io(path))?;
    if fs::symlink_metadata(&path).is_ok_and(|m| m.is_symlink()) {
        return refuse(&path, "is a link; name the folder itself");
    }
    check(path.parent().unwrap_or(&path))?;
    make(&path)?;
    let parent = check(path.parent().unwrap_or(&path))?;
    let path = parent.join(path.file_name().unwrap_or_default());
    let found = fs::symlink_metadata(&path).map_err(io(&path))?;
    if !found.is_dir() {
        return refuse(&path, "is not a folder");
    }
    own(&path, &found)?;
    if is_shared(&found) {
        let mut names = fs::read_dir(&path).map_err(io(&path))?.flatten().map(|e| e.file_name());
        if names.all(|name| ours(&name.to_string_lossy())) {
            set_private(&path, 0o700).map_err(io(&path))?;
        } else {
            closed_to_all(&path, &found)?;
        }
    }
    Ok(path)
}

/// The bytes of a file of the user's own that nobody else can write to; links are not followed.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut file = open(File::options().read(true), path)?;
    let found = file.metadata()?;
    let fine = found.is_file() && own(path, &found).is_ok() && closed(path, &found).is_ok();
    if !fine {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "is no private file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A lock file of the user's own, made if absent. Neither a link nor a pipe is opened in its place; a folder of the user's own
/// there is damage, and goes.
pub fn lock_file(path: &Path) -> Result<File, Refusal> {
    if fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && own(path, &m).is_ok()) {
        open_up(path);
        // What cannot be removed is refused below.
        let _ = fs::remove_dir_all(path);
    }
    let file = open(File::options().read(true).write(true).create(true).truncate(false), path);
    let file = match file {
        Err(_) if fs::symlink_metadata(path).is_ok_and(|m| !m.is_file()) => return refuse(path, "is no plain file"),
        file => file.map_err(io(path))?,
    };
    let found = file.metadata().map_err(io(path))?;
    if !found.is_file() {
        return refuse(path, "is no plain file");
    }
    own(path, &found)?;
    Ok(file)
}

/// Lets the folders in and under `path` be emptied by their owner, as far as that is possible.
pub(super) fn open_up(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|m| m.is_dir()) {
        return;
    }
    let _ = set_private(path, 0o700);
    fs::read_dir(path).into_iter().flatten().flatten().for_each(|inside| open_up(&inside.path()));
}

#[cfg(unix)]
mod system {
    use super::*;
    use rustix::fs::OFlags;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};

    const STICKY: u32 = 0o1000;

    pub(super) fn open(options: &mut fs::OpenOptions, path: &Path) -> io::Result<File> {
        // A pipe without a writer is not waited for.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits() as i32).open(path)
    }

    pub(super) fn trusted_owner(path: &Path, found: &Metadata) -> Result<(), Refusal> {
        if found.uid() == 0 { Ok(()) } else { own(path, found) }
    }

    /// Whether the user is the owner.
    pub fn own(path: &Path, found: &Metadata) -> Result<(), Refusal> {
        let me = rustix::process::geteuid().as_raw();
        if found.uid() == me {
            return Ok(());
        }
        refuse(path, format!("belongs to another user (number {}, and you are {me})", found.uid()))
    }

    /// Whether only the user, and those of a group of nobody else, can write to it; in a sticky folder others can write,
    /// but not exchange what lies there.
    pub(super) fn closed(path: &Path, found: &Metadata) -> Result<(), Refusal> {
        if found.is_dir() && found.mode() & STICKY != 0 { Ok(()) } else { closed_to_all(path, found) }
    }

    pub(super) fn closed_to_all(path: &Path, found: &Metadata) -> Result<(), Refusal> {
        let by_group = found.mode() & 0o020 != 0 && !is_private_group(found.gid());
        if found.mode() & 0o002 == 0 && !by_group {
            return Ok(());
        }
        refuse(path, format!("can be written to by other users; run `chmod go-w {}`", path.display()))
    }

    pub(super) fn is_shared(found: &Metadata) -> bool {
        found.mode() & 0o077 != 0
    }

    pub fn set_private(path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    /// Marks that differ between two folders that had one name at different times.
    pub type Stamp = (u64, i64, i64);

    pub fn stamp(found: &Metadata) -> Stamp {
        (found.ino(), found.ctime(), found.ctime_nsec())
    }

    pub(super) fn make(path: &Path) -> Result<(), Refusal> {
        let parent = path.parent().unwrap_or(path);
        fs::DirBuilder::new().recursive(true).mode(0o755).create(parent).map_err(io(parent))?;
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(io(path)(e)),
            _ => Ok(()),
        }
    }

    /// Whether a group has the user as its only member, as on systems that give each user a group. Only the local lists are
    /// read; a group that is not in them counts as shared.
    fn is_private_group(gid: u32) -> bool {
        let me = rustix::process::geteuid().as_raw().to_string();
        let gid = gid.to_string();
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        let (users, groups) = (text("/etc/passwd"), text("/etc/group"));
        let field = |line: &str, k: usize| line.split(':').nth(k).unwrap_or_default().to_string();
        let name = users.lines().find(|l| field(l, 2) == me).map(|l| field(l, 0));
        let Some(group) = groups.lines().find(|l| field(l, 2) == gid) else { return false };
        let members = field(group, 3);
        let mut listed = members.split(',').filter(|m| !m.is_empty());
        let mut primary = users.lines().filter(|l| field(l, 3) == gid);
        listed.all(|m| Some(m) == name.as_deref()) && primary.all(|l| field(l, 2) == me)
    }
}

#[cfg(not(unix))]
mod system {
    use super::*;

    // Elsewhere a user's folders are private by their place.
    pub(super) fn open(options: &mut fs::OpenOptions, path: &Path) -> io::Result<File> {
        options.open(path)
    }
    pub(super) fn trusted_owner(_: &Path, _: &Metadata) -> Result<(), Refusal> {
        Ok(())
    }
    pub fn own(_: &Path, _: &Metadata) -> Result<(), Refusal> {
        Ok(())
    }
    pub(super) fn closed(_: &Path, _: &Metadata) -> Result<(), Refusal> {
        Ok(())
    }
    pub(super) fn closed_to_all(_: &Path, _: &Metadata) -> Result<(), Refusal> {
        Ok(())
    }
    pub(super) fn is_shared(_: &Metadata) -> bool {
        false
    }
    pub fn set_private(_: &Path, _: u32) -> io::Result<()> {
        Ok(())
    }
    pub type Stamp = Option<std::time::SystemTime>;
    pub fn stamp(found: &Metadata) -> Stamp {
        found.modified().ok()
    }
    pub(super) fn make(path: &Path) -> Result<(), Refusal> {
        fs::create_dir_all(path).map_err(io(path))
    }
}

pub use system::{Stamp, own, set_private, stamp};
use system::{closed, closed_to_all, is_shared, make, open, trusted_owner};
