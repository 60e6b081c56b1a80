//! The combinations of terms that matter between far cells: singular vectors of all matrices of M2L together.
//!
//! Fong and Darve take the singular vectors of all matrices side by side for the terms of sources, and of all above each other
//! for those of targets. They are the eigenvectors of the sums of `K^T K` and of `K K^T`. Where mirroring an offset changes but
//! the signs of odd terms, these sums have no entries between classes of parity, and are one where the kernel does not change.

use crate::arith::lanes::{fastest, madd};
use crate::parallel::prelude::*;

/// A block of a basis: terms of one class, and orthonormal combinations of them, row by row.
pub struct Block {
    pub class: usize,
    pub terms: Vec<usize>,
    /// For each combination its place among all that are kept, and its row.
    pub kept: Vec<(usize, Vec<f64>)>,
}

/// An eigenvector of a symmetric matrix; of several, the one with the largest eigenvalue first.
#[derive(Clone)]
struct Eigen {
    value: f64,
    vector: Vec<f64>,
}

/// The blocks of a matrix between the terms of each class.
pub struct Gram {
    classes: Vec<(usize, Vec<usize>)>,
    sums: Vec<Vec<f64>>,
    size: usize,
}

impl Gram {
    /// For terms of these classes.
    pub fn new(classes: &[usize]) -> Gram {
        let of_class = |class: usize| (0..classes.len()).filter(|k| classes[*k] == class).collect::<Vec<_>>();
        let classes_of: Vec<(usize, Vec<usize>)> =
            (0..8).map(|c| (c, of_class(c))).filter(|(_, terms)| !terms.is_empty()).collect();
        let sums = classes_of.iter().map(|(_, t)| vec![0.0; t.len() * t.len()]).collect();
        Gram { classes: classes_of, sums, size: classes.len() }
    }

    /// Adds K K^T.
    pub fn add(&mut self, matrix: &[f64]) {
        for ((_, terms), sums) in self.classes.iter().zip(&mut self.sums) {
            add_products(&Rows { matrix, size: self.size, terms }, sums);
        }
    }

    /// Adds `factor` times another, each of whose terms is one of `terms`, in their order.
    pub fn add_exchanged(&mut self, factor: f64, other: &Gram, terms: &[usize]) {
        // The class of each term, and its place in it.
        let mut places = vec![(0, 0); self.size];
        for (class, (_, terms)) in other.classes.iter().enumerate() {
            terms.iter().enumerate().for_each(|(place, term)| places[*term] = (class, place));
        }
        for ((_, own), sums) in self.classes.iter().zip(&mut self.sums) {
            let own: Vec<(usize, usize)> = own.iter().map(|term| places[terms[*term]]).collect();
            for ((class, a), sums) in own.iter().zip(sums.chunks_exact_mut(own.len())) {
                let row = &other.sums[*class][a * own.len()..][..own.len()];
                sums.iter_mut().zip(&own).for_each(|(sum, (_, b))| *sum += factor * row[*b]);
            }
        }
    }

    /// Adds the blocks of another.
    pub fn join(mut self, other: &Gram) -> Gram {
        let all = self.sums.iter_mut().flatten().zip(other.sums.iter().flatten());
        all.for_each(|(sum, other)| *sum += other);
        self
    }

    /// The combinations, those that matter most first. `exchanges` has for each class that which it is like but for an exchange of terms,
    /// and what they are there; or nothing.
    pub fn spectrum(&self, exchanges: &[(usize, Vec<usize>)]) -> Spectrum<'_> {
        let is_like = |class: usize| exchanges.get(class).map_or(class, |(like, _)| *like);
        let place =
            |class: usize| self.classes.iter().position(|(c, _)| *c == class).expect("classes have terms alike");
        let own = |at: usize| {
            let (class, terms) = &self.classes[at];
            (is_like(*class) == *class).then(|| eigen(terms.len(), self.sums[at].clone()))
        };
        let made: Vec<Option<Vec<Eigen>>> = (0..self.classes.len()).into_par_iter().map(own).collect();
        let image = |(at, (class, terms)): (usize, &(usize, Vec<usize>))| {
            if let Some(own) = &made[at] {
                return own.clone();
            }
            let like = place(is_like(*class));
            let of = |term: &usize| {
                let there = exchanges[*class].1[*term];
                self.classes[like].1.binary_search(&there).expect("it is one of the class")
            };
            let places: Vec<usize> = terms.iter().map(of).collect();
            let exchanged = |e: &Eigen| Eigen { value: e.value, vector: places.iter().map(|k| e.vector[*k]).collect() };
            made[like].iter().flatten().map(exchanged).collect()
        };
        let all: Vec<Vec<Eigen>> = self.classes.iter().enumerate().map(image).collect();
        let mut order: Vec<(usize, usize)> =
            all.iter().enumerate().flat_map(|(c, of)| (0..of.len()).map(move |k| (c, k))).collect();
        order.sort_by(|a, b| all[b.0][b.1].value.total_cmp(&all[a.0][a.1].value));
        Spectrum { classes: &self.classes, all, order }
    }
}

