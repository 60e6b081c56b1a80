//! Blocks without braces, as Python, Fortran and C write them: each is reported once and parsed as the block that it is
//! meant to be, so that its statements lead to no further findings.

use super::{BlockKind, Parsed, Parser};
use crate::diag::codes;
use crate::diag::{Diagnostic, Edit, Span, report};
use crate::syntax::ast::{BinaryOp, Block, ExprKind, Function, Statement, StatementKind, Tree, Word};
use crate::syntax::lex::TokenKind;

/// Words that end a block which `then` or `do` opened.
const ENDS: &[&str] = &["end", "endif", "enddo", "fi", "else", "elseif", "elif", "elsif"];

/// The head of a loop in C; pairs are places of tokens, the second one excluded.
struct Head<'a> {
    variable: Word<'a>,
    from: (usize, usize),
    to: (usize, usize),
    /// Whether the last number is part of the range.
    inclusive: bool,
    close: usize,
}

impl<'a> Parser<'a> {
    /// Parses the foreign form of a block where its brace should be: a colon, `then`, or a statement. `None` in front of a brace.
    pub(super) fn block_of_another_language(&mut self, kind: BlockKind) -> Parsed<Option<Block<'a>>> {
        let word = self.word_at(0);
        if self.is(":") {
            return self.indented(kind).map(Some);
        }
        // Verilog's `begin` is a brace, as `then` of others is.
        if word.is_some_and(|w| matches!(w.text, "then" | "begin")) && !self.is_at(1, "=") {
            return self.then_to_end(kind).map(Some);
        }
        if std::mem::take(&mut self.then_is_open) {
            let opening = self.previous().span;
            return self.up_to_end(kind, Span { start: opening.end, end: opening.end }, " {").map(Some);
        }
        if word.is_some() { self.one_statement(kind).map(Some) } else { Ok(None) }
    }

    /// Statements as long as `goes_on`, as the body of a block.
    fn body(&mut self, kind: BlockKind, mut goes_on: impl FnMut(&Self) -> bool) -> Parsed<Vec<Statement<'a>>> {
        let depth = self.depth;
        self.enter()?;
        self.blocks.push(kind);
        let outer = std::mem::take(&mut self.program.statements);
        while !self.is("}") && self.kind() != TokenKind::End && goes_on(self) {
            self.statement();
        }
        let statements = std::mem::replace(&mut self.program.statements, outer);
        self.blocks.pop();
        self.depth = depth;
        Ok(statements)
    }

    /// A statement where a block should stand, as C allows it.
    fn one_statement(&mut self, kind: BlockKind) -> Parsed<Block<'a>> {
        let span = self.peek(0).span;
        let error = Diagnostic::error(codes::SYNTAX, "this statement has no braces", span, "`{` should stand here");
        let error = error.help("write `{ ... }` around it");
        let mut first = true;
        let statements = self.body(kind, |_| std::mem::take(&mut first))?;
        let whole = span.to(self.previous().span);
        // Behind a statement whose semicolon is missing, that comes first.
        let ends = self.previous_is(";") || self.previous_is("}");
        let (before, behind) = (Span { start: span.start, end: span.start }, Span { start: whole.end, end: whole.end });
        report(&mut self.errors, if ends { error.edit(before, "{ ").edit(behind, " }") } else { error });
        Ok(Block { statements, span: whole })
    }

    /// The indentation of the line of the next token.
    fn indentation(&self) -> &'a str {
        let text = self.text;
        let start = text[..self.peek(0).span.start].rfind('\n').map_or(0, |k| k + 1);
        let line = &text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// The block behind a colon: what stands on its line, or further in on the lines below.
    pub(super) fn indented(&mut self, kind: BlockKind) -> Parsed<Block<'a>> {
        let (colon, outer) = (self.peek(0).span, self.indentation());
        self.next();
        let on_line = !self.at_new_line();
        let goes_on = |p: &Self| if on_line { !p.at_new_line() } else { p.indentation().len() > outer.len() };
        let statements = self.body(kind, goes_on)?;
        self.ends_with_return(&statements);
        let error = self.no_braces(colon);
        // The brace stands on a line of its own, behind all that the last statement may still be given.
        let behind = self.previous().span.end;
        let error = match self.text[behind..].find('\n') {
            Some(k) if !self.is("}") => {
                let at = behind + k + 1;
                let close = Edit { span: Span { start: at, end: at }, text: format!("{outer}}}\n") };
                error.edit(colon, " {").edit(close.span, close.text)
            }
            _ => error,
        };
        report(&mut self.errors, error);
        Ok(Block { statements, span: colon.to(self.previous().span) })
    }

    fn no_braces(&self, opening: Span) -> Diagnostic {
        Diagnostic::error(codes::SYNTAX, "blocks stand in braces", opening, "not part of PG2")
            .help("write `{ ... }` around the statements of the block")
    }

    /// `then ... end if`.
    fn then_to_end(&mut self, kind: BlockKind) -> Parsed<Block<'a>> {
        let then = self.next().span;
        self.up_to_end(kind, then, "{")
    }

    /// Statements up to a word that ends them; `open` is what becomes the brace.
    fn up_to_end(&mut self, kind: BlockKind, open: Span, brace: &str) -> Parsed<Block<'a>> {
        let ends = |p: &Self| p.word_at(0).is_some_and(|w| ENDS.contains(&w.text)) && !p.is_at(1, "=");
        let statements = self.body(kind, |p| !ends(p))?;
        let error = self.no_braces(open).edit(open, brace);
        let end = self.peek(0).span;
        let error = match self.word_at(0) {
            Some(word) if word.text.starts_with("el") => {
                self.then_is_open = word.text == "else";
                error.edit(Span { start: end.start, end: end.start }, "} ")
            }
            Some(word) if ends(self) => {
                self.next();
                let more = word.text == "end"
                    && self.word_at(0).is_some_and(|w| matches!(w.text, "if" | "do"))
                    && !self.at_new_line();
                let last = if more { self.next().span } else { end };
                error.edit(end.to(last), "}")
            }
            _ => error,
        };
        report(&mut self.errors, error);
        Ok(Block { statements, span: open.to(self.previous().span) })
    }

    /// `elif` and its like behind a block: reported, and taken for `else if`.
    pub(super) fn is_else_if(&mut self) -> bool {
        let Some(word) = self.word_at(0).filter(|w| matches!(w.text, "elif" | "elseif" | "elsif")) else {
            return false;
        };
        let opens =
            matches!(self.peek(1).kind, TokenKind::Word | TokenKind::Number | TokenKind::Symbol("(" | "!" | "-"));
        if opens {
            let error = self.foreign(format!("there is no `{}`", word.text), word.span, "write `else if`");
            report(&mut self.errors, error.edit(word.span, "else if"));
        }
        opens
    }

    /// `range(a, b)` where the bounds of a loop should stand: reported, and taken for them.
    pub(super) fn python_range(&mut self) -> Parsed<Option<(Tree, Tree)>> {
        if self.word_at(0).is_none_or(|w| w.text != "range") || !self.is_at(1, "(") {
            return Ok(None);
        }
        let name = self.peek(0).span;
        let error = self.foreign("loops run over a range with two dots", name, "write `for k in 0..3 { ... }`");
        let Some((parts, close)) = self.arguments_at(self.at + 1) else { return self.fail(error) };
        let range = match parts[..] {
            [to] => format!("0..{}", self.source(to)),
            [from, to] => format!("{}..{}", self.source(from), self.source(to)),
            _ => return self.fail(error),
        };
        let span = name.to(self.tokens[close].span);
        report(&mut self.errors, error.help(format!("write `{range}`, and the body in braces")).edit(span, range));
        self.next();
        self.next();
        let from = match parts[..] {
            [_, _] => {
                let from = self.tree()?;
                self.expect(",")?;
                from
            }
            _ => self.zero(name),
        };
        let to = self.tree()?;
        self.expect(")")?;
        Ok(Some((from, to)))
    }

    /// `for (int k = a; k < b; k++)`, from the parenthesis on, as the loop that it is.
    pub(super) fn c_loop(&mut self) -> Parsed<StatementKind<'a>> {
        let span = self.peek(0).span;
        let error =
            self.foreign("loops run over a range", span, "write `for k in 0..3 { ... }`, where k is 0, 1 and 2");
        let Some(head) = self.c_head() else {
            let error = self.counted_otherwise(span).unwrap_or(error);
            return self.fail(error);
        };
        let source = |part| self.source(part);
        let more = if head.inclusive { " + 1" } else { "" };
        let range = format!("{} in {}..{}{more}", head.variable.text, source(head.from), source(head.to));
        let span = span.to(self.tokens[head.close].span);
        report(&mut self.errors, error.help(format!("write `for {range} {{ ... }}`")).edit(span, range));
        self.at = head.from.0;
        let from = self.tree()?;
        self.at = head.to.0;
        let to = self.tree()?;
        let to = if head.inclusive { self.one_more(to) } else { to };
        self.at = head.close + 1;
        let body = self.block(BlockKind::Loop)?;
        Ok(StatementKind::For { variable: head.variable, from, to, body })
    }

    /// The parts of the head of a loop in C that counts up by one.
    fn c_head(&self) -> Option<Head<'a>> {
        let (parts, close) = self.arguments_at(self.at)?;
        let [start, test, step] = parts[..] else { return None };
        let equals = (start.0..start.1).find(|k| self.symbol_at(*k) == "=")?;
        let token = self.tokens[equals.checked_sub(1).filter(|k| *k >= start.0)?];
        let variable = Word { text: self.text_of(token), span: token.span };
        let name = variable.text;
        let by_one =
            ["{}++", "++{}", "{} += 1", "{}+=1", "{} = {} + 1", "{}={}+1"].map(|form| form.replace("{}", name));
        let inclusive = match self.symbol_at(test.0 + 1) {
            "<" | "!=" => false,
            "<=" => true,
            _ => return None,
        };
        let (from, to) = ((equals + 1, start.1), (test.0 + 2, test.1));
        let counts = self.text_of(self.tokens[test.0]) == name && by_one.contains(&self.source(step).to_string());
        let whole = token.kind == TokenKind::Word && from.0 < from.1 && to.0 < to.1;
        (counts && whole).then_some(Head { variable, from, to, inclusive, close })
    }

    /// `for (k = 3; k >= 0; k--)` and `for (k = 0; k < 6; k += 2)`, between numbers, as a loop over the passes.
    fn counted_otherwise(&self, open: Span) -> Option<Diagnostic> {
        let (parts, close) = self.arguments_at(self.at)?;
        let [start, test, step] = parts[..] else { return None };
        let equals = (start.0..start.1).find(|k| self.symbol_at(*k) == "=")?;
        let name = self.text_of(self.tokens[equals.checked_sub(1).filter(|k| *k >= start.0)?]);
        let number = |part| self.source(part).replace(' ', "").parse::<i64>().ok().filter(|n| n.abs() < 1 << 20);
        let change = self.source(step).replace(' ', "");
        let by = match change.strip_prefix(name).or_else(|| change.strip_suffix(name))? {
            "--" => -1,
            "++" => 1,
            rest => {
                let sign = if rest.starts_with("+=") { 1 } else { -1 };
                let size = rest.strip_prefix("+=").or_else(|| rest.strip_prefix("-="))?;
                sign * size.parse::<i64>().ok().filter(|n| (1..1 << 20).contains(n))?
            }
        };
        let (first, last) = (number((equals + 1, start.1))?, number((test.0 + 2, test.1))?);
        let goes_on = self.text_of(self.tokens[test.0]) == name;
        let span = match (self.symbol_at(test.0 + 1), by > 0) {
            ("<", true) => last - first,
            ("<=", true) => last + 1 - first,
            (">", false) => first - last,
            (">=", false) => first + 1 - last,
            _ => return None,
        };
        let passes = u64::try_from(span).ok().filter(|n| goes_on && *n > 0)?.div_ceil(by.unsigned_abs());
        let sign = if by < 0 { '-' } else { '+' };
        let times = if by.abs() == 1 { String::new() } else { format!("{} * ", by.abs()) };
        let counter = format!("{name}_pass");
        let value = match (first, by > 0) {
            (0, true) => format!("{name} = {times}{counter};"),
            _ => format!("{name} = {first} {sign} {times}{counter};"),
        };
        let range = format!("{counter} in 0..{passes}");
        let error = self.foreign("loops count up by 1", open, format!("write `for {range} {{ {value} ... }}`"));
        let error = error.edit(open.to(self.tokens[close].span), range);
        if self.symbol_at(close + 1) != "{" {
            return None;
        }
        let behind = self.tokens[close + 1].span.end;
        Some(error.edit(Span { start: behind, end: behind }, format!(" {value}")))
    }

    /// Fortran's `do k = a, b ... end do`.
    pub(super) fn fortran_loop(&mut self) -> Parsed<StatementKind<'a>> {
        let opening = self.next().span;
        let variable = self.new_name()?;
        self.expect("=")?;
        let from = (self.at, self.tree()?);
        let between = self.at;
        self.expect(",")?;
        let to = (self.at, self.tree()?);
        let head = opening.to(self.previous().span);
        let texts = [self.source((from.0, between)), self.source((to.0, self.at))];
        let brace = format!("for {} in {}..{} + 1 {{", variable.text, texts[0], texts[1]);
        let to = self.one_more(to.1);
        let body = self.up_to_end(BlockKind::Loop, head, &brace)?;
        Ok(StatementKind::For { variable, from: from.1, to, body })
    }

    /// An expression plus 1.
    fn one_more(&mut self, tree: Tree) -> Tree {
        let span = self.program.expr(tree.root).span;
        let one = self.push(ExprKind::Number("1"), span);
        Tree { first: tree.first, root: self.push(ExprKind::Binary(BinaryOp::Add, tree.root, one), span) }
    }

    /// The number 0 where nothing is written.
    fn zero(&mut self, span: Span) -> Tree {
        let id = self.push(ExprKind::Number("0"), span);
        Tree { first: id, root: id }
    }

    /// `def f(x):` behind its parameters: the function.
    pub(super) fn python_function(&mut self, name: Word<'a>, params: Vec<Word<'a>>) -> Parsed<StatementKind<'a>> {
        let body = self.indented(BlockKind::Function)?;
        Ok(StatementKind::Function(Function { name, params, body }))
    }
}
