//! The checker: names, formats, vectors and literals of a syntax tree, and the graph that it means.

mod call;
mod choice;
mod expr;
mod finish;
mod format;
mod ops;
mod statement;
mod value;

use crate::ast::{ExprId, Program, StatementKind, Word};
use crate::builder::Builder;
use crate::codes;
use crate::diag::{Diagnostic, Severity, Span, did_you_mean, report};
use crate::graph::{Graph, NodeId, PinClass};
use crate::literal::{FoldError, Folder};
use hdl::Reduce;
use std::collections::HashMap;
use value::Value;

/// Beyond this many names, searching for a similar one would take too long.
const MAX_CANDIDATES: usize = 2000;

/// What a name stands for.
enum Entry {
    Value(Value),
    /// The fout pin of that index.
    Output(usize),
    /// Something whose definition has a reported mistake.
    Broken,
}

/// A defined name.
struct Symbol {
    entry: Entry,
    span: Span,
    used: bool,
    is_pin: bool,
}

/// The reduction of one output element, while they are gathered.
#[derive(Clone, Copy)]
struct Reduction {
    reduce: Reduce,
    value: NodeId,
    span: Span,
}

/// An output element: without a reduction, with one, or with a broken one.
#[derive(Clone, Copy)]
enum Slot {
    Empty,
    Filled(Reduction),
    Broken,
}

struct Checker<'a> {
    text: &'a str,
    program: &'a Program<'a>,
    builder: Builder,
    folder: Folder,
    symbols: HashMap<&'a str, Symbol>,
    /// Where each name is defined first, to tell an unknown name from one used too early.
    defined_at: HashMap<&'a str, Span>,
    /// Elements of each pin; empty for inputs.
    slots: Vec<Vec<Slot>>,
    errors: Vec<Diagnostic>,
    suggestions: usize,
    /// The kernel has become too large, which has been reported.
    full: bool,
}

/// Checks a program and builds its graph; `errors` are what the parser has already found.
pub fn check(name: &str, text: &str, program: &Program, errors: Vec<Diagnostic>) -> (Graph, Vec<Diagnostic>) {
    let mut checker = Checker {
        text,
        program,
        builder: Builder::new(name),
        folder: Folder::default(),
        symbols: HashMap::new(),
        defined_at: HashMap::new(),
        slots: Vec::new(),
        errors,
        suggestions: 0,
        full: false,
    };
    for statement in &program.statements {
        if let StatementKind::Declare { name, .. }
        | StatementKind::Const { name, .. }
        | StatementKind::Assign { name, .. } = &statement.kind
        {
            checker.defined_at.entry(name.text).or_insert(name.span);
        }
    }
    for statement in &program.statements {
        checker.statement(statement);
        if checker.full {
            break;
        }
    }
    checker.finish();
    (checker.builder.graph, checker.errors)
}

impl<'a> Checker<'a> {
    fn error(&mut self, error: Diagnostic) {
        report(&mut self.errors, error);
    }

    fn has_errors(&self) -> bool {
        self.errors.iter().any(|e| e.severity == Severity::Error)
    }

    fn span(&self, id: ExprId) -> Span {
        self.program.expr(id).span
    }

    /// Enters a name; a second definition is an error and leaves the first.
    fn define(&mut self, name: Word<'a>, entry: Entry, is_pin: bool) {
        if let Some(first) = self.symbols.get(name.text) {
            if matches!(first.entry, Entry::Broken) || matches!(entry, Entry::Broken) {
                return;
            }
            let message = format!("`{}` is defined twice", name.text);
            let error = Diagnostic::error(codes::TWICE, message, name.span, "defined again")
                .label(first.span, "first defined here")
                .help("names are assigned once: choose another name for the second value");
            return self.error(error);
        }
        self.symbols.insert(name.text, Symbol { entry, span: name.span, used: false, is_pin });
    }

