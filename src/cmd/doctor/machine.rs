//! The machine: instructions, threads and memory, and the cache.

use fmm::shown;
use serde::Serialize;
use sim::cache::Cache;
use std::time::Duration;
use terminal::failure::Failure;
use terminal::{memory, program};

/// The machine as Pairforge uses it.
#[derive(Serialize)]
pub struct Machine {
    system: String,
    /// Sets of instructions that are taken.
    instructions: Instructions,
    threads: usize,
    /// Bytes of memory, and of those that are free.
    memory: Option<u64>,
    free: Option<u64>,
}

#[derive(Serialize)]
struct Instructions {
    fmm: String,
    emulator: String,
}

impl Machine {
    pub fn find() -> Result<Machine, Failure> {
        program::start_threads(0)?;
        let word = |isa: &dyn std::fmt::Debug| format!("{isa:?}").to_lowercase();
        let fmm = word(&fmm::arith::vector::Isa::best());
        Ok(Machine {
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            instructions: Instructions { fmm, emulator: word(&sim::emulator::Isa::detect()) },
            threads: rayon::current_num_threads(),
            memory: memory::all(),
            free: memory::free(),
        })
    }

    /// For people: names, and what is there.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let bytes = |bytes: Option<u64>| bytes.map_or("unknown".into(), memory::gigabytes);
        let Instructions { fmm, emulator } = &self.instructions;
        vec![
            ("system", self.system.clone()),
            ("instructions", format!("{fmm} in the FMM, {emulator} in the emulator")),
            ("threads", self.threads.to_string()),
            ("memory", format!("{}, of which {} are free", bytes(self.memory), bytes(self.free))),
        ]
    }
}

/// The cache of what was compiled.
#[derive(Serialize)]
pub struct Kept {
    folder: Option<String>,
    bytes: Option<u64>,
    files: Option<u64>,
    /// Whether all of it was counted.
    whole: bool,
    /// Why it is not used.
    refused: Option<String>,
}

/// A large cache is counted as far as that goes meanwhile.
const COUNTING: Duration = Duration::from_millis(500);

impl Kept {
    pub fn find() -> Kept {
        let cache = Cache::standard();
        let folder = cache.place().map(shown::path);
        match cache.usage(COUNTING) {
            Ok(usage) => Kept {
                folder,
                bytes: Some(usage.bytes),
                files: Some(usage.files),
                whole: usage.is_whole,
                refused: None,
            },
            Err(e) => Kept { folder, bytes: None, files: None, whole: false, refused: Some(e.to_string()) },
        }
    }

    /// For people.
    pub fn line(&self) -> String {
        let folder = self.folder.as_deref().unwrap_or("nowhere");
        match (&self.refused, self.bytes, self.files) {
            (None, Some(bytes), Some(files)) => {
                let least = if self.whole { "" } else { "more than " };
                format!("{folder}, {least}{} in {files} files", memory::gigabytes(bytes))
            }
            (refused, ..) => refused.clone().unwrap_or_else(|| folder.to_string()),
        }
    }
}
