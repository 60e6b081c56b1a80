//! A kernel's error against its cost: variants of it, such as those with other widths ([`pg2::vary`]), beside its real-arithmetic
//! semantics on the same data.

use crate::Error;
use crate::backends::{BackendOptions, Entry};
use hdl::circuit::target::Clock;
use hdl::{Flags, Format};
use pg2::backend::build::build;
use pg2::graph::{Graph, PinClass};
use pg2::report::explain::explain;
use pipelines::job::{Backend, Job, Outcome, Run, SourceRange, Table};
use serde::Serialize;

/// Records in the formats of a variant's pins, and the patterns of its parameters.
pub struct Inputs {
    pub targets: Table,
    pub sources: Table,
    pub params: Vec<u64>,
}

impl Inputs {
    /// Every target with every source.
    pub fn run(&self, graph: &Graph, backend: &mut dyn Backend) -> Result<Outcome, Error> {
        let Inputs { targets, sources, params } = self;
        let segments = [SourceRange { first: 0, count: sources.len() }];
        let runs = [Run { first: 0, count: targets.len(), segments: 0..1 }];
        Ok(backend.run(&Job { graph, targets, sources, params, runs: &runs, segments: &segments }, &mut |_| {})?)
    }
}

fn all(flags: &[Flags]) -> Flags {
    flags.iter().fold(Flags::NONE, |a, f| a | *f)
}

/// The results of the kernel as it is written, in real-arithmetic semantics, for the data.
pub struct Reference {
    pub ni: usize,
    pub nj: usize,
    pub flags: Flags,
    /// Formats of the outputs' elements, as the values are held.
    held: Vec<Format>,
    /// A record of values for each target; `None` without sources, whose results mean nothing.
    values: Option<Table>,
}

impl Reference {
    /// Runs the kernel on a backend with real-arithmetic semantics, in whose formats the inputs are.
    pub fn new(graph: &Graph, backend: &mut dyn Backend, inputs: &Inputs) -> Result<Reference, Error> {
        let outcome = inputs.run(graph, backend)?;
        let held = |(pin, _): (usize, u32)| backend.held(graph.pins[pin].format);
        let held = graph.elements_of(PinClass::Fout).into_iter().map(held).collect();
        let values = (!inputs.sources.is_empty()).then_some(outcome.results);
        let (ni, nj) = (inputs.targets.len(), inputs.sources.len());
        Ok(Reference { ni, nj, flags: all(&outcome.flags), held, values })
    }
}

impl Reference {
    /// The greatest magnitude of an output's element.
    pub fn most(&self, element: usize) -> f64 {
        let values = self.values.iter().flat_map(|v| (0..v.len()).map(|k| v.record(k)[element]));
        values.map(|bits| self.held[element].to_f64(bits).abs()).fold(0.0, f64::max)
    }
}

/// The error of an output.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OutputError {
    pub output: String,
    /// The root of the summed squares of the differences, over that of the reference.
    pub rel_l2: f64,
    /// The largest difference over the largest reference.
    pub rel_max: f64,
}

/// The errors of a variant on some data.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    pub errors: Vec<OutputError>,
    /// The flags that any target raised.
    pub flags: Flags,
}

impl Measured {
    /// Runs a variant on a backend that gives its bits, on one thread: variants are spread over the cores.
    pub fn new(graph: &Graph, backend: &Entry, inputs: &Inputs, reference: &Reference) -> Result<Measured, Error> {
        let options = BackendOptions { threads: 1, ..BackendOptions::default() };
        let outcome = inputs.run(graph, &mut *(backend.open)(&options))?;
        Ok(Measured { errors: errors(graph, &outcome.results, reference), flags: all(&outcome.flags) })
    }
}

/// A variant with its cost, and how far it is off.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Point {
    /// Of a lane, its accumulators included.
    pub register_bits: u64,
    /// Over all multipliers, the product of their operands' widths.
    pub multiplier_bits: u64,
    pub table_bits: u64,
    /// Bits in memory: of values that wait, on targets where they do, and of the lane around the pipeline.
    pub memory_bits: u64,
    pub multipliers: u32,
    pub cycles: u32,
    /// The largest `rel_l2`.
    pub error: f64,
    pub errors: Vec<OutputError>,
    pub flags: Vec<&'static str>,
}

