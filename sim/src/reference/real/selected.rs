//! Selections in the real-arithmetic semantics (RULES L14): keys and payloads are compared as the numbers that they are.

use hdl::Format;
use hdl::number::reduce::{Selection, order_key};
use hdl::op::semantics::Real;
use std::cmp::Ordering;

/// The best tuples of a target so far. Keys of floats have no bounds here, so places without a pair are empty, and a tuple that
/// equals the identity, as that of a pair under an `if` that does not hold, is none.
pub(super) struct Selected<'a> {
    selection: &'a Selection,
    identity: Vec<Real>,
    best: Vec<Vec<Real>>,
}

impl<'a> Selected<'a> {
    pub fn new(selection: &'a Selection) -> Selected<'a> {
        let patterns = selection.identity().into_iter().zip(&selection.members);
        let identity = patterns.map(|(bits, format)| Real::read(*format, bits)).collect();
        Selected { selection, identity, best: Vec::new() }
    }

    /// The outputs whose values are the members of a pair.
    pub fn outputs(&self) -> &'a [usize] {
        &self.selection.ranks[0]
    }

    /// Takes the tuples of some pairs, given as a column for each member.
    pub fn add(&mut self, columns: &[&[Real]]) {
        for lane in 0..columns[0].len() {
            let full = self.best.len() == self.selection.ranks.len();
            if full && self.best.last().is_some_and(|worst| self.order(0, columns[0][lane], worst[0]).is_gt()) {
                continue;
            }
            let tuple: Vec<Real> = columns.iter().map(|c| c[lane]).collect();
            if tuple == self.identity {
                continue;
            }
            let at = self.best.partition_point(|other| self.compare(other, &tuple).is_le());
            self.best.insert(at, tuple);
            self.best.truncate(self.selection.ranks.len());
        }
    }

    /// The results with the outputs that they are for.
    pub fn finish(&self) -> impl Iterator<Item = (usize, Real)> {
        let ranks = self.selection.ranks.iter().enumerate();
        let tuples = ranks.map(|(rank, outputs)| (outputs, self.best.get(rank).unwrap_or(&self.identity)));
        tuples.flat_map(|(outputs, tuple)| outputs.iter().copied().zip(tuple.iter().copied()))
    }

    /// The order of two values of a member, the better one first.
    fn order(&self, member: usize, a: Real, b: Real) -> Ordering {
        let order = order(self.selection.members[member], a, b);
        if member == 0 && self.selection.greatest { order.reverse() } else { order }
    }

    fn compare(&self, a: &[Real], b: &[Real]) -> Ordering {
        let mut orders = (0..a.len()).map(|member| self.order(member, a[member], b[member]));
        orders.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }
}

fn order(format: Format, a: Real, b: Real) -> Ordering {
    match format.is_integral() {
        true => order_key(format, a.bits()).cmp(&order_key(format, b.bits())),
        // Reals are finite and never minus zero.
        false => a.f64().total_cmp(&b.f64()),
    }
}
