//! One conformance suite over every registered backend: whole jobs against the scalar reference, pair by pair.

use crate::common::board::{PtyBoard, Setting};
use crate::common::{backends, shipped};
use hdl::op::semantics::Real;
use hdl::{Flags, Format};
use pairforge::backends::{BACKENDS, BackendOptions, Entry, Needs};
use pg2::graph::{Graph, PinClass};
use pipelines::job::{Backend, Job, Outcome, Run, SourceRange, Table};
use sim::stimuli::{self, Random, Style};

/// Every int and fixed operator, on odd widths.
const INTEGERS: &str = "
int13 a ipin; uint9 u ipin; fixed20.7 x ipin; ufixed12.12 y ipin; uint64 p ipin;
int13 b jpin; uint9 v jpin; fixed20.7 z jpin; ufixed12.12 w jpin; uint64 q jpin;
uint4 n param; int13 c param;
int64 sums fout; int20 narrow fout; uint64 wide fout; fixed40.14 points fout; ufixed12.12 least fout;
int13 most[2] fout; uint1 any fout;
near = a < b ? a / b : b % a;
bits = (a & b | ~c) ^ (a << 3) ^ (b >> n) ^ -a;
sums += a * b + near - pg_abs(bits);
narrow += (int20)(u * v) << 4;
wide += (p ^ q) + (p >> n) - (q << 7);
points += (fixed40.14)(x * z) + (fixed40.14)(x / z - -z) + (fixed40.14)y + (fixed40.14)b;
least min= y * w + (ufixed12.12)(z >> 3);
most[0] max= pg_min(pg_max(a, c), (int13)z);
most[1] max= !(u == v) && a >= b || x != z ? a - b : 1;
any max= u <= v;
";

/// Every float operator and cast, in two formats.
const FLOATS: &str = "
float18.9 a ipin; float25.16 d ipin; uint7 g ipin;
float18.9 b jpin; float25.16 e jpin; int32 k jpin; fixed32.20 x jpin;
int16 n param;
int64 sums fout; fixed40.20 points fout; float18.9 most[2] fout; float25.16 least[3] fout;
r = pg_pow(b, -1, 2);
s = a * b + (a - b) / b;
t = b < a && k != 0 ? r : s;
sums += (int64)(t << 12) + (int32)(d << n);
points += (fixed40.20)(pg_sqrt(pg_abs(e)) * d) + (fixed40.20)(float25.16)x;
most[0] max= pg_abs(-s) + (float18.9)k;
most[1] max= (float18.9)e + (float18.9)g;
least[0] min= pg_inv(e) + pg_pow(d, 3, 2);
least[1] min= pg_min(d, e) - pg_max((float25.16)a, 1.5);
least[2] min= pg_pow(e, -2, 1) >> 3;
";

/// Outputs that are gathered together: partial results of split runs are combined so too.
const SELECTIONS: &str = "
float18.9 x[2] ipin; int4 kind ipin;
float18.9 y[2] jpin; uint6 id jpin; int4 of jpin;
float18.9 best[3] fout; uint6 who[3] fout; float18.9 way[3][2] fout; int4 most fout; uint6 which fout; int64 sum fout;
d = y - x; r2 = d * d;
if (of != kind) { (best, who, way) min= (r2, id, d); }
(most, which) max= (of ^ kind, id);
sum += (int64)(r2 << 20);
";

/// The settings of a run; runs over one kernel differ in them.
struct Case {
    name: &'static str,
    text: String,
    /// Numbers of pipelines, and the groups that they form.
    lanes: &'static [(u32, u32)],
    /// Words of the j memory: small ones make the driver split runs.
    jmem_words: u32,
    stream_bits: u32,
}

