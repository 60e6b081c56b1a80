//! The real-arithmetic semantics of a kernel, without the rounding of floats and logs (RULES N10): a flat program over blocks of sources.
//!
//! Ints and fixeds are what the language says, to the bit and with its flags; floats and logs are f64. Records hold values as
//! [`Real`] has them: patterns of ints and fixeds, and the bits of f64s. Values that no source changes are computed once a
//! target.
//!
//! Blocks are done in vector code ([`lanes`]). Pairs in which a flag may be raised are left to the operators' own semantics, which
//! knows the flags, one after the other.

mod aligned;
mod exp;
mod lanes;
mod numbers;
mod program;
mod selected;

pub use lanes::Gathered;
use lanes::{Frame, Totals};
pub use numbers::{in_numbers, without_equal};
use program::Program;
use selected::Selected;

use hdl::number::reduce::{Accumulator, Selection};
use hdl::op::semantics::Real;
use hdl::op::{Inst, Operator};
use hdl::{Flags, Format, Reduce, Rounding};
use pg2::graph::{Graph, NodeId, NodeKind, Output, PinClass};
use std::collections::HashMap;
use std::ops::Range;

/// Pairs with flags that are done together.
const LANES: usize = 64;

/// A graph as a program.
pub struct RealKernel {
    graph: Graph,
    /// The steps that fill each node's lanes, in the order of the graph's nodes.
    steps: Vec<Step>,
    /// Whether a node depends on constants, parameters and targets alone.
    still: Vec<bool>,
    selections: Vec<Selection>,
    /// The programs of the outputs' values, and of their terms.
    outputs: Program,
    terms: Program,
}

enum Step {
    /// The element of a record of that class.
    Pin(PinClass, usize),
    Const(Real),
    Op {
        op: &'static dyn Operator,
        inst: Inst,
        args: Vec<usize>,
    },
}

/// Sources, element by element.
pub struct RealSources {
    columns: Vec<Vec<Real>>,
}

impl RealSources {
    /// From records of so many elements, one behind the other.
    pub fn new(elements: usize, records: &[u64]) -> RealSources {
        let column = |e| records.iter().skip(e).step_by(elements).map(|bits| Real::of_bits(*bits)).collect();
        RealSources { columns: (0..elements).map(column).collect() }
    }

    /// From the patterns of each element, columns of one length.
    pub fn of_columns(columns: Vec<Vec<Real>>) -> RealSources {
        RealSources { columns }
    }
}

/// A target, and what it meets.
#[derive(Clone, Copy)]
pub struct Pairs<'a> {
    pub i: &'a [u64],
    pub params: &'a [u64],
    pub sources: &'a RealSources,
}

impl Pairs<'_> {
    /// An element of the target or of the parameters.
    fn value(&self, class: PinClass, at: usize) -> u64 {
        if class == PinClass::Ipin { self.i[at] } else { self.params[at] }
    }
}

/// The working memory of an evaluation besides the program; one a thread.
pub struct Scratch {
    outputs: Frame,
    terms: Option<Frame>,
    /// Room for the sums of a target.
    sums: (Vec<Sum>, Vec<Totals>),
    /// Lanes by nodes.
    values: Vec<Real>,
    /// The nodes that raised flags in this block, and those that no source changes, each with its flags.
    raised: Vec<(usize, [Flags; LANES])>,
    still: Vec<(usize, [Flags; LANES])>,
    /// By nodes, the lanes in which the value is demanded: a bit each.
    demanded: Vec<u64>,
}

/// Terms as they are computed.
enum Terms<'a> {
    /// Those of a block, but for the lanes in `apart`.
    Block { frame: &'a Frame, gathered: &'a Gathered, first: usize, apart: &'a [usize] },
    /// One of these.
    One { source: usize, output: usize, x: f64 },
}

/// How an output gathers.
enum Sum {
    Exact(Accumulator),
    /// A sum of numbers, which is infinite where one is beyond the range of f64.
    Number(f64),
    /// The greatest or the least number; `None` before the first.
    Best(Reduce, Option<f64>),
    Ranked,
}

