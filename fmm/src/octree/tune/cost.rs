//! The costs of the stages on a machine, and the leaf size that follows.

use crate::arith::vector::Isa;
use crate::expansion::basis::{Basis, terms};
use crate::octree::Precision;
use serde::{Deserialize, Serialize};

/// Seconds of the stages on a machine. Of the built-in ones the ratios alone count.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Costs {
    pub f32: Native,
    pub f64: Native,
}

/// Native code in one precision.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Native {
    /// P2P of a pair.
    pub pair: f64,
    /// P2P of a pair by what a kernel means, which goes with a black-box expansion.
    pub kernel_pair: f64,
    pub solid: Far,
    pub cartesian: Far,
    pub chebyshev: Far,
}

/// The far field of an expansion.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Far {
    /// M2L of a pair of cells: `cell`, and `product` for each pair of terms.
    pub cell: f64,
    pub product: f64,
    /// P2M and L2P of a particle, and M2M and L2L of a cell, for each term.
    pub particle: f64,
    pub shift: f64,
    /// M2P and P2L of a particle and a cell, for each term.
    pub point: f64,
}

/// A board at a line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Pairs a second.
    pub pairs: f64,
    /// Seconds of the line for the records of a particle.
    pub particle: f64,
    /// Particles that the j memory holds.
    pub sources: f64,
}

/// The parameters for which a leaf size is chosen.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub n: usize,
    pub basis: Basis,
    pub order: usize,
    pub precision: Precision,
}

/// A tree of least cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    pub leaf: usize,
    /// As [`crate::octree::FmmOptions::enlarge`].
    pub enlarge: f64,
}

/// The cost of a cell besides M2L, in pairs of P2P in f32: its place in the tree and in lists, M2M and L2L, and gathering the sources
/// near it. Measured with uniform particles at order 6 in f32: with 8e4 of them 12 cells along an edge (46 particles in a cell) are
/// faster than 14 and these than 16 (20 in a cell).
const A_CELL: f64 = 6000.0;

/// M2L of a level takes as long as with so many cells more, whose tables come from far away, and so does making them. Measured with
/// uniform particles at order 6 in f32, 4 to 16 cells along an edge: 2.8 microseconds a cell and 0.9 ms a level.
const A_LEVEL: f64 = 320.0;

/// Where others cost about the same, a power of two of cells along an edge is taken: coarser levels have whole parents too.
const OF_POWERS: f64 = 0.95;

/// Direct sums, with an error far below what an order is taken for, are taken where they cost clearly less than the FMM.
const OF_DIRECT: f64 = 0.75;

/// Offsets of M2L that a level of three cells along an edge has, among all.
const OF_THREE: f64 = 1.0 / 3.0;

/// Pairs of cells of eight siblings that M2L takes.
const FAR_CELLS: f64 = 8.0 * 189.0;

/// Cells whose particles a leaf meets directly.
const NEAR_CELLS: f64 = 27.0;

/// M2L of a level takes as long as with so many cells more: its tables are read anew. Measured with uniform particles, both levels
/// are even at order 7 in f32 and 10 in f64 with 1e4 particles (156 in a cell), 12 in f32 with 1e5 (195), 14 in f32 with 1e6 (244).
const TABLES: f64 = 1300.0;

/// The same of a kernel's own expansion, which has other tables on each level, made from the kernel. Measured with `p2p_yukawa`: with
/// 1e4 particles (20 in a cell) the coarser level is the faster one at orders 4 to 8, with 2e4 (39) the finer one at order 5.
const OWN_TABLES: f64 = 13_000.0;

/// Of what M2L of a cell by matrices of an order takes, the parts that plane waves of that order take, which cost more by the number of
/// terms, and M2M and L2L, which do by its square. Measured on a Zen with AVX2.
const OF_MATRICES: usize = 13;
const OF_WAVES: f64 = 0.65;
const OF_SHIFTS: f64 = 0.13;

/// Leaves are whole groups of so many lanes, as engines and vectors have them.
const GROUP: f64 = 8.0;
const LARGEST: f64 = 2048.0;
const LEAST_IN_A_CELL: f64 = 6.0;

