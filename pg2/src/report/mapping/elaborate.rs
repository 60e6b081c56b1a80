//! A netlist as gates: from what leaves its top module back through registers to what enters, so that what nobody reads is not there.

mod arithmetic;
mod registers;

use super::family::Family;
use super::gates::{Bit, Gates, ONE};
use hdl::hash::{FastMap, FastSet};
use hdl::rtl::expr::{Binary, Node, Reduce};
use hdl::rtl::netlist::{Dir, Item, Module, Netlist};
use hdl::rtl::{Name, Value};

/// The driver of bits of a net.
#[derive(Clone, Copy, Debug)]
struct Driver {
    low: u32,
    width: u32,
    /// The instance, and where in its port the bits are.
    item: usize,
    port: usize,
    port_low: u32,
}

/// A module's names.
struct Index<'a> {
    module: &'a Module,
    items: FastMap<Name, usize>,
    loads: FastMap<Name, usize>,
    drivers: FastMap<Name, Vec<Driver>>,
    /// The number of times that a name is read.
    reads: FastMap<Name, u32>,
    /// Whether it is no gates: text, or a memory.
    text: bool,
}

/// A module where it stands.
struct Place<'a> {
    index: usize,
    /// The place around it, and the instance there.
    outer: Option<(usize, usize)>,
    connections: FastMap<&'a Name, &'a Value>,
    inner: FastMap<usize, usize>,
    values: FastMap<Name, Vec<Bit>>,
    /// Bits of nets and ports that are known.
    partial: FastMap<Name, Vec<Option<Bit>>>,
}

/// The origin of a bit that is no gate.
#[derive(Clone, Debug)]
enum Source {
    Outside,
    Register {
        place: usize,
        name: Name,
        bit: u32,
    },
    /// A product, a read-only memory or a module of text, by its number among these.
    Block(usize),
}

/// Cells that are neither gates nor registers.
enum Block<'a> {
    Product {
        operands: Vec<Bit>,
    },
    /// The sum of a product and another number, in the product's own multiplier.
    Added {
        operands: Vec<Bit>,
    },
    Rom {
        operands: Vec<Bit>,
        words: u64,
        width: u64,
    },
    Text {
        place: usize,
        module: &'a Module,
    },
}

/// A netlist as gates.
pub(super) struct Elaborated<'a> {
    pub gates: Gates,
    /// Bits that cells read which are no tables.
    pub roots: Vec<Bit>,
    pub registers: u64,
    pub products: u64,
    /// Words and bits of read-only memories in blocks.
    pub roms: Vec<(u64, u64)>,
    /// Modules of text, and memories.
    pub texts: Vec<&'a Module>,
}

pub(super) struct Elaborator<'a, 'f> {
    family: &'f Family,
    indices: Vec<Index<'a>>,
    by_name: FastMap<&'a str, usize>,
    places: Vec<Place<'a>>,
    pub gates: Gates,
    /// By the number of the gate.
    sources: FastMap<u32, Source>,
    blocks: Vec<Block<'a>>,
    next: FastMap<(usize, Name), Vec<Bit>>,
    /// Bits that the registers' own inputs for clearing and holding read.
    controls: FastMap<(usize, Name), Vec<Bit>>,
    busy: FastSet<(usize, Name)>,
}

/// The gates of the top module with everything in it.
pub(super) fn elaborate<'a>(netlist: &'a Netlist, family: &Family) -> Elaborated<'a> {
    let mut e = Elaborator::new(netlist, family);
    let top = e.by_name[netlist.top.as_str()];
    e.places.push(Place::new(top, None));
    let outputs = e.indices[top].module.ports.iter().filter(|p| p.dir == Dir::Out);
    let mut roots = Vec::new();
    for port in outputs.collect::<Vec<_>>() {
        roots.extend(e.signal(0, &port.name, 0, port.width));
    }
    e.reach(roots)
}

impl<'a> Place<'a> {
    fn new(index: usize, outer: Option<(usize, usize)>) -> Place<'a> {
        Place {
            index,
            outer,
            connections: FastMap::default(),
            inner: FastMap::default(),
            values: FastMap::default(),
            partial: FastMap::default(),
        }
    }
}

