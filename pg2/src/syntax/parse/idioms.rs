//! Habits of other languages that need more than a word in the place of another: guards, lists of values, choices of Python, methods,
//! casts with names, comments. Each is reported with its remedy.

use super::{BlockKind, Parsed, Parser};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{ExprId, ExprKind, Word};
use crate::syntax::functions;
use crate::syntax::lex::TokenKind;

/// Functions that add to memory in one step, with the reduction that each is.
const ATOMICS: &[(&str, &str)] = &[
    ("atomicAdd", "+="),
    ("atomic_add", "+="),
    ("atomicMax", "max="),
    ("atomic_max", "max="),
    ("atomicMin", "min="),
    ("atomic_min", "min="),
];

/// The most elements of a list that is written out.
const MOST_ELEMENTS: usize = 16;

impl<'a> Parser<'a> {
    /// The end of the line of a place.
    fn end_of_line(&self, from: usize) -> usize {
        self.text[from..].find('\n').map_or(self.text.len(), |k| from + k)
    }

    /// Goes to the first token behind a place.
    fn skip_to(&mut self, end: usize) {
        while self.kind() != TokenKind::End && self.peek(0).span.start < end {
            self.next();
        }
    }

    /// Reports a line that means nothing here, and goes behind it.
    pub(super) fn line_to_remove<T>(&mut self, message: &str, help: &str) -> Parsed<T> {
        let span = self.peek(0).span;
        let end = self.end_of_line(span.start);
        let end = self.text[span.start..end].find(';').map_or(end, |k| span.start + k + 1);
        let error = self.foreign(message, span, help);
        self.skip_to(end);
        self.fail(error.edit(Span { start: span.start, end }, ""))
    }

    /// `! a comment of Fortran`, `% one of MATLAB` and `-- one of VHDL`, where a statement should begin.
    pub(super) fn foreign_comment(&mut self) -> Parsed<()> {
        let dashes = self.is("-") && self.is_at(1, "-");
        if !self.is("!") && !self.is("%") && !dashes {
            return Ok(());
        }
        let span = if dashes { self.peek(0).span.to(self.peek(1).span) } else { self.peek(0).span };
        let message = format!("`{}` begins no comment", span.of(self.text));
        let error = Diagnostic::error(codes::SYNTAX, message, span, "not a statement");
        self.skip_to(self.end_of_line(span.start));
        self.fail(error.help("comments begin with `//` and end with the line").edit(span, "//"))
    }

    /// Statements that begin with a word of CUDA, OpenCL, Verilog or Fortran.
    pub(super) fn habit(&mut self, word: Word<'a>) -> Parsed<()> {
        let next = self.peek(1).kind;
        let continues = matches!(next, TokenKind::Word | TokenKind::Format);
        if let Some((_, reduce)) = ATOMICS.iter().find(|a| a.0 == word.text).filter(|_| self.is_at(1, "(")) {
            return self.atomic(word, reduce);
        }
        match word.text {
            "assign" | "inline" | "__device__" | "__host__" | "__forceinline__" | "public" | "private" | "volatile"
            | "register"
                if continues =>
            {
                let blank = Span { start: word.span.start, end: self.peek(1).span.start };
                let help = format!("leave `{}` out", word.text);
                self.fail(self.foreign(format!("there is no `{}`", word.text), word.span, help).edit(blank, ""))
            }
            "__global__" | "__kernel" | "kernel" | "subroutine" | "program" | "module" | "void" if continues => {
                let help = "a kernel has no function around it: its statements stand in the file, its arguments are pins, such as \
                            `float32.23 xi[3] ipin;`, and it runs for all targets and sources";
                self.fail(self.foreign(format!("there is no `{}`", word.text), word.span, help))
            }
            "__syncthreads" | "barrier" | "__syncwarp" if self.is_at(1, "(") => {
                self.line_to_remove("there are no threads that wait for each other", "remove it")
            }
            "end" | "endmodule" | "endprogram" | "endfunction" if !self.is_at(1, "=") && self.blocks.is_empty() => self
                .line_to_remove(&format!("there is no `{}`", word.text), "remove it: a file ends with its last line"),
            "real" | "integer" | "logical" | "double" if self.is_at(1, ",") => self.declaration_of_fortran(word),
            "wire" | "reg" | "logic" if self.is_at(1, "[") => self.width_of_verilog(word),
            "constexpr" | "parameter" | "localparam" | "static" | "final"
                if continues && self.peek(2).kind == TokenKind::Word && self.is_at(3, "=") =>
            {
                let head = word.span.to(self.peek(2).span);
                let text = format!("const {}", self.text_of(self.peek(2)));
                let help =
                    format!("write `{text} = ...`: the number is exact and takes the format of what it is used with");
                self.fail(self.foreign(format!("there is no `{}`", word.text), word.span, help).edit(head, text))
            }
            "static" if continues => {
                let blank = Span { start: word.span.start, end: self.peek(1).span.start };
                self.fail(self.foreign("there is no `static`", word.span, "leave `static` out").edit(blank, ""))
            }
            _ => Ok(()),
        }
    }

