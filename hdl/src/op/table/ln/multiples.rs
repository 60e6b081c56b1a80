//! The multiples e log(2) of an argument's exponent.
//!
//! They stand in one table, or, of floats of more than 23 fraction bits, in two that are added: of the lowest [`LOW`] bits of the exponent
//! as a signed number, and of the rest. The second one has fewer places, since a logarithm whose exponent has a rest is at least 21.

use crate::circuit::{Circuit, Sig, X};
use crate::number::real::Dd;
use crate::op::ctext::{CText, CType, CVar, U32};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::parts;
use crate::op::table::poly::Span;

/// Bits of the exponent that the first of two tables is read by.
const LOW: u32 = 6;

/// So many places fewer are enough where the exponent has a rest: the last place of a logarithm from 16 on is 64 times that of one
/// from 1/4 on.
const FEWER: u32 = 5;

#[derive(Clone, Debug)]
pub struct Multiples {
    /// Whether the base is 2 and not e.
    binary: bool,
    /// The exponents.
    pub first: i32,
    pub last: i32,
    /// Fraction bits.
    pub frac: u32,
    /// In units of 2^-`frac`: of exponents from `first` on, or of those from -2^(LOW-1) on.
    near: Vec<i64>,
    /// In units 2^FEWER times as large: of the multiples of 2^LOW from `rest` on. Empty where there is one table.
    far: Vec<i64>,
    rest: i32,
}

impl Multiples {
    pub fn new(binary: bool, first: i32, last: i32, frac: u32, is_wide: bool) -> Multiples {
        let multiple = |e: i32, frac: u32| {
            let exact = if binary { Dd::from(e as f64) } else { Dd::LN_2 * e as f64 };
            exact.round_scaled(frac as i32).expect("a number of few bits") as i64
        };
        let half = 1 << (LOW - 1);
        let part = |e: i32| (e + half) >> LOW;
        if !is_wide || binary || last - first < 2 * half {
            let near = (first..=last).map(|e| multiple(e, frac)).collect();
            return Multiples { binary, first, last, frac, near, far: Vec::new(), rest: 0 };
        }
        let near = (-half..half).map(|e| multiple(e, frac)).collect();
        let far = (part(first)..=part(last)).map(|k| multiple(k << LOW, frac - FEWER)).collect();
        Multiples { binary, first, last, frac, near, far, rest: part(first) }
    }

    /// The most by which a multiple can be off its value, in units of the last place, rounded up.
    pub fn off(&self) -> i128 {
        if self.far.is_empty() { 1 } else { 1 << FEWER }
    }

    /// e log(2) in units of 2^-`frac`.
    #[inline]
    pub fn of(&self, e: i32) -> i128 {
        if self.far.is_empty() {
            return self.near[(e - self.first) as usize].into();
        }
        let moved = e + (1 << (LOW - 1));
        let far = self.far[((moved >> LOW) - self.rest) as usize];
        self.near[(moved & ((1 << LOW) - 1)) as usize] as i128 + ((far as i128) << FEWER)
    }

    /// The number that is added to an exponent less `first`, so that its lowest bits are the first table's index.
    fn added(&self) -> i32 {
        self.first + (1 << (LOW - 1)) - (self.rest << LOW)
    }

    /// C: the same, of the exponent less `first`.
    pub fn c_text(&self, c: &mut CText, kind: CType, index: &CVar) -> String {
        if self.far.is_empty() {
            let entry = c.look_up(self.near.clone(), index);
            return format!("({kind}){entry}");
        }
        let moved = c.set(U32, format!("{index} + {}", self.added()));
        let near = c.look_up(self.near.clone(), format!("{moved} & {}", (1 << LOW) - 1));
        let far = c.look_up(self.far.clone(), format!("{moved} >> {LOW}"));
        c.set(kind, format!("({kind}){near} + ({kind}){far} * {}", 1 << FEWER)).text
    }

    /// The circuit: the same, with a sign.
    pub fn circuit(&self, c: &mut Circuit, index: Sig) -> Sig {
        if self.binary {
            return self.doubled(c, index);
        }
        if self.far.is_empty() {
            return rom(c, "whole", &self.near, index);
        }
        let (added, last) = (self.added() as i128, (self.last - self.first) as i128);
        let bits = Span::of(added + last).bits();
        let index = resize(c, index, bits);
        let moved = c.logic("moved", c.x(index) + X::constant(bits, added));
        let low = field(c, "low", moved, LOW - 1, 0);
        let high = field(c, "high", moved, bits - 1, LOW);
        let (near, far) = (rom(c, "near", &self.near, low), rom(c, "far", &self.far, high));
        let width = (c.width(far) + FEWER).max(c.width(near)) + 1;
        // The near one's lowest places stay as they are.
        let far = parts::extend(c, "far", far, width - FEWER, true);
        let near = parts::extend(c, "near", near, width, true);
        let rest = field(c, "rest", near, FEWER - 1, 0);
        let top = field(c, "top", near, width - 1, FEWER);
        let top = c.logic("whole", c.x(top) + c.x(far));
        c.logic("whole", c.cat(&[top, rest]))
    }

    /// Twice the exponent of an index.
    fn doubled(&self, c: &mut Circuit, index: Sig) -> Sig {
        let ends = [self.first, self.last].map(|e| Span::of(2 * e));
        let width = ends[0].or(ends[1]).or(Span::of(-1)).bits().max(2);
        let wide = resize(c, index, width - 1);
        let exponent = c.logic("exponent", c.x(wide) + X::constant(width - 1, self.first as i128));
        c.logic("whole", c.x(exponent).shl(1))
    }
}

/// Words with a sign, even where none is negative.
fn rom(c: &mut Circuit, name: &str, words: &[i64], index: Sig) -> Sig {
    let width = words.iter().fold(Span::of(-1), |s, m| s.or(Span::of(*m))).bits().max(2);
    let mask = u64::MAX >> (64 - width);
    let count = 1usize << c.width(index);
    let data = (0..count).map(|k| words.get(k).map_or(0, |m| *m as u64 & mask)).collect();
    c.rom(name, width, index, data)
}

fn resize(c: &mut Circuit, s: Sig, width: u32) -> Sig {
    if c.width(s) > width { field(c, "low", s, width - 1, 0) } else { parts::extend(c, "wide", s, width, false) }
}
