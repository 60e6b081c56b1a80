//! `table`, which is no reserved word: it opens a statement only before a format or a name.

use super::{Parsed, Parser};
use crate::diag::Diagnostic;
use crate::diag::codes;
use crate::syntax::ast::{StatementKind, TableContent, Tree, Word};
use crate::syntax::lex::TokenKind;

impl<'a> Parser<'a> {
    /// Whether the word `table` opens a statement here.
    pub(super) fn opens_table(&self) -> bool {
        match self.peek(1).kind {
            TokenKind::Format => true,
            // `table max= x` is a reduction.
            TokenKind::Word => {
                let reduces = self.word_at(1).is_some_and(|w| matches!(w.text, "max" | "min")) && self.is_at(2, "=");
                !reduces
            }
            _ => false,
        }
    }

    /// `table format name[n] = file "path"` or `= { 1, 2, 3 }`.
    pub(super) fn table(&mut self, word: Word<'a>) -> Parsed<StatementKind<'a>> {
        self.only_in_files(word.span, "a table")?;
        self.next();
        let has_format = self.kind() == TokenKind::Format || !self.is_at(1, "[") && !self.is_at(1, "=");
        let format = if has_format { Some(self.format()?) } else { None };
        let name = self.new_name()?;
        let lengths = self.indices()?;
        if lengths.is_empty() {
            let error =
                Diagnostic::error(codes::LENGTH, format!("`{}` has no length", name.text), name.span, "a table");
            return self
                .fail(error.help(format!("write `table {}[256] = ...;` with the number of its entries", name.text)));
        }
        self.expect("=")?;
        let content = if self.is("{") {
            let mut list = Vec::new();
            self.list(&mut list)?;
            TableContent::List(list)
        } else {
            TableContent::File(self.file()?)
        };
        Ok(StatementKind::Table { format, name, lengths, content })
    }

    /// `{ 1, 2, 3 }`, or rows of such lists.
    fn list(&mut self, list: &mut Vec<Tree>) -> Parsed<()> {
        self.expect("{")?;
        while !self.is("}") {
            if self.is("{") {
                self.enter()?;
                self.list(list)?;
                self.depth -= 1;
            } else {
                list.push(self.tree()?);
            }
            if !self.eat(",") && !self.is("}") {
                return self.expected("`,` or `}`");
            }
        }
        self.expect("}")
    }

    /// `file "path"`.
    fn file(&mut self) -> Parsed<Word<'a>> {
        if self.word_at(0).is_none_or(|w| w.text != "file") || self.peek(1).kind != TokenKind::Text {
            let span = self.peek(0).span;
            let error =
                Diagnostic::error(codes::SYNTAX, "a table is made of a file or of a list", span, "neither of the two");
            let error = self.braces_for_brackets(error);
            return self.fail(error.help("write `= file \"table.csv\";`, or `= {1, 2, 3};`"));
        }
        self.next();
        let path = self.next();
        Ok(Word { text: self.text_of(path).trim_matches('"'), span: path.span })
    }
}
