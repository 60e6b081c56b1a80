//! Statements: declarations, definitions and reductions.

use super::scope::{Entry, Kind, NO_EXPR, Symbol};
use super::value::{Dims, Typed, Value};
use super::{Checker, Reduction, Slot};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::{NodeId, Pin, PinClass};
use crate::syntax::ast::{BinaryOp, ExprId, Statement, StatementKind, Tree, Word};
use crate::syntax::functions;
use hdl::Rounding;
use hdl::{Format, Reduce};

/// The most elements of a vector or matrix.
pub(super) const MAX_LENGTH: usize = 1024;

/// The format of sums of floats: it holds magnitudes to 8e9 in steps of 1e-9.
const SUM: Format = Format::Fixed { width: 64, frac: 30, signed: true };

/// Where a reduction goes and what it takes.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub pin: usize,
    pub first: usize,
    pub dims: Dims,
    pub reduce: Reduce,
    /// Of a sum: whether the value is taken away.
    pub subtracts: bool,
}

impl<'a> Checker<'a> {
    /// Runs a statement; gives whether it is, or always ends with, a `return`.
    pub(super) fn statement(&mut self, statement: &'a Statement<'a>) -> bool {
        if self.table().level() == 0 && self.calls.is_empty() {
            self.block_start = statement.span.start;
        }
        match &statement.kind {
            StatementKind::Declare { format, name, lengths, class, range, default } => {
                self.declare(*format, *name, lengths, (*class, range.as_ref()));
                default.iter().for_each(|value| self.default_of(*name, *value));
            }
            StatementKind::Elements { name, lengths } => self.declare_elements(*name, lengths),
            StatementKind::Table { format, name, lengths, content } => {
                self.declare_table((*format, *name), lengths, content);
            }
            StatementKind::Const { name, value } => self.constant(*name, *value),
            StatementKind::Assign { name, indices, value } if indices.is_empty() => self.assign(*name, *value),
            StatementKind::Assign { name, indices, value } => self.assign_element(*name, indices, *value),
            StatementKind::Reduce { target, indices, reduce, subtracts, value } => {
                self.reduce(*target, indices, (*reduce, *subtracts), *value);
            }
            StatementKind::Select { targets, reduce, values } => self.gather_selection(targets, *reduce, values),
            StatementKind::For { variable, from, to, body } => return self.for_loop(*variable, (*from, *to), body),
            StatementKind::If { arms, otherwise } => return self.branches(arms, otherwise.as_ref()),
            StatementKind::Filter { condition } => self.filter(*condition),
            StatementKind::Return { value } => {
                self.return_value(*value);
                return true;
            }
            // Known before the first statement.
            StatementKind::Round { .. } | StatementKind::Type { .. } => {}
            StatementKind::Broken { name } => self.broken(*name),
            StatementKind::Function(_) | StatementKind::Include { .. } => {}
        }
        false
    }

    /// A name whose definition could not be read. An output counts as reduced.
    pub(super) fn broken(&mut self, name: Word<'a>) {
        match self.table().symbols.get(name.text).map(|s| &s.entry) {
            Some(Entry::Output(pin)) => {
                let pin = *pin;
                (0..self.slots[pin].len()).for_each(|k| self.set_slot(pin, k, Slot::Broken));
            }
            Some(_) => {}
            None => self.define(name, Entry::Broken, Kind::Value, NO_EXPR),
        }
    }

