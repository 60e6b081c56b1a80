//! Statements: declarations, definitions and reductions.

use super::value::{Shape, Typed, Value};
use super::{Checker, Entry, Reduction, Slot};
use crate::ast::{ExprId, Statement, StatementKind, Tree, Word};
use crate::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::{NodeId, Pin, PinClass};
use hdl::{Format, Reduce};

/// The most elements of a vector.
const MAX_LENGTH: i64 = 1024;

/// Where a reduction goes and what it takes.
struct Target {
    pin: usize,
    element: Option<usize>,
    reduce: Reduce,
}

impl<'a> Checker<'a> {
    pub(super) fn statement(&mut self, statement: &'a Statement<'a>) {
        match &statement.kind {
            StatementKind::Declare { format, name, len, class } => self.declare(*format, *name, *len, *class),
            StatementKind::Const { name, value } => self.constant(*name, *value),
            StatementKind::Assign { name, value } => self.assign(*name, *value),
            StatementKind::Reduce { target, index, reduce, value } => self.reduce(*target, *index, *reduce, *value),
            StatementKind::Broken { name } => self.broken(*name),
        }
    }

    /// A name whose definition could not be read. An output counts as reduced.
    fn broken(&mut self, name: Word<'a>) {
        match self.symbols.get(name.text).map(|s| &s.entry) {
            Some(Entry::Output(pin)) => self.slots[*pin].fill(Slot::Broken),
            Some(_) => {}
            None => self.define(name, Entry::Broken, false),
        }
    }

    fn declare(&mut self, format: Word<'a>, name: Word<'a>, len: Option<Tree>, class: Word<'a>) {
        let format = self.format(format);
        let len = match len {
            None => Some(None),
            Some(tree) => self.length(tree).map(Some),
        };
        let class = self.class(class);
        let (Some(format), Some(len), Some(class)) = (format, len, class) else {
            return self.define(name, Entry::Broken, false);
        };
        if self.symbols.contains_key(name.text) {
            return self.define(name, Entry::Value(Value::Error), true);
        }
        let pin = self.builder.graph.pins.len();
        self.builder.graph.pins.push(Pin { name: name.text.to_string(), class, format, len, span: name.span });
        if class == PinClass::Fout {
            self.slots.push(vec![Slot::Empty; len.unwrap_or(1) as usize]);
            return self.define(name, Entry::Output(pin), true);
        }
        self.slots.push(Vec::new());
        let nodes: Vec<NodeId> = (0..len.unwrap_or(1)).map(|e| self.builder.pin(pin, e)).collect();
        if self.builder.is_full() {
            self.too_large(name.span);
        }
        let shape = if len.is_some() { Shape::Vector(nodes.into()) } else { Shape::Scalar(nodes[0]) };
        self.define(name, Entry::Value(Value::Typed(Typed { format, shape })), true);
    }

    fn length(&mut self, tree: Tree) -> Option<u32> {
        let value = self.tree(tree);
        let span = self.span(tree.root);
        let n = self.integer_of(&value, span, "the length of a vector")?;
        match n.filter(|n| (1..=MAX_LENGTH).contains(n)) {
            Some(n) => Some(n as u32),
            None => {
                let message = format!("a vector has 1 to {MAX_LENGTH} elements");
                let error = Diagnostic::error(codes::LENGTH, message, span, "not a possible length");
                self.error(error.help("choose a length within these limits, or leave the brackets out for a scalar"));
                None
            }
        }
    }

    fn constant(&mut self, name: Word<'a>, value: Tree) {
        let span = self.span(value.root);
        let value = self.tree(value);
        let known = match &value {
            Value::Typed(typed) => typed.nodes().iter().all(|n| self.builder.is_constant(*n)),
            Value::Choice(choice) => choice.conditions().all(|n| self.builder.is_constant(n)),
            Value::Exact(_) | Value::Error => true,
        };
        if !known {
            let message = format!("`{}` is not a compile-time number", name.text);
            let error = Diagnostic::error(codes::NOT_CONST, message, span, "known only at run time");
            self.error(error.help(format!("leave `const` out: `{} = ...;`", name.text)));
            return self.define(name, Entry::Broken, false);
        }
        self.bind(name, value);
    }

