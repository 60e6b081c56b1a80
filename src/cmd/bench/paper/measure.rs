//! Runs: stages on this CPU, and the same jobs through the models of the devices.

use super::kept::{Agreement, CpuStages, Depth, Gumerov, Haney, Kept, Offloaded, PartRow, Sampling, Size, Stages};
use super::machines::{self, Bought, Machine};
use super::sampled::{Sampled, Used};
use super::{Options, scaling};
use fmm::data::particles::Particles;
use fmm::data::random::{self, Charge, Distribution};
use fmm::octree::executor::Executor;
use fmm::octree::stats::Stats;
use fmm::octree::{FmmOptions, Plan, Precision, tune};
use hdl::engine::Config;
use pairforge::backends;
use pairforge::fmm::kernels::Kernels;
use pairforge::fmm::predict::fill::Work;
use pairforge::fmm::predict::machine::hashed;
use pg2::backend::build::build_folded;
use pg2::graph::Graph;
use pipelines::backends::{BackendOptions, config};
use pipelines::job::Backend;
use pipelines::octree::offload::Pipelines;
use pipelines::predict::fleet::{Boards, Fleet};
use pipelines::predict::roofline::HANEY;
use pipelines::predict::{Line, Setup};
use std::time::Instant;
use terminal::failure::Failure;
use terminal::progress::Steps;
use terminal::say;

/// Numbers of particles of Figs. 6 and 7, and that of Fig. 5.
pub const SIZES: [usize; 7] = [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 16_000_000];
const STAGES: usize = 1_000_000;
/// Particles of a leaf in the mean, from and below which depths of the tree are tried.
const MEANS: [usize; 2] = [8, 512];
/// The paper's order.
const ORDER: usize = 2;
/// Direct summation is measured up to so many particles.
const DIRECT: usize = 100_000;
/// Particles whose engines are simulated.
const SIMULATED: usize = 20_000;
/// The table of Gumerov and Duraiswami.
const GUMEROV: std::ops::RangeInclusive<u32> = 12..=20;
/// Particles of which devices are predicted from all of the work as well.
const SAMPLED: usize = 100_000;

/// Runs that take longer together are not repeated, in seconds.
const LONG: f64 = 2.0;

/// Measures and predicts everything.
pub fn all(options: &Options) -> Result<Kept, Failure> {
    let kernels = machines::kernels()?;
    let mut bench = Bench { options, kernels: &kernels, steps: Steps::default(), started: Instant::now() };
    bench.at("which lanes fit the devices");
    let by_stage = machines::by_stage(&kernels)?;
    let n = STAGES.min(options.n_max);
    let particles = random::generate(n, Distribution::Uniform, Charge::Positive, 1);
    let plan = plan(&particles, *depths(n).start())?;
    let work = Work { p2p: plan.pairs.p2p, m2l: plan.pairs.m2l };
    drop(plan);
    let together = machines::together(&kernels, work)?;
    let machines = by_stage.iter().chain(&together);
    let about = machines.map(|m| m.about.clone()).collect();
    let agreement = bench.agreement()?;
    let stages = bench.stages(&particles, &by_stage)?;
    let parts = bench.parts(&particles, work)?;
    let published = machines::published()?;
    drop(particles);
    let (sizes, sampling) = bench.sizes(&by_stage, &together)?;
    let (gumerov, haney) = (bench.gumerov()?, bench.haney()?);
    Ok(Kept {
        cpu: tune::cost::machine(),
        threads: rayon::current_num_threads(),
        repeat: options.repeat,
        machines: about,
        agreement,
        sampling,
        stages,
        sizes,
        parts,
        published,
        gpu: None,
        gumerov,
        haney,
    })
}

/// Depths of the tree that are tried.
fn depths(n: usize) -> std::ops::RangeInclusive<u32> {
    let mean = |depth: u32| n >> (3 * depth);
    let least = (1..20).find(|d| mean(*d) < MEANS[1]).unwrap_or(1);
    let most = (1..20).rev().find(|d| mean(*d) >= MEANS[0]).unwrap_or(least);
    least..=most.max(least)
}

