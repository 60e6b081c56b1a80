//! Utilisation of the engine in whole runs of an FMM.

use fmm::data::particles::Particles;
use fmm::data::random::{self, Charge, Distribution};
use fmm::octree::executor::Executor;
use fmm::octree::stats::Stats;
use fmm::octree::{FmmOptions, Plan};
use pairforge::backends::{self, BackendOptions};
use pg2::graph::Graph;
use pipelines::octree::offload::Pipelines;
use terminal::failure::Failure;
use terminal::say;
use terminal::source;

/// One FMM to be measured.
pub struct Case {
    pub n: usize,
    pub leaf: usize,
    pub order: u32,
    pub backend: &'static str,
    pub p2p: &'static str,
    pub engine: BackendOptions,
    /// Leave out the far field.
    pub near_only: bool,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            n: 100_000,
            leaf: 64,
            order: 4,
            backend: "cycle",
            p2p: "p2p",
            engine: BackendOptions::default(),
            near_only: false,
        }
    }
}

/// Uniform particles of charges in [-1, 1), seed 1.
fn particles(n: usize) -> Particles {
    random::generate(n, Distribution::Uniform, Charge::Random, 1)
}

/// The generated M2L kernel of an order.
fn m2l_kernel(order: u32) -> Result<Graph, Failure> {
    let text = pg2::gen_m2l(order).map_err(Failure::Input)?;
    let name = format!("m2l_p{order}");
    source::compile(&source::Kernel::shipped(&name, &text))
}

impl Case {
    /// Runs it once.
    pub fn run(&self) -> Result<Stats, Failure> {
        let particles = particles(self.n);
        self.run_plan(&particles, &self.plan(&particles)?)
    }

    /// Tree and lists.
    fn plan(&self, particles: &Particles) -> Result<Plan, Failure> {
        let near_only = self.near_only;
        let options = FmmOptions { order: self.order as usize, leaf: self.leaf, near_only, ..FmmOptions::default() };
        Ok(Plan::new(particles.columns(), &options)?)
    }

    fn run_plan(&self, particles: &Particles, plan: &Plan) -> Result<Stats, Failure> {
        let mut backend = (backends::find(self.backend)?.0.open)(&self.engine);
        let p2p = source::load(self.p2p)?.1;
        let m2l = if self.near_only { None } else { Some(m2l_kernel(self.order)?) };
        let mut pipelines = Pipelines::new(&mut *backend, &p2p, m2l.as_ref());
        let executors: &mut [&mut dyn Executor<Plan>] = &mut [&mut pipelines];
        let solution = plan.solve(&particles.q, executors, &mut |_, _, _| {})?;
        Ok(solution.stats)
    }
}

fn number(x: Option<f64>) -> String {
    x.map_or("-".into(), |x| format!("{x:.3}"))
}

/// (particles, most in a leaf, pipelines, lane groups) of the engines that P2P is measured on: the usual case, leaves of
/// 64 particles on average, and leaves of 24.
const P2P_CASES: [(usize, usize, u32, u32); 7] = [
    (100_000, 256, 8, 1),
    (262_144, 128, 64, 1),
    (262_144, 128, 64, 8),
    (262_144, 128, 64, 16),
    (100_000, 64, 64, 1),
    (100_000, 64, 64, 8),
    (100_000, 64, 64, 16),
];

/// Utilisation of P2P, by size of leaves and engine.
pub fn p2p() -> Result<(), Failure> {
    for (n, leaf, pipelines, groups) in P2P_CASES {
        let engine = BackendOptions { pipelines, groups, stream_bits: 128, ..BackendOptions::default() };
        let case = Case { n, leaf, order: 1, p2p: "p2p_paper", engine, near_only: true, ..Case::default() };
        let particles = particles(n);
        let plan = case.plan(&particles)?;
        let (bound, mean) = (bound(&plan, pipelines / groups), n / plan.tree.leaves.len());
        let stats = case.run_plan(&particles, &plan)?;
        say!(
            "  {n} particles, {mean} a leaf, {pipelines} pipelines in {groups}: utilisation {} of at most {bound:.3}, {} \
             pairs in {} cycles",
            number(stats.utilisation.p2p),
            stats.pairs.p2p,
            stats.cycles.p2p.unwrap_or(0)
        )?;
    }
    say!("  input: uniform particles, seed 1, p2p_paper, streams of 128 bits, j memory of 256 Ki words")?;
    Ok(())
}

/// The utilisation that is left where lanes without a target are the only loss.
fn bound(plan: &Plan, lanes: u32) -> f64 {
    let (mut pairs, mut places) = (0, 0);
    for leaf in &plan.tree.leaves {
        let targets = plan.tree.cells[*leaf as usize].count as u64;
        let sources: u64 = plan.lists.u[*leaf as usize].iter().map(|s| s.1 as u64).sum();
        pairs += targets * sources;
        places += targets.next_multiple_of(lanes as u64) * sources;
    }
    pairs as f64 / places as f64
}

/// Utilisation of M2L at order 2.
pub fn m2l() -> Result<(), Failure> {
    for stream_bits in [32, 64, 128] {
        let engine = BackendOptions { stream_bits, ..BackendOptions::default() };
        let stats = Case { order: 2, p2p: "p2p_paper", engine, ..Case::default() }.run()?;
        let useful = stats.pairs.m2l as f64 / stats.streamed.m2l.max(1) as f64;
        say!(
            "  stream of {stream_bits:>3} bits: utilisation {}, {:.3} of the streamed pairs useful, {} cycles",
            number(stats.utilisation.m2l),
            useful,
            stats.cycles.m2l.unwrap_or(0)
        )?;
    }
    say!("  input: 1e5 uniform particles, seed 1, leaf 64, order 2, 8 pipelines")?;
    Ok(())
}
