//! An engine without a clock: it takes the packets of the wire format and answers with the emulator's bits.
//!
//! Work is gathered until something in the stream depends on its being done (a LOAD_J over records that a
//! pending run reads, new parameters, accumulators that are kept), then done on all cores. Answers come in
//! stream order, so results do not depend on the number of threads. Packets that break the protocol are refused
//! as the hardware refuses them: the error bit is set, and the stream goes on.

use crate::emulator::{Emulator, Scratch, Sources, Sums};
use hdl::engine::Config;
use hdl::engine::link::{Link, LinkError};
use hdl::engine::protocol::{self as wire, Counters, Packing, Segment, Stream};
use pg2::graph::Graph;
use pg2::middle::filter::counted;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// Records in one mark of the map of what pending runs read.
const BLOCK: usize = 64;
/// Pairs that are worth a thread of their own.
const GRAIN_PAIRS: u64 = 1 << 16;

/// An emulated engine.
pub struct EmulatedEngine {
    config: Config,
    emulator: Emulator,
    i_packing: Packing,
    j_packing: Packing,
    param_packing: Packing,
    result_packing: Packing,
    sources: Sources,
    counters: Counters,
    /// The run described last, while it waits for targets.
    run: Option<Waiting>,
    /// The sums that the lanes hold between a run with `hold` and one with `keep`, group by group.
    lanes: Vec<Sums>,
    pending: Vec<Work>,
    pending_pairs: u64,
    /// Whether the last sum of each target is the number of its pairs that pass the filters, and goes into no result.
    counts: bool,
    /// Blocks of the j memory that pending work reads.
    read: Vec<bool>,
    pool: Option<rayon::ThreadPool>,
}

/// A run that waits for `left` more targets.
struct Waiting {
    left: u32,
    keep: bool,
    hold: bool,
    work: Work,
}

/// Targets of one run, group by group.
#[derive(Clone)]
struct Work {
    tag: u32,
    lane_group: usize,
    segments: Vec<Segment>,
    /// Patterns of the records, one behind the other.
    targets: Vec<u64>,
    /// Targets in each group.
    groups: Vec<u32>,
}

impl Work {
    fn sources(&self) -> u64 {
        self.segments.iter().map(|s| s.count as u64).sum()
    }

    fn count(&self) -> usize {
        self.groups.iter().map(|g| *g as usize).sum()
    }
}

