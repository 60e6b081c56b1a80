//! Where the time of a kernel goes, as Haney et al. predict it (ARL-TR-7315, section 3): the operations and bytes of its
//! graph over the rates of a GPU or of pipelines, and of the link to them.
//!
//! Every time is the least that the rates allow. Measured ones are longer: a GPU also reads tiles and ends its blocks, and a
//! line has frames.

use hdl::board::BOARDS;
use hdl::engine::Layout;
use pg2::backend::cuda::count::{self, Operations};
use pg2::backend::cuda::p2p::{Names, Real};
use pg2::graph::{Graph, PinClass};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The numbers of particles in the table of Haney et al.
pub const HANEY: [u64; 5] = [4_913, 9_261, 13_824, 24_389, 97_336];

/// The data of a GPU that a prediction needs. A user's file has the same fields.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuModel {
    pub name: Cow<'static, str>,
    pub multiprocessors: f64,
    pub mhz: f64,
    /// Instructions of single threads that a multiprocessor issues in a clock, and results of its units in a clock.
    pub issue: f64,
    pub f32: f64,
    pub f64: f64,
    pub integer: f64,
    /// Functions and conversions.
    pub special: f64,
    /// Reads of tables.
    pub loads: f64,
    /// Bytes a second of its memory, and of the link to the host in one direction.
    pub memory: f64,
    pub link: f64,
}

/// GPUs of compute capability 9.0: the units are those of the CUDA C++ Programming Guide's table of arithmetic throughput,
/// all else is of the data sheets (SXM, PCIe 5.0 with 16 lanes).
pub const GPUS: [GpuModel; 2] = [hopper("H100", 3.35e12), hopper("H200", 4.8e12)];

const fn hopper(name: &'static str, memory: f64) -> GpuModel {
    GpuModel {
        name: Cow::Borrowed(name),
        multiprocessors: 132.0,
        mhz: 1980.0,
        issue: 128.0,
        f32: 128.0,
        f64: 64.0,
        integer: 64.0,
        special: 16.0,
        loads: 32.0,
        memory,
        link: 63e9,
    }
}

impl GpuModel {
    /// Refuses a rate that is no positive number.
    pub fn check(&self) -> Result<(), String> {
        let rates = [
            ("multiprocessors", self.multiprocessors),
            ("mhz", self.mhz),
            ("issue", self.issue),
            ("f32", self.f32),
            ("f64", self.f64),
            ("integer", self.integer),
            ("special", self.special),
            ("loads", self.loads),
            ("memory", self.memory),
            ("link", self.link),
        ];
        match rates.iter().find(|(_, rate)| !(rate.is_normal() && *rate > 0.0)) {
            Some((name, rate)) => Err(format!("`{name}` must be above 0, not {rate}")),
            None => Ok(()),
        }
    }

    /// Seconds of so many pairs, and the unit that they are those of.
    fn compute(&self, operations: &Operations, pairs: f64) -> (f64, &'static str) {
        let clocks = self.multiprocessors * self.mhz * 1e6;
        let units = [
            (operations.issued(), self.issue, "issue"),
            (operations.f32(), self.f32, "f32"),
            (operations.f64(), self.f64, "f64"),
            (operations.integer, self.integer, "integer"),
            (operations.special(), self.special, "functions"),
            (operations.loads, self.loads, "tables"),
        ];
        let seconds = units.map(|(count, rate, unit)| (pairs * count as f64 / (rate * clocks), unit));
        seconds.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a }).expect("there are units")
    }
}

/// The pipelines of an engine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lanes {
    pub pipelines: u32,
    /// Clocks from a pair to the next.
    pub ii: u32,
    /// Clocks from a pair to its term.
    pub latency: u32,
}

/// Pipelines and what connects them with the host.
#[derive(Clone, PartialEq, Debug)]
pub struct Engine {
    pub name: String,
    pub lanes: Lanes,
    pub mhz: f64,
    /// Bytes a second to the engine, and as many from it at the same time.
    pub link: f64,
}

/// Every board with those pipelines at its usual clock. A byte on a serial line is 10 bits.
pub fn boards(lanes: &Lanes) -> Vec<Engine> {
    let one = |b: &hdl::board::Board| Engine {
        name: b.name.into(),
        lanes: *lanes,
        mhz: b.usual_mhz,
        link: b.baud as f64 / 10.0,
    };
    BOARDS.iter().map(one).collect()
}

