//! Outputs that are reduced by an index known at run time.

use crate::common::{Kernel, Run, Work, check, engine, simulate};
use crate::tables::emulated;
use hdl::Flags;
use hdl::circuit::target::Clock;
use hdl::engine::Config;
use hdl::engine::protocol::Segment;
use sim::cycle::CycleOptions;
use sim::stimuli::Style;

/// A histogram of 40 bins beside a sum and extremes.
const HISTOGRAM: &str = "
int32 hist[40] fout;
int64 s fout;
int8 most fout;
int8 x ipin;
int8 y jpin;
b = (x - y) >> 2;
hist[b] += 1;
s += y;
most max= y;
";

/// Weights of both signs in narrow sums, which wrap; a matrix; words of two, under a condition.
const WEIGHTS: &str = "
int5 w[20] fout;
ufixed40.8 m[4][5] fout;
uint5 i ipin;
uint3 r ipin;
int5 v jpin;
uint3 c jpin;
uint5 k jpin;
w[k] += v;
if (c < 5 && r < 4) { m[r][c] += (ufixed40.8)(uint8)v; } else { m[k & 3][k >> 3] += 0.25; }
";

/// Other reductions, and few elements.
const OTHERS: &str = "
int16 most[3] fout;
uint8 least[20] fout;
int24 n[2] fout;
uint2 t ipin;
uint5 k jpin;
int16 v jpin;
most[t] max= v;
least[k] min= (uint8)v;
if (v > 0) { n[0 < v - 10] += v; }
";

/// Kernels with indexed outputs.
pub const KERNELS: [&str; 3] = [HISTOGRAM, WEIGHTS, OTHERS];

/// Runs whose pairs meet few elements again and again.
fn works(kernel: &Kernel) -> Vec<Work> {
    let mut works: Vec<Work> = (1..4).map(|seed| Work::random(&kernel.graph, 2500, seed, Style::Ordinary)).collect();
    // Sources that differ in few bits, so that neighbours go to one element.
    let mut same = works[0].clone();
    for (k, j) in same.j.iter_mut().enumerate() {
        let like = if k % 7 < 4 { 0 } else { k % 3 };
        j.clone_from(&works[0].j[like]);
    }
    same.runs.push(Run { i: (2, 9), segments: vec![Segment { first: 1, count: 1 }] });
    same.runs.push(Run { i: (4, 6), segments: vec![Segment { first: 0, count: 200 }, Segment { first: 7, count: 3 }] });
    works.push(same);
    works
}

fn simulated(kernel: &Kernel, works: &[Work], config: &Config) {
    let Some(mut engine) = engine(kernel, config, &CycleOptions::default()) else { return };
    for (k, work) in works.iter().enumerate() {
        let Config { pipelines, groups, stream_bits, ii, .. } = config;
        let what = format!("{pipelines} lanes, {groups} groups, {stream_bits} bits, ii {ii}, work {k}");
        check(work, &simulate(&mut engine, work), &work.expected(&kernel.graph), &what);
    }
}

#[test]
fn indexed_outputs_have_the_same_bits_everywhere() {
    for (k, text) in testkit::some(KERNELS.into_iter().enumerate(), 1) {
        let kernel = Kernel::folded("bins", text, Clock::default_clock(), 1);
        let works = works(&kernel);
        for work in &works {
            emulated(&kernel.graph, work, &work.expected(&kernel.graph));
        }
        let shapes = [(1, 1, 32), (3, 1, 64), (8, 2, 128)];
        let (lanes, groups, stream_bits) = shapes[k % shapes.len()];
        simulated(&kernel, &works, &Config { groups, stream_bits, ..kernel.config(lanes) });
        let folded = Kernel::folded("bins", text, Clock::default_clock(), 4);
        simulated(&folded, &works, &folded.config(2));
    }
}

/// HISTOGRAM in plain arithmetic.
#[test]
fn each_pair_adds_to_the_element_of_its_index_and_to_none_outside() {
    let graph = Kernel::new("bins", HISTOGRAM).graph;
    let ys: Vec<i64> = (0..60).map(|k| k * k * 7 % 120 - 60).collect();
    let j: Vec<Vec<u64>> = ys.iter().map(|y| vec![*y as u64 & 0xff]).collect();
    for x in [-70i64, 0, 33, 100] {
        let mut wanted = vec![0u64; 42];
        let mut is_outside = false;
        for y in &ys {
            let b = ((x - y) as i8 >> 2) as i64;
            match usize::try_from(b).ok().filter(|b| *b < 40) {
                Some(b) => wanted[b] += 1,
                None => is_outside = true,
            }
        }
        wanted[40] = ys.iter().sum::<i64>() as u64;
        wanted[41] = *ys.iter().max().unwrap() as u64 & 0xff;
        let (outputs, flags) = sim::reference::target(&graph, &[x as u64 & 0xff], &j, &[]);
        assert_eq!((outputs, flags), (wanted, Flags::INVALID.when(is_outside)), "{x}");
    }
}

/// The files of PG2 in `FILES`, as engines of one lane for ECP5 in Verilog beside them, for tools to look at.
#[test]
#[ignore = "writes what FILES names"]
fn engines_of_files_are_written_as_verilog() {
    let Ok(files) = std::env::var("FILES") else { return };
    for file in files.split_whitespace() {
        let text = std::fs::read_to_string(file).unwrap();
        let target = hdl::circuit::target::target("ecp5").unwrap();
        let clock = Clock { target, mhz: target.usual_mhz, blocks: None };
        let kernel = Kernel::folded("kernel", &text, clock, 1);
        let design = hdl::engine::design(&kernel.config(1), &kernel.pipeline);
        std::fs::write(format!("{file}.v"), design.netlist.verilog().unwrap()).unwrap();
    }
}
