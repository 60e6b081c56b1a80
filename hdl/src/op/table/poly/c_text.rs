//! C text of a table: the row by the argument's first bits, Horner's rule in integers, and the rounding of its result.

use super::{Span, Table};
use crate::op::ctext::floats::{self, Value};
use crate::op::ctext::{CText, CType, CVar, I32, U32};
use crate::{Bounds, Flags, Format};

/// A sum of powers of two, as an expression and a constant.
#[derive(Clone, Debug)]
pub struct Exponent {
    pub text: String,
    pub offset: i64,
}

/// h and its quantum for an argument `at`: the line, and behind it the fraction.
pub fn eval(t: &Table, c: &mut CText, at: &CVar) -> (CVar, Exponent) {
    let (row, place) = locate(t, c, at);
    let column = |c: &mut CText, k: usize, span: Span| {
        let entry = c.look_up(t.columns[k].clone(), &row);
        c.set(CType::signed(span.bits() + 1), entry)
    };
    let mut h = column(c, t.degree, t.steps[t.degree]);
    for k in (0..t.degree).rev() {
        let wide = CType::signed(t.steps[k + 1].bits() + 1 + t.place_bits());
        let product = c.set(wide, format!("(({wide}){h} * ({wide}){place}) >> {}", t.shift[k]));
        let coefficient = c.look_up(t.columns[k].clone(), &row);
        let sign = if t.subtract[k] { '-' } else { '+' };
        let kind = CType::signed(t.steps[k].bits() + 1);
        h = c.set(kind, format!("({kind}){coefficient} {sign} ({kind}){product}"));
    }
    let (least, most) = t.quanta();
    if least == most {
        return (h, Exponent { text: "0".into(), offset: least as i64 });
    }
    // Of rows that no argument reaches the quantum is no matter.
    let above = |(q, row): (&i32, &super::RowRange)| if row.h.is_some() { (q - least) as i64 } else { 0 };
    let entry = c.look_up(t.quantum.iter().zip(&t.rows).map(above).collect(), &row);
    (h, Exponent { text: c.set(I32, entry).text, offset: least as i64 })
}

/// The row of an argument, and the place within its piece.
fn locate(t: &Table, c: &mut CText, at: &CVar) -> (CVar, CVar) {
    let (rest_bits, kind) = (t.bits - t.top, at.kind);
    let mask = |bits: u32| kind.number((1i128 << bits) - 1);
    let (row, place) = match t.flat {
        Some(split) => {
            let place = format!("({at} & {}) << {}", mask(rest_bits - split), split - t.drop);
            (c.set(U32, format!("{at} >> {}", rest_bits - split)), place)
        }
        None => {
            let cells = t.cells.iter().map(|cell| (cell.base as i64) << 8 | cell.split as i64).collect();
            let entry = c.look_up(cells, format!("(uint32_t)({at} >> {rest_bits})"));
            let cell = c.set(U32, entry);
            let rest = c.set(kind, format!("{at} & {}", mask(rest_bits)));
            let split = c.set(U32, format!("{cell} & 255u"));
            let row = c.set(U32, format!("({cell} >> 8) + (uint32_t)({rest} >> ({rest_bits}u - {split}))"));
            (row, format!("(({rest} << {split}) & {}) >> {}", mask(rest_bits), t.drop))
        }
    };
    if t.degree == 0 {
        return (row, CVar::new("0", kind));
    }
    let place = if t.flip { format!("{} - ({place})", mask(t.place_bits())) } else { place };
    let place = c.set(CType::unsigned(t.place_bits()), place);
    (row, place)
}

/// The factors of a float result besides h.
pub struct Result<'a> {
    pub format: Format,
    /// The range of h.
    pub span: Span,
    /// The weight of h's last place, as a power of two.
    pub quantum: Exponent,
    /// Whether the sign is changed.
    pub flip: Option<&'a CVar>,
    /// Whether the result is to be other than 0 where h is.
    pub live: Option<CVar>,
    pub flags: Flags,
}

/// h * 2^quantum as a float; see [`super::result::to_float`].
pub fn to_float(c: &mut CText, h: &CVar, r: Result) -> CVar {
    let Span { low, high } = r.span;
    let (bits, least) = floats::bits_of(Bounds::ints(low, high));
    let kind = CType { signed: false, ..h.kind };
    let negative = (low < 0).then(|| c.test(format!("{h} < 0")));
    let magnitude = match &negative {
        Some(n) => c.set(kind, format!("{n} ? 0 - ({kind}){h} : ({kind}){h}")),
        None => c.set(kind, h),
    };
    let flipped = match (negative, r.flip) {
        (Some(n), Some(f)) => Some(format!("({n} != {f})")),
        (Some(n), None) => Some(n.text),
        (None, f) => f.map(|f| f.text.clone()),
    };
    let sign = flipped.map(|f| c.set(CType::of(r.format), format!("{f} ? {} : 0", floats::sign_bit(r.format))));
    let zero = low <= 0 && high >= 0;
    let live = match (r.live, zero) {
        (Some(l), true) => Some(c.test(format!("{l} & {magnitude} != 0"))),
        (None, true) => Some(c.test(format!("{magnitude} != 0"))),
        (live, false) => live,
    };
    let offset = r.quantum.offset + r.format.bias() as i64;
    let value = Value { magnitude, bits, least, sticky: false, exp: r.quantum.text, offset, sign, live };
    floats::round(c, r.format, false, value, r.flags)
}

/// h as the pattern of a fixed that holds it.
pub fn pattern(c: &mut CText, format: Format, h: &CVar) -> CVar {
    let kind = CType::of(format);
    c.wrap(format, format!("({kind}){h}"))
}
