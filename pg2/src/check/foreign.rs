//! Expressions as other languages have them, and casts to write: each with its remedy as an edit where it is definite.

use super::Checker;
use super::call::Arg;
use super::idioms;
use super::literal;
use super::scope::Symbol;
use super::value::{Typed, Value};
use crate::diag::codes;
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{BinaryOp, ExprId, ExprKind, Word};
use crate::syntax::foreign;
use crate::syntax::functions::{self, Rule};
use hdl::Format;
use hdl::number::real::expr::CALLS;

impl<'a> Checker<'a> {
    /// Adds a cast of an expression as the remedy.
    pub(super) fn with_cast(&self, error: Diagnostic, format: Format, id: ExprId) -> Diagnostic {
        let error = error.help(format!("write `({format}){}`", self.operand_text(id)));
        self.cast_edits(error, format, id)
    }

    /// The edits of a cast alone.
    fn cast_edits(&self, error: Diagnostic, format: Format, id: ExprId) -> Diagnostic {
        let Span { start, end } = self.span(id);
        let front = Span { start, end: start };
        if matches!(self.program.expr(id).kind, ExprKind::Binary(..) | ExprKind::Select(..)) {
            return error.edit(front, format!("({format})(")).edit(Span { start: end, end }, ")");
        }
        error.edit(front, format!("({format})"))
    }

    /// Adds another format of a pin as the remedy, and a cast of what it takes if that has another format.
    pub(super) fn with_output_format(
        &self,
        error: Diagnostic,
        pin: usize,
        format: Format,
        value: Option<ExprId>,
    ) -> Diagnostic {
        let name = &self.builder.graph.pins[pin].name;
        let error = match value {
            None => error.help(format!("declare `{name}` as `{format}`")),
            Some(id) => {
                let from = self.builder.graph.pins[pin].format;
                let rounds =
                    if from.is_int() { format!("; `({from})` would round to whole numbers") } else { String::new() };
                error.help(format!(
                    "declare `{name}` as `{format}`, or as another int or fixed that holds the sum, and write `({format}){}`{rounds}",
                    self.operand_text(id)
                ))
            }
        };
        let error = match self.pin_formats.get(pin) {
            Some(span) => error.edit(*span, format.to_string()),
            None => return error,
        };
        value.map_or(error.clone(), |id| self.cast_edits(error, format, id))
    }

    /// The source of an expression as an operand, if it is short.
    pub(super) fn short(&self, id: ExprId) -> Option<String> {
        let text = self.operand_text(id);
        (text != "(...)").then_some(text)
    }

    /// An operator that a format does not have.
    pub(super) fn no_operator(&mut self, op: BinaryOp, value: &Typed, id: ExprId, (a, b): (ExprId, ExprId)) -> Value {
        let (format, symbol) = (value.format, op.symbol());
        let error = |message: String| {
            Diagnostic::error(codes::NOT_DEFINED, message, self.span(id), format!("this is {format}"))
        };
        let message = format!("`{symbol}` is not defined on {format}");
        let error = match op {
            BinaryOp::BitXor => self.xor_as_power(error(format!("{message}: it is the exclusive or of integers, and no power")), a, b),
            BinaryOp::Rem => {
                let text = |id| self.short(id).unwrap_or_else(|| "x".into());
                let (x, m) = (text(a), text(b));
                error(message).help(format!(
                    "for the nearest image in a box of {m}, from -{m}/2 to {m}/2, write `{x} - {m} * ({format})(int32)({x} / {m})`; \
                     `%` itself is the remainder of integers"
                ))
            }
            _ => error(message).help(format!(
                "`{symbol}` combines the bits of integers; conditions are joined with `{symbol}{symbol}`, and numbers compared first"
            )),
        };
        self.error(error);
        Value::Error
    }

    /// The operands on both sides of `^` as the eye takes them: in `1 + r ^ 2` it is r, though sums bind tighter than `^`.
    pub(super) fn beside(&self, a: ExprId, b: ExprId) -> (ExprId, ExprId) {
        let (mut left, mut right) = (a, b);
        while let ExprKind::Binary(_, _, inner) | ExprKind::Unary(_, inner) = self.program.expr(left).kind {
            left = inner;
        }
        while let ExprKind::Binary(_, inner, _) = self.program.expr(right).kind {
            right = inner;
        }
        (left, right)
    }

