//! What the compiler says about a document.

use super::document::Document;
use hdl::target::Clock;
use hdl::{Bounds, Format};
use pg2::diag::{Diagnostic, Severity};
use pg2::graph::{Graph, NodeKind};
use serde_json::{Value, json};

/// Kernels of more operators are not built for the sake of a hover.
const MOST_BUILT: usize = 3000;

/// A compiled document.
pub struct Analysis {
    /// As it was written; `None` if it does not compile.
    pub graph: Option<Graph>,
    found: Vec<Diagnostic>,
    /// Built when first asked for.
    pipeline: Option<Option<Pipeline>>,
}

/// When the values of a pipeline are there, and what they can be.
pub struct Pipeline {
    pub depth: u32,
    pub mhz: f64,
    pub target: &'static str,
    pub values: Vec<PipelineValue>,
}

pub struct PipelineValue {
    /// With its index, such as `dx[0]`.
    pub name: String,
    pub format: Format,
    pub ready: u32,
    pub fixed: bool,
    pub bounds: Bounds,
}

/// The analysis of a document's text as it is now.
pub fn analysis(document: &mut Document) -> &mut Analysis {
    if document.analysis.is_none() {
        let (graph, found) = match pg2::compile(&document.name(), &document.text) {
            Ok(compiled) => (Some(compiled.graph), compiled.warnings),
            Err(errors) => (None, errors),
        };
        document.analysis = Some(Analysis { graph, found, pipeline: None });
    }
    document.analysis.as_mut().expect("just made")
}

impl Analysis {
    pub fn pipeline(&mut self) -> Option<&Pipeline> {
        let graph = self.graph.as_ref()?;
        self.pipeline.get_or_insert_with(|| built(graph)).as_ref()
    }
}

fn built(graph: &Graph) -> Option<Pipeline> {
    if graph.nodes.len() > MOST_BUILT {
        return None;
    }
    let clock = Clock::default_clock();
    let built = pg2::build::build(graph, clock, "", Vec::new());
    let nodes = built.graph.nodes.iter().enumerate();
    let values = nodes.filter(|(_, node)| !node.name.is_empty()).map(|(k, node)| PipelineValue {
        name: node.name.clone(),
        format: node.format,
        ready: built.schedule.start[k] + built.schedule.latency[k],
        fixed: built.schedule.fixed[k],
        bounds: match &node.kind {
            NodeKind::Op { op, inst, .. } => op.bounds(inst),
            NodeKind::Const { bits } => Bounds::exactly(node.format, *bits),
            NodeKind::Pin { .. } => Bounds::of(node.format),
        },
    });
    Some(Pipeline { depth: built.schedule.depth, mhz: clock.mhz, target: clock.target.name, values: values.collect() })
}

/// The findings as the protocol has them.
pub fn diagnostics(document: &mut Document) -> Vec<Value> {
    analysis(document);
    let found = &document.analysis.as_ref().expect("just made").found;
    found.iter().map(|d| diagnostic(document, d)).collect()
}

fn diagnostic(document: &Document, d: &Diagnostic) -> Value {
    let mut message = d.message.clone();
    let notes = d.notes.iter().map(|n| format!("\nnote: {n}"));
    message.extend(notes.chain(d.help.iter().map(|h| format!("\nhelp: {h}"))));
    let related: Vec<Value> = (d.labels.iter().skip(1))
        .map(|(span, label)| json!({"location": document.location(*span), "message": label}))
        .collect();
    let mut value = json!({
        "range": document.range(d.span()),
        "severity": if d.severity == Severity::Error { 1 } else { 2 },
        "code": d.code,
        "source": "pairforge",
        "message": message,
        "relatedInformation": related,
    });
    if matches!(d.code, pg2::codes::UNUSED_NAME | pg2::codes::UNUSED_PIN) {
        // Shown faded by editors.
        value["tags"] = json!([1]);
    }
    value
}
