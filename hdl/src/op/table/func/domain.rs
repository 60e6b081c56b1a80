//! The arguments of a function: the ends of its interval in the format, and the lines that cover it.

use super::ends::Ends;
use crate::number::exact::{Exact, to_bits};
use crate::number::real::{Dd, Interval, Smooth, exp2};
use crate::op::Inst;
use crate::op::ctext::{CText, CVar, ints};
use crate::op::table::poly::{Goal, Line};
use crate::{Flags, Format};

/// An interval in a format.
#[derive(Clone, Debug)]
pub struct Domain {
    pub format: Format,
    /// Patterns of the ends, nearest to what was written.
    pub lo: u64,
    pub hi: u64,
    /// The ends as numbers.
    pub ends: (f64, f64),
}

/// Where the lines are.
#[derive(Clone, Debug)]
pub struct Lines {
    /// `None`: no argument.
    pub lines: Vec<Option<Line>>,
    /// Bits of the fraction.
    pub bits: u32,
    /// Of a float: the exponent field of the first octave that has a line of its own.
    pub field: u32,
    /// Whether there is a line for 0 and all smaller octaves, the first of its sign.
    pub tiny: bool,
    /// The bit of the line's number that is the sign, where both signs occur.
    pub sign: Option<u32>,
    /// Of a fixed whose lines are octaves of the distance from its ends.
    pub ends: Option<Ends>,
}

/// A number that orders patterns as their values are ordered.
fn key(format: Format, bits: u64) -> i128 {
    if !format.is_float() {
        return format.to_int(bits);
    }
    let magnitude = (bits & (format.mask() >> 1)) as i128;
    if bits >> (format.width() - 1) & 1 == 1 { -magnitude } else { magnitude }
}

impl Domain {
    /// `None` where the ends do not fit the format, or are not in order there.
    pub fn new(format: Format, lo: &Exact, hi: &Exact) -> Option<Domain> {
        let (lo, hi) = (to_bits(format, lo).ok()?.0, to_bits(format, hi).ok()?.0);
        let ends = (format.to_f64(lo), format.to_f64(hi));
        (key(format, lo) < key(format, hi)).then_some(Domain { format, lo, hi, ends })
    }

    /// The argument brought into the interval, and whether it was outside.
    #[inline]
    pub fn clamp(&self, x: u64) -> (u64, bool) {
        let k = key(self.format, x);
        if k < key(self.format, self.lo) {
            (self.lo, true)
        } else if k > key(self.format, self.hi) {
            (self.hi, true)
        } else {
            (x, false)
        }
    }

    /// C: the argument brought into the interval; raises `invalid` where it was outside.
    pub fn c_clamped(&self, inst: &Inst, c: &mut CText, x: &CVar) -> CVar {
        let (below, above) = self.outside(inst);
        if !below && !above {
            return x.clone();
        }
        let (kind, k) = (x.kind, ints::order_key(c, self.format, x));
        let end = |bits: u64| k.kind.number(key(self.format, bits));
        let mut inside = x.clone();
        for (can, test, bits) in [(below, '<', self.lo), (above, '>', self.hi)] {
            if can {
                let outside = c.test(format!("{k} {test} {}", end(bits)));
                c.raise(Flags::INVALID, &outside);
                inside = c.set(kind, format!("{outside} ? {} : {inside}", kind.number(bits as i128)));
            }
        }
        inside
    }

    /// Whether an argument of a use can lie below, and above.
    pub fn outside(&self, inst: &Inst) -> (bool, bool) {
        let b = inst.bounds(0);
        let (lo, hi) = (key(self.format, self.lo), key(self.format, self.hi));
        if !self.format.is_float() {
            return (b.low < lo, b.high > hi);
        }
        // The bounds of a float are those of its magnitude.
        let negative = !inst.is_nonneg(0);
        let least = if negative {
            -b.high
        } else if b.zero {
            0
        } else {
            b.low
        };
        let greatest = b.high;
        (least < lo, greatest > hi)
    }

