//! Operators and the pipeline in Verilator, on all arguments or on many, against their specification.

use super::{Difference, Use};
use hdl::op::Inst;
use hdl::rtl::netlist::Netlist;
use pg2::backend::build::Built;
use pg2::graph::{Graph, PinClass};
use sim::SimError;
use sim::bench::MultiBench;
use sim::reference;
use sim::stimuli::{Random, Style, is_valid, random, records, valid};
use std::time::Instant;

/// Arguments of at most so many bits together are tried all.
const ALL: u32 = 20;
/// Operators in one simulation, which is compiled as a whole.
const TOGETHER: usize = 24;
/// Rows that are given to a simulation at a time.
const ROWS: usize = 1 << 16;
/// Settings of the parameters.
const SETTINGS: usize = 4;

/// Outcome for one operator.
pub struct Tried {
    pub simulated: u64,
    /// Whether these were all arguments.
    pub all: bool,
    pub seconds: f64,
    pub difference: Option<Difference>,
}

/// Outcome for the pipeline, with a sentence on a difference.
pub struct Pairs {
    pub simulated: u64,
    pub seconds: f64,
    pub difference: Option<String>,
}

/// Simulates operators, each by itself.
pub fn operators(uses: &[Use], samples: u32) -> Result<Vec<Tried>, SimError> {
    let mut all = Vec::new();
    for group in uses.chunks(TOGETHER) {
        let modules = |of: &Use| of.hardware.parts.iter().chain([&of.hardware.module]).cloned().collect::<Vec<_>>();
        let netlists: Vec<Netlist> = group.iter().map(|of| Netlist::new(modules(of))).collect();
        let mut bench = MultiBench::build_netlists(&netlists)?;
        all.extend(group.iter().enumerate().map(|(k, of)| operator(&mut bench, k, of, samples)));
    }
    Ok(all)
}

fn operator(bench: &mut MultiBench, k: usize, of: &Use, samples: u32) -> Tried {
    let begun = Instant::now();
    let all = of.inst.args.iter().map(|f| f.width()).sum::<u32>() <= ALL;
    let rows = if all { every(of.inst) } else { some(of.inst, samples as usize) };
    let mut difference = None;
    for rows in rows.chunks(ROWS) {
        let results = bench.run(k, rows);
        let wrong = rows.iter().zip(&results).find_map(|(args, got)| {
            let found = of.difference(args.clone(), got[0], got.get(1).copied().unwrap_or(0));
            (found.wanted != found.got).then_some(found)
        });
        difference = difference.or(wrong);
    }
    Tried { simulated: rows.len() as u64, all, seconds: begun.elapsed().as_secs_f64(), difference }
}

/// Whether argument `k` can be that pattern.
fn possible(inst: &Inst, k: usize, bits: u64) -> bool {
    let format = inst.args[k];
    let negative = format.is_signed() && bits >> (format.width() - 1) == 1;
    is_valid(format, bits) && !(inst.is_nonneg(k) && negative) && inst.bounds(k).contain(format, bits)
}

/// All rows of arguments.
fn every(inst: &Inst) -> Vec<Vec<u64>> {
    let patterns = |k: usize| (0..=inst.args[k].mask()).filter(|bits| possible(inst, k, *bits)).collect::<Vec<u64>>();
    if inst.same {
        return patterns(0).into_iter().map(|bits| vec![bits; inst.args.len()]).collect();
    }
    (0..inst.args.len()).map(patterns).fold(vec![Vec::new()], |rows, list| {
        rows.iter().flat_map(|row| list.iter().map(|bits| [row.as_slice(), &[*bits]].concat())).collect()
    })
}

/// So many rows, each close to the one before it now and then.
fn some(inst: &Inst, count: usize) -> Vec<Vec<u64>> {
    let mut source = Random::new(1);
    let mut row: Vec<u64> = vec![0; inst.args.len()];
    let mut rows = Vec::with_capacity(count);
    while rows.len() < count {
        for k in 0..row.len() {
            // Equal and neighbouring arguments are where sums cancel.
            let near = if k > 0 && inst.args[k] == inst.args[k - 1] { row[k - 1] } else { row[k] };
            row[k] = fitted(inst, k, random(inst.args[k], near, &mut source), &mut source);
        }
        if inst.same {
            let first = row[0];
            row.fill(first);
        }
        rows.push(row.clone());
    }
    rows
}

/// The pattern itself if argument `k` can be that, else one that it can be.
fn fitted(inst: &Inst, k: usize, bits: u64, source: &mut Random) -> u64 {
    if possible(inst, k, bits) {
        return bits;
    }
    let (format, bounds) = (inst.args[k], inst.bounds(k));
    let span = (bounds.high - bounds.low) as u128 + 1;
    let within = bounds.low + (source.bits() as u128 % span) as i128;
    let sign =
        if format.is_sign_magnitude() && !inst.is_nonneg(k) { bits & !(format.mask() >> 1) & format.mask() } else { 0 };
    valid(format, within as u64 & format.mask() | sign)
}

/// Simulates the whole pipeline, if it can be simulated without an engine.
pub fn pipeline(graph: &Graph, built: &Built, samples: u32) -> Result<Option<Pairs>, SimError> {
    if graph.tables().next().is_some() || !graph.bins.is_empty() {
        return Ok(None);
    }
    let begun = Instant::now();
    let mut bench = MultiBench::build_netlists(&[built.plain()])?;
    let (depth, mut simulated, mut difference) = (built.schedule.depth as usize, 0, None);
    for seed in 0..SETTINGS as u64 {
        let mut source = Random::new(seed);
        // What rests on the parameters alone needs some clocks until it is right.
        let count = depth + (samples as usize).div_ceil(SETTINGS);
        let mut record = |class, n| records(graph, class, n, Style::Wild { anchor: seed }, &mut source);
        let params = record(PinClass::Param, 1).swap_remove(0);
        let (targets, sources) = (record(PinClass::Ipin, count), record(PinClass::Jpin, count));
        let rows: Vec<Vec<u64>> = targets.iter().zip(&sources).map(|(i, j)| [&i[..], j, &params].concat()).collect();
        let results = bench.run(0, &rows);
        for (k, got) in results.iter().enumerate().skip(depth) {
            simulated += 1;
            let (values, flags) = reference::pair(graph, &targets[k], &sources[k], &params);
            let mut wanted: Vec<u64> = graph.outputs.iter().map(|o| values[o.value.0 as usize]).collect();
            wanted.push(flags.0 as u64);
            if difference.is_none() && *got != wanted {
                let text = "the specification gives outputs and flags";
                difference =
                    Some(format!("the pipeline: of pins {:x?} {text} {wanted:x?}, and the Verilog {got:x?}", rows[k]));
            }
        }
    }
    Ok(Some(Pairs { simulated, seconds: begun.elapsed().as_secs_f64(), difference }))
}
