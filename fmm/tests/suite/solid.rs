//! Every operator against 1/r on single points, and M2L against a plain sum of matrices, in every format and set of
//! instructions.

use fmm::arith::lanes::Real;
use fmm::arith::vector::{Isa, Vectors};
use fmm::expansion::solid::m2l::M2l;
use fmm::expansion::solid::matrices::{Translation, weights};
use fmm::expansion::solid::orders::Orders;
use fmm::expansion::solid::{Solid, terms};
use fmm::expansion::{Expansion, Points};
use fmm::tree::lists::{is_near, reach};
use fmm::tree::{Cell, Tree};
use std::ops::Range;
use testkit::Random;

/// Numbers in [-0.5, 0.5).
pub(crate) fn next(random: &mut Random) -> f64 {
    random.unit() - 0.5
}

fn cloud<T: Real>(random: &mut Random, count: usize) -> [Vec<T>; 3] {
    [0; 3].map(|_| (0..count).map(|_| T::of(next(random))).collect())
}

pub(crate) fn at<T>(x: &[Vec<T>; 3]) -> Points<'_, T> {
    Points { x: x.each_ref().map(|x| &x[..]) }
}

fn terms_of<T: Vectors>(solid: &Solid<T>) -> Vec<T> {
    vec![T::default(); solid.local_terms()]
}

/// Potential and gradient at `x` in f64.
pub(crate) fn direct<T: Real>(x: [f64; 3], sources: &[Vec<T>; 3], q: &[T]) -> [f64; 4] {
    let mut sum = [0.0; 4];
    for (k, q) in q.iter().enumerate() {
        let d: [f64; 3] = std::array::from_fn(|a| sources[a][k].f64() - x[a]);
        let inverse = 1.0 / d.iter().map(|d| d * d).sum::<f64>().sqrt();
        sum[0] += q.f64() * inverse;
        (0..3).for_each(|a| sum[a + 1] += q.f64() * inverse.powi(3) * d[a]);
    }
    sum
}

fn scaled<T: Real>(x: &[Vec<T>; 3], factor: f64, by: [f64; 3]) -> [Vec<T>; 3] {
    std::array::from_fn(|a| x[a].iter().map(|x| T::of(x.f64() * factor + by[a])).collect())
}

/// Relative error of potentials and gradients in the root mean square.
fn error<T: Real>(out: &[[T; 4]], targets: &[Vec<T>; 3], sources: &[Vec<T>; 3], q: &[T]) -> f64 {
    let (mut wrong, mut all) = (0.0, 0.0);
    for (k, out) in out.iter().enumerate() {
        let wanted = direct(std::array::from_fn(|a| targets[a][k].f64()), sources, q);
        for (out, wanted) in out.iter().zip(wanted) {
            wrong += (out.f64() - wanted).powi(2);
            all += wanted * wanted;
        }
    }
    (wrong / all).sqrt()
}

/// The root with a particle and no children.
const BLANK: Cell = Cell {
    at: [0; 3],
    level: 0,
    first: 0,
    count: 1,
    first_target: 0,
    targets: 1,
    parent: 0,
    first_child: 0,
    children: 0,
};

/// A tree for tests of M2M and L2L: a parent with eight children.
fn family() -> Tree {
    let corners = [4, 2, 1].map(|bit| (0..8).map(|octant| f64::from(octant & bit != 0)).collect::<Vec<f64>>());
    let tree = Tree::build(corners.each_ref().map(|column| &column[..]), 1);
    assert_eq!(tree.cells.len(), 9);
    tree
}

/// Each operator with points so far apart that an order of `order` is exact up to rounding.
fn check_operators<T: Vectors>(order: usize, tolerance: f64) {
    let mut random = Random::new(1);
    let far = [20.0, -14.0, 17.0];
    let scratch = &mut Vec::new();
    for isa in Isa::all() {
        let solid = Solid::<T>::with(order, 4, isa);
        for count in [1, 3, 16, 37] {
            let (sources, q) = (cloud::<T>(&mut random, count), cloud::<T>(&mut random, count)[0].clone());
            let near = cloud::<T>(&mut random, count + 2);
            let away = scaled(&near, 4.0, far);
            let mut m = terms_of(&solid);
            solid.p2m(at(&sources), &q, &mut m, scratch);
            let mut out = vec![[T::default(); 4]; count + 2];
            solid.m2p(0, &m, at(&away), &mut out, scratch);
            let e = error(&out, &away, &sources, &q);
            assert!(e < tolerance, "P2M, M2P {isa:?} {count}: {e:.1e}");

            let sources = scaled(&sources, 4.0, far);
            let mut l = terms_of(&solid);
            solid.p2l(0, at(&sources), &q, &mut l, scratch);
            let mut out = vec![[T::default(); 4]; count + 2];
            solid.l2p(&l, at(&near), &mut out, scratch);
            let e = error(&out, &near, &sources, &q);
            assert!(e < tolerance, "P2L, L2P {isa:?} {count}: {e:.1e}");
        }
        check_family(&solid, isa, tolerance);
    }
}

