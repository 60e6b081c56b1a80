//! Work, counted in steps and not in seconds, so that a search ends at the same place on every machine. Who waits for it may give
//! up earlier ([`patiently`]), which leaves nothing.
//!
//! A unit is about a nanosecond of a core of 2023, of optimised code. Each thread counts what it has done: the elementary functions
//! book what their arguments make them do, since a series may end early, and an evaluation books its arithmetic, by weights.
//!
//! The weights are CPU times per call, each the least of several runs of the optimised code: of the functions alone, and of each part
//! as what an expression takes with it less what it takes without, over arguments of which no Taylor coefficient is 0.

use super::evaluator::Evaluator;
use super::{Call, Dd, Interval, MAX_ORDER, Smooth, Value};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

thread_local!(static DONE: Cell<u64> = const { Cell::new(0) });

/// Books work of this thread.
pub fn did(work: u64) {
    DONE.set(DONE.get() + work);
}

/// Does something whose work is given beside what it makes, instead of being booked.
pub fn aside<T>(make: impl FnOnce() -> T) -> (T, u64) {
    let before = DONE.get();
    let made = make();
    (made, DONE.replace(before) - before)
}

/// The seconds that somebody waits for all searches of a thread, on a clock of his. They decide whether a table is searched to its
/// end, and never which one is found.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    clock: fn() -> f64,
    pub seconds: f64,
    until: f64,
}

thread_local!(static PATIENCE: Cell<Option<Patience>> = const { Cell::new(None) });

/// The work between two looks at the clock: some milliseconds.
const LOOK: u64 = 1 << 21;

impl Patience {
    /// The patience that this thread was given last.
    pub fn given() -> Option<Patience> {
        PATIENCE.get()
    }

    /// Whether less is left than nine tenths: what was not found then may be found the next time.
    pub fn is_shortened(&self) -> bool {
        self.until - (self.clock)() < 0.9 * self.seconds
    }

    fn is_over(&self) -> bool {
        (self.clock)() > self.until
    }
}

/// Does something whose searches end after so many seconds of a clock.
pub fn patiently<T>(clock: fn() -> f64, seconds: f64, work: impl FnOnce() -> T) -> T {
    /// The one that was given before, which a panic restores too.
    struct Before(Option<Patience>);
    impl Drop for Before {
        fn drop(&mut self) {
            PATIENCE.set(self.0);
        }
    }
    let _before = Before(PATIENCE.replace(Some(Patience { clock, seconds, until: clock() + seconds })));
    work()
}

/// Counts work up to a limit, and ends it where nobody waits for it any longer.
#[derive(Debug)]
pub struct Meter {
    spent: Cell<u64>,
    most: Cell<u64>,
    patience: Option<Patience>,
    /// Where the clock is looked at next, and whether it was too late.
    look: Cell<u64>,
    late: Cell<bool>,
}

impl Meter {
    pub fn new(most: u64) -> Meter {
        Meter {
            spent: Cell::new(0),
            most: Cell::new(most),
            patience: Patience::given(),
            look: Cell::new(0),
            late: Cell::new(false),
        }
    }

    /// Whether the seconds were over before the search was.
    pub fn is_late(&self) -> bool {
        self.late.get()
    }

    /// A meter that nothing exceeds.
    pub fn endless() -> Meter {
        Meter::new(u64::MAX)
    }

    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    pub fn add(&self, work: u64) {
        let spent = self.spent.get().saturating_add(work);
        self.spent.set(spent);
        if let Some(patience) = &self.patience
            && spent >= self.look.get()
        {
            self.look.set(spent + LOOK);
            self.late.set(self.late.get() || patience.is_over());
        }
    }

    /// Whether more was spent than there is; what is found then is worth nothing.
    pub fn is_over(&self) -> bool {
        self.late.get() || self.spent.get() > self.most.get()
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
///
/// Enclosures are kept: a search asks for those of the same pieces with every degree and every goal.
pub struct Metered<'a> {
    f: &'a Evaluator,
    meter: &'a Meter,
    known: RefCell<HashMap<[u64; 2], Known>>,
}

/// Properties of a function on an interval.
#[derive(Clone, Copy)]
struct Known {
    c: [Interval; MAX_ORDER + 1],
    range: Option<Interval>,
}

/// Intervals that are kept, of some megabytes in all, and the work of finding one.
const MOST_KNOWN: usize = 1 << 15;
const FIND: u64 = 100;

impl<'a> Metered<'a> {
    pub fn new(f: &'a Evaluator, meter: &'a Meter) -> Metered<'a> {
        Metered { f, meter, known: RefCell::default() }
    }

