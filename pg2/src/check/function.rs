//! `fn`: functions, inlined at each call, with formats as the arguments have them.

use super::Checker;
use super::branch::Step;
use super::scope::{Entry, Kind, Table};
use super::value::{Typed, Value};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{Block, ExprId, ExprKind, Function, Statement, StatementKind, TableContent, Tree};
use crate::syntax::parse::MAX_NESTING;
use hdl::op::{Attrs, Operator, compare, int};

/// A function of the file.
pub(super) struct Body<'a> {
    pub function: &'a Function<'a>,
    /// Why it cannot be called has been reported.
    broken: bool,
    called: bool,
    /// Functions that it calls, with the places.
    calls: Vec<(usize, Span)>,
}

/// A function that is being inlined.
pub(super) struct Call<'a> {
    name: &'a str,
    span: Span,
    /// The conditions on the way to the statement.
    pub path: Vec<Step>,
    /// Values that it returns, each with its conditions; the first whose conditions hold is meant.
    returns: Vec<(Vec<Step>, Value, ExprId)>,
}

impl<'a> Checker<'a> {
    /// Enters the name of a function.
    pub(super) fn enter_function(&mut self, function: &'a Function<'a>) {
        if let Some(first) = self.functions.get(function.name.text) {
            let first = self.bodies[*first].function.name.span;
            let message = format!("the function `{}` is defined twice", function.name.text);
            let error = Diagnostic::error(codes::TWICE, message, function.name.span, "defined again")
                .label(first, "first defined here")
                .help("choose another name for the second function");
            return self.error(error);
        }
        self.functions.insert(function.name.text, self.bodies.len());
        self.bodies.push(Body { function, broken: false, called: false, calls: Vec::new() });
    }

    /// Finds out which functions cannot be inlined.
    pub(super) fn check_functions(&mut self) {
        for k in 0..self.bodies.len() {
            let function = self.bodies[k].function;
            let mut calls = Vec::new();
            let mut trees = Vec::new();
            trees_of(&function.body.statements, &mut trees);
            for tree in trees {
                for id in tree.first.0..=tree.root.0 {
                    if let ExprKind::Call(word, _) = &self.program.exprs[id as usize].kind
                        && let Some(callee) = self.functions.get(word.text)
                    {
                        calls.push((*callee, word.span));
                    }
                }
            }
            self.bodies[k].calls = calls;
            if !always_returns(&function.body) {
                self.bodies[k].broken = true;
                let message = format!("`{}` does not always return a value", function.name.text);
                let error = Diagnostic::error(codes::NO_RETURN, message, function.name.span, "this function");
                self.error(error.help("end it with `return ...;`, or every branch of the last `if` and its `else`"));
            }
        }
        self.find_recursion();
    }

    /// A walk over all chains of calls; a call of a function that is on the chain is an error.
    fn find_recursion(&mut self) {
        let mut done = vec![false; self.bodies.len()];
        for root in 0..self.bodies.len() {
            // Functions on the chain, and the next call of each to look at.
            let mut chain: Vec<(usize, usize)> = vec![(root, 0)];
            let mut on_chain = vec![false; if done[root] { 0 } else { self.bodies.len() }];
            if done[root] {
                continue;
            }
            on_chain[root] = true;
            while let Some((f, next)) = chain.last_mut() {
                let Some((callee, _)) = self.bodies[*f].calls.get(*next).copied() else {
                    done[*f] = true;
                    on_chain[*f] = false;
                    chain.pop();
                    continue;
                };
                *next += 1;
                if on_chain[callee] {
                    let from = chain.iter().position(|c| c.0 == callee).unwrap_or(0);
                    let members: Vec<(usize, usize)> = chain[from..].to_vec();
                    self.recursive(&members);
                } else if !done[callee] {
                    on_chain[callee] = true;
                    chain.push((callee, 0));
                }
            }
        }
    }

