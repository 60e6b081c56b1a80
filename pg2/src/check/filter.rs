//! `where`: pairs that contribute to no output (RULES L19).

use super::branch::End;
use super::value::{Typed, Value};
use super::{Checker, Slot};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::Tree;
use hdl::number::format::UINT1;
use hdl::op::{Attrs, compare};
use num_traits::Zero;
use std::collections::BTreeMap;

impl<'a> Checker<'a> {
    /// `where (condition);`
    pub(super) fn filter(&mut self, condition: Tree) {
        let span = self.span(condition.root);
        let value = self.tree(condition);
        let known = match &value {
            Value::Typed(typed) => self.known_integer(typed).map(|n| !n.value.is_zero()),
            Value::Exact(number) => Some(!number.value.is_zero()),
            _ => None,
        };
        let Some(condition) = self.truth(value, condition.root) else { return };
        match known {
            Some(true) => {}
            Some(false) => {
                let message = "no pair passes this condition";
                let error = Diagnostic::error(codes::NO_REDUCTION, message, span, "always 0");
                self.error(error.help("correct the condition, or remove this `where`"));
            }
            None => self.filters.push((condition, span)),
        }
    }

    /// Lets pairs that do not pass all conditions reduce what changes nothing.
    pub(super) fn apply_filters(&mut self) {
        let Some(condition) = self.all_filters() else { return };
        let mut slots = BTreeMap::new();
        for (pin, elements) in self.slots.iter_mut().enumerate() {
            for (k, slot) in elements.iter_mut().enumerate().filter(|(_, slot)| !matches!(slot, Slot::Empty)) {
                slots.insert((pin, k), std::mem::replace(slot, Slot::Empty));
            }
        }
        self.builder.graph.filter = Some(condition.node(0));
        self.join_slots(&[End::reducing(Some(condition), slots), End::reducing(None, BTreeMap::new())]);
    }

    /// All conditions as one. As in nested branches, a later one is demanded where those before it hold.
    fn all_filters(&mut self) -> Option<Typed> {
        let filters = std::mem::take(&mut self.filters);
        let (last, others) = filters.split_last()?;
        let mut all = last.clone();
        for (condition, span) in others.iter().rev() {
            all = (self.first_holds(condition, &all.0, *span)?, *span);
        }
        Some(all.0)
    }

    fn first_holds(&mut self, first: &Typed, second: &Typed, span: Span) -> Option<Typed> {
        let zero = self.builder.constant(0, UINT1, span);
        let zero = Typed::scalar(UINT1, zero);
        match self.each(compare::MUX, &[first, second, &zero], Attrs::default(), span) {
            Value::Typed(typed) => Some(typed),
            _ => None,
        }
    }
}
