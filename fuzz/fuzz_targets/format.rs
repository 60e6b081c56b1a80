//! Formatting what parses is idempotent and keeps the graph.

#![no_main]

use libfuzzer_sys::fuzz_target;

/// The graph as text, which has no places in it.
fn graph(text: &str) -> Option<String> {
    pg2::compile("fuzzed", text).ok().map(|c| c.graph.to_string())
}

fuzz_target!(|text: &str| {
    let Ok(once) = pg2::syntax::fmt::format(text) else { return };
    assert_eq!(pg2::syntax::fmt::format(&once).as_ref(), Ok(&once));
    assert_eq!(graph(text), graph(&once));
});
