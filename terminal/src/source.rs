//! Kernel sources: finding a file or a shipped kernel, compiling it, and showing diagnostics.

mod printable;

use crate::failure::Failure;
use crate::include::{self, SHIPPED};
use crate::input;
use ariadne::{Config, IndexType, Label, Report, ReportKind};
use fmm::shown;
use pg2::diag::{Diagnostic, Severity, Span};
use pg2::syntax::sources::{Loaded, Sources};
use printable::Printable;
use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// A kernel's text and where it came from.
pub struct Kernel {
    /// As shown in diagnostics.
    pub origin: String,
    /// The kernel's name: the file's stem made an identifier.
    pub name: String,
    /// Of its own file.
    pub text: String,
    /// The text and the files that it includes.
    pub sources: Sources,
    /// By what its file is known to those that include it.
    key: String,
}

impl Kernel {
    /// Text that comes from no file of the user, and includes shipped files at most.
    pub fn shipped(name: &str, text: &str) -> Kernel {
        let origin = format!("{name}.pg2");
        Kernel::new(SHIPPED.to_string() + &origin, origin, name.to_string(), text.to_string())
    }

    fn new(key: String, origin: String, name: String, text: String) -> Kernel {
        let own = Loaded { key: key.clone(), origin: origin.clone(), text: text.clone() };
        let sources = Sources::gather(own, &mut include::load);
        Kernel { origin, name, text, sources, key }
    }

    /// The same kernel with another text in its own file.
    pub fn with_text(&self, text: String) -> Kernel {
        Kernel::new(self.key.clone(), self.origin.clone(), self.name.clone(), text)
    }
}

/// The shipped kernel that a name stands for: one where no file has that name. A folder is no kernel, so that results may be kept
/// in one named after theirs.
pub fn shipped(file: &str) -> Option<Kernel> {
    let path = Path::new(file);
    let kernel = if path.exists() && !path.is_dir() { None } else { pg2::kernels::find(file) };
    kernel.map(|kernel| Kernel::shipped(file, kernel.text))
}

/// Reads a kernel: a file, the name of a shipped kernel if no file of that name exists, or standard input for `-`.
pub fn read(file: &str) -> Result<Kernel, Failure> {
    let path = Path::new(file);
    if let Some(kernel) = shipped(file) {
        return Ok(kernel);
    }
    if input::is_standard(path) {
        // What it includes is looked for in the folder where the program runs.
        let here = std::env::current_dir().unwrap_or_default();
        let name = "standard_input".to_string();
        return Ok(Kernel::new(include::key(&here.join(&name)), input::name(path), name, input::standard_text()?));
    }
    let bytes = input::kernel(path).map_err(|reason| {
        let shipped = pg2::kernels::all().map(|k| k.0).collect::<Vec<_>>().join(", ");
        let hint = if path.exists() { String::new() } else { format!("; shipped kernels are {shipped}") };
        Failure::file(path, format!("cannot be read: {reason}{hint}"))
    })?;
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let origin = shown::path(path);
    let text = include::utf8(bytes).map_err(|at| {
        let error = format!("[{}] Error: the text is not UTF-8; is this a PG2 file?", pg2::diag::codes::CHARACTER);
        Failure::Diagnostics(format!("{error}\n   ╭─[ {origin}:{at} ]\n   │ Help: save it as UTF-8\n───╯\n"))
    })?;
    Ok(Kernel::new(include::key(path), origin, pg2::identifier(&stem), text))
}

/// The files that a kernel's file includes, as far as they can be read.
pub fn included(file: &str) -> Vec<PathBuf> {
    let Some(text) = input::kernel(Path::new(file)).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let own = Loaded { key: include::key(Path::new(file)), origin: String::new(), text };
    Sources::gather(own, &mut |from, path| {
        let loaded = include::load(from, path)?;
        found.push(PathBuf::from(&loaded.key));
        Ok(loaded)
    });
    found
}

/// Compiles a kernel to its graph; warnings go to stderr.
pub fn compile(kernel: &Kernel) -> Result<pg2::graph::Graph, Failure> {
    match pg2::compile_sources(&kernel.name, &kernel.sources) {
        Ok(compiled) => {
            if !compiled.warnings.is_empty() {
                crate::output::tell(&render(&kernel.sources, &compiled.warnings));
            }
            Ok(compiled.graph)
        }
        Err(list) => Err(Failure::Diagnostics(render(&kernel.sources, &list))),
    }
}

/// Compiles a kernel to its graph and leaves what was found to the caller.
pub fn graph(kernel: &Kernel) -> Result<pg2::graph::Graph, Vec<Diagnostic>> {
    pg2::compile_sources(&kernel.name, &kernel.sources).map(|compiled| compiled.graph)
}

