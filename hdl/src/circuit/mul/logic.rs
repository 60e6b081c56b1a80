//! Products and squares in logic, for where no multiplier block is to be spent.
//!
//! A product takes two bits of the narrower factor at a time: 0, 1, 2 or 3 times the other one, where 3 times is made once.
//! A square is that of its two halves and twice their product; short squares are tables.

use super::{Partial, sum};
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::rtl::cat;

/// The widest square that is a table: its bits are functions of so few that each takes one or two lookup tables.
const TABLE_BITS: u32 = 5;

/// The lowest `width` bits of the product of two unsigned signals.
pub(super) fn product(c: &mut Circuit, name: &str, a: Sig, b: Sig, width: u32) -> Sig {
    let (product, cost) = if a == b { square(c, name, a, width) } else { general(c, name, a, b, width) };
    c.in_logic += cost;
    product
}

/// The product of two signals, and what it costs in lookup tables and carries.
fn general(c: &mut Circuit, name: &str, a: Sig, b: Sig, width: u32) -> (Sig, u32) {
    let (a, b) = if c.width(a) >= c.width(b) { (a, b) } else { (b, a) };
    let (wa, wb) = (c.width(a), c.width(b));
    let mut cost = 0;
    let (wide, narrow) = (c.x(a), c.x(b));
    let (one_of, two_of) = (wide.zext(wa + 2), wide.shl(1).zext(wa + 2));
    let thrice = (wb > 1).then(|| {
        cost += wa + 1;
        let sum = &one_of + &two_of;
        let thrice = c.logic_at(name, sum, Cost::Add(wa + 1), "the lowest bit is that of the factor");
        c.x(thrice)
    });
    let mut rows = Vec::new();
    for low in (0..wb.min(width)).step_by(2) {
        let one = narrow.bit(low);
        let sig = match &thrice {
            Some(thrice) if low + 1 < wb => {
                cost += 2 * (wa + 2).min(width - low);
                let odd = one.mux(thrice, &two_of);
                c.logic(name, narrow.bit(low + 1).mux(&odd, &(&one_of & one.repeat(wa + 2))))
            }
            _ => {
                cost += wa.min(width - low);
                c.logic(name, &wide & one.repeat(wa))
            }
        };
        cost += if low > 0 { (wa + 2).min(width - low) } else { 0 };
        rows.push(Partial { sig, offset: low });
    }
    (sum(c, name, rows, width), cost)
}

/// The square of an unsigned signal.
fn square(c: &mut Circuit, name: &str, a: Sig, width: u32) -> (Sig, u32) {
    let n = c.width(a);
    if n <= TABLE_BITS {
        let square = table(c, name, a);
        return (sum(c, name, vec![Partial { sig: square, offset: 0 }], width), 2 * n * n.div_ceil(4));
    }
    let half = n / 2;
    let part = |c: &mut Circuit, hi: u32, lo: u32| c.logic(name, c.x(a).slice(hi, lo));
    let (high, low) = (part(c, n - 1, half), part(c, half - 1, 0));
    let mut rows = Vec::new();
    let mut cost = 0;
    let mut row = |(sig, spent): (Sig, u32), offset: u32| {
        rows.push(Partial { sig, offset });
        cost += spent;
    };
    // What lies beyond the bits that are wanted is not made.
    let left = |most: u32, offset: u32| most.min(width - offset);
    row(square(c, name, low, left(2 * half, 0)), 0);
    if half + 1 < width {
        row(general(c, name, high, low, left(n, half + 1)), half + 1);
    }
    if 2 * half < width {
        row(square(c, name, high, left(2 * (n - half), 2 * half)), 2 * half);
    }
    (sum(c, name, rows, width), cost + width.saturating_sub(half + 1))
}

/// The square of a few bits, each bit of it as a polynomial over the argument's bits modulo 2.
fn table(c: &mut Circuit, name: &str, a: Sig) -> Sig {
    let width = c.width(a);
    let count = 1usize << width;
    let argument = c.x(a);
    let bit = |k: u32| {
        // The polynomial's coefficients are the sums of the values over the subsets of each monomial's bits.
        let mut terms: Vec<bool> = (0..count).map(|x| ((x * x) >> k) & 1 == 1).collect();
        for step in (0..width).map(|j| 1 << j) {
            (0..count).filter(|x| x & step != 0).for_each(|x| terms[x] ^= terms[x ^ step]);
        }
        let monomial = |x: usize| {
            let bits = (0..width).filter(|j| x >> j & 1 == 1).map(|j| argument.bit(j));
            bits.reduce(|a, b| a & b).expect("a monomial has a factor")
        };
        let sum = (1..count).filter(|x| terms[*x]).map(monomial).reduce(|a, b| a ^ b);
        sum.unwrap_or(X::flag(false))
    };
    let square = cat((0..2 * width).rev().map(bit));
    c.logic_at(name, square, Cost::Logic(width), "the upper bits depend on all of them")
}
