//! P2P on the CPU, in f64 or f32: each leaf gathers its sources once and runs over them for every target.

use crate::direct::act;
use crate::lanes::{Real, fastest, madd};
use crate::lists::Lists;
use crate::passes::{Force, by_leaf};
use crate::tree::Tree;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sources worked on together.
const LANES: usize = 16;

/// Sources gathered for one leaf, filled up with charges of 0 that lie far away.
#[derive(Default)]
struct Sources<T> {
    x: [Vec<T>; 3],
    q: Vec<T>,
}

/// Sums at one target, and how many sources were at distance 0, the target itself included.
#[derive(Clone, Copy, Default)]
struct Sums<T> {
    force: [T; 4],
    zeros: T,
}

/// Adds the direct interactions to `out`, in box units. `eps` is in box units too. Returns the number of targets that
/// were computed again in f64, because T could not tell two of their sources from coincident ones.
pub fn p2p<T: Real>(tree: &Tree, lists: &Lists, eps: f64, out: &mut [Force]) -> u64 {
    let twins = twins(tree);
    let again = AtomicU64::new(0);
    let scratch = || (Sources::<T>::default(), Vec::new());
    by_leaf(tree, out).into_par_iter().for_each_init(scratch, |(sources, targets), (leaf, out)| {
        let frame = Frame::of::<T>(tree, leaf);
        gather(tree, &lists.p2p[leaf], &frame, sources);
        let particles = tree.cells[leaf].particles();
        targets.clear();
        targets.extend(particles.clone().map(|k| (frame.place::<T>(tree, k), Sums::<T>::default())));
        let eps = eps * tree.map.size / frame.unit;
        leaf_sums::<T>(sources, T::of(eps * eps), targets);
        let (potential, gradient) = (tree.map.size / frame.unit, (tree.map.size / frame.unit).powi(2));
        for ((k, out), (_, sums)) in particles.zip(out).zip(&*targets) {
            if sums.zeros.f64() == twins[k] as f64 {
                out[0] += sums.force[0].f64() * potential;
                (1..4).for_each(|a| out[a] += sums.force[a].f64() * gradient);
            } else {
                again.fetch_add(1, Ordering::Relaxed);
                let exact = target(tree, &lists.p2p[leaf], eps * frame.unit / tree.map.size, k);
                (0..4).for_each(|a| out[a] += exact[a]);
            }
        }
    });
    again.into_inner()
}

/// One target in f64, pair by pair, in box units.
pub fn target(tree: &Tree, segments: &[(u32, u32)], eps: f64, k: usize) -> Force {
    let (size, at) = (tree.map.size, tree.position(k));
    let mut sum = [0.0; 4];
    for (first, count) in segments {
        for j in *first as usize..(first + count) as usize {
            let s = tree.position(j);
            act([s[0] - at[0], s[1] - at[1], s[2] - at[2]], tree.charge[j], (eps * size).powi(2), &mut sum);
        }
    }
    [sum[0] * size, sum[1] * size * size, sum[2] * size * size, sum[3] * size * size]
}

/// For each sorted particle the number of particles at exactly its coordinates, itself included.
pub fn twins(tree: &Tree) -> Vec<u32> {
    let mut twins = vec![1; tree.len()];
    let mut first = 0;
    for group in tree.grid.chunk_by(|a, b| a == b) {
        if group.len() > 1 {
            // Adding 0 makes -0 and 0 one key.
            let key = |k: &usize| tree.position(*k).map(|x| (x + 0.0).to_bits());
            let mut members: Vec<usize> = (first..first + group.len()).collect();
            members.sort_unstable_by_key(key);
            for same in members.chunk_by(|a, b| key(a) == key(b)) {
                same.iter().for_each(|k| twins[*k] = same.len() as u32);
            }
        }
        first += group.len();
    }
    twins
}

