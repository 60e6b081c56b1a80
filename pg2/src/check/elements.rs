//! Vectors and matrices that are assigned element by element.

use super::numbers::{dims as dims_of, is_exact};
use super::scope::{Entry, Kind, NO_EXPR};
use super::value::{Dims, Typed, Value};
use super::{Checker, Slot};
use crate::check::literal::Literal;
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{ExprId, Tree, Word};
use hdl::Format;
use std::rc::Rc;

/// The elements so far, each with the expression that it was assigned.
#[derive(Clone, Debug)]
pub struct Elements {
    pub dims: Dims,
    list: Rc<Vec<Option<(Value, ExprId)>>>,
}

impl Elements {
    fn new(dims: Dims) -> Elements {
        Elements { dims, list: Rc::new(vec![None; dims.elements()]) }
    }

    /// Elements of exact numbers, each with the expression that it is from.
    pub fn exact(dims: Dims, numbers: Vec<(Literal, ExprId)>) -> Elements {
        let element = |(number, expr)| Some((Value::Exact(number), expr));
        Elements { dims, list: Rc::new(numbers.into_iter().map(element).collect()) }
    }

    /// The numbers, where all elements are exact.
    pub fn numbers(&self) -> Option<Vec<(Literal, ExprId)>> {
        let number = |element: &Option<(Value, ExprId)>| match element {
            Some((Value::Exact(number), expr)) => Some((number.clone(), *expr)),
            _ => None,
        };
        self.list.iter().map(number).collect()
    }

    /// Whether no element is assigned yet.
    pub fn is_empty(&self) -> bool {
        self.list.iter().all(Option::is_none)
    }

    /// The elements of a finished vector or matrix.
    pub fn of(typed: &Typed, expr: ExprId) -> Elements {
        let element = |n| Some((Value::Typed(Typed::scalar(typed.format, n)), expr));
        Elements { dims: typed.dims(), list: Rc::new(typed.nodes().iter().map(|n| element(*n)).collect()) }
    }

    /// Elements that all have a value.
    pub fn of_values(dims: Dims, list: Vec<(Value, ExprId)>) -> Elements {
        Elements { dims, list: Rc::new(list.into_iter().map(Some).collect()) }
    }

    /// The value of an element.
    pub fn value(&self, k: usize) -> Value {
        self.list[k].as_ref().map_or(Value::Error, |(value, _)| value.clone())
    }

    /// The expression that an element was assigned.
    pub fn expr(&self, k: usize) -> Option<ExprId> {
        self.list[k].as_ref().map(|element| element.1)
    }

    /// The elements of a part, of that shape.
    pub fn part(&self, inner: Dims, k: usize) -> Elements {
        let n = inner.elements();
        Elements { dims: inner, list: Rc::new(self.list[k * n..(k + 1) * n].to_vec()) }
    }
}

/// Elements from `first` on, of that shape.
struct Range {
    first: usize,
    dims: Dims,
}

impl<'a> Checker<'a> {
    /// `name[3];`
    pub(super) fn declare_elements(&mut self, name: Word<'a>, lengths: &[Tree]) {
        let entry = match self.dims(lengths) {
            Some(dims) => Entry::Elements(Elements::new(dims)),
            None => Entry::Broken,
        };
        self.define(name, entry, Kind::Value, NO_EXPR);
    }

