//! The choice of the lane group that takes the next targets: a model of the engine's clocks.
//!
//! All lane groups are fed by one stream of packets, which stands still while the group that a packet names has no
//! free bank of i registers. Targets therefore go out in the order in which banks become free. The engine takes a pair
//! each clock and group, or each several clocks, so the driver knows that order beforehand: a group is done when the sources of all that it
//! holds have gone by. While the stream waits for the first bank to become free, all other groups are at work by the
//! choice of it, and have more in their second bank; small errors of the model cost nothing.
//!
//! Sending runs longest first would level the end of a job further, by less than one group of targets, and cost
//! residency, which wants runs in the order of space.

use hdl::engine::Config;
use std::collections::VecDeque;

/// The state of the engine as the driver models it.
pub struct Dispatch {
    beat_words: u64,
    /// Clocks from one pair to the next.
    ii: u64,
    /// Banks of i registers in a lane.
    banks: usize,
    /// The clock at which the stream can take the next packet.
    now: u64,
    /// For each lane group the clocks at which it will be done with the targets it holds or held last, ascending.
    done: Vec<VecDeque<u64>>,
}

impl Dispatch {
    /// An engine that is free from a clock on.
    pub fn new(config: &Config, free: u64) -> Dispatch {
        let banks = config.i_banks as usize;
        let done = vec![VecDeque::from(vec![free; banks]); config.groups as usize];
        Dispatch { beat_words: config.beat_words() as u64, ii: config.ii as u64, banks, now: free, done }
    }

    /// The clock at which the packet that went last was taken.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The clock at which all groups are done.
    pub fn end(&self) -> u64 {
        self.done.iter().flatten().copied().fold(self.now, u64::max)
    }

    /// A packet of so many words goes over the stream.
    pub fn carry(&mut self, words: usize) {
        self.now += (words as u64).div_ceil(self.beat_words);
    }

    /// The lane group whose bank is free first; of several the one that has least to do.
    pub fn choose(&self) -> u8 {
        let key = |group: &VecDeque<u64>| (group[0].max(self.now), group[self.banks - 1]);
        let best = (0..self.done.len()).min_by_key(|k| key(&self.done[*k]));
        best.expect("an engine has a lane group") as u8
    }

    /// Packets of targets that a lane group takes as soon as its first bank is free: where it has run dry, one for each
    /// bank, so that the list of sources goes over the stream once for all of them.
    pub fn room(&self, group: u8) -> usize {
        let done = &self.done[group as usize];
        done.iter().filter(|d| **d <= done[0].max(self.now)).count()
    }

    /// An I packet of so many words goes to a lane group, for a run over `sources` sources.
    pub fn send(&mut self, group: u8, words: usize, sources: u64) {
        let done = &mut self.done[group as usize];
        let free = done.pop_front().expect("a group has a bank");
        self.now = self.now.max(free) + (words as u64).div_ceil(self.beat_words);
        let start = done.back().copied().unwrap_or(free).max(self.now);
        done.push_back(start + self.ii * sources.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdl::engine::Layout;

    fn dispatch(groups: u32, i_banks: u32) -> Dispatch {
        let config = Config {
            layout: Layout::default(),
            pipelines: groups,
            groups,
            i_banks,
            jmem_records: 1,
            stream_bits: 32,
            segments: 1,
            pipeline_latency: 1,
            ii: 1,
            ident: None,
            filters: 0,
        };
        Dispatch::new(&config, 0)
    }

    /// The groups that take targets of these numbers of sources.
    fn order(mut dispatch: Dispatch, sources: &[u64]) -> Vec<u8> {
        let one = |s: &u64| {
            let group = dispatch.choose();
            dispatch.send(group, 1, *s);
            group
        };
        sources.iter().map(one).collect()
    }

    #[test]
    fn equal_targets_go_round() {
        assert_eq!(order(dispatch(3, 2), &[100; 9]), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(order(dispatch(3, 1), &[100; 6]), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn the_group_that_is_done_first_is_next() {
        // Group 0 is busy for long; the others share the rest.
        assert_eq!(order(dispatch(3, 2), &[1000, 100, 100, 100, 100, 100, 100]), [0, 1, 2, 1, 2, 0, 1]);
    }

    #[test]
    fn a_group_that_has_run_dry_takes_targets_for_all_its_banks() {
        let mut d = dispatch(2, 2);
        assert_eq!((d.choose(), d.room(0)), (0, 2));
        d.send(0, 1, 100);
        assert_eq!((d.room(0), d.choose(), d.room(1)), (1, 1, 2));
        d.send(0, 1, 100);
        d.send(1, 1, 10);
        d.send(1, 1, 10);
        assert_eq!((d.choose(), d.room(1)), (1, 1));
        d.carry(50);
        assert_eq!((d.choose(), d.room(1)), (1, 2));
    }

    #[test]
    fn one_group_takes_all() {
        assert_eq!(order(dispatch(1, 2), &[5, 0, 7]), [0, 0, 0]);
    }
}
