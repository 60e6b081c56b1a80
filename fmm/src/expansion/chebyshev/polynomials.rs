//! Chebyshev polynomials on [-1, 1]: values, series of shifted ones and of derivatives, and coefficients from values at nodes.

use crate::expansion::basis::Index;
use std::f64::consts::PI;

/// The zeros of a polynomial, and what takes values there to coefficients.
pub struct Nodes {
    /// In [-1, 1].
    pub x: Vec<f64>,
    /// For each degree the factor of each node's value.
    pub factors: Vec<Vec<f64>>,
}

impl Nodes {
    /// A number of nodes for coefficients up to a degree, which is smaller.
    pub fn new(count: usize, degree: usize) -> Nodes {
        let angle = |k: usize| (k as f64 + 0.5) * PI / count as f64;
        let factor = |a: usize, k: usize| if a == 0 { 1.0 } else { 2.0 * (a as f64 * angle(k)).cos() } / count as f64;
        Nodes {
            x: (0..count).map(|k| angle(k).cos()).collect(),
            factors: (0..=degree).map(|a| (0..count).map(|k| factor(a, k)).collect()).collect(),
        }
    }
}

/// For each a the series of T_a((t + shift) / parts) in T_b(t): b up to a.
pub fn shifted(degree: usize, shift: f64, parts: f64) -> Vec<Vec<f64>> {
    // T_(a+1)(u) = 2 u T_a(u) - T_(a-1)(u) with u = (t + shift) / parts, and t T_b = (T_(b+1) + T_|b-1|) / 2.
    let double = 2.0 / parts;
    let times = |series: &[f64]| -> Vec<f64> {
        let mut product = vec![0.0; degree + 1];
        for (b, c) in series.iter().enumerate() {
            product[b] += shift * c;
            if b < degree {
                product[b + 1] += if b == 0 { *c } else { 0.5 * c };
            }
            if b > 0 {
                product[b - 1] += 0.5 * c;
            }
        }
        product.iter_mut().for_each(|x| *x *= double);
        product
    };
    let mut one = vec![0.0; degree + 1];
    one[0] = 1.0;
    let mut all = vec![one];
    for a in 1..=degree {
        let next = times(&all[a - 1]);
        all.push(if a == 1 {
            next.iter().map(|x| 0.5 * x).collect()
        } else {
            next.iter().zip(&all[a - 2]).map(|(x, y)| x - y).collect()
        });
    }
    all
}

/// For each n the series of T_n((x - y) / 2) in T_a(x) T_b(y), of which those with a and b up to `order` are kept: row a,
/// column b.
pub fn differences(order: usize, degree: usize) -> Vec<Vec<f64>> {
    // T_(n+1)(u) = 2 u T_n(u) - T_(n-1)(u) with 2 u = x - y, and x T_a = (T_(a+1) + T_|a-1|) / 2.
    let edge = degree + 2;
    let times = |series: &[f64]| -> Vec<f64> {
        let mut product = vec![0.0; edge * edge];
        for (k, c) in series.iter().enumerate().filter(|c| *c.1 != 0.0) {
            for (n, stride, c) in [(k / edge, edge, *c), (k % edge, 1, -*c)] {
                product[k + stride] += if n == 0 { c } else { 0.5 * c };
                if n > 0 {
                    product[k - stride] += 0.5 * c;
                }
            }
        }
        product
    };
    let mut one = vec![0.0; edge * edge];
    one[0] = 1.0;
    let mut all = vec![one];
    for n in 1..=degree {
        let next = times(&all[n - 1]);
        all.push(match n {
            1 => next.iter().map(|x| 0.5 * x).collect(),
            _ => next.iter().zip(&all[n - 2]).map(|(x, y)| x - y).collect(),
        });
    }
    let kept = |series: &Vec<f64>| (0..=order).flat_map(|a| series[a * edge..][..=order].to_vec()).collect();
    all.iter().map(kept).collect()
}

/// M2M from the child in an octant and L2L to it. Each polynomial of the parent is a series in those of the child, whose terms
/// are as many.
pub fn shifts(terms: &[Index], degree: usize, octant: usize) -> [Vec<f64>; 2] {
    // The child's centre lies half of half the parent's edge from the parent's.
    let axes = [4, 2, 1].map(|bit| shifted(degree, if octant & bit == 0 { -1.0 } else { 1.0 }, 2.0));
    let share = |parent: &Index, child: &Index| -> f64 {
        (0..3).map(|k| axes[k][parent[k] as usize][child[k] as usize]).product()
    };
    let up = terms.iter().flat_map(|row| terms.iter().map(|column| share(row, column)));
    let down = terms.iter().flat_map(|row| terms.iter().map(|column| share(column, row)));
    [up.collect(), down.collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(a: usize, x: f64) -> f64 {
        (a as f64 * x.acos()).cos()
    }

    #[test]
    fn coefficients_follow_from_values_at_nodes() {
        let nodes = Nodes::new(9, 7);
        for a in 0..=7 {
            for (b, factors) in nodes.factors.iter().enumerate() {
                let sum: f64 = factors.iter().zip(&nodes.x).map(|(f, x)| f * t(a, *x)).sum();
                assert!((sum - (a == b) as u8 as f64).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn shifted_polynomials_are_series() {
        for (shift, parts) in [(-1.0, 2.0), (1.0, 2.0), (-2.0, 3.0), (0.0, 3.0), (2.0, 3.0)] {
            for (a, series) in shifted(8, shift, parts).iter().enumerate() {
                for x in [-1.0, -0.3, 0.5, 0.9] {
                    let sum: f64 = series.iter().enumerate().map(|(b, c)| c * t(b, x)).sum();
                    assert!((sum - t(a, (x + shift) / parts)).abs() < 1e-13, "{a} {x}");
                }
            }
        }
    }

    #[test]
    fn polynomials_of_a_difference_are_series() {
        let all = differences(9, 9);
        for (n, series) in all.iter().enumerate() {
            for (x, y) in [(0.3, -0.7), (-1.0, 0.9), (0.55, 0.1)] {
                let term = |k: usize| series[k] * t(k / 10, x) * t(k % 10, y);
                let sum: f64 = (0..100).map(term).sum();
                assert!((sum - t(n, 0.5 * (x - y))).abs() < 1e-13, "{n} {x} {y}");
            }
        }
        assert_eq!(differences(2, 9)[9].len(), 9);
    }
}