    /// The value of `name[index]`.
    pub(super) fn element_of(&mut self, name: Word<'a>, indices: &[(Value, Span)]) -> Value {
        let Some(symbol) = self.symbol(name.text, name.span) else { return Value::Error };
        let entry = match symbol.entry {
            Entry::Joined(joined) => self.settle(name.text, &joined),
            entry => entry,
        };
        match entry {
            Entry::Output(_) => self.reads_output(name.text, name.span, symbol.span),
            Entry::Value(Value::Typed(typed)) if !typed.is_scalar() && self.any_run_time(indices) => {
                self.looked_up(&typed, indices, name)
            }
            Entry::Elements(elements) if self.any_run_time(indices) => match elements.numbers() {
                Some(_) => self.pick(&elements, indices, name),
                None => match self.whole(name.text, &elements, (name.span, symbol.span)) {
                    Value::Typed(typed) => self.looked_up(&typed, indices, name),
                    _ => Value::Error,
                },
            },
            Entry::Value(Value::Typed(mut typed)) => {
                for (n, index) in indices.iter().enumerate() {
                    let shown = if n == 0 { name.text.to_string() } else { format!("{}[...]", name.text) };
                    match self.part(typed, index.clone(), (&shown, name.span)) {
                        Some(part) => typed = part,
                        None => return Value::Error,
                    }
                }
                Value::Typed(typed)
            }
            Entry::Value(Value::Exact(_) | Value::Choice(_) | Value::Numbers(_)) => {
                self.no_elements(name.text, name.span)
            }
            Entry::Elements(elements) => {
                // What follows an element's own indices is a bit of it.
                let rank = elements.dims.rank().min(indices.len());
                if rank < indices.len() {
                    let shown = format!("{}[...]", name.text);
                    let Value::Typed(mut typed) = self.element_of(name, &indices[..rank]) else { return Value::Error };
                    for index in &indices[rank..] {
                        match self.part(typed, index.clone(), (&shown, name.span)) {
                            Some(part) => typed = part,
                            None => return Value::Error,
                        }
                    }
                    return Value::Typed(typed);
                }
                let Some(range) = self.range(elements.dims, indices, name) else { return Value::Error };
                let place = elements.dims.place(range.first);
                match (&elements.list[range.first], range.dims) {
                    (Some((value, _)), Dims::Scalar) => value.clone(),
                    (None, Dims::Scalar) => self.no_element(&format!("{}{place}", name.text), name.span, symbol.span),
                    (_, dims) => {
                        let part = elements.part(dims, range.first / dims.elements());
                        self.whole(name.text, &part, (name.span, symbol.span))
                    }
                }
            }
            Entry::Value(Value::Error) | Entry::Broken | Entry::Joined(_) => Value::Error,
        }
    }

    fn any_run_time(&self, indices: &[(Value, Span)]) -> bool {
        indices.iter().any(|index| self.is_run_time(&index.0))
    }

    fn no_element(&mut self, element: &str, span: Span, declared: Span) -> Value {
        let message = format!("`{element}` is read before it is assigned");
        let error = Diagnostic::error(codes::NO_ELEMENT, message, span, "read here")
            .label(declared, "declared here, without elements")
            .help(format!("write `{element} = ...;` above, in every branch that leads here"));
        self.error(error);
        Value::Error
    }

    /// The elements that indices name.
    fn range(&mut self, dims: Dims, indices: &[(Value, Span)], name: Word) -> Option<Range> {
        let mut range = Range { first: 0, dims };
        for index in indices {
            let Some((inner, count)) = range.dims.inner() else {
                self.no_elements(&format!("{}[...]", name.text), name.span);
                return None;
            };
            let k = self.element(index.clone(), count, name.text)?;
            range = Range { first: range.first + k * inner.elements(), dims: inner };
        }
        Some(range)
    }

    /// All elements as one value; `places` are where it is read and where it is declared.
    pub(super) fn whole(&mut self, name: &str, elements: &Elements, places: (Span, Span)) -> Value {
        let Some(list) = elements.list.iter().cloned().collect::<Option<Vec<(Value, ExprId)>>>() else {
            let missing = elements.list.iter().position(Option::is_none).unwrap_or(0);
            return self.no_element(&format!("{name}{}", elements.dims.place(missing)), places.0, places.1);
        };
        if list.iter().any(|(value, _)| matches!(value, Value::Error)) {
            return Value::Error;
        }
        if list.iter().all(|(value, _)| is_exact(value)) {
            return Value::Numbers(elements.clone());
        }
        let Some(format) = self.common_format(name, &list, places) else { return Value::Error };
        let mut nodes = Vec::with_capacity(list.len());
        for (value, expr) in list {
            let span = self.span(expr);
            let node = match value {
                Value::Exact(number) => self.literal(&number, format, span),
                Value::Choice(choice) => self.choice(&choice, format, span),
                Value::Typed(typed) => self.extend(typed, format, span).map(|t| t.node(0)),
                Value::Numbers(_) | Value::Error => None,
            };
            let Some(node) = node else { return Value::Error };
            nodes.push(node);
        }
        let typed = Typed { format, shape: elements.dims.shape(nodes) };
        self.name_nodes(&typed, name);
        Value::Typed(typed)
    }

