//! Fields by the kernel `grape6`, in units that suit its formats.
//!
//! The sums of a target are placed in their 64 bits by what its acceleration and jerk are guessed to be, as on GRAPE-6: the guess
//! stands at 2^8 of 2^31, with 40 bits below. A sum that leaves its format is done again with a greater guess, and one that is so small
//! that places are missing with itself as the guess; what is left after that is summed natively.

use super::Targets;
use crate::backend::{Lent, Shared};
use crate::failure;
use crate::scale::{above, exponent, ldexp};
use fmm::direct::hermite::{Bodies, Motion, Target};
use pairforge::kernel::{Backend, Flags, Records};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the guess of a sum stands.
const PLACE: i32 = 8;

/// The least exponent of a sum that has the places of a float below it.
const LEAST: i32 = PLACE - 14;

/// Times that a sum is done on the backend.
const PASSES: usize = 3;

/// The kernel on a backend, with sources.
pub struct Kernel {
    shared: Shared,
    /// Its own number among all of them.
    number: u64,
    units: Units,
    /// The number of the sources that it has sent.
    sent: Option<u64>,
}

/// Powers of two: the units of length, velocity and mass.
#[derive(Clone, Copy, Default, PartialEq)]
struct Units {
    length: i32,
    velocity: i32,
    mass: i32,
}

/// A target's exponents of the guesses, in units of the kernel.
#[derive(Clone, Copy)]
struct Guess {
    acceleration: i32,
    jerk: i32,
}

/// Whether a sum is wrong because it, or a number on the way, is too large for its format.
pub fn left_its_format(flags: Flags) -> bool {
    flags.intersects(Flags::OVERFLOW | Flags::SATURATION | Flags::INVALID | Flags::WRAP)
}

impl Kernel {
    pub fn open(backend: &Backend) -> Kernel {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Kernel { shared: Shared::open("grape6", backend), number, units: Units::default(), sent: None }
    }

    /// The fields at targets. Sources of one `number` are the same ones.
    pub fn motions(&mut self, sources: &Bodies, number: u64, targets: &Targets) -> Vec<Motion> {
        let is_new = self.sent != Some(number);
        let units = self.units(sources, is_new, targets);
        let shared = self.shared.clone();
        let mut lent = shared.lend();
        if is_new || units != self.units || lent.sources_of != Some(self.number) {
            (self.units, self.sent) = (units, Some(number));
            self.send(sources, &mut lent);
        }
        lent.session.set_param("eps2", ldexp(targets.eps2, -2 * units.length));
        let mut found = vec![Motion::default(); targets.at.len()];
        let mut guesses: Vec<Guess> = targets.guess.iter().map(|guess| units.guess(guess)).collect();
        let mut left: Vec<usize> = (0..targets.at.len()).collect();
        for pass in 0..PASSES {
            if !left.is_empty() {
                let room = (&mut *lent, &mut found[..]);
                left = self.pass(&targets.at, &left, &mut guesses, room, pass + 1 == PASSES);
            }
        }
        let rest: Vec<Target> = left.iter().map(|k| targets.at[*k]).collect();
        if !rest.is_empty() {
            let motions = sources.motions(&rest, targets.eps2);
            left.iter().zip(motions).for_each(|(k, motion)| found[*k] = motion);
        }
        found
    }

    /// Units in which everything is in the range of the formats, with a factor of two to spare, so that they change seldom.
    fn units(&self, sources: &Bodies, is_new: bool, targets: &Targets) -> Units {
        let at = || targets.at.iter();
        let (lengths, velocities) = (at().flat_map(|t| &t.position), at().flat_map(|t| &t.velocity));
        // Coordinates lie in half of the unit.
        let own = Units { length: above(lengths) + 1, velocity: above(velocities), mass: i32::MIN };
        if !is_new && own.length <= self.units.length && own.velocity <= self.units.velocity {
            return self.units;
        }
        let [x, y, z, u, v, w, mass, _] = sources.columns();
        let total: f64 = mass.iter().map(|m| m.abs()).sum();
        Units {
            length: own.length.max(above(x.iter().chain(y).chain(z)) + 1),
            velocity: own.velocity.max(above(u.iter().chain(v).chain(w))),
            mass: above(&[total]),
        }
    }

    /// Sends the sources.
    fn send(&self, sources: &Bodies, lent: &mut Lent) {
        let units = self.units;
        let columns = sources.columns();
        let scaled = |a: usize, power: i32| -> Vec<f64> { columns[a].iter().map(|x| ldexp(*x, power)).collect() };
        let powers = units.powers();
        let columns: Vec<Vec<f64>> = (0..7).map(|a| scaled(a, powers[a])).collect();
        let index: Vec<f64> = sources.columns()[7].iter().map(|index| unsigned(*index as i32)).collect();
        let names = ["xj[0]", "xj[1]", "xj[2]", "vj[0]", "vj[1]", "vj[2]", "mj"];
        let records = names.iter().zip(&columns).fold(Records::new(), |all, (name, column)| all.column(name, column));
        let sent = lent.session.set_sources(&records.column("index_j", &index));
        sent.unwrap_or_else(|e| failure::end(e));
        lent.sources_of = Some(self.number);
    }

