//! Notation of C, Fortran, Julia, MATLAB, NumPy and Verilog: points before operators, lists in brackets, two indices in one pair of
//! them, functions that are equations, widths of wires, names of types, ranges and values of pins.

use super::{Parsed, Parser};
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::Word;
use crate::syntax::lex::TokenKind;

impl<'a> Parser<'a> {
    /// `a .+ b` and `sqrt.(x)`, behind the first operand.
    pub(super) fn broadcast(&mut self) -> Parsed<()> {
        let TokenKind::Symbol(symbol) = self.peek(1).kind else { return Ok(()) };
        if !self.is(".") || !matches!(symbol, "+" | "-" | "*" | "/" | "(") {
            return Ok(());
        }
        let (point, both) = (self.peek(0).span, self.peek(0).span.to(self.peek(1).span));
        if symbol == "(" {
            let error = self.foreign("functions need no point", point, "leave the `.` out");
            return self.fail(error.edit(point, ""));
        }
        let help = match symbol {
            // Of two vectors it is the inner product.
            "*" | "/" => format!(
                "write `{symbol}` where one of the two is a scalar; of two vectors take the elements: `(a[0] {symbol} b[0], a[1] {symbol} b[1])`"
            ),
            _ => format!("write `{symbol}`"),
        };
        let error = self.foreign(format!("there is no `{}`", both.of(self.text)), both, help);
        self.fail(if matches!(symbol, "+" | "-") { error.edit(point, "") } else { error })
    }

    /// `[a, b, c]` as a value.
    pub(super) fn list_as_value(&mut self) -> Parsed<()> {
        let open = self.at;
        let error = self.foreign("there are no lists of values", self.peek(0).span, "a vector is written `(a, b, c)`");
        let Some((parts, close)) = self.list_at(open) else { return self.fail(error) };
        if parts.len() < 2 {
            return self.fail(error);
        }
        let all: Vec<&str> = parts.iter().map(|p| self.source(*p)).collect();
        let text = format!("({})", all.join(", "));
        let whole = self.peek(0).span.to(self.tokens[close].span);
        self.fail(error.help(format!("write `{text}`")).edit(whole, text))
    }

    /// `f(x) = 2 * x`, where `f` was taken for the target of a statement.
    pub(super) fn equation_of_function(&mut self, name: Word<'a>) -> Parsed<()> {
        let Some((parts, close)) = self.arguments_at(self.at) else { return Ok(()) };
        let names = parts.iter().all(|p| p.1 == p.0 + 1 && self.tokens[p.0].kind == TokenKind::Word);
        if !names || self.symbol_at(close + 1) != "=" {
            return Ok(());
        }
        let all: Vec<&str> = parts.iter().map(|p| self.source(*p)).collect();
        let head = format!("fn {}({})", name.text, all.join(", "));
        let front = Span { start: name.span.start, end: name.span.start };
        let error = self.foreign("functions begin with `fn`", name.span, format!("write `{head} = ...;`"));
        self.fail(error.edit(front, "fn "))
    }

    /// `wire [31:0] t = e`.
    pub(super) fn width_of_verilog(&mut self, word: Word<'a>) -> Parsed<()> {
        let close = (self.at + 1..self.tokens.len().min(self.at + 20)).find(|k| self.symbol_at(*k) == "]");
        let help = "leave it out: a value takes the format of what it is made of";
        let Some(close) = close.filter(|k| self.tokens[k + 1].kind == TokenKind::Word) else {
            return self.fail(self.foreign("values are not declared", word.span, help));
        };
        let head = word.span.to(self.tokens[close].span);
        let error = self.foreign("values are not declared", head, help);
        let blank = Span { start: word.span.start, end: self.tokens[close + 1].span.start };
        let is_given = self.symbol_at(close + 2) == "=";
        self.fail(if is_given { error.edit(blank, "") } else { error })
    }

    /// `a[i, j]`, behind the first index.
    pub(super) fn two_indices(&mut self) -> Parsed<()> {
        if !self.is(",") {
            return Ok(());
        }
        let comma = self.peek(0).span;
        let error = self.foreign("each index has brackets of its own", comma, "write `][`: `a[i][j]`");
        self.fail(error.edit(Span { start: self.previous().span.end, end: self.peek(1).span.start }, "]["))
    }

    /// `float25.16 eps(8, 8) param`, behind the name.
    pub(super) fn lengths_of_fortran(&mut self, name: Word<'a>) -> Parsed<()> {
        let error = self.foreign("lengths stand in brackets", self.peek(0).span, format!("write `{}[...]`", name.text));
        let Some((parts, close)) = self.arguments_at(self.at).filter(|(parts, _)| !parts.is_empty()) else {
            return Ok(());
        };
        if !matches!(self.text_of(self.tokens[close + 1]), "ipin" | "jpin" | "param" | "fout") {
            return Ok(());
        }
        let lengths: String = parts.iter().map(|p| format!("[{}]", self.source(*p))).collect();
        let whole = self.peek(0).span.to(self.tokens[close].span);
        let help = format!("write `{}{lengths}`; elements are numbered from 0", name.text);
        self.fail(error.help(help).edit(whole, lengths))
    }

