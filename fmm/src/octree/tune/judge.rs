//! How large the error of a run may be at targets that were not looked at.
//!
//! The relative L2 error of some targets is ruled by a few of them. A close pair makes the true value large, and at high orders
//! the corners of cells have nearly all of the error. So two things are known of all targets, not of those alone that are
//! summed directly: how large the gradient is, by the run itself, and where errors are large, by the difference of two runs of
//! different orders. By this difference the targets are divided into strata, and some of each are summed directly. Other
//! targets are then drawn again and again, each with its own gradient and with the error of a target of its stratum (the
//! bootstrap of Efron); the error of nearly all these draws is below that which is judged by.

use crate::arith::scale::{exponent, ldexp};
use crate::data::Force;
use crate::data::particles::Field;
use crate::data::random::Random;
use crate::direct::error::{
    Errors, compare, draw, in_place_of_gradients, lengths, lengths_between, lengths_off, of_hessians, relative, sample,
    unit,
};
use crate::parallel::prelude::*;

/// Targets that a wanted error is promised for.
pub const SAMPLES: usize = 1000;

/// Pairs of targets and sources by 1/r that are worth their time: few particles are summed at all of them.
const WORTH: usize = 300_000_000;

/// How many of these take the time of one pair of a source and a target in a reference of other sums.
pub(super) mod cost {
    /// By what a kernel means, for each near image.
    pub const KERNEL: usize = 5;
    /// By Ewald's sum.
    pub const EWALD: usize = 20;
    /// Of dipoles, or with second derivatives, times one of charges.
    pub const DERIVATIVES: usize = 4;
}

/// Targets that are drawn from all at least, and further ones of each stratum.
pub const LEAST: usize = 500;
const MORE: usize = 250;

/// The parts of all targets where errors are largest, strata of their own.
const LARGEST: [f64; 2] = [0.002, 0.03];
const STRATA: usize = LARGEST.len() + 1;

/// The part of all targets that have a close partner: their gradients are the largest, and what formats give for such a pair is a part of
/// it.
const CLOSE: f64 = 0.03;

/// Draws, and the part of them whose errors are at most the judged one.
const DRAWS: u64 = 1000;
const SURE: f64 = 0.997;

/// Targets, and what is right there.
pub struct Judge {
    n: usize,
    /// The edge of the box.
    edge: f64,
    seed: u64,
    targets: Vec<usize>,
    reference: Vec<Force>,
    /// Second derivatives at those that were drawn from all.
    seconds: Vec<[f64; 6]>,
    /// Of the targets, how many were drawn from all; the others are of the strata with large errors.
    drawn: usize,
    /// The stratum of each of the `n` targets, once two runs differ.
    strata: Vec<u8>,
}

/// The targets that errors are judged at to begin with, among `n`, where each costs as much as so many pairs by 1/r. They are others
/// than those of `--check`, unless these are all there are.
pub fn targets(n: usize, cost: usize, seed: u64) -> Vec<usize> {
    draw(n, (WORTH / cost.max(1)).max(LEAST), &mut Random::third_stream(seed))
}

/// The targets of `--check 1000`.
pub fn checked(n: usize, seed: u64) -> Vec<usize> {
    sample(n, SAMPLES, seed)
}

/// The error of a target, and the length of its gradient below which that of another target has an error smaller in proportion; 0 where
/// it has the same error.
#[derive(Clone, Copy)]
struct Off {
    off: f64,
    up_to: f64,
}

impl Off {
    /// The error of a target with a gradient of this length.
    fn at(self, size: f64) -> f64 {
        if size < self.up_to { self.off * (size / self.up_to) } else { self.off }
    }
}

impl Judge {
    pub fn new((n, edge): (usize, f64), targets: Vec<usize>, reference: &[[f64; 10]], seed: u64) -> Judge {
        let drawn = targets.len();
        let seconds = reference.iter().map(|all| std::array::from_fn(|a| all[a + 4])).collect();
        Judge { n, edge, seed, targets, reference: forces(reference), seconds, drawn, strata: Vec::new() }
    }

    /// The errors at the targets that were drawn from all.
    pub fn errors(&self, field: &Field) -> Errors {
        let (targets, reference, edge) = self.drawn();
        let hessian_rel_l2 = field.hessian.as_ref().map(|hessian| of_hessians(hessian, targets, &self.seconds));
        Errors { hessian_rel_l2, ..compare(field, targets, reference, edge) }
    }

    /// The targets that were drawn from all, what is right there, and the edge of the box.
    pub fn drawn(&self) -> (&[usize], &[Force], f64) {
        (&self.targets[..self.drawn], &self.reference[..self.drawn], self.edge)
    }

    /// Whether the difference of two runs would tell more.
    pub fn needs_strata(&self) -> bool {
        self.drawn < self.n && self.strata.is_empty()
    }

    /// Divides the targets by the difference of two runs. Returns the targets whose reference it needs.
    pub fn divide(&mut self, one: &Field, other: &Field) -> Vec<usize> {
        let differences = lengths_between(one, other, unit(one));
        let ends = LARGEST.map(|part| largest_but(&differences, (part * self.n as f64) as usize));
        self.strata = differences.iter().map(|d| ends.iter().filter(|end| *d <= **end).count() as u8).collect();
        let mut is_known = vec![false; self.n];
        self.targets.iter().for_each(|k| is_known[*k] = true);
        let mut random = Random::third_stream(self.seed ^ 1);
        let mut more = Vec::new();
        for stratum in 0..LARGEST.len() as u8 {
            let new: Vec<usize> = (0..self.n).filter(|k| self.strata[*k] == stratum && !is_known[*k]).collect();
            more.extend(draw(new.len(), MORE, &mut random).into_iter().map(|k| new[k]));
        }
        more
    }

