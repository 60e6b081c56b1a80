//! The functions of the library, `pg_sqrt` and so on: one row each.
//!
//! From a row follow the check of a call, the remedy for the names that other languages use, and what editors and
//! `pairforge list functions` show. A test writes the table in `docs/pg2.md` and the words of the fuzzer from the rows.

mod formats;

use formats::*;
use hdl::Format;
use hdl::number::exact::Exact;
use hdl::op::table;
use hdl::op::{Operator, compare, float, int, log};
use num_traits::Signed;

/// A function of the library.
pub struct Function {
    /// Begins with `pg_`.
    pub name: &'static str,
    pub params: &'static [Param],
    /// Its names in other languages, with the same arguments. `pg_` in front of such a name is no obstacle.
    pub aliases: &'static [&'static str],
    /// Its value, in one line of Markdown.
    pub text: &'static str,
    /// The formats of the first argument. A format that stands in no entry is refused.
    pub takes: &'static [Takes],
    pub rule: Rule,
}

pub struct Param {
    pub name: &'static str,
    pub kind: Kind,
}

/// The kind of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A scalar of one of the formats.
    Value,
    /// A vector of 2 to 4 elements.
    Vector,
    /// A vector of any length.
    Vectors,
    Matrix,
    /// A compile-time integer.
    Integer,
    /// A compile-time number.
    Number,
    /// A real function that is written down: it is fitted, not evaluated.
    Real,
    Format,
}

/// Formats that a function takes.
pub struct Takes {
    pub class: Class,
    /// The most fraction bits of a float, or bits of a fixed.
    pub most: u32,
    /// The operator that a use becomes; `None` where it is none.
    pub operator: Option<&'static dyn Operator>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Int,
    Fixed,
    Float,
    Log,
}

/// How a call is checked, and what it becomes.
pub enum Rule {
    /// The operator of the format, over scalars of one format. Exact numbers have a result where it is stated.
    Operator(Option<Exactly>),
    /// The power of this exponent, or of the one that the other arguments give.
    Power(Option<(i32, i32)>),
    SumOfSquares,
    Transpose,
    /// Products and sums of the elements of vectors.
    Inner,
    Cross,
    /// The value of a pattern in the format that the second argument names.
    FromBits,
    /// A function that is written down, by a table.
    Fit,
}

/// The value of a function of exact numbers.
#[derive(Clone, Copy)]
pub enum Exactly {
    Of(fn(&Exact) -> Exact),
    /// The first of two numbers where this holds of them, else the second.
    First(fn(&Exact, &Exact) -> bool),
}

