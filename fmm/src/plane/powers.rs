//! Sums of strengths over powers of distances: Gamma_j / (z_i - z_j)^m, the derivatives of the kernel `harmonic`.
//!
//! They have its expansions, whose derivatives are expansions too: with k = m - 1, the k-th derivative over k! of the sum of b_j z^j is that
//! of C(j, k) b_j z^(j-k), and of the sum of a_j z^-j that of (-1)^k C(j+k-1, k) a_j z^-(j+k). So all stages up to those at targets are the
//! kernel's own. The first power is its field but for a sign; the second is the gradient of the field of dipoles, and the second derivative
//! of that of charges.

use super::native::{near_ranges, parts, run};
use super::points::{Block, Place, Setting, from_local, from_multipole};
use super::state::{stride, zeros};
use super::{Geometry, Kernel, MOST_ORDER, Options, Plan, State, Strengths, options, tune};
use crate::arith::lanes::fastest;
use crate::arith::scale::{exponent, ldexp};
use crate::arith::vector::Isa;
use crate::data::random::Random;
use crate::direct::error::draw;
use crate::parallel::prelude::*;
use crate::stages::{Cancel, Expansions, FmmError, Stage};

/// The highest power. The unit of a box whose points are in one place is 2^-400, of which f64 holds no third power.
pub const MOST_POWER: u32 = 3;

/// Pairs that are summed directly in less time than a mesh takes.
const FEW: usize = 1 << 21;

/// Targets at which an error is measured, and how much smaller than wanted it must be there, since it is larger at others.
const SAMPLES: usize = 500;
const MARGIN: f64 = 0.5;

/// Orders that are added at a time.
const MORE: usize = 6;

/// The part of an error that a higher order leaves where it is that of rounding.
const STUCK: f64 = 0.9;

/// Sums at each target, in the order of the input and the user's units: real and imaginary parts.
pub type Columns = [Vec<f64>; 2];

/// Sums to be computed.
#[derive(Clone)]
pub struct Powers<'a> {
    pub geometry: Geometry<'a>,
    /// m, 1 to [`MOST_POWER`].
    pub power: u32,
    /// Ends the work between two stages.
    pub cancel: Cancel,
}

