//! The operators that stay on the CPU: P2M, M2M, P2L, L2L, L2P, M2P, in f64. Each cell or leaf is worked on by one
//! thread in one order, so that results do not depend on the number of threads.

use crate::arith::lanes::fastest;
use crate::data::Force;
use crate::expansion::shift::Product;
use crate::expansion::{Expansion, LANES, Lane};
use crate::tree::charges::Charges;
use crate::tree::lists::Lists;
use crate::tree::{Cell, Tree};
use rayon::prelude::*;

/// P2M: the multipoles of the leaves.
pub fn p2m(tree: &Tree, charges: &Charges, e: &Expansion, m: &mut [f64]) {
    let scratch = || vec![[0.0; LANES]; 2 * e.m + e.monomials];
    m.par_chunks_exact_mut(e.m).zip(&tree.cells).for_each_init(scratch, |scratch, (m, cell)| {
        if cell.is_leaf() {
            p2m_leaf(tree, charges, e, cell, scratch, m);
        }
    });
}

fastest! {
    fn p2m_leaf(
        tree: &Tree, charges: &Charges, e: &Expansion, cell: &Cell, scratch: &mut [Lane<f64>], m: &mut [f64],
    ) = p2m_leaf_body
}

#[inline(always)]
fn p2m_leaf_body<const FMA: bool>(
    tree: &Tree,
    charges: &Charges,
    e: &Expansion,
    cell: &Cell,
    scratch: &mut [Lane<f64>],
    m: &mut [f64],
) {
    let (sum, rest) = scratch.split_at_mut(e.m);
    let (powers, monomials) = rest.split_at_mut(e.m);
    sum.fill([0.0; LANES]);
    for first in cell.particles().step_by(LANES) {
        let x = block(tree, cell, first, -1.0);
        let q = charges_from(charges, first, (cell.particles().end - first).min(LANES));
        e.powers(&x, monomials, powers);
        for (sum, power) in sum.iter_mut().zip(&*powers) {
            for i in 0..LANES {
                sum[i] += q[i] * power[i];
            }
        }
    }
    for (m, sum) in m.iter_mut().zip(sum) {
        *m = total(sum);
    }
}

/// `sign * (x - c) / h` of up to eight particles of `cell` from `first`.
#[inline(always)]
fn block(tree: &Tree, cell: &Cell, first: usize, sign: f64) -> [Lane<f64>; 3] {
    let count = (cell.particles().end - first).min(LANES);
    relative(tree, first, count, cell.centre(), sign / cell.edge())
}

/// `scale * (x - centre)` of `count` particles from `first`; other lanes have 0.
#[inline(always)]
fn relative(tree: &Tree, first: usize, count: usize, centre: [f64; 3], scale: f64) -> [Lane<f64>; 3] {
    let mut x = [[0.0; LANES]; 3];
    for i in 0..count {
        for a in 0..3 {
            x[a][i] = (tree.unit[a][first + i] - centre[a]) * scale;
        }
    }
    x
}

/// The charges of `count` particles from `first`; other lanes have 0.
#[inline(always)]
fn charges_from(charges: &Charges, first: usize, count: usize) -> Lane<f64> {
    let mut q = [0.0; LANES];
    q[..count].copy_from_slice(&charges.scaled[first..first + count]);
    q
}

/// The sum over lanes in a fixed order.
#[inline(always)]
fn total(x: &Lane<f64>) -> f64 {
    ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
}

/// M2M: the multipoles of all other cells, from the deepest level up.
pub fn m2m(tree: &Tree, e: &Expansion, m: &mut [f64]) {
    for level in tree.levels.iter().rev() {
        let (upper, lower) = m.split_at_mut(level.end * e.m);
        let own = &mut upper[level.start * e.m..];
        own.par_chunks_exact_mut(e.m).zip(&tree.cells[level.clone()]).for_each(|(m, cell)| {
            for child in cell.child_range() {
                let at = (child - level.end) * e.m;
                apply(&e.m2m[tree.cells[child].octant()], &lower[at..at + e.m], m);
            }
        });
    }
}

fn apply(terms: &[Product], src: &[f64], dst: &mut [f64]) {
    for t in terms {
        dst[t.dst as usize] += t.coefficient * src[t.src as usize];
    }
}

/// P2L: particles of coarse leaves onto the local expansions of smaller cells that are not near.
pub fn p2l(tree: &Tree, charges: &Charges, lists: &Lists, e: &Expansion, l: &mut [f64]) {
    let scratch = || vec![[0.0; LANES]; e.l + e.d_point];
    l.par_chunks_exact_mut(e.l).enumerate().for_each_init(scratch, |scratch, (t, l)| {
        if !lists.x[t].is_empty() {
            p2l_cell(tree, charges, e, &tree.cells[t], &lists.x[t], scratch, l);
        }
    });
}

fastest! {
    fn p2l_cell(
        tree: &Tree, charges: &Charges, e: &Expansion, cell: &Cell, sources: &[u32], scratch: &mut [Lane<f64>],
        l: &mut [f64],
    ) = p2l_cell_body
}

