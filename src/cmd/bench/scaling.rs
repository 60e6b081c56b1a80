//! How the time of a native FMM grows with the number of particles.

use crate::cmd::fmm::BYTES_A_PARTICLE;
use fmm::data::random::{self, Charge, Distribution};
use fmm::expansion::basis::Basis;
use fmm::octree::tune::cost::{Costs, Shape};
use fmm::octree::{FmmOptions, Plan, Precision, tune};
use std::time::Instant;
use terminal::bench::spread;
use terminal::failure::Failure;
use terminal::memory;
use terminal::say;

/// Numbers of particles: four to a factor of ten, and the last one.
const SIZES: [usize; 14] = [
    10_000, 18_000, 32_000, 56_000, 100_000, 180_000, 320_000, 560_000, 1_000_000, 1_800_000, 3_200_000, 5_600_000,
    10_000_000, 16_000_000,
];

/// Few particles run again until so many have been computed, at most [`MOST_RUNS`] times.
const PARTICLES: usize = 1_000_000;
const MOST_RUNS: usize = 20;

/// Seconds by the number of particles, and the line through them.
pub fn run(repeat: u32) -> Result<(), Failure> {
    let most = SIZES[SIZES.len() - 1];
    memory::check(most as u64 * BYTES_A_PARTICLE, format_args!("an FMM of {most} particles"))?;
    let particles = random::generate(most, Distribution::Uniform, Charge::Random, 1);
    let mut seconds = [const { Vec::new() }; SIZES.len()];
    // All sizes in each round, so that what else the machine does meets all of them.
    for _ in 0..repeat {
        for (n, seconds) in SIZES.into_iter().zip(&mut seconds) {
            let options = options(n);
            let columns = particles.columns().map(|column| &column[..n]);
            for _ in 0..(PARTICLES / n).clamp(1, MOST_RUNS) {
                let start = Instant::now();
                let plan = Plan::new(columns, &options)?;
                std::hint::black_box(plan.solve(&particles.q[..n], &mut [], &mut |_, _, _| {})?);
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
    }
    seconds.iter_mut().for_each(|list| list.sort_unstable_by(f64::total_cmp));
    let medians: Vec<(f64, f64)> =
        SIZES.iter().zip(&seconds).map(|(n, list)| (*n as f64, list[list.len() / 2])).collect();
    let (start, each) = line(&medians);
    for ((n, list), (x, median)) in SIZES.into_iter().zip(&seconds).zip(&medians) {
        let FmmOptions { leaf, enlarge, .. } = options(n);
        say!(
            "  {n:>8} particles, leaf {leaf}, root cell {enlarge:.3} boxes long: {} ms, {:.0} ns a particle, {:.2} of the line",
            spread(list, |s| format!("{:.2}", 1e3 * s)),
            1e9 * median / x,
            median / (start + each * x)
        )?;
    }
    let farthest = medians.iter().map(|(n, s)| (s / (start + each * n) - 1.0).abs()).fold(0.0, f64::max);
    say!(
        "  the line: {:.2} ms and {:.0} ns a particle, from which no median is farther than {:.0}%",
        1e3 * start,
        1e9 * each,
        100.0 * farthest
    )?;
    say!(
        "  input: uniform particles, seed 1, order 6 in f32, plan and first run with its tables, {} threads",
        rayon::current_num_threads()
    )?;
    Ok(())
}

/// The options that `fmm` chooses for so many particles.
pub(super) fn options(n: usize) -> FmmOptions {
    let options = FmmOptions { basis: Basis::Solid, order: 6, precision: Precision::F32, ..FmmOptions::default() };
    let Shape { leaf, enlarge } = tune::native_shape(&Costs::default(), n, &options, true);
    FmmOptions { leaf, enlarge, ..options }
}

/// The line `a + b n` through points (n, seconds) with the least squares of what it is off by, relative to the seconds.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    // Both columns of the least squares are divided by the seconds, which become 1.
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(n, s)| of(1.0 / s, n / s)).sum::<f64>();
    let (uu, uv, vv) = (sum(&|u, _| u * u), sum(&|u, v| u * v), sum(&|_, v| v * v));
    let (u, v) = (sum(&|u, _| u), sum(&|_, v| v));
    let determinant = uu * vv - uv * uv;
    ((u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_its_points() {
        let points = [1e4, 3e5, 1.6e7].map(|n| (n, 4e-3 + 5e-7 * n));
        let (start, each) = line(&points);
        assert!((start / 4e-3 - 1.0).abs() < 1e-9 && (each / 5e-7 - 1.0).abs() < 1e-9, "{start} {each}");
        // One point that is off by a tenth moves neither end by more.
        let mut off = points;
        off[1].1 *= 1.1;
        let (start, each) = line(&off);
        let moved = points.map(|(n, s)| (start + each * n) / s - 1.0);
        assert!(moved.iter().all(|m| (-1e-9..0.1).contains(m)) && moved[1] > 0.01, "{moved:?}");
    }
}
