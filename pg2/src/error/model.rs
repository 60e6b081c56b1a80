//! A graph as error analysis sees it: of each value its meaning, its accuracy and its range by formats, and which are variables.

use crate::graph::{Graph, NodeId, NodeKind, PinClass};
use crate::middle::simplify::known;
use hdl::number::real::{Interval, exp2};
use hdl::op::accuracy::{Accuracy, Meaning};
use hdl::op::{Inst, Operator, int};
use hdl::{Bounds, Flags, Format};

/// A use of an operator.
pub struct Use {
    pub op: &'static dyn Operator,
    pub inst: Inst,
    pub accuracy: Accuracy,
    pub args: Vec<usize>,
    /// The flags that the operator can raise, as far as ranges of formats and of pins tell.
    pub flags: Flags,
}

/// The source of a value.
pub enum Source {
    Pin,
    /// A constant, with the number that it was rounded from.
    Const(f64),
    Use(Use),
}

/// A value.
pub struct Value {
    pub format: Format,
    pub source: Source,
    /// Every value that the format and the ranges of pins allow for the computed one.
    pub range: Interval,
    /// The least magnitude other than 0 among them.
    pub least: f64,
    /// Whether the computed value is the real one, whatever the inputs are.
    pub is_exact: bool,
    /// Whether it depends on a float or log, whose real values are not those of the bits.
    pub is_mixed: bool,
    /// A node with the same value before it, or itself.
    pub twin: usize,
}

/// A graph, prepared.
pub struct Model {
    pub values: Vec<Value>,
    /// Values that are exact and read by others that are not: what bounds are functions of.
    pub variables: Vec<usize>,
    /// Comparisons whose outcome may differ between real and computed values.
    pub comparisons: Vec<usize>,
}

/// The numbers from the least to the greatest pattern of a pin's range, as the compiler's bounds have it.
fn stated(format: Format, range: [u64; 2]) -> Bounds {
    if format.is_integral() {
        return Bounds::ints(format.to_int(range[0]), format.to_int(range[1]));
    }
    let [low, high] = range.map(|bits| format.to_f64(bits));
    let magnitude = |bits: u64| bits & (format.mask() >> 1);
    let most = magnitude(range[0]).max(magnitude(range[1]));
    let least = if low <= 0.0 && high >= 0.0 { 0 } else { magnitude(range[0]).min(magnitude(range[1])) };
    let all = Bounds::of(format);
    Bounds { low: (least as i128).max(all.low), high: (most as i128).max(all.low), zero: least == 0 }
}

/// Bounds as numbers: all values, and the least magnitude other than 0.
pub fn numbers(format: Format, bounds: Bounds, nonneg: bool) -> (Interval, f64) {
    if let Some(frac) = format.frac() {
        let place = exp2(-(frac as i32));
        let end = |x: i128| x as f64 * place;
        let mut all = Interval::new(end(bounds.low), end(bounds.high));
        if bounds.low.unsigned_abs().max(bounds.high.unsigned_abs()) >> 53 != 0 {
            all = all.outward();
        }
        let least = if bounds.low > 0 || bounds.high < 0 { all.least() } else { place };
        return (all, if all == Interval::ZERO { f64::INFINITY } else { least });
    }
    let (mut least, mut most) = (format.to_f64(bounds.low as u64), format.to_f64(bounds.high as u64));
    if format.is_log() {
        (least, most) = (least * (1.0 - 1e-14), most * (1.0 + 1e-14));
    }
    if most == 0.0 {
        return (Interval::ZERO, f64::INFINITY);
    }
    let low = if !nonneg {
        -most
    } else if bounds.zero {
        0.0
    } else {
        least
    };
    (Interval::new(low, most), least)
}

/// All numbers of a pin's range, and the least magnitude other than 0.
fn pin_numbers(format: Format, range: [u64; 2]) -> (Interval, f64) {
    let (all, least) = numbers(format, stated(format, range), false);
    if format.is_integral() {
        return (all, least);
    }
    let slack = if format.is_log() { 1e-14 } else { 0.0 };
    let [low, high] = range.map(|bits| format.to_f64(bits));
    (Interval::new(low - slack * low.abs(), high + slack * high.abs()), least)
}

/// Whether a use that states no other meaning is one of integers, whose bits are what it means.
pub fn is_own_meaning(op: &dyn Operator, inst: &Inst) -> bool {
    inst.args.iter().chain([&inst.result]).all(|f| f.is_integral()) && op.table(inst).is_none()
}

