//! One point of an exploration: a variant of the kernel, what it costs and how far it is off.

use super::{Axis, Reference};
use crate::cmd::run::{columns, parameters};
use hdl::circuit::target::Clock;
use hdl::{Flags, Format};
use pairforge::backends::{BackendOptions, Entry};
use pg2::graph::{Graph, PinClass};
use pg2::vary::variant;
use pipelines::job::{Job, Run, SourceRange, Table};
use serde::Serialize;
use terminal::csv::Text;
use terminal::failure::Failure;
use terminal::source;

/// The inputs that all points share.
pub struct Data<'a> {
    /// Where the points run.
    pub backend: &'static Entry,
    pub kernel: &'a source::Kernel,
    pub axes: &'a [Axis],
    pub clock: Clock,
    pub i: &'a Text,
    pub j: &'a Text,
    pub params: &'a [String],
    pub reference: &'a Reference,
}

/// How far an output is off.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Error {
    pub output: String,
    /// The root of the summed squares of the differences, over that of the reference.
    pub rel_l2: f64,
    /// The largest difference over the largest reference.
    pub rel_max: f64,
}

/// A point that could be run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Point {
    pub numbers: Vec<i64>,
    /// Formats, or a constant's numbers, as the variant writes them.
    pub written: Vec<String>,
    /// Whether these are the numbers of the file.
    pub as_written: bool,
    pub register_bits: u64,
    /// Over all multipliers, the product of their operands' widths.
    pub multiplier_bits: u64,
    pub table_bits: u64,
    /// Bits that wait in memory, on targets where they do.
    pub memory_bits: u64,
    pub multipliers: u32,
    pub cycles: u32,
    /// The largest `rel_l2`.
    pub error: f64,
    pub errors: Vec<Error>,
    pub flags: Vec<&'static str>,
    /// Whether no other point is at most as costly in every respect and as exact, and better in one.
    pub front: bool,
}

impl Point {
    /// The costs: bits of registers, multipliers and tables.
    pub fn costs(&self) -> [u64; 3] {
        [self.register_bits, self.multiplier_bits, self.table_bits]
    }
}

/// A point that could not be run, and why.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failed {
    pub numbers: Vec<i64>,
    pub reason: String,
}

impl Data<'_> {
    /// Compiles, builds and emulates the variant with these numbers.
    pub fn point(&self, numbers: &[i64]) -> Result<Point, Failed> {
        let failed = |reason: String| Failed { numbers: numbers.to_vec(), reason };
        let varied: Vec<_> = self.axes.iter().map(|a| &a.varied).zip(numbers.iter().copied()).collect();
        let kernel = self.kernel.with_text(variant(&self.kernel.text, &varied));
        let graph = source::graph(&kernel).map_err(|found| failed(first_error(&kernel, &found)))?;
        let (errors, flags) = self.errors(&graph).map_err(|e| failed(plain(e)))?;
        let built = pg2::backend::build::build(&graph, self.clock, "", Vec::new());
        let account = pg2::report::explain::explain(&built, "");
        let present = |(a, n): (&Axis, &i64)| a.varied.present(&self.kernel.text) == Some(*n);
        Ok(Point {
            numbers: numbers.to_vec(),
            written: varied.iter().map(|(v, n)| v.written(*n)).collect(),
            as_written: self.axes.iter().zip(numbers).all(present),
            register_bits: account.register_bits(),
            multiplier_bits: account.multiplier_bits(),
            table_bits: account.rom_bits(),
            memory_bits: account.memory_bits,
            multipliers: account.multipliers(),
            cycles: account.depth,
            error: errors.iter().fold(0.0, |a, e| a.max(e.rel_l2)),
            errors,
            flags: flags.names(),
            front: false,
        })
    }

    fn errors(&self, graph: &Graph) -> Result<(Vec<Error>, Flags), Failure> {
        let targets = self.i.table(&columns(graph, PinClass::Ipin), false)?.0;
        let sources = self.j.table(&columns(graph, PinClass::Jpin), false)?.0;
        let params = parameters(&columns(graph, PinClass::Param), self.params, false)?;
        let segments = [SourceRange { first: 0, count: sources.len() }];
        let runs = [Run { first: 0, count: targets.len(), segments: 0..1 }];
        let job =
            Job { graph, targets: &targets, sources: &sources, params: &params, runs: &runs, segments: &segments };
        // The points themselves are spread over the cores.
        let options = BackendOptions { threads: 1, ..BackendOptions::default() };
        let mut backend = (self.backend.open)(&options);
        let outcome = backend.run(&job, &mut |_| {})?;
        let mut errors: Vec<Error> = Vec::new();
        for (pin, of_pin) in graph.pins_of(PinClass::Fout) {
            let elements: Vec<usize> = (0..graph.outputs.len()).filter(|k| graph.outputs[*k].pin == pin).collect();
            let (mut off2, mut all2, mut off, mut all) = (0.0, 0.0, 0f64, 0f64);
            for &element in &elements {
                let held = self.reference.columns[element].held;
                for k in 0..self.reference.values.as_ref().map_or(0, Table::len) {
                    let reference = self.reference.values.as_ref().map_or(0, |v| v.record(k)[element]);
                    let wanted = held.to_f64(reference);
                    let found = outcome.results.record(k)[element];
                    let distance = difference(of_pin.format, found, held, reference).abs();
                    (off2, all2) = (off2 + distance * distance, all2 + wanted * wanted);
                    (off, all) = (off.max(distance), all.max(wanted.abs()));
                }
            }
            let over = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a / b };
            errors.push(Error {
                output: of_pin.name.clone(),
                rel_l2: over(off2, all2).sqrt(),
                rel_max: over(off, all),
            });
        }
        Ok((errors, outcome.flags.iter().fold(Flags::NONE, |a, f| a | *f)))
    }
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

/// The first error of a variant in one line.
fn first_error(kernel: &source::Kernel, found: &[pg2::diag::Diagnostic]) -> String {
    let Some(d) = found.first() else { return "it does not compile".into() };
    let line = kernel.text[..d.span().start.min(kernel.text.len())].matches('\n').count() + 1;
    format!("{} line {line}: {}", d.code, d.message)
}

fn plain(e: Failure) -> String {
    e.text().trim_start_matches("error: ").to_string()
}

/// Marks the points that no other dominates.
pub fn mark_front(points: &mut [Point]) {
    let dominates = |a: &Point, b: &Point| {
        let costs = a.costs().into_iter().zip(b.costs());
        let no_worse = a.error <= b.error && costs.clone().all(|(a, b)| a <= b);
        no_worse && (a.error < b.error || costs.clone().any(|(a, b)| a < b))
    };
    let front: Vec<bool> = points.iter().map(|b| !points.iter().any(|a| dominates(a, b))).collect();
    points.iter_mut().zip(front).for_each(|(p, front)| p.front = front);
}
