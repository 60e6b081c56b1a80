//! Random programs: the reference, the emulator, the evaluated circuit and the simulated Verilog give the same bits and flags.
//!
//! `CASES=100000` makes it longer, `SEED=7` begins elsewhere; `VERILOG=1000` simulates the pipelines of so many kernels, and
//! `ENGINES=10` whole engines of so many. Failures are made as small as they go and printed as a kernel with its inputs.

mod generate;
pub mod part;
mod verilog;

use hdl::Flags;
use hdl::circuit::target::{Clock, TARGETS};
use hdl::engine::protocol::Segment;
use part::Kernel;
use pg2::backend::build::build;
use pg2::graph::{Graph, PinClass};
use pg2::middle::{merge::evaluator, simplify::simplify};
use rayon::prelude::*;
use sim::emulator::{Emulator, Isa};
use sim::reference;
use sim::stimuli::{Random, Style, corner_records, records};

/// Programs of a usual run, which have all operators together.
const CASES: u64 = 120;
/// Seeds of the kernels whose Verilog is simulated in a usual run: pipelines, and engines. That of the first seeds is as large as
/// that of ten others.
const PIPELINES: std::ops::RangeInclusive<u64> = 4..=11;
const ENGINES: std::ops::RangeInclusive<u64> = 5..=5;
/// Sources of each program, and targets.
const SOURCES: usize = 60;
const TARGETS_OF_EACH: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn compiled(text: &str) -> Option<Graph> {
    pg2::compile("k", text).ok().map(|c| c.graph).filter(|g| g.nodes.len() < 2000)
}

/// Records of all classes of pins.
struct Input {
    i: Vec<Vec<u64>>,
    j: Vec<Vec<u64>>,
    params: Vec<u64>,
}

impl Input {
    fn random(graph: &Graph, seed: u64) -> Input {
        let random = &mut Random::new(seed);
        let mut of = |class, n: usize| {
            let mut list = records(graph, class, n / 2, Style::Wild { anchor: 0 }, random);
            list.extend(records(graph, class, n - n / 2, Style::Ordinary, random));
            let corners = corner_records(graph, class);
            for k in (0..list.len()).step_by(3).filter(|_| !corners.is_empty()) {
                list[k] = corners[random.below(corners.len() as u64) as usize].clone();
            }
            list
        };
        Input {
            i: of(PinClass::Ipin, TARGETS_OF_EACH),
            j: of(PinClass::Jpin, SOURCES),
            params: of(PinClass::Param, 2).swap_remove(1),
        }
    }
}

/// The first difference, if any.
fn difference(graph: &Graph, seed: u64) -> Option<String> {
    let input = Input::random(graph, seed);
    let simple = simplify(graph);
    emulated(graph, &simple, &input)
        .or_else(|| evaluated(graph, &simple, &input, seed))
        .or_else(|| unsound(graph, seed))
}

/// The error in the design of a kernel, if any; each pass panics where its form does not hold together. Building takes longer
/// than the rest, so it is done for every fourth kernel.
fn unsound(graph: &Graph, seed: u64) -> Option<String> {
    let built = seed.is_multiple_of(4).then(|| build(graph, clock(seed), "", Vec::new()))?;
    built.netlist.verify().err().map(|why| format!("the netlist does not verify: {why:?}"))
}

fn emulated(graph: &Graph, simple: &Graph, input: &Input) -> Option<String> {
    for isa in Isa::available() {
        let mut emulator = Emulator::with_isa(simple, isa);
        emulator.set_params(&input.params);
        let mut sources = emulator.sources(input.j.len());
        emulator.load(&mut sources, 0, &input.j.concat());
        // Each source alone, and all of them.
        let alone = (0..input.j.len() as u32).step_by(7).map(|first| Segment { first, count: 1 });
        for segment in alone.chain([Segment { first: 0, count: input.j.len() as u32 }]) {
            let mut sums = vec![emulator.start(); input.i.len()];
            emulator.accumulate(&mut emulator.scratch(), &mut sums, &input.i.concat(), &sources, &[segment]);
            let j = &input.j[segment.first as usize..][..segment.count as usize];
            for (i, sum) in input.i.iter().zip(&sums) {
                let (got, want) = (sum.finish(), reference::target(graph, i, j, &input.params));
                if got != want {
                    let j = if j.len() == 1 { format!("{:x?}", j[0]) } else { format!("{} sources", j.len()) };
                    let at = format!("i = {i:x?}, j = {j}, params = {:x?}", input.params);
                    return Some(format!("{at}\nemulator on {isa}: {got:x?}\nreference: {want:x?}"));
                }
            }
        }
    }
    None
}