    /// The remedy of `a ^ b` where a power is meant.
    fn xor_as_power(&self, error: Diagnostic, a: ExprId, b: ExprId) -> Diagnostic {
        let (a, b) = self.beside(a, b);
        let whole = self.span(a).to(self.span(b));
        let exponent = self.span(b).of(self.text);
        match self.short(a).and_then(|base| foreign::power(&base, exponent)) {
            Some(power) => error.help(format!("write `{power}`")).edit(whole, power),
            None => error.help("write a square as `x * x`, and other powers with `pg_pow(x, n, d)`, which is x^(n/d)"),
        }
    }

    /// Warns of `x ^ 2` on integers, which is no square. A mask is written in hexadecimal, which tells the two apart.
    pub(super) fn warn_of_xor(&mut self, a: ExprId, b: ExprId) {
        let (a, b) = self.beside(a, b);
        let number = |id| match self.program.expr(id).kind {
            ExprKind::Number(text) => Some(text),
            _ => None,
        };
        let Some(exponent) = number(b).filter(|t| t.bytes().all(|b| b.is_ascii_digit())) else { return };
        if !matches!(exponent, "2" | "3") && !matches!(number(a), Some("2" | "10")) {
            return;
        }
        let whole = self.span(a).to(self.span(b));
        let warning = Diagnostic::warning(
            codes::XOR_POWER,
            "`^` is the exclusive or of integers, and no power",
            whole,
            "computes an exclusive or",
        );
        let note = "a number written in hexadecimal, such as `0x2`, says that bits are meant";
        let warning = match (number(a), number(b)) {
            (Some("10"), Some(b)) => warning.help(format!("write `1e{b}`")).edit(whole, format!("1e{b}")),
            (Some("2"), Some(b)) => warning.help(format!("write `(1 << {b})`")).edit(whole, format!("(1 << {b})")),
            _ => self.xor_as_power(warning, a, b),
        };
        self.error(warning.note(note));
    }

