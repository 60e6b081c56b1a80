//! Blocks that are never run (bodies of functions that nobody calls, of empty loops, and of branches that are not taken):
//! only their names are looked at, since values would need formats and numbers that are not there.

use super::Checker;
use super::function::trees_of;
use crate::syntax::ast::{Block, ExprKind, Statement, StatementKind, Word};
use crate::syntax::functions;
use std::collections::HashSet;

impl<'a> Checker<'a> {
    /// Reports unknown names in a block; `known` are names that it is given.
    pub(super) fn resolve_block(&mut self, known: &[Word<'a>], block: &'a Block<'a>) {
        if self.full || !self.resolved.insert(block.span.start) {
            return;
        }
        let mut names: HashSet<&'a str> = known.iter().map(|w| w.text).collect();
        self.resolve(&block.statements, &mut names);
    }

    fn resolve(&mut self, statements: &'a [Statement<'a>], names: &mut HashSet<&'a str>) {
        for statement in statements {
            let mut trees = Vec::new();
            if !matches!(statement.kind, StatementKind::For { .. } | StatementKind::If { .. }) {
                trees_of(std::slice::from_ref(statement), &mut trees);
            }
            match &statement.kind {
                StatementKind::For { from, to, .. } => trees.extend([*from, *to]),
                StatementKind::If { arms, .. } => trees.extend(arms.iter().map(|a| a.condition)),
                _ => {}
            }
            for tree in trees {
                let functions = self.functions_in(tree);
                for id in (tree.first.0..=tree.root.0).filter(|k| !functions[(k - tree.first.0) as usize]) {
                    self.resolve_expr(id, names);
                }
            }
            match &statement.kind {
                StatementKind::Assign { name, .. }
                | StatementKind::Elements { name, .. }
                | StatementKind::Table { name, .. }
                | StatementKind::Const { name, .. }
                | StatementKind::Broken { name } => {
                    names.insert(name.text);
                }
                StatementKind::Reduce { target, .. } if !names.contains(target.text) => {
                    if self.tables.len() > 1 {
                        self.reduces_in_function(*target);
                    } else {
                        self.symbol(target.text, target.span);
                    }
                }
                StatementKind::Select { targets, .. } => {
                    for target in targets.iter().filter(|t| !names.contains(t.name.text)) {
                        if self.tables.len() > 1 {
                            self.reduces_in_function(target.name);
                        } else {
                            self.symbol(target.name.text, target.name.span);
                        }
                    }
                }
                StatementKind::For { variable, body, .. } => {
                    names.insert(variable.text);
                    self.resolve(&body.statements, names);
                }
                StatementKind::If { arms, otherwise } => {
                    arms.iter().for_each(|arm| self.resolve(&arm.body.statements, names));
                    otherwise.iter().for_each(|block| self.resolve(&block.statements, names));
                }
                _ => {}
            }
        }
    }

    fn resolve_expr(&mut self, id: u32, names: &HashSet<&'a str>) {
        let program = self.program;
        let expr = &program.exprs[id as usize];
        match &expr.kind {
            ExprKind::Name(name)
                if !names.contains(name) && self.type_of_name(name).is_none() && self.pi(name).is_none() =>
            {
                self.symbol(name, expr.span);
            }
            ExprKind::Element(word, _) if !names.contains(word.text) => {
                self.symbol(word.text, word.span);
            }
            // A parameter may be a format.
            ExprKind::Cast(format, _) if names.contains(format.text) => {}
            ExprKind::Cast(format, _) => {
                self.format(*format);
            }
            ExprKind::Call(word, args) => match self.functions.get(word.text) {
                Some(index) => {
                    let index = *index;
                    if self.parameters_of(index) != args.len() {
                        self.wrong_arguments(index, args.len(), expr.span);
                    }
                }
                None if functions::function(word.text).is_some() => {}
                None => {
                    self.unknown_function(*word);
                }
            },
            _ => {}
        }
    }
}