impl Powers<'_> {
    /// The sums for some strengths, with a relative L2 error of at most `wanted`, as far as the rounding of f64 allows.
    pub fn within(&self, wanted: f64, strengths: &Strengths) -> Result<Columns, FmmError> {
        self.check(strengths)?;
        let targets = self.targets();
        let all = || (0..targets).collect::<Vec<_>>();
        if targets.saturating_mul(strengths.re.len()) <= FEW {
            return Ok(columns(&self.at(strengths, &all())));
        }
        let sample = draw(targets, SAMPLES, &mut Random::third_stream(1));
        let right = columns(&self.at(strengths, &sample));
        let mut options =
            Options { order: tune::first_guess(wanted, 0.5), cancel: self.cancel.clone(), ..Options::default() };
        let mut before = f64::INFINITY;
        loop {
            // Of a higher power the last terms have larger factors.
            options.order = (options.order + 2 * (self.power as usize - 1)).min(MOST_ORDER);
            options.leaf = tune::leaf(options.order, Kernel::Harmonic, options.precision);
            let plan = Plan::new(self.geometry, &options)?;
            // Points are so close that powers of their distances leave the range of f64.
            if plan.mesh.exact.is_some() {
                break;
            }
            let found = self.by_plan(&plan, strengths)?;
            let error = error(&found, &sample, &right);
            if error <= wanted * MARGIN {
                return Ok(found);
            }
            if options.order == MOST_ORDER || error > STUCK * before {
                break;
            }
            (before, options.order) = (error, (options.order + MORE).min(MOST_ORDER));
        }
        Ok(columns(&self.at(strengths, &all())))
    }

    /// Says what is wrong.
    pub fn check(&self, strengths: &Strengths) -> Result<(), FmmError> {
        if !(1..=MOST_POWER).contains(&self.power) {
            return Err(FmmError::Option(format!("the power must be 1 to {MOST_POWER}, not {}", self.power)));
        }
        options::check_positions(self.geometry)?;
        options::check_strengths(self.geometry.sources[0].len(), Kernel::Harmonic, strengths)
    }

    fn targets(&self) -> usize {
        self.geometry.targets.unwrap_or(self.geometry.sources)[0].len()
    }

    /// The sums at some targets, over all sources.
    pub fn at(&self, strengths: &Strengths, targets: &[usize]) -> Vec<[f64; 2]> {
        let [x, y] = self.geometry.sources;
        let [at_x, at_y] = self.geometry.targets.unwrap_or(self.geometry.sources);
        let zeros = strengths.im.map_or(vec![0.0; x.len()], |_| Vec::new());
        let columns = [x, y, strengths.re, strengths.im.unwrap_or(&zeros)];
        let one = |k: &usize| {
            let mut sum = [0.0; 2];
            // Sums of sums, whose error is smaller.
            for first in (0..x.len()).step_by(TOGETHER) {
                let mut part = [0.0; 2];
                let some = first..x.len().min(first + TOGETHER);
                add(columns.map(|c| &c[some.clone()]), [at_x[*k], at_y[*k]], self.power, &mut part);
                sum = [sum[0] + part[0], sum[1] + part[1]];
            }
            sum
        };
        targets.par_iter().map(one).collect()
    }

    /// The sums at all targets by expansions.
    fn by_plan(&self, plan: &Plan, strengths: &Strengths) -> Result<Columns, FmmError> {
        let scaled = strengths.scaled(&plan.mesh.sources.order);
        let expansions = Expansions::F64(zeros(plan.mesh.boxes.len(), plan.options.order));
        let mut state = State::new(plan, &scaled, expansions);
        for stage in [Stage::P2m, Stage::M2m, Stage::M2l, Stage::P2l, Stage::L2l] {
            self.cancel.check()?;
            run(stage, &mut state);
        }
        self.cancel.check()?;
        self.at_targets(plan, &mut state);
        let power = scaled.exponent - self.power as i32 * plan.mesh.frame.exponent;
        let mut found = [vec![0.0; self.targets()], vec![0.0; self.targets()]];
        for (found, sums) in found.iter_mut().zip(&state.sums.vector) {
            for (place, sum) in plan.mesh.targets().order.iter().zip(sums) {
                found[*place as usize] = ldexp(*sum, power);
            }
        }
        Ok(found)
    }

    /// Local expansions, far multipole expansions and near sources at all targets, in units of the frame.
    fn at_targets(&self, plan: &Plan, state: &mut State) {
        let State { charges, expansions, sums, .. } = state;
        let Expansions::F64(c) = expansions else { unreachable!("they were made so") };
        let (mesh, lists, order) = (&plan.mesh, &plan.lists, plan.options.order);
        let (stride, finest, isa, k) = (stride(order), mesh.finest(), Isa::best(), self.power as usize - 1);
        let targets = mesh.targets();
        let zeros = vec![0.0; if charges.im.is_empty() { charges.re.len() } else { 0 }];
        let im = if charges.im.is_empty() { &zeros } else { &charges.im };
        let sources = [&mesh.sources.x[..], &mesh.sources.y[..], &charges.re[..], &im[..]];
        // The kernel has the sign of z_j - z_i.
        let sign = if self.power.is_multiple_of(2) { 1.0 } else { -1.0 };
        let place = |b: usize| Place { centre: [mesh.boxes.x[b], mesh.boxes.y[b]], unit: mesh.boxes.unit[b] };
        let setting = |order| Setting { kernel: Kernel::Harmonic, order, log_unit: 0.0 };
        parts(targets, sums).into_par_iter().for_each_init(
            Default::default,
            |(block, ranges, row): &mut Scratch, mut part| {
                for b in part.boxes.clone() {
                    let range = targets.range(b);
                    let (x, y) = (&targets.x[range.clone()], &targets.y[range.clone()]);
                    let own = place(finest + b);
                    local(&c.l[(finest + b) * stride..][..stride], k, row);
                    block.place(x, y, &own);
                    block.clear_sums();
                    let Block { x: u, y: v, sums, .. } = &mut *block;
                    from_local::<f64>(
                        isa,
                        row,
                        setting(row.len() / 2 - 1),
                        [u, v],
                        sums.each_mut().map(|s| &mut s[..]),
                    );
                    part.add(range.clone(), block, sign * own.unit.powi(-(k as i32)));
                    for source in lists.m2p.of(b) {
                        let source = finest + *source as usize;
                        let far = place(source);
                        multipole(&c.m[source * stride..][..stride], k, row);
                        block.place(x, y, &far);
                        block.clear_sums();
                        let Block { x: u, y: v, sums, .. } = &mut *block;
                        let sums = sums.each_mut().map(|s| &mut s[..]);
                        from_multipole::<f64>(isa, row, setting(row.len() / 2 - 1), 0.0, [u, v], sums);
                        part.add(range.clone(), block, sign * far.unit.powi(-(k as i32)));
                    }
                    near_ranges(plan, b, ranges);
                    block.place(x, y, &Place { centre: [0.0; 2], unit: 1.0 });
                    block.clear_sums();
                    for t in 0..range.len() {
                        let mut sum = [0.0; 2];
                        for some in ranges.iter() {
                            add(sources.map(|c| &c[some.clone()]), [x[t], y[t]], self.power, &mut sum);
                        }
                        [block.sums[0][t], block.sums[1][t]] = sum;
                    }
                    part.add(range, block, 1.0);
                }
            },
        );
    }
}

