//! Habits of other languages that only formats tell apart: casts with the names of C, functions of vectors, divisions that cut off,
//! loops that never run.

use super::Checker;
use super::call::Arg;
use super::value::{Dims, Typed, Value};
use crate::diag::Diagnostic;
use crate::diag::Span;
use crate::diag::codes;
use crate::syntax::ast::{BinaryOp, ExprId, ExprKind, Tree, Word};
use crate::syntax::functions;
use hdl::Format;
use num_traits::Zero;

/// Types of other languages whose casts from numbers with a point cut off, as formats.
const INTS: &[(&[&str], &str)] = &[
    (&["int", "integer", "Int32", "int32_t", "INT"], "int32"),
    (&["long", "Int", "Int64", "int64_t", "longlong"], "int64"),
    (&["short", "Int16", "int16_t"], "int16"),
    (&["char", "Int8", "int8_t", "schar"], "int8"),
    (&["unsigned", "uint", "UInt32", "uint32_t"], "uint32"),
    (&["UInt", "UInt64", "uint64_t", "size_t", "ulong"], "uint64"),
    (&["UInt16", "uint16_t", "ushort"], "uint16"),
    (&["UInt8", "uint8_t", "uchar"], "uint8"),
];

/// The same of types with a point.
const FLOATS: &[(&[&str], &str)] = &[
    (&["float", "real", "Float32", "single", "f32"], "float32.23"),
    (&["double", "dble", "Float64", "f64"], "float64.52"),
    (&["half", "Float16", "f16"], "float16.10"),
];

/// The pattern of a value, whose text may have parentheses already.
fn pattern(x: &str) -> String {
    if x.starts_with('(') && x.ends_with(')') && !x[1..].contains('(') {
        format!("pg_bits{x}")
    } else {
        format!("pg_bits({x})")
    }
}

fn named(table: &[(&[&str], &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(names, _)| names.contains(&name)).map(|t| t.1)
}

/// The format of a type of other languages.
pub(super) fn of_c(name: &str) -> Option<&'static str> {
    named(INTS, name).or_else(|| named(FLOATS, name))
}

/// Whether a name is that of a vector in CUDA and OpenCL, such as `float4`.
pub(super) fn is_vector(name: &str) -> bool {
    let (kind, count) = name.split_at(name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count());
    matches!(kind, "float" | "double" | "int" | "uint" | "vec" | "half")
        && matches!(count, "2" | "3" | "4" | "8" | "16")
}

/// A name without what CUDA, OpenCL and C put in front of a function and behind it: `__expf`, `native_rsqrt`, `__fmul_rn`.
pub(super) fn plain_name(name: &str) -> String {
    // Fortran has capitals where others have none.
    let small = name.to_ascii_lowercase();
    let mut bare = small.trim_start_matches("pg_");
    for front in ["__", "native_", "half_", "fast_"] {
        bare = bare.strip_prefix(front).unwrap_or(bare);
    }
    for end in ["_rn", "_rz", "_ru", "_rd"] {
        bare = bare.strip_suffix(end).unwrap_or(bare);
    }
    let known = |n: &str| functions::meant(n).is_some();
    if known(bare) {
        return bare.to_string();
    }
    match bare {
        "max0" | "max1" | "amax0" | "amax1" | "dmax1" => return "max".into(),
        "min0" | "min1" | "amin0" | "amin1" | "dmin1" => return "min".into(),
        "maximum" => return "max".into(),
        "minimum" => return "min".into(),
        "frcp" | "recip" => return "inv".into(),
        "fsqrt" => return "sqrt".into(),
        "frsqrt" => return "rsqrt".into(),
        "fdividef" | "fdiv" => return "divide".into(),
        _ => {}
    }
    let ended = bare.strip_suffix(['f', 'l']).filter(|b| known(b)).or_else(|| bare.strip_suffix('f'));
    let shorter = ended.filter(|b| b.len() > 2).unwrap_or(bare);
    let behind = bare.strip_prefix(['d', 'f']).filter(|rest| known(rest));
    (if known(shorter) { shorter } else { behind.unwrap_or(shorter) }).to_string()
}

impl<'a> Checker<'a> {
    /// A cast to an int of C, of a value with a point: C cuts off, where a cast of PG2 rounds. Gives whether it was reported.
    pub(super) fn cast_of_c(&mut self, word: Word, value: &Value, id: ExprId, span: Span) -> bool {
        let Some(format) = named(INTS, word.text).filter(|_| self.type_of_name(word.text).is_none()) else {
            return false;
        };
        // Whether it cuts off is known once the value is mended.
        if matches!(value, Value::Error) {
            return true;
        }
        let Value::Typed(typed) = value else { return false };
        if typed.format.is_int() || word.text.parse::<Format>().is_ok() {
            return false;
        }
        let message = format!("`{}` is not a format", word.text);
        let error = Diagnostic::error(codes::UNKNOWN_FORMAT, message, word.span, "unknown format");
        let error = match (self.cut_off(typed, format, id), self.short(id)) {
            (Some(text), _) => error.help(format!("write `{text}`")).edit(span, text),
            (None, Some(text)) => {
                error.help(format!("write `({format}){text}`, which rounds to the nearest integer; C cuts off"))
            }
            (None, None) => error.help(format!("write `({format})`, which rounds to the nearest integer; C cuts off")),
        };
        self.error(error);
        true
    }