    /// The value of a name.
    fn lookup(&mut self, name: &'a str, span: Span) -> Value {
        if let Some(symbol) = self.symbols.get_mut(name) {
            symbol.used = true;
            match &symbol.entry {
                Entry::Value(value) => return value.clone(),
                Entry::Broken => return Value::Error,
                Entry::Output(_) => {}
            }
            let message = format!("`{name}` is an output, and outputs are never read");
            let declared = symbol.span;
            let error = Diagnostic::error(codes::READS_OUTPUT, message, span, "read here")
                .label(declared, "declared as `fout`")
                .help("give the value that goes into the output a name, and use that");
            self.error(error);
            return Value::Error;
        }
        if let Some(later) = self.defined_at.get(name).copied() {
            let message = format!("`{name}` is used before it is defined");
            let error = Diagnostic::error(codes::BEFORE, message, span, "used here").label(later, "defined here");
            self.error(error.help("move the definition above its first use"));
        } else {
            self.unknown_name(name, span);
        }
        Value::Error
    }

    fn unknown_name(&mut self, name: &str, span: Span) {
        let error = Diagnostic::error(codes::UNKNOWN_NAME, format!("`{name}` is not defined"), span, "unknown name");
        self.suggestions += 1;
        let close = if self.symbols.len() <= MAX_CANDIDATES && self.suggestions <= 20 {
            let mut names: Vec<&str> = self.symbols.keys().copied().collect();
            names.sort_unstable();
            did_you_mean(name, names)
        } else {
            None
        };
        let help = match close {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("declare it as a pin (`float32.23 {name} jpin;`) or assign it above (`{name} = ...;`)"),
        };
        self.error(error.help(help));
    }

    /// What went wrong with exact numbers.
    fn fold_error(&mut self, why: FoldError, span: Span) -> Value {
        let error = |code, message: &str, label: &str| Diagnostic::error(code, message, span, label);
        let error = match why {
            FoldError::TooLarge => error(codes::BIG_NUMBER, "this exact number is too large", "too many digits")
                .help("numbers between 1e-600 and 1e600 can be computed with; no format holds more"),
            FoldError::TooCostly => {
                error(codes::BIG_NUMBER, "the constants of this file take too long", "given up here")
                    .help("compute them beforehand, or write fewer digits")
            }
            FoldError::ZeroDivision => error(codes::ZERO_DIVISION, "division by zero", "the divisor is 0")
                .help("exact numbers have no value for this; change the divisor"),
            FoldError::Fraction => error(codes::FRACTION, "this operator needs integers", "an operand has a fraction")
                .help("`% & | ^ ~ ! && ||` work on integers"),
            FoldError::TooManyArms => {
                error(codes::BIG_NUMBER, "this chooses among more than 1024 exact numbers", "given up here")
                    .help("give some of them a format with a cast, such as `(int32)(c ? 1 : 0)`")
            }
            FoldError::Malformed => error(codes::NUMBER, "this is not a number", "malformed")
                .help("write for example 12, 0x1F, 0b101, 1.5 or 1e-3; there are no suffixes, and no leading zeros"),
        };
        self.error(error);
        Value::Error
    }

    fn too_large(&mut self, span: Span) {
        if !self.full {
            self.full = true;
            let message = format!("this kernel has more than {} operations", crate::builder::MAX_NODES);
            let error = Diagnostic::error(codes::TOO_LARGE, message, span, "given up here");
            self.error(error.help("no circuit of that size can be built: split the kernel or shorten its vectors"));
        }
    }

    /// The class of that word.
    fn class(&mut self, word: Word) -> Option<PinClass> {
        let classes =
            [("ipin", PinClass::Ipin), ("jpin", PinClass::Jpin), ("param", PinClass::Param), ("fout", PinClass::Fout)];
        if let Some(found) = classes.iter().find(|c| c.0 == word.text) {
            return Some(found.1);
        }
        let message = format!("`{}` is not a class of pins", word.text);
        let error = Diagnostic::error(codes::CLASS, message, word.span, "unknown class");
        let help = match did_you_mean(word.text, classes.iter().map(|c| c.0)) {
            Some(close) => format!("did you mean `{close}`?"),
            None => "the classes are `ipin`, `jpin`, `param` and `fout`".into(),
        };
        self.error(error.help(help));
        None
    }
}
