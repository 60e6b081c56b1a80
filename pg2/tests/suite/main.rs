//! Tests of the language and of the compiler's passes: one module a subject.

extern crate pairforge_pg2 as pg2;

mod areas;
mod attack;
mod branches;
mod cascades;
mod cases;
mod demand;
mod diagnostics;
mod documents;
mod errors;
mod evaluated;
mod explaining;
mod fitted;
mod formatting;
mod fpbench;
mod functions;
mod graphs;
mod growth;
mod hostile;
mod includes;
mod large;
mod library;
mod literals;
mod logs;
mod loops;
mod lowering;
mod matrices;
mod mutate;
mod mutations;
mod ranges;
mod remedies;
mod rules;
mod scheduling;
mod simplifying;
mod varying;
mod warnings;
