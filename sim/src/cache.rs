//! The cache of built simulations: directories that appear whole or not at all.
//!
//! An entry is named by a hash of everything it was built from and holds that text (`key`), so that equal hashes
//! of different texts do no harm, and the sizes and sums of its files (`sums`), so that a damaged one is
//! built again. Its entries are loaded and run, so the cache is the user's alone: see [`private`].

pub mod private;
mod seal;

use crate::SimError;
use seal::{State, seal, state};
pub use seal::{copy, file};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A directory of built simulations, which processes of one user may share.
#[derive(Clone, Debug)]
pub struct Cache {
    /// None where no place for it is known.
    dir: Option<PathBuf>,
}

/// Size of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    pub bytes: u64,
    pub files: u64,
    /// Whether all was counted; otherwise there is more.
    pub is_whole: bool,
}

impl Cache {
    /// `$PAIRFORGE_CACHE`, else `$XDG_CACHE_HOME/pairforge`, else `~/.cache/pairforge`.
    pub fn standard() -> Cache {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let home = || std::env::home_dir().filter(|d| !d.as_os_str().is_empty());
        let dir = var("PAIRFORGE_CACHE")
            .or_else(|| var("XDG_CACHE_HOME").map(|d| d.join("pairforge")))
            .or_else(|| home().map(|d| d.join(".cache/pairforge")));
        Cache { dir }
    }

    /// A cache in `dir`, which is made when something is put in.
    pub fn at(dir: impl Into<PathBuf>) -> Cache {
        Cache { dir: Some(dir.into()) }
    }