/// All combinations of terms.
pub struct Spectrum<'a> {
    classes: &'a [(usize, Vec<usize>)],
    all: Vec<Vec<Eigen>>,
    /// Class and place in it, the largest eigenvalue first.
    order: Vec<(usize, usize)>,
}

impl Spectrum<'_> {
    /// The number of combinations that leave at most `most` out of the sum of squares; at least one.
    pub fn needed(&self, most: f64) -> usize {
        let value = |(c, k): (usize, usize)| self.all[c][k].value;
        // Below this, eigenvalues are rounding.
        let noise = f64::EPSILON * self.order.first().map_or(0.0, |first| value(*first));
        let mut rest = 0.0;
        let dropped = self.order.iter().rev().take_while(|k| {
            rest += value(**k).abs().max(noise);
            rest <= most
        });
        (self.order.len() - dropped.count()).max(1)
    }

    /// The first of them.
    pub fn basis(&self, count: usize) -> Vec<Block> {
        let block = |(c, (class, terms)): (usize, &(usize, Vec<usize>))| {
            let of_class = self.order[..count].iter().enumerate().filter(|(_, k)| k.0 == c);
            let kept = of_class.map(|(place, k)| (place, self.all[c][k.1].vector.clone())).collect();
            Block { class: *class, terms: terms.clone(), kept }
        };
        self.classes.iter().enumerate().map(block).collect()
    }
}

/// The number of combinations that blocks keep.
pub fn rank(blocks: &[Block]) -> usize {
    blocks.iter().map(|b| b.kept.len()).sum()
}

/// The class of each combination.
pub fn classes(blocks: &[Block]) -> Vec<usize> {
    let mut classes = vec![0; rank(blocks)];
    blocks.iter().for_each(|b| b.kept.iter().for_each(|(place, _)| classes[*place] = b.class));
    classes
}

/// U^T K V, where each term is one of `exchanged` of the matrix.
pub fn between(left: &[Block], matrix: &[f64], exchanged: &[usize], right: &[Block]) -> Vec<f64> {
    let mut all = vec![0.0; rank(left) * rank(right)];
    fill_between(&Sides { left, right, exchanged }, matrix, &mut all);
    all
}

struct Sides<'a> {
    left: &'a [Block],
    right: &'a [Block],
    exchanged: &'a [usize],
}

/// Some rows of a matrix.
struct Rows<'a> {
    matrix: &'a [f64],
    size: usize,
    terms: &'a [usize],
}

fastest! {
    fn fill_between(sides: &Sides, matrix: &[f64], all: &mut [f64]) = fill_between_body
}

fastest! {
    /// Adds the products of all rows with each other.
    fn add_products(rows: &Rows, sums: &mut [f64]) = add_products_body
}

#[inline(always)]
fn fill_between_body<const FMA: bool>(Sides { left, right, exchanged }: &Sides, matrix: &[f64], all: &mut [f64]) {
    let (columns, of_right) = (exchanged.len(), rank(right));
    let mut half = vec![0.0; columns];
    // The sums of a class, in the order of its terms.
    let mut of_class: Vec<Vec<f64>> = right.iter().map(|block| vec![0.0; block.terms.len()]).collect();
    for block in *left {
        for (row, vector) in &block.kept {
            half.fill(0.0);
            for (term, factor) in block.terms.iter().zip(vector) {
                let from = &matrix[exchanged[*term] * columns..][..columns];
                half.iter_mut().zip(from).for_each(|(sum, x)| *sum = madd::<f64, FMA>(*factor, *x, *sum));
            }
            for (block, sums) in right.iter().zip(&mut of_class) {
                sums.iter_mut().zip(&block.terms).for_each(|(sum, term)| *sum = half[exchanged[*term]]);
                for (column, vector) in &block.kept {
                    all[row * of_right + column] = dot::<FMA>(sums, vector);
                }
            }
        }
    }
}

