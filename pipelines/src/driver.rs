//! The driver: turns a job into packets for an engine behind a [`Link`], and the replies into results.
//!
//! It does what the host loop of Ukawa & Narumi's Fig. 4 does, but sends each source about once: runs name cells
//! by segments of the j memory, cells stay [resident](residency) as long as they are of use, and only what is new
//! is sent, while the run before computes. Where the sources of a run do not fit together, the run is split and its
//! partial results are combined by the outputs' own reductions. A sum that leaves its format on the way is made
//! [again], since it may come back. Targets go to the lane group that is [ready](dispatch) first.

mod again;
mod dispatch;
pub mod residency;
mod sender;
mod together;

use crate::job::{Backend, BackendError, Job, Outcome, Table, one_by_one};
use fmm::arith::ranges::joined;
use hdl::Flags;
use hdl::engine::Config;
use hdl::engine::link::{Link, LinkError, Shared};
use hdl::engine::protocol::{Counters, Packing, Reply, Segment};
use hdl::number::reduce::Record;
use pg2::graph::Graph;
use residency::{Atom, Residency, atoms, cover};
use sender::Sender;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Words gathered before a stream is handed to the link.
const CHUNK_WORDS: usize = 1 << 20;

/// Opens a link to an engine built for a kernel and about so many pairs.
pub type OpenLink = Box<dyn Fn(&Graph, u64) -> Result<Box<dyn Link>, BackendError> + Send>;

/// Engines by their kernel's text form.
type Links = HashMap<String, Box<dyn Link>>;

/// A backend that speaks the wire format to engines, one for each kernel that it has met.
pub struct StreamBackend {
    name: &'static str,
    open: OpenLink,
    links: Links,
    /// Whether the engines' cycle counters mean anything.
    clocked: bool,
    is_device: bool,
}

impl StreamBackend {
    /// `name` is the backend's name on the command line; `clocked` says whether its engines have a clock.
    pub fn new(name: &'static str, open: OpenLink, clocked: bool) -> StreamBackend {
        StreamBackend { name, open, links: HashMap::new(), clocked, is_device: false }
    }

    /// The same of engines that leave the CPU free.
    pub fn on_device(self) -> StreamBackend {
        StreamBackend { is_device: true, ..self }
    }

    /// The link to a kernel's engine, opened when it is first asked for.
    fn link(&mut self, graph: &Graph, pairs: u64) -> Result<&mut dyn Link, BackendError> {
        Ok(&mut **match self.links.entry(graph.to_string()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert((self.open)(graph, pairs)?),
        })
    }
}

impl Backend for StreamBackend {
    fn name(&self) -> &str {
        self.name
    }

    fn is_device(&self) -> bool {
        self.is_device
    }

    fn prepare(&mut self, graph: &Graph, pairs: u64) -> Result<(), BackendError> {
        self.link(graph, pairs).map(|_| ())
    }

    fn lanes(&mut self, graph: &Graph, pairs: u64) -> Result<Option<u32>, BackendError> {
        self.link(graph, pairs).map(|link| Some(link.config().lanes()))
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> {
        let link = self.link(job.graph, job.pairs())?;
        let config = link.config().clone();
        let mut outcome = drive(job, &config, link, progress)?;
        outcome.cycles = outcome.cycles.filter(|_| self.clocked);
        Ok(outcome)
    }

    fn runs_together(&self, graphs: &[&Graph]) -> bool {
        let engines: Option<Vec<(Shared, usize)>> =
            graphs.iter().map(|graph| self.links.get(&graph.to_string())?.on_board()).collect();
        let numbers: HashSet<usize> = engines.iter().flatten().map(|e| e.1).collect();
        let boards: HashSet<*const ()> = engines.iter().flatten().map(|e| Arc::as_ptr(&e.0) as *const ()).collect();
        boards.len() == 1 && numbers.len() == graphs.len() && numbers.len() > 1
    }

    fn run_all(&mut self, jobs: &[Job], progress: &mut dyn FnMut(usize)) -> Result<Vec<Outcome>, BackendError> {
        let mut kernels: Vec<&Graph> = Vec::new();
        for job in jobs {
            self.link(job.graph, job.pairs())?;
            if !kernels.iter().any(|graph| graph.to_string() == job.graph.to_string()) {
                kernels.push(job.graph);
            }
        }
        if !self.runs_together(&kernels) {
            return one_by_one(jobs, &mut |job, done| self.run(job, done), progress);
        }
        let mut outcomes = together::together(jobs, &mut self.links, progress)?;
        outcomes.iter_mut().for_each(|outcome| outcome.cycles = outcome.cycles.filter(|_| self.clocked));
        Ok(outcomes)
    }
}

/// A failure of a link as one of the backend.
pub fn failed(e: LinkError) -> BackendError {
    BackendError::Tool(e.0)
}

/// A part of a run whose sources are in the j memory together: atoms `atoms` of run `run`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct RunPart {
    run: usize,
    atoms: Vec<usize>,
}

