//! The bounds of a kernel as data: of its values, its outputs and its flags.

use super::divide::{Bound, bound, starts, sweep};
use super::forward::span;
use super::model::Model;
use super::state::Cause;
use super::trial::Trial;
use crate::diag::Span;
use crate::graph::{Graph, NodeId, NodeKind};
use hdl::{Flags, Reduce};

/// Evaluations of nodes that the bounds of a kernel may take: some tenths of a second.
const WORK: usize = 1_000_000;

/// Tries of the search for an input that raises a flag.
const TRIES: usize = 2000;

/// Values at which inputs that raise a flag are searched for.
const MOST_TRIED: usize = 8;

/// The bound of a value.
#[derive(Clone, Debug)]
pub struct ValueBound {
    pub name: String,
    pub span: Span,
    pub node: NodeId,
    pub bound: Bound,
    /// Whether the bound says more than the span of the format.
    pub is_proved: bool,
    /// Why it does not.
    pub why: Option<String>,
}

/// The bound of an output, for a pair and for a sum.
#[derive(Clone, Debug)]
pub struct OutputBound {
    pub value: ValueBound,
    pub reduce: Reduce,
    /// Of `+=`, the number of pairs up to which no sum can leave the format.
    pub pairs: Option<u64>,
}

/// Inputs by the names of their columns, as patterns.
pub type Witness = Vec<(String, u64)>;

/// Whether a flag can be raised by a pair.
#[derive(Clone, Debug)]
pub struct FlagProof {
    pub flag: Flags,
    /// The places at which it may be, of which some are proved never to.
    pub places: Vec<Span>,
    /// Inputs that raise it.
    pub witness: Option<Witness>,
}

/// All bounds of a kernel.
#[derive(Clone, Debug)]
pub struct Report {
    pub values: Vec<ValueBound>,
    pub outputs: Vec<OutputBound>,
    pub flags: Vec<FlagProof>,
}

/// Bounds the errors of a kernel that was compiled and not simplified.
pub fn analyse(graph: &Graph) -> Report {
    let graph = &crate::middle::simplify::live(graph);
    let model = Model::new(graph);
    let count = graph.nodes.len().max(1);
    let named: Vec<usize> = (0..count).filter(|k| !graph.nodes[*k].name.is_empty() && is_computed(graph, *k)).collect();
    let wanted = graph.outputs.len().max(1);
    let swept = sweep(&model, 2 * WORK);
    let least = starts(&model).len() * (1 + model.comparisons.len());
    let of_value = |k: usize, name: String, span: Span, budget: usize| {
        let found = if budget < least {
            swept.bounds[k].clone()
        } else {
            let (first, found) = (&swept.bounds[k], bound(&model, k, budget));
            let (absolute, relative) = (first.absolute.min(found.absolute), first.relative.min(found.relative));
            Bound { absolute, relative, ..found }
        };
        let format = graph.nodes[k].format;
        let trivial = format.is_integral() && {
            let all = span_of(format);
            found.absolute >= all && format.width() > 1
        };
        let is_proved = found.absolute.is_finite() && !trivial;
        let why = (!is_proved).then(|| why(graph, &model, found.cause));
        ValueBound { name, span, node: NodeId(k as u32), bound: found, is_proved, why }
    };
    let budget = (WORK / 4 / count / named.len().max(1)).min(60);
    let values: Vec<ValueBound> =
        named.iter().map(|k| of_value(*k, graph.nodes[*k].name.clone(), graph.nodes[*k].span, budget)).collect();
    let budget = (WORK / count / wanted).min(1500);
    let outputs = graph.outputs.iter().map(|o| {
        let k = o.value.0 as usize;
        let pin = &graph.pins[o.pin];
        let value = of_value(k, pin.column(o.element), graph.nodes[k].span, budget);
        OutputBound { pairs: pairs(graph, o.reduce, k, &value.bound), reduce: o.reduce, value }
    });
    let outputs = outputs.collect();
    Report { values, outputs, flags: flags(graph, &swept.flags) }
}

fn is_computed(graph: &Graph, k: usize) -> bool {
    matches!(graph.nodes[k].kind, NodeKind::Op { .. })
}

fn span_of(format: hdl::Format) -> f64 {
    let all = span(format);
    all.hi - all.lo
}