    fn booked<T>(&self, make: impl FnOnce() -> T) -> T {
        let (made, work) = aside(make);
        self.meter.add(work);
        made
    }
}

fn key(x: Interval) -> [u64; 2] {
    [x.lo.to_bits(), x.hi.to_bits()]
}

impl Smooth for Metered<'_> {
    fn value(&self, x: Dd) -> Option<Value> {
        if self.meter.is_over() { None } else { self.booked(|| self.f.value(x)) }
    }

    fn range(&self, x: Interval) -> Interval {
        self.refined(x, &self.coefficients(x, 1))
    }

    fn refined(&self, x: Interval, c: &[Interval; MAX_ORDER + 1]) -> Interval {
        if self.meter.is_over() {
            return Interval::WHOLE;
        }
        let mut known = self.known.borrow_mut();
        let mut kept = known.get_mut(&key(x));
        if let Some(range) = kept.as_ref().and_then(|kept| kept.range) {
            return range;
        }
        let range = self.booked(|| self.f.refined(x, c));
        if let Some(kept) = &mut kept {
            kept.range = Some(range);
        }
        range
    }

    fn coefficients(&self, x: Interval, order: usize) -> [Interval; MAX_ORDER + 1] {
        if self.meter.is_over() {
            return [Interval::WHOLE; MAX_ORDER + 1];
        }
        self.meter.add(FIND);
        let mut known = self.known.borrow_mut();
        if let Some(kept) = known.get(&key(x)) {
            return kept.c;
        }
        if known.len() == MOST_KNOWN {
            return self.booked(|| self.f.coefficients(x, order));
        }
        // Of the highest order, which the other degrees will ask for.
        let c = self.booked(|| self.f.coefficients(x, MAX_ORDER));
        known.insert(key(x), Known { c, range: None });
        c
    }
}

/// Elementary functions of double-doubles, a term of the series of erf, and one of the continued fraction of erfc.
pub const EXP: u64 = 450;
pub const LOG: u64 = 540;
pub const SIN_COS: u64 = 880;
pub const ATAN: u64 = 740;
pub const ERF_TERM: u64 = 36;
pub const ERFC_TERM: u64 = 62;

/// The arithmetic of one evaluation, without the elementary functions.
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
    /// An integer power.
    Power {
        products: u64,
        inverse: bool,
    },
    /// Another power.
    Raised,
    Call(Call),
}

/// The work of a part: for a value; for coefficients whatever their number; for each of them; and for each product of two of them.
type Weight = (u64, u64, u64, u64);

impl Work {
    /// Adds a part.
    pub fn part(&mut self, part: Part) {
        let (value, whole, each, product) = weight(part);
        self.value += value;
        for (order, jet) in self.jet.iter_mut().enumerate() {
            let count = order as u64 + 1;
            *jet += whole + each * count + product * (count * (count + 1) / 2);
        }
    }
}

fn weight(part: Part) -> Weight {
    let call = |call: Call| weight(Part::Call(call));
    match part {
        Part::Given => (15, 25, 0, 0),
        Part::Sum => (25, 30, 8, 0),
        Part::Choice => (20, 30, 0, 0),
        Part::Product => (30, 30, 0, 16),
        Part::Quotient => (70, 20, 30, 12),
        Part::Power { products, inverse } => {
            let (value, whole, each, product) = if inverse { weight(Part::Quotient) } else { (20, 30, 0, 0) };
            (value + 15 * products, whole + 20 * products, each, product + 16 * products)
        }
        Part::Raised => {
            let (log, exp) = (call(Call::Log), call(Call::Exp));
            (log.0 + exp.0 + 30, log.1 + exp.1 + 30, log.2 + exp.2, log.3 + exp.3 + 16)
        }
        Part::Call(call) => match call {
            Call::Neg | Call::Abs => (15, 30, 5, 0),
            Call::Sqrt => (60, 60, 20, 18),
            Call::Exp | Call::Exp2 => (50, 50, 20, 15),
            Call::Log | Call::Log2 => (50, 50, 50, 25),
            Call::Cbrt => (250, 250, 20, 18),
            Call::Sin | Call::Cos => (50, 50, 30, 40),
            Call::Tan => (100, 60, 60, 40),
            Call::Atan => (50, 80, 60, 60),
            Call::Asin | Call::Acos => (150, 200, 110, 110),
            Call::Sinh | Call::Cosh => (100, 100, 30, 40),
            Call::Tanh => (150, 200, 60, 60),
            Call::Erf | Call::Erfc => (100, 150, 60, 40),
        },
    }
}