    /// `atomicAdd(&o, x)`.
    fn atomic(&mut self, word: Word<'a>, reduce: &str) -> Parsed<()> {
        let help = format!("sums need no care here: write `o {reduce} x`");
        let error = self.foreign(format!("there is no `{}`", word.text), word.span, help);
        let Some((parts, close)) = self.arguments_at(self.at + 1) else { return self.fail(error) };
        let [target, value] = parts[..] else { return self.fail(error) };
        let target = self.source(target).trim_start_matches(['&', ' ']);
        let text = format!("{target} {reduce} {}", self.source(value));
        let whole = word.span.to(self.tokens[close].span);
        self.fail(error.help(format!("write `{text}`: sums need no care here")).edit(whole, text))
    }

    /// `real :: x` and `real, parameter :: g = 6.67`; behind the first word.
    pub(super) fn declaration_of_fortran(&mut self, word: Word<'a>) -> Parsed<()> {
        let end = self.end_of_line(word.span.start);
        let line = &self.text[word.span.start..end];
        let help = "leave the line out: a value takes the format of what it is made of";
        let error = self.foreign("values are not declared", word.span, help);
        let (head, rest) = line.split_once("::").unwrap_or((line, ""));
        let whole = Span { start: word.span.start, end: word.span.start + head.len() + 2 };
        let error = match (rest.contains('='), head.contains("parameter")) {
            (true, true) => error.help("write `const` in front of a number with a name").edit(whole, "const"),
            (true, false) => error.edit(whole, ""),
            (false, _) => error.edit(Span { end, ..whole }, ""),
        };
        self.skip_to(end);
        self.fail(error)
    }

    /// `if (c) return;` and `if (c) continue;`, behind the condition: the rest of the block is what the condition is for.
    pub(super) fn guard(&mut self, opening: Span, condition: ExprId) -> Parsed<()> {
        let brace = self.is("{") as usize;
        let Some(word) = self.word_at(brace) else { return Ok(()) };
        let inside = |kind| self.blocks.contains(&kind);
        let leaves = match word.text {
            "return" | "exit" => !inside(BlockKind::Function),
            "continue" | "cycle" | "next" => inside(BlockKind::Loop) || self.blocks.is_empty(),
            _ => false,
        };
        if !leaves || !self.is_at(brace + 1, ";") || brace == 1 && !self.is_at(3, "}") {
            return Ok(());
        }
        let end = self.peek(2 * brace + 1).span.end;
        let text = self.program.expr(condition).span.of(self.text);
        let test = if text.starts_with('(') && text.ends_with(')') { format!("!{text}") } else { format!("!({text})") };
        let head = format!("if ({test}) {{");
        let message = format!("`{}` leaves nothing: every statement becomes a circuit", word.text);
        let error = Diagnostic::error(codes::SYNTAX, message, word.span, "not possible here");
        let error = error.help(format!("write `{head} ... }}` around what follows"));
        let close = self.rest_of_block(self.at + 2 * brace + 2);
        self.skip_to(end);
        self.fail(match close {
            Some(at) if text.len() <= 60 => {
                error.edit(Span { start: opening.start, end }, head).edit(Span { start: at, end: at }, "\n}\n")
            }
            _ => error,
        })
    }

    /// Where the block ends that token `from` stands in; none where something follows that no block holds.
    fn rest_of_block(&self, from: usize) -> Option<usize> {
        let mut depth = 0u32;
        for k in from..self.tokens.len() {
            let begins = depth == 0 && matches!(self.symbol_at(k - 1), ";" | "}");
            match self.tokens[k].kind {
                TokenKind::End => return Some(self.text.len()),
                TokenKind::Symbol("{") => depth += 1,
                TokenKind::Symbol("}") if depth == 0 => return Some(self.tokens[k].span.start),
                TokenKind::Symbol("}") => depth -= 1,
                TokenKind::Format if begins => return None,
                TokenKind::Word if begins && matches!(self.text_of(self.tokens[k]), "fn" | "const" | "include") => {
                    return None;
                }
                _ => {}
            }
        }
        None
    }