    /// The format of all elements: that of those that have one, the widest of ints of one signedness.
    pub(super) fn common_format(
        &mut self,
        name: &str,
        list: &[(Value, ExprId)],
        places: (Span, Span),
    ) -> Option<Format> {
        let mut common: Option<(Format, ExprId)> = None;
        for (value, expr) in list {
            let Value::Typed(typed) = value else { continue };
            let format = typed.format;
            let Some((first, at)) = common else {
                common = Some((format, *expr));
                continue;
            };
            let ints = first.is_int() && format.is_int() && first.is_signed() == format.is_signed();
            if ints && format.width() > first.width() {
                common = Some((format, *expr));
            } else if !ints && first != format {
                let message = format!("the elements of `{name}` mix {first} and {format}");
                let error = Diagnostic::error(codes::MIXED, message, self.span(*expr), format!("this is {format}"))
                    .label(self.span(at), format!("this is {first}"))
                    .help(format!("write `({first}){}`", self.operand_text(*expr)));
                self.error(error);
                return None;
            }
        }
        if common.is_none() {
            let message = format!("`{name}` has only exact numbers, so its format is not known");
            let error = Diagnostic::error(codes::NO_FORMAT, message, places.0, "read as a whole here");
            self.error(error.help("give an element a format with a cast, such as `(float32.23)1`"));
        }
        common.map(|c| c.0)
    }

    /// `name[index] = value`.
    pub(super) fn assign_element(&mut self, name: Word<'a>, indices: &[Tree], value: Tree) {
        let indices: Vec<(Value, Span)> = indices.iter().map(|t| (self.tree(*t), self.span(t.root))).collect();
        let root = value.root;
        let value = self.tree(value);
        self.set_element(name, &indices, value, root);
    }

    /// Gives elements a value.
    pub(super) fn set_element(&mut self, name: Word<'a>, indices: &[(Value, Span)], value: Value, root: ExprId) {
        let Some(symbol) = self.table().symbols.get(name.text).cloned() else {
            return self.no_vector_to_assign(name);
        };
        if symbol.kind != Kind::Value {
            return self.assigns_pin(name, &symbol);
        }
        let entry = match symbol.entry {
            Entry::Joined(joined) => self.settle(name.text, &joined),
            entry => entry,
        };
        let elements = match entry {
            Entry::Elements(elements) => elements,
            Entry::Value(Value::Typed(typed)) if !typed.is_scalar() => Elements::of(&typed, symbol.expr),
            Entry::Value(Value::Error) | Entry::Broken => return,
            _ => {
                self.no_elements(name.text, name.span);
                return;
            }
        };
        let Some(range) = self.range(elements.dims, indices, name) else { return self.doubt_elements(name) };
        let parts = match self.parts_of(&range, value, root, name) {
            Some(parts) => parts,
            None => return self.doubt_elements(name),
        };
        let again = !self.may_rebind(name.text);
        if again && let Some((_, first)) = elements.list[range.first..range.first + parts.len()].iter().flatten().next()
        {
            let element = format!("{}{}", name.text, elements.dims.place(range.first));
            let error =
                Diagnostic::error(codes::TWICE, format!("`{element}` is assigned twice"), name.span, "assigned again")
                    .label(self.span(*first), "first assigned this")
                    .help("elements are assigned once: choose another name for the second value");
            return self.error(error);
        }
        for (k, part) in parts.iter().enumerate() {
            if let Value::Typed(typed) = part {
                let named = format!("{}{}", name.text, elements.dims.place(range.first + k));
                self.builder.name(typed.node(0), || named);
            }
        }
        self.keep_old(name.text);
        let dims = elements.dims;
        drop(elements);
        let Some(symbol) = self.table_mut().symbols.get_mut(name.text) else { return };
        // What was a finished vector becomes one of elements.
        if !matches!(symbol.entry, Entry::Elements(_)) {
            let old = std::mem::replace(&mut symbol.entry, Entry::Broken);
            symbol.entry = Entry::Elements(match old {
                Entry::Value(Value::Typed(typed)) => Elements::of(&typed, symbol.expr),
                _ => Elements::new(dims),
            });
        }
        if let Entry::Elements(elements) = &mut symbol.entry {
            let list = Rc::make_mut(&mut elements.list);
            parts.into_iter().enumerate().for_each(|(k, part)| list[range.first + k] = Some((part, root)));
        }
        symbol.expr = root;
    }

