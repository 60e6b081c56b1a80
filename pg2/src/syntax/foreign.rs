//! Constructs of other languages, and their equivalents in PG2.

use hdl::number::exact::{Exact, parse_decimal};
use hdl::op::MAX_NUMERATOR;
use num_traits::{Signed, ToPrimitive, Zero};

/// Names of constants that others define, with their values to more digits than any format has.
pub static CONSTANTS: &[(&[&str], &str)] = &[
    (&["pi", "PI", "Pi", "M_PI"], "3.14159265358979323846"),
    (&["M_PI_2"], "1.57079632679489661923"),
    (&["M_1_PI"], "0.318309886183790671538"),
    (&["M_2_SQRTPI"], "1.12837916709551257390"),
    (&["M_SQRT2"], "1.41421356237309504880"),
    (&["M_E"], "2.71828182845904523536"),
    (&["true", "True", "TRUE"], "1"),
    (&["false", "False", "FALSE"], "0"),
];

/// The words with which other languages begin a definition.
pub static OPENINGS: &[&str] = &[
    "let", "var", "auto", "val", "real", "double", "float", "int", "long", "short", "unsigned", "uint", "bool",
    "fixed", "ufixed",
];

/// A power in the terms of PG2; `None` where the exponent has no such form, or the base is too long to be repeated.
pub fn power(base: &str, exponent: &str) -> Option<String> {
    if base.len() > 40 || base.contains(['\n', '\r']) {
        return None;
    }
    let e = number(exponent)?;
    let double = &e + &e;
    if !double.is_integer() {
        return None;
    }
    let twice = double.to_integer().to_i64()?;
    Some(match twice {
        0 => return None,
        2 => base.to_string(),
        4 => format!("({base} * {base})"),
        6 => format!("({base} * {base} * {base})"),
        1 => format!("pg_sqrt({base})"),
        -1 => format!("pg_rsqrt({base})"),
        -2 => format!("pg_inv({base})"),
        n if n % 2 == 0 && n.unsigned_abs() <= 2 * MAX_NUMERATOR as u64 => format!("pg_pow({base}, {}, 1)", n / 2),
        n if n % 2 != 0 && n.unsigned_abs() <= MAX_NUMERATOR as u64 => format!("pg_pow({base}, {n}, 2)"),
        _ => return None,
    })
}

/// A number, a quotient of two, or the negative of one, perhaps in parentheses.
fn number(text: &str) -> Option<Exact> {
    let text = text.trim();
    if text.len() > 40 {
        return None;
    }
    if let Some(inside) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        return number(inside);
    }
    if let Some(rest) = text.strip_prefix('-') {
        return number(rest).filter(|n| !n.is_negative()).map(|n| -n);
    }
    if let Some((a, b)) = text.split_once('/') {
        let (a, b) = (number(a)?, number(b)?);
        return (!b.is_zero()).then(|| a / b);
    }
    // Of a number with an exponent none is meant here.
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.').then(|| parse_decimal(text).ok())?
}

/// Whether a word behind the `_` of a number names a type: the kinds of Fortran, as in `1.0_8` and `1.0_dp`, and the types of Rust.
/// Digits are in threes.
fn is_kind(word: &str) -> bool {
    let names_type = word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.len() <= 16;
    names_type || matches!(word, "1" | "2" | "4" | "8" | "10" | "16")
}

/// Whether a text is a number of PG2 in decimal.
fn good(text: &str) -> bool {
    let octal = text.len() > 1 && text.starts_with('0') && !text.starts_with("0.") && !text.starts_with("0e");
    text.len() < 60
        && !octal
        && text.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'.')
        && parse_decimal(text).is_ok()
}

/// A malformed number as it was probably meant.
pub fn mended_number(text: &str) -> Option<String> {
    let mended = |t: &str| if good(t) { Some(t.to_string()) } else { mended_number(t) };
    if text.len() > 60 || text.starts_with("0x") || text.starts_with("0b") {
        return None;
    }
    let small = text.to_ascii_lowercase();
    let bare = small.trim_end_matches(['f', 'l', 'u']);
    if bare.len() < small.len() && good(bare) {
        return Some(bare.to_string());
    }
    let exponent = small.replacen('d', "e", 1);
    if exponent != small && good(&exponent) {
        return Some(exponent);
    }
    if let Some((number, kind)) = text.rsplit_once('_')
        && is_kind(kind)
        && let Some(number) = mended(number)
    {
        return Some(number);
    }
    let joined = small.replace('_', "");
    if joined != small && good(&joined) {
        return Some(joined);
    }
    // `2r` is a product.
    let letters = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, name) = text.split_at(letters);
    let is_name =
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !name.starts_with(['e', 'E', 'x', 'X']);
    (is_name && good(number)).then(|| format!("{number} * {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_products_and_functions() {
        let of = |e| power("r", e).unwrap_or_default();
        let exponents = ["2", "3", "-1.5", "(-3/2)", "0.5", "-1", "12", "2.0", "1/3", "n", "0"];
        let wanted = [
            "(r * r)",
            "(r * r * r)",
            "pg_pow(r, -3, 2)",
            "pg_pow(r, -3, 2)",
            "pg_sqrt(r)",
            "pg_inv(r)",
            "pg_pow(r, 12, 1)",
            "(r * r)",
            "",
            "",
            "",
        ];
        assert_eq!(exponents.map(of), wanted);
    }

    #[test]
    fn numbers_of_other_languages_are_mended() {
        let of = |t| mended_number(t).unwrap_or_default();
        let given = ["1.0f", "2.5L", "1.5d-3", "1_000", "2r", "3.dx", "0x1g", "007", "1.2.3", "1e", "0f"];
        assert_eq!(given.map(of), ["1.0", "2.5", "1.5e-3", "1000", "2 * r", "3. * dx", "", "", "", "", "0"]);
        let kinds = ["1.0_8", "1.0_dp", "1_4", "1d0_16", "2.5_f64", "1_000_i32", "1_000.5_8", "1_00"];
        assert_eq!(kinds.map(of), ["1.0", "1.0", "1", "1e0", "2.5", "1000", "1000.5", "100"]);
    }
}