impl RealKernel {
    pub fn new(graph: &Graph) -> RealKernel {
        let mut places = HashMap::new();
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            places.extend(graph.elements_of(class).into_iter().enumerate().map(|(k, e)| (e, (class, k))));
        }
        let mut still: Vec<bool> = Vec::with_capacity(graph.nodes.len());
        let mut steps = Vec::with_capacity(graph.nodes.len());
        for (k, node) in graph.nodes.iter().enumerate() {
            let (step, stands) = match &node.kind {
                NodeKind::Pin { pin, element } => {
                    let (class, at) = places[&(*pin, *element)];
                    (Step::Pin(class, at), class != PinClass::Jpin)
                }
                NodeKind::Const { bits } => {
                    let number = graph.numbers.get(&NodeId(k as u32));
                    (Step::Const(number.map_or_else(|| Real::read(node.format, *bits), |x| Real::number(*x).0)), true)
                }
                NodeKind::Op { op, inst, args } => {
                    let args: Vec<usize> = args.iter().map(|a| a.0 as usize).collect();
                    let stands = args.iter().all(|a| still[*a]);
                    (Step::Op { op: *op, inst: inst.clone(), args }, stands)
                }
            };
            steps.push(step);
            still.push(stands);
        }
        let wanted: Vec<usize> = graph.outputs.iter().map(|o| o.value.0 as usize).collect();
        let outputs = Program::new(graph, &still, &wanted);
        let wanted: Vec<usize> = graph.outputs.iter().map(|o| term(graph, o).0).collect();
        let terms = Program::new(graph, &still, &wanted);
        RealKernel {
            graph: graph.clone(),
            steps,
            still,
            selections: graph.record().selections().to_vec(),
            outputs,
            terms,
        }
    }

    pub fn scratch(&self) -> Scratch {
        let nodes = self.steps.len();
        Scratch {
            outputs: Frame::new(&self.outputs),
            terms: None,
            sums: Default::default(),
            values: vec![Real::default(); nodes * LANES],
            raised: Vec::new(),
            still: Vec::new(),
            demanded: vec![0; nodes],
        }
    }

    /// Some ranges of the sources, for any number of targets.
    pub fn gather(&self, sources: &RealSources, ranges: &[Range<usize>]) -> Gathered {
        Gathered::new(&sources.columns, &self.outputs.elements, ranges)
    }

    /// The values of all outputs for one target over gathered sources, and the flags.
    pub fn target(&self, scratch: &mut Scratch, pair: &Pairs, gathered: &Gathered) -> (Vec<Real>, Flags) {
        let mut values = vec![Real::default(); self.graph.outputs.len()];
        let flags = self.target_into(scratch, pair, gathered, &mut values);
        (values, flags)
    }

    /// The same into `values`.
    pub fn target_into(&self, scratch: &mut Scratch, pair: &Pairs, gathered: &Gathered, values: &mut [Real]) -> Flags {
        let (mut sums, mut totals) = std::mem::take(&mut scratch.sums);
        sums.clear();
        sums.extend(self.graph.outputs.iter().map(|o| Sum::new(o.reduce, self.format(o.pin))));
        totals.clear();
        totals.resize(sums.len(), Totals::ZERO);
        let mut selected: Vec<Selected> = self.selections.iter().map(Selected::new).collect();
        let mut flags = Flags::NONE;
        if !gathered.is_empty() {
            scratch.outputs.target(&self.outputs, gathered.len(), |class, at| pair.value(class, at));
        }
        let mut is_fresh = true;
        for first in (0..gathered.len()).step_by(lanes::LANES) {
            let apart = scratch.outputs.block(&self.outputs, gathered, first);
            for ((sum, totals), result) in sums.iter_mut().zip(&mut totals).zip(&self.outputs.results) {
                match sum {
                    Sum::Number(sum) => *sum += scratch.outputs.sum_of_floats(*result, gathered, first, &apart),
                    Sum::Ranked => {}
                    _ if sum.is_total() => scratch.outputs.add_to(*result, gathered, first, &apart, totals),
                    _ => scratch.outputs.each(*result, gathered, first, &apart, |_, x| sum.add(&[x])),
                }
            }
            for selected in &mut selected {
                let column = |output: &usize| {
                    let mut column = Vec::with_capacity(lanes::LANES);
                    let result = self.outputs.results[*output];
                    scratch.outputs.each(result, gathered, first, &apart, |_, x| column.push(x));
                    column
                };
                let columns: Vec<Vec<Real>> = selected.outputs().iter().map(column).collect();
                selected.add(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>());
            }
            for apart in apart.chunks(LANES) {
                if std::mem::take(&mut is_fresh) {
                    self.stand(scratch, pair);
                }
                let places: Vec<u32> = apart.iter().map(|k| gathered.places[first + k]).collect();
                flags |= self.block(scratch, pair.sources, &places);
                for (sum, o) in sums.iter_mut().zip(&self.graph.outputs) {
                    sum.add(&lanes_of(&scratch.values, o.value.0 as usize)[..places.len()]);
                }
                self.select(&mut selected, scratch, places.len());
            }
        }
        let add = |(sum, totals): (&mut Sum, &Totals)| sum.add_total(totals);
        sums.iter_mut().zip(&totals).for_each(add);
        for ((value, sum), o) in values.iter_mut().zip(&sums).zip(&self.graph.outputs) {
            let raised;
            (*value, raised) = sum.finish(self.format(o.pin));
            flags |= raised;
        }
        for (output, value) in selected.iter().flat_map(Selected::finish) {
            values[output] = value;
        }
        scratch.sums = (sums, totals);
        flags
    }

    /// Takes the first lanes of a block into the selections.
    fn select(&self, selected: &mut [Selected], scratch: &Scratch, lanes: usize) {
        for selected in selected {
            let column =
                |output: &usize| &lanes_of(&scratch.values, self.graph.outputs[*output].value.0 as usize)[..lanes];
            let columns: Vec<&[Real]> = selected.outputs().iter().map(column).collect();
            selected.add(&columns);
        }
    }

    /// As [`terms`], for one target and each source after the other.
    pub fn terms(&self, scratch: &mut Scratch, pair: &Pairs, out: &mut [f64]) {
        let nodes = self.term_nodes();
        let outputs = nodes.len();
        self.for_terms(scratch, pair, out.len() / outputs, |of| match of {
            Terms::Block { frame, gathered, first, apart } => {
                for (o, (node, result)) in nodes.iter().zip(&self.terms.results).enumerate() {
                    let out = &mut out[first * outputs..];
                    frame.each(*result, gathered, first, apart, |lane, x| out[lane * outputs + o] = number(*node, x));
                }
            }
            Terms::One { source, output, x } => out[source * outputs + output] = x,
        });
    }

    /// Adds these terms of so many sources to the sums of the outputs. Those beyond the range of f64 are infinite here.
    pub fn add_terms(&self, scratch: &mut Scratch, pair: &Pairs, count: usize, sums: &mut [f64]) {
        let nodes = self.term_nodes();
        self.for_terms(scratch, pair, count, |of| match of {
            Terms::Block { frame, gathered, first, apart } => {
                for ((sum, node), result) in sums.iter_mut().zip(&nodes).zip(&self.terms.results) {
                    match node.1.is_some_and(|format| format.is_integral()) {
                        true => frame.each(*result, gathered, first, apart, |_, x| *sum += number(*node, x)),
                        false => *sum += frame.sum_of_floats(*result, gathered, first, apart),
                    }
                }
            }
            Terms::One { output, x, .. } => sums[output] += unbounded(x),
        });
    }

    fn term_nodes(&self) -> Vec<(usize, Option<Format>)> {
        self.graph.outputs.iter().map(|o| term(&self.graph, o)).collect()
    }

    /// Computes the terms of so many sources: block by block, and those in which a flag may be raised one by one.
    fn for_terms(&self, scratch: &mut Scratch, pair: &Pairs, count: usize, mut take: impl FnMut(Terms)) {
        let nodes = self.term_nodes();
        let everything = 0..count;
        let gathered = self.gather(pair.sources, &[everything]);
        let mut frame = scratch.terms.take().unwrap_or_else(|| Frame::new(&self.terms));
        frame.target(&self.terms, count, |class, at| pair.value(class, at));
        let mut is_fresh = true;
        for first in (0..count).step_by(lanes::LANES) {
            let apart = frame.block(&self.terms, &gathered, first);
            take(Terms::Block { frame: &frame, gathered: &gathered, first, apart: &apart });
            for apart in apart.chunks(LANES) {
                if std::mem::take(&mut is_fresh) {
                    self.stand(scratch, pair);
                }
                let places: Vec<u32> = apart.iter().map(|k| (first + k) as u32).collect();
                self.block(scratch, pair.sources, &places);
                for (output, node) in nodes.iter().enumerate() {
                    for (source, x) in places.iter().zip(lanes_of(&scratch.values, node.0)) {
                        take(Terms::One { source: *source as usize, output, x: number(*node, *x) });
                    }
                }
            }
        }
        scratch.terms = Some(frame);
    }

    fn format(&self, pin: usize) -> Format {
        self.graph.pins[pin].format
    }

    /// Fills the values that no source changes.
    fn stand(&self, scratch: &mut Scratch, pair: &Pairs) {
        scratch.still.clear();
        for (k, step) in self.steps.iter().enumerate().filter(|(k, _)| self.still[*k]) {
            let (before, rest) = scratch.values.split_at_mut(k * LANES);
            let mut flags = [Flags::NONE; LANES];
            match step {
                Step::Pin(class, at) => rest[0] = Real::of_bits(pair.value(*class, *at)),
                Step::Const(value) => rest[0] = *value,
                Step::Op { op, inst, args } => evaluate(*op, inst, args, before, &mut rest[..1], &mut flags),
            }
            let (value, raised) = (rest[0], flags[0]);
            rest[..LANES].fill(value);
            if !raised.is_empty() {
                scratch.still.push((k, [raised; LANES]));
            }
        }
    }

    /// Fills all other values for some sources; gives the flags that count.
    fn block(&self, scratch: &mut Scratch, sources: &RealSources, places: &[u32]) -> Flags {
        let n = places.len();
        scratch.raised.clear();
        for (k, step) in self.steps.iter().enumerate().filter(|(k, _)| !self.still[*k]) {
            let (before, rest) = scratch.values.split_at_mut(k * LANES);
            match step {
                Step::Pin(_, at) => {
                    rest.iter_mut().zip(places).for_each(|(x, k)| *x = sources.columns[*at][*k as usize]);
                }
                Step::Const(_) => {}
                Step::Op { op, inst, args } => {
                    let mut flags = [Flags::NONE; LANES];
                    evaluate(*op, inst, args, before, &mut rest[..n], &mut flags);
                    if flags[..n].iter().fold(0, |a, f| a | f.0) != 0 {
                        scratch.raised.push((k, flags));
                    }
                }
            }
        }
        if scratch.raised.is_empty() && scratch.still.is_empty() { Flags::NONE } else { self.counted(scratch, n) }
    }

    /// The flags of the first `n` lanes whose values are demanded: an output demands its value, an operator its arguments, a
    /// `mux` its condition and the arm that it takes (RULES L6).
    fn counted(&self, scratch: &mut Scratch, n: usize) -> Flags {
        let Scratch { values, raised, still, demanded, .. } = scratch;
        demanded.fill(0);
        self.graph.outputs.iter().for_each(|o| demanded[o.value.0 as usize] = u64::MAX >> (LANES - n));
        for (k, step) in self.steps.iter().enumerate().rev() {
            let Step::Op { op, args, .. } = step else { continue };
            let here = demanded[k];
            match args[..] {
                [condition, yes, no] if *op == hdl::op::compare::MUX => {
                    let lanes = lanes_of(values, condition).iter().enumerate();
                    let taken = lanes.fold(0, |mask, (lane, x)| mask | x.bits() << lane);
                    demanded[condition] |= here;
                    demanded[yes] |= here & taken;
                    demanded[no] |= here & !taken;
                }
                _ => args.iter().for_each(|a| demanded[*a] |= here),
            }
        }
        let mut counted = Flags::NONE;
        for (k, flags) in raised.iter().chain(still.iter()) {
            flags[..n].iter().enumerate().for_each(|(lane, f)| counted |= f.when(demanded[*k] >> lane & 1 == 1));
        }
        counted
    }
}

