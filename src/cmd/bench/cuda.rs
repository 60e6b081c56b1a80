//! P2P on a GPU: all pairs, within an FMM, and exact, every result against the CPU first.

use super::{Args, spread};
use crate::failure::Failure;
use crate::output::{self, say};
use crate::source;
use host::backends::{self, BackendOptions};
use host::cuda::device::{self, Device};
use host::cuda::p2p::{Layout, Number, Prepared, Sums};
use host::cuda::{CudaError, ceiling, compile};
use host::data::Force;
use host::data::random::{self, Charge, Distribution};
use host::direct::p2p::{Near, Out};
use host::job::{Backend, BackendError, Job, Run, SourceRange, Table};
use host::tree::Tree;
use host::tree::charges::Charges;
use host::tree::lists::{self, ListOptions, Lists, near2};
use pg2::backend::cuda::p2p::{Names, module};
use pg2::graph::{Graph, PinClass};
use serde::Serialize;
use sim::stimuli::{self, Style};

/// All pairs of so many particles.
const ALL: usize = 1 << 18;

/// An FMM of so many, and particles a leaf at most.
const FMM: usize = 1_000_000;
const LEAF: usize = 64;

/// FP32 instructions and one reciprocal root of a pair's potential and gradient.
const ISSUED: f64 = 14.0;

/// One figure.
#[derive(Serialize)]
struct Figure {
    what: String,
    device: String,
    pairs: u64,
    /// Sorted; those of the kernel on the card, or of the whole run for the exact mode.
    seconds: Vec<f64>,
    /// At the median.
    pairs_per_second: f64,
    /// Of what the measured issue rate allows; for f32.
    share: Option<f64>,
    /// Relative L2 errors against f64 on the CPU.
    potential_error: Option<f64>,
    gradient_error: Option<f64>,
    /// Targets with pairs too close for the arithmetic, which an FMM computes again on the CPU.
    again: usize,
}

/// Prints the figures and writes them. Without a GPU it says so, and fails if it was named.
pub fn run(args: &Args) -> Result<(), Failure> {
    let found = device::found().and_then(|_| compile::check());
    if let Err(why) = found {
        return match args.names.is_empty() {
            true => say!("  skipped: {why}"),
            false => Err(Failure::Tool(why.to_string())),
        };
    }
    let mut bench = Bench::new(args.repeat)?;
    let all = Problem::of_all_pairs();
    bench.p2p("gravity, all pairs, f32", &all, "gravity", &Names::GRAVITY, &all.all_pairs::<f32>())?;
    bench.p2p("gravity, all pairs, f64", &all, "gravity", &Names::GRAVITY, &all.all_pairs::<f64>())?;
    drop(all);
    let fmm = Problem::of_fmm();
    bench.p2p("P2P of an FMM, f32", &fmm, "p2p", &Names::USUAL, &fmm.leaves::<f32>())?;
    bench.p2p("P2P of an FMM, f64", &fmm, "p2p", &Names::USUAL, &fmm.leaves::<f64>())?;
    drop(fmm);
    if let Ok((entry, _)) = backends::find("cuda-exact") {
        bench.exact((entry.open)(&BackendOptions::default()))?;
    }
    say!(
        "  input: {ALL} and {FMM} uniform particles, q in [0,1), seed 1; leaves of at most {LEAF}; {} launches",
        args.repeat
    )?;
    if let Some(path) = &args.json {
        output::write_json(path, &bench.figures)?;
    }
    Ok(())
}

fn failure(e: CudaError) -> Failure {
    BackendError::from(e).into()
}

/// Particles, and what the CPU gives for them in f64.
struct Problem {
    tree: Tree,
    lists: Lists,
    charges: Charges,
    wanted: Vec<Force>,
}

impl Problem {
    /// One leaf of all, in which each acts on each.
    fn of_all_pairs() -> Problem {
        Problem::new(ALL, ALL)
    }

