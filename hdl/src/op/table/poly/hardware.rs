//! The circuit of a table: cells, rows, and Horner's rule.

use super::Table;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::op::pieces::float_parts::logic::{field, one_of_four};
use crate::op::table::ROM_WIDTH;

/// The result of a table lookup: h in the bits of [`Table::span`], and the row's quantum less the least one where they differ.
pub struct Looked {
    pub h: Sig,
    pub offset: Option<Sig>,
}

/// A column of numbers, to be stored.
struct Column {
    name: String,
    bits: u32,
    values: Vec<u64>,
}

/// The value at a line (`None` where there is but one) and a fraction.
pub fn circuit(t: &Table, c: &mut Circuit, line: Option<Sig>, fraction: Sig) -> Looked {
    let (row, place) = address(t, c, line, fraction);
    let Row { columns, offset } = columns(t, c, "coefficients", row);
    Looked { h: horner(t, c, &columns, place), offset }
}

/// The columns of a row as stored, column 0 first, and its quantum less the least one where they differ.
pub struct Row {
    pub columns: Vec<Sig>,
    pub offset: Option<Sig>,
}

/// Reads a row (`None`: there is but one) from memories of that name.
pub fn columns(t: &Table, c: &mut Circuit, name: &str, row: Option<Sig>) -> Row {
    let widths = t.widths();
    let column = |k: usize| Column { name: format!("c{k}"), bits: widths[k], values: t.stored(k, widths[k]) };
    let mut fields: Vec<Column> = (0..=t.degree).rev().map(column).collect();
    let (least, _) = t.quanta();
    let bits = widths[t.degree + 1];
    if bits > 0 {
        let values = t.quantum.iter().map(|q| (q - least) as u64).collect();
        fields.push(Column { name: "octave".into(), bits, values });
    }
    let mut columns = memories(c, name, row, &fields);
    let offset = (bits > 0).then(|| columns.pop().expect("it is the last"));
    columns.reverse();
    Row { columns, offset }
}

/// The row's address (`None`: there is but one row) and the place within the piece (`None`: it is always 0).
fn address(t: &Table, c: &mut Circuit, line: Option<Sig>, fraction: Sig) -> (Option<Sig>, Option<Sig>) {
    let place =
        |c: &mut Circuit, from: Sig| (t.place_bits() > 0).then(|| field(c, "place", from, t.place_bits() - 1, 0));
    let with_line = |c: &mut Circuit, bits: u32, name: &str| -> Option<Sig> {
        let mut args: Vec<Sig> = line.into_iter().collect();
        if bits > 0 {
            args.push(field(c, "high", fraction, t.bits - 1, t.bits - bits));
        }
        (!args.is_empty()).then(|| c.logic(name, c.cat(&args)))
    };
    if let Some(split) = t.flat {
        let row = with_line(c, t.top + split, "row");
        return (row, place(c, fraction));
    }
    let cell = with_line(c, t.top, "cell").expect("a single cell is flat");
    let deepest = t.cells.iter().map(|k| k.split).max().expect("a table has a cell");
    let bits = |n: u32| 32 - n.leading_zeros();
    let (base_bits, split_bits) = (bits(t.rows.len() as u32 - 1), bits(deepest));
    let data = t.cells.iter().map(|k| (k.base as u64) << split_bits | k.split as u64).collect();
    let entry = c.rom("entry", base_bits + split_bits, cell, data);
    let base = field(c, "base", entry, base_bits + split_bits - 1, split_bits);
    let split = field(c, "split", entry, split_bits - 1, 0);
    let rest_bits = t.bits - t.top;
    let rest = field(c, "rest", fraction, rest_bits - 1, 0);
    let wide = c.logic("wide", c.x(rest).zext(rest_bits + deepest));
    let moved = shift_left(c, wide, split, deepest);
    let high = field(c, "piece", moved, rest_bits + deepest - 1, rest_bits);
    let row = c.logic("row", c.x(base) | c.x(high).zext(base_bits));
    let place = (t.place_bits() > 0).then(|| field(c, "place", moved, rest_bits - 1, t.drop));
    (Some(row), place)
}

/// `x << amount`, two bits of the amount a piece; amounts above `most` do not occur.
fn shift_left(c: &mut Circuit, x: Sig, amount: Sig, most: u32) -> Sig {
    let (width, n) = (c.width(x), c.width(amount));
    let mut value = x;
    for low in (0..n).step_by(2) {
        let digit = field(c, "digit", amount, n.min(low + 2) - 1, low);
        let (bits, digit) = (c.x(value), c.x(digit));
        let way = |k: u32| {
            let places = k << low;
            if places > most { X::zeros(width) } else { bits.low(width.saturating_sub(places)).shl(places.min(width)) }
        };
        value = if digit.width() == 1 {
            c.logic("moved", digit.mux(&way(1), &way(0)))
        } else {
            let moved = one_of_four(&digit.bit(1), &digit.bit(0), [0, 1, 2, 3].map(way));
            c.logic_at("moved", moved, Cost::Mux(4), "two tables a bit, however many inputs one has")
        };
    }
    value
}