#[inline(always)]
fn p2l_cell_body<const FMA: bool>(
    tree: &Tree,
    charges: &Charges,
    e: &Expansion,
    cell: &Cell,
    sources: &[u32],
    scratch: &mut [Lane<f64>],
    l: &mut [f64],
) {
    let (sum, d) = scratch.split_at_mut(e.l);
    sum.fill([0.0; LANES]);
    for s in sources {
        let particles = tree.cells[*s as usize].particles();
        for first in particles.clone().step_by(LANES) {
            let count = (particles.end - first).min(LANES);
            let x = relative(tree, first, count, cell.centre(), -1.0 / cell.edge());
            let q = charges_from(charges, first, count);
            e.derivatives::<f64, FMA>(&x, std::array::from_fn(|i| i < count), d);
            for (sum, k) in sum.iter_mut().zip(&e.derivative) {
                let d = &d[*k as usize];
                for i in 0..LANES {
                    sum[i] += q[i] * d[i];
                }
            }
        }
    }
    for (l, sum) in l.iter_mut().zip(sum) {
        *l += total(sum);
    }
}

/// L2L: from every cell to its children, from the root down.
pub fn l2l(tree: &Tree, e: &Expansion, l: &mut [f64]) {
    for level in tree.levels.iter().skip(1) {
        let (upper, lower) = l.split_at_mut(level.start * e.l);
        let own = &mut lower[..level.len() * e.l];
        own.par_chunks_exact_mut(e.l).zip(&tree.cells[level.clone()]).for_each(|(l, cell)| {
            let at = cell.parent as usize * e.l;
            apply(&e.l2l[cell.octant()], &upper[at..at + e.l], l);
        });
    }
}

/// L2P: adds the local expansions of the leaves at their particles.
pub fn l2p(tree: &Tree, e: &Expansion, l: &[f64], out: &mut [Force]) {
    let scratch = || vec![[0.0; LANES]; e.l + e.monomials];
    tree.by_leaf(out).into_par_iter().for_each_init(scratch, |scratch, (leaf, out)| {
        l2p_leaf(tree, e, &tree.cells[leaf], &l[leaf * e.l..(leaf + 1) * e.l], scratch, out);
    });
}

fastest! {
    fn l2p_leaf(
        tree: &Tree, e: &Expansion, cell: &Cell, l: &[f64], scratch: &mut [Lane<f64>], out: &mut [Force],
    ) = l2p_leaf_body
}

#[inline(always)]
fn l2p_leaf_body<const FMA: bool>(
    tree: &Tree,
    e: &Expansion,
    cell: &Cell,
    l: &[f64],
    scratch: &mut [Lane<f64>],
    out: &mut [Force],
) {
    let scale = 1.0 / cell.edge();
    let (powers, monomials) = scratch.split_at_mut(e.l);
    let mut derivatives = vec![0.0; e.d_point];
    apply(&e.extend, l, &mut derivatives);
    for (out, first) in out.chunks_mut(LANES).zip(cell.particles().step_by(LANES)) {
        let x = block(tree, cell, first, 1.0);
        e.powers(&x, monomials, powers);
        let mut sums = [[0.0; LANES]; 4];
        for (l, power) in l.iter().zip(&*powers) {
            for i in 0..LANES {
                sums[0][i] += l * power[i];
            }
        }
        for (raised, power) in e.raised[..e.slopes].iter().zip(&*powers) {
            for a in 0..3 {
                let l = derivatives[raised[a] as usize];
                for i in 0..LANES {
                    sums[a + 1][i] += l * power[i];
                }
            }
        }
        add_scaled(&sums, scale, out);
    }
}

/// Adds sums in units of a cell with edge 1/scale.
#[inline(always)]
fn add_scaled(sums: &[Lane<f64>; 4], scale: f64, out: &mut [Force]) {
    for (i, out) in out.iter_mut().enumerate() {
        out[0] += sums[0][i] * scale;
        for a in 1..4 {
            out[a] += sums[a][i] * (scale * scale);
        }
    }
}

/// M2P: multipoles of small cells at the particles of a leaf that is not near them.
pub fn m2p(tree: &Tree, lists: &Lists, e: &Expansion, m: &[f64], out: &mut [Force]) {
    let scratch = || vec![[0.0; LANES]; e.d_point];
    tree.by_leaf(out).into_par_iter().for_each_init(scratch, |scratch, (leaf, out)| {
        for s in &lists.w[leaf] {
            let s = *s as usize;
            let m = &m[s * e.m..(s + 1) * e.m];
            m2p_leaf(tree, e, tree.cells[leaf].first as usize, &tree.cells[s], m, scratch, out);
        }
    });
}

fastest! {
    fn m2p_leaf(
        tree: &Tree, e: &Expansion, first: usize, source: &Cell, m: &[f64], d: &mut [Lane<f64>], out: &mut [Force],
    ) = m2p_leaf_body
}

#[inline(always)]
fn m2p_leaf_body<const FMA: bool>(
    tree: &Tree,
    e: &Expansion,
    first: usize,
    source: &Cell,
    m: &[f64],
    d: &mut [Lane<f64>],
    out: &mut [Force],
) {
    let scale = 1.0 / source.edge();
    for (k, out) in out.chunks_mut(LANES).enumerate() {
        let x = relative(tree, first + k * LANES, out.len(), source.centre(), scale);
        let count = out.len();
        e.derivatives::<f64, FMA>(&x, std::array::from_fn(|i| i < count), d);
        let mut sums = [[0.0; LANES]; 4];
        for ((m, raised), n) in m.iter().zip(&e.raised).zip(&e.derivative) {
            let value = &d[*n as usize];
            for i in 0..LANES {
                sums[0][i] += m * value[i];
            }
            for a in 0..3 {
                let d = &d[raised[a] as usize];
                for i in 0..LANES {
                    sums[a + 1][i] += m * d[i];
                }
            }
        }
        add_scaled(&sums, scale, out);
    }
}
