//! The simulated Verilog of random kernels: pipelines, many in one simulation, and whole engines.

use super::{Input, clock, compiled};
use crate::common::{self, Kernel as Simulated, Work, built};
use hdl::Flags;
use hdl::rtl::netlist::Netlist;
use pg2::backend::build::build;
use pg2::backend::lower::lower;
use pg2::graph::{Graph, PinClass};
use pg2::middle::{bins::gathered, schedule::schedule, simplify::simplify};
use sim::bench::MultiBench;
use sim::cycle::{CycleOptions, Noise};
use sim::reference;
use sim::stimuli::Style;

/// A kernel's text with the seed of its inputs, clock and target.
pub type Case = (String, u64);

/// Kernels of one simulation: a simulation of more takes longer to compile than two of fewer.
const TOGETHER: usize = 24;

/// The pipeline, and the cycles that it takes: cut as one circuit, or operator by operator, as kernels of thousands of
/// operators are.
fn pipeline(graph: &Graph, seed: u64) -> (Netlist, u32) {
    let clock = clock(seed);
    let netlist = if seed.is_multiple_of(3) {
        let simple = simplify(graph);
        let whole = lower(&simple, &schedule(&simple, clock), clock, "");
        hdl::engine::plain_pipeline(&graph.layout(), &whole)
    } else {
        build(graph, clock, "", Vec::new()).plain()
    };
    let latency = netlist.module(&netlist.top).expect("a netlist has its top").latency;
    (netlist, latency)
}

/// Rows of pin values in port order. Parameters stand still before and behind the pairs that count.
fn rows(input: &Input, settle: usize) -> Vec<Vec<u64>> {
    let pairs = input.i.iter().flat_map(|i| input.j.iter().map(move |j| [&i[..], j, &input.params].concat()));
    let pairs: Vec<Vec<u64>> = pairs.collect();
    let idle = std::iter::repeat_n(pairs[0].clone(), settle);
    idle.clone().chain(pairs).chain(idle).collect()
}

/// The graph whose outputs the pipeline has: built as a whole, one that is indexed by its place and its value.
fn as_built(graph: &Graph, seed: u64) -> Graph {
    if seed.is_multiple_of(3) { graph.clone() } else { gathered(graph) }
}

/// The graph's results for all pairs: outputs, then flags.
fn wanted(graph: &Graph, input: &Input) -> Vec<Vec<u64>> {
    let pair = |(i, j): (&Vec<u64>, &Vec<u64>)| {
        let (values, flags) = reference::pair(graph, i, j, &input.params);
        let mut row: Vec<u64> = graph.outputs.iter().map(|o| values[o.value.0 as usize]).collect();
        row.push((0..Flags::COUNT).filter(|k| flags.intersects(Flags(1 << k))).map(|k| 1 << k).sum());
        row
    };
    input.i.iter().flat_map(|i| input.j.iter().map(move |j| (i, j))).map(pair).collect()
}

/// For each case what its simulated pipeline computes otherwise than the reference; `None` if Verilator is absent.
fn differences(cases: &[Case]) -> Option<Vec<Option<String>>> {
    let mut all = Vec::new();
    for batch in cases.chunks(TOGETHER) {
        let graphs: Vec<Graph> = batch.iter().map(|(text, _)| compiled(text).expect("it compiles")).collect();
        let inputs: Vec<Input> = graphs.iter().zip(batch).map(|(g, (_, seed))| Input::random(g, *seed)).collect();
        // Nothing loads the memories of a pipeline alone.
        let bound = |(g, input): (Graph, &Input)| g.bound(&input.params, false).unwrap_or(g);
        let graphs: Vec<Graph> = graphs.into_iter().zip(&inputs).map(bound).collect();
        let made: Vec<(Netlist, u32)> = graphs.iter().zip(batch).map(|(g, (_, seed))| pipeline(g, *seed)).collect();
        let netlists: Vec<Netlist> = made.iter().map(|m| m.0.clone()).collect();
        let mut bench = built(MultiBench::build_netlists(&netlists))?;
        let rows = |((input, m), g): ((&Input, &(Netlist, u32)), &Graph)| {
            let ports: usize =
                [PinClass::Ipin, PinClass::Jpin, PinClass::Param].iter().map(|c| g.ports_of(*c).len()).sum();
            let mut rows = rows(input, m.1 as usize);
            rows.iter_mut().for_each(|row| row.truncate(ports));
            rows
        };
        let rows: Vec<_> = inputs.iter().zip(&made).zip(&graphs).map(rows).collect();
        let outputs = bench.run_all(&rows);
        for (k, graph) in graphs.iter().enumerate() {
            let settle = made[k].1 as usize;
            let pairs = wanted(&as_built(graph, batch[k].1), &inputs[k]);
            let wrong = (0..pairs.len()).find(|n| outputs[k][settle + n] != pairs[*n]);
            all.push(wrong.map(|n| {
                let (row, got) = (&rows[k][settle + n], &outputs[k][settle + n]);
                format!(
                    "i, j, params = {row:x?}\nVerilog at {:?}: {got:x?}\nreference: {:x?} (outputs, then flags)",
                    clock(batch[k].1),
                    pairs[n]
                )
            }));
        }
    }
    Some(all)
}

