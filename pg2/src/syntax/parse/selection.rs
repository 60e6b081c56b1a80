//! `(best, who) min= (key, payload);`, a reduction of several outputs together.

use super::{Parsed, Parser};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{Place, Statement, StatementKind, Tree, Word};
use crate::syntax::lex::TokenKind;
use hdl::Reduce;

impl<'a> Parser<'a> {
    /// A statement that begins with a parenthesis around names, if an operator that assigns follows it; or names without the
    /// parenthesis, which is reported.
    pub(super) fn selection(&mut self) -> Parsed<Option<StatementKind<'a>>> {
        if !self.is("(") {
            return self.bare_selection();
        }
        let Some(close) = self.closing() else { return Ok(None) };
        let (reduce, wrong) = match (self.word_at(close + 1).map(|w| w.text), self.symbol(close + 1)) {
            (Some("min"), _) if self.is_at(close + 2, "=") => (Reduce::Min, false),
            (Some("max"), _) if self.is_at(close + 2, "=") => (Reduce::Max, false),
            (None, "=" | "+=" | "-=") => (Reduce::Sum, true),
            _ => return Ok(None),
        };
        if wrong {
            let operator = self.peek(close + 1);
            let symbol = self.text_of(operator);
            let message = format!("`{symbol}` takes one name");
            let error = Diagnostic::error(codes::ASSIGNMENT, message, operator.span, "not for several names together");
            let help = format!(
                "write a statement for each: `a {symbol} ...; b {symbol} ...;`; only `min=` and `max=` take several outputs, the \
                 first of which decides"
            );
            return self.fail(error.help(help));
        }
        self.next();
        let mut targets = Vec::new();
        loop {
            let name = self.new_name()?;
            targets.push(Place { name, indices: self.indices()? });
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        self.next();
        self.next();
        let values = self.tuple(targets.len())?;
        Ok(Some(StatementKind::Select { targets, reduce, values }))
    }

    /// The values of a selection.
    fn tuple(&mut self, wanted: usize) -> Parsed<Vec<Tree>> {
        let open = self.peek(0).span;
        if !self.is("(") {
            return self.no_tuple(open, wanted);
        }
        self.next();
        let mut values = vec![self.tree()?];
        while self.eat(",") {
            values.push(self.tree()?);
        }
        self.expect(")")?;
        // `(a + b) * c` is one value.
        if !self.is(";") && !self.at_new_line() {
            return self.no_tuple(open, wanted);
        }
        if values.len() != wanted {
            let span = open.to(self.previous().span);
            let (left, right) = (counted(wanted, "output"), counted(values.len(), "value"));
            let error = Diagnostic::error(codes::LENGTHS, format!("{left} for {right}"), span, right);
            return self
                .fail(error.help("give the key first and then a payload for each further output, in their order"));
        }
        Ok(values)
    }

    fn no_tuple<T>(&mut self, from: Span, wanted: usize) -> Parsed<T> {
        let message = "the values of several outputs stand in parentheses";
        let error = Diagnostic::error(codes::SYNTAX, message, from, "`(` should stand here");
        self.fail(error.help(match wanted {
            1 => "write `(key)`".into(),
            n => format!("write `(key{})`, the key first", ", payload".repeat(n - 1)),
        }))
    }

    /// `best, who min= ...`, reported with what is missing.
    fn bare_selection(&mut self) -> Parsed<Option<StatementKind<'a>>> {
        let names = (0..).step_by(2).take_while(|k| self.word_at(*k).is_some() && self.is_at(k + 1, ",")).count();
        let last = 2 * names;
        let reduces = names > 0
            && self.word_at(last).is_some()
            && matches!(self.word_at(last + 1), Some(w) if matches!(w.text, "min" | "max"))
            && self.is_at(last + 2, "=");
        if !reduces {
            return Ok(None);
        }
        let span = self.peek(0).span.to(self.peek(last).span);
        let text = span.of(self.text);
        let error = Diagnostic::error(codes::SYNTAX, "outputs that belong together stand in parentheses", span, "here");
        self.fail(error.help(format!("write `({text}) {}= (key, ...)`", self.text_of(self.peek(last + 1)))))
    }

    /// Distance to the parenthesis that closes the one at the next token, if only names, brackets and commas stand between.
    fn closing(&self) -> Option<usize> {
        let mut brackets = 0u32;
        for k in 1.. {
            match self.peek(k).kind {
                TokenKind::Symbol("[") => brackets += 1,
                TokenKind::Symbol("]") => brackets = brackets.checked_sub(1)?,
                TokenKind::Symbol(")") if brackets == 0 => return Some(k),
                TokenKind::Symbol(";" | "{" | "}") | TokenKind::End => return None,
                TokenKind::Word if brackets == 0 => {}
                TokenKind::Symbol(",") if brackets == 0 => {}
                _ if brackets == 0 => return None,
                _ => {}
            }
        }
        None
    }

    fn symbol(&self, ahead: usize) -> &'static str {
        if let TokenKind::Symbol(symbol) = self.peek(ahead).kind { symbol } else { "" }
    }

    /// Marks the outputs of a selection that could not be read.
    pub(super) fn doubt_selection(&mut self) {
        let names: Vec<Word<'a>> = match self.is("(").then(|| self.closing()).flatten() {
            Some(close) => (1..close)
                .filter(|k| self.is_at(k + 1, ",") || self.is_at(k + 1, ")") || self.is_at(k + 1, "["))
                .filter_map(|k| self.word_at(k))
                .collect(),
            None if self.is_at(1, ",") => {
                (1..).take_while(|k| self.is_at(2 * k - 1, ",")).filter_map(|k| self.word_at(2 * k)).collect()
            }
            None => return,
        };
        for name in names {
            let span = name.span;
            self.program.statements.push(Statement { kind: StatementKind::Broken { name }, span });
        }
    }
}

/// `1 value`, `3 outputs`.
fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
