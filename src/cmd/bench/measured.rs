//! The times that `bench cuda` measured on this machine, kept for the predictions of `explain --roofline`.

use pipelines::predict::roofline::Prediction;
use serde::{Deserialize, Serialize};
use sim::cache::Cache;
use terminal::failure::Failure;

/// The file in the cache.
const FILE: &str = "cuda.json";

/// A kernel's time on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// As its driver names it, such as `NVIDIA H200`.
    pub device: String,
    pub kernel: String,
    /// The hash of the kernel ([`hdl::serial::kernel_hash`]): another one of that name is not this one.
    pub hash: u64,
    /// `f32`, `f64` or `exact`.
    pub mode: String,
    pub targets: u64,
    pub sources: u64,
    /// Of the kernel alone, and of sending and fetching the data.
    pub seconds: f64,
    pub link_seconds: f64,
}

/// The times that are kept; a file that cannot be read counts as none, since `bench cuda` makes it again.
pub fn known() -> Vec<Measured> {
    let bytes = Cache::standard().note(FILE).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Keeps what was measured, in the place of what was kept of the same work on the same GPU.
pub fn keep(new: &[Measured]) -> Result<(), Failure> {
    let work = |m: &Measured| (m.device.clone(), m.hash, m.mode.clone(), m.targets, m.sources);
    let mut all = known();
    all.retain(|old| new.iter().all(|m| work(m) != work(old)));
    all.extend_from_slice(new);
    let text = serde_json::to_string_pretty(&all).expect("numbers and names") + "\n";
    Cache::standard().keep_note(FILE, &text).map(|_| ()).map_err(|e| Failure::Tool(e.to_string()))
}

/// The time measured of a kernel with the work of a prediction, on the GPU that it is for.
pub fn find(known: &[Measured], hash: u64, p: &Prediction) -> Option<Measured> {
    let is_card = |m: &&Measured| m.device.split_whitespace().any(|word| word == p.machine);
    let is_work =
        |m: &&Measured| m.hash == hash && m.mode == p.mode && m.targets == p.targets && m.sources == p.sources;
    known.iter().find(|m| is_card(m) && is_work(m)).cloned()
}
