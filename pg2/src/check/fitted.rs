//! `pg_fn(x, f, lo, hi)`: a real function by a table.
//!
//! The expression of `pg_fn` is no part of the dataflow: it says which real function is to be fitted. So it is not
//! evaluated like other expressions but read apart ([`super::real`]), with the argument's name standing for the variable.

use super::Checker;
use super::call::Arg;
use super::steep::Use;
use super::value::Value;
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{ExprId, ExprKind, Tree};
use crate::syntax::functions::{self, Function as Row, Kind};
use hdl::Format;
use hdl::number::exact::Exact;
use hdl::number::real::work::Patience;
use hdl::op::Attrs;
use hdl::op::table::func::{Failure, Function, MOST_WORK, Prepared, prepared, work};

/// The most work that fitting all functions of a file may take.
const FILE_WORK: u64 = MOST_WORK / 2 * 3;

impl<'a> Checker<'a> {
    /// The expressions of a tree that are functions to be fitted, and so are not evaluated: all parts of second arguments of
    /// `pg_fn`. One mark for each expression of the tree.
    pub(super) fn functions_in(&self, tree: Tree) -> Vec<bool> {
        let mut marks = vec![false; (tree.root.0 - tree.first.0 + 1) as usize];
        for k in tree.first.0..=tree.root.0 {
            if let ExprKind::Call(word, args) = &self.program.expr(ExprId(k)).kind
                && let Some(row) = functions::function(word.text)
                && let Some(place) = row.params.iter().position(|p| p.kind == Kind::Real)
                && let Some(root) = args.get(place)
            {
                self.parts(*root).into_iter().for_each(|id| marks[(id.0 - tree.first.0) as usize] = true);
            }
        }
        marks
    }

    /// All parts of an expression, arguments before their users.
    pub(super) fn parts(&self, root: ExprId) -> Vec<ExprId> {
        let (mut open, mut all) = (vec![root], Vec::new());
        while let Some(id) = open.pop() {
            all.push(id);
            match &self.program.expr(id).kind {
                ExprKind::Number(_) | ExprKind::Name(_) | ExprKind::Format(_) => {}
                ExprKind::Paren(a) | ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => open.push(*a),
                ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => open.extend([*a, *b]),
                ExprKind::Select(a, b, c) | ExprKind::Bits(a, b, c) => open.extend([*a, *b, *c]),
                ExprKind::Call(_, args) | ExprKind::Element(_, args) | ExprKind::Vector(args) => open.extend(args),
            }
        }
        all.sort_unstable();
        all
    }

    /// `pg_fn(x, f, lo, hi)`.
    pub(super) fn fitted(&mut self, row: &Row, args: &[Arg], span: Span) -> Value {
        let typed = self.argument(row, &args[0]);
        let expr = self.real_function(args[0].1, args[1].1);
        let ends = [&args[2], &args[3]].map(|(value, id)| self.end_of_interval(value, *id));
        let (Some((typed, operator)), Some(expr), [Some(lo), Some(hi)]) = (typed, expr, ends) else {
            return Value::Error;
        };
        let function = Function::new(expr, lo, hi);
        if !self.may_fit(typed.format, &function, span) {
            return Value::Error;
        }
        match prepared(typed.format, &function) {
            Ok(p) => {
                self.warn_of_floor(p, self.span(args[1].1));
                self.each(operator, &[&typed], Attrs { function: Some(function.clone()), ..Attrs::default() }, span)
            }
            Err(failure) => {
                if let Some(pieces) = self.steep(&Use { operator, typed: &typed, span }, &function, failure) {
                    return pieces;
                }
                let interval = self.span(args[2].1).to(self.span(args[3].1));
                self.no_table(failure, typed.format, &function, self.span(args[1].1), interval);
                Value::Error
            }
        }
    }

    /// Whether the file's functions have not taken too much work yet; this one's is booked. It counts the same whether a
    /// table is made now or was kept, so that a kernel compiles everywhere or nowhere.
    pub(super) fn may_fit(&mut self, format: Format, function: &Function, span: Span) -> bool {
        let key = (format, function.text.clone());
        if self.fitted.contains(&key) {
            return true;
        }
        if self.fit_work > FILE_WORK {
            if self.fitted.insert((Format::Int { width: 1, signed: false }, String::new())) {
                let message = "the functions of this file take too long to fit";
                let error =
                    Diagnostic::error(codes::FUNCTION_WORK, message, span, "this one and later ones are not fitted");
                self.error(error.help("use fewer different functions, narrower formats, or shorter intervals; one function may be used many times"));
            }
            return false;
        }
        self.fitted.insert(key);
        self.fit_work += work(format, function);
        true
    }

