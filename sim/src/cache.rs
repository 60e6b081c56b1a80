//! The cache of built simulations: directories that appear whole or not at all.
//!
//! An entry is named by a hash of everything it was built from and holds that text (`key`), so that equal hashes
//! of different texts do no harm, and the sizes and sums of its files (`sums`), so that a damaged one is
//! built again.

use crate::SimError;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A directory of built simulations, which processes may share.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// `$PAIRFORGE_CACHE`, else `$XDG_CACHE_HOME/pairforge`, else `~/.cache/pairforge`.
    pub fn standard() -> Cache {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let dir = var("PAIRFORGE_CACHE")
            .or_else(|| var("XDG_CACHE_HOME").map(|d| d.join("pairforge")))
            .or_else(|| var("HOME").map(|d| d.join(".cache/pairforge")))
            .unwrap_or_else(|| std::env::temp_dir().join("pairforge"));
        Cache::at(dir)
    }

    /// A cache in `dir`, which is made when something is put in.
    pub fn at(dir: impl Into<PathBuf>) -> Cache {
        Cache { dir: dir.into() }
    }

    /// Where logs of failed tools are kept.
    pub fn log(&self, name: &str) -> PathBuf {
        self.dir.join("logs").join(name)
    }

    /// The directory of the entry for `key`; if it is not there or damaged, `build` makes its files in an empty
    /// directory first. Another process that builds the same entry is waited for.
    pub fn entry(&self, key: &str, build: impl FnOnce(&Path) -> Result<(), SimError>) -> Result<PathBuf, SimError> {
        let hash = fnv128(key.as_bytes());
        for attempt in 0.. {
            let name = if attempt == 0 { format!("{hash:032x}") } else { format!("{hash:032x}-{attempt}") };
            let dir = self.dir.join(&name);
            match state(&dir, key) {
                State::Whole => return Ok(dir),
                State::Foreign => continue,
                State::Absent | State::Damaged => {}
            }
            fs::create_dir_all(&self.dir).map_err(SimError::io(&self.dir))?;
            // The lock only saves work: without it, the last rename below wins.
            let lock = File::create(self.dir.join(format!("{name}.lock")));
            let held = lock.as_ref().is_ok_and(|f| f.lock().is_ok());
            match state(&dir, key) {
                State::Whole => return Ok(dir),
                State::Foreign => continue,
                State::Absent => {}
                State::Damaged => fs::remove_dir_all(&dir).map_err(SimError::io(&dir))?,
            }
            let prefix = format!("building-{name}-");
            if held {
                self.remove_interrupted(&prefix);
            }
            let temp = tempfile::Builder::new().prefix(&prefix).tempdir_in(&self.dir);
            let temp = temp.map_err(SimError::io(&self.dir))?;
            build(temp.path())?;
            seal(temp.path(), key).map_err(SimError::io(temp.path()))?;
            return match fs::rename(temp.path(), &dir) {
                Ok(()) => Ok(dir),
                Err(_) if matches!(state(&dir, key), State::Whole) => Ok(dir),
                Err(e) => Err(SimError::io(&dir)(e)),
            };
        }
        unreachable!("some name is free")
    }

    /// Removes what builds that were killed left behind; the lock on their entry says that none is at work.
    fn remove_interrupted(&self, prefix: &str) {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        for entry in entries.filter(|e| e.file_name().to_string_lossy().starts_with(prefix)) {
            // What cannot be removed does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

enum State {
    Absent,
    Whole,
    Damaged,
    /// Another text with the same hash.
    Foreign,
}

fn state(dir: &Path, key: &str) -> State {
    if !dir.exists() {
        return State::Absent;
    }
    match (fs::read_to_string(dir.join("key")), fs::read_to_string(dir.join("sums")), sums(dir)) {
        (Ok(k), Ok(wanted), Ok(found)) if wanted == found => match k == key {
            true => State::Whole,
            false => State::Foreign,
        },
        _ => State::Damaged,
    }
}

/// Writes what [`state`] checks.
fn seal(dir: &Path, key: &str) -> std::io::Result<()> {
    fs::write(dir.join("key"), key)?;
    fs::write(dir.join("sums"), sums(dir)?)
}

/// One line for each file in `dir` but `sums` itself: name, size, sum.
fn sums(dir: &Path) -> std::io::Result<String> {
    let mut lines = Vec::new();
    for file in fs::read_dir(dir)? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        if name != "sums" {
            let bytes = fs::read(file.path())?;
            lines.push(format!("{name} {} {:016x}\n", bytes.len(), sum64(&bytes)));
        }
    }
    lines.sort();
    Ok(lines.concat())
}

/// FNV-1a of 128 bits: stable over versions and machines, unlike the standard library's hasher.
pub fn fnv128(bytes: &[u8]) -> u128 {
    let step = |h: u128, b: &u8| (h ^ *b as u128).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step)
}

/// FNV-1a over 8-byte words: enough to see damage, and fast.
fn sum64(bytes: &[u8]) -> u64 {
    let word = |c: &[u8]| c.iter().rev().fold(0u64, |w, b| w << 8 | *b as u64);
    let step = |h: u64, w: u64| (h ^ w).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.chunks(8).map(word).fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &Cache, key: &str, text: &str) -> (PathBuf, bool) {
        let mut built = false;
        let dir = cache.entry(key, |dir| {
            built = true;
            fs::write(dir.join("file"), text).map_err(SimError::io(dir))
        });
        (dir.expect("the cache is writable"), built)
    }

    #[test]
    fn an_entry_is_built_once_and_again_when_damaged() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::at(home.path());
        let (dir, built) = put(&cache, "a", "text");
        assert!(built && !put(&cache, "a", "text").1);
        for damage in ["file", "key", "sums"] {
            fs::write(dir.join(damage), "tex").unwrap();
            assert!(put(&cache, "a", "text").1, "damaged {damage}");
            assert_eq!(fs::read_to_string(dir.join("file")).unwrap(), "text");
        }
        fs::remove_file(dir.join("file")).unwrap();
        assert!(put(&cache, "a", "text").1);
    }

    #[test]
    fn another_text_of_the_same_hash_gets_its_own_entry() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::at(home.path());
        let foreign = home.path().join(format!("{:032x}", fnv128(b"a")));
        fs::create_dir(&foreign).unwrap();
        seal(&foreign, "not a").unwrap();
        let (dir, built) = put(&cache, "a", "text");
        assert!(built && dir != foreign && !put(&cache, "a", "text").1);
    }

    #[test]
    fn a_failed_build_leaves_no_entry() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::at(home.path());
        assert!(cache.entry("a", |_| Err(SimError::Unsupported("no".into()))).is_err());
        assert!(put(&cache, "a", "text").1);
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv128(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
