//! Storage of the waiting values of a folded graph: registers behind nodes, and memories behind units.

use super::Writer;
use hdl::rtl::fold::START;
use hdl::rtl::netlist::Item;
use hdl::rtl::{Value, net, ring};

impl Writer<'_> {
    /// The registers that hold values for K clocks.
    pub(super) fn held(&mut self) {
        self.module.comment(format!("---- values that wait, {} clocks in each register", self.folded.ii));
        for (k, count) in self.folded.registers(self.graph).into_iter().enumerate() {
            let mut from = match self.folded.unit[k] {
                Some(unit) => self.unit[unit].clone(),
                None => self.own[k].clone(),
            };
            let node = &self.graph.nodes[k];
            let wish = if node.name.is_empty() { format!("value_{k}") } else { node.name.clone() };
            let slot = self.there[k].taken_in(self.folded.ii) as usize;
            for number in 1..=count {
                let name = self.names.unique(&format!("{wish}_h{number}"));
                if number == 1 {
                    self.module.comment(self.lines.comment(node, &self.timing(k)));
                }
                from = self.module.reg(name.clone(), self.at[slot].mux(&from, &net(&name, from.width())));
                self.held[k].push(from.clone());
            }
        }
    }

    /// The memories in which values of units wait, and the registers beside them. A port reads as many clocks back as the slot says,
    /// which comes out of a table that is asked some clocks before.
    pub(super) fn stores(&mut self) {
        if !self.folded.stored {
            return;
        }
        self.module.comment("---- values that wait in memory");
        for unit in self.folded.late(self.graph) {
            let name = self.names.unique(&format!("unit_{unit}_before"));
            self.late[unit] = Some(self.module.reg(name, self.unit[unit].clone()));
        }
        let Some(bits) = self.folded.ring_bits() else { return };
        let at = self.names.unique("ring_at");
        let at = self.module.net(at, bits);
        self.rings.push(ring::counter(bits));
        let name = self.names.unique("ring_count");
        let clk = self.module.signal("clk");
        let counter = self.rings[0].name.clone();
        self.module.instance(counter, name, [("clk", clk.clone()), ("at", at.clone())]);
        let slot = self.slot_number();
        let ports: Vec<(usize, usize)> =
            self.folded.stores.iter().enumerate().flat_map(|(u, s)| (0..s.len()).map(move |p| (u, p))).collect();
        for some in ports.chunks((u64::BITS / bits) as usize) {
            let ii = self.folded.ii as usize;
            // What a slot's reader asks for is looked up in the clock before its ring needs it.
            let ahead = (ring::READ + 1) as usize;
            let word = |slot: usize| {
                let read = |(u, p): &(usize, usize)| self.folded.stores[*u][*p][(slot + ahead) % ii];
                let back = |read: Option<(usize, u32)>| read.map_or(0, |r| (r.1 - ring::READ) as u64);
                some.iter().rev().fold(0, |word, port| word << bits | back(read(port)))
            };
            let words: Vec<u64> = (0..1usize << slot.width()).map(|k| if k < ii { word(k) } else { 0 }).collect();
            let back = self.names.unique("ring_back");
            let width = some.len() as u32 * bits;
            self.module.items.push(Item::Rom { name: back.clone(), width, addr: slot.clone(), data: words });
            for (k, (unit, _)) in some.iter().enumerate() {
                let q = self.names.unique(&format!("unit_{unit}_stored"));
                let from = self.unit[*unit].clone();
                let q = self.module.net(q, from.width());
                let made = ring::ring(from.width(), bits);
                let name = self.names.unique(&format!("unit_{unit}_ring"));
                let connections = [
                    ("clk", clk.clone()),
                    ("at", at.clone()),
                    ("d", from),
                    ("back", net(&back, width).bits(k as u32 * bits, bits)),
                    ("q", q.clone()),
                ];
                self.module.instance(made.name.clone(), name, connections);
                self.rings.push(made);
                self.stored[*unit].push(q);
            }
        }
    }

    /// The number of this clock's slot.
    fn slot_number(&mut self) -> Value {
        let bits = self.folded.ii.next_power_of_two().ilog2();
        let start = self.module.signal(START);
        let name = self.names.unique("slot");
        let slot = self.module.hold(name.clone(), bits);
        let ends = &start | &self.at[self.folded.ii as usize - 1];
        let next = ends.mux(&Value::zeros(bits), &(&slot + &Value::constant(bits, 1)));
        self.module.load(name, next);
        slot
    }
}
