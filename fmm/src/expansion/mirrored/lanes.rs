//! Expansions of cells, one a lane: rows of terms, lane by lane.

use crate::arith::vector::Vector;

/// Lanes of two vectors at most.
pub const MOST: usize = 32;

/// No cell.
pub const NONE: u32 = u32::MAX;

/// Writes the terms of one cell a lane as rows, each at its place; 0 where there is no cell.
///
/// # Safety
/// The machine must have the instructions of the vector.
#[inline(always)]
pub unsafe fn to_lanes<V: Vector, const W: usize>(
    places: &[u32],
    m: &[V::Item],
    cells: &[u32; MOST],
    rows: &mut [V::Item],
) {
    let (size, lanes) = (places.len(), W * V::LANES);
    if size < V::LANES {
        for (k, row) in places.iter().enumerate() {
            for (lane, to) in rows[*row as usize * lanes..][..lanes].iter_mut().enumerate() {
                let cell = cells[lane];
                *to = if cell == NONE { V::Item::default() } else { m[cell as usize * size + k] };
            }
        }
        return;
    }
    // SAFETY: as for the caller.
    unsafe {
        let zero = V::splat(V::Item::default());
        for first in (0..size).step_by(V::LANES) {
            // The last terms are taken together with some of those before.
            let first = first.min(size - V::LANES);
            for w in 0..W {
                let mut x = [zero; 16];
                for i in 0..V::LANES {
                    let cell = cells[w * V::LANES + i];
                    if cell != NONE {
                        x[i] = V::load(&m[cell as usize * size + first..]);
                    }
                }
                transpose(&mut x);
                for i in 0..V::LANES {
                    x[i].store(&mut rows[places[first + i] as usize * lanes + w * V::LANES..]);
                }
            }
        }
    }
}

/// Transposes the first [`Vector::LANES`] vectors by perfect shuffles.
///
/// # Safety
/// The machine must have the instructions of the vector.
#[inline(always)]
pub unsafe fn transpose<V: Vector>(x: &mut [V; 16]) {
    let mut length = 1;
    while length < V::LANES {
        let before = *x;
        for i in 0..V::LANES / 2 {
            // SAFETY: as for the caller.
            let [low, high] = unsafe { before[i].interleave(before[i + V::LANES / 2]) };
            (x[2 * i], x[2 * i + 1]) = (low, high);
        }
        length *= 2;
    }
}
