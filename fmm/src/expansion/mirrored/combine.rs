//! The Walsh-Hadamard transform of mirrored sources: sums and differences along each axis with sources on both sides.

use super::gather::Sources;
use super::tables::{Layout, Orbit};
use crate::arith::lanes::Real;
use crate::arith::vector::Vector;

/// Combines the mirrored sources of an orbit's targets in an octant: one column after the other in each group. Whether
/// there is any source.
///
/// # Safety
/// The machine must have the instructions of the vector.
#[inline(always)]
pub unsafe fn combine<V: Vector, const W: usize>(
    layout: &Layout,
    orbit: &Orbit<V::Item>,
    octant: usize,
    sources: &Sources<V::Item>,
    combined: &mut Vec<V::Item>,
) -> bool {
    let mirrored = &orbit.mirrored[octant];
    if mirrored.iter().all(|m| sources.of(layout, m).is_none()) {
        return false;
    }
    let lanes = W * V::LANES;
    if combined.len() < orbit.combined() * lanes {
        combined.resize(orbit.combined() * lanes, V::Item::default());
    }
    // SAFETY: as for this function.
    unsafe {
        match mirrored.len() {
            1 => all::<V, W, 1>(layout, orbit, octant, sources, combined),
            2 => all::<V, W, 2>(layout, orbit, octant, sources, combined),
            4 => all::<V, W, 4>(layout, orbit, octant, sources, combined),
            _ => all::<V, W, 8>(layout, orbit, octant, sources, combined),
        }
    }
    true
}

#[inline(always)]
unsafe fn all<V: Vector, const W: usize, const N: usize>(
    layout: &Layout,
    orbit: &Orbit<V::Item>,
    octant: usize,
    sources: &Sources<V::Item>,
    combined: &mut [V::Item],
) {
    let lanes = W * V::LANES;
    let mut from = [&sources.zeros[..]; N];
    for (from, mirrored) in from.iter_mut().zip(&orbit.mirrored[octant]) {
        if let Some(source) = sources.of(layout, mirrored) {
            *from = source;
        }
    }
    for class in 0..8 {
        let rows = layout.count(class, orbit.order) * lanes;
        let first = layout.starts[class] * lanes;
        let mut to = [0; N];
        for (to, column) in to.iter_mut().zip(orbit.places[class]) {
            *to = column as usize * lanes;
        }
        let end = to.iter().fold(0, |a, b| a.max(*b)) + rows;
        assert!(end <= combined.len() && from.iter().all(|f| f.len() >= first + rows));
        // SAFETY: the machine has the instructions, and all places are within the slices, as was just checked.
        unsafe {
            let sign = V::splat(V::Item::of(orbit.sign(class, octant)));
            for k in (0..rows).step_by(V::LANES) {
                let mut x = [V::splat(V::Item::default()); N];
                for (x, from) in x.iter_mut().zip(&from) {
                    *x = V::load(from.get_unchecked(first + k..first + k + V::LANES));
                }
                let mut half = 1;
                while half < N {
                    for i in 0..N {
                        if i & half == 0 {
                            let (a, b) = (x[i], x[i | half]);
                            (x[i], x[i | half]) = (a.add(b), a.sub(b));
                        }
                    }
                    half *= 2;
                }
                for (x, to) in x.iter().zip(&to) {
                    x.mul(sign).store(combined.get_unchecked_mut(to + k..to + k + V::LANES));
                }
            }
        }
    }
}
