//! Where in the row of draws each particle begins, so that any part of the particles can be drawn by itself.
//!
//! Particles take equally many draws, but for those that are redrawn since they lie too far out. Whether a particle would be redrawn
//! if it began at a draw depends on that draw alone, or on it and the next one. So threads first look for such draws, and then
//! the few of them are gone through in order.

use super::jump::{State, Steps};
use super::{Charge, Distribution, Random};
use crate::parallel::prelude::*;
use std::ops::Range;

/// Draws that a thread looks through at a time.
const STRETCH: u64 = 1 << 16;

/// The draws of a particle.
struct Pattern {
    /// Without redrawing.
    draws: u64,
    /// The draws with which a number begins that may be redrawn, and the draws of such a number.
    begins: &'static [u64],
    redrawn: u64,
}

impl Pattern {
    fn of(distribution: Distribution, charge: Charge) -> Pattern {
        let (draws, begins, redrawn): (u64, &[u64], u64) = match distribution {
            Distribution::Uniform => (3, &[], 0),
            Distribution::Normal => (6, &[0, 2, 4], 2),
            Distribution::Layer => (4, &[2], 2),
            Distribution::Sphere => (2, &[], 0),
            Distribution::Plummer => (3, &[0], 1),
        };
        Pattern { draws: draws + if charge == Charge::Mass { 0 } else { 1 }, begins, redrawn }
    }
}

/// Where particles begin.
pub struct Places {
    pattern: Pattern,
    /// For each time that a number was redrawn its particle, ascending.
    redrawn: Vec<u64>,
}

impl Places {
    /// Of so many particles of a seed.
    pub fn new(count: usize, distribution: Distribution, charge: Charge, seed: u64) -> Places {
        let mut places = Places { pattern: Pattern::of(distribution, charge), redrawn: Vec::new() };
        if places.pattern.begins.is_empty() {
            return places;
        }
        // What is redrawn lets the particles end later, where more may be redrawn.
        let (mut looked, mut refused) = (0, Vec::new());
        while looked < places.of(count) {
            let end = places.of(count);
            refused.extend(refused_draws(looked..end, distribution, seed));
            looked = end;
            places.redrawn = places.pattern.redrawn_particles(&refused);
        }
        places
    }

    /// The draws before a particle.
    pub fn of(&self, particle: usize) -> u64 {
        let before = self.redrawn.partition_point(|redrawn| *redrawn < particle as u64);
        particle as u64 * self.pattern.draws + before as u64 * self.pattern.redrawn
    }
}

impl Pattern {
    /// The particle of each number that is redrawn, if the draws are known with which such a number would begin.
    fn redrawn_particles(&self, refused: &[u64]) -> Vec<u64> {
        let (mut found, mut free) = (Vec::new(), 0);
        for draw in refused {
            let without = draw - found.len() as u64 * self.redrawn;
            // Some are within a number that is redrawn already.
            if *draw >= free && self.begins.contains(&(without % self.draws)) {
                found.push(without / self.draws);
                free = draw + self.redrawn;
            }
        }
        found
    }
}

/// The draws of a range that no number may begin with.
fn refused_draws(range: Range<u64>, distribution: Distribution, seed: u64) -> Vec<u64> {
    let firsts: Vec<u64> = range.clone().step_by(STRETCH as usize).collect();
    let states = states(seed, range.start, firsts.len(), &|_| STRETCH);
    let one = |(first, state): (&u64, State)| {
        let mut random = Random(state.generator());
        let mut refused = Vec::new();
        for draw in *first..(first + STRETCH).min(range.end) {
            let before = random.clone();
            // Nearly all are known to be right without the number.
            if random.unit() >= distribution.surely_taken_below() && distribution.is_refused(before) {
                refused.push(draw);
            }
        }
        refused
    };
    firsts.par_iter().zip(states).flat_map_iter(one).collect()
}

/// States of the generator: the first one after so many draws, the others after as many as are between each and the one before.
pub fn states(seed: u64, first: u64, count: usize, between: &dyn Fn(usize) -> u64) -> Vec<State> {
    let mut state = State::new(seed);
    state.jump(&Steps::new(first));
    let (mut all, mut usual) = (Vec::with_capacity(count), None);
    for k in 0..count {
        if k > 0 {
            let steps = between(k);
            // Most distances are the least one and some steps.
            let (of, jump) = *usual.get_or_insert_with(|| (steps, Steps::new(steps)));
            match steps.checked_sub(of) {
                Some(more) => {
                    state.jump(&jump);
                    (0..more).for_each(|_| state.step());
                }
                None => state.jump(&Steps::new(steps)),
            }
        }
        all.push(state);
    }
    all
}