/// The origin and unit in which a leaf's sums are done. f64 takes scaled coordinates as they are, whose differences
/// are those of the input; f32 counts from the leaf's centre in units of its edge.
struct Frame {
    origin: [f64; 3],
    /// Unit of length in scaled coordinates.
    unit: f64,
}

impl Frame {
    fn of<T: Real>(tree: &Tree, leaf: usize) -> Frame {
        if size_of::<T>() == 8 {
            return Frame { origin: [0.0; 3], unit: 1.0 };
        }
        let (cell, map) = (&tree.cells[leaf], &tree.map);
        let centre = cell.centre();
        Frame { origin: std::array::from_fn(|a| map.centre[a] + centre[a] * map.size), unit: cell.edge() * map.size }
    }

    fn place<T: Real>(&self, tree: &Tree, k: usize) -> [T; 3] {
        std::array::from_fn(|a| T::of((tree.scaled[a][k] - self.origin[a]) / self.unit))
    }
}

fn gather<T: Real>(tree: &Tree, segments: &[(u32, u32)], frame: &Frame, sources: &mut Sources<T>) {
    let far = T::of(3.0e4);
    for a in 0..3 {
        let column = &mut sources.x[a];
        column.clear();
        let inverse = 1.0 / frame.unit;
        for (first, count) in segments {
            let part = &tree.scaled[a][*first as usize..(first + count) as usize];
            // f64 keeps the exact value; for f32 a product is as good as a quotient.
            match frame.unit == 1.0 && frame.origin[a] == 0.0 {
                true => column.extend(part.iter().map(|x| T::of(*x))),
                false => column.extend(part.iter().map(|x| T::of((x - frame.origin[a]) * inverse))),
            }
        }
        column.resize(column.len().next_multiple_of(LANES), far);
    }
    sources.q.clear();
    for (first, count) in segments {
        sources.q.extend(tree.charge[*first as usize..(first + count) as usize].iter().map(|q| T::of(*q)));
    }
    sources.q.resize(sources.x[0].len(), T::default());
}

fastest! {
    fn leaf_sums<T>(sources: &Sources<T>, eps2: T, targets: &mut [([T; 3], Sums<T>)]) = leaf_sums_body
}

#[inline(always)]
fn leaf_sums_body<T: Real, const FMA: bool>(sources: &Sources<T>, eps2: T, targets: &mut [([T; 3], Sums<T>)]) {
    let [x, y, z] = &sources.x;
    let zero = T::default();
    for (at, sums) in targets {
        let mut total = [[zero; LANES]; 5];
        let chunks = x.as_chunks::<LANES>().0.iter().zip(y.as_chunks::<LANES>().0);
        let chunks = chunks.zip(z.as_chunks::<LANES>().0.iter().zip(sources.q.as_chunks::<LANES>().0));
        for ((x, y), (z, q)) in chunks {
            for i in 0..LANES {
                let (dx, dy, dz) = (x[i] - at[0], y[i] - at[1], z[i] - at[2]);
                let r2 = madd::<T, FMA>(dx, dx, madd::<T, FMA>(dy, dy, dz * dz));
                let is_far = r2 > zero;
                let inverse = T::ONE / (r2 + eps2).sqrt();
                let inverse = if is_far { inverse } else { zero };
                total[4][i] += if is_far { zero } else { T::ONE };
                let potential = q[i] * inverse;
                let slope = potential * (inverse * inverse);
                total[0][i] += potential;
                total[1][i] = madd::<T, FMA>(slope, dx, total[1][i]);
                total[2][i] = madd::<T, FMA>(slope, dy, total[2][i]);
                total[3][i] = madd::<T, FMA>(slope, dz, total[3][i]);
            }
        }
        let sum = |lanes: &[T; LANES]| lanes.iter().fold(zero, |a, x| a + *x);
        sums.force = [sum(&total[0]), sum(&total[1]), sum(&total[2]), sum(&total[3])];
        sums.zeros = sum(&total[4]);
    }
}
