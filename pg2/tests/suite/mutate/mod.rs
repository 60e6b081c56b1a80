//! Kernels that were changed at random, and what must hold of every text.

pub mod functions;

use pg2::diag::codes::CODES;
use pg2::syntax::lex::{TokenKind, lex};
use testkit::Random;

/// Compiles and checks what every caller relies on; gives the codes.
pub fn answer(text: &str) -> Vec<&'static str> {
    let findings = match pg2::compile("hostile", text) {
        Ok(compiled) => {
            compiled.graph.verify().unwrap();
            compiled.warnings
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors
        }
    };
    for d in &findings {
        assert!(CODES.iter().any(|c| c.code == d.code) && !d.message.is_empty() && d.help.is_some(), "{d:?}");
        for (span, _) in &d.labels {
            assert!(text.get(span.start..span.end).is_some(), "{span:?} of {d:?} is not on character borders");
        }
    }
    findings.iter().map(|d| d.code).collect()
}

/// Pieces of the language and of what is not.
pub const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    "=",
    "+=",
    "max=",
    "-",
    "~",
    "!",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "?",
    ":",
    ",",
    ".",
    "..",
    "&&",
    "int64",
    "float18.9",
    "float",
    "fixed8.9",
    "const",
    "fout",
    "ipin",
    "jpin",
    "param",
    "for",
    "if",
    "else",
    "fn",
    "fn f(x) = x;",
    "f(",
    "for k in 0..3 {",
    "if (a) {",
    "} else {",
    "return",
    "in",
    "include",
    "round",
    "v[3];",
    "v[k]",
    "[0][1]",
    "pg_pow",
    "pg_min(",
    "xi",
    "mj",
    "pout",
    "0",
    "1",
    "0xFF",
    "1e400",
    "1e-9",
    "9999999999999999999999",
    "\0",
    "é",
    "/*",
    "*/",
    "//",
    "\"",
    "\n",
    "\r\n",
    "#",
    "(int8)",
    "(float64.52)",
    "-1",
    "inr",
    "a[0]",
    "\u{feff}",
    "1.5.2",
];

/// Kernels to begin with: the shipped ones, a generated one, and the examples of the language reference.
pub fn sources() -> Vec<String> {
    let mut sources: Vec<String> = pg2::kernels::KERNELS.iter().map(|k| k.text.to_string()).collect();
    sources.push(pg2::gen_m2l(2).unwrap());
    let reference = include_str!("../../../../docs/pg2.md");
    let blocks = reference.split("```pg2\n").skip(1).filter_map(|b| b.split_once("```"));
    sources.extend(blocks.map(|b| b.0.to_string()));
    sources
}

/// One of the sources, changed in one of five ways.
pub fn mutated(sources: &[String], dice: &mut Random) -> String {
    let text = &sources[dice.below(sources.len())];
    let other = &sources[dice.below(sources.len())];
    match dice.below(8) {
        0 | 1 => words(text, dice),
        2..=4 => tokens(text, text, dice),
        5 => tokens(text, other, dice),
        6 => spliced(text, other, dice),
        _ => bytes(text, dice),
    }
}

/// Puts tokens in the place of others of their kind, so that much of it still compiles.
fn tokens(text: &str, from: &str, dice: &mut Random) -> String {
    let (mut mine, theirs) = (lex(text).tokens, lex(from).tokens);
    let mut out = text.to_string();
    for _ in 0..1 + dice.below(3) {
        let at = mine[dice.below(mine.len())];
        let same = |kind: TokenKind| std::mem::discriminant(&kind) == std::mem::discriminant(&at.kind);
        let fitting: Vec<_> = theirs.iter().filter(|t| same(t.kind) && t.kind != TokenKind::End).collect();
        if at.kind == TokenKind::End || fitting.is_empty() || at.span.end > out.len() {
            continue;
        }
        let new = fitting[dice.below(fitting.len())].span.of(from);
        out.replace_range(at.span.start..at.span.end, new);
        mine = lex(&out).tokens;
    }
    out
}

/// The first lines of one and the last of another.
fn spliced(text: &str, other: &str, dice: &mut Random) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (text.lines().collect(), other.lines().collect());
    let (to, from) = (dice.below(a.len() + 1), dice.below(b.len() + 1));
    let mut out: Vec<&str> = a[..to].to_vec();
    out.extend(&b[from..]);
    // Sometimes what remains of the first follows too.
    if dice.below(2) == 0 {
        out.extend(&a[to..]);
    }
    out.join("\n")
}

/// Changes bytes; what is no UTF-8 any more becomes replacement characters.
fn bytes(text: &str, dice: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + dice.below(8) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(3) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => drop(bytes.remove(at)),
            _ => bytes.insert(at, dice.below(256) as u8),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Removes, inserts, replaces and swaps words, and cuts the text.
fn words(text: &str, dice: &mut Random) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ';', '(', ')', '[', ']']).collect();
    for _ in 0..1 + dice.below(6) {
        let at = dice.below(words.len());
        match dice.below(4) {
            0 => {
                words.remove(at);
            }
            1 => words.insert(at, PIECES[dice.below(PIECES.len())]),
            2 => words[at] = PIECES[dice.below(PIECES.len())],
            _ => {
                let other = dice.below(words.len());
                words.swap(at, other);
            }
        }
        if words.is_empty() {
            words.push(";");
        }
    }
    let mut text = words.concat();
    if dice.below(8) == 0 {
        let cut = dice.below(text.len() + 1);
        let cut = (0..=cut).rev().find(|c| text.is_char_boundary(*c)).unwrap_or(0);
        text.truncate(cut);
    }
    text
}
