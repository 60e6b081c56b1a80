//! Kernels on simulated engines, and what the emulator says of them.

use hdl::Flags;
use hdl::circuit::target::Clock;
use hdl::engine::Config;
use hdl::engine::protocol::{Counters, Reply, RunHeader, Segment, Stream};
use hdl::rtl::netlist::Netlist;
use pg2::backend::build::build_folded;
use pg2::backend::lower::lower;
use pg2::graph::{Graph, PinClass};
use pg2::middle::coarse::{completed, is_coarse};
use pg2::middle::schedule::schedule;
use pg2::middle::simplify::simplify;
use rayon::prelude::*;
use sim::SimError;
use sim::cycle::{CycleEngine, CycleOptions};
use sim::stimuli::{self, Random, Style};
use sim::verilator::Effort;

/// The simulation, or `None` where Verilator is not found and not required.
pub fn built<T>(result: Result<T, SimError>) -> Option<T> {
    match result {
        Err(SimError::ToolMissing { tool, .. }) => {
            testkit::missing(&tool);
            None
        }
        other => Some(other.unwrap_or_else(|e| panic!("{e}"))),
    }
}

/// A compiled kernel: the graph as written, and the pipeline of its simplified form.
pub struct Kernel {
    pub graph: Graph,
    pub pipeline: Netlist,
    pub latency: u32,
    /// Clocks from one pair to the next.
    pub ii: u32,
}

impl Kernel {
    pub fn new(name: &str, text: &str) -> Kernel {
        let compiled = pg2::compile(name, text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let simple = simplify(&compiled.graph);
        let schedule = schedule(&simple, Clock::default_clock());
        let pipeline = lower(&simple, &schedule, Clock::default_clock(), text);
        Kernel { graph: compiled.graph, pipeline, latency: schedule.depth, ii: 1 }
    }

    /// The kernel as a pipeline that takes a pair every `ii` clocks.
    pub fn folded(name: &str, text: &str, clock: Clock, ii: u32) -> Kernel {
        let graph = pg2::compile(name, text).unwrap_or_else(|e| panic!("{name}: {e:?}")).graph;
        let built = build_folded(&graph, (clock, ii), text, Vec::new());
        Kernel { graph, latency: built.schedule.depth, pipeline: built.netlist, ii }
    }

    pub fn config(&self, pipelines: u32) -> Config {
        Config {
            layout: self.graph.layout(),
            pipelines,
            groups: 1,
            i_banks: 2,
            jmem_records: 1 << 14,
            stream_bits: 32,
            segments: 64,
            pipeline_latency: self.latency,
            ii: self.ii,
            ident: None,
            filters: 0,
        }
    }
}

/// Whether a shipped kernel is one of the FMM's.
pub fn of_fmm(name: &str) -> bool {
    name.starts_with("p2p") || name.starts_with("m2l")
}

/// How a usual run simulates a shipped kernel that is not one of the FMM's. `make proofs` has each kernel in each way.
#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    Engine,
    Pipeline,
    Folded,
}

impl Way {
    /// The kernels that are simulated in this way.
    pub fn kernels(self) -> impl Iterator<Item = &'static pg2::kernels::Kernel> {
        let others = pg2::kernels::KERNELS.iter().filter(|k| !of_fmm(k.name)).enumerate();
        let ways = [Way::Engine, Way::Folded, Way::Pipeline];
        others.filter(move |(k, _)| ways[k % ways.len()] == self).map(|(_, kernel)| kernel)
    }
}

/// Records of a kernel as patterns, and the runs over them.
#[derive(Clone)]
pub struct Work {
    pub i: Vec<Vec<u64>>,
    pub j: Vec<Vec<u64>>,
    pub params: Vec<u64>,
    pub runs: Vec<Run>,
}

/// Targets `i.0 .. i.0 + i.1` over segments of `j`.
#[derive(Clone)]
pub struct Run {
    pub i: (usize, usize),
    pub segments: Vec<Segment>,
}