    /// `members` are the functions of a cycle and, for each, the number of the call behind the one that leads on.
    fn recursive(&mut self, members: &[(usize, usize)]) {
        if members.iter().any(|m| self.bodies[m.0].broken) {
            members.iter().for_each(|m| self.bodies[m.0].broken = true);
            return;
        }
        members.iter().for_each(|m| self.bodies[m.0].broken = true);
        let name = |m: &(usize, usize)| self.bodies[m.0].function.name.text;
        let call = |m: &(usize, usize)| self.bodies[m.0].calls[m.1 - 1];
        let first = &members[0];
        let chain: Vec<&str> = members.iter().chain([first]).map(name).collect();
        let message = format!("`{}` calls itself", name(first));
        let mut error =
            Diagnostic::error(codes::RECURSION, message, call(first).1, format!("`{}` calls this", name(first)));
        for m in members[1..].iter().take(8) {
            error = error.label(call(m).1, format!("`{}` calls this", name(m)));
        }
        if members.len() > 1 && members.len() <= 9 {
            error = error.note(format!("the calls are {}", chain.join(" -> ")));
        }
        self.error(error.help("functions become circuits and cannot call themselves: use `for` over a fixed range"));
    }

    /// The value of a call.
    pub(super) fn inline(&mut self, index: usize, args: Vec<(Value, ExprId)>, span: Span) -> Value {
        self.bodies[index].called = true;
        let function = self.bodies[index].function;
        let name = function.name.text;
        if args.len() != function.params.len() {
            self.wrong_arguments(index, args.len(), span);
            return Value::Error;
        }
        if self.bodies[index].broken {
            return Value::Error;
        }
        let around: usize = self.tables.iter().map(|t| t.level() + 1).sum();
        if around > MAX_NESTING as usize {
            let message = format!("calls and blocks are nested more than {MAX_NESTING} levels deep");
            let error = Diagnostic::error(codes::NESTING, message, span, "one level too many");
            self.error(error.help("call fewer functions within functions"));
            return Value::Error;
        }
        self.tables.push(Table::default());
        let is_format = |checker: &Self, id: ExprId| checker.formats.get(&id).copied();
        let broken = args.iter().any(|a| matches!(a.0, Value::Error) && is_format(self, a.1).is_none());
        for (param, (value, id)) in function.params.iter().zip(args) {
            if let Some(format) = is_format(self, id) {
                self.table_mut().types.insert(param.text, format);
                continue;
            }
            self.define(*param, Entry::of(value), Kind::Value, id);
        }
        self.calls.push(Call { name, span, path: Vec::new(), returns: Vec::new() });
        self.block(&function.body.statements);
        let value = self.returned(function.body.span);
        self.calls.pop();
        self.tables.pop();
        if broken { Value::Error } else { value }
    }

    /// The function that a call of so many arguments means; `None` after a mistake.
    pub(super) fn real_body(&mut self, index: usize, args: usize, span: Span) -> Option<&'a Function<'a>> {
        self.bodies[index].called = true;
        let function = self.bodies[index].function;
        if args != function.params.len() {
            self.wrong_arguments(index, args, span);
            return None;
        }
        (!self.bodies[index].broken).then_some(function)
    }

    pub(super) fn parameters_of(&self, index: usize) -> usize {
        self.bodies[index].function.params.len()
    }

    pub(super) fn wrong_arguments(&mut self, index: usize, given: usize, span: Span) {
        let function = self.bodies[index].function;
        let params: Vec<&str> = function.params.iter().map(|p| p.text).collect();
        let name = function.name.text;
        let message = format!("`{name}` takes {} argument(s), not {given}", params.len());
        let error = Diagnostic::error(codes::ARGUMENTS, message, span, "wrong number of arguments")
            .label(function.name.span, "defined here")
            .help(format!("write `{name}({})`", params.join(", ")));
        self.error(error);
    }

    /// `return value;`
    pub(super) fn return_value(&mut self, tree: Tree) {
        let value = self.tree(tree);
        if let Some(call) = self.calls.last_mut() {
            let path = call.path.clone();
            call.returns.push((path, value, tree.root));
        }
    }

