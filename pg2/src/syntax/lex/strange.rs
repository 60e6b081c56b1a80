//! Characters that no token begins with, and what was meant by them.

use crate::diag::codes;
use crate::diag::{Diagnostic, Span};

/// A run of such characters.
pub(super) struct Strange {
    /// Its length in bytes.
    pub length: usize,
    /// The operator that it stands for in print, such as `-` for a minus sign.
    pub symbol: Option<&'static str>,
}

/// The run at the front of `input`, which begins with such a character.
pub(super) fn strange(input: &str) -> Strange {
    // What follows a `#` is a line of another language: one report is enough.
    if input.starts_with('#') {
        let length = input.find('\n').unwrap_or(input.len());
        return Strange { length: input[..length].trim_end().len(), symbol: None };
    }
    let first = input.chars().next().expect("the caller saw a character");
    if let Some(symbol) = operator(first) {
        return Strange { length: first.len_utf8(), symbol: Some(symbol) };
    }
    let known = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '#' | '$' | '@' | '\\' | '`');
    let ends = |c: char| known(c) || c.is_alphabetic() || operator(c).is_some() || super::blank(c);
    let length = input.char_indices().skip(1).find(|(_, c)| ends(*c)).map_or(input.len(), |(k, _)| k);
    Strange { length, symbol: None }
}

/// The operator that a character of print stands for.
fn operator(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{2212}' | '\u{2013}' | '\u{2014}' => "-",
        '\u{d7}' | '\u{b7}' | '\u{22c5}' | '\u{2219}' => "*",
        '\u{f7}' | '\u{2215}' => "/",
        '\u{2264}' => "<=",
        '\u{2265}' => ">=",
        '\u{2260}' => "!=",
        '\u{ff1b}' => ";",
        '\u{ff08}' => "(",
        '\u{ff09}' => ")",
        '\u{ff0c}' => ",",
        '\u{ff1d}' => "=",
        '\u{ff0b}' => "+",
        '\u{22bb}' => "^",
        '\u{2227}' => "&&",
        '\u{2228}' => "||",
        '\u{ac}' => "!",
        _ => return None,
    })
}

/// Whether a character is not seen, or changes the order in which others are.
fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The diagnostic for a run: its error, and the correct form.
pub(super) fn report(text: &str, span: Span, symbol: Option<&'static str>) -> Diagnostic {
    let run = span.of(text);
    let visible = |c: char| if c.is_control() || invisible(c) { c.escape_default().to_string() } else { c.to_string() };
    let shown: String = run.chars().take(8).map(visible).collect();
    let error = |message: String| Diagnostic::error(codes::CHARACTER, message, span, "not part of the language");
    if let Some(symbol) = symbol {
        let error = error(format!("`{shown}` is a character of print"));
        return error.help(format!("write `{symbol}`")).edit(span, symbol);
    }
    if run.starts_with('#') {
        return hash(run, span);
    }
    if run.chars().all(|c| invisible(c) || c.is_whitespace()) {
        let error = error(format!("`{shown}` is an invisible character"));
        return error.help("remove it, or write a blank").edit(span, " ");
    }
    let error = error(format!("`{shown}` means nothing in PG2"));
    match run.chars().next() {
        Some('\u{b2}' | '\u{b3}' | '\u{2070}'..='\u{209f}') => {
            error.help("write a square as a product, `x * x`, and other powers with `pg_pow(x, n, d)`")
        }
        Some('@') => at_sign(text, span, error),
        Some('\u{221a}') => {
            // A name or a number behind it is its whole operand.
            let rest = &text[span.end..];
            let size = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
            let operand = rest[..size].to_string();
            let error = error.help("write `pg_sqrt(x)`");
            match (size, rest.starts_with('(')) {
                (0, true) => error.edit(span, "pg_sqrt"),
                (0, false) => error,
                _ => error.edit(Span { start: span.start, end: span.end + size }, format!("pg_sqrt({operand})")),
            }
        }
        Some('$') if text[span.end..].starts_with(|c: char| c.is_ascii_lowercase()) => {
            error.help("leave it out: functions begin with `pg_`").edit(span, "")
        }
        _ => error.help("remove it, or put it in a comment"),
    }
}

/// `a @ b` of Python, and the decorators and macros of others at the beginning of a statement.
fn at_sign(text: &str, span: Span, error: Diagnostic) -> Diagnostic {
    let before = text[..span.start].trim_end_matches([' ', '\t']);
    let opens = before.is_empty() || before.ends_with(['\n', ';', '{', '}']);
    let behind = &text[span.end..];
    let size = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(behind.len());
    match (opens, size) {
        (true, 1..) => {
            let end = span.end + size + behind[size..].starts_with(' ') as usize;
            error
                .help("leave it out: a kernel needs no word for how it is run")
                .edit(Span { start: span.start, end }, "")
        }
        _ if before.ends_with("always") => error.help("leave the line out: a kernel has no clock of its own"),
        _ => error.help("the product of vectors and matrices is `*`").edit(span, "*"),
    }
}

