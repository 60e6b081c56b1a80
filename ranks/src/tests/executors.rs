//! Ranks whose P2P and M2L run on executors: kernels on backends, and a device beside the far field of the CPU.

use super::{Problem, RANKS, Runner, options};
use fmm::data::input::Set;
use fmm::data::particles::Particles;
use fmm::data::periodic::Periodic;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::p2p::{Near, Out};
use fmm::expansion::basis::Basis;
use fmm::octree::executor::{Executor, Progress, Stage, State, Sums, Work};
use fmm::octree::{FmmError, FmmOptions, Plan, Precision};
use pg2::graph::Graph;

/// A device that runs P2P beside the far field as a GPU does, in arithmetic that is too narrow for small charges and for large
/// softening lengths.
pub struct GpuDevice;

impl Executor<Plan> for GpuDevice {
    fn name(&self) -> &str {
        "gpu"
    }

    fn takes(&self, stage: Stage) -> bool {
        stage == Stage::P2p
    }

    fn is_device(&self) -> bool {
        true
    }

    fn bind(&mut self, _: &Plan) -> Result<(), FmmError> {
        Ok(())
    }

    fn extremes(&self, _: Stage, state: &State) -> Vec<f64> {
        // The level of the deepest own leaf.
        let tree = &state.plan.tree;
        let own = tree.leaves.iter().map(|leaf| &tree.cells[*leaf as usize]).filter(|cell| cell.targets > 0);
        vec![own.map(|cell| cell.level as f64).fold(0.0, f64::max)]
    }

    fn suits(&self, _: Stage, state: &State, extremes: &[f64]) -> bool {
        state.charges.least >= 1e-6 && state.plan.options.eps * 2f64.powf(extremes[0]) < 10.0
    }

    fn run(&mut self, _: Stage, state: &mut State, _: &[f64], _: &mut Progress) -> Result<Work, FmmError> {
        let State { plan, charges, sums: Sums { force, hessian }, .. } = state;
        let near = Near::new(&plan.tree, &plan.lists, charges, plan.options.eps);
        let again = near.one_way::<f32>(vec![Out { force, hessian }]).remove(0);
        Ok(Work {
            streamed: plan.pairs.p2p,
            recomputed: again.targets,
            close: again.pairs,
            wide: again.wide,
            has_gradient: true,
            ..Work::default()
        })
    }
}

fn compile(name: &str, text: &str) -> Graph {
    pg2::compile(name, text).unwrap().graph
}

pub fn shipped(name: &str) -> Graph {
    compile(name, pg2::kernels::find(name).unwrap().text)
}

pub fn kernels(backend: &'static str, p2p: Graph, m2l_order: Option<u32>) -> Runner {
    let m2l = m2l_order.map(|order| compile("m2l", &pg2::gen_m2l(order).unwrap()));
    Runner::Kernels { backend, p2p: Box::new(p2p), m2l: m2l.map(Box::new) }
}

/// Particles of which some are close to others, some on one point of the grid, some in one place, and many in a crowd.
fn crowded(n: usize, d: Distribution, seed: u64) -> Particles {
    let mut particles = generate(n, d, Charge::Random, seed);
    for k in 0..n / 20 {
        let at = particles.position(17 * k % n);
        particles.push(at.map(|x| x + 1e-9 * k as f64), 0.5);
        particles.push(at.map(|x| x + 1e-13), -0.25);
    }
    let at = particles.position(5);
    (0..90).for_each(|k| particles.push([at[0], at[1] + 1e-10 * k as f64, at[2]], 0.125));
    particles
}

#[test]
fn kernels_on_ranks_give_the_bits_of_one_rank() {
    for (backend, ranks) in [("emulator", &RANKS[..]), ("cpu", &[2, 7])] {
        for (d, basis) in [(Distribution::Plummer, Basis::Cartesian), (Distribution::Sphere, Basis::Solid)] {
            let order = if basis == Basis::Cartesian { Some(2) } else { None };
            let options = FmmOptions { order: 2, ..options(12, basis, Precision::F64) };
            let mut problem = Problem::new(crowded(700, d, 3), options);
            problem.runner = kernels(backend, shipped("p2p"), order);
            problem.check(&format!("{backend} {d:?}"), ranks);
        }
    }
}

#[test]
fn kernels_on_ranks_take_targets_apart_few_particles_and_several_charges() {
    let run = |particles: Particles, options: FmmOptions, ranks: &[usize], change: &dyn Fn(&mut Problem)| {
        let mut problem = Problem::new(particles, options);
        problem.runner = kernels("emulator", shipped("p2p"), Some(2));
        change(&mut problem);
        problem.check("kernels", ranks);
    };
    let plain = FmmOptions { order: 2, ..options(10, Basis::Cartesian, Precision::F64) };
    // Targets about one corner, far from most sources, so that cells have sources alone or targets alone.
    run(crowded(500, Distribution::Uniform, 4), plain.clone(), &[2, 3, 7], &|problem| {
        let targets = generate(300, Distribution::Normal, Charge::Random, 9);
        problem.input.targets = Some([targets.x, targets.y, targets.z].map(|c| c.iter().map(|x| 0.5 * x).collect()));
    });
    for n in [0, 1, 2, 5] {
        run(generate(n, Distribution::Uniform, Charge::Random, 2), plain.clone(), &[1, 3], &|_| {});
    }
    let other = generate(500, Distribution::Normal, Charge::Positive, 8);
    run(generate(500, Distribution::Normal, Charge::Random, 8), plain.clone(), &[3], &|problem| {
        let set = |q: &Vec<f64>| Set { charges: Some(q.clone()), dipoles: None };
        problem.input.sets = vec![set(&problem.input.particles.q), set(&other.q)];
    });
    // Softening so long that all targets are computed again, with the far field of softened 1/r beside it, and the near field alone.
    let long = FmmOptions { eps: 1e3, ..plain.clone() };
    run(generate(300, Distribution::Uniform, Charge::Random, 2), long, &[3], &|problem| {
        problem.runner = kernels("emulator", shipped("p2p"), None);
    });
    let near = FmmOptions { near_only: true, ..plain };
    run(crowded(300, Distribution::Layer, 2), near, &[2, 4], &|_| {});
}

