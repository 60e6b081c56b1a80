//! Points on the integer grid of a kernel, and the pairs of P2P that are too close for it.
//!
//! Boxes of the mesh may be far smaller than a few steps of the grid, and then interact by their expansions. So close pairs are looked for
//! among those of P2P alone, each of which is looked at.

use crate::octree::offload::MOST;
use fmm::direct::close::STEPS;
use fmm::parallel::prelude::*;
use fmm::plane::mesh::{Mesh, Points};
use fmm::plane::native::near_ranges;
use fmm::plane::{Kernel, Plan, Scaled, State};
use fmm::tree::boxmap::BoxMap;
use std::ops::Range;

/// The integer coordinates X of all points, in the order of the mesh (RULES H5).
pub(super) struct Grid {
    /// From units of the frame.
    pub map: BoxMap,
    pub sources: [Vec<i32>; 2],
    apart: Option<[Vec<i32>; 2]>,
}

impl Grid {
    pub fn new(mesh: &Mesh) -> Grid {
        // The rectangle about all points.
        let boxes = &mesh.boxes;
        let ends = |centre: f64, half: f64| [centre - half, centre + half];
        let [x, y] = [ends(boxes.x[0], boxes.half[0][0]), ends(boxes.y[0], boxes.half[1][0])];
        let map = BoxMap::within([x, y, [0.0; 2]]);
        let column = |axis: usize, c: &[f64]| {
            c.par_iter().map(|x| BoxMap::grid(map.unit(axis, map.scaled(*x)))).collect::<Vec<i32>>()
        };
        let of = |points: &Points| [column(0, &points.x), column(1, &points.y)];
        Grid { sources: of(&mesh.sources), apart: mesh.is_apart().then(|| of(mesh.targets())), map }
    }

    pub fn targets(&self) -> &[Vec<i32>; 2] {
        self.apart.as_ref().unwrap_or(&self.sources)
    }
}

/// The close pairs of P2P.
#[derive(Default)]
pub(super) struct Close {
    /// Pairs of a target and a source at different places; two points that are both make one pair.
    pub pairs: u64,
    /// Targets that share X with a source at another place.
    pub shared: u64,
    /// Ascending targets with the sources that are close to each; `None` where they are too many.
    pub targets: Vec<(usize, Option<Vec<usize>>)>,
    /// For each target the sum of the real strengths of all sources that are not close to it; empty but for a logarithm.
    pub strengths: Vec<f64>,
}

impl Close {
    pub fn find(plan: &Plan, strengths: &Scaled, grid: &Grid) -> Close {
        let finder = Finder { plan, strengths, grid };
        let boxes = (0..plan.lists.near.len()).into_par_iter();
        let parts: Vec<Close> = boxes.map_init(Vec::new, |ranges, k| finder.of_box(k, ranges)).collect();
        let mut all = Close::default();
        for part in parts {
            all.pairs += part.pairs;
            all.shared += part.shared;
            all.targets.extend(part.targets);
            all.strengths.extend(part.strengths);
        }
        // Each pair of points that are sources and targets was seen from both of its ends.
        all.pairs /= if plan.mesh.is_apart() { 1 } else { 2 };
        all
    }
}

struct Finder<'a> {
    plan: &'a Plan,
    strengths: &'a Scaled,
    grid: &'a Grid,
}

/// Sources that are looked at together.
const BLOCK: usize = 64;

impl Finder<'_> {
    /// The close sources of the targets of a finest box.
    fn of_box(&self, k: usize, ranges: &mut Vec<Range<usize>>) -> Close {
        let (mesh, is_log) = (&self.plan.mesh, self.plan.options.kernel == Kernel::Log);
        let (sources, targets) = (&mesh.sources, mesh.targets());
        near_ranges(self.plan, k, ranges);
        let all = match is_log {
            true => ranges.iter().flat_map(|r| &self.strengths.re[r.clone()]).sum::<f64>(),
            false => 0.0,
        };
        let (mut close, mut here) = (Close::default(), Vec::new());
        for t in targets.range(k) {
            here.clear();
            self.around(t, ranges, &mut here);
            let (mut partners, mut acting, mut shares) = (Vec::new(), all, false);
            for j in &here {
                acting -= self.strengths.re[*j];
                if sources.x[*j] != targets.x[t] || sources.y[*j] != targets.y[t] {
                    partners.push(*j);
                    shares |= (0..2).all(|a| self.grid.sources[a][*j] == self.grid.targets()[a][t]);
                }
            }
            close.pairs += partners.len() as u64;
            close.shared += shares as u64;
            if !partners.is_empty() {
                close.targets.push((t, (partners.len() <= MOST).then_some(partners)));
            }
            if is_log {
                close.strengths.push(acting);
            }
        }
        close
    }

    /// The sources in `ranges` at up to the distance of close pairs.
    fn around(&self, t: usize, ranges: &[Range<usize>], found: &mut Vec<usize>) {
        let at = [0, 1].map(|a| self.grid.targets()[a][t]);
        for range in ranges {
            let [x, y] = [0, 1].map(|a| &self.grid.sources[a][range.clone()]);
            for (block, (x, y)) in x.chunks(BLOCK).zip(y.chunks(BLOCK)).enumerate() {
                // Nearly all blocks have none but distant sources; coordinates are below 2^30.
                let is_near = |x: i32, at: i32| (x - at + STEPS as i32) as u32 <= 2 * STEPS as u32;
                let near = x.iter().zip(y).fold(false, |near, (x, y)| near | (is_near(*x, at[0]) & is_near(*y, at[1])));
                if near {
                    let square = |k: &usize| {
                        let d = [(x[*k] - at[0]) as i64, (y[*k] - at[1]) as i64];
                        d[0] * d[0] + d[1] * d[1]
                    };
                    let close = (0..x.len()).filter(|k| square(k) <= STEPS * STEPS);
                    found.extend(close.map(|k| range.start + block * BLOCK + k));
                }
            }
        }
    }
}

/// Adds what source `j` gives at target `k` in f64, in units of the frame.
pub(super) fn act(state: &State, k: usize, j: usize, sums: &mut [f64; 3]) {
    let (mesh, q) = (&state.plan.mesh, state.charges);
    let (source, target) = (&mesh.sources, mesh.targets());
    let d = [source.x[j] - target.x[k], source.y[j] - target.y[k]];
    let square = d[0] * d[0] + d[1] * d[1];
    let (re, im) = (q.re[j], q.im.get(j).copied().unwrap_or(0.0));
    match state.plan.options.kernel {
        Kernel::Harmonic => {
            sums[0] += (re * d[0] + im * d[1]) / square;
            sums[1] += (im * d[0] - re * d[1]) / square;
        }
        Kernel::Log => {
            sums[0] -= re * d[0] / square;
            sums[1] -= re * d[1] / square;
            sums[2] += re * (0.5 * square.ln() + mesh.frame.log_unit());
        }
    }
}