impl RunPart {
    /// Its atoms in the order in which they come up first; a run's list may name sources twice.
    fn distinct(&self) -> Vec<usize> {
        let mut seen = HashSet::new();
        self.atoms.iter().copied().filter(|a| seen.insert(*a)).collect()
    }
}

/// Sends a job through a link and collects its outcome.
fn drive(
    job: &Job,
    config: &Config,
    link: &mut dyn Link,
    progress: &mut dyn FnMut(usize),
) -> Result<Outcome, BackendError> {
    let mut feed = Feed::new(job, config, 0);
    while feed.step() {
        if feed.sender.words_waiting() >= CHUNK_WORDS {
            feed.sender.flush(link)?;
            progress(feed.sender.collector.finished_targets());
        }
    }
    feed.sender.end(true);
    feed.sender.flush(link)?;
    feed.finish(link)
}

/// A job on its way to an engine.
struct Feed<'a> {
    job: &'a Job<'a>,
    config: &'a Config,
    atoms: Vec<Atom>,
    /// The parts of the stream to be sent, and how much of each was.
    parts: Vec<RunPart>,
    now: usize,
    residency: Residency,
    sender: Sender<'a>,
}

impl<'a> Feed<'a> {
    /// Nothing sent yet, to an engine that is free from a clock on.
    fn new(job: &'a Job<'a>, config: &'a Config, free: u64) -> Feed<'a> {
        let slot = slot_size(job, config.jmem_records as usize);
        let capacity = config.jmem_records as usize / slot * slot;
        let ranges = job.segments.iter().map(|s| (s.first, s.count));
        let atoms = atoms(ranges, (capacity / 4).max(slot) / slot * slot);
        let parts = parts(job, &atoms, capacity / slot, slot);
        let mut uses = vec![Vec::new(); atoms.len()];
        for (now, part) in parts.iter().enumerate() {
            part.distinct().iter().for_each(|&a| uses[a].push(now as u32));
        }
        // No more memory than the sources need, whatever the engine says that it has.
        let needed = atoms.iter().map(|a| a.count.div_ceil(slot)).sum::<usize>().max(1) * slot;
        let residency = Residency::new(capacity.min(needed), slot, uses);
        Feed { job, config, atoms, parts, now: 0, residency, sender: Sender::new(job, config, free) }
    }

    /// Makes the packets of the next part; `false` if there is none.
    fn step(&mut self) -> bool {
        let Feed { job, atoms, parts, now, residency, sender, .. } = self;
        let Some(part) = parts.get(*now) else { return false };
        let wanted = part.distinct();
        // Nothing is left to do here where the part before could have these sources loaded beside its own.
        sender.load_now(residency.require(atoms, &wanted, &[], *now as u32));
        let segments = whole(part.atoms.iter().flat_map(|&a| residency.segments(&atoms[a], a)));
        if let Some(next) = parts.get(*now + 1).map(RunPart::distinct)
            && residency.fit(atoms, &wanted, &next)
        {
            sender.load_soon(residency.require(atoms, &next, &wanted, *now as u32 + 1));
        }
        sender.run(&job.runs[part.run], &segments);
        *now += 1;
        true
    }

    /// The outcome, when all has come back.
    fn finish(self, link: &mut dyn Link) -> Result<Outcome, BackendError> {
        let Feed { job, config, sender, .. } = self;
        let split = sender.collector.split_runs();
        let mut outcome = sender.finish()?;
        for run in job.runs.iter().filter(|r| split.contains(&r.first)) {
            let of_run = run.first..run.first + run.count;
            let targets: Vec<usize> = of_run.filter(|k| outcome.flags[*k].intersects(Flags::WRAP)).collect();
            if !targets.is_empty() {
                again::again(job, config, link, (run, &targets), &mut outcome)?;
            }
        }
        Ok(outcome)
    }
}

/// Records in one slot of the j memory: small against the usual segment, so that little memory is lost at its end.
fn slot_size(job: &Job, capacity: usize) -> usize {
    let used: Vec<usize> = job.segments.iter().map(|s| s.count).filter(|c| *c > 0).collect();
    let mean = used.iter().sum::<usize>() / used.len().max(1);
    (mean / 16).next_power_of_two().clamp(1, 64).min(capacity.max(1))
}

/// Cuts each run into parts whose atoms fit the memory together; where there are several, half of it, so that one
/// loads while another computes. A run without sources is one empty part.
fn parts(job: &Job, atoms: &[Atom], slots: usize, slot: usize) -> Vec<RunPart> {
    let mut list = Vec::new();
    let needed = |a: &usize| atoms[*a].count.div_ceil(slot);
    for (run, r) in job.runs.iter().enumerate() {
        let distinct: HashSet<usize> =
            job.segments[r.segments.clone()].iter().flat_map(|s| cover(atoms, s.first, s.count)).collect();
        let largest = distinct.iter().map(needed).max().unwrap_or(0);
        let whole = distinct.iter().map(needed).sum::<usize>() <= slots;
        let slots = if whole { slots } else { (slots / 2).max(largest) };
        let mut part = RunPart { run, atoms: Vec::new() };
        let mut taken = 0;
        let mut inside = HashSet::new();
        for s in &job.segments[r.segments.clone()] {
            for a in cover(atoms, s.first, s.count) {
                let needed = if inside.contains(&a) { 0 } else { atoms[a].count.div_ceil(slot) };
                if taken + needed > slots {
                    list.push(std::mem::replace(&mut part, RunPart { run, atoms: Vec::new() }));
                    inside.clear();
                    taken = 0;
                }
                inside.insert(a);
                part.atoms.push(a);
                taken += needed;
            }
        }
        list.push(part);
    }
    list
}

/// Joins segments that are neighbours in the memory.
fn whole(segments: impl Iterator<Item = Segment>) -> Vec<Segment> {
    joined(segments.collect(), |last, next| {
        let touch = last.first + last.count == next.first;
        last.count += if touch { next.count } else { 0 };
        touch
    })
}

/// The words of some records of a table. A kernel without pins of a class has records without elements, whatever
/// the table holds to count them.
fn packed(packing: &Packing, table: &Table, first: usize, count: usize) -> Vec<u32> {
    let mut words = Vec::with_capacity(count * packing.words());
    for k in first..first + count {
        packing.pack(if packing.elements() == 0 { &[] } else { table.record(k) }, &mut words);
    }
    words
}

/// A RUN whose results are on their way.
struct Expected {
    first: usize,
    count: usize,
    arrived: usize,
}

/// Gathers results, combining those of one target.
struct Collector<'a> {
    config: &'a Config,
    record: Record,
    results: Table,
    flags: Vec<Flags>,
    expected: Vec<Expected>,
    counters: Option<Counters>,
    result_words: u64,
    arrived: usize,
}