/// Bytes of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Bytes {
    pub target: u64,
    pub source: u64,
    pub result: u64,
}

impl Bytes {
    fn on_the_wire(layout: &Layout) -> Bytes {
        let bytes = |words: u32| 4 * words as u64;
        Bytes { target: bytes(layout.i_words()), source: bytes(layout.j_words()), result: bytes(layout.result_words()) }
    }

    /// As records of any job go to a GPU: 64 bits an element, and flags with a result.
    fn of_jobs(graph: &Graph) -> Bytes {
        let bytes = |class| 8 * graph.elements_of(class).len() as u64;
        let result = 8 * graph.outputs.len() as u64 + 4;
        Bytes { target: bytes(PinClass::Ipin), source: bytes(PinClass::Jpin), result }
    }

    /// As P2P has them: coordinates in f64; charges and sums in its own arithmetic, and a count of close pairs.
    fn of_p2p(real: Real) -> Bytes {
        let number = if real == Real::F32 { 4 } else { 8 };
        Bytes { target: 24, source: 24 + number, result: 4 * number + 4 }
    }
}

/// A way to run a kernel on a GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct Mode {
    pub name: &'static str,
    pub operations: Operations,
    pub bytes: Bytes,
}

/// The counts of a kernel from which predictions are made.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    pub modes: Vec<Mode>,
    wire: Bytes,
    /// Operators of the graph with a float or integer result: what a pipeline does for a pair.
    operators: u32,
}

impl Kernel {
    /// Counts the operations of a kernel in each mode that it has. The error says which text cannot be counted.
    pub fn new(graph: &Graph) -> Result<Kernel, String> {
        let mut modes = Vec::new();
        let names = [Names::USUAL, Names::GRAVITY];
        let p2p = |real| names.iter().find_map(|names| count::p2p(graph, names, real).ok());
        for (name, real) in [("f32", Real::F32), ("f64", Real::F64)] {
            modes.extend(p2p(real).map(|operations| Mode { name, operations, bytes: Bytes::of_p2p(real) }));
        }
        let bytes = Bytes::of_jobs(graph);
        if modes.is_empty() {
            modes.push(Mode { name: "f64", operations: count::native(graph).map_err(|why| why.0)?, bytes });
        }
        modes.push(Mode { name: "exact", operations: count::exact(graph).map_err(|why| why.0)?, bytes });
        let operators = pg2::middle::simplify::simplify(graph)
            .nodes
            .iter()
            .filter(|n| matches!(n.kind, pg2::graph::NodeKind::Op { .. }))
            .count();
        let sums = graph.outputs.len();
        Ok(Kernel { modes, wire: Bytes::on_the_wire(&graph.layout()), operators: (operators + sums) as u32 })
    }
}

/// How much there is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    pub targets: u64,
    pub sources: u64,
    pub pairs: u64,
}

impl Work {
    pub fn all_pairs(n: u64) -> Work {
        Work { targets: n, sources: n, pairs: n.saturating_mul(n) }
    }
}

/// The prediction for a machine.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Prediction {
    pub machine: String,
    /// `f32`, `f64`, `exact`, or `pipeline`.
    pub mode: &'static str,
    pub targets: u64,
    pub sources: u64,
    pub pairs: u64,
    /// Of a pair: on floats in f32 and f64, instructions in exact mode, operators of a pipeline.
    pub operations: u32,
    /// Over the link, in both directions.
    pub bytes: u64,
    /// Operations a byte of the link.
    pub intensity: f64,
    pub link_seconds: f64,
    /// Each byte once in the GPU's memory; none for pipelines.
    pub memory_seconds: Option<f64>,
    pub compute_seconds: f64,
    pub seconds: f64,
    /// The bottleneck: `link`, `memory`, `pipelines`, or a unit of the GPU.
    pub limit: &'static str,
    pub pairs_per_second: f64,
}