    fn declare(
        &mut self,
        format: Word<'a>,
        name: Word<'a>,
        lengths: &[Tree],
        (class, range): (Word<'a>, Option<&[Tree; 2]>),
    ) {
        let format_span = format.span;
        let format = self.format(format);
        let dims = self.dims(lengths);
        let class = self.class(class);
        let range = range.and_then(|range| self.range_of_pin(format, class, range));
        let (Some(format), Some(dims), Some(class)) = (format, dims, class) else {
            return self.define(name, Entry::Broken, Kind::Pin, NO_EXPR);
        };
        if self.table().symbols.contains_key(name.text) {
            return self.define(name, Entry::Value(Value::Error), Kind::Pin, NO_EXPR);
        }
        let pin = self.builder.graph.pins.len();
        let len = (dims != Dims::Scalar).then_some(dims.elements() as u32);
        let columns = if let Dims::Matrix(_, columns) = dims { Some(columns as u32) } else { None };
        self.pin_formats.push(format_span);
        let scalar = Pin::scalar(name.text, class, format, name.span);
        self.builder.graph.pins.push(Pin { len, columns, range, ..scalar });
        if class == PinClass::Fout {
            self.slots.push(vec![Slot::Empty; dims.elements() + 1]);
            return self.define(name, Entry::Output(pin), Kind::Pin, NO_EXPR);
        }
        self.slots.push(Vec::new());
        let nodes: Vec<NodeId> = (0..dims.elements()).map(|e| self.builder.pin(pin, e as u32)).collect();
        if self.builder.is_full() {
            self.too_large(name.span);
        }
        let typed = Typed { format, shape: dims.shape(nodes) };
        self.define(name, Entry::Value(Value::Typed(typed)), Kind::Pin, NO_EXPR);
    }

    /// The shape that lengths in brackets declare.
    pub(super) fn dims(&mut self, lengths: &[Tree]) -> Option<Dims> {
        let found: Vec<Option<usize>> = lengths.iter().map(|tree| self.length(*tree)).collect();
        let found = found.into_iter().collect::<Option<Vec<usize>>>()?;
        let (message, help) = match found[..] {
            [] => return Some(Dims::Scalar),
            [n] => return Some(Dims::Vector(n)),
            [rows, columns] if rows * columns <= MAX_LENGTH => return Some(Dims::Matrix(rows, columns)),
            [_, _] => (
                format!("a matrix has at most {MAX_LENGTH} elements"),
                "choose smaller lengths, or split the matrix into several",
            ),
            _ => ("there are vectors and matrices, and nothing of more indices".into(), "use several matrices"),
        };
        let span = self.span(lengths[0].root).to(self.span(lengths[lengths.len() - 1].root));
        let error = Diagnostic::error(codes::LENGTH, message, span, "not possible lengths");
        self.error(error.help(help));
        None
    }

    fn length(&mut self, tree: Tree) -> Option<usize> {
        let value = self.tree(tree);
        let span = self.span(tree.root);
        let n = self.integer_of(&value, span, "the length of a vector")?;
        match n.and_then(|n| usize::try_from(n).ok()).filter(|n| (1..=MAX_LENGTH).contains(n)) {
            Some(n) => Some(n),
            None => {
                let message = format!("a vector has 1 to {MAX_LENGTH} elements");
                let error = Diagnostic::error(codes::LENGTH, message, span, "not a possible length");
                self.error(error.help("choose a length within these limits, or leave the brackets out for a scalar"));
                None
            }
        }
    }

    /// `round mode;`, which is for the whole file, wherever it stands.
    pub(super) fn round(&mut self, modes: &[Word<'a>]) {
        for mode in modes {
            self.builder.rounding = match mode.text {
                "nearest" => Rounding::Nearest,
                "truncate" => Rounding::Truncate,
                other => {
                    let message = format!("`{other}` is no way of rounding");
                    let error = Diagnostic::error(codes::SYNTAX, message, mode.span, "neither of the two");
                    let help = "write `round nearest;` (ties to even) or `round truncate;` (toward zero)";
                    self.error(error.help(help));
                    continue;
                }
            };
            if mode.text != modes[0].text {
                let error =
                    Diagnostic::error(codes::TWICE, "two ways of rounding in one kernel", mode.span, "another one");
                let error = error.label(modes[0].span, "the first");
                self.error(error.help("keep one of the two: it holds for the whole kernel"));
                return;
            }
        }
    }

    fn constant(&mut self, name: Word<'a>, value: Tree) {
        let (span, root) = (self.span(value.root), value.root);
        let value = self.tree(value);
        let known = match &value {
            Value::Typed(typed) => typed.nodes().iter().all(|n| self.builder.is_constant(*n)),
            Value::Choice(choice) => choice.conditions().all(|n| self.builder.is_constant(n)),
            Value::Numbers(numbers) => (0..numbers.dims.elements()).all(|k| match numbers.value(k) {
                Value::Choice(choice) => choice.conditions().all(|n| self.builder.is_constant(n)),
                _ => true,
            }),
            Value::Exact(_) | Value::Error => true,
        };
        if !known {
            let message = format!("`{}` is not a compile-time number", name.text);
            let error = Diagnostic::error(codes::NOT_CONST, message, span, "known only at run time");
            let error = error.help(format!("leave `const` out: `{} = ...;`", name.text));
            let word = self.text[..name.span.start].trim_end();
            let front = Span { start: word.len().saturating_sub("const".len()), end: name.span.start };
            self.error(if word.ends_with("const") { error.edit(front, "") } else { error });
            return self.define(name, Entry::Broken, Kind::Const, NO_EXPR);
        }
        self.bind(name, value, Kind::Const, root);
    }

    fn assign(&mut self, name: Word<'a>, value: Tree) {
        let root = value.root;
        let output = match self.table().symbols.get(name.text).map(|s| &s.entry) {
            Some(Entry::Output(pin)) => Some(*pin),
            _ => None,
        };
        self.assigned_output = output.map(|_| name.text);
        let value = self.tree(value);
        self.assigned_output = None;
        match self.table().symbols.get(name.text) {
            Some(symbol) if let Some(pin) = output => {
                let symbol = symbol.clone();
                self.assigns_output(name, &symbol, pin, root);
                self.broken(name);
            }
            Some(symbol) if symbol.kind == Kind::Pin => {
                let symbol = symbol.clone();
                self.assigns_pin(name, &symbol);
            }
            _ => self.bind(name, value, Kind::Value, root),
        }
    }

    /// `=` to something that is no value.
    pub(super) fn assigns_pin(&mut self, name: Word<'a>, symbol: &Symbol) {
        let output = matches!(symbol.entry, Entry::Output(_));
        let what = match symbol.kind {
            _ if matches!(symbol.entry, Entry::Broken) => return,
            Kind::Pin if output => "an output",
            Kind::Pin => "an input pin",
            Kind::Const => "a `const`",
            Kind::Counter => "the variable of a loop",
            Kind::Value => "a value",
        };
        let message = format!("`{}` is {what} and cannot be assigned", name.text);
        let error = Diagnostic::error(codes::ASSIGNS_PIN, message, name.span, "assigned here")
            .label(symbol.span, "declared here");
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
    fn bind(&mut self, name: Word<'a>, value: Value, kind: Kind, root: ExprId) {
        if let Value::Typed(typed) = &value {
            self.name_nodes(typed, name.text);
        }
        self.define(name, Entry::of(value), kind, root);
    }

    pub(super) fn name_nodes(&mut self, typed: &Typed, name: &str) {
        let dims = typed.dims();
        for (k, node) in typed.nodes().iter().enumerate() {
            self.builder.name(*node, || format!("{name}{}", dims.place(k)));
        }
    }

    fn reduce(&mut self, target: Word<'a>, indices: &[Tree], (reduce, subtracts): (Reduce, bool), value: Tree) {
        let indices: Vec<(Value, Span)> = indices.iter().map(|t| (self.tree(*t), self.span(t.root))).collect();
        let root = value.root;
        let value = self.tree(value);
        if self.may_rebind(target.text) {
            return self.gather(target, &indices, (reduce, subtracts), (value, root));
        }
        let Some(pin) = self.output(target, &value, root) else { return };
        if indices.iter().any(|index| self.is_run_time(&index.0)) {
            return self.reduce_at((target, pin), &indices, (reduce, subtracts), (value, root));
        }
        let Some(to) = self.aim((target, pin), indices, (reduce, subtracts)) else { return };
        match self.reduced_value(&to, value, root, target) {
            Some(typed) => self.fill(&to, &typed, target, |_| reduce),
            None => self.spoil(&to),
        }
    }

    /// `name += value` for a value from outside the block: `name = name + value`.
    fn gather(
        &mut self,
        name: Word<'a>,
        indices: &[(Value, Span)],
        (reduce, subtracts): (Reduce, bool),
        value: (Value, ExprId),
    ) {
        let root = value.1;
        let old = if indices.is_empty() { self.lookup(name.text, name.span) } else { self.element_of(name, indices) };
        let span = name.span.to(self.span(root));
        let old = (old, root);
        let new = match reduce {
            Reduce::Sum if subtracts => self.binary(BinaryOp::Sub, old, value, span),
            Reduce::Sum => self.binary(BinaryOp::Add, old, value, span),
            _ => {
                let name = if reduce == Reduce::Max { "pg_max" } else { "pg_min" };
                let function = functions::function(name).expect("the library has it");
                self.library(function, vec![old, value], span)
            }
        };
        if indices.is_empty() {
            self.bind(name, new, Kind::Value, root);
        } else {
            self.set_element(name, indices, new, root);
        }
    }

    /// `+=` in a function to what is no value of it.
    pub(super) fn reduces_in_function(&mut self, target: Word<'a>) {
        let message = "a function reduces nothing into outputs";
        let error = Diagnostic::error(codes::MISPLACED, message, target.span, "not possible here");
        self.error(error.help(format!("return the value, and write `{} += f(...)` in the file", target.text)));
        if let Some(Entry::Output(pin)) = self.tables[0].symbols.get(target.text).map(|s| s.entry.clone()) {
            (0..self.slots[pin].len()).for_each(|k| self.set_slot(pin, k, Slot::Broken));
        }
    }

    /// The output of that name.
    pub(super) fn output(&mut self, target: Word<'a>, value: &Value, root: ExprId) -> Option<usize> {
        if !self.calls.is_empty() && !self.table().symbols.contains_key(target.text) {
            self.reduces_in_function(target);
            return None;
        }
        let Some(symbol) = self.table().symbols.get(target.text) else {
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
            let close = crate::diag::did_you_mean(target.text, outputs).map(String::from);
            let error = match close {
                Some(close) => error.help(format!("did you mean `{close}`?")).edit(target.span, close),
                None => self.undeclared(error, target, value, root),
            };
            self.error(error);
            self.lost_reduction = true;
            // Its uses are no further mistakes.
            self.define(target, Entry::Broken, Kind::Value, NO_EXPR);
            return None;
        };
        match symbol.entry {
            Entry::Output(pin) => Some(pin),
            Entry::Broken => None,
            Entry::Value(_) | Entry::Elements(_) | Entry::Joined(_) => {
                let message = format!("`{}` is not an output", target.text);
                let error = Diagnostic::error(codes::NOT_OUTPUT, message, target.span, "reduced here")
                    .label(symbol.span, "defined here")
                    .help(
                        "`+=` to a value is possible in a block, where the value comes from outside; here give the sum a new \
                         name, or declare an output with the class `fout`",
                    );
                self.error(error);
                None
            }
        }
    }

    /// The remedy for a reduction into an unknown name: in a block a value without a start, else an output.
    fn undeclared(&self, error: Diagnostic, target: Word<'a>, value: &Value, root: ExprId) -> Diagnostic {
        let name = target.text;
        if self.table().level() > 0 {
            let at = Span { start: self.block_start, end: self.block_start };
            let error = error.help(format!("give it a start before the block: `{name} = 0;`"));
            return if self.calls.is_empty() { error.edit(at, format!("{name} = 0;\n")) } else { error };
        }
        let format = match value {
            Value::Typed(typed) if !typed.format.is_integral() => {
                return error.help(format!(
                    "declare it above, `fixed64.30 {name} fout;`, and write `{name} += (fixed64.30){}`",
                    self.operand_text(root)
                ));
            }
            Value::Typed(typed) if typed.format.is_fixed() || !typed.format.is_signed() => typed.format.to_string(),
            _ => "int64".to_string(),
        };
        let line = format!("{format} {name} fout;");
        let start = Span { start: 0, end: 0 };
        error.help(format!("declare it above: `{line}`")).edit(start, line + "\n")
    }

    /// The value of a reduction in the output's format and shape.
    pub(super) fn reduced_value(&mut self, to: &Target, value: Value, id: ExprId, word: Word<'a>) -> Option<Typed> {
        let pin = &self.builder.graph.pins[to.pin];
        let (format, declared) = (pin.format, pin.span);
        if to.subtracts && format.is_integral() && !format.is_signed() {
            self.nothing_below_zero(to.pin, &value, id, word);
            return None;
        }
        if to.reduce == Reduce::Sum && !format.is_integral() {
            let class = if format.is_log() { "log" } else { "float" };
            let message = format!("`+=` on an output of {format}: sums are exact, which a {class} cannot be");
            let error = Diagnostic::error(codes::FLOAT_SUM, message, word.span, "summed here")
                .label(declared, format!("declared as a {class}"));
            let cast = matches!(&value, Value::Typed(typed) if typed.format != SUM).then_some(id);
            self.error(self.with_output_format(error, to.pin, SUM, cast));
            return None;
        }
        let span = self.span(id);
        let typed = match value {
            Value::Error => return None,
            Value::Exact(number) => Typed::scalar(format, self.literal(&number, format, span)?),
            Value::Choice(choice) => Typed::scalar(format, self.choice(&choice, format, span)?),
            Value::Numbers(numbers) => self.numbers_in(&numbers, format, span)?,
            Value::Typed(typed) => self.fit_output(typed, to, (id, declared, word))?,
        };
        let (dims, wanted) = (typed.dims(), to.dims);
        if dims == wanted {
            return Some(typed);
        }
        let scalar = dims == Dims::Scalar || wanted == Dims::Scalar;
        let code = if scalar { codes::VECTOR } else { codes::LENGTHS };
        let message = format!("`{}` takes {}, not {}", word.text, wanted.words(), dims.words());
        let error = Diagnostic::error(code, message, span, format!("this is {}", dims.words()))
            .label(declared, "declared here");
        let help = match wanted {
            Dims::Scalar => format!(
                "give one number: an element such as `v[0]`, or a product such as `v * v`; or declare `{}` with that length",
                word.text
            ),
            _ => format!(
                "reduce one element with `{}{} {} ...`, or give all of them",
                word.text,
                wanted.place(0),
                to.reduce
            ),
        };
        self.error(error.help(help));
        None
    }

    /// Extends an int to the output's width; other formats must be the output's.
    fn fit_output(&mut self, typed: Typed, to: &Target, places: (ExprId, Span, Word<'a>)) -> Option<Typed> {
        let (id, declared, word) = places;
        let (from, format) = (typed.format, self.builder.graph.pins[to.pin].format);
        if from == format {
            return Some(typed);
        }
        if from.is_int() && format.is_int() && from.is_signed() == format.is_signed() && from.width() < format.width() {
            return self.extend(typed, format, self.span(id));
        }
        let message = format!("`{}` is {format}, but the value is {from}", word.text);
        let error = Diagnostic::error(codes::MIXED, message, self.span(id), format!("this is {from}"))
            .label(declared, format!("declared as {format}"));
        // A cast to an int would round the fraction off, and one to a narrower int drop bits.
        let fraction = !from.is_int() && format.is_int();
        let narrow = from.is_int() && format.is_int() && from.width() > format.width();
        // A cast would make a negative value a large one.
        let wraps = from.is_int() && format.is_int() && from.is_signed() && !format.is_signed();
        let signed = Format::int(format.width().max(from.width()), true).unwrap_or(from);
        self.error(match () {
            _ if wraps => self.with_output_format(error, to.pin, signed, None),
            // The float itself is kept, unless a sum is meant.
            _ if fraction && (from.is_fixed() || to.reduce != Reduce::Sum) || narrow => {
                self.with_output_format(error, to.pin, from, None)
            }
            _ if fraction => self.with_output_format(error, to.pin, SUM, Some(id)),
            _ => self.with_cast(error, format, id),
        });
        None
    }

    /// Enters the value of each element that the reduction covers, and how that element is reduced.
    pub(super) fn fill(&mut self, to: &Target, typed: &Typed, word: Word<'a>, reduce: impl Fn(usize) -> Reduce) {
        for (k, node) in typed.nodes().iter().enumerate() {
            let at = (to.pin, to.first + k);
            let term = Reduction { reduce: reduce(k), value: *node, at: None, carry: None, span: word.span };
            let term = if to.subtracts { self.negative(at, term) } else { Some(term) };
            match term {
                // One report is enough for all elements.
                Some(term) if !self.gathered(at, term) => return,
                Some(_) => {}
                None => self.set_slot(at.0, at.1, Slot::Broken),
            }
        }
    }

    /// Marks the elements of a reduction with a mistake, so that they do not count as missing.
    fn spoil(&mut self, to: &Target) {
        (to.first..to.first + to.dims.elements()).for_each(|k| self.set_slot(to.pin, k, Slot::Broken));
    }
}