    /// A call of what the library does not have.
    pub(super) fn unknown_call(&mut self, function: Word<'a>, given: &[Arg], span: Span) -> Value {
        if self.is_broken(function.text) {
            return Value::Error;
        }
        let given_name = function.text.strip_prefix("pg_").unwrap_or(function.text);
        let small = given_name.to_ascii_lowercase();
        let name = small.as_str();
        let own = self.functions.contains_key(function.text);
        let args: Vec<ExprId> = given.iter().map(|a| a.1).collect();
        let of_ints = given.iter().all(|a| match &a.0 {
            Value::Typed(typed) => typed.format.is_int(),
            Value::Exact(number) => literal::integer(number).is_ok(),
            _ => false,
        });
        let texts: Option<Vec<String>> = args.iter().map(|a| self.short(*a)).collect();
        let is_free = functions::meant(name).is_none_or(|f| matches!(f.rule, Rule::Power(None)));
        let written = texts.filter(|_| !own && is_free).and_then(|t| match (name, &t[..]) {
            ("mod" | "fmod" | "rem" | "mod_int", [x, m]) if of_ints => Some(format!("({x} % {m})")),
            ("modulo" | "floormod", [x, m]) if of_ints => Some(format!("(({x} % {m} + {m}) % {m})")),
            ("div" | "idiv", [x, m]) if of_ints => Some(format!("({x} / {m})")),
            ("fld" | "floordiv" | "floor_divide", [x, m]) if of_ints => Some(match power_of_two(m) {
                Some(places) => format!("({x} >> {places})"),
                None => format!("(({x} - ({x} % {m} + {m}) % {m}) / {m})"),
            }),
            ("cld" | "ceildiv", [x, m]) if of_ints => Some(format!("(({x} + (-{x} % {m} + {m}) % {m}) / {m})")),
            ("ibits", [x, from, bits]) if of_ints => mask(bits).map(|mask| format!("({x} >> {from} & {mask})")),
            ("iand" | "and" | "bitwise_and" | "bitand", [a, b]) if of_ints => Some(format!("({a} & {b})")),
            ("ior" | "or" | "bitwise_or" | "bitor", [a, b]) if of_ints => Some(format!("({a} | {b})")),
            // A mask in hexadecimal is no exponent.
            ("ieor" | "xor" | "bitwise_xor" | "bitxor", [a, b]) if of_ints => Some(format!(
                "({a} ^ {})",
                b.parse::<u64>().map_or(b.clone(), |b| format!("{b:#X}").replace("0X", "0x"))
            )),
            ("ishft" | "shiftl" | "lshift", [x, n]) if of_ints && !n.starts_with('-') => Some(format!("({x} << {n})")),
            ("shifta" | "rshift", [x, n]) if of_ints => Some(format!("({x} >> {n})")),
            ("btest", [x, n]) if of_ints => Some(format!("({x} >> {n} & 1)")),
            ("array" | "asarray" | "svector", [v]) => Some(v.clone()),
            (
                "svector" | "float2" | "float3" | "float4" | "vec2" | "vec3" | "vec4" | "dvec3" | "make_float2"
                | "make_float3" | "make_float4" | "make_double2" | "make_double3" | "make_double4",
                [_, _, ..],
            ) => Some(format!("({})", t.join(", "))),
            _ => self
                .written(given_name, given, &t)
                .or_else(|| self.written(name, given, &t))
                .or_else(|| equivalent(name, &t)),
        });
        let error = || {
            let message = format!("there is no function `{}`", function.text);
            Diagnostic::error(codes::UNKNOWN_FUNCTION, message, function.span, "unknown function")
        };
        if let Some(text) = written {
            self.error(error().help(format!("write `{text}`")).edit(span, text));
            return Value::Error;
        }
        if is_power(function.text) {
            self.error(error().help(
                "write `pg_pow(x, n, d)`, which is x^(n/d) with d of 1 or 2; for another exponent fit it: `pg_fn(x, pow(x, e), lo, hi)`",
            ));
            return Value::Error;
        }
        if self.table().symbols.contains_key(function.text) {
            let error =
                error().help(format!("`{0}` is a value: its elements are `{0}[0]`, `{0}[1]` and so on", function.text));
            self.error(error);
            return Value::Error;
        }
        let plain = idioms::plain_name(function.text);
        if plain != given_name && !plain.is_empty() && !own {
            let known = functions::meant(&plain);
            if let Some(known) = known {
                self.error(error().help(format!("write `{}`", known.call())).edit(function.span, known.name));
                return Value::Error;
            }
            let texts: Option<Vec<String>> = args.iter().map(|a| self.short(*a)).collect();
            if let Some(text) = texts.and_then(|t| self.written(&plain, given, &t).or_else(|| equivalent(&plain, &t))) {
                self.error(error().help(format!("write `{text}`")).edit(span, text));
                return Value::Error;
            }
        }
        let real = [name, name.trim_end_matches('f')];
        if let Some((known, _)) =
            CALLS.iter().find(|c| real.contains(&c.0) && functions::function(&format!("pg_{}", c.0)).is_none())
        {
            let x = args.first().and_then(|a| self.short(*a)).unwrap_or_else(|| "x".into());
            let variable = args.first().map_or("x", |a| self.function_variable(*a));
            let help = format!("fit it on the interval in which `{x}` lies: `pg_fn({x}, {known}({variable}), lo, hi)`");
            let error = error().help(help);
            self.error(error);
            return Value::Error;
        }
        if let Some(help) = advice(name).or_else(|| advice(&plain)) {
            self.error(error().help(help));
            return Value::Error;
        }
        self.unknown_function(function)
    }

    /// `pg_pow(x, e)`: the exponent is a quotient of two numbers.
    pub(super) fn power_of_two_arguments(&mut self, args: &[ExprId], span: Span) -> Value {
        let error = Diagnostic::error(
            codes::ARGUMENTS,
            "`pg_pow` takes 3 argument(s), not 2",
            span,
            "wrong number of arguments",
        );
        let power = self.short(args[0]).and_then(|base| foreign::power(&base, self.span(args[1]).of(self.text)));
        self.error(match power {
            Some(power) => error.help(format!("write `{power}`")).edit(span, power),
            None => error.help("write `pg_pow(x, n, d)`, which is x^(n/d)"),
        });
        Value::Error
    }

