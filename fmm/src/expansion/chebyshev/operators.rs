//! The operators; those at points are in `points`.

use super::coefficients::transform;
use super::{COARSEST, Chebyshev, Misfit, OfOrder, Symmetry, Units, points};
use crate::arith::lanes::{Real, fastest, madd};
use crate::arith::vector::Vectors;
use crate::expansion::mirrored::{self, Cells, FARTHEST, Level};
use crate::expansion::{Derivatives, Expansion, Far, Points, Values};
use crate::parallel::prelude::*;
use crate::tree::Tree;
use crate::tree::lists::reach;
use std::ops::Range;

/// Columns of a matrix that are worked on together.
const LANES: usize = 8;

impl<T: Vectors> Expansion<T> for Chebyshev<T> {
    fn multipole_terms(&self) -> usize {
        self.terms().len()
    }

    fn local_terms(&self) -> usize {
        self.terms().len()
    }

    fn units(&self, level: u32) -> [f64; 2] {
        let unit = self.unit(level);
        [unit, unit * self.kernel(level).slope() * 2f64.powi(level as i32)]
    }

    fn p2m(&self, points: Points<T>, charges: &[T], m: &mut [T], _: &mut Vec<T>) {
        points::moments::<T>(self.isa, &self.nested, points.x, charges, m);
    }

    fn m2m(&self, octant: usize, child: &[T], parent: &mut [T]) {
        self.shifts.m2m(octant, child, parent);
    }

    fn m2m_all(&self, tree: &Tree, m: &mut [T]) {
        self.shifts.m2m_all(&tree.cells, &tree.levels, m);
    }

    fn m2l_pair(&self, level: u32, offset: [i64; 3], m: &[T], l: &mut [T]) {
        let of = self.level(level);
        if of.order.order == 0 {
            return;
        }
        let made;
        let matrix = match of.pairs.get().and_then(|pairs| pairs.get(&offset)) {
            Some(matrix) => matrix,
            None => {
                let matrix = of.order.series.coefficients(&*of.kernel, 2f64.powi(-(level as i32)), offset);
                made = matrix.into_iter().map(T::of).collect::<Vec<T>>();
                &made
            }
        };
        let terms = of.order.series.terms.len();
        if self.units == Units::Box {
            return add_product::<T>(matrix, &m[..terms], &mut l[..terms]);
        }
        let mut found = vec![T::default(); terms];
        add_product::<T>(matrix, &m[..terms], &mut found);
        let factor = T::of(1.0 / self.unit(level));
        l.iter_mut().zip(found).for_each(|(l, found)| *l += found * factor);
    }

    fn m2l(&self, far: Far, m: &[T], l: &mut [T]) {
        if far.lists.v.is_empty() {
            return;
        }
        // Beside images of the root, its children have far cells too.
        let coarsest = if far.lists.v[0].is_empty() { COARSEST } else { COARSEST - 1 };
        let all = || (coarsest..).zip(far.tree.levels.iter().skip(coarsest as usize));
        let levels = || all().filter(|(number, _)| self.level(*number).order.order > 0);
        let terms = self.terms().len();
        if reach(self.near2) > FARTHEST {
            for (number, level) in levels() {
                self.pairs(number);
                let own = &mut l[level.start * terms..level.end * terms];
                own.par_chunks_exact_mut(terms).zip(level.clone()).for_each(|(l, target)| {
                    far.m2l_cell(self as &dyn Expansion<T>, m, target, l);
                });
            }
            return;
        }
        let compressed = |(number, level): (u32, &Range<usize>)| {
            let (table, _) = self.table(number);
            let mut of_level = vec![T::default(); level.len() * table.rank];
            table.compress(&m[level.start * terms..level.end * terms], terms, &mut of_level);
            of_level
        };
        let sources: Vec<Vec<T>> = levels().map(compressed).collect();
        let mut targets: Vec<Vec<T>> = sources.iter().map(|m| vec![T::default(); m.len()]).collect();
        let level = |(((number, level), m), l): (((u32, &Range<usize>), _), _)| Level {
            tables: &self.table(number).0.mirrored,
            parents: far.tree.levels[number as usize - 1].clone(),
            first: level.start,
            m,
            l,
        };
        let of_levels = levels().zip(sources.iter().map(|m| &m[..])).zip(targets.iter_mut().map(|l| &mut l[..]));
        let list = |parent: usize| &far.lists.v[parent][..];
        mirrored::run(Cells { cells: far.tree.acting(), list: &list }, of_levels.map(level).collect());
        for ((number, level), from) in levels().zip(&mut targets) {
            let (table, factor) = self.table(number);
            table.spread(from, factor, &mut l[level.start * terms..level.end * terms], terms);
        }
    }

