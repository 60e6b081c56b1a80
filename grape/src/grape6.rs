//! Clusters of GRAPE-6: sources with the time at which they were set, which are predicted to the time of the targets.
//!
//! The conventions are those of its library: acceleration, jerk and snap of sources come as a/2, jerk/6 and snap/18, softening
//! by its square, the potential is negative, and a source of the target's own index does not act on it.

pub mod kernel;

use crate::backend::{self, Place};
use crate::numbered::Numbered;
use fmm::direct::hermite::{Bodies, Body, Motion, Target};
use kernel::Kernel;

/// Targets that codes give at once: the pipelines of a chip times its virtual ones. Arrays of codes have this length; more are taken as
/// well.
pub const PIPELINES: usize = 48;

/// A source as it was set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    pub index: i32,
    pub time: f64,
    pub mass: f64,
    /// snap/18, jerk/6 and a/2.
    pub snap: [f64; 3],
    pub jerk: [f64; 3],
    pub acceleration: [f64; 3],
    pub velocity: [f64; 3],
    pub position: [f64; 3],
}

/// Where targets are, and what a call said about their fields.
#[derive(Clone, Default)]
pub struct Targets {
    pub at: Vec<Target>,
    /// About what their accelerations and jerks will be; a wrong or missing one costs time alone.
    pub guess: Vec<Motion>,
    /// Square of the softening length.
    pub eps2: f64,
    /// Squares of the radii of neighbours.
    pub h2: Vec<f64>,
    /// Sources that act, from address 0 on.
    pub sources: usize,
}

/// A cluster of boards.
#[derive(Default)]
pub struct Cluster {
    sources: Vec<Source>,
    time: f64,
    /// The sources at a time, where none was set since, and how many they are.
    predicted: Bodies,
    is_predicted: Option<usize>,
    /// Predictions so far.
    predictions: u64,
    targets: Targets,
    neighbours: Vec<Vec<i32>>,
    kernel: Option<Kernel>,
}

/// Clusters by their numbers.
static CLUSTERS: Numbered<Cluster> = Numbered::new();

/// Does something with a cluster.
pub fn with<R>(number: i32, what: impl FnOnce(&mut Cluster) -> R) -> R {
    CLUSTERS.with(number, what)
}

/// Opens a cluster without sources.
pub fn open(number: i32) {
    close(number);
    with(number, Cluster::prepare);
}

/// Forgets a cluster.
pub fn close(number: i32) {
    CLUSTERS.forget(number);
}

impl Source {
    /// Where it is at a time, by its Taylor series.
    fn at(&self, time: f64) -> Body {
        let t = time - self.time;
        let position = |a: usize| {
            let [v, half, sixth, snap] = [self.velocity[a], self.acceleration[a], self.jerk[a], 0.75 * self.snap[a]];
            self.position[a] + t * (v + t * (half + t * (sixth + t * snap)))
        };
        let velocity = |a: usize| {
            let [first, second, third] = [2.0 * self.acceleration[a], 3.0 * self.jerk[a], 3.0 * self.snap[a]];
            self.velocity[a] + t * (first + t * (second + t * third))
        };
        Body {
            position: [0, 1, 2].map(position),
            velocity: [0, 1, 2].map(velocity),
            mass: self.mass,
            index: self.index,
        }
    }
}

impl Cluster {
    /// Looks for the backend, so that a missing one is known at the start.
    fn prepare(&mut self) {
        if let Place::Kernel(backend) = backend::place() {
            self.kernel = Some(Kernel::open(backend));
        }
    }

    /// Sets a source; those between were never set and have no mass.
    pub fn set_source(&mut self, address: usize, source: Source) {
        if address >= self.sources.len() {
            self.sources.resize(address + 1, Source::default());
        }
        self.sources[address] = source;
        self.is_predicted = None;
    }

    /// The time of all targets until the next one.
    pub fn set_time(&mut self, time: f64) {
        if time != self.time {
            self.time = time;
            self.is_predicted = None;
        }
    }

    /// Takes targets. Their fields are computed when they are asked for.
    pub fn set_targets(&mut self, targets: Targets) {
        self.targets = targets;
        self.neighbours.clear();
    }

    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Brings the sources to the time of the targets.
    fn predict(&mut self) {
        let count = self.targets.sources;
        if self.is_predicted == Some(count) {
            return;
        }
        // An address at which nothing was set has no mass.
        if count > self.sources.len() {
            self.sources.resize(count, Source::default());
        }
        let time = self.time;
        self.predicted.set(self.sources[..count].iter().map(|source| source.at(time)));
        self.is_predicted = Some(count);
        self.predictions += 1;
    }

    /// The fields at the targets.
    pub fn motions(&mut self) -> Vec<Motion> {
        self.predict();
        match backend::place() {
            Place::Native => self.predicted.motions(&self.targets.at, self.targets.eps2),
            Place::Kernel(backend) => {
                let kernel = self.kernel.get_or_insert_with(|| Kernel::open(backend));
                kernel.motions(&self.predicted, self.predictions, &self.targets)
            }
        }
    }

    /// The index of the source nearest to each target.
    pub fn nearest(&mut self) -> Vec<Option<i32>> {
        self.predict();
        self.predicted.nearest(&self.targets.at)
    }

    /// Finds the neighbours of all targets, which [`Cluster::neighbours`] then gives.
    pub fn find_neighbours(&mut self) {
        self.predict();
        let each = self.targets.at.iter().zip(&self.targets.h2);
        self.neighbours = each.map(|(target, h2)| self.predicted.within(target, *h2)).collect();
    }

    /// The indices of the sources within a target's radius; none if they were not looked for.
    pub fn neighbours(&self, target: usize) -> &[i32] {
        self.neighbours.get(target).map_or(&[], |list| list)
    }
}
