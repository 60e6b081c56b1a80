//! Tables: vectors and matrices that are read by indices known at run time (RULES L16).
//!
//! Those of parameters are loaded into memories, those of constants are fixed in the circuit. All others are refused: what selects
//! among computed values is `?:`.

use super::elements::Elements;
use super::scope::{Kind, NO_EXPR};
use super::value::{Dims, Typed, Value};
use super::{Checker, scope::Entry};
use crate::check::literal::Literal;
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::graph::{Graph, Node, NodeId, NodeKind, PinClass};
use crate::syntax::ast::{ExprId, TableContent, Tree, Word};
use hdl::Format;
use hdl::number::exact::parse_decimal;
use hdl::op::compare;
use hdl::op::table::lookup::{Loaded, Lookup, address_bits};
use hdl::op::table::{LOOKUP, PLACE};
use hdl::op::{Attrs, Inst};
use std::collections::HashMap;

/// An index, and where it stands.
pub(super) type Index = (Value, Span);

/// Parts of a table.
enum Origin {
    /// The parameter of that number.
    Param(usize),
    Constants,
}

impl<'a> Checker<'a> {
    /// `table format name[length] = file "path";` or `= { numbers };`
    pub(super) fn declare_table(
        &mut self,
        (format, name): (Option<Word<'a>>, Word<'a>),
        lengths: &[Tree],
        content: &'a TableContent<'a>,
    ) {
        let dims = self.dims(lengths);
        let format = format.map(|word| self.format(word));
        let place = lengths.last().map_or(NO_EXPR, |t| t.root);
        let numbers = match content {
            TableContent::File(path) => self.numbers_of_file(*path, place),
            TableContent::List(trees) => self.numbers_of_list(trees),
        };
        let (Some(dims), Some(numbers)) = (dims, numbers) else {
            return self.define(name, Entry::Broken, Kind::Const, NO_EXPR);
        };
        if matches!(format, Some(None)) {
            return self.define(name, Entry::Broken, Kind::Const, NO_EXPR);
        }
        if dims.elements() != numbers.len() {
            let message = format!("`{}` has {} entries, and {} are given", name.text, dims.elements(), numbers.len());
            let error = Diagnostic::error(codes::LENGTHS, message, name.span, "declared here");
            let (k, n) = (numbers.len(), dims.elements());
            let help = if k < n {
                format!("give the {} that are missing, or choose a smaller length", n - k)
            } else {
                format!("remove {}, or choose a greater length", k - n)
            };
            self.error(error.help(help));
            return self.define(name, Entry::Broken, Kind::Const, NO_EXPR);
        }
        let Some(Some(format)) = format else {
            return self.define(name, Entry::Elements(Elements::exact(dims, numbers)), Kind::Const, NO_EXPR);
        };
        let mut nodes = Vec::with_capacity(numbers.len());
        for (number, expr) in &numbers {
            match self.literal(number, format, self.span(*expr)) {
                Some(node) => nodes.push(node),
                None => return self.define(name, Entry::Broken, Kind::Const, NO_EXPR),
            }
        }
        let typed = Typed { format, shape: dims.shape(nodes) };
        self.define(name, Entry::Value(Value::Typed(typed)), Kind::Const, NO_EXPR);
    }

    fn numbers_of_list(&mut self, trees: &[Tree]) -> Option<Vec<(Literal, ExprId)>> {
        let values: Vec<(Value, ExprId)> = trees.iter().map(|tree| (self.tree(*tree), tree.root)).collect();
        let mut numbers = Vec::with_capacity(values.len());
        for (value, expr) in values {
            match value {
                Value::Exact(number) => numbers.push((number, expr)),
                Value::Error => return None,
                Value::Typed(_) | Value::Choice(_) | Value::Numbers(_) => {
                    let message = "the entries of a table are compile-time numbers";
                    let error = Diagnostic::error(codes::NOT_CONST, message, self.span(expr), "no exact number");
                    self.error(
                        error
                            .help("write literals or `const`s; for entries known at run time declare a `param` vector"),
                    );
                    return None;
                }
            }
        }
        Some(numbers)
    }