fn cases() -> Vec<Case> {
    let case = |name, text: &str, lanes, jmem_words, stream_bits| Case {
        name,
        text: text.to_string(),
        lanes,
        jmem_words,
        stream_bits,
    };
    vec![
        case("integers", INTEGERS, &[(1, 1), (3, 1), (8, 1), (6, 3)], 96, 32),
        case("floats", FLOATS, &[(3, 1)], 4096, 64),
        case("selections", SELECTIONS, &[(3, 1), (4, 2)], 64, 32),
        case("p2p", &shipped("p2p"), &[(8, 1)], 4096, 32),
        case("p2p_paper", &shipped("p2p_paper"), &[(3, 1), (5, 5)], 64, 128),
        case(
            "constant",
            "int8 a ipin; int8 b jpin; int9 o fout; fixed8.4 m fout; o += 3; m min= (fixed8.4)a;",
            &[(3, 1), (4, 2)],
            16,
            32,
        ),
    ]
}

fn compile(case: &Case) -> Graph {
    let compiled = pg2::compile(case.name, &case.text);
    compiled.unwrap_or_else(|e| panic!("{}: {:?}", case.name, e.iter().map(|d| &d.message).collect::<Vec<_>>())).graph
}

/// Records of a kernel, and the runs over them.
struct Work {
    targets: Table,
    sources: Table,
    params: Vec<u64>,
    runs: Vec<Run>,
    segments: Vec<SourceRange>,
}

fn table(records: &[Vec<u64>]) -> Table {
    let elements = records.first().map_or(0, Vec::len).max(1);
    let bits = records.iter().flat_map(|r| if r.is_empty() { vec![0] } else { r.clone() }).collect();
    Table { elements, bits }
}

/// Random records between corners, and runs of all shapes: many sources, none, one, overlapping and repeated ranges; the
/// last target is in no run.
fn work(graph: &Graph, seed: u64) -> Work {
    let mut random = Random::new(seed);
    let mut records = |class, n: usize, corners: usize| {
        let mut list = stimuli::records(graph, class, n, Style::Wild { anchor: 0x1234_5678_9abc }, &mut random);
        let all = stimuli::corner_records(graph, class);
        let step = (all.len() / corners).max(1);
        list.extend(all.into_iter().step_by(step));
        list
    };
    let (targets, sources) = (records(PinClass::Ipin, 20, 40), records(PinClass::Jpin, 40, 160));
    let params = records(PinClass::Param, 1, 1)[0].clone();
    let (ni, nj) = (targets.len(), sources.len());
    let segment = |first: usize, count: usize| SourceRange { first, count };
    let mut segments = vec![segment(0, nj), segment(5, 0), segment(3, 1), segment(nj / 2, nj - nj / 2)];
    segments.extend([segment(0, 30), segment(20, 30), segment(0, 30), segment(7, 0)]);
    let ranges = [0..1, 1..2, 2..3, 2..4, 4..8, 0..0];
    // Targets in pieces of 1 to 11, each with one of the lists.
    let mut runs = Vec::new();
    let mut first = 0;
    for k in 0.. {
        let count = (1 + 5 * k % 11).min(ni - 1 - first);
        if count == 0 {
            break;
        }
        runs.push(Run { first, count, segments: ranges[k % ranges.len()].clone() });
        first += count;
    }
    Work { targets: table(&targets), sources: table(&sources), params, runs, segments }
}

/// Another work on the same records.
fn work_of(work: &Work) -> Work {
    Work {
        targets: work.targets.clone(),
        sources: work.sources.clone(),
        params: work.params.clone(),
        runs: work.runs.clone(),
        segments: work.segments.clone(),
    }
}

/// Records of patterns of the pins' own formats as a backend holds them.
fn held(graph: &Graph, backend: &dyn Backend, class: PinClass, table: &Table) -> Table {
    let formats: Vec<Format> = graph.elements_of(class).iter().map(|e| graph.pins[e.0].format).collect();
    let mut held = table.clone();
    for (bits, format) in held.bits.iter_mut().zip(formats.iter().cycle()) {
        if backend.held(*format) != *format {
            *bits = Real::read(*format, *bits).bits();
        }
    }
    held
}