/// M2M and L2L of a parent whose children have three points each; the parent's edge is 1.
fn check_family<T: Vectors>(solid: &Solid<T>, isa: Isa, tolerance: f64) {
    let mut random = Random::new(3);
    let tree = family();
    let (size, scratch) = (solid.local_terms(), &mut Vec::new());
    let away = scaled(&cloud::<T>(&mut random, 5), 4.0, [-17.0, 20.0, 14.0]);
    let q_away = cloud::<T>(&mut random, 5)[0].clone();
    let mut m = vec![T::default(); 9 * size];
    let mut l = vec![T::default(); 9 * size];
    solid.p2l(0, at(&away), &q_away, &mut l[..size], scratch);
    solid.l2l_all(&tree, &mut l);
    let (mut all, mut charges) = ([vec![], vec![], vec![]], Vec::new());
    for (k, child) in tree.cells.iter().enumerate().skip(1) {
        let (own, q) = (cloud::<T>(&mut random, 3), cloud::<T>(&mut random, 3)[0].clone());
        let terms = k * size..(k + 1) * size;
        solid.p2m(at(&own), &q, &mut m[terms.clone()], scratch);
        let inside = scaled(&own, 0.5, child.at.map(|a| 0.5 * a as f64 - 0.25));
        let mut out = vec![[T::default(); 4]; 3];
        solid.l2p(&l[terms.clone()], at(&own), &mut out, scratch);
        // From units of the child to those of the parent.
        let units = [2.0, 4.0, 4.0, 4.0].map(T::of);
        out.iter_mut().for_each(|o| *o = std::array::from_fn(|a| units[a] * o[a]));
        let e = error(&out, &inside, &away, &q_away);
        assert!(e < tolerance, "L2L {isa:?} {k}: {e:.1e}");
        let mut one = terms_of(solid);
        solid.l2l(k - 1, &l[..size], &mut one);
        assert!(one == l[terms], "one by one as all together");
        (0..3).for_each(|a| all[a].extend(&inside[a]));
        charges.extend(q);
    }
    solid.m2m_all(&tree, &mut m);
    let mut out = vec![[T::default(); 4]; 5];
    solid.m2p(0, &m[..size], at(&away), &mut out, scratch);
    let e = error(&out, &away, &all, &charges);
    assert!(e < tolerance, "M2M {isa:?}: {e:.1e}");
    let mut one = terms_of(solid);
    (0..8).for_each(|o| solid.m2m(o, &m[(o + 1) * size..(o + 2) * size], &mut one));
    assert!(one == m[..size], "one by one as all together");
}

#[test]
fn operators_agree_with_1_over_r_in_f64() {
    check_operators::<f64>(14, 2e-14);
    // Where the distance is as long, even a high order stays in range.
    check_operators::<f64>(30, 2e-14);
}

#[test]
fn operators_agree_with_1_over_r_in_f32() {
    check_operators::<f32>(8, 2e-6);
    check_operators::<f32>(14, 2e-6);
}

/// Cells of `edge`^3 on the second level under their parents, some of them missing, and lists for `near2`.
pub(crate) struct Grid {
    pub cells: Vec<Cell>,
    pub levels: Vec<Range<usize>>,
    pub lists: Vec<Vec<u32>>,
}

