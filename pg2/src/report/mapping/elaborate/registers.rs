//! Registers, without what their own inputs for clearing and holding do, without bits that are constants, and without the
//! products that multipliers hold.

use super::super::gates::{Bit, ONE, ZERO};
use super::{Block, Elaborator, Source};
use hdl::rtl::expr::{Binary, Node};
use hdl::rtl::netlist::{Dir, Item, Module};
use hdl::rtl::{Name, Value};

impl<'a> Elaborator<'a, '_> {
    /// The bits that a register takes, without what its own inputs for clearing and holding do.
    pub(super) fn next(&mut self, place: usize, name: &Name) -> Vec<Bit> {
        let index = self.index(place);
        let module: &'a Module = index.module;
        let item = index.loads.get(name).or(index.items.get(name)).map(|k| &module.items[*k]);
        match item {
            Some(Item::Reg { next, .. } | Item::Load { next, .. }) => {
                let own = self.signal(place, name, 0, next.width());
                let mut controls = Vec::new();
                let bits = self.taken(place, next, &own, &mut controls);
                self.controls.insert((place, name.clone()), controls);
                bits
            }
            Some(Item::Rom { width, addr, data, .. }) => {
                let at = self.value(place, addr);
                (0..*width).map(|bit| self.looked_up(&at, data, bit, 0)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn taken(&mut self, place: usize, e: &'a Value, own: &[Bit], controls: &mut Vec<Bit>) -> Vec<Bit> {
        let (place, e) = self.origin(place, e);
        let Node::Mux(c, a, b) = e.node() else { return self.value(place, e) };
        let c = self.value(place, c)[0];
        if c <= ONE {
            return self.taken(place, if c == ONE { a } else { b }, own, controls);
        }
        for (side, other, condition) in [(a, b, c), (b, a, c ^ 1)] {
            let named = matches!(side.node(), Node::Const(_) | Node::Read { .. });
            let bits = if named { self.value(place, side) } else { Vec::new() };
            let constant = named && bits.iter().all(|bit| *bit <= ONE);
            if constant || named && bits == own {
                controls.push(if constant { condition } else { condition ^ 1 });
                return self.taken(place, other, own, controls);
            }
        }
        let (a, b) = (self.value(place, a), self.value(place, b));
        a.into_iter().zip(b).map(|(a, b)| self.gates.choice(c, a, b)).collect()
    }

    /// The bits of a value that are constants whatever it reads: registers of these are none.
    pub(super) fn constants(&mut self, place: usize, e: &'a Value) -> Vec<Option<Bit>> {
        let (place, e) = self.origin(place, e);
        let width = e.width() as usize;
        match e.node() {
            Node::Const(bits) => (0..width as u32).map(|k| Some(bits.bit(k) as Bit)).collect(),
            Node::Cat(parts) => parts.iter().rev().flat_map(|part| self.constants(place, part)).collect(),
            Node::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                let decides = if *op == Binary::And { ZERO } else { ONE };
                let (a, b) = (self.constants(place, a), self.constants(place, b));
                let of = |(a, b)| match (a, b) {
                    (Some(bit), _) | (_, Some(bit)) if bit == decides => Some(bit),
                    (Some(a), Some(_)) => Some(a),
                    _ => None,
                };
                a.into_iter().zip(b).map(of).collect()
            }
            _ => vec![None; width],
        }
    }

    /// The bits that a whole name stands for, through wires and ports.
    fn origin(&mut self, mut place: usize, mut e: &'a Value) -> (usize, &'a Value) {
        while let Node::Read { leaf, full, low: 0 } = e.node()
            && *full == e.width()
        {
            let index = self.index(place);
            if let Some(k) = index.items.get(leaf) {
                let module: &'a Module = index.module;
                let (Item::Wire { value, .. } | Item::Assign { value, .. }) = &module.items[*k] else { break };
                e = value;
                continue;
            }
            let given = self.places[place].outer.zip(self.places[place].connections.get(leaf).copied());
            let enters = index.module.ports.iter().any(|p| p.dir == Dir::In && p.name == *leaf);
            let Some(((outer, _), value)) = given.filter(|_| enters) else { break };
            (place, e) = (outer, value);
        }
        (place, e)
    }

    /// Whether bits are a whole product in its multiplier's register.
    pub(super) fn is_product(&self, bits: &[Bit]) -> bool {
        let Some(Source::Register { place, name, .. }) = bits.first().and_then(|bit| self.sources.get(&(bit / 2)))
        else {
            return false;
        };
        let known = self.places[*place].values.get(name).filter(|_| self.multiplied(*place, name));
        known.is_some_and(|own| bits.starts_with(own) && bits[own.len()..].iter().all(|bit| *bit == ZERO))
    }

    /// A sum in a multiplier.
    pub(super) fn added(&mut self, operands: Vec<Bit>, width: u32) -> Vec<Bit> {
        self.blocks.push(Block::Added { operands });
        let block = self.blocks.len() - 1;
        self.fresh(width, |_| Source::Block(block))
    }

    /// Whether a register holds a product that nothing else reads, in a multiplier that has such a register.
    pub(super) fn multiplied(&self, place: usize, name: &Name) -> bool {
        let index = self.index(place);
        let item = index.items.get(name).map(|k| &index.module.items[*k]);
        self.family.adding_multipliers
            && index.reads.get(name) == Some(&1)
            && matches!(item, Some(Item::Reg { next, .. }) if matches!(next.node(), Node::Product { .. }))
    }

    /// A bit of the word at an address, as a tree of choices.
    fn looked_up(&mut self, at: &[Bit], data: &[u64], bit: u32, base: usize) -> Bit {
        match at {
            [] => (data.get(base).copied().unwrap_or(0) >> bit & 1) as Bit,
            [low @ .., high] => {
                let zero = self.looked_up(low, data, bit, base);
                let one = self.looked_up(low, data, bit, base + (1 << low.len()));
                self.gates.choice(*high, one, zero)
            }
        }
    }
}
