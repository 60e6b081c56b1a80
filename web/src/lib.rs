//! Pairforge in a browser: what a page asks of the compiler, behind one call with JSON in and out.
//!
//! [`Page::call`] takes `{"call": NAME, ...}` and gives the answer, or `{"error": TEXT}`; [`CALLS`] has a line for each name. Compiled to
//! WebAssembly, [`wasm`] exports it as plain functions over memory. A panic ends the instance there, and the page starts another one: of
//! all calls only those of the language server leave anything behind.

mod boards;
mod design;
mod kernel;
mod run;
#[cfg(test)]
mod tests;
#[cfg(target_family = "wasm")]
mod wasm;

use hdl::board::BOARDS;
use hdl::circuit::target::TARGETS;
use lsp::Session;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The compiler as a page sees it.
#[derive(Default)]
pub struct Page {
    server: Session,
}

/// Answers a call, or says what is wrong with it.
type Call = fn(&mut Page, Value) -> Result<Value, String>;

static CALLS: &[(&str, Call)] = &[
    ("about", |_, _| Ok(about())),
    ("lsp", |page, asked| Ok(json!({ "messages": page.server.take(asked["message"].clone()) }))),
    ("design", |_, asked| answered(asked, design::design)),
    ("board", |_, asked| answered(asked, boards::board)),
    ("pins", |_, asked| answered(asked, run::pins)),
    ("run", |_, asked| answered(asked, run::run)),
];

/// The answer of a function to the parameters of a call.
fn answered<P: DeserializeOwned, T: Serialize>(
    asked: Value,
    answer: impl Fn(P) -> Result<T, String>,
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

/// The version, shipped kernels, and targets and boards by their names.
fn about() -> Value {
    let kernel = |(name, summary): (&str, &str)| json!({ "name": name, "summary": summary, "text": pg2::kernels::find(name).map(|k| k.text) });
    let target = |t: &hdl::circuit::target::Target| json!({ "name": t.name, "mhz": t.usual_mhz });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "kernels": pg2::kernels::all().map(kernel).collect::<Vec<Value>>(),
        "targets": TARGETS.iter().map(target).collect::<Vec<Value>>(),
        "boards": BOARDS.iter().map(|b| b.name).collect::<Vec<&str>>(),
    })
}
