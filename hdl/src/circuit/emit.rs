//! Writing a placed circuit as a module: stage by stage, the registers that open a stage first.

use super::memory::{self, Stay};
use super::place::{Placed, reads};
use super::split::{Owned, split};
use super::{Circuit, NodeKind, PORTS, Pipelined, Sig};
use crate::rtl::delay;
use crate::rtl::loaded;
use crate::rtl::names::Names;
use crate::rtl::netlist::{Dir, Item, Module, ROM};
use crate::rtl::{Name, Value, cat, net};
use std::collections::BTreeMap;

/// A set of bit positions of one signal in one stage.
type Bits = Vec<bool>;

/// A signal as it stands in one stage.
#[derive(Clone)]
pub(super) struct Copy {
    name: Name,
    /// The bits that are there.
    runs: Vec<Run>,
    /// Whether anything reads it but the next copy.
    pub direct: bool,
    /// Those of them that are read in this stage or copied into the next one, by position in the signal.
    pub read: Bits,
}

/// Neighbouring bits of a signal, `high` down to `low`, under a name of their own.
#[derive(Clone)]
struct Run {
    name: Name,
    high: u32,
    low: u32,
}

/// How a copy comes out of memory.
struct Stored {
    /// The copy that went in, and the bits of the memory's word that hold it, the lowest one first.
    from: usize,
    memory: Name,
    total: u32,
    low: u32,
}

struct Emitter<'a> {
    circuit: &'a Circuit,
    placed: &'a Placed,
    /// For each live signal its copies, from its own stage to the last one that reads it.
    copies: Vec<Vec<Copy>>,
    names: Names,
    /// The instances of parts, by owner.
    parts: BTreeMap<u32, Name>,
    module: Module,
    /// The items of the module, each with its owner.
    items: Vec<Owned>,
    /// Values that are delayed in memory, and for each signal and its copy where that is found.
    stays: Vec<Stay>,
    instances: Vec<Owned>,
    stored: BTreeMap<(usize, usize), Stored>,
    /// The modules of memories that are loaded.
    loaded: Vec<Module>,
    /// Bits that nothing reads, by owner.
    unread: BTreeMap<u32, Vec<Value>>,
}

/// The module, and for each signal the bits that wait in memory instead of registers.
pub(super) fn emit(name: &str, circuit: &Circuit, placed: &Placed) -> (Pipelined, Vec<u64>) {
    let mut e = Emitter {
        circuit,
        placed,
        copies: vec![Vec::new(); circuit.signals.len()],
        names: Names::default(),
        parts: BTreeMap::new(),
        module: Module { name: name.to_string(), latency: placed.latency, ..Module::default() },
        items: Vec::new(),
        stays: Vec::new(),
        instances: Vec::new(),
        stored: BTreeMap::new(),
        loaded: Vec::new(),
        unread: BTreeMap::new(),
    };
    e.ports();
    e.plan();
    let memories = e.memories();
    e.still();
    e.stages();
    for (port, s) in &circuit.outputs {
        let width = circuit.width(*s);
        let value = e.read(*s, None, width - 1, 0);
        e.items.push(Owned { owner: PORTS, item: Item::Assign { name: port.into(), value } });
    }
    e.sink();
    let instances = std::mem::take(&mut e.instances);
    e.items.extend(instances);
    let mut parts = split(&mut e.module, e.items, &e.parts, &e.names);
    parts.extend(memories);
    // What stands inside another module comes before it.
    parts.splice(0..0, std::mem::take(&mut e.loaded));
    let mut stored = vec![0; circuit.signals.len()];
    for stay in &e.stays {
        stored[stay.signal] += stay.width as u64 * stay.pieces.iter().sum::<u32>() as u64;
    }
    let live = |k: &usize| placed.live[*k];
    let kinds = || (0..circuit.signals.len()).filter(live).map(|k| &circuit.signals[k]);
    let made = Pipelined {
        latency: placed.latency,
        memory_bits: stored.iter().sum(),
        register_bits: e.module.own_register_bits() + parts.iter().map(Module::own_register_bits).sum::<u64>(),
        rom_bits: kinds()
            .filter_map(|s| match &s.kind {
                NodeKind::Rom { addr, .. } => Some((s.width as u64) << circuit.width(*addr)),
                _ => None,
            })
            .sum(),
        ram_bits: kinds()
            .filter_map(|s| match &s.kind {
                NodeKind::Ram { depth, .. } => Some(s.width as u64 * *depth as u64),
                _ => None,
            })
            .sum(),
        multipliers: kinds().filter(|s| matches!(s.kind, NodeKind::Mul { .. })).count() as u32,
        multiplier_bits: kinds()
            .filter_map(|s| match s.kind {
                NodeKind::Mul { a, b, .. } => Some(circuit.width(a) as u64 * circuit.width(b) as u64),
                _ => None,
            })
            .sum(),
        worst: placed.worst,
        bound: placed.bound,
        early: placed.early,
        module: e.module,
        parts,
    };
    (made, stored)
}

