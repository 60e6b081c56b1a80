//! The clocks of a lane group with filters: which pairs pass is counted from what goes over the stream, and how long they take follows
//! from the queue between filters and pipelines.

use hdl::engine::Config;
use hdl::engine::protocol::{Packing, Segment};
use pg2::graph::Graph;
use pg2::middle::coarse::reaching;
use pg2::middle::filter::count_alone;
use sim::emulator::{Emulator, Sources, Sums};
use std::collections::VecDeque;
use std::sync::Arc;

/// The kernel of an engine with filters, as it was compiled.
pub type Filtered = Option<Arc<Graph>>;

/// Sources that can wait before others are withheld: the places of the lane's memory less those for what is under way.
const WAITING: usize = 480;
/// Clocks from the sequencer to a word in the queue: registers on the way, a coarse test, and the queue.
const TEST: u64 = 18;

/// The pairs of a group of targets that pass.
#[derive(Default)]
pub struct Counts {
    /// Sources of the group's list, and of their pairs those that each pipeline takes.
    pub sources: u64,
    pub passed: Vec<u64>,
}

/// The test of pairs, with what the stream has brought.
pub struct Passing {
    emulator: Emulator,
    sources: Sources,
    params: Packing,
    i: Packing,
    j: Packing,
    filters: usize,
    units: usize,
}

impl Passing {
    /// That of an engine with filters.
    pub fn new(config: &Config, filtered: &Filtered) -> Option<Passing> {
        let graph = filtered.as_ref().filter(|_| config.filters > 0)?;
        let emulator = Emulator::new(&count_alone(&reaching(graph))?);
        Some(Passing {
            sources: emulator.sources(config.jmem_records as usize),
            params: config.layout.param_packing(),
            i: config.layout.i_packing(),
            j: config.layout.j_packing(),
            filters: config.filters as usize,
            units: (config.pipelines / config.groups) as usize,
            emulator,
        })
    }

    /// Sets the parameters of a packet's words.
    pub fn set(&mut self, words: &[u32]) {
        if words.len() == self.params.words() {
            let mut params = Vec::new();
            self.params.unpack(words, &mut params);
            self.emulator.set_params(&params);
        }
    }

    /// Stores records from one on.
    pub fn load(&mut self, first: u32, words: &[u32]) {
        let mut patterns = Vec::new();
        words.chunks_exact(self.j.words()).for_each(|record| self.j.unpack(record, &mut patterns));
        self.emulator.load(&mut self.sources, first as usize, &patterns);
    }

    /// The pairs of targets, in the words of a packet, that pass.
    pub fn count(&self, words: &[u32], segments: &[Segment]) -> Counts {
        let mut targets = Vec::new();
        words.chunks_exact(self.i.words()).for_each(|record| self.i.unpack(record, &mut targets));
        let n = words.len() / self.i.words();
        let mut sums = vec![self.emulator.start(); n];
        self.emulator.accumulate(&mut self.emulator.scratch(), &mut sums, &targets, &self.sources, segments);
        let of = |unit: &[Sums]| unit.iter().map(|sum| sum.finish().0[0]).sum();
        let mut passed: Vec<u64> = sums.chunks(self.filters).map(of).collect();
        passed.resize(self.units, 0);
        Counts { sources: segments.iter().map(|s| s.count as u64).sum(), passed }
    }
}

/// The queues of a lane group's pipelines.
#[derive(Default)]
pub struct Queues {
    /// When each pipeline has taken its last pair.
    taken: Vec<u64>,
    /// When the last sources were done with, by the pipeline that needs them longest.
    done: VecDeque<u64>,
}

impl Queues {
    /// When all pairs so far have been taken.
    pub fn empty_from(&self) -> u64 {
        self.taken.iter().copied().max().unwrap_or(0)
    }

    /// The clock behind the last source of a group whose sources go from a clock on. Its pairs are taken as spread evenly over them.
    pub fn pass(&mut self, from: u64, counts: &Counts) -> u64 {
        let mut at = from;
        self.taken.resize(counts.passed.len(), 0);
        for k in 0..counts.sources {
            let oldest = if self.done.len() >= WAITING { self.done.pop_front() } else { None };
            at = at.max(oldest.unwrap_or(0)) + 1;
            let mut done = at + TEST;
            for (taken, passed) in self.taken.iter_mut().zip(&counts.passed) {
                let upto = |k: u64| passed * k / counts.sources;
                let pairs = upto(k + 1) - upto(k);
                if pairs > 0 {
                    *taken = (*taken).max(at + TEST) + pairs;
                }
                done = done.max(*taken);
            }
            self.done.push_back(done);
        }
        at.max(from + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_wait_for_pipelines_that_have_more_pairs_than_clocks() {
        let sources = 10_000;
        let cases = [(sources / 2, sources), (sources, sources), (3 * sources, 3 * (sources - WAITING as u64))];
        for (passed, wanted) in cases {
            let mut queues = Queues::default();
            let end = queues.pass(0, &Counts { sources, passed: vec![passed] });
            assert!(end.abs_diff(wanted) < 100, "{passed} pairs: {end}, not {wanted}");
            assert!(queues.empty_from().abs_diff(sources.max(passed)) < 100, "{passed} pairs: {}", queues.empty_from());
        }
    }
}