    /// `v[3] = {1, 2, 3}` and `v = [1, 2, 3]`, in front of the equals sign.
    pub(super) fn list_of_values(&mut self, first: Span, name: Word<'a>, format: Option<&str>) -> Parsed<()> {
        let is_list = self.is_at(1, "{") || self.is_at(1, "[") || self.is_at(1, "(") && self.is_at(2, "/");
        if !is_list {
            return Ok(());
        }
        let open = self.at + 1;
        let message = "there are no lists of values";
        let error = self.foreign(
            message,
            self.tokens[open].span,
            format!("write `{0}[3]; {0}[0] = ...;` and so on", name.text),
        );
        let Some((parts, close)) = self.list_at(open) else { return self.fail(error) };
        if parts.len() > 1 && parts.iter().all(|p| !matches!(self.symbol_at(p.0), "{" | "[")) {
            let known = format.filter(|f| f.parse::<hdl::Format>().is_ok());
            let all: Vec<&str> = parts.iter().map(|p| self.source(*p)).collect();
            let text =
                format!("{} = {}({})", name.text, known.map_or(String::new(), |f| format!("({f})")), all.join(", "));
            let whole = first.to(self.tokens[close].span);
            return self.fail(error.help(format!("write `{text}`")).edit(whole, text));
        }
        let cast = format.filter(|f| f.parse::<hdl::Format>().is_ok()).map_or(String::new(), |f| format!("({f})"));
        let mut text = format!("{}[{}];", name.text, parts.len());
        for (k, part) in parts.iter().enumerate() {
            let value = self.source(*part);
            let value = if cast.is_empty() { value.to_string() } else { format!("{cast}({value})") };
            text += &format!(" {}[{k}] = {value}{}", name.text, if k + 1 < parts.len() { ";" } else { "" });
        }
        let whole = first.to(self.tokens[close].span);
        self.fail(error.help(format!("write `{text}`")).edit(whole, text))
    }

    /// The parts of a list that opens at a token, and the index of what closes it.
    pub(super) fn list_at(&self, open: usize) -> Option<(Vec<(usize, usize)>, usize)> {
        let slash = (self.symbol_at(open) == "(") as usize;
        let (mut depth, mut parts, mut from) = (0u32, Vec::new(), open + 1 + slash);
        for k in open..self.tokens.len().min(open + 400) {
            match self.symbol_at(k) {
                "{" | "[" | "(" => depth += 1,
                "}" | "]" | ")" if depth == 1 => {
                    parts.push((from, k - slash));
                    let whole = parts.len() <= MOST_ELEMENTS && parts.iter().all(|p| p.0 < p.1);
                    return whole.then_some((parts, k));
                }
                "}" | "]" | ")" => depth -= 1,
                "," if depth == 1 => {
                    parts.push((from, k));
                    from = k + 1;
                }
                ";" => return None,
                _ => {}
            }
        }
        None
    }

    /// `a = b = e`, behind the first value.
    pub(super) fn chain_of_names(&mut self, name: Word<'a>, value: ExprId) -> Parsed<()> {
        let second = self.program.expr(value).span;
        if !self.is("=") || !matches!(self.program.expr(value).kind, ExprKind::Name(_)) {
            return Ok(());
        }
        let equals = self.next().span;
        let from = self.peek(0).span;
        self.tree()?;
        let end = self.previous().span;
        let text = format!("{0} = {1}; {2} = {0}", second.of(self.text), from.to(end).of(self.text), name.text);
        let error = self.foreign("an assignment has no value", equals, format!("write `{text}`"));
        self.fail(error.edit(name.span.to(end), text))
    }

