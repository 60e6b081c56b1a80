//! Products: cut to the width of the target's multiplier blocks, or in logic.

mod constant;
mod logic;

use super::target::Cost;
use super::{Circuit, NodeKind, Sig, X};
use crate::rtl::cat;

impl Circuit {
    /// Whether a signal is the result of a multiplier or a memory, with nothing but wires behind it.
    pub fn from_block(&self, sig: Sig) -> bool {
        let kind = &self.signals[sig.index()].kind;
        match kind {
            NodeKind::Expr { cost: Cost::Wire, held: false, .. } => kind.args().iter().any(|a| self.from_block(*a)),
            NodeKind::Mul { .. } => true,
            _ => kind.is_memory(),
        }
    }

    /// The lowest `width` bits of the product of a signal, with its sign where `a.1` says that it has one, with a constant; `None`
    /// where blocks are better.
    pub fn times(&mut self, name: &str, a: (Sig, bool), constant: i128, width: u32) -> Option<Sig> {
        constant::times(self, name, a, constant, width)
    }
}

/// A summand of a product: `sig` times 2^`offset`, unsigned.
#[derive(Clone, Copy)]
struct Partial {
    sig: Sig,
    offset: u32,
}

/// The full product, width(a) + width(b) bits.
pub(super) fn product(c: &mut Circuit, name: &str, a: Sig, b: Sig, signed: bool) -> Sig {
    let (wa, wb, most) = (c.width(a), c.width(b), c.clock().target.mul_width());
    if c.clock().blocks != Some(0) && wa.max(wb) <= most {
        return c.block(name, a, b, signed);
    }
    let low = modulo(c, name, a, b, wa + wb);
    if !signed {
        return low;
    }
    // With ua, ub the patterns read as unsigned: a b = ua ub - [a < 0] ub 2^wa - [b < 0] ua 2^wb modulo 2^(wa + wb).
    let gated =
        |c: &mut Circuit, x: Sig, wx: u32, s: Sig, ws: u32| c.logic(name, c.x(s).bit(ws - 1).repeat(wx) & c.x(x));
    let xa = gated(c, b, wb, a, wa);
    let xb = gated(c, a, wa, b, wb);
    let subtract = |c: &mut Circuit, p: Sig, x: Sig, wx: u32, offset: u32| {
        let (p, x) = (c.x(p), c.x(x));
        let high = p.slice(wa + wb - 1, offset);
        assert_eq!(high.width(), wx);
        c.logic(name, cat([high - x, p.low(offset)]))
    };
    let p = subtract(c, low, xa, wb, wa);
    subtract(c, p, xb, wa, wb)
}

/// The lowest `width` bits of the unsigned product, of which it may have more.
pub(super) fn modulo(c: &mut Circuit, name: &str, a: Sig, b: Sig, width: u32) -> Sig {
    if c.clock().blocks == Some(0) {
        return logic::product(c, name, a, b, width);
    }
    let most = c.clock().target.mul_width();
    let (pa, pb) = (pieces(c, name, a, most), pieces(c, name, b, most));
    let mut terms = Vec::new();
    for x in &pa {
        for y in pb.iter().filter(|y| x.offset + y.offset < width) {
            let sig = c.block(name, x.sig, y.sig, false);
            terms.push(Partial { sig, offset: x.offset + y.offset });
        }
    }
    sum(c, name, terms, width)
}

/// The lowest `width` bits of a sum.
fn sum(c: &mut Circuit, name: &str, mut terms: Vec<Partial>, width: u32) -> Sig {
    for t in &mut terms {
        if t.offset + c.width(t.sig) > width {
            let left = width - t.offset;
            t.sig = c.logic(name, c.x(t.sig).low(left));
        }
    }
    // Summands that do not overlap join without an adder; a tree of adders, narrow ones first, takes the rest.
    terms.sort_by_key(|t| t.offset);
    let mut rows: Vec<Partial> = Vec::new();
    for t in terms {
        match rows.iter_mut().find(|r| r.offset + c.width(r.sig) <= t.offset) {
            Some(row) => *row = add(c, name, *row, t, width),
            None => rows.push(t),
        }
    }
    while rows.len() > 1 {
        rows.sort_by_key(|t| (c.width(t.sig), t.offset));
        rows = rows.chunks(2).map(|p| if let [x, y] = p { add(c, name, *x, *y, width) } else { p[0] }).collect();
    }
    let (sum, offset) = (rows[0].sig, rows[0].offset);
    if offset == 0 && c.width(sum) == width { sum } else { c.logic(name, c.x(sum).shl(offset).zext(width)) }
}

/// The pieces of a signal, lowest first.
fn pieces(c: &mut Circuit, name: &str, s: Sig, most: u32) -> Vec<Partial> {
    let width = c.width(s);
    if width <= most {
        return vec![Partial { sig: s, offset: 0 }];
    }
    // Pieces of nearly equal widths, so that no block is wasted on a bit or two.
    let step = width.div_ceil(width.div_ceil(most));
    (0..width.div_ceil(step))
        .map(|k| {
            let (low, high) = (k * step, (k * step + step).min(width) - 1);
            Partial { sig: c.logic(name, c.x(s).slice(high, low)), offset: low }
        })
        .collect()
}

/// The sum of two terms, never wider than the product needs.
fn add(c: &mut Circuit, name: &str, x: Partial, y: Partial, width: u32) -> Partial {
    let (x, y) = if x.offset <= y.offset { (x, y) } else { (y, x) };
    let (wx, wy, shift) = (c.width(x.sig), c.width(y.sig), y.offset - x.offset);
    if shift >= wx {
        return Partial { sig: c.logic(name, cat([c.x(y.sig), c.x(x.sig).zext(shift)])), offset: x.offset };
    }
    // The sum's high part, one bit wider for the carry unless the product ends there.
    let high = ((wx - shift).max(wy) + 1).min(width - y.offset);
    let fit = |x: X| if high > x.width() { x.zext(high) } else { x.low(high) };
    let low = c.x(x.sig).low(shift);
    let sum = c.logic(name, fit(c.x(x.sig).bits(shift, wx - shift)) + fit(c.x(y.sig)));
    if shift == 0 {
        return Partial { sig: sum, offset: x.offset };
    }
    Partial { sig: c.logic(name, cat([c.x(sum), low])), offset: x.offset }
}
