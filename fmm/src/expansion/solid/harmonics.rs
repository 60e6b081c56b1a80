//! Regular and irregular real solid harmonics at many points at once.
//!
//! R_nm has Schmidt's normalisation: the sum over m of R_nm(x) R_nm(y) is |x|^n |y|^n P_n(cos of the angle between them),
//! so that no coefficient is large for points in a cell with edge 1, and a rotation of the terms of a degree is
//! orthogonal. I_nm(x) = R_nm(x) / |x|^(2n+1), so that 1/|x-y| is the sum of R_nm(x) I_nm(y) for |x| < |y|. Since
//! R_nm(x / |x|^2) = R_nm(x) / |x|^2n, one recurrence gives both.

use super::terms::count;
use crate::arith::lanes::Real;
use crate::arith::vector::Vector;

/// The factors of the recurrences up to an order, which are stable upwards.
pub struct Harmonics<T> {
    pub order: usize,
    /// R_mm from R_(m-1)(m-1), by m.
    sectors: Vec<T>,
    /// R_nm from R_(n-1)m and R_(n-2)m, by m, then by n above m.
    steps: Vec<[T; 2]>,
}

impl<T: Real> Harmonics<T> {
    pub fn new(order: usize) -> Harmonics<T> {
        let sector = |m: usize| if m < 2 { 1.0 } else { ((2 * m - 1) as f64 / (2 * m) as f64).sqrt() };
        let root = |n: usize, m: usize| (((n - m) * (n + m)) as f64).sqrt();
        let step = |n: usize, m: usize| {
            let before = if n > m + 1 { root(n - 1, m) } else { 0.0 };
            [(2 * n - 1) as f64 / root(n, m), -before / root(n, m)].map(T::of)
        };
        Harmonics {
            order,
            sectors: (0..=order).map(|m| T::of(sector(m))).collect(),
            steps: (0..=order).flat_map(|m| (m + 1..=order).map(move |n| step(n, m))).collect(),
        }
    }

    /// The factors of the recurrences: by m, and by m and then n above m.
    pub fn factors(&self) -> (&[T], &[[T; 2]]) {
        (&self.sectors, &self.steps)
    }

    /// `start` times the regular harmonics at `x`.
    ///
    /// # Safety
    /// The machine must have the instructions of the vector.
    #[inline(always)]
    pub unsafe fn regular<V: Vector<Item = T>>(&self, x: [V; 3], start: V, out: &mut [V]) {
        assert!(out.len() >= count(self.order));
        // SAFETY: as for this function.
        unsafe {
            let [x, y, z] = x;
            let r2 = x.mul_add(x, y.mul_add(y, z.mul(z)));
            let zero = V::splat(T::default());
            let mut sector = [start, zero];
            let mut steps = self.steps.iter();
            for m in 0..=self.order {
                if m > 0 {
                    let [c, s] = sector;
                    let factor = V::splat(self.sectors[m]);
                    sector = [x.mul(c).sub(y.mul(s)).mul(factor), x.mul(s).add(y.mul(c)).mul(factor)];
                }
                let (mut before, mut last) = ([zero; 2], sector);
                let place = |n: usize| n * n + 2 * m - (m > 0) as usize;
                out[place(m)] = last[0];
                if m > 0 {
                    out[place(m) + 1] = last[1];
                }
                for n in m + 1..=self.order {
                    let Some([up, two]) = steps.next() else { return };
                    let (up, two) = (V::splat(*up).mul(z), V::splat(*two).mul(r2));
                    let next = [0, 1].map(|k| up.mul_add(last[k], two.mul(before[k])));
                    out[place(n)] = next[0];
                    if m > 0 {
                        out[place(n) + 1] = next[1];
                    }
                    (before, last) = (last, next);
                }
            }
        }
    }

    /// The irregular harmonics at `x`, whose squared length must be a normal number; 0 where `x` is 0.
    ///
    /// # Safety
    /// As for [`regular`](Self::regular).
    #[inline(always)]
    pub unsafe fn irregular<V: Vector<Item = T>>(&self, x: [V; 3], out: &mut [V]) {
        // SAFETY: as for this function.
        unsafe {
            let r2 = x[0].mul_add(x[0], x[1].mul_add(x[1], x[2].mul(x[2])));
            let root = r2.inverse_root().mul(V::splat(T::of(1.0 / V::ROOT)));
            let (inverse, _) = root.where_from(r2, V::splat(T::of(1e-30)));
            let inverse2 = inverse.mul(inverse);
            self.regular([x[0].mul(inverse2), x[1].mul(inverse2), x[2].mul(inverse2)], inverse, out);
        }
    }
}

/// The regular harmonics at one point.
pub fn regular_at(order: usize, x: [f64; 3]) -> Vec<f64> {
    let mut out = vec![[0.0; 4]; count(order)];
    // SAFETY: every machine has these vectors.
    unsafe { Harmonics::<f64>::new(order).regular(x.map(|x| [x; 4]), [1.0; 4], &mut out) };
    out.iter().map(|v| v[0]).collect()
}

/// The irregular harmonics at one point other than 0.
pub fn irregular_at(order: usize, x: [f64; 3]) -> Vec<f64> {
    let mut out = vec![[0.0; 4]; count(order)];
    // SAFETY: every machine has these vectors.
    unsafe { Harmonics::<f64>::new(order).irregular(x.map(|x| [x; 4]), &mut out) };
    out.iter().map(|v| v[0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_degrees_are_the_polynomials_that_they_are() {
        let (x, y, z): (f64, f64, f64) = (0.3, -0.7, 0.5);
        let r2 = x * x + y * y + z * z;
        let root3 = 3f64.sqrt();
        let wanted = [
            1.0,
            z,
            x,
            y,
            (3.0 * z * z - r2) / 2.0,
            root3 * x * z,
            root3 * y * z,
            root3 / 2.0 * (x * x - y * y),
            root3 * x * y,
        ];
        for (found, wanted) in regular_at(2, [x, y, z]).iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-15, "{found} {wanted}");
        }
    }

    #[test]
    fn the_sum_of_products_is_the_inverse_distance() {
        let (x, y) = ([0.3, -0.2, 0.25], [-1.3, 0.8, 1.9]);
        let d2: f64 = x.iter().zip(&y).map(|(x, y): (&f64, &f64)| (x - y).powi(2)).sum();
        let sum: f64 = regular_at(40, x).iter().zip(irregular_at(40, y)).map(|(r, i)| r * i).sum();
        assert!((sum * d2.sqrt() - 1.0).abs() < 1e-14, "{sum}");
    }

    #[test]
    fn high_degrees_keep_their_length() {
        // The sum over m of R_nm^2 is |x|^2n.
        let x = [0.31, -0.62, 0.11];
        let r2: f64 = x.iter().map(|x| x * x).sum();
        let all = regular_at(60, x);
        for n in 0..=60usize {
            let length: f64 = all[n * n..count(n)].iter().map(|r| r * r).sum();
            assert!((length / r2.powi(n as i32) - 1.0).abs() < 1e-13, "{n}");
        }
    }
}
