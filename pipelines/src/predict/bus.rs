//! The same over a bus such as PCIe: transfers by DMA at a rate in each direction, and the engines' clocks.
//!
//! Beats of the streams go without frames, since the bus repeats what is damaged by itself. A beat takes a clock at least, and the queue
//! between the bus and the engines holds some of them.

use super::engines::Engines;
use super::passing::Filtered;
use super::{LinkUse, Setup, ends, take_blank};
use hdl::engine::Config;
use hdl::engine::link::{Board, LinkError, Receive};
use hdl::engine::protocol::Stream;
use hdl::engine::switch::{QUEUE, addressed};
use hdl::serial::chunks::{Replies, Unit};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// A board on a bus that is predicted.
pub struct PredictedBus {
    configs: Vec<Config>,
    engines: Engines,
    clock_hz: f64,
    /// Clocks of a beat on the bus.
    beat_clocks: f64,
    /// Clocks from the last beat until the host has acted on it.
    turnaround: u64,
    now: u64,
    /// The times from which the bus is free in either direction.
    down_free: f64,
    up_free: f64,
    /// Beats on their way to the engines, with their time of arrival and whether their packet ends there.
    coming: VecDeque<(u64, Vec<u32>, bool)>,
    replies: Replies,
    sent_ends: u64,
    so_far: LinkUse,
    seen: Arc<Mutex<LinkUse>>,
}

impl PredictedBus {
    /// A board with engines, to which a bus takes `rate` bytes a second in each direction.
    pub fn new(
        configs: Vec<Config>,
        filtered: &Filtered,
        (setup, rate): (&Setup, f64),
        seen: Arc<Mutex<LinkUse>>,
    ) -> PredictedBus {
        let clock_hz = setup.clock_mhz * 1e6;
        let beat_bytes = 4 * configs[0].beat_words();
        PredictedBus {
            engines: Engines::new(&configs, filtered),
            configs,
            clock_hz,
            beat_clocks: (beat_bytes as f64 * clock_hz / rate).max(1.0),
            turnaround: (setup.turnaround.max(0.0) * clock_hz).round() as u64,
            now: 0,
            down_free: 0.0,
            up_free: 0.0,
            coming: VecDeque::new(),
            replies: Replies::default(),
            sent_ends: 0,
            so_far: LinkUse::default(),
            seen,
        }
    }

    fn beat_bytes(&self) -> u64 {
        4 * self.configs[0].beat_words() as u64
    }

    /// Puts beats on the bus as far as the queue behind it has space.
    fn send(&mut self, beats: &mut dyn Iterator<Item = (Vec<u32>, bool)>) {
        while self.coming.len() < QUEUE as usize
            && let Some((words, last)) = beats.next()
        {
            self.down_free = self.down_free.max(self.now as f64) + self.beat_clocks;
            self.coming.push_back((self.down_free.ceil() as u64, words, last));
            self.so_far.bytes_in += self.beat_bytes();
        }
    }

    /// Gives the engines what has arrived.
    fn feed(&mut self) {
        while self.engines.takes() && self.coming.front().is_some_and(|(at, ..)| *at <= self.now) {
            let (_, words, last) = self.coming.pop_front().expect("it was there");
            self.engines.push(self.now, words, last);
            self.engines.advance(self.now);
        }
    }

    /// Takes results as far as the bus is free.
    fn fetch(&mut self, receive: &mut Receive) -> Result<(), String> {
        while self.up_free <= self.now as f64
            && self.engines.offers()
            && let Some(words) = self.engines.pop(self.now)
        {
            self.up_free = self.up_free.max(self.now as f64) + self.beat_clocks;
            self.so_far.bytes_out += self.beat_bytes();
            let bytes: Vec<u8> = u8::of(&words).collect();
            take_blank(&mut self.replies, &bytes, &self.configs, receive)?;
        }
        Ok(())
    }

    /// The time of what happens next.
    fn next(&self) -> u64 {
        let later = |at: u64| Some(at).filter(|at| *at > self.now);
        let arrival = self.coming.front().and_then(|(at, ..)| later(*at));
        let up = later(self.up_free.ceil() as u64);
        // An engine that waits for what comes says a time that has passed.
        let engine = self.engines.next().and_then(later);
        [arrival, up, engine].into_iter().flatten().min().unwrap_or(self.now + 1)
    }

