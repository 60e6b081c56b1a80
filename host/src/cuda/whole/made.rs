//! Particles made on the cards, results of some of them, and direct sums there: problems larger than a host may hold.

use super::card::{Card, Size};
use super::others::Team;
use super::{Loaded, Problem, Whole};
use crate::cuda::CudaError;
use crate::cuda::p2p::Number;

/// Blocks that share the direct sum of a target at most, and sources that are worth one.
const MOST_SLICES: usize = 1056;
const SLICE: usize = 4096;

impl<T: Number, C: Card> Whole<T, C> {
    /// Makes `n` particles on every card: uniform in the unit cube, charges in [0, 1), the same for a seed on any number of cards.
    pub fn make(&mut self, team: &Team<C>, n: usize, seed: u32) -> Result<(), CudaError> {
        self.make_room(team, n, n)?;
        let size = Size { blocks: (n as u32).div_ceil(256), threads: 256 };
        for (card, loaded) in team.cards.iter().zip(&self.loaded) {
            loaded.launch(card, "make", size, &loaded.places, &[seed])?;
        }
        team.cards.iter().try_for_each(C::finish)
    }

    /// Potential and gradient in boxes of some particles of the input, if all cards are this process's.
    pub fn fetch_some(&self, team: &Team<C>, targets: &[usize]) -> Result<Vec<T>, CudaError> {
        let shares = self.shares(team);
        let mut values = vec![T::default(); 4 * targets.len()];
        for (target, value) in targets.iter().zip(values.chunks_exact_mut(4)) {
            let k = shares.iter().position(|share| share.contains(target)).expect("every particle is in a share");
            team.cards[k].read(&self.loaded[k].particles.out, 4 * target, value)?;
        }
        Ok(values)
    }

    /// Potential and gradient of some particles by direct summation over all on the first card, in f64 and the user's units.
    pub fn direct(&self, team: &Team<C>, targets: &[usize]) -> Result<Vec<[f64; 4]>, CudaError> {
        let (card, loaded): (&C, &Loaded<T, C>) = (&team.cards[0], &self.loaded[0]);
        let slices = self.n().div_ceil(SLICE).clamp(1, MOST_SLICES);
        let parts = card.room::<f64>(4 * slices)?;
        let places = Problem { near: card.place(&parts), ..loaded.places };
        let size = Size { blocks: slices as u32, threads: 256 };
        let one = |target: &usize| {
            loaded.launch(card, "direct", size, &places, &[*target as u32, slices as u32])?;
            let mut words = vec![0.0; 4 * slices];
            card.read(&parts, 0, &mut words)?;
            let column = |a: usize| words.iter().skip(a).step_by(4).sum();
            Ok([0, 1, 2, 3].map(column))
        };
        targets.iter().map(one).collect()
    }
}
