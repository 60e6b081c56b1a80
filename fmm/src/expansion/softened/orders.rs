//! Orders of the polynomials beside the order of the harmonics.
//!
//! All errors are measured: root mean squares of the gradient's in a cell, in units of its edge, of what six charges in each of the nearest
//! cells of the list at theta 0.5 give. Both parts fall alike with the opening angle, but for what is added below.

use crate::expansion::chebyshev::table_bytes;

/// Softening lengths in edges up to which harmonics act.
pub const LONGEST: f64 = 0.6;

/// Softening lengths in edges of the smallest cells from which on harmonics have another order more.
const LONG: [f64; 2] = [0.1, 0.2];

/// The highest order of the polynomials.
pub const MOST: usize = 16;

/// Bytes that the matrices of a level may take before they are compressed: more of them take long to make.
const MOST_BYTES: f64 = 2.4e8;

/// The highest order of the polynomials between cells that are near below `near2`.
pub fn most(near2: u64) -> usize {
    // Mirrored offsets share matrices.
    let fits = |order: &usize| table_bytes(*order, near2) / 8.0 <= MOST_BYTES;
    (1..=MOST).rev().find(fits).unwrap_or(1)
}

/// The error that polynomials may leave, in parts of that of the harmonics. Where all charges have one sign, harmonics leave
/// much less than the errors below, and polynomials do not: in a Plummer sphere they are even at about this.
const SHARE: f64 = 0.1;

/// Orders of solid harmonics and their errors, with 1/r.
const OF_HARMONICS: [(usize, f64); 11] = [
    (1, 0.91),
    (2, 0.58),
    (4, 0.131),
    (6, 2.9e-2),
    (8, 5.3e-3),
    (10, 1.1e-3),
    (13, 1.2e-4),
    (15, 3.2e-5),
    (20, 2.2e-6),
    (24, 2.1e-7),
    (30, 8.2e-9),
];

/// For orders of the polynomials from 0 on their error with what softening changes, over the square of the softening length in edges.
const OF_CHANGE: [f64; 13] = [0.8, 0.69, 0.62, 0.28, 0.18, 3.8e-2, 2e-2, 7.1e-3, 2.9e-3, 6.9e-4, 3.8e-4, 1.6e-4, 5e-5];

/// The same with softened 1/r of softening lengths in edges, from each of these on.
const OF_SOFTENED: [(f64, [f64; 13]); 6] = [
    (0.0, [1.0, 0.77, 0.44, 0.15, 6.9e-2, 1.4e-2, 4.7e-3, 1.3e-3, 5.5e-4, 7.2e-5, 4e-5, 1.3e-5, 3.2e-6]),
    (0.7, [1.0, 0.66, 0.35, 0.11, 4.9e-2, 9.8e-3, 3.1e-3, 7.6e-4, 3.1e-4, 4.1e-5, 1.9e-5, 5.5e-6, 1.2e-6]),
    (1.0, [0.8, 0.51, 0.25, 6.9e-2, 2.8e-2, 5.6e-3, 1.5e-3, 3.2e-4, 1e-4, 1.6e-5, 5.1e-6, 1.1e-6, 2.3e-7]),
    (1.4, [0.6, 0.35, 0.15, 3.3e-2, 1.3e-2, 2.4e-3, 5.5e-4, 9.6e-5, 2.1e-5, 3.6e-6, 7.6e-7, 1.4e-7, 2.6e-8]),
    (2.0, [0.4, 0.19, 7.5e-2, 1.2e-2, 4e-3, 5.8e-4, 1.3e-4, 1.8e-5, 2.9e-6, 4e-7, 4.7e-8, 1.2e-8, 1.6e-9]),
    (2.8, [0.2, 9.2e-2, 3.4e-2, 3.7e-3, 9.8e-4, 9.7e-5, 2.2e-5, 2.1e-6, 2.8e-7, 3.3e-8, 2.8e-9, 4.6e-10, 4.8e-11]),
];

/// The last of these lengths.
const FARTHEST: f64 = 2.8;

/// By how many orders harmonics exceed one that is as near to 1/r as the order asked for, given the softening length in edges of the
/// smallest cells. Beside the steep gradients of near pairs, errors of the far field are small. The longer the softening length, the less
/// is left of those: of charges of both signs, pairs at about that distance then give most of a gradient, far ones as well as near ones.
/// Measured with uniform particles in a cube, in a layer and on a sphere: from the last of these lengths on it stays the same.
pub fn more(edges: f64) -> usize {
    1 + LONG.iter().filter(|from| edges > **from).count()
}

/// The order of the polynomials of each level of a tree beside harmonics of an order, with a softening length in boxes: they keep what the
/// first order more asks for. Their tables take longer than all harmonics, and where all charges have one sign their error is larger.
pub fn of_levels(order: usize, near2: u64, eps: f64, levels: usize) -> impl Iterator<Item = usize> {
    let edges = move |level: usize| eps * (level as f64).exp2();
    let beside = (order + 1).saturating_sub(more(edges(levels.max(1) - 1))).max(1);
    (0..levels).map(move |level| needed(beside, near2, edges(level)))
}

