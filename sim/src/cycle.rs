//! The cycle simulation: an engine's Verilog, compiled by Verilator, as a [`Link`].
//!
//! The clock loop is C++ (`templates/split.cpp`, `templates/flat.cpp`). By default the shell and the lane are two
//! models, the lane compiled once and instantiated N times, on several threads; the result is that of
//! the whole engine as one model, clock for clock. `trace` asks for that one model, since only it has all waves in one
//! file.

mod driver;
mod stream;

pub use stream::StreamEngine;

use crate::SimError;
use crate::cache::Cache;
use crate::verilator::Effort;
use driver::{Driver, Exchange, Status};
use hdl::circuit::target::Clock;
use hdl::engine::link::{Link, LinkError};
use hdl::engine::protocol::{self, Stream};
use hdl::engine::{Config, Design, design};
use hdl::rtl::netlist::{Netlist, Unsound};
use std::path::PathBuf;

/// How a simulation is built and driven.
#[derive(Clone, Debug)]
pub struct CycleOptions {
    /// Threads that step lanes, the caller's included; 0 for one a core.
    pub threads: usize,
    pub cache: Cache,
    /// Simulate the engine as one model on one thread.
    pub flat: bool,
    /// Write the waves of the whole engine to this FST file; implies `flat`.
    pub trace: Option<PathBuf>,
    /// The clock that times in the waves are of.
    pub mhz: f64,
    pub noise: Noise,
    pub effort: Effort,
}

impl Default for CycleOptions {
    fn default() -> CycleOptions {
        CycleOptions {
            threads: 0,
            cache: Cache::standard(),
            flat: false,
            trace: None,
            mhz: Clock::default_clock().mhz,
            noise: Noise::default(),
            effort: Effort::Full,
        }
    }
}

/// Irregularity of the two streams, reproducible from the seed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Noise {
    pub seed: u64,
    /// Probability that the host offers nothing in a clock, although it has something.
    pub gap: f64,
    /// Probability that the host takes nothing in a clock.
    pub stall: f64,
}

/// Called with each beat that comes back: its clock, its words, its TLAST.
pub type BeatHook = Box<dyn FnMut(u64, &[u32], bool) + Send>;
/// Called now and then with the number of clocks so far.
pub type ProgressHook = Box<dyn FnMut(u64) + Send>;

/// A simulated engine.
pub struct CycleEngine {
    config: Config,
    driver: Driver,
    noise: Noise,
    timeout: u64,
    /// Words of a packet of which more beats are to come.
    packet: Vec<u32>,
    /// END packets that were sent and not answered yet.
    open_ends: u64,
    out: Output,
    on_beat: Option<BeatHook>,
    on_progress: Option<ProgressHook>,
}

/// Beats that came back and were not looked at yet.
struct Output {
    words: Vec<u32>,
    last: Vec<u8>,
    cycle: Vec<u64>,
}

/// Beats that go in or come out in one call of the driver.
const BEATS: usize = 1 << 14;
/// Clocks between two calls of the progress hook.
const REPORT: u64 = 1 << 20;

impl CycleEngine {
    /// Builds the engine of `config` around `pipeline`, or finds it in the cache, and resets it.
    pub fn build(config: &Config, pipeline: &Netlist, options: &CycleOptions) -> Result<CycleEngine, SimError> {
        let Design { netlist, top, shell, lane, lane_latency, .. } = design(config, pipeline);
        netlist.verify().map_err(Unsound)?;
        // Lanes whose results are read word by word answer the shell within a few clocks: they cannot run behind it.
        let in_memory = pipeline.module(&pipeline.top).is_some_and(|m| !m.bins.is_empty());
        let by_word = config.slices().is_some() || in_memory || config.filters > 0;
        let flat = options.flat || options.trace.is_some() || by_word;
        let driver = if flat {
            Driver::flat(config, &netlist, &top, options)?
        } else {
            Driver::split(config, &netlist, [&shell, &lane], lane_latency, options)?
        };
        let beat_words = config.beat_words() as usize;
        Ok(CycleEngine {
            driver,
            noise: options.noise,
            timeout: timeout(config, lane_latency, options.noise),
            packet: Vec::new(),
            open_ends: 0,
            out: Output { words: vec![0; BEATS * beat_words], last: vec![0; BEATS], cycle: vec![0; BEATS] },
            on_beat: None,
            on_progress: None,
            config: config.clone(),
        })
    }

    /// Clocks simulated so far, reset included.
    pub fn cycles(&self) -> u64 {
        self.driver.cycles()
    }

    /// Shows every beat that comes back to `hook`.
    pub fn on_beat(&mut self, hook: BeatHook) {
        self.on_beat = Some(hook);
    }

    /// Tells `hook` about every million clocks how far the simulation is.
    pub fn on_progress(&mut self, hook: ProgressHook) {
        self.on_progress = Some(hook);
    }

    /// [`Link::exchange`] with this crate's error.
    pub fn transfer(&mut self, input: &Stream, receive: &mut dyn FnMut(&[u32])) -> Result<(), SimError> {
        let result = self.send(input, receive);
        self.driver.pause();
        result
    }

