//! Hover: what stands at a position, with format, cycle and range where they are known.

use crate::analysis::{PipelineValue, elsewhere, last_analysis, pipeline, sources};
use crate::document::Document;
use hdl::{Bounds, Format};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use pg2::diag::Span;
use pg2::graph::PinClass;
use pg2::syntax::functions::{self, Function, Kind as ParamKind, Param};
use pg2::syntax::lex::{TokenKind, lex};
use pg2::syntax::names::{Definition, Kind};

/// The classes of pins with what they mean.
pub static CLASSES: &[(&str, &str)] = &[
    ("ipin", "an input of the target i: constant during a run"),
    ("jpin", "an input of the source j: a new value each clock, the same for all pipelines"),
    ("param", "a run-time constant, the same for all pipelines"),
    (
        "fout",
        "an output of the target i: gathers values by `+=`, `-=`, `max=` or `min=`, alone or as `(best, who) min= (key, payload)`",
    ),
];

/// The results and arguments of a function of the library, in Markdown.
pub fn described_function(function: &Function) -> String {
    let constants: Vec<String> = function.params.iter().filter_map(constant).collect();
    let constants = if constants.is_empty() { String::new() } else { format!("\n\n{}.", constants.join("; ")) };
    format!("{}\n\nTakes {}.{constants}", function.text, function.formats())
}

/// The requirement on an argument that is no value of the pipeline.
fn constant(param: &Param) -> Option<String> {
    let what = match param.kind {
        ParamKind::Value | ParamKind::Vector | ParamKind::Vectors | ParamKind::Matrix => return None,
        ParamKind::Integer => "a compile-time integer",
        ParamKind::Number => "a compile-time number",
        ParamKind::Format => "a format",
        ParamKind::Real => "a real function, fitted by a table",
    };
    Some(format!("`{}` is {what}", param.name))
}

pub fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((cut, _)) => &line[..cut],
        None => line,
    }
}

pub fn markdown(value: String) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value }
}

pub fn hover(document: &mut Document, at: usize) -> Option<Hover> {
    let tokens = lex(&document.text).tokens;
    let on = |s: Span| s.start <= at && at <= s.end;
    let words = tokens.iter().filter(|t| matches!(t.kind, TokenKind::Word | TokenKind::Format));
    let token = words.copied().find(|t| on(t.span))?;
    let word = token.span.of(&document.text).to_string();
    let text = if token.kind == TokenKind::Format {
        word.parse::<Format>().ok().map(|f| format!("`{f}`: {}", described(f)))
    } else if let Some((_, what)) = CLASSES.iter().find(|c| c.0 == word) {
        Some(format!("`{word}`: {what}"))
    } else if let Some(function) = functions::function(&word) {
        Some(format!("```pg2\n{}\n```\n{}", function.call(), described_function(function)))
    } else {
        let names = document.names();
        let own = names.at(at).and_then(|u| u.definition).map(|k| names.definitions[k].clone());
        let statement = |text: &str, d: &Definition| first_line(d.statement.of(text)).to_string();
        match own {
            Some(definition) => {
                let statement = statement(&document.text, &definition);
                Some(defined(document, &statement, &definition))
            }
            None => elsewhere(&sources(document), &word).map(|(file, definition)| {
                let statement = statement(&file.text, &definition);
                defined(document, &statement, &definition)
            }),
        }
    };
    let range = Some(document.range(token.span));
    text.map(|text| Hover { contents: HoverContents::Markup(markdown(text)), range })
}

/// A definition, and what the compiler knows of its value.
fn defined(document: &mut Document, statement: &str, definition: &Definition) -> String {
    let mut text = format!("```pg2\n{statement}\n```\n");
    match definition.kind {
        Kind::Function => return text + "function, inlined at each call",
        Kind::Parameter => return text + "parameter of the function",
        Kind::Type => return text + "name of a format",
        Kind::Counter => return text + "variable of the loop, an exact number",
        Kind::Pin | Kind::Const | Kind::Value => {}
    }
    let name = &definition.name;
    let state = document.state;
    let Some(analysis) = last_analysis(document) else { return text };
    if analysis.state != state {
        text += "_before the last edit; the file is being analysed_\n\n";
    }
    let Some(graph) = analysis.graph.clone() else {
        return text + "not known before the errors of this file are corrected";
    };
    if let Some(pin) = graph.pins.iter().find(|p| p.name == *name) {
        let class = CLASSES.iter().find(|c| definition.class == Some(c.0)).map_or("", |c| c.1);
        text += &format!("`{}`, {class}", pin.format);
        if pin.class != PinClass::Fout {
            return text;
        }
    }
    let element = format!("{name}[");
    let of = |n: &str| n == name || n.starts_with(&element);
    let mut formats: Vec<String> = graph.nodes.iter().filter(|n| of(&n.name)).map(|n| n.format.to_string()).collect();
    let elements = formats.len();
    formats.dedup();
    if definition.class.is_none() {
        text += &match (formats.as_slice(), elements) {
            ([], _) => return text + "an exact number, or nothing that is computed by itself",
            ([one], 1) => format!("`{one}`"),
            ([one], n) => format!("`{one}`, {n} elements"),
            (several, _) => several.join(", "),
        };
    }
    let Some(pipeline) = pipeline(document) else { return text };
    let values: Vec<&PipelineValue> = pipeline.values.iter().filter(|v| of(&v.name)).collect();
    let (Some(first), Some(last)) = (values.iter().map(|v| v.ready).min(), values.iter().map(|v| v.ready).max()) else {
        return text;
    };
    if values.iter().all(|v| v.fixed) {
        text += "\n\nmade of parameters and constants alone, so it is static";
    } else {
        let cycles = if first == last { format!("cycle {last}") } else { format!("cycles {first} to {last}") };
        let (depth, mhz, target) = (pipeline.depth, pipeline.mhz, pipeline.target);
        text += &format!("\n\nready in {cycles} of {depth}, at {mhz} MHz on `{target}`");
    }
    let bounds = values.iter().map(|v| v.bounds).reduce(Bounds::or);
    if let (Some(bounds), Some(format)) = (bounds, values.first().map(|v| v.format)) {
        text += &format!("\n\n{}", range(format, bounds));
    }
    text
}

/// The bits of a format, and its values.
fn described(format: Format) -> String {
    let bits = if format.is_float() {
        format!("sign, {} exponent bits, {} fraction bits", format.exp(), format.mant())
    } else if format.is_log() {
        format!("{} bits: sign, and the logarithm of the magnitude", format.width())
    } else if let Some(frac) = format.frac().filter(|_| format.is_fixed()) {
        format!("{} bits, {frac} of them behind the point", format.width())
    } else {
        format!("{} bits", format.width())
    };
    format!("{bits}; {}", range(format, Bounds::of(format)))
}

/// The values within bounds, in words.
fn range(format: Format, bounds: Bounds) -> String {
    if format.is_int() {
        return format!("from {} to {}", bounds.low, bounds.high);
    }
    let value = |x: i128| format.to_f64(x as u64 & format.mask());
    if format.is_fixed() {
        return format!("from {} to {}", value(bounds.low), value(bounds.high));
    }
    let zero = if bounds.zero { "0 and " } else { "" };
    format!("{zero}magnitudes from {:.3e} to {:.3e}", value(bounds.low), value(bounds.high))
}
