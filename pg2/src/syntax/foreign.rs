//! Constructs of other languages, and their equivalents in PG2.

use crate::syntax::functions;
use hdl::number::exact::{Exact, parse_decimal};
use hdl::op::MAX_NUMERATOR;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

/// Names of constants that others define, with their values to more digits than any format has.
pub static CONSTANTS: &[(&[&str], &str)] = &[
    (&["pi", "PI", "Pi", "M_PI"], "3.14159265358979323846"),
    (&["M_PI_F", "CUDART_PI", "CUDART_PI_F"], "3.14159265358979323846"),
    (&["M_PI_2", "M_PI_2_F"], "1.57079632679489661923"),
    (&["M_PI_4"], "0.785398163397448309616"),
    (&["M_2_PI"], "0.636619772367581343076"),
    (&["M_LN2"], "0.693147180559945309417"),
    (&["M_LN10"], "2.30258509299404568402"),
    (&["M_LOG2E"], "1.44269504088896340736"),
    (&["M_SQRT1_2"], "0.707106781186547524401"),
    (&["M_1_PI"], "0.318309886183790671538"),
    (&["M_2_SQRTPI"], "1.12837916709551257390"),
    (&["M_SQRT2"], "1.41421356237309504880"),
    (&["M_E"], "2.71828182845904523536"),
    (&["INT_MAX", "INT32_MAX"], "2147483647"),
    (&["INT_MIN", "INT32_MIN"], "-2147483648"),
    (&["UINT_MAX", "UINT32_MAX"], "4294967295"),
    (&["FLT_MAX"], "3.40282346e38"),
    (&["FLT_MIN"], "1.17549436e-38"),
    (&["FLT_EPSILON"], "1.1920928955078125e-7"),
    (&["DBL_EPSILON"], "2.220446049250313e-16"),
    (&["true", "True", "TRUE"], "1"),
    (&["false", "False", "FALSE"], "0"),
];

/// The words with which other languages begin a definition.
pub static OPENINGS: &[&str] = &[
    "let", "var", "auto", "val", "real", "double", "float", "int", "long", "short", "unsigned", "uint", "bool",
    "fixed", "ufixed", "half", "wire", "reg", "logic", "integer", "size_t", "char", "uchar", "ushort", "ulong",
    "boolean", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
];

/// Those of them whose values are integers: a value with a point is cut off.
pub static WHOLE: &[&str] = &[
    "int", "long", "short", "unsigned", "uint", "integer", "size_t", "uchar", "ushort", "ulong", "int8_t", "int16_t",
    "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
];

/// The one word for a type of two words.
pub fn one_word(first: &str, second: &str) -> Option<&'static str> {
    Some(match (first, second) {
        ("unsigned", "int") => "uint",
        ("unsigned", "char") => "uchar",
        ("unsigned", "short") => "ushort",
        ("unsigned", "long") => "ulong",
        ("signed" | "short", "int") => {
            if first == "short" {
                "short"
            } else {
                "int"
            }
        }
        ("long", "int" | "long") => "long",
        ("long", "double") => "double",
        _ => return None,
    })
}

/// The words with which they begin the definition of a number that is known at compile time.
pub static CONSTANT_OPENINGS: &[&str] = &["param", "parameter", "localparam", "constexpr"];

/// Modules of other languages in front of the names of functions.
pub static MODULES: &[&str] = &[
    "np",
    "numpy",
    "math",
    "cmath",
    "jnp",
    "torch",
    "cp",
    "cupy",
    "scipy",
    "linalg",
    "special",
    "tf",
    "Math",
    "StrictMath",
    "Base",
    "Integer",
    "Long",
];

/// Members of modules and classes that are numbers.
pub static NUMBERS: &[(&[&str], &[&str], &str)] = &[
    (&["math", "np", "numpy", "cmath", "jnp", "torch"], &["e"], "2.71828182845904523536"),
    (&["Math"], &["E"], "2.71828182845904523536"),
    (&["math", "np", "numpy", "cmath"], &["tau"], "6.28318530717958647692"),
    (&["Integer"], &["MAX_VALUE"], "2147483647"),
    (&["Integer"], &["MIN_VALUE"], "-2147483648"),
    (&["Long"], &["MAX_VALUE"], "9223372036854775807"),
    (&["Float"], &["MAX_VALUE"], "3.40282346e38"),
];

/// Modules in which `mod` and `remainder` have the sign of the divisor.
const FLOORS: &[&str] = &["np", "numpy", "jnp", "torch", "cp", "cupy", "tf"];

/// The name that a function of a module has alone, where another function has its name.
pub fn alone<'a>(module: &str, name: &'a str) -> &'a str {
    if FLOORS.contains(&module) && matches!(name, "mod" | "remainder" | "floormod") { "modulo" } else { name }
}

