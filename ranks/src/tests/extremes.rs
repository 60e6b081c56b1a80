//! Particles at the ends of what numbers hold, and ranks that have all of theirs in one point, or sources alone, or targets alone.

use super::{Problem, RANKS, Runner, kernels, options, shipped};
use fmm::data::particles::Particles;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::expansion::basis::Basis;
use fmm::octree::{FmmOptions, Plan, Precision};

fn plain(leaf: usize) -> FmmOptions {
    FmmOptions { order: 3, ..options(leaf, Basis::Solid, Precision::F64) }
}

/// Particles an ulp or a few apart in some crowds, as the numbers hold them, and some far from these.
fn crowds(n: usize, apart: f64) -> Particles {
    let mut particles = generate(20, Distribution::Uniform, Charge::Random, 3);
    for k in 0..n {
        let centre = [0.5, 0.25, 1.0 / 3.0][k % 3];
        let at = [0, 1, 2].map(|a| centre + apart * (k * (a + 3) % 17) as f64);
        particles.push(at, 1.0 - 0.01 * k as f64);
    }
    particles
}

#[test]
fn particles_an_ulp_apart_give_the_bits_of_one_rank() {
    for apart in [1e-15, 2e-16, 1e-300] {
        for (leaf, precision) in [(1, Precision::F64), (7, Precision::F32)] {
            let options = FmmOptions { precision, ..plain(leaf) };
            Problem::new(crowds(150, apart), options).check(&format!("{apart:e} apart"), &[2, 3, 7]);
        }
        let mut problem = Problem::new(crowds(90, apart), FmmOptions { basis: Basis::Cartesian, ..plain(5) });
        problem.runner = kernels("emulator", shipped("p2p"), Some(3));
        problem.check(&format!("kernels, {apart:e} apart"), &[3]);
        problem.runner = Runner::GpuDevice;
        problem.check(&format!("a device, {apart:e} apart"), &[2]);
    }
}

#[test]
fn the_largest_and_the_least_coordinates_give_the_bits_of_one_rank() {
    for (size, charge) in [(1e300, 1e10), (1e307, 1e100), (1e-150, 1e-200), (1e-300, 1e-305)] {
        let mut particles = generate(400, Distribution::Plummer, Charge::Random, 4);
        for column in [&mut particles.x, &mut particles.y, &mut particles.z] {
            column.iter_mut().for_each(|x| *x = (*x - 0.5).clamp(-8.0, 8.0) * size);
        }
        particles.q.iter_mut().for_each(|q| *q *= charge);
        Problem::new(particles.clone(), plain(9)).check(&format!("coordinates of {size:e}"), &[2, 3, 7]);
        let mut problem = Problem::new(particles, FmmOptions { basis: Basis::Cartesian, ..plain(20) });
        problem.runner = kernels("emulator", shipped("p2p"), Some(3));
        problem.check(&format!("kernels, coordinates of {size:e}"), &[3]);
    }
}

#[test]
fn a_result_beyond_the_numbers_ends_all_ranks_with_the_sentence_of_one() {
    let mut particles = generate(100, Distribution::Uniform, Charge::Positive, 4);
    for column in [&mut particles.x, &mut particles.y, &mut particles.z] {
        column.iter_mut().for_each(|x| *x *= 1e-300);
    }
    let problem = Problem::new(particles, plain(9));
    let alone = Plan::new(problem.input.geometry(), &problem.options).unwrap();
    let wanted = alone.solve(&problem.input.particles.q, &mut [], &mut |_, _, _| {}).unwrap_err().to_string();
    for answer in problem.on(3) {
        assert_eq!(answer.unwrap_err().to_string(), wanted);
    }
}

#[test]
fn ranks_with_one_point_each_give_the_bits_of_one_rank() {
    // 40 particles in each of some points, which lie far apart, side by side, or on one point of the grid.
    for apart in [0.3, 1e-6, 1e-12] {
        let mut particles = Particles::default();
        for point in 0..7 {
            (0..40).for_each(|k| particles.push([0.1 + apart * point as f64, 0.2, 0.3], k as f64 - 7.5));
        }
        particles.push([1.0; 3], 1.0);
        let mut problem = Problem::new(particles, plain(8));
        problem.check(&format!("points {apart:e} apart"), &RANKS);
        problem.options.basis = Basis::Cartesian;
        problem.runner = kernels("emulator", shipped("p2p"), Some(3));
        problem.check(&format!("kernels, points {apart:e} apart"), &[3]);
    }
}

#[test]
fn ranks_with_sources_alone_and_with_targets_alone_give_the_bits_of_one_rank() {
    let part = |n: usize, seed: u64, at: f64, size: f64| {
        let mut particles = generate(n, Distribution::Uniform, Charge::Random, seed);
        for column in [&mut particles.x, &mut particles.y, &mut particles.z] {
            column.iter_mut().for_each(|x| *x = at + size * *x);
        }
        particles
    };
    // In opposite corners, side by side, and targets in one point among the sources.
    for (at, size) in [(0.9, 0.1), (0.5, 0.02), (0.25, 0.0)] {
        let targets = part(250, 8, at, size);
        let mut problem = Problem::new(part(400, 7, 0.0, 0.5), plain(12));
        problem.input.targets = Some([targets.x, targets.y, targets.z]);
        problem.check(&format!("targets at {at}"), &RANKS);
        problem.options.basis = Basis::Cartesian;
        problem.runner = kernels("emulator", shipped("p2p"), Some(3));
        problem.check(&format!("kernels, targets at {at}"), &[2, 7]);
    }
}