/// A kernel on a GPU: data is sent, computed with, and fetched, one after the other.
pub fn on_gpu(gpu: &GpuModel, mode: &Mode, work: &Work) -> Prediction {
    let Bytes { target, source, result } = mode.bytes;
    let bytes = work.targets as f64 * (target + result) as f64 + work.sources as f64 * source as f64;
    let (compute, unit) = gpu.compute(&mode.operations, work.pairs as f64);
    let (link, memory) = (bytes / gpu.link, bytes / gpu.memory);
    let inner = if memory > compute { (memory, "memory") } else { (compute, unit) };
    let operations = if mode.name == "exact" { mode.operations.issued() } else { mode.operations.flops() };
    let limit = if link > inner.0 { "link" } else { inner.1 };
    let times = Times { link, memory: Some(memory), compute, seconds: link + inner.0, limit };
    prediction(gpu.name.to_string(), mode.name, work, operations, bytes, times)
}

/// A kernel on pipelines: data streams while they compute.
pub fn on_engine(engine: &Engine, kernel: &Kernel, work: &Work) -> Prediction {
    let Bytes { target, source, result } = kernel.wire;
    let down = work.targets as f64 * target as f64 + work.sources as f64 * source as f64;
    let up = work.targets as f64 * result as f64;
    let Lanes { pipelines, ii, latency } = engine.lanes;
    let lanes = pipelines as u64;
    // The last group of an all-pairs run may have lanes without a target.
    let is_all_pairs = work.pairs == work.targets.saturating_mul(work.sources);
    let steps = match is_all_pairs {
        true => work.targets.div_ceil(lanes) as f64 * work.sources as f64,
        false => work.pairs as f64 / lanes as f64,
    };
    let compute = (steps * ii as f64 + latency as f64) / (engine.mhz * 1e6);
    let link = down.max(up) / engine.link;
    let limit = if link > compute { "link" } else { "pipelines" };
    let times = Times { link, memory: None, compute, seconds: link.max(compute), limit };
    prediction(engine.name.clone(), "pipeline", work, kernel.operators, down + up, times)
}

struct Times {
    link: f64,
    memory: Option<f64>,
    compute: f64,
    seconds: f64,
    limit: &'static str,
}

fn prediction(
    machine: String,
    mode: &'static str,
    work: &Work,
    operations: u32,
    bytes: f64,
    times: Times,
) -> Prediction {
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    Prediction {
        machine,
        mode,
        targets: work.targets,
        sources: work.sources,
        pairs: work.pairs,
        operations,
        bytes: bytes as u64,
        intensity: ratio(work.pairs as f64 * operations as f64, bytes),
        link_seconds: times.link,
        memory_seconds: times.memory,
        compute_seconds: times.compute,
        seconds: times.seconds,
        limit: times.limit,
        pairs_per_second: ratio(work.pairs as f64, times.seconds),
    }
}

/// Every GPU and engine, in this order, each with all modes and amounts of work.
pub fn predictions(kernel: &Kernel, gpus: &[GpuModel], engines: &[Engine], works: &[Work]) -> Vec<Prediction> {
    let mut all = Vec::new();
    for gpu in gpus {
        for mode in &kernel.modes {
            all.extend(works.iter().map(|work| on_gpu(gpu, mode, work)));
        }
    }
    for engine in engines {
        all.extend(works.iter().map(|work| on_engine(engine, kernel, work)));
    }
    all
}

