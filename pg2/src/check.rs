//! The checker: names, formats, vectors and literals of a syntax tree, and the graph that it means.

mod bins;
mod bits;
mod branch;
mod call;
mod choice;
mod constants;
mod default;
mod elements;
mod expr;
mod filter;
mod finish;
mod fitted;
mod foreign;
mod format;
mod function;
mod gathered;
mod idioms;
mod literal;
mod loops;
mod numbers;
mod ops;
mod product;
mod range;
mod real;
mod resolve;
mod scope;
mod select;
mod statement;
mod steep;
mod tables;
mod types;
mod value;
mod vectors;

pub use real::words as words_of_functions;

use crate::check::literal::{FoldError, Folder};
use crate::diag::codes;
use crate::diag::{Diagnostic, MAX_REPORTED, Severity, Span, did_you_mean, report};
use crate::graph::builder::Builder;
use crate::graph::{Graph, NodeId, PinClass};
use crate::syntax::ast::{ExprId, Program, StatementKind, Word};
use hdl::Reduce;
use scope::Table;
use std::collections::{BTreeMap, HashMap, HashSet};
use value::Value;

/// Beyond this many names, searching for a similar one would take too long.
const MAX_CANDIDATES: usize = 2000;

/// Expressions and passes that loops and functions may take: some tenths of a second.
const MAX_STEPS: u64 = 1 << 20;

