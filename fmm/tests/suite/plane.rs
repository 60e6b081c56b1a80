//! Each shift against P2P on single points, with the vectors of each set of instructions.

use fmm::arith::vector::{Isa, Vectors};
use fmm::plane::near::{Sources, add_near};
use fmm::plane::points::{Block, FILL, Place, Setting, from_local, from_multipole, to_local, to_multipole};
use fmm::plane::shift::{LANES, Ratios, Shift, m2l, plain, shift};
use fmm::plane::{Kernel, MOST_ORDER};

const SOURCE: [f64; 2] = [0.31, -0.22];
const TARGET: [f64; 2] = [7.9, 5.2];
const STRENGTH: [f64; 2] = [0.7, -1.3];
/// A small box about the source and a larger one, and a larger and a small one about the target.
const BOXES: [Place; 4] = [
    Place { centre: [0.3, -0.2], unit: 0.0625 },
    Place { centre: [0.2, -0.25], unit: 0.25 },
    Place { centre: [8.0, 5.1], unit: 0.25 },
    Place { centre: [7.92, 5.17], unit: 0.125 },
];

/// A kernel, an order and vectors.
struct Case {
    isa: Isa,
    setting: Setting,
}

impl Case {
    fn all() -> impl Iterator<Item = Case> {
        let kernels = [Kernel::Harmonic, Kernel::Log];
        let settings = kernels.into_iter().flat_map(|kernel| {
            // Ratios of lengths are at most 1/24: from order 12 on, truncation is below rounding.
            [12, 13, 17, 30, MOST_ORDER].map(|order| Setting { kernel, order, log_unit: 0.4 })
        });
        settings.flat_map(|setting| Isa::all().map(move |isa| Case { isa, setting }))
    }

    fn is_log(&self) -> bool {
        self.setting.kernel == Kernel::Log
    }

    fn zeros(&self) -> Vec<f64> {
        vec![0.0; 2 * (self.setting.order + 1)]
    }

    fn log_u(&self, place: &Place) -> f64 {
        place.unit.ln() + self.setting.log_unit
    }

    fn block(&self, point: [f64; 2], place: &Place, sign: f64) -> Block {
        let mut block = Block::default();
        block.place(&[point[0]], &[point[1]], place);
        let im: &[f64] = if self.is_log() { &[] } else { &STRENGTH[1..] };
        block.carry(&STRENGTH[..1], im, if self.is_log() { 1.0 } else { sign / place.unit });
        block.clear_sums();
        block
    }

    fn p2m(&self, place: &Place) -> Vec<f64> {
        let (block, mut row) = (self.block(SOURCE, place, -1.0), self.zeros());
        to_multipole::<f64>(self.isa, [&block.x, &block.y, &block.re, &block.im], self.setting, &mut row);
        row
    }

    fn p2l(&self, place: &Place) -> Vec<f64> {
        let (block, mut row) = (self.block(SOURCE, place, 1.0), self.zeros());
        let columns = [&block.x[..], &block.y, &block.re, &block.im];
        to_local::<f64>(self.isa, columns, self.setting, self.log_u(place), &mut row);
        row
    }

    /// The shift in every lane, by vectors or by the plain loops.
    fn shifted(&self, which: Shift, [from, to]: [&Place; 2], row: &[f64], is_plain: bool) -> Vec<f64> {
        if is_plain {
            return plain(which, self.setting.order, from, to, row.to_vec());
        }
        let r = [from.centre[0] - to.centre[0], from.centre[1] - to.centre[1]];
        let square = r[0] * r[0] + r[1] * r[1];
        let over = |unit: f64| [r[0] * unit / square, -r[1] * unit / square];
        let under = |unit: f64| [r[0] / unit, r[1] / unit];
        let [before, after] = match which {
            Shift::M2m => [over(from.unit), under(to.unit)],
            Shift::L2l => [under(from.unit), over(to.unit)],
        };
        let mut ratios = Ratios::zeros(0.0);
        (0..LANES).for_each(|lane| ratios.set(lane, before, after, 0.0));
        let mut rows = row.repeat(self.isa.lanes::<f64>());
        shift::<f64>(self.isa, which, self.setting.order, &ratios, &mut rows);
        let rows: Vec<&[f64]> = rows.chunks(row.len()).collect();
        assert!(rows.iter().all(|row| row == &rows[0]), "lanes differ");
        rows[0].to_vec()
    }

    /// M2L of `count` boxes with a part of the strength each.
    fn m2l<T: Vectors>(&self, [from, to]: [&Place; 2], row: &[f64], count: usize) -> Vec<f64> {
        let r = [from.centre[0] - to.centre[0], from.centre[1] - to.centre[1]];
        let square = r[0] * r[0] + r[1] * r[1];
        let over = |unit: f64| [r[0] * unit / square, -r[1] * unit / square];
        let log = 0.5 * square.ln() + self.setting.log_unit;
        let lanes = self.isa.lanes::<T>();
        let mut ratios = Vec::new();
        for first in (0..count).step_by(lanes) {
            let mut some = Ratios::zeros(T::default());
            (0..lanes.min(count - first)).for_each(|lane| some.set(lane, over(-from.unit), over(to.unit), log));
            ratios.push(some);
        }
        let mut all: Vec<T> = row.iter().map(|x| T::of(x / count as f64)).collect::<Vec<T>>().repeat(count);
        all.extend([T::default(); LANES]);
        let mut out = vec![T::default(); row.len()];
        m2l::<T>(self.isa, self.setting.order, &all, &(0..count as u32).collect::<Vec<u32>>(), &ratios, &mut out);
        out.into_iter().map(T::f64).collect()
    }

