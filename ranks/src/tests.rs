//! Runs on several ranks, which are threads, against the run without ranks: the same bits.

mod executors;
mod extremes;
mod gpus;

use super::prepare::Slice;
use super::solve::{Answer, solve};
use super::{RankError, threads};
use executors::{GpuDevice, kernels, shipped};
use fmm::data::input::{Input, Set};
use fmm::data::particles::{Field, Particles};
use fmm::data::periodic::Periodic;
use fmm::data::problem::{Geometry, Sources};
use fmm::data::random::{Charge, Distribution, generate};
use fmm::expansion::basis::Basis;
use fmm::octree::executor::Executor;
use fmm::octree::stats::Stats;
use fmm::octree::tune::cost::Costs;
use fmm::octree::{FmmOptions, Plan, Precision, Solutions};
use pg2::graph::Graph;
use pipelines::backends::{BackendOptions, cpu, emulator};
use pipelines::octree::kernel::of_graph;
use pipelines::octree::offload::Pipelines;

/// A problem, and how its input is cut into slices.
struct Problem {
    input: Input,
    options: FmmOptions,
    hessian: bool,
    runner: Runner,
}

/// The device that runs stages besides native code.
#[derive(Clone)]
enum Runner {
    None,
    Kernels { backend: &'static str, p2p: Box<Graph>, m2l: Option<Box<Graph>> },
    GpuDevice,
}

impl Runner {
    fn kernel(&self) -> Option<&Graph> {
        match self {
            Runner::Kernels { p2p, .. } => Some(p2p),
            _ => None,
        }
    }

    /// Opens it for one rank.
    fn with<T>(&self, work: impl FnOnce(&mut [&mut dyn Executor<Plan>]) -> T) -> T {
        match self {
            Runner::None => work(&mut []),
            Runner::GpuDevice => work(&mut [&mut GpuDevice]),
            Runner::Kernels { backend, p2p, m2l } => {
                let entry = [cpu::ENTRY, emulator::ENTRY].into_iter().find(|entry| entry.name == *backend).unwrap();
                let mut backend = (entry.open)(&BackendOptions { threads: 1, ..BackendOptions::default() });
                work(&mut [&mut Pipelines::new(&mut *backend, p2p, m2l.as_deref())])
            }
        }
    }
}

impl Problem {
    fn new(particles: Particles, options: FmmOptions) -> Problem {
        Problem { input: particles.into(), options, hessian: false, runner: Runner::None }
    }

    /// The results of one process without ranks.
    fn alone(&self) -> Solutions {
        let plan = Plan::for_kernel(self.input.geometry(), &self.options, self.runner.kernel().map(of_graph)).unwrap();
        let sources = self.input.sources();
        self.runner.with(|executors| plan.solve_all(&sources, self.hessian, executors, &mut |_, _, _| {})).unwrap()
    }

    /// On so many ranks, with the input in even slices.
    fn on(&self, ranks: usize) -> Vec<Result<Answer, RankError>> {
        self.cut(ranks, |n, rank| n * rank / ranks)
    }

    fn cut(&self, ranks: usize, start: impl Fn(usize, usize) -> usize + Sync) -> Vec<Result<Answer, RankError>> {
        let costs = Costs::default();
        threads::run(ranks, |comm| {
            let all = self.input.geometry();
            let range = |n: usize| start(n, comm.rank())..start(n, comm.rank() + 1);
            let own = range(all.sources[0].len());
            let geometry = Geometry {
                sources: all.sources.map(|c| &c[own.clone()]),
                targets: all.targets.map(|t| t.map(|c| &c[range(c.len())])),
            };
            let set = |s: &Sources<'_>| -> [Option<Vec<f64>>; 4] {
                let dipoles = |a: usize| s.dipoles.map(|p| p[a][own.clone()].to_vec());
                [s.charges.map(|q| q[own.clone()].to_vec()), dipoles(0), dipoles(1), dipoles(2)]
            };
            let sets: Vec<_> = self.input.sources().iter().map(set).collect();
            let sets = sets.iter().map(|[q, x, y, z]| Sources {
                charges: q.as_deref(),
                dipoles: x.as_deref().map(|x| [x, y.as_deref().unwrap(), z.as_deref().unwrap()]),
            });
            let (options, hessian) = (&self.options, self.hessian);
            let kernel = self.runner.kernel().map(of_graph);
            let slice = Slice {
                geometry,
                sets: sets.collect(),
                hessian,
                options,
                costs: &costs,
                kernel,
                p2p: options.precision,
            };
            self.runner.with(|executors| solve(comm, &slice, executors))
        })
    }

