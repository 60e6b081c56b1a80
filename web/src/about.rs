//! What a page lists before anything is asked.

use hdl::board::BOARDS;
use hdl::circuit::target::TARGETS;
use serde_json::{Value, json};

/// The version, shipped kernels, and targets and boards by their names.
pub fn about() -> Value {
    let kernel = |(name, summary): (&str, &str)| json!({ "name": name, "summary": summary, "text": pg2::kernels::find(name).map(|k| k.text) });
    let target = |t: &hdl::circuit::target::Target| json!({ "name": t.name, "mhz": t.usual_mhz });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "kernels": pg2::kernels::all().map(kernel).collect::<Vec<Value>>(),
        "targets": TARGETS.iter().map(target).collect::<Vec<Value>>(),
        "boards": BOARDS.iter().map(|b| b.name).collect::<Vec<&str>>(),
    })
}
