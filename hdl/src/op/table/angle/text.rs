//! C text of the angle of a point; the steps are those of [`super::Prepared::eval`].

use super::Prepared;
use crate::Flags;
use crate::op::Inst;
use crate::op::ctext::{CText, CType, CVar, I32, floats};
use crate::op::pieces::float_parts::shift::bits_of;
use crate::op::table::poly::c_text;

pub fn bits(p: &Prepared, inst: &Inst, c: &mut CText, args: &[CVar], flags: Flags) -> CVar {
    let (format, m, places) = (p.format, p.format.mant(), p.places);
    let kind = args[0].kind;
    let (a, b) = (floats::magnitude(inst, c, 0, &args[0]), floats::magnitude(inst, c, 1, &args[1]));
    let exchanged = c.test(format!("{a} > {b}"));
    let low = c.set(kind, format!("{exchanged} ? {b} : {a}"));
    let high = c.set(kind, format!("{exchanged} ? {a} : {b}"));
    let nothing = c.test(format!("({low} >> {m}) == 0"));
    let (dividend, divisor) = (floats::significand(c, format, &low), floats::significand(c, format, &high));
    let wide = CType::unsigned(m + places + 2);
    let q = c.set(wide, format!("(({wide}){dividend} << {}) / {divisor}", places + 1));
    let whole = c.set(I32, format!("{q} >> {}", places + 1));
    let fraction = c.set(wide, format!("({q} >> {whole}) & {}", wide.number((1 << places) - 1)));
    let octave = c.set(I32, format!("(int32_t)({high} >> {m}) - (int32_t)({low} >> {m}) + 1 - {whole}"));
    let octave = c.set(I32, format!("{nothing} ? {} : {octave}", p.last));
    let fraction = c.set(wide, format!("{nothing} ? 0 : {fraction}"));
    let mut function = format!("({exchanged} ? 2 : 0)");
    if !inst.is_nonneg(1) {
        function = format!("({function} | (({} >> {}) != 0 ? 1 : 0))", args[1], format.width() - 1);
    }
    let function = c.set(I32, function);
    let line = format!("{function} << {} | ({octave} > {1} ? {1} : {octave})", bits_of(p.last), p.last);
    let line = c.set(I32, line);
    let at = CType::unsigned(places + bits_of(p.last) + 3);
    let at = c.set(at, format!("({at}){line} << {places} | ({at}){fraction}"));
    let (h, mut quantum) = c_text::eval(&p.table, c, &at);
    let shift = c.set(I32, format!("{function} == 0 & {octave} > {0} ? {0} - {octave} : 0", p.last));
    quantum.text = format!("{} + {shift}", quantum.text);
    let live = inst.bounds(0).zero.then(|| c.test(format!("!({nothing} & {function} == 0)")));
    let flip = (!inst.is_nonneg(0)).then(|| c.test(format!("({} >> {}) != 0", args[0], format.width() - 1)));
    let span = p.table.span();
    c_text::to_float(c, &h, c_text::Result { format, span, quantum, flip: flip.as_ref(), live, flags })
}