    /// `a if c else b`, behind a.
    pub(super) fn choice_of_python(&mut self, value: ExprId) -> Parsed<()> {
        let Some(word) = self.word_at(0).filter(|w| w.text == "if" && !self.at_new_line()) else { return Ok(()) };
        let whole = self.program.expr(value).span;
        let yes = whole.of(self.text);
        self.next();
        self.enter()?;
        let from = self.peek(0).span;
        self.binary()?;
        let condition = from.to(self.previous().span).of(self.text);
        let error =
            self.foreign("a choice is written `c ? a : b`", word.span, format!("write `({condition} ? {yes} : ...)`"));
        if self.word_at(0).is_none_or(|w| w.text != "else") {
            return self.fail(error);
        }
        self.next();
        let from = self.peek(0).span;
        self.expression()?;
        let end = self.previous().span;
        let text = format!("({condition} ? {yes} : {})", from.to(end).of(self.text));
        self.fail(error.help(format!("write `{text}`")).edit(whole.to(end), text))
    }

    /// `a /= b` of Fortran and `a ~= b` of MATLAB inside an expression.
    pub(super) fn unequal_of_others(&mut self) -> Parsed<()> {
        let span = match () {
            () if self.is("/=") => self.peek(0).span,
            () if self.is("~") && self.is_at(1, "=") && self.peek(0).span.end == self.peek(1).span.start => {
                self.peek(0).span.to(self.peek(1).span)
            }
            () => return Ok(()),
        };
        let error = self.foreign(format!("there is no `{}`", span.of(self.text)), span, "write `!=`");
        self.fail(error.edit(span, "!="))
    }

    /// Construct of another language where a value should stand.
    pub(super) fn strange_operand(&mut self) -> Parsed<()> {
        let token = self.peek(0);
        let touches = self.at > 0 && self.previous().span.end == token.span.start;
        match token.kind {
            TokenKind::Symbol(">") if touches && self.previous_is(">>") => {
                let whole = self.previous().span.to(token.span);
                let help = "write `>>`: it copies the sign of an int, and shifts zeros into a uint";
                let error = self.foreign("there is no `>>>`", whole, help);
                self.fail(error.edit(whole, ">>"))
            }
            TokenKind::Symbol("=") if touches && (self.previous_is("==") || self.previous_is("!=")) => {
                let whole = self.previous().span.to(token.span);
                let error =
                    self.foreign(format!("there is no `{}`", whole.of(self.text)), whole, "leave the last `=` out");
                self.fail(error.edit(token.span, ""))
            }
            TokenKind::Symbol(">") if touches && self.previous_is("<") => {
                let whole = self.previous().span.to(token.span);
                self.fail(self.foreign("there is no `<>`", whole, "write `!=`").edit(whole, "!="))
            }
            TokenKind::Symbol("&" | "|" | "^") if self.reduction_of_verilog()?.is_some() => Ok(()),
            TokenKind::Symbol("&") => {
                let continues = self.text[token.span.end..].trim_start_matches([' ', '\t', '\r']).starts_with('\n');
                let (message, help) = match continues {
                    true => ("a statement goes on without a sign for it", "remove it: a statement ends with `;` alone"),
                    false => ("there are no pointers", "leave the `&` out"),
                };
                self.fail(self.foreign(message, token.span, help).edit(token.span, ""))
            }
            TokenKind::Symbol("<") if touches && self.previous_is("<<") => {
                let whole = self.previous().span.to(token.span);
                self.fail(self.foreign("there is no `<<<`", whole, "write `<<`").edit(whole, "<<"))
            }
            TokenKind::Symbol("[") => self.list_as_value(),
            TokenKind::Symbol(".") if self.is_at(2, ".") => self.word_between_points(),
            TokenKind::Word if self.is_at(1, "<") => self.cast_with_name(),
            TokenKind::Word if self.previous_is("(") && self.peek(1).kind == TokenKind::Word && self.is_at(2, ")") => {
                let word = Word { text: self.text_of(token), span: token.span };
                self.two_words(word)
            }
            _ => Ok(()),
        }
    }

    /// `.true.`, `.false.` and `.not.`.
    fn word_between_points(&mut self) -> Parsed<()> {
        let span = self.peek(0).span.to(self.peek(2).span);
        let text = match self.word_at(1).map(|w| w.text.to_ascii_lowercase()).as_deref() {
            Some("true") => "1",
            Some("false") => "0",
            Some("not") => "!",
            _ => return Ok(()),
        };
        let error = self.foreign(format!("there is no `{}`", span.of(self.text)), span, format!("write `{text}`"));
        self.fail(error.edit(span, text))
    }