/// A target, a clock, and a budget of multiplier blocks.
fn clock(seed: u64) -> Clock {
    let random = &mut Random::new(seed);
    let target = &TARGETS[random.below(TARGETS.len() as u64) as usize];
    let mhz = [target.usual_mhz, target.usual_mhz, 25.0, 80.0, 200.0, 400.0][random.below(6) as usize];
    let blocks = [None, None, Some(0), Some(1), Some(4)][random.below(5) as usize];
    Clock { target, mhz, blocks }
}

/// The merged circuit with its terms put together.
fn evaluated(graph: &Graph, simple: &Graph, input: &Input, seed: u64) -> Option<String> {
    let clock = clock(seed);
    // Nothing loads the memories of a circuit.
    let bound = simple.bound(&input.params, false);
    let mut e = evaluator(bound.as_ref().unwrap_or(simple), clock);
    let pairs: Vec<(&Vec<u64>, &Vec<u64>)> = input.i.iter().flat_map(|i| input.j.iter().map(move |j| (i, j))).collect();
    let port = |name: &str| {
        let classes = [PinClass::Ipin, PinClass::Jpin, PinClass::Param];
        let place = |class| graph.elements_of(class).iter().position(|(pin, e)| graph.port(*pin, *e) == name);
        let (class, k) = classes.iter().find_map(|c| place(*c).map(|k| (*c, k))).expect("a port is that of a pin");
        pairs.iter().map(|(i, j)| [&i[..], &j[..], &input.params][class as usize][k]).collect::<Vec<u64>>()
    };
    let columns: Vec<Vec<u64>> = e.inputs().to_vec().iter().map(|p| port(&p.name)).collect();
    let got = e.run(&columns);
    for (k, (i, j)) in pairs.iter().enumerate() {
        let (values, flags) = reference::pair(graph, i, j, &input.params);
        let mut want: Vec<u128> = graph.outputs.iter().map(|o| values[o.value.0 as usize] as u128).collect();
        want.push((0..Flags::COUNT).filter(|k| flags.intersects(Flags(1 << k))).map(|k| 1 << k).sum());
        let got: Vec<u128> = got.iter().map(|column| column[k]).collect();
        if got != want {
            let at = format!("i = {i:x?}, j = {j:x?}, params = {:x?}", input.params);
            let Clock { target, mhz, blocks } = clock;
            let at = format!("{at}\ncircuit on {} at {mhz} MHz, multiplier blocks {blocks:?}", target.name);
            return Some(format!("{at}: {got:x?}\nreference: {want:x?} (outputs, then flags)"));
        }
    }
    None
}

/// The same of a text, where a panic is a difference too.
fn found(text: &str, seed: u64) -> Option<String> {
    let whole = std::panic::AssertUnwindSafe(|| difference(&compiled(text)?, seed));
    std::panic::catch_unwind(whole).unwrap_or_else(|_| Some("it panics".into()))
}

/// Whether a text compiles, or ends in a panic, which is to be found then.
fn compiles(text: &str) -> bool {
    std::panic::catch_unwind(|| compiled(text).is_some()).unwrap_or(true)
}

/// Kernels that are one step smaller.
fn smaller(kernel: &Kernel) -> Vec<Kernel> {
    let simpler = ["int8", "uint8", "fixed8.8", "fixed12.5", "float8.3", "float18.9", "log9.4", "log17.8"];
    let text = kernel.text();
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '.')).filter(|w| w.parse::<hdl::Format>().is_ok());
    let renamed = words.flat_map(|w| simpler.map(|to| (w.to_string(), to))).filter(|(from, to)| from.len() > to.len());
    let renamed: Vec<Kernel> = renamed.map(|(from, to)| kernel.in_format(&from, to)).collect();
    kernel.smaller().into_iter().chain(renamed).filter(|k| k.text().len() < text.len()).collect()
}

