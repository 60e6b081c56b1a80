//! Conditionals of exact numbers. Like an exact number, `c ? 1 : 0` has no format until something gives it one, and
//! then each number takes that format by itself (RULES L2).

use super::Checker;
use super::value::{Typed, Value};
use crate::check::literal::{FoldError, Literal, integer};
use crate::diag::Span;
use crate::graph::NodeId;
use crate::syntax::ast::ExprId;
use hdl::Format;
use hdl::number::exact::Exact;
use hdl::op::{Attrs, compare};
use num_bigint::BigInt;
use num_traits::Zero;
use std::rc::Rc;

/// The most numbers among which an untyped conditional chooses.
pub(super) const MAX_NUMBERS: usize = 1024;

/// The cost of a step of a conditional in the budget of exact arithmetic: about its memory.
const STEP_COST: u64 = 1000;

/// Exact numbers and the conditions that choose among them, in postfix order.
#[derive(Clone, Debug)]
pub struct Choice(Rc<[Step]>);

#[derive(Clone, Debug)]
enum Step {
    /// A number and where it stands.
    Number(Rc<Literal>, Span),
    /// The last but one of the values so far where the uint1 node is 1, otherwise the last.
    Choose(NodeId, Span),
}

impl Choice {
    /// The conditions.
    pub fn conditions(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().filter_map(|step| match step {
            Step::Choose(condition, _) => Some(*condition),
            Step::Number(..) => None,
        })
    }

    fn numbers(&self) -> usize {
        self.0.len().div_ceil(2)
    }
}

/// The value as a conditional of exact numbers, of which a plain one is the simplest.
fn choice_of(value: &Value, span: Span) -> Option<Choice> {
    match value {
        Value::Exact(number) => Some(Choice([Step::Number(Rc::new(number.clone()), span)].into())),
        Value::Choice(choice) => Some(choice.clone()),
        _ => None,
    }
}

impl<'a> Checker<'a> {
    /// `condition ? a : b` if both arms are exact.
    pub(super) fn choose(
        &mut self,
        condition: &Typed,
        a: (&Value, ExprId),
        b: (&Value, ExprId),
        span: Span,
    ) -> Option<Value> {
        let (a, b) = (choice_of(a.0, self.span(a.1))?, choice_of(b.0, self.span(b.1))?);
        let last = Step::Choose(condition.nodes()[0], span);
        Some(match self.afford(a.numbers() + b.numbers()) {
            Ok(()) => Value::Choice(Choice(a.0.iter().chain(&*b.0).cloned().chain([last]).collect())),
            Err(why) => self.fold_error(why, span),
        })
    }

    fn afford(&mut self, numbers: usize) -> Result<(), FoldError> {
        if numbers > MAX_NUMBERS {
            return Err(FoldError::TooManyArms);
        }
        self.folder.book(2 * numbers as u64 * STEP_COST)
    }

    /// Applies an exact operation to each number.
    pub(super) fn map_choice(
        &mut self,
        choice: &Choice,
        span: Span,
        mut of: impl FnMut(&mut Self, &Literal) -> Result<Literal, FoldError>,
    ) -> Value {
        let mapped = self.afford(choice.numbers()).and_then(|()| {
            let step = |step: &Step| match step {
                Step::Number(number, at) => Ok(Step::Number(Rc::new(of(self, number)?), *at)),
                choose => Ok(choose.clone()),
            };
            choice.0.iter().map(step).collect::<Result<Rc<[Step]>, FoldError>>()
        });
        match mapped {
            Ok(steps) => Value::Choice(Choice(steps)),
            Err(why) => self.fold_error(why, span),
        }
    }

    /// Applies an exact operation to each pair of numbers if both values are exact.
    pub(super) fn combine(
        &mut self,
        a: (&Value, ExprId),
        b: (&Value, ExprId),
        span: Span,
        mut of: impl FnMut(&mut Self, &Literal, &Literal) -> Result<Literal, FoldError>,
    ) -> Option<Value> {
        let (a, b) = (choice_of(a.0, self.span(a.1))?, choice_of(b.0, self.span(b.1))?);
        let mut steps = Vec::new();
        let mut all = || {
            self.afford(a.numbers() * b.numbers())?;
            for outer in a.0.iter() {
                let Step::Number(x, _) = outer else {
                    steps.push(outer.clone());
                    continue;
                };
                for inner in b.0.iter() {
                    steps.push(match inner {
                        Step::Number(y, _) => Step::Number(Rc::new(of(self, x, y)?), span),
                        choose => choose.clone(),
                    });
                }
            }
            Ok(())
        };
        Some(match all() {
            Ok(()) => Value::Choice(Choice(steps.into())),
            Err(why) => self.fold_error(why, span),
        })
    }

    /// The conditional in a format, where `span` uses it.
    pub(super) fn choice(&mut self, choice: &Choice, format: Format, span: Span) -> Option<NodeId> {
        let mut values = Vec::new();
        let mut fits = true;
        for step in choice.0.iter() {
            match step {
                Step::Number(number, at) => {
                    // A number that was named elsewhere is reported where it takes the format.
                    let inside = span.start <= at.start && at.end <= span.end;
                    let node = self.literal(number, format, if inside { *at } else { span });
                    if node.is_none() && !inside {
                        return None;
                    }
                    fits &= node.is_some();
                    values.push(node);
                }
                Step::Choose(condition, at) => {
                    let (b, a) = (values.pop().flatten(), values.pop().flatten());
                    let value = match (a, b) {
                        (Some(a), Some(b)) if fits => {
                            let [a, b] = [a, b].map(|node| Typed::scalar(format, node));
                            let condition = Typed::scalar(hdl::number::format::UINT1, *condition);
                            self.each(compare::MUX, &[&condition, &a, &b], Attrs::default(), *at)
                        }
                        _ => Value::Error,
                    };
                    values.push(if let Value::Typed(typed) = value { Some(typed.nodes()[0]) } else { None });
                }
            }
        }
        values.pop().flatten()
    }

    /// A conditional as a condition: which of its numbers are not zero.
    pub(super) fn choice_truth(&mut self, choice: &Choice, span: Span) -> Option<Typed> {
        let truth = self.map_choice(choice, span, |_, number| {
            let value = Exact::from(BigInt::from(!integer(number)?.is_zero() as u8));
            Ok(Literal { value, bits: false })
        });
        let Value::Choice(truth) = truth else { return None };
        let node = self.choice(&truth, hdl::number::format::UINT1, span)?;
        Some(Typed::scalar(hdl::number::format::UINT1, node))
    }
}