#[inline(always)]
fn add_products_body<const FMA: bool>(rows: &Rows, sums: &mut [f64]) {
    let (n, row) = (rows.terms.len(), |k: usize| &rows.matrix[rows.terms[k] * rows.size..][..rows.size]);
    for a in 0..n {
        for b in a..n {
            let product = dot::<FMA>(row(a), row(b));
            sums[a * n + b] += product;
            if a != b {
                sums[b * n + a] += product;
            }
        }
    }
}

#[inline(always)]
fn dot<const FMA: bool>(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 16];
    let (whole, rest) = (a.len() / 16 * 16, a.len() % 16);
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for i in 0..16 {
            sums[i] = madd::<f64, FMA>(a[i], b[i], sums[i]);
        }
    }
    for i in 0..rest {
        sums[i] = madd::<f64, FMA>(a[whole + i], b[whole + i], sums[i]);
    }
    sums.iter().sum()
}

/// Steps for an eigenvalue after which it has long converged.
const STEPS: usize = 60;

/// Eigenvectors by Householder's reflections to a tridiagonal matrix and QL steps with implicit shifts (Bowdler, Martin, Reinsch and
/// Wilkinson, Numer. Math. 11, 1968).
fn eigen(n: usize, a: Vec<f64>) -> Vec<Eigen> {
    let (mut v, mut d, mut e) = (a, vec![0.0; n], vec![0.0; n]);
    reflect(n, &mut v, &mut d, &mut e);
    // Vectors are rows, of which a rotation takes two.
    let mut rows: Vec<f64> = (0..n * n).map(|k| v[k % n * n + k / n]).collect();
    ql(n, &mut rows, &mut d, &mut e);
    let mut all: Vec<Eigen> =
        (0..n).map(|k| Eigen { value: d[k], vector: rows[k * n..(k + 1) * n].to_vec() }).collect();
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    all
}

/// To a tridiagonal matrix with the diagonal `d` and beside it `e`, from its second number on; `v` becomes the product of the reflections.
fn reflect(n: usize, v: &mut [f64], d: &mut [f64], e: &mut [f64]) {
    d.copy_from_slice(&v[(n - 1) * n..]);
    for i in (1..n).rev() {
        let scale: f64 = d[..i].iter().map(|x| x.abs()).sum();
        let mut h = 0.0;
        if scale == 0.0 {
            e[i] = d[i - 1];
            for j in 0..i {
                d[j] = v[(i - 1) * n + j];
                (v[i * n + j], v[j * n + i]) = (0.0, 0.0);
            }
        } else {
            for x in &mut d[..i] {
                *x /= scale;
                h += *x * *x;
            }
            let f = d[i - 1];
            let g = if f > 0.0 { -h.sqrt() } else { h.sqrt() };
            e[i] = scale * g;
            h -= f * g;
            d[i - 1] = f - g;
            e[..i].fill(0.0);
            for j in 0..i {
                let f = d[j];
                v[j * n + i] = f;
                let mut g = e[j] + v[j * n + j] * f;
                for k in j + 1..i {
                    g += v[k * n + j] * d[k];
                    e[k] += v[k * n + j] * f;
                }
                e[j] = g;
            }
            let mut f = 0.0;
            for j in 0..i {
                e[j] /= h;
                f += e[j] * d[j];
            }
            let both = f / (h + h);
            for j in 0..i {
                e[j] -= both * d[j];
            }
            for j in 0..i {
                let (f, g) = (d[j], e[j]);
                for k in j..i {
                    v[k * n + j] -= f * e[k] + g * d[k];
                }
                d[j] = v[(i - 1) * n + j];
                v[i * n + j] = 0.0;
            }
        }
        d[i] = h;
    }
    for i in 0..n - 1 {
        v[(n - 1) * n + i] = v[i * n + i];
        v[i * n + i] = 1.0;
        let h = d[i + 1];
        if h != 0.0 {
            for k in 0..=i {
                d[k] = v[k * n + i + 1] / h;
            }
            for j in 0..=i {
                let g: f64 = (0..=i).map(|k| v[k * n + i + 1] * v[k * n + j]).sum();
                for k in 0..=i {
                    v[k * n + j] -= g * d[k];
                }
            }
        }
        for k in 0..=i {
            v[k * n + i + 1] = 0.0;
        }
    }
    for j in 0..n {
        d[j] = v[(n - 1) * n + j];
        v[(n - 1) * n + j] = 0.0;
    }
    v[n * n - 1] = 1.0;
    e[0] = 0.0;
}

