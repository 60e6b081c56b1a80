//! The compiler's analysis of a document, made on a thread of its own.
//!
//! An answer that needs an analysis which is not finished says so in `missing`, and is asked for again when it is ([`crate::beside`]).

use crate::document::{Document, MOST};
use crate::system::{self, EDITOR, Stop, within_or_stopped};
use crate::uri::uri_of;
use hdl::circuit::target::Clock;
use hdl::{Bounds, Format};
use lsp_types::{DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location, NumberOrString};
use pg2::diag::{Diagnostic, Severity, Span, codes};
use pg2::graph::{Graph, NodeKind};
use pg2::syntax::lex::{TokenKind, lex};
use pg2::syntax::names::{Definition, Kind, names};
use pg2::syntax::sources::{Loaded, Sources};
use std::path::Path;
use std::sync::Arc;

/// Kernels of more operators are not built for the sake of a hover.
const MOST_BUILT: usize = 3000;

/// A compiled document.
pub struct Analysis {
    /// The state of the document that was compiled.
    pub state: u64,
    /// As it was written; `None` if it does not compile.
    pub graph: Option<Arc<Graph>>,
    /// The document and the files that it includes, as the editor has them or as they were saved last; their origins are URIs.
    pub sources: Arc<Sources>,
    pub found: Vec<Diagnostic>,
    /// Built when first asked for; `None` inside where it cannot be.
    pub pipeline: Option<Option<Pipeline>>,
}

/// A need of an answer that was not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    Analysis,
    Pipeline,
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

/// The text of a document, to be compiled elsewhere.
pub struct Task {
    name: String,
    state: u64,
    sources: Arc<Sources>,
}

impl Task {
    pub fn new(document: &mut Document) -> Task {
        Task { name: document.name(), state: document.state, sources: sources(document) }
    }

    /// The analysis that stands for one in which the compiler failed.
    pub fn failed(&self) -> Analysis {
        let sources = self.sources.clone();
        Analysis { state: self.state, graph: None, sources, found: Vec::new(), pipeline: None }
    }

    /// Compiles it; what it gives after it was told to stop is worth nothing.
    pub fn compile(self, stop: &Stop) -> Analysis {
        let Task { name, state, sources } = self;
        let compiled = within_or_stopped(EDITOR, stop, || pg2::compile_sources(&name, &sources));
        let (graph, found) = match compiled {
            Ok(compiled) => (Some(Arc::new(compiled.graph)), compiled.warnings),
            Err(errors) => (None, errors),
        };
        Analysis { state, graph, sources, found, pipeline: None }
    }
}

/// The analysis of a document's text as it is now.
pub fn analysis(document: &mut Document) -> Option<&mut Analysis> {
    if document.analysis.as_ref().is_none_or(|a| a.state != document.state) {
        document.missing = Some(Missing::Analysis);
        return None;
    }
    document.analysis.as_mut()
}

/// The same, or that of an earlier text where an answer may be old.
pub fn last_analysis(document: &mut Document) -> Option<&mut Analysis> {
    if document.may_be_old && document.analysis.is_some() { document.analysis.as_mut() } else { analysis(document) }
}

/// The pipeline of a document that compiles and is small; that of an earlier text is not built for an answer that may be old.
pub fn pipeline(document: &mut Document) -> Option<&Pipeline> {
    let state = document.state;
    let known = last_analysis(document)?;
    if known.graph.is_some() && known.pipeline.is_none() && known.state == state {
        document.missing = Some(Missing::Pipeline);
    }
    document.analysis.as_ref()?.pipeline.as_ref()?.as_ref()
}

/// The document and the files that it includes.
pub fn sources(document: &mut Document) -> Arc<Sources> {
    if let Some(known) = &document.sources {
        return known.clone();
    }
    let path = document.path();
    let key = path.as_ref().map_or_else(|| document.uri.to_string(), |p| system::key(p));
    let own = Loaded { key, origin: document.uri.to_string(), text: document.text.to_string() };
    let sources = Sources::gather(own, &mut |from, name| {
        if path.is_none() {
            return Err("save this file first, so that it has a folder".into());
        }
        let loaded = system::load(from, name)?;
        let origin = uri_of(Path::new(&loaded.key));
        let text = document.open.borrow().get(&loaded.key).cloned().unwrap_or(loaded.text);
        Ok(Loaded { origin, text, key: loaded.key })
    });
    document.sources.insert(Arc::new(sources)).clone()
}

