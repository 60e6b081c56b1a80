//! Pairforge in a browser: what a page asks of the compiler and the FMM, behind one call with JSON in and out.
//!
//! [`Page::call`] takes `{"call": NAME, ...}` and gives the answer, or `{"error": TEXT}`; [`CALLS`] has a line for each name. Large inputs
//! and outputs go beside the JSON as [bytes](Page::bytes). Compiled to WebAssembly, [`wasm`] exports it as plain functions over memory:
//! with the feature `compiler` for the page of kernels, with `fmm` for that of the FMM, which is a file of its own. A panic ends the
//! instance there, and the page starts another one: of all calls only those of the language server leave anything behind.

#[cfg(feature = "compiler")]
mod about;
#[cfg(feature = "compiler")]
mod boards;
#[cfg(feature = "compiler")]
mod design;
#[cfg(feature = "compiler")]
mod formats;
mod kernel;
#[cfg(feature = "compiler")]
mod run;
#[cfg(feature = "fmm")]
mod solve;
#[cfg(all(test, feature = "compiler", feature = "fmm"))]
mod tests;
#[cfg(target_family = "wasm")]
mod wasm;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The compiler or the FMM as a page sees it.
#[derive(Default)]
pub struct Page {
    #[cfg(feature = "compiler")]
    server: lsp::Session,
    /// Bytes beside the JSON: a file that a call is about, and then what its answer holds.
    pub bytes: Vec<u8>,
}

/// Answers a call, or says what is wrong with it.
type Call = fn(&mut Page, Value) -> Result<Value, String>;

static CALLS: &[(&str, Call)] = &[
    #[cfg(feature = "compiler")]
    ("about", |_, _| Ok(about::about())),
    #[cfg(feature = "compiler")]
    ("lsp", |page, asked| Ok(json!({ "messages": page.server.take(asked["message"].clone()) }))),
    #[cfg(feature = "compiler")]
    ("design", |_, asked| answered(asked, design::design)),
    #[cfg(feature = "compiler")]
    ("board", |_, asked| answered(asked, boards::board)),
    #[cfg(feature = "compiler")]
    ("formats", |_, asked| answered(asked, formats::formats)),
    #[cfg(feature = "compiler")]
    ("point", |_, asked| answered(asked, formats::point)),
    #[cfg(feature = "compiler")]
    ("pins", |_, asked| answered(asked, run::pins)),
    #[cfg(feature = "compiler")]
    ("run", |_, asked| answered(asked, run::run)),
    // For tests of pages, which live on.
    ("panic", |_, _| panic!("a panic was asked for")),
    #[cfg(feature = "fmm")]
    ("fmm", |page, asked| answered(asked, |asked| solve::solve(asked, &mut page.bytes))),
];

/// The answer of a function to the parameters of a call.
fn answered<P: DeserializeOwned, T: Serialize>(
    asked: Value,
    answer: impl FnOnce(P) -> Result<T, String>,
) -> Result<Value, String> {
    let params = P::deserialize(asked).map_err(|e| format!("wrong parameters: {e}"))?;
    serde_json::to_value(answer(params)?).map_err(|e| e.to_string())
}

impl Page {
    /// Answers the text of a call with that of its answer.
    pub fn call(&mut self, text: &str) -> String {
        let answer =
            serde_json::from_str(text).map_err(|e| format!("this is no JSON: {e}")).and_then(|asked: Value| {
                let name = asked["call"].as_str().unwrap_or_default();
                let Some((_, call)) = CALLS.iter().find(|c| c.0 == name) else {
                    return Err(format!("there is no call `{}`", fmm::shown::shown(name)));
                };
                call(self, asked)
            });
        answer.unwrap_or_else(|why| json!({ "error": why })).to_string()
    }
}
