//! More notation of C, Fortran, Java and Verilog: kinds in declarations, comments behind a statement, several names in one
//! declaration, values that are declared and not given, operators over the bits of one value.

use super::{Parsed, Parser};
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::Word;
use crate::syntax::foreign::{OPENINGS, WHOLE, one_word};
use crate::syntax::lex::TokenKind;

impl<'a> Parser<'a> {
    /// `real(8) :: t`, in front of the parenthesis.
    pub(super) fn kind_of_fortran(&mut self, word: Word<'a>) -> Parsed<()> {
        let is_type = matches!(word.text, "real" | "integer" | "logical" | "complex");
        match self.arguments_at(self.at) {
            Some((_, close)) if is_type && self.symbol_at(close + 1) == ":" && self.symbol_at(close + 2) == ":" => {
                self.declaration_of_fortran(word)
            }
            _ => Ok(()),
        }
    }

    /// `t = x ! a comment` and `a = x, b = y`, where a statement should end.
    pub(super) fn end_of_others(&mut self) -> Parsed<()> {
        let (token, end) = (self.peek(0).span, self.previous().span.end);
        let gap = Span { start: end, end: token.end };
        if self.is(",") {
            let error =
                Diagnostic::error(crate::diag::codes::SYNTAX, "a statement ends with `;`", token, "not a comma");
            let error = error.help("write `;`, and a whole statement or declaration behind it");
            let is_value = self.peek(1).kind == TokenKind::Word && self.is_at(2, "=");
            return self.fail(if is_value { error.edit(token, ";") } else { error });
        }
        if self.is("!") && !self.at_new_line() && end < token.start && !self.is_at(1, "=") {
            let error = self.foreign("`!` begins no comment", token, "comments begin with `//` and end with the line");
            return self.fail(error.edit(gap, "; //"));
        }
        Ok(())
    }

    /// `float t;` and `float d[3];`: a value with the type of another language and without a value. Edits lead to what is left.
    pub(super) fn declared_alone(&self, format: Word<'a>, name: Word<'a>, error: Diagnostic) -> Diagnostic {
        let is_type = OPENINGS.contains(&format.text) && format.text.parse::<hdl::Format>().is_err();
        if !is_type || !self.is(";") {
            return error;
        }
        let is_vector = self.previous_is("]");
        let help = match is_vector {
            true => "leave the type out: elements take the formats of what they are given",
            false => "leave it out: a value takes the format of what it is made of",
        };
        let end = if is_vector { name.span.start } else { self.peek(0).span.end };
        error.help(help).edit(Span { start: format.span.start, end }, "")
    }

    /// `unsigned int t = k` and `(unsigned char)k`, at the first word: one word for both.
    pub(super) fn two_words(&mut self, word: Word<'a>) -> Parsed<()> {
        let second = self.peek(1);
        let known = if second.kind == TokenKind::Word { one_word(word.text, self.text_of(second)) } else { None };
        let Some(one) = known else { return Ok(()) };
        let whole = word.span.to(second.span);
        let error = self.foreign(format!("`{}` is not a format", whole.of(self.text)), whole, format!("write `{one}`"));
        self.fail(error.edit(whole, one))
    }

    /// `int q = x / y`, of which C keeps an integer: a cast of C in front of the value, from whose format the next remedy follows.
    pub(super) fn cut_off(&self, format: Word<'a>, value: Span, error: Diagnostic) -> Diagnostic {
        let text = value.of(self.text);
        let is_whole =
            text.bytes().all(|b| b.is_ascii_alphanumeric()) && text.starts_with(|c: char| c.is_ascii_digit());
        let inner = text.strip_prefix('(').and_then(|t| t.split_once(')'));
        let is_cast = inner.is_some_and(|(t, _)| t.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        if !WHOLE.contains(&format.text) || is_whole || is_cast {
            return error;
        }
        let (front, behind) = (Span { end: value.start, ..value }, Span { start: value.end, ..value });
        error.edit(front, format!("({})(", format.text)).edit(behind, ")")
    }

    /// `&x`, `|x` and `^x` of Verilog, where a value should stand: all bits of x in one. Of `&x` it must be a part of a value, since
    /// C takes an address so.
    pub(super) fn reduction_of_verilog(&mut self) -> Parsed<Option<()>> {
        let sign = self.symbol_at(self.at);
        let start = self.peek(0).span;
        let touches = start.end == self.peek(1).span.start;
        if !touches || self.peek(1).kind != TokenKind::Word {
            return Ok(None);
        }
        let (mut last, mut is_part) = (self.at + 1, false);
        if self.symbol_at(last + 1) == "[" {
            let Some(close) = (last + 2..self.tokens.len().min(last + 12)).find(|k| self.symbol_at(*k) == "]") else {
                return Ok(None);
            };
            is_part = (last + 2..close).any(|k| self.symbol_at(k) == ":");
            last = close;
        }
        if sign == "&" && !is_part {
            return Ok(None);
        }
        let operand = self.source((self.at + 1, last + 1));
        let text = match sign {
            "&" => format!("(~{operand} == 0)"),
            "|" => format!("({operand} != 0)"),
            _ => format!("(pg_popcount({operand}) & 1)"),
        };
        let whole = start.to(self.tokens[last].span);
        let error = self.foreign(format!("`{sign}` stands between two values"), start, format!("write `{text}`"));
        self.fail(error.edit(whole, text))
    }
}
