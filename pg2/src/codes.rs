//! The stable codes of all diagnostics, in one table.

macro_rules! codes {
    ($($name:ident $code:literal $summary:literal;)*) => {
        $(#[doc = $summary] pub const $name: &str = $code;)*
        /// Every code and what it means, in order.
        pub static CODES: &[(&str, &str)] = &[$(($code, $summary)),*];
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
    NOT_YET "PG0008" "a part of the language that is not available yet";
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
    UNKNOWN_FORMAT "PG0021" "an unknown format";
    FORMAT_LIMITS "PG0022" "a format outside the limits";
    CLASS "PG0023" "an unknown or missing pin class";
    LENGTH "PG0024" "an impossible vector length";
    NO_REDUCTION "PG0025" "an output element without a reduction";
    REDUCED_TWICE "PG0026" "an output element with two reductions";
    FLOAT_SUM "PG0027" "`+=` on a float output";
    NO_OUTPUT "PG0028" "a kernel without outputs";
    NOT_OUTPUT "PG0029" "a reduction of something that is no output";
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
    CONDITION "PG0048" "a condition that is no integer";
    SHIFT "PG0049" "a shift amount that is no literal, const or integer param";
    SHIFT_RANGE "PG0050" "a shift amount out of range";
    ARGUMENTS "PG0051" "a wrong number of arguments";
    EXPONENT "PG0052" "an exponent that `pg_pow` does not have";
    TOO_LARGE "PG0053" "a kernel of too many operations";
    UNUSED_NAME "PG0101" "a name that is never used";
    UNUSED_PIN "PG0102" "an input pin that is never used";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(CODES.windows(2).all(|w| w[0].0 < w[1].0));
    }
}
