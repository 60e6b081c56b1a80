//! Statements and operators as C, Python and Fortran have them: each is reported with what PG2 has instead.

use super::{Parsed, Parser};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{BinaryOp, ExprId, ExprKind, StatementKind, Word};
use crate::syntax::foreign::{self, MODULES};
use crate::syntax::functions;
use crate::syntax::lex::TokenKind;

impl<'a> Parser<'a> {
    pub(super) fn foreign(&self, message: impl Into<String>, span: Span, help: impl Into<String>) -> Diagnostic {
        Diagnostic::error(codes::SYNTAX, message, span, "not part of PG2").help(help)
    }

    /// The texts between commas in parentheses that open at token `open`, and the index of the closing one.
    pub(super) fn arguments_at(&self, open: usize) -> Option<(Vec<(usize, usize)>, usize)> {
        let (mut depth, mut parts, mut from) = (0, Vec::new(), open + 1);
        for k in open..self.tokens.len().min(open + 200) {
            match self.tokens[k].kind {
                TokenKind::Symbol("(" | "[") => depth += 1,
                TokenKind::Symbol(")" | "]") if depth == 1 => {
                    if k > from {
                        parts.push((from, k));
                    }
                    return Some((parts, k));
                }
                TokenKind::Symbol(")" | "]") => depth -= 1,
                TokenKind::Symbol("," | ";") if depth == 1 => {
                    parts.push((from, k));
                    from = k + 1;
                }
                TokenKind::Symbol("{" | "}") | TokenKind::End => return None,
                _ => {}
            }
        }
        None
    }

