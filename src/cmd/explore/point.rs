//! One point of an exploration: a variant of the kernel, what it costs and how far it is off.

use super::Axis;
use hdl::circuit::target::Clock;
use pairforge::backends::Entry;
use pairforge::kernel::explore::{self, Inputs, Reference};
use pg2::graph::{Graph, PinClass};
use pg2::vary::variant;
use serde::Serialize;
use terminal::csv::{Text, columns, parameters};
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

/// A point that could be run.
#[derive(Serialize)]
pub struct Point {
    pub numbers: Vec<i64>,
    /// Formats, or a constant's numbers, as the variant writes them.
    pub written: Vec<String>,
    /// Whether these are the numbers of the file.
    pub as_written: bool,
    /// Its cost and its error.
    #[serde(flatten)]
    pub of: explore::Point,
    /// Whether no other point is at most as costly in every respect and as exact, and better in one.
    pub front: bool,
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
        let of = self.measured(&graph).map_err(|e| failed(plain(e)))?;
        let present = |(a, n): (&Axis, &i64)| a.varied.present(&self.kernel.text) == Some(*n);
        Ok(Point {
            numbers: numbers.to_vec(),
            written: varied.iter().map(|(v, n)| v.written(*n)).collect(),
            as_written: self.axes.iter().zip(numbers).all(present),
            of,
            front: false,
        })
    }

    fn measured(&self, graph: &Graph) -> Result<explore::Point, Failure> {
        let inputs = Inputs {
            targets: self.i.table(&columns(graph, PinClass::Ipin), false).map_err(Failure::Input)?.0,
            sources: self.j.table(&columns(graph, PinClass::Jpin), false).map_err(Failure::Input)?.0,
            params: parameters(&columns(graph, PinClass::Param), self.params, false)?,
        };
        Ok(explore::Point::new(graph, self.clock, self.backend, &inputs, self.reference)?)
    }
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
    let front = explore::front(&points.iter().map(|p| &p.of).collect::<Vec<_>>());
    points.iter_mut().zip(front).for_each(|(p, front)| p.front = front);
}
