//! Direct sums at scales that f64 does not hold in units of the box: most pairs in f64 in a unit of the leaf's own, the
//! others one by one in [`wide`].

use crate::arith::lanes::{fastest, madd};
use crate::arith::scale::{exponent, ldexp};
use crate::arith::wide::{self, Carried, WideForce, WideValues};
use crate::direct::p2p::Near;
use crate::direct::summation::LEAST;
use crate::parallel::prelude::*;
use crate::tree::Tree;
use crate::tree::charges::Charges;
use crate::tree::lists::Direct;

/// Sources worked on together.
const LANES: usize = 16;

/// The sources of a leaf.
struct Sources {
    /// Sorted sources, and where they or their images are.
    places: Vec<(usize, [f64; 3])>,
    /// Coordinates in units of 2^`unit`, infinite for a charge that f64 does not hold beside the others; filled up.
    x: [Vec<f64>; 3],
    q: Vec<f64>,
    unit: i32,
}

impl Sources {
    fn new(tree: &Tree, charges: &Charges, leaf: usize, direct: Direct) -> Sources {
        let places = places(tree, direct);
        let unit = exponent(extent(tree, leaf));
        let is_held = |k: usize| charges.scaled[k] == 0.0 || charges.scaled[k].abs() >= LEAST;
        let filled = places.len().next_multiple_of(LANES);
        let x = [0, 1, 2].map(|a| {
            let one = |(k, at): &(usize, [f64; 3])| if is_held(*k) { ldexp(at[a], -unit) } else { f64::INFINITY };
            let mut column: Vec<f64> = places.iter().map(one).collect();
            column.resize(filled, f64::INFINITY);
            column
        });
        let mut q: Vec<f64> = places.iter().map(|s| charges.scaled[s.0]).collect();
        q.resize(filled, 0.0);
        Sources { places, x, q, unit }
    }
}

/// The sources that act directly on a leaf, and where they or their images are.
fn places(tree: &Tree, direct: Direct) -> Vec<(usize, [f64; 3])> {
    let own = direct.own.iter().flat_map(|s| s.0 as usize..(s.0 + s.1) as usize).map(|k| (k, tree.sources.position(k)));
    let period = ldexp(tree.map.size, tree.map.shift);
    let images = direct.images.iter().flat_map(|s| {
        let moved = move |k: usize| {
            let at = tree.sources.position(k);
            (k, std::array::from_fn(|a| at[a] + s.shift[a] as f64 * period))
        };
        (s.first as usize..(s.first + s.count) as usize).map(moved)
    });
    own.chain(images).collect()
}

/// The largest extent of a leaf's sources and targets, in the user's units.
pub fn extent(tree: &Tree, leaf: usize) -> f64 {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let cell = &tree.cells[leaf];
    let sources = cell.sources().map(|k| tree.sources.position(k));
    for at in sources.chain(cell.targets().map(|k| tree.targets().position(k))) {
        low = std::array::from_fn(|a| low[a].min(at[a]));
        high = std::array::from_fn(|a| high[a].max(at[a]));
    }
    (0..3).fold(0.0, |e: f64, a| e.max(high[a] - low[a]))
}

/// Potential and gradient at some of a leaf's targets from the sources of `direct`, in the user's units of length and
/// those of [`Charges`].
pub fn sums(
    near: &Near,
    charges: &Charges,
    leaf: usize,
    direct: Direct,
    targets: &[usize],
) -> Vec<(usize, WideValues)> {
    let Near { tree, eps, .. } = near;
    if targets.is_empty() {
        return Vec::new();
    }
    let sources = Sources::new(tree, charges, leaf, direct);
    let soft = ldexp(*eps, -sources.unit);
    let one = |k: &usize| {
        let position = tree.targets().position(*k);
        let at = position.map(|x| ldexp(x, -sources.unit));
        let mut total = WideForce::default();
        let mut usual = Usual::default();
        if soft <= 1.0 / LEAST {
            usual_sums(at, &sources, soft * soft, &mut usual);
            total[0].add(usual.force[0], -sources.unit);
            (1..4).for_each(|a| total[a].add(usual.force[a], -2 * sources.unit));
        }
        if usual.pairs as usize + (tree.targets().coincident[*k] as usize) < sources.places.len() {
            for (place, (j, source)) in sources.places.iter().enumerate() {
                let d = std::array::from_fn(|a| sources.x[a][place] - at[a]);
                if soft > 1.0 / LEAST || !is_usual(d) {
                    wide::act(position, *source, charges.scaled[*j], *eps, &mut total);
                }
            }
        }
        let mut all = WideValues::default();
        all[..4].copy_from_slice(&total);
        (*k, all)
    };
    targets.par_iter().map(one).collect()
}