impl<'a> Collector<'a> {
    fn new(job: &Job, config: &'a Config) -> Collector<'a> {
        let record = Record::new(config.layout.outputs.iter().map(|o| (o.1, o.2)));
        let count = job.targets.len();
        Collector {
            config,
            results: Table { elements: record.elements(), bits: record.identities().repeat(count) },
            record,
            flags: vec![Flags::NONE; count],
            expected: Vec::new(),
            counters: None,
            result_words: 0,
            arrived: 0,
        }
    }

    /// Announces a RUN and gives its tag.
    fn expect(&mut self, first: usize, count: usize) -> u32 {
        self.expected.push(Expected { first, count, arrived: 0 });
        self.expected.len() as u32 - 1
    }

    /// First targets of the runs that went out in several pieces.
    fn split_runs(&self) -> HashSet<usize> {
        let (mut seen, mut split) = (HashSet::new(), HashSet::new());
        for e in self.expected.iter().filter(|e| e.count > 0) {
            if !seen.insert(e.first) {
                split.insert(e.first);
            }
        }
        split
    }

    /// Results received so far; a target whose list was split counts once for each piece.
    fn finished_targets(&self) -> usize {
        self.arrived
    }

    fn take(&mut self, packet: &[u32]) -> Result<(), String> {
        match Reply::parse(packet, self.config)? {
            Reply::Result { tag, flags, records, .. } => self.take_result(tag, &flags, &records),
            Reply::Status(counters) => {
                self.counters = Some(counters);
                Ok(())
            }
            // Whoever opened the session has asked for an identity.
            Reply::End | Reply::Ident(_) => Ok(()),
        }
    }

    fn take_result(&mut self, tag: u32, flags: &[Flags], records: &[u64]) -> Result<(), String> {
        let run = self.expected.get_mut(tag as usize).ok_or_else(|| format!("a result of unknown run {tag}"))?;
        if run.arrived + flags.len() > run.count {
            return Err(format!("run {tag} has more results than targets"));
        }
        let elements = self.record.elements();
        for (lane, raised) in flags.iter().enumerate() {
            let target = run.first + run.arrived + lane;
            self.flags[target] |= *raised;
            let sums = &mut self.results.bits[target * elements..(target + 1) * elements];
            self.flags[target] |= self.record.combine(sums, &records[lane * elements..(lane + 1) * elements]);
        }
        run.arrived += flags.len();
        self.arrived += flags.len();
        self.result_words += flags.len() as u64 * self.config.layout.result_words() as u64;
        Ok(())
    }
}