pub(crate) fn grid(edge: i32, near2: u64, is_there: impl Fn([i32; 3]) -> bool) -> Grid {
    let mut cells = vec![Cell { first_child: 1, ..BLANK }];
    let places = |edge: i32| (0..edge * edge * edge).map(move |k| [k / (edge * edge), k / edge % edge, k % edge]);
    cells.extend(places(edge).map(|at| Cell { at, level: 1, ..BLANK }));
    let parents = 1..cells.len();
    cells[0].children = parents.len() as u32;
    for parent in parents.clone() {
        let first = cells.len();
        for octant in [0, 1, 2, 3, 4, 5, 6, 7] {
            let at: [i32; 3] = std::array::from_fn(|a| 2 * cells[parent].at[a] + (octant >> (2 - a) & 1));
            if is_there(at) {
                cells.push(Cell { at, level: 2, parent: parent as u32, ..BLANK });
            }
        }
        (cells[parent].first_child, cells[parent].children) = (first as u32, (cells.len() - first) as u32);
    }
    let offset = |a: usize, b: usize| [0, 1, 2].map(|k| cells[a].at[k] as i64 - cells[b].at[k] as i64);
    let list = |p: usize| {
        let near = parents.clone().filter(|s| *s != p && !cells[*s].is_leaf() && is_near(offset(p, *s), near2));
        if parents.contains(&p) { near.map(|s| s as u32).collect() } else { Vec::new() }
    };
    let lists = (0..cells.len()).map(list).collect();
    let levels = vec![0..1, parents.clone(), parents.end..cells.len()];
    Grid { cells, levels, lists }
}

/// The reference of M2L: the plain sum over pairs of cells, in f64.
fn plain<T: Real>(grid: &Grid, near2: u64, order: usize, m: &[T]) -> Vec<f64> {
    let (all, weights) = (terms::terms(order), weights(2 * order));
    let mut tables = std::collections::HashMap::new();
    let mut l = vec![0.0; m.len()];
    for (p, list) in grid.lists.iter().enumerate() {
        for (t, s) in grid.cells[p]
            .child_range()
            .flat_map(|t| list.iter().flat_map(move |s| grid.cells[*s as usize].child_range()).map(move |s| (t, s)))
        {
            let d = [0, 1, 2].map(|k| grid.cells[t].at[k] as i64 - grid.cells[s].at[k] as i64);
            if is_near(d, near2) {
                continue;
            }
            let matrix = tables.entry(d).or_insert_with(|| {
                let translation = Translation::new(order, d.map(|x| x as f64), &weights);
                let row = |a| all.iter().map(move |b| (a, *b));
                all.iter().flat_map(|a| row(*a)).map(|(a, b)| translation.entry(a, b, &weights)).collect::<Vec<f64>>()
            });
            for (k, row) in matrix.chunks_exact(all.len()).enumerate() {
                let m = &m[s * all.len()..];
                l[t * all.len() + k] += row.iter().zip(m).map(|(a, m)| a * m.f64()).sum::<f64>();
            }
        }
    }
    l
}

fn check_m2l<T: Vectors>(order: usize, near2: u64, grid: &Grid, tolerance: f64) {
    let mut random = Random::new(5);
    let size = terms::count(order);
    let m: Vec<T> = (0..grid.cells.len() * size).map(|_| T::of(next(&mut random))).collect();
    let wanted = plain(grid, near2, order, &m);
    let scale = wanted.iter().fold(0.0f64, |a, x| a.max(x.abs()));
    assert!(scale > 0.0);
    let list = |p: usize| &grid.lists[p][..];
    for isa in Isa::all() {
        let m2l = M2l::<T>::with_orders(order, near2, isa, &weights(2 * order), Orders::full(order));
        let mut one = Vec::new();
        for threads in [1, 2] {
            let mut l = vec![T::default(); m.len()];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| m2l.run(&grid.cells, &grid.levels, &list, &m, &mut l));
            for (k, (l, wanted)) in l.iter().zip(&wanted).enumerate() {
                let error = (l.f64() - wanted).abs() / scale;
                let cell = &grid.cells[k / size];
                assert!(error < tolerance, "{isa:?} {order} {near2} term {} of {:?}: {error:.1e}", k % size, cell.at);
            }
            assert!(one.is_empty() || one == l, "{threads} threads give other bits");
            one = l;
        }
    }
}

/// Points and charges of each cell of a grid.
pub(crate) type Clouds = Vec<([Vec<f64>; 3], Vec<f64>)>;

pub(crate) fn clouds(grid: &Grid, count: usize, is_positive: bool) -> Clouds {
    let mut random = Random::new(9);
    let charge = |random: &mut Random| next(random) + if is_positive { 0.5 } else { 0.0 };
    let one = |_: &Cell| (cloud::<f64>(&mut random, count), (0..count).map(|_| charge(&mut random)).collect());
    grid.cells.iter().map(one).collect()
}

