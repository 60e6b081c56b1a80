//! Sums and comparisons as carry chains, and shifts as choices, the way yosys makes them.

use super::super::family::Chain;
use super::super::gates::{Bit, ONE, ZERO};
use super::Elaborator;
use hdl::rtl::Value;
use hdl::rtl::expr::{Binary, Node, Shift, Test};
use hdl::rtl::netlist::Item;

/// A term of a sum: its bits, as many as the sum has, and whether it is subtracted.
struct Term {
    bits: Vec<Bit>,
    minus: bool,
}

impl Term {
    /// The bits above which there are only zeros.
    fn width(&self) -> usize {
        self.bits.iter().rposition(|bit| *bit != ZERO).map_or(0, |k| k + 1)
    }
}

impl<'a> Elaborator<'a, '_> {
    /// A sum of several terms: sums that only this one reads are among them.
    pub(super) fn sum(&mut self, place: usize, e: &'a Value) -> Vec<Bit> {
        let width = e.width() as usize;
        let mut terms = Vec::new();
        self.terms(place, e, width, false, &mut terms);
        terms.retain(|t| t.width() > 0);
        if self.family.adding_multipliers
            && let [a, b] = &terms[..]
            && !(a.minus || b.minus)
            && (self.is_product(&a.bits) || self.is_product(&b.bits))
        {
            let operands = [&a.bits[..], &b.bits[..]].concat();
            return self.added(operands, e.width());
        }
        // Bits at the lowest place go into the chain as its first carry.
        let mut carry = ZERO;
        let wide = terms.iter().filter(|t| t.width() > 1).count();
        if wide >= 2
            && let Some(k) = terms.iter().position(|t| t.width() == 1 && !t.minus)
        {
            carry = terms.remove(k).bits[0];
        }
        // What is subtracted is inverted, and one more: the first of them takes the carry.
        let mut ones = 0;
        for t in terms.iter_mut().filter(|t| t.minus) {
            t.bits.iter_mut().for_each(|bit| *bit ^= 1);
            ones += 1;
        }
        if ones > 0 && carry == ZERO {
            carry = ONE;
            ones -= 1;
        }
        if ones > 0 {
            let constant = (0..width).map(|k| (ones >> k & 1) as Bit).collect();
            terms.push(Term { bits: constant, minus: false });
        }
        while terms.len() > 2 {
            let (a, b, c) = (terms.remove(0), terms.remove(0), terms.remove(0));
            let (mut sums, mut carries) = (Vec::new(), vec![ZERO]);
            for k in 0..width {
                let half = self.gates.xor(a.bits[k], b.bits[k]);
                sums.push(self.gates.xor(half, c.bits[k]));
                carries.push(self.gates.majority(a.bits[k], b.bits[k], c.bits[k]));
            }
            carries.truncate(width);
            terms.push(Term { bits: sums, minus: false });
            terms.push(Term { bits: carries, minus: false });
        }
        let zeros = vec![ZERO; width];
        let minus = terms.iter().position(|t| t.minus);
        let (a, b) = match (&terms[..], minus) {
            ([], _) => (&zeros, &zeros),
            ([one], None) => (&one.bits, &zeros),
            ([one], Some(_)) => (&zeros, &one.bits),
            // What is inverted is the second operand, as the cells have it.
            ([x, y, ..], Some(0)) => (&y.bits, &x.bits),
            ([x, y, ..], _) => (&x.bits, &y.bits),
        };
        self.chain(a, b, minus.is_some(), carry).0
    }

    fn terms(&mut self, place: usize, e: &'a Value, width: usize, minus: bool, terms: &mut Vec<Term>) {
        if let Node::Binary(op @ (Binary::Add | Binary::Sub), a, b) = e.node()
            && e.width() as usize == width
        {
            self.terms(place, a, width, minus, terms);
            self.terms(place, b, width, minus ^ (*op == Binary::Sub), terms);
            return;
        }
        if let Some(inner) = self.single(place, e, width) {
            return self.terms(place, inner, width, minus, terms);
        }
        let mut bits = self.value(place, e);
        bits.resize(width, ZERO);
        terms.push(Term { bits, minus });
    }

    /// The sum that a name stands for which nothing else reads.
    fn single(&self, place: usize, e: &'a Value, width: usize) -> Option<&'a Value> {
        let Node::Read { leaf, full, low: 0 } = e.node() else { return None };
        let index = self.index(place);
        let item = index.items.get(leaf).filter(|_| *full == e.width() && *full as usize == width)?;
        match &index.module.items[*item] {
            Item::Wire { value, .. } if index.reads.get(leaf) == Some(&1) => {
                matches!(value.node(), Node::Binary(Binary::Add | Binary::Sub, ..)).then_some(value)
            }
            _ => None,
        }
    }

    /// The sum of two numbers and a carry, of which the second may stand inverted, and the carry out of it.
    pub(super) fn chain(&mut self, a: &[Bit], b: &[Bit], inverted: bool, mut carry: Bit) -> (Vec<Bit>, Bit) {
        let soft = effective(a, b, inverted) <= self.family.soft;
        let mut sums = Vec::with_capacity(a.len());
        for (a, b) in a.iter().copied().zip(b.iter().copied()) {
            if soft {
                let half = self.gates.xor(a, b);
                sums.push(self.gates.xor(half, carry));
                carry = self.gates.majority(a, b, carry);
                continue;
            }
            if a <= ONE && b <= ONE && a == b && carry > ONE && self.family.last_step {
                // The carry leaves its chain by a sum.
                let sum = self.gates.last(carry);
                sums.push(sum ^ (a ^ b));
                carry = a;
                continue;
            }
            let (sum, next) = match self.family.chain {
                Chain::Propagated => self.gates.propagated(a, b, carry),
                // The cell inverts for itself.
                Chain::Whole if inverted && b > ONE => self.gates.step(a, b ^ 1, carry),
                _ => self.gates.step(a, b, carry),
            };
            sums.push(sum);
            carry = next;
        }
        (sums, carry)
    }

    /// Whether a number is not below another.
    pub(super) fn at_least(&mut self, a: &[Bit], b: &[Bit]) -> Bit {
        let constant = a.iter().all(|bit| *bit <= ONE) || b.iter().all(|bit| *bit <= ONE);
        if constant && a.len() <= self.family.inputs.min(4) {
            let mut carry = ONE;
            for (a, b) in a.iter().zip(b) {
                carry = self.gates.majority(*a, *b ^ 1, carry);
            }
            return carry;
        }
        let b: Vec<Bit> = b.iter().map(|bit| bit ^ 1).collect();
        self.chain(a, &b, true, ONE).1
    }
}