    fn p2l(&self, level: u32, points: Points<T>, charges: &[T], l: &mut [T], _: &mut Vec<T>) {
        let (edge, of) = (2f64.powi(-(level as i32)), self.level(level));
        if of.order.order == 0 {
            return;
        }
        let nodes = of.order.columns();
        let mut values = vec![0.0; nodes[0].len()];
        let mut differences = nodes.clone();
        for (j, q) in charges.iter().enumerate().filter(|(_, q)| q.f64() != 0.0) {
            let x = points.x.map(|column| column[j].f64());
            for ((d, nodes), x) in differences.iter_mut().zip(&nodes).zip(x) {
                d.iter_mut().zip(nodes).for_each(|(d, node)| *d = (node - x) * edge);
            }
            of.kernel.add_potentials(&differences, q.f64(), &mut values);
        }
        of.order.add_series(values, 1.0 / self.unit(level), l);
    }

    fn l2l(&self, octant: usize, parent: &[T], child: &mut [T]) {
        self.shifts.l2l(octant, parent, child);
    }

    fn l2l_all(&self, tree: &Tree, l: &mut [T]) {
        self.shifts.l2l_all(&tree.cells, &tree.levels, l);
    }

    fn l2p(&self, l: &[T], points: Points<T>, out: &mut [Values<T>], _: &mut Vec<T>) {
        points::values::<T>(self.isa, &self.nested, points.x, l, out);
    }

    fn m2p(&self, level: u32, m: &[T], points: Points<T>, out: &mut [Values<T>], _: &mut Vec<T>) {
        let (edge, of) = (2f64.powi(-(level as i32)), self.level(level));
        if of.order.order == 0 {
            return;
        }
        // Charges at the nodes that give the multipoles.
        let (nodes, charges) = (of.order.columns(), of.order.charges(m));
        let mut differences = nodes.clone();
        // What `units` has, a kernel's own results have in them.
        let units = self.units(level);
        for (k, out) in out.iter_mut().enumerate() {
            let x = points.x.map(|column| column[k].f64());
            for ((d, nodes), x) in differences.iter_mut().zip(&nodes).zip(x) {
                d.iter_mut().zip(nodes).for_each(|(d, node)| *d = (x - node) * edge);
            }
            let sums = of.kernel.sum(&differences, &charges);
            (0..4).for_each(|a| out[a] += T::of(sums[a] / units[a.min(1)]));
        }
    }

    fn derivatives(&self) -> Option<&dyn Derivatives<T>> {
        self.kernel(0).seconds(&[]).map(|_| self as &dyn Derivatives<T>)
    }
}

impl OfOrder {
    /// All nodes in units of the cell's edge from its centre.
    pub(super) fn places(&self) -> Vec<[f64; 3]> {
        let x = &self.nodes.x;
        let of = |k: usize| [k / (x.len() * x.len()), k / x.len() % x.len(), k % x.len()].map(|k| 0.5 * x[k]);
        (0..x.len().pow(3)).map(of).collect()
    }

    /// The same axis by axis.
    fn columns(&self) -> [Vec<f64>; 3] {
        let places = self.places();
        [0, 1, 2].map(|a| places.iter().map(|place| place[a]).collect())
    }

    /// Adds the series of a function with these values at all nodes, times a factor.
    pub(super) fn add_series<T: Real>(&self, values: Vec<f64>, factor: f64, l: &mut [T]) {
        let all = (0..3).fold(values, |values, _| transform(&self.nodes, &values));
        l.iter_mut().zip(self.products()).for_each(|(l, place)| *l += T::of(all[place] * factor));
    }

    /// Where each term stands among all products of degrees.
    fn products(&self) -> impl Iterator<Item = usize> {
        let degrees = self.order + 1;
        let place = move |n: &[u8; 3]| (n[0] as usize * degrees + n[1] as usize) * degrees + n[2] as usize;
        self.series.terms.iter().map(place)
    }