    /// `=` to an output: as what was meant for a reduction, if the value is made of the output itself.
    pub(super) fn assigns_output(&mut self, name: Word<'a>, symbol: &Symbol, pin: usize, root: ExprId) {
        let message = format!("`{}` is an output and cannot be assigned", name.text);
        let error = Diagnostic::error(codes::ASSIGNS_PIN, message, name.span, "assigned here")
            .label(symbol.span, "declared here");
        let whole = name.span.to(self.span(root));
        let gathered = self.own_reduction(name.text, root);
        let sums = self.builder.graph.pins[pin].format.is_integral();
        let error = match gathered {
            Some((operator, value)) => {
                let statement = format!("{} {operator} {}", name.text, value.of(self.text));
                let short = value.end - value.start <= 40;
                let shown = if short { statement.clone() } else { format!("{} {operator} ...", name.text) };
                error.help(format!("outputs gather values from all sources: write `{shown}`")).edit(whole, statement)
            }
            None if sums => {
                let equals = Span { start: name.span.end, end: self.span(root).start };
                error
                    .help(format!(
                        "outputs gather values from all sources: `{0} += ...` adds them up, `{0} max= ...` and `{0} min= ...` keep one",
                        name.text
                    ))
                    .edit(equals, " += ")
            }
            None => error.help(format!(
                "outputs gather values from all sources: `{0} max= ...` and `{0} min= ...` keep one of them; a sum needs an int or fixed output",
                name.text
            )),
        };
        self.error(error);
    }

    /// `s + x` and `pg_min(s, x)` as a reduction into s: its operator and the place of x.
    fn own_reduction(&self, name: &str, root: ExprId) -> Option<(&'static str, Span)> {
        let mut id = root;
        while let ExprKind::Paren(inner) = self.program.expr(id).kind {
            id = inner;
        }
        let is_name = |id: ExprId| matches!(self.program.expr(id).kind, ExprKind::Name(n) if n == name);
        match &self.program.expr(id).kind {
            ExprKind::Binary(BinaryOp::Add, a, b) if is_name(*a) => Some(("+=", self.span(*b))),
            ExprKind::Binary(BinaryOp::Add, a, b) if is_name(*b) => Some(("+=", self.span(*a))),
            ExprKind::Call(word, args) if args.len() == 2 => {
                let operator = match functions::meant(word.text)?.name {
                    "pg_min" => "min=",
                    "pg_max" => "max=",
                    _ => return None,
                };
                let other = [(0, 1), (1, 0)].into_iter().find(|(s, _)| is_name(args[*s]))?.1;
                Some((operator, self.span(args[other])))
            }
            _ => None,
        }
    }

    /// The value of a mathematical constant that other languages name so.
    pub(super) fn known_constant(name: &str) -> Option<&'static str> {
        foreign::CONSTANTS.iter().find(|(names, _)| names.contains(&name)).map(|c| c.1)
    }
}

/// Whether a name means `pg_pow`.
fn is_power(name: &str) -> bool {
    functions::meant(name).is_some_and(|f| matches!(f.rule, Rule::Power(None)))
}