/// The steps of a shift, and how each test is made of others.
impl Elaborator<'_, '_> {
    pub(super) fn shifted(&mut self, how: Shift, mut bits: Vec<Bit>, places: &[Bit]) -> Vec<Bit> {
        let width = bits.len();
        let fill = if how == Shift::Arithmetic { bits[width - 1] } else { ZERO };
        let steps = (width.max(2) - 1).ilog2() as usize + 1;
        for (k, place) in places.iter().enumerate().take(steps) {
            let by = 1usize << k;
            let moved = |at: usize| match how {
                Shift::Left => at.checked_sub(by).map_or(ZERO, |from| bits[from]),
                _ => bits.get(at + by).copied().unwrap_or(fill),
            };
            let moved: Vec<Bit> = (0..width).map(moved).collect();
            bits = (0..width).map(|at| self.gates.choice(*place, moved[at], bits[at])).collect();
        }
        if places.len() > steps {
            let beyond = self.gates.any(&places[steps..]);
            bits = bits.into_iter().map(|bit| self.gates.choice(beyond, fill, bit)).collect();
        }
        bits
    }

    pub(super) fn compared(&mut self, test: Test, signed: bool, mut a: Vec<Bit>, mut b: Vec<Bit>) -> Bit {
        if matches!(test, Test::Eq | Test::Ne) {
            let equal = self.equal(&a, &b);
            return equal ^ (test == Test::Ne) as Bit;
        }
        if signed {
            // The order of two's complement is that of the patterns with the sign turned.
            let last = a.len() - 1;
            a[last] ^= 1;
            b[last] ^= 1;
        }
        let at_least = self.at_least(&a, &b);
        match test {
            Test::Ge => at_least,
            Test::Lt => at_least ^ 1,
            _ => {
                let equal = self.equal(&a, &b);
                let greater = self.gates.and(at_least, equal ^ 1);
                greater ^ (test == Test::Le) as Bit
            }
        }
    }

    fn equal(&mut self, a: &[Bit], b: &[Bit]) -> Bit {
        let same: Vec<Bit> = a.iter().zip(b).map(|(a, b)| self.gates.xor(*a, *b) ^ 1).collect();
        self.gates.all(&same)
    }
}

/// The bits of a sum that take a step.
fn effective(a: &[Bit], b: &[Bit], inverted: bool) -> usize {
    let zero = if inverted { ONE } else { ZERO };
    let nothing = |k: usize| a[k] == ZERO && b[k] == zero;
    let end = (0..a.len()).rev().find(|k| !nothing(*k)).map_or(0, |k| k + 1);
    let begin = (0..end).find(|k| inverted || a[*k] != ZERO && b[*k] != ZERO).unwrap_or(end);
    (end + (end < a.len()) as usize) - begin
}