    /// Takes what is right at more targets.
    pub fn add(&mut self, targets: Vec<usize>, reference: &[[f64; 10]]) {
        self.targets.extend(targets);
        self.reference.extend(forces(reference));
    }

    /// Forgets the strata, for other cells.
    pub fn unite(&mut self) {
        self.strata.clear();
        self.targets.truncate(self.drawn);
        self.reference.truncate(self.drawn);
    }

    /// A bound that the relative L2 error (of the gradient, else of the potential) at 1000 random targets is nearly always below.
    pub fn bound(&self, field: &Field) -> f64 {
        let unit = unit(field);
        let off = lengths_off(field, &self.targets, &self.reference, unit);
        let others = in_place_of_gradients(&self.reference[..self.drawn], self.edge);
        let sizes = match others.filter(|_| field.gradient.is_some()) {
            Some(size) => vec![ldexp(size, -exponent(unit)); self.n],
            None => lengths(field, unit),
        };
        let of_drawn: Vec<f64> = self.targets[..self.drawn].iter().map(|k| sizes[*k]).collect();
        let measured = relative(&off[..self.drawn], &of_drawn);
        if self.n <= SAMPLES || off.iter().all(|off| *off == 0.0) {
            return measured;
        }
        let errors = (0..DRAWS as usize).into_par_iter();
        let mut errors: Vec<f64> = if self.drawn == self.n {
            errors.map(|k| self.draw_of_all(&sizes, &off, k as u64)).collect()
        } else {
            let of_strata = self.by_strata(&off, &sizes);
            errors.map(|k| self.draw(&sizes, &of_strata, k as u64)).collect()
        };
        errors.sort_unstable_by(f64::total_cmp);
        errors[(SURE * DRAWS as f64) as usize].max(measured)
    }

    /// The errors of each stratum.
    fn by_strata(&self, off: &[f64], sizes: &[f64]) -> [Vec<Off>; STRATA] {
        let large = largest_but(sizes, (CLOSE * self.n as f64) as usize);
        let mut of_strata = [const { Vec::new() }; STRATA];
        for (target, off) in self.targets.iter().zip(off) {
            let up_to = if sizes[*target] > large { sizes[*target] } else { 0.0 };
            of_strata[self.strata.get(*target).map_or(0, |s| *s as usize)].push(Off { off: *off, up_to });
        }
        of_strata
    }

    /// The error of targets as others might have it, where it is known at some. These are a draw themselves, from which the
    /// others are drawn.
    fn draw(&self, sizes: &[f64], known: &[Vec<Off>; STRATA], k: u64) -> f64 {
        let mut random = Random::new(self.seed.wrapping_add(k << 32));
        let again: [Vec<Off>; STRATA] =
            std::array::from_fn(|s| known[s].iter().map(|_| known[s][below(known[s].len(), &mut random)]).collect());
        let (mut off, mut size) = ([0.0; SAMPLES], [0.0; SAMPLES]);
        for (off, size) in off.iter_mut().zip(&mut size) {
            let target = below(self.n, &mut random);
            let stratum = &again[self.strata.get(target).map_or(0, |s| *s as usize)];
            *size = sizes[target];
            *off = stratum[below(stratum.len(), &mut random)].at(*size);
        }
        relative(&off, &size)
    }

    /// The error of some of all targets, none twice, where it is known at all.
    fn draw_of_all(&self, sizes: &[f64], off: &[f64], k: u64) -> f64 {
        let mut random = Random::new(self.seed.wrapping_add(k << 32));
        // Algorithm S of Knuth: each is taken with the part of those still to be taken among those left.
        let (mut left, mut of_some) = (SAMPLES, [[0.0; SAMPLES]; 2]);
        for (at, (size, off)) in sizes.iter().zip(off).enumerate() {
            if below(self.n - at, &mut random) < left {
                left -= 1;
                (of_some[0][left], of_some[1][left]) = (*off, *size);
            }
        }
        relative(&of_some[0], &of_some[1])
    }
}

fn forces(reference: &[[f64; 10]]) -> Vec<Force> {
    reference.iter().map(|all| std::array::from_fn(|a| all[a])).collect()
}

/// The largest of some lengths but so many.
pub fn largest_but(lengths: &[f64], many: usize) -> f64 {
    /// Bits of lengths that are looked at first: of numbers from 0 on, these are in the order of the numbers.
    const BITS: u32 = 16;
    let first = |x: &f64| (x.to_bits() >> (u64::BITS - BITS)) as usize;
    let counted = |some: &[f64]| {
        let mut counts = vec![0u32; 1 << BITS];
        some.iter().for_each(|x| counts[first(x)] += 1);
        counts
    };
    let together = lengths.len().div_ceil(rayon::current_num_threads()).max(1 << BITS);
    let of_each: Vec<Vec<u32>> = lengths.par_chunks(together).map(counted).collect();
    let mut left = many;
    for bits in (0..1 << BITS).rev() {
        let count: usize = of_each.iter().map(|counts| counts[bits] as usize).sum();
        if left < count {
            let mut some: Vec<f64> = lengths.iter().copied().filter(|x| first(x) == bits).collect();
            return *some.select_nth_unstable_by(left, |a, b| b.total_cmp(a)).1;
        }
        left -= count;
    }
    unreachable!("there are more lengths than are left out")
}

fn below(n: usize, random: &mut Random) -> usize {
    (random.unit() * n as f64) as usize
}
