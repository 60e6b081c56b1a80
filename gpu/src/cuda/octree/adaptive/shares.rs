//! The shares that GPUs have of the input.

use crate::cuda::octree::communicator::Transfer;
use std::ops::Range;

/// Of each GPU of all processes how many sources it has of the input, and targets that are none.
pub struct Shares(pub Vec<[usize; 2]>);

impl Shares {
    /// The places of a GPU's sources and targets among all particles: all sources come first.
    pub fn of(&self, device: usize) -> [Range<usize>; 2] {
        let before = |kind: usize, devices: &[[usize; 2]]| devices.iter().map(|share| share[kind]).sum::<usize>();
        let sources = before(0, &self.0[..device]);
        let targets = before(0, &self.0) + before(1, &self.0[..device]);
        let [s, t] = self.0[device];
        [sources..sources + s, targets..targets + t]
    }

    pub fn sources(&self) -> usize {
        self.0.iter().map(|share| share[0]).sum()
    }

    /// The transfers of a column of the input to all GPUs.
    pub fn to_all(&self) -> Vec<Transfer> {
        let of = |from: usize| {
            let [sources, targets] = self.of(from);
            (0..self.0.len()).flat_map(move |to| {
                let behind = sources.len()..sources.len() + targets.len();
                [
                    Transfer { from, part: 0..sources.len(), to, at: sources.start },
                    Transfer { from, part: behind, to, at: targets.start },
                ]
            })
        };
        (0..self.0.len()).flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sources_come_before_all_targets_in_the_order_of_the_gpus() {
        let shares = Shares(vec![[3, 1], [0, 2], [2, 0]]);
        assert_eq!([0, 1, 2].map(|k| shares.of(k)), [[0..3, 5..6], [3..3, 6..8], [3..5, 8..8]]);
        let at_two: Vec<_> = shares.to_all().into_iter().filter(|t| t.to == 2 && !t.part.is_empty()).collect();
        assert_eq!(
            at_two.iter().map(|t| (t.from, t.at, t.part.clone())).collect::<Vec<_>>(),
            [(0, 0, 0..3), (0, 5, 3..4), (1, 6, 0..2), (2, 3, 0..2)]
        );
    }
}
