//! Words, numbers and signs of C expressions.

use crate::op::ctext::{CType, I32, I64, U32, U64};

#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    Word(String),
    /// A number and the type that it has in C.
    Number(u128, CType),
    Sign(&'static str),
}

/// The longest first.
const SIGNS: [&str; 26] = [
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "?",
    ":", "(", ")", ",", "=",
];

/// All tokens of an expression.
pub fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if first.is_ascii_digit() {
            all.push(number(&rest[..end])?);
            rest = &rest[end..];
        } else if end > 0 {
            all.push(Token::Word(rest[..end].into()));
            rest = &rest[end..];
        } else {
            let sign =
                SIGNS.into_iter().find(|sign| rest.starts_with(sign)).ok_or_else(|| format!("`{first}` in {text}"))?;
            all.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        }
        rest = rest.trim_start();
    }
    Ok(all)
}

fn number(word: &str) -> Result<Token, String> {
    let end = word.find(['u', 'l']).unwrap_or(word.len());
    let (digits, suffix) = word.split_at(end);
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |hex| (hex, 16));
    let value = u128::from_str_radix(digits, radix).map_err(|_| format!("`{word}` is no number"))?;
    let fits = |bits: u32| value >> bits == 0;
    let kind = match suffix {
        "" if fits(31) => I32,
        // Of hexadecimal numbers alone the unsigned type is tried in between.
        "" if radix == 16 && fits(32) => U32,
        "" if fits(63) => I64,
        "u" if fits(32) => U32,
        "ll" if fits(63) => I64,
        "" | "u" | "ull" if fits(64) => U64,
        _ => return Err(format!("`{word}` is no number of C")),
    };
    Ok(Token::Number(value, kind))
}
