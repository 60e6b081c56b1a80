//! Lines of a fixed that are octaves of the distance from the nearer end of its interval, for functions that are steep there, such as
//! sqrt(1 - x^2) at 1.
//!
//! The distance is moved up to its leading one: the places that it is moved, with the end before them, are the line, and what follows the
//! leading one is the fraction.

use crate::circuit::{Circuit, Sig, X};
use crate::number::real::{Dd, exp2};
use crate::op::ctext::{CText, CType, CVar, I32};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::shift::bits_of;
use crate::op::pieces::normal::normalised;
use crate::op::pieces::parts;
use crate::op::table::poly::Line;
use crate::rtl::expr::Test;

#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The distance of the ends, and the greatest one from the lower end that counts.
    last: u64,
    half: u64,
    /// Bits of the distance from the nearer end.
    pub bits: u32,
}

impl Ends {
    /// For ends at a distance; `None` where that is short.
    pub fn new(last: u64) -> Option<Ends> {
        let half = last / 2;
        let bits = 64 - half.leading_zeros();
        (bits >= 2).then_some(Ends { last, half, bits })
    }

    /// Bits of a line's number without the end. A distance of 0 is the line `bits`.
    fn own(self) -> u32 {
        bits_of(self.bits)
    }

    /// The lines, for ends and fraction bits of the argument.
    pub fn lines(self, ends: (f64, f64), frac: u32) -> Vec<Option<Line>> {
        let all = (1u64 << (self.bits - 1)) - 1;
        let mut lines = Vec::new();
        for (end, sign) in [(ends.0, 1.0), (ends.1, -1.0)] {
            let most = if sign > 0.0 { self.half } else { self.last - self.half - 1 };
            let mut own: Vec<Option<Line>> = (0..self.bits)
                .map(|moved| {
                    let place = self.bits - 1 - moved;
                    let scale = sign * exp2(place as i32 - frac as i32);
                    let start = Dd::from(end) + Dd::from(scale);
                    let last = if most >> place > 1 { all } else { (most << moved) & all };
                    (most >> place > 0).then_some(Line { branch: 0, start, scale, first: 0, last })
                })
                .collect();
            own.push(Some(Line { branch: 0, start: Dd::from(end), scale: 0.0, first: 0, last: all }));
            own.resize(1 << self.own(), None);
            lines.append(&mut own);
        }
        lines
    }

    /// The line and the fraction at a distance from the lower end.
    #[inline]
    pub fn place(self, from: u64) -> (usize, u64) {
        let upper = from > self.half;
        let near = if upper { self.last - from } else { from };
        let end = (upper as usize) << self.own();
        if near == 0 {
            return (end | self.bits as usize, 0);
        }
        let moved = self.bits - 1 - near.ilog2();
        (end | moved as usize, near << moved & ((1 << (self.bits - 1)) - 1))
    }

    /// C: the line, and behind it the fraction.
    pub fn c_place(self, c: &mut CText, from: &CVar) -> CVar {
        let (kind, bits) = (from.kind, self.bits);
        let upper = c.test(format!("{from} > {}", kind.number(self.half as i128)));
        let near = c.set(kind, format!("{upper} ? {} - {from} : {from}", kind.number(self.last as i128)));
        let moved =
            c.set(I32, format!("{near} == 0 ? 0 : (int32_t)pf_clz{0}({near}) - {1}", kind.bits, kind.bits - bits));
        let line = c.set(I32, format!("({near} == 0 ? {bits} : {moved}) | ({upper} ? {} : 0)", 1 << self.own()));
        let fraction = c.set(kind, format!("({near} << {moved}) & {}", kind.number((1 << (bits - 1)) - 1)));
        let kind = CType::unsigned(bits - 1 + self.own() + 1);
        c.set(kind, format!("({kind}){line} << {} | ({kind}){fraction}", bits - 1))
    }

    /// The circuit: the line and the fraction.
    pub fn circuit(self, c: &mut Circuit, from: Sig) -> (Option<Sig>, Sig) {
        let (bits, own) = (self.bits, self.own());
        let half = X::constant(c.width(from), self.half as i128);
        let upper = c.logic("upper", c.x(from).compare(Test::Gt, false, &half));
        let low = field(c, "low", from, bits - 1, 0);
        let last = X::constant(bits, (self.last & ((1 << bits) - 1)) as i128);
        let other = c.logic("other", last - c.x(low));
        let near = c.logic("near", c.x(upper).mux(&c.x(other), &c.x(low)));
        let nothing = parts::counted(c, "nothing", c.x(near).none(), bits);
        let (value, digits) = normalised(c, near);
        let moved = c.cat(&digits);
        let moved = if moved.width() > own { moved.low(own) } else { moved.zext(own) };
        let at_end = X::constant(own, bits as i128);
        let moved = c.logic("octave", c.x(nothing).mux(&at_end, &moved));
        let line = c.logic("line", c.cat(&[upper, moved]));
        (Some(line), field(c, "fraction", value, bits - 2, 0))
    }
}
