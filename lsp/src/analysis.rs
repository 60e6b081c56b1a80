//! The compiler's analysis of a document.

use crate::document::{Document, MOST};
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
use terminal::include;
use terminal::tables::{EDITOR, within};

/// Kernels of more operators are not built for the sake of a hover.
const MOST_BUILT: usize = 3000;

/// A compiled document.
pub struct Analysis {
    /// As it was written; `None` if it does not compile.
    pub graph: Option<Graph>,
    /// The document and the files that it includes, as the editor has them or as they were saved last; their origins are URIs.
    pub sources: Sources,
    pub found: Vec<Diagnostic>,
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
        let sources = sources(document);
        let compiled = within(EDITOR, || pg2::compile_sources(&document.name(), &sources));
        let (graph, found) = match compiled {
            Ok(compiled) => (Some(compiled.graph), compiled.warnings),
            Err(errors) => (None, errors),
        };
        document.analysis = Some(Analysis { graph, sources, found, pipeline: None });
    }
    document.analysis.as_mut().expect("just made")
}

fn sources(document: &Document) -> Sources {
    let path = document.path();
    let key = path.as_ref().map_or_else(|| document.uri.to_string(), |p| include::key(p));
    let own = Loaded { key, origin: document.uri.to_string(), text: document.text.to_string() };
    Sources::gather(own, &mut |from, name| {
        if path.is_none() {
            return Err("save this file first, so that it has a folder".into());
        }
        let loaded = include::load(from, name)?;
        let origin = uri_of(Path::new(&loaded.key));
        let text = document.open.borrow().get(&loaded.key).cloned().unwrap_or(loaded.text);
        Ok(Loaded { origin, text, key: loaded.key })
    })
}

impl Analysis {
    /// An included file that defines a name for all, with the definition.
    pub fn elsewhere(&self, name: &str) -> Option<(Document, Definition)> {
        self.sources.files().iter().skip(1).find_map(|file| {
            let text = self.sources.text_of(file);
            let found = names(text).definitions.into_iter().find(|d| d.name == name && d.scope.end == text.len())?;
            Some((Document::new(file.origin.parse().ok()?, text.into(), None), found))
        })
    }

    /// Definitions of included files for all, each with the text that it stands in.
    pub fn included(&self) -> impl Iterator<Item = (Definition, &str)> {
        self.sources.files().iter().skip(1).flat_map(|file| {
            let text = self.sources.text_of(file);
            let own = names(text).definitions.into_iter().filter(|d| d.scope.end == text.len());
            own.map(move |d| (d, text))
        })
    }

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
    analysis(document);
    // A file that declares no pin is there to be included.
    let is_part = !document.names().definitions.iter().any(|d| d.kind == Kind::Pin);
    let is_whole = |d: &&Diagnostic| !is_part || !matches!(d.code, codes::NO_OUTPUT | codes::UNUSED_NAME);
    let analysis = document.analysis.as_ref().expect("just made");
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
