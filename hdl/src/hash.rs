//! Maps and sets for the compiler's own tables, which need no defence against chosen keys.

pub use rustc_hash::{FxHashMap as FastMap, FxHashSet as FastSet, FxHasher as Fast};
