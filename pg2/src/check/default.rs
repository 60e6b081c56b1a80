//! Values that parameters have where none are given: `float32.23 eps param = 0.01;` (RULES L15).

use super::Checker;
use super::scope::Entry;
use super::value::Value;
use crate::check::literal::{Literal, fit};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::{NodeKind, PinClass};
use crate::syntax::ast::{ExprId, ExprKind, Tree, Word};
use hdl::Format;
use hdl::number::exact::Exact;

impl<'a> Checker<'a> {
    /// Gives the parameter that was just declared its value.
    pub(super) fn default_of(&mut self, name: Word<'a>, value: Tree) {
        let parts = self.parts_of_default(value);
        let values: Vec<(Value, Span)> = parts.iter().map(|t| (self.tree(*t), self.span(t.root))).collect();
        let Some(pin) = self.parameter(name) else { return };
        let (format, elements) =
            (self.builder.graph.pins[pin].format, self.builder.graph.pins[pin].elements() as usize);
        let numbers: Option<Vec<Exact>> =
            values.into_iter().map(|(value, span)| self.default_number(value, format, span)).collect();
        let Some(mut numbers) = numbers else { return };
        // One number stands for every element.
        if let [one] = &numbers[..] {
            numbers = vec![one.clone(); elements];
        }
        if numbers.len() != elements {
            let message = format!("`{}` has {elements} elements, and {} values", name.text, numbers.len());
            let span = self.span(value.root);
            let error = Diagnostic::error(codes::LENGTHS, message, span, "not as many")
                .label(name.span, "declared here")
                .help("write a value for each element, `(1, 2, 3)`, those of a matrix row by row, or one for all");
            return self.error(error);
        }
        self.builder.graph.pins[pin].default = Some(numbers);
    }

    /// The trees of the elements; of what is no vector it is the whole.
    fn parts_of_default(&self, value: Tree) -> Vec<Tree> {
        let ExprKind::Vector(elements) = &self.program.expr(value.root).kind else { return vec![value] };
        let mut first = value.first;
        let part = |id: &ExprId| {
            let tree = Tree { first, root: *id };
            first = ExprId(id.0 + 1);
            tree
        };
        elements.iter().map(part).collect()
    }

    /// The pin of a name that is a parameter.
    fn parameter(&self, name: Word<'a>) -> Option<usize> {
        let symbol = self.table().symbols.get(name.text).filter(|s| s.span == name.span)?;
        let Entry::Value(Value::Typed(typed)) = &symbol.entry else { return None };
        match self.builder.graph.node(typed.nodes()[0]).kind {
            NodeKind::Pin { pin, .. } if self.builder.graph.pins[pin].class == PinClass::Param => Some(pin),
            _ => None,
        }
    }

    /// A number that the format holds; `None` after a reported mistake.
    fn default_number(&mut self, value: Value, format: Format, span: Span) -> Option<Exact> {
        let number: Literal = match value {
            Value::Error => return None,
            Value::Exact(number) => number,
            Value::Typed(_) | Value::Choice(_) | Value::Numbers(_) => {
                let message = "the value of a parameter is a number that is known when the kernel is compiled";
                let error = Diagnostic::error(codes::NOT_CONST, message, span, "not such a number");
                self.error(
                    error.help("write a number or a `const` without a cast: it takes the format of the parameter"),
                );
                return None;
            }
        };
        match fit(&number, format) {
            // Hexadecimal digits may stand for the bits of a negative int.
            Ok(bits) if format.is_int() => Some(Exact::from_integer(format.to_int(bits).into())),
            Ok(_) => Some(number.value),
            Err(why) => {
                self.misfit(why, format, span);
                None
            }
        }
    }
}
