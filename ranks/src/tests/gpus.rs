//! All stages on the GPUs of ranks, for which the host stands: the bits of one GPU, and failures that all ranks know of.

use super::super::comm::{Comm, gather_u64};
use super::super::gpus::{Over, Runner, of_all, solve_by};
use super::super::tune::{Engine, Search, Tuned, within};
use super::*;
use fmm::octree::budget::Fields;
use fmm::octree::options::Wanted;
use fmm::octree::tune::{Free, Problem};
use fmm::tree::lists::near2;
use gpu::cuda::CudaError;
use gpu::cuda::driver::Outcome;
use gpu::cuda::octree::communicator::{Communicator, SingleProcess, Team};
use gpu::cuda::octree::links::Links;
use gpu::cuda::octree::{Extra, GpuFmm, Units};
use gpu::cuda::on_host::{self, HostDevice, Sight};
use gpu::cuda::p2p::Number;
use gpu::octree::all_stages::search::{NOTHING_FOUND, search};
use gpu::octree::all_stages::{Found, Task};
use pipelines::octree::bind::P2p;
use std::cell::RefCell;

/// Bytes of half a window: so few that most transfers take several rounds.
const WINDOW: usize = 512;

/// A problem, and how its input is cut into slices: rank r of p begins at `cut` of n.
struct OnGpus {
    sources: Particles,
    more: Vec<Vec<f64>>,
    targets: Option<Particles>,
    order: usize,
    leaf: usize,
    cut: fn(usize, usize, usize) -> usize,
    periodic: Option<Periodic>,
    theta: f64,
    /// The kernel is that of Yukawa with this parameter.
    kappa: Option<f64>,
}

fn evenly(n: usize, rank: usize, ranks: usize) -> usize {
    n * rank / ranks
}

/// The last rank has most.
fn unevenly(n: usize, rank: usize, ranks: usize) -> usize {
    n * rank * rank * rank / (ranks * ranks * ranks)
}

impl OnGpus {
    fn new(sources: Particles, order: usize, leaf: usize) -> OnGpus {
        let (theta, kappa) = (0.5, None);
        OnGpus { sources, more: Vec::new(), targets: None, order, leaf, cut: evenly, periodic: None, theta, kappa }
    }

    fn options(&self, precision: Precision) -> FmmOptions {
        let OnGpus { order, periodic, theta, kappa, .. } = *self;
        let basis = if kappa.is_some() { Basis::Chebyshev } else { Basis::Solid };
        let params = kappa.map(|kappa| ("kappa".to_string(), kappa)).into_iter().collect();
        FmmOptions { order, theta, basis, params, precision, periodic, ..FmmOptions::default() }
    }

    fn sets(&self) -> Vec<&[f64]> {
        std::iter::once(&self.sources.q).chain(&self.more).map(|q| &q[..]).collect()
    }