impl<'a> Index<'a> {
    fn new(module: &'a Module, ports: &FastMap<&str, &'a Module>) -> Index<'a> {
        let mut index = Index {
            module,
            items: FastMap::default(),
            loads: FastMap::default(),
            drivers: FastMap::default(),
            reads: FastMap::default(),
            text: module.items.iter().any(|i| matches!(i, Item::Text(_) | Item::Memory { .. })),
        };
        for (k, item) in module.items.iter().enumerate() {
            match item {
                Item::Assign { name, .. } => drop(index.items.insert(name.clone(), k)),
                Item::Load { name, .. } => drop(index.loads.insert(name.clone(), k)),
                Item::Net { .. } => {}
                Item::Instance { module, connections, .. } => {
                    let Some(inner) = ports.get(module.as_str()) else { continue };
                    for (at, port) in inner.ports.iter().enumerate().filter(|(_, p)| p.dir == Dir::Out) {
                        let Some((_, value)) = connections.iter().find(|c| c.0 == port.name) else { continue };
                        index.driven(value, k, at, 0);
                    }
                }
                other => drop(other.declares().map(|(name, _)| index.items.insert(name.clone(), k))),
            }
            item.values()
                .for_each(|v| v.reads(&mut |name, _, _, _| *index.reads.entry(name.clone()).or_insert(0) += 1));
        }
        index
    }

    /// Notes what an output's connection drives.
    fn driven(&mut self, value: &Value, item: usize, port: usize, port_low: u32) {
        match value.node() {
            Node::Read { leaf, low, .. } => {
                let driver = Driver { low: *low, width: value.width(), item, port, port_low };
                self.drivers.entry(leaf.clone()).or_default().push(driver);
            }
            Node::Cat(parts) => {
                let mut low = port_low;
                for part in parts.iter().rev() {
                    self.driven(part, item, port, low);
                    low += part.width();
                }
            }
            _ => {}
        }
    }
}

impl<'a, 'f> Elaborator<'a, 'f> {
    fn new(netlist: &'a Netlist, family: &'f Family) -> Elaborator<'a, 'f> {
        let modules: FastMap<&str, &Module> = netlist.modules.iter().map(|m| (m.name.as_str(), &**m)).collect();
        let indices = netlist.modules.iter().map(|m| Index::new(m, &modules)).collect();
        let by_name = netlist.modules.iter().enumerate().map(|(k, m)| (m.name.as_str(), k)).collect();
        Elaborator {
            family,
            indices,
            by_name,
            places: Vec::new(),
            gates: Gates::new(),
            sources: FastMap::default(),
            blocks: Vec::new(),
            next: FastMap::default(),
            controls: FastMap::default(),
            busy: FastSet::default(),
        }
    }

