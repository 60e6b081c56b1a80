//! Expressions: precedence by an operator stack, so that long chains need no recursion.

use super::{MAX_NESTING, Parsed, Parser};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{BINARY, BinaryOp, ExprId, ExprKind, UnaryOp, Word};
use crate::syntax::lex::TokenKind;

/// A prefix: an operator or a cast.
enum Prefix<'a> {
    Unary(UnaryOp),
    Cast(Word<'a>),
}

impl<'a> Parser<'a> {
    /// Goes one level deeper.
    pub(super) fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth <= MAX_NESTING {
            return Ok(());
        }
        let message = format!("this is nested more than {MAX_NESTING} levels deep");
        let error = Diagnostic::error(codes::NESTING, message, self.peek(0).span, "one level too many");
        self.fail(error.help("give a part of it a name of its own"))
    }

    fn leave(&mut self, levels: u32) {
        self.depth -= levels;
    }

    fn span(&self, id: ExprId) -> Span {
        self.program.expr(id).span
    }

    /// `binary`, or `binary ? expression : expression`.
    pub(super) fn expression(&mut self) -> Parsed<ExprId> {
        let condition = self.binary()?;
        self.choice_of_python(condition)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        self.enter()?;
        let then = self.expression()?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        self.leave(1);
        let span = self.span(condition).to(self.span(otherwise));
        Ok(self.push(ExprKind::Select(condition, then, otherwise), span))
    }

    fn infix(&self) -> Option<(BinaryOp, u8)> {
        let TokenKind::Symbol(symbol) = self.kind() else { return None };
        BINARY.iter().find(|b| b.1 == symbol).map(|b| (b.0, b.2))
    }

    /// A chain of infix operators, all of which associate to the left.
    pub(super) fn binary(&mut self) -> Parsed<ExprId> {
        let mut operands = vec![self.unary()?];
        let mut operators: Vec<(BinaryOp, u8)> = Vec::new();
        loop {
            self.words_for_operators(false)?;
            self.unequal_of_others()?;
            let next = self.infix();
            let level = next.map_or(0, |n| n.1);
            while operators.last().is_some_and(|o| o.1 >= level) {
                let (op, _) = operators.pop().expect("just seen");
                let right = operands.pop().expect("an operator has two operands");
                let left = operands.pop().expect("an operator has two operands");
                let span = self.span(left).to(self.span(right));
                self.chain(op, left, right)?;
                operands.push(self.push(ExprKind::Binary(op, left, right), span));
            }
            let Some(next) = next else { break };
            operators.push(next);
            self.next();
            operands.push(self.unary()?);
        }
        Ok(operands.pop().expect("one operand is left"))
    }

    /// Prefix operators and casts, then an operand.
    pub(super) fn unary(&mut self) -> Parsed<ExprId> {
        let mut prefixes = Vec::new();
        loop {
            let start = self.peek(0).span.start;
            let prefix = if let TokenKind::Symbol(symbol) = self.kind()
                && let Some(op) = UnaryOp::from_symbol(symbol)
            {
                self.next();
                Prefix::Unary(op)
            } else if self.cast_follows() {
                self.next();
                let format = self.format()?;
                self.expect(")")?;
                Prefix::Cast(format)
            } else {
                break;
            };
            self.enter()?;
            prefixes.push((prefix, start));
        }
        self.words_for_operators(true)?;
        let mut id = self.operand()?;
        self.member(id)?;
        self.cast_behind(id)?;
        if self.is("**") {
            return self.power(id);
        }
        self.leave(prefixes.len() as u32);
        for (prefix, start) in prefixes.into_iter().rev() {
            let span = Span { start, end: self.span(id).end };
            let kind = match prefix {
                Prefix::Unary(op) => ExprKind::Unary(op, id),
                Prefix::Cast(format) => ExprKind::Cast(format, id),
            };
            id = self.push(kind, span);
        }
        Ok(id)
    }

    /// Whether `(format)` stands here. Misspelt formats count where nothing else could be meant.
    fn cast_follows(&self) -> bool {
        if !self.is("(") {
            return false;
        }
        match self.peek(1).kind {
            TokenKind::Format => true,
            TokenKind::Word if self.at != self.condition_at => match self.peek(2).kind {
                TokenKind::Number => self.peek(2).span.start == self.peek(1).span.end && self.is_at(3, ")"),
                TokenKind::Symbol(")") => match self.peek(3).kind {
                    TokenKind::Word | TokenKind::Number => true,
                    // A value is no function: only a format stands before a parenthesis.
                    TokenKind::Symbol("(" | "~" | "!") => true,
                    TokenKind::Symbol("-" | "+") => self.types.contains(self.text_of(self.peek(1))),
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        }
    }

    /// A number, a name, a call or a parenthesis, and the indices behind it.
    fn operand(&mut self) -> Parsed<ExprId> {
        let start = self.peek(0).span;
        self.strange_operand()?;
        let mut id = match self.kind() {
            TokenKind::Number => {
                let token = self.next();
                self.push(ExprKind::Number(self.text_of(token)), start)
            }
            TokenKind::Word if self.is_at(1, "(") => self.call()?,
            TokenKind::Word => {
                let word = self.word_at(0).expect("just seen");
                if super::RESERVED.contains(&word.text) {
                    return self.expected("a value");
                }
                self.next();
                self.named(word)?
            }
            TokenKind::Symbol("(") => {
                self.next();
                self.enter()?;
                let inner = self.expression()?;
                let mut elements = vec![inner];
                while self.eat(",") {
                    elements.push(self.expression()?);
                }
                self.leave(1);
                self.equals_for_comparison()?;
                self.expect(")")?;
                let kind = if elements.len() > 1 { ExprKind::Vector(elements) } else { ExprKind::Paren(inner) };
                self.push(kind, start.to(self.previous().span))
            }
            TokenKind::Format => {
                let (format, calls) = (self.text_of(self.peek(0)), self.is_at(1, "("));
                let error = Diagnostic::error(codes::SYNTAX, "a format is not a value", start, "a format");
                let several =
                    ["float", "double", "int", "uint", "half"].iter().find_map(|kind| format.strip_prefix(kind));
                if calls && several.is_some_and(|n| matches!(n, "2" | "3" | "4")) {
                    return self.fail(error.help("a vector is written `(a, b, c)`").edit(start, ""));
                }
                let error = error.help(format!("write a cast as `({format})x`"));
                return self.fail(if calls { error.edit(start, format!("({format})")) } else { error });
            }
            _ => return self.expected("a value"),
        };
        while self.is("[") {
            let (index, low) = self.bracket()?;
            let kind = low.map_or(ExprKind::Index(id, index), |low| ExprKind::Bits(id, index, low));
            id = self.push(kind, start.to(self.previous().span));
        }
        Ok(id)
    }

    /// A name, and the indices right behind it.
    fn named(&mut self, word: Word<'a>) -> Parsed<ExprId> {
        let mut indices = Vec::new();
        let mut end = word.span;
        let mut bits = None;
        while bits.is_none() && self.is("[") {
            match self.bracket()? {
                (index, None) => {
                    indices.push(index);
                    end = self.previous().span;
                }
                (high, Some(low)) => bits = Some((high, low)),
            }
        }
        let kind = if indices.is_empty() { ExprKind::Name(word.text) } else { ExprKind::Element(word, indices) };
        let id = self.push(kind, word.span.to(end));
        Ok(match bits {
            Some((high, low)) => self.push(ExprKind::Bits(id, high, low), word.span.to(self.previous().span)),
            None => id,
        })
    }

    /// `[index]` or `[high:low]`.
    fn bracket(&mut self) -> Parsed<(ExprId, Option<ExprId>)> {
        self.expect("[")?;
        self.enter()?;
        let index = self.expression()?;
        self.two_indices()?;
        let low = if self.eat(":") { Some(self.expression()?) } else { None };
        self.leave(1);
        self.expect("]")?;
        Ok((index, low))
    }

    fn call(&mut self) -> Parsed<ExprId> {
        let function = self.word_at(0).expect("the caller saw a word");
        if super::RESERVED.contains(&function.text) {
            return self.expected("a value");
        }
        self.next();
        self.next();
        self.enter()?;
        let mut args = Vec::new();
        if !self.is(")") {
            args.push(self.argument(function)?);
            while self.eat(",") {
                args.push(self.argument(function)?);
            }
        }
        self.leave(1);
        if !self.eat(")") {
            return self.expected("`,` or `)`");
        }
        Ok(self.push(ExprKind::Call(function, args), function.span.to(self.previous().span)))
    }

    /// An argument: functions of the file and `pg_from_bits` take formats too.
    fn argument(&mut self, function: Word) -> Parsed<ExprId> {
        let takes = !function.text.starts_with("pg_") || function.text == "pg_from_bits";
        let whole = self.is_at(1, ",") || self.is_at(1, ")");
        if self.kind() == TokenKind::Format && takes && whole {
            let format = self.format()?;
            return Ok(self.push(ExprKind::Format(format), format.span));
        }
        self.expression()
    }
}
