//! C text of a function by octaves; the steps are those of [`super::Prepared::eval`].

use super::Prepared;
use super::lines::{Below, PERIOD};
use crate::Flags;
use crate::op::Inst;
use crate::op::ctext::{CText, CType, CVar, I32, floats};
use crate::op::table::poly::c_text;

pub fn bits(p: &Prepared, inst: &Inst, c: &mut CText, x: &CVar, flags: Flags) -> CVar {
    let (format, l) = (p.format, &p.layout);
    let (m, nonneg) = (format.mant(), inst.is_nonneg(0));
    let field = floats::field(c, format, nonneg, x);
    let magnitude = floats::magnitude(inst, c, 0, x);
    let whole = CType::unsigned(m + 1);
    let fraction = c.set(whole, format!("{magnitude} & {}", x.kind.number((1 << m) - 1)));
    let (octave, mut fraction, shift) = octave(p, c, &field, &magnitude, fraction);
    let mut line = octave;
    if let Some(fold) = l.fold {
        let folded = c.test(format!("{field} >= {fold} & {magnitude} != 0"));
        let inside = format!("{magnitude} < {}", x.kind.number(l.one as i128));
        let rest = c.set(whole, format!("{inside} ? {} - {fraction} : 0", whole.number(1 << m)));
        let zeros = format!("(int32_t)pf_clz{0}({rest}) - {1}", whole.bits, whole.bits - m - 1);
        let zeros = c.set(I32, format!("{rest} == 0 ? {} : {zeros}", l.nothing(format)));
        let moved = format!("({rest} << {zeros}) & {}", whole.number((1 << m) - 1));
        let moved = c.set(whole, format!("{rest} == 0 ? 0 : {moved}"));
        fraction = c.set(whole, format!("{folded} ? {moved} : {fraction}"));
        line = c.set(I32, format!("{folded} ? {zeros} | {} : {line}", 1 << l.bits));
    }
    let negative = (!nonneg).then(|| c.test(format!("({x} >> {}) != 0", format.width() - 1)));
    let bits = l.bits + l.fold.is_some() as u32;
    if let (true, Some(negative)) = (l.signed, &negative) {
        line = c.set(I32, format!("{negative} ? {line} | {} : {line}", 1 << bits));
    }
    let kind = CType::unsigned(m + bits + 2);
    let at = c.set(kind, format!("({kind}){line} << {m} | ({kind}){fraction}"));
    let (h, mut quantum) = c_text::eval(&p.table, c, &at);
    if let Some(shift) = shift {
        quantum.text = format!("{} + {shift}", quantum.text);
    }
    let own = (l.below == Below::Own).then(|| c.test(format!("{field} < {}", l.first)));
    let invalid = flags.contains(Flags::INVALID).then(|| {
        let invalid = c.test(format!("{magnitude} > {}", x.kind.number(l.one as i128)));
        c.raise(Flags::INVALID, &invalid);
        invalid
    });
    let zero = (own.is_none() && l.vanishes && inst.bounds(0).zero).then(|| c.test(format!("{field} == 0")));
    let dead: Vec<String> = [&own, &invalid, &zero].into_iter().flatten().map(|s| format!("!{s}")).collect();
    let live = (!dead.is_empty()).then(|| c.test(dead.join(" & ")));
    let flip = if l.signed { None } else { negative };
    let (span, range) = (p.table.span(), Flags(flags.0 & !Flags::INVALID.0));
    let result = c_text::Result { format, span, quantum, flip: flip.as_ref(), live, flags: range };
    let value = c_text::to_float(c, &h, result);
    match own {
        Some(own) => c.set(x.kind, format!("{own} ? {x} : {value}")),
        None => value,
    }
}

/// The octave's number, the fraction, and what is added to the quantum, without the lines of 1 - |x|.
fn octave(p: &Prepared, c: &mut CText, field: &CVar, magnitude: &CVar, fraction: CVar) -> (CVar, CVar, Option<CVar>) {
    let (format, l) = (p.format, &p.layout);
    if let Below::Periodic { more, less } = l.below {
        let n = c.set(I32, format!("{field} + {more}"));
        let third = c.set(I32, format!("{n} / {PERIOD}"));
        let octave = c.set(I32, format!("{n} - {PERIOD} * {third}"));
        return (octave, fraction, Some(c.set(I32, format!("{third} - {less}"))));
    }
    let number = c.set(I32, format!("{field} - {} + {}", l.first, l.tiny()));
    let mut octave = c.set(I32, format!("{number} < 0 ? 0 : {number}"));
    let similar = l.below == Below::Similar && l.first > 1;
    let shift = similar.then(|| c.set(I32, format!("{number} < 0 ? {number} : 0")));
    if l.tops {
        let last = magnitude.kind.number(l.last as i128);
        octave = c.set(I32, format!("{magnitude} > {last} ? {} : {octave}", l.top(format)));
    } else if l.fold.is_some() {
        // Of what is folded it is no matter.
        let most = (1u32 << l.bits) - 1;
        octave = c.set(I32, format!("{octave} > {most} ? {most} : {octave}"));
    }
    (octave, fraction, shift)
}