    /// The numbers of a file, with commas, semicolons or white space between them; `#` begins a comment.
    fn numbers_of_file(&mut self, path: Word, place: ExprId) -> Option<Vec<(Literal, ExprId)>> {
        // That it cannot be read has been reported.
        let text = self.program.data.get(&path.span.start).copied()?;
        let mut numbers = Vec::new();
        for (line, content) in text.lines().enumerate() {
            let content = content.split('#').next().unwrap_or_default();
            let words = content.split(|c: char| c == ',' || c == ';' || c.is_whitespace()).filter(|w| !w.is_empty());
            for word in words {
                match self.folder.book(50 + word.len() as u64).map(|()| parse_decimal(word)) {
                    Ok(Ok(value)) => numbers.push((Literal { value, bits: false }, place)),
                    _ => {
                        let shown: String = word.chars().take(24).collect();
                        let message = format!("line {} of `{}` has `{shown}`, which is no number", line + 1, path.text);
                        let error = Diagnostic::error(codes::INCLUDE, message, path.span, "read here");
                        self.error(
                            error.help("a table's file has decimal numbers with commas or white space between them"),
                        );
                        return None;
                    }
                }
            }
        }
        Some(numbers)
    }

    /// Whether an index is known only at run time.
    pub(super) fn is_run_time(&self, index: &Value) -> bool {
        match index {
            Value::Typed(typed) => typed.nodes().iter().any(|n| !self.builder.is_constant(*n)),
            Value::Choice(_) => true,
            Value::Exact(_) | Value::Numbers(_) | Value::Error => false,
        }
    }

    /// Elements that have no format, by an index known at run time: a choice among their numbers.
    pub(super) fn pick(&mut self, elements: &Elements, indices: &[Index], name: Word) -> Value {
        let (Some(numbers), Some(nodes)) = (elements.numbers(), self.index_nodes(elements.dims, indices, name)) else {
            return Value::Error;
        };
        if indices.len() != indices_of(elements.dims) {
            return self.rows_need_a_format(name);
        }
        self.choice_of_table(numbers, elements.dims, nodes, name.span)
    }

    fn rows_need_a_format(&mut self, name: Word) -> Value {
        let message = format!("`{}` has only exact numbers, so its format is not known", name.text);
        let error = Diagnostic::error(codes::NO_FORMAT, message, name.span, "a row is read here");
        self.error(error.help(format!("give the table a format: `table float32.23 {}[...][...] = ...;`", name.text)));
        Value::Error
    }

    /// An element of a vector or matrix, or a row of a matrix, by indices of which one is known only at run time.
    pub(super) fn looked_up(&mut self, typed: &Typed, indices: &[Index], name: Word) -> Value {
        let dims = typed.dims();
        let Some(origin) = self.origin(typed) else {
            let message = "an index is a compile-time integer";
            let span = indices.iter().find(|i| self.is_run_time(&i.0)).map_or(name.span, |i| i.1);
            let error = Diagnostic::error(codes::NOT_CONST, message, span, "known only at run time");
            self.error(error.help(
                "vectors of `param`s and `table`s are read by any index; among the elements of others choose with `?:`",
            ));
            return Value::Error;
        };
        let Some(nodes) = self.index_nodes(dims, indices, name) else { return Value::Error };
        let table = self.table_of(typed, &origin);
        if let Origin::Param(pin) = origin {
            self.builder.graph.pins[pin].table = true;
        }
        let span = name.span;
        let attrs = Attrs { lookup: Some(table.into()), ..Attrs::default() };
        let rows = match dims {
            // A row: an entry of each column.
            Dims::Matrix(_, columns) if nodes.len() == 1 => {
                (0..columns).map(|k| vec![nodes[0], self.index_constant(k, columns, span)]).collect()
            }
            _ => vec![nodes],
        };
        let mut found = Vec::with_capacity(rows.len());
        for args in &rows {
            match self.builder.op(LOOKUP, args, attrs.clone(), span) {
                Ok(node) => found.push(node),
                Err(why) => {
                    let error = Diagnostic::error(codes::NOT_DEFINED, why, span, "not possible");
                    self.error(error.help("an index is an int or uint"));
                    return Value::Error;
                }
            }
        }
        let shape = if rows.len() > 1 || matches!(dims, Dims::Matrix(..)) && indices.len() == 1 {
            Dims::Vector(rows.len()).shape(found)
        } else {
            Dims::Scalar.shape(found)
        };
        Value::Typed(Typed { format: typed.format, shape })
    }

    fn index_constant(&mut self, k: usize, count: usize, span: Span) -> NodeId {
        let format = Format::int(address_bits(count as u32), false).expect("a width of a few bits");
        self.builder.constant(k as u64, format, span)
    }