impl Work {
    /// `pairs` random pairs or a few more, in runs of different shapes, an empty one and an idle one among them.
    pub fn random(graph: &Graph, pairs: usize, seed: u64, style: Style) -> Work {
        let mut random = Random::new(seed);
        let i = stimuli::records(graph, PinClass::Ipin, 60, style, &mut random);
        let j = stimuli::records(graph, PinClass::Jpin, 1000, style, &mut random);
        let params = stimuli::records(graph, PinClass::Param, 1, style, &mut random).swap_remove(0);
        let params = if is_coarse(graph) { completed(graph, &params) } else { params };
        let mut runs = vec![Run { i: (0, 3), segments: vec![] }, Run { i: (5, 0), segments: vec![whole(&j)] }];
        // Few pairs are several runs too.
        let most = (pairs as u64 / 16).clamp(20, 400);
        let mut done = 0;
        while done < pairs {
            let n_i = 1 + random.below(29) as usize;
            let first = random.below((i.len() - n_i) as u64 + 1) as usize;
            let mut segment = || {
                let longest = if random.below(4) == 0 { most } else { 20 };
                let count = random.below(longest) as u32;
                Segment { first: random.below((j.len() - count as usize) as u64 + 1) as u32, count }
            };
            let segments: Vec<Segment> = (0..1 + runs.len() % 7).map(|_| segment()).collect();
            done += n_i * segments.iter().map(|s| s.count as usize).sum::<usize>();
            runs.push(Run { i: (first, n_i), segments });
        }
        Work { i, j, params, runs }
    }

    /// All corner records of i and all of j, each against some of the other, about `pairs` pairs in all.
    pub fn corners(graph: &Graph, pairs: usize) -> Work {
        let list = |class| -> Vec<Vec<u64>> {
            let records = stimuli::corner_records(graph, class);
            if records.is_empty() { vec![vec![]] } else { records }
        };
        let (i, j) = (list(PinClass::Ipin), list(PinClass::Jpin));
        let mut random = Random::new(7);
        let params = stimuli::records(graph, PinClass::Param, 1, Style::Ordinary, &mut random).swap_remove(0);
        // Each group of targets gets a window of the sources; the windows follow each other around. Of few pairs the groups are small,
        // since all of them together meet each source.
        let most = (pairs / j.len()).clamp(3, GROUP);
        let groups = i.len().div_ceil(most);
        let window = (pairs / i.len()).max(j.len().div_ceil(groups)).min(j.len());
        let run = |k: usize| {
            let first = k * window % j.len();
            let before_end = window.min(j.len() - first);
            let segments = [(first, before_end), (0, window - before_end)];
            let segments = segments.map(|(first, count)| Segment { first: first as u32, count: count as u32 }).into();
            Run { i: (k * most, most.min(i.len() - k * most)), segments }
        };
        let runs = (0..groups).map(run).collect();
        Work { i, j, params, runs }
    }

    /// The packets for an engine; run k has tag k, and the lane groups take turns.
    pub fn stream(&self, config: &Config) -> Stream {
        let mut stream = Stream::default();
        let layout = &config.layout;
        stream.load_j(0, self.j.len() as u32, &packed(&layout.j_packing(), &self.j));
        if layout.param_words() > 0 {
            stream.param(&packed(&layout.param_packing(), std::slice::from_ref(&self.params)));
        }
        for (tag, run) in self.runs.iter().enumerate() {
            let n_i = run.i.1 as u32;
            let group = (tag as u32 % config.groups) as u8;
            stream.run(RunHeader { tag: tag as u32, n_i, group, ..RunHeader::default() }, &run.segments);
            let records = packed(&layout.i_packing(), &self.i[run.i.0..][..run.i.1]);
            stream.i_groups(config.lanes(), n_i, &records);
        }
        stream.status(true);
        stream.end();
        stream
    }

    /// The sources of a run, in order.
    pub fn sources(&self, run: &Run) -> Vec<Vec<u64>> {
        let of = |s: &Segment| self.j[s.first as usize..][..s.count as usize].to_vec();
        run.segments.iter().flat_map(of).collect()
    }