    fn send(&mut self, input: &Stream, receive: &mut dyn FnMut(&[u32])) -> Result<(), SimError> {
        let mut words = Vec::with_capacity(BEATS * self.config.beat_words() as usize);
        let mut last = Vec::with_capacity(BEATS);
        let mut ends = false;
        for packet in input.packets() {
            // An END that goes on into a second beat is too long, and is not answered.
            ends = packet.first().is_some_and(|w| w >> 24 == protocol::END);
            self.open_ends += (ends && packet.len() <= self.config.beat_words() as usize) as u64;
            for (beat, is_last) in protocol::beats(packet, self.config.beat_words()) {
                words.extend_from_slice(beat);
                words.resize((last.len() + 1) * self.config.beat_words() as usize, 0);
                last.push(is_last as u8);
                if last.len() == BEATS {
                    self.beats(&words, &last, receive)?;
                    words.clear();
                    last.clear();
                }
            }
        }
        if !last.is_empty() {
            self.beats(&words, &last, receive)?;
        }
        if ends { self.drain(receive) } else { Ok(()) }
    }

    /// Clocks until all these beats were taken.
    fn beats(&mut self, words: &[u32], last: &[u8], receive: &mut dyn FnMut(&[u32])) -> Result<(), SimError> {
        let mut taken = 0;
        while taken < last.len() {
            let rest = (&words[taken * self.config.beat_words() as usize..], &last[taken..]);
            taken += self.step(rest, false, receive)?;
        }
        Ok(())
    }

    /// Clocks until every END was answered.
    fn drain(&mut self, receive: &mut dyn FnMut(&[u32])) -> Result<(), SimError> {
        while self.open_ends > 0 {
            self.step((&[], &[]), true, receive)?;
        }
        Ok(())
    }

    /// One call of the driver: how many input beats it took.
    fn step(
        &mut self,
        (words, last): (&[u32], &[u8]),
        stop_at_packet: bool,
        receive: &mut dyn FnMut(&[u32]),
    ) -> Result<usize, SimError> {
        let probability = |p: f64| (p.clamp(0.0, 0.999) * 4294967296.0) as u32;
        let mut exchange = Exchange {
            input: words.as_ptr(),
            in_last: last.as_ptr(),
            in_beats: last.len() as u64,
            in_taken: 0,
            out: self.out.words.as_mut_ptr(),
            out_last: self.out.last.as_mut_ptr(),
            out_cycle: self.out.cycle.as_mut_ptr(),
            out_room: BEATS as u64,
            out_taken: 0,
            cycle_limit: self.driver.cycles() + REPORT,
            timeout: self.timeout,
            stop_at_packet: stop_at_packet as u32,
            gap: probability(self.noise.gap),
            stall: probability(self.noise.stall),
        };
        let status = self.driver.run(&mut exchange);
        self.take(exchange.out_taken as usize, receive)?;
        self.judge(status)?;
        if let Some(hook) = &mut self.on_progress {
            hook(self.driver.cycles());
        }
        Ok(exchange.in_taken as usize)
    }

    /// Puts the beats that came back together to packets.
    fn take(&mut self, beats: usize, receive: &mut dyn FnMut(&[u32])) -> Result<(), SimError> {
        let width = self.config.beat_words() as usize;
        for k in 0..beats {
            let words = &self.out.words[k * width..][..width];
            let last = self.out.last[k] != 0;
            if let Some(hook) = &mut self.on_beat {
                hook(self.out.cycle[k], words, last);
            }
            self.packet.extend_from_slice(words);
            let header = self.packet[0];
            let length = protocol::reply_words(header, &self.config);
            let length = length.ok_or_else(|| wrong(format!("sent the unknown packet header {header:#010x}")))?;
            let whole = self.packet.len() >= length;
            if whole != last {
                let end = if last { "ended" } else { "did not end" };
                return Err(wrong(format!(
                    "{end} a packet {header:#010x} after {} words; it has {length}",
                    self.packet.len()
                )));
            }
            if last {
                if self.packet[length..].iter().any(|w| *w != 0) {
                    return Err(wrong(format!("did not fill up a packet {header:#010x} with zeros")));
                }
                if header >> 24 == protocol::END_REPLY {
                    self.open_ends = self
                        .open_ends
                        .checked_sub(1)
                        .ok_or_else(|| wrong("answered an END that was not sent".into()))?;
                }
                receive(&self.packet[..length]);
                self.packet.clear();
            }
        }
        Ok(())
    }

    fn judge(&self, status: Status) -> Result<(), SimError> {
        let at = self.driver.cycles();
        match status {
            Status::Return => Ok(()),
            Status::Hang => Err(wrong(format!(
                "makes no progress: nothing went in, came out or was computed for {} clocks up to clock {at}",
                self.timeout
            ))),
            Status::Dropped => Err(wrong(format!("dropped TVALID before TREADY at clock {at}"))),
            Status::Changed => Err(wrong(format!("changed TDATA or TLAST of a waiting beat at clock {at}"))),
            Status::Latency => Err(wrong(format!("finished a result at another clock than it declares, about {at}"))),
        }
    }
}

fn wrong(what: String) -> SimError {
    SimError::Misbehaved(format!("the simulated engine {what}"))
}

/// Clocks without any sign of life after which the engine counts as hung: far above any wait that the design
/// has (a pipeline that drains, a walk over empty segments, a noisy stream).
fn timeout(config: &Config, lane_latency: u32, noise: Noise) -> u64 {
    let quietest = (1.0 - noise.gap.max(noise.stall)).max(0.001);
    // A list of sources goes by unseen where the engine is one model.
    let design = (10_000 + 16 * (lane_latency as u64 + config.segments as u64)) * config.ii as u64;
    (design as f64 / quietest) as u64
}

impl Link for CycleEngine {
    fn config(&self) -> &Config {
        &self.config
    }

    fn exchange(&mut self, input: &Stream, receive: &mut dyn FnMut(&[u32])) -> Result<(), LinkError> {
        self.transfer(input, receive).map_err(|e| LinkError(e.to_string()))
    }
}
