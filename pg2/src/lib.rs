//! The language PG2 and its compiler.
//!
//! Data meets these forms in order: text, [`syntax::ast::Program`] (what was written), [`graph::Graph`] (typed operator
//! nodes, the central type), [`middle::schedule::Schedule`] (the cycle in which each node starts), and
//! [`hdl::rtl::netlist::Netlist`]. The emulator and other software forms branch off at the graph. Nothing here does I/O or prints:
//! mistakes come back as [`diag::Diagnostic`]s, all of a file at once.
//!
//! ```
//! use hdl::circuit::target::Clock;
//!
//! let text = "float18.9 x ipin; float18.9 y jpin; int64 s fout;
//!             d = x - y; s += (int64)(d * d << 20);";
//! let compiled = pairforge_pg2::compile("squares", text).expect("it has no mistakes");
//! assert_eq!(compiled.graph.outputs.len(), 1);
//! let built = pairforge_pg2::backend::build::build(&compiled.graph, Clock::default_clock(), text, compiled.warnings);
//! assert!(built.schedule.depth > 0);
//! assert!(built.netlist.verilog()?.contains("module squares_pipeline ("));
//!
//! let mistakes = pairforge_pg2::compile("wrong", "int8 a ipin; int8 o fout; o += b;").err().expect("there is no b");
//! assert_eq!(mistakes.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod backend;
mod check;
pub mod diag;
pub mod error;
pub mod fpcore;
pub mod gen_m2l;
pub mod graph;
pub mod kernels;
pub mod middle;
pub mod report;
pub mod syntax;
pub mod vary;

pub use backend::build::{Built, compile_to_netlist};
pub use check::words_of_functions;
pub use gen_m2l::gen_m2l;

use diag::codes;
use diag::{Diagnostic, MAX_REPORTED, Severity};
use graph::Graph;
use middle::warn;
use syntax::parse;
use syntax::sources::Sources;

/// A compiled kernel.
#[derive(Clone)]
pub struct Compiled {
    /// Verified, and not yet simplified.
    pub graph: Graph,
    pub warnings: Vec<Diagnostic>,
}

/// Compiles the text of a kernel, which includes no files. `name` becomes the kernel's name, made an identifier if it is none. The
/// errors are all that the text has, in its order.
pub fn compile(name: &str, text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    compile_sources(name, &Sources::alone(name, text))
}

/// Compiles a kernel of several files. Spans are places in the whole text of `sources`.
pub fn compile_sources(name: &str, sources: &Sources) -> Result<Compiled, Vec<Diagnostic>> {
    let (program, errors) = parse::parse_sources(sources);
    let own_end = sources.files()[0].span.end;
    let (graph, mut found) = check::check(&identifier(name), sources.text(), own_end, &program, errors);
    if found.iter().any(|d| d.severity == Severity::Error) {
        found.retain(|d| d.severity == Severity::Error);
        sort(&mut found);
        return Err(found);
    }
    warn::warnings(&graph).into_iter().for_each(|one| diag::report(&mut found, one));
    sort(&mut found);
    if let Err(why) = graph.verify() {
        panic!("the checker builds graphs that verify: {why}");
    }
    Ok(Compiled { graph, warnings: found })
}

/// Orders findings by place, and says so where some were left out.
fn sort(found: &mut Vec<Diagnostic>) {
    let too_many = found.len() > MAX_REPORTED;
    found.truncate(MAX_REPORTED);
    found.sort_by_key(|d| (d.span().start, d.span().end));
    if too_many {
        let last = found.last().map(Diagnostic::span).unwrap_or_default();
        let message = format!("more than {MAX_REPORTED} findings; the rest are left out");
        let of_kind = match found.last().map(|d| d.severity) {
            Some(Severity::Warning) => Diagnostic::warning,
            _ => Diagnostic::error,
        };
        found.push(of_kind(codes::TOO_MANY, message, last, "given up").help("correct the first ones and try again"));
    }
}

/// `name` with everything that no Verilog identifier has replaced by `_`.
pub fn identifier(name: &str) -> String {
    let mut word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !word.starts_with(|c: char| c.is_ascii_alphabetic()) {
        word.insert_str(0, "k_");
    }
    word
}
