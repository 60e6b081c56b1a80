//! Names of formats: `type name = format;`, and parameters of functions that are formats (RULES L13, L18).

use super::Checker;
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{ExprId, StatementKind, Tree, Word};
use crate::syntax::functions::{self, Kind};
use hdl::Format;

impl<'a> Checker<'a> {
    /// Enters the names that the file gives to formats.
    pub(super) fn name_types(&mut self) {
        let program = self.program;
        for statement in &program.statements {
            let StatementKind::Type { name, format } = &statement.kind else { continue };
            let Some(format) = self.format(*format) else { continue };
            if let Some((_, first)) = self.types.get(name.text).copied() {
                self.twice(*name, first);
                continue;
            }
            if let Some(first) = self.defined_at.get(name.text).copied() {
                self.twice(*name, first);
                continue;
            }
            self.types.insert(name.text, (format, name.span));
        }
    }

    fn twice(&mut self, name: Word, first: Span) {
        let message = format!("`{}` is defined twice", name.text);
        let error = Diagnostic::error(codes::TWICE, message, name.span, "defined again")
            .label(first, "first defined here")
            .help("choose another name for the format");
        self.error(error);
    }

    /// The format that a name stands for.
    pub(super) fn type_of_name(&self, name: &str) -> Option<Format> {
        self.table().types.get(name).copied().or_else(|| self.types.get(name).map(|t| t.0))
    }

    /// Whether a name is that of a value.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.table().symbols.contains_key(name)
    }

    /// Reports formats among the arguments of a function that takes none.
    pub(super) fn formats_misplaced(&mut self, function: Word, args: &[ExprId]) -> bool {
        let library =
            functions::function(function.text).is_some_and(|f| f.params.iter().all(|p| p.kind != Kind::Format));
        if !library || self.functions.contains_key(function.text) {
            return false;
        }
        let found: Vec<ExprId> = args.iter().copied().filter(|id| self.formats.contains_key(id)).collect();
        found.iter().for_each(|id| self.no_value(*id));
        !found.is_empty()
    }

    /// Reports the formats of a tree that stand where a value should.
    pub(super) fn formats_left(&mut self, tree: Tree) {
        if self.formats.is_empty() {
            return;
        }
        let mut left: Vec<ExprId> = self.formats.keys().copied().collect();
        left.retain(|id| (tree.first..=tree.root).contains(id));
        left.sort_unstable();
        for id in left {
            self.no_value(id);
            self.formats.remove(&id);
        }
    }

    fn no_value(&mut self, id: ExprId) {
        let span = self.span(id);
        let text = span.of(self.text);
        let error = Diagnostic::error(codes::SYNTAX, "a format is not a value", span, "a format");
        self.error(error.help(format!("write a cast as `({text})x`")));
    }
}