/// A smooth density: equal charges on a lattice.
fn lattice(grid: &Grid) -> Clouds {
    let place = |k: usize| k as f64 / 3.0 - 1.0 / 3.0;
    let x = [9, 3, 1].map(|step| (0..27).map(|k| place(k / step % 3)).collect());
    vec![(x, vec![0.5; 27]); grid.cells.len()]
}

/// Potential and gradient at all points of the cells with lists.
pub(crate) fn far_field(grid: &Grid, order: usize, m2l: &M2l<f64>, clouds: &Clouds) -> Vec<[f64; 4]> {
    let (solid, size, scratch) = (Solid::<f64>::new(order, 4), terms::count(order), &mut Vec::new());
    let blank = || vec![0.0; grid.cells.len() * size];
    let (mut m, mut l) = (blank(), blank());
    for (m, (x, q)) in m.chunks_exact_mut(size).zip(clouds) {
        solid.p2m(at(x), q, m, scratch);
    }
    m2l.run(&grid.cells, &grid.levels, &|p| &grid.lists[p][..], &m, &mut l);
    let mut all = Vec::new();
    for t in (0..grid.lists.len()).filter(|p| !grid.lists[*p].is_empty()).flat_map(|p| grid.cells[p].child_range()) {
        let mut out = vec![[0.0; 4]; clouds[t].1.len()];
        solid.l2p(&l[t * size..(t + 1) * size], at(&clouds[t].0), &mut out, scratch);
        all.extend(out);
    }
    all
}

/// The same by direct sums.
pub(crate) fn far_direct(grid: &Grid, near2: u64, clouds: &Clouds) -> Vec<[f64; 4]> {
    let mut all = Vec::new();
    for (p, list) in grid.lists.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        for t in grid.cells[p].child_range() {
            for k in 0..clouds[t].1.len() {
                let mut sum = [0.0; 4];
                for s in list.iter().flat_map(|s| grid.cells[*s as usize].child_range()) {
                    let d = [0, 1, 2].map(|a| grid.cells[t].at[a] as i64 - grid.cells[s].at[a] as i64);
                    if !is_near(d, near2) {
                        let x = std::array::from_fn(|a| clouds[t].0[a][k] + d[a] as f64);
                        direct(x, &clouds[s].0, &clouds[s].1).iter().zip(&mut sum).for_each(|(x, sum)| *sum += x);
                    }
                }
                all.push(sum);
            }
        }
    }
    all
}

/// The root mean square of differences of potentials, and of gradients.
pub(crate) fn differences(a: &[[f64; 4]], b: &[[f64; 4]]) -> [f64; 2] {
    let square = |axes: Range<usize>| {
        let one = |(a, b): (&[f64; 4], &[f64; 4])| axes.clone().map(|k| (a[k] - b[k]).powi(2)).sum::<f64>();
        a.iter().zip(b).map(one).sum::<f64>()
    };
    [0..1, 1..4].map(|axes| (square(axes) / a.len() as f64).sqrt())
}

/// The error of the far gradient of two points a cell, relative to all of it.
fn far_error(grid: &Grid, order: usize, orders: Orders, is_positive: bool) -> f64 {
    let clouds = clouds(grid, 2, is_positive);
    let m2l = M2l::<f64>::with_orders(order, 4, Isa::best(), &weights(2 * order), orders);
    let wanted = far_direct(grid, 4, &clouds);
    let zero = vec![[0.0; 4]; wanted.len()];
    differences(&far_field(grid, order, &m2l, &clouds), &wanted)[1] / differences(&zero, &wanted)[1]
}

