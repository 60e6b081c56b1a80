//! C text of a power by its table.

use super::Prepared;
use crate::Flags;
use crate::op::Inst;
use crate::op::ctext::{CText, CVar, I32, U32, floats};
use crate::op::table::poly::c_text::eval;

/// The power of a float; the steps are those of [`Prepared`].
pub fn power(p: &Prepared, inst: &Inst, c: &mut CText, x: &CVar, flags: Flags) -> CVar {
    let (format, m) = (p.format, p.format.mant());
    let field = floats::field(c, format, inst.is_nonneg(0), x);
    // For roots the lowest bit of the exponent, in front of the fraction, is the line.
    let at = c.set(U32, format!("{x} & {}", x.kind.number((1 << (m + p.d as u32 - 1)) - 1)));
    let bias = format.bias();
    let (q, middle) = if p.d == 2 { (format!("(({field} + 1) >> 1)"), (bias + 1) / 2) } else { (field.text, bias) };
    let magnitude = magnitude(p, c, &at);
    let constant = (bias - p.n * middle) as i64 + magnitude.offset;
    let kind = floats::packed_type(format, flags);
    let packed =
        c.set(kind, format!("({kind})({} * {q} + {constant}) * {} + ({kind}){}", p.n, 1u64 << m, magnitude.packed));
    let mut live = floats::none_zero(inst, c, std::slice::from_ref(x), &[0]);
    if flags.contains(Flags::INVALID) {
        let positive = c.test(format!("({x} >> {}) == 0", format.width() - 1));
        c.raise(Flags::INVALID, format!("!{positive}"));
        live = Some(live.map_or(positive.clone(), |l| c.test(format!("{l} & {positive}"))));
    }
    let sign = if p.n & 1 == 1 && p.d == 1 { floats::sign(inst, c, 0, x) } else { None };
    floats::bound(c, format, &packed, sign, live, Flags(flags.0 & !Flags::INVALID.0))
}

/// The power of a significand: its fraction, with its exponent in front, which is less by `offset`.
struct Magnitude {
    packed: CVar,
    offset: i64,
}

fn magnitude(p: &Prepared, c: &mut CText, at: &CVar) -> Magnitude {
    let (m, t) = (p.format.mant(), &p.table);
    let mask = (1i64 << m) - 1;
    if t.degree == 0 {
        // All of it is in the table.
        let (least, _) = p.octaves();
        let entry = |(h, q): (&i64, &i32)| {
            let carry = h >> (m + p.guard + 1);
            let octave = (p.octave_of(*q) - least) as i64 + carry;
            octave << m | h >> (p.guard as i64 + carry) & mask
        };
        let column = t.columns[0].iter().zip(&t.quantum).map(entry).collect();
        let split = t.flat.expect("the cells of a power are all alike");
        let index = c.set(U32, format!("{at} >> {}", t.bits - t.top - split));
        let found = c.look_up(column, index);
        return Magnitude { packed: c.set(I32, found), offset: least as i64 };
    }
    let (h, quantum) = eval(t, c, at);
    let top = m + p.guard;
    let (fraction, carry) = match t.span().high >> (top + 1) {
        0 => (c.set(I32, format!("({h} >> {}) & {mask:#x}", p.guard)), "0".into()),
        _ => {
            let carry = c.set(I32, format!("{h} >> {}", top + 1));
            (c.set(I32, format!("({h} >> ({} + {carry})) & {mask:#x}", p.guard)), carry.text)
        }
    };
    let packed = c.set(I32, format!("({} + {carry}) * {} + {fraction}", quantum.text, 1u64 << m));
    Magnitude { packed, offset: quantum.offset + top as i64 }
}