impl EmulatedEngine {
    /// An engine for `graph`, whose layout must be the configuration's, on `threads` threads (0: one a core). With filters it is the graph
    /// as it was compiled, since a simplified one has no filter of which pairs could be counted.
    pub fn new(graph: &Graph, config: Config, threads: usize) -> EmulatedEngine {
        let counted =
            (config.filters > 0).then(|| counted(graph).expect("a kernel before which filters stand has one"));
        let emulator = Emulator::new(counted.as_ref().unwrap_or(graph));
        let records = config.jmem_records as usize;
        let layout = &config.layout;
        EmulatedEngine {
            i_packing: layout.i_packing(),
            j_packing: layout.j_packing(),
            param_packing: layout.param_packing(),
            result_packing: layout.result_packing(),
            sources: emulator.sources(records),
            counters: Counters::default(),
            run: None,
            lanes: vec![emulator.start(); config.all_lanes() as usize],
            pending: Vec::new(),
            pending_pairs: 0,
            counts: counted.is_some(),
            read: vec![false; records.div_ceil(BLOCK)],
            // Without a pool of its own the engine works in the global one; so it does if threads cannot be had.
            pool: (threads > 0).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()).flatten(),
            emulator,
            config,
        }
    }

    /// Sets the parameters. Those of a kernel with tables act as they come: of a packet of a wrong length what it holds.
    fn parameters(&mut self, body: &[u32], receive: &mut dyn FnMut(&[u32])) -> Option<()> {
        let mut params = Vec::new();
        let words = self.param_packing.words();
        if body.len() == words {
            self.param_packing.unpack(body, &mut params);
        } else if self.config.layout.tables.is_empty() {
            return None;
        } else {
            params.extend_from_slice(self.emulator.params());
            let registers = self.config.layout.params.len();
            let mut at = 0;
            for (k, format) in self.config.layout.param_formats().enumerate() {
                let end = at + format.words() as usize;
                let needed = if k < registers { self.config.layout.register_words() as usize } else { end };
                if needed <= body.len() {
                    let high = if format.words() == 2 { body[at + 1] as u64 } else { 0 };
                    params[k] = (high << 32 | body[at] as u64) & format.mask();
                }
                at = end;
            }
        }
        self.work(receive);
        self.emulator.set_params(&params);
        (body.len() == words).then_some(())
    }

    /// Does one packet; `None` means that it breaks the protocol.
    fn packet(&mut self, words: &[u32], receive: &mut dyn FnMut(&[u32])) -> Option<()> {
        let (opcode, argument, body) = (words.first()? >> 24, words[0] & 0xff_ffff, &words[1..]);
        if self.run.is_some() && matches!(opcode, wire::RUN | wire::END) {
            // The groups that came before are answered as ever.
            self.work(receive);
            self.run = None;
            self.counters.protocol_error = true;
        }
        match opcode {
            wire::LOAD_J => self.load(body, receive),
            wire::PARAM => self.parameters(body, receive),
            wire::RUN => self.describe(argument, body, receive),
            wire::I => self.group(argument, body, receive),
            wire::STATUS => {
                body.is_empty().then_some(())?;
                self.work(receive);
                let c = self.counters;
                let long = |x: u64| [x as u32, (x >> 32) as u32];
                let mut reply = vec![wire::STATUS_REPLY << 24 | c.protocol_error as u32];
                [c.cycles, c.busy, c.pairs].into_iter().for_each(|x| reply.extend(long(x)));
                receive(&reply);
                if argument & 1 == 1 {
                    self.counters = Counters::default();
                }
                Some(())
            }
            wire::END => {
                body.is_empty().then_some(())?;
                self.work(receive);
                receive(&[wire::END_REPLY << 24]);
                Some(())
            }
            wire::IDENT => {
                let hash = self.config.ident?;
                body.is_empty().then_some(())?;
                self.work(receive);
                receive(&wire::Ident::new(&self.config, hash).packet());
                Some(())
            }
            _ => None,
        }
    }

    fn load(&mut self, body: &[u32], receive: &mut dyn FnMut(&[u32])) -> Option<()> {
        let [first, count, records @ ..] = body else { return None };
        let (first, count) = (*first as usize, *count as usize);
        let end = first.checked_add(count).filter(|end| *end <= self.config.jmem_records as usize)?;
        // A packet that is cut short, or goes on too long, breaks the protocol, but its whole records are stored.
        let whole = records.len() == count * self.j_packing.words();
        let count = count.min(records.len() / self.j_packing.words());
        // Groups of a run that waits for more targets read what was there when they came.
        let meets = |s: &Segment| (s.first as usize) < end && first < (s.first + s.count) as usize;
        let waiting = self.run.as_ref().filter(|r| !r.work.groups.is_empty());
        let read_by_waiting = waiting.is_some_and(|r| r.work.segments.iter().any(meets));
        if read_by_waiting || self.read[first / BLOCK..end.div_ceil(BLOCK)].contains(&true) {
            self.work(receive);
        }
        let mut patterns = Vec::with_capacity(count * self.j_packing.elements());
        let records = records.chunks_exact(self.j_packing.words()).take(count);
        records.for_each(|r| self.j_packing.unpack(r, &mut patterns));
        self.emulator.load(&mut self.sources, first, &patterns);
        whole.then_some(())
    }

    fn describe(&mut self, argument: u32, body: &[u32], receive: &mut dyn FnMut(&[u32])) -> Option<()> {
        let [tag, left, group, list @ ..] = body else { return None };
        let (keep, hold) = (argument & wire::RUN_KEEP != 0, argument & wire::RUN_HOLD != 0);
        let count = group & 0xff_ffff;
        let fits = argument <= 3
            && group >> 24 < self.config.groups
            && count <= self.config.segments
            && list.len() == 2 * count as usize;
        let segments: Vec<Segment> = list.chunks_exact(2).map(|s| Segment { first: s[0], count: s[1] }).collect();
        let inside = |s: &Segment| s.first as u64 + s.count as u64 <= self.config.jmem_records as u64;
        let kept = !(keep || hold) || *left <= self.config.lanes();
        (fits && kept && segments.iter().all(inside)).then_some(())?;
        let lane_group = (group >> 24) as usize;
        let work = Work { tag: *tag, lane_group, segments, targets: Vec::new(), groups: Vec::new() };
        let waiting = Waiting { left: *left, keep, hold, work };
        if keep || hold {
            self.work(receive);
        }
        self.run = (waiting.left > 0).then_some(waiting);
        Some(())
    }

    fn group(&mut self, n: u32, body: &[u32], receive: &mut dyn FnMut(&[u32])) -> Option<()> {
        let due = self.run.as_ref()?.left.min(self.config.lanes());
        if n != due || body.len() != n as usize * self.i_packing.words() {
            return None;
        }
        let mut run = self.run.take()?;
        body.chunks_exact(self.i_packing.words()).for_each(|r| self.i_packing.unpack(r, &mut run.work.targets));
        run.work.groups.push(n);
        run.left -= n;
        let pairs = n as u64 * run.work.sources();
        self.counters.pairs += pairs;
        if !self.counts {
            self.counters.busy += run.work.sources();
        }
        if run.keep || run.hold {
            self.kept(run, receive);
        } else if run.left > 0 {
            self.run = Some(run);
        } else {
            self.pend(run.work);
            if self.pending_pairs >= GRAIN_PAIRS * 64 {
                self.work(receive);
            }
        }
        Some(())
    }

    /// A group whose accumulators come from, or go on into, another run: done at once.
    fn kept(&mut self, run: Waiting, receive: &mut dyn FnMut(&[u32])) {
        let n = run.work.count();
        let own = self.lanes_of(run.work.lane_group);
        if !run.keep {
            self.lanes[own.clone()].fill(self.emulator.start());
        }
        let mut scratch = self.emulator.scratch();
        let sums = &mut self.lanes[own.start..own.start + n];
        let before = if self.counts { passed(sums) } else { 0 };
        self.emulator.accumulate(&mut scratch, sums, &run.work.targets, &self.sources, &run.work.segments);
        if self.counts {
            self.counters.busy += passed(sums) - before;
        }
        if !run.hold {
            let mut reply = Vec::new();
            result(&self.config, &self.result_packing, run.work.tag, &self.lanes[own.start..own.start + n], &mut reply);
            receive(&reply);
        }
    }

    /// The lanes of a lane group.
    fn lanes_of(&self, lane_group: usize) -> Range<usize> {
        let lanes = self.config.lanes() as usize;
        lane_group * lanes..(lane_group + 1) * lanes
    }

    fn pend(&mut self, work: Work) {
        for s in work.segments.iter().filter(|s| s.count > 0) {
            let blocks = s.first as usize / BLOCK..((s.first + s.count) as usize).div_ceil(BLOCK);
            self.read[blocks].fill(true);
        }
        self.pending_pairs += work.count() as u64 * work.sources();
        self.pending.push(work);
    }

    /// Does all pending work, and answers in its order.
    fn work(&mut self, receive: &mut dyn FnMut(&[u32])) {
        // A run that waits for targets has its groups so far taken along: they were sent before what comes now.
        if let Some(run) = self.run.as_mut().filter(|r| !r.work.groups.is_empty()) {
            let rest = Work { targets: Vec::new(), groups: Vec::new(), ..run.work.clone() };
            let work = std::mem::replace(&mut run.work, rest);
            self.pend(work);
        }
        let pending = split(std::mem::take(&mut self.pending));
        self.pending_pairs = 0;
        self.read.fill(false);
        let this = &*self;
        let evaluate = || -> Vec<Evaluated> {
            pending.par_iter().map_init(|| this.emulator.scratch(), |scratch, w| this.evaluate(scratch, w)).collect()
        };
        let replies = match (&this.pool, pending.len()) {
            (_, 0) => return,
            (_, 1) => vec![this.evaluate(&mut this.emulator.scratch(), &pending[0])],
            (Some(pool), _) => pool.install(evaluate),
            (None, _) => evaluate(),
        };
        // The lanes of a lane group hold the sums of its last targets; those that these left empty hold the identities.
        let last: HashMap<usize, &Vec<Sums>> =
            pending.iter().zip(&replies).map(|(work, done)| (work.lane_group, &done.last)).collect();
        for (lane_group, sums) in last {
            let own = self.lanes_of(lane_group);
            self.lanes[own.start..own.start + sums.len()].clone_from_slice(sums);
            self.lanes[own.start + sums.len()..own.end].fill(self.emulator.start());
        }
        for (work, Evaluated { words, passed, .. }) in pending.iter().zip(replies) {
            self.counters.busy += passed;
            let mut at = 0;
            for n in &work.groups {
                let length = self.config.result_head_words() as usize + *n as usize * self.result_packing.words();
                receive(&words[at..at + length]);
                at += length;
            }
        }
    }

    fn evaluate(&self, scratch: &mut Scratch, work: &Work) -> Evaluated {
        let mut sums = vec![self.emulator.start(); work.count()];
        self.emulator.accumulate(scratch, &mut sums, &work.targets, &self.sources, &work.segments);
        let mut words = Vec::new();
        let mut first = 0;
        for n in &work.groups {
            let lanes = &sums[first..first + *n as usize];
            result(&self.config, &self.result_packing, work.tag, lanes, &mut words);
            first += *n as usize;
        }
        let last = sums.len() - work.groups.last().map_or(0, |n| *n as usize);
        let passed = if self.counts { passed(&sums) } else { 0 };
        Evaluated { words, passed, last: sums.split_off(last) }
    }
}