    /// Charges at all nodes that give multipoles.
    pub(super) fn charges<T: Real>(&self, m: &[T]) -> Vec<f64> {
        let (n, degrees, factors) = (self.nodes.x.len(), self.order + 1, &self.nodes.factors);
        let mut all = vec![0.0; degrees.pow(3)];
        m.iter().zip(self.products()).for_each(|(m, place)| all[place] = m.f64());
        // Each time the first index turns from a degree to a node and becomes the last.
        for _ in 0..3 {
            let rest = all.len() / degrees;
            let mut next = vec![0.0; rest * n];
            for (factors, from) in factors.iter().zip(all.chunks_exact(rest)) {
                for (to, x) in next.chunks_exact_mut(n).zip(from) {
                    to.iter_mut().zip(factors).for_each(|(to, factor)| *to += x * factor);
                }
            }
            all = next;
        }
        all
    }
}

fastest! {
    /// `l += matrix * m`.
    fn add_product<T>(matrix: &[T], m: &[T], l: &mut [T]) = add_product_body
}

#[inline(always)]
fn add_product_body<T: Real, const FMA: bool>(matrix: &[T], m: &[T], l: &mut [T]) {
    for (l, row) in l.iter_mut().zip(matrix.chunks_exact(m.len())) {
        let mut sums = [T::default(); LANES];
        for (row, m) in row.chunks(LANES).zip(m.chunks(LANES)) {
            for (i, (row, m)) in row.iter().zip(m).enumerate() {
                sums[i] = madd::<T, FMA>(*row, *m, sums[i]);
            }
        }
        *l += ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    }
}

/// See [`super::misfit`].
pub(super) fn misfit(e: &Chebyshev<f64>, edge: f64) -> Misfit {
    let border = (e.near2 as f64).sqrt().ceil() as i64;
    // Corners, middles of faces and inner points of a cell.
    let places: Vec<[f64; 3]> = (0..27).map(|k| [k / 9, k / 3 % 3, k % 3].map(|x| 0.47 * (x as f64 - 1.0))).collect();
    let mut misfit = Misfit::default();
    let mut offsets = vec![[border, 0, 0], [1, -border, 1 - border]];
    if e.kernel(0).symmetry() != Symmetry::Full {
        // The plane across the first axis is not like those across the others.
        offsets.push([0, border, 0]);
    }
    let nearest = offsets.len();
    let farthest = (1i64 << COARSEST) - 1;
    if edge * (farthest + 1) as f64 == 1.0 && 3 * farthest * farthest >= e.near2 as i64 {
        // No larger cells see what lies farther apart.
        offsets.push([farthest; 3]);
    }
    for (k, offset) in offsets.iter().enumerate() {
        let off = if k < nearest { &mut misfit.off } else { &mut misfit.farthest };
        let matrix = e.level(0).order.series.coefficients(e.kernel(0), edge, *offset);
        for source in &places {
            let (x, mut m) = (source.map(|x| [x]), vec![0.0; e.terms().len()]);
            e.p2m(Points { x: x.each_ref().map(|x| &x[..]) }, &[1.0], &mut m, &mut Vec::new());
            let mut l = vec![0.0; e.terms().len()];
            add_product::<f64>(&matrix, &m, &mut l);
            let column = |a: usize| places.iter().map(|p| p[a]).collect::<Vec<f64>>();
            let x = [column(0), column(1), column(2)];
            let mut found = vec![[0.0; 4]; places.len()];
            e.l2p(&l, Points { x: x.each_ref().map(|x| &x[..]) }, &mut found, &mut Vec::new());
            let difference = |t: &[f64; 3]| std::array::from_fn(|a| (offset[a] as f64 + t[a] - source[a]) * edge);
            let differences: Vec<[f64; 3]> = places.iter().map(difference).collect();
            let mut wanted = vec![[0.0; 4]; places.len()];
            e.kernel(0).values(&differences, &mut wanted);
            for (found, wanted) in found.iter().zip(&wanted) {
                *off = off.max((found[0] - wanted[0]).abs());
                misfit.largest = misfit.largest.max(wanted[0].abs());
            }
        }
    }
    misfit
}