#[test]
fn flags_and_recomputed_targets_are_those_of_one_rank() {
    // Sums that leave a narrow format, on cells and on targets, and multipoles that records do not hold.
    let narrow = pg2::kernels::find("p2p").unwrap().text.replace("fixed64.30 pout", "fixed40.30 pout");
    let mut particles = crowded(600, Distribution::Normal, 6);
    (0..600).step_by(7).for_each(|k| particles.q[k] *= 1e-30);
    let options = FmmOptions { order: 2, ..options(8, Basis::Cartesian, Precision::F64) };
    let mut problem = Problem::new(particles, options);
    problem.runner = kernels("emulator", compile("p2p", &narrow), Some(2));
    let stats = problem.check("narrow formats", &[2, 5]).remove(0).stats;
    assert!(stats.recomputed > 10 && !stats.flags.is_empty(), "{} {:?}", stats.recomputed, stats.flags);
}

#[test]
fn kernels_that_are_not_1_over_r_give_the_bits_of_one_rank() {
    for (backend, precision) in [("cpu", Precision::F64), ("emulator", Precision::F32)] {
        let params = vec![("kappa".to_string(), 4.0)];
        let options = FmmOptions { order: 3, params, ..options(15, Basis::Chebyshev, precision) };
        let mut problem = Problem::new(crowded(500, Distribution::Plummer, 7), options);
        problem.runner = kernels(backend, shipped("p2p_yukawa"), None);
        problem.check(backend, &[2, 3]);
    }
    // Cells that several ranks share are so small that they act directly.
    let options = FmmOptions {
        order: 3,
        params: vec![("kappa".to_string(), 4.0)],
        ..options(32, Basis::Chebyshev, Precision::F64)
    };
    let mut problem = Problem::new(generate(1200, Distribution::Plummer, Charge::Mass, 1), options);
    problem.runner = kernels("cpu", shipped("p2p_yukawa"), None);
    problem.check("small shared cells", &[7]);
}

#[test]
fn images_of_kernels_that_are_not_1_over_r_give_the_bits_of_one_rank() {
    check_images(&[([false, true, false], Precision::F32)], &[3]);
}

#[test]
#[ignore = "a proof in depth"]
fn images_on_any_ranks_and_along_all_axes_give_the_bits_of_one() {
    check_images(&[([true; 3], Precision::F64), ([false, true, false], Precision::F32)], &[2, 3, 7]);
}

/// Of a screened potential.
fn check_images(boxes: &[([bool; 3], Precision)], ranks: &[usize]) {
    for &(axes, precision) in boxes {
        let params = vec![("kappa".to_string(), 2.0)];
        let periodic = Some(Periodic { length: 1.0, axes });
        let options = FmmOptions { order: 3, params, periodic, ..options(15, Basis::Chebyshev, precision) };
        let mut problem = Problem::new(crowded(400, Distribution::Normal, 7), options);
        problem.runner = kernels("emulator", shipped("p2p_yukawa"), None);
        problem.check("images", ranks);
    }
}

#[test]
fn a_device_beside_the_far_field_gives_the_bits_of_one_rank() {
    for precision in testkit::some([Precision::F32, Precision::F64], 1) {
        let mut problem = Problem::new(
            crowded(3000, Distribution::Plummer, 3),
            FmmOptions { eps: 1e-5, ..options(30, Basis::Solid, precision) },
        );
        problem.runner = Runner::GpuDevice;
        problem.check("a device", &RANKS);
        // Charges of one set, and then the softening length, for which its arithmetic is too narrow.
        let mut small = problem.input.particles.q.clone();
        small[7] = 1e-9;
        let set = |q: Vec<f64>| Set { charges: Some(q), dipoles: None };
        problem.input.sets = vec![set(small), set(problem.input.particles.q.clone())];
        problem.check("one set on a device", &[2, 3]);
        problem.options.eps = 0.2;
        problem.check("a device that is too narrow", &[2, 4]);
    }
}

#[test]
fn what_executors_do_not_compute_ends_all_ranks_with_one_sentence() {
    let mut problem = Problem::new(
        generate(100, Distribution::Uniform, Charge::Random, 4),
        FmmOptions { order: 2, ..options(10, Basis::Cartesian, Precision::F64) },
    );
    problem.runner = kernels("emulator", shipped("p2p"), Some(3));
    let wanted = "order";
    let all: Vec<String> = problem.on(3).into_iter().map(|answer| answer.unwrap_err().to_string()).collect();
    assert!(all.iter().all(|text| *text == all[0]) && all[0].contains(wanted), "{all:?}");
    problem.hessian = true;
    let all: Vec<String> = problem.on(2).into_iter().map(|answer| answer.unwrap_err().to_string()).collect();
    assert!(all.iter().all(|text| text.contains("Hessians")), "{all:?}");
}