    fn geometry(&self) -> Geometry<'_> {
        Geometry { sources: self.sources.columns(), targets: self.targets.as_ref().map(Particles::columns) }
    }

    /// One GPU of one process.
    fn alone<T: Number>(&self) -> Solutions {
        let options = self.options(precision::<T>());
        let sets: Vec<_> = self.sets().into_iter().map(|charges| charges.into()).collect();
        let task = Task {
            name: "host",
            geometry: self.geometry(),
            sets: &sets,
            options: &options,
            wanted: Wanted::default(),
            leaf: Some(self.leaf),
        };
        run::<T>(&[HostDevice::default()], &SingleProcess, &task).unwrap().expect("it is fit").solutions()
    }

    /// On so many ranks, each with GPUs of its own.
    fn on<T: Number>(
        &self,
        ranks: usize,
        devices: impl Fn(usize) -> Vec<HostDevice> + Sync,
    ) -> Vec<Result<Result<Answer, String>, RankError>> {
        let (options, costs) = (self.options(precision::<T>()), Costs::default());
        threads::run(ranks, |comm| {
            let range = |n: usize| (self.cut)(n, comm.rank(), ranks)..(self.cut)(n, comm.rank() + 1, ranks);
            let all = self.geometry();
            let own = range(all.sources[0].len());
            let geometry = Geometry {
                sources: all.sources.map(|c| &c[own.clone()]),
                targets: all.targets.map(|t| t.map(|c| &c[range(c.len())])),
            };
            let sets = self.sets().iter().map(|q| q[own.clone()].into()).collect();
            let p2p = options.precision;
            let slice = Slice { geometry, sets, hessian: false, options: &options, costs: &costs, kernel: None, p2p };
            let devices = devices(comm.rank());
            let count = devices.len();
            let mut run =
                |others: &dyn Communicator, count: usize, task: &Task| run::<T>(&devices[..count], others, task);
            let runner = Runner { name: "host", devices: count, run: &mut run };
            let answer = solve_by(comm, &slice, runner, Some(self.leaf));
            if !matches!(answer, Err(RankError::Lost(_))) {
                // Nothing of it is still on its way.
                assert_eq!(gather_u64(comm, &[comm.rank() as u64])?.len(), ranks);
            }
            answer
        })
    }

    /// Checks that several ranks with several GPUs each give the results of one GPU.
    fn check<T: Number>(&self, what: &str, on: &[(usize, usize)]) {
        let wanted = self.alone::<T>();
        for &(ranks, devices) in on {
            // Ranks take as many GPUs as the one with the fewest.
            let on_rank = |rank: usize| vec![HostDevice::default(); devices + (rank == 1) as usize];
            let answers = self.on::<T>(ranks, on_rank).into_iter();
            let answers: Vec<Answer> = answers.map(|answer| answer.unwrap().expect("it is fit")).collect();
            assert_equal(&answers, &wanted.fields, &format!("{what} on {ranks} ranks with {devices} GPUs"));
            for Answer { stats, report, .. } in &answers {
                let counted = |s: &Stats| (s.n, s.targets, s.pairs, s.recomputed, s.close_pairs, s.levels, s.leaf);
                assert_eq!(counted(stats), counted(&wanted.stats), "{what} on {ranks} ranks");
                let [seconds, stages] = [stats.seconds.total, report.stages.iter().map(|s| s.mean).sum::<f64>() / 2.0];
                assert!((seconds - stages).abs() < 0.2 * seconds + 0.02, "{what}: {report:?}");
                let n = self.sources.len() + self.targets.as_ref().map_or(0, Particles::len);
                assert_eq!(report.counts.iter().map(|c| c.sources).sum::<u64>(), n as u64);
            }
        }
    }
}

fn precision<T: Number>() -> Precision {
    if size_of::<T>() == 4 { Precision::F32 } else { Precision::F64 }
}

fn run<T: Number>(devices: &[HostDevice], others: &dyn Communicator, task: &Task) -> Result<Outcome<Found>, CudaError> {
    let mut whole = whole::<T>(devices, task.options)?;
    let links = RefCell::new(Links::with_most(WINDOW));
    let team = Team::among(devices, others, &links);
    let done = team.connect(WINDOW).and_then(|()| task.run(&team, &mut whole));
    links.borrow_mut().close();
    done
}

fn whole<T: Number>(devices: &[HostDevice], options: &FmmOptions) -> Result<GpuFmm<T, HostDevice>, CudaError> {
    if options.basis == Basis::Chebyshev {
        return GpuFmm::black_box(devices, &shipped("p2p_yukawa"), options);
    }
    let kernel = shipped("p2p");
    let P2p { units, length, .. } = P2p::bind(&kernel, false, &[]).unwrap();
    let units = Units { potential: units.potential, gradient: units.gradient, length };
    let FmmOptions { periodic, lower_beyond, theta, .. } = *options;
    let extra = Extra { periodic, lower_beyond, near2: near2(theta), ..Extra::default() };
    GpuFmm::with_options(devices, &kernel, options.order, units, &extra)
}

fn random(n: usize, distribution: Distribution) -> Particles {
    generate(n, distribution, Charge::Random, 1)
}

/// Targets that are no sources, and two sets of charges.
fn apart(cut: fn(usize, usize, usize) -> usize) -> OnGpus {
    let sources = random(500, Distribution::Uniform);
    let more = vec![sources.q.iter().map(|q| 2.0 - q).collect()];
    let targets = Some(random(200, Distribution::Normal));
    OnGpus { more, targets, cut, ..OnGpus::new(sources, 1, 8) }
}

/// Particles in pairs that are too close for f32, the ends of which have numbers far from each other.
fn close(pairs: usize) -> OnGpus {
    let half = random(pairs, Distribution::Uniform);
    let both = |column: &[f64], step: f64| {
        column.iter().copied().chain(column.iter().rev().map(|x| x + step)).collect::<Vec<f64>>()
    };
    let [x, y, z, q] = [&half.x, &half.y, &half.z, &half.q];
    let sources = Particles { x: both(x, 1e-9), y: both(y, 0.0), z: both(z, -1e-12), q: both(q, 0.5) };
    OnGpus { cut: unevenly, ..OnGpus::new(sources, 2, 4) }
}