    /// The nodes of indices, each an int; `None` after a reported mistake.
    pub(super) fn index_nodes(&mut self, dims: Dims, indices: &[Index], name: Word) -> Option<Vec<NodeId>> {
        let mut nodes = Vec::with_capacity(indices.len());
        let mut rest = dims;
        for (value, span) in indices {
            let Some((inner, count)) = rest.inner() else {
                let part = if nodes.is_empty() { name.text.to_string() } else { format!("{}[...]", name.text) };
                self.no_elements(&part, name.span);
                return None;
            };
            rest = inner;
            if !self.is_run_time(value) {
                let k = self.element((value.clone(), *span), count, name.text)?;
                nodes.push(self.index_constant(k, count, *span));
                continue;
            }
            match value {
                Value::Choice(choice) => {
                    let format = Format::int(16, true).expect("a width of ints");
                    nodes.push(self.choice(choice, format, *span)?);
                }
                Value::Typed(typed) if typed.is_scalar() && typed.format.is_int() => nodes.push(typed.node(0)),
                Value::Typed(typed) => {
                    let what = typed.describe();
                    let error = Diagnostic::error(
                        codes::NOT_DEFINED,
                        "an index is an int or uint",
                        *span,
                        format!("this is {what}"),
                    );
                    self.error(if typed.is_scalar() {
                        error.help("write `(int32)pg_floor(x)` for the number below it, or `(int32)x`, which rounds to the nearest")
                    } else {
                        error.help("give one number for each pair of brackets")
                    });
                    return None;
                }
                _ => return None,
            }
        }
        Some(nodes)
    }

    /// Where the elements come from, if a table can be made of them.
    fn origin(&self, typed: &Typed) -> Option<Origin> {
        let graph = &self.builder.graph;
        let kind = |n: &NodeId| &graph.node(*n).kind;
        if typed.nodes().iter().all(|n| matches!(kind(n), NodeKind::Const { .. })) {
            return Some(Origin::Constants);
        }
        let NodeKind::Pin { pin, element } = *kind(&typed.nodes()[0]) else { return None };
        let next = |(k, n): (usize, &NodeId)| matches!(kind(n), NodeKind::Pin { pin: p, element: e } if *p == pin && *e == element + k as u32);
        let own = graph.pins[pin].class == PinClass::Param && typed.nodes().iter().enumerate().all(next);
        // A part of a matrix is a table of its own place in it, which no memory has.
        (own && typed.nodes().len() == graph.pins[pin].elements() as usize).then_some(Origin::Param(pin))
    }

    /// The table that these elements are.
    fn table_of(&self, typed: &Typed, origin: &Origin) -> Lookup {
        let graph = &self.builder.graph;
        let (rows, columns) = match typed.dims() {
            Dims::Scalar => (1, None),
            Dims::Vector(n) => (n as u32, None),
            Dims::Matrix(rows, columns) => (rows as u32, Some(columns as u32)),
        };
        let table = Lookup { format: typed.format, rows, columns, words: Vec::new(), reals: Vec::new(), loaded: None };
        match origin {
            Origin::Param(pin) => {
                let loaded = Loaded { pin: *pin as u32, port: graph.table_port(*pin) };
                Lookup { loaded: Some(loaded), ..table }
            }
            Origin::Constants => {
                let bits = |n: &NodeId| match graph.node(*n).kind {
                    NodeKind::Const { bits } => bits,
                    _ => 0,
                };
                let words: Vec<u64> = typed.nodes().iter().map(bits).collect();
                let known = typed.nodes().iter().any(|n| graph.numbers.contains_key(n));
                let real = |(n, word): (&NodeId, &u64)| {
                    let own = graph.numbers.get(n).copied();
                    own.unwrap_or_else(|| typed.format.to_f64(*word)).to_bits()
                };
                let reals = if known { typed.nodes().iter().zip(&words).map(real).collect() } else { Vec::new() };
                Lookup { words, reals, ..table }
            }
        }
    }

    /// A node for the entry that indices choose among these constants.
    pub(super) fn entry_of_constants(
        &mut self,
        dims: Dims,
        nodes: Vec<NodeId>,
        indices: &[NodeId],
        span: Span,
    ) -> Option<NodeId> {
        let format = self.builder.graph.node(nodes[0]).format;
        let typed = Typed { format, shape: dims.shape(nodes) };
        let table = self.table_of(&typed, &self.origin(&typed)?);
        let attrs = Attrs { lookup: Some(table.into()), ..Attrs::default() };
        self.builder.op(LOOKUP, indices, attrs, span).ok()
    }