    fn check(&self, what: &str, all_ranks: &[usize]) -> Vec<Answer> {
        let wanted = self.alone();
        let mut last = Vec::new();
        for ranks in all_ranks {
            last = self.on(*ranks).into_iter().map(|answer| answer.unwrap()).collect();
            assert_equal(&last, &wanted.fields, &format!("{what} on {ranks} ranks"));
            let counted =
                |s: &Stats| (s.pairs, s.streamed, s.recomputed, s.close_pairs, s.shared_grid_points, s.levels);
            assert_eq!(counted(&last[0].stats), counted(&wanted.stats), "{what} on {ranks} ranks");
            let named = |s: &Stats| (s.backend.clone(), s.flags.clone(), s.has_gradient);
            assert_eq!(named(&last[0].stats), named(&wanted.stats), "{what} on {ranks} ranks");
        }
        last
    }
}

fn bits(column: &[f64]) -> Vec<u64> {
    column.iter().map(|x| x.to_bits()).collect()
}

fn columns(field: &Field) -> Vec<&Vec<f64>> {
    let gradient = field.gradient.iter().flatten();
    std::iter::once(&field.potential).chain(gradient).chain(field.hessian.iter().flatten()).collect()
}

fn assert_equal(answers: &[Answer], wanted: &[Field], what: &str) {
    for (set, wanted) in wanted.iter().enumerate() {
        for (k, column) in columns(wanted).into_iter().enumerate() {
            let found: Vec<f64> = answers.iter().flat_map(|a| columns(&a.fields[set])[k]).copied().collect();
            let differing = bits(&found).iter().zip(bits(column)).filter(|(a, b)| **a != *b).count();
            assert_eq!((found.len(), differing), (column.len(), 0), "{what}: set {set}, column {k}");
        }
    }
}

fn options(leaf: usize, basis: Basis, precision: Precision) -> FmmOptions {
    FmmOptions { leaf, basis, precision, ..FmmOptions::default() }
}

const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

#[test]
fn every_distribution_gives_the_bits_of_one_rank() {
    for (name, d) in Distribution::ALL {
        let particles = generate(3000, d, Charge::Random, 3);
        let answers = Problem::new(particles, options(30, Basis::Solid, Precision::F64)).check(name, &RANKS);
        let count = &answers[0].report.counts;
        assert_eq!(count.iter().map(|c| c.sources).sum::<u64>(), 3000);
        assert!(count.iter().all(|c| c.neighbours > 0 && c.import > 0 && c.root > 0), "{name} {count:?}");
    }
}

#[test]
fn pairs_in_both_directions_give_the_bits_of_one_rank() {
    for (leaf, precision) in [(40, Precision::F64), (90, Precision::F32)] {
        let mut particles = generate(6000, Distribution::Normal, Charge::Random, 5);
        for k in 0..40 {
            // Some charges are too small to be divided by, and some particles are too close.
            particles.q[37 * k] = if k % 2 == 0 { 1e-9 } else { 0.0 };
            let at = particles.position(11 * k);
            particles.push(at.map(|x| x + 1e-12 * k as f64), 0.5);
        }
        // The root cell is of all particles, with those of other ranks.
        let enlarge = if precision == Precision::F32 { 4.0 / 3.0 } else { 1.0 };
        let options = FmmOptions { enlarge, ..options(leaf, Basis::Solid, precision) };
        let mut problem = Problem::new(particles, options);
        problem.check("both directions", &[2, 5]);
        // Softened pairs, of which those that may be too close stand in other vectors on ranks.
        problem.options.eps = 0.1;
        problem.check("softened pairs in both directions", &[2, 4]);
    }
}

#[test]
fn few_particles_and_crowds_give_the_bits_of_one_rank() {
    for n in [0, 1, 2, 3, 5] {
        let particles = generate(n, Distribution::Uniform, Charge::Random, 2);
        Problem::new(particles, options(1, Basis::Cartesian, Precision::F64)).check(&format!("{n} particles"), &RANKS);
    }
    let mut point = Particles::default();
    (0..50).for_each(|k| point.push([0.3, 0.4, 0.5], k as f64));
    Problem::new(point.clone(), options(8, Basis::Solid, Precision::F64)).check("one point", &[3]);
    point.push([0.9, 0.1, 0.2], 1.0);
    Problem::new(point, options(8, Basis::Solid, Precision::F64)).check("one point and one", &[3]);
}

#[test]
fn trees_of_all_levels_give_the_bits_of_one_rank() {
    // Points nearer and nearer to a corner inside the box, where ranks meet, some of them twice.
    let mut particles = generate(200, Distribution::Uniform, Charge::Random, 6);
    for k in 0..25 {
        for side in [1.0, -1.0] {
            let at = 0.5 + side * 0.5f64.powi(k);
            (0..1 + k % 2).for_each(|_| particles.push([at, 0.5, at], 1.0 + k as f64));
        }
    }
    let problem = Problem::new(particles, options(1, Basis::Solid, Precision::F64));
    let plan = Plan::new(problem.input.geometry(), &problem.options).unwrap();
    assert_eq!(plan.tree.levels.len(), 1 + fmm::tree::MAX_LEVEL as usize);
    problem.check("all levels", &RANKS);
}

