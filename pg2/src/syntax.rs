//! What was written: sources, words, the syntax tree, and the canonical layout.

pub mod ast;
pub mod fmt;
pub mod functions;
pub mod habits;
pub mod lex;
pub mod names;
pub mod parse;
pub mod sources;
