//! Selections in a lane: the best tuples of key and payloads in a row of registers, into which a new one is put in order.
//!
//! A tuple stands as one number that is less the better it is. Each place compares it with its own in the same clock; the places
//! behind the first one that it beats take the tuple of the place before. So there is a comparator, a tuple of registers and two
//! multiplexers for each place, and a pair may come in every clock.

use super::{Beside, CHAIN, ordered, unused};
use crate::Format;
use crate::engine::Layout;
use crate::hash::FastMap;
use crate::number::reduce::{Record, Selection};
use crate::rtl::expr::Test;
use crate::rtl::netlist::Module;
use crate::rtl::{Value, cat, net};

/// Bits that order patterns of a member as unsigned numbers, the better key and the lesser payload first.
fn order(selection: &Selection, member: usize, value: &Value) -> Value {
    let bits = ordered(selection.members[member], value);
    if member == 0 && selection.greatest { !&bits } else { bits }
}

/// The pattern that [`order`] was made of.
fn pattern(selection: &Selection, member: usize, bits: &Value) -> Value {
    let bits = if member == 0 && selection.greatest { !bits } else { bits.clone() };
    match selection.members[member] {
        format if !format.is_signed() => bits,
        Format::Float { .. } | Format::Log { .. } => {
            let sign = !bits.msb();
            let rest = bits.width() - 1;
            cat([sign.clone(), bits.low(rest) ^ sign.repeat(rest)])
        }
        _ => cat([!bits.msb(), bits.low(bits.width() - 1)]),
    }
}

/// Whether a number is less than another, in chains of at most [`CHAIN`] bits side by side.
fn less(a: &Value, b: &Value) -> Value {
    if a.width() <= CHAIN {
        return a.lt(b);
    }
    let low = a.width() / 2;
    let [above, below] = [(low, a.width() - low), (0, low)].map(|(from, bits)| [a, b].map(|v| v.bits(from, bits)));
    let equal = above[0].compare(Test::Eq, false, &above[1]);
    less(&above[0], &above[1]) | equal & less(&below[0], &below[1])
}

/// Adds a selection; gives its outputs, by their numbers, with their totals.
pub(super) fn select(
    lane: &mut Module,
    layout: &Layout,
    selection: &Selection,
    beside: &Beside,
) -> Vec<(usize, Value)> {
    let port = |output: usize| layout.outputs[output].0.as_str();
    let values = |rank: &Vec<usize>| -> Vec<Value> {
        rank.iter().zip(&selection.members).map(|(o, f)| net(format!("value_{}", port(*o)), f.width())).collect()
    };
    let (own, count) = (port(selection.ranks[0][0]), selection.ranks.len());
    let kept = if selection.greatest { "greatest" } else { "least" };
    lane.comment(match (count, selection.members.len() - 1) {
        (1, payloads) => format!("{own}: the {kept}, with {payloads} payloads."),
        (count, payloads) => format!("{own}: the {count} {kept} in order, with {payloads} payloads."),
    });
    // All places take the values of the first one.
    let others: Vec<Value> = selection.ranks[1..].iter().flat_map(values).collect();
    if !others.is_empty() {
        lane.wire(format!("unused_{own}"), unused(others));
    }
    let tuple = |members: Vec<Value>| cat(members.iter().enumerate().map(|(m, v)| order(selection, m, v)));
    let new = lane.wire(format!("tuple_{own}"), tuple(values(&selection.ranks[0])));
    let none = selection.identity().into_iter().zip(&selection.members);
    let none = tuple(none.map(|(bits, f)| Value::constant(f.width(), bits as i128)).collect());
    let places: Vec<Value> = (0..count).map(|k| lane.hold(format!("place{k}_{own}"), new.width())).collect();
    let mut before: Option<(Value, Value)> = None;
    for (k, place) in places.iter().enumerate() {
        let better = &beside.take & (&beside.first | less(&new, place));
        let better = lane.wire(format!("better{k}_{own}"), better);
        let stays = lane.wire(format!("stays{k}_{own}"), beside.first.mux(&none, place));
        let next = better.mux(&new, &stays);
        let next = before.map_or(next.clone(), |(moves, from): (Value, Value)| moves.mux(&from, &next));
        lane.load(format!("place{k}_{own}"), next);
        before = Some((better, stays));
    }
    let mut totals = Vec::new();
    for (place, rank) in places.iter().zip(&selection.ranks) {
        let mut at = place.width();
        for (member, output) in rank.iter().enumerate() {
            let width = selection.members[member].width();
            at -= width;
            totals.push((*output, pattern(selection, member, &place.bits(at, width))));
        }
    }
    totals
}

/// Adds all selections; gives their outputs, by their numbers, with their totals.
pub(super) fn selections(lane: &mut Module, layout: &Layout, beside: &Beside) -> FastMap<usize, Value> {
    let record = Record::new(layout.outputs.iter().map(|o| (o.1, o.2)));
    record.selections().iter().flat_map(|selection| select(lane, layout, selection, beside)).collect()
}