/// The columns of a row, from memories that hold as many of them as fit a word.
fn memories(c: &mut Circuit, name: &str, row: Option<Sig>, columns: &[Column]) -> Vec<Sig> {
    let Some(row) = row else {
        return columns.iter().map(|f| c.logic(&f.name, X::constant(f.bits, f.values[0] as i128))).collect();
    };
    let mut signals = Vec::new();
    let mut rest = columns;
    while !rest.is_empty() {
        let mut used = 0;
        let count = rest.iter().take_while(|f| {
            used += f.bits;
            used <= ROM_WIDTH
        });
        let (now, later) = rest.split_at(count.count().max(1));
        let width: u32 = now.iter().map(|f| f.bits).sum();
        let word =
            |k: usize| now.iter().rev().fold(0u64, |word, f| word.checked_shl(f.bits).unwrap_or(0) | f.values[k]);
        let rom = c.rom(name, width, row, (0..now[0].values.len()).map(word).collect());
        let mut low = 0;
        for f in now {
            signals.push(field(c, &f.name, rom, low + f.bits - 1, low));
            low += f.bits;
        }
        rest = later;
    }
    signals
}

/// A number as exactly `width` bits; what is cut off are copies of the sign, or zeros.
fn resized(c: &Circuit, s: Sig, width: u32, signed: bool) -> X {
    let x = c.x(s);
    if x.width() > width { x.low(width) } else { x.extend(width, signed) }
}

/// c0 + v (c1 + v (c2 + ...)).
fn horner(t: &Table, c: &mut Circuit, columns: &[Sig], place: Option<Sig>) -> Sig {
    let width = t.steps[0].bits();
    match place.filter(|_| t.degree > 0) {
        Some(place) => {
            let cut = last_product(t, c, columns, place, width);
            sum(t, c, 0, columns[0], cut)
        }
        None if c.width(columns[0]) == width => columns[0],
        None => {
            let constant = resized(c, columns[0], width, t.is_signed(0));
            c.logic("value", constant)
        }
    }
}

/// Horner's rule down to the product that is added to column 0, of which at most `width` bits are wanted.
pub fn last_product(t: &Table, c: &mut Circuit, columns: &[Sig], place: Sig, width: u32) -> Sig {
    let mut so_far = columns[t.degree];
    for k in (1..t.degree).rev() {
        let cut = cut_product(c, t, k, so_far, place, t.steps[k].bits());
        so_far = sum(t, c, k, columns[k], cut);
    }
    cut_product(c, t, 0, so_far, place, width)
}

/// The product that is added to column `k`, without the bits that are cut off, and at most `width` bits of it.
fn cut_product(c: &mut Circuit, t: &Table, k: usize, so_far: Sig, place: Sig, width: u32) -> Sig {
    let product = product(c, so_far, t.steps[k + 1].is_signed(), place);
    assert!(t.shift[k] < c.width(product), "a product that is cut off whole needs no multiplier");
    let width = width.min(c.width(product) - t.shift[k]);
    c.logic("cut", c.x(product).bits(t.shift[k], width))
}

/// Column `k` and the product that is added to it.
fn sum(t: &Table, c: &mut Circuit, k: usize, column: Sig, cut: Sig) -> Sig {
    let width = t.steps[k].bits();
    let (column, cut) = (resized(c, column, width, t.is_signed(k)), resized(c, cut, width, t.steps[k + 1].is_signed()));
    c.logic("sum", if t.subtract[k] { column - cut } else { column + cut })
}

/// The product of a number that may have a sign with one that has none, in all its bits.
pub fn product(c: &mut Circuit, a: Sig, signed: bool, b: Sig) -> Sig {
    let (wa, wb) = (c.width(a), c.width(b));
    if !signed {
        return c.mul("product", a, b, false);
    }
    let most = c.clock().target.mul_width();
    if c.clock().blocks != Some(0) && wa.max(wb + 1) <= most {
        let b = c.logic("factor", c.x(b).zext(wb + 1));
        let product = c.mul("product", a, b, true);
        return field(c, "product", product, wa + wb - 1, 0);
    }
    // With a read as unsigned the product is too large by b 2^wa where a is negative.
    let product = c.mul("product", a, b, false);
    let excess = c.logic("excess", c.x(a).msb().repeat(wb) & c.x(b));
    let high = field(c, "high", product, wa + wb - 1, wa);
    let low = field(c, "low", product, wa - 1, 0);
    let high = c.logic("high", c.x(high) - c.x(excess));
    c.logic("product", c.cat(&[high, low]))
}
