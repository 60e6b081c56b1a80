//! Names and the blocks that they belong to (RULES L8).
//!
//! A block may give a new value to a name from outside of it. For a branch the old values are kept, since the other
//! branches begin with them; passes of a loop follow each other and need to keep none.

use super::value::Value;
use super::{Checker, elements::Elements};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{ExprId, Word};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::branch::Joined;

/// The object a name denotes.
#[derive(Clone)]
pub(super) enum Entry {
    Value(Value),
    /// A vector or matrix whose elements are assigned one by one.
    Elements(Elements),
    /// The fout pin of that index.
    Output(usize),
    /// Values that the branches of an `if` have given to a name that did not exist before it.
    Joined(Rc<Joined>),
    /// Something whose definition has a reported mistake.
    Broken,
}

impl Entry {
    pub fn of(value: Value) -> Entry {
        match value {
            Value::Error => Entry::Broken,
            Value::Numbers(numbers) => Entry::Elements(numbers),
            value => Entry::Value(value),
        }
    }
}

/// The kind of definition of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pin,
    Const,
    /// The variable of a loop.
    Counter,
    Value,
}

/// A defined name.
#[derive(Clone)]
pub(super) struct Symbol {
    pub entry: Entry,
    pub span: Span,
    /// The expression of its value, for messages; unused for pins.
    pub expr: ExprId,
    pub kind: Kind,
    /// Blocks around its definition.
    pub level: usize,
}

/// The names of a file or of a function that is being inlined.
#[derive(Default)]
pub(super) struct Table<'a> {
    pub symbols: HashMap<&'a str, Symbol>,
    /// Parameters that are formats.
    pub types: HashMap<&'a str, hdl::Format>,
    blocks: Vec<Open<'a>>,
    /// Names that belonged to a block which has ended.
    left: HashMap<&'a str, Span>,
}

/// A block that is being read.
#[derive(Default)]
struct Open<'a> {
    branch: bool,
    /// Names that belong to it.
    own: Vec<&'a str>,
    /// The prior symbols of names from outside; of branches only.
    old: BTreeMap<&'a str, Symbol>,
}

impl Table<'_> {
    pub fn level(&self) -> usize {
        self.blocks.len()
    }
}