    /// The text that cuts a value off to an int, where the library can.
    fn cut_off(&self, typed: &Typed, format: &str, id: ExprId) -> Option<String> {
        let text = self.short(id)?;
        let cut = functions::function("pg_trunc")?;
        cut.takes(typed.format)?;
        let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).filter(|t| !t.contains(['(', ')']));
        Some(format!("({format})pg_trunc({})", inner.unwrap_or(&text)))
    }

    /// Replacement of a call of another language's function, where that depends on formats.
    pub(super) fn written(&self, name: &str, given: &[Arg], texts: &[String]) -> Option<String> {
        if let ([(value, id)], [x]) = (given, texts) {
            let int = named(INTS, name).or_else(|| name.strip_prefix("convert_").and_then(|n| named(INTS, n)));
            let int = int.or(if name == "float2int" { Some("int32") } else { None });
            if let Some(format) = int {
                return match value {
                    Value::Typed(typed) if !typed.format.is_int() => self.cut_off(typed, format, *id),
                    _ => Some(format!("({format}){x}")),
                };
            }
            let float = named(FLOATS, name).or_else(|| name.strip_prefix("convert_").and_then(|n| named(FLOATS, n)));
            let float = float.or(if matches!(name, "int2float" | "uint2float") { Some("float32.23") } else { None });
            if let Some(format) = float {
                return Some(format!("({format}){x}"));
            }
            if let Value::Typed(typed) = value {
                return self.of_one(name, typed, x);
            }
        }
        if let (Some(format), [_, _], [x, kind]) = (named(FLOATS, name), given, texts) {
            // The kind of Fortran is the number of bytes.
            return Some(format!("({}){x}", if kind == "8" { "float64.52" } else { format }));
        }
        if let ([(Value::Typed(typed), _), _], [x, m]) = (given, texts) {
            let format = typed.format;
            if let ("shiftr" | "lshr", Format::Int { width, signed }) = (name, format) {
                // Zeros come in from the left.
                return Some(match signed {
                    true => format!("(({format})((uint{width}){x} >> {m}))"),
                    false => format!("({x} >> {m})"),
                });
            }
            return match name {
                "fmod" | "mod" | "rem" if !format.is_int() => {
                    functions::function("pg_trunc")?.takes(format)?;
                    Some(format!("({x} - {m} * pg_trunc({x} / {m}))"))
                }
                "modulo" if !format.is_int() => {
                    functions::function("pg_floor")?.takes(format)?;
                    Some(format!("({x} - {m} * pg_floor({x} / {m}))"))
                }
                "remainder" | "IEEEremainder" if !format.is_int() => {
                    Some(format!("({x} - {m} * ({format})(int32)({x} / {m}))"))
                }
                _ => None,
            };
        }
        None
    }

    /// The same of one argument with a format.
    fn of_one(&self, name: &str, typed: &Typed, x: &str) -> Option<String> {
        let Dims::Vector(n) = typed.dims() else {
            return self.of_scalar(name, typed.format, x);
        };
        let joined = |sign: &str| (0..n).map(|k| format!("{x}[{k}]")).collect::<Vec<_>>().join(sign);
        let nested = |f: &str| (1..n).fold(format!("{x}[0]"), |all, k| format!("{f}({all}, {x}[{k}])"));
        match name {
            _ if n > 8 => None,
            "sum" => Some(format!("({})", joined(" + "))),
            "size" | "len" => Some(n.to_string()),
            "prod" | "product" => Some(format!("({})", joined(" * "))),
            "max" | "maxval" | "maximum" | "amax" => Some(nested("pg_max")),
            "min" | "minval" | "minimum" | "amin" => Some(nested("pg_min")),
            _ => None,
        }
    }

    /// The same of a scalar.
    fn of_scalar(&self, name: &str, format: Format, x: &str) -> Option<String> {
        let Format::Int { width, signed } = format else {
            return Some(match name {
                // Halves go to the even number, as a cast takes them.
                "rint" => format!("({format})(int32){x}"),
                "lrint" => format!("(int32){x}"),
                "as_int" | "float_as_int" => format!("(int{}){}", format.width(), pattern(x)),
                "as_uint" | "float_as_uint" => pattern(x),
                // That of a product of two vectors is the product.
                "sum" => x.to_string(),
                _ => return None,
            });
        };
        let float = match width {
            32 => "float32.23",
            _ => "float64.52",
        };
        Some(match name {
            // Of the bits of a number, where others have truths.
            "not" if width > 1 => format!("(~{x})"),
            "ffs" => format!("({width} - pg_clz({x} & -{x}))"),
            "ctz" | "trailz" | "trailing_zeros" => format!("({} - pg_clz({x} & -{x}))", width - 1),
            "as_float" | "int_as_float" | "uint_as_float" if matches!(width, 32 | 64) => match signed {
                true => format!("pg_from_bits((uint{width}){x}, {float})"),
                false => format!("pg_from_bits({x}, {float})"),
            },
            "bool" => format!("({x} != 0)"),
            "isodd" => format!("({x} & 1)"),
            "iseven" => format!("(({x} & 1) == 0)"),
            "signed" if signed => x.to_string(),
            "signed" => format!("(int{width}){x}"),
            "unsigned" => format!("(uint{width}){x}"),
            "sum" => x.to_string(),
            _ => return None,
        })
    }

    /// Warns of an int over a number that is written with a point, and of a division by 0.
    pub(super) fn warn_of_division(&mut self, op: BinaryOp, a: &(Value, ExprId), b: &(Value, ExprId), span: Span) {
        if !matches!(op, BinaryOp::Div | BinaryOp::Rem) {
            return;
        }
        if let (Value::Typed(_), Value::Exact(divisor)) = (&a.0, &b.0)
            && divisor.value.is_zero()
        {
            let warning = Diagnostic::warning(codes::BY_ZERO, "this divides by 0", self.span(b.1), "the divisor is 0");
            let note = "the result is 0 with the flag `invalid`, for every pair";
            self.error(warning.note(note).help("write another divisor, or 0 for the whole"));
            return;
        }
        let int = |v: &Value| matches!(v, Value::Typed(t) if t.format.is_int());
        let exact = |v: &Value| matches!(v, Value::Exact(_));
        let pointed = |id: ExprId| self.has_point(id);
        let (first, second) = match (int(&a.0), int(&b.0)) {
            (true, false) if op == BinaryOp::Div && exact(&b.0) && pointed(b.1) => (a.1, b.1),
            (false, true) if op == BinaryOp::Div && exact(&a.0) && pointed(a.1) => (b.1, a.1),
            _ => return,
        };
        // A fraction is an error of its own.
        let whole = |v: &Value| matches!(v, Value::Exact(n) if n.value.is_integer());
        if !whole(&a.0) && !whole(&b.0) {
            return;
        }
        let number = self.span(second).of(self.text);
        let message = format!("`{number}` is an integer here, and the quotient is cut off to one");
        let warning = Diagnostic::warning(codes::INT_DIVISION, message, span, "a division of integers");
        let text = self.operand_text(first);
        let warning = warning.help(format!(
            "for the fraction write `(float32.23){text}`; without the point the number says what is done"
        ));
        self.error(self.with_front(warning, "(float32.23)", first));
    }

    /// A text in front of an expression, in whose place parentheses stand if it needs them.
    fn with_front(&self, warning: Diagnostic, front: &str, id: ExprId) -> Diagnostic {
        let Span { start, end } = self.span(id);
        let at = |k: usize| Span { start: k, end: k };
        match self.program.expr(id).kind {
            ExprKind::Binary(..) | ExprKind::Select(..) => {
                warning.edit(at(start), format!("{front}(")).edit(at(end), ")")
            }
            _ => warning.edit(at(start), front),
        }
    }

    /// Whether an expression is a number that is written with a point.
    fn has_point(&self, id: ExprId) -> bool {
        match self.program.expr(id).kind {
            ExprKind::Number(text) => !text.starts_with("0x") && text.contains('.'),
            ExprKind::Paren(inner) | ExprKind::Unary(_, inner) => self.has_point(inner),
            _ => false,
        }
    }

    /// Warns of a loop that never runs, where that does not come from another loop or from the arguments of a function.
    pub(super) fn warn_of_empty_loop(&mut self, variable: Word, (a, b): (i64, i64), range: (Tree, Tree)) {
        let is_number = |tree: Tree| matches!(self.program.expr(tree.root).kind, ExprKind::Number(_));
        let written = is_number(range.0) && is_number(range.1);
        if !self.loops.is_empty() || !self.calls.is_empty() || a == b && !written {
            return;
        }
        let span = self.span(range.0.root).to(self.span(range.1.root));
        let message = format!("this loop never runs: `{}` would begin at {a}, and ends before {b}", variable.text);
        let warning = Diagnostic::warning(codes::EMPTY_LOOP, message, span, "no number");
        let help = match a > b {
            true => format!("loops count up: write `for k in {b}..{a}`, and in it `{a} - 1 - k + {b}` to count down"),
            false => "write the end as one more than the last number".to_string(),
        };
        self.error(warning.help(help));
    }
}
