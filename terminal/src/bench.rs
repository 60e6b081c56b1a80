//! Benchmarks of a command: their names, which of them run, repeated times and their spread.

use crate::failure::Failure;
use crate::launch::{self, Refusal};
use crate::say;
use fmm::shown::shown;
use pairforge::ranks::mpi;
use std::time::Instant;

/// A benchmark of a command with these arguments: its name, what it measures, and how.
pub struct Bench<A> {
    name: &'static str,
    what: &'static str,
    run: fn(&A) -> Result<(), Failure>,
    on_ranks: bool,
}

impl<A> Bench<A> {
    pub const fn new(name: &'static str, what: &'static str, run: fn(&A) -> Result<(), Failure>) -> Bench<A> {
        Bench { name, what, run, on_ranks: false }
    }

    /// The same where it runs on ranks of MPI too.
    pub const fn on_ranks(self) -> Bench<A> {
        Bench { on_ranks: true, ..self }
    }
}

/// Runs the named benchmarks one after the other, all if none is named.
pub fn run<A>(benches: &[Bench<A>], names: &[String], args: &A) -> Result<(), Failure> {
    let known = || benches.iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
    let mut chosen: Vec<&Bench<A>> = Vec::new();
    for name in names {
        let bench = benches.iter().find(|b| b.name == name);
        chosen.push(bench.ok_or_else(|| {
            Failure::Usage(format!("there is no benchmark `{}`; the benchmarks are {}", shown(name), known()))
        })?);
    }
    if chosen.is_empty() {
        chosen.extend(benches);
    }
    for bench in chosen.iter().filter(|bench| !bench.on_ranks) {
        match launch::refused_part(&format!("the benchmark `{}`", bench.name)) {
            None => {}
            Some(Refusal::Told(failure)) => return Err(failure),
            Some(Refusal::Silent) => return Ok(()),
        }
    }
    // Of ranks the first one speaks.
    let speaks = mpi::number().is_none_or(|rank| rank == 0);
    for bench in chosen {
        if speaks {
            say!("{}: {}", bench.name, bench.what)?;
        }
        (bench.run)(args)?;
        if speaks {
            say!("")?;
        }
    }
    Ok(())
}

/// Seconds of `repeat` calls of `work`, sorted.
pub fn timed<T>(repeat: u32, mut work: impl FnMut() -> Result<T, Failure>) -> Result<Vec<f64>, Failure> {
    let mut seconds = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        std::hint::black_box(work()?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_unstable_by(f64::total_cmp);
    Ok(seconds)
}

/// The median of a sorted list, and its ends: `12.3 (11.9 to 14.0)` after `scale`.
pub fn spread(sorted: &[f64], show: impl Fn(f64) -> String) -> String {
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    format!("{} ({} to {})", show(sorted[sorted.len() / 2]), show(first), show(last))
}
