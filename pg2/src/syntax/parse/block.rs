//! Statements with blocks, and the other ones that open with a word of their own.

use super::{BlockKind, Parsed, Parser, Reported};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{Arm, Block, Function, Statement, StatementKind, Word};
use crate::syntax::lex::TokenKind;

impl<'a> Parser<'a> {
    /// The statement that `word` opens, if it is such a word.
    pub(super) fn keyword(&mut self, word: Word<'a>) -> Option<Parsed<StatementKind<'a>>> {
        // `round` is no reserved word: it means this only before a mode.
        let rounds = || self.peek(1).kind == TokenKind::Word && self.is_at(2, ";");
        let names_type = || self.peek(1).kind == TokenKind::Word && self.is_at(2, "=");
        Some(match word.text {
            "type" if names_type() => self.type_name(word),
            "for" => self.for_loop(),
            "if" => self.branches(),
            "else" => self.lone_else(word),
            "fn" => self.function(word),
            "return" => self.returning(word),
            "do" if self.peek(1).kind == TokenKind::Word && self.is_at(2, "=") => self.fortran_loop(),
            "include" => self.include(word),
            "round" if rounds() => self.rounding(word),
            "where" if self.opens_filter() => self.filter(word),
            "table" if self.opens_table() => self.table(word),
            _ => return None,
        })
    }

    /// A statement that stands in the wrong place.
    fn misplaced<T>(&mut self, span: Span, message: &str, help: &str) -> Parsed<T> {
        self.fail(Diagnostic::error(codes::MISPLACED, message, span, "not possible here").help(help))
    }

    /// Statements that only files have.
    pub(super) fn only_in_files(&mut self, span: Span, what: &str) -> Parsed<()> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        let message = format!("{what} cannot stand in a block");
        self.misplaced(span, &message, "move it out of all braces")
    }

