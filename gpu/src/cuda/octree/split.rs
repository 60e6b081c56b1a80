//! The partition of the tree's leaves among several GPUs.

use super::depth::{Prices, cost};
use std::ops::Range;

/// Cells of a level that follow each other. The order is that of the kernels' struct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Span {
    pub first: u32,
    pub end: u32,
}

impl Span {
    pub fn len(self) -> u32 {
        self.end - self.first
    }
}

/// The counts of a GPU for the leaves of a row along x: the pairs of P2P, and, of all rows before, particles in the low half and
/// blocks of P2P in the high half. The row behind the last has the sums of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub pairs: u64,
    start: u64,
}

impl Row {
    pub fn new(words: &[u64]) -> Row {
        Row { pairs: words[0], start: words[1] }
    }

    pub fn particles(&self) -> u32 {
        self.start as u32
    }

    pub fn blocks(&self) -> u32 {
        (self.start >> 32) as u32
    }
}

/// The counts of the GPUs for all rows of a tree.
#[derive(Clone, Debug)]
pub struct Rows {
    /// One more than there are.
    pub rows: Vec<Row>,
    /// With several GPUs, for each row, and behind the last one, where it begins in the sorted share of each part of the input.
    starts: Vec<u32>,
    parts: usize,
}

impl Rows {
    pub fn words(depth: u32) -> usize {
        2 * Rows::count(depth)
    }

    pub fn new(words: &[u64], starts: Vec<u32>, parts: usize) -> Rows {
        Rows { rows: words.chunks_exact(2).map(Row::new).collect(), starts, parts }
    }

    /// Pairs of P2P on all GPUs.
    pub fn pairs(&self) -> u64 {
        self.rows.iter().map(|row| row.pairs).sum()
    }

    /// Rows, and the end of all.
    pub fn count(depth: u32) -> usize {
        (1 << (2 * depth)) + 1
    }

    /// The particles of a part of the input in whole rows of leaves, by their places in the sorted share.
    pub fn of_part(&self, part: usize, leaves: Span, depth: u32) -> Range<usize> {
        let start = |leaf: u32| self.starts[(leaf >> depth) as usize * self.parts + part] as usize;
        start(leaves.first)..start(leaves.end)
    }
}

/// The part of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafShare {
    pub own: Span,
    /// Its leaves and all that are near them.
    pub around: Span,
    /// For each level the cells above them, and what lies between these.
    pub parents: [Span; 8],
    /// Blocks of P2P.
    pub blocks: u32,
    /// Particles of its leaves, and of the leaves around, of which `base` is the first among all.
    pub targets: u32,
    pub particles: u32,
    pub base: u32,
}

/// About how long the stages take with the leaves of a part, in ns.
pub fn cost_of(rows: &[Row], part: &LeafShare, depth: u32, prices: Prices) -> f64 {
    let of_row = (part.own.first >> depth) as usize..(part.own.end >> depth) as usize;
    let pairs: u64 = rows[of_row.clone()].iter().map(|row| row.pairs).sum();
    cost(pairs as f64, 0, prices) + cost(0.0, depth, prices) * of_row.len() as f64 / (rows.len() - 1) as f64
}

/// Shares out the leaves of a depth among so many GPUs, at ends of rows: parts that follow each other and cost about the same. `reach` is
/// how far leaves that are near may be along an axis; with periodic boundaries anywhere.
pub fn split(rows: &[Row], (depth, reach): (u32, Option<u32>), prices: Prices, devices: usize) -> Vec<LeafShare> {
    let (side, count) = (1u32 << depth, rows.len() - 1);
    let of_cells = cost(0.0, depth, prices) / count as f64;
    let costs = rows[..count].iter().map(|row| cost(row.pairs as f64, 0, prices) + of_cells);
    let all: f64 = costs.clone().sum();
    let (mut ends, mut so_far) = (Vec::with_capacity(devices), 0.0);
    for (row, cost) in costs.enumerate() {
        // A row belongs to the GPU that its middle falls to.
        while ends.len() + 1 < devices && (so_far + cost / 2.0) * devices as f64 >= all * (ends.len() + 1) as f64 {
            ends.push(row as u32);
        }
        so_far += cost;
    }
    ends.resize(devices, count as u32);
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let part = |(first, end): (u32, u32)| {
        // In rows.
        let reach = match reach {
            _ if first == end => 0,
            None => count as u32,
            Some(reach) => reach * (side + 1),
        };
        let (from, to) = (first.saturating_sub(reach), (end + reach).min(count as u32));
        let own = Span { first: first * side, end: end * side };
        LeafShare {
            own,
            around: Span { first: from * side, end: to * side },
            parents: parents(own, depth),
            blocks: rows[end as usize].blocks() - rows[first as usize].blocks(),
            targets: rows[end as usize].particles() - rows[first as usize].particles(),
            particles: rows[to as usize].particles() - rows[from as usize].particles(),
            base: rows[from as usize].particles(),
        }
    };
    starts.zip(ends.iter().copied()).map(part).collect()
}