/// The node of an output's term and, of an int or fixed, its format: that before a cast from a float.
fn term(graph: &Graph, output: &Output) -> (usize, Option<Format>) {
    if !graph.pins[output.pin].format.is_integral() {
        return (output.value.0 as usize, None);
    }
    let cast = match &graph.node(output.value).kind {
        NodeKind::Op { inst, args, .. } => (args.len() == 1 && inst.args[0].is_float()).then(|| args[0]),
        _ => None,
    };
    let node = cast.unwrap_or(output.value);
    (node.0 as usize, Some(graph.node(node).format))
}

/// The outermost numbers stand for those beyond the range.
fn unbounded(x: f64) -> f64 {
    if x.abs() == f64::MAX { x * 2.0 } else { x }
}

/// A term of such a node as a number.
fn number((_, format): (usize, Option<Format>), x: Real) -> f64 {
    format.map_or_else(|| x.f64(), |format| x.value(format))
}

#[cfg(test)]
mod tests;

fn lanes_of(values: &[Real], node: usize) -> &[Real] {
    &values[node * LANES..(node + 1) * LANES]
}

fn evaluate(
    op: &dyn Operator,
    inst: &Inst,
    args: &[usize],
    before: &[Real],
    out: &mut [Real],
    flags: &mut [Flags; LANES],
) {
    let mut lanes: [&[Real]; 4] = [&[]; 4];
    lanes.iter_mut().zip(args).for_each(|(l, a)| *l = lanes_of(before, *a));
    op.real_lanes(inst, &lanes[..args.len()], out, flags);
}

