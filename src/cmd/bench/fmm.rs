//! Figures of whole FMM runs: how full the engine is, and what each backend takes.

use super::spread;
use crate::failure::Failure;
use crate::source;
use host::backends::{self, Options};
use host::error;
use host::fmm::{self, Compute, Fmm};
use host::particles::Particles;
use host::random::{self, Charge, Distribution};
use host::stats::Stats;
use pg2::graph::Graph;

/// One FMM to be measured.
pub struct Case {
    pub n: usize,
    pub leaf: usize,
    pub order: u32,
    pub backend: &'static str,
    pub p2p: &'static str,
    pub engine: Options,
    /// Targets compared with direct summation; 0 for none.
    pub check: usize,
}

impl Default for Case {
    fn default() -> Case {
        Case { n: 100_000, leaf: 64, order: 4, backend: "cycle", p2p: "p2p", engine: Options::default(), check: 0 }
    }
}

/// Uniform particles of charges in [-1, 1), seed 1.
pub fn particles(n: usize) -> Particles {
    random::generate(n, Distribution::Uniform, Charge::Random, 1)
}

/// The generated M2L kernel of an order.
pub fn m2l_kernel(order: u32) -> Result<Graph, Failure> {
    let text = pg2::gen_m2l(order).map_err(Failure::Input)?;
    let name = format!("m2l_p{order}");
    source::compile(&source::Kernel { origin: format!("{name}.pg2"), name, text })
}

impl Case {
    /// Runs it once.
    pub fn run(&self) -> Result<Stats, Failure> {
        let particles = particles(self.n);
        let options = fmm::Options { order: self.order as usize, leaf: self.leaf, ..fmm::Options::default() };
        let wrong = |e: fmm::FmmError| match e {
            fmm::FmmError::Backend(e) => e.into(),
            e => Failure::Input(e.to_string()),
        };
        let plan = Fmm::plan(&particles, &options).map_err(wrong)?;
        let mut backend = (backends::find(self.backend)?.0.open)(&self.engine);
        let (p2p, m2l) = (source::load(self.p2p)?.1, m2l_kernel(self.order)?);
        let mut compute = match self.backend {
            "cpu" => Compute::Native,
            _ => Compute::Kernels { backend: &mut *backend, p2p: &p2p, m2l: Some(&m2l) },
        };
        let solution = plan.run(&mut compute, &mut |_, _, _| {}).map_err(wrong)?;
        let mut stats = solution.stats;
        if self.check > 0 {
            stats.error = Some(error::measure(&particles, &solution.field, self.check, 1, 0.0));
        }
        Ok(stats)
    }
}

fn number(x: Option<f64>) -> String {
    x.map_or("-".into(), |x| format!("{x:.3}"))
}

/// Utilisation of P2P at 256 particles a leaf.
pub fn p2p(_: u32) -> Result<(), Failure> {
    let stats = Case { leaf: 256, order: 1, p2p: "p2p_paper", ..Case::default() }.run()?;
    let (used, cycles) = (number(stats.utilisation.p2p), stats.cycles.p2p.unwrap_or(0));
    println!("  utilisation {used}: {} pairs in {cycles} cycles of 8 pipelines", stats.pairs.p2p);
    println!(
        "  input: 1e5 uniform particles, seed 1, leaf 256, p2p_paper, stream of 32 bits, j memory of 256 Ki words"
    );
    Ok(())
}

/// Utilisation of M2L at order 2.
pub fn m2l(_: u32) -> Result<(), Failure> {
    for stream_bits in [32, 64, 128] {
        let engine = Options { stream_bits, ..Options::default() };
        let stats = Case { order: 2, p2p: "p2p_paper", engine, ..Case::default() }.run()?;
        let useful = stats.pairs.m2l as f64 / stats.streamed.m2l.max(1) as f64;
        println!(
            "  stream of {stream_bits:>3} bits: utilisation {}, {:.3} of the streamed pairs useful, {} cycles",
            number(stats.utilisation.m2l),
            useful,
            stats.cycles.m2l.unwrap_or(0)
        );
    }
    println!("  input: 1e5 uniform particles, seed 1, leaf 64, order 2, 8 pipelines");
    Ok(())
}

/// Seconds and errors by backend.
pub fn backends(repeat: u32) -> Result<(), Failure> {
    for backend in ["cpu", "emulator", "cycle"] {
        // The cycle simulation takes long and its figure is its cycles; once is enough.
        let times = if backend == "cycle" { 1 } else { repeat };
        let case = Case { backend, check: 1000, ..Case::default() };
        let runs: Vec<Stats> = (0..times).map(|_| case.run()).collect::<Result<_, _>>()?;
        let mut seconds: Vec<f64> = runs.iter().map(|s| s.seconds.total).collect();
        seconds.sort_unstable_by(f64::total_cmp);
        let error = runs[0].error.expect("errors were asked for");
        println!(
            "  {backend:<9} {} s; relative L2 errors: potential {:.2e}, gradient {:.2e}",
            spread(&seconds, |s| format!("{s:.3}")),
            error.potential_rel_l2,
            error.gradient_rel_l2.unwrap_or(f64::NAN)
        );
    }
    println!("  input: 1e5 uniform particles, seed 1, order 4, leaf 64, 1000 targets checked");
    Ok(())
}