    /// `{ statements }`.
    pub(super) fn block(&mut self, kind: BlockKind) -> Parsed<Block<'a>> {
        let opening = self.peek(0).span;
        self.equals_for_comparison()?;
        if let Some(block) = self.block_of_another_language(kind)? {
            return Ok(block);
        }
        self.expect("{")?;
        let depth = self.depth;
        self.enter()?;
        self.blocks.push(kind);
        let outer = std::mem::take(&mut self.program.statements);
        while !self.is("}") && self.kind() != TokenKind::End {
            self.statement();
        }
        let statements = std::mem::replace(&mut self.program.statements, outer);
        self.blocks.pop();
        self.depth = depth;
        self.ends_with_return(&statements);
        let span = opening.to(self.peek(0).span);
        if !self.eat("}") && !self.unclosed {
            // One report is enough for all blocks around it.
            self.unclosed = true;
            let error = Diagnostic::error(codes::SYNTAX, "this block is never closed", opening, "opened here");
            crate::diag::report(&mut self.errors, error.help("end it with `}`"));
        }
        Ok(Block { statements, span })
    }

    /// Nothing stands behind a `return`.
    pub(super) fn ends_with_return(&mut self, statements: &[Statement<'a>]) {
        let found = statements.windows(2).find(|w| matches!(w[0].kind, StatementKind::Return { .. }));
        if let Some([_, behind]) = found {
            let message = "nothing that stands behind `return` is ever reached";
            let _: Parsed<()> = self.misplaced(behind.span, message, "remove it, or move the `return` behind it");
        }
    }

    /// `for k in a..b { }`.
    fn for_loop(&mut self) -> Parsed<StatementKind<'a>> {
        self.next();
        if self.is("(") || self.is_at(1, "=") {
            return self.c_loop();
        }
        let variable = self.new_name()?;
        if self.word_at(0).is_none_or(|w| w.text != "in") {
            return self.expected("`in`");
        }
        self.next();
        let (from, to) = match self.python_range()? {
            Some(range) => range,
            None => {
                let from = self.tree()?;
                self.inclusive_range()?;
                self.expect("..")?;
                (from, self.tree()?)
            }
        };
        let body = self.block(BlockKind::Loop)?;
        Ok(StatementKind::For { variable, from, to, body })
    }

    /// `if (c) { } else if (d) { } else { }`; the parentheses are part of the condition and may be left out.
    fn branches(&mut self) -> Parsed<StatementKind<'a>> {
        let mut arms = Vec::new();
        let opening = self.peek(0).span;
        loop {
            self.next();
            self.condition_at = self.at;
            let condition = self.tree()?;
            if arms.is_empty() {
                self.guard(opening, condition.root)?;
            }
            let body = self.block(BlockKind::Branch)?;
            arms.push(Arm { condition, body });
            if self.is_else_if() {
                continue;
            }
            if self.word_at(0).is_none_or(|w| w.text != "else") {
                return Ok(StatementKind::If { arms, otherwise: None });
            }
            self.next();
            if self.word_at(0).is_none_or(|w| w.text != "if") {
                let otherwise = Some(self.block(BlockKind::Branch)?);
                return Ok(StatementKind::If { arms, otherwise });
            }
        }
    }

    fn lone_else(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        let error = Diagnostic::error(codes::SYNTAX, "`else` without an `if`", word.span, "not expected here");
        self.fail(error.help("write `if (condition) { ... } else { ... }`"))
    }

    /// `fn name(a, b) { }` or `fn name(a, b) = value`.
    fn function(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        self.only_in_files(word.span, "a function")?;
        self.next();
        let name = self.new_name()?;
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.is(")") {
            if self.kind() == TokenKind::Format {
                let message = "a parameter has no format of its own";
                let error = Diagnostic::error(codes::SYNTAX, message, self.peek(0).span, "a format");
                return self.fail(error.help("write its name alone: formats come from the arguments of each call"));
            }
            params.push(self.new_name()?);
            if !self.eat(",") && !self.is(")") {
                return self.expected("`,` or `)`");
            }
        }
        self.expect(")")?;
        if self.is("{") || self.is(":") {
            let body = self.block(BlockKind::Function)?;
            return Ok(StatementKind::Function(Function { name, params, body }));
        }
        if !self.eat("=") {
            return self.expected("`{` or `=`");
        }
        let start = self.peek(0).span;
        let value = self.tree()?;
        let span = start.to(self.previous().span);
        self.semicolon()?;
        let statements = vec![Statement { kind: StatementKind::Return { value }, span }];
        Ok(StatementKind::Function(Function { name, params, body: Block { statements, span } }))
    }

    fn returning(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        if !self.blocks.contains(&BlockKind::Function) {
            let help = "a kernel's results are its outputs: write `name += ...`";
            return self.misplaced(word.span, "`return` belongs in a function", help);
        }
        self.next();
        Ok(StatementKind::Return { value: self.tree()? })
    }

    fn include(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        self.only_in_files(word.span, "`include`")?;
        self.next();
        let path = self.peek(0);
        if path.kind != TokenKind::Text {
            let error =
                Diagnostic::error(codes::SYNTAX, "`include` takes a file name in quotes", path.span, "no file name");
            return self.fail(error.help("write `include \"constants.pg2\";`"));
        }
        self.next();
        Ok(StatementKind::Include { path: Word { text: self.text_of(path).trim_matches('"'), span: path.span } })
    }

    /// `type name = format;`
    fn type_name(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        self.only_in_files(word.span, "a type")?;
        self.next();
        let name = self.new_name()?;
        self.expect("=")?;
        if self.kind() != TokenKind::Format && self.kind() != TokenKind::Word {
            return self.expected("a format");
        }
        Ok(StatementKind::Type { name, format: self.format()? })
    }

    fn rounding(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        self.only_in_files(word.span, "`round`")?;
        self.next();
        let mode = self.word_at(0).ok_or(Reported)?;
        self.next();
        Ok(StatementKind::Round { mode })
    }

    /// Whether `where` at the next token is this statement: it is no reserved word, and may be a name too.
    pub(super) fn opens_filter(&self) -> bool {
        self.is_at(1, "(") || self.is_at(1, "!") || self.filters_bare()
    }

    /// Whether a name and the rest of a condition stand behind it.
    fn filters_bare(&self) -> bool {
        let reduces = self.word_at(1).is_some_and(|w| matches!(w.text, "max" | "min")) && self.is_at(2, "=");
        let goes_on = matches!(self.peek(2).kind, TokenKind::Symbol(s) if s != "=");
        self.peek(1).kind == TokenKind::Word && goes_on && !reduces && !self.types.contains("where")
    }

    /// `where (condition)`.
    pub(super) fn filter(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        if !self.blocks.is_empty() {
            let error =
                Diagnostic::error(codes::MISPLACED, "`where` cannot stand in a block", word.span, "not possible here");
            let help =
                "it is for all outputs of a kernel: move it out of all braces, or write `if (condition) { ... }` here";
            return self.fail(error.help(help));
        }
        self.next();
        if !self.is("(") {
            let start = self.peek(0).span.start;
            let condition = self.tree()?;
            let end = self.previous().span.end;
            let span = Span { start, end };
            let error = Diagnostic::error(codes::SYNTAX, "a condition stands in parentheses", span, "without them");
            let written = format!("({})", span.of(self.text));
            crate::diag::report(&mut self.errors, error.help(format!("write `where {written};`")).edit(span, written));
            return Ok(StatementKind::Filter { condition });
        }
        let condition = self.tree()?;
        if self.is("{") {
            let error = Diagnostic::error(codes::SYNTAX, "`where` has no block", self.peek(0).span, "a block");
            let help = "end it with `;`, and it is for all outputs of the kernel; for these statements alone write `if (condition) { ... }`";
            return self.fail(error.help(help).edit(word.span, "if"));
        }
        Ok(StatementKind::Filter { condition })
    }
}