/// Every value of a table that is loaded at run time, where its pin states a range: also 0, where an index can be outside.
fn loaded(graph: &Graph, inst: &Inst, flags: Flags) -> Option<(Interval, f64)> {
    let pin = graph.pins.get(inst.attrs.lookup.as_ref()?.loaded.as_ref()?.pin as usize)?;
    let (all, least) = pin_numbers(pin.format, pin.range?);
    Some((if flags.is_empty() { all } else { all.hull(Interval::ZERO) }, least))
}

impl Model {
    pub fn new(graph: &Graph) -> Model {
        let mut marked = graph.clone();
        let pins = &graph.pins;
        known::mark_with(&mut marked, |node, bounds| match &node.kind {
            NodeKind::Pin { pin, .. } => pins[*pin].range.map_or(bounds, |range| stated(node.format, range)),
            _ => bounds,
        });
        let mut model =
            Model { values: Vec::with_capacity(graph.nodes.len()), variables: Vec::new(), comparisons: Vec::new() };
        let mut known = std::collections::HashMap::new();
        for (k, node) in marked.nodes.iter().enumerate() {
            let mut value = model.value(graph, k, node);
            let key = match (&node.kind, &value.source) {
                (NodeKind::Pin { pin, element }, _) => (format!("{pin} {element}"), Vec::new()),
                (NodeKind::Const { bits }, _) => (format!("{} {bits}", node.format), Vec::new()),
                (NodeKind::Op { .. }, Source::Use(u)) => {
                    let twins: Vec<usize> = u.args.iter().map(|a| model.values[*a].twin).collect();
                    (format!("{} {:?} {:?}", u.op.name(), u.inst.attrs, u.inst.result), twins)
                }
                _ => unreachable!("a source is that of its node"),
            };
            value.twin = *known.entry(key).or_insert(k);
            model.values.push(value);
        }
        model.find(graph);
        model
    }

    fn value(&self, graph: &Graph, k: usize, node: &crate::graph::Node) -> Value {
        let format = node.format;
        let is_float = !format.is_integral();
        let plain = |source, (range, least): (Interval, f64), is_exact| Value {
            format,
            source,
            range,
            least,
            is_exact,
            is_mixed: is_float,
            twin: k,
        };
        match &node.kind {
            NodeKind::Pin { pin, .. } => {
                let any = || numbers(format, Bounds::of(format), false);
                plain(Source::Pin, graph.pins[*pin].range.map_or_else(any, |range| pin_numbers(format, range)), true)
            }
            NodeKind::Const { bits } => {
                let value = format.to_f64(*bits);
                let real = graph.numbers.get(&NodeId(k as u32)).copied().unwrap_or(value);
                let least = if real == 0.0 { f64::INFINITY } else { real.abs().min(value.abs()) };
                let range = if format.is_log() { Interval::point(value).outward() } else { Interval::point(value) };
                plain(Source::Const(real), (range, least), real == value && !format.is_log())
            }
            NodeKind::Op { op, inst, args } => {
                let args: Vec<usize> = args.iter().map(|a| a.0 as usize).collect();
                let mut accuracy = op.accuracy(inst);
                if self.keeps(accuracy.meaning, &args) {
                    accuracy.ulps = 0.0;
                }
                // To round is what a shift of an int means.
                let means = format.is_int() && matches!(accuracy.meaning, Meaning::Scaled(_));
                let is_known = accuracy.meaning != Meaning::Bits || is_own_meaning(*op, inst);
                let exact =
                    args.iter().all(|a| self.values[*a].is_exact) && (accuracy.ulps == 0.0 || means) && is_known;
                let flags = op.flags(inst);
                let is_mixed = is_float || args.iter().any(|a| self.values[*a].is_mixed);
                let own = numbers(format, op.bounds(inst), op.nonneg(inst) || !format.is_signed());
                let numbers = loaded(graph, inst, flags).unwrap_or(own);
                let source = Source::Use(Use { op: *op, inst: inst.clone(), accuracy, args, flags });
                let is_safe = flags == Flags::NONE || flags == Flags::INVALID;
                Value { is_mixed, ..plain(source, numbers, exact && (is_safe || !is_float)) }
            }
        }
    }

    /// Whether an operation rounds nothing: a product with a power of two, a sum with 0.
    fn keeps(&self, meaning: Meaning, args: &[usize]) -> bool {
        let constant = |a: &usize| match self.values[*a].source {
            Source::Const(x) if self.values[*a].is_exact => Some(x),
            _ => None,
        };
        let is_float = |a: &usize| self.values[*a].format.is_float();
        let is_power = |x: f64| x != 0.0 && x.to_bits().trailing_zeros() >= 52 && x.is_normal();
        match meaning {
            Meaning::Product => args.iter().any(|a| is_float(a) && constant(a).is_some_and(is_power)),
            Meaning::Quotient => is_float(&args[1]) && constant(&args[1]).is_some_and(is_power),
            Meaning::Sum | Meaning::Difference => args.iter().any(|a| constant(a) == Some(0.0)),
            _ => false,
        }
    }

