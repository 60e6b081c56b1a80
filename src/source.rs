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
        let shipped = pg2::kernels::all().map(|k| k.0).collect::<Vec<_>>().join(", ");
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

/// Lines of more bytes are not shown whole.
const LONGEST_LINE: usize = 400;

/// Diagnostics as text, with the source lines they speak of.
pub fn render(kernel: &Kernel, list: &[Diagnostic]) -> String {
    if kernel.text.split('\n').any(|line| line.len() > LONGEST_LINE) {
        return list.iter().map(|d| excerpt(kernel, d)).collect();
    }
    let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut text = Vec::new();
    let origin = kernel.origin.as_str();
    let mut source = (origin, Source::from(kernel.text.as_str()));
    for d in list {
        let kind = match d.severity {
            Severity::Error => ReportKind::Error,
            Severity::Warning => ReportKind::Warning,
        };
        let at = d.labels.first().map_or(0..0, |(s, _)| s.start..s.end.max(s.start));
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
        let written = report.finish().write(&mut source, &mut text);
        debug_assert!(written.is_ok());
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A diagnostic with a few words of its line, for texts whose lines no terminal shows.
fn excerpt(kernel: &Kernel, d: &Diagnostic) -> String {
    let text = kernel.text.as_str();
    let at = floor(text, d.span().start);
    let line_start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let line = text[..at].bytes().filter(|b| *b == b'\n').count() + 1;
    let column = text[line_start..at].chars().count() + 1;
    let line_end = text[at..].find('\n').map_or(text.len(), |n| at + n);
    let from = floor(text, at.saturating_sub(20)).max(line_start);
    let to = floor(text, at + 40).min(line_end).max(at);
    let shown: String = text[from..to].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let kind = match d.severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
    };
    let mut lines = vec![format!("[{}] {kind}: {}", d.code, d.message)];
    lines.push(format!("   ╭─[ {}:{line}:{column} ]", kernel.origin));
    lines.push(format!("   │ … {shown} …"));
    lines.extend(d.labels.iter().map(|(_, what)| format!("   │ {what}")));
    lines.extend(d.notes.iter().map(|note| format!("   │ Note: {note}")));
    lines.extend(d.help.iter().map(|help| format!("   │ Help: {help}")));
    lines.push("───╯\n".to_string());
    lines.join("\n")
}

/// The last place between two characters that is not behind `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|k| text.is_char_boundary(*k)).unwrap_or(0)
}