    fn assign(&mut self, name: Word<'a>, value: Tree) {
        let value = self.tree(value);
        let pin =
            self.symbols.get(name.text).filter(|s| s.is_pin).map(|s| (s.span, matches!(s.entry, Entry::Output(_))));
        let Some((declared, output)) = pin else {
            return self.bind(name, value);
        };
        let message =
            format!("`{}` is {} and cannot be assigned", name.text, if output { "an output" } else { "an input pin" });
        let error =
            Diagnostic::error(codes::ASSIGNS_PIN, message, name.span, "assigned here").label(declared, "declared here");
        self.error(error.help(if output {
            format!("outputs gather values: write `{} += ...`", name.text)
        } else {
            "choose another name for the value".into()
        }));
        if output {
            self.broken(name);
        }
    }

    /// Gives a value its name, and its nodes theirs.
    fn bind(&mut self, name: Word<'a>, value: Value) {
        if let Value::Typed(typed) = &value
            && !self.symbols.contains_key(name.text)
        {
            self.name_nodes(typed, name.text);
        }
        let entry = if let Value::Error = value { Entry::Broken } else { Entry::Value(value) };
        self.define(name, entry, false);
    }

    fn name_nodes(&mut self, typed: &Typed, name: &str) {
        match &typed.shape {
            Shape::Scalar(node) => self.builder.name(*node, || name.to_string()),
            Shape::Vector(nodes) => {
                for (k, node) in nodes.iter().enumerate() {
                    self.builder.name(*node, || format!("{name}[{k}]"));
                }
            }
        }
    }

    fn reduce(&mut self, target: Word<'a>, index: Option<Tree>, reduce: Reduce, value: Tree) {
        let index = index.map(|tree| (self.tree(tree), self.span(tree.root)));
        let root = value.root;
        let value = self.tree(value);
        let Some(pin) = self.output(target) else { return };
        let len = self.builder.graph.pins[pin].len;
        let element = match (index, len) {
            (None, None) => Some(0),
            (None, Some(_)) => None,
            (Some(index), Some(len)) => match self.element(index, len as usize, target.text) {
                Some(k) => Some(k),
                None => return,
            },
            (Some((_, span)), None) => {
                let message = format!("`{}` is a scalar and has no elements", target.text);
                let error = Diagnostic::error(codes::INDEX_SCALAR, message, span, "an index on a scalar");
                self.error(error.help(format!("write `{} {reduce} ...`", target.text)));
                return self.broken(target);
            }
        };
        let target_of = Target { pin, element, reduce };
        match self.reduced_value(&target_of, value, root, target) {
            Some(typed) => self.fill(&target_of, &typed, target),
            None => self.spoil(&target_of),
        }
    }