fn run(entry: &Entry, options: &BackendOptions, graph: &Graph, work: &Work) -> Outcome {
    // A board that runs this kernel, behind a port.
    let board = (entry.needs == Needs::Device).then(|| {
        let BackendOptions { pipelines, jmem_words, stream_bits, .. } = *options;
        PtyBoard::start(graph, Setting { pipelines, jmem_words, stream_bits, ..Setting::default() })
    });
    let place = board.as_ref().map(|b| b.path.clone()).unwrap_or_default();
    let mut backend = (entry.open)(&BackendOptions { place, ..options.clone() });
    assert_eq!(backend.name(), entry.name);
    let targets = held(graph, &*backend, PinClass::Ipin, &work.targets);
    let sources = held(graph, &*backend, PinClass::Jpin, &work.sources);
    let params = Table { elements: 0, bits: work.params.clone() };
    let params = held(graph, &*backend, PinClass::Param, &params).bits;
    let (runs, segments) = (&work.runs, &work.segments);
    let job = Job { graph, targets: &targets, sources: &sources, params: &params, runs, segments };
    let outcome = backend.run(&job, &mut |_| {}).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
    // A second job on the same engine must not see the first.
    let again = backend.run(&job, &mut |_| {}).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
    assert_eq!(
        (&again.results, &again.flags, again.pairs),
        (&outcome.results, &outcome.flags, outcome.pairs),
        "{} a second time",
        entry.name
    );
    outcome
}

/// The results of the reference: a pattern for each output of each target, and its flags.
fn reference(graph: &Graph, work: &Work) -> (Vec<u64>, Vec<Flags>) {
    let record = |t: &Table, k: usize, class| match graph.elements_of(class).len() {
        0 => Vec::new(),
        _ => t.record(k).to_vec(),
    };
    let identities: Vec<u64> = graph.outputs.iter().map(|o| o.reduce.identity(graph.pins[o.pin].format)).collect();
    let mut bits = identities.repeat(work.targets.len());
    let mut flags = vec![Flags::NONE; work.targets.len()];
    for r in &work.runs {
        let list = &work.segments[r.segments.clone()];
        let sources: Vec<Vec<u64>> = list
            .iter()
            .flat_map(|s| s.first..s.first + s.count)
            .map(|j| record(&work.sources, j, PinClass::Jpin))
            .collect();
        for i in r.first..r.first + r.count {
            let target = record(&work.targets, i, PinClass::Ipin);
            let (found, raised) = sim::reference::target(graph, &target, &sources, &work.params);
            bits[i * found.len()..(i + 1) * found.len()].copy_from_slice(&found);
            flags[i] = raised;
        }
    }
    (bits, flags)
}

#[test]
fn every_backend_gives_the_bits_and_flags_of_the_reference() {
    for case in testkit::some(cases(), 2) {
        let graph = compile(&case);
        let work = work(&graph, 0x5eed);
        let (bits, flags) = reference(&graph, &work);
        let raised = flags.iter().fold(Flags::NONE, |a, f| a | *f);
        println!("{}: {} targets, flags {:?}", case.name, flags.len(), raised.names());
        assert!(case.name == "constant" || raised != Flags::NONE, "{}: the corners raise flags", case.name);
        let pairs: usize = work
            .runs
            .iter()
            .map(|r| r.count * work.segments[r.segments.clone()].iter().map(|s| s.count).sum::<usize>())
            .sum();
        for entry in backends().into_iter().filter(|e| e.exact) {
            for &(pipelines, groups) in testkit::some(case.lanes, 2) {
                let options = BackendOptions {
                    pipelines,
                    groups,
                    jmem_words: case.jmem_words,
                    stream_bits: case.stream_bits,
                    threads: 2,
                    ..BackendOptions::default()
                };
                let found = run(entry, &options, &graph, &work);
                let place = format!("{} on {} with {pipelines} pipelines in {groups} groups", case.name, entry.name);
                compare(&place, &graph, (&found.results.bits, &found.flags), (&bits, &flags));
                // A GPU has no engine, and so neither lanes nor a link.
                let has_engine = entry.needs != Needs::Gpu;
                let lanes = if has_engine { pipelines } else { 0 };
                assert_eq!((found.pairs, found.lanes), (pairs as u64, lanes), "{place}");
                assert_eq!(found.cycles.is_some(), entry.clocked, "{place}");
                let words = graph.layout().i_words() as usize * work.runs.iter().map(|r| r.count).sum::<usize>();
                assert!(!has_engine || found.words.i as usize >= words, "{place}: each target is sent once or more");
            }
        }
    }
}

