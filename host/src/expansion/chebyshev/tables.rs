//! The matrices of M2L: the kernel's coefficients between two cells at each offset.

use super::Function;
use super::polynomials::Nodes;
use crate::arith::lanes::Real;
use crate::expansion::basis::Index;
use crate::tree::lists::{is_listed, reach};
use rayon::prelude::*;
use std::collections::HashMap;

/// Matrices of one level by offset of the target from the source.
pub struct Table<T> {
    reach: i64,
    /// Empty at offsets that are near, or that no list has.
    matrices: Vec<Vec<T>>,
}

impl<T: Real> Table<T> {
    pub fn new(kernel: &dyn Function, nodes: &Nodes, terms: &[Index], level: u32, near2: u64) -> Table<T> {
        // Parents up to this far apart along an axis are near.
        let reach = 2 * reach(near2) + 1;
        let edge = 2 * reach + 1;
        let offset = |k: i64| [k / (edge * edge), k / edge % edge, k % edge].map(|x| x - reach);
        let is_symmetric = kernel.is_symmetric();
        let image = |offset: [i64; 3]| if is_symmetric { Image::of(offset) } else { Image::itself(offset) };
        let mut bases: Vec<[i64; 3]> =
            (0..edge.pow(3)).map(offset).filter(|o| is_listed(*o, near2)).map(|o| image(o).base).collect();
        bases.sort_unstable();
        bases.dedup();
        let made = |base: &[i64; 3]| (*base, coefficients(kernel, nodes, terms, level, *base));
        let made: HashMap<[i64; 3], Vec<f64>> = bases.par_iter().map(made).collect();
        let place: HashMap<Index, usize> = terms.iter().copied().zip(0..).collect();
        let matrix = |k: i64| match is_listed(offset(k), near2) {
            true => image(offset(k)).matrix(&made, terms, &place),
            false => Vec::new(),
        };
        Table { reach, matrices: (0..edge.pow(3)).into_par_iter().map(matrix).collect() }
    }

    /// The matrix of an offset, row by row.
    pub fn find(&self, offset: [i64; 3]) -> Option<&[T]> {
        let edge = 2 * self.reach + 1;
        if offset.iter().any(|x| x.abs() > self.reach) {
            return None;
        }
        let place = offset.iter().fold(0, |place, x| place * edge + x + self.reach);
        Some(&self.matrices[place as usize][..]).filter(|m| !m.is_empty())
    }
}

/// An offset as the image of one without negative coordinates, in ascending order.
struct Image {
    base: [i64; 3],
    /// The axis of the base that each axis is.
    axes: [usize; 3],
    mirrored: [bool; 3],
}

impl Image {
    fn itself(offset: [i64; 3]) -> Image {
        Image { base: offset, axes: [0, 1, 2], mirrored: [false; 3] }
    }

    fn of(offset: [i64; 3]) -> Image {
        let mut sorted = [0, 1, 2];
        sorted.sort_by_key(|a: &usize| offset[*a].abs());
        let mut axes = [0; 3];
        sorted.iter().enumerate().for_each(|(k, a)| axes[*a] = k);
        Image { base: sorted.map(|a| offset[a].abs()), axes, mirrored: offset.map(|x| x < 0) }
    }

    /// The matrix at the offset from that of the base: a mirrored axis changes the sign of odd polynomials.
    fn matrix<T: Real>(
        &self,
        made: &HashMap<[i64; 3], Vec<f64>>,
        terms: &[Index],
        place: &HashMap<Index, usize>,
    ) -> Vec<T> {
        let base = &made[&self.base];
        let of_term = |n: &Index| {
            let mut of_base = [0; 3];
            (0..3).for_each(|a| of_base[self.axes[a]] = n[a]);
            let odd = (0..3).filter(|a| self.mirrored[*a]).map(|a| n[a] as usize).sum::<usize>() % 2;
            (place[&of_base], if odd == 0 { 1.0 } else { -1.0 })
        };
        let images: Vec<(usize, f64)> = terms.iter().map(of_term).collect();
        let row = |a: &(usize, f64)| {
            let (a, sign) = *a;
            images.iter().map(move |(b, other)| T::of(sign * other * base[a * terms.len() + b]))
        };
        images.iter().flat_map(row).collect()
    }
}

/// K_ab for two cells of a level, the target's centre at `offset` edges from the source's: row a, column b.
pub fn coefficients(kernel: &dyn Function, nodes: &Nodes, terms: &[Index], level: u32, offset: [i64; 3]) -> Vec<f64> {
    let n = nodes.x.len();
    let edge = 2f64.powi(-(level as i32));
    // Differences along an axis are the same for many pairs of nodes: each is looked at once.
    let axes: [(Vec<f64>, Vec<usize>); 3] = offset.map(|o| {
        let (mut distinct, mut places) = (Vec::new(), HashMap::new());
        let of_pair = (0..n * n).map(|k| {
            let (i, j) = (k / n, k % n);
            let d = o as f64 + 0.5 * (nodes.x[i] - nodes.x[j]);
            *places.entry((d * 2f64.powi(40)).round() as i64).or_insert_with(|| {
                distinct.push(d * edge);
                distinct.len() - 1
            })
        });
        let of_pair = of_pair.collect();
        (distinct, of_pair)
    });
    let [(x, of_x), (y, of_y), (z, of_z)] = &axes;
    let mut differences = Vec::with_capacity(x.len() * y.len() * z.len());
    for x in x {
        for y in y {
            differences.extend(z.iter().map(|z| [*x, *y, *z]));
        }
    }
    let mut values = vec![[0.0; 4]; differences.len()];
    kernel.values(&differences, &mut values);
    // The nodes' indices in the order x, y, z of the target and of the source.
    let mut all = Vec::with_capacity(n.pow(6));
    let pairs = n * n;
    for target in 0..n.pow(3) {
        let t = [target / pairs, target / n % n, target % n];
        for source in 0..n.pow(3) {
            let s = [source / pairs, source / n % n, source % n];
            let place = (of_x[t[0] * n + s[0]] * y.len() + of_y[t[1] * n + s[1]]) * z.len() + of_z[t[2] * n + s[2]];
            all.push(values[place][0]);
        }
    }
    let degrees = nodes.factors.len();
    let all = (0..6).fold(all, |all, _| transform(nodes, &all));
    let place = |n: &Index| (n[0] as usize * degrees + n[1] as usize) * degrees + n[2] as usize;
    let places: Vec<usize> = terms.iter().map(place).collect();
    let row = |a: &usize| places.iter().map(|b| all[a * degrees.pow(3) + b]).collect::<Vec<f64>>();
    places.iter().flat_map(row).collect()
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