/// The PG2 equivalent of a call of another language's function.
fn equivalent(name: &str, args: &[String]) -> Option<String> {
    if let (true, [x, e]) = (is_power(name), args) {
        return foreign::power(x, e);
    }
    Some(match (name, args) {
        ("norm" | "norm2" | "length" | "mag" | "magnitude", [v]) => format!("pg_sqrt({v} * {v})"),
        ("sqr" | "square" | "sq" | "abs2", [x]) => format!("({x} * {x})"),
        ("nint" | "lround" | "llround", [x]) => format!("(int32)pg_round({x})"),
        ("not", [x]) => format!("!{x}"),
        ("ldg", [x]) => x.clone(),
        ("sum", [f, v]) if f == "abs2" => format!("({v} * {v})"),
        ("abs_diff" | "absdiff", [a, b]) => format!("pg_abs({a} - {b})"),
        ("sad", [a, b, c]) => format!("(pg_abs({a} - {b}) + {c})"),
        ("sinpi", [x]) => format!("pg_sin({x} * pi)"),
        ("cospi", [x]) => format!("pg_cos({x} * pi)"),
        ("radians" | "deg2rad" | "toradians", [x]) => format!("({x} * (pi / 180))"),
        ("degrees" | "rad2deg" | "todegrees", [x]) => format!("({x} * (180 / pi))"),
        ("hypot", [a, b]) => format!("pg_sqrt({a} * {a} + {b} * {b})"),
        ("rhypot", [a, b]) => format!("pg_rsqrt({a} * {a} + {b} * {b})"),
        ("norm3d", [a, b, c]) => format!("pg_sqrt({a} * {a} + {b} * {b} + {c} * {c})"),
        ("rnorm3d", [a, b, c]) => format!("pg_rsqrt({a} * {a} + {b} * {b} + {c} * {c})"),
        ("normalize" | "normalized", [v]) => format!("({v} * pg_rsqrt({v} * {v}))"),
        ("distance", [a, b]) => format!("pg_sqrt(({a} - {b}) * ({a} - {b}))"),
        ("clamp" | "clip", [x, low, high]) => format!("pg_min(pg_max({x}, {low}), {high})"),
        ("saturate", [x]) => format!("pg_min(pg_max({x}, 0), 1)"),
        ("fdim" | "dim", [a, b]) => format!("pg_max({a} - {b}, 0)"),
        ("copysign" | "sign", [a, b]) => format!("({b} < 0 ? -pg_abs({a}) : pg_abs({a}))"),
        ("sign" | "sgn" | "signum", [x]) => format!("({x} > 0 ? 1 : {x} < 0 ? -1 : 0)"),
        ("frac" | "fract", [x]) => format!("({x} - pg_floor({x}))"),
        ("heaviside", [x, middle]) => format!("({x} > 0 ? 1 : {x} < 0 ? 0 : {middle})"),
        ("step", [e, x]) => format!("({x} < {e} ? 0 : 1)"),
        ("mix" | "lerp", [a, b, t]) => format!("({a} + ({b} - {a}) * {t})"),
        ("where" | "ifelse", [c, a, b]) | ("merge", [a, b, c]) | ("select", [b, a, c]) => format!("({c} ? {a} : {b})"),
        ("log1p", [x]) => format!("pg_log(1 + {x})"),
        ("expm1", [x]) => format!("(pg_exp({x}) - 1)"),
        ("exp10", [x]) => format!("pg_exp({x} * 2.30258509299404568402)"),
        ("divide" | "fdivide" | "fdiv", [a, b]) => format!("({a} / {b})"),
        ("multiply" | "fmul" | "mul24" | "mul", [a, b]) => format!("({a} * {b})"),
        ("add" | "fadd", [a, b]) => format!("({a} + {b})"),
        ("subtract" | "fsub" | "sub", [a, b]) => format!("({a} - {b})"),
        ("negative", [x]) => format!("(-{x})"),
        // Of a base that is not negative, to any power.
        ("powr", [x, e]) => return foreign::power(x, e).or_else(|| Some(format!("pg_exp2({e} * pg_log2({x}))"))),
        ("pown", [x, e]) => return foreign::power(x, e),
        ("fma" | "mad" | "muladd" | "mad24", [a, b, c]) => format!("({a} * {b} + {c})"),
        ("log10", [x]) => format!("(pg_log({x}) * 0.434294481903251827651)"),
        _ => return None,
    })
}

/// The places by which a power of two shifts.
fn power_of_two(number: &str) -> Option<u32> {
    number.parse::<u64>().ok().filter(|n| n.is_power_of_two()).map(u64::trailing_zeros)
}

/// The mask of so many low bits.
fn mask(bits: &str) -> Option<String> {
    let bits = bits.parse::<u32>().ok().filter(|n| (1..64).contains(n))?;
    Some(format!("{:#X}", (1u64 << bits) - 1).replacen("0X", "0x", 1))
}

/// Advice on replacing a function that PG2 lacks.
fn advice(name: &str) -> Option<&'static str> {
    Some(match name {
        "rint" | "nearbyint" | "lrint" => "a cast to an int rounds to the nearest integer, ties to even: `(int32)x`",
        "fmod" | "mod" | "remainder" | "modulo" => {
            "for the nearest image in a box of L write `x - L * (float25.16)(int32)(x / L)`, which lies between -L/2 and L/2"
        }
        "float" | "double" | "real" | "dble" => "a cast is written in front of a value: `(float32.23)x`",
        "int" => "a cast is written in front of a value: `(int32)x`, which rounds to the nearest integer",
        "sum" => "write a loop: `s = 0;` and `for k in 0..3 { s += v[k]; }`; the sum of products is `a * b`",
        "printf" | "print" | "cout" => {
            "a circuit prints nothing: give the value an output, and `pairforge run` shows it"
        }
        "isnan" | "isinf" | "isfinite" => {
            "every value is a finite number: what would be no number is 0 with the flag `invalid`, which a run returns"
        }
        "argmin" | "argmax" | "minloc" | "maxloc" | "indmin" | "sort" | "partialsort" | "topk" => {
            "a selection keeps what belongs to the least: `(best, who) min= (value, id);` with an output for each, of n elements for \
             the n least in their order"
        }
        "range" => "the range of a loop is `0..3`",
        "smoothstep" => {
            "write `fn smoothstep(a, b, x) { t = pg_min(pg_max((x - a) / (b - a), 0), 1); return t * t * (3 - 2 * t); }` in the file"
        }
        _ => return None,
    })
}