    /// The output of that name.
    fn output(&mut self, target: Word<'a>) -> Option<usize> {
        let Some(symbol) = self.symbols.get(target.text) else {
            if let Some(later) = self.defined_at.get(target.text).copied() {
                let message = format!("`{}` is reduced before it is declared", target.text);
                let error = Diagnostic::error(codes::BEFORE, message, target.span, "reduced here")
                    .label(later, "declared here")
                    .help("move the declaration above the reduction");
                self.error(error);
                return None;
            }
            let message = format!("`{}` is not declared", target.text);
            let error = Diagnostic::error(codes::UNKNOWN_NAME, message, target.span, "unknown output");
            let outputs: Vec<&str> =
                self.builder.graph.pins_of(PinClass::Fout).map(|p| p.1.name.as_str()).take(100).collect();
            let help = match crate::diag::did_you_mean(target.text, outputs) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("declare it above: `int64 {} fout;`", target.text),
            };
            self.error(error.help(help));
            return None;
        };
        match symbol.entry {
            Entry::Output(pin) => Some(pin),
            Entry::Broken => None,
            Entry::Value(_) => {
                let message = format!("`{}` is not an output", target.text);
                let error = Diagnostic::error(codes::NOT_OUTPUT, message, target.span, "reduced here")
                    .label(symbol.span, "defined here")
                    .help("declare an output with the class `fout`; other names take `=`, once");
                self.error(error);
                None
            }
        }
    }

    /// The value of a reduction in the output's format and shape.
    fn reduced_value(&mut self, to: &Target, value: Value, id: ExprId, word: Word<'a>) -> Option<Typed> {
        let pin = &self.builder.graph.pins[to.pin];
        let (format, declared, pin_len) = (pin.format, pin.span, pin.len);
        if to.reduce == Reduce::Sum && format.is_float() {
            let message = format!("`+=` on an output of {format}: sums are exact, which a float cannot be");
            let error = Diagnostic::error(codes::FLOAT_SUM, message, word.span, "summed here")
                .label(declared, "declared as a float")
                .help(format!(
                    "declare `{}` as int or fixed, such as `fixed64.30`, and write `(fixed64.30)` before the value",
                    word.text
                ));
            self.error(error);
            return None;
        }
        let span = self.span(id);
        let wanted = if to.element.is_some() { None } else { pin_len.map(|n| n as usize) };
        let typed = match value {
            Value::Error => return None,
            Value::Exact(number) => Typed::scalar(format, self.literal(&number, format, span)?),
            Value::Choice(choice) => Typed::scalar(format, self.choice(&choice, format, span)?),
            Value::Typed(typed) => self.fit_output(typed, format, (id, declared, word))?,
        };
        if typed.len() == wanted {
            return Some(typed);
        }
        let describe = |n: Option<usize>| n.map_or("a scalar".to_string(), |n| format!("a vector of {n} elements"));
        let code = if typed.len().is_some() && wanted.is_some() { codes::LENGTHS } else { codes::VECTOR };
        let message = format!("`{}` takes {}, not {}", word.text, describe(wanted), describe(typed.len()));
        let error = Diagnostic::error(code, message, span, format!("this is {}", describe(typed.len())))
            .label(declared, "declared here");
        let help = match wanted {
            Some(_) => {
                format!("reduce one element with `{}[0] {} ...`, or give a vector of that length", word.text, to.reduce)
            }
            None => "give one element of the vector".into(),
        };
        self.error(error.help(help));
        None
    }

    /// Extends an int to the output's width; other formats must be the output's.
    fn fit_output(&mut self, typed: Typed, format: Format, places: (ExprId, Span, Word<'a>)) -> Option<Typed> {
        let (id, declared, word) = places;
        let from = typed.format;
        if from == format {
            return Some(typed);
        }
        if from.is_int() && format.is_int() && from.is_signed() == format.is_signed() && from.width() < format.width() {
            return self.extend(typed, format, self.span(id));
        }
        let message = format!("`{}` is {format}, but the value is {from}", word.text);
        let error = Diagnostic::error(codes::MIXED, message, self.span(id), format!("this is {from}"))
            .label(declared, format!("declared as {format}"))
            .help(format!("write `({format}){}`", self.operand_text(id)));
        self.error(error);
        None
    }

    /// Enters the value of each element that the reduction covers.
    fn fill(&mut self, to: &Target, typed: &Typed, word: Word<'a>) {
        let first = to.element.unwrap_or(0);
        for (k, node) in typed.nodes().iter().enumerate() {
            match self.slots[to.pin][first + k] {
                Slot::Broken => {}
                Slot::Empty => {
                    let column = self.builder.graph.pins[to.pin].column((first + k) as u32);
                    self.builder.name(*node, || column);
                    let filled = Reduction { reduce: to.reduce, value: *node, span: word.span };
                    self.slots[to.pin][first + k] = Slot::Filled(filled);
                }
                Slot::Filled(earlier) => {
                    let column = self.builder.graph.pins[to.pin].column((first + k) as u32);
                    let message = format!("`{column}` has two reductions");
                    let error = Diagnostic::error(codes::REDUCED_TWICE, message, word.span, "reduced again")
                        .label(earlier.span, "first reduced here")
                        .help("add the two values and reduce them once");
                    return self.error(error);
                }
            }
        }
    }

    /// Marks the elements of a reduction with a mistake, so that they do not count as missing.
    fn spoil(&mut self, to: &Target) {
        match to.element {
            Some(k) => self.slots[to.pin][k] = Slot::Broken,
            None => self.slots[to.pin].fill(Slot::Broken),
        }
    }
}