/// For each level above the leaves from the least to the greatest parent of the cells of the level below.
fn parents(leaves: Span, depth: u32) -> [Span; 8] {
    let (mut all, mut below) = ([Span::default(); 8], leaves);
    for level in (0..depth).rev() {
        if below.len() == 0 {
            break;
        }
        let side = 2u32 << level;
        let parent = |cell: u32| {
            let [x, y, z] = [cell % side, cell / side % side, cell / side / side];
            ((((z / 2) << level) | (y / 2)) << level) | (x / 2)
        };
        // The extremes are among the ends, and the ends of rows and planes next to them.
        let (first, last, plane) = (below.first, below.end - 1, side * side);
        let ends = [first, (first / side + 1) * side, (first / plane + 1) * plane];
        let starts = [last, (last / side * side).wrapping_sub(1), (last / plane * plane).wrapping_sub(1)];
        let within = |cell: &u32| (first..=last).contains(cell);
        let least = ends.into_iter().filter(within).map(parent).min().unwrap_or(0);
        let most = starts.into_iter().filter(within).map(parent).max().unwrap_or(0);
        below = Span { first: least, end: most + 1 };
        all[level as usize] = below;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::octree::text::Basis;
    use pg2::backend::cuda::p2p::Real;

    /// Rows with so many pairs, 3 particles and 2 blocks each.
    fn rows(pairs: &[u64]) -> Vec<Row> {
        let ends = pairs.iter().chain([&0]).enumerate();
        ends.map(|(k, pairs)| Row { pairs: *pairs, start: (3 * k as u64) | ((2 * k as u64) << 32) }).collect()
    }

    #[test]
    fn parts_follow_each_other_and_reach_their_neighbours() {
        let prices = Prices::new(Basis::Harmonics, 5, Real::F32);
        for (depth, reach) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (0, 2), (2, 2), (3, 2)] {
            let side = 1u32 << depth;
            let count = side * side;
            let uneven: Vec<u64> = (0..count as u64).map(|k| k * k % 1000 * 1000).collect();
            for devices in [1, 2, 3, 4, 7] {
                let parts = split(&rows(&uneven), (depth, Some(reach)), prices, devices);
                assert_eq!((parts.len(), parts[0].own.first, parts[devices - 1].own.end), (devices, 0, count * side));
                assert!(parts.windows(2).all(|w| w[0].own.end == w[1].own.first));
                assert_eq!(parts.iter().map(|p| p.blocks).sum::<u32>(), 2 * count);
                for part in parts {
                    for cell in part.own.first..part.own.end {
                        let at = [cell % side, cell / side % side, cell / side / side].map(|x| x as i32);
                        let (most, ways) = (reach as i32, 2 * reach as i32 + 1);
                        for k in 0..ways.pow(3) {
                            let way = [k % ways, k / ways % ways, k / ways / ways].map(|k| k - most);
                            let [x, y, z] = [0, 1, 2].map(|a| at[a] + way[a]);
                            if [x, y, z].iter().all(|c| (0..side as i32).contains(c)) {
                                let near = (((z << depth) | y) << depth | x) as u32;
                                assert!((part.around.first..part.around.end).contains(&near));
                            }
                        }
                    }
                    assert_eq!(part.particles * side, 3 * part.around.len());
                }
            }
        }
    }

    #[test]
    fn even_work_is_shared_evenly_and_one_row_holds_up_one_gpu() {
        let prices = Prices::new(Basis::Harmonics, 5, Real::F32);
        let ends = |pairs: &[u64], depth, devices| -> Vec<u32> {
            split(&rows(pairs), (depth, Some(1)), prices, devices).iter().map(|p| p.own.end >> depth).collect()
        };
        assert_eq!(ends(&[1000; 256], 4, 4), [64, 128, 192, 256]);
        let mut heavy = [1; 64];
        heavy[20] = 1 << 40;
        assert_eq!(ends(&heavy, 3, 3), [20, 21, 64]);
        assert_eq!(ends(&[5], 0, 2), [0, 1]);
    }

    #[test]
    fn parents_are_all_that_lie_above() {
        for depth in 1..=4u32 {
            let all = 1u32 << (3 * depth);
            for (first, end) in
                [(0, all), (0, all / 2), (all / 2, all), (all / 8, all / 4), (3, all - 3), (all - 1, all)]
            {
                let spans = parents(Span { first, end }, depth);
                for cell in first..end {
                    let mut at = [0, depth, 2 * depth].map(|down| cell >> down & ((1 << depth) - 1));
                    for level in (0..depth).rev() {
                        at = at.map(|x| x / 2);
                        let parent = (at[2] << level | at[1]) << level | at[0];
                        let span = spans[level as usize];
                        assert!((span.first..span.end).contains(&parent), "{depth} {first} {end} {level}");
                    }
                }
            }
            assert_eq!(parents(Span { first: 0, end: all }, depth)[depth as usize - 1].len(), all / 8);
        }
        assert_eq!(parents(Span { first: 5, end: 5 }, 3), [Span::default(); 8]);
    }
}