    fn of_fmm() -> Problem {
        Problem::new(FMM, LEAF)
    }

    fn new(n: usize, leaf: usize) -> Problem {
        let particles = random::generate(n, Distribution::Uniform, Charge::Positive, 1);
        let tree = Tree::build(particles.columns(), leaf);
        // No cell is worth a multipole: all near pairs are P2P's.
        let options = ListOptions { near2: near2(0.5), m2p_above: usize::MAX, p2l_above: usize::MAX };
        let lists = lists::build(&tree, &options);
        let charges = Charges::new(&tree, &particles.q[..]);
        let mut wanted = vec![[0.0; 4]; n];
        Near::new(&tree, &lists, &charges, 0.0).all::<f64>(vec![Out { force: &mut wanted, hessian: &mut [] }]);
        Problem { tree, lists, charges, wanted }
    }

    fn all_pairs<T: Number>(&self) -> Layout<T> {
        Layout::of_all_pairs(&self.tree, 0.0)
    }

    fn leaves<T: Number>(&self) -> Layout<T> {
        Layout::of_leaves(&self.tree, &self.lists, 0.0)
    }

    /// Relative L2 errors of potential and gradient, and how many targets have pairs that were left out.
    fn errors<T: Number>(&self, layout: &Layout<T>, sums: &Sums<T>, sign: f64) -> ([f64; 2], usize) {
        let (mut wrong, mut size, mut again) = ([0.0; 2], [0.0; 2], 0);
        for (targets, unit) in layout.blocks() {
            let scale = self.tree.map.size / unit;
            let scale = [sign * scale, scale * scale, scale * scale, scale * scale];
            for k in targets {
                if sums.close[k] != self.tree.targets().twins[k] {
                    again += 1;
                    continue;
                }
                for a in 0..4 {
                    let (found, wanted) = (sums.force[4 * k + a].f64() * scale[a], self.wanted[k][a]);
                    wrong[(a > 0) as usize] += (found - wanted).powi(2);
                    size[(a > 0) as usize] += wanted.powi(2);
                }
            }
        }
        ([0, 1].map(|a| (wrong[a] / size[a]).sqrt()), again)
    }
}

struct Bench {
    device: Device,
    repeat: u32,
    /// Instructions of single threads a second, as measured.
    issue: f64,
    figures: Vec<Figure>,
}

impl Bench {
    fn new(repeat: u32) -> Result<Bench, Failure> {
        let mut device = Device::open().map_err(failure)?;
        let issue = ceiling::instructions(&mut device).map_err(failure)?;
        let limit = issue / ISSUED;
        say!(
            "  {}: {:.1}e12 FMA/s measured, which bounds P2P by {:.2}e12 pairs/s",
            device.name,
            issue / 1e12,
            limit / 1e12
        )?;
        Ok(Bench { device, repeat, issue, figures: Vec::new() })
    }

    /// Checks what a kernel gives, and then measures it.
    fn p2p<T: Number>(
        &mut self,
        what: &str,
        problem: &Problem,
        kernel: &str,
        names: &Names,
        layout: &Layout<T>,
    ) -> Result<(), Failure> {
        let graph = source::load(kernel)?.1;
        let text = module(&graph, names, T::REAL, &layout.shape).map_err(|why| Failure::Input(why.0))?;
        let mut prepared = Prepared::new(&mut self.device, &text, &problem.tree, layout).map_err(failure)?;
        prepared.set_charges(&self.device, &problem.charges).map_err(failure)?;
        prepared.launch(&self.device).map_err(failure)?;
        let sums = prepared.fetch(&self.device).map_err(failure)?;
        // The shipped gravity kernel gives the negative potential.
        let sign = if kernel == "gravity" { -1.0 } else { 1.0 };
        let (errors, again) = problem.errors(layout, &sums, sign);
        let bound = if size_of::<T>() == 4 { 1e-4 } else { 1e-11 };
        if !errors.iter().all(|e| *e <= bound) {
            return Err(Failure::Tool(format!("{what}: the GPU's results are off by {errors:?}, more than {bound:e}")));
        }
        let mut seconds = Vec::new();
        for _ in 0..self.repeat {
            seconds.push(prepared.launch(&self.device).map_err(failure)?);
        }
        let share = (size_of::<T>() == 4).then_some(ISSUED / self.issue);
        self.figure(what, layout.pairs(), seconds, share, Some(errors), again)
    }