impl Default for Costs {
    /// Measured on one core of a Zen 5 with AVX-512; M2L of solid harmonics in f32 lies between this and what a Xeon with AVX-512
    /// (Emerald Rapids) takes, where it costs 1.3 times as much beside P2P.
    fn default() -> Costs {
        let far = |cell: f64, product: f64| Far {
            cell: cell * 1e-9,
            product: product * 1e-9,
            particle: 0.5e-9,
            shift: 2e-9,
            point: 0.3e-9,
        };
        // Solid harmonics share a product among mirrored offsets; the Cartesian expansion computes one for each. Those of Chebyshev
        // polynomials, which share them too, were measured on a Xeon with AVX-512 (Emerald Rapids) and are scaled by what P2P of a
        // kernel's pair takes on both.
        Costs {
            f32: Native {
                pair: 0.29e-9,
                kernel_pair: 8e-9,
                solid: far(9.0, 0.0063),
                cartesian: far(8.0, 0.0275),
                chebyshev: far(8.0, 0.0032),
            },
            // Most products of solid harmonics are computed in f32.
            f64: Native {
                pair: 0.68e-9,
                kernel_pair: 8e-9,
                solid: far(15.0, 0.0033),
                cartesian: far(10.0, 0.029),
                chebyshev: far(15.0, 0.005),
            },
        }
    }
}

impl Costs {
    pub fn native(&self, precision: Precision) -> &Native {
        match precision {
            Precision::F32 => &self.f32,
            Precision::F64 => &self.f64,
        }
    }

    /// Whether all are numbers that measuring can give.
    pub fn are_sound(&self) -> bool {
        let is_time = |x: f64| x.is_finite() && (0.0..1.0).contains(&x);
        let far = |f: &Far| {
            [f.cell, f.product, f.particle, f.shift, f.point].into_iter().all(is_time) && f.cell + f.product > 0.0
        };
        let pair = |pair: f64| is_time(pair) && pair > 0.0;
        let native = |n: &Native| {
            pair(n.pair) && pair(n.kernel_pair) && [&n.solid, &n.cartesian, &n.chebyshev].into_iter().all(far)
        };
        native(&self.f32) && native(&self.f64)
    }

    /// The same where M2L of solid harmonics in f64 has an order that goes by plane waves, with M2M and L2L, which then cost as much: by
    /// what matrices of [`OF_MATRICES`] cost.
    pub fn with_waves(&self, order: usize) -> Costs {
        let mut costs = self.clone();
        let far = &mut costs.f64.solid;
        let terms = terms_of(Basis::Solid, order) / terms_of(Basis::Solid, OF_MATRICES);
        far.cell = far.m2l(Basis::Solid, OF_MATRICES) * (OF_WAVES * terms + OF_SHIFTS * terms * terms);
        far.product = 0.0;
        costs
    }

    /// The particles up to which a leaf is not worth splitting: `sqrt(B / C)` with what M2L of a cell's children and P2P of a
    /// pair cost (Gumerov and Duraiswami, 2008).
    pub fn leaf(&self, choice: &Choice) -> usize {
        let tables = if choice.basis == Basis::Chebyshev { OWN_TABLES } else { TABLES };
        rounded(of_whole_levels(self.best(choice, self.pair(choice)), choice.n as f64, tables))
    }

    /// The leaf size and the edge of the root cell of least cost for native code of 1/r without periods. A cell is worth splitting by the
    /// same `sqrt(B / C)`; of uniform particles, all leaves are on one level, and hold as many as the root cell's edge makes them.
    pub fn shape(&self, choice: &Choice) -> Shape {
        let n = choice.n as f64;
        let across = self.across(choice);
        let worth = self.best(choice, self.pair(choice));
        if across <= 2 {
            return Shape { leaf: rounded(worth.max(n)), enlarge: 1.0 };
        }
        let cells = across.next_power_of_two();
        // Nearly all cells are within four standard deviations.
        let spread = |full: f64| 4.0 * full.sqrt();
        let (full, coarser) = (n / (across as f64).powi(3), 8.0 * n / (across as f64).powi(3));
        let least = full + spread(full);
        let leaf = rounded(worth.min(coarser - spread(coarser)).max(least));
        // Rounded up where less would split some of the cells.
        let leaf = if (leaf as f64) < least { leaf + GROUP as usize } else { leaf };
        Shape { leaf, enlarge: cells as f64 / across as f64 }
    }