    /// Where it is; `None` where no place for it is known.
    pub fn place(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The size of what lies in it, as far as that is counted within a time. Nothing is made.
    pub fn usage(&self, limit: Duration) -> Result<Usage, SimError> {
        let mut usage = Usage { bytes: 0, files: 0, is_whole: true };
        if self.dir.as_deref().is_some_and(|dir| !dir.exists()) {
            return Ok(usage);
        }
        let until = Instant::now() + limit;
        let mut folders = vec![self.dir()?];
        while let Some(folder) = folders.pop() {
            for found in fs::read_dir(folder).into_iter().flatten().flatten() {
                // What goes meanwhile is not counted, and links are not followed.
                match found.metadata() {
                    Ok(what) if what.is_dir() => folders.push(found.path()),
                    Ok(what) => (usage.bytes, usage.files) = (usage.bytes + what.len(), usage.files + 1),
                    Err(_) => {}
                }
            }
            if Instant::now() > until {
                usage.is_whole = folders.is_empty();
                break;
            }
        }
        Ok(usage)
    }

    /// Its directory, made if it is absent and checked to be the user's alone.
    fn dir(&self) -> Result<PathBuf, SimError> {
        let unknown = "neither PAIRFORGE_CACHE nor HOME says where it is; set one of them";
        let dir = self.dir.as_deref().ok_or_else(|| SimError::Cache { reason: unknown.into() })?;
        private::folder(dir, is_ours).map_err(|e| refused(e, "PAIRFORGE_CACHE can name another folder"))
    }

    /// Keeps the log of a failed tool; its name begins with `what`.
    pub fn keep_log(&self, what: &str, text: &str) -> Result<PathBuf, SimError> {
        let logs = self.dir()?.join("logs");
        private::folder(&logs, |_| true).map_err(|e| refused(e, REMOVE))?;
        let file = tempfile::Builder::new().prefix(&format!("{what}-")).suffix(".log").tempfile_in(&logs);
        let (mut file, path) = file.and_then(|f| f.keep().map_err(|e| e.error)).map_err(SimError::io(&logs))?;
        file.write_all(text.as_bytes()).map_err(SimError::io(&path))?;
        Ok(path)
    }

    /// A small file that is kept beside the entries, if it is there and the user's own. Nothing is made.
    pub fn note(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.dir.as_deref()?.join(name);
        path.exists().then(|| self.dir()).and_then(Result::ok)?;
        private::read(&path).ok()
    }

    /// Keeps a small file beside the entries, in the place of one of that name. It appears whole or not at all.
    pub fn keep_note(&self, name: &str, text: &str) -> Result<PathBuf, SimError> {
        let dir = self.dir()?;
        let path = dir.join(name);
        let file = tempfile::Builder::new().prefix(BUILDING).tempfile_in(&dir);
        let mut file = file.map_err(SimError::io(&dir))?;
        file.write_all(text.as_bytes()).map_err(SimError::io(&path))?;
        if path.is_dir() {
            // No folder is put there on purpose.
            discard(&dir, &path).map_err(SimError::io(&path))?;
        }
        file.persist(&path).map_err(|e| e.error).map_err(SimError::io(&path))?;
        Ok(path)
    }

    /// The directory of the entry for `key` if it is there and whole. Nothing is made.
    pub fn known(&self, key: &str) -> Option<PathBuf> {
        let dir = self.dir.as_deref()?.join(format!("{:032x}", fnv128(key.as_bytes())));
        dir.exists().then(|| self.dir()).and_then(Result::ok)?;
        matches!(state(&dir, key), Ok(State::Whole)).then_some(dir)
    }

    /// The directory of the entry for `key`; if it is not there or damaged, `build` makes its files in an empty
    /// directory first, and once more if somebody disturbed that directory. Another process that builds the same entry is
    /// waited for.
    pub fn entry(&self, key: &str, mut build: impl FnMut(&Path) -> Result<(), SimError>) -> Result<PathBuf, SimError> {
        let home = self.dir()?;
        let hash = fnv128(key.as_bytes());
        for attempt in 0.. {
            let name = if attempt == 0 { format!("{hash:032x}") } else { format!("{hash:032x}-{attempt}") };
            let dir = home.join(&name);
            match state(&dir, key)? {
                State::Whole => return Ok(dir),
                State::Foreign => continue,
                State::Absent | State::Damaged => {}
            }
            // The lock only saves work: without it, the last rename below wins.
            let lock = private::lock_file(&home.join(format!("{name}.lock"))).map_err(|e| refused(e, REMOVE))?;
            let held = lock.lock().is_ok();
            match state(&dir, key)? {
                State::Whole => return Ok(dir),
                State::Foreign => continue,
                State::Absent => {}
                State::Damaged => discard(&home, &dir).map_err(SimError::io(&dir))?,
            }
            remove_interrupted(&home, held.then_some(&name));
            return match self.make(&name, key, &mut build) {
                Err(Attempt::Disturbed(_)) => self.make(&name, key, &mut build).map_err(Attempt::error),
                made => made.map_err(Attempt::error),
            };
        }
        unreachable!("some name is free")
    }

    /// Builds an entry and gives it its name.
    fn make(
        &self,
        name: &str,
        key: &str,
        build: &mut impl FnMut(&Path) -> Result<(), SimError>,
    ) -> Result<PathBuf, Attempt> {
        let home = self.dir().map_err(Attempt::Failed)?;
        let temp = private_temp(&home, &format!("{BUILDING}{name}-"));
        let temp = temp.map_err(SimError::io(&home)).map_err(Attempt::Disturbed)?;
        // The first file in is also the first that goes when somebody empties the cache meanwhile.
        let label = temp.path().join("key");
        fs::write(&label, key).map_err(SimError::io(&label)).map_err(Attempt::Disturbed)?;
        let undisturbed = || fs::read(&label).is_ok_and(|text| text == key.as_bytes());
        match build(temp.path()) {
            Err(e) if undisturbed() => return Err(Attempt::Failed(e)),
            Err(e) => return Err(Attempt::Disturbed(e)),
            Ok(()) => seal(temp.path()).map_err(SimError::io(temp.path())).map_err(Attempt::Disturbed)?,
        }
        let dir = home.join(name);
        match fs::rename(temp.path(), &dir) {
            Ok(()) => Ok(dir),
            Err(_) if matches!(state(&dir, key), Ok(State::Whole)) => Ok(dir),
            // Something else has come there.
            Err(_) => match discard(&home, &dir).and_then(|()| fs::rename(temp.path(), &dir)) {
                Ok(()) => Ok(dir),
                Err(e) => Err(Attempt::Disturbed(SimError::io(&dir)(e))),
            },
        }
    }

    /// Takes entries out that are whole but of no use, so that they are built again. One that was built anew since `seen` was
    /// taken of it stays.
    pub fn drop_entries(&self, entries: &[Seen]) {
        let Ok(home) = self.dir() else { return };
        for entry in entries {
            let Some(name) = entry.dir.file_name().and_then(|n| n.to_str()) else { continue };
            let lock = private::lock_file(&home.join(format!("{name}.lock")));
            let _held = lock.and_then(|l| l.lock().map(|()| l).map_err(private::io(&entry.dir)));
            if seen(&entry.dir).stamp == entry.stamp {
                // What cannot be taken out is found to be of no use again.
                let _ = discard(&home, &entry.dir);
            }
        }
    }
}

/// A failed build of an entry.
enum Attempt {
    /// By itself: it would fail again.
    Failed(SimError),
    /// Because files went or changed under it.
    Disturbed(SimError),
}

impl Attempt {
    fn error(self) -> SimError {
        match self {
            Attempt::Failed(e) | Attempt::Disturbed(e) => e,
        }
    }
}

/// An entry as it was at one time.
#[derive(Clone, Debug)]
pub struct Seen {
    dir: PathBuf,
    stamp: Option<private::Stamp>,
}

/// Notes which building of an entry there is.
pub fn seen(dir: &Path) -> Seen {
    let stamp = fs::symlink_metadata(dir).ok().map(|found| private::stamp(&found));
    Seen { dir: dir.to_path_buf(), stamp }
}

/// The remedy where something lies in the cache that the user did not put there.
const REMOVE: &str = "remove it";

/// The prefix of directories in which an entry is being built; the entry's name follows.
const BUILDING: &str = "building-";

/// Whether something in the cache's directory has one of the names that this project gives there.
fn is_ours(name: &str) -> bool {
    let entry = name.strip_prefix(BUILDING).unwrap_or(name);
    let hash = entry.len() >= 32 && entry.bytes().take(32).all(|b| b.is_ascii_hexdigit());
    hash || matches!(name, "logs" | "tools" | "costs.json")
}

/// Why the cache is not used, with a remedy for what others can have put there; a failed system call has none.
fn refused(e: private::Refusal, remedy: &str) -> SimError {
    match e {
        private::Refusal::Io { place, source } => SimError::Io { path: place, source },
        unsafe_ => SimError::Cache { reason: format!("{unsafe_}; {remedy}") },
    }
}

/// A directory that nobody else can look into.
fn private_temp(home: &Path, prefix: &str) -> std::io::Result<tempfile::TempDir> {
    let temp = tempfile::Builder::new().prefix(prefix).tempdir_in(home)?;
    private::set_private(temp.path(), 0o700)?;
    Ok(temp)
}

/// Removes an entry, whatever lies there. It is renamed first, so that nobody finds half of it.
fn discard(home: &Path, dir: &Path) -> std::io::Result<()> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let temp = private_temp(home, &format!("{BUILDING}{name}-"))?;
    let old = temp.path().join("old");
    private::open_up(dir);
    match fs::rename(dir, &old) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Removes what builds that were killed left behind: those of the entry `held`, whose lock the caller has, and those whose
/// lock is free.
fn remove_interrupted(home: &Path, held: Option<&String>) {
    for left in fs::read_dir(home).into_iter().flatten().flatten() {
        let name = left.file_name().to_string_lossy().into_owned();
        // The random part of the name has no `-`.
        let Some((entry, _)) = name.strip_prefix(BUILDING).and_then(|n| n.rsplit_once('-')) else { continue };
        let lock = || private::lock_file(&home.join(format!("{entry}.lock"))).ok().filter(|l| l.try_lock().is_ok());
        if held.is_some_and(|h| h == entry) || lock().is_some() {
            // What cannot be removed does no harm.
            let _ = fs::remove_dir_all(left.path());
        }
    }
}

/// FNV-1a of 128 bits: stable over versions and machines, unlike the standard library's hasher.
pub fn fnv128(bytes: &[u8]) -> u128 {
    let step = |h: u128, b: &u8| (h ^ *b as u128).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step)
}

/// Seals an entry as it is now.
#[cfg(test)]
pub(crate) fn reseal(dir: &Path) {
    seal(dir).expect("the entry can be written");
}

#[cfg(test)]
mod tests;
