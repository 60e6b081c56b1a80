//! The parser: tokens to the syntax tree, recovering at each statement so that all mistakes are found.

mod expr;
mod recover;

use crate::ast::{Expr, ExprId, ExprKind, Program, Statement, StatementKind, Tree, Word};
use crate::codes;
use crate::diag::{Diagnostic, Span, report};
use crate::lex::{Token, TokenKind, lex};
use hdl::Reduce;

/// The deepest nesting of parentheses, prefix operators, `?:`, calls and indices (RULES L8).
const MAX_NESTING: u32 = 256;

/// Words with a meaning of their own, which cannot be names.
pub static RESERVED: &[&str] =
    &["ipin", "jpin", "fout", "param", "const", "for", "if", "else", "fn", "in", "include", "return"];

/// Statements of the language that are still to come.
static NOT_YET: &[&str] = &["for", "if", "else", "fn", "include"];

/// Parses a whole file. The tree holds what could be understood; the diagnostics say what could not.
pub fn parse(text: &str) -> (Program<'_>, Vec<Diagnostic>) {
    let lexed = lex(text);
    let program = Program { comments: lexed.comments, ..Program::default() };
    let mut parser = Parser { text, tokens: lexed.tokens, at: 0, depth: 0, program, errors: lexed.errors };
    while parser.kind() != TokenKind::End {
        parser.statement();
    }
    (parser.program, parser.errors)
}

