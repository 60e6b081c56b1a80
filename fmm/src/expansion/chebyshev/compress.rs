//! The combinations of terms that matter between far cells: singular vectors of all matrices of M2L together.
//!
//! Fong and Darve take the singular vectors of all matrices side by side for the terms of sources, and of all above each other
//! for those of targets. They are the eigenvectors of the sums of `K^T K` and of `K K^T`. Where mirroring an offset changes but
//! the signs of odd terms, these sums have no entries between classes of parity, and are one where the kernel does not change.

/// A block of a basis: terms of one class, and orthonormal combinations of them, row by row.
pub struct Block {
    pub class: usize,
    pub terms: Vec<usize>,
    /// For each combination its place among all that are kept, and its row.
    pub kept: Vec<(usize, Vec<f64>)>,
}

/// Eigenvectors of a symmetric matrix, the one with the largest eigenvalue first.
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

    /// Adds `factor` times K K^T.
    pub fn add(&mut self, factor: f64, matrix: &[f64]) {
        for ((_, terms), sums) in self.classes.iter().zip(&mut self.sums) {
            for (a, sums) in terms.iter().zip(sums.chunks_exact_mut(terms.len())) {
                for (b, sum) in terms.iter().zip(sums) {
                    *sum += factor * dot(&matrix[a * self.size..][..self.size], &matrix[b * self.size..][..self.size]);
                }
            }
        }
    }

    /// Adds the blocks of another.
    pub fn join(mut self, other: &Gram) -> Gram {
        let all = self.sums.iter_mut().flatten().zip(other.sums.iter().flatten());
        all.for_each(|(sum, other)| *sum += other);
        self
    }

    /// The combinations, those that matter most first.
    pub fn spectrum(&self) -> Spectrum<'_> {
        let all: Vec<Vec<Eigen>> =
            self.classes.iter().zip(&self.sums).map(|((_, t), sums)| eigen(t.len(), sums.clone())).collect();
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
    /// How many combinations are needed, if what is left out of the sum of squares is at most `most`; at least one.
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

/// How many combinations blocks keep.
pub fn rank(blocks: &[Block]) -> usize {
    blocks.iter().map(|b| b.kept.len()).sum()
}

/// The class of each combination.
pub fn classes(blocks: &[Block]) -> Vec<usize> {
    let mut classes = vec![0; rank(blocks)];
    blocks.iter().for_each(|b| b.kept.iter().for_each(|(place, _)| classes[*place] = b.class));
    classes
}

/// U^T K V.
pub fn between(left: &[Block], matrix: &[f64], right: &[Block]) -> Vec<f64> {
    let columns: usize = right.iter().map(|b| b.terms.len()).sum();
    let (rows, of_right) = (rank(left), rank(right));
    let mut all = vec![0.0; rows * of_right];
    let mut half = vec![0.0; columns];
    for block in left {
        for (row, vector) in &block.kept {
            half.fill(0.0);
            for (term, factor) in block.terms.iter().zip(vector) {
                let from = &matrix[term * columns..][..columns];
                half.iter_mut().zip(from).for_each(|(sum, x)| *sum += factor * x);
            }
            for block in right {
                for (column, vector) in &block.kept {
                    let entries = block.terms.iter().zip(vector);
                    all[row * of_right + column] = entries.map(|(term, factor)| half[*term] * factor).sum();
                }
            }
        }
    }
    all
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (whole, rest) = (a.len() / 8 * 8, a.len() % 8);
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        (0..8).for_each(|i| sums[i] += a[i] * b[i]);
    }
    (0..rest).for_each(|i| sums[i] += a[whole + i] * b[whole + i]);
    sums.iter().sum()
}

/// Sweeps after which rotations have long been rounding.
const SWEEPS: usize = 30;

/// Eigenvectors by rotations of pairs of rows (Jacobi).
fn eigen(n: usize, mut a: Vec<f64>) -> Vec<Eigen> {
    let mut v = vec![0.0; n * n];
    (0..n).for_each(|k| v[k * n + k] = 1.0);
    for _ in 0..SWEEPS {
        let of = |is_beside: bool| {
            let chosen = a.iter().enumerate().filter(move |(k, _)| (k / n != k % n) == is_beside);
            chosen.map(|(_, x)| x * x).sum::<f64>()
        };
        let (diagonal, beside) = (of(false), of(true));
        if beside <= 1e-32 * diagonal {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let off = a[p * n + q];
                if off.abs() <= 1e-18 * (a[p * n + p].abs() * a[q * n + q].abs()).sqrt() {
                    continue;
                }
                let angle = (a[q * n + q] - a[p * n + p]) / (2.0 * off);
                let t = angle.signum() / (angle.abs() + angle.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                rotate_rows(&mut a, n, (p, q), (c, t * c));
                for row in a.chunks_exact_mut(n) {
                    (row[p], row[q]) = (c * row[p] - t * c * row[q], t * c * row[p] + c * row[q]);
                }
                rotate_rows(&mut v, n, (p, q), (c, t * c));
            }
        }
    }
    let mut all: Vec<Eigen> =
        (0..n).map(|k| Eigen { value: a[k * n + k], vector: v[k * n..(k + 1) * n].to_vec() }).collect();
    all.sort_by(|a, b| b.value.total_cmp(&a.value));
    all
}

fn rotate_rows(a: &mut [f64], n: usize, (p, q): (usize, usize), (c, s): (f64, f64)) {
    let (upper, lower) = a.split_at_mut(q * n);
    for (x, y) in upper[p * n..][..n].iter_mut().zip(&mut lower[..n]) {
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
        gram.add(2.0, &matrix);
        for most in [1e-2, 1e-4, 1e-7] {
            let spectrum = gram.spectrum();
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
            let off: f64 = 2.0 * left.iter().map(|x| x * x).sum::<f64>();
            assert!(off <= 1.01 * most, "{off:e} {most:e}");
        }
        assert_eq!(gram.spectrum().needed(1e9), 1);
    }
}