/// Removes and replaces parts as long as something differs.
fn shrunk(mut kernel: Kernel, seed: u64) -> (String, String) {
    loop {
        match smaller(&kernel).into_iter().find(|k| found(&k.text(), seed).is_some()) {
            Some(smaller) => kernel = smaller,
            None => {
                let text = kernel.text();
                let what = found(&text, seed).unwrap_or_default();
                break (text, what);
            }
        }
    }
}

/// The kernel of a seed.
pub fn random_kernel(seed: u64) -> Kernel {
    let kernel = generate::kernel(&mut Random::new(seed), &compiles);
    assert!(compiles(&kernel.text()), "it compiles:\n{}", kernel.text());
    kernel
}

/// The seeds of a run: `usual`, or as many as a variable says.
fn seeds(count: &str, usual: std::ops::RangeInclusive<u64>) -> std::ops::RangeInclusive<u64> {
    let count = number(count).unwrap_or(usual.end() - usual.start() + 1);
    let first = number("SEED").unwrap_or(*usual.start());
    println!("{count} kernels from seed {first} on");
    first..=first + count - 1
}

#[test]
fn random_kernels_have_the_same_bits_everywhere() {
    have_the_same_bits(seeds("CASES", 1..=CASES));
}

#[test]
#[ignore = "a proof in depth"]
fn many_random_kernels_have_the_same_bits_everywhere() {
    have_the_same_bits(CASES + 1..=1500);
}

fn have_the_same_bits(seeds: std::ops::RangeInclusive<u64>) {
    let wrong: Vec<String> = (seeds.clone().into_par_iter())
        .filter_map(|seed| {
            let kernel = random_kernel(seed);
            found(&kernel.text(), seed)?;
            let (text, what) = shrunk(kernel, seed);
            Some(format!("SEED={seed}:\n{text}{what}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} kernels of {seeds:?}:\n\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n\n"));
}

/// In one simulation each takes about a second of the compiler's time.
#[test]
fn pipelines_of_random_kernels_have_the_same_bits_in_verilog() {
    pipelines_have_the_same_bits(seeds("VERILOG", PIPELINES));
}

#[test]
#[ignore = "a proof in depth"]
fn pipelines_of_many_random_kernels_have_the_same_bits_in_verilog() {
    pipelines_have_the_same_bits(1..=40);
}

fn pipelines_have_the_same_bits(seeds: std::ops::RangeInclusive<u64>) {
    let kernels: Vec<(Kernel, u64)> = seeds.clone().map(|seed| (random_kernel(seed), seed)).collect();
    let Some(wrong) = verilog::pipelines(&kernels) else { return };
    assert!(wrong.is_empty(), "{} kernels of {seeds:?}:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn engines_of_random_kernels_give_the_sums_of_the_reference() {
    engines_give_the_sums(seeds("ENGINES", ENGINES));
}

#[test]
#[ignore = "a proof in depth"]
fn engines_of_many_random_kernels_give_the_sums_of_the_reference() {
    engines_give_the_sums(1..=16);
}

fn engines_give_the_sums(mut seeds: std::ops::RangeInclusive<u64>) {
    // Without Verilator none is simulated.
    let _ = seeds.all(|seed| verilog::engine(&random_kernel(seed).text(), seed));
}

#[test]
fn random_kernels_use_the_whole_library() {
    let mut used = std::collections::BTreeSet::new();
    for seed in 1..=CASES {
        let graph = compiled(&random_kernel(seed).text()).expect("it compiles");
        used.extend(graph.nodes.iter().filter_map(|n| match &n.kind {
            pg2::graph::NodeKind::Op { op, .. } => Some(op.name()),
            _ => None,
        }));
    }
    let all = hdl::op::OPERATORS.iter().map(|op| op.name());
    let missing: Vec<&str> = all.filter(|name| !used.contains(name)).collect();
    assert!(missing.is_empty(), "no random kernel has {missing:?}");
}
