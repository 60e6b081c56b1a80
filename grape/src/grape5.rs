//! Boards of GRAPE-5: sources, targets, and the force of all sources on each target.
//!
//! The conventions are those of its library: positions and forces are triples, the potential is positive, softening is given
//! by its length, and a source at the target's own place counts in the potential with m / eps.

use crate::backend::{self, Place, Shared};
use crate::failure;
use crate::numbered::Numbered;
use crate::scale::{above, ldexp};
use fmm::direct::p2p::alone::{Alone, Kept};
use pairforge::kernel::{Records, Session};
use std::sync::{PoisonError, RwLock};

/// Targets that one call of `g5_set_xi` takes, as codes ask for them: the virtual pipelines of a board. More are taken as well.
pub const PIPELINES: usize = 96;

/// Sources that a board holds, as codes ask for it. Memory is taken as they come.
pub const MEMORY: usize = 1 << 20;

/// A board.
#[derive(Default)]
pub struct Board {
    positions: Vec<[f64; 3]>,
    masses: Vec<f64>,
    /// Sources that act.
    count: usize,
    targets: Vec<[f64; 3]>,
    /// Potential and acceleration at the targets.
    forces: Vec<[f64; 4]>,
    kept: Kept,
    session: Option<Shared>,
}

static EPS: RwLock<f64> = RwLock::new(0.0);

/// Boards by their device numbers.
static BOARDS: Numbered<Board> = Numbered::new();

/// Does something with a board.
pub fn with<R>(device: i32, what: impl FnOnce(&mut Board) -> R) -> R {
    BOARDS.with(device, what)
}

/// Looks for the backend, so that a missing one is known at the start.
pub fn open() {
    if let Place::Kernel(backend) = backend::place() {
        with(0, |board| {
            board.session.get_or_insert_with(|| Shared::open("grape5", backend));
        });
    }
}

/// Forgets all boards.
pub fn close() {
    BOARDS.forget_all();
}

/// The softening length of all boards.
pub fn set_eps(eps: f64) {
    *EPS.write().unwrap_or_else(PoisonError::into_inner) = eps;
}

impl Board {
    /// The number of sources that act, from address 0 on.
    pub fn set_n(&mut self, n: usize) {
        self.count = n;
        self.reach(n);
    }

    pub fn set_positions(&mut self, address: usize, positions: &[[f64; 3]]) {
        self.reach(address + positions.len());
        self.positions[address..address + positions.len()].copy_from_slice(positions);
    }

    pub fn set_masses(&mut self, address: usize, masses: &[f64]) {
        self.reach(address + masses.len());
        self.masses[address..address + masses.len()].copy_from_slice(masses);
    }

    /// Makes room for sources up to an address; they have no mass until they are set.
    fn reach(&mut self, end: usize) {
        if end > self.masses.len() {
            self.positions.resize(end, [0.0; 3]);
            self.masses.resize(end, 0.0);
        }
    }

    pub fn set_targets(&mut self, targets: &[[f64; 3]]) {
        self.targets.clear();
        self.targets.extend_from_slice(targets);
    }

    /// Sums at the targets that were set.
    pub fn run(&mut self) {
        let (targets, mut forces) = (std::mem::take(&mut self.targets), std::mem::take(&mut self.forces));
        forces.clear();
        forces.resize(targets.len(), [0.0; 4]);
        self.sum(&targets, &mut forces);
        (self.targets, self.forces) = (targets, forces);
    }

    /// Potential and acceleration at the targets that were set, as far as there are any.
    pub fn forces(&self) -> &[[f64; 4]] {
        &self.forces
    }

    /// Potential and acceleration at each target.
    pub fn sum(&mut self, targets: &[[f64; 3]], out: &mut [[f64; 4]]) {
        let eps = *EPS.read().unwrap_or_else(PoisonError::into_inner);
        let Board { positions, masses, count, kept, session, .. } = self;
        let sources = Alone { positions: &positions[..*count], charges: &masses[..*count], eps };
        match backend::place() {
            Place::Native => sources.forces(targets, kept, out),
            Place::Kernel(backend) => {
                let shared = session.get_or_insert_with(|| Shared::open("grape5", backend));
                by_kernel(&mut shared.lend().session, &sources, targets, out);
            }
        }
    }
}

/// Sums by the kernel, in units of the box of all sources and targets and of the largest mass. What leaves a format is summed here.
fn by_kernel(session: &mut Session, sources: &Alone, targets: &[[f64; 3]], out: &mut [[f64; 4]]) {
    if targets.is_empty() {
        return;
    }
    let all = || sources.positions.iter().chain(targets);
    let ends = [0, 1, 2].map(|a| all().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x[a]), high.max(x[a]))));
    let centre = ends.map(|(low, high)| 0.5 * low + 0.5 * high);
    // All within a half of the box.
    let size = above(&ends.map(|(low, high)| high - low));
    let mass = above(sources.charges);
    let unit = |x: &[f64; 3]| [0, 1, 2].map(|a| ldexp(x[a] - centre[a], -size));
    let (i, j): (Vec<_>, Vec<_>) = (targets.iter().map(unit).collect(), sources.positions.iter().map(unit).collect());
    let m: Vec<f64> = sources.charges.iter().map(|m| ldexp(*m, -mass)).collect();
    session.set_param("eps2", ldexp(sources.eps, -size).powi(2));
    let set = session.set_sources(&Records::new().vectors("xj", &j).column("mj", &m));
    let sums = set.and_then(|()| session.run(&Records::new().vectors("xi", &i)));
    let sums = sums.unwrap_or_else(|e| failure::end(e));
    let columns = ["phi", "acc[0]", "acc[1]", "acc[2]"].map(|name| sums.column(name));
    for (k, out) in out.iter_mut().enumerate() {
        let powers = [mass - size, mass - 2 * size];
        *out = [0, 1, 2, 3].map(|a| ldexp(columns[a][k], powers[a.min(1)]));
        if crate::grape6::kernel::left_its_format(sums.flags[k]) {
            *out = plain(sources, &targets[k]);
        }
    }
}

/// The same in f64, for the few targets whose sums leave a format.
fn plain(sources: &Alone, target: &[f64; 3]) -> [f64; 4] {
    let mut sum = [0.0; 4];
    for (x, m) in sources.positions.iter().zip(sources.charges) {
        let d = [0, 1, 2].map(|a| x[a] - target[a]);
        let s2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + sources.eps * sources.eps;
        if s2 > 0.0 {
            let potential = m / s2.sqrt();
            sum[0] += potential;
            (0..3).for_each(|a| sum[a + 1] += potential / s2 * d[a]);
        }
    }
    sum
}
