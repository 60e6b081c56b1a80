//! Declarations of pins: ranges, and values of parameters.

use super::{Parsed, Parser};
use crate::syntax::ast::{StatementKind, Tree, Word};
use crate::syntax::lex::TokenKind;

impl<'a> Parser<'a> {
    /// `in least..greatest`, if it stands there.
    pub(super) fn range_of_pin(&mut self) -> Parsed<Option<[Tree; 2]>> {
        if self.word_at(0).is_none_or(|word| word.text != "in") {
            return Ok(None);
        }
        self.next();
        self.range_in_brackets()?;
        let least = self.tree()?;
        if self.is(":") || self.is(",") {
            let error = self.foreign("a range is written with two dots", self.peek(0).span, "write `..`");
            return self.fail(error.edit(self.peek(0).span, ".."));
        }
        self.expect("..")?;
        Ok(Some([least, self.tree()?]))
    }

    /// Whether a format, a name and a `=` stand behind the next token.
    pub(super) fn has_value(&self) -> bool {
        let format = self.peek(1).kind == TokenKind::Format || self.types.contains(self.text_of(self.peek(1)));
        let end = (3..64).find(|k| self.is_at(*k, "=") || self.is_at(*k, ";") || self.peek(*k).kind == TokenKind::End);
        format && self.peek(2).kind == TokenKind::Word && end.is_some_and(|k| self.is_at(k, "="))
    }

    /// `param format name = value;`
    pub(super) fn parameter(&mut self, class: Word<'a>) -> Parsed<StatementKind<'a>> {
        self.only_in_files(class.span, "a pin")?;
        self.next();
        let format = self.format()?;
        let name = self.new_name()?;
        let lengths = self.indices()?;
        let default = if self.eat("=") { Some(self.tree()?) } else { None };
        let range = self.range_of_pin()?;
        Ok(StatementKind::Declare { format, name, lengths, class, range, default })
    }
}
