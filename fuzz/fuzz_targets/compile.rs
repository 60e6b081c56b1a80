//! Every text gets an answer: a graph that verifies, or findings with codes, remedies and places within the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pg2::diag::codes::CODES;

fuzz_target!(|text: &str| {
    let findings = match pg2::compile("fuzzed", text) {
        Ok(compiled) => {
            compiled.graph.verify().expect("the checker builds graphs that verify");
            compiled.warnings
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors
        }
    };
    for d in findings {
        assert!(CODES.iter().any(|c| c.code == d.code) && d.help.is_some(), "{d:?}");
        assert!(d.labels.iter().all(|(span, _)| text.get(span.start..span.end).is_some()), "{d:?}");
    }
    let names = pg2::syntax::names::names(text);
    assert!(names.definitions.iter().all(|d| d.span.of(text) == d.name));
});