    /// `const float w[4] = {1, 2, 3, 4}`, behind the first word.
    pub(super) fn table_of_c(&mut self) -> Parsed<()> {
        let is_format = self.kind() == TokenKind::Format;
        if !(is_format || self.kind() == TokenKind::Word) || self.peek(1).kind != TokenKind::Word || !self.is_at(2, "[")
        {
            return Ok(());
        }
        let (front, format, name) = (self.previous().span, self.peek(0).span, self.peek(1).span);
        let head = if is_format { format!("table {} ", format.of(self.text)) } else { "table ".to_string() };
        let help = format!("write `{head}{}[...] = {{...}};`", name.of(self.text));
        let error = self.foreign("a vector of constants is a table", format, help);
        self.fail(error.edit(Span { start: front.start, end: name.start }, head))
    }

    /// Whether `typedef float25.16 real;` or `using real = float25.16;` stands here.
    pub(super) fn names_format(&self) -> bool {
        let (format, name) = (TokenKind::Format, TokenKind::Word);
        self.peek(1).kind == format && self.peek(2).kind == name
            || self.peek(1).kind == name && self.is_at(2, "=") && self.peek(3).kind == format
    }

    pub(super) fn type_of_c(&mut self) -> Parsed<()> {
        let (format, name, last) = match self.peek(1).kind {
            TokenKind::Format => (self.peek(1), self.peek(2), 2),
            _ => (self.peek(3), self.peek(1), 3),
        };
        let text = format!("type {} = {}", self.text_of(name), self.text_of(format));
        let whole = self.peek(0).span.to(self.peek(last).span);
        let error = self.foreign("a format gets a name by `type`", self.peek(0).span, format!("write `{text};`"));
        self.fail(error.edit(whole, text))
    }

    /// `in [-1, 1]` and `in (-1, 1)`, behind `in`.
    pub(super) fn range_in_brackets(&mut self) -> Parsed<()> {
        let parts = if self.is("[") {
            self.list_at(self.at)
        } else if self.is("(") {
            self.arguments_at(self.at)
        } else {
            None
        };
        let Some(([low, high], close)) =
            parts.as_ref().and_then(|(p, close)| Some((<[_; 2]>::try_from(&p[..]).ok()?, *close)))
        else {
            return Ok(());
        };
        let text = format!("{}..{}", self.source(low), self.source(high));
        let whole = self.peek(0).span.to(self.tokens[close].span);
        let error = self.foreign("a range is written with two dots", self.peek(0).span, format!("write `in {text}`"));
        self.fail(error.edit(whole, text))
    }

    /// `x in -1..1 jpin`, where a class is expected.
    pub(super) fn range_before_class(&mut self, word: Word<'a>) -> Parsed<()> {
        if word.text != "in" {
            return Ok(());
        }
        let end = (self.at..self.tokens.len().min(self.at + 40)).find(|k| self.symbol_at(*k) == ";");
        let error = self.foreign("a range stands behind the class", word.span, "write `jpin in -1..1`");
        let class = end.and_then(|end| Some((end, self.tokens.get(end.checked_sub(1)?)?)));
        let Some((end, class)) = class.filter(|(_, t)| matches!(self.text_of(**t), "ipin" | "jpin" | "param" | "fout"))
        else {
            return self.fail(error);
        };
        let (class, text) = (class.span, self.text_of(*class));
        let behind = Span { start: self.tokens[end - 2].span.end, end: class.end };
        let front = Span { start: word.span.start, end: word.span.start };
        let error = error.help(format!("write `{text} {}`", self.source((self.at, end - 1))));
        self.fail(error.edit(front, format!("{text} ")).edit(behind, ""))
    }

    /// `float25.16 eps = 0.01 param`, at the equals sign.
    pub(super) fn value_before_class(&mut self, format: Word<'a>) -> Parsed<()> {
        let end = (self.at..self.tokens.len().min(self.at + 40)).find(|k| self.symbol_at(*k) == ";");
        let Some(end) = end.filter(|end| self.text_of(self.tokens[end - 1]) == "param") else { return Ok(()) };
        let (equals, class) = (self.peek(0).span, self.tokens[end - 1].span);
        let error = self.foreign(
            "a value stands behind the class",
            format.span,
            format!("write `param {}`", self.source((self.at, end - 1))),
        );
        let behind = Span { start: self.tokens[end - 2].span.end, end: class.end };
        let front = Span { start: equals.start, end: equals.start };
        self.fail(error.edit(front, "param ").edit(behind, ""))
    }

    /// `[[1, 2], [3, 4]]` as the list of a table: each bracket as a brace.
    pub(super) fn braces_for_brackets(&self, mut error: Diagnostic) -> Diagnostic {
        if !self.is("[") {
            return error;
        }
        for k in (self.at..self.tokens.len().min(self.at + 4000)).take_while(|k| self.symbol_at(*k) != ";") {
            let brace = match self.symbol_at(k) {
                "[" => "{",
                "]" => "}",
                _ => continue,
            };
            error = error.edit(self.tokens[k].span, brace);
        }
        error
    }
}