/// An included file that defines a name for all, with the definition.
pub fn elsewhere(sources: &Sources, name: &str) -> Option<(Document, Definition)> {
    sources.files().iter().skip(1).find_map(|file| {
        let text = sources.text_of(file);
        let found = names(text).definitions.into_iter().find(|d| d.name == name && d.scope.end == text.len())?;
        Some((Document::new(file.origin.parse().ok()?, text.into(), None), found))
    })
}

/// Definitions of included files for all, each with the text that it stands in.
pub fn included(sources: &Sources) -> impl Iterator<Item = (Definition, &str)> {
    sources.files().iter().skip(1).flat_map(|file| {
        let text = sources.text_of(file);
        let own = names(text).definitions.into_iter().filter(|d| d.scope.end == text.len());
        own.map(move |d| (d, text))
    })
}

/// The pipeline of a kernel that is not too large for it.
pub fn built(graph: &Graph) -> Option<Pipeline> {
    if graph.nodes.len() > MOST_BUILT {
        return None;
    }
    let clock = Clock::default_clock();
    let built = pg2::backend::build::build(graph, clock, "", Vec::new());
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
pub fn diagnostics(document: &mut Document) -> Vec<lsp_types::Diagnostic> {
    // A file that declares no pin is there to be included.
    let is_part = !document.names().definitions.iter().any(|d| d.kind == Kind::Pin);
    let is_whole = |d: &&Diagnostic| !is_part || !matches!(d.code, codes::NO_OUTPUT | codes::UNUSED_NAME);
    let Some(analysis) = &document.analysis else { return Vec::new() };
    analysis.found.iter().filter(is_whole).take(MOST).map(|d| diagnostic(document, &analysis.sources, d)).collect()
}

/// A place in the document or in a file that it includes.
fn location(document: &Document, sources: &Sources, span: Span) -> Option<Location> {
    let (file, span) = sources.place(span);
    if file.origin == document.uri.as_str() {
        return Some(document.location(span));
    }
    Some(Document::new(file.origin.parse().ok()?, sources.text_of(file).into(), None).location(span))
}

/// The path behind the first `include` of a text.
fn first_include(text: &str) -> Option<Span> {
    let tokens = lex(text).tokens;
    let includes = |w: &&[pg2::syntax::lex::Token]| w[0].span.of(text) == "include" && w[1].kind == TokenKind::Text;
    tokens.windows(2).find(includes).map(|w| w[1].span)
}

/// Whether a finding lies in the document itself, and where the document shows it: what is wrong elsewhere is shown at the
/// include, and leads there.
pub fn shown_at(document: &Document, sources: &Sources, d: &Diagnostic) -> (bool, Span) {
    let (file, span) = sources.place(d.span());
    if file.origin == document.uri.as_str() {
        return (true, span);
    }
    (false, first_include(&document.text).unwrap_or_default())
}

pub fn diagnostic(document: &Document, sources: &Sources, d: &Diagnostic) -> lsp_types::Diagnostic {
    let (own, span) = shown_at(document, sources, d);
    let mut message = if own { d.message.clone() } else { format!("in an included file: {}", d.message) };
    let notes = d.notes.iter().map(|n| format!("\nnote: {n}"));
    message.extend(notes.chain(d.help.iter().map(|h| format!("\nhelp: {h}"))));
    // The main place of a finding in the document is the range.
    let labels = d.labels.iter().skip(own as usize);
    let related = labels.filter_map(|(span, label)| {
        let location = location(document, sources, *span)?;
        Some(DiagnosticRelatedInformation { location, message: label.clone() })
    });
    let unused = matches!(d.code, pg2::diag::codes::UNUSED_NAME | pg2::diag::codes::UNUSED_PIN);
    lsp_types::Diagnostic {
        range: document.range(span),
        severity: Some(match d.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(d.code.into())),
        source: Some("pairforge".into()),
        message,
        related_information: Some(related.collect()),
        // Shown faded by editors.
        tags: unused.then(|| vec![DiagnosticTag::UNNECESSARY]),
        ..lsp_types::Diagnostic::default()
    }
}