/// A row of the table of Haney et al.: the seconds of the link and of the GPU, and how much longer the GPU takes. They count
/// a number a particle and an operation a pair, and have a GPU of 4,290 Gflop/s behind a link of 7.877 G numbers a second.
pub fn haney(particles: u64) -> [f64; 3] {
    let n = particles as f64;
    let (link, compute) = (n / 7.877e9, n * n / 4_290e9);
    [link, compute, compute - link]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str) -> Kernel {
        let text = pg2::kernels::find(name).expect("a shipped kernel").text;
        Kernel::new(&pg2::compile(name, text).unwrap_or_else(|e| panic!("{}", e[0].message)).graph).expect("counted")
    }

    #[test]
    fn the_table_of_haney_et_al_comes_out_as_printed() {
        let printed = [
            (4_913, "6.24e-7", "5.63e-6", "5.00e-6"),
            (9_261, "1.18e-6", "2.00e-5", "1.88e-5"),
            (13_824, "1.75e-6", "4.45e-5", "4.28e-5"),
            (24_389, "3.10e-6", "1.39e-4", "1.36e-4"),
            (97_336, "1.24e-5", "2.21e-3", "2.20e-3"),
        ];
        for (n, link, compute, rest) in printed {
            let found = haney(n).map(|x| format!("{x:.2e}"));
            assert_eq!(found, [link, compute, rest], "{n}");
        }
        assert_eq!(printed.map(|p| p.0), HANEY);
    }

    #[test]
    fn a_gpu_takes_the_time_of_its_busiest_unit() {
        let gravity = kernel("gravity");
        let names: Vec<&str> = gravity.modes.iter().map(|m| m.name).collect();
        assert_eq!(names, ["f32", "f64", "exact"]);
        let f32 = &gravity.modes[0];
        // 13 instructions of f32 and a root: 14 are issued, and 13 x 128 lanes of f32 are less than 14 x 128 of issue.
        let work = Work::all_pairs(1 << 18);
        let found = on_gpu(&GPUS[1], f32, &work);
        let rate = 132.0 * 1980e6 * 128.0 / 14.0;
        assert!((found.compute_seconds * rate / work.pairs as f64 - 1.0).abs() < 1e-12);
        assert_eq!((found.limit, found.operations), ("issue", 20));
        assert_eq!(found.bytes, (1 << 18) * (24 + 28 + 20));
        assert!((found.link_seconds - found.bytes as f64 / 63e9).abs() < 1e-15);
        // With few particles the link decides.
        assert_eq!(on_gpu(&GPUS[1], f32, &Work::all_pairs(1000)).limit, "link");
        let none = on_gpu(&GPUS[1], f32, &Work::all_pairs(0));
        assert_eq!((none.seconds, none.intensity, none.pairs_per_second), (0.0, 0.0, 0.0));
    }

    #[test]
    fn pipelines_take_a_pair_a_clock_and_a_line_ten_bits_a_byte() {
        let paper = kernel("p2p_paper");
        let engine =
            Engine { name: "e".into(), lanes: Lanes { pipelines: 8, ii: 1, latency: 16 }, mhz: 100.0, link: 3e5 };
        let found = on_engine(&engine, &paper, &Work::all_pairs(1001));
        // 126 groups of 8 lanes against 1001 sources.
        assert!((found.compute_seconds - (126.0 * 1001.0 + 16.0) / 1e8).abs() < 1e-15);
        // Down a target of 3 words and a source of 4; up a result of 2.
        assert!((found.link_seconds - 1001.0 * 28.0 / 3e5).abs() < 1e-12);
        assert_eq!((found.limit, found.bytes), ("link", 1001 * 36));
        assert_eq!(on_engine(&engine, &paper, &Work::all_pairs(1_000_000)).limit, "pipelines");
        let folded = Engine { lanes: Lanes { ii: 3, ..engine.lanes }, ..engine.clone() };
        let slow = on_engine(&folded, &paper, &Work::all_pairs(1001)).compute_seconds;
        assert!((slow - (3.0 * 126.0 * 1001.0 + 16.0) / 1e8).abs() < 1e-15);
        assert_eq!(boards(&engine.lanes).len(), BOARDS.iter().len());
    }

    #[test]
    fn every_shipped_kernel_can_be_predicted() {
        for (name, _) in pg2::kernels::all().filter(|(name, _)| !name.starts_with("m2l_")) {
            for mode in kernel(name).modes {
                let of = mode.operations;
                assert!(of.issued() > 0 && of.integer + of.f32() + of.f64() > 0, "{name} {}", mode.name);
                // In exact mode all is integers but for products and sums that the GPU's floats hold.
                assert!(mode.name != "exact" || of.integer > of.f32() + of.f64(), "{name}");
                assert!(mode.name != "f32" || of.integer + of.f64() == 0, "{name}");
            }
        }
    }

    #[test]
    fn a_gpu_without_a_rate_is_refused_by_name() {
        let gpu = GpuModel { special: 0.0, ..GPUS[0].clone() };
        assert!(gpu.check().expect_err("a rate of 0").contains("`special`"));
        assert!(GPUS.iter().all(|c| c.check().is_ok()));
    }
}