    fn end_of_interval(&mut self, value: &Value, id: ExprId) -> Option<Exact> {
        match value {
            Value::Error => None,
            Value::Exact(number) => Some(number.value.clone()),
            Value::Choice(_) | Value::Numbers(_) | Value::Typed(_) => {
                let message = "the interval of `pg_fn` is known at compile time";
                let error = Diagnostic::error(codes::NOT_CONST, message, self.span(id), "known only at run time");
                self.error(error.help("write a literal or the name of a `const`"));
                None
            }
        }
    }

    fn warn_of_floor(&mut self, p: &Prepared, span: Span) {
        let (Some(floor), mant) = (p.floor, p.format.mant() as i32) else { return };
        let message = format!("results of `pg_fn` below {:.1e} are less exact than {}", power(floor), p.format);
        let warning = Diagnostic::warning(codes::FUNCTION_FLOOR, message, span, "comes near 0 on the interval");
        let note = format!(
            "results from {:.1e} on are off by less than one place, smaller ones by up to {:.1e}",
            power(floor),
            power(floor - mant)
        );
        // Ending the interval early would cut the function off where it is meant to go to 0.
        self.error(warning.note(note).help(
            "where results enter a sum with larger ones this loses nothing; to have places of one size everywhere, fit it as \
             a fixed, such as `pg_fn((fixed32.24)x, ...)`, or take the factor that goes to 0 out of the function",
        ));
    }

    /// Says why a function has no table.
    fn no_table(&mut self, failure: &Failure, format: Format, f: &Function, span: Span, interval: Span) {
        let error = match failure {
            Failure::Interval => {
                let message = format!("this is no interval of {format}");
                let ends = [&f.lo, &f.hi].map(|x| hdl::number::exact::to_bits(format, x).is_err());
                let help = match ends {
                    [false, false] if f.lo < f.hi => "both ends are one number there: take a wider interval or format",
                    [false, false] => "write the lower end first",
                    _ => "take ends that the format holds",
                };
                Diagnostic::error(codes::FUNCTION_INTERVAL, message, interval, "lower and upper end").help(help)
            }
            Failure::Undefined(x) => {
                let message = format!("this function has no value at {x:?}");
                Diagnostic::error(codes::FUNCTION_VALUE, message, span, "has no value everywhere")
                    .label(interval, "on this interval")
                    .help("choose an interval on which every part has a value; near 0 a small number will do for 0")
            }
            Failure::Inaccurate(x) => {
                let message = format!("too much of this function's value cancels at {x:?}");
                Diagnostic::error(codes::FUNCTION_VALUE, message, span, "a small difference of large parts")
                    .label(interval, "on this interval")
                    .help("write it in another form, or leave that place out of the interval")
            }
            Failure::Costly => {
                let message = format!("this function takes too long to fit in {format}");
                let note = "the search for its table is given up after a fixed number of steps, the same on every machine: \
                            about a second of work";
                Diagnostic::error(codes::FUNCTION_WORK, message, span, "given up here").note(note).help(
                    "narrow the interval, take a narrower format, or write it as a product or sum of simpler functions",
                )
            }
            Failure::Slow => {
                let message = format!("this function takes too long to fit in {format}");
                let seconds = Patience::given().map_or(0.0, |patience| patience.seconds);
                let note = format!(
                    "its search was under way when {seconds} s had been spent on the functions of this file; \
                     `pairforge build` and `run` wait for its end, and what they find is kept"
                );
                Diagnostic::error(codes::FUNCTION_WORK, message, span, "given up here").note(note).help(
                    "narrow the interval, take a narrower format, or write it as a product or sum of simpler functions",
                )
            }
            Failure::Large { at, depth } => {
                let message = format!("no table of a reasonable size holds this function in {format}");
                let note = format!(
                    "around {at:?} polynomials would have to be as short as 2^-{depth} of {}",
                    if format.is_float() { "an octave" } else { "the interval" }
                );
                let help = if format.is_float() {
                    "is there a bend or a pole? Narrow the interval, take a narrower format, or write pieces with `?:`"
                } else {
                    "is it steep, or is there a bend? Let the interval end there, or write pieces with `?:`"
                };
                Diagnostic::error(codes::FUNCTION_TABLE, message, span, "needs too many polynomials")
                    .note(note)
                    .help(help)
            }
        };
        self.error(error);
    }

    /// The variable's name in the function of `pg_fn`: the name of the argument, else `x`.
    pub(super) fn function_variable(&self, argument: ExprId) -> &'a str {
        let mut id = argument;
        while let ExprKind::Paren(inner) | ExprKind::Cast(_, inner) = &self.program.expr(id).kind {
            id = *inner;
        }
        match &self.program.expr(id).kind {
            ExprKind::Name(name) => name,
            _ => "x",
        }
    }
}

/// 2^k for messages.
fn power(k: i32) -> f64 {
    hdl::number::real::exp2(k)
}
