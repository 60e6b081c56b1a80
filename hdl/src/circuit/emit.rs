//! Writing a placed circuit as a module: stage by stage, the registers that open a stage first.

use super::place::{Placed, reads};
use super::{Circuit, Kind, Pipelined, Sig};
use crate::names::Names;
use crate::netlist::{Dir, Item, Module};

/// A set of bit positions of one signal in one stage.
type Bits = Vec<bool>;

/// A signal as it stands in one stage.
#[derive(Clone)]
struct Copy {
    name: String,
    /// The bits that are there: `high` down to `low` of the signal.
    high: u32,
    low: u32,
    /// Those of them that are read in this stage or copied into the next one, by position in the signal.
    read: Bits,
}

struct Emitter<'a> {
    circuit: &'a Circuit,
    placed: &'a Placed,
    /// For each live signal its copies, from its own stage to the last one that reads it.
    copies: Vec<Vec<Copy>>,
    names: Names,
    module: Module,
    /// Bits that nothing reads.
    unread: Vec<String>,
}

pub(super) fn emit(name: &str, circuit: &Circuit, placed: &Placed) -> Pipelined {
    let mut e = Emitter {
        circuit,
        placed,
        copies: vec![Vec::new(); circuit.signals.len()],
        names: Names::default(),
        module: Module { name: name.to_string(), latency: placed.latency, ..Module::default() },
        unread: Vec::new(),
    };
    e.ports();
    e.plan();
    for stage in 0..=placed.latency {
        e.stage(stage);
    }
    for (port, s) in &circuit.outputs {
        let width = circuit.width(*s);
        let expr = e.read(*s, placed.latency, width - 1, 0, true);
        e.module.items.push(Item::Assign { name: port.clone(), expr });
    }
    e.sink();
    let live = |k: &usize| placed.live[*k];
    let kinds = || (0..circuit.signals.len()).filter(live).map(|k| &circuit.signals[k]);
    Pipelined {
        latency: placed.latency,
        register_bits: e.module.own_register_bits(),
        rom_bits: kinds()
            .filter_map(|s| match &s.kind {
                Kind::Rom { addr, .. } => Some((s.width as u64) << circuit.width(*addr)),
                _ => None,
            })
            .sum(),
        multipliers: kinds().filter(|s| matches!(s.kind, Kind::Mul { .. })).count() as u32,
        worst: placed.worst,
        module: e.module,
    }
}