/// The scratch memory of a thread: points, ranges of near sources, and an expansion.
type Scratch = (Block, Vec<std::ops::Range<usize>>, Vec<f64>);

/// n over k.
fn binomial(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

/// The k-th derivative over k! of a local expansion.
fn local(row: &[f64], k: usize, to: &mut Vec<f64>) {
    let (re, im) = row.split_at(row.len() / 2);
    to.clear();
    for column in [re, im] {
        to.extend(column.iter().enumerate().skip(k).map(|(j, b)| binomial(j, k) * b));
        // Of an expansion with no more terms nothing is left.
        if column.len() <= k {
            to.push(0.0);
        }
    }
}

/// The same of a multipole expansion.
fn multipole(row: &[f64], k: usize, to: &mut Vec<f64>) {
    let (re, im) = row.split_at(row.len() / 2);
    let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    to.clear();
    for column in [re, im] {
        to.extend(std::iter::repeat_n(0.0, k));
        // There is no term of j = 0.
        to.extend(column.iter().enumerate().map(|(j, a)| if j == 0 { 0.0 } else { sign * binomial(j + k - 1, k) * a }));
    }
}

/// Sources whose sum is added to the whole at a time.
const TOGETHER: usize = 4096;

/// Sources worked on together.
const LANES: usize = 8;

fastest! {
    /// Adds Gamma / (z - z_j)^m of some sources, of which there are columns x, y, re and im; those in the target's place give nothing.
    fn add(sources: [&[f64]; 4], at: [f64; 2], power: u32, sum: &mut [f64; 2]) = add_in
}

#[inline(always)]
fn add_in<const FMA: bool>([x, y, re, im]: [&[f64]; 4], at: [f64; 2], power: u32, sum: &mut [f64; 2]) {
    let mut lanes = [[0.0; LANES]; 2];
    for first in (0..x.len()).step_by(LANES) {
        let count = LANES.min(x.len() - first);
        let part = |column: &[f64]| {
            let mut some = [0.0; LANES];
            some[..count].copy_from_slice(&column[first..first + count]);
            some
        };
        // What fills the last ones up has no strength.
        let [x, y, mut re, mut im] = [part(x), part(y), part(re), part(im)];
        let mut inverse = [[0.0; LANES]; 2];
        for i in 0..LANES {
            let (dx, dy) = (at[0] - x[i], at[1] - y[i]);
            let square = dx * dx + dy * dy;
            let one = if square > 0.0 { 1.0 / square } else { 0.0 };
            (inverse[0][i], inverse[1][i]) = (dx * one, -dy * one);
        }
        for _ in 0..power {
            for i in 0..LANES {
                let (a, b) = (re[i], im[i]);
                re[i] = a * inverse[0][i] - b * inverse[1][i];
                im[i] = a * inverse[1][i] + b * inverse[0][i];
            }
        }
        for i in 0..LANES {
            lanes[0][i] += re[i];
            lanes[1][i] += im[i];
        }
    }
    for (sum, lanes) in sum.iter_mut().zip(&lanes) {
        *sum += lanes.iter().sum::<f64>();
    }
}

fn columns(rows: &[[f64; 2]]) -> Columns {
    [0, 1].map(|part| rows.iter().map(|row| row[part]).collect())
}

/// The relative L2 error at some targets.
fn error(found: &Columns, targets: &[usize], right: &Columns) -> f64 {
    let largest = right.iter().flatten().fold(0.0, |a: f64, x| a.max(x.abs()));
    let unit = exponent(largest);
    let (mut off, mut size) = (0.0, 0.0);
    for (found, right) in found.iter().zip(right) {
        for (t, right) in targets.iter().zip(right) {
            let [found, right] = [found[*t], *right].map(|x| ldexp(x, -unit));
            (off, size) = (off + (found - right).powi(2), size + right.powi(2));
        }
    }
    if off == 0.0 { 0.0 } else { (off / size).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points and strengths, of which some targets are apart.
    fn points(n: usize, seed: u64) -> [Vec<f64>; 4] {
        let mut random = Random::new(seed);
        [(); 4].map(|()| (0..n).map(|_| random.unit() - 0.3).collect())
    }

    fn check(geometry: Geometry, strengths: Strengths, wanted: f64) {
        for power in 1..=3 {
            let powers = Powers { geometry, power, cancel: Cancel::default() };
            let found = powers.within(wanted, &strengths).expect("points are sound");
            let all: Vec<usize> = (0..powers.targets()).collect();
            let right = columns(&powers.at(&strengths, &all));
            let error = error(&found, &all, &right);
            assert!(error <= wanted, "{power} {wanted:e}: {error:e}");
            assert!(error > 0.0, "expansions were made");
        }
    }

    #[test]
    fn sums_of_powers_are_those_over_all_pairs() {
        let [x, y, re, im] = points(4000, 3);
        let [at_x, at_y, ..] = points(2500, 4);
        for wanted in [1e-3, 1e-6, 1e-10] {
            let strengths = Strengths { re: &re, im: Some(&im) };
            check(Geometry::from([&x[..], &y[..]]), strengths, wanted);
            let apart = Geometry { sources: [&x, &y], targets: Some([&at_x, &at_y]) };
            check(apart, Strengths { re: &re, im: None }, wanted);
        }
    }

    /// Clusters make lists of far boxes of other sizes, by M2P and P2L, and boxes without a size.
    #[test]
    fn units_and_clusters_change_nothing() {
        let [x, y, re, im] = points(3000, 5);
        let squeezed: Vec<f64> = x.iter().enumerate().map(|(k, x)| if k % 3 == 0 { x.powi(7) } else { *x }).collect();
        let y: Vec<f64> = y.iter().enumerate().map(|(k, y)| if k < 300 { 0.7 } else { *y }).collect();
        let squeezed: Vec<f64> = squeezed.iter().enumerate().map(|(k, x)| if k < 300 { 0.7 } else { *x }).collect();
        for scale in [1e-20, 1.0, 1e15] {
            let [x, y] = [&squeezed, &y].map(|c| c.iter().map(|x| scale * x).collect::<Vec<_>>());
            check(Geometry::from([&x[..], &y[..]]), Strengths { re: &re, im: Some(&im) }, 1e-8);
        }
    }

    #[test]
    fn the_sums_are_plain_sums() {
        let [x, y, re, im] = points(50, 7);
        let powers = |power| Powers { geometry: Geometry::from([&x[..], &y[..]]), power, cancel: Cancel::default() };
        let strengths = Strengths { re: &re, im: Some(&im) };
        for power in 1..=3 {
            let found = powers(power).within(1e-6, &strengths).expect("points are sound");
            for k in 0..50 {
                let mut sum = [0.0; 2];
                for j in (0..50).filter(|j| *j != k) {
                    // In polar coordinates.
                    let (dx, dy) = (x[k] - x[j], y[k] - y[j]);
                    let (size, turn) = (dx.hypot(dy).powi(-(power as i32)), -(power as f64) * dy.atan2(dx));
                    sum[0] += size * (re[j] * turn.cos() - im[j] * turn.sin());
                    sum[1] += size * (re[j] * turn.sin() + im[j] * turn.cos());
                }
                let size = sum[0].hypot(sum[1]).max(1.0);
                (0..2).for_each(|part| assert!((found[part][k] - sum[part]).abs() < 1e-9 * size, "{power} {k}"));
            }
        }
        let refused = powers(4).within(1e-6, &strengths).expect_err("it is too high").to_string();
        assert!(refused.contains("1 to 3"), "{refused}");
    }
}
