//! The flags that a run raised: on how many targets, of which outputs, and at which lines they can arise.

use fmm::shown::escaped;
use hdl::Flags;
use pg2::graph::Graph;
use pg2::report::origins::{Origin, origins};
use pg2::syntax::sources::Sources;
use serde::Serialize;

/// A flag that was raised, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
pub struct Raised {
    pub flag: &'static str,
    /// How many targets raised it.
    targets: usize,
    /// The columns that it can belong to.
    outputs: Vec<String>,
    lines: Vec<Line>,
    /// The names of the outputs, without elements.
    #[serde(skip)]
    pins: Vec<String>,
}

#[derive(Serialize)]
struct Line {
    file: String,
    line: usize,
    text: String,
}

/// Lines that the message names; the others are in `--json`.
const SHOWN: usize = 3;

/// The flags that targets raised, in the order of their names; `origin` is the name of the kernel's file.
pub fn raised((origin, sources): (&str, &Sources), graph: &Graph, flags: &[Flags]) -> Vec<Raised> {
    let all = flags.iter().fold(Flags::NONE, |a, f| a | *f);
    if all.is_empty() {
        return Vec::new();
    }
    let origins = origins(graph, sources);
    let of = |flag: Flags| {
        let none = Origin { flag, outputs: Vec::new(), lines: Vec::new() };
        let found = origins.iter().find(|o| o.flag == flag).unwrap_or(&none);
        let outputs = || found.outputs.iter().map(|k| &graph.outputs[*k]);
        let mut pins: Vec<String> = outputs().map(|o| graph.pins[o.pin].name.clone()).collect();
        pins.dedup();
        let line = |line: &pg2::report::origins::Line| Line {
            file: line.file.clone().unwrap_or_else(|| origin.to_string()),
            line: line.number,
            text: line.statement.clone(),
        };
        Raised {
            flag: flag.names()[0],
            targets: flags.iter().filter(|f| f.contains(flag)).count(),
            outputs: outputs().map(|o| graph.pins[o.pin].column(o.element)).collect(),
            lines: found.lines.iter().map(line).collect(),
            pins,
        }
    };
    all.iter().map(of).collect()
}

impl Raised {
    /// `overflow: 3 of 1000 targets, in pout or gout; can arise at p2p.pg2:7 `inr = ...``.
    pub fn text(&self, targets: usize) -> String {
        let mut text = format!("{}: {} of {targets} targets", self.flag, self.targets);
        if !self.pins.is_empty() {
            text += &format!(", in {}", self.pins.join(" or "));
        }
        if !self.lines.is_empty() {
            let shown = self
                .lines
                .iter()
                .take(SHOWN)
                .map(|l| format!("{}:{} `{}`", escaped(&l.file), l.line, escaped(&l.text)));
            text += &format!("; can arise at {}", shown.collect::<Vec<_>>().join(", "));
        }
        match self.lines.len().saturating_sub(SHOWN) {
            0 => text,
            1 => text + " and 1 more line",
            more => text + &format!(" and {more} more lines"),
        }
    }
}