/// The same with dipoles and second derivatives, every pair in wide arithmetic.
pub fn all_sums(near: &Near, charges: &Charges, direct: Direct, targets: &[usize]) -> Vec<(usize, WideValues)> {
    let (tree, eps) = (near.tree, near.eps);
    let carried = |j: usize| Carried {
        charge: charges.scaled[j],
        dipole: charges.dipoles.as_ref().map_or([0.0; 3], |p| [0, 1, 2].map(|a| p[a][j] * tree.map.size)),
        exponent: tree.map.shift,
    };
    if targets.is_empty() {
        return Vec::new();
    }
    let sources = places(tree, direct);
    let one = |k: &usize| {
        let (position, mut total) = (tree.targets().position(*k), WideValues::default());
        sources.iter().for_each(|(j, at)| wide::act_all(position, *at, &carried(*j), eps, &mut total));
        (*k, total)
    };
    targets.par_iter().map(one).collect()
}

/// Whether every power of a distance stays far inside the range of f64.
#[inline(always)]
fn is_usual(d: [f64; 3]) -> bool {
    let size = d[0].abs().max(d[1].abs()).max(d[2].abs());
    (LEAST..=1.0 / LEAST).contains(&size)
}

/// Sums over the usual pairs, and how many these are.
#[derive(Default)]
struct Usual {
    force: [f64; 4],
    pairs: f64,
}

fastest! {
    fn usual_sums(at: [f64; 3], sources: &Sources, eps2: f64, out: &mut Usual) = usual_sums_body
}

#[inline(always)]
fn usual_sums_body<const FMA: bool>(at: [f64; 3], sources: &Sources, eps2: f64, out: &mut Usual) {
    let mut total = [[0.0; LANES]; 5];
    let [x, y, z] = &sources.x;
    let chunks = x.as_chunks::<LANES>().0.iter().zip(y.as_chunks::<LANES>().0);
    let chunks = chunks.zip(z.as_chunks::<LANES>().0.iter().zip(sources.q.as_chunks::<LANES>().0));
    for ((x, y), (z, q)) in chunks {
        for i in 0..LANES {
            let d = [x[i] - at[0], y[i] - at[1], z[i] - at[2]];
            let is_usual = is_usual(d);
            // Distance 1 and charge 0 in place of what may be infinite.
            let [dx, dy, dz] = if is_usual { d } else { [1.0; 3] };
            let charge = if is_usual { q[i] } else { 0.0 };
            let r2 = madd::<f64, FMA>(dx, dx, madd::<f64, FMA>(dy, dy, dz * dz));
            let inverse = 1.0 / (r2 + eps2).sqrt();
            let potential = charge * inverse;
            let slope = potential * (inverse * inverse);
            total[0][i] += potential;
            total[1][i] = madd::<f64, FMA>(slope, dx, total[1][i]);
            total[2][i] = madd::<f64, FMA>(slope, dy, total[2][i]);
            total[3][i] = madd::<f64, FMA>(slope, dz, total[3][i]);
            total[4][i] += if is_usual { 1.0 } else { 0.0 };
        }
    }
    let sum = |lanes: &[f64; LANES]| lanes.iter().sum::<f64>();
    *out = Usual { force: [0, 1, 2, 3].map(|a| sum(&total[a])), pairs: sum(&total[4]) };
}
