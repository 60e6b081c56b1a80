//! Seals of entries of the cache: the key, and the sizes and sums of its files.

use super::{REMOVE, private, refused};
use crate::SimError;
use std::fs;
use std::path::Path;

pub enum State {
    Absent,
    Whole,
    Damaged,
    /// Another text with the same hash.
    Foreign,
}

/// State of the entry at `dir`, if it is to be the one for `key`.
pub fn state(dir: &Path, key: &str) -> Result<State, SimError> {
    let found = match fs::symlink_metadata(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(State::Absent),
        found => found.map_err(SimError::io(dir))?,
    };
    if found.is_file() && private::own(dir, &found).is_ok() {
        // The cache's folder is the user's alone, so that nobody has put it there on purpose.
        return Ok(State::Damaged);
    }
    if !found.is_dir() {
        return Err(SimError::Cache { reason: format!("{} is not a folder; remove it", dir.display()) });
    }
    private::own(dir, &found).map_err(|e| refused(e, REMOVE))?;
    if private::check(dir).is_err() {
        return Ok(State::Damaged);
    }
    let kept = |name| private::read(&dir.join(name));
    Ok(match (kept("key"), kept("sums"), sums(dir)) {
        (Ok(k), Ok(wanted), Ok(found)) if wanted == found.as_bytes() => match k == key.as_bytes() {
            true => State::Whole,
            false => State::Foreign,
        },
        _ => State::Damaged,
    })
}

/// Writes the sums that [`state`] checks, and makes all files private. The key is there already.
pub fn seal(dir: &Path) -> std::io::Result<()> {
    for file in fs::read_dir(dir)? {
        private::set_private(&file?.path(), 0o600)?;
    }
    fs::write(dir.join("sums"), sums(dir)?)?;
    private::set_private(&dir.join("sums"), 0o600)
}

/// One line for each file in `dir` but `sums` itself: name, size, sum.
fn sums(dir: &Path) -> std::io::Result<String> {
    let mut lines = Vec::new();
    for file in fs::read_dir(dir)? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        if name != "sums" {
            lines.push(line(&name, &private::read(&file.path())?));
        }
    }
    lines.sort();
    Ok(lines.concat())
}

/// The line of one file.
fn line(name: &str, bytes: &[u8]) -> String {
    format!("{name} {} {:016x}\n", bytes.len(), sum64(bytes))
}

/// The bytes of a file of an entry, if they are those that were sealed. What is used is what was checked, whoever writes to the
/// file afterwards.
pub fn file(dir: &Path, name: &str) -> Option<Vec<u8>> {
    let bytes = private::read(&dir.join(name)).ok()?;
    let sums = private::read(&dir.join("sums")).ok()?;
    let wanted = line(name, &bytes);
    sums.split_inclusive(|b| *b == b'\n').any(|l| l == wanted.as_bytes()).then_some(bytes)
}

/// Copies all files of an entry but its key into the folder `to`; false if one is not as it was sealed.
pub fn copy(dir: &Path, to: &Path) -> Result<bool, SimError> {
    let sums = private::read(&dir.join("sums")).unwrap_or_default();
    let sums = String::from_utf8_lossy(&sums).into_owned();
    for name in sums.lines().filter_map(|l| l.split(' ').next()).filter(|name| *name != "key") {
        let Some(bytes) = file(dir, name) else { return Ok(false) };
        let to = to.join(name);
        fs::write(&to, bytes).map_err(SimError::io(&to))?;
    }
    Ok(!sums.is_empty())
}

/// FNV-1a over 8-byte words: enough to see damage, and fast.
fn sum64(bytes: &[u8]) -> u64 {
    let word = |c: &[u8]| c.iter().rev().fold(0u64, |w, b| w << 8 | *b as u64);
    let step = |h: u64, w: u64| (h ^ w).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.chunks(8).map(word).fold(0xcbf2_9ce4_8422_2325, step)
}