#[test]
fn gpus_of_ranks_give_the_bits_of_one_gpu() {
    if !on_host::is_there() {
        return;
    }
    // So deep that ranks have expansions of leaves near their own alone.
    OnGpus::new(random(300, Distribution::Sphere), 1, 1).check::<f64>("sphere", &[(2, 2)]);
    OnGpus::new(random(2, Distribution::Uniform), 1, 64).check::<f64>("two particles", &[(3, 1)]);
    close(60).check::<f32>("close pairs", &[(2, 2)]);
    apart(unevenly).check::<f64>("targets apart", &[(2, 1)]);
}

#[test]
#[ignore = "a proof in depth"]
fn gpus_of_any_ranks_give_the_bits_of_one_gpu() {
    if !on_host::is_there() {
        return;
    }
    let all = &[(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)];
    OnGpus::new(random(700, Distribution::Uniform), 4, 4).check::<f32>("uniform", all);
    OnGpus::new(random(300, Distribution::Sphere), 1, 1).check::<f64>("sphere", all);
    OnGpus::new(random(600, Distribution::Sphere), 4, 1).check::<f32>("sphere", &[(2, 1), (3, 2)]);
    OnGpus { cut: unevenly, ..OnGpus::new(random(40, Distribution::Uniform), 1, 64) }.check::<f64>("one leaf", all);
    OnGpus::new(random(2, Distribution::Uniform), 1, 64).check::<f64>("two particles", all);
    close(150).check::<f32>("close pairs", all);
    apart(evenly).check::<f32>("targets apart", all);
    apart(unevenly).check::<f64>("targets apart, uneven slices", all);
    let periodic = Some(Periodic { length: 1.0, axes: [true; 3] });
    OnGpus { periodic, ..OnGpus::new(random(500, Distribution::Uniform), 2, 2) }.check::<f32>("a periodic box", all);
}

#[test]
#[ignore = "a proof in depth"]
fn gpus_of_ranks_take_other_angles_and_kernels() {
    if !on_host::is_there() {
        return;
    }
    let uniform = || OnGpus::new(random(300, Distribution::Uniform), 2, 4);
    OnGpus { theta: 0.4, ..uniform() }.check::<f32>("theta 0.4", &[(2, 1), (3, 2)]);
    let more = vec![random(300, Distribution::Normal).q];
    OnGpus { kappa: Some(3.0), more, ..uniform() }.check::<f32>("Yukawa's kernel", &[(2, 1), (3, 2)]);
}

#[test]
#[ignore = "a proof in depth"]
fn gpus_give_each_other_data_by_way_of_their_hosts_where_they_do_not_read_each_other() {
    if !on_host::is_there() {
        return;
    }
    let problem = OnGpus::new(random(300, Distribution::Sphere), 2, 2);
    let wanted = problem.alone::<f32>();
    let sent = |sight: &(dyn Fn(usize, usize) -> Sight + Sync)| {
        let devices = |rank: usize| {
            [0, 1].map(|device| HostDevice { sight: sight(rank, device), ..HostDevice::default() }).to_vec()
        };
        let answers = problem.on::<f32>(3, devices).into_iter();
        let answers: Vec<Answer> = answers.map(|answer| answer.unwrap().expect("it is fit")).collect();
        assert_equal(&answers, &wanted.fields, "what GPUs read of each other");
        answers[0].report.counts.iter().map(|count| count.bytes).collect::<Vec<u64>>()
    };
    let clear = sent(&|_, _| Sight::Clear);
    // One GPU of one rank: that rank is apart from the other two, whatever it is that does not work.
    for sight in [Sight::Hidden, Sight::Blind, Sight::Wrong] {
        let found = sent(&|rank, device| if (rank, device) == (1, 1) { sight } else { Sight::Clear });
        assert!((0..3).all(|rank| found[rank] > clear[rank] + 500), "{clear:?} {found:?}");
        if sight == Sight::Hidden {
            let all = sent(&|_, _| sight);
            assert!(found[0] < all[0] && found[2] < all[2], "{found:?} {all:?}");
        }
    }
}