impl Emitter<'_> {
    fn ports(&mut self) {
        if self.placed.latency > 0 {
            self.module.port(Dir::In, "clk", 1);
        }
        for s in self.circuit.signals.iter().filter(|s| matches!(s.kind, Kind::Input)) {
            self.module.port(Dir::In, s.name.clone(), s.width);
        }
        for (port, s) in &self.circuit.outputs {
            self.module.port(Dir::Out, port.clone(), self.circuit.width(*s));
        }
        self.names.reserve("clk");
        for port in &self.module.ports {
            self.names.reserve(&port.name);
        }
    }

    /// Decides which bits of which signals are there in which stage, and names them.
    fn plan(&mut self) {
        let signals = &self.circuit.signals;
        let mut read: Vec<Vec<Bits>> = vec![Vec::new(); signals.len()];
        for (s, reader, high, low) in reads(self.circuit, &self.placed.live) {
            let k = s.index();
            let stage = reader.map_or(self.placed.latency, |r| self.placed.ready[r].reads);
            let ready = self.placed.ready[k];
            // A constant is the same in every stage.
            let n = if ready.fixed { 0 } else { (stage - ready.stage) as usize };
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
            // What a later stage reads must come through every earlier one.
            for n in (1..bits.len()).rev() {
                let (before, after) = bits.split_at_mut(n);
                let (low, high) = hull(&after[0]);
                before[n - 1][low..=high].fill(true);
            }
            for (n, read) in bits.into_iter().enumerate() {
                let name = match (&signal.kind, n) {
                    (Kind::Input, 0) => signal.name.clone(),
                    (_, 0) => self.names.unique(&signal.name),
                    _ => {
                        let stage = self.placed.ready[k].stage as usize + n;
                        let own = self.copies[k][0].name.clone();
                        self.names.unique(&format!("{own}_s{stage}"))
                    }
                };
                if let (Kind::Rom { .. }, 0) = (&signal.kind, n) {
                    self.names.reserve(&format!("{name}_rom"));
                }
                let trimmed = n > 0 || matches!(signal.kind, Kind::Mul { .. });
                let (low, high) = if trimmed { hull(&read) } else { (0, signal.width as usize - 1) };
                self.copies[k].push(Copy { name, high: high as u32, low: low as u32, read });
            }
        }
    }

    /// Text for bits `high` down to `low` of a signal in a stage.
    fn read(&self, s: Sig, stage: u32, high: u32, low: u32, whole: bool) -> String {
        let ready = self.placed.ready[s.index()];
        let n = if ready.fixed { 0 } else { (stage - ready.stage) as usize };
        let copy = &self.copies[s.index()][n];
        debug_assert!(!whole || (copy.low == 0 && copy.high == self.circuit.width(s) - 1));
        copy.slice(high, low)
    }

    fn stage(&mut self, stage: u32) {
        if self.placed.latency > 0 {
            self.module.items.push(Item::Comment(format!("stage {stage}")));
        }
        for k in (0..self.circuit.signals.len()).filter(|k| self.placed.live[*k]) {
            let ready = self.placed.ready[k];
            if ready.fixed || ready.stage >= stage {
                continue;
            }
            let n = (stage - ready.stage) as usize;
            if let Some(copy) = self.copies[k].get(n).cloned() {
                let next = self.copies[k][n - 1].slice(copy.high, copy.low);
                self.module.items.push(Item::Reg { name: copy.name, width: copy.high - copy.low + 1, next });
            }
        }
        for k in (0..self.circuit.signals.len()).filter(|k| self.placed.live[*k]) {
            if self.placed.ready[k].stage == stage {
                self.define(k);
            }
        }
    }

    /// Writes the definition of a signal.
    fn define(&mut self, k: usize) {
        let signal = &self.circuit.signals[k];
        let reads = self.placed.ready[k].reads;
        let copy = self.copies[k][0].clone();
        let whole = |s: Sig| self.read(s, reads, self.circuit.width(s) - 1, 0, true);
        let item = match &signal.kind {
            Kind::Input => return,
            Kind::Expr { text, args, .. } => {
                let expr = text.fill(|a, high, low, w| self.read(args[a], reads, high, low, w));
                Item::Wire { name: copy.name, width: signal.width, expr }
            }
            Kind::Rom { data, addr } => {
                let addr_width = self.circuit.width(*addr);
                let mut data = data.clone();
                data.resize(1 << addr_width, 0);
                Item::Rom { name: copy.name, width: signal.width, addr: whole(*addr), addr_width, data }
            }
            Kind::Mul { a, b, signed } => {
                let (x, y, wx, wy) = (whole(*a), whole(*b), self.circuit.width(*a), self.circuit.width(*b));
                // Operands as wide as the product, so that no tool sees a product narrower than its result.
                let product = if *signed {
                    let (sx, sy) = (sign_bit(&x, wx), sign_bit(&y, wy));
                    format!("$signed({{{{{wy}{{{sx}}}}}, {x}}}) * $signed({{{{{wx}{{{sy}}}}}, {y}}})")
                } else {
                    format!("{{{wy}'d0, {x}}} * {{{wx}'d0, {y}}}")
                };
                self.multiplier(&copy, signal.width, product);
                return;
            }
        };
        self.module.items.push(item);
    }

    /// The register behind a multiplier, for the bits that are read.
    fn multiplier(&mut self, copy: &Copy, width: u32, product: String) {
        let kept = copy.high - copy.low + 1;
        let mut next = product;
        if kept < width {
            let full = self.names.unique(&format!("{}_full", copy.name));
            self.module.items.push(Item::Wire { name: full.clone(), width, expr: next });
            next = select(&full, width, copy.high, copy.low);
            if copy.low > 0 {
                self.unread.push(select(&full, width, copy.low - 1, 0));
            }
            if copy.high < width - 1 {
                self.unread.push(select(&full, width, width - 1, copy.high + 1));
            }
        }
        self.module.items.push(Item::Reg { name: copy.name.clone(), width: kept, next });
    }

    /// Reads the bits that nothing else reads, so that linters do not ask about them.
    fn sink(&mut self) {
        let mut unread = std::mem::take(&mut self.unread);
        for copy in self.copies.iter().flatten() {
            let mut at = copy.low;
            while at <= copy.high {
                let same = |b: &u32| copy.read[*b as usize] == copy.read[at as usize];
                let end = (at..=copy.high).take_while(same).last().expect("`at` is like itself");
                if !copy.read[at as usize] {
                    unread.push(copy.slice(end, at));
                }
                at = end + 1;
            }
        }
        if !unread.is_empty() {
            let name = self.names.unique("unused");
            let expr = format!("&{{1'b0, {}}}", unread.join(", "));
            self.module.items.push(Item::Wire { name, width: 1, expr });
        }
    }
}

impl Copy {
    /// Text for bits `high` down to `low` of the signal.
    fn slice(&self, high: u32, low: u32) -> String {
        select(&self.name, self.high - self.low + 1, high - self.low, low - self.low)
    }
}

/// Bits `high` down to `low` of `name`, which has `width` bits.
fn select(name: &str, width: u32, high: u32, low: u32) -> String {
    match () {
        _ if low == 0 && high == width - 1 => name.to_string(),
        _ if low == high => format!("{name}[{low}]"),
        _ => format!("{name}[{high}:{low}]"),
    }
}

fn sign_bit(name: &str, width: u32) -> String {
    select(name, width, width - 1, width - 1)
}

/// The lowest and highest bit of a set; bit 0 of an empty one.
fn hull(bits: &Bits) -> (usize, usize) {
    let low = bits.iter().position(|b| *b).unwrap_or(0);
    let high = bits.iter().rposition(|b| *b).unwrap_or(0);
    (low, high)
}