impl Emitter<'_> {
    fn ports(&mut self) {
        if self.placed.latency > 0 {
            self.module.port(Dir::In, "clk", 1);
        }
        for s in self.circuit.signals.iter().filter(|s| matches!(s.kind, NodeKind::Input { .. })) {
            self.module.port(Dir::In, &s.name, s.width);
        }
        for (port, s) in &self.circuit.outputs {
            self.module.port(Dir::Out, port, self.circuit.width(*s));
        }
        self.names.reserve("clk");
        for port in &self.module.ports {
            self.names.reserve(&port.name);
        }
        for part in &self.circuit.parts {
            self.parts.insert(*part.0, self.names.unique(part.1));
        }
    }

    /// Decides which bits of which signals are there in which stage, and names them.
    fn plan(&mut self) {
        let signals = &self.circuit.signals;
        let mut read: Vec<Vec<Bits>> = vec![Vec::new(); signals.len()];
        for (s, reader, high, low) in reads(self.circuit, &self.placed.live) {
            let k = s.index();
            let n = self.placed.waits(s, reader) as usize;
            if read[k].len() <= n {
                read[k].resize(n + 1, vec![false; signals[k].width as usize]);
            }
            read[k][n][low as usize..=high as usize].fill(true);
        }
        for k in (0..signals.len()).filter(|k| self.placed.live[*k]) {
            let signal = &signals[k];
            let mut bits = std::mem::take(&mut read[k]);
            if bits.is_empty() {
                bits.push(vec![false; signal.width as usize]);
            }
            let direct: Vec<bool> = bits.iter().map(|b| b.contains(&true)).collect();
            // What a later stage reads must come through every earlier one.
            for n in (1..bits.len()).rev() {
                let (before, after) = bits.split_at_mut(n);
                before[n - 1].iter_mut().zip(&after[0]).for_each(|(b, a)| *b |= a);
            }
            for (n, read) in bits.into_iter().enumerate() {
                let name = match n {
                    0 => Name::from(&signal.name),
                    _ => {
                        let stage = self.placed.ready[k].stage as usize + n;
                        let own = &self.copies[k][0].name;
                        let fixed = self.placed.ready[k].fixed;
                        if fixed { format!("{own}_still") } else { format!("{own}_s{stage}") }.into()
                    }
                };
                let mut copy = self.copy(k, n, name, read);
                copy.direct = direct[n];
                self.copies[k].push(copy);
            }
        }
    }

    /// Copy `n` of signal `k`: whole where it is made, else a register for each run of bits that are still to be read.
    fn copy(&mut self, k: usize, n: usize, name: Name, read: Bits) -> Copy {
        let signal = &self.circuit.signals[k];
        let whole = vec![(signal.width - 1, 0)];
        let runs = if n == 0 && !signal.kind.held() { whole } else { runs(&read) };
        let single = runs.len() == 1;
        let mut copy = Copy { name: name.clone(), runs: Vec::new(), direct: false, read };
        for (high, low) in runs {
            let wish = if single { name.clone() } else { format!("{name}_{high}_{low}").into() };
            let name = match (&signal.kind, n) {
                (NodeKind::Input { .. }, 0) => wish,
                (NodeKind::Rom { .. }, 0) => self.names.unique_with(&wish, ROM),
                _ => self.names.unique(&wish),
            };
            copy.runs.push(Run { name, high, low });
        }
        if single {
            copy.name = copy.runs[0].name.clone();
        }
        copy
    }

    /// Bits `high` down to `low` of a signal, as a reader (`None`: an output port) finds it.
    fn read(&self, s: Sig, reader: Option<usize>, high: u32, low: u32) -> Value {
        self.copies[s.index()][self.placed.waits(s, reader) as usize].value(high, low)
    }

    fn wire(&mut self, owner: u32, name: Name, value: Value) {
        self.items.push(Owned { owner, item: Item::Wire { name, value } });
    }

    fn register(&mut self, owner: u32, name: Name, next: Value) {
        self.items.push(Owned { owner, item: Item::Reg { name, next } });
    }

    /// Decides what waits in memory: its words, its instances and its modules.
    fn memories(&mut self) -> Vec<Module> {
        let target = self.circuit.clock.target;
        let Some(read) = memory::read(target).filter(|_| !self.circuit.parts.is_empty()) else { return Vec::new() };
        let moves = |k: usize| self.placed.live[k] && !self.placed.ready[k].fixed;
        self.stays = memory::stays(&self.copies, moves, target);
        // What goes into each memory, by its cycles.
        let mut words: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
        let mut totals: BTreeMap<u32, u32> = BTreeMap::new();
        for (stay, cycles) in self.stays.iter().flat_map(|s| s.pieces.iter().map(move |c| (s, c))) {
            *totals.entry(*cycles).or_insert(0) += stay.width;
        }
        let names: BTreeMap<u32, Name> =
            totals.keys().map(|c| (*c, self.names.unique(&format!("waited_{c}")))).collect();
        for stay in &self.stays {
            // Bits side by side, the lowest one first.
            let before = &self.copies[stay.signal][stay.from];
            let after = &self.copies[stay.signal][stay.to];
            let mut bits = cat(after.runs.iter().rev().map(|r| before.value(r.high, r.low)));
            for cycles in &stay.pieces {
                let word = words.entry(*cycles).or_default();
                let low = word.iter().map(Value::width).sum();
                word.push(bits);
                let (memory, total) = (names[cycles].clone(), totals[cycles]);
                bits = net(&memory, total).bits(low, stay.width);
                self.stored.insert((stay.signal, stay.to), Stored { from: stay.from, memory, total, low });
            }
        }
        let mut modules = Vec::new();
        for (cycles, word) in words {
            let (width, q) = (totals[&cycles], &names[&cycles]);
            let d = cat(word.into_iter().rev());
            let connections = [("clk", net("clk", 1)), ("d", d), ("q", net(q, width))];
            let connections = connections.map(|(port, value)| (port.into(), value)).into();
            let module = delay::module(width, cycles, read);
            let name = self.names.unique(&format!("wait_{cycles}"));
            self.items.push(Owned { owner: PORTS, item: Item::Net { name: q.clone(), width } });
            let item = Item::Instance { module: (&module.name).into(), name, connections };
            self.instances.push(Owned { owner: PORTS, item });
            modules.push(module);
        }
        modules
    }

    /// Defines the static signals, in front of the stages.
    fn still(&mut self) {
        for k in (0..self.circuit.signals.len()).filter(|k| self.placed.live[*k] && self.placed.ready[*k].fixed) {
            self.define(k);
            self.registers(k, 1);
        }
    }

    /// In each stage the registers of what waits, then what is made there. Only what still waits is looked at again.
    fn stages(&mut self) {
        let placed = self.placed;
        let stage_of = |k: usize| placed.ready[k].stage;
        let moving = |k: &usize| placed.live[*k] && !placed.ready[*k].fixed;
        let mut made: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        (0..self.circuit.signals.len()).filter(moving).for_each(|k| made.entry(stage_of(k)).or_default().push(k));
        let mut waiting: Vec<usize> = Vec::new();
        for stage in 0..=placed.latency {
            if placed.latency > 0 && self.circuit.parts.is_empty() {
                self.items.push(Owned { owner: PORTS, item: Item::Comment(format!("---- stage {stage}")) });
            }
            waiting.retain(|k| self.copies[*k].len() > (stage - stage_of(*k)) as usize);
            for k in &waiting {
                self.registers(*k, (stage - stage_of(*k)) as usize);
            }
            let made = made.remove(&stage).unwrap_or_default();
            made.iter().for_each(|k| self.define(*k));
            waiting.extend(made);
            waiting.sort_unstable();
        }
    }

    /// The registers of copy `n` of signal `k`, if there is such a copy and it does not lie in memory.
    fn registers(&mut self, k: usize, n: usize) {
        let Some(copy) = self.copies[k].get(n) else { return };
        // The next copy that comes out of memory.
        let next = self.stored.range((k, n + 1)..).next();
        if next.is_some_and(|((s, _), at)| *s == k && at.from < n) {
            return;
        }
        let mut taken = 0;
        for run in copy.runs.clone() {
            let next = match self.stored.get(&(k, n)) {
                None => self.copies[k][n - 1].value(run.high, run.low),
                Some(at) => net(&at.memory, at.total).bits(at.low + taken, run.high - run.low + 1),
            };
            taken += run.high - run.low + 1;
            self.register(self.circuit.signals[k].owner, run.name, next);
        }
    }

    /// Writes the definition of a signal.
    fn define(&mut self, k: usize) {
        let signal = &self.circuit.signals[k];
        let owner = signal.owner;
        if !signal.note.is_empty() {
            self.items.push(Owned { owner, item: Item::Comment(signal.note.clone()) });
        }
        let copy = self.copies[k][0].clone();
        let whole = |s: Sig| self.read(s, Some(k), self.circuit.width(s) - 1, 0);
        match &signal.kind {
            NodeKind::Input { .. } => {}
            NodeKind::Expr { expr, held, .. } => {
                let value = expr.map(&mut |s, high, low| self.read(*s, Some(k), high, low));
                if *held { self.held(&copy, k, value) } else { self.wire(owner, copy.name, value) }
            }
            NodeKind::Rom { data, addr } => {
                let address = whole(*addr);
                let mut data = data.clone();
                data.resize(1 << address.width(), 0);
                let item = Item::Rom { name: copy.name, width: signal.width, addr: address, data };
                self.items.push(Owned { owner, item });
            }
            NodeKind::Ram { depth, addr, write } => {
                let module = loaded::module(signal.width, *depth);
                let (write, addr) = (whole(*write), whole(*addr));
                let instance = self.names.unique(&format!("{}_memory", copy.name));
                let q = net(&copy.name, signal.width);
                let ports = [("clk", net("clk", 1)), ("write", write), ("addr", addr), ("q", q)];
                let connections = ports.map(|(port, value)| (port.into(), value)).into();
                self.items.push(Owned { owner, item: Item::Net { name: copy.name, width: signal.width } });
                let item = Item::Instance { module: (&module.name).into(), name: instance, connections };
                self.items.push(Owned { owner, item });
                if !self.loaded.iter().any(|m| m.name == module.name) {
                    self.loaded.push(module);
                }
            }
            NodeKind::Mul { a, b, signed } => {
                let product = whole(*a).product(&whole(*b), *signed);
                self.held(&copy, k, product);
            }
        }
    }

    /// The registers right behind a multiplier or logic, for the bits that are read.
    fn held(&mut self, copy: &Copy, k: usize, next: Value) {
        let (owner, width) = (self.circuit.signals[k].owner, self.circuit.signals[k].width);
        if let [Run { name, high, low: 0 }] = &copy.runs[..]
            && high + 1 == width
        {
            self.register(owner, name.clone(), next);
            return;
        }
        let full = self.names.unique(&format!("{}_full", copy.name));
        let whole = net(&full, width);
        self.wire(owner, full, next);
        for run in &copy.runs {
            self.register(owner, run.name.clone(), whole.slice(run.high, run.low));
        }
        let unread: Bits = copy.read.iter().map(|read| !read).collect();
        let rest = runs(&unread).into_iter().map(|(high, low)| whole.slice(high, low));
        self.unread.entry(owner).or_default().extend(rest);
    }

    /// Reads the bits that nothing else reads, so that linters do not ask about them.
    fn sink(&mut self) {
        let mut unread = std::mem::take(&mut self.unread);
        if self.placed.latency > 0 && !self.items.iter().any(|o| o.item.uses_clock()) {
            unread.entry(PORTS).or_default().push(net("clk", 1));
        }
        for (signal, copies) in self.circuit.signals.iter().zip(&self.copies) {
            let owner = if matches!(signal.kind, NodeKind::Input { .. }) { PORTS } else { signal.owner };
            for copy in copies {
                let bits: Bits = (0..).zip(&copy.read).map(|(b, read)| !read && copy.run(b, b).is_some()).collect();
                let rest = runs(&bits).into_iter().map(|(high, low)| copy.value(high, low));
                unread.entry(owner).or_default().extend(rest);
            }
        }
        for (owner, unread) in unread.into_iter().filter(|(_, unread)| !unread.is_empty()) {
            let name = self.names.unique("unused");
            self.wire(owner, name, super::split::unused(unread));
        }
    }
}

impl Copy {
    /// The run that holds bits `high` down to `low`.
    fn run(&self, high: u32, low: u32) -> Option<&Run> {
        self.runs.iter().find(|r| r.low <= low && high <= r.high)
    }

    /// Bits `high` down to `low` of the signal.
    fn value(&self, high: u32, low: u32) -> Value {
        let run = self.run(high, low).expect("bits that are read together lie side by side");
        net(&run.name, run.high - run.low + 1).slice(high - run.low, low - run.low)
    }
}

/// The set bits as runs of neighbours (high, low), lowest first.
fn runs(bits: &Bits) -> Vec<(u32, u32)> {
    let mut runs = Vec::new();
    let mut at = 0;
    for group in bits.chunk_by(|a, b| a == b) {
        let next = at + group.len() as u32;
        if group[0] {
            runs.push((next - 1, at));
        }
        at = next;
    }
    runs
}