    /// The return value of a function: its last one, unless an earlier one is chosen.
    fn returned(&mut self, span: Span) -> Value {
        let mut returns = self.calls.last_mut().map(|c| std::mem::take(&mut c.returns)).unwrap_or_default();
        let Some((_, mut value, mut root)) = returns.pop() else { return Value::Error };
        while let Some((path, own, id)) = returns.pop() {
            let Some(condition) = self.all_of(&path, span) else { return Value::Error };
            if matches!(own, Value::Error) || matches!(value, Value::Error) {
                return Value::Error;
            }
            let place = (self.span(id), "the function's value");
            (value, root) = (self.either(Some(condition), (own, id), (value, root), place), id);
        }
        value
    }

    /// Whether all conditions of a path hold.
    fn all_of(&mut self, path: &[Step], span: Span) -> Option<Typed> {
        let mut all: Option<Typed> = None;
        for (condition, holds) in path {
            let mut apply =
                |op: &'static dyn Operator, args: &[&Typed]| match self.each(op, args, Attrs::default(), span) {
                    Value::Typed(typed) => Some(typed),
                    _ => None,
                };
            let one = if *holds { condition.clone() } else { apply(compare::ISZ, &[condition])? };
            all = Some(match all {
                Some(others) => apply(int::AND, &[&others, &one])?,
                None => one,
            });
        }
        all
    }

    /// Looks through the functions that are never called.
    pub(super) fn uncalled_functions(&mut self) {
        for k in 0..self.bodies.len() {
            let Body { function, called, .. } = self.bodies[k];
            if !called {
                self.tables.push(Table::default());
                self.resolve_block(&function.params, &function.body);
                self.tables.pop();
            }
        }
    }

    /// Says through which calls a mistake in a function came about.
    pub(super) fn explain_calls(&self, error: &mut Diagnostic) {
        for call in self.calls.iter().rev().take(4) {
            error.labels.push((call.span, format!("in this call of `{}`", call.name)));
        }
    }
}

/// The trees of statements and of all blocks in them.
pub(super) fn trees_of(statements: &[Statement], trees: &mut Vec<Tree>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Declare { lengths, default, range, .. } => {
                trees.extend(lengths.iter().chain(default).chain(range.iter().flatten()));
            }
            StatementKind::Elements { lengths, .. } => trees.extend(lengths),
            StatementKind::Table { lengths, content, .. } => {
                trees.extend(lengths);
                if let TableContent::List(list) = content {
                    trees.extend(list);
                }
            }
            StatementKind::Const { value, .. }
            | StatementKind::Return { value }
            | StatementKind::Filter { condition: value } => trees.push(*value),
            StatementKind::Assign { indices, value, .. } | StatementKind::Reduce { indices, value, .. } => {
                trees.extend(indices);
                trees.push(*value);
            }
            StatementKind::Select { targets, values, .. } => {
                targets.iter().for_each(|target| trees.extend(&target.indices));
                trees.extend(values);
            }
            StatementKind::For { from, to, body, .. } => {
                trees.extend([from, to]);
                trees_of(&body.statements, trees);
            }
            StatementKind::If { arms, otherwise } => {
                for arm in arms {
                    trees.push(arm.condition);
                    trees_of(&arm.body.statements, trees);
                }
                otherwise.iter().for_each(|block| trees_of(&block.statements, trees));
            }
            StatementKind::Function(_)
            | StatementKind::Include { .. }
            | StatementKind::Round { .. }
            | StatementKind::Type { .. }
            | StatementKind::Broken { .. } => {}
        }
    }
}

/// Whether a block ends with `return` on every way through it.
fn always_returns(block: &Block) -> bool {
    // What stands behind a `return` is reported as such.
    if block.statements.iter().any(|s| matches!(s.kind, StatementKind::Return { .. })) {
        return true;
    }
    match block.statements.last().map(|s| &s.kind) {
        // A mistake in it has been reported.
        Some(StatementKind::Broken { .. }) => true,
        Some(StatementKind::If { arms, otherwise: Some(last) }) => {
            always_returns(last) && arms.iter().all(|arm| always_returns(&arm.body))
        }
        _ => false,
    }
}