/// The reductions of one output element as far as they are gathered.
#[derive(Clone, Copy)]
struct Reduction {
    reduce: Reduce,
    value: NodeId,
    /// The place of the value in the output, where that is known only at run time.
    at: Option<NodeId>,
    /// Of a sum of several terms: how often 2^W was left out of it, and how many carries that is made of.
    carry: Option<(NodeId, u32)>,
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
    /// The names of the file, and of each function that is being inlined.
    tables: Vec<Table<'a>>,
    /// Where each name is defined first, to tell an unknown name from one used too early.
    defined_at: HashMap<&'a str, Span>,
    functions: HashMap<&'a str, usize>,
    bodies: Vec<function::Body<'a>>,
    calls: Vec<function::Call<'a>>,
    /// The loops around the statement, with what their variables are.
    loops: Vec<loops::Pass<'a>>,
    /// Elements of each pin, and one more for a reduction by an index that is known only at run time; empty for inputs.
    slots: Vec<Vec<Slot>>,
    /// The state of the slots before the branches around the statement.
    slots_before: Vec<BTreeMap<(usize, usize), Slot>>,
    /// The selections so far.
    selected: Vec<select::Selected>,
    /// The conditions of `where`, and their places.
    filters: Vec<(value::Typed, Span)>,
    /// Where names are defined, and which of these places are ever used.
    definitions: BTreeMap<usize, (Word<'a>, bool)>,
    used: HashSet<usize>,
    /// Blocks that were never run and have been looked through.
    resolved: HashSet<usize>,
    /// Steps that loops and functions have taken.
    steps: u64,
    errors: Vec<Diagnostic>,
    /// Diagnostics already reported of texts that are read more than once.
    reported: HashSet<(&'static str, Span, String)>,
    /// Errors found, repeated ones too.
    found: usize,
    suggestions: usize,
    /// The kernel has become too large, which has been reported.
    full: bool,
    /// A reduction into a name that is not declared has been reported.
    lost_reduction: bool,
    /// Where the format of each pin is written.
    pin_formats: Vec<Span>,
    /// The output that the statement assigns, which has been or will be reported.
    assigned_output: Option<&'a str>,
    /// Where the outermost block around the statement begins.
    block_start: usize,
    /// The functions that have been fitted, and the work of that.
    fitted: HashSet<(hdl::Format, String)>,
    fit_work: u64,
    /// Formats that stand as arguments of calls.
    formats: HashMap<ExprId, hdl::Format>,
    /// The names of formats, and where they are defined.
    types: HashMap<&'a str, (hdl::Format, Span)>,
    /// Of each expression the format of its value, if that is asked for.
    found_formats: Option<Vec<Found>>,
}

/// The format of an expression's values, as far as it has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Found {
    /// Never, or as an exact number.
    #[default]
    None,
    One(hdl::Format),
    /// In one pass or call one, in another one another.
    Several,
}

/// Checks a program and builds its graph; `errors` are what the parser has already found. Names defined behind
/// `own_end` are those of included files, which need not use all of them.
pub fn check(
    name: &str,
    text: &str,
    own_end: usize,
    program: &Program,
    errors: Vec<Diagnostic>,
) -> (Graph, Vec<Diagnostic>) {
    let mut checker = Checker::new(name, text, program, errors);
    checker.all();
    checker.finish(own_end);
    (checker.builder.graph, checker.errors)
}

/// The formats of all expressions of a program that has no mistakes.
pub fn formats(text: &str, program: &Program) -> Vec<Found> {
    let mut checker = Checker::new("", text, program, Vec::new());
    checker.found_formats = Some(vec![Found::None; program.exprs.len()]);
    checker.all();
    checker.found_formats.unwrap_or_default()
}

impl<'a> Checker<'a> {
    fn new(name: &str, text: &'a str, program: &'a Program<'a>, errors: Vec<Diagnostic>) -> Checker<'a> {
        // A statement that does not parse may be the one that reduces.
        let lost_reduction = errors.iter().any(|e| e.code == codes::SYNTAX);
        Checker {
            text,
            program,
            builder: Builder::new(name),
            folder: Folder::default(),
            tables: vec![Table::default()],
            defined_at: HashMap::new(),
            functions: HashMap::new(),
            bodies: Vec::new(),
            calls: Vec::new(),
            loops: Vec::new(),
            slots: Vec::new(),
            slots_before: Vec::new(),
            selected: Vec::new(),
            filters: Vec::new(),
            definitions: BTreeMap::new(),
            used: HashSet::new(),
            resolved: HashSet::new(),
            steps: 0,
            errors,
            reported: HashSet::new(),
            found: 0,
            suggestions: 0,
            full: false,
            lost_reduction,
            pin_formats: Vec::new(),
            assigned_output: None,
            block_start: 0,
            fitted: HashSet::new(),
            fit_work: 0,
            formats: HashMap::new(),
            types: HashMap::new(),
            found_formats: None,
        }
    }

    /// Checks all statements.
    fn all(&mut self) {
        let program = self.program;
        for statement in &program.statements {
            match &statement.kind {
                StatementKind::Declare { name, .. }
                | StatementKind::Const { name, .. }
                | StatementKind::Elements { name, .. }
                | StatementKind::Table { name, .. }
                | StatementKind::Assign { name, .. } => {
                    self.defined_at.entry(name.text).or_insert(name.span);
                }
                StatementKind::Function(function) => self.enter_function(function),
                _ => {}
            }
        }
        let mut modes = Vec::new();
        for statement in &program.statements {
            if let StatementKind::Round { mode } = &statement.kind {
                modes.push(*mode);
            }
        }
        self.round(&modes);
        self.name_types();
        self.check_functions();
        self.block(&program.statements);
    }

    /// Keeps the format of a value that an expression had.
    fn note_format(&mut self, id: ExprId, value: &Value) {
        if let (Some(all), Value::Typed(typed)) = (&mut self.found_formats, value) {
            let found = &mut all[id.0 as usize];
            *found = match *found {
                Found::None => Found::One(typed.format),
                Found::One(format) if format == typed.format => Found::One(format),
                _ => Found::Several,
            };
        }
    }

    /// Reports a mistake, with the calls and the pass of the loops in which it shows. What is read more than once is
    /// reported once.
    fn error(&mut self, mut error: Diagnostic) {
        // A warning ends no loop.
        self.found += (error.severity == Severity::Error) as usize;
        if !self.calls.is_empty() || !self.loops.is_empty() {
            if !self.reported.insert((error.code, error.span(), error.message.clone())) {
                return;
            }
            self.explain_calls(&mut error);
            self.explain_loops(&mut error);
        }
        report(&mut self.errors, error);
        // More would not be reported; of warnings alone none may end the check.
        self.full |= self.errors.len() > MAX_REPORTED && self.has_errors();
    }

    fn has_errors(&self) -> bool {
        self.errors.iter().any(|e| e.severity == Severity::Error)
    }

    fn span(&self, id: ExprId) -> Span {
        self.program.expr(id).span
    }

    /// Counts work that loops and functions repeat; too much of it is reported, and the check ends.
    fn step(&mut self, steps: u64, span: Span) {
        if self.loops.is_empty() && self.calls.is_empty() {
            return;
        }
        self.steps += steps;
        if self.steps > MAX_STEPS && !self.full {
            self.full = true;
            let message = "the loops and functions of this kernel take too many steps";
            let error = Diagnostic::error(codes::TOO_LARGE, message, span, "given up here");
            self.error(error.help(format!(
                "loops are unrolled and functions inlined, {MAX_STEPS} expressions at most: choose smaller bounds"
            )));
        }
    }

    fn unknown_name(&mut self, name: &str, span: Span) {
        // That such a name is not possible has been reported.
        if !name.is_ascii() {
            return;
        }
        let error = Diagnostic::error(codes::UNKNOWN_NAME, format!("`{name}` is not defined"), span, "unknown name");
        self.suggestions += 1;
        let close = if self.table().symbols.len() <= MAX_CANDIDATES && self.suggestions <= 20 {
            let mut names: Vec<&str> = self.table().symbols.keys().copied().collect();
            names.sort_unstable();
            did_you_mean(name, names)
        } else {
            None
        };
        let value = Checker::known_constant(name);
        self.error(match (value, close) {
            (Some(value), _) if value.len() == 1 => error.help(format!("write `{value}`")).edit(span, value),
            (Some(value), _) if value.starts_with("3.14159") && self.pi("pi").is_some() => {
                error.help("write `pi`").edit(span, "pi")
            }
            (Some(value), _) => {
                let line = format!("const {name} = {value};");
                let start = Span { start: 0, end: 0 };
                error.help(format!("define it above: `{line}`")).edit(start, line + "\n")
            }
            (None, Some(close)) => error.help(format!("did you mean `{close}`?")).edit(span, close),
            (None, None) => error.help(format!(
                "declare it as a pin (`float32.23 {name} jpin;`), or give it a value above (`{name} = ...;` or `const {name} = ...;`)"
            )),
        });
    }

    /// Reports an error of exact arithmetic.
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
                let message = format!("this chooses among more than {} exact numbers", choice::MAX_NUMBERS);
                error(codes::BIG_NUMBER, &message, "given up here")
                    .help("give some of them a format with a cast, such as `(int32)(c ? 1 : 0)`")
            }
            FoldError::Malformed => {
                let error = error(codes::NUMBER, "this is not a number", "malformed");
                match crate::syntax::foreign::mended_number(span.of(self.text)) {
                    Some(number) => error.help(format!("write `{number}`")).edit(span, number),
                    None => error.help(
                        "write for example 12, 0x1F, 0b101, 1.5 or 1e-3; there are no suffixes, and no leading zeros",
                    ),
                }
            }
        };
        self.error(error);
        Value::Error
    }

    fn too_large(&mut self, span: Span) {
        if !self.full {
            self.full = true;
            let message = format!("this kernel has more than {} operations", crate::graph::builder::MAX_NODES);
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
        self.error(match did_you_mean(word.text, classes.iter().map(|c| c.0)) {
            Some(close) => error.help(format!("did you mean `{close}`?")).edit(word.span, close),
            None => error.help("the classes are `ipin`, `jpin`, `param` and `fout`"),
        });
        None
    }
}