/// The leaf size with which uniform particles get a depth: between the cells of it and those above.
fn leaf(n: usize, depth: u32) -> usize {
    let mean = n as f64 / 8f64.powi(depth as i32);
    (mean * 8f64.sqrt()).round() as usize
}

fn options_of(leaf: usize) -> FmmOptions {
    FmmOptions { order: ORDER, leaf, precision: Precision::F32, ..FmmOptions::default() }
}

fn plan(particles: &Particles, depth: u32) -> Result<Plan, Failure> {
    Ok(Plan::new(particles.columns(), &options_of(leaf(particles.len(), depth)))?)
}

/// All pairs on the CPU, as P2P of one leaf.
fn direct(particles: &Particles) -> Result<f64, Failure> {
    let start = Instant::now();
    let plan = Plan::new(particles.columns(), &options_of(particles.len()))?;
    plan.solve(&particles.q, &mut [], &mut |_, _, _| {})?;
    Ok(start.elapsed().as_secs_f64())
}

struct Bench<'a> {
    options: &'a Options,
    kernels: &'a Kernels,
    steps: Steps,
    started: Instant,
}

impl Bench<'_> {
    fn at(&mut self, what: &str) {
        self.steps.at(what, self.started.elapsed());
    }

    /// The middle of some runs.
    fn median<T>(&self, key: impl Fn(&T) -> f64, mut run: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
        let (mut all, start) = (Vec::new(), Instant::now());
        for _ in 0..self.options.repeat {
            all.push(run()?);
            if start.elapsed().as_secs_f64() > LONG {
                break;
            }
        }
        all.sort_by(|a, b| key(a).total_cmp(&key(b)));
        // Of two the shorter one, since what disturbs a run makes it longer.
        let middle = (all.len() - 1) / 2;
        Ok(all.swap_remove(middle))
    }

    /// The whole FMM on the CPU.
    fn native(&self, particles: &Particles, options: &FmmOptions) -> Result<Stats, Failure> {
        self.median(
            |stats: &Stats| stats.seconds.total,
            || {
                let plan = Plan::new(particles.columns(), options)?;
                Ok(plan.solve(&particles.q, &mut [], &mut |_, _, _| {})?.stats)
            },
        )
    }

    /// P2P and M2L on devices. Engines with one lane of M2L are sent other lists than those with several, and so have runs of their own.
    fn offloaded(&self, plan: &Plan, q: &[f64], machines: &[&Machine]) -> Result<Vec<Offloaded>, Failure> {
        self.offloaded_as(plan, q, (machines, false))
    }

    /// The same, from all of the work wherever that is wanted.
    fn offloaded_as(
        &self,
        plan: &Plan,
        q: &[f64],
        (machines, is_whole): (&[&Machine], bool),
    ) -> Result<Vec<Offloaded>, Failure> {
        let mut found: Vec<(usize, Offloaded)> = Vec::new();
        for alone in [true, false] {
            let places = (0..machines.len()).filter(|k| (machines[*k].m2l_lanes() == 1) == alone);
            let places: Vec<usize> = places.collect();
            let some: Vec<&Machine> = places.iter().map(|k| machines[*k]).collect();
            found.extend(places.into_iter().zip(self.offloaded_alike(plan, q, (&some, is_whole))?));
        }
        found.sort_by_key(|f| f.0);
        Ok(found.into_iter().map(|f| f.1).collect())
    }

    fn offloaded_alike(
        &self,
        plan: &Plan,
        q: &[f64],
        (machines, is_whole): (&[&Machine], bool),
    ) -> Result<Vec<Offloaded>, Failure> {
        if machines.is_empty() {
            return Ok(Vec::new());
        }
        let Kernels { p2p, m2l } = self.kernels;
        let mut devices = Sampled::new(self.kernels, machines.iter().map(|m| m.fleet()).collect(), is_whole);
        let mut pipelines = Pipelines::new(&mut devices, p2p, m2l.as_ref());
        let executors: &mut [&mut dyn Executor<Plan>] = &mut [&mut pipelines];
        plan.solve(q, executors, &mut |_, _, _| {})?;
        let one = |(machine, used): (&&Machine, Used)| Offloaded {
            name: machine.about.name.clone(),
            p2p: used.p2p,
            m2l: used.m2l,
            bytes_in: used.bytes_in.round() as u64,
            bytes_out: used.bytes_out.round() as u64,
        };
        Ok(machines.iter().zip(devices.used()).map(one).collect())
    }

    /// Fig. 5.
    fn stages(&mut self, particles: &Particles, machines: &[Machine]) -> Result<Stages, Failure> {
        let (n, depth) = (particles.len(), *depths(particles.len()).end());
        self.at(&format!("Fig. 5: the stages of {n} particles"));
        let plan = plan(particles, depth)?;
        let stats = self.native(particles, &plan.options)?;
        let devices = self.offloaded(&plan, &particles.q, &machines.iter().collect::<Vec<_>>())?;
        Ok(Stages {
            n,
            leaf: plan.options.leaf,
            levels: stats.levels,
            p2p_pairs: stats.pairs.p2p,
            m2l_pairs: stats.pairs.m2l,
            cpu: (&stats.seconds).into(),
            devices,
        })
    }

    /// Devices that one might buy, with P2P and M2L of Fig. 5.
    fn parts(&mut self, particles: &Particles, work: Work) -> Result<Vec<PartRow>, Failure> {
        let found = machines::parts(self.kernels, work, &mut |name| self.steps.at(name, self.started.elapsed()))?;
        self.at("devices that one might buy");
        let plan = plan(particles, *depths(particles.len()).end())?;
        let machines: Vec<&Machine> = found.iter().map(|bought| &bought.machine).collect();
        let used = self.offloaded(&plan, &particles.q, &machines)?;
        let row = |(bought, used): (&Bought, Offloaded)| PartRow {
            summary: bought.summary.into(),
            about: bought.machine.about.clone(),
            watts: bought.watts,
            used,
        };
        Ok(found.iter().zip(used).map(row).collect())
    }

    /// Figs. 6 and 7.
    fn sizes(&mut self, by_stage: &[Machine], together: &[Machine]) -> Result<(Vec<Size>, Option<Sampling>), Failure> {
        let alone: Vec<&Machine> =
            by_stage.iter().filter(|m| [machines::I9, machines::ROW_OF_I9].contains(&&m.about.name[..])).collect();
        let all: Vec<&Machine> = alone.iter().copied().chain(together).collect();
        let (mut sizes, mut sampling): (Vec<Size>, Option<Sampling>) = (Vec::new(), None);
        for n in SIZES.into_iter().filter(|n| *n <= self.options.n_max) {
            let particles = random::generate(n, Distribution::Uniform, Charge::Positive, 1);
            let mut depths_of = Vec::new();
            for depth in depths(n) {
                self.at(&format!("Figs. 6 and 7: {n} particles, a tree {depth} levels deep"));
                let plan = plan(&particles, depth)?;
                let stats = self.native(&particles, &plan.options)?;
                let mut devices = self.offloaded(&plan, &particles.q, &all)?;
                if n == SAMPLED {
                    let whole = self.offloaded_as(&plan, &particles.q, (&all, true))?;
                    let pairs = devices.iter().zip(&whole);
                    let off = pairs.flat_map(|(d, w)| [d.p2p / w.p2p - 1.0, d.m2l / w.m2l - 1.0]);
                    let off = off.map(f64::abs).fold(sampling.map_or(0.0, |s| s.off), f64::max);
                    sampling = Some(Sampling { n, off });
                }
                let together = devices.split_off(alone.len());
                depths_of.push(Depth {
                    depth,
                    leaf: plan.options.leaf,
                    p2p_pairs: stats.pairs.p2p,
                    cpu: CpuStages::from(&stats.seconds),
                    by_stage: devices,
                    together,
                });
            }
            let is_law = n > DIRECT;
            let direct = match sizes.iter().rev().find(|s| !s.is_law) {
                Some(last) if is_law => last.direct * (n as f64 / last.n as f64).powi(2),
                _ => self.median(|s| *s, || direct(&particles))?,
            };
            sizes.push(Size { n, depths: depths_of, direct, is_law });
        }
        Ok((sizes, sampling))
    }

    /// Clocks of engines whose Verilog is simulated, beside the model's. Without a simulator there is none.
    fn agreement(&mut self) -> Result<Vec<Agreement>, Failure> {
        let n = SIMULATED.min(self.options.n_max);
        self.at(&format!("the Verilog of both engines, {n} particles"));
        let particles = random::generate(n, Distribution::Uniform, Charge::Positive, 1);
        let plan = plan(&particles, *depths(n).end())?;
        let Kernels { p2p, m2l } = self.kernels;
        let m2l = m2l.as_ref().expect("the paper has one");
        let engine = BackendOptions::default();
        let solve = |backend: &mut dyn Backend| -> Result<Stats, Failure> {
            let mut pipelines = Pipelines::new(backend, p2p, Some(m2l));
            let executors: &mut [&mut dyn Executor<Plan>] = &mut [&mut pipelines];
            Ok(plan.solve(&particles.q, executors, &mut |_, _, _| {})?.stats)
        };
        let mut cycle = (backends::find("cycle")?.0.open)(&engine);
        let counted = match solve(&mut *cycle) {
            Ok(stats) => stats,
            Err(why) => {
                say!("  the model is not compared with Verilog: {}", why.text().trim())?;
                return Ok(Vec::new());
            }
        };
        let shape = |graph: &Graph| -> Result<(Config, u64), Failure> {
            let built = build_folded(graph, (engine.clock, engine.ii), "", Vec::new());
            Ok(hashed(graph, config(graph, &engine, built.schedule.depth)?))
        };
        // A beat in each clock, as the simulation has it.
        let setup = Setup { clock_mhz: engine.clock.mhz, line: Line::Dma(f64::MAX), turnaround: 0.0 };
        let board = |graph| Ok(Boards { count: 1, setup, engines: vec![shape(graph)?] });
        let mut fleet = Fleet::new(&[p2p, m2l].into_iter().map(board).collect::<Result<Vec<_>, Failure>>()?);
        let modelled = solve(&mut fleet)?;
        let rows = [
            (p2p, counted.streamed.p2p, counted.cycles.p2p, modelled.cycles.p2p),
            (m2l, counted.streamed.m2l, counted.cycles.m2l, modelled.cycles.m2l),
        ];
        let row = |(graph, pairs, counted, modelled): (&Graph, u64, Option<u64>, Option<u64>)| {
            let (leaf, kernel) = (plan.options.leaf, graph.name.clone());
            Some(Agreement { kernel, n, leaf, pairs, counted: counted?, modelled: modelled? })
        };
        Ok(rows.into_iter().filter_map(row).collect())
    }

    /// P2P of an FMM on one thread and on all, at the sizes of Gumerov and Duraiswami.
    fn gumerov(&mut self) -> Result<Vec<Gumerov>, Failure> {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let one = one.map_err(|e| Failure::Tool(format!("a thread cannot be started: {e}")))?;
        let mut rows = Vec::new();
        for n in GUMEROV.map(|k| 1 << k).filter(|n| *n <= self.options.n_max) {
            self.at(&format!("the table of Gumerov and Duraiswami: {n} particles"));
            let particles = random::generate(n, Distribution::Uniform, Charge::Random, 1);
            let options = scaling::options(n);
            let all = self.native(&particles, &options)?.seconds;
            let alone = one.install(|| self.native(&particles, &options))?.seconds;
            rows.push(Gumerov { n, p2p_one: alone.p2p, p2p_all: all.p2p, fmm_all: all.total });
        }
        Ok(rows)
    }

    /// All pairs at the sizes of Haney.
    fn haney(&mut self) -> Result<Vec<Haney>, Failure> {
        self.at("the table of Haney");
        let sizes = HANEY.into_iter().map(|n| n as usize).filter(|n| *n <= self.options.n_max);
        let row = |n: usize| {
            let particles = random::generate(n, Distribution::Uniform, Charge::Random, 1);
            Ok(Haney { n, seconds: self.median(|s| *s, || direct(&particles))? })
        };
        sizes.map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_leave_the_paper_s_leaves_and_its_tree_of_five_levels_is_among_them() {
        assert_eq!(depths(STAGES), 4..=5);
        for n in SIZES {
            let means: Vec<usize> = depths(n).map(|d| n >> (3 * d)).collect();
            assert!(!means.is_empty() && means.iter().all(|m| (MEANS[0]..MEANS[1]).contains(m)), "{n}: {means:?}");
        }
    }
}