    /// `static_cast<int>(x)`.
    fn cast_with_name(&mut self) -> Parsed<()> {
        let word = self.text_of(self.peek(0));
        let of_type = matches!(self.peek(2).kind, TokenKind::Word | TokenKind::Format)
            && self.is_at(3, ">")
            && self.is_at(4, "(");
        if !word.ends_with("_cast") || !of_type {
            return Ok(());
        }
        let whole = self.peek(0).span.to(self.peek(3).span);
        let text = format!("({})", self.text_of(self.peek(2)));
        let error = self.foreign(format!("there is no `{word}`"), self.peek(0).span, format!("write `{text}x`"));
        self.fail(error.edit(whole, text))
    }

    /// `v.dot(w)`: a function that stands behind its first argument.
    pub(super) fn method<T>(&mut self, base: Span, word: Word<'a>) -> Parsed<T> {
        let known = functions::meant(word.text).map_or(word.text, |f| f.name);
        let text = base.of(self.text);
        let error = self.foreign(
            "functions stand in front of their arguments",
            self.peek(0).span,
            format!("write `{known}({text})`"),
        );
        let comma = if self.is_at(3, ")") { "" } else { ", " };
        let whole = base.to(self.peek(2).span);
        let plain = text.len() <= 40 && !text.contains('\n');
        self.fail(if plain { error.edit(whole, format!("{known}({text}{comma}")) } else { error })
    }

    /// `x as f32` of Rust, behind x.
    pub(super) fn cast_behind(&mut self, operand: ExprId) -> Parsed<()> {
        let Some(word) = self.word_at(0).filter(|w| w.text == "as" && !self.at_new_line()) else { return Ok(()) };
        if !matches!(self.peek(1).kind, TokenKind::Word | TokenKind::Format) {
            return Ok(());
        }
        let base = self.program.expr(operand).span;
        let format = self.text_of(self.peek(1));
        let whole = base.to(self.peek(1).span);
        let text = format!("(({format}){})", base.of(self.text));
        let error = self.foreign("a cast stands in front of its value", word.span, format!("write `{text}`"));
        self.fail(if base.end - base.start <= 60 { error.edit(whole, text) } else { error })
    }

    /// `0...3` and `0..=3`, behind the first bound.
    pub(super) fn inclusive_range(&mut self) -> Parsed<()> {
        let (dots, behind) = (self.peek(0).span, self.peek(1));
        let touches = dots.end == behind.span.start;
        let error = |text: &str| {
            Diagnostic::error(codes::SYNTAX, format!("there is no `{text}`"), dots, "two dots, and no more")
        };
        if self.is(":") && !self.at_line_end(0) && matches!(behind.kind, TokenKind::Number | TokenKind::Word) {
            return self.last_included(error(":"), dots, 1);
        }
        if !self.is("..") || !touches {
            return Ok(());
        }
        if self.is_at(1, "=") {
            return self.last_included(error("..="), dots.to(behind.span), 2);
        }
        let text = self.text_of(behind);
        let Some(last) = text.strip_prefix('.').filter(|_| behind.kind == TokenKind::Number) else { return Ok(()) };
        let whole = dots.to(behind.span);
        let one_more = last.parse::<u64>().ok().and_then(|n| n.checked_add(1)).map_or("...".into(), |n| n.to_string());
        let help = format!("`..{last}` ends before {last}; to have {last} too write `..{one_more}`");
        let error = error("...");
        // In some languages three dots include the last number, in others they do not.
        self.fail(Diagnostic { labels: vec![(whole, "two dots, and no more".into())], ..error.help(help) })
    }

    /// A range whose last number is part of it: `mark` becomes two dots, and the number behind it one more.
    fn last_included(&mut self, error: Diagnostic, mark: Span, ahead: usize) -> Parsed<()> {
        let last = self.peek(ahead);
        let ends = self.is_at(ahead + 1, "{") || self.is_at(ahead + 1, ":") || self.at_line_end(ahead);
        let text = self.text_of(last);
        let more =
            text.parse::<u64>().ok().and_then(|n| n.checked_add(1)).map_or(format!("{text} + 1"), |n| n.to_string());
        let error = error.help(format!("write `..{more}`: a range ends before its last number"));
        self.fail(match ends {
            true => error.edit(mark, "..").edit(last.span, more),
            false => error,
        })
    }

    /// Whether a line ends behind a token.
    fn at_line_end(&self, ahead: usize) -> bool {
        let end = self.peek(ahead).span.end;
        self.text[end..].trim_start_matches([' ', '\t', '\r']).starts_with('\n')
    }
}
