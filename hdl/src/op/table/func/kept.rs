//! Search results kept from one process to the next: which table was found, so that it is made again without a search.
//!
//! A record says no more than where to look. The rows are computed and proved anew, so a record cannot bring wrong numbers;
//! a damaged one, or one of other sources, is not used. This crate does no input or output: a [`Store`] is handed in.

use super::Function;
use crate::Format;
use crate::hash::{fnv, fnv_after};
use std::sync::OnceLock;

/// A place for records, each under a key. A record that cannot be kept or read is as if it had not been kept.
pub trait Store: Send + Sync {
    fn load(&self, key: &str) -> Option<String>;
    fn save(&self, key: &str, record: &str);
}

static STORE: OnceLock<Box<dyn Store>> = OnceLock::new();

/// Keeps the records of this process in `store`. The first call counts.
pub fn keep_in(store: Box<dyn Store>) {
    let _ = STORE.set(store);
}

pub fn store() -> Option<&'static dyn Store> {
    STORE.get().map(|s| s.as_ref())
}

/// The outcome of a search, and the work that it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// See [`super::Prepared::floor`]; of a fixed whose lines are octaves of the distance from its ends [`super::prepared::ENDS`].
    pub floor: Option<i32>,
    pub degree: usize,
    pub top: u32,
    pub work: u64,
}

/// Everything that the outcome depends on: the format, the function and this program's own text.
pub fn key(format: Format, function: &Function) -> String {
    format!("table of {} in {format} by {:016x}", function.text, digest())
}

/// A digest of the sources that make tables, so that no record outlives a change of them.
pub fn digest() -> u64 {
    static DIGEST: OnceLock<u64> = OnceLock::new();
    const TEXTS: &[&str] = &[
        include_str!("../poly.rs"),
        include_str!("../poly/coefficients.rs"),
        include_str!("../poly/fit.rs"),
        include_str!("../poly/search.rs"),
        include_str!("domain.rs"),
        include_str!("ends.rs"),
        include_str!("prepared.rs"),
        include_str!("kept.rs"),
        include_str!("../../../number/real/dd.rs"),
        include_str!("../../../number/real/elementary.rs"),
        include_str!("../../../number/real/enclosure.rs"),
        include_str!("../../../number/real/evaluator.rs"),
        include_str!("../../../number/real/expansion.rs"),
        include_str!("../../../number/real/expr.rs"),
        include_str!("../../../number/real/interval.rs"),
        include_str!("../../../number/real/jet.rs"),
        include_str!("../../../number/real/value.rs"),
        include_str!("../../../number/real/work.rs"),
    ];
    *DIGEST.get_or_init(|| TEXTS.iter().fold(0, |before, text| fnv_after(before, text)))
}

impl Found {
    /// The record that is kept under a key.
    pub fn record(&self, key: &str) -> String {
        let floor = self.floor.map_or("-".to_string(), |f| f.to_string());
        let text = format!("{floor} {} {} {}", self.degree, self.top, self.work);
        format!("{text} {:016x}", fnv_after(fnv(key), &text))
    }

    /// `None` for what [`Found::record`] has not written for this key.
    pub(super) fn read(record: &str, key: &str) -> Option<Found> {
        let (text, _) = record.rsplit_once(' ')?;
        let [floor, degree, top, work] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
        let floor = if floor == "-" { None } else { Some(floor.parse().ok()?) };
        let found = Found { floor, degree: degree.parse().ok()?, top: top.parse().ok()?, work: work.parse().ok()? };
        (found.record(key) == record).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back_and_others_are_refused() {
        let found = Found { floor: Some(-12), degree: 3, top: 5, work: 12345 };
        let record = found.record("key");
        assert_eq!(Found::read(&record, "key"), Some(found));
        let plain = Found { floor: None, ..found };
        assert_eq!(Found::read(&plain.record("key"), "key"), Some(plain));
        assert_eq!(Found::read(&record, "other"), None);
        for k in 0..record.len() {
            let mut bytes = record.clone().into_bytes();
            bytes[k] ^= 1;
            assert_eq!(Found::read(&String::from_utf8(bytes).unwrap(), "key"), None, "{k}");
            assert_eq!(Found::read(&record[..k], "key"), None, "{k}");
        }
    }
}