    /// A value as the scalars that fill a range.
    fn parts_of(&mut self, range: &Range, value: Value, root: ExprId, name: Word) -> Option<Vec<Value>> {
        let dims = match &value {
            Value::Error => return None,
            value => dims_of(value),
        };
        if dims != range.dims {
            let message = format!("an element of `{}` is {}, not {}", name.text, range.dims.words(), dims.words());
            let error = Diagnostic::error(codes::VECTOR, message, self.span(root), format!("this is {}", dims.words()));
            self.error(error.help("assign an element by an index for each pair of brackets"));
            return None;
        }
        Some(match value {
            Value::Typed(typed) => {
                typed.nodes().iter().map(|n| Value::Typed(Typed::scalar(typed.format, *n))).collect()
            }
            Value::Numbers(numbers) => (0..dims.elements()).map(|k| numbers.value(k)).collect(),
            value => vec![value],
        })
    }

    fn doubt_elements(&mut self, name: Word<'a>) {
        self.rebind(name, Entry::Broken, NO_EXPR);
    }

    fn no_vector_to_assign(&mut self, name: Word<'a>) {
        if self.tables.len() == 1 && self.is_broken(name.text) {
            return;
        }
        let message = format!("`{}` is not declared, so it has no elements to assign", name.text);
        let error = Diagnostic::error(codes::UNKNOWN_NAME, message, name.span, "assigned by element");
        self.error(error.help(format!("write `{}[3];` above, with its length, or `[3][3]` for a matrix", name.text)));
        self.define(name, Entry::Broken, Kind::Value, NO_EXPR);
    }

    /// One of two sets of elements, as the condition says. An element that only one of them has is none.
    pub(super) fn join_elements(&mut self, place: (&str, Span), condition: &Typed, a: Elements, b: Elements) -> Entry {
        let (name, span) = place;
        // Going through long vectors is work too.
        self.step(a.list.len() as u64 / 64, span);
        let mut list = Vec::with_capacity(a.list.len());
        for (k, pair) in a.list.iter().zip(b.list.iter()).enumerate() {
            list.push(match pair {
                (Some((Value::Typed(x), _)), Some((Value::Typed(y), _))) if x.is_scalar() && x.nodes() == y.nodes() => {
                    a.list[k].clone()
                }
                (Some(x), Some(y)) => {
                    let name = format!("{name}{}", a.dims.place(k));
                    let value = self.join_values(&name, condition, x.clone(), y.clone());
                    if let Value::Typed(typed) = &value {
                        self.builder.name(typed.node(0), || name);
                    }
                    Some((value, x.1))
                }
                _ => None,
            });
        }
        Entry::Elements(Elements { dims: a.dims, list: Rc::new(list) })
    }

    /// Changes what is known of an output element, so that a branch around can take it back.
    pub(super) fn set_slot(&mut self, pin: usize, element: usize, slot: Slot) {
        let before = std::mem::replace(&mut self.slots[pin][element], slot);
        if let Some(log) = self.slots_before.last_mut() {
            log.entry((pin, element)).or_insert(before);
        }
    }
}
