//! Paths that place and route leaves out: those through cells of which it knows no delay.
//!
//! Nextpnr ends a path at a cell without a delay and says nothing of it. On Gowin these are the multipliers, second ports of
//! memories, and the tables that it puts in front of flip-flops; on iCE40 the multipliers, which it takes for registers.
//! The delays of the other cells and of all wires are its own, from the file that `--sdf` writes; those of the cells are in
//! [`Model`]. All paths are counted anew with both, and those with a delay of the model in them are what nextpnr
//! left out. What neither knows is untimed, and no clock is met by it.

use super::sdf::{Delays, Pin};
use super::{DelayType, Hop};
use std::collections::{BTreeMap, HashMap};

/// Delays that a family's place and route does not have.
#[derive(Debug)]
pub(crate) struct Model {
    /// Delays through cells and set-up times, which count where the tool has none of its own.
    pub arcs: &'static [Arc],
    pub setups: &'static [Setup],
    /// Kinds of cells of which the tool's own delays are not taken.
    pub replaced: &'static [&'static str],
    /// Pins that are clocks.
    pub clocks: &'static [&'static str],
    /// Kinds of cells that no path between registers goes through: pins of the device, buffers of clocks.
    pub outside: &'static [&'static str],
    /// Kinds of cells and pins of theirs that no other pin depends on where the tool has no delay for them.
    pub idle: &'static [(&'static str, &'static str)],
}

/// A delay from pins to pins of cells. In names, a `*` at the end stands for any rest.
#[derive(Debug)]
pub(crate) struct Arc {
    pub kind: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub ns: f64,
}

#[derive(Debug)]
pub(crate) struct Setup {
    pub kind: &'static str,
    pub pin: &'static str,
    pub ns: f64,
}

/// The blocks that were found.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Found {
    /// The slowest path with a delay of the model in it, and its time in nanoseconds.
    pub path: Vec<Hop>,
    pub ns: f64,
    /// The slowest path of those that the tool has counted too.
    pub known_ns: f64,
    /// Kinds of cells with a pin that no delay leads on from or to, or in a loop without a register; and how many there are.
    pub untimed: BTreeMap<String, usize>,
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

fn any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|p| fits(p, name))
}

/// An edge of the graph of pins: to where, how long, and whether the model gave it.
struct Edge {
    to: usize,
    ns: f64,
    modelled: bool,
    kind: DelayType,
}

/// The latest times at which signals come to pins, without a delay of the model on their way and with one, and the pin and state that
/// each came from.
struct Arrivals {
    late: Vec<[f64; 2]>,
    before: Vec<[(usize, usize); 2]>,
}

/// Pins, and what leads from each to others.
#[derive(Default)]
struct Graph<'a> {
    pins: Vec<&'a Pin>,
    edges: Vec<Vec<Edge>>,
    /// The number of edges that lead to a pin.
    into: Vec<usize>,
    /// The pin at the other end of the wire, of inputs.
    driver: Vec<Option<usize>>,
    /// Outputs with their delay from a clock whose wire is not in the file.
    starts: Vec<(usize, f64)>,
    setups: Vec<Option<(f64, bool)>>,
}

/// Counts the paths of a design.
pub(crate) fn count(model: &Model, delays: &Delays) -> Found {
    let graph = Graph::new(model, delays);
    let (mut found, looped) = graph.slowest(model, delays);
    found.untimed = graph.untimed(model, delays, looped);
    found
}