/// The mark of a mistake that has been reported.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    program: Program<'a>,
    errors: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    fn peek(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> TokenKind {
        self.peek(0).kind
    }

    fn text_of(&self, token: Token) -> &'a str {
        token.span.of(self.text)
    }

    /// Takes the next token; the end is never passed.
    fn next(&mut self) -> Token {
        let token = self.peek(0);
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// The token before the next one.
    fn previous(&self) -> Token {
        self.tokens[self.at.saturating_sub(1)]
    }

    fn is(&self, symbol: &str) -> bool {
        self.is_at(0, symbol)
    }

    fn is_at(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.peek(ahead).kind, TokenKind::Symbol(s) if s == symbol)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.next();
        }
        found
    }

    fn word_at(&self, ahead: usize) -> Option<Word<'a>> {
        let token = self.peek(ahead);
        (token.kind == TokenKind::Word).then(|| Word { text: self.text_of(token), span: token.span })
    }

    fn fail<T>(&mut self, error: Diagnostic) -> Parsed<T> {
        report(&mut self.errors, error);
        Err(Reported)
    }

    /// Reports that `wanted` should stand where the next token is.
    fn expected<T>(&mut self, wanted: &str) -> Parsed<T> {
        let token = self.peek(0);
        let found = self.describe(token);
        let help = match wanted {
            "a statement" => {
                "statements are declarations, `name = ...;`, `const name = ...;` and `output += ...;`".into()
            }
            "a value" => "write a number, a name, a call or an expression in parentheses".into(),
            _ => format!("put {wanted} before {found}, or remove what is too much"),
        };
        let message = format!("expected {wanted}, found {found}");
        let label = format!("{wanted} should stand here");
        self.fail(Diagnostic::error(codes::SYNTAX, message, token.span, label).help(help))
    }

    fn describe(&self, token: Token) -> String {
        if token.kind == TokenKind::End {
            return "the end of the file".into();
        }
        let text = self.text_of(token);
        match text.char_indices().nth(24) {
            Some((cut, _)) => format!("`{}...`", &text[..cut]),
            None => format!("`{text}`"),
        }
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.eat(symbol) { Ok(()) } else { self.expected(&format!("`{symbol}`")) }
    }

    /// Whether a line ends between the last token and the next.
    fn at_new_line(&self) -> bool {
        let (from, to) = (self.previous().span.end, self.peek(0).span.start);
        self.at == 0 || (from <= to && self.text[from..to].contains('\n')) || self.kind() == TokenKind::End
    }

    /// Parses one statement; a mistake is reported and skipped.
    fn statement(&mut self) {
        let (start, first_expr) = (self.at, self.program.exprs.len());
        if self.eat(";") {
            return;
        }
        self.depth = 0;
        let parsed = self.statement_kind();
        let parsed = parsed.and_then(|kind| self.semicolon().map(|()| kind));
        match parsed {
            Ok(kind) => {
                let span = self.tokens[start].span.to(self.previous().span);
                self.program.statements.push(Statement { kind, span });
            }
            Err(Reported) => {
                self.program.exprs.truncate(first_expr);
                self.recover(start);
            }
        }
    }

    /// A missing semicolon at the end of a line is reported there, and the statement stands.
    fn semicolon(&mut self) -> Parsed<()> {
        if self.eat(";") {
            return Ok(());
        }
        if !self.at_new_line() {
            return self.expected("`;` or an operator");
        }
        let end = self.previous().span.end;
        let span = Span { start: self.previous().span.start, end };
        let error = Diagnostic::error(codes::SEMICOLON, "this statement has no semicolon", span, "after this");
        report(&mut self.errors, error.help("end it with `;`"));
        Ok(())
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind<'a>> {
        if self.kind() == TokenKind::Format {
            return self.declaration();
        }
        let Some(word) = self.word_at(0) else {
            return self.expected("a statement");
        };
        if NOT_YET.contains(&word.text) && !self.is_at(1, "=") {
            return self.not_yet(word);
        }
        let reduces = matches!(self.word_at(1), Some(w) if matches!(w.text, "max" | "min")) && self.is_at(2, "=");
        match self.peek(1).kind {
            TokenKind::Word if word.text == "const" => self.constant(),
            TokenKind::Word if self.is_at(2, "=") && !reduces => self.unknown_opening(word),
            TokenKind::Word if !reduces => self.declaration(),
            // `flot18.9 mj jpin;` is a declaration with a misspelt format.
            TokenKind::Number if self.text_of(self.peek(1)).starts_with('.') => self.declaration(),
            _ => self.assignment(),
        }
    }

    /// `word name = ...`: only `const` may stand there.
    fn unknown_opening(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        let message = format!("`{}` cannot open a statement", word.text);
        let error = Diagnostic::error(codes::SYNTAX, message, word.span, "not expected here");
        let name = self.text_of(self.peek(1)).to_string();
        self.fail(
            error.help(format!("write `{name} = ...` for a value, `const {name} = ...` for a compile-time number")),
        )
    }

    /// A format; several tokens make up a misspelt one such as `flot18.9`.
    fn format(&mut self) -> Parsed<Word<'a>> {
        let token = self.next();
        let mut span = token.span;
        let glued = self.kind() == TokenKind::Number && self.peek(0).span.start == span.end;
        if token.kind == TokenKind::Word && glued {
            span = span.to(self.next().span);
        }
        Ok(Word { text: span.of(self.text), span })
    }

    /// A name that is being defined.
    fn new_name(&mut self) -> Parsed<Word<'a>> {
        let Some(word) = self.word_at(0) else {
            if self.kind() == TokenKind::Format {
                let (span, text) = (self.peek(0).span, self.text_of(self.peek(0)));
                return self.fail(reserved(Word { text, span }));
            }
            return self.expected("a name");
        };
        self.next();
        if RESERVED.contains(&word.text) || word.text.starts_with("pg_") {
            return self.fail(reserved(word));
        }
        Ok(word)
    }

    fn declaration(&mut self) -> Parsed<StatementKind<'a>> {
        let format = self.format()?;
        if self.is("=") {
            return self.fail(reserved(format));
        }
        let name = self.new_name()?;
        let len = if self.eat("[") {
            let tree = self.tree()?;
            self.expect("]")?;
            Some(tree)
        } else {
            None
        };
        match self.word_at(0) {
            Some(class) => {
                self.next();
                Ok(StatementKind::Declare { format, name, len, class })
            }
            None => {
                let message = format!("`{}` has no class", name.text);
                let at = Span { start: name.span.start, end: self.previous().span.end };
                let error = Diagnostic::error(codes::CLASS, message, at, "declared without a class");
                self.fail(error.help("add `ipin`, `jpin`, `param` or `fout` before the `;`"))
            }
        }
    }

    fn constant(&mut self) -> Parsed<StatementKind<'a>> {
        self.next();
        let name = self.new_name()?;
        self.expect("=")?;
        Ok(StatementKind::Const { name, value: self.tree()? })
    }

    /// `name = value` or `target[index] += value`.
    fn assignment(&mut self) -> Parsed<StatementKind<'a>> {
        if self.is_at(1, "=") {
            let name = self.new_name()?;
            self.next();
            return Ok(StatementKind::Assign { name, value: self.tree()? });
        }
        let target = self.word_at(0).expect("the caller saw a word");
        self.next();
        let index = if self.eat("[") {
            let tree = self.tree()?;
            self.expect("]")?;
            Some(tree)
        } else {
            None
        };
        let reduce = self.reduction(target, index.is_some())?;
        Ok(StatementKind::Reduce { target, index, reduce, value: self.tree()? })
    }

    fn reduction(&mut self, target: Word<'a>, indexed: bool) -> Parsed<Reduce> {
        if self.eat("+=") {
            return Ok(Reduce::Sum);
        }
        if let Some(word) = self.word_at(0)
            && self.is_at(1, "=")
        {
            for reduce in [Reduce::Max, Reduce::Min] {
                if reduce.to_string().trim_end_matches('=') == word.text {
                    self.next();
                    self.next();
                    return Ok(reduce);
                }
            }
        }
        let token = self.peek(0);
        let name = target.text;
        match token.kind {
            TokenKind::Symbol("=") if indexed => {
                let message = "elements of a vector cannot be assigned one by one";
                let error = Diagnostic::error(codes::ASSIGNMENT, message, target.span, "assigned by element");
                self.fail(error.help(format!("give each element a name of its own, such as `{name}0 = ...`")))
            }
            TokenKind::Symbol("-=") => {
                let error = Diagnostic::error(codes::ASSIGNMENT, "there is no `-=`", token.span, "not an operator");
                self.fail(error.help(format!("write `{name} += -(...)`")))
            }
            TokenKind::Symbol(s) if s.len() > 1 && s.ends_with('=') && !matches!(s, "==" | "<=" | ">=" | "!=") => {
                let message = format!("there is no `{s}`");
                let error = Diagnostic::error(codes::ASSIGNMENT, message, token.span, "not an operator");
                self.fail(error.help("outputs take `+=`, `max=` and `min=`; other names take `=`, once"))
            }
            _ => self.expected("`=`, `+=`, `max=` or `min=`"),
        }
    }

    /// Parses an expression into the arena.
    fn tree(&mut self) -> Parsed<Tree> {
        let first = ExprId(self.program.exprs.len() as u32);
        Ok(Tree { first, root: self.expression()? })
    }

    fn push(&mut self, kind: ExprKind<'a>, span: Span) -> ExprId {
        self.program.exprs.push(Expr { kind, span });
        ExprId(self.program.exprs.len() as u32 - 1)
    }
}

/// A word of the language used as a name.
fn reserved(word: Word) -> Diagnostic {
    let message = format!("`{}` is a word of the language and cannot be a name", word.text);
    Diagnostic::error(codes::RESERVED, message, word.span, "reserved").help("choose another name")
}