    /// Pairs in all runs.
    pub fn pairs(&self) -> u64 {
        let sources = |run: &Run| run.segments.iter().map(|s| s.count as u64).sum::<u64>();
        self.runs.iter().map(|r| r.i.1 as u64 * sources(r)).sum()
    }

    /// The emulator's results: for each run those of its targets.
    pub fn expected(&self, graph: &Graph) -> Vec<Vec<(Vec<u64>, Flags)>> {
        let run = |run: &Run| {
            let sources = self.sources(run);
            let targets = self.i[run.i.0..][..run.i.1].par_iter();
            targets.map(|i| sim::reference::target(graph, i, &sources, &self.params)).collect()
        };
        self.runs.par_iter().map(run).collect()
    }
}

/// Targets of a run over corners, at most.
const GROUP: usize = 11;

fn whole(j: &[Vec<u64>]) -> Segment {
    Segment { first: 0, count: j.len() as u32 }
}

fn packed(packing: &hdl::engine::protocol::Packing, records: &[Vec<u64>]) -> Vec<u32> {
    let mut words = Vec::new();
    records.iter().for_each(|r| packing.pack(r, &mut words));
    words
}

/// A beat that came back: its clock, words and TLAST.
pub type Beat = (u64, Vec<u32>, bool);

/// The output of an engine for some work.
pub struct Outcome {
    /// Results by run.
    pub results: Vec<Vec<(Vec<u64>, Flags)>>,
    pub counters: Counters,
    pub beats: Vec<Beat>,
}

/// Runs the work on the engine and puts the results in order.
pub fn simulate(engine: &mut CycleEngine, work: &Work) -> Outcome {
    use hdl::engine::link::Link;
    use std::sync::{Arc, Mutex};
    let config = engine.config().clone();
    let beats = Arc::new(Mutex::new(Vec::new()));
    let log = beats.clone();
    engine.on_beat(Box::new(move |cycle, words, last| log.lock().unwrap().push((cycle, words.to_vec(), last))));
    let mut results = vec![Vec::new(); work.runs.len()];
    let mut counters = None;
    let mut receive = |words: &[u32]| match Reply::parse(words, &config).expect("a known reply") {
        Reply::Result { tag, n, flags, records } => {
            let outputs = config.layout.outputs.len();
            for k in 0..n as usize {
                results[tag as usize].push((records[k * outputs..][..outputs].to_vec(), flags[k]));
            }
        }
        Reply::Status(c) => counters = Some(c),
        Reply::End | Reply::Ident(_) => {}
    };
    engine.transfer(&work.stream(&config), &mut receive).unwrap_or_else(|e| panic!("{e}"));
    let beats = std::mem::take(&mut *beats.lock().unwrap());
    Outcome { results, counters: counters.expect("a status"), beats }
}

/// Checks results, pairs and errors of an outcome.
pub fn check(work: &Work, outcome: &Outcome, expected: &[Vec<(Vec<u64>, Flags)>], what: &str) {
    assert!(!outcome.counters.protocol_error, "{what}: protocol error");
    assert_eq!(outcome.counters.pairs, work.pairs(), "{what}: pairs");
    for (k, (got, wanted)) in outcome.results.iter().zip(expected).enumerate() {
        assert_eq!(got.len(), wanted.len(), "{what}: targets of run {k}");
        for (n, (g, w)) in got.iter().zip(wanted).enumerate() {
            assert!(g == w, "{what}: run {k}, target {n}: {:x?} {:?}, not {:x?} {:?}", g.0, g.1, w.0, w.1);
        }
    }
}

/// An engine of the kernel, for runs that are shorter than building it for speed would be.
pub fn engine(kernel: &Kernel, config: &Config, options: &CycleOptions) -> Option<CycleEngine> {
    let options = CycleOptions { effort: Effort::Least, ..options.clone() };
    built(CycleEngine::build(config, &kernel.pipeline, &options))
}