/// The library, in the order in which it is shown.
pub static FUNCTIONS: &[Function] = &[
    Function {
        name: "pg_pow",
        params: &[value("x"), integer("n"), integer("d")],
        aliases: &["pow", "powf", "powi", "power"],
        text: "x^(n/d); d of 1 or 2 and |n| up to 16 in lowest terms",
        takes: POWERS,
        rule: Rule::Power(None),
    },
    Function {
        name: "pg_sqrt",
        params: &[value("x")],
        aliases: &["sqrt", "sqrtf", "dsqrt"],
        text: "x^(1/2)",
        takes: POWERS,
        rule: Rule::Power(Some((1, 2))),
    },
    Function {
        name: "pg_rsqrt",
        params: &[value("x")],
        aliases: &["rsqrt", "rsqrtf", "invsqrt", "inversesqrt"],
        text: "x^(-1/2)",
        takes: POWERS,
        rule: Rule::Power(Some((-1, 2))),
    },
    Function {
        name: "pg_inv",
        params: &[value("x")],
        aliases: &["inv", "recip"],
        text: "x^(-1)",
        takes: POWERS,
        rule: Rule::Power(Some((-1, 1))),
    },
    Function {
        name: "pg_sumsq",
        params: &[Param { name: "v", kind: Kind::Vector }],
        aliases: &["sumsq"],
        text: "the exact sum of the squares of its elements, rounded once",
        takes: &[any(Class::Float, float::SUMSQ)],
        rule: Rule::SumOfSquares,
    },
    Function {
        name: "pg_transpose",
        params: &[Param { name: "m", kind: Kind::Matrix }],
        aliases: &["transpose"],
        text: "rows and columns exchanged",
        takes: &[moves(Class::Int), moves(Class::Fixed), moves(Class::Float), moves(Class::Log)],
        rule: Rule::Transpose,
    },
    Function {
        name: "pg_exp",
        params: &[value("x")],
        aliases: &["exp", "expf", "dexp"],
        text: "e^x",
        takes: &tabulated_wide(table::EXP),
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_exp2",
        params: ONE,
        aliases: &["exp2", "exp2f"],
        text: "2^x; exact for whole x",
        takes: &tabulated_wide(table::EXP2),
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_log",
        params: &[value("x")],
        aliases: &["log", "logf", "alog", "ln"],
        text: "the natural logarithm; 0 with `invalid` for x of 0 and below",
        takes: &tabulated_wide(table::LOG),
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_log2",
        params: ONE,
        aliases: &["log2", "log2f"],
        text: "the logarithm to base 2, exact of powers of two; 0 with `invalid` for x of 0 and below",
        takes: &tabulated_wide(table::LOG2),
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_sin",
        params: &[value("x")],
        aliases: &["sin", "sinf"],
        text: "the sine of x radians; of a float of 2^20 or more 0 with `invalid`",
        takes: &tabulated(table::SIN),
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_cos",
        params: &[value("x")],
        aliases: &["cos", "cosf"],
        text: "the cosine of x radians; of a float of 2^20 or more 0 with `invalid`",
        takes: &tabulated(table::COS),
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_asin",
        params: ONE,
        aliases: &["asin", "asinf", "arcsin"],
        text: "the angle in radians whose sine is x; 0 with `invalid` beyond -1 and 1",
        takes: &[tabulated_float(table::ASIN)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_acos",
        params: ONE,
        aliases: &["acos", "acosf", "arccos"],
        text: "the angle in radians whose cosine is x; 0 with `invalid` beyond -1 and 1",
        takes: &[tabulated_float(table::ACOS)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_atan",
        params: ONE,
        aliases: &["atan", "atanf", "arctan"],
        text: "the angle in radians, from -pi/2 to pi/2, whose tangent is x",
        takes: &[tabulated_float(table::ATAN)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_atan2",
        params: &[value("y"), value("x")],
        aliases: &["atan2", "atan2f", "arctan2"],
        text: "the angle in radians, from -pi to pi, of the point (x, y); 0 for (0, 0)",
        takes: &[tabulated_float(table::ATAN2)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_tanh",
        params: ONE,
        aliases: &["tanh", "tanhf"],
        text: "the hyperbolic tangent",
        takes: &[tabulated_float(table::TANH)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_erf",
        params: ONE,
        aliases: &["erf", "erff"],
        text: "the error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x",
        takes: &[tabulated_float(table::ERF)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_erfc",
        params: ONE,
        aliases: &["erfc", "erfcf"],
        text: "1 - erf(x), with all its places also where x is large",
        takes: &[tabulated_float(table::ERFC)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_cbrt",
        params: ONE,
        aliases: &["cbrt", "cbrtf"],
        text: "the cubic root, of negative x too; exact where a format has it",
        takes: &[tabulated_float(table::CBRT)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_fn",
        params: &[
            value("x"),
            Param { name: "f", kind: Kind::Real },
            Param { name: "lo", kind: Kind::Number },
            Param { name: "hi", kind: Kind::Number },
        ],
        aliases: &[],
        text: "f(x) for x from lo to hi, for a real function f that you write down",
        takes: &tabulated(table::FUNC),
        rule: Rule::Fit,
    },
    Function {
        name: "pg_abs",
        params: &[value("x")],
        aliases: &["abs", "fabs", "fabsf", "labs", "dabs"],
        text: "magnitude; that of the least int wraps",
        takes: &[
            any(Class::Int, int::ABS),
            any(Class::Fixed, int::ABS),
            any(Class::Float, float::FABS),
            any(Class::Log, log::LABS),
        ],
        rule: Rule::Operator(Some(Exactly::Of(|x| x.abs()))),
    },
    Function {
        name: "pg_min",
        params: &[value("a"), value("b")],
        aliases: &["min", "fmin", "fminf"],
        text: "the lesser of two values of one format",
        takes: &every(compare::MIN),
        rule: Rule::Operator(Some(Exactly::First(|a, b| a < b))),
    },
    Function {
        name: "pg_max",
        params: &[value("a"), value("b")],
        aliases: &["max", "fmax", "fmaxf"],
        text: "the greater of two values of one format",
        takes: &every(compare::MAX),
        rule: Rule::Operator(Some(Exactly::First(|a, b| a >= b))),
    },
    whole(
        "pg_floor",
        &["floor", "floorf"],
        "the greatest whole number up to x",
        &[any(Class::Fixed, int::XFLOOR), any(Class::Float, float::FFLOOR)],
        Exact::floor,
    ),
    whole(
        "pg_ceil",
        &["ceil", "ceilf", "ceiling"],
        "the least whole number from x on",
        &[any(Class::Fixed, int::XCEIL), any(Class::Float, float::FCEIL)],
        Exact::ceil,
    ),
    whole(
        "pg_trunc",
        &["trunc", "truncf", "aint"],
        "x without its fraction",
        &[any(Class::Fixed, int::XTRUNC), any(Class::Float, float::FTRUNC)],
        Exact::trunc,
    ),
    whole(
        "pg_round",
        &["round", "roundf", "anint"],
        "the nearest whole number; halves go away from zero, as in C",
        &[any(Class::Fixed, int::XROUND), any(Class::Float, float::FROUND)],
        Exact::round,
    ),
    Function {
        name: "pg_dot",
        params: &[vector("a"), vector("b")],
        aliases: &["dot", "dot_product", "inner"],
        text: "the inner product, as `a * b`",
        takes: STEPS,
        rule: Rule::Inner,
    },
    Function {
        name: "pg_norm2",
        params: &[vector("v")],
        aliases: &["length2", "squaredNorm"],
        text: "the square of the length, as `v * v`",
        takes: STEPS,
        rule: Rule::Inner,
    },
    Function {
        name: "pg_cross",
        params: &[vector("a"), vector("b")],
        aliases: &["cross", "cross_product"],
        text: "the vector product: `a[1] * b[2] - a[2] * b[1]` and so on, each step rounded",
        takes: STEPS,
        rule: Rule::Cross,
    },
    Function {
        name: "pg_popcount",
        params: &[value("x")],
        aliases: &[
            "popcount",
            "popcnt",
            "popc",
            "__popc",
            "__popcll",
            "countones",
            "count_ones",
            "bitcount",
            "bit_count",
            "__builtin_popcount",
        ],
        text: "how many of the bits of x are 1",
        takes: &[any(Class::Int, int::POPCOUNT)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_clz",
        params: &[value("x")],
        aliases: &[
            "clz",
            "__clz",
            "__clzll",
            "countl_zero",
            "leadz",
            "leading_zeros",
            "numberofleadingzeros",
            "lzcnt",
            "__builtin_clz",
        ],
        text: "how many bits of x are 0 above the highest 1; W for x = 0",
        takes: &[any(Class::Int, int::CLZ)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_bits",
        params: &[value("x")],
        aliases: &["__float_as_uint", "float_as_uint", "to_bits", "asuint", "realtobits"],
        text: "the pattern of x, a `uintW`",
        takes: &[any(Class::Int, int::BITS), any(Class::Fixed, int::BITS), any(Class::Float, int::BITS)],
        rule: Rule::Operator(None),
    },
    Function {
        name: "pg_from_bits",
        params: &[value("u"), Param { name: "format", kind: Kind::Format }],
        aliases: &["from_bits"],
        text: "the value of that format whose pattern is u, a uint of its width; 0 with `invalid` where no float has it",
        takes: &[any(Class::Int, int::FROMBITS)],
        rule: Rule::FromBits,
    },
];

/// The function of that name.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

/// The function that a name of another language means.
pub fn meant(name: &str) -> Option<&'static Function> {
    let bare = name.strip_prefix("pg_").unwrap_or(name);
    FUNCTIONS.iter().find(|f| f.name == name || f.aliases.contains(&bare))
}

impl Class {
    pub const ALL: [Class; 4] = [Class::Int, Class::Fixed, Class::Float, Class::Log];

    pub fn of(format: Format) -> Class {
        match format {
            Format::Float { .. } => Class::Float,
            Format::Log { .. } => Class::Log,
            _ if format.is_fixed() => Class::Fixed,
            _ => Class::Int,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::Int => "int",
            Class::Fixed => "fixed",
            Class::Float => "float",
            Class::Log => "log",
        }
    }
}

impl Takes {
    /// `float, M up to 23`
    fn text(&self) -> String {
        match self.class {
            class if self.most == u32::MAX => class.name().to_string(),
            Class::Float => format!("float, M up to {}", self.most),
            class => format!("{} of up to {} bits", class.name(), self.most),
        }
    }
}

impl Function {
    /// `pg_pow(x, n, d)`
    pub fn call(&self) -> String {
        format!("{}({})", self.name, self.params.iter().map(|p| p.name).collect::<Vec<_>>().join(", "))
    }

    /// The formats it takes, in words.
    pub fn formats(&self) -> String {
        let all = self.takes.len() == Class::ALL.len() && self.takes.iter().all(|t| t.most == u32::MAX);
        let list = || self.takes.iter().map(Takes::text).collect::<Vec<_>>().join("; ");
        let formats = if all { "any".to_string() } else { list() };
        match self.params[0].kind {
            Kind::Vector => format!("{formats} vector of 2 to 4"),
            Kind::Vectors if matches!(self.rule, Rule::Cross) => format!("{formats} vector of 3"),
            Kind::Vectors => format!("{formats} vector"),
            Kind::Matrix => format!("{formats} matrix"),
            _ => formats,
        }
    }

    /// The formats it takes of the class of `format`.
    pub fn takes(&self, format: Format) -> Option<&'static Takes> {
        self.takes.iter().find(|t| t.class == Class::of(format))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_name_means_one_function() {
        let mut names = HashSet::new();
        for f in FUNCTIONS {
            assert!(f.name.starts_with("pg_") && !f.params.is_empty() && !f.takes.is_empty(), "{}", f.name);
            for name in f.aliases.iter().chain([&f.name]) {
                assert!(names.insert(*name), "{name} means two functions");
            }
        }
        let power = function("pg_pow").expect("it is in the table");
        assert!(power.text.contains(&format!("|n| up to {} ", hdl::op::MAX_NUMERATOR)), "{}", power.text);
        for (name, op) in [("pg_sin", table::SIN), ("pg_cos", table::COS)] {
            let limit = format!(" 2^{} ", table::sin_cos::LIMIT);
            let text = function(name).expect("it is in the table").text;
            assert!(text.contains(&limit) && op.summary().contains(&limit), "{text}; {}", op.summary());
        }
    }
}