impl<'a> Graph<'a> {
    fn new(model: &Model, delays: &'a Delays) -> Graph<'a> {
        let mut g = Graph::default();
        let mut numbers: HashMap<&Pin, usize> = HashMap::new();
        let mut of_cell: Vec<Vec<usize>> = vec![Vec::new(); delays.cells.len()];
        for wire in &delays.wires {
            let [from, to] = [&wire.from, &wire.to].map(|pin| {
                *numbers.entry(pin).or_insert_with(|| {
                    g.pins.push(pin);
                    g.edges.push(Vec::new());
                    g.into.push(0);
                    g.driver.push(None);
                    g.setups.push(None);
                    of_cell[pin.0].push(g.pins.len() - 1);
                    g.pins.len() - 1
                })
            });
            g.driver[to] = Some(from);
            g.join(from, Edge { to, ns: wire.ns, modelled: false, kind: DelayType::Routing });
        }
        for (number, cell) in delays.cells.iter().enumerate() {
            let own = !any(model.replaced, &cell.kind);
            // Pins that are joined to others, in front of the cell or behind it.
            let pins = &of_cell[number];
            let mut known: HashMap<(&str, &str), f64> = HashMap::new();
            if own {
                known.extend(cell.arcs.iter().map(|(from, to, ns)| ((from.as_str(), to.as_str()), *ns)));
            }
            let unwired = |name: &str| pins.iter().all(|pin| g.pins[*pin].1 != name);
            for ((_, output), ns) in known.iter().filter(|(k, _)| any(model.clocks, k.0) && unwired(k.0)) {
                g.starts.extend(pins.iter().filter(|pin| g.pins[**pin].1 == *output).map(|pin| (*pin, *ns)));
            }
            let arcs: Vec<&Arc> = model.arcs.iter().filter(|a| fits(a.kind, &cell.kind)).collect();
            for from in pins.iter().filter(|pin| g.driver[**pin].is_some()).copied().collect::<Vec<_>>() {
                for to in pins.iter().filter(|pin| g.driver[**pin].is_none()).copied().collect::<Vec<_>>() {
                    let names = (g.pins[from].1.as_str(), g.pins[to].1.as_str());
                    let clock = any(model.clocks, names.0);
                    let kind = if clock { DelayType::ClockToOutput } else { DelayType::Logic };
                    let modelled = || arcs.iter().find(|a| fits(a.from, names.0) && fits(a.to, names.1));
                    let edge = match known.get(&names) {
                        Some(ns) => Edge { to, ns: *ns, modelled: false, kind },
                        None => match modelled() {
                            Some(arc) => Edge { to, ns: arc.ns, modelled: true, kind },
                            None => continue,
                        },
                    };
                    g.join(from, edge);
                }
                let name = g.pins[from].1.as_str();
                let known = cell.setups.iter().find(|s| own && s.0 == name).map(|s| (s.1, false));
                let modelled = || model.setups.iter().find(|s| fits(s.kind, &cell.kind) && fits(s.pin, name));
                g.setups[from] = known.or_else(|| modelled().map(|s| (s.ns, true)));
            }
        }
        g
    }

    fn join(&mut self, from: usize, edge: Edge) {
        self.into[edge.to] += 1;
        self.edges[from].push(edge);
    }

    fn is_clock(&self, model: &Model, pin: usize) -> bool {
        any(model.clocks, &self.pins[pin].1)
    }

    /// The slowest paths from a clock to a set-up, with a delay of the model in them and without; and pins in loops, or behind
    /// them, through which no path was followed.
    fn slowest(&self, model: &Model, delays: &Delays) -> (Found, Vec<usize>) {
        let n = self.pins.len();
        // By whether a delay of the model was met: the latest arrival, and the pin and state before.
        let mut late = vec![[f64::NEG_INFINITY; 2]; n];
        let mut before = vec![[(usize::MAX, 0usize); 2]; n];
        self.starts.iter().for_each(|(pin, ns)| late[*pin][0] = *ns);
        // Clocks begin paths; what leads to them is no part of any.
        let mut open: Vec<usize> = Vec::new();
        let mut left = self.into.clone();
        for pin in 0..n {
            let clock = self.is_clock(model, pin);
            if clock {
                late[pin][0] = 0.0;
            }
            if clock || left[pin] == 0 {
                left[pin] = 0;
                open.push(pin);
            }
        }
        while let Some(pin) = open.pop() {
            for edge in &self.edges[pin] {
                if self.is_clock(model, edge.to) {
                    continue;
                }
                for state in 0..2 {
                    let (to, time) = (state | edge.modelled as usize, late[pin][state] + edge.ns);
                    if time > late[edge.to][to] {
                        late[edge.to][to] = time;
                        before[edge.to][to] = (pin, state);
                    }
                }
                left[edge.to] -= 1;
                if left[edge.to] == 0 {
                    open.push(edge.to);
                }
            }
        }
        let mut found = Found::default();
        let mut end = None;
        for (pin, (times, setup)) in late.iter().zip(&self.setups).enumerate() {
            let Some((setup, modelled)) = *setup else { continue };
            for (state, time) in times.iter().enumerate() {
                let ns = time + setup;
                if state == 0 && !modelled {
                    found.known_ns = found.known_ns.max(ns);
                } else if ns > found.ns {
                    (found.ns, end) = (ns, Some((pin, state, setup)));
                }
            }
        }
        if let Some((pin, state, setup)) = end {
            found.path = self.path(delays, &Arrivals { late, before }, (pin, state), setup);
        }
        (found, (0..n).filter(|pin| left[*pin] > 0).collect())
    }

    /// The pieces of the path to a pin.
    fn path(&self, delays: &Delays, Arrivals { late, before }: &Arrivals, end: (usize, usize), setup: f64) -> Vec<Hop> {
        let cell = |pin: usize| delays.cells[self.pins[pin].0].name.clone();
        let mut path = vec![Hop { kind: DelayType::Setup, ns: setup, cell: cell(end.0) }];
        let (mut pin, mut state) = end;
        loop {
            let (from, was) = before[pin][state];
            if from == usize::MAX {
                if late[pin][state] > 0.0 {
                    path.push(Hop { kind: DelayType::ClockToOutput, ns: late[pin][state], cell: cell(pin) });
                }
                path.reverse();
                return path;
            }
            let edge = self.edges[from].iter().find(|e| e.to == pin);
            let kind = edge.map_or(DelayType::Logic, |e| e.kind);
            path.push(Hop { kind, ns: late[pin][state] - late[from][was], cell: cell(pin) });
            (pin, state) = (from, was);
        }
    }

    /// Cells that a signal goes into or comes from, with no delay for it. Cells without inputs are constants, and those without
    /// outputs or a clock compute nothing.
    fn untimed(&self, model: &Model, delays: &Delays, looped: Vec<usize>) -> BTreeMap<String, usize> {
        let mut cells: Vec<usize> = looped.into_iter().map(|pin| self.pins[pin].0).collect();
        let mut inputs = vec![false; delays.cells.len()];
        let mut works = vec![false; delays.cells.len()];
        for (pin, (cell, _)) in self.pins.iter().enumerate() {
            match self.driver[pin] {
                Some(_) => inputs[*cell] = true,
                None => works[*cell] = true,
            }
            works[*cell] |= self.is_clock(model, pin);
        }
        let mut driven: Vec<bool> = self.into.iter().map(|n| *n > 0).collect();
        for (pin, _) in &self.starts {
            driven[*pin] = true;
            inputs[self.pins[*pin].0] = true;
        }
        for (pin, (cell, name)) in self.pins.iter().enumerate() {
            let kind = delays.cells[*cell].kind.as_str();
            if any(model.outside, kind) || self.is_clock(model, pin) || !inputs[*cell] || !works[*cell] {
                continue;
            }
            let untimed = match self.driver[pin] {
                Some(from) => {
                    let varies = inputs[self.pins[from].0] || any(model.outside, &delays.cells[self.pins[from].0].kind);
                    let idle = model.idle.iter().any(|(k, p)| fits(k, kind) && fits(p, name));
                    varies && !idle && self.edges[pin].is_empty() && self.setups[pin].is_none()
                }
                None => !driven[pin],
            };
            if untimed {
                cells.push(*cell);
            }
        }
        cells.sort_unstable();
        cells.dedup();
        let mut kinds = BTreeMap::new();
        cells.iter().for_each(|c| *kinds.entry(delays.cells[*c].kind.clone()).or_insert(0) += 1);
        kinds
    }
}