    /// Runs some targets. Those whose sums have to be done again, with their guesses put right.
    fn pass(
        &self,
        at: &[Target],
        which: &[usize],
        guesses: &mut [Guess],
        (lent, found): (&mut Lent, &mut [Motion]),
        is_last: bool,
    ) -> Vec<usize> {
        let (units, powers) = (self.units, self.units.powers());
        let column = |of: &dyn Fn(usize) -> f64| -> Vec<f64> { which.iter().map(|k| of(*k)).collect() };
        let x = [0, 1, 2].map(|a| column(&|k| ldexp(at[k].position[a], powers[a])));
        let v = [0, 1, 2].map(|a| column(&|k| ldexp(at[k].velocity[a], powers[a + 3])));
        let index = column(&|k| unsigned(at[k].index));
        let acceleration = column(&|k| ldexp(1.0, PLACE - guesses[k].acceleration));
        let jerk = column(&|k| ldexp(1.0, PLACE - guesses[k].jerk));
        let records = Records::new().column("index_i", &index).column("ascale", &acceleration).column("jscale", &jerk);
        let records = records.column("xi[0]", &x[0]).column("xi[1]", &x[1]).column("xi[2]", &x[2]);
        let records = records.column("vi[0]", &v[0]).column("vi[1]", &v[1]).column("vi[2]", &v[2]);
        let sums = lent.session.run(&records).unwrap_or_else(|e| failure::end(e));
        let phi = sums.column("phi");
        let acc = ["acc[0]", "acc[1]", "acc[2]"].map(|name| sums.column(name));
        let jrk = ["jerk[0]", "jerk[1]", "jerk[2]"].map(|name| sums.column(name));
        let mut again = Vec::new();
        for (n, k) in which.iter().enumerate() {
            let (guess, is_wrong) = (&mut guesses[*k], left_its_format(sums.flags[n]));
            let powers = [guess.acceleration - PLACE, guess.jerk - PLACE];
            found[*k] = Motion {
                potential: ldexp(phi[n], units.mass - units.length),
                acceleration: [0, 1, 2].map(|a| ldexp(acc[a][n], units.acceleration() + powers[0])),
                jerk: [0, 1, 2].map(|a| ldexp(jrk[a][n], units.jerk() + powers[1])),
            };
            let largest = |of: [&[f64]; 3]| of.iter().fold(0.0, |most: f64, column| most.max(column[n].abs()));
            let changed = [
                better(&mut guess.acceleration, largest(acc), is_wrong),
                better(&mut guess.jerk, largest(jrk), is_wrong),
            ];
            if is_wrong || changed != [false; 2] && !is_last {
                again.push(*k);
            }
        }
        again
    }
}

/// Puts the exponent of a guess right by the sum that it gave. Whether that is worth another pass.
fn better(guess: &mut i32, sum: f64, is_wrong: bool) -> bool {
    if is_wrong {
        *guess = (*guess + 20).min(MOST);
        return true;
    }
    // Of nothing at all no more than a usual guess can be made.
    let right = if sum == 0.0 { (*guess).min(0) } else { *guess - PLACE + exponent(sum) };
    let is_low = sum == 0.0 && right != *guess || sum != 0.0 && exponent(sum) < LEAST && right > -MOST;
    if is_low {
        *guess = right;
    }
    is_low
}

/// Exponents of guesses that keep the kernel's floats far from their ends.
const MOST: i32 = 60;

impl Units {
    /// Of the columns of bodies: a coordinate of 1 in the unit of length is 2^62.
    fn powers(&self) -> [i32; 7] {
        let (x, v) = (62 - self.length, -self.velocity);
        [x, x, x, v, v, v, -self.mass]
    }

    fn acceleration(&self) -> i32 {
        self.mass - 2 * self.length
    }

    fn jerk(&self) -> i32 {
        self.mass + self.velocity - 3 * self.length
    }

    fn guess(&self, of: &Motion) -> Guess {
        let place = |of: &[f64; 3], unit: i32| match of.iter().any(|x| *x != 0.0 && x.is_finite()) {
            true => (above(of) - unit).clamp(-MOST, MOST),
            false => 0,
        };
        Guess { acceleration: place(&of.acceleration, self.acceleration()), jerk: place(&of.jerk, self.jerk()) }
    }
}

/// An index in the format of the kernel.
fn unsigned(index: i32) -> f64 {
    index as u32 as f64
}
