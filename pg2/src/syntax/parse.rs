//! The parser: tokens to the syntax tree, recovering at each statement so that all mistakes are found.

mod bare;
mod block;
mod expr;
mod foreign;
mod idioms;
mod notation;
mod others;
mod pin;
mod recover;
mod selection;
mod table;

use crate::diag::codes;
use crate::diag::{Diagnostic, Span, report};
use crate::syntax::ast::{Expr, ExprId, ExprKind, Program, Statement, StatementKind, Tree, Word};
use crate::syntax::foreign::{CONSTANT_OPENINGS, OPENINGS};
use crate::syntax::lex::{Token, TokenKind, lex_part};
use crate::syntax::sources::Sources;
use hdl::Reduce;
use std::collections::HashSet;

/// The deepest nesting of blocks, parentheses, prefix operators, `?:`, calls and indices (RULES L8).
pub(crate) const MAX_NESTING: u32 = 256;

/// Words with a meaning of their own, which cannot be names.
pub static RESERVED: &[&str] =
    &["ipin", "jpin", "fout", "param", "const", "for", "if", "else", "fn", "in", "include", "return"];

/// Parses a whole file. The tree holds what could be understood; the diagnostics say what could not.
pub fn parse(text: &str) -> (Program<'_>, Vec<Diagnostic>) {
    parse_part(text, Span { start: 0, end: text.len() }, Program::default())
}

/// Parses a kernel's file and all included ones, whose statements stand behind their `include`.
pub fn parse_sources(sources: &Sources) -> (Program<'_>, Vec<Diagnostic>) {
    let mut program = Program { data: sources.data().collect(), ..Program::default() };
    let mut errors = Vec::new();
    let mut lists = Vec::new();
    for file in sources.files() {
        let (next, found) = parse_part(sources.text(), file.span, program);
        found.into_iter().for_each(|error| report(&mut errors, error));
        program = next;
        lists.push(std::mem::take(&mut program.statements));
    }
    sources.errors().iter().for_each(|error| report(&mut errors, error.clone()));
    if lists.len() == 1 {
        program.statements = lists.pop().unwrap_or_default();
        return (program, errors);
    }
    // Files that are being laid out, each as far as it has come.
    let mut open = vec![std::mem::take(&mut lists[0]).into_iter()];
    while let Some(file) = open.last_mut() {
        let Some(statement) = file.next() else {
            open.pop();
            continue;
        };
        let included = match &statement.kind {
            StatementKind::Include { path } => sources.included(path.span.start),
            _ => None,
        };
        program.statements.push(statement);
        open.extend(included.map(|k| std::mem::take(&mut lists[k]).into_iter()));
    }
    (program, errors)
}

/// Parses a part of a text and adds it to a program.
fn parse_part<'a>(text: &'a str, part: Span, program: Program<'a>) -> (Program<'a>, Vec<Diagnostic>) {
    let lexed = lex_part(text, part);
    let mut parser = Parser {
        text,
        tokens: lexed.tokens,
        at: 0,
        depth: 0,
        blocks: Vec::new(),
        condition_at: usize::MAX,
        unclosed: false,
        then_is_open: false,
        types: HashSet::new(),
        program,
        errors: lexed.errors,
    };
    parser.program.comments.extend(lexed.comments);
    for k in 0..parser.tokens.len().saturating_sub(2) {
        let word = |k: usize| parser.text_of(parser.tokens[k]);
        if word(k) == "type" && parser.tokens[k + 1].kind == TokenKind::Word && word(k + 2) == "=" {
            let name = word(k + 1);
            parser.types.insert(name);
        }
    }
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
    /// The blocks around the next token.
    blocks: Vec<BlockKind>,
    /// The first token of the last condition of an `if`, whose parentheses are no cast.
    condition_at: usize,
    /// A block that is never closed has been reported.
    unclosed: bool,
    /// A block that `then` opened ended at the `else` before the next token.
    then_is_open: bool,
    /// The names that this part of the text gives to formats.
    types: HashSet<&'a str>,
    program: Program<'a>,
    errors: Vec<Diagnostic>,
}

