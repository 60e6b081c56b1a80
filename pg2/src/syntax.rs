//! The kernel's text: sources, words, the syntax tree, and the canonical layout.

pub mod ast;
pub mod fmt;
pub mod foreign;
pub mod functions;
pub mod lex;
pub mod names;
pub mod parse;
pub mod sources;
