//! The whole language in small kernels: the reference, the emulator and the Verilog give what plain arithmetic says.

mod blocks;
mod cases;
mod sums;

use crate::common::built;
use cases::Case;
use hdl::circuit::target::Clock;
use hdl::engine::protocol::Segment;
use hdl::number::reduce::Ranked;
use hdl::{Flags, Format, Reduce};
use pg2::backend::build::{Built, build};
use pg2::graph::{Graph, PinClass};
use sim::bench::MultiBench;
use sim::emulator::Emulator;
use sim::stimuli::{Random, Style, corner_records, records};

const TARGETS: usize = 7;
const SOURCES: usize = 90;
const SETTINGS: u64 = 3;

fn all() -> Vec<&'static Case> {
    cases::CASES.iter().chain(blocks::CASES).chain(sums::CASES).collect()
}

fn graph(case: &Case) -> Graph {
    pg2::compile("kernel", case.text).unwrap_or_else(|e| panic!("{}: {e:#?}", case.text)).graph
}

/// Targets, sources and parameters.
struct Inputs {
    i: Vec<Vec<u64>>,
    j: Vec<Vec<u64>>,
    params: Vec<u64>,
}

impl Inputs {
    fn new(case: &Case, graph: &Graph, seed: u64) -> Inputs {
        let random = &mut Random::new(seed);
        let style = if case.ordinary { Style::Ordinary } else { Style::Wild { anchor: 0x0123_4567_89ab_cdef * seed } };
        let mut of = |class, n| records(graph, class, n, style, random);
        let (i, mut j) = (of(PinClass::Ipin, TARGETS), of(PinClass::Jpin, SOURCES));
        // A few records settle before the setting of the parameters is taken.
        let params = of(PinClass::Param, 5).swap_remove(4);
        if !case.ordinary {
            j.extend(corner_records(graph, PinClass::Jpin).into_iter().skip(seed as usize).step_by(2).take(60));
        }
        Inputs { i, j, params }
    }

    fn row(&self, i: &[u64], j: &[u64]) -> Vec<u64> {
        [i, j, &self.params].concat()
    }
}

/// The integer of a pattern, or the pattern itself of a float or log.
fn number(format: Format, bits: u64) -> i128 {
    let sign = format.is_integral() && format.is_signed() && bits >> (format.width() - 1) & 1 == 1;
    bits as i128 - if sign { 1 << format.width() } else { 0 }
}

fn formats(graph: &Graph, class: PinClass) -> Vec<Format> {
    graph.elements_of(class).iter().map(|(pin, _)| graph.pins[*pin].format).collect()
}

/// The reference result of a pair: the outputs' patterns and the flags.
fn means(case: &Case, graph: &Graph, row: &[u64]) -> (Vec<u64>, u8) {
    let inputs = [PinClass::Ipin, PinClass::Jpin, PinClass::Param].map(|c| formats(graph, c)).concat();
    let numbers: Vec<i128> = inputs.iter().zip(row).map(|(f, bits)| number(*f, *bits)).collect();
    let (outputs, flags) = (case.means)(&numbers);
    assert_eq!(outputs.len(), graph.outputs.len(), "{}", case.text);
    let formats = graph.outputs.iter().map(|o| graph.pins[o.pin].format);
    (outputs.iter().zip(formats).map(|(v, f)| *v as u64 & f.mask()).collect(), flags)
}

/// The place of a pattern in the order of its format.
fn order(format: Format, bits: u64) -> i128 {
    let number = number(format, bits);
    let sign = 1i128 << (format.width() - 1);
    if format.is_sign_magnitude() && number & sign != 0 { -(number & !sign) } else { number }
}

/// All pairs of a target gathered, in wide arithmetic.
fn gather(graph: &Graph, pairs: &[(Vec<u64>, u8)]) -> (Vec<u64>, Flags) {
    let mut flags = pairs.iter().fold(0, |all, p| all | p.1);
    let results = graph.outputs.iter().enumerate().map(|(k, o)| {
        let format = graph.pins[o.pin].format;
        let patterns = pairs.iter().map(|p| p.0[k]);
        match o.reduce {
            Reduce::Max => patterns.max_by_key(|p| order(format, *p)).expect("there are sources"),
            Reduce::Min => patterns.min_by_key(|p| order(format, *p)).expect("there are sources"),
            Reduce::Ranked(place) => ranked(graph, pairs, place)[k],
            Reduce::Sum => {
                let sum: i128 = patterns.map(|p| number(format, p)).sum();
                let bits = sum as u64 & format.mask();
                flags |= if number(format, bits) != sum { Flags::WRAP.0 } else { 0 };
                bits
            }
        }
    });
    (results.collect(), Flags(flags))
}