    /// An entry, or what stands for it outside of the table, which is 0 unless something was computed from that.
    pub(super) fn or_outside(
        &mut self,
        dims: Dims,
        (entry, outside): (NodeId, NodeId),
        indices: &[NodeId],
        span: Span,
    ) -> Option<NodeId> {
        if matches!(self.builder.graph.node(outside).kind, NodeKind::Const { bits: 0 }) {
            return Some(entry);
        }
        let (rows, columns) = match dims {
            Dims::Matrix(rows, columns) => (rows, columns),
            other => (other.elements(), 0),
        };
        let attrs = Attrs { n: rows as i32, d: columns as i32, ..Attrs::default() };
        let place = self.builder.op(PLACE, indices, attrs, span).ok()?;
        let is_inside = self.builder.op(compare::NZ, &[place], Attrs::default(), span).ok()?;
        self.builder.op(compare::MUX, &[is_inside, entry, outside], Attrs::default(), span).ok()
    }
}

/// The number of indices of an element.
pub(super) fn indices_of(dims: Dims) -> usize {
    match dims {
        Dims::Scalar => 0,
        Dims::Vector(_) => 1,
        Dims::Matrix(..) => 2,
    }
}

/// Reads elements of tables that have a constant index from the memory too: no register holds them.
pub(super) fn read_from_memory(graph: &mut Graph) {
    if graph.tables().next().is_none() {
        return;
    }
    let mut used = vec![false; graph.nodes.len()];
    graph.outputs.iter().for_each(|o| used[o.value.0 as usize] = true);
    for node in &graph.nodes {
        if let NodeKind::Op { args, .. } = &node.kind {
            args.iter().for_each(|a| used[a.0 as usize] = true);
        }
    }
    let mut nodes: Vec<Node> = Vec::with_capacity(graph.nodes.len());
    let mut place = Vec::with_capacity(graph.nodes.len());
    for (k, mut node) in std::mem::take(&mut graph.nodes).into_iter().enumerate() {
        match &mut node.kind {
            NodeKind::Op { args, .. } => args.iter_mut().for_each(|a| *a = place[a.0 as usize]),
            NodeKind::Pin { pin, element } if graph.pins[*pin].table && used[k] => {
                let own = &graph.pins[*pin];
                let (rows, columns) = (own.elements() / own.columns.unwrap_or(1), own.columns);
                let loaded = Some(Loaded { pin: *pin as u32, port: graph.table_port(*pin) });
                let table = Lookup { format: own.format, rows, columns, words: Vec::new(), reals: Vec::new(), loaded };
                let each = columns.unwrap_or(1);
                let indices = [(*element / each, rows), (*element % each, each)];
                let mut args = Vec::new();
                for (index, count) in &indices[..table.limits().len()] {
                    let format = Format::int(address_bits(*count), false).expect("a width of a few bits");
                    let kind = NodeKind::Const { bits: *index as u64 };
                    nodes.push(Node { kind, format, name: String::new(), span: node.span });
                    args.push(NodeId(nodes.len() as u32 - 1));
                }
                let formats: Vec<Format> = args.iter().map(|a| nodes[a.0 as usize].format).collect();
                let attrs = Attrs { lookup: Some(table.into()), ..Attrs::default() };
                let inst = Inst::new(LOOKUP, &formats, attrs).expect("an index of each kind");
                node.kind = NodeKind::Op { op: LOOKUP, inst, args };
            }
            _ => {}
        }
        nodes.push(node);
        place.push(NodeId(nodes.len() as u32 - 1));
    }
    graph.nodes = nodes;
    graph.outputs.iter_mut().for_each(|o| o.value = place[o.value.0 as usize]);
    for bins in &mut graph.bins {
        (bins.at, bins.value) = (place[bins.at.0 as usize], place[bins.value.0 as usize]);
    }
    graph.filter = graph.filter.map(|filter| place[filter.0 as usize]);
    let numbers: HashMap<NodeId, f64> =
        std::mem::take(&mut graph.numbers).into_iter().map(|(id, x)| (place[id.0 as usize], x)).collect();
    graph.numbers = numbers;
}