/// A line that begins with `#`: a comment, or an instruction to a preprocessor.
fn hash(run: &str, span: Span) -> Diagnostic {
    let error = |message: &str| Diagnostic::error(codes::CHARACTER, message, span, "not part of the language");
    let words = run[1..].trim_start();
    if let Some(rest) = words.strip_prefix("include") {
        let path = rest.trim();
        let error = error("`#include` is not part of PG2");
        return match path.strip_suffix(".pg2\"").and_then(|p| p.strip_prefix('"')) {
            Some(stem) if !stem.contains('"') => {
                let line = format!("include \"{stem}.pg2\";");
                error.help(format!("write `{line}`")).edit(span, line)
            }
            _ => error.help("remove it: the functions of PG2 begin with `pg_` and need no header").edit(span, ""),
        };
    }
    if let Some(rest) = words.strip_prefix("define").filter(|r| r.starts_with([' ', '\t'])) {
        let error = error("`#define` is not part of PG2");
        let (name, rest) = rest.trim().split_once([' ', '\t']).unwrap_or((rest.trim(), ""));
        let (value, comment) = rest.find("//").map_or((rest, ""), |at| rest.split_at(at));
        let plain = hdl::rtl::names::is_plain(name) && !value.trim().is_empty();
        if !plain || span.end - span.start > 200 {
            return error.help("write numbers as `const name = value;` and functions as `fn name(x) = ...;`");
        }
        let line = format!("const {name} = {}; {comment}", value.trim());
        return error.help(format!("write `{}`", line.trim())).edit(span, line.trim());
    }
    let comment = Span { start: span.start, end: span.start + 1 };
    error("`#` begins no comment").help("comments begin with `//` and end with the line").edit(comment, "//")
}

/// A name with letters that are not ASCII. Where all of them have a usual spelling, the remedy is that.
pub(super) fn foreign_name(text: &str, span: Span, look: bool) -> Diagnostic {
    let name = span.of(text);
    let shown: String = name.chars().take(24).collect();
    let error = Diagnostic::error(
        codes::CHARACTER,
        format!("`{shown}` has letters that are not ASCII"),
        span,
        "no name in PG2",
    );
    if name == "\u{3c0}" {
        return error.help("write `pi`").edit(span, "pi");
    }
    let usual = spelling(name).filter(|s| look && !text.contains(s.as_str()));
    match usual {
        Some(usual) => {
            error.help(format!("names are made of ASCII letters, digits and `_`: write `{usual}`")).edit(span, usual)
        }
        None => error.help("names are made of ASCII letters, digits and `_`; other letters may stand in comments"),
    }
}

/// The same name in ASCII.
fn spelling(name: &str) -> Option<String> {
    let mut out = String::new();
    let mut greek_before = false;
    for c in name.chars() {
        let greek = greek(c);
        let spelt = match c {
            _ if c.is_ascii() => c.to_string(),
            _ => greek.clone().or_else(|| latin(c).map(String::from))?,
        };
        let joins = spelt.starts_with(|c: char| c.is_ascii_alphabetic())
            && (greek_before || (greek.is_some() && !out.is_empty()));
        if joins && !out.ends_with('_') {
            out.push('_');
        }
        out += &spelt;
        greek_before = greek.is_some();
    }
    (out.len() <= 60 && hdl::rtl::names::is_plain(&out)).then_some(out)
}

fn greek(c: char) -> Option<String> {
    const NAMES: [&str; 25] = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
        "xi", "omicron", "pi", "rho", "sigma", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    ];
    let name = |first: u32| NAMES.get((c as u32).checked_sub(first)? as usize).copied();
    if let Some(small) = name(0x3b1) {
        return Some(small.to_string());
    }
    let capital = |name: &str| name[..1].to_ascii_uppercase() + &name[1..];
    match c {
        '\u{b5}' => Some("mu".into()),
        '\u{2206}' => Some("Delta".into()),
        _ => name(0x391).map(capital),
    }
}

fn latin(c: char) -> Option<&'static str> {
    Some(match c {
        'à'..='å' => "a",
        'À'..='Å' => "A",
        'ç' => "c",
        'è'..='ë' => "e",
        'È'..='Ë' => "E",
        'ì'..='ï' => "i",
        'ñ' => "n",
        'ò'..='ö' | 'ø' => "o",
        'Ò'..='Ö' | 'Ø' => "O",
        'ù'..='ü' => "u",
        'Ù'..='Ü' => "U",
        'ý' | 'ÿ' => "y",
        'ß' => "ss",
        'æ' => "ae",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelt_as_they_are_read() {
        let of = |name| spelling(name).unwrap_or_default();
        assert_eq!(
            ["ρ", "Δx", "εij", "r_σ", "ρ0", "größe", "ξ"].map(of),
            ["rho", "Delta_x", "epsilon_ij", "r_sigma", "rho0", "grosse", "xi"]
        );
        assert_eq!(spelling("質量"), None);
    }
}