/// The first difference, in words.
fn compare(place: &str, graph: &Graph, found: (&[u64], &[Flags]), wanted: (&[u64], &[Flags])) {
    let outputs = graph.outputs.len();
    assert_eq!(found.0.len(), wanted.0.len(), "{place}");
    for (k, (f, w)) in found.0.iter().zip(wanted.0).enumerate() {
        let o = &graph.outputs[k % outputs];
        let column = graph.pins[o.pin].column(o.element);
        assert_eq!(f, w, "{place}: target {} {column}: {f:#x}, not {w:#x}", k / outputs);
    }
    for (k, (f, w)) in found.1.iter().zip(wanted.1).enumerate() {
        assert_eq!(f.names(), w.names(), "{place}: flags of target {k}");
    }
}

#[test]
fn real_numbers_are_those_of_an_independent_sum() {
    // The potential and gradient of plain points: all backends, against a loop over f64.
    let graph = pg2::compile("p2p", &shipped("p2p")).unwrap_or_else(|_| panic!("p2p compiles")).graph;
    let mut random = Random::new(7);
    let mut unit = || random.below(1 << 31) as f64 / 2f64.powi(31) - 0.5;
    let points: Vec<[f64; 4]> = (0..150).map(|_| [unit(), unit(), unit(), unit()]).collect();
    let bits = |format: &str, x: f64| {
        let format: hdl::Format = format.parse().expect("a format");
        hdl::number::exact::to_bits(format, &hdl::number::exact::Exact::from_float(x).expect("a number"))
            .expect("in range")
            .0
    };
    let coordinates = |p: &[f64; 4]| [0, 1, 2].map(|a| bits("fixed32.31", p[a])).to_vec();
    let charge: hdl::Format = "float25.16".parse().expect("a format");
    let targets: Vec<Vec<u64>> = points.iter().map(coordinates).collect();
    let sources: Vec<Vec<u64>> = points
        .iter()
        .map(|p| {
            let mut record = coordinates(p);
            record.push(bits("float25.16", p[3]));
            record
        })
        .collect();
    let work = Work {
        targets: table(&targets),
        sources: table(&sources),
        params: vec![0],
        runs: vec![Run { first: 0, count: 150, segments: 0..1 }],
        segments: vec![SourceRange { first: 0, count: 150 }],
    };
    for entry in backends() {
        let found =
            run(entry, &BackendOptions { pipelines: 8, jmem_words: 4096, ..BackendOptions::default() }, &graph, &work);
        for (i, t) in points.iter().enumerate() {
            let (mut sum, mut size) = ([0.0; 4], [0.0; 2]);
            for s in points.iter().enumerate().filter(|s| s.0 != i).map(|s| s.1) {
                let q = charge.to_f64(bits("float25.16", s[3]));
                let d = [0, 1, 2].map(|a| s[a] - t[a]);
                let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
                sum[0] += q / r;
                (0..3).for_each(|a| sum[a + 1] += q * d[a] / r.powi(3));
                size[0] += q.abs() / r;
                size[1] += q.abs() / (r * r);
            }
            // Nine operations of half an ulp or, for the power, one ulp of float25.16 on the longest way of a pair's gradient
            // (three of them squared or cubed by what follows), and one rounding to the output for each pair.
            let relative = 16.0 * 2f64.powi(-17);
            let last = [2f64.powi(-31), 2f64.powi(-17)];
            for (k, o) in graph.outputs.iter().enumerate() {
                let x = graph.pins[o.pin].format.to_f64(found.results.record(i)[k]);
                let kind = (k > 0) as usize;
                let bound = match entry.exact {
                    true => relative * size[kind] + 150.0 * last[kind],
                    false => 1e-13 * size[kind] + 150.0 * last[kind],
                };
                assert!((x - sum[k]).abs() <= bound, "{} target {i} output {k}: {x} {}", entry.name, sum[k]);
            }
            assert_eq!(found.flags[i], Flags::NONE, "{} target {i}", entry.name);
        }
    }
}