    fn transfer(&mut self, input: &Stream, to: &[u8], receive: &mut Receive) -> Result<(), String> {
        let beat_words = self.configs[0].beat_words();
        let stream = match self.configs.len() {
            1 => Cow::Borrowed(input),
            _ => Cow::Owned(addressed(input, to, beat_words)),
        };
        let (ends, ends_with_end) = ends(input);
        self.sent_ends += ends;
        let mut beats = stream.packets().flat_map(|packet| beats(packet, beat_words as usize)).peekable();
        loop {
            self.engines.advance(self.now);
            self.send(&mut beats);
            self.feed();
            self.fetch(receive)?;
            let is_sent = self.coming.is_empty() && beats.peek().is_none();
            if is_sent && (!ends_with_end || self.replies.ends >= self.sent_ends) {
                break;
            }
            self.now = self.next();
        }
        if ends_with_end {
            self.now = self.now.max(self.up_free.ceil() as u64) + self.turnaround;
        }
        self.so_far.seconds = (self.now as f64).max(self.down_free) / self.clock_hz;
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = self.so_far;
        Ok(())
    }
}

/// The beats of a packet, with whether it ends there.
fn beats(packet: &[u32], beat_words: usize) -> impl Iterator<Item = (Vec<u32>, bool)> {
    let count = packet.len().div_ceil(beat_words);
    packet.chunks(beat_words).enumerate().map(move |(k, words)| {
        let mut words = words.to_vec();
        words.resize(beat_words, 0);
        (words, k + 1 == count)
    })
}

impl Board for PredictedBus {
    fn configs(&self) -> &[Config] {
        &self.configs
    }

    fn exchange(&mut self, input: &Stream, to: &[u8], receive: &mut Receive) -> Result<(), LinkError> {
        self.transfer(input, to, receive).map_err(LinkError)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Line, backend};
    use super::*;
    use crate::job::{Backend, Job, Run, SourceRange, Table};
    use hdl::serial::kernel_hash;

    /// Targets and sources of a job for one run.
    const TARGETS: usize = 64;
    const SOURCES: usize = 256;

    /// The use of a bus of a rate, and the clocks of the engine.
    fn used(rate: f64, turnaround: f64) -> (LinkUse, u64) {
        let text = pg2::kernels::find("p2p_paper").expect("it is shipped").text;
        let graph = pg2::compile("p2p_paper", text).expect("it compiles").graph;
        let config = Config::usual(graph.layout(), 16);
        let hash = kernel_hash(&graph.canonical());
        let seen = Arc::default();
        let setup = Setup { clock_mhz: 100.0, line: Line::Dma(rate), turnaround };
        let mut backend = backend(setup, vec![(config, hash)], Arc::clone(&seen));
        let table = |elements: usize, count: usize| Table { elements, bits: vec![0; elements * count] };
        let layout = graph.layout();
        let runs = [Run { first: 0, count: TARGETS, segments: 0..1 }];
        let job = Job {
            graph: &graph,
            targets: &table(layout.i.len(), TARGETS),
            sources: &table(layout.j.len(), SOURCES),
            params: &[],
            runs: &runs,
            segments: &[SourceRange { first: 0, count: SOURCES }],
        };
        let outcome = backend.run(&job, &mut |_| {}).expect("a model fails nothing");
        let used = *seen.lock().expect("nothing panicked");
        (used, outcome.cycles.expect("it has a clock"))
    }

    #[test]
    fn a_fast_bus_waits_for_the_engine_and_a_slow_one_for_its_bytes() {
        let (fast, clocks) = used(f64::MAX, 0.0);
        let least = (TARGETS * SOURCES / 8) as u64;
        assert!((least..least + 200).contains(&clocks), "{clocks}");
        // All sources go in front of the first target, a word a clock.
        let all = fast.seconds * 100e6;
        assert!((clocks as f64..(clocks + 4 * SOURCES as u64 + 200) as f64).contains(&all), "{all} and {clocks}");
        let (slow, _) = used(1e6, 0.0);
        assert_eq!((slow.bytes_in, slow.bytes_out), (fast.bytes_in, fast.bytes_out));
        let line = slow.bytes_in as f64 / 1e6;
        assert!((line..1.3 * line).contains(&slow.seconds), "{} and {line}", slow.seconds);
        let (late, _) = used(1e6, 0.5);
        assert!(late.seconds > slow.seconds + 0.499, "{} and {}", late.seconds, slow.seconds);
    }
}