impl Sum {
    fn new(reduce: Reduce, format: Format) -> Sum {
        match format.is_integral() {
            _ if matches!(reduce, Reduce::Ranked(_)) => Sum::Ranked,
            true => Sum::Exact(Accumulator::new(reduce, format)),
            false if reduce == Reduce::Sum => Sum::Number(0.0),
            false => Sum::Best(reduce, None),
        }
    }

    /// Whether it takes sums of many.
    fn is_total(&self) -> bool {
        matches!(self, Sum::Exact(sum) if sum.reduce() == Reduce::Sum)
    }

    fn add_total(&mut self, totals: &Totals) {
        if let (true, Sum::Exact(sum)) = (self.is_total(), self) {
            sum.add_exact(totals.sum());
        }
    }

    fn add(&mut self, lanes: &[Real]) {
        match self {
            Sum::Exact(sum) => lanes.iter().for_each(|x| sum.add(x.bits())),
            Sum::Ranked => {}
            Sum::Number(sum) => lanes.iter().for_each(|x| *sum += unbounded(x.f64())),
            Sum::Best(reduce, best) => {
                let of = if *reduce == Reduce::Min { f64::min } else { f64::max };
                *best = lanes.iter().map(|x| x.f64()).chain(*best).reduce(of);
            }
        }
    }