#[test]
fn runs_of_particles_that_are_made_on_the_gpus_of_ranks_are_timed() {
    if !on_host::is_there() {
        return;
    }
    let options = OnGpus::new(random(1, Distribution::Uniform), 2, 8).options(Precision::F32);
    let geometry = Geometry { sources: [&[]; 3], targets: None };
    let task = Task { name: "host", geometry, sets: &[], options: &options, wanted: Wanted::default(), leaf: Some(8) };
    let found = threads::run(2, |comm| {
        let (over, devices) = (Over::new(comm), vec![HostDevice::default()]);
        let (mut whole, links) = (whole::<f32>(&devices, &options).unwrap(), RefCell::new(Links::with_most(WINDOW)));
        let team = Team::among(&devices, &over, &links);
        let timed = || team.connect(WINDOW).and_then(|()| task.timed(&team, &mut whole, 401, 2));
        let runs = over.together(timed)?;
        let runs = runs.expect("nothing fails").expect("it is fit");
        runs.iter().map(|(run, waited)| of_all(comm, run, *waited)).collect::<Result<Vec<_>, _>>()
    });
    for runs in found {
        let runs = runs.unwrap();
        assert_eq!(runs.len(), 2);
        for run in runs {
            let parts = run.stages.iter().map(|stage| stage.1).sum::<f64>();
            assert!(parts > 0.0 && run.exchange > 0.0 && run.total > run.exchange, "{run:?}");
        }
    }
}

/// Searches by GPUs of ranks that the host stands for, or by ranks that are said to have none that suit.
struct Searched {
    leaf: usize,
    refused: Option<&'static str>,
    search: Search,
}

impl Engine for Searched {
    fn solve(&mut self, comm: &dyn Comm, slice: &Slice) -> Result<Result<Answer, String>, RankError> {
        if let Some(why) = self.refused {
            return Ok(Err(why.into()));
        }
        let mut run = |others: &dyn Communicator, count: usize, task: &Task| match slice.options.precision {
            Precision::F32 => run::<f32>(&vec![HostDevice::default(); count], others, task),
            Precision::F64 => run::<f64>(&vec![HostDevice::default(); count], others, task),
        };
        solve_by(comm, slice, Runner { name: "host", devices: 1, run: &mut run }, Some(self.leaf))
    }

    fn split(
        &mut self,
        _: &dyn Comm,
        _: &Slice,
        _: Option<&Tuned>,
    ) -> Result<Result<Option<Fields>, String>, RankError> {
        unreachable!("whole orders are not split")
    }

    fn check(&self, _: &Slice) -> Result<(), RankError> {
        Ok(())
    }

    fn search(&self) -> Search {
        self.search
    }
}

/// The outcome of a search for an error on every rank.
type Outcomes = Vec<Result<(FmmOptions, Option<Tuned>), String>>;

/// The search on so many ranks, by engines as they are made.
fn searched(particles: &Particles, wanted: f64, ranks: usize, engine: &(dyn Fn() -> Searched + Sync)) -> Outcomes {
    let (options, costs) = (OnGpus::new(particles.clone(), 2, 4).options(Precision::F32), Costs::default());
    let found = threads::run(ranks, |comm| {
        let own = evenly(particles.len(), comm.rank(), ranks)..evenly(particles.len(), comm.rank() + 1, ranks);
        let (geometry, sets) = (particles.columns().map(|c| &c[own.clone()]).into(), vec![particles.q[own].into()]);
        let p2p = options.precision;
        let slice = Slice { geometry, sets, hessian: false, options: &options, costs: &costs, kernel: None, p2p };
        let whole = Problem {
            geometry: particles.columns().into(),
            sets: vec![particles.q[..].into()],
            hessian: false,
            p2p: None,
            near: None,
            seed: 1,
            is_promise: false,
            free: Free::default(),
            costs: &costs,
        };
        within(comm, wanted, Some(&whole).filter(|_| comm.rank() == 0), &slice, &mut engine())
    });
    found.into_iter().map(|found| found.expect("no rank fails")).collect()
}

#[test]
fn ranks_whose_gpus_find_no_order_all_leave_it_to_their_cpus() {
    let particles = random(60, Distribution::Uniform);
    let none: Search = |_, _, _, _| Ok(None);
    for (refused, search, why) in [(None, none, NOTHING_FOUND), (Some("they are busy"), search, "they are busy")] {
        let found = searched(&particles, 1e-2, 3, &|| Searched { leaf: 4, refused, search });
        for of_rank in found {
            assert_eq!(of_rank.map(|(options, _)| options), Err(why.into()));
        }
    }
}