/// Eigenvalues of a tridiagonal matrix in `d`; the rotations act on the rows of `v`.
fn ql(n: usize, v: &mut [f64], d: &mut [f64], e: &mut [f64]) {
    e.rotate_left(1);
    e[n - 1] = 0.0;
    let (mut shift, mut largest) = (0.0, 0.0f64);
    for l in 0..n {
        largest = largest.max(d[l].abs() + e[l].abs());
        let is_small = |x: f64| x.abs() <= f64::EPSILON * largest;
        let m = (l..n).find(|m| is_small(e[*m])).unwrap_or(n - 1);
        for _ in 0..STEPS {
            if m == l || is_small(e[l]) {
                break;
            }
            let g = d[l];
            let p = (d[l + 1] - g) / (2.0 * e[l]);
            let r = p.hypot(1.0).copysign(p);
            d[l] = e[l] / (p + r);
            d[l + 1] = e[l] * (p + r);
            let (next, h) = (d[l + 1], g - d[l]);
            d[l + 2..].iter_mut().for_each(|x| *x -= h);
            shift += h;
            let mut p = d[m];
            let (mut c, mut c2, mut c3) = (1.0, 1.0, 1.0);
            let (mut s, mut s2) = (0.0, 0.0);
            let beside = e[l + 1];
            for i in (l..m).rev() {
                (c3, c2, s2) = (c2, c, s);
                let (g, h) = (c * e[i], c * p);
                let r = p.hypot(e[i]);
                e[i + 1] = s * r;
                (s, c) = (e[i] / r, p / r);
                p = c * d[i] - s * g;
                d[i + 1] = h + s * (c * g + s * d[i]);
                rotate_rows(v, n, i, (c, s));
            }
            p = -s * s2 * c3 * beside * e[l] / next;
            (e[l], d[l]) = (s * p, c * p);
        }
        d[l] += shift;
        e[l] = 0.0;
    }
}

fn rotate_rows(v: &mut [f64], n: usize, i: usize, (c, s): (f64, f64)) {
    let (upper, lower) = v[i * n..(i + 2) * n].split_at_mut(n);
    for (x, y) in upper.iter_mut().zip(lower) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_make_up_the_matrix() {
        let n = 9;
        let at = |i: usize, j: usize| 1.0 / (1.0 + (i + j) as f64) + if i == j { 0.1 * i as f64 } else { 0.0 };
        let a: Vec<f64> = (0..n * n).map(|k| at(k / n, k % n)).collect();
        let all = eigen(n, a.clone());
        assert!(all.windows(2).all(|w| w[0].value >= w[1].value));
        for (k, wanted) in a.iter().enumerate() {
            let sum: f64 = all.iter().map(|e| e.value * e.vector[k / n] * e.vector[k % n]).sum();
            assert!((sum - wanted).abs() < 1e-13, "{sum} {wanted}");
        }
    }

    #[test]
    fn what_is_left_out_is_as_small_as_was_asked_for() {
        let n = 6;
        let entry = |a: usize, b: usize| {
            if (a + b).is_multiple_of(2) { 0.2f64.powi((a + b) as i32) * (1.0 + a as f64) } else { 0.0 }
        };
        let matrix: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
        let mut gram = Gram::new(&[0, 1, 0, 1, 0, 1]);
        gram.add(&matrix);
        for most in [1e-2, 1e-4, 1e-7] {
            let spectrum = gram.spectrum(&[]);
            let basis = spectrum.basis(spectrum.needed(most));
            assert!(rank(&basis) < n);
            // U U^T K is what is kept.
            let mut left = matrix.clone();
            for block in &basis {
                for (_, vector) in &block.kept {
                    for column in 0..n {
                        let along: f64 = block.terms.iter().zip(vector).map(|(t, v)| v * matrix[t * n + column]).sum();
                        block.terms.iter().zip(vector).for_each(|(t, v)| left[t * n + column] -= v * along);
                    }
                }
            }
            let off: f64 = left.iter().map(|x| x * x).sum::<f64>();
            assert!(off <= 1.01 * most, "{off:e} {most:e}");
        }
        assert_eq!(gram.spectrum(&[]).needed(1e9), 1);
    }
}
