//! The stable codes of all diagnostics, in one table. Each has a page, `docs/diagnostics/CODE.md`, without which this file
//! does not compile; the tests compile the page's examples.

use crate::diag::did_you_mean;

/// A code of diagnostics.
#[derive(Debug)]
pub struct Code {
    /// Such as `PG0012`; from `PG0101` on they are warnings.
    pub code: &'static str,
    pub summary: &'static str,
    /// The explanation, with a wrong and a right example, in Markdown.
    pub page: &'static str,
}

macro_rules! codes {
    ($($name:ident $code:literal $summary:literal;)*) => {
        $(#[doc = $summary] pub const $name: &str = $code;)*
        /// Every code, in order.
        pub static CODES: &[Code] = &[$(Code {
            code: $code,
            summary: $summary,
            page: include_str!(concat!("../../../docs/diagnostics/", $code, ".md")),
        }),*];
    };
}

codes! {
    CHARACTER "PG0001" "a character that the language does not use";
    COMMENT "PG0002" "a comment that is never closed";
    NUMBER "PG0003" "a malformed number";
    SYNTAX "PG0004" "something else was expected here";
    SEMICOLON "PG0005" "a statement without its semicolon";
    NESTING "PG0006" "more than 256 levels of nesting";
    LONG_NAME "PG0007" "a name of more than 255 bytes";
    ASSIGNMENT "PG0009" "an assignment operator that the language does not have";
    TOO_MANY "PG0010" "more errors than are worth reporting";
    UNKNOWN_NAME "PG0011" "an unknown name";
    BEFORE "PG0012" "a name used before it is assigned";
    TWICE "PG0013" "a name defined twice";
    RESERVED "PG0014" "a reserved word used as a name";
    READS_OUTPUT "PG0015" "an output is read";
    ASSIGNS_PIN "PG0016" "a pin is assigned with `=`";
    PORTS "PG0017" "two pins would get one port name";
    UNKNOWN_FUNCTION "PG0018" "an unknown function";
    MISPLACED "PG0019" "a statement that cannot stand here";
    RECURSION "PG0020" "a function that calls itself";
    UNKNOWN_FORMAT "PG0021" "an unknown format";
    FORMAT_LIMITS "PG0022" "a format outside the limits";
    CLASS "PG0023" "an unknown or missing pin class";
    LENGTH "PG0024" "an impossible vector length";
    NO_REDUCTION "PG0025" "an output element without a reduction";
    REDUCED_TWICE "PG0026" "an output element with reductions of two kinds";
    FLOAT_SUM "PG0027" "`+=` on a float output";
    NO_OUTPUT "PG0028" "a kernel without outputs";
    NOT_OUTPUT "PG0029" "a reduction of something that is no output";
    INCLUDE "PG0030" "a file that cannot be included";
    FRACTION "PG0031" "a fraction given to an integer";
    RANGE "PG0032" "a number out of the range of its format";
    NO_FORMAT "PG0033" "only exact numbers, so no format is known";
    NOT_CONST "PG0034" "a compile-time number was expected";
    BIG_NUMBER "PG0035" "a compile-time number that is too large or too costly";
    ZERO_DIVISION "PG0036" "a compile-time division by zero";
    MIXED "PG0041" "mixed formats";
    NOT_DEFINED "PG0042" "an operator that the format does not have";
    LENGTHS "PG0043" "vectors of unequal length";
    VECTOR "PG0044" "a vector where a scalar is wanted, or the reverse";
    INDEX_RANGE "PG0045" "an index outside the vector";
    INDEX_SCALAR "PG0046" "an index on a scalar";
    NO_ELEMENT "PG0047" "an element that is read before it is assigned";
    CONDITION "PG0048" "a condition that is no integer";
    SHIFT "PG0049" "a shift amount that is no literal, const or integer param";
    SHIFT_RANGE "PG0050" "a shift amount out of range";
    ARGUMENTS "PG0051" "a wrong number of arguments";
    EXPONENT "PG0052" "an exponent that `pg_pow` does not have";
    TOO_LARGE "PG0053" "a kernel of too many operations";
    NO_RETURN "PG0054" "a function that does not always return a value";
    OUT_OF_BLOCK "PG0055" "a name used outside of its block";
    CHAIN "PG0056" "comparisons in a chain";
    FUNCTION "PG0071" "a part that no function of `pg_fn` has";
    FUNCTION_INTERVAL "PG0072" "an interval that `pg_fn` cannot use";
    FUNCTION_VALUE "PG0073" "a function without a value somewhere on its interval";
    FUNCTION_TABLE "PG0074" "a function that needs too large a table";
    FUNCTION_WORK "PG0075" "functions that take too long to fit";
    UNUSED_NAME "PG0101" "a name that is never used";
    UNUSED_PIN "PG0102" "an input pin that is never used";
    OVERFLOW "PG0103" "a value that can leave its format";
    LOSSY_CAST "PG0104" "a cast that can lose bits";
    ALWAYS "PG0105" "a comparison with only one outcome";
    SHIFTED_OUT "PG0106" "a shift that always gives 0";
    XOR_POWER "PG0107" "an exclusive or that looks like a power";
    BECOMES_ZERO "PG0108" "a number that becomes 0 in its format";
    INT_DIVISION "PG0115" "a division of integers by a number with a point";
    EMPTY_LOOP "PG0116" "a loop that never runs";
    BY_ZERO "PG0117" "a division by 0";
    FUNCTION_FLOOR "PG0121" "a function that is less exact where it is small";
}

/// The code of that name, in capitals or not, and without leading zeros if need be: `PG0012`, `pg12`.
pub fn find(name: &str) -> Option<&'static Code> {
    let number: u32 = digits(name)?.parse().ok()?;
    CODES.iter().find(|c| digits(c.code).and_then(|d| d.parse().ok()) == Some(number))
}

/// Whether `name` is written like a code, known or not.
pub fn looks_like_one(name: &str) -> bool {
    digits(name).is_some()
}

/// The code that an unknown one was probably meant to be.
pub fn similar(name: &str) -> Option<&'static str> {
    did_you_mean(&name.to_ascii_uppercase(), CODES.iter().map(|c| c.code))
}

/// The digits behind `PG`, of which there is at least one.
fn digits(name: &str) -> Option<&str> {
    let (prefix, digits) = name.split_at_checked(2)?;
    let all = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (prefix.eq_ignore_ascii_case("pg") && all).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(CODES.windows(2).all(|w| w[0].code < w[1].code));
    }

    #[test]
    fn codes_are_found_however_they_are_written() {
        for name in ["PG0012", "pg0012", "Pg12"] {
            assert_eq!(find(name).map(|c| c.code), Some("PG0012"), "{name}");
        }
        for name in ["PG0099", "PG", "12", "p2p", "PG0012x", "é", "pg99999999999"] {
            assert!(find(name).is_none(), "{name}");
        }
        assert_eq!(similar("pg0092"), Some("PG0002"));
    }
}