/// Checks the rounding error of f32 in M2L of f64 against the truncation error. A regular lattice, whose truncation error is less, is
/// held against random charges as dense.
fn check_mixed(near2: u64, orders: &[usize]) {
    let grid = grid(3, near2, |_| true);
    let random = [clouds(&grid, 2, false), clouds(&grid, 2, true), clouds(&grid, 27, true)];
    let wanted = random.each_ref().map(|clouds| far_direct(&grid, near2, clouds));
    let [mixed_signs, sparse, dense] = &random;
    let cases = [(mixed_signs, 0), (sparse, 1), (dense, 2), (&lattice(&grid), 2)];
    for order in orders {
        let weights = weights(2 * order);
        let mixed = M2l::<f64>::by_matrices(Orders::new(*order, near2), near2, Isa::best(), &weights);
        assert!(matches!(mixed, M2l::Mixed(_)));
        let plain = M2l::with_orders(*order, near2, Isa::best(), &weights, Orders::new(*order, near2));
        let mut left_out = Vec::new();
        for (clouds, like) in cases {
            let [mixed, plain] = [&mixed, &plain].map(|m2l| far_field(&grid, *order, m2l, clouds));
            if left_out.len() == like {
                left_out.push(differences(&plain, &wanted[like]));
            }
            for (rounded, left_out) in differences(&mixed, &plain).into_iter().zip(left_out[like]) {
                println!("near2 {near2}, order {order}: f32 rounds {rounded:.1e}, the order leaves out {left_out:.1e}");
                assert!(rounded > 0.0 && rounded < 0.1 * left_out);
            }
        }
    }
}

#[test]
fn products_in_f32_round_less_than_a_tenth_of_what_the_order_leaves_out() {
    check_mixed(4, &[6, 8, 15]);
    check_mixed(9, &[6, 13]);
}

#[test]
#[ignore = "a proof in depth"]
fn products_in_f32_round_little_at_all_orders() {
    check_mixed(4, &[20, 25, 30]);
    check_mixed(9, &[8, 18]);
    check_mixed(16, &[6, 8, 12]);
}

#[test]
fn multipoles_beyond_the_range_of_f32_are_taken_in_f64() {
    let (order, near2) = (8, 4);
    let grid = grid(2, near2, |_| true);
    let weights = weights(2 * order);
    let m2l = M2l::<f64>::new(Orders::new(order, near2), near2, Isa::best(), &weights);
    let plain = M2l::<f64>::with_orders(order, near2, Isa::best(), &weights, Orders::new(order, near2));
    for (factor, is_f64) in [(1.0, false), (1e-30, true), (1e30, true)] {
        let mut clouds = clouds(&grid, 2, false);
        clouds.last_mut().expect("cells").1.iter_mut().for_each(|q| *q *= factor);
        let [mixed, plain] = [&m2l, &plain].map(|m2l| far_field(&grid, order, m2l, &clouds));
        assert_eq!(mixed == plain, is_f64, "{factor:e}");
    }
}

#[test]
fn lower_orders_far_away_leave_the_error_as_it_is() {
    let grid = grid(5, 4, |_| true);
    let mut last = f64::INFINITY;
    for order in [2, 3, 4, 6, 9, 13] {
        for is_positive in [false, true] {
            let full = far_error(&grid, order, Orders::full(order), is_positive);
            let lower = far_error(&grid, order, Orders::new(order, 4), is_positive);
            println!("order {order}: {lower:.2e}, with the highest order everywhere {full:.2e}");
            assert!(lower < 1.05 * full, "order {order}: {lower:.2e} {full:.2e}");
            assert!(is_positive || full < 0.7 * last, "order {order}: {full:.2e} after {last:.2e}");
            last = if is_positive { last } else { full };
        }
    }
}

#[test]
fn m2l_of_very_small_angles_is_the_sum_over_pairs_of_cells() {
    // The reach is 8 along each axis: of 10 parents in a row, those at the ends see each other's far children.
    let near2 = 65;
    assert_eq!(reach(near2), 8);
    let grid = grid(10, near2, |at| at[1] < 2 && at[2] < 2);
    check_m2l::<f64>(2, near2, &grid, 1e-14);
}

#[test]
fn m2l_is_the_sum_over_pairs_of_cells() {
    let full = grid(4, 4, |_| true);
    let holes = grid(4, 4, |at| (at[0] * 7 + at[1] * 5 + at[2] * 3) % 4 != 1 && at[0] / 2 != 1);
    let alone = grid(3, 4, |at| at == [0; 3] || at == [3, 0, 1]);
    for order in [1, 2, 3, 5] {
        for grid in [&full, &holes, &alone] {
            check_m2l::<f64>(order, 4, grid, 1e-14);
            check_m2l::<f32>(order, 4, grid, 3e-6);
        }
    }
    check_m2l::<f64>(9, 4, &holes, 1e-14);
    for near2 in [9, 12] {
        let grid = grid(6, near2, |at| at[0] % 3 != 0 || at[1] < 5);
        check_m2l::<f64>(2, near2, &grid, 1e-14);
    }
    assert_eq!([4, 9, 12].map(reach), [1, 2, 3]);
}
