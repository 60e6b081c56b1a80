//! The inner loop: a matrix times combined sources, tiles of rows whose sums stay in registers.
//!
//! Measured on one core of an AVX-512 machine with a product and sum of one vector a clock, 32 lanes of f32 or 16 of f64,
//! operands in the caches: 115 GF/s in f32 and 59 in f64, which is nearly all that the core has, for every shape from 6 x 49
//! (order 6) to 55 x 441 (order 20). The crate `gemm` 0.18 reached 72 to 101 and 45 to 50,
//! `matrixmultiply` 0.3 26 to 48 and 26 to 40: they pack their operands at each call, and these are small.

use crate::arith::vector::Vector;

/// Adds `sign` times the product to `sums`. `factors` holds tiles of `tile` rows, the last one what is left, each column
/// after column; `sources` and `sums` have `W` vectors a column or row.
///
/// # Safety
/// The machine must have the instructions of the vector.
#[inline(always)]
pub unsafe fn product<V: Vector, const W: usize>(
    factors: &[V::Item],
    sources: &[V::Item],
    sign: V::Item,
    sums: &mut [V::Item],
    tile: usize,
) {
    // SAFETY: as for this function.
    unsafe { tiles::<V, W, true>(factors, sources, sign, sums, tile) }
}

/// Writes the product in place of adding it.
///
/// # Safety
/// The machine must have the instructions of the vector.
#[inline(always)]
pub unsafe fn write_product<V: Vector, const W: usize>(
    factors: &[V::Item],
    sources: &[V::Item],
    to: &mut [V::Item],
    tile: usize,
) {
    // SAFETY: as for this function.
    unsafe { tiles::<V, W, false>(factors, sources, V::Item::default(), to, tile) }
}

#[inline(always)]
unsafe fn tiles<V: Vector, const W: usize, const ADDS: bool>(
    factors: &[V::Item],
    sources: &[V::Item],
    sign: V::Item,
    sums: &mut [V::Item],
    tile: usize,
) {
    let lanes = W * V::LANES;
    let columns = sources.len() / lanes;
    let mut rest = factors;
    for sums in sums.chunks_mut(tile.max(1) * lanes) {
        let (factors, after) = rest.split_at(columns * (sums.len() / lanes));
        rest = after;
        // SAFETY: as for this function.
        unsafe {
            match sums.len() / lanes {
                1 => rows::<V, W, 1, ADDS>(factors, sources, sign, sums),
                2 => rows::<V, W, 2, ADDS>(factors, sources, sign, sums),
                3 => rows::<V, W, 3, ADDS>(factors, sources, sign, sums),
                4 => rows::<V, W, 4, ADDS>(factors, sources, sign, sums),
                5 => rows::<V, W, 5, ADDS>(factors, sources, sign, sums),
                6 => rows::<V, W, 6, ADDS>(factors, sources, sign, sums),
                7 => rows::<V, W, 7, ADDS>(factors, sources, sign, sums),
                8 => rows::<V, W, 8, ADDS>(factors, sources, sign, sums),
                9 => rows::<V, W, 9, ADDS>(factors, sources, sign, sums),
                10 => rows::<V, W, 10, ADDS>(factors, sources, sign, sums),
                11 => rows::<V, W, 11, ADDS>(factors, sources, sign, sums),
                12 => rows::<V, W, 12, ADDS>(factors, sources, sign, sums),
                more => unreachable!("a tile has {more} rows"),
            }
        }
    }
}

#[allow(clippy::needless_range_loop, reason = "the loops over rows and vectors read alike and unroll")]
#[inline(always)]
unsafe fn rows<V: Vector, const W: usize, const R: usize, const ADDS: bool>(
    factors: &[V::Item],
    sources: &[V::Item],
    sign: V::Item,
    sums: &mut [V::Item],
) {
    // A constant, so that the rest is not compiled.
    if const { R > V::ROWS } {
        unreachable!("a tile has no more rows than its vectors allow");
    }
    let (lanes, columns) = (W * V::LANES, factors.len() / R);
    assert!(factors.len() == columns * R && sources.len() == columns * lanes && sums.len() == R * lanes);
    // SAFETY: the caller has the instructions, and all places are within the slices, as was just checked.
    unsafe {
        let vector = |from: &[V::Item], first: usize| V::load(from.get_unchecked(first..first + V::LANES));
        let mut total = [[V::splat(V::Item::default()); W]; R];
        for column in 0..columns {
            let mut x = [V::splat(V::Item::default()); W];
            for w in 0..W {
                x[w] = vector(sources, column * lanes + w * V::LANES);
            }
            for r in 0..R {
                let factor = V::splat(*factors.get_unchecked(column * R + r));
                for w in 0..W {
                    total[r][w] = factor.mul_add(x[w], total[r][w]);
                }
            }
        }
        let sign = V::splat(sign);
        for r in 0..R {
            for w in 0..W {
                let first = r * lanes + w * V::LANES;
                let sum = if ADDS { sign.mul_add(total[r][w], vector(sums, first)) } else { total[r][w] };
                sum.store(sums.get_unchecked_mut(first..first + V::LANES));
            }
        }
    }
}
