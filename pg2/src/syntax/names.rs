//! The names of a text by its tokens alone: where each is defined and used. An editor asks for this while the text does not
//! compile, so nothing here needs a statement to be whole; what compiles has one answer, that of the checker.

use crate::diag::Span;
use crate::syntax::lex::{Token, TokenKind, lex};
use crate::syntax::parse::RESERVED;
use std::collections::HashMap;

/// The classes of pins.
pub static CLASSES: &[&str] = &["ipin", "jpin", "param", "fout"];

/// The kind of definition of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Pin,
    Const,
    Value,
    Function,
    /// Of a function.
    Parameter,
    /// Of a loop.
    Counter,
    /// A name of a format.
    Type,
}

/// A name and what defines it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    pub name: String,
    pub kind: Kind,
    pub span: Span,
    /// Of a pin.
    pub class: Option<&'static str>,
    /// From the statement's first token to before its `;` or its block.
    pub statement: Span,
    /// Where the name is known.
    pub scope: Span,
}

/// A place where a name is used; `definition` is an index, or `None` if there is none in this text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    pub span: Span,
    pub definition: Option<usize>,
}

/// All names of a text, in its order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    pub definitions: Vec<Definition>,
    pub uses: Vec<Use>,
}

impl Names {
    /// The name that a place, which may be its end, belongs to.
    pub fn at(&self, offset: usize) -> Option<Use> {
        let on = |s: Span| s.start <= offset && offset <= s.end;
        let used = self.uses.iter().find(|u| on(u.span)).copied();
        let defined = self.definitions.iter().position(|d| on(d.span));
        used.or_else(|| defined.map(|k| Use { span: self.definitions[k].span, definition: Some(k) }))
    }

    /// Every place of a definition's name, its own first.
    pub fn places(&self, definition: usize) -> Vec<Span> {
        let own = self.definitions[definition].span;
        let used = self.uses.iter().filter(|u| u.definition == Some(definition)).map(|u| u.span);
        std::iter::once(own).chain(used.filter(|s| *s != own)).collect()
    }

    /// The definitions that are known at a place.
    pub fn known_at(&self, offset: usize) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(move |d| d.scope.start <= offset && offset <= d.scope.end)
    }
}

/// Finds the names of a text.
pub fn names(text: &str) -> Names {
    let mut walk = Walk {
        text,
        tokens: lex(text).tokens,
        found: Names::default(),
        known: HashMap::new(),
        blocks: vec![Block::default()],
        pending: Vec::new(),
        branch: false,
        short: false,
    };
    walk.file();
    walk.found
}

/// A pair of braces, or the file.
#[derive(Default)]
struct Block {
    own: Vec<usize>,
    /// Of an `if`: what it defines belongs to the block around it.
    branch: bool,
}

struct Walk<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    found: Names,
    /// Definitions that are known now, by name, the innermost last.
    known: HashMap<&'a str, Vec<usize>>,
    blocks: Vec<Block>,
    /// Definitions of a head, which belong to its block.
    pending: Vec<usize>,
    /// Whether the next block is a branch.
    branch: bool,
    /// Whether the statement is a function without a block, which ends with the statement.
    short: bool,
}

impl<'a> Walk<'a> {
    fn token(&self, k: usize) -> Token {
        self.tokens[k.min(self.tokens.len() - 1)]
    }

