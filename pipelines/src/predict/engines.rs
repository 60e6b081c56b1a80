//! All engines of a board: one by itself, or several behind the switch with its queues.

use super::engine::Engine;
use super::passing::Filtered;
use hdl::engine::Config;
use hdl::engine::switch::{QUEUE, Switch, To};
use std::collections::VecDeque;

/// The engines' clocks.
pub struct Engines {
    engines: Vec<Engine>,
    /// Where there are several.
    switch: Option<Switch>,
    /// Beats in front of each engine, with their time.
    queues: Vec<VecDeque<(u64, Vec<u32>, bool)>>,
}

impl Engines {
    /// Engines of these configurations; the kernel of one with filters is given.
    pub fn new(configs: &[Config], filtered: &Filtered) -> Engines {
        Engines {
            engines: configs.iter().map(|config| Engine::new(config, filtered)).collect(),
            switch: (configs.len() > 1).then(|| Switch::new(configs.to_vec())),
            queues: vec![VecDeque::new(); configs.len()],
        }
    }

    /// Whether a beat can be taken.
    pub fn takes(&self) -> bool {
        match self.switch.as_ref().map(Switch::way) {
            None => self.engines[0].takes(),
            Some(To::Engine(k)) => self.queues[k].len() < QUEUE as usize,
            Some(To::Dropped) => true,
        }
    }

    /// A beat goes in.
    pub fn push(&mut self, clock: u64, words: Vec<u32>, last: bool) {
        match self.switch.as_mut().map(|switch| switch.pass(&words, last)) {
            None => self.engines[0].push(clock, words, last),
            Some(To::Engine(k)) => {
                self.queues[k].push_back((clock, words, last));
                self.feed(k);
            }
            Some(To::Dropped) => {}
        }
    }

    /// Beats leave a queue as far as its engine takes them.
    fn feed(&mut self, k: usize) {
        while self.engines[k].takes()
            && let Some((came, words, last)) = self.queues[k].pop_front()
        {
            self.engines[k].push(came, words, last);
        }
    }

    /// Whether a beat can leave.
    pub fn offers(&self) -> bool {
        match &self.switch {
            None => self.engines[0].offers(),
            Some(switch) => switch.offers(|k| self.engines[k].offers()),
        }
    }

    /// The beat that leaves.
    pub fn pop(&mut self, clock: u64) -> Option<Vec<u32>> {
        let engines = &mut self.engines;
        match &mut self.switch {
            None => engines[0].pop(clock),
            Some(switch) => switch.take(|k| if engines[k].offers() { engines[k].pop(clock) } else { None }),
        }
    }

    /// When something will happen by itself.
    pub fn next(&self) -> Option<u64> {
        self.engines.iter().filter_map(Engine::next).min()
    }

    /// Lets clocks pass.
    pub fn advance(&mut self, clock: u64) {
        for k in 0..self.engines.len() {
            self.engines[k].advance(clock);
            self.feed(k);
        }
    }
}
