//! Comparisons that can only turn false as the magnitudes of differences of coordinates grow.

use crate::graph::{Graph, NodeId, NodeKind, PinClass};
use crate::middle::filter::facts;
use hdl::Format;
use hdl::op::{Inst, Operator, compare, float, int, table};

/// The coordinates of a target and of a source, pin and element each, whose difference wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Axis {
    pub target: (usize, u32),
    pub source: (usize, u32),
}

impl Axis {
    pub fn format(&self, graph: &Graph) -> Format {
        graph.pins[self.source.0].format
    }
}

/// Knowledge of a value while the magnitudes of differences grow.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// It is the same for all pairs; of a constant, whether it is negative.
    Static { negative: Option<bool> },
    /// It is a coordinate: a pin of a target, or of a source.
    Coordinate { of_target: bool, place: (usize, u32) },
    /// Its magnitude never falls.
    Grows(Vec<Axis>),
    /// It is never negative and never falls.
    GrowsUp(Vec<Axis>),
    /// It never falls.
    Rises(Vec<Axis>),
    /// It is anything else: because of this node.
    Other(NodeId),
}

use Kind::{Coordinate, Grows, GrowsUp, Other, Rises, Static};

impl Kind {
    fn axes(&self) -> &[Axis] {
        match self {
            Grows(axes) | GrowsUp(axes) | Rises(axes) => axes,
            _ => &[],
        }
    }

    fn rises(&self) -> bool {
        matches!(self, GrowsUp(_) | Rises(_))
    }

    fn grows(&self) -> bool {
        matches!(self, Grows(_) | GrowsUp(_))
    }
}

/// A comparison that holds for a pair that passes: of what rises with something that is the same for all pairs.
pub(super) struct Bound {
    pub node: NodeId,
    /// The value that it has then.
    pub holds: u64,
    pub axes: Vec<Axis>,
}

/// The comparisons of a condition that can only turn false.
pub(super) struct Monotone<'a> {
    graph: &'a Graph,
    pub bounds: Vec<Bound>,
    /// The obstacle, of one that is none.
    other: Option<NodeId>,
}

impl<'a> Monotone<'a> {
    /// Those of a condition, the only output of `graph`. Of a parameter the sign counts where `signs` are known: where parameters are
    /// constants. Else they are taken as not negative.
    pub fn of(graph: &'a Graph, signs: bool) -> Monotone<'a> {
        let mut kinds: Vec<Kind> = Vec::with_capacity(graph.nodes.len());
        for k in 0..graph.nodes.len() {
            let kind = kind_of(graph, &kinds, NodeId(k as u32), signs);
            kinds.push(kind);
        }
        let (mut bounds, mut other) = (Vec::new(), None);
        let mut facts: Vec<(NodeId, u64)> = facts(graph, graph.outputs[0].value).into_iter().collect();
        facts.sort();
        for (node, value) in facts {
            let NodeKind::Op { op, args, .. } = &graph.node(node).kind else { continue };
            let (less, most) = match value {
                1 if *op == compare::LT || *op == compare::LE => (args[0], args[1]),
                0 if *op == compare::LT || *op == compare::LE => (args[1], args[0]),
                _ => continue,
            };
            let kind = |id: NodeId| &kinds[id.0 as usize];
            let blamed = |id: NodeId| match kind(id) {
                Other(node) => Some(*node),
                Coordinate { .. } => Some(id),
                _ => None,
            };
            match (kind(less), kind(most)) {
                (rising, Static { .. }) if rising.rises() => {
                    bounds.push(Bound { node, holds: value, axes: rising.axes().to_vec() });
                }
                (_, Static { .. }) => other = other.or(blamed(less)),
                (rising, _) if rising.rises() => other = other.or(blamed(most)),
                _ => {}
            }
        }
        Monotone { graph, bounds, other }
    }

    /// The reason that there are none.
    pub fn why(&self) -> String {
        let Some(id) = self.other else {
            return "it bounds no distance from above".into();
        };
        let node = self.graph.node(id);
        let own = if node.name.is_empty() { "a value".to_string() } else { format!("`{}`", node.name) };
        match &node.kind {
            NodeKind::Op { op, .. } if *op == table::POW => {
                format!("{own} is a power or root; compare what that is taken of, as in `r2 < cut * cut`")
            }
            NodeKind::Op { op, .. } if *op == float::FSUB || *op == float::FADD => {
                format!("{own} is no sum of squares of differences of ints or fixeds, which wrap; floats do not")
            }
            NodeKind::Op { op, .. } => format!("{own}, by `{}`, need not grow with a distance", op.name()),
            NodeKind::Pin { .. } | NodeKind::Const { .. } => {
                format!("it rests on {own}, besides differences of coordinates")
            }
        }
    }
}

fn joined<'k>(kinds: impl IntoIterator<Item = &'k Kind>) -> Vec<Axis> {
    let mut all: Vec<Axis> = Vec::new();
    for axis in kinds.into_iter().flat_map(Kind::axes) {
        if !all.contains(axis) {
            all.push(*axis);
        }
    }
    all
}