    fn word(&self, k: usize) -> Option<&'a str> {
        let token = self.token(k);
        (token.kind == TokenKind::Word).then(|| token.span.of(self.text))
    }

    fn is(&self, k: usize, symbol: &str) -> bool {
        matches!(self.token(k).kind, TokenKind::Symbol(s) if s == symbol)
    }

    fn file(&mut self) {
        let mut at = 0;
        let mut begins = true;
        while at < self.tokens.len() - 1 {
            if begins || self.begins_line(at) {
                self.statement(at);
            }
            let end = self.token(at).span.end;
            begins = true;
            match self.token(at).kind {
                TokenKind::Symbol(";") => self.end_statement(end),
                TokenKind::Symbol("{") => self.open(),
                TokenKind::Symbol("}") => self.close(end),
                kind => {
                    begins = false;
                    if kind == TokenKind::Word {
                        self.used(at);
                    }
                }
            }
            at += 1;
        }
        while !self.blocks.is_empty() {
            self.close_block(self.text.len());
        }
        self.forward();
    }

    /// Whether a statement plainly begins at a token, on a new line, though the last one has no `;`.
    fn begins_line(&self, at: usize) -> bool {
        if at == 0 || !self.text[self.token(at - 1).span.end..self.token(at).span.start].contains('\n') {
            return false;
        }
        let word = self.word(at);
        let declares = word.is_none() && self.token(at).kind == TokenKind::Format && self.word(at + 1).is_some();
        let assigns = word.is_some_and(|w| !matches!(w, "max" | "min")) && self.is(at + 1, "=");
        declares || assigns || matches!(word, Some("const" | "fn" | "for" | "if" | "include"))
    }

    /// The first token behind a statement's head: its `;`, a brace, or the next statement.
    fn head_end(&self, at: usize) -> usize {
        let ends = |t: &Token| matches!(t.kind, TokenKind::Symbol(";" | "{" | "}") | TokenKind::End);
        let last = self.tokens.len() - 1;
        (at + 1..last).find(|k| ends(&self.tokens[*k]) || self.begins_line(*k)).unwrap_or(last)
    }

    /// Enters what the statement at a token defines.
    fn statement(&mut self, at: usize) {
        let name = self.word(at + 1).filter(|w| !RESERVED.contains(w));
        match (self.word(at), name) {
            (Some("fn"), Some(_)) => self.function(at),
            (Some("for"), Some(_)) if self.word(at + 2) == Some("in") => {
                let counter = self.define(at, at + 1, Kind::Counter);
                self.pending.push(counter);
            }
            (Some("if" | "else"), _) => self.branch = true,
            (Some("const"), Some(_)) => self.own(at, at + 1, Kind::Const),
            (Some("table"), Some(_)) if self.is(at + 2, "[") => self.own(at, at + 1, Kind::Const),
            (Some("table"), None) if self.token(at + 1).kind == TokenKind::Format && self.word(at + 2).is_some() => {
                self.own(at, at + 2, Kind::Const);
            }
            (Some("type"), Some(_)) if self.is(at + 2, "=") => self.own(at, at + 1, Kind::Type),
            (Some("param"), _) if self.word(at + 2).is_some() => self.parameter(at),
            (Some(word), _) if RESERVED.contains(&word) => {}
            (Some(_), _) if self.is(at + 1, "=") => self.assigned(at),
            (Some(_), _) if self.is(at + 1, "[") && !self.has_reduction(at) => self.assigned(at),
            (opening, Some(_)) if opening.is_some() || self.token(at).kind == TokenKind::Format => self.pin(at),
            _ => {}
        }
    }

    fn has_reduction(&self, at: usize) -> bool {
        (at..self.head_end(at))
            .any(|k| self.is(k, "+=") || self.is(k, "-=") || (self.is(k + 1, "=") && self.word(k).is_some()))
    }

    /// `format name ... class`: a pin if the class is there.
    fn pin(&mut self, at: usize) {
        let words = (at + 2..self.head_end(at)).filter_map(|k| self.word(k));
        let Some(class) = words.filter_map(|w| CLASSES.iter().find(|c| **c == w)).next_back() else { return };
        self.own(at, at + 1, Kind::Pin);
        if let Some(definition) = self.found.definitions.last_mut() {
            definition.class = Some(class);
        }
    }

    /// `param format name`.
    fn parameter(&mut self, at: usize) {
        self.own(at, at + 2, Kind::Pin);
        if let Some(definition) = self.found.definitions.last_mut() {
            definition.class = Some("param");
        }
    }

    /// `name = ...` defines what is not known yet.
    fn assigned(&mut self, at: usize) {
        let known = self.word(at).is_some_and(|w| self.known.get(w).is_some_and(|list| !list.is_empty()));
        if !known {
            self.own(at, at, Kind::Value);
        }
    }

    fn function(&mut self, at: usize) {
        self.own(at, at + 1, Kind::Function);
        let end = self.head_end(at);
        let close = (at..end).find(|k| self.is(*k, ")")).unwrap_or(end);
        for k in at + 2..close {
            if self.word(k).is_some() {
                let parameter = self.define(at, k, Kind::Parameter);
                self.pending.push(parameter);
            }
        }
        if self.is(close + 1, "=") {
            self.short = true;
            self.open();
        }
    }

    /// A definition that belongs to the innermost block but branches.
    fn own(&mut self, statement: usize, at: usize, kind: Kind) {
        let definition = self.define(statement, at, kind);
        let block = self.blocks.iter_mut().rev().find(|b| !b.branch);
        block.expect("the file is no branch").own.push(definition);
    }

    fn define(&mut self, statement: usize, at: usize, kind: Kind) -> usize {
        let span = self.token(at).span;
        let name = span.of(self.text);
        let last = self.token(self.head_end(statement).saturating_sub(1).max(at)).span;
        let statement = self.token(statement).span.to(last);
        let index = self.found.definitions.len();
        let scope = Span { start: span.start, end: self.text.len() };
        self.found.definitions.push(Definition { name: name.into(), kind, span, class: None, statement, scope });
        self.known.entry(name).or_default().push(index);
        index
    }

    fn open(&mut self) {
        let own = std::mem::take(&mut self.pending);
        self.blocks.push(Block { own, branch: std::mem::take(&mut self.branch) });
    }

    fn close(&mut self, end: usize) {
        if self.blocks.len() > 1 {
            self.close_block(end);
        }
    }

    fn close_block(&mut self, end: usize) {
        for definition in self.blocks.pop().unwrap_or_default().own {
            self.found.definitions[definition].scope.end = end;
            let name = self.found.definitions[definition].span.of(self.text);
            self.known.entry(name).or_default().retain(|k| *k != definition);
        }
    }

    fn end_statement(&mut self, end: usize) {
        if std::mem::take(&mut self.short) {
            self.close(end);
        }
        // A head without its block.
        self.branch = false;
        for definition in std::mem::take(&mut self.pending) {
            self.blocks.last_mut().expect("the file stays open").own.push(definition);
        }
    }

    /// Whether the statement `where (condition);` begins at a token.
    fn opens_filter(&self, at: usize) -> bool {
        let begins = at == 0 || [";", "}"].iter().any(|s| self.is(at - 1, s)) || self.begins_line(at);
        begins && self.word(at) == Some("where") && self.is(at + 1, "(")
    }

    /// Enters a word that is no part of the language.
    fn used(&mut self, at: usize) {
        let Some(word) = self.word(at) else { return };
        let reduction = matches!(word, "max" | "min") && self.is(at + 1, "=");
        let span = self.token(at).span;
        let names_type = word == "type" && self.word(at + 1).is_some() && self.is(at + 2, "=");
        let filters = self.opens_filter(at);
        if RESERVED.contains(&word) || reduction || names_type || filters {
            return;
        }
        let definition = self.known.get(word).and_then(|list| list.last().copied());
        if definition.is_none_or(|k| self.found.definitions[k].span != span) {
            self.found.uses.push(Use { span, definition });
        }
    }

    /// Links names used before they are defined to the file's first definition of that name.
    fn forward(&mut self) {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (k, d) in self.found.definitions.iter().enumerate() {
            if d.scope.end == self.text.len() {
                first.entry(d.span.of(self.text)).or_insert(k);
            }
        }
        for used in &mut self.found.uses {
            if used.definition.is_none() {
                used.definition = first.get(used.span.of(self.text)).copied();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each use as `name@line of its definition`, or `name@-`.
    fn uses(text: &str) -> String {
        let found = names(text);
        let line = |s: Span| text[..s.start].matches('\n').count() + 1;
        let of = |u: &Use| u.definition.map_or("-".into(), |k| line(found.definitions[k].span).to_string());
        found.uses.iter().map(|u| format!("{}@{}", u.span.of(text), of(u))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_lead_to_their_definitions() {
        let text = "float18.9 a[3] ipin;\nint64 o fout;\nconst k = 3;\nx = a[0] * k + later + pg_abs(none);\nlater = x;\no max= x;";
        assert_eq!(uses(text), "a@1 k@3 later@5 pg_abs@- none@- x@4 o@2 x@4");
        let found = names(text);
        assert_eq!(found.definitions[0].statement.of(text), "float18.9 a[3] ipin");
        assert_eq!((found.definitions[0].class, found.definitions[0].kind), (Some("ipin"), Kind::Pin));
        assert_eq!(found.places(3).len(), 3);
    }

    #[test]
    fn blocks_have_names_of_their_own() {
        let text = "s = 0;\nfor k in 0..3 {\n  t = k;\n  s = s + t;\n}\nu = t + k + s;\nif (u) {\n v = 1;\n} else { v = 2; }\nw = v;";
        assert_eq!(uses(text), "k@2 s@1 s@1 t@3 t@- k@- s@1 u@6 v@8 v@8");
        let text = "fn f(x, y) {\n t = x * y;\n return t;\n}\nfn g(x) = x + 1;\nx = f(1, 2) + g(3);\nz = x;";
        assert_eq!(uses(text), "x@1 y@1 t@2 x@5 f@1 g@5 x@6");
    }

    #[test]
    fn broken_texts_still_have_names() {
        assert_eq!(uses("int8 a ipin\nb = a +;\nc = (b"), "a@1 b@2");
        assert_eq!(uses("}}} x = ; {{ y = x"), "x@1");
        assert_eq!(uses("fn"), "");
        assert_eq!(uses("for k in"), "");
        assert_eq!(names("").definitions, []);
    }
}