    /// The octaves of a float on either side of 0, or all of a fixed as one line. `None` where the function has no value
    /// at 0 although 0 is inside.
    pub fn lines(&self, f: &dyn Smooth, goal: Goal) -> Option<Lines> {
        if !self.format.is_float() {
            return Some(self.fixed_line());
        }
        let (format, mant) = (self.format, self.format.mant());
        let magnitudes = [self.magnitudes(false), self.magnitudes(true)];
        let tiny = key(format, self.lo) <= 0 && key(format, self.hi) >= 0;
        let field_of = |m: u64| (m >> mant) as u32;
        let most = magnitudes.iter().flatten().map(|m| field_of(m.1)).max().expect("an interval has a number");
        let field = if tiny {
            self.first_field(f, goal, most)?
        } else {
            magnitudes.iter().flatten().map(|m| field_of(m.0)).min().expect("an interval has a number")
        };
        let count = tiny as u32 + (most + 1).saturating_sub(field);
        let both = magnitudes.iter().all(Option::is_some);
        let sign = both.then(|| 32 - (count - 1).leading_zeros());
        let mut lines = Vec::new();
        for (k, magnitudes) in magnitudes.iter().enumerate() {
            let Some((least, greatest)) = magnitudes else { continue };
            if both {
                lines.resize(k << sign.expect("given for both signs"), None);
            }
            if tiny {
                lines.push(Some(Line { branch: 0, start: Dd::ZERO, scale: 0.0, first: 0, last: (1 << mant) - 1 }));
            }
            for octave in field..=most {
                let scale = exp2(octave as i32 - format.bias()) * if k == 1 { -1.0 } else { 1.0 };
                let (all, fraction) = ((1u64 << mant) - 1, |m: u64| m & ((1 << mant) - 1));
                let (a, b) = (field_of(*least), field_of(*greatest));
                let first = if octave == a { fraction(*least) } else { 0 };
                let last = if octave == b { fraction(*greatest) } else { all };
                let inside = (a..=b).contains(&octave);
                lines.push(inside.then_some(Line { branch: 0, start: Dd::from(scale), scale, first, last }));
            }
        }
        Some(Lines { lines, bits: mant, field, tiny, sign, ends: None })
    }

    fn fixed_line(&self) -> Lines {
        let (lo, hi) = (key(self.format, self.lo), key(self.format, self.hi));
        let last = (hi - lo) as u64;
        let bits = 64 - last.leading_zeros();
        let scale = exp2(bits as i32 - self.format.frac().expect("a fixed") as i32);
        let line = Line { branch: 0, start: Dd::from(self.ends.0), scale, first: 0, last };
        Lines { lines: vec![Some(line)], bits, field: 0, tiny: false, sign: None, ends: None }
    }

    /// Whether the shortest pieces may be short because they lie at an end.
    pub fn is_near_end(&self, at: f64) -> bool {
        let (lo, hi) = self.ends;
        (at - lo).min(hi - at) <= (hi - lo) / 128.0
    }

    /// The octaves of the distance of a fixed from the nearer end. `None` of an interval of few numbers.
    pub fn octaves_of_ends(&self) -> Option<Lines> {
        let (lo, hi) = (key(self.format, self.lo), key(self.format, self.hi));
        let ends = Ends::new((hi - lo) as u64)?;
        let frac = self.format.frac().expect("a fixed");
        Some(Lines {
            lines: ends.lines(self.ends, frac),
            bits: ends.bits - 1,
            field: 0,
            tiny: false,
            sign: None,
            ends: Some(ends),
        })
    }

    /// The least and the greatest magnitude of the arguments of one sign, 0 among the positive ones; `None` if none is.
    fn magnitudes(&self, negative: bool) -> Option<(u64, u64)> {
        let (lo, hi) = (key(self.format, self.lo), key(self.format, self.hi));
        let (low, high) = if negative { (-hi, -lo) } else { (lo, hi) };
        (high > 0 || high == 0 && !negative).then(|| (low.max(0) as u64, high as u64))
    }

    /// The exponent field of the first octave that needs a line: below it the function is its value at 0 to an eighth
    /// of a place.
    fn first_field(&self, f: &dyn Smooth, goal: Goal, most: u32) -> Option<u32> {
        let Goal::Float { mant, lowest, .. } = goal else { unreachable!("the result of a float is a float") };
        let zero = f.value(Dd::ZERO)?.value.hi;
        let octave =
            if zero == 0.0 { lowest } else { crate::number::real::log2(zero.abs() * (1.0 - exp2(-(mant as i32)))) };
        let eighth = exp2(octave.max(lowest) - mant as i32 - 3);
        let constant = |field: u32| {
            let reach = exp2(field as i32 - self.format.bias());
            let x = Interval::new(self.ends.0.max(-reach), self.ends.1.min(reach));
            let slope = f.coefficients(x, 1)[1].most() * reach;
            let range = f.range(x);
            slope <= eighth || (range.hi - zero).max(zero - range.lo) <= eighth
        };
        Some((1..=most).take_while(|k| constant(*k)).last().unwrap_or(1))
    }
}
