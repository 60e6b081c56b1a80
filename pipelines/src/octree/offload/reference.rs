//! The reference of a kernel that is not 1/r, at some targets with periodic boundaries (RULES H10, H16).
//!
//! Near images are summed pair by pair, by the kernel's real-arithmetic semantics with unrounded differences of coordinates. All farther
//! ones act through the matrix of [`Lattice`](fmm::expansion::chebyshev::images::Lattice) of an order that no expansion of a run has.

use fmm::data::Force;
use fmm::expansion::basis::{Index, indices_of};
use fmm::expansion::chebyshev::Function;
use fmm::octree::tune::SMALL_THETA;
use fmm::octree::{Coincident, Plan, far_images};
use fmm::parallel::prelude::*;
use fmm::tree::charges::Charges;
use fmm::tree::lists::{is_near, near2};

/// The order of far images: their error is far below that of order 10, the highest of a run.
const ORDER: usize = 16;

/// Up to so many pairs images are near up to 3 periods away, so that forces that cancel are 0 to nearly all digits.
const FEW: usize = 100_000;

/// Sources that are evaluated together.
const TOGETHER: usize = 1 << 12;

/// Targets after which progress is shown.
const SHOWN: usize = 16;

/// Potential and gradient in box units at sorted targets.
pub fn sums(
    plan: &Plan,
    charges: &Charges,
    kernel: &dyn Function,
    targets: &[usize],
    progress: &mut dyn FnMut(usize),
) -> Vec<Force> {
    let Some(mut lattice) = far_images(&plan.options) else { return Vec::new() };
    if plan.tree.len() * targets.len() <= FEW {
        lattice.near2 = lattice.near2.max(near2(SMALL_THETA));
    }
    let reach = fmm::tree::lists::reach(lattice.near2);
    let along = |a: usize| if lattice.axes[a] { -reach..=reach } else { 0..=0 };
    let shifts: Vec<[i32; 3]> = along(0)
        .flat_map(|x| along(1).flat_map(move |y| along(2).map(move |z| [x, y, z])))
        .filter(|n| is_near(*n, lattice.near2))
        .map(|n| n.map(|x| x as i32))
        .collect();
    let far = Far::new(plan, charges, kernel, &lattice.matrix(kernel, ORDER));
    let one = |k: &usize| {
        let mut force = far.at([0, 1, 2].map(|a| plan.tree.targets().unit[a][*k]));
        for shift in &shifts {
            add_near(plan, charges, kernel, (*k, *shift), &mut force);
        }
        force
    };
    let mut found = Vec::with_capacity(targets.len());
    for targets in targets.chunks(SHOWN) {
        found.extend(targets.par_iter().map(one).collect::<Vec<Force>>());
        progress(found.len());
    }
    found
}

/// Adds what all sources give to a target, moved by whole periods.
fn add_near(plan: &Plan, charges: &Charges, kernel: &dyn Function, (k, shift): (usize, [i32; 3]), force: &mut Force) {
    let tree = &plan.tree;
    let mut d: [Vec<f64>; 3] = Default::default();
    for first in (0..tree.len()).step_by(TOGETHER) {
        let part = first..tree.len().min(first + TOGETHER);
        for (axis, d) in d.iter_mut().enumerate() {
            d.clear();
            d.extend(tree.differences(axis, k, (part.clone(), shift)).map(|d| -d));
        }
        let given = match plan.options.coincident {
            Coincident::Include => kernel.sum(&d, &charges.scaled[part]),
            Coincident::Exclude => {
                let is_here = |k: usize| d.iter().all(|d| d[k] == 0.0);
                let acting = charges.scaled[part].iter().enumerate().map(|(k, q)| if is_here(k) { 0.0 } else { *q });
                kernel.sum(&d, &acting.collect::<Vec<f64>>())
            }
        };
        force.iter_mut().zip(given).for_each(|(force, given)| *force += given);
    }
}

/// The series of what far images give in the box.
struct Far {
    terms: Vec<Index>,
    l: Vec<f64>,
    slope: f64,
}

impl Far {
    fn new(plan: &Plan, charges: &Charges, kernel: &dyn Function, matrix: &[f64]) -> Far {
        let terms: Vec<Index> = (0..=ORDER).flat_map(indices_of).collect();
        let unit = &plan.tree.sources.unit;
        let mut m = vec![0.0; terms.len()];
        for (j, q) in charges.scaled.iter().enumerate() {
            let [x, y, z] = [0, 1, 2].map(|a| polynomials(2.0 * unit[a][j]).0);
            let value = |n: &Index| x[n[0] as usize] * y[n[1] as usize] * z[n[2] as usize];
            m.iter_mut().zip(&terms).for_each(|(m, n)| *m += q * value(n));
        }
        let row = |row: &[f64]| row.iter().zip(&m).map(|(x, m)| x * m).sum();
        Far { l: matrix.chunks_exact(m.len()).map(row).collect(), terms, slope: kernel.slope() }
    }

    fn at(&self, place: [f64; 3]) -> Force {
        let of = place.map(|x| polynomials(2.0 * x));
        let mut force = [0.0; 4];
        for (n, l) in self.terms.iter().zip(&self.l) {
            let [value, slope] = [0, 1].map(|which| {
                let of_axis = |a: usize| (if which == 0 { of[a].0 } else { of[a].1 })[n[a] as usize];
                [of_axis(0), of_axis(1), of_axis(2)]
            });
            force[0] += l * value[0] * value[1] * value[2];
            for a in 0..3 {
                let others = value[(a + 1) % 3] * value[(a + 2) % 3];
                force[a + 1] += 2.0 * self.slope * l * slope[a] * others;
            }
        }
        force
    }
}

/// Chebyshev polynomials and their derivatives, T_n' = n U_(n-1).
fn polynomials(x: f64) -> ([f64; ORDER + 1], [f64; ORDER + 1]) {
    let (mut t, mut u) = ([1.0; ORDER + 1], [0.0; ORDER + 1]);
    (t[1], u[1]) = (x, 1.0);
    // Here u[n] is U_(n-1) yet.
    for n in 2..=ORDER {
        t[n] = 2.0 * x * t[n - 1] - t[n - 2];
        u[n] = 2.0 * x * u[n - 1] - u[n - 2];
    }
    (0..=ORDER).for_each(|n| u[n] *= n as f64);
    (t, u)
}
