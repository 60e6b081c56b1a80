//! Which order M2L needs at an offset: far cells need a lower one than near cells for the same error.
//!
//! For charges and targets that are uniform in their cells, the mean square of the gradient that the terms of degree n of
//! the target and k of the source carry at distance d is `C(2n+2k, 2n) n r_(n-1) r_k / (2k+1) / d^(2n+2k+2)`, where r_n is
//! the mean of |x|^2n over a cell. It follows from the matrix along z, since rotations are orthogonal: the sum over m of
//! `((n+k)!)^2 / ((n+m)! (n-m)! (k+m)! (k-m)!)` is the binomial coefficient.

use crate::tree::lists::is_near;

/// Orders by the square of the distance.
pub struct Orders {
    /// For each order but the highest, from 1, the square of the distance from which it is enough, descending.
    from: Vec<f64>,
}

/// What lower orders may add to the root mean square error of all offsets together.
const GROWTH: f64 = 1.05;

/// Degrees above the order that are counted as neglected.
const BEYOND: usize = 20;

impl Orders {
    /// For a highest `order` and cells that are near below `near2`.
    pub fn new(order: usize, near2: u64) -> Orders {
        let terms = Neglected::new(order);
        let offsets = offsets(near2);
        let total = |of: &dyn Fn(f64) -> usize| -> f64 { offsets.iter().map(|d2| terms.sum(of(*d2), *d2)).sum() };
        let least = total(&|_| order);
        let mut limit = terms.sum(order, near2 as f64);
        loop {
            let orders = Orders { from: (1..order).map(|q| terms.least_distance(q, limit, near2 as f64)).collect() };
            if limit == 0.0 || total(&|d2| orders.at(d2)) <= GROWTH * GROWTH * least {
                return orders;
            }
            limit *= 0.8;
        }
    }

    /// The highest order for all.
    #[cfg(test)]
    pub fn full(order: usize) -> Orders {
        Orders { from: vec![f64::INFINITY; order - 1] }
    }

    /// The order at the square of a distance.
    pub fn at(&self, d2: f64) -> usize {
        1 + self.from.iter().take_while(|from| d2 < **from).count()
    }
}

/// The far offsets of one cell's list as squares of distances. Where there are very many, the nearest stand for all.
fn offsets(near2: u64) -> Vec<f64> {
    let nearest = near2.min(25);
    let reach = reach(nearest);
    let range = || -2 * reach..=2 * reach + 1;
    let far = |d: &[i64; 3]| !is_near(*d, nearest) && is_near(d.map(|x| x.div_euclid(2)), nearest);
    let all = range().flat_map(|x| range().flat_map(move |y| range().map(move |z| [x, y, z])));
    let scale = near2 as f64 / nearest as f64;
    all.filter(far).map(|d| scale * d.iter().map(|x| (x * x) as f64).sum::<f64>()).collect()
}

/// The farthest that near cells of one level are apart along an axis.
pub fn reach(near2: u64) -> i64 {
    ((near2 - 1) as f64).sqrt().floor() as i64
}

/// The mean squares of what is neglected.
struct Neglected {
    /// By target degree and source degree.
    squares: Vec<Vec<f64>>,
}

impl Neglected {
    fn new(order: usize) -> Neglected {
        let all = order + BEYOND + 1;
        let r = mean_powers(all);
        let binomial = |n: usize, k: usize| (1..=2 * n).fold(1.0, |a, i| a * (2 * k + i) as f64 / i as f64);
        let one = |n: usize, k: usize| match n {
            0 => 0.0,
            _ => binomial(n, k) * n as f64 * r[n - 1] * r[k] / (2 * k + 1) as f64,
        };
        Neglected { squares: (0..all).map(|n| (0..all).map(|k| one(n, k)).collect()).collect() }
    }

    /// Of all terms with a degree above `order`, at the square of a distance.
    fn sum(&self, order: usize, d2: f64) -> f64 {
        let row = |(n, squares): (usize, &Vec<f64>)| -> f64 {
            let first = if n > order { 0 } else { order + 1 };
            // Horner's rule from the highest degree of the source down.
            let sum = squares[first..].iter().rev().fold(0.0, |sum, s| sum / d2 + s);
            sum / d2.powi((n + first + 1) as i32)
        };
        self.squares.iter().enumerate().map(row).sum()
    }

    /// The square of the distance from which `order` neglects at most `limit`.
    fn least_distance(&self, order: usize, limit: f64, near2: f64) -> f64 {
        let (mut low, mut high) = (near2, 2.0 * near2);
        while self.sum(order, high) > limit && high < 1e12 {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..30 {
            let middle = 0.5 * (low + high);
            if self.sum(order, middle) > limit { low = middle } else { high = middle }
        }
        high
    }
}

/// The mean of |x|^2n over the unit cube around 0, for n below `count`.
fn mean_powers(count: usize) -> Vec<f64> {
    let axis: Vec<f64> = (0..count).map(|i| 0.25f64.powi(i as i32) / (2 * i + 1) as f64).collect();
    let with_axis = |a: &[f64]| -> Vec<f64> {
        let binomial = |n: usize, k: usize| (1..=k).fold(1.0, |b, i| b * (n + 1 - i) as f64 / i as f64);
        (0..count).map(|n| (0..=n).map(|k| binomial(n, k) * a[k] * axis[n - k]).sum()).collect()
    };
    with_axis(&with_axis(&axis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_cells_need_the_highest_order_and_far_ones_less() {
        for order in 1..25 {
            for near2 in [4, 9, 16, 2500] {
                let orders = Orders::new(order, near2);
                let at: Vec<usize> = (1..30).map(|k| orders.at(near2 as f64 * k as f64)).collect();
                assert_eq!(at[0], order, "{order} {near2}");
                assert!(at.windows(2).all(|w| w[0] >= w[1]), "{at:?}");
                assert!(order < 4 || at[5] < order, "{at:?}");
            }
        }
    }

    #[test]
    fn an_angle_of_one_half_has_189_far_offsets() {
        assert_eq!(offsets(4).len(), 189);
    }

    #[test]
    fn mean_powers_are_those_of_a_cube() {
        let r = mean_powers(3);
        assert!((r[1] - 0.25).abs() < 1e-15);
        // 3 <x^4> + 6 <x^2>^2.
        assert!((r[2] - (3.0 / 80.0 + 6.0 / 144.0)).abs() < 1e-15);
    }
}