#[test]
fn integers_without_wrap_are_the_same_everywhere() {
    let text = "int16 a ipin; int16 b jpin; int8 c param; int40 s fout; int16 m fout; int16 n fout;
        int16 best[4] fout; int16 who[4] fout; int16 most fout; int8 flag fout;
        s += (a * b >> 1) + c; m max= a < b ? a - b : a % (b + 300); n min= pg_abs(a + b) / 7;
        if (a != b) { (best, who) min= (pg_abs(a + b) / 16, b); } (most, flag) max= ((a ^ b) & 48, c);";
    let graph = pg2::compile("plain", text).unwrap_or_else(|e| panic!("{}", e[0].message)).graph;
    let mut random = Random::new(9);
    // Products stay in int16.
    let mut records =
        |n| -> Vec<Vec<u64>> { (0..n).map(|_| vec![random.below(257).wrapping_sub(128) & 0xffff]).collect() };
    let work = Work {
        targets: table(&records(37)),
        sources: table(&records(90)),
        params: vec![0xfb],
        runs: vec![Run { first: 0, count: 37, segments: 0..2 }],
        segments: vec![SourceRange { first: 40, count: 50 }, SourceRange { first: 0, count: 40 }],
    };
    let (bits, flags) = reference(&graph, &work);
    for entry in backends() {
        let found = run(entry, &BackendOptions { pipelines: 3, ..BackendOptions::default() }, &graph, &work);
        compare(entry.name, &graph, (&found.results.bits, &found.flags), (&bits, &flags));
    }
}

#[test]
fn only_the_whole_sum_can_wrap() {
    // Partial sums leave int8 and come back; the j memory holds two records, so that runs are split.
    let text = "int8 a ipin; int8 b jpin; int8 s fout; s += a + b;";
    let graph = pg2::compile("k", text).unwrap_or_else(|e| panic!("{}", e[0].message)).graph;
    let record = |x: i64| vec![x as u64 & 0xff];
    let work = Work {
        targets: table(&[record(0), record(1), record(-1)]),
        sources: table(&[100, 100, 100, -100, -100, -73, 0].map(record)),
        params: Vec::new(),
        runs: vec![Run { first: 0, count: 3, segments: 0..1 }],
        segments: vec![SourceRange { first: 0, count: 7 }],
    };
    // 27, 34 and 20 are in range; with another source of 100 the second sum, 135, is not.
    let segments = vec![SourceRange { first: 0, count: 7 }, SourceRange { first: 0, count: 1 }];
    let more = Work { segments, runs: vec![Run { first: 0, count: 3, segments: 0..2 }], ..work_of(&work) };
    for (work, sums, wraps) in [(&work, [27, 34, 20], [false; 3]), (&more, [127, 135, 119], [false, true, false])] {
        for entry in backends().into_iter().filter(|e| e.exact) {
            let mut words = Vec::new();
            for (pipelines, groups) in [(2, 1), (2, 2)] {
                let options = BackendOptions { pipelines, groups, jmem_words: 2, ..BackendOptions::default() };
                let found = run(entry, &options, &graph, work);
                let place = format!("{} in {groups} groups", entry.name);
                words.push(found.words.j);
                assert_eq!(found.results.bits, sums.map(|s: i64| s as u64 & 0xff), "{place}");
                assert_eq!(found.flags, wraps.map(|w| if w { Flags::WRAP } else { Flags::NONE }), "{place}");
            }
            assert_eq!(words[0], words[1], "{}: lane groups share what is sent again", entry.name);
        }
    }
}

#[test]
fn unknown_backends_are_refused_with_the_known_ones() {
    let Err(e) = pairforge::backends::find("fpga") else { panic!("there is none") };
    assert!(BACKENDS.iter().all(|b| e.to_string().contains(b.name)), "{e}");
}
