//! The coefficients of a kernel between two cells, from its values at Chebyshev nodes of the differences of their points.

use super::Function;
use super::polynomials::{Nodes, differences};
use crate::arith::lanes::{fastest, madd};
use crate::expansion::basis::Index;

/// The data for coefficients up to an order.
///
/// For x and y in cells, in units of half the edge from the centres, the kernel depends on u = (x - y) / 2 alone. It is
/// expanded there in products of T_n(u) first; how these are made of T_a(x) T_b(y) is known. That takes few values of the
/// kernel: (2P+5)^3 in place of one for each pair of nodes in two cells.
pub struct Series {
    order: usize,
    pub terms: Vec<Index>,
    nodes: Nodes,
    differences: Vec<Vec<f64>>,
}

/// Degrees of T_n(u) beyond twice the order. In u, the kernel's series falls as (1 + sqrt 2)^-n at least, in x and y each as
/// (2 + sqrt 5)^-n, between the nearest cells at an angle of 0.5: with these degrees the first is off by less than what the
/// second leaves out, at every order.
const BEYOND: usize = 4;

impl Series {
    pub fn new(order: usize, terms: Vec<Index>) -> Series {
        let degree = 2 * order + BEYOND;
        Series { order, terms, nodes: Nodes::new(degree + 1, degree), differences: differences(order, degree) }
    }

    /// K_ab for two cells of an edge, the target's centre at `offset` edges from the source's: row a, column b.
    pub fn coefficients(&self, kernel: &dyn Function, edge: f64, offset: [i64; 3]) -> Vec<f64> {
        let [x, y, z] = offset.map(|o| self.nodes.x.iter().map(|u| (o as f64 + u) * edge).collect::<Vec<f64>>());
        let points: Vec<[f64; 3]> =
            x.iter().flat_map(|x| y.iter().flat_map(|y| z.iter().map(|z| [*x, *y, *z]))).collect();
        let mut values = vec![[0.0; 4]; points.len()];
        kernel.values(&points, &mut values);
        self.of_values(values.iter().map(|v| v[0]).collect())
    }

    /// The same from the values of any function of u at all nodes.
    pub fn of_values(&self, values: Vec<f64>) -> Vec<f64> {
        let series = (0..3).fold(values, |values, _| transform(&self.nodes, &values));
        let mut matrix = vec![0.0; self.terms.len() * self.terms.len()];
        expand(self, &series, &mut matrix);
        matrix
    }

    /// The nodes of u along an axis.
    pub fn nodes(&self) -> &[f64] {
        &self.nodes.x
    }
}

fastest! {
    /// From a series in T_n(u) to one in T_a(x) T_b(y), axis by axis.
    fn expand(e: &Series, series: &[f64], matrix: &mut [f64]) = expand_body
}

#[inline(always)]
fn expand_body<const FMA: bool>(e: &Series, series: &[f64], matrix: &mut [f64]) {
    let (n, degrees) = (e.nodes.x.len(), e.order + 1);
    let pairs = degrees * degrees;
    let mut along_z = vec![0.0; n * pairs];
    let mut along_y = vec![0.0; pairs * pairs];
    for (x, plane) in series.chunks_exact(n * n).enumerate() {
        along_z.fill(0.0);
        for (to, row) in along_z.chunks_exact_mut(pairs).zip(plane.chunks_exact(n)) {
            for (c, z) in row.iter().zip(&e.differences) {
                add::<FMA>(to, *c, z);
            }
        }
        along_y.fill(0.0);
        for (from, y) in along_z.chunks_exact(pairs).zip(&e.differences) {
            for (to, c) in along_y.chunks_exact_mut(pairs).zip(y).filter(|(_, c)| **c != 0.0) {
                add::<FMA>(to, *c, from);
            }
        }
        let along_x = &e.differences[x];
        for (row, a) in matrix.chunks_exact_mut(e.terms.len()).zip(&e.terms) {
            for (to, b) in row.iter_mut().zip(&e.terms) {
                let [x, y, z] = [0, 1, 2].map(|k| a[k] as usize * degrees + b[k] as usize);
                *to = madd::<f64, FMA>(along_x[x], along_y[y * pairs + z], *to);
            }
        }
    }
}

/// Adds a multiple.
#[inline(always)]
fn add<const FMA: bool>(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = madd::<f64, FMA>(factor, *from, *to));
}

/// Replaces nodes by degrees along the first index, which becomes the last.
pub fn transform(nodes: &Nodes, values: &[f64]) -> Vec<f64> {
    let (n, degrees) = (nodes.x.len(), nodes.factors.len());
    let rest = values.len() / n;
    let mut out = vec![0.0; rest * degrees];
    let mut row = vec![0.0; rest];
    for (a, factors) in nodes.factors.iter().enumerate() {
        row.fill(0.0);
        for (factor, values) in factors.iter().zip(values.chunks_exact(rest)) {
            row.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
        }
        out.iter_mut().skip(a).step_by(degrees).zip(&row).for_each(|(out, sum)| *out = *sum);
    }
    out
}