/// The statement a block belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Function,
    Loop,
    Branch,
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

    fn previous_is(&self, symbol: &str) -> bool {
        matches!(self.previous().kind, TokenKind::Symbol(s) if s == symbol)
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
                "statements are declarations, `name = ...;`, `const name = ...;`, `output += ...;`, `for`, `if` and `fn`"
                    .into()
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
        self.depth = self.blocks.len() as u32;
        let parsed = self.statement_kind();
        let parsed = parsed.and_then(|kind| match kind {
            // These end with a brace, or have taken their semicolon.
            StatementKind::For { .. } | StatementKind::If { .. } | StatementKind::Function(_) => Ok(kind),
            _ => self.semicolon().map(|()| kind),
        });
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
        self.end_of_others()?;
        if !self.at_new_line() && (!self.is("}") || self.blocks.is_empty()) {
            return self.expected("`;` or an operator");
        }
        let end = self.previous().span.end;
        let span = Span { start: self.previous().span.start, end };
        let error = Diagnostic::error(codes::SEMICOLON, "this statement has no semicolon", span, "after this");
        if let Some(error) = self.division_of_python(error.clone(), end) {
            report(&mut self.errors, error);
            return Ok(());
        }
        report(&mut self.errors, error.help("end it with `;`").edit(Span { start: end, end }, ";"));
        Ok(())
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind<'a>> {
        if let Some(function) = self.function_of_another_language()? {
            return Ok(function);
        }
        if self.kind() == TokenKind::Format {
            return self.declaration();
        }
        if let Some(selection) = self.selection()? {
            return Ok(selection);
        }
        self.foreign_comment()?;
        let Some(word) = self.word_at(0) else {
            return self.expected("a statement");
        };
        if word.text == "param" && self.has_value() {
            return self.parameter(word);
        }
        if !self.is_at(1, "=") {
            if let Some(parsed) = self.keyword(word) {
                return parsed;
            }
            self.foreign_statement(word)?;
            self.habit(word)?;
        }
        let reduces = matches!(self.word_at(1), Some(w) if matches!(w.text, "max" | "min")) && self.is_at(2, "=");
        match self.peek(1).kind {
            TokenKind::Word | TokenKind::Format if word.text == "const" => self.constant(),
            TokenKind::Word if self.is_at(2, "=") && !reduces => self.unknown_opening(word),
            TokenKind::Word if !reduces => self.declaration(),
            // `flot18.9 mj jpin;` is a declaration with a misspelt format.
            TokenKind::Number if self.text_of(self.peek(1)).starts_with('.') => self.declaration(),
            _ => self.assignment(),
        }
    }

    /// `word name = ...`: only `const` may stand there.
    fn unknown_opening(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        if OPENINGS.contains(&word.text) {
            self.next();
            let name = self.new_name()?;
            return self.value_with_format(word, name);
        }
        if CONSTANT_OPENINGS.contains(&word.text) {
            let error = self.foreign(format!("there is no `{}` here", word.text), word.span, "write `const`");
            return self.fail(error.edit(word.span, "const"));
        }
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
        self.only_in_files(format.span, "a pin")?;
        let name = self.new_name()?;
        if self.is("=") {
            return self.value_with_format(format, name);
        }
        if self.is("(") {
            self.lengths_of_fortran(name)?;
        }
        let lengths = self.indices()?;
        if self.is(",") {
            let error =
                Diagnostic::error(codes::SYNTAX, "a declaration has one name", self.peek(0).span, "not possible here");
            return self.fail(error.help("write a declaration for each name"));
        }
        if self.is("=") {
            self.list_of_values(format.span, name, Some(format.text))?;
            let message = format!("`{}` is declared with a format and a value", name.text);
            let error = Diagnostic::error(codes::SYNTAX, message, format.span, "values have no declared format");
            return self.fail(error.help(format!("write `{} = ({})...`", name.text, format.text)));
        }
        match self.word_at(0) {
            Some(class) => {
                self.range_before_class(class)?;
                self.next();
                let default = if class.text == "param" && self.eat("=") { Some(self.tree()?) } else { None };
                let range = self.range_of_pin()?;
                Ok(StatementKind::Declare { format, name, lengths, class, range, default })
            }
            None => {
                let message = format!("`{}` has no class", name.text);
                let at = Span { start: name.span.start, end: self.previous().span.end };
                let error = Diagnostic::error(codes::CLASS, message, at, "declared without a class");
                let error = error.help(format!(
                    "a pin has a class before the `;`: `ipin` (target), `jpin` (source), `param` or `fout` (output); \
                     a value needs no declaration: write `{} = ...;` where it is computed",
                    name.text
                ));
                self.fail(self.declared_alone(format, name, error))
            }
        }
    }

    fn constant(&mut self) -> Parsed<StatementKind<'a>> {
        self.next();
        self.const_with_format()?;
        let name = self.new_name()?;
        self.expect("=")?;
        Ok(StatementKind::Const { name, value: self.tree()? })
    }

    /// `name = value`, `name[index] = value`, `name[length]` or `target[index] += value`.
    fn assignment(&mut self) -> Parsed<StatementKind<'a>> {
        if self.is_at(1, "=") {
            let name = self.new_name()?;
            self.list_of_values(name.span, name, None)?;
            self.next();
            let value = self.tree()?;
            self.chain_of_names(name, value.root)?;
            return Ok(StatementKind::Assign { name, indices: Vec::new(), value });
        }
        let target = self.new_name()?;
        let indices = self.indices()?;
        if indices.len() == 1 && self.is("=") {
            self.list_of_values(target.span, target, None)?;
        }
        if !indices.is_empty() && self.eat("=") {
            return Ok(StatementKind::Assign { name: target, indices, value: self.tree()? });
        }
        if !indices.is_empty() && self.is(";") {
            return Ok(StatementKind::Elements { name: target, lengths: indices });
        }
        self.increment(target)?;
        let subtracts = self.is("-=");
        let reduce = self.reduction()?;
        Ok(StatementKind::Reduce { target, indices, reduce, subtracts, value: self.tree()? })
    }

    /// Any number of expressions in brackets.
    fn indices(&mut self) -> Parsed<Vec<Tree>> {
        let mut trees = Vec::new();
        while self.eat("[") {
            trees.push(self.tree()?);
            self.two_indices()?;
            self.expect("]")?;
        }
        Ok(trees)
    }

    fn reduction(&mut self) -> Parsed<Reduce> {
        if self.eat("+=") || self.eat("-=") {
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
        match token.kind {
            TokenKind::Symbol(s) if s.len() > 1 && s.ends_with('=') && !matches!(s, "==" | "<=" | ">=" | "!=") => {
                let message = format!("there is no `{s}`");
                let error = Diagnostic::error(codes::ASSIGNMENT, message, token.span, "not an operator");
                self.fail(error.help("outputs take `+=`, `-=`, `max=` and `min=`; other names take `=`, once"))
            }
            TokenKind::Symbol("<=") => {
                let error = Diagnostic::error(
                    codes::ASSIGNMENT,
                    "`<=` compares, and gives no value",
                    token.span,
                    "not an assignment",
                );
                self.fail(error.help("write `=`").edit(token.span, "="))
            }
            TokenKind::Symbol(":") if self.is_at(1, "=") => {
                let whole = token.span.to(self.peek(1).span);
                let error = Diagnostic::error(codes::ASSIGNMENT, "there is no `:=`", whole, "not an operator");
                self.fail(error.help("write `=`").edit(whole, "="))
            }
            _ => self.expected("`=`, `+=`, `-=`, `max=` or `min=`"),
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
