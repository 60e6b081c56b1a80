//! Recovery after a mistake: to the next statement, remembering the names that are now in doubt.

use super::Parser;
use crate::syntax::ast::{Statement, StatementKind};
use crate::syntax::lex::TokenKind;

impl<'a> Parser<'a> {
    /// Skips the statement that began at token `start`. What it would have defined becomes
    /// [`StatementKind::Broken`], so that one mistake is not reported again at each use.
    pub(super) fn recover(&mut self, start: usize) {
        let failed_at = self.at;
        self.at = start;
        self.doubt();
        self.doubt_selection();
        let opening = self.word_at(0).map_or("", |w| w.text);
        let has_block = matches!(opening, "for" | "if" | "else" | "fn");
        // In the head of a C loop, semicolons stand in parentheses, which may have been left out.
        let (mut braces, mut parens) = (0u32, (opening == "for" && self.is_at(2, "=")) as u32);
        loop {
            let begins = self.at > start && braces == 0 && self.at_new_line() && self.begins_statement();
            // The mistake itself may be the first token of the next line: `dx = (a + b` and then `r2 = ...`.
            if self.kind() == TokenKind::End || (begins && self.at >= failed_at && !has_block) {
                return;
            }
            // In the block of the statement, also in one without braces.
            if braces > 0 || has_block && parens == 0 && self.at > start && self.at_new_line() {
                self.doubt();
            }
            // The end of the block around the statement.
            if braces == 0 && self.is("}") && !self.blocks.is_empty() {
                return;
            }
            match self.next().kind {
                TokenKind::Symbol("{") => braces += 1,
                TokenKind::Symbol("}") => {
                    braces = braces.saturating_sub(1);
                    let goes_on = self.word_at(0).is_some_and(|w| w.text == "else");
                    if braces == 0 && !goes_on {
                        self.eat(";");
                        return;
                    }
                }
                TokenKind::Symbol("(") if has_block && braces == 0 => parens += 1,
                TokenKind::Symbol(")") => parens = parens.saturating_sub(1),
                TokenKind::Symbol(";") if braces == 0 && parens == 0 => return,
                _ => {}
            }
        }
    }

    /// Whether a statement plainly begins at the next token.
    fn begins_statement(&self) -> bool {
        match self.kind() {
            TokenKind::Format => true,
            TokenKind::Word => {
                let next = self.peek(1).kind;
                matches!(next, TokenKind::Word | TokenKind::Symbol("=" | "+="))
                    || self.word_at(0).is_some_and(|w| w.text == "const")
            }
            _ => false,
        }
    }

    /// Marks the name that the statement at the next token defines, if it looks like one.
    fn doubt(&mut self) {
        let first_number = self.peek(1).kind == TokenKind::Number && self.text_of(self.peek(1)).starts_with('.');
        // `const float25.16 G = ...` and more words before a name than PG2 has.
        let words = (0..).take_while(|k| matches!(self.peek(*k).kind, TokenKind::Word | TokenKind::Format)).count();
        let assigned = words >= 2 && self.is_at(words, "=") && self.peek(words - 1).kind == TokenKind::Word;
        let name = match (self.kind(), self.peek(1).kind) {
            _ if assigned && !matches!(self.text_of(self.peek(words - 1)), "max" | "min") => self.word_at(words - 1),
            (TokenKind::Format, TokenKind::Word) => self.word_at(1),
            (TokenKind::Word, TokenKind::Word) if !matches!(self.text_of(self.peek(1)), "max" | "min") => {
                self.word_at(1)
            }
            (TokenKind::Word, TokenKind::Number) if first_number => self.word_at(2),
            (TokenKind::Word, TokenKind::Word | TokenKind::Symbol(_)) if !self.is_at(1, "(") => self.word_at(0),
            _ => None,
        };
        if let Some(name) = name {
            let span = name.span;
            self.program.statements.push(Statement { kind: StatementKind::Broken { name }, span });
        }
    }
}
