//! Sharing of units: which operators share, and with what hardware.
//!
//! Sharing saves the circuits of the uses beyond the units; it costs multiplexers in front of the units and the registers behind
//! these. Both are counted in lookup tables of the target.

use super::sums;
use crate::graph::{Graph, NodeKind};
use crate::middle::library::Library;
use hdl::circuit::Circuit;
use hdl::circuit::area::choice_tables;
use hdl::circuit::target::Clock;
use hdl::engine::Slices;
use hdl::op::float::{TOFIX, pointed};
use hdl::op::{Inst, Operator, circuit};
use hdl::{Bounds, Flags, Format};
use std::collections::HashMap;

/// The worth of a multiplier block in lookup tables: about the product that it makes.
const BLOCK: u64 = 200;
/// The worth of a block memory in lookup tables.
const MEMORY: u64 = 200;
/// Guard bits of a sum, which its adder has beside the output's own.
const GUARD: u64 = 32;

/// Uses that share units.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedUses {
    /// Operator and formats, for people.
    pub what: String,
    /// Index of the units' module in the library; `None` for sums, whose adders are the lane's.
    pub module: Option<usize>,
    /// In order; see [`super::Unit::slots`].
    pub items: Vec<usize>,
    pub units: u32,
    /// Widths of the units' inputs, and whether the first two may be exchanged.
    pub ports: Vec<u32>,
    pub commutes: bool,
    /// The flags that a unit can raise: at least those of each of its uses.
    pub flags: Flags,
    /// Where the unit takes the point of its results as a last argument, that of each use; else nothing.
    pub points: Vec<u64>,
    /// Whether slots and units of the uses are given: sums in slices, in the order of the record.
    pub fixed: bool,
}

impl SharedUses {
    /// The fewest units that serve the uses in `ii` clocks.
    pub fn least(&self, ii: u32) -> u32 {
        if self.fixed { self.units } else { (self.items.len() as u32).div_ceil(ii) }
    }
}

/// The hardware of all operators, and those that share.
pub(super) struct Wish {
    pub library: Library,
    pub kinds: Vec<SharedUses>,
}

/// Nodes that could share: one operator, the formats of its arguments and its attributes.
struct Group {
    op: &'static dyn Operator,
    /// With what is known of all uses.
    inst: Inst,
    nodes: Vec<usize>,
    /// Of conversions to formats that differ in their point: that of each node, and the circuit that takes it.
    points: Option<(Vec<u64>, Circuit)>,
}

impl Group {
    /// Whether the two arguments may change places: they have one format then.
    fn commutes(&self) -> bool {
        self.op.commutes() && matches!(&self.inst.args[..], [a, b] if a == b)
    }
}

pub(super) fn kinds(graph: &Graph, fixed: &[bool], clock: Clock, ii: u32) -> Wish {
    let mut library = Library::empty(clock, graph.nodes.len());
    let mut kinds = Vec::new();
    let groups = join_points(graph, groups(graph, fixed), clock, ii);
    let logic = in_logic(&groups, clock, ii);
    for (group, logic) in groups.iter().zip(logic) {
        let own = Clock { blocks: logic.then_some(0), ..clock };
        if !shares(group, own, ii) {
            for k in &group.nodes {
                if let NodeKind::Op { op, inst, .. } = &graph.nodes[*k].kind {
                    library.give(&[*k], *op, inst, logic);
                }
            }
            continue;
        }
        let name = format!("{}_{}", group.op.name(), group.nodes[0]);
        match &group.points {
            Some((_, circuit)) => library.give_made(&group.nodes, &name, circuit),
            None => library.give(&group.nodes, group.op, &group.inst, logic),
        }
        let formats: Vec<String> = group.inst.args.iter().map(Format::to_string).collect();
        let flags = if group.points.is_some() { Flags::SATURATION } else { group.op.flags(&group.inst) };
        kinds.push(SharedUses {
            what: format!("{} {}", group.op.name(), formats.join(" ")),
            module: library.index(group.nodes[0]),
            items: group.nodes.clone(),
            units: (group.nodes.len() as u32).div_ceil(ii),
            ports: group.inst.args.iter().map(|f| f.width()).collect(),
            commutes: group.commutes(),
            flags,
            points: group.points.as_ref().map_or(Vec::new(), |p| p.0.clone()),
            fixed: false,
        });
    }
    for (k, node) in graph.nodes.iter().enumerate().filter(|(k, _)| fixed[*k]) {
        if let NodeKind::Op { op, inst, .. } = &node.kind {
            library.give(&[k], *op, inst, clock.blocks.is_some());
        }
    }
    match graph.layout().slices(ii) {
        Some(slices) => kinds.push(sliced_sums(graph, &slices)),
        None => kinds.extend(shared_sums(graph, fixed, clock, ii)),
    }
    Wish { library, kinds }
}