#[test]
#[ignore = "a proof in depth"]
fn gpus_of_ranks_find_the_order_and_the_bits_of_one_gpu() {
    if !on_host::is_there() {
        return;
    }
    let particles = random(400, Distribution::Uniform);
    let on = |ranks| searched(&particles, 2e-2, ranks, &|| Searched { leaf: 4, refused: None, search });
    let first = |found: Outcomes| {
        let mut all: Vec<_> = found.into_iter().map(|of_rank| of_rank.expect("there is an order")).collect();
        assert!(all.iter().all(|(options, _)| *options == all[0].0), "all ranks know the order");
        all.swap_remove(0)
    };
    let (options, one) = first(on(1));
    let one = one.expect("the first rank has the results");
    let error = one.errors[0].gradient_rel_l2.expect("a gradient");
    assert!(options.order < 6 && error < 2e-2, "order {}, error {error:.1e}", options.order);
    let (of_three, three) = first(on(3));
    assert!(of_three == options && three.expect("the first rank has the results").fields == one.fields);
}

/// All of three ranks leave a problem to their CPUs, for one reason.
fn unfit(problem: &OnGpus, devices: &(dyn Fn(usize) -> Vec<HostDevice> + Sync), why: &str) {
    for answer in problem.on::<f64>(3, devices) {
        let said = answer.unwrap().expect_err("it is unfit");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn all_ranks_leave_a_problem_to_their_cpus_or_none_does() {
    if !on_host::is_there() {
        return;
    }
    let one = |_: usize| vec![HostDevice::default()];
    let mut particles = generate(90, Distribution::Uniform, Charge::Random, 1);
    let mut problem = OnGpus::new(particles.clone(), 1, 64);
    // One rank alone is short of memory: for the particles, and for the cells.
    for most in [1000, 30_000] {
        problem.leaf = if most > 1000 { 1 } else { 64 };
        let short = |rank: usize| vec![HostDevice { most: (rank == 1).then_some(most), ..HostDevice::default() }];
        unfit(&problem, &short, "the GPU is small");
    }
    problem.leaf = 64;
    unfit(&problem, &|_| vec![HostDevice::default(); 30], "90 GPUs in all are more than 64");
    // What only one rank's GPU meets.
    (particles.x[80], particles.y[80], particles.z[80]) = (particles.x[5] + 1e-200, particles.y[5], particles.z[5]);
    (particles.x[5], particles.x[80]) = (0.0, 1e-200);
    problem.sources = particles.clone();
    unfit(&problem, &one, "so close that a result leaves the arithmetic");
    particles.q[3] = 1e200;
    problem.sources = particles;
    unfit(&problem, &one, "very large or very small numbers");
}

#[test]
#[ignore = "a proof in depth"]
fn all_ranks_leave_a_crowd_in_one_point_to_their_cpus() {
    if !on_host::is_there() {
        return;
    }
    let crowd = [vec![0.25; 100_100], vec![1.0]].concat();
    let q = vec![1.0; crowd.len()];
    let problem = OnGpus::new(Particles { x: crowd.clone(), y: crowd.clone(), z: crowd, q }, 1, 1000);
    unfit(&problem, &|_| vec![HostDevice::default()], "too uneven");
}

/// One of two GPUs of one of two ranks does not start a kernel.
fn break_at(kernels: &[&'static str]) {
    let problem = OnGpus::new(random(90, Distribution::Uniform), 1, 1);
    for (k, kernel) in kernels.iter().enumerate() {
        let devices = |rank: usize| {
            let is_broken = |device: usize| rank == k % 2 && device == 1;
            let device = |device| HostDevice { broken: is_broken(device).then_some(*kernel), ..HostDevice::default() };
            (0..2).map(device).collect()
        };
        for answer in problem.on::<f64>(2, devices) {
            assert_eq!(answer, Err(RankError::Tool("the GPU is broken".into())), "{kernel} on rank {}", k % 2);
        }
    }
}

#[test]
fn a_gpu_that_fails_ends_all_ranks_with_one_sentence() {
    if on_host::is_there() {
        break_at(&["bounds", "merge", "spread"]);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn a_gpu_that_fails_anywhere_ends_all_ranks_with_one_sentence() {
    if on_host::is_there() {
        let all = [
            "bounds",
            "count",
            "share_add",
            "scan_add",
            "settle",
            "merge",
            "p2m",
            "m2m",
            "m2l",
            "p2p",
            "again",
            "l2p",
            "spread",
        ];
        break_at(&[&all[..], &all[..1], &all[..12]].concat());
    }
}
