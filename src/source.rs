//! Kernel sources: finding a file or a shipped kernel, compiling it, and showing diagnostics.

use crate::failure::Failure;
use ariadne::{Config, IndexType, Label, Report, ReportKind, Source};
use pg2::diag::{Diagnostic, Severity};
use std::io::IsTerminal;
use std::path::Path;

/// A kernel's text and where it came from.
pub struct Kernel {
    /// As shown in diagnostics.
    pub origin: String,
    /// The kernel's name: the file's stem made an identifier.
    pub name: String,
    pub text: String,
}

/// Reads a kernel: a file, or the name of a shipped kernel if no file of that name exists.
pub fn read(file: &str) -> Result<Kernel, Failure> {
    let path = Path::new(file);
    if !path.exists()
        && let Some(text) = pg2::kernels::find(file)
    {
        return Ok(Kernel { origin: format!("{file}.pg2"), name: file.to_string(), text: text.text.to_string() });
    }
    let bytes = std::fs::read(path).map_err(|e| {
        let shipped = pg2::kernels::KERNELS.iter().map(|k| k.name).collect::<Vec<_>>().join(", ");
        let hint = if path.exists() { String::new() } else { format!("; shipped kernels are {shipped}") };
        Failure::file(path, format!("cannot be read: {e}{hint}"))
    })?;
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        let column = good.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        Failure::Input(format!("{file}:{line}:{column}: the text is not UTF-8; is this a PG2 file?"))
    })?;
    Ok(Kernel { origin: file.to_string(), name: pg2::identifier(&stem), text })
}

/// Compiles a kernel to its graph; warnings go to stderr.
pub fn compile(kernel: &Kernel) -> Result<pg2::graph::Graph, Failure> {
    match pg2::compile(&kernel.name, &kernel.text) {
        Ok(compiled) => {
            if !compiled.warnings.is_empty() {
                eprint!("{}", render(kernel, &compiled.warnings));
            }
            Ok(compiled.graph)
        }
        Err(list) => Err(Failure::Diagnostics(render(kernel, &list))),
    }
}

/// Reads and compiles in one step.
pub fn load(file: &str) -> Result<(Kernel, pg2::graph::Graph), Failure> {
    let kernel = read(file)?;
    let graph = compile(&kernel)?;
    Ok((kernel, graph))
}

/// Diagnostics as text, with the source lines they speak of.
pub fn render(kernel: &Kernel, list: &[Diagnostic]) -> String {
    let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut text = Vec::new();
    for d in list {
        let kind = match d.severity {
            Severity::Error => ReportKind::Error,
            Severity::Warning => ReportKind::Warning,
        };
        let at = d.labels.first().map_or(0..0, |(s, _)| s.start..s.end.max(s.start));
        let origin = kernel.origin.as_str();
        let mut report = Report::build(kind, (origin, at))
            .with_config(Config::default().with_color(color).with_index_type(IndexType::Byte))
            .with_code(d.code)
            .with_message(&d.message);
        for (span, what) in &d.labels {
            report = report.with_label(Label::new((origin, span.start..span.end.max(span.start))).with_message(what));
        }
        for note in &d.notes {
            report = report.with_note(note);
        }
        if let Some(help) = &d.help {
            report = report.with_help(help);
        }
        let written = report.finish().write((origin, Source::from(kernel.text.as_str())), &mut text);
        debug_assert!(written.is_ok());
    }
    String::from_utf8_lossy(&text).into_owned()
}