/// A power in the terms of PG2; `None` where the exponent has no such form, or the base is too long to be repeated.
pub fn power(base: &str, exponent: &str) -> Option<String> {
    if let Some(number) = power_of_number(base, exponent) {
        return Some(number);
    }
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

/// `10**-3` and `2**5`: a number to an integer power is a number; and `2**r`, which is an exponential.
fn power_of_number(base: &str, exponent: &str) -> Option<String> {
    let base = base.trim();
    let value = number(base)?;
    if value.is_negative() || value.is_zero() {
        return None;
    }
    match number(exponent) {
        None if exponent.len() > 40 || exponent.contains(['\n', '\r']) => None,
        None => {
            let is = |n: i64| value == Exact::from(BigInt::from(n));
            let of = |scale: &str| Some(format!("pg_exp({exponent} * {scale})"));
            match () {
                () if is(2) && functions::function("pg_exp2").is_some() => Some(format!("pg_exp2({exponent})")),
                () if is(2) => of("0.693147180559945309417"),
                () if is(10) => of("2.30258509299404568402"),
                () => None,
            }
        }
        Some(e) if e.is_integer() && e.abs() <= Exact::from(BigInt::from(60)) => {
            let e = e.to_integer().to_i32()?;
            if base == "10" {
                return Some(format!("1e{e}"));
            }
            let size = value.is_integer().then(|| value.to_integer().pow(e.unsigned_abs()))?;
            Some(if e < 0 { format!("(1 / {size})") } else { size.to_string() })
        }
        Some(_) => None,
    }
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
    if text.len() > 60 {
        return None;
    }
    let small = text.to_ascii_lowercase();
    if let Some(pattern) = mended_pattern(&small) {
        return Some(pattern);
    }
    if small.starts_with("0x") || small.starts_with("0b") || small.starts_with("0o") || small.contains('\'') {
        return None;
    }
    // The types of Rust, and a Float32 of Julia.
    let typed = ["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize", "isize"];
    if let Some(number) = typed.iter().find_map(|t| small.strip_suffix(t)).filter(|n| good(n)) {
        return Some(number.to_string());
    }
    if let Some((number, power)) = small.split_once('f')
        && !power.is_empty()
        && power.bytes().all(|b| b.is_ascii_digit())
        && good(number)
    {
        // With an exponent before it, only the type is left to be said.
        return match (number.contains('e'), power) {
            (false, _) => Some(format!("{number}e{power}")),
            (true, "0") => Some(number.to_string()),
            (true, _) => None,
        };
    }
    let half = small.strip_suffix('h').filter(|n| n.contains('.') && good(n));
    if let Some(number) = half {
        return Some(number.to_string());
    }
    let bare = small.trim_end_matches(['f', 'l', 'u']);
    if bare.len() < small.len()
        && bare.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'e' | b'-'))
        && let Some(bare) = mended(bare)
    {
        return Some(bare);
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
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !name.starts_with(['e', 'E']) && number != "0";
    (is_name && good(number)).then(|| format!("{number} * {name}"))
}

/// Bits as other languages write them: `0o17`, `0xFFULL`, `8'hFF`, `1'000`; the text is in small letters.
fn mended_pattern(text: &str) -> Option<String> {
    let bits = |digits: &str, radix: u32| {
        let value = u64::from_str_radix(&digits.replace(['_', '\''], ""), radix).ok()?;
        Some(format!("{value:#x}").to_ascii_uppercase().replacen("0X", "0x", 1))
    };
    if let Some((width, rest)) = text.split_once('\'') {
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        let is_number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit() || b == b'_');
        if is_number(rest) && is_number(width) {
            let joined = text.replace('\'', "");
            return good(&joined).then_some(joined);
        }
        let (base, digits) = rest.split_at_checked(1)?;
        return match base {
            "h" => bits(digits, 16),
            "b" => bits(digits, 2),
            "o" => bits(digits, 8),
            "d" if is_number(digits) => Some(digits.replace('_', "")),
            _ => None,
        };
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return bits(digits, 8);
    }
    let suffixed = |digits: &str, radix: u32| {
        let bare = digits.trim_end_matches(['u', 'l']);
        if bare.len() < digits.len() { bits(bare, radix) } else { None }
    };
    match text.split_at_checked(2)? {
        ("0x", digits) => suffixed(digits, 16),
        ("0b", digits) => suffixed(digits, 2),
        _ => None,
    }
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
        let patterns = ["0o17", "0xFFULL", "8'hFF", "4'b1_01", "12'd10", "1'000", "0b11u", "8'hxz"];
        assert_eq!(patterns.map(of), ["0xF", "0xFF", "0xFF", "0x5", "10", "1000", "0x3", ""]);
        assert_eq!(["0.5h", "2h", "1f0", "2.5f3", "3f32", "7u8"].map(of), ["0.5", "2 * h", "1e0", "2.5e3", "3", "7"]);
    }
}