    /// The value of an expansion at the target.
    fn value(&self, row: &[f64], place: &Place, is_local: bool) -> [f64; 3] {
        let mut block = self.block(TARGET, place, 1.0);
        let Block { x, y, sums, .. } = &mut block;
        let columns = sums.each_mut().map(|s| &mut s[..]);
        match is_local {
            true => from_local::<f64>(self.isa, row, self.setting, [x, y], columns),
            false => from_multipole::<f64>(self.isa, row, self.setting, self.log_u(place), [x, y], columns),
        }
        let slope = if self.is_log() { 1.0 / place.unit } else { 1.0 };
        [slope * sums[0][0], slope * sums[1][0], sums[2][0]]
    }

    /// The field of the source at the target by the formula.
    fn wanted(&self) -> [f64; 3] {
        let d = [SOURCE[0] - TARGET[0], SOURCE[1] - TARGET[1]];
        let square = d[0] * d[0] + d[1] * d[1];
        let [re, im] = STRENGTH;
        match self.setting.kernel {
            Kernel::Harmonic => [(re * d[0] + im * d[1]) / square, (im * d[0] - re * d[1]) / square, 0.0],
            Kernel::Log => {
                let log = square.sqrt().ln() + self.setting.log_unit;
                [-re * d[0] / square, -re * d[1] / square, re * log]
            }
        }
    }

    #[track_caller]
    fn check(&self, found: [f64; 3], rounding: f64) {
        for (found, wanted) in found.into_iter().zip(self.wanted()) {
            let Setting { kernel, order, .. } = self.setting;
            let size = 1.0 + wanted.abs();
            assert!((found - wanted).abs() < rounding * size, "{:?} {kernel:?} {order}: {found} {wanted}", self.isa);
        }
    }
}

#[test]
fn expansions_at_single_points_are_p2p_to_rounding() {
    for case in Case::all() {
        let [small, large, far, near] = &BOXES;
        case.check(case.value(&case.p2m(small), small, false), 1e-15);
        case.check(case.value(&case.p2l(near), near, true), 1e-15);
        for is_plain in [false, true] {
            let m = case.shifted(Shift::M2m, [small, large], &case.p2m(small), is_plain);
            case.check(case.value(&m, large, false), 1e-14);
            let l = case.shifted(Shift::L2l, [far, near], &case.p2l(far), is_plain);
            case.check(case.value(&l, near, true), 1e-14);
        }
        for count in [1, 2, 7, 8, 9, 40] {
            let l = case.m2l::<f64>([large, far], &case.p2m(large), count);
            case.check(case.value(&l, far, true), 1e-14);
            if case.setting.order <= 17 {
                let l = case.m2l::<f32>([large, far], &case.p2m(large), count);
                case.check(case.value(&l, far, true), 3e-6);
            }
        }
    }
}

/// Centres at one place or so near that powers of the ratio of unit and distance leave the range of f64.
#[test]
fn shifts_between_centres_at_one_place_are_right() {
    for case in Case::all() {
        for offset in [0.0, 1e-300, 1e-17, 1e-9] {
            let [small, large, _, near] = BOXES;
            let parent = Place { centre: [small.centre[0] + offset, small.centre[1]], ..large };
            let m = plain(Shift::M2m, case.setting.order, &small, &parent, case.p2m(&small));
            case.check(case.value(&m, &parent, false), 1e-14);
            let parent = Place { centre: [near.centre[0] + offset, near.centre[1]], unit: 0.5 };
            let l = plain(Shift::L2l, case.setting.order, &parent, &near, case.p2l(&parent));
            case.check(case.value(&l, &near, true), 1e-14);
        }
    }
}

#[test]
fn p2p_is_the_formula_for_any_number_of_targets_and_sources() {
    for case in Case::all().filter(|case| case.setting.order == 12) {
        for targets in [1, 8, 16, 30, 70] {
            let filled = targets_of(targets);
            let (x, y) = (vec![TARGET[0]; filled], vec![TARGET[1]; filled]);
            for sources in [1, 3, 20] {
                let part = |a: f64| vec![a / sources as f64; sources];
                let columns =
                    [vec![SOURCE[0]; sources], vec![SOURCE[1]; sources], part(STRENGTH[0]), part(STRENGTH[1])];
                let im = if case.is_log() { &[][..] } else { &columns[3] };
                let all = Sources { x: &columns[0], y: &columns[1], re: &columns[2], im };
                let mut sums = [vec![0.0; filled], vec![0.0; filled], vec![0.0; filled]];
                let ranges = [0..sources / 2, sources / 2..sources];
                let out = sums.each_mut().map(|s| &mut s[..]);
                add_near::<f64>(case.isa, all, &ranges, case.setting, [&x, &y], out);
                (0..targets).for_each(|k| case.check([0, 1, 2].map(|a| sums[a][k]), 1e-15));
            }
        }
    }
}

fn targets_of(count: usize) -> usize {
    count.next_multiple_of(FILL)
}
