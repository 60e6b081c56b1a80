//! Sums that leaves and tasks compute for others: stretches that are added where they belong.

use super::sources::LANES;
use super::sums::scales;
use crate::arith::lanes::Real;
use crate::arith::vector::{Vector, vectorised};

/// A stretch of a [`super::mutual::Back`], and where it is to be added.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub from: usize,
    pub count: usize,
    pub to: usize,
}

vectorised! {
    /// Adds pieces of what a leaf gives, in units of `unit` and its square, to potentials and gradients. A column has so many
    /// numbers behind each place that whole vectors can be read and written there.
    pub(super) fn add_back<T>(back: &[&[T]], unit: T, pieces: &[Piece], to: &mut [Vec<T>]) = add_back_in
}

#[inline(always)]
unsafe fn add_back_in<V: Vector>(back: &[&[V::Item]], unit: V::Item, pieces: &[Piece], to: &mut [Vec<V::Item>]) {
    let scale = scales::<V>();
    let slope = -(scale[1] * unit * unit);
    // SAFETY: as for this function.
    unsafe { add_pieces_in::<V>(back, [scale[0] * unit, slope, slope, slope], pieces, to) }
}

vectorised! {
    /// Adds pieces of some columns, each times its factor, as [`add_back`] does.
    pub(super) fn add_pieces<T>(from: &[&[T]], factors: [T; 4], pieces: &[Piece], to: &mut [Vec<T>]) = add_pieces_in
}

#[inline(always)]
unsafe fn add_pieces_in<V: Vector>(
    from: &[&[V::Item]],
    factors: [V::Item; 4],
    pieces: &[Piece],
    to: &mut [Vec<V::Item>],
) {
    // SAFETY: as for this function.
    unsafe {
        let behind: [V::Item; LANES] = std::array::from_fn(|k| V::Item::of(-(k as f64)));
        let (behind, zero) = (V::load(&behind), V::splat(V::Item::default()));
        let (columns, _) = to.as_chunks_mut::<4>();
        for (from, to) in from.as_chunks::<4>().0.iter().zip(columns) {
            for piece in pieces {
                // Pieces are short: one loop over all columns ends unforeseen less often than one for each.
                let whole = piece.count - piece.count % V::LANES;
                for k in (0..whole).step_by(V::LANES) {
                    for a in 0..4 {
                        let to = &mut to[a][piece.to + k..];
                        V::load(&from[a][piece.from + k..]).mul_add(V::splat(factors[a]), V::load(to)).store(to);
                    }
                }
                if whole < piece.count {
                    // Lanes behind the last number get 0.
                    let last = V::splat(V::Item::of((piece.count - whole - 1) as f64)).add(behind);
                    for a in 0..4 {
                        let to = &mut to[a][piece.to + whole..];
                        let (rest, _) = V::load(&from[a][piece.from + whole..]).where_from(last, zero);
                        rest.mul_add(V::splat(factors[a]), V::load(to)).store(to);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::vector::Isa;

    #[test]
    fn pieces_are_added_where_they_belong_and_nowhere_else() {
        for isa in Isa::all() {
            for count in 0..40 {
                let from: Vec<Vec<f32>> = (0..8).map(|c| (0..80).map(|k| (100 * c + k) as f32).collect()).collect();
                let mut to = vec![vec![1.0f32; 100]; 8];
                let pieces = [Piece { from: 3, count, to: 5 }, Piece { from: 21, count: 7, to: 60 }];
                let columns: Vec<&[f32]> = from.iter().map(|column| &column[..]).collect();
                add_pieces::<f32>(isa, &columns, [1.0, 2.0, 3.0, 4.0], &pieces, &mut to);
                for (c, to) in to.iter().enumerate() {
                    for (k, x) in to.iter().enumerate() {
                        let piece = pieces.iter().find(|p| (p.to..p.to + p.count).contains(&k));
                        let factor = (c % 4 + 1) as f32;
                        let wanted = piece.map_or(1.0, |p| 1.0 + factor * from[c][k - p.to + p.from]);
                        assert_eq!(*x, wanted, "{isa:?} {count} {c} {k}");
                    }
                }
            }
        }
    }
}
