//! The evaluation of an expression: its numbers are converted once, and where it vanishes at 0 its expansion there gives the
//! digits that its own formula loses.

use super::enclosure::Enclosure;
use super::expansion::Expansion;
use super::jet::{Jet, MAX_ORDER};
use super::work::{Part, Work, aside, did};
use super::{Call, Dd, Expr, Interval, Node, Smooth, Value};
use num_traits::{One, Signed};
use std::sync::OnceLock;

/// A part that can be computed; arguments are indices of earlier parts.
#[derive(Clone, Copy, Debug)]
enum Step {
    X,
    Given(Value, Interval),
    Call(Call, usize),
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Div(usize, usize),
    Power(usize, i64),
    Raised(usize, usize),
    Min(usize, usize),
    Max(usize, usize),
    Less(usize, usize, bool),
    Select(usize, usize, usize),
}

/// An expression ready for evaluation.
#[derive(Debug)]
pub struct Evaluator {
    steps: Vec<Step>,
    pub work: Work,
    /// With the work of finding it.
    expansion: OnceLock<(Option<Expansion>, u64)>,
}

impl Step {
    /// Whether it takes longer where the result lies below the range of f64: sums of such numbers are as fast as others.
    fn multiplies(&self) -> bool {
        matches!(self, Step::Call(..) | Step::Mul(..) | Step::Div(..) | Step::Power(..) | Step::Raised(..))
    }
}

/// The work of a value or a coefficient by the expansion, and what products below the range of f64 add to that of a part.
const EXPANDED: u64 = 300;
const TINY: u64 = 400;

impl Evaluator {
    pub fn new(expr: &Expr) -> Evaluator {
        let mut work = Work::default();
        let step = |node: &Node| {
            let at = |k: &u32| *k as usize;
            let (step, part) = match node {
                Node::X => (Step::X, Part::Given),
                Node::Pi => {
                    let range = Interval::point(std::f64::consts::PI).outward();
                    (Step::Given(Value::PI, range), Part::Given)
                }
                Node::Number(n) => {
                    let d = Dd::from_exact(n);
                    let held = n.denom().is_one() && n.abs().numer().bits() <= 53 || d.lo == 0.0;
                    let point = Interval::point(d.hi);
                    let range = if d.lo == 0.0 { point } else { point.outward() };
                    (Step::Given(Value::nearest(d, held), range), Part::Given)
                }
                Node::Add(a, b) => (Step::Add(at(a), at(b)), Part::Sum),
                Node::Sub(a, b) => (Step::Sub(at(a), at(b)), Part::Sum),
                Node::Mul(a, b) => (Step::Mul(at(a), at(b)), Part::Product),
                Node::Div(a, b) => (Step::Div(at(a), at(b)), Part::Quotient),
                Node::Pow(a, b) => match expr.integer(*b) {
                    Some(n) => {
                        // A square for each digit, and a product for each 1, but for the first.
                        let size = n.unsigned_abs();
                        let products = (size.max(1).ilog2() + size.count_ones()).saturating_sub(1) as u64;
                        (Step::Power(at(a), n), Part::Power { products, inverse: n < 0 })
                    }
                    None => (Step::Raised(at(a), at(b)), Part::Raised),
                },
                Node::Min(a, b) => (Step::Min(at(a), at(b)), Part::Choice),
                Node::Max(a, b) => (Step::Max(at(a), at(b)), Part::Choice),
                Node::Less(a, b) => (Step::Less(at(a), at(b), true), Part::Choice),
                Node::AtMost(a, b) => (Step::Less(at(a), at(b), false), Part::Choice),
                Node::Select(c, a, b) => (Step::Select(at(c), at(a), at(b)), Part::Choice),
                Node::Call(call, a) => (Step::Call(*call, at(a)), Part::Call(*call)),
            };
            work.part(part);
            step
        };
        let steps = expr.nodes.iter().map(step).collect();
        Evaluator { steps, work, expansion: OnceLock::new() }
    }