    fn figure(
        &mut self,
        what: &str,
        pairs: u64,
        mut seconds: Vec<f64>,
        share: Option<f64>,
        errors: Option<[f64; 2]>,
        again: usize,
    ) -> Result<(), Failure> {
        seconds.sort_unstable_by(f64::total_cmp);
        let rate = pairs as f64 / seconds[seconds.len() / 2];
        let share = share.map(|of| rate * of);
        say!("  {what}: {:.3}e12 pairs/s", rate / 1e12)?;
        say!("    {pairs} pairs in {} ms", spread(&seconds, |x| format!("{:.3}", x * 1e3)))?;
        if let Some(share) = share {
            say!("    {:.0}% of what the issue rate allows", 100.0 * share)?;
        }
        if let Some([potential, gradient]) = errors {
            say!("    relative L2 errors: potential {potential:.1e}, gradient {gradient:.1e}; {again} targets again")?;
        }
        self.figures.push(Figure {
            what: what.into(),
            device: self.device.name.clone(),
            pairs,
            seconds,
            pairs_per_second: rate,
            share,
            potential_error: errors.map(|e| e[0]),
            gradient_error: errors.map(|e| e[1]),
            again,
        });
        Ok(())
    }

    /// The paper's P2P, bits and flags against the emulator's, and the time of whole runs: data there, results back.
    fn exact(&mut self, mut gpu: Box<dyn Backend>) -> Result<(), Failure> {
        let graph = source::load("p2p_paper")?.1;
        let mut emulator = (backends::find("emulator")?.0.open)(&BackendOptions::default());
        let run = |backend: &mut dyn Backend, n: usize, m: usize| -> Result<_, Failure> {
            let (targets, sources) = (records(&graph, PinClass::Ipin, n), records(&graph, PinClass::Jpin, m));
            let runs: Vec<Run> =
                (0..n).step_by(128).map(|first| Run { first, count: 128.min(n - first), segments: 0..1 }).collect();
            let segments = [SourceRange { first: 0, count: m }];
            let job = Job {
                graph: &graph,
                targets: &targets,
                sources: &sources,
                params: &[],
                runs: &runs,
                segments: &segments,
            };
            let start = std::time::Instant::now();
            let outcome = backend.run(&job, &mut |_| {})?;
            Ok((outcome, start.elapsed().as_secs_f64()))
        };
        let (wanted, _) = run(&mut *emulator, 4096, 4096)?;
        let (found, _) = run(&mut *gpu, 4096, 4096)?;
        if found.results != wanted.results || found.flags != wanted.flags {
            return Err(Failure::Tool("exact mode: the GPU's bits or flags are not the emulator's".into()));
        }
        let (n, m) = (ALL, ALL / 2);
        let mut seconds = Vec::new();
        for _ in 0..self.repeat {
            seconds.push(run(&mut *gpu, n, m)?.1);
        }
        self.figure("the paper's P2P, exact", n as u64 * m as u64, seconds, None, None, 0)
    }
}

/// Random records of a class.
fn records(graph: &Graph, class: PinClass, n: usize) -> Table {
    let mut random = stimuli::Random::new(7);
    let list = stimuli::records(graph, class, n, Style::Wild { anchor: 0x1234_5678 }, &mut random);
    Table { elements: list.first().map_or(1, Vec::len), bits: list.concat() }
}
