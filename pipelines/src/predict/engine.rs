//! When an engine takes and gives beats: the sequencing of `docs/engine.md` in clocks, without lanes.
//!
//! Two costs are left out, since they do not show: the scan of the segment lists before a LOAD_J, and the capacity of the ring of
//! lists, which holds those of two runs.

use super::passing::{Counts, Filtered, Passing, Queues};
use hdl::engine::Config;
use hdl::engine::protocol::{
    END, END_REPLY, I, LOAD_J, PARAM, RESULT, RUN, RUN_HOLD, RUN_KEEP, STATUS, STATUS_REPLY, Segment,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::collections::VecDeque;
use std::sync::Arc;

/// Beats that the queue at the input holds.
const INPUT: usize = 16;
/// Clocks of the decoder between a packet's words: to judge it, to wait for what it needs, to close it.
const JUDGE: u64 = 2;
/// Clocks from a whole packet of targets until its first pair, with the list's walk in front of it.
const WALK: u64 = 6;
/// Clocks from the last pair's value until its packet can leave, beside the pipeline's latency.
const COLLECT: u64 = 7;
/// The clocks that the registers of a spread engine add to each of these; RUN, which waits longest for an answer, takes `HEAR` more.
const SPREAD_JUDGE: u64 = 1;
const SPREAD_WALK: u64 = 1;
const SPREAD_COLLECT: u64 = 8;
const HEAR: u64 = 2;
/// Clocks from one word to the next, of lanes that give their results word by word, beside the one that it takes to leave.
const WORD: u64 = 1;
const SPREAD_WORD: u64 = 2;

/// Targets in a bank of i registers.
struct Held {
    /// When they can begin, and their sources.
    from: u64,
    sources: u64,
    segments: Arc<Vec<Segment>>,
    n: u32,
    tag: u32,
    keep: bool,
    hold: bool,
    /// The pairs that pass filters, and when the last source wants to go then.
    counts: Counts,
    passes: Option<u64>,
}

/// A lane group.
struct Group {
    held: VecDeque<Held>,
    /// Behind filters, the queues of pairs; and whether the sums of the last targets are held.
    queues: Queues,
    holds: bool,
    /// When the last pair so far went, and when a bank became free.
    free: u64,
    /// Beats that the queue of results still has space for, and when the last one left it.
    room: u64,
    room_at: u64,
    /// Packets that can leave, and when.
    results: VecDeque<(u64, Vec<u32>)>,
}

/// The run that targets come for.
#[derive(Default)]
struct Run {
    tag: u32,
    group: usize,
    keep: bool,
    hold: bool,
    segments: Arc<Vec<Segment>>,
}

/// An engine's clocks.
pub struct Engine {
    config: Config,
    /// The test of pairs, of an engine with filters.
    passing: Option<Passing>,
    /// Beats with their time, before the decoder.
    input: VecDeque<(u64, Vec<u32>, bool)>,
    /// The packet at hand: its words so far, whether what it waits for is there, and whether it is whole.
    packet: Vec<u32>,
    granted: bool,
    whole: bool,
    /// When the decoder can go on.
    at: u64,
    run: Run,
    groups: Vec<Group>,
    /// Beats of results that each group has space for.
    room: u64,
    /// The beats to come of the packet that leaves, and the group it is of.
    leaving: Option<(VecDeque<Vec<u32>>, Option<usize>)>,
    /// The group that sent last.
    turn: usize,
    answers: VecDeque<(u64, Vec<u32>)>,
    /// The counters of STATUS, and when the first targets came.
    counted_from: Option<u64>,
    cycles: u64,
    busy: u64,
    pairs: u64,
    random: SplitMix64,
    now: u64,
}

impl Engine {
    /// An engine; the kernel of one with filters is given.
    pub fn new(config: &Config, filtered: &Filtered) -> Engine {
        let most = config.result_head_words() + config.lanes() * config.layout.result_words();
        let room = (2 * most.div_ceil(config.beat_words())).next_power_of_two().max(4) as u64;
        let group = || Group {
            held: VecDeque::new(),
            queues: Queues::default(),
            holds: false,
            free: 0,
            room,
            room_at: 0,
            results: VecDeque::new(),
        };
        Engine {
            input: VecDeque::new(),
            packet: Vec::new(),
            granted: false,
            whole: false,
            at: 0,
            run: Run::default(),
            groups: (0..config.groups).map(|_| group()).collect(),
            room,
            leaving: None,
            turn: 0,
            answers: VecDeque::new(),
            counted_from: None,
            cycles: 0,
            busy: 0,
            pairs: 0,
            random: SplitMix64::seed_from_u64(1),
            now: 0,
            passing: Passing::new(config, filtered),
            config: config.clone(),
        }
    }

    /// Clocks that only a spread engine takes.
    fn spread(&self, clocks: u64) -> u64 {
        if self.config.spread() { clocks } else { 0 }
    }

    /// Whether a beat can be taken.
    pub fn takes(&self) -> bool {
        self.input.len() < INPUT
    }

    /// A beat goes in.
    pub fn push(&mut self, clock: u64, words: Vec<u32>, last: bool) {
        self.input.push_back((clock, words, last));
        self.advance(clock);
    }

    /// Whether a beat can leave.
    pub fn offers(&self) -> bool {
        let due = |r: &VecDeque<(u64, Vec<u32>)>| r.front().is_some_and(|(at, _)| *at <= self.now);
        self.leaving.is_some() || due(&self.answers) || self.groups.iter().any(|g| due(&g.results))
    }

    /// The beat that leaves.
    pub fn pop(&mut self, clock: u64) -> Option<Vec<u32>> {
        if self.leaving.is_none() {
            self.leaving = self.next_packet();
        }
        let (beats, group) = self.leaving.as_mut()?;
        let (beat, group) = (beats.pop_front()?, *group);
        let ended = beats.is_empty();
        if let Some(k) = group {
            self.groups[k].room += 1;
            self.groups[k].room_at = clock;
        }
        if ended {
            self.leaving = None;
            if let (Some(_), Some(from)) = (group, self.counted_from) {
                self.cycles = clock.saturating_sub(from);
            }
        }
        Some(beat)
    }

    /// The packet that leaves next: groups send in turn.
    fn next_packet(&mut self) -> Option<(VecDeque<Vec<u32>>, Option<usize>)> {
        let (count, now) = (self.groups.len(), self.now);
        let due = |r: &VecDeque<(u64, Vec<u32>)>| r.front().is_some_and(|(at, _)| *at <= now);
        let next = (1..=count).map(|k| (self.turn + k) % count).find(|k| due(&self.groups[*k].results));
        let packet = match next {
            Some(k) => self.groups[k].results.pop_front()?.1,
            None if due(&self.answers) => self.answers.pop_front()?.1,
            None => return None,
        };
        self.turn = next.unwrap_or(self.turn);
        let beat_words = self.config.beat_words() as usize;
        let beat = |words: &[u32]| {
            let mut beat = words.to_vec();
            beat.resize(beat_words, 0);
            beat
        };
        Some((packet.chunks(beat_words).map(beat).collect(), next))
    }

    /// When something will happen by itself.
    pub fn next(&self) -> Option<u64> {
        let computing = |g: &Group| g.held.front().map(|h| self.ready(g, h));
        let leaving = |g: &Group| g.results.front().map(|(at, _)| *at);
        let groups = self.groups.iter().flat_map(|g| [computing(g), leaving(g)]).flatten();
        groups.chain(self.answers.front().map(|(at, _)| *at)).min()
    }

    /// When the last pair of the targets in front wants to go.
    fn ready(&self, group: &Group, held: &Held) -> u64 {
        if let Some(at) = held.passes {
            return at;
        }
        let ii = self.config.ii as u64;
        // Pairs go every so many clocks, counted from any fixed one.
        held.from.max(group.free).next_multiple_of(ii) + ii * held.sources.max(1)
    }

    /// Lets the sources of the targets in front pass the filters, once it is known when they can begin.
    fn pass(&mut self, k: usize) {
        let drain = self.drain();
        let Group { held, queues, free, holds, .. } = &mut self.groups[k];
        if let Some(front) = held.front_mut().filter(|front| self.passing.is_some() && front.passes.is_none()) {
            // Sums that are held and not kept are given up when no pair adds to them.
            let given_up = if *holds && !front.keep { queues.empty_from() + drain } else { 0 };
            front.passes = Some(queues.pass(front.from.max(*free).max(given_up), &front.counts));
        }
    }

    /// Clocks until nothing of a pair is under way.
    fn drain(&self) -> u64 {
        self.config.pipeline_latency as u64 + COLLECT
    }

    /// Lets clocks pass.
    pub fn advance(&mut self, clock: u64) {
        self.now = self.now.max(clock);
        loop {
            self.decode();
            let done: Vec<usize> = (0..self.groups.len()).filter(|k| self.finish(*k)).collect();
            if done.is_empty() {
                return;
            }
        }
    }

    /// The targets in front of a lane group are done, if that is so by now.
    fn finish(&mut self, k: usize) -> bool {
        self.pass(k);
        let group = &self.groups[k];
        let Some(front) = group.held.front() else { return false };
        let words = self.config.result_head_words() + front.n * self.config.layout.result_words();
        let beats = words.div_ceil(self.config.beat_words()) as u64;
        let ready = self.ready(group, front);
        // Lanes that give their results word by word keep one at a time.
        let by_word = self.config.slices().is_some() || self.passing.is_some();
        let has_room = if by_word { group.room == self.room } else { group.room >= beats };
        if ready > self.now || !(front.hold || has_room) {
            return false;
        }
        let mut latency = self.config.pipeline_latency as u64 + COLLECT + self.spread(SPREAD_COLLECT);
        if by_word {
            // A word is asked for when the one before has gone.
            latency += words as u64 * (WORD + self.spread(SPREAD_WORD));
        }
        let group = &mut self.groups[k];
        let Some(front) = group.held.pop_front() else { return false };
        // Who had to wait for space goes when the last beat that made it has left.
        group.free = if front.hold { ready } else { ready.max(group.room_at) };
        group.holds = front.hold;
        self.busy += match self.passing {
            Some(_) => front.counts.passed.iter().sum(),
            None => front.sources,
        };
        self.pairs += front.sources * front.n as u64;
        if !front.hold {
            group.room -= beats;
            let mut packet = vec![RESULT << 24 | front.n, front.tag];
            packet.resize(self.config.result_head_words() as usize, 0);
            let at = group.free.max(group.queues.empty_from()) + latency;
            for _ in packet.len()..words as usize {
                packet.push(self.random.random());
            }
            group.results.push_back((at, packet));
        }
        true
    }

    /// Takes packets off the input as far as they need not wait.
    fn decode(&mut self) {
        loop {
            if !self.packet.is_empty() && !self.granted && self.judged() {
                let Some(from) = self.gate() else { return };
                let more = match self.packet[0] >> 24 {
                    RUN => HEAR,
                    I | PARAM => SPREAD_JUDGE,
                    _ => 0,
                };
                self.at = self.at.max(from) + JUDGE + self.spread(more);
                self.granted = true;
            }
            if self.granted && self.whole {
                self.complete();
                self.packet.clear();
                (self.granted, self.whole) = (false, false);
            }
            let Some((came, words, last)) = self.input.pop_front() else { return };
            self.at = self.at.max(came) + 1;
            self.packet.extend(words);
            self.whole = last;
        }
    }

    /// Whether enough words are there to know what the packet waits for.
    fn judged(&self) -> bool {
        self.packet[0] >> 24 != LOAD_J || self.packet.len() >= 3 || self.whole
    }

    /// Since when the packet at hand need not wait, or nothing if it must.
    fn gate(&mut self) -> Option<u64> {
        let quiet = |g: &Group| g.held.is_empty();
        let free = |groups: &[Group]| groups.iter().map(|g| g.free).max();
        match self.packet[0] >> 24 {
            LOAD_J => {
                let (first, count) = (self.packet.get(1).copied()?, self.packet.get(2).copied()?);
                let end = first.saturating_add(count);
                let meets = |s: &Segment| s.first < end && first < s.first + s.count;
                let waits = |g: &Group| g.held.iter().any(|h| h.segments.iter().any(meets));
                if self.groups.iter().any(waits) { None } else { free(&self.groups) }
            }
            PARAM if self.groups.iter().all(quiet) => {
                let at = free(&self.groups)?.max(self.groups.iter().map(|g| g.queues.empty_from()).max()?);
                Some(if at == 0 { 0 } else { at + self.config.pipeline_latency as u64 })
            }
            I => {
                let group = &self.groups[self.run.group];
                let banks = self.config.i_banks as usize;
                if group.held.len() >= banks {
                    return None;
                }
                let from = if group.held.len() + 1 == banks { group.free } else { 0 };
                self.counted_from.get_or_insert(self.at);
                Some(from)
            }
            STATUS | END
                if self.leaving.is_none()
                    && self.answers.is_empty()
                    && self.groups.iter().all(|g| quiet(g) && g.results.is_empty()) =>
            {
                Some(0)
            }
            PARAM | STATUS | END => None,
            _ => Some(0),
        }
    }

    /// A whole packet acts.
    fn complete(&mut self) {
        let p = &self.packet;
        match p[0] >> 24 {
            RUN if p.len() >= 4 => {
                let count = (p[3] & 0xff_ffff) as usize;
                let pairs = p[4..].chunks_exact(2).take(count);
                let segments = pairs.map(|s| Segment { first: s[0], count: s[1] }).collect();
                let group = (p[3] >> 24) as usize % self.groups.len();
                let [keep, hold] = [RUN_KEEP, RUN_HOLD].map(|bit| p[0] & bit != 0);
                self.run = Run { tag: p[1], group, keep, hold, segments: Arc::new(segments) };
            }
            I => {
                let segments = self.run.segments.clone();
                let from = self.at + WALK + self.spread(SPREAD_WALK);
                let counts = self.passing.as_ref().map(|test| test.count(&p[1..], &segments)).unwrap_or_default();
                self.groups[self.run.group].held.push_back(Held {
                    from,
                    sources: segments.iter().map(|s| s.count as u64).sum(),
                    segments,
                    n: p[0] & 0xff_ffff,
                    tag: self.run.tag,
                    keep: self.run.keep,
                    hold: self.run.hold,
                    counts,
                    passes: None,
                });
            }
            PARAM => self.passing.iter_mut().for_each(|test| test.set(&p[1..])),
            LOAD_J if p.len() > 3 => self.passing.iter_mut().for_each(|test| test.load(p[1], &p[3..])),
            STATUS => {
                let counters = [self.cycles, self.busy, self.pairs];
                let words = counters.iter().flat_map(|c| [*c as u32, (c >> 32) as u32]);
                self.answers.push_back((self.at, std::iter::once(STATUS_REPLY << 24).chain(words).collect()));
                if p[0] & 1 == 1 {
                    (self.cycles, self.busy, self.pairs, self.counted_from) = (0, 0, 0, None);
                }
            }
            END => self.answers.push_back((self.at, vec![END_REPLY << 24])),
            _ => {}
        }
    }
}