/// Contents of each output of a selection in the end, by the outputs' numbers; 0 for all others. There are sources for all places.
fn ranked(graph: &Graph, pairs: &[(Vec<u64>, u8)], of: Ranked) -> Vec<u64> {
    let places = graph.outputs.iter().enumerate().filter_map(|(k, o)| match o.reduce {
        Reduce::Ranked(place) if place.selection == of.selection => Some((place, k)),
        _ => None,
    });
    let places: Vec<(Ranked, usize)> = places.collect();
    let mut best: Vec<&(Ranked, usize)> = places.iter().filter(|p| p.0.rank == 0).collect();
    best.sort_by_key(|p| p.0.member);
    let key = |pair: &(Vec<u64>, u8)| -> Vec<i128> {
        let one = |(place, k): &&(Ranked, usize)| {
            let key = order(graph.pins[graph.outputs[*k].pin].format, pair.0[*k]);
            if place.member == 0 && place.greatest { -key } else { key }
        };
        best.iter().map(one).collect()
    };
    let mut sorted: Vec<&(Vec<u64>, u8)> = pairs.iter().collect();
    sorted.sort_by_key(|pair| key(pair));
    let mut results = vec![0; graph.outputs.len()];
    for (place, k) in &places {
        results[*k] = sorted[place.rank as usize].0[best[place.member as usize].1];
    }
    results
}

#[test]
fn the_reference_and_the_emulator_give_what_kernels_mean() {
    for case in all() {
        let graph = graph(case);
        for seed in 1..=SETTINGS {
            let inputs = Inputs::new(case, &graph, seed);
            let mut emulator = Emulator::new(&pg2::middle::simplify::simplify(&graph));
            emulator.set_params(&inputs.params);
            let mut sources = emulator.sources(inputs.j.len());
            emulator.load(&mut sources, 0, &inputs.j.concat());
            let segments = [Segment { first: 0, count: inputs.j.len() as u32 }];
            let mut scratch = emulator.scratch();
            for i in &inputs.i {
                let mut pairs = Vec::new();
                for j in &inputs.j {
                    let row = inputs.row(i, j);
                    let meant = means(case, &graph, &row);
                    let (values, flags) = sim::reference::pair(&graph, i, j, &inputs.params);
                    let got: Vec<u64> = graph.outputs.iter().map(|o| values[o.value.0 as usize]).collect();
                    assert_eq!((got, flags.0), meant, "{} with {row:x?}", case.text);
                    pairs.push(meant);
                }
                let meant = gather(&graph, &pairs);
                let target = sim::reference::target(&graph, i, &inputs.j, &inputs.params);
                assert_eq!(target, meant, "{}", case.text);
                let mut sums = [emulator.start()];
                emulator.accumulate(&mut scratch, &mut sums, i, &sources, &segments);
                assert_eq!(sums[0].finish(), meant, "{}", case.text);
            }
        }
    }
}

/// The characters of Verilog that take long to compile, as of quotients of 64 bits.
const LARGE: usize = 150_000;

#[test]
fn the_verilog_gives_what_kernels_mean() {
    the_verilog_gives_the_meaning(|size| size <= LARGE);
}

#[test]
#[ignore = "a proof in depth"]
fn the_verilog_gives_what_large_kernels_mean() {
    the_verilog_gives_the_meaning(|size| size > LARGE);
}

/// The cases whose Verilog has a size that counts.
fn the_verilog_gives_the_meaning(counts: impl Fn(usize) -> bool) {
    let clock = |k: usize| Clock { mhz: [60.0, 150.0, 250.0][k % 3], ..Clock::default_clock() };
    let compile = |(k, case): (usize, &'static Case)| {
        let graph = graph(case);
        let built = build(&graph, clock(k), case.text, Vec::new());
        (case, graph, built)
    };
    let of_size = |built: &Built| counts(built.netlist.verilog().expect("a sound netlist").len());
    let made = all().into_iter().enumerate().map(compile).filter(|(_, _, built)| of_size(built));
    let (mut cases, mut graphs, mut pipelines) = (Vec::new(), Vec::new(), Vec::new());
    for (case, graph, built) in made {
        cases.push(case);
        graphs.push(graph);
        pipelines.push(built);
    }
    assert!(!cases.is_empty());
    let netlists: Vec<_> = pipelines.iter().map(|b| b.plain()).collect();
    let Some(mut bench) = built(MultiBench::build_netlists(&netlists)) else { return };
    for seed in 1..=SETTINGS {
        let mut rows = Vec::new();
        for (k, case) in cases.iter().enumerate() {
            let inputs = Inputs::new(case, &graphs[k], seed);
            let pairs = inputs.i.iter().flat_map(|i| inputs.j.iter().map(|j| inputs.row(i, j)));
            // Parameters stand still before and after the pairs that count.
            let still = vec![inputs.row(&inputs.i[0], &inputs.j[0]); pipelines[k].schedule.depth as usize];
            rows.push([still.clone(), pairs.collect(), still].concat());
        }
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        for row in &mut rows {
            let last = row.last().expect("there are pairs").clone();
            row.resize(longest, last);
        }
        let out = bench.run_all(&rows);
        for (k, case) in cases.iter().enumerate() {
            let depth = pipelines[k].schedule.depth as usize;
            let settled = rows[k].iter().zip(&out[k]).take(longest - depth).skip(depth);
            for (row, got) in settled {
                let (mut meant, flags) = means(case, &graphs[k], row);
                meant.push(flags as u64);
                assert_eq!(got, &meant, "{} with {row:x?}", case.text);
            }
        }
    }
}
