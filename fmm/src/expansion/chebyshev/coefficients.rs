//! The coefficients of a kernel between two cells, from its values at Chebyshev nodes of the differences of their points.

use super::Function;
use super::polynomials::{Nodes, differences};
use crate::arith::lanes::{fastest, madd};
use crate::expansion::basis::{Index, degree};

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
    /// The terms whose degree in x is even, and those whose is odd, by that degree.
    columns: [Vec<Column>; 2],
}

/// A term of sources.
struct Column {
    term: u32,
    /// Its degree in x.
    x: u32,
    /// The increments of the place of a pair along y and of one along z.
    yz: u32,
}

/// Degrees of T_n(u) beyond twice the order. In u, the kernel's series falls as (1 + sqrt 2)^-n at least, in x and y each as
/// (2 + sqrt 5)^-n, between the nearest cells at an angle of 0.5: with these degrees the first is off by less than what the
/// second leaves out, at every order.
const BEYOND: usize = 4;

impl Series {
    pub fn new(order: usize, terms: Vec<Index>) -> Series {
        let degree = 2 * order + BEYOND;
        let pairs = (order as u32 + 1).pow(2);
        let column = |(n, term): (&Index, u32)| {
            let [x, y, z] = n.map(|k| k as u32);
            Column { term, x, yz: y * pairs + z }
        };
        let of_parity = |odd: u32| {
            let mut columns: Vec<Column> = terms.iter().zip(0..).map(column).filter(|c| c.x % 2 == odd).collect();
            columns.sort_by_key(|c| c.x);
            columns
        };
        let columns = [0, 1].map(of_parity);
        Series { order, terms, nodes: Nodes::new(degree + 1, degree), differences: differences(order, degree), columns }
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
    let (n, degrees, size) = (e.nodes.x.len(), e.order + 1, e.terms.len());
    let pairs = degrees * degrees;
    let mut along_z = vec![0.0; n * pairs];
    let mut along_y = vec![0.0; pairs * pairs];
    for (x, plane) in series.chunks_exact(n * n).enumerate() {
        // What is beyond the highest degree in all is as small as what is along each axis.
        let rest = n - x;
        along_z[..rest * pairs].fill(0.0);
        for (y, (to, row)) in along_z.chunks_exact_mut(pairs).zip(plane.chunks_exact(n)).take(rest).enumerate() {
            for (c, z) in row.iter().zip(&e.differences).take(rest - y) {
                add::<FMA>(to, *c, z);
            }
        }
        along_y.fill(0.0);
        for (from, y) in along_z.chunks_exact(pairs).zip(&e.differences).take(rest) {
            for (to, c) in along_y.chunks_exact_mut(pairs).zip(y).filter(|(_, c)| **c != 0.0) {
                add::<FMA>(to, *c, from);
            }
        }
        // T_x has the products of polynomials alone whose degrees add up to x, or to 2, 4, ... less.
        for (a, row) in matrix.chunks_exact_mut(size).enumerate() {
            let [ax, ay, az] = e.terms[a].map(|k| k as usize);
            if ax > x {
                continue;
            }
            let columns = &e.columns[(x - ax) % 2];
            let first = columns.partition_point(|b| (b.x as usize) < ax);
            let end = columns.partition_point(|b| b.x as usize <= x - ax);
            let (along_x, along_y) = (&e.differences[x][ax * degrees..], &along_y[(ay * pairs + az) * degrees..]);
            for b in columns.get(first..end).unwrap_or_default() {
                let to = &mut row[b.term as usize];
                *to = madd::<f64, FMA>(along_x[b.x as usize], along_y[b.yz as usize], *to);
            }
        }
    }
    // Exchanging source and target mirrors all axes: K_ba = (-1)^(|a| + |b|) K_ab.
    for a in 0..size {
        for b in 0..size {
            if e.terms[b][0] < e.terms[a][0] {
                let is_odd = (degree(e.terms[a]) + degree(e.terms[b])) % 2 == 1;
                let other = matrix[b * size + a];
                matrix[a * size + b] = if is_odd { -other } else { other };
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