    /// Along an edge of the particles' box the cells of least cost. More than two are even, so that their parents are whole.
    fn across(&self, choice: &Choice) -> usize {
        let n = choice.n as f64;
        // Fewer in a cell than the least leaf would not split the level before.
        let most = (n / LEAST_IN_A_CELL).cbrt() as usize;
        let cost = |across: &usize| {
            let along = *across as f64;
            // Neighbours along an axis, of which the outer cells have two.
            let near = if *across <= 2 { along } else { 3.0 - 2.0 / along };
            let cost = n * n * (near / along).powi(3) * self.pair(choice) + self.cells(choice, *across);
            match across {
                1 | 2 => cost / OF_DIRECT,
                _ if across.is_power_of_two() => OF_POWERS * cost,
                _ => cost,
            }
        };
        let candidates = [1, 2].into_iter().chain((4..=most).step_by(2));
        candidates.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(1)
    }

    /// The cost of the cells of all levels with `across` leaves along an edge.
    fn cells(&self, choice: &Choice, across: usize) -> f64 {
        let m2l = FAR_CELLS / 8.0 * self.native(choice.precision).far(choice.basis).m2l(choice.basis, choice.order);
        let (mut all, mut along) = (if across > 2 { m2l * A_LEVEL } else { 0.0 }, across);
        while along > 2 {
            let tables = A_LEVEL * if along == 3 { OF_THREE } else { 1.0 };
            // Lanes of vectors are parents, which take as long where some of their children are not there.
            let cells = 8.0 * (along.div_ceil(2) as f64).powi(3);
            all += m2l * (cells + tables) + A_CELL * self.f32.pair * cells;
            along = along.div_ceil(2);
        }
        all
    }

    fn pair(&self, choice: &Choice) -> f64 {
        let native = self.native(choice.precision);
        if choice.basis == Basis::Chebyshev { native.kernel_pair } else { native.pair }
    }

    /// The same with P2P on a board: for a particle it takes what its line does, until the pairs of larger leaves take longer. The
    /// sources of a leaf must fit the j memory; leaves are about a third full.
    pub fn leaf_on(&self, line: &Line, choice: &Choice) -> usize {
        let of_line = 3.0 * line.particle * line.pairs / NEAR_CELLS;
        let most = 3.0 * line.sources / NEAR_CELLS;
        rounded(self.best(choice, 1.0 / line.pairs).max(of_line).min(most))
    }

    fn best(&self, choice: &Choice, pair: f64) -> f64 {
        let native = self.native(choice.precision);
        let m2l = FAR_CELLS * native.far(choice.basis).m2l(choice.basis, choice.order);
        // Seven eighths of the pairs with the near cells are saved.
        (m2l / (NEAR_CELLS * 0.875 * pair)).sqrt()
    }
}

impl Native {
    pub fn far(&self, basis: Basis) -> &Far {
        match basis {
            // Most of softened 1/r is harmonics.
            Basis::Solid | Basis::Softened => &self.solid,
            Basis::Cartesian => &self.cartesian,
            Basis::Chebyshev => &self.chebyshev,
        }
    }
}

impl Far {
    /// M2L of a pair of cells.
    pub fn m2l(&self, basis: Basis, order: usize) -> f64 {
        let terms = terms_of(basis, order);
        self.cell + self.product * terms * terms
    }
}

pub fn terms_of(basis: Basis, order: usize) -> f64 {
    match basis {
        Basis::Solid | Basis::Softened => ((order + 1) * (order + 1)) as f64,
        Basis::Cartesian | Basis::Chebyshev => terms(order) as f64,
    }
}

fn rounded(leaf: f64) -> usize {
    ((leaf / GROUP).round().max(2.0) * GROUP).min(LARGEST) as usize
}

/// Cells of one level hold about the same number of uniform particles. Where that is nearly the leaf size, some would be split and
/// some not, which costs more than either: then all of them are, or none, as `best` says, or more particles where the cells to come
/// are few.
fn of_whole_levels(best: f64, n: f64, tables: f64) -> f64 {
    // Nearly all cells are within four standard deviations.
    let spread = |full: f64| 4.0 * full.sqrt();
    for level in 1..=20 {
        let full = n / 8f64.powi(level);
        let few = if level > 1 { 1.0 + tables / 8f64.powi(level + 1) } else { 1.0 };
        if full <= best * few.min(4.0).sqrt() {
            let (least, coarser) = (full + spread(full), 8.0 * full);
            let most = if level > 1 { coarser - spread(coarser) } else { f64::INFINITY };
            return if n > 0.0 { best.min(most).max(least) } else { best };
        }
    }
    best
}

