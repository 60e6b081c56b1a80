//! Tests of the flags that come back: those of demanded values alone (RULES L6), from the reference, the emulator and the Verilog.

use crate::common::built;
use crate::graphs::{self, pattern};
use hdl::Flags;
use hdl::circuit::target::{Clock, target};
use hdl::engine::protocol::Segment;
use hdl::rtl::netlist::Netlist;
use pg2::backend::build::build;
use pg2::backend::lower::lower;
use pg2::graph::{Graph, PinClass};
use pg2::middle::{schedule::schedule, simplify::simplify};
use sim::bench::MultiBench;
use sim::emulator::{Emulator, Isa};
use sim::reference;
use testkit::Random;

/// A kernel, and for each pair of inputs (all j pins, in order) the flags that it raises.
struct Row {
    text: &'static str,
    pairs: &'static [(&'static str, &'static str)],
}

const ROWS: &[Row] = &[
    Row {
        text: "float18.9 a jpin; float18.9 y fout; y max= a > 0 ? 1 / a : 0;",
        pairs: &[("0", ""), ("2", ""), ("-1e-300", "")],
    },
    Row { text: "float18.9 a jpin; float18.9 y fout; y max= 1 / a;", pairs: &[("0", "invalid"), ("2", "")] },
    // A block of several statements, with a value from before it that only it reads.
    Row {
        text: "float18.9 a jpin; float18.9 b jpin; int16 y fout; t = b / a;
               if (a != 0) { u = t * t; v = (int16)(u << 3); y += v; }",
        pairs: &[
            ("0,1", ""),
            ("1,1", ""),
            ("1e-10,1e15", "overflow saturation"),
            ("1,1000", "saturation"),
            ("0,0", ""),
        ],
    },
    // Nested: the inner condition is itself demanded only inside the outer branch.
    Row {
        text: "float18.9 a jpin; float18.9 b jpin; int32 y fout;
               if (a > 0) { if (1 / b > a) { y += (int32)(a << 40); } else { y += 1; } }",
        pairs: &[("0,0", ""), ("1,0", "invalid"), ("1,0.5", "saturation"), ("1,2", ""), ("-1,0", "")],
    },
    // Read in one branch and by the other output.
    Row {
        text: "float18.9 a jpin; uint1 c jpin; float18.9 y fout; float18.9 z fout; t = 1 / a; y max= c ? t : 0; z min= c ? 0 : t;",
        pairs: &[("0,0", "invalid"), ("0,1", "invalid"), ("1,1", "")],
    },
    Row {
        text: "float18.9 a jpin; uint1 c jpin; uint1 d jpin; float18.9 y fout; float18.9 z fout;
               t = 1 / a; y max= c ? t : 0; z min= d ? -t : 0;",
        pairs: &[("0,0,0", ""), ("0,0,1", "invalid"), ("0,1,0", "invalid"), ("0,1,1", "invalid"), ("3,1,1", "")],
    },
    // Both sides of && and || are demanded.
    Row {
        text: "float18.9 a jpin; int8 y fout; y += a != 0 && 1 / a > 2 ? 1 : 0;",
        pairs: &[("0", "invalid"), ("1", "")],
    },
    // Elements of a vector; a condition that is negated.
    Row {
        text: "float18.9 a[2] jpin; uint1 c jpin; fixed12.5 y[2] fout; y += (fixed12.5)(!c ? a : -1 * a / a[0]);",
        pairs: &[("0,1e9,0", "saturation"), ("0,1e9,1", "invalid"), ("1,1e9,1", "saturation"), ("1,2,0", "")],
    },
    // A chain of conditions; the first that holds decides.
    Row {
        text: "float18.9 a jpin; float18.9 y fout;
               if (a == 0) { u = 5; } else if (1 / a > 100) { u = pg_sqrt(a - 1); } else { u = a * 1e30; } y max= u;",
        pairs: &[("0", ""), ("1", ""), ("0.001", "invalid"), ("1e10", "overflow"), ("-2", "")],
    },
    // A function with several ways out.
    Row {
        text: "fn f(x) { if (x <= 0) { return 0; } if (x > 4) { return 4; } return (int4)pg_log(x); }
               float18.9 a jpin; int8 y fout; y += f(a);",
        pairs: &[("0", ""), ("-1", ""), ("1e10", ""), ("1e-20", "saturation"), ("2", "")],
    },
    // Static values, and an output that is not.
    Row {
        text: "float18.9 a param; float18.9 b jpin; float18.9 y fout; y max= b > 0 ? 1 / a : b;",
        pairs: &[("-1", ""), ("1", "invalid")],
    },
    Row {
        text: "float18.9 a param; float18.9 b jpin; float18.9 y fout; y max= a > 0 ? 1 / b : b;",
        pairs: &[("0", ""), ("1", "")],
    },
    // Ints and fixeds, and a cast that nothing takes.
    Row {
        text: "int8 a jpin; int8 b jpin; int4 y fout; q = b == 0 ? 7 : a / b; y += (int4)(b > 50 ? (int8)(fixed12.5)a : q);",
        pairs: &[("100,0", ""), ("100,60", "saturation"), ("100,20", "")],
    },
    // Exact zeros of functions, at the ends of the interval and inside; both ends are inside.
    Row {
        text: "float18.9 a jpin; float18.9 y fout; y max= pg_fn(a, 1 - a, 0, 1);",
        pairs: &[("1", ""), ("0", ""), ("0.5", ""), ("1.01", "invalid"), ("-0.1", "invalid")],
    },
    Row {
        text: "float18.9 a jpin; float18.9 y fout; y max= pg_fn(a, sin(a), -1, 1) + pg_fn(a, sqrt(a), 0, 4);",
        pairs: &[("0", ""), ("1", ""), ("-0.5", "invalid")],
    },
    Row {
        text: "float18.9 a jpin; float18.9 y fout; y max= pg_fn(a, max(0, 1 - a), 0, 2) * pg_fn(a, a * (1.5 - a), 0, 1.5);",
        pairs: &[("0", ""), ("1", ""), ("1.25", ""), ("1.5", ""), ("1.75", "invalid")],
    },
    Row { text: "log17.8 a jpin; log17.8 y fout; y max= a == 0 ? 0 : 1 / a;", pairs: &[("0", ""), ("2", "")] },
];

