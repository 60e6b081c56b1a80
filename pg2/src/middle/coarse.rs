//! A coarse test of distance in front of a condition (RULES L19): whether a few bits of coordinates leave it possible.
//!
//! Few pairs of a cell list are within a cut-off, and to say so of most others takes no floats. The condition of a kernel such as
//! `r2 < cut2`, with `r2` a sum of squares of `xj - xi` times what is the same for all pairs, can only turn from true to false as a
//! coordinate's difference grows: every operator between is monotone, rounding included. So a pair is out of reach if the least
//! differences that its leading bits leave are, and the condition itself says of these whether they are: the [reach] of a run is found
//! by asking it, with the parameters of the run. A pair that is within reach, by few bits, goes on to the whole kernel with the condition
//! as a branch. No result depends on the test then; it must not lose a pair, nor a flag that a pair which does not pass may raise.
//!
//! Filters take coordinates of [`NARROW`] bits, from one on that the run says: differences wrap, so that leading bits do not matter
//! but for pairs that are far, and may seem near.
//!
//! [reach]: Coarse::reach

mod monotone;
mod reach;
mod test;

use crate::diag::Span;
use crate::graph::{Graph, NodeId, NodeKind, Output, Pin, PinClass};
use crate::middle::filter::{PASS, push_pin};
use crate::middle::simplify::{live, simplify};
use hdl::engine::Layout;
use hdl::number::format::UINT1;
use hdl::{Format, Reduce};
use monotone::{Axis, Monotone};
pub use test::{narrowing, test};

/// The parameter behind all others of an engine whose filters are coarse; no name of a program begins like this. 0 lets all pairs pass.
pub const REACH: &str = "pg_reach";

/// Bits of a coordinate's difference that are squared, and those below that only bound the error of a difference of narrow coordinates.
const SQUARED: u32 = 6;
const BELOW: u32 = 2;
/// Bits of a coordinate that filters take: the difference has a sign, and a bit that says that it is beyond what is squared.
pub const NARROW: u32 = SQUARED + BELOW + 2;
/// Bits of a sum of squares that is within reach, and of a shift: the fields of [`REACH`], of which the last bit says that it holds.
const LIMIT: u32 = 2 * SQUARED;
const SHIFT_AT: u32 = 16;
const SHIFT: u32 = 6;
const HOLDS_AT: u32 = 31;

/// The most coordinates of a distance.
const MOST_AXES: usize = 3;

/// The format of [`REACH`].
const WORD: Format = Format::Int { width: 32, signed: false };

/// The coarse test of a kernel.
#[derive(Clone)]
pub struct Coarse {
    /// The condition alone, simplified.
    asked: Graph,
    /// The coordinates whose differences bound it, all of one format.
    axes: Vec<Axis>,
    format: Format,
}

impl Coarse {
    /// The coarse test of a kernel with a filter. The error says why it has none, and what would give it one.
    pub fn new(graph: &Graph) -> Result<Coarse, String> {
        let asked = asked(graph).ok_or("it has no filter")?;
        let monotone = Monotone::of(&asked, false);
        if monotone.bounds.is_empty() {
            return Err(monotone.why());
        }
        let mut axes: Vec<Axis> = Vec::new();
        for axis in monotone.bounds.iter().flat_map(|b| &b.axes) {
            if !axes.contains(axis) {
                axes.push(*axis);
            }
        }
        if axes.len() > MOST_AXES {
            return Err(format!("it bounds {} differences, and filters take {MOST_AXES} at most", axes.len()));
        }
        let formats: Vec<Format> = axes.iter().map(|a| a.format(&asked)).collect();
        let format = formats[0];
        if formats.iter().any(|f| *f != format) {
            return Err("the coordinates that it bounds have several formats".into());
        }
        if format.width() <= NARROW {
            return Err(format!("coordinates of {} bits are few enough to be compared as they are", format.width()));
        }
        Ok(Coarse { asked, axes, format })
    }

    /// The differences that filters take, as the source has them.
    pub fn differences(&self) -> Vec<String> {
        let name = |(pin, element): (usize, u32)| self.asked.pins[pin].column(element);
        self.axes.iter().map(|a| format!("{} - {}", name(a.source), name(a.target))).collect()
    }
}

/// The condition as the only output of the graph, simplified.
fn asked(graph: &Graph) -> Option<Graph> {
    let value = graph.filter?;
    let mut asked = graph.clone();
    let pin = push_pin(&mut asked, PASS.into(), PinClass::Fout, UINT1);
    asked.outputs = vec![Output { pin, element: 0, reduce: Reduce::Max, value }];
    (asked.bins, asked.gathered) = (Vec::new(), Vec::new());
    Some(live(&simplify(&asked)))
}

/// Whether the filters of an engine of this graph are coarse.
pub fn is_coarse(graph: &Graph) -> bool {
    reach_pin(graph).is_some()
}

fn reach_pin(graph: &Graph) -> Option<usize> {
    graph.pins.iter().position(|p| p.name == REACH)
}

/// The kernel as filters have it: with the parameter [`REACH`], if there is a coarse test of its condition.
pub fn reaching(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    if !is_coarse(&graph) && Coarse::new(&graph).is_ok() {
        graph.pins.push(Pin::scalar(REACH, PinClass::Param, WORD, Span { start: 0, end: 0 }));
    }
    graph
}

/// The records of an engine of a kernel, with so many filters.
pub fn layout(graph: &Graph, filters: u32) -> Layout {
    if filters > 0 { reaching(graph).layout() } else { graph.layout() }
}

/// Parameters of a kernel as an engine with filters takes them: with [`REACH`], which may be there already.
pub fn completed(graph: &Graph, params: &[u64]) -> Vec<u64> {
    let graph = reaching(graph);
    let elements = graph.elements_of(PinClass::Param);
    let mut params = params.to_vec();
    let place = reach_pin(&graph).and_then(|pin| elements.iter().position(|e| e.0 == pin));
    if let (Some(at), Ok(coarse)) = (place, Coarse::new(&graph)) {
        if params.len() < elements.len() {
            params.insert(at, 0);
        }
        params[at] = coarse.reach(&params);
    }
    params
}

/// A pin's node among those of a graph, which gets one if it has none.
fn pin_node(graph: &mut Graph, (pin, element): (usize, u32), like: NodeId) -> NodeId {
    let is = |kind: &NodeKind| matches!(kind, NodeKind::Pin { pin: p, element: e } if (*p, *e) == (pin, element));
    match graph.nodes.iter().position(|n| is(&n.kind)) {
        Some(k) => NodeId(k as u32),
        None => {
            let format = graph.pins[pin].format;
            super::bins::push(graph, NodeKind::Pin { pin, element }, format, like)
        }
    }
}