/// Reads and compiles in one step.
pub fn load(file: &str) -> Result<(Kernel, pg2::graph::Graph), Failure> {
    let kernel = read(file)?;
    let graph = compile(&kernel)?;
    Ok((kernel, graph))
}

/// Lines of more bytes are not shown whole.
const LONGEST_LINE: usize = 400;

/// Diagnostics as text for stderr, with the source lines they speak of.
pub fn render(sources: &Sources, list: &[Diagnostic]) -> String {
    // As https://no-color.org has it: a variable without a value says nothing.
    let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    rendered(sources, list, color)
}

/// The same, with the colours of a terminal or without.
pub fn rendered(sources: &Sources, list: &[Diagnostic], color: bool) -> String {
    if sources.text().split('\n').any(|line| line.len() > LONGEST_LINE) {
        let mut cursor = Cursor::default();
        return list.iter().map(|d| excerpt(sources, &escaped(d), &mut cursor)).collect();
    }
    let mut text = Vec::new();
    let files: HashMap<&str, Printable> =
        sources.files().iter().map(|f| (f.origin.as_str(), Printable::new(sources.text_of(f)))).collect();
    let place = |span: Span| {
        let (file, span) = sources.place(span);
        let shown = &files[file.origin.as_str()];
        (file.origin.clone(), shown.at(span.start)..shown.at(span.end))
    };
    let texts = sources.files().iter().map(|f| (f.origin.clone(), files[f.origin.as_str()].text.as_str()));
    let mut cache = ariadne::sources(texts);
    let list: Vec<Diagnostic> = list.iter().map(escaped).collect();
    for d in &list {
        let kind = match d.severity {
            Severity::Error => ReportKind::Error,
            Severity::Warning => ReportKind::Warning,
        };
        let mut report = Report::build(kind, place(d.span()))
            .with_config(Config::default().with_color(color).with_index_type(IndexType::Byte))
            .with_code(d.code)
            .with_message(&d.message);
        // In the order of the lines, or each label would be an excerpt of its own.
        let mut labels: Vec<_> = d.labels.iter().collect();
        labels.sort_by_key(|(span, _)| span.start);
        for (span, what) in labels {
            report = report.with_label(Label::new(place(*span)).with_message(what));
        }
        for note in &d.notes {
            report = report.with_note(note);
        }
        if let Some(help) = &d.help {
            report = report.with_help(help);
        }
        let written = report.finish().write(&mut cache, &mut text);
        debug_assert!(written.is_ok());
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The diagnostic with its texts, which may quote the source, as they can be printed.
fn escaped(d: &Diagnostic) -> Diagnostic {
    let plain = |text: &String| shown::escaped(text);
    let labels = d.labels.iter().map(|(span, what)| (*span, plain(what))).collect();
    let notes = d.notes.iter().map(plain).collect();
    Diagnostic { message: plain(&d.message), labels, notes, help: d.help.as_ref().map(plain), ..d.clone() }
}

/// Where the diagnostic before stands, so that a thousand of them read a long text once; line and column from 0.
#[derive(Default)]
struct Cursor {
    file: String,
    at: usize,
    line: usize,
    column: usize,
}

impl Cursor {
    /// Goes to byte `at` of a file.
    fn go(&mut self, file: &str, text: &str, at: usize) {
        if self.file != file || at < self.at {
            *self = Cursor { file: file.to_string(), ..Cursor::default() };
        }
        let passed = &text[self.at..at];
        self.line += passed.bytes().filter(|b| *b == b'\n').count();
        self.column = match passed.rfind('\n') {
            Some(n) => passed[n + 1..].chars().count(),
            None => self.column + passed.chars().count(),
        };
        self.at = at;
    }
}

/// A diagnostic with a few words of its line, for texts whose lines no terminal shows.
fn excerpt(sources: &Sources, d: &Diagnostic, cursor: &mut Cursor) -> String {
    let (file, span) = sources.place(d.span());
    let text = sources.text_of(file);
    let at = floor(text, span.start);
    cursor.go(&file.origin, text, at);
    let (line, column) = (cursor.line + 1, cursor.column + 1);
    let from = floor(text, at.saturating_sub(20));
    let from = text[from..at].rfind('\n').map_or(from, |n| from + n + 1);
    let to = floor(text, at + 40).max(at);
    let to = text[at..to].find('\n').map_or(to, |n| at + n);
    let shown = shown::escaped(&text[from..to]);
    let kind = match d.severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
    };
    let mut lines = vec![format!("[{}] {kind}: {}", d.code, d.message)];
    lines.push(format!("   ╭─[ {}:{line}:{column} ]", file.origin));
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