    fn index(&self, place: usize) -> &Index<'a> {
        &self.indices[self.places[place].index]
    }

    fn fresh(&mut self, width: u32, source: impl Fn(u32) -> Source) -> Vec<Bit> {
        (0..width)
            .map(|k| {
                let bit = self.gates.input();
                self.sources.insert(bit / 2, source(k));
                bit
            })
            .collect()
    }

    /// Bits of a signal.
    fn signal(&mut self, place: usize, name: &Name, low: u32, width: u32) -> Vec<Bit> {
        let range = low as usize..(low + width) as usize;
        if let Some(known) = self.places[place].values.get(name) {
            return known[range].to_vec();
        }
        let index = self.index(place);
        if let Some(k) = index.items.get(name) {
            let item: &'a Item = &index.module.items[*k];
            let bits = self.defined(place, name, item);
            let part = bits[range].to_vec();
            self.places[place].values.insert(name.clone(), bits);
            return part;
        }
        self.joined(place, name, low, width)
    }

    /// The bits of an item's name.
    fn defined(&mut self, place: usize, name: &Name, item: &'a Item) -> Vec<Bit> {
        let register = |bit| Source::Register { place, name: name.clone(), bit };
        match item {
            Item::Wire { value, .. } | Item::Assign { value, .. } => {
                if !self.busy.insert((place, name.clone())) {
                    return self.fresh(value.width(), |_| Source::Outside);
                }
                let bits = self.value(place, value);
                self.busy.remove(&(place, name.clone()));
                bits
            }
            Item::Reg { next, .. } => {
                let constants = self.constants(place, next);
                let mut bits = self.fresh(next.width(), register);
                bits.iter_mut().zip(constants).for_each(|(bit, known)| *bit = known.unwrap_or(*bit));
                bits
            }
            Item::Hold { width, .. } => self.fresh(*width, register),
            Item::Rom { width, addr, data, .. } => {
                let words = data.len() as u64;
                if words * *width as u64 <= self.family.logic_bits {
                    return self.fresh(*width, register);
                }
                let operands = self.value(place, addr);
                self.blocks.push(Block::Rom { operands, words, width: *width as u64 });
                let block = self.blocks.len() - 1;
                self.fresh(*width, |_| Source::Block(block))
            }
            _ => Vec::new(),
        }
    }

    /// Bits of a port or of a net that instances drive.
    fn joined(&mut self, place: usize, name: &Name, low: u32, width: u32) -> Vec<Bit> {
        (low..low + width).map(|bit| self.joined_bit(place, name, bit)).collect()
    }

    fn joined_bit(&mut self, place: usize, name: &Name, bit: u32) -> Bit {
        let known = self.places[place].partial.get(name).and_then(|bits| bits.get(bit as usize).copied().flatten());
        if let Some(known) = known {
            return known;
        }
        let input = self.index(place).module.ports.iter().any(|p| p.dir == Dir::In && p.name == *name);
        if input {
            let bits = self.entering(place, name);
            self.keep(place, name, 0, &bits);
            return bits[bit as usize];
        }
        let driver = self
            .index(place)
            .drivers
            .get(name)
            .into_iter()
            .flatten()
            .find(|d| (d.low..d.low + d.width).contains(&bit))
            .copied();
        let Some(d) = driver else {
            let bits = self.fresh(1, |_| Source::Outside);
            self.keep(place, name, bit, &bits);
            return bits[0];
        };
        let inner = self.inside(place, d.item);
        let text = self.index(inner).text;
        let module = self.index(inner).module;
        if text {
            self.blocks.push(Block::Text { place: inner, module });
            let block = self.blocks.len() - 1;
            for port in module.ports.iter().filter(|p| p.dir == Dir::Out) {
                let bits = self.fresh(port.width, |_| Source::Block(block));
                self.places[inner].values.insert(port.name.clone(), bits);
            }
        }
        let port = &module.ports[d.port];
        let bits = self.signal(inner, &port.name, d.port_low, d.width);
        self.keep(place, name, d.low, &bits);
        bits[(bit - d.low) as usize]
    }

    fn keep(&mut self, place: usize, name: &Name, low: u32, bits: &[Bit]) {
        let known = self.places[place].partial.entry(name.clone()).or_default();
        let end = low as usize + bits.len();
        if known.len() < end {
            known.resize(end, None);
        }
        known[low as usize..end].iter_mut().zip(bits).for_each(|(k, b)| *k = Some(*b));
    }

    /// The bits of an input port.
    fn entering(&mut self, place: usize, name: &Name) -> Vec<Bit> {
        let width = self.index(place).module.ports.iter().find(|p| p.name == *name).map_or(1, |p| p.width);
        let given = self.places[place].outer.zip(self.places[place].connections.get(name).copied());
        match given {
            Some(((outer, _), value)) => self.value(outer, value),
            None => self.fresh(width, |_| Source::Outside),
        }
    }

    /// The place of an instance.
    fn inside(&mut self, place: usize, item: usize) -> usize {
        if let Some(known) = self.places[place].inner.get(&item) {
            return *known;
        }
        let module: &'a Module = self.index(place).module;
        let Item::Instance { module: name, connections, .. } = &module.items[item] else { return place };
        let mut inner = Place::new(self.by_name[name.as_str()], Some((place, item)));
        inner.connections = connections.iter().map(|(port, value)| (port, value)).collect();
        self.places.push(inner);
        let made = self.places.len() - 1;
        self.places[place].inner.insert(item, made);
        made
    }

    /// The bits of an expression, the lowest first.
    fn value(&mut self, place: usize, e: &'a Value) -> Vec<Bit> {
        let width = e.width();
        match e.node() {
            Node::Read { leaf, low, .. } => self.signal(place, leaf, *low, width),
            Node::Const(bits) => (0..width).map(|k| bits.bit(k) as Bit).collect(),
            Node::Cat(parts) => parts.iter().rev().flat_map(|p| self.value(place, p)).collect(),
            Node::Repeat(part) => self.value(place, part).repeat((width / part.width()) as usize),
            Node::Not(a) => self.value(place, a).into_iter().map(|bit| bit ^ 1).collect(),
            Node::Binary(Binary::Add | Binary::Sub, ..) => self.sum(place, e),
            Node::Binary(op, a, b) => {
                let (a, b) = (self.value(place, a), self.value(place, b));
                let gate = match op {
                    Binary::And => Gates::and,
                    Binary::Or => Gates::or,
                    _ => Gates::xor,
                };
                a.into_iter().zip(b).map(|(a, b)| gate(&mut self.gates, a, b)).collect()
            }
            Node::Reduce(how, a) => {
                let bits = self.value(place, a);
                vec![match how {
                    Reduce::And => self.gates.all(&bits),
                    Reduce::Or => self.gates.any(&bits),
                    Reduce::Xor => self.gates.parity(&bits),
                }]
            }
            Node::Compare { test, signed, a, b } => {
                let (a, b) = (self.value(place, a), self.value(place, b));
                vec![self.compared(*test, *signed, a, b)]
            }
            Node::Mux(c, a, b) => {
                let c = self.value(place, c)[0];
                let (a, b) = (self.value(place, a), self.value(place, b));
                a.into_iter().zip(b).map(|(a, b)| self.gates.choice(c, a, b)).collect()
            }
            Node::Shift(how, a, n) => {
                let (a, n) = (self.value(place, a), self.value(place, n));
                self.shifted(*how, a, &n)
            }
            Node::Product { a, b, .. } => {
                let mut operands = self.value(place, a);
                operands.extend(self.value(place, b));
                self.blocks.push(Block::Product { operands });
                let block = self.blocks.len() - 1;
                self.fresh(width, |_| Source::Block(block))
            }
        }
    }

    /// Goes back from the roots to everything that they need.
    fn reach(mut self, outputs: Vec<Bit>) -> Elaborated<'a> {
        let mut done = Elaborated {
            gates: Gates::new(),
            roots: Vec::new(),
            registers: 0,
            products: 0,
            roms: Vec::new(),
            texts: Vec::new(),
        };
        let mut seen: FastSet<u32> = FastSet::default();
        let mut blocks: FastSet<usize> = FastSet::default();
        let mut cleared: FastSet<(usize, Name)> = FastSet::default();
        let mut stack: Vec<Bit> = outputs.clone();
        done.roots = outputs;
        while let Some(bit) = stack.pop() {
            let gate = bit / 2;
            if !seen.insert(gate) {
                continue;
            }
            let (bits, count) = self.gates.list[gate as usize].operands();
            stack.extend(&bits[..count]);
            match self.sources.get(&gate).cloned() {
                Some(Source::Register { place, name, bit }) => {
                    done.registers += !self.multiplied(place, &name) as u64;
                    let key = (place, name);
                    if !self.next.contains_key(&key) {
                        let bits = self.next(place, &key.1);
                        self.next.insert(key.clone(), bits);
                    }
                    let d = self.next[&key][bit as usize];
                    done.roots.push(d);
                    stack.push(d);
                    if cleared.insert(key.clone()) {
                        let controls = self.controls.get(&key).cloned().unwrap_or_default();
                        done.roots.extend(&controls);
                        stack.extend(controls);
                    }
                }
                Some(Source::Block(block)) if blocks.insert(block) => {
                    let operands = match &self.blocks[block] {
                        Block::Product { operands } => {
                            done.products += 1;
                            operands.clone()
                        }
                        Block::Added { operands } => operands.clone(),
                        Block::Rom { operands, words, width } => {
                            done.roms.push((*words, *width));
                            operands.clone()
                        }
                        Block::Text { place, module } => {
                            let (place, module) = (*place, *module);
                            done.texts.push(module);
                            let inputs = module.ports.iter().filter(|p| p.dir == Dir::In && p.name != "clk");
                            inputs.flat_map(|p| self.entering(place, &p.name)).collect()
                        }
                    };
                    stack.extend(&operands);
                    done.roots.extend(operands);
                }
                _ => {}
            }
        }
        done.roots.retain(|bit| *bit > ONE);
        done.roots.sort_unstable();
        done.roots.dedup();
        done.gates = self.gates;
        done
    }
}