impl<'a> Checker<'a> {
    pub(super) fn table(&self) -> &Table<'a> {
        self.tables.last().expect("the file's table is always there")
    }

    pub(super) fn table_mut(&mut self) -> &mut Table<'a> {
        self.tables.last_mut().expect("the file's table is always there")
    }

    pub(super) fn is_broken(&self, name: &str) -> bool {
        let of = |t: &Table| t.symbols.get(name).is_some_and(|s| matches!(s.entry, Entry::Broken));
        of(self.table()) || of(&self.tables[0])
    }

    pub(super) fn open_block(&mut self, branch: bool) {
        self.table_mut().blocks.push(Open { branch, ..Open::default() });
    }

    /// Ends a block. Its own names are gone; gives those that it has changed or made, and puts back what they were if it
    /// is a branch.
    pub(super) fn close_block(&mut self) -> BTreeMap<&'a str, Symbol> {
        let table = self.table_mut();
        let block = table.blocks.pop().expect("the caller has opened it");
        let mut changed = BTreeMap::new();
        for name in block.own {
            if let Some(symbol) = table.symbols.remove(name) {
                table.left.insert(name, symbol.span);
                changed.insert(name, symbol);
            }
        }
        for (name, old) in block.old {
            changed.extend(table.symbols.insert(name, old).map(|new| (name, new)));
        }
        changed
    }

    /// Says that a block's name is known behind it.
    pub(super) fn no_longer_left(&mut self, name: &str) {
        self.table_mut().left.remove(name);
    }

    /// Enters a name. In a block, `=` gives a new value to a name from outside; any other second definition is an error
    /// and leaves the first.
    pub(super) fn define(&mut self, name: Word<'a>, entry: Entry, kind: Kind, expr: ExprId) {
        let level = self.table().level();
        // A loop knows its variable, whatever mistake has been made with the name before.
        let hides = |s: &&Symbol| kind != Kind::Counter || !matches!(s.entry, Entry::Broken);
        let Some(first) = self.table().symbols.get(name.text).filter(hides) else {
            if kind != Kind::Counter && !matches!(entry, Entry::Output(_) | Entry::Broken) {
                self.definitions.insert(name.span.start, (name, kind == Kind::Pin));
            }
            let table = self.table_mut();
            table.symbols.insert(name.text, Symbol { entry, span: name.span, expr, kind, level });
            if let Some(block) = table.blocks.last_mut() {
                block.own.push(name.text);
            }
            return;
        };
        if matches!(first.entry, Entry::Broken) {
            return;
        }
        let declares = matches!(&entry, Entry::Elements(e) if e.is_empty());
        if kind == Kind::Value && first.kind == Kind::Value && first.level < level && !declares {
            return self.rebind(name, entry, expr);
        }
        if matches!(entry, Entry::Broken) {
            return;
        }
        let message = format!("`{}` is defined twice", name.text);
        let help = match (first.kind, kind) {
            (Kind::Value, Kind::Value) if level > 0 => {
                "within a block its own names are assigned once: choose another name for the second value"
            }
            (Kind::Counter, _) => "a loop's variable keeps its value within a pass: choose another name",
            (_, Kind::Counter) => "choose another name for the loop's variable",
            _ => "names are assigned once: choose another name for the second value",
        };
        let error = Diagnostic::error(codes::TWICE, message, name.span, "defined again")
            .label(first.span, "first defined here")
            .help(help);
        self.error(error);
    }

    /// Gives a name from outside the block a new value.
    pub(super) fn rebind(&mut self, name: Word<'a>, entry: Entry, expr: ExprId) {
        self.keep_old(name.text);
        let used = &mut self.used;
        let table = self.tables.last_mut().expect("the file's table is always there");
        let Some(symbol) = table.symbols.get_mut(name.text) else { return };
        used.insert(symbol.span.start);
        (symbol.entry, symbol.expr) = (entry, expr);
    }

    /// Keeps what a name was for the end of the branch around.
    pub(super) fn keep_old(&mut self, name: &'a str) {
        let table = self.table_mut();
        let Some(symbol) = table.symbols.get(name) else { return };
        let outside = table.blocks.iter_mut().enumerate().rev().find(|(k, b)| b.branch && *k >= symbol.level);
        if let Some((_, block)) = outside {
            block.old.entry(name).or_insert_with(|| symbol.clone());
        }
    }

    /// The symbol of a name; where it has none that can be read here, that is reported.
    pub(super) fn symbol(&mut self, name: &'a str, span: Span) -> Option<Symbol> {
        let own = self.table().symbols.get(name);
        let seen = |s: &&Symbol| s.level == 0 && (s.kind != Kind::Value || matches!(s.entry, Entry::Broken));
        let symbol = own.or_else(|| self.tables[0].symbols.get(name).filter(seen)).cloned();
        if let Some(symbol) = symbol {
            self.used.insert(symbol.span.start);
            return Some(symbol);
        }
        self.no_symbol(name, span);
        None
    }

    fn no_symbol(&mut self, name: &'a str, span: Span) {
        if let Some(block) = self.table().left.get(name).copied() {
            let message = format!("`{name}` belongs to a block that has ended");
            let error = Diagnostic::error(codes::OUT_OF_BLOCK, message, span, "used outside of the block")
                .label(block, "assigned in the block")
                .help(format!(
                    "give `{name}` a value before the block, or, for an `if`, in every branch with an `else`"
                ));
            return self.error(error);
        }
        if self.tables.len() > 1
            && let Some(symbol) = self.tables[0].symbols.get(name)
        {
            let (message, place) = (format!("`{name}` is a value that a function does not see"), symbol.span);
            let error = Diagnostic::error(codes::OUT_OF_BLOCK, message, span, "used in a function")
                .label(place, "defined outside of it")
                .help("functions see their parameters, pins and `const`s: make it a parameter");
            return self.error(error);
        }
        match self.defined_at.get(name).copied() {
            Some(later) => {
                let message = format!("`{name}` is used before it is defined");
                let error = Diagnostic::error(codes::BEFORE, message, span, "used here").label(later, "defined here");
                self.error(error.help("move the definition above its first use"));
            }
            None => self.unknown_name(name, span),
        }
    }

    /// The value of a name.
    pub(super) fn lookup(&mut self, name: &'a str, span: Span) -> Value {
        let Some(symbol) = self.symbol(name, span) else { return Value::Error };
        match symbol.entry {
            Entry::Value(value) => value,
            Entry::Broken => Value::Error,
            Entry::Output(_) if self.assigned_output == Some(name) => Value::Error,
            Entry::Output(_) => self.reads_output(name, span, symbol.span),
            Entry::Elements(elements) => self.whole(name, &elements, (span, symbol.span)),
            Entry::Joined(joined) => match self.settle(name, &joined) {
                Entry::Value(value) => value,
                Entry::Elements(elements) => self.whole(name, &elements, (span, symbol.span)),
                _ => Value::Error,
            },
        }
    }

    pub(super) fn reads_output(&mut self, name: &str, span: Span, declared: Span) -> Value {
        let message = format!("`{name}` is an output, and outputs are never read");
        let error = Diagnostic::error(codes::READS_OUTPUT, message, span, "read here")
            .label(declared, "declared as `fout`")
            .help("give the value that goes into the output a name, and use that; `name min= value` keeps the least of all, and \
                   `(name, who) min= (value, id)` what belongs to it");
        self.error(error);
        Value::Error
    }

    /// Whether a name from outside may get a new value here.
    pub(super) fn may_rebind(&self, name: &str) -> bool {
        let table = self.table();
        table.symbols.get(name).is_some_and(|s| s.kind == Kind::Value && s.level < table.level())
    }
}

/// For names whose value is no expression.
pub(super) const NO_EXPR: ExprId = ExprId(u32::MAX);