/// The smallest text of those that differ.
fn smallest(cases: Vec<Case>) -> Option<(Case, String)> {
    let found = differences(&cases)?;
    let wrong = cases.into_iter().zip(found).filter_map(|(case, what)| Some((case, what?)));
    wrong.min_by_key(|((text, _), _)| text.len())
}

/// Kernels whose simulated pipelines differ, each made as small as it goes, with what differs.
pub fn pipelines(kernels: &[(super::Kernel, u64)]) -> Option<Vec<String>> {
    let cases: Vec<Case> = kernels.iter().map(|(kernel, seed)| (kernel.text(), *seed)).collect();
    let found = differences(&cases)?;
    let mut report = Vec::new();
    for ((kernel, seed), what) in kernels.iter().zip(found).filter_map(|(k, what)| Some((k, what?))) {
        let (mut kernel, mut what) = (kernel.clone(), what);
        loop {
            let text = kernel.text();
            let smaller: Vec<super::Kernel> =
                super::smaller(&kernel).into_iter().filter(|k| k.text().len() < text.len()).collect();
            let sound: Vec<&super::Kernel> = smaller.iter().filter(|k| compiled(&k.text()).is_some()).collect();
            let cases = sound.iter().map(|k| (k.text(), *seed)).collect();
            let Some(((best, _), why)) = smallest(cases) else { break };
            kernel = sound.into_iter().find(|k| k.text() == best).expect("it is one of them").clone();
            what = why;
        }
        report.push(format!("SEED={seed}:\n{}{what}", kernel.text()));
    }
    Some(report)
}

/// Runs a kernel on a simulated engine, with one lane group or two, with a pair each clock and folded: sums, their wrap flags and
/// all that surrounds them. `false` if Verilator is absent.
pub fn engine(text: &str, seed: u64) -> bool {
    let ii = [2, 3, 5, 8][seed as usize / 2 % 4];
    let folded = || Simulated::folded("k", text, clock(seed), ii);
    simulated(Simulated::new("k", text), text, seed) && simulated(folded(), text, seed)
}

/// Runs a kernel's pipeline, folded or not, on a simulated engine.
fn simulated(kernel: Simulated, text: &str, seed: u64) -> bool {
    let groups = 1 + (seed % 2) as u32;
    let i_banks = 1 + (seed / 2 % 2) as u32;
    let lanes = [1, 2, 3][seed as usize % 3];
    let stream_bits = [32, 64, 128][seed as usize / 3 % 3];
    let config =
        hdl::engine::Config { groups, i_banks, stream_bits, jmem_records: 1 << 10, ..kernel.config(groups * lanes) };
    let noise = Noise { seed, gap: 0.2, stall: 0.2 };
    let options = CycleOptions { noise, ..CycleOptions::default() };
    let Some(mut engine) = common::engine(&kernel, &config, &options) else { return false };
    for style in [Style::Wild { anchor: 0 }, Style::Ordinary] {
        let work = Work::random(&kernel.graph, 1000, seed, style);
        let outcome = common::simulate(&mut engine, &work);
        common::check(&work, &outcome, &work.expected(&kernel.graph), &format!("SEED={seed}, {config:?}:\n{text}"));
    }
    true
}