fn graph(text: &str) -> Graph {
    pg2::compile("kernel", text).unwrap_or_else(|e| panic!("{text}: {e:#?}")).graph
}

fn flags(names: &str) -> Flags {
    let bit = |name: &str| Flags::NAMES.iter().position(|n| *n == name).expect("the name of a flag");
    names.split_whitespace().fold(Flags::NONE, |all, name| all | Flags(1 << bit(name)))
}

/// The patterns of a row's j pins.
fn patterns(graph: &Graph, values: &str) -> Vec<u64> {
    let of = |((pin, _), value): ((usize, u32), &str)| {
        let format = graph.pins[pin].format;
        // What is too small becomes 0, as a kernel would have it.
        hdl::number::exact::parse(format, value).unwrap_or(0)
    };
    graph.elements_of(PinClass::Jpin).into_iter().zip(values.split(',')).map(of).collect()
}

fn params(graph: &Graph) -> Vec<u64> {
    vec![0; graph.elements_of(PinClass::Param).len()]
}

/// Results and flags of one target without pins.
fn emulate(graph: &Graph, isa: Isa, i: &[u64], j: &[Vec<u64>], params: &[u64]) -> (Vec<u64>, Flags) {
    let mut emulator = Emulator::with_isa(graph, isa);
    emulator.set_params(params);
    let mut sources = emulator.sources(j.len());
    emulator.load(&mut sources, 0, &j.concat());
    let mut sums = [emulator.start()];
    let segments = [Segment { first: 0, count: j.len() as u32 }];
    emulator.accumulate(&mut emulator.scratch(), &mut sums, i, &sources, &segments);
    sums[0].finish()
}

#[test]
fn the_reference_and_the_emulator_raise_the_flags_of_demanded_values() {
    for row in ROWS {
        let g = graph(row.text);
        let simple = simplify(&g);
        let params = params(&g);
        let mut all = Flags::NONE;
        let mut rows = Vec::new();
        for (values, wanted) in row.pairs {
            let j = patterns(&g, values);
            let wanted = flags(wanted);
            let (_, found) = reference::pair(&g, &[], &j, &params);
            assert_eq!(found, wanted, "{} with {values}", row.text);
            for isa in Isa::available() {
                for graph in [&g, &simple] {
                    let found = emulate(graph, isa, &[], &vec![j.clone(); 3], &params).1;
                    assert_eq!(Flags(found.0 & !Flags::WRAP.0), wanted, "{} with {values} on {isa}", row.text);
                }
            }
            all |= wanted;
            rows.push(j);
        }
        // All pairs in one block, some of its lanes demanded.
        let rows: Vec<Vec<u64>> = rows.iter().cycle().take(700).cloned().collect();
        let found = emulate(&simple, Isa::detect(), &[], &rows, &params).1;
        assert_eq!(Flags(found.0 & !Flags::WRAP.0), all, "{}", row.text);
    }
}

/// Random targets, sources and parameters of a graph.
fn random_records(g: &Graph, class: PinClass, n: usize, r: &mut Random) -> Vec<Vec<u64>> {
    let formats: Vec<_> = g.elements_of(class).iter().map(|(pin, _)| g.pins[*pin].format).collect();
    (0..n).map(|_| formats.iter().map(|f| pattern(r, *f)).collect()).collect()
}

