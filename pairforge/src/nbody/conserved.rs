//! Energy, momentum and angular momentum, which a right integration keeps.

use super::Observed;
use fmm::direct::conserved::{self, SUMS};

/// Sums over all bodies at one time. They do not depend on the number of threads.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Conserved {
    pub time: f64,
    pub kinetic: f64,
    pub potential: f64,
    pub momentum: [f64; 3],
    /// About the origin.
    pub angular: [f64; 3],
}

impl Conserved {
    pub const COLUMNS: [&'static str; 9] = ["time", "kinetic", "potential", "px", "py", "pz", "lx", "ly", "lz"];

    pub fn of(observed: &Observed) -> Conserved {
        let (bodies, velocity) = (observed.bodies, observed.bodies.velocity.each_ref().map(|v| &v[..]));
        let (mass, position, potential) = (&bodies.mass[..], bodies.columns(), observed.potential);
        let sums = conserved::sums(&conserved::Bodies { mass, position, velocity, potential });
        Conserved::from_sums(observed.time, sums)
    }

    /// At a time, of sums in the order of [`Conserved::COLUMNS`].
    pub(super) fn from_sums(time: f64, sums: [f64; SUMS]) -> Conserved {
        let [kinetic, potential, px, py, pz, lx, ly, lz] = sums;
        Conserved { time, kinetic, potential, momentum: [px, py, pz], angular: [lx, ly, lz] }
    }

    pub fn energy(&self) -> f64 {
        self.kinetic + self.potential
    }

    /// The numbers of [`Conserved::COLUMNS`].
    pub fn row(&self) -> [f64; 9] {
        let ([px, py, pz], [lx, ly, lz]) = (self.momentum, self.angular);
        [self.time, self.kinetic, self.potential, px, py, pz, lx, ly, lz]
    }

    pub fn from_row([time, sums @ ..]: [f64; 9]) -> Conserved {
        Conserved::from_sums(time, sums)
    }
}