/// A piece of work that is done.
struct Evaluated {
    /// The RESULT packets, one behind the other.
    words: Vec<u32>,
    /// Pairs that passed the filters.
    passed: u64,
    /// The sums of the last group of targets.
    last: Vec<Sums>,
}

/// Pairs of targets that have passed the filters.
fn passed(sums: &[Sums]) -> u64 {
    sums.iter().filter_map(|s| s.outputs.last()).map(|count| count.finish().0).sum()
}

/// Cuts large pieces of work at group borders, so that all cores have something to do.
fn split(pending: Vec<Work>) -> Vec<Work> {
    let mut pieces = Vec::new();
    for work in pending {
        let sources = work.sources().max(1);
        let elements = work.targets.len() / work.count().max(1);
        let mut piece = Work { targets: Vec::new(), groups: Vec::new(), ..work.clone() };
        let (mut first, mut taken) = (0, 0u64);
        for n in &work.groups {
            piece.targets.extend_from_slice(&work.targets[first * elements..(first + *n as usize) * elements]);
            piece.groups.push(*n);
            first += *n as usize;
            taken += *n as u64;
            if taken * sources >= GRAIN_PAIRS {
                let empty = Work { targets: Vec::new(), groups: Vec::new(), ..work.clone() };
                pieces.push(std::mem::replace(&mut piece, empty));
                taken = 0;
            }
        }
        if !piece.groups.is_empty() {
            pieces.push(piece);
        }
    }
    pieces
}

/// Appends a RESULT packet.
fn result(config: &Config, packing: &Packing, tag: u32, lanes: &[Sums], words: &mut Vec<u32>) {
    let start = words.len();
    words.extend([wire::RESULT << 24 | lanes.len() as u32, tag]);
    words.resize(start + config.result_head_words() as usize, 0);
    for (lane, sums) in lanes.iter().enumerate() {
        let (patterns, flags) = sums.finish();
        words[start + 2 + lane / 4] |= (flags.0 as u32) << (8 * (lane % 4));
        packing.pack(&patterns[..packing.elements()], words);
    }
}

impl Link for EmulatedEngine {
    fn config(&self) -> &Config {
        &self.config
    }

    fn exchange(&mut self, input: &Stream, receive: &mut dyn FnMut(&[u32])) -> Result<(), LinkError> {
        for packet in input.packets() {
            if self.packet(packet, receive).is_none() {
                self.counters.protocol_error = true;
            }
        }
        self.work(receive);
        Ok(())
    }
}