fn kind_of(graph: &Graph, kinds: &[Kind], id: NodeId, signs: bool) -> Kind {
    let node = graph.node(id);
    match &node.kind {
        NodeKind::Const { bits } => {
            let negative = bits >> (node.format.width() - 1) & 1 == 1 && node.format.is_signed();
            Static { negative: Some(negative) }
        }
        NodeKind::Pin { pin, element } => match graph.pins[*pin].class {
            PinClass::Param => Static { negative: (!signs).then_some(false) },
            class => Coordinate { of_target: class == PinClass::Ipin, place: (*pin, *element) },
        },
        NodeKind::Op { op, inst, args } => {
            let own: Vec<&Kind> = args.iter().map(|a| &kinds[a.0 as usize]).collect();
            if own.iter().all(|k| matches!(k, Static { .. })) {
                return Static { negative: (!signs || inst.result == hdl::number::format::UINT1).then_some(false) };
            }
            if let Some(Other(first)) = own.iter().find(|k| matches!(k, Other(_))) {
                return Other(*first);
            }
            operation(*op, inst, &own, args).unwrap_or_else(|| {
                // A pin that is no coordinate of a difference is the reason, rather than what is made of it.
                let pin = args.iter().zip(&own).find(|(_, k)| matches!(k, Coordinate { .. }));
                let subtracts = *op == int::SUB || *op == float::FSUB;
                pin.filter(|_| !subtracts).map_or(Other(id), |(pin, _)| Other(*pin))
            })
        }
    }
}

/// The kind of an operator's result; `None` if it is not known to grow.
fn operation(op: &'static dyn Operator, inst: &Inst, own: &[&Kind], args: &[NodeId]) -> Option<Kind> {
    let axes = joined(own.iter().copied());
    let all_grow = own.iter().all(|k| k.grows());
    // An int or fixed that stays in its format; floats stay where they are at the end of theirs.
    let fits = || {
        let unwrapped = op.unwrapped(inst);
        let [least, most] = [inst.result.min_bits(), inst.result.max_bits()].map(|bits| inst.result.to_int(bits));
        unwrapped.is_some_and(|u| u.low >= least && u.high <= most)
    };
    match own {
        [Coordinate { of_target: a, place: x }, Coordinate { of_target: b, place: y }] if op == int::SUB && a != b => {
            let (target, source) = if *a { (*x, *y) } else { (*y, *x) };
            inst.result.is_signed().then(|| Grows(vec![Axis { target, source }]))
        }
        [k] if op == float::FABS
            || op == float::FNEG
            || op == float::TOFLOAT
            || op == float::FCAST
            || op == float::FSCALE =>
        {
            let up = op == float::FABS && k.grows() || op != float::FNEG && matches!(k, GrowsUp(_));
            match (up, k) {
                (true, _) => Some(GrowsUp(axes)),
                (_, Rises(_)) if op != float::FABS && op != float::FNEG => Some(Rises(axes)),
                _ => all_grow.then_some(Grows(axes)),
            }
        }
        [k] if op == int::ICAST => {
            let wider =
                inst.result.is_signed() && inst.result.width() >= inst.args[0].width() && inst.args[0].is_signed();
            match k {
                Grows(_) if wider => Some(Grows(axes)),
                GrowsUp(_) if wider => Some(GrowsUp(axes)),
                _ => None,
            }
        }
        [a, b] if op == float::FMUL || op == int::MUL => {
            let whole = op == float::FMUL || fits();
            match (a, b) {
                _ if args[0] == args[1] && all_grow && whole => Some(GrowsUp(axes)),
                (GrowsUp(_), GrowsUp(_)) if whole => Some(GrowsUp(axes)),
                (GrowsUp(_), Static { negative: Some(false) }) | (Static { negative: Some(false) }, GrowsUp(_))
                    if whole =>
                {
                    Some(GrowsUp(axes))
                }
                (a, b) if op == float::FMUL && [a, b].iter().all(|k| k.grows() || matches!(k, Static { .. })) => {
                    Some(Grows(axes))
                }
                _ => None,
            }
        }
        _ if op == float::SUMSQ => own.iter().all(|k| k.grows() || matches!(k, Static { .. })).then_some(GrowsUp(axes)),
        [a, b] if op == float::FADD || op == int::ADD => {
            let whole = op == float::FADD || fits();
            match (a, b) {
                (GrowsUp(_), GrowsUp(_)) if whole => Some(GrowsUp(axes)),
                (a, b) if op == float::FADD && [a, b].iter().all(|k| k.rises() || matches!(k, Static { .. })) => {
                    Some(Rises(axes))
                }
                _ => None,
            }
        }
        [a, Static { .. }] if op == float::FSUB && a.rises() => Some(Rises(axes)),
        [a, b] if (op == compare::MAX || op == compare::MIN) && [a, b].iter().all(|k| k.rises()) => Some(Rises(axes)),
        _ => None,
    }
}
