//! The runs that the figures need, by the most points that any has. With 1e7 points they are the paper's sizes.

use super::measured::{Case, What};
use fmm::plane::mesh;
use pairforge::random::plane::Spread;

/// The paper's order and its points a box on the GPU.
pub const ORDER: usize = 17;
pub const LEAF: usize = 45;

/// Points a box for Fig. 2: the paper has 1 to 75.
const BOXES: [usize; 17] = [1, 2, 4, 8, 12, 16, 20, 24, 32, 33, 36, 40, 45, 48, 56, 64, 75];

/// N_d of Fig. 3.
pub const LEAVES: std::ops::RangeInclusive<usize> = 10..=120;

/// Numbers of points of Fig. 3; the paper has 150. No power of the ratio between two of them is near 4, so that the levels of all do
/// not change at the same N_d.
const SIZES: usize = 25;

/// Numbers of points of Figs. 6 to 8.
const ALL: [usize; 24] = [
    200, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 10_000, 15_000, 20_000, 30_000, 50_000,
    100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

/// Orders of Figs. 4 and 5.
const ORDERS: [usize; 8] = [5, 10, 17, 25, 30, 42, 50, 60];

/// N_d that Fig. 5 looks between.
const AROUND: [usize; 11] = [8, 12, 17, 24, 34, 48, 68, 96, 136, 192, 272];

/// Standard deviations of Fig. 10.
const SIGMAS: [f64; 9] = [0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];

/// The deviation of the paper's distributions in Fig. 9: variance 1/100.
pub const SIGMA: f64 = 0.1;

/// The sizes of a side's runs.
pub struct Cases {
    /// Points of any run at most.
    pub most: usize,
    /// The same for runs whose time grows beyond all others: of Figs. 6 to 9, and of direct summation.
    pub longest: usize,
    pub direct: usize,
    /// The number of levels above the finest one at which the fewer of Fig. 5 end. A GPU is full with many boxes alone.
    pub above: usize,
}

impl Cases {
    /// The deepest pyramid whose boxes can have 75 points each.
    fn finest(&self) -> usize {
        ((self.most / 75).max(1).ilog2() / 2) as usize
    }

    fn case(&self, what: What, n: usize, leaf: usize) -> Case {
        Case { what, spread: Spread::Uniform, n, order: ORDER, leaf }
    }

    /// All runs that do not depend on others, those of one spread and order together.
    pub fn all(&self) -> Vec<Case> {
        let boxes = 1 << (2 * self.finest());
        let mut all = vec![self.case(What::Shares, LEAF * boxes, LEAF)];
        all.extend(BOXES.map(|k| self.case(What::Boxes, k * boxes, k)));
        all.extend(self.levels());
        let sizes = |most: usize| ALL.into_iter().filter(move |n| *n <= most);
        for n in sizes(self.longest) {
            // Where few boxes are a level, others may be quicker.
            let leaves: &[usize] = if n <= 30_000 { &[LEAF, 2 * LEAF, 3 * LEAF] } else { &[LEAF] };
            all.extend(leaves.iter().map(|leaf| self.case(What::Size, n, *leaf)));
        }
        all.extend(sizes(self.direct.min(self.most)).map(|n| self.case(What::Direct, n, n)));
        let n = self.most / 10;
        all.extend(ORDERS.map(|order| Case { order, ..self.case(What::Order, n, LEAF) }));
        all.push(self.case(What::Sigma, n / 2, LEAF));
        let spreads = [Spread::Uniform, Spread::Normal(SIGMA), Spread::Layer(SIGMA)];
        for spread in spreads {
            let sizes = [100, 30, 10, 3, 1].map(|part| self.most / part).into_iter().filter(|n| *n <= self.longest);
            all.extend(sizes.map(|n| Case { spread, ..self.case(What::Distribution, n, LEAF) }));
        }
        for sigma in SIGMAS {
            for spread in [Spread::Normal(sigma), Spread::Layer(sigma)] {
                all.push(Case { spread, ..self.case(What::Sigma, n / 2, LEAF) });
            }
        }
        all
    }

    /// Each number of levels that some N_d gives, for numbers of points in equal ratios: 1e4 to 2e6 in the paper.
    fn levels(&self) -> Vec<Case> {
        let (first, last) = ((self.most / 1000).max(100) as f64, (self.most / 5) as f64);
        let mut all: Vec<Case> = Vec::new();
        for k in 0..SIZES {
            let n = (first * (last / first).powf(k as f64 / (SIZES - 1) as f64)).round() as usize;
            let mut seen = Vec::new();
            for leaf in LEAVES {
                let levels = mesh::levels(n, leaf);
                if !seen.contains(&levels) {
                    seen.push(levels);
                    all.push(self.case(What::Levels, n, leaf));
                }
            }
        }
        all
    }

    /// For each order the pairs of runs that Fig. 5 compares, by rising N_d: as many points with the number of levels that N_d
    /// gives at the most, and with one more. Where both take the same time, N_d is the best.
    pub fn pairs(&self) -> Vec<Vec<[Case; 2]>> {
        let levels = self.finest().saturating_sub(self.above).max(1);
        let pair = |order: usize, leaf: usize| {
            let n = ((8 * leaf) << (2 * levels)) / 5;
            let case = |leaf| Case { order, ..self.case(What::Best, n, leaf) };
            [case(leaf), case(leaf.div_ceil(4))]
        };
        ORDERS.iter().map(|order| AROUND.iter().map(|leaf| pair(*order, *leaf)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_ten_million_points_the_sizes_are_the_papers() {
        let cases = Cases { most: 10_000_000, longest: 10_000_000, direct: 200_000, above: 2 };
        let all = cases.all();
        let of = |what| all.iter().filter(move |c| c.what == what);
        assert_eq!(of(What::Shares).map(|c| c.n).collect::<Vec<_>>(), [45 << 16]);
        assert_eq!(of(What::Boxes).map(|c| c.n).max(), Some(75 << 16));
        assert!(of(What::Boxes).all(|c| mesh::levels(c.n, c.leaf) == 8));
        assert_eq!(of(What::Levels).map(|c| c.n).min(), Some(10_000));
        assert_eq!(of(What::Levels).map(|c| c.n).max(), Some(2_000_000));
        assert!(of(What::Order).all(|c| c.n == 1_000_000) && of(What::Distribution).any(|c| c.n == 10_000_000));
        assert!(all.iter().all(|c| c.n <= 10_000_000));
        for pair in cases.pairs().iter().flatten() {
            let levels = pair.map(|c| mesh::levels(c.n, c.leaf));
            assert_eq!(levels, [6, 7], "{pair:?}");
        }
    }
}
