//! An engine's text as others may have built it, clocked by the packets of a stream: nothing is known of it but the width of its
//! streams, and nothing of what it says is judged.

use super::driver::{Driver, Exchange, Status};
use super::{BEATS, CycleOptions};
use crate::SimError;
use hdl::engine::protocol::beats;
use hdl::engine::{Config, Layout};

/// A simulated engine between two queues of packets.
pub struct StreamEngine {
    driver: Driver,
    beat_words: usize,
    /// Beats that wait to go in: their words, and TLAST of each.
    words: Vec<u32>,
    last: Vec<u8>,
    /// Words of a packet of which more beats are to come.
    packet: Vec<u32>,
    out: Vec<u32>,
    out_last: Vec<u8>,
    out_cycle: Vec<u64>,
}

impl StreamEngine {
    /// Builds the module `top` of `verilog`, or finds it in the cache, and resets it.
    pub fn build(
        (verilog, top): (&str, &str),
        stream_bits: u32,
        options: &CycleOptions,
    ) -> Result<StreamEngine, SimError> {
        let config = Config { stream_bits, ..Config::usual(Layout::default(), 1) };
        let beat_words = config.beat_words() as usize;
        Ok(StreamEngine {
            driver: Driver::text(&config, (verilog, top), options)?,
            beat_words,
            words: Vec::new(),
            last: Vec::new(),
            packet: Vec::new(),
            out: vec![0; BEATS * beat_words],
            out_last: vec![0; BEATS],
            out_cycle: vec![0; BEATS],
        })
    }

    /// Clocks so far, the reset included.
    pub fn cycles(&self) -> u64 {
        self.driver.cycles()
    }

    /// A packet that goes in behind those that wait; its last beat is filled up with zeros.
    pub fn give(&mut self, packet: &[u32]) {
        for (beat, is_last) in beats(packet, self.beat_words as u32) {
            self.words.extend_from_slice(beat);
            self.last.push(is_last as u8);
            self.words.resize(self.last.len() * self.beat_words, 0);
        }
    }

    /// Whether beats wait to go in.
    pub fn waits(&self) -> bool {
        !self.last.is_empty()
    }

    /// Lets at most so many clocks pass, and hands on the packets that come out, with what fills their last beats. The result says
    /// whether a beat went in or came out.
    pub fn run(&mut self, clocks: u64, receive: &mut dyn FnMut(&[u32])) -> Result<bool, SimError> {
        let mut exchange = Exchange {
            input: self.words.as_ptr(),
            in_last: self.last.as_ptr(),
            in_beats: self.last.len() as u64,
            in_taken: 0,
            out: self.out.as_mut_ptr(),
            out_last: self.out_last.as_mut_ptr(),
            out_cycle: self.out_cycle.as_mut_ptr(),
            out_room: BEATS as u64,
            out_taken: 0,
            cycle_limit: self.driver.cycles() + clocks,
            // Whether it hangs is the host's to find out.
            timeout: u64::MAX,
            stop_at_packet: 0,
            gap: 0,
            stall: 0,
        };
        let status = self.driver.run(&mut exchange);
        let (taken, came) = (exchange.in_taken as usize, exchange.out_taken as usize);
        self.words.drain(..taken * self.beat_words);
        self.last.drain(..taken);
        for (beat, is_last) in self.out.chunks_exact(self.beat_words).zip(&self.out_last).take(came) {
            self.packet.extend_from_slice(beat);
            if *is_last != 0 {
                receive(&self.packet);
                self.packet.clear();
            }
        }
        match status {
            Status::Return => Ok(taken + came > 0),
            _ => Err(SimError::Misbehaved(format!(
                "the simulated engine broke the rules of its output stream about clock {}",
                self.driver.cycles()
            ))),
        }
    }
}
