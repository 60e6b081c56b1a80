//! Work, counted in steps and not in seconds, so that a search ends at the same place on every machine.
//!
//! A unit is about a nanosecond of a core of 2023. The costs of the parts of an expression were measured one by one.

use super::evaluator::Evaluator;
use super::{Call, Dd, Interval, MAX_ORDER, Smooth, Value};
use std::cell::Cell;

/// Counts work up to a limit.
#[derive(Debug)]
pub struct Meter {
    spent: Cell<u64>,
    most: Cell<u64>,
}

impl Meter {
    pub fn new(most: u64) -> Meter {
        Meter { spent: Cell::new(0), most: Cell::new(most) }
    }

    /// A meter that nothing exceeds.
    pub fn endless() -> Meter {
        Meter::new(u64::MAX)
    }

    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    pub fn add(&self, work: u64) {
        self.spent.set(self.spent.get().saturating_add(work));
    }

    /// Whether more was spent than there is; what is found then is worth nothing.
    pub fn is_over(&self) -> bool {
        self.spent.get() > self.most.get()
    }
}

impl Meter {
    /// Does something that may take three fifths of what is left, or all of it; `None` where that is not enough.
    pub fn part<T>(&self, all: bool, work: impl FnOnce() -> T) -> Option<T> {
        let most = self.most.get();
        let left = most.saturating_sub(self.spent());
        self.most.set(if all { most } else { self.spent() + left / 5 * 3 });
        let done = work();
        let is_over = self.is_over();
        self.most.set(most);
        (!is_over).then_some(done)
    }
}

/// A function whose evaluations are counted. Beyond the limit it has no values, so that whatever asks for them ends soon.
pub struct Metered<'a> {
    pub f: &'a Evaluator,
    pub meter: &'a Meter,
}

impl Smooth for Metered<'_> {
    fn value(&self, x: Dd) -> Option<Value> {
        if self.meter.is_over() {
            return None;
        }
        self.meter.add(self.f.work.value);
        self.f.value(x)
    }

    fn range(&self, x: Interval) -> Interval {
        self.enclosed(x, 1).0
    }

    fn enclosed(&self, x: Interval, order: usize) -> (Interval, [Interval; MAX_ORDER + 1]) {
        if self.meter.is_over() {
            return (Interval::WHOLE, [Interval::WHOLE; MAX_ORDER + 1]);
        }
        // The coefficients, and values at two ends, which take half as long each.
        self.meter.add(self.f.work.jet[order] + self.f.work.jet[0]);
        self.f.enclosed(x, order)
    }

    fn coefficients(&self, x: Interval, order: usize) -> [Interval; MAX_ORDER + 1] {
        if self.meter.is_over() {
            return [Interval::WHOLE; MAX_ORDER + 1];
        }
        self.meter.add(self.f.work.jet[order]);
        self.f.coefficients(x, order)
    }
}

/// The work of one evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Work {
    /// A value.
    pub value: u64,
    /// Taylor coefficients up to an order.
    pub jet: [u64; MAX_ORDER + 1],
}

/// The kinds of parts, as far as their work differs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Part {
    Given,
    Sum,
    Product,
    Quotient,
    Choice,
    /// An integer power, by so many products.
    Power(u64),
    /// Another power.
    Raised,
    Call(Call),
}

impl Work {
    /// Adds a part.
    pub fn part(&mut self, part: Part) {
        let (value, range, products) = weight(part);
        self.value += value;
        for (order, jet) in self.jet.iter_mut().enumerate() {
            let terms = ((order + 1) * (order + 2) / 2) as u64;
            *jet += range + products * 8 * terms;
        }
    }
}

/// The work of a value, of a range, and how many products of Taylor coefficients there are.
fn weight(part: Part) -> (u64, u64, u64) {
    match part {
        Part::Given => (10, 10, 0),
        Part::Sum | Part::Choice => (20, 20, 0),
        Part::Product => (30, 20, 1),
        Part::Quotient => (50, 30, 1),
        Part::Power(n) => (30 * n, 20 * n, n),
        Part::Raised => {
            let (log, exp) = (weight(Part::Call(Call::Log)), weight(Part::Call(Call::Exp)));
            (log.0 + exp.0 + 30, log.1 + exp.1 + 20, log.2 + exp.2 + 1)
        }
        Part::Call(call) => match call {
            Call::Neg | Call::Abs => (10, 10, 0),
            Call::Sqrt => (60, 120, 2),
            Call::Exp => (1_000, 2_000, 1),
            Call::Log => (1_200, 2_400, 2),
            Call::Sin | Call::Cos | Call::Tan => (2_900, 6_000, 2),
            Call::Atan => (1_500, 3_000, 3),
            Call::Sinh | Call::Cosh => (4_500, 9_000, 2),
            Call::Tanh => (3_500, 13_000, 5),
            Call::Erf | Call::Erfc => (8_000, 17_000, 3),
        },
    }
}
