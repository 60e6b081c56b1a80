//! Conditionals of exact numbers. Like an exact number, `c ? 1 : 0` has no format until something gives it one, and
//! then each number takes that format by itself (RULES L2).

use super::Checker;
use super::value::{Dims, Typed, Value};
use crate::check::literal::{FoldError, Literal, integer};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
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
    /// Of the values before the last, which are numbers of a table of this shape, the one at these indices; outside the last.
    Pick(Dims, Rc<[NodeId]>, Span),
}

impl Choice {
    /// The conditions and indices.
    pub fn conditions(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().flat_map(|step| match step {
            Step::Choose(condition, _) => vec![*condition],
            Step::Pick(_, indices, _) => indices.to_vec(),
            Step::Number(..) => Vec::new(),
        })
    }

    fn numbers(&self) -> usize {
        // A table has one number more than entries.
        let count = |step: &Step| match step {
            Step::Number(..) => 1,
            Step::Pick(..) => -1,
            Step::Choose(..) => 0,
        };
        self.0.iter().map(count).sum::<isize>() as usize
    }

    /// Whether it reads a table.
    fn picks(&self) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Pick(..)))
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

    /// The number of a table at indices known at run time.
    pub(super) fn choice_of_table(
        &mut self,
        numbers: Vec<(Literal, ExprId)>,
        dims: Dims,
        indices: Vec<NodeId>,
        span: Span,
    ) -> Value {
        if let Err(why) = self.afford(numbers.len()) {
            return self.fold_error(why, span);
        }
        let numbers = numbers.into_iter().map(|(number, expr)| Step::Number(Rc::new(number), self.span(expr)));
        let outside = Literal { value: Exact::zero(), bits: false };
        let last = [Step::Number(Rc::new(outside), span), Step::Pick(dims, indices.into(), span)];
        Value::Choice(Choice(numbers.chain(last).collect()))
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
        if a.picks() && b.picks() {
            return Some(self.two_tables(span));
        }
        // The numbers of a table stay side by side.
        let turned = a.picks();
        let (first, second) = if turned { (&b, &a) } else { (&a, &b) };
        let mut steps = Vec::new();
        let mut all = || {
            self.afford(a.numbers() * b.numbers())?;
            for outer in first.0.iter() {
                let Step::Number(x, _) = outer else {
                    steps.push(outer.clone());
                    continue;
                };
                for inner in second.0.iter() {
                    steps.push(match inner {
                        Step::Number(y, _) => {
                            let (x, y) = if turned { (y, x) } else { (x, y) };
                            Step::Number(Rc::new(of(self, x, y)?), span)
                        }
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

    fn two_tables(&mut self, span: Span) -> Value {
        let message = "entries of two tables have only exact numbers, so their format is not known";
        let error = Diagnostic::error(codes::NO_FORMAT, message, span, "exact numbers without a format");
        self.error(error.help("give a table a format, `table float32.23 name[...] = ...;`, or cast an entry"));
        Value::Error
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
                Step::Pick(dims, indices, at) => {
                    let numbers = values.split_off(values.len() - dims.elements() - 1);
                    let numbers: Option<Vec<NodeId>> = numbers.into_iter().collect();
                    values.push(match numbers {
                        Some(mut numbers) if fits => {
                            let outside = numbers.pop();
                            let entry = self.entry_of_constants(*dims, numbers, indices, *at);
                            entry.and_then(|entry| self.or_outside(*dims, (entry, outside?), indices, *at))
                        }
                        _ => None,
                    });
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