impl Point {
    /// Runs a variant on a backend that gives its bits, on one thread, and builds its pipeline.
    pub fn new(
        graph: &Graph,
        clock: Clock,
        backend: &Entry,
        inputs: &Inputs,
        reference: &Reference,
    ) -> Result<Point, Error> {
        let Measured { errors, flags } = Measured::new(graph, backend, inputs, reference)?;
        let built = build(graph, clock, "", Vec::new());
        let account = explain(&built, "");
        Ok(Point {
            register_bits: account.register_bits(),
            multiplier_bits: account.multiplier_bits(),
            table_bits: account.rom_bits(),
            memory_bits: account.memory_bits + account.lane.memory_bits,
            multipliers: account.multipliers(),
            cycles: account.depth,
            error: errors.iter().fold(0.0, |a, e| a.max(e.rel_l2)),
            errors,
            flags: flags.names(),
        })
    }

    /// The costs: bits of registers, multipliers and tables.
    pub fn costs(&self) -> [u64; 3] {
        [self.register_bits, self.multiplier_bits, self.table_bits]
    }

    /// Whether it is at most as costly as another in every respect and as exact, and better in one.
    fn dominates(&self, other: &Point) -> bool {
        let costs = self.costs().into_iter().zip(other.costs());
        let no_worse = self.error <= other.error && costs.clone().all(|(a, b)| a <= b);
        no_worse && (self.error < other.error || costs.clone().any(|(a, b)| a < b))
    }
}

/// Of each point whether no other dominates it.
pub fn front(points: &[&Point]) -> Vec<bool> {
    points.iter().map(|b| !points.iter().any(|a| a.dominates(b))).collect()
}

/// The error of each output against the reference.
pub fn errors(graph: &Graph, results: &Table, reference: &Reference) -> Vec<OutputError> {
    let of_pin = |(pin, of_pin): (usize, &pg2::graph::Pin)| {
        let elements = (0..graph.outputs.len()).filter(|k| graph.outputs[*k].pin == pin);
        let (mut off2, mut all2, mut off, mut all) = (0.0, 0.0, 0f64, 0f64);
        for element in elements {
            let held = reference.held[element];
            for k in 0..reference.values.as_ref().map_or(0, Table::len) {
                let right = reference.values.as_ref().map_or(0, |v| v.record(k)[element]);
                let wanted = held.to_f64(right);
                let found = results.record(k)[element];
                let distance = difference(of_pin.format, found, held, right).abs();
                (off2, all2) = (off2 + distance * distance, all2 + wanted * wanted);
                (off, all) = (off.max(distance), all.max(wanted.abs()));
            }
        }
        let over = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a / b };
        OutputError { output: of_pin.name.clone(), rel_l2: over(off2, all2).sqrt(), rel_max: over(off, all) }
    };
    graph.pins_of(PinClass::Fout).map(of_pin).collect()
}

/// The relative error of an output at each target: over all elements, the root of the summed squares of the differences, over that of
/// the reference.
pub fn errors_of_targets(graph: &Graph, results: &Table, reference: &Reference, output: &str) -> Vec<f64> {
    let is_its = |k: &usize| graph.pins[graph.outputs[*k].pin].name == output;
    let elements: Vec<usize> = (0..graph.outputs.len()).filter(is_its).collect();
    let Some(values) = &reference.values else { return Vec::new() };
    let of_target = |k: usize| {
        let (mut off2, mut all2) = (0.0, 0.0);
        for &element in &elements {
            let (held, right) = (reference.held[element], values.record(k)[element]);
            let format = graph.pins[graph.outputs[element].pin].format;
            off2 += difference(format, results.record(k)[element], held, right).powi(2);
            all2 += held.to_f64(right).powi(2);
        }
        if off2 == 0.0 { 0.0 } else { (off2 / all2).sqrt() }
    };
    (0..values.len()).map(of_target).collect()
}

/// `a - b`. Ints and fixeds are subtracted before they are rounded to f64.
fn difference(format_a: Format, a: u64, format_b: Format, b: u64) -> f64 {
    let rounded = || format_a.to_f64(a) - format_b.to_f64(b);
    let (Some(frac_a), Some(frac_b)) = (format_a.frac(), format_b.frac()) else { return rounded() };
    let frac = frac_a.max(frac_b);
    let places = |format: Format, bits: u64, own: u32| format.to_int(bits).checked_mul(1i128.checked_shl(frac - own)?);
    let exact = || places(format_a, a, frac_a)?.checked_sub(places(format_b, b, frac_b)?);
    exact().map_or_else(rounded, |n| n as f64 * 2f64.powi(-(frac as i32)))
}
