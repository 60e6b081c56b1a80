//! Packets of a job: what is loaded when, which lane group takes which targets, and what was asked.

use super::dispatch::Dispatch;
use super::failed;
use super::residency::Load;
use super::{Collector, packed};
use crate::job::{BackendError, Filtered, Job, Outcome, Run, Words};
use hdl::engine::Config;
use hdl::engine::link::Link;
use hdl::engine::protocol::{Packing, RunHeader, Segment, Stream};
use pg2::middle::coarse::completed;
use std::collections::VecDeque;

/// Builds packets and remembers what was asked.
pub struct Sender<'a> {
    job: &'a Job<'a>,
    config: &'a Config,
    i_packing: Packing,
    j_packing: Packing,
    pub stream: Stream,
    /// For each packet of the stream the clock at which the engine takes it, as far as the driver knows.
    pub times: Vec<u64>,
    words: Words,
    dispatch: Dispatch,
    /// The loads that are still to be sent for the run behind the one at hand.
    soon: VecDeque<Load>,
    pub collector: Collector<'a>,
}

impl<'a> Sender<'a> {
    /// A sender whose stream begins with the job's parameters, to an engine that is free from a clock on.
    pub fn new(job: &'a Job<'a>, config: &'a Config, free: u64) -> Sender<'a> {
        let mut stream = Stream::default();
        if config.layout.param_words() > 0 {
            let params = match config.filters {
                0 => job.params.to_vec(),
                _ => completed(job.graph, job.params),
            };
            stream.param(&config.layout.param_packing().pack_all(1, &params));
        }
        Sender {
            job,
            config,
            i_packing: config.layout.i_packing(),
            j_packing: config.layout.j_packing(),
            times: vec![free; stream.ends.len()],
            stream,
            words: Words::default(),
            dispatch: Dispatch::new(config, free),
            soon: VecDeque::new(),
            collector: Collector::new(job, config),
        }
    }

    /// Words that were not handed to the link yet.
    pub fn words_waiting(&self) -> usize {
        self.stream.words.len()
    }

    /// The packets so far that have no time yet have this one.
    fn stamp(&mut self) {
        self.times.resize(self.stream.ends.len(), self.dispatch.now());
    }

    /// The clock at which the engine is done with all that was sent.
    pub fn free(&self) -> u64 {
        self.dispatch.end()
    }

    /// Loads what the run at hand reads.
    pub fn load_now(&mut self, loads: Vec<Load>) {
        loads.into_iter().for_each(|load| self.load(load));
    }

    /// Loads, between the targets of the run that comes now, what the run behind it reads.
    pub fn load_soon(&mut self, loads: Vec<Load>) {
        self.soon.extend(loads);
    }

    fn load(&mut self, load: Load) {
        let words = packed(&self.j_packing, self.job.sources, load.source, load.count);
        self.words.j += words.len() as u64;
        self.dispatch.carry(words.len());
        self.stream.load_j(load.address, load.count as u32, &words);
        self.stamp();
    }

    /// Loads up to `records` records of what is needed soon.
    fn load_some(&mut self, mut records: usize) {
        while let Some(load) = self.soon.pop_front() {
            let count = load.count.min(records);
            if count < load.count {
                let (address, source) = (load.address + count as u32, load.source + count);
                self.soon.push_front(Load { address, source, count: load.count - count });
            }
            if count == 0 {
                return;
            }
            self.load(Load { count, ..load });
            records -= count;
        }
    }

    /// One RUN for each piece of the segment list that fits the engine's list memory; the host adds the pieces up.
    pub fn run(&mut self, run: &Run, segments: &[Segment]) {
        let mut pieces: Vec<&[Segment]> = segments.chunks(self.config.segments as usize).collect();
        if pieces.is_empty() {
            pieces.push(&[]);
        }
        // What the run before read may be replaced by what comes soon: its targets leave the banks first.
        let packets = run.count.div_ceil(self.config.lanes() as usize) * pieces.len();
        let held = (self.config.groups * self.config.i_banks) as usize;
        let quiet = held.min(packets.saturating_sub(1));
        let records: usize = self.soon.iter().map(|l| l.count).sum();
        let share = records.div_ceil((packets - quiet).max(1));
        let mut sent = 0;
        for piece in pieces {
            self.piece(run, piece, &mut |sender| {
                sent += 1;
                if sent > quiet {
                    sender.load_some(share);
                }
            });
        }
        self.load_some(usize::MAX);
    }

    /// All targets of a run over a piece of its list; `sent` is called behind each I packet. A single lane group has the
    /// list once for all of them; of several each has it for as many as it can take at once.
    fn piece(&mut self, run: &Run, segments: &[Segment], sent: &mut dyn FnMut(&mut Self)) {
        let lanes = self.config.lanes() as usize;
        let sources = segments.iter().map(|s| s.count as u64).sum();
        let end = run.first + run.count;
        let mut first = run.first;
        loop {
            let group = self.dispatch.choose();
            let share = if self.config.groups == 1 { run.count } else { self.dispatch.room(group) * lanes };
            let count = share.min(end - first);
            let tag = self.collector.expect(first, count);
            self.stream.run(RunHeader { tag, n_i: count as u32, group, ..RunHeader::default() }, segments);
            self.dispatch.carry(4 + segments.len() * self.config.beat_words().max(2) as usize);
            self.stamp();
            for first in (first..first + count).step_by(lanes) {
                let n = lanes.min(end - first);
                let words = packed(&self.i_packing, self.job.targets, first, n);
                self.words.i += words.len() as u64;
                self.dispatch.send(group, 1 + words.len(), sources);
                self.stream.i(n as u32, &words);
                self.stamp();
                sent(self);
            }
            first += count;
            if first == end {
                return;
            }
        }
    }

    /// Asks for the counters and, where nothing else is to come, for an answer when all is done.
    pub fn end(&mut self, is_last: bool) {
        self.stream.status(true);
        if is_last {
            self.stream.end();
        }
        self.times.resize(self.stream.ends.len(), self.free());
    }

    pub fn flush(&mut self, link: &mut dyn Link) -> Result<(), BackendError> {
        let mut wrong = None;
        let collector = &mut self.collector;
        link.exchange(&self.stream, &mut |packet| {
            if let Err(e) = collector.take(packet) {
                wrong.get_or_insert(e);
            }
        })
        .map_err(failed)?;
        self.stream.clear();
        self.times.clear();
        wrong.map_or(Ok(()), |e| Err(BackendError::Tool(format!("the engine's answer is wrong: {e}"))))
    }

    pub fn finish(self) -> Result<Outcome, BackendError> {
        let Some(counters) = self.collector.counters else {
            return Err(BackendError::Tool("the engine did not report its counters".into()));
        };
        if counters.protocol_error {
            return Err(BackendError::Tool("the engine reports a protocol error".into()));
        }
        if let Some(k) = self.collector.expected.iter().position(|e| e.arrived != e.count) {
            return Err(BackendError::Tool(format!("results of run {k} are missing")));
        }
        let filters = self.config.filters;
        let mut words = self.words;
        words.result = self.collector.result_words;
        Ok(Outcome {
            results: self.collector.results,
            flags: self.collector.flags,
            cycles: Some(counters.cycles),
            pairs: counters.pairs,
            lanes: self.config.all_lanes(),
            filtered: (filters > 0).then_some(Filtered { filters, passed: counters.busy }),
            ii: self.config.ii,
            words,
        })
    }
}