/// The number of pairs whose sum is within the format whatever they are.
fn pairs(graph: &Graph, reduce: Reduce, k: usize, bound: &Bound) -> Option<u64> {
    let format = graph.nodes[k].format;
    if reduce != Reduce::Sum {
        return None;
    }
    // A sum of several terms may leave the format for one pair already.
    if let NodeKind::Op { op, inst, .. } = &graph.nodes[k].kind
        && op.flags(inst).contains(Flags::WRAP)
    {
        return Some(0);
    }
    // In units of the last place, which are exact. Computed values do not leave their format.
    let place = 2f64.powi(-(format.frac()? as i32));
    let one = |side: f64, limit: i128| {
        let most = (side + bound.absolute) / place;
        let most = if most.is_nan() { limit } else { (most.ceil() as i128).clamp(0, limit) };
        if most > 0 { limit / most } else { i128::MAX }
    };
    let [least, greatest] = [format.min_bits(), format.max_bits()].map(|bits| format.to_int(bits));
    let most = one(bound.real.hi, greatest).min(one(-bound.real.lo, -least));
    Some(u64::try_from(most).unwrap_or(u64::MAX))
}

/// The place and the reason for which there is no bound, and the ranges that would help.
fn why(graph: &Graph, model: &Model, cause: Option<(usize, Cause)>) -> String {
    let Some((k, cause)) = cause else { return "the distance can be as large as the format's span".into() };
    let node = &graph.nodes[k];
    let name = if node.name.is_empty() { "this value".to_string() } else { format!("`{}`", node.name) };
    let what = match cause {
        Cause::Overflow => format!("{name} can overflow {}", node.format),
        Cause::Saturation => format!("{name} can be beyond {}", node.format),
        Cause::Wrap => format!("{name} can wrap in {}, where real and computed values part", node.format),
        Cause::Zero => format!("the argument of {name} can be near 0, where its rounding is as large as itself"),
        Cause::Negative => format!("the argument of {name} can become negative by rounding"),
        Cause::Bits => format!("{name} takes the bits of a rounded value apart"),
        Cause::Interval => format!("the argument of {name} can leave the interval of its function"),
    };
    let pins: Vec<String> =
        model.free_pins(graph, k).iter().map(|pin| format!("`{}`", graph.pins[*pin].name)).collect();
    match pins.len() {
        0 => what,
        _ => format!("{what}; state a range (`in least..greatest`) of {}", pins.join(", ")),
    }
}

/// Of each flag where it may be raised, and by what.
fn flags(graph: &Graph, all: &[Flags]) -> Vec<FlagProof> {
    let trial = Trial::new(graph);
    let one = |flag: Flags| {
        let nodes: Vec<usize> = (0..all.len()).filter(|k| all[*k].contains(flag)).collect();
        let mut places: Vec<Span> = nodes.iter().map(|k| graph.nodes[*k].span).collect();
        places.dedup();
        let witness = nodes.iter().take(MOST_TRIED).find_map(|k| raise(graph, &trial, *k, flag));
        FlagProof { flag, places, witness }
    };
    [Flags::OVERFLOW, Flags::UNDERFLOW, Flags::SATURATION, Flags::INVALID].into_iter().map(one).collect()
}

/// Inputs for which a node raises a flag, if they are found.
fn raise(graph: &Graph, trial: &Trial, k: usize, flag: Flags) -> Option<Witness> {
    let NodeKind::Op { args, .. } = &graph.nodes[k].kind else { return None };
    let format = graph.nodes[k].format;
    let argument = args[args.len() - 1].0 as usize;
    let measure = |pair: &super::trial::Pair| {
        if pair.flags[k].contains(flag) {
            return f64::INFINITY;
        }
        let size = |at: usize| graph.nodes[at].format.to_f64(pair.bits[at]);
        match flag {
            Flags::UNDERFLOW if size(k) == 0.0 => -f64::MAX,
            Flags::UNDERFLOW => -size(k).abs(),
            Flags::INVALID => -size(argument).abs().min(size(argument)),
            _ if format.is_integral() => size(argument).abs(),
            _ => size(k).abs(),
        }
    };
    let tries = (TRIES * 40 / graph.nodes.len().max(40)).max(20);
    let (inputs, found) = trial.worst(tries, 1, measure);
    let name = |k: usize| graph.nodes[k].name.clone();
    (found == f64::INFINITY).then(|| trial.pins.iter().map(|k| name(*k)).zip(inputs).collect())
}