/// Orders of polynomials of softened 1/r that are on all levels as near as harmonics of the orders from 1 on and polynomials beside them are.
/// Measured at theta 0.5 by the errors of gradients of 5000 particles in a cube and in a Plummer sphere, with charges of one sign and of both,
/// for orders 2, 5 and 8 and lengths from 0.04 to 3 edges of the smallest cells: at most 1.3 times as large, and mostly smaller. Those of
/// other orders are from between these.
const ALONE: [usize; 13] = [3, 3, 4, 4, 5, 6, 6, 7, 9, 9, 9, 10, 10];

/// The order of polynomials of softened 1/r, without any harmonics, that is as near as harmonics of an order and polynomials beside them
/// are, between cells that are near below `near2`; none above the orders for which it is known.
pub fn alone(order: usize, near2: u64) -> Option<usize> {
    let known = ALONE.get(order.checked_sub(1)?)?;
    Some(known + usize::from(near2 > 4))
}

/// The order of the polynomials that an order of the harmonics asks for between cells that are near below `near2`, with a softening length
/// in edges; 0 where softening does not matter. It may be more than [`most`].
fn needed(order: usize, near2: u64, edges: f64) -> usize {
    // As the gradient of the nearest pairs of cells, which are two edges apart.
    let falls = (1.0 + 0.25 * edges * edges).powf(-1.5);
    let wanted = SHARE * of_harmonics(order) * falls;
    let error = |order: usize| match edges <= LONGEST {
        true => edges * edges * of_order(&OF_CHANGE, order),
        // Terms of a degree fall by a power of the length more than that.
        false => of_order(&softened(edges), order) * (FARTHEST / edges.max(FARTHEST)).powi(order as i32),
    };
    let needed = (0..).find(|order| error(*order) <= wanted).expect("errors fall");
    // At smaller angles, harmonics gain more by an order.
    if near2 > 4 && needed > 0 { needed + 1 } else { needed }
}

fn softened(edges: f64) -> [f64; 13] {
    OF_SOFTENED.iter().rfind(|(from, _)| *from <= edges).unwrap_or(&OF_SOFTENED[0]).1
}

/// Beyond the last, errors fall as before.
fn of_order(errors: &[f64; 13], order: usize) -> f64 {
    let gain = (errors[12] / errors[8]).powf(0.25);
    if order <= 12 { errors[order] } else { errors[12] * gain.powi(order as i32 - 12) }
}

fn of_harmonics(order: usize) -> f64 {
    let above = OF_HARMONICS.iter().position(|(p, _)| *p >= order).unwrap_or(OF_HARMONICS.len() - 1).max(1);
    let [(low, first), (high, last)] = [OF_HARMONICS[above - 1], OF_HARMONICS[above]];
    let part = (order as f64 - low as f64) / (high - low) as f64;
    first * (last / first).powf(part)
}

/// Whether polynomials are as near on all levels of a tree as harmonics of an order are. `eps` is the softening length in boxes.
pub fn reach(order: usize, near2: u64, eps: f64, levels: usize) -> bool {
    of_levels(order, near2, eps, levels).all(|order| order <= most(near2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_alone_take_more_orders_the_more_harmonics_have() {
        let of = |near2| (1..=20).map(|order| alone(order, near2)).collect::<Vec<_>>();
        assert!(of(4)[..13].is_sorted() && of(4)[13..].iter().all(Option::is_none) && alone(0, 4).is_none());
        assert!(of(4).iter().zip(of(9)).all(|(wide, narrow)| wide.is_none_or(|order| narrow == Some(order + 1))));
    }

    #[test]
    fn coarser_levels_need_lower_orders_and_the_coarsest_none() {
        for near2 in [4, 9] {
            for order in 1..=30 {
                let orders: Vec<usize> = (0..20).map(|level| needed(order, near2, 0.59 * 0.5f64.powi(level))).collect();
                assert!(orders.windows(2).all(|w| w[0] >= w[1]) && orders[0] <= order + 4, "{order} {orders:?}");
                assert_eq!(orders[19], 0, "{order}");
                let long: Vec<usize> = (0..20).map(|k| needed(order, near2, 0.61 * 2f64.powi(k))).collect();
                assert!(long.iter().all(|p| *p <= long[0] + 1), "{order} {long:?}");
            }
        }
        assert_eq!([needed(7, 4, 0.5), needed(7, 4, 0.03), needed(12, 4, 0.5)], [8, 0, 12]);
        assert!([1e-4, 0.04, 0.06, 0.19, 0.21, 1e3].map(more).windows(2).all(|w| w[0] <= w[1]) && more(0.0) == 1);
        // More orders of harmonics leave the polynomials as they are.
        let of = |order, eps: f64| of_levels(order, 4, eps, 5).collect::<Vec<_>>();
        assert_eq!(of(9, 0.03), (0..5).map(|k| needed(7, 4, 0.03 * f64::from(1 << k))).collect::<Vec<_>>());
        assert_eq!(of(7, 0.005), (0..5).map(|k| needed(7, 4, 0.005 * f64::from(1 << k))).collect::<Vec<_>>());
        assert!(reach(17, 4, 1e-3, 10) && !reach(30, 4, 1e-3, 10));
    }
}