/// The identity of this machine, by which constants are known to be its own.
pub fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("").trim_start_matches([' ', '\t', ':']);
    // Ratios do not depend on the number of threads, and so no leaf size does.
    format!("{model}, {:?}", Isa::best())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(n: usize, basis: Basis, order: usize, precision: Precision) -> usize {
        Costs::default().leaf(&Choice { n, basis, order, precision })
    }

    #[test]
    fn leaves_grow_with_the_order() {
        for basis in [Basis::Solid, Basis::Cartesian] {
            for precision in [Precision::F32, Precision::F64] {
                let sizes = [2, 5, 8, 14, 20].map(|order| leaf(0, basis, order, precision));
                assert!(sizes.windows(2).all(|w| w[0] <= w[1]) && sizes[0] < sizes[4], "{basis:?} {sizes:?}");
            }
        }
        // P2P by a kernel's real-arithmetic semantics costs more than native P2P, so that smaller leaves pay.
        let by_kernel = leaf(0, Basis::Chebyshev, 7, Precision::F32);
        assert!(2 * by_kernel < leaf(0, Basis::Cartesian, 7, Precision::F32), "{by_kernel}");
        // The default was this size before there was a model of it.
        assert_eq!(leaf(10_000, Basis::Cartesian, 4, Precision::F64), 64);
    }

    #[test]
    fn all_cells_of_a_level_are_split_or_none() {
        for n in (1000..200_000).step_by(777) {
            let size = leaf(n, Basis::Cartesian, 4, Precision::F64) as f64;
            for level in 1..8 {
                let full = n as f64 / 8f64.powi(level);
                // Rounding to groups of lanes takes half a group.
                assert!((size - full).abs() > 4.0 * full.sqrt() - 4.1 || size <= 16.0, "{n}: {size} beside {full}");
            }
        }
    }

    #[test]
    fn cells_of_uniform_particles_hold_what_costs_least() {
        let costs = Costs::default();
        let shape = |n, order, precision| costs.shape(&Choice { n, basis: Basis::Solid, order, precision });
        // Direct sums cost less than the tables of a far field.
        for n in [0, 1, 2, 8, 100, 1500] {
            let Shape { leaf, enlarge } = shape(n, 6, Precision::F32);
            assert!(leaf >= n && enlarge == 1.0, "{n}: {leaf} {enlarge}");
        }
        for n in (5000..3_000_000).step_by(77_777) {
            for (order, precision) in [(3, Precision::F32), (6, Precision::F32), (14, Precision::F64)] {
                let Shape { leaf, enlarge } = shape(n, order, precision);
                assert!((1.0..2.0).contains(&enlarge), "{n}: {enlarge}");
                // The first level whose cells are leaves: all of them are, and none before.
                let in_a_cell = |level: i32| n as f64 * (enlarge / 2f64.powi(level)).powi(3);
                let level = (0..20).find(|level| in_a_cell(*level) <= leaf as f64).expect("there is one");
                let (full, coarser) = (in_a_cell(level), in_a_cell(level - 1));
                let far = |x: f64| (x - leaf as f64).abs() > 3.0 * x.sqrt();
                assert!(level < 2 || far(full) && far(coarser), "{n} {order}: {leaf} beside {full} and {coarser}");
                // The cells along an edge are even and whole.
                let across = 2f64.powi(level) / enlarge;
                assert!(level < 2 || (0.5 * across).fract() < 1e-9, "{n} {order}: {across}");
            }
        }
        // Between powers of two: measured, see `A_CELL` and docs/results/cpu.md.
        assert_eq!(shape(10_000, 6, Precision::F32).enlarge, 8.0 / 6.0);
        assert_eq!(shape(1_000_000, 6, Precision::F32).enlarge, 1.0);
        assert_eq!(shape(1_000_000, 14, Precision::F64).enlarge, 32.0 / 28.0);
    }

    #[test]
    fn slow_lines_get_shallow_trees() {
        let choice = Choice { n: 0, basis: Basis::Cartesian, order: 4, precision: Precision::F64 };
        let line =
            |particle: f64, sources: f64| Costs::default().leaf_on(&Line { pairs: 8e8, particle, sources }, &choice);
        assert!(line(1e-8, 1e9) >= 32 && line(1e-8, 1e9) == line(1e-7, 1e9), "the line does not matter");
        assert!(line(1e-7, 1e9) < line(1e-6, 1e9) && line(1e-6, 1e9) < line(2e-4, 1e9));
        assert!(line(2e-4, 4096.0) < 500, "the j memory is the limit");
    }
}
