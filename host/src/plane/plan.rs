//! Plan and run.

use super::lists::Lists;
use super::mesh::Mesh;
use super::{Geometry, Options, options};
use crate::fmm::FmmError;
use crate::fmm::stats::Pairs;
use rayon::prelude::*;
use std::time::Instant;

/// The mesh and its lists for points at fixed positions. It may be run for many sets of strengths.
pub struct Plan {
    pub options: Options,
    pub mesh: Mesh,
    pub lists: Lists,
    pub pairs: Pairs,
    /// Seconds of the mesh and of the lists.
    pub seconds: [f64; 2],
}

impl Plan {
    /// Sorts the points and connects the boxes.
    pub fn new<'a>(geometry: impl Into<Geometry<'a>>, options: &Options) -> Result<Plan, FmmError> {
        let geometry = geometry.into();
        options.check()?;
        options::check_positions(geometry)?;
        let start = Instant::now();
        let mesh = Mesh::new(geometry, options.leaf);
        let sorted = start.elapsed().as_secs_f64();
        let lists = Lists::new(&mesh, options.theta);
        let connected = start.elapsed().as_secs_f64() - sorted;
        let pairs = count(&mesh, &lists);
        Ok(Plan { options: options.clone(), mesh, lists, pairs, seconds: [sorted, connected] })
    }
}

/// Interactions by the lists.
fn count(mesh: &Mesh, lists: &Lists) -> Pairs {
    let (sources, targets) = (&mesh.sources, mesh.targets());
    let of_box = |k: usize| {
        let own = targets.range(k).len() as u64;
        let near = lists.near.of(k).iter().map(|s| sources.range(*s as usize).len() as u64).sum::<u64>();
        let p2l = lists.p2l.of(k).iter().map(|s| sources.range(*s as usize).len() as u64).sum::<u64>();
        [own * near, own * lists.m2p.of(k).len() as u64, p2l]
    };
    let add = |a: [u64; 3], b: [u64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    let [p2p, m2p, p2l] = (0..lists.near.len()).into_par_iter().map(of_box).reduce(|| [0; 3], add);
    Pairs { p2p, m2l: lists.weak.boxes.len() as u64, m2p, p2l }
}
