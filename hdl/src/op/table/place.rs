//! `place`: the number of an element at an index, or at a row and a column, of an output that is reduced there (RULES L17).
//!
//! An index outside raises `invalid`. The result's highest bit says that it is inside, the others are the number; outside all of
//! them are 0. The attributes `n` and `d` are the rows and the columns; no columns mean a vector.

use super::lookup::{MOST_ENTRIES, address, address_bits, c_inside, c_located, c_place, inside, outside, place};
use crate::circuit::{Circuit, Sig, X};
use crate::op::ctext::{CText, CType, CVar};
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Bounds, Flags, Format};

pub struct Place;

/// The lengths of an output of so many elements, or rows and columns.
fn limits(attrs: &Attrs) -> Vec<u32> {
    let columns = (attrs.d > 0).then_some(attrs.d as u32);
    [Some(attrs.n as u32), columns].into_iter().flatten().collect()
}

fn count(attrs: &Attrs) -> u32 {
    limits(attrs).iter().product()
}

/// The bit that says that an index is inside.
pub fn mark(attrs: &Attrs) -> u64 {
    1 << address_bits(count(attrs))
}

impl Operator for Place {
    fn name(&self) -> &'static str {
        "place"
    }

    fn summary(&self) -> &'static str {
        "the element of an output at an index; none with `invalid` outside"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        let fits = (1..=MOST_ENTRIES as i32).contains(&attrs.n) && (0..=1024).contains(&attrs.d);
        if !fits || count(attrs) > MOST_ENTRIES {
            return Err("`place` needs the lengths of an output".into());
        }
        if args.len() != limits(attrs).len() || !args.iter().all(|f| f.is_int()) {
            return Err("`place` takes an int or uint for each index".into());
        }
        Format::int(1 + address_bits(count(attrs)), false)
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let limits = limits(&inst.attrs);
        let out = |(k, limit): (usize, &u32)| {
            let (below, above) = outside(inst, k, *limit);
            below || above
        };
        Flags::INVALID.when(limits.iter().enumerate().any(out))
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let mark = mark(&inst.attrs) as i128;
        let least = if self.flags(inst).is_empty() { mark } else { 0 };
        Bounds::ints(least, mark + count(&inst.attrs) as i128 - 1)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        match place(&limits(&inst.attrs), &inst.args, args) {
            Some(place) => (mark(&inst.attrs) | place as u64, Flags::NONE),
            None => (0, Flags::INVALID),
        }
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let limits = limits(&inst.attrs);
        let inside = c_inside(&limits, inst, args);
        let place = c_place(limits.get(1).copied(), args);
        format!("({inside} ? (uint64_t)({place}) | {:#x}u : 0)", mark(&inst.attrs))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let limits = limits(&inst.attrs);
        let (inside, place) = c_located(&limits, inst, c, args);
        let kind = CType::of(inst.result);
        let mark = mark(&inst.attrs);
        match inside {
            None => c.set(kind, format!("({place}) | {mark:#x}u")),
            Some(inside) => {
                c.raise(Flags::INVALID, format!("!{inside}"));
                c.set(kind, format!("{inside} ? ({place}) | {mark:#x}u : 0u"))
            }
        }
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let limits = limits(&inst.attrs);
        let inside = inside(inst, &limits, c, args);
        let (rows, columns) = (limits[0], limits.get(1).copied());
        let address = address((rows, columns), c, args);
        let Some(inside) = inside else {
            let one = X::flag(true);
            let q = cat([one, c.x(address)]);
            return (c.logic("place", q), None);
        };
        let bits = c.width(address);
        let own = c.x(address) & c.x(inside).repeat(bits);
        let q = c.logic("place", cat([c.x(inside), own]));
        let invalid = c.logic("invalid", !c.x(inside));
        (q, Some(invalid))
    }
}