    fn jet<N: Enclosure>(&self, x: N, order: usize) -> Jet<N> {
        did(self.work.jet[order]);
        let mut jets: Vec<Jet<N>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let of = |k: &usize| jets[*k];
            let jet = match step {
                Step::X => Jet::argument(x, order),
                Step::Given(value, range) => Jet::constant(N::given(*value, *range), order),
                Step::Add(a, b) => of(a) + of(b),
                Step::Sub(a, b) => of(a) - of(b),
                Step::Mul(a, b) if a == b => of(a).square(),
                Step::Mul(a, b) => of(a) * of(b),
                Step::Div(a, b) => of(a) / of(b),
                Step::Power(a, n) if *n >= 0 => of(a).powi(*n as u32),
                Step::Power(a, n) => Jet::constant(N::ONE, order) / of(a).powi(-n as u32),
                Step::Raised(a, b) if of(a).c[0].is_positive() => (of(b) * of(a).log()).exp(),
                Step::Raised(a, b) => Jet::kink(of(a).c[0].raised(of(b).c[0]), order),
                Step::Min(a, b) => of(a).least(of(b)),
                Step::Max(a, b) => -(-of(a)).least(-of(b)),
                Step::Less(a, b, strictly) => of(a).less(of(b), *strictly),
                Step::Select(c, a, b) => of(c).select(of(a), of(b)),
                Step::Call(call, a) => of(a).call(*call),
            };
            if step.multiplies() && jet.c[..=order].iter().any(|c| c.is_tiny()) {
                did(TINY);
            }
            jets.push(jet);
        }
        *jets.last().expect("an expression has a part")
    }

    /// The value by the formula alone.
    fn direct(&self, x: Dd) -> Option<Value> {
        did(self.work.value);
        // What a part that is not selected would be is no matter.
        let mut values: Vec<Option<Value>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = Self::step(step, x, &values).filter(|v| v.is_finite());
            if step.multiplies() && value.is_some_and(|v| v.is_tiny()) {
                did(TINY);
            }
            values.push(value);
        }
        values.pop().flatten()
    }

    fn step(step: &Step, x: Dd, values: &[Option<Value>]) -> Option<Value> {
        let of = |k: &usize| values[*k];
        Some(match step {
            Step::X => Value::exact(x),
            Step::Given(value, _) => *value,
            Step::Add(a, b) => of(a)? + of(b)?,
            Step::Sub(a, b) => of(a)? - of(b)?,
            Step::Mul(a, b) => of(a)? * of(b)?,
            Step::Div(a, b) => of(a)?.over(of(b)?)?,
            Step::Power(a, n) if *n >= 0 => of(a)?.powi(*n as u32),
            Step::Power(a, n) => Value::ONE.over(of(a)?.powi(-n as u32))?,
            Step::Raised(a, b) => of(a)?.pow(of(b)?)?,
            Step::Min(a, b) => of(a)?.least_of(of(b)?),
            Step::Max(a, b) => -(-of(a)?).least_of(-of(b)?),
            Step::Less(a, b, strictly) => Jet::constant(of(a)?, 0).less(Jet::constant(of(b)?, 0), *strictly).c[0],
            Step::Select(c, a, b) => match of(c)? {
                c if c == Value::ONE => of(a)?,
                c if c.is_zero() => of(b)?,
                _ => return None,
            },
            Step::Call(call, a) => of(a)?.call(*call)?,
        })
    }

    /// The expansion on an interval beside 0 on which the sign of the values is not known.
    fn expansion_on(&self, x: Interval, values: Interval) -> Option<&Expansion> {
        if values.contains(0.0) && Expansion::holds(x) { self.expansion() } else { None }
    }

    /// The expansion around 0, where the function is 0 there.
    fn expansion(&self) -> Option<&Expansion> {
        self.expanded().0.as_ref()
    }

    /// The work of finding the expansion, which no evaluation is charged with: it is found once, and for whom depends on what
    /// else was asked before.
    pub fn expanding(&self) -> u64 {
        self.expanded().1
    }

    fn expanded(&self) -> &(Option<Expansion>, u64) {
        let jet = |x: Interval| self.jet(x, MAX_ORDER).c;
        self.expansion.get_or_init(|| aside(|| Expansion::of(self.jet(Value::ZERO, MAX_ORDER).c, jet)))
    }
}

impl Smooth for Evaluator {
    fn value(&self, x: Dd) -> Option<Value> {
        let direct = self.direct(x)?;
        // Enough digits for every format.
        const ENOUGH: f64 = 1.0 / (1u64 << 60) as f64;
        if direct.error <= direct.value.hi.abs() * ENOUGH || x.hi.abs() > Expansion::REACH {
            return Some(direct);
        }
        let expanded = self.expansion().and_then(|e| e.value(x));
        did(EXPANDED);
        Some(expanded.filter(|e| e.error < direct.error).unwrap_or(direct))
    }

    fn range(&self, x: Interval) -> Interval {
        self.refined(x, &self.coefficients(x, 1))
    }

    fn coefficients(&self, x: Interval, order: usize) -> [Interval; MAX_ORDER + 1] {
        let mut c = self.jet(x, order).c;
        if let Some(e) = self.expansion_on(x, c[0]) {
            for (k, c) in c.iter_mut().enumerate().take(order + 1).filter(|(_, c)| c.contains(0.0)) {
                did(EXPANDED);
                *c = c.meet(e.coefficient(x, k));
            }
        }
        c
    }

    fn refined(&self, x: Interval, c: &[Interval; MAX_ORDER + 1]) -> Interval {
        let (direct, slope) = (c[0], c[1]);
        let at = |p: f64| self.jet(Interval::point(p), 0).c[0];
        if !slope.is_finite() {
            direct
        } else if slope.lo >= 0.0 || slope.hi <= 0.0 {
            // By the ends, where the function is monotone.
            direct.meet(at(x.lo).hull(at(x.hi)))
        } else {
            // By the mean value.
            let middle = x.lo + (x.hi - x.lo) / 2.0;
            let reach = (x.hi - middle).max(middle - x.lo).next_up();
            direct.meet(at(middle) + slope * Interval::new(-reach, reach))
        }
    }
}

/// Several functions, of which each is a branch; the first stands for all.
pub struct Branches(pub Vec<Evaluator>);

impl Smooth for Branches {
    fn value(&self, x: Dd) -> Option<Value> {
        self.0[0].value(x)
    }

    fn range(&self, x: Interval) -> Interval {
        self.0[0].range(x)
    }

    fn coefficients(&self, x: Interval, order: usize) -> [Interval; MAX_ORDER + 1] {
        self.0[0].coefficients(x, order)
    }

    fn branch(&self, k: usize) -> Option<&dyn Smooth> {
        Some(&self.0[k])
    }
}

impl Smooth for Expr {
    fn value(&self, x: Dd) -> Option<Value> {
        Evaluator::new(self).value(x)
    }

    fn range(&self, x: Interval) -> Interval {
        Evaluator::new(self).range(x)
    }

    fn coefficients(&self, x: Interval, order: usize) -> [Interval; MAX_ORDER + 1] {
        Evaluator::new(self).coefficients(x, order)
    }
}
