//! Logic as gates: bits that are inputs, gates of two or three operands, and the steps of carry chains. Gates of one form are one.

use hdl::hash::FastMap;

/// A bit: twice the number of what makes it, and one more where it is inverted.
pub(crate) type Bit = u32;

/// The constants.
pub(crate) const ZERO: Bit = 0;
pub(crate) const ONE: Bit = 1;

/// The maker of a bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Gate {
    /// 0.
    Zero,
    /// A bit from elsewhere: an input, a register, a memory or a multiplier.
    Input,
    And(Bit, Bit),
    Xor(Bit, Bit),
    /// The second where the first is set, else the third.
    Choice(Bit, Bit, Bit),
    /// The sum of two bits and a carry, in a cell of a carry chain, and its carry.
    Sum(Bit, Bit, Bit),
    Carry(Bit, Bit, Bit),
}

impl Gate {
    /// The bits that it reads, and their number.
    pub fn operands(self) -> ([Bit; 3], usize) {
        match self {
            Gate::Zero | Gate::Input => ([0; 3], 0),
            Gate::And(a, b) | Gate::Xor(a, b) => ([a, b, 0], 2),
            Gate::Choice(a, b, c) | Gate::Sum(a, b, c) | Gate::Carry(a, b, c) => ([a, b, c], 3),
        }
    }

    /// Whether a lookup table can do it.
    pub fn is_logic(self) -> bool {
        matches!(self, Gate::And(..) | Gate::Xor(..) | Gate::Choice(..))
    }
}

/// Gates in an order in which none reads a later one.
#[derive(Debug)]
pub(crate) struct Gates {
    pub list: Vec<Gate>,
    known: FastMap<Gate, u32>,
}

impl Gates {
    pub fn new() -> Gates {
        Gates { list: vec![Gate::Zero], known: FastMap::default() }
    }

    pub fn input(&mut self) -> Bit {
        self.list.push(Gate::Input);
        2 * (self.list.len() as u32 - 1)
    }

    fn gate(&mut self, gate: Gate) -> Bit {
        if let Some(known) = self.known.get(&gate) {
            return 2 * known;
        }
        let made = self.list.len() as u32;
        self.list.push(gate);
        self.known.insert(gate, made);
        2 * made
    }

    pub fn and(&mut self, a: Bit, b: Bit) -> Bit {
        let (a, b) = (a.min(b), a.max(b));
        match (a, b) {
            (ZERO, _) => ZERO,
            (ONE, b) => b,
            _ if a == b => a,
            _ if a == b ^ 1 => ZERO,
            _ => self.gate(Gate::And(a, b)),
        }
    }

    pub fn or(&mut self, a: Bit, b: Bit) -> Bit {
        self.and(a ^ 1, b ^ 1) ^ 1
    }

    pub fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        let (turned, a, b) = ((a ^ b) & 1, a & !1, b & !1);
        let (a, b) = (a.min(b), a.max(b));
        turned
            ^ match (a, b) {
                (ZERO, _) => b,
                _ if a == b => ZERO,
                _ => self.gate(Gate::Xor(a, b)),
            }
    }

    pub fn choice(&mut self, c: Bit, a: Bit, b: Bit) -> Bit {
        if c & 1 == 1 {
            return self.choice(c ^ 1, b, a);
        }
        match () {
            _ if c == ZERO => b,
            _ if a == b => a,
            _ if a == b ^ 1 => self.xor(c, b),
            _ if a == ZERO => self.and(c ^ 1, b),
            _ if a == ONE => self.or(c, b),
            _ if b == ZERO => self.and(c, a),
            _ if b == ONE => self.or(c ^ 1, a),
            _ if a == c => self.or(c, b),
            _ if a == c ^ 1 => self.and(c ^ 1, b),
            _ if b == c => self.and(c, a),
            _ if b == c ^ 1 => self.or(c ^ 1, a),
            _ if b & 1 == 1 => self.gate(Gate::Choice(c, a ^ 1, b ^ 1)) ^ 1,
            _ => self.gate(Gate::Choice(c, a, b)),
        }
    }

    /// The majority of three bits: the carry of a full adder in logic.
    pub fn majority(&mut self, a: Bit, b: Bit, c: Bit) -> Bit {
        let differ = self.xor(a, b);
        self.choice(differ, c, a)
    }

    pub fn all(&mut self, bits: &[Bit]) -> Bit {
        self.tree(bits, ONE, Gates::and)
    }

    pub fn any(&mut self, bits: &[Bit]) -> Bit {
        self.tree(bits, ZERO, Gates::or)
    }

    pub fn parity(&mut self, bits: &[Bit]) -> Bit {
        self.tree(bits, ZERO, Gates::xor)
    }

    /// A balanced tree of gates of two operands; `none` of no bits.
    fn tree(&mut self, bits: &[Bit], none: Bit, gate: fn(&mut Gates, Bit, Bit) -> Bit) -> Bit {
        match bits {
            [] => none,
            [one] => *one,
            _ => {
                let (low, high) = bits.split_at(bits.len() / 2);
                let (low, high) = (self.tree(low, none, gate), self.tree(high, none, gate));
                gate(self, low, high)
            }
        }
    }

    /// A step of a carry chain: sum and carry. With operands that leave nothing to add there is none.
    pub fn step(&mut self, a: Bit, b: Bit, carry: Bit) -> (Bit, Bit) {
        let constants = [a, b, carry].iter().filter(|bit| **bit <= ONE).count();
        if constants >= 2 {
            let (ab, c) = (self.xor(a, b), carry);
            return (self.xor(ab, c), self.majority(a, b, c));
        }
        (self.gate(Gate::Sum(a, b, carry)), self.gate(Gate::Carry(a, b, carry)))
    }

    /// The sum that a chain's last carry leaves it by.
    pub fn last(&mut self, carry: Bit) -> Bit {
        self.gate(Gate::Sum(ZERO, ZERO, carry))
    }

    /// The same as [`Gates::step`] in a cell that takes the XOR of both bits from a table.
    pub fn propagated(&mut self, a: Bit, b: Bit, carry: Bit) -> (Bit, Bit) {
        let differ = self.xor(a, b);
        if differ <= ONE || carry <= ONE && a.min(b) <= ONE {
            return (self.xor(differ, carry), self.majority(a, b, carry));
        }
        (self.gate(Gate::Sum(differ, ZERO, carry)), self.gate(Gate::Carry(differ, a, carry)))
    }
}