    fn finish(&self, format: Format) -> (Real, Flags) {
        match self {
            Sum::Exact(sum) => {
                let (bits, flags) = sum.finish();
                (Real::of_bits(bits), flags)
            }
            Sum::Number(sum) => Real::number(*sum),
            Sum::Ranked => (Real::default(), Flags::NONE),
            Sum::Best(_, Some(best)) => Real::number(*best),
            Sum::Best(reduce, None) => (Real::read(format, reduce.identity(format)), Flags::NONE),
        }
    }
}

/// The outputs' terms for one pair in numbers, before the casts to an output's format that stand last round them. Arguments of
/// ints and fixeds go to the nearest value of the format.
pub fn terms(graph: &Graph, i: &[f64], j: &[f64], params: &[f64]) -> Vec<f64> {
    let kernel = RealKernel::new(&in_numbers(graph));
    let sources = RealSources::new(j.len().max(1), &record(graph, PinClass::Jpin, j));
    let (i, params) = (record(graph, PinClass::Ipin, i), record(graph, PinClass::Param, params));
    let mut out = vec![0.0; graph.outputs.len()];
    kernel.terms(&mut kernel.scratch(), &Pairs { i: &i, params: &params, sources: &sources }, &mut out);
    out
}

/// A record of the elements of a class, each the nearest value of its format.
pub fn record(graph: &Graph, class: PinClass, numbers: &[f64]) -> Vec<u64> {
    let formats = graph.elements_of(class).into_iter().map(|(pin, _)| graph.pins[pin].format);
    formats.zip(numbers).map(|(format, x)| Real::cast(format, Rounding::Nearest, *x).0.bits()).collect()
}