/// Groups in order of their first node.
fn groups(graph: &Graph, fixed: &[bool]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<(&'static dyn Operator, Inst), usize> = HashMap::new();
    for (k, node) in graph.nodes.iter().enumerate().filter(|(k, _)| !fixed[*k]) {
        let NodeKind::Op { op, inst, .. } = &node.kind else { continue };
        let key = Inst { nonneg: 0, bounds: Vec::new(), same: false, ..inst.clone() };
        let at = *known.entry((*op, key)).or_insert_with(|| {
            groups.push(Group { op: *op, inst: inst.clone(), nodes: Vec::new(), points: None });
            groups.len() - 1
        });
        let group = &mut groups[at];
        join(&mut group.inst, inst);
        group.nodes.push(k);
    }
    // Arguments that may change places at a unit are known by what is true of both.
    for group in groups.iter_mut().filter(|g| g.commutes()) {
        let mut turned = group.inst.clone();
        turned.bounds = vec![turned.bounds(1), turned.bounds(0)];
        turned.nonneg = turned.nonneg >> 1 & 1 | (turned.nonneg & 1) << 1;
        join(&mut group.inst, &turned);
    }
    groups
}

/// Joins conversions of floats to formats that differ in their point, where that saves units.
fn join_points(graph: &Graph, groups: Vec<Group>, clock: Clock, ii: u32) -> Vec<Group> {
    let mut joined: Vec<Group> = Vec::new();
    let sort = |f: Format| (f.width(), f.is_signed());
    let units = |count: usize| (count as u32).div_ceil(ii);
    for group in groups {
        let like = |g: &Group| {
            let (a, b) = (&g.inst, &group.inst);
            let same = a.args == b.args && sort(a.result) == sort(b.result) && a.attrs.round == b.attrs.round;
            let (one, two) = (g.nodes.len(), group.nodes.len());
            *g.op == *TOFIX && *group.op == *TOFIX && same && units(one + two) < units(one) + units(two)
        };
        let Some(at) = joined.iter().position(like) else {
            joined.push(group);
            continue;
        };
        let Some(circuit) = pointed(&group.inst, clock) else {
            joined.push(group);
            continue;
        };
        let all = &mut joined[at];
        all.nodes.extend(group.nodes);
        all.nodes.sort_unstable();
        let point = |k: &usize| graph.nodes[*k].format.frac().unwrap_or(0) as u64;
        all.points = Some((all.nodes.iter().map(point).collect(), circuit));
    }
    joined
}

/// Leaves in `all` only what is true of `other` too.
fn join(all: &mut Inst, other: &Inst) {
    let bounds: Vec<Bounds> = (0..all.args.len()).map(|k| all.bounds(k).or(other.bounds(k))).collect();
    let nothing = bounds.iter().zip(&all.args).all(|(b, f)| *b == Bounds::of(*f));
    all.bounds = if nothing { Vec::new() } else { bounds };
    all.nonneg &= other.nonneg;
    all.same &= other.same;
}

/// Whether the uses of a group share units.
fn shares(group: &Group, clock: Clock, ii: u32) -> bool {
    let uses = group.nodes.len() as u64;
    let units = uses.div_ceil(ii as u64);
    if uses == units {
        return false;
    }
    let one = part(group.op, &group.inst, clock);
    let memories = one.memory_bits.div_ceil(clock.target.memory_bits as u64);
    let worth = one.tables + BLOCK * one.multipliers + MEMORY * memories;
    let bits: u64 = group.inst.args.iter().map(|f| f.width() as u64).sum();
    // Some uses of a unit find an argument at one source; a register behind the multiplexer comes with its table.
    let ways = (uses.div_ceil(units) * 3).div_ceil(4);
    (uses - units) * worth > units * bits * choice_tables(ways.max(2), clock.target.lut_inputs)
}

/// The resources of a use.
struct UnitResources {
    tables: u64,
    multipliers: u64,
    memory_bits: u64,
}

/// The resources of one use.
fn part(op: &dyn Operator, inst: &Inst, clock: Clock) -> UnitResources {
    let made = circuit(op, inst, clock);
    let memory_bits = op.table(inst).map_or(0, |t| t.bits);
    UnitResources { tables: made.tables(), multipliers: made.multipliers() as u64, memory_bits }
}

/// For each group whether its products are in logic: those that cost least there, until the rest keeps to the limit.
fn in_logic(groups: &[Group], clock: Clock, ii: u32) -> Vec<bool> {
    let mut logic = vec![false; groups.len()];
    let Some(limit) = clock.blocks else { return logic };
    let free = Clock { blocks: None, ..clock };
    let mut all: Vec<(u64, u64, usize)> = Vec::new();
    for (k, group) in groups.iter().enumerate() {
        let blocks = part(group.op, &group.inst, free).multipliers;
        if blocks > 0 {
            let units =
                if shares(group, free, ii) { group.nodes.len().div_ceil(ii as usize) } else { group.nodes.len() };
            let cost = circuit(group.op, &group.inst, Clock { blocks: Some(0), ..clock }).in_logic() as u64;
            all.push((blocks * units as u64, cost / blocks, k));
        }
    }
    let mut total: u64 = all.iter().map(|a| a.0).sum();
    // A group goes into logic as a whole; of those that are enough alone the one that costs least.
    while total > limit as u64 {
        let over = total - limit as u64;
        let cost = |a: &&(u64, u64, usize)| (a.0 < over, a.0 * a.1, a.2);
        let Some(next) = all.iter().filter(|a| !logic[a.2]).min_by_key(cost).copied() else { break };
        logic[next.2] = true;
        total -= next.0;
    }
    logic
}

/// All sums, where they are added up in slices.
fn sliced_sums(graph: &Graph, slices: &Slices) -> SharedUses {
    let n = graph.nodes.len();
    SharedUses {
        what: format!("sum of {} slices", slices.each),
        module: None,
        items: (n..n + graph.outputs.len()).collect(),
        units: slices.adders,
        ports: vec![slices.width],
        commutes: false,
        flags: Flags::NONE,
        points: Vec::new(),
        fixed: true,
    }
}

/// The sums that share adders, by format.
fn shared_sums(graph: &Graph, fixed: &[bool], clock: Clock, ii: u32) -> Vec<SharedUses> {
    let mut kinds: Vec<(Format, SharedUses)> = Vec::new();
    for (k, o) in graph.outputs.iter().enumerate().filter(|(k, _)| sums(graph, fixed, *k)) {
        let format = graph.node(o.value).format;
        let at = kinds.iter().position(|(f, _)| *f == format).unwrap_or_else(|| {
            let kind = SharedUses {
                what: format!("sum {format}"),
                module: None,
                items: Vec::new(),
                units: 0,
                ports: vec![format.width()],
                commutes: false,
                flags: Flags::NONE,
                points: Vec::new(),
                fixed: false,
            };
            kinds.push((format, kind));
            kinds.len() - 1
        });
        kinds[at].1.items.push(graph.nodes.len() + k);
    }
    kinds.retain_mut(|(format, kind)| {
        let (uses, width) = (kind.items.len() as u64, format.width() as u64);
        let units = uses.div_ceil(ii as u64);
        kind.units = units as u32;
        let ways = uses.div_ceil(units);
        let saved = (uses - units) * (2 * width + GUARD);
        uses > units && saved > units * width * choice_tables(ways, clock.target.lut_inputs)
    });
    kinds.into_iter().map(|(_, kind)| kind).collect()
}