    /// `k // 2;`, whose second part is a comment: the remedy of a statement that lacks its semicolon at `end` for that.
    pub(super) fn division_of_python(&self, error: Diagnostic, end: usize) -> Option<Diagnostic> {
        let rest = &self.text[end..];
        let divisor = rest.trim_start_matches([' ', '\t']).strip_prefix("//")?.lines().next()?.trim();
        let divisor = divisor.strip_suffix(';')?.trim();
        let is_operand = divisor.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '(' || c == '_')
            && divisor.chars().all(|c| c.is_ascii_alphanumeric() || "_.()[] +-*/".contains(c));
        let from = end + rest.find("//")?;
        let behind = from + 2 + self.text[from + 2..].find(';')?;
        let operator = Span { start: from, end: from + 2 };
        let error = error.note("`//` begins a comment");
        let power = divisor.parse::<u64>().ok().filter(|n| n.is_power_of_two()).map(u64::trailing_zeros);
        match power {
            // What Python does, for negative numbers too.
            Some(places) => {
                let shift = format!(">> {places}");
                let operand = Span { start: from, end: behind };
                Some(
                    error
                        .help(format!("write `{shift}`, which rounds down as Python's `// {divisor}` does"))
                        .edit(operand, shift),
                )
            }
            None if is_operand => Some(
                error
                    .help(format!(
                        "write `/ {divisor}`, which divides ints and rounds toward 0, and not down as Python does"
                    ))
                    .edit(operator, "/"),
            ),
            None => None,
        }
    }

    /// The source between two tokens, the second one excluded.
    pub(super) fn source(&self, (from, to): (usize, usize)) -> &'a str {
        if from >= to { "" } else { self.tokens[from].span.to(self.tokens[to - 1].span).of(self.text) }
    }

    pub(super) fn symbol_at(&self, k: usize) -> &'static str {
        match self.tokens.get(k).map(|t| t.kind) {
            Some(TokenKind::Symbol(s)) => s,
            _ => "",
        }
    }

    /// `float f(float x) {`, `def f(x):`.
    pub(super) fn function_of_another_language(&mut self) -> Parsed<Option<StatementKind<'a>>> {
        let opens = matches!(self.kind(), TokenKind::Word | TokenKind::Format);
        let own = self.word_at(0).is_some_and(|w| super::RESERVED.contains(&w.text));
        if !opens || own || self.peek(1).kind != TokenKind::Word || !self.is_at(2, "(") {
            return Ok(None);
        }
        let Some((parts, close)) = self.arguments_at(self.at + 2) else { return Ok(None) };
        if !matches!(self.symbol_at(close + 1), "{" | ":" | "=") {
            return Ok(None);
        }
        let name = self.text_of(self.peek(1));
        // Of each parameter its last word is the name.
        let params: Vec<&str> = parts.iter().map(|p| self.text_of(self.tokens[p.1 - 1])).collect();
        let head = format!("fn {name}({})", params.join(", "));
        let error = self.foreign(
            "functions begin with `fn`",
            self.peek(0).span,
            format!("write `{head} {{ return ...; }}`: formats come from the arguments of each call"),
        );
        if name == "main" {
            return self.fail(error.help("a kernel has no `main`: its statements stand in the file, in order"));
        }
        let plain = params.iter().all(|p| hdl::rtl::names::is_identifier(p));
        if !plain {
            return self.fail(error);
        }
        let whole = self.peek(0).span.to(self.tokens[close].span);
        let error = error.edit(whole, head);
        if self.symbol_at(close + 1) != ":" {
            return self.fail(error);
        }
        crate::diag::report(&mut self.errors, error);
        let word = |k: usize| Word { text: self.text_of(self.tokens[k]), span: self.tokens[k].span };
        let (name, params) = (word(self.at + 1), parts.iter().map(|p| word(p.1 - 1)).collect());
        self.at = close + 1;
        self.python_function(name, params).map(Some)
    }

    /// Statements that other languages have and PG2 has not.
    pub(super) fn foreign_statement(&mut self, word: Word<'a>) -> Parsed<()> {
        let next = self.peek(1).kind;
        let ends = self.is_at(1, ";");
        let opens = matches!(next, TokenKind::Symbol("(" | "{") | TokenKind::Word);
        self.two_words(word)?;
        if word.text == "typedef" && self.names_format() {
            return self.type_of_c();
        }
        let (message, help) = match word.text {
            "elif" | "elseif" | "elsif" if opens => {
                let error = self.foreign(format!("there is no `{}`", word.text), word.span, "write `else if`");
                return self.fail(error.edit(word.span, "else if"));
            }
            "while" | "do" | "repeat" if opens => (
                "loops have a fixed number of passes",
                "write `for k in 0..8 { ... }`: every pass becomes a circuit of its own",
            ),
            "switch" | "case" if opens => {
                ("there is no `switch`", "write `if (c == 0) { ... } else if (c == 1) { ... }`")
            }
            "using" if self.names_format() => return self.type_of_c(),
            "import" | "from" | "using" | "use" | "implicit" if opens => {
                let help = "remove it: the functions of PG2 begin with `pg_` and need no import";
                return self.line_to_remove("there is nothing to import or to agree upon", help);
            }
            "ipin" | "jpin" | "fout" | "param" => return self.class_in_front(word),
            "break" | "continue" | "goto" if ends => {
                ("loops always run to their end", "choose between values with `if` or `c ? a : b` in the body")
            }
            "struct" | "typedef" | "class" if opens => ("there are no structures", "declare one pin for each part"),
            "double" | "complex" if self.text_of(self.peek(1)) == "precision" => {
                let help = "leave the line out: a value takes the format of what it is made of";
                return self.line_to_remove("values have no declared format", help);
            }
            "global" | "nonlocal" | "extern" if opens => {
                return self
                    .line_to_remove(&format!("there is no `{}`", word.text), "remove it: pins are seen everywhere");
            }
            _ => return Ok(()),
        };
        self.fail(self.foreign(message, word.span, help))
    }

    /// `param float32.23 eps2;`.
    fn class_in_front(&mut self, class: Word<'a>) -> Parsed<()> {
        let behind = |k: usize| self.tokens.get(self.at + k).map(|t| t.kind);
        let formatted =
            matches!(behind(1), Some(TokenKind::Format | TokenKind::Word)) && behind(2) == Some(TokenKind::Word);
        let bare = behind(1) == Some(TokenKind::Word) && behind(2) == Some(TokenKind::Symbol(";"));
        if !formatted && !bare {
            return Ok(());
        }
        let format = if bare { "float32.23" } else { self.text_of(self.peek(1)) };
        let name = self.text_of(self.peek(if bare { 1 } else { 2 }));
        let message = "the class of a pin stands behind its name";
        let error = Diagnostic::error(codes::CLASS, message, class.span, "in front of it");
        let error = error.help(format!("write `{format} {name} {};`", class.text));
        // Behind the name and its lengths, before a range.
        let ends = |k: &usize| self.symbol_at(*k) == ";" || self.text_of(self.tokens[*k]) == "in";
        let behind = (self.at + 2..self.tokens.len().min(self.at + 40)).find(ends);
        let Some(end) = behind.map(|k| self.tokens[k - 1].span.end) else { return self.fail(error) };
        let front = Span { start: class.span.start, end: self.peek(1).span.start };
        let format = if bare { "float32.23 " } else { "" };
        self.fail(error.edit(front, format).edit(Span { start: end, end }, format!(" {}", class.text)))
    }

    /// `float x = 0.5;`: what is left of it as PG2.
    pub(super) fn value_with_format<T>(&mut self, format: Word<'a>, name: Word<'a>) -> Parsed<T> {
        self.value_before_class(format)?;
        let message = format!("`{}` is declared with a format and a value", name.text);
        let error = Diagnostic::error(codes::SYNTAX, message, format.span, "values have no declared format");
        let known = format.text.parse::<hdl::Format>().is_ok();
        self.next();
        let first = self.peek(0).span.start;
        let exprs = self.program.exprs.len();
        self.tree()?;
        let end = self.previous().span.end;
        self.program.exprs.truncate(exprs);
        let head = Span { start: format.span.start, end: name.span.end };
        if !known {
            // A word such as `double` says no more than that this is a number.
            let error =
                error.help(format!("write `{} = ...`: a value takes the format of what it is made of", name.text));
            let error = error.edit(head, name.text);
            return self.fail(self.cut_off(format, Span { start: first, end }, error));
        }
        let cast = format!("({})(", format.text);
        let error = error.help(format!("write `{} = ({})(...)`", name.text, format.text)).edit(head, name.text);
        self.fail(error.edit(Span { start: first, end: first }, cast).edit(Span { start: end, end }, ")"))
    }

    /// `const float G = ...`.
    pub(super) fn const_with_format(&mut self) -> Parsed<()> {
        let formatted = self.kind() == TokenKind::Format && self.peek(1).kind == TokenKind::Word;
        let worded = self.kind() == TokenKind::Word && self.peek(1).kind == TokenKind::Word && self.is_at(2, "=");
        self.table_of_c()?;
        if !formatted && !worded {
            return Ok(());
        }
        let (format, name) = (self.peek(0).span, self.peek(1).span);
        let message = "a `const` has no format of its own";
        let error = Diagnostic::error(codes::SYNTAX, message, format, "a format");
        let help = format!(
            "write `const {} = ...`: the number is exact and takes the format of what it is used with",
            name.of(self.text)
        );
        let blank = Span { start: format.start, end: name.start };
        self.fail(error.help(help).edit(blank, ""))
    }

    /// `x ** n`.
    pub(super) fn power<T>(&mut self, base: ExprId) -> Parsed<T> {
        let star = self.next().span;
        let from = self.peek(0).span;
        self.enter()?;
        self.unary()?;
        let exponent = from.to(self.previous().span).of(self.text);
        let base = self.program.expr(base).span;
        let whole = base.to(self.previous().span);
        let error = Diagnostic::error(codes::SYNTAX, "there is no `**`", star, "not an operator");
        if base.of(self.text) == "2" && self.text.contains(&format!("const {exponent} ")) {
            let power = format!("(1 << {exponent})");
            return self.fail(error.help(format!("write `{power}`")).edit(whole, power));
        }
        self.fail(match foreign::power(base.of(self.text), exponent) {
            Some(power) => error.help(format!("write `{power}`")).edit(whole, power),
            None => error.help("write a square as `x * x`, and other powers with `pg_pow(x, n, d)`, which is x^(n/d)"),
        })
    }

    /// `a and b`, `not a`, and the `.` of a structure: behind an operand, or in its place.
    pub(super) fn words_for_operators(&mut self, before: bool) -> Parsed<()> {
        let Some(word) = self.word_at(0) else { return Ok(()) };
        let operand =
            matches!(self.peek(1).kind, TokenKind::Word | TokenKind::Number | TokenKind::Symbol("(" | "!" | "-"));
        let symbol = match (word.text, before) {
            ("and", false) => "&&",
            ("or", false) => "||",
            ("xor", false) => "^",
            ("not", true) if self.peek(1).kind == TokenKind::Word => "!",
            _ => return Ok(()),
        };
        if !operand {
            return Ok(());
        }
        // `not a` is one operand, and a blank behind `!` does no harm.
        let error = self.foreign(format!("there is no `{}`", word.text), word.span, format!("write `{symbol}`"));
        self.fail(error.edit(word.span, symbol))
    }

    /// `p.x` behind an operand.
    pub(super) fn member(&mut self, operand: ExprId) -> Parsed<()> {
        let base = self.program.expr(operand).span;
        if let (Some(word), true) = (self.word_at(2), self.is(":") && self.is_at(1, ":") && base.of(self.text) == "std")
        {
            let error = self.foreign("there are no name spaces", self.peek(0).span, "functions begin with `pg_`");
            return self.fail(error.edit(Span { start: base.start, end: word.span.start }, ""));
        }
        self.broadcast()?;
        if self.is(".") && self.peek(1).kind == TokenKind::Format && MODULES.contains(&base.of(self.text)) {
            let whole = base.to(self.peek(0).span);
            let help = format!("write `{}`", self.text_of(self.peek(1)));
            return self.fail(self.foreign("there are no modules", whole, help).edit(whole, ""));
        }
        let Some(word) = self.word_at(1).filter(|_| self.is(".")) else { return Ok(()) };
        const COMPARISONS: &[(&str, &str)] = &[
            ("gt", ">"),
            ("lt", "<"),
            ("ge", ">="),
            ("le", "<="),
            ("eq", "=="),
            ("ne", "!="),
            ("and", "&&"),
            ("or", "||"),
        ];
        if let Some((_, symbol)) = COMPARISONS.iter().find(|c| c.0 == word.text).filter(|_| self.is_at(2, ".")) {
            let span = self.peek(0).span.to(self.peek(2).span);
            let error =
                self.foreign(format!("there is no `{}`", span.of(self.text)), span, format!("write `{symbol}`"));
            return self.fail(error.edit(span, *symbol));
        }
        if self.is_at(2, "(") && !MODULES.contains(&base.of(self.text)) {
            return self.method(base, word);
        }
        if matches!(base.of(self.text), "threadIdx" | "blockIdx" | "blockDim" | "gridDim") {
            let help = "leave it out: a kernel is written for one target and one source, and runs for all of them";
            return self.fail(self.foreign("there are no threads", base.to(word.span), help));
        }
        if let Some(last) = self.word_at(3).filter(|_| MODULES.contains(&word.text) && self.is_at(2, ".")) {
            // `np.linalg.norm(v)`: the module in front goes, and the next one as any.
            let name = functions::meant(last.text).map_or(last.text, |f| f.name);
            let call = if self.is_at(4, "(") { "(...)" } else { "" };
            let error = self.foreign("functions stand alone", self.peek(0).span, format!("write `{name}{call}`"));
            return self.fail(error.edit(base.to(last.span), name));
        }
        if let Some((.., number)) =
            foreign::NUMBERS.iter().find(|n| n.0.contains(&base.of(self.text)) && n.1.contains(&word.text))
        {
            let whole = base.to(word.span);
            let error = self.foreign("there are no modules", whole, format!("write `{number}`"));
            return self.fail(error.edit(whole, format!("({number})")));
        }
        if self.is_at(2, "(") {
            let name = foreign::alone(base.of(self.text), word.text);
            let known = functions::meant(name).map_or(name, |f| f.name);
            let error = self.foreign("functions stand alone", self.peek(0).span, format!("write `{known}(...)`"));
            return self.fail(error.edit(base.to(word.span), known));
        }
        if MODULES.contains(&base.of(self.text)) {
            let error =
                self.foreign("there are no modules", base.to(self.peek(0).span), format!("write `{}`", word.text));
            return self.fail(error.edit(base.to(self.peek(0).span), ""));
        }
        let error = self.foreign(
            "there are no structures",
            self.peek(0).span,
            "elements of a vector are `v[0]`, `v[1]`, `v[2]`",
        );
        let place = ["x", "y", "z", "w"].iter().position(|n| *n == word.text);
        let Some(k) = place.filter(|_| matches!(self.program.expr(operand).kind, ExprKind::Name(_))) else {
            return self.fail(error);
        };
        let element = format!("{}[{k}]", base.of(self.text));
        self.fail(error.help(format!("write `{element}`")).edit(base.to(word.span), element))
    }

    /// `a = b` where a comparison is meant.
    pub(super) fn equals_for_comparison(&mut self) -> Parsed<()> {
        if !self.is("=") {
            return Ok(());
        }
        let span = self.peek(0).span;
        let error = Diagnostic::error(
            codes::SYNTAX,
            "`=` gives a name its value and compares nothing",
            span,
            "not possible here",
        );
        self.fail(error.help("write `==` to compare").edit(span, "=="))
    }

    /// `a < b < c`, which would compare a truth value with c.
    pub(super) fn chain(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> Parsed<()> {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let ExprKind::Binary(first, a, b) = self.program.expr(left).kind else { return Ok(()) };
        let order = |op| matches!(op, Lt | Le | Gt | Ge);
        let equal = |op| matches!(op, Eq | Ne);
        if !(order(op) && order(first) || equal(op) && equal(first)) {
            return Ok(());
        }
        let (a, b, c) = (self.program.expr(a).span, self.program.expr(b).span, self.program.expr(right).span);
        let whole = a.to(c);
        let texts = [a, b, c].map(|s| s.of(self.text));
        let error = Diagnostic::error(
            codes::CHAIN,
            "comparisons do not form a chain",
            whole,
            "compares a truth, 0 or 1, with the last",
        );
        let error = if texts.iter().any(|t| t.len() > 60 || t.contains(['\n', '\r'])) {
            error.help("write the two comparisons with `&&` between them")
        } else {
            let [a, b, c] = texts;
            let both = format!("({a} {} {b} && {b} {} {c})", first.symbol(), op.symbol());
            error.help(format!("write `{both}`")).edit(whole, both)
        };
        self.fail(error)
    }

    /// `x++`, `f(x)` and `real :: x` as statements.
    pub(super) fn increment(&mut self, target: Word<'a>) -> Parsed<()> {
        if self.is("(") {
            self.equation_of_function(target)?;
            self.kind_of_fortran(target)?;
            let help = "give its value a name, `y = f(x);`, or an output; a circuit prints nothing";
            let error =
                Diagnostic::error(codes::SYNTAX, "a call alone does nothing", target.span, "its value is not used");
            return self.fail(error.help(help));
        }
        if self.is(":") && self.is_at(1, ":") {
            return self.declaration_of_fortran(target);
        }
        if self.is(":") && self.peek(1).kind == TokenKind::Word && self.is_at(2, "=") {
            let whole = self.peek(0).span.to(self.peek(1).span);
            let help = "leave it out: a value takes the format of what it is made of";
            return self.fail(self.foreign("values have no declared format", whole, help).edit(whole, ""));
        }
        let (plus, minus) = (self.is("+") && self.is_at(1, "+"), self.is("-") && self.is_at(1, "-"));
        if !plus && !minus {
            return Ok(());
        }
        let span = self.peek(0).span.to(self.peek(1).span);
        let by = if plus { "+= 1" } else { "-= 1" };
        let whole = target.span.to(self.previous().span).of(self.text);
        let error =
            self.foreign(format!("there is no `{}`", span.of(self.text)), span, format!("write `{whole} {by}`"));
        self.fail(error.edit(span, format!(" {by}")))
    }
}