#[test]
fn random_choices_raise_the_flags_of_the_reference_in_the_emulator() {
    for seed in 0..60 {
        let g = graphs::random_choices(seed, 20 + seed as usize);
        let simple = simplify(&g);
        let r = &mut Random::new(seed);
        for _ in 0..12 {
            let i = random_records(&g, PinClass::Ipin, 1, r).swap_remove(0);
            let params = random_records(&g, PinClass::Param, 1, r).swap_remove(0);
            // Few sources, so that not every flag is raised.
            let count = 1 + r.below(3);
            let j = random_records(&g, PinClass::Jpin, count, r);
            let wanted = reference::target(&g, &i, &j, &params);
            for isa in Isa::available() {
                for graph in [&g, &simple] {
                    assert_eq!(emulate(graph, isa, &i, &j, &params), wanted, "seed {seed} on {isa}\n{graph}");
                }
            }
        }
    }
}

/// A pipeline with the graph that it was made of.
struct Pipeline {
    graph: Graph,
    netlist: Netlist,
    depth: u32,
}

/// A graph as one circuit, and operator by operator.
fn both(graph: &Graph, clock: Clock) -> [Pipeline; 2] {
    let merged = build(graph, clock, "", Vec::new());
    assert!(merged.merged);
    let simple = simplify(graph);
    let schedule = schedule(&simple, clock);
    schedule.verify(&simple).unwrap();
    let netlist = lower(&simple, &schedule, clock, "");
    netlist.verify().unwrap();
    [
        Pipeline { graph: graph.clone(), netlist: merged.plain(), depth: merged.schedule.depth },
        Pipeline { graph: graph.clone(), netlist, depth: schedule.depth },
    ]
}

/// Compares outputs and flags with the reference's, pair by pair. `i` and `j` are as many; the parameters stand still.
fn check(bench: &mut MultiBench, at: usize, p: &Pipeline, i: &[Vec<u64>], j: &[Vec<u64>], params: &[u64]) {
    let row = |k: usize| [&i[k], &j[k], params].concat();
    let still = vec![row(0); p.depth as usize];
    let rows: Vec<Vec<u64>> = still.iter().cloned().chain((0..j.len()).map(row)).chain(still.clone()).collect();
    let out = bench.run(at, &rows);
    for (k, got) in out.iter().skip(p.depth as usize).take(j.len()).enumerate() {
        let (values, flags) = reference::pair(&p.graph, &i[k], &j[k], params);
        let mut wanted: Vec<u64> = p.graph.outputs.iter().map(|o| values[o.value.0 as usize]).collect();
        wanted.push(flags.0 as u64);
        assert_eq!(got, &wanted, "{} with {:x?}\n{}", p.netlist.top, row(k), p.graph);
    }
}

/// The characters of Verilog that take long to compile, as of several tables.
const LARGE: usize = 100_000;

#[test]
fn the_verilog_raises_the_flags_of_demanded_values() {
    // A small one of the random graphs: compiling their Verilog takes most of the time.
    the_verilog_raises([501], |size| size <= LARGE);
}

#[test]
#[ignore = "a proof in depth"]
fn the_verilog_of_many_graphs_raises_the_flags_of_demanded_values() {
    the_verilog_raises(500..516, |_| true);
}

/// Rows, and random graphs of these seeds, whose Verilog has a size that counts.
fn the_verilog_raises(seeds: impl IntoIterator<Item = u64>, counts: impl Fn(usize) -> bool) {
    let clock = |k: usize| {
        let family = ["generic", "max10", "ecp5"][k % 3];
        Clock { mhz: [60.0, 150.0, 250.0][k / 3 % 3], target: target(family).unwrap(), blocks: None }
    };
    let rows = ROWS.iter().map(|row| (row.pairs, graph(row.text)));
    let random = seeds.into_iter().map(|seed| (&[][..], graphs::random_choices(seed, 60)));
    let size = |p: &Pipeline| p.netlist.verilog().expect("a sound netlist").len();
    let pipelines: Vec<(&[(&str, &str)], Pipeline)> = (rows.chain(random).enumerate())
        .flat_map(|(k, (given, g))| both(&g, clock(k)).map(|p| (given, p)))
        .filter(|(_, p)| counts(size(p)))
        .collect();
    let netlists: Vec<Netlist> = pipelines.iter().map(|(_, p)| p.netlist.clone()).collect();
    let Some(mut bench) = built(MultiBench::build_netlists(&netlists)) else { return };
    let r = &mut Random::new(6);
    for (k, (given, p)) in pipelines.iter().enumerate() {
        let params = match given {
            [] => random_records(&p.graph, PinClass::Param, 1, r).swap_remove(0),
            _ => params(&p.graph),
        };
        let mut j: Vec<Vec<u64>> = given.iter().map(|(values, _)| patterns(&p.graph, values)).collect();
        j.extend(random_records(&p.graph, PinClass::Jpin, 300, r));
        let i = random_records(&p.graph, PinClass::Ipin, j.len(), r);
        check(&mut bench, k, p, &i, &j, &params);
    }
}