#[test]
fn ranks_without_particles_take_part() {
    let particles = generate(900, Distribution::Plummer, Charge::Mass, 2);
    let problem = Problem::new(particles, options(20, Basis::Cartesian, Precision::F64));
    let wanted = problem.alone();
    // All of the input is on the second rank; the others have none.
    let found = problem.cut(4, |n, rank| if rank < 2 { 0 } else { n });
    let found: Vec<Answer> = found.into_iter().map(|answer| answer.unwrap()).collect();
    assert_equal(&found, &wanted.fields, "one rank reads all");
}

#[test]
fn periodic_boxes_give_the_bits_of_one_rank() {
    for axes in [[true; 3], [true, false, false]] {
        let particles = generate(1500, Distribution::Layer, Charge::Random, 4);
        let periodic = Some(Periodic { length: 1.0, axes });
        let options = FmmOptions { periodic, ..options(20, Basis::Solid, Precision::F64) };
        Problem::new(particles, options).check("periodic", &[2, 3, 7]);
    }
}

#[test]
fn targets_apart_dipoles_and_hessians_give_the_bits_of_one_rank() {
    let particles = generate(1200, Distribution::Sphere, Charge::Random, 4);
    let targets = generate(700, Distribution::Normal, Charge::Random, 9);
    let moments = generate(1200, Distribution::Normal, Charge::Random, 8);
    let dipoles = Some([moments.x.clone(), moments.y.clone(), moments.z.clone()]);
    let sets = vec![
        Set { charges: Some(particles.q.clone()), dipoles: None },
        Set { charges: Some(moments.q.clone()), dipoles: dipoles.clone() },
        Set { charges: None, dipoles },
    ];
    let options = options(25, Basis::Cartesian, Precision::F64);
    let mut problem = Problem::new(particles, options);
    problem.input.targets = Some([targets.x, targets.y, targets.z]);
    problem.check("targets apart", &[2, 3, 7]);
    problem.input.sets = sets;
    problem.hessian = true;
    problem.check("dipoles at targets apart", &[3]);
    problem.input.targets = None;
    problem.check("dipoles", &[4]);
    problem.hessian = false;
    problem.input.sets.truncate(1);
    problem.options.near_only = true;
    problem.check("near field alone", &[3]);
    problem.options = FmmOptions { theta: 0.35, near_only: false, ..problem.options };
    problem.check("a smaller angle", &[3]);
}

#[test]
fn what_cannot_be_computed_ends_all_ranks_with_one_sentence() {
    let mut particles = generate(500, Distribution::Uniform, Charge::Random, 4);
    let plain = options(20, Basis::Solid, Precision::F64);
    let wrong = Problem::new(particles.clone(), FmmOptions { order: 99, ..plain.clone() });
    let said = |problem: &Problem| -> String {
        let all: Vec<String> = problem.on(3).into_iter().map(|answer| answer.unwrap_err().to_string()).collect();
        assert!(all.iter().all(|text| *text == all[0]), "{all:?}");
        all[0].clone()
    };
    assert!(said(&wrong).contains("the order must be"));
    particles.x[400] = f64::NAN;
    assert!(said(&Problem::new(particles.clone(), plain.clone())).contains("finite"));
    particles.x[400] = 0.5;
    (particles.q[3], particles.q[450]) = (1e-300, 1.0);
    let problem = Problem::new(particles.clone(), plain.clone());
    let alone = Plan::new(problem.input.geometry(), &plain).unwrap();
    let wanted = alone.solve(&problem.input.particles.q, &mut [], &mut |_, _, _| {}).unwrap_err().to_string();
    assert_eq!(said(&problem), wanted);
}

#[test]
fn work_is_shared_evenly_and_counted_as_on_one_rank() {
    for d in [Distribution::Uniform, Distribution::Sphere, Distribution::Plummer] {
        let particles = generate(20_000, d, Charge::Random, 1);
        let problem = Problem::new(particles, options(16, Basis::Solid, Precision::F32));
        let answers = problem.on(4);
        let answer = answers[0].as_ref().unwrap();
        assert!(answer.report.imbalance < 0.05, "{d:?}: {}", answer.report.imbalance);
        let plan = Plan::new(problem.input.geometry(), &problem.options).unwrap();
        assert_eq!((answer.stats.pairs, answer.stats.levels), (plan.pairs, plan.tree.levels.len()), "{d:?}");
        assert_eq!(answer.stats.streamed.m2l, plan.streamed_m2l, "{d:?}");
    }
}