    fn find(&mut self, graph: &Graph) {
        let mut is_read = vec![false; self.values.len()];
        for (k, value) in self.values.iter().enumerate() {
            let Source::Use(u) = &value.source else { continue };
            if !value.is_exact {
                u.args.iter().for_each(|a| is_read[self.values[*a].twin] = true);
                let compares = matches!(
                    u.accuracy.meaning,
                    Meaning::Less | Meaning::LessOrEqual | Meaning::Equal | Meaning::Unequal
                );
                if compares {
                    self.comparisons.push(k);
                }
            }
        }
        graph.outputs.iter().for_each(|o| is_read[self.values[o.value.0 as usize].twin] = true);
        self.variables = self.independent(is_read);
    }

    /// The exact values of which others are read, such that none is a function of another one: a value that depends on one that
    /// is read gives way to what it is made of.
    fn independent(&self, mut is_read: Vec<bool>) -> Vec<usize> {
        let count = self.values.len();
        let is_constant = |k: usize| matches!(self.values[k].source, Source::Const(_));
        // Whether a value depends on one that is read, and whether it reads on.
        loop {
            let mut depends = vec![false; count];
            let mut open = None;
            for k in 0..count {
                let twin = self.values[k].twin;
                let Some(u) = self.source(k) else { continue };
                depends[k] = u.args.iter().any(|a| {
                    let a = self.values[*a].twin;
                    depends[a] || is_read[a] && self.values[a].is_exact && !is_constant(a)
                });
                if is_read[k] && self.values[k].is_exact && depends[k] && twin == k {
                    open = Some(k);
                    break;
                }
            }
            let Some(k) = open else { break };
            is_read[k] = false;
            self.source(k).iter().for_each(|u| u.args.iter().for_each(|a| is_read[self.values[*a].twin] = true));
        }
        (0..count).filter(|k| is_read[*k] && self.values[*k].is_exact && !is_constant(*k)).collect()
    }

    /// The use that a value comes from.
    pub fn source(&self, k: usize) -> Option<&Use> {
        if let Source::Use(u) = &self.values[k].source { Some(u) } else { None }
    }

    /// The bounds that a condition that holds sets for a value: by comparisons of it that the condition is an AND of.
    pub fn implied(&self, condition: usize, holds: bool, k: usize, range: impl Fn(usize) -> Interval) -> Interval {
        let (mut all, mut open) = (Interval::WHOLE, vec![(condition, holds)]);
        let twin = self.values[k].twin;
        while let Some((c, holds)) = open.pop() {
            let Some(u) = self.source(c) else { continue };
            match u.accuracy.meaning {
                _ if u.op == int::AND && holds || u.op == int::OR && !holds => {
                    open.extend(u.args.iter().map(|a| (*a, holds)));
                }
                _ if u.op == int::NOT => open.push((u.args[0], !holds)),
                Meaning::Less | Meaning::LessOrEqual => {
                    let (a, b) = (u.args[0], u.args[1]);
                    let (less, greater) = if holds { (a, b) } else { (b, a) };
                    if self.values[less].twin == twin {
                        all.hi = all.hi.min(range(greater).hi);
                    }
                    if self.values[greater].twin == twin {
                        all.lo = all.lo.max(range(less).lo);
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// The pins of a graph that a value depends on and whose range is not stated.
    pub fn free_pins(&self, graph: &Graph, k: usize) -> Vec<usize> {
        let mut seen = vec![false; k + 1];
        let mut pins = std::collections::BTreeSet::new();
        seen[k] = true;
        let mut open = vec![k];
        while let Some(at) = open.pop() {
            match (&graph.nodes[at].kind, &self.values[at].source) {
                (NodeKind::Pin { pin, .. }, _) => {
                    let free = graph.pins[*pin].range.is_none() && graph.pins[*pin].class != PinClass::Fout;
                    free.then(|| pins.insert(*pin));
                }
                (_, Source::Use(u)) => {
                    for a in &u.args {
                        if !std::mem::replace(&mut seen[*a], true) {
                            open.push(*a);
                        }
                    }
                }
                _ => {}
            }
        }
        pins.into_iter().collect()
    }
}
