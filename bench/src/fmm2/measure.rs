//! Runs on a device, each checked against direct sums.

use super::cases::{Cases, ORDER};
use super::measured::{Case, Row, Side, What, rounded};
use fmm::octree::{FmmError, tune};
use fmm::plane::{Columns, Field, Options, Plan, Strengths, mesh};
use gpu::cuda::plane::STAGES;
use gpu::plane::Gpu;
use pairforge::random::plane::{Points, Reference, Spread};
use terminal::failure::Failure;
use terminal::progress::Progress;

/// The relative L2 error that is let through from the paper's order on, below it, and of direct sums.
const BOUNDS: [f64; 3] = [1e-5, 1.0, 1e-10];

/// Seconds of runs of one case after which there are no more of them.
const ENOUGH: f64 = 1.0;

/// A first run this long counts, and is no preparation alone.
const LONG: f64 = 1.0;

/// The place of P2P among the stages.
const P2P: usize = 6;

/// On a CPU, whose runs are long: the part of the points that runs of Figs. 6 to 9 have on a GPU at most. Points that are summed
/// directly at most, on each.
const CPU_PART: f64 = 0.34;
const DIRECT: [usize; 2] = [50_000, 200_000];

/// The device of a run.
pub enum Device {
    Cpu(rayon::ThreadPool),
    Gpu(Box<Gpu>),
}

/// One run.
struct Run {
    seconds: f64,
    copies: f64,
    stages: [f64; STAGES.len()],
    levels: usize,
    pairs: u64,
    m2l: u64,
    field: Field,
}

pub fn failure(e: FmmError) -> Failure {
    match e {
        FmmError::Backend(e) => e.into(),
        e => Failure::Tool(e.to_string()),
    }
}

impl Device {
    /// Threads of the CPU; 0 for one a core.
    pub fn cpu(threads: usize) -> Result<Device, Failure> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map(Device::Cpu).map_err(|e| Failure::Tool(format!("threads cannot be started: {e}")))
    }

    fn side(&self) -> Side {
        match self {
            Device::Cpu(pool) => {
                Side { device: tune::cost::machine(), threads: Some(pool.current_num_threads()), rows: Vec::new() }
            }
            Device::Gpu(gpu) => Side { device: gpu.device.name.clone(), threads: None, rows: Vec::new() },
        }
    }

    fn run(&mut self, at: Columns, strengths: Strengths, case: &Case, is_timed: bool) -> Result<Run, Failure> {
        let is_direct = case.what == What::Direct;
        let options = Options { order: case.order, leaf: case.leaf, ..Options::default() };
        match self {
            Device::Cpu(pool) if is_direct => pool.install(|| direct(at, strengths, options)),
            Device::Cpu(pool) => pool.install(|| on_cpu(at, strengths, &options)),
            Device::Gpu(gpu) => {
                // Of direct summation, what is not P2P takes no part.
                let answer = gpu.field(at, strengths, &options, is_timed || is_direct).map_err(failure)?;
                let refused = |why| Failure::Tool(format!("the GPU leaves {} points to the CPU: {why}", case.n));
                let answer = answer.map_err(refused)?;
                let stages = answer.run.times.stages;
                Ok(Run {
                    seconds: if is_direct { stages[P2P] } else { answer.run.times.total },
                    copies: answer.sent + answer.fetched,
                    stages,
                    levels: answer.levels,
                    pairs: answer.run.status.pairs,
                    m2l: answer.run.status.items[0],
                    field: answer.field,
                })
            }
        }
    }
}

fn on_cpu(at: Columns, strengths: Strengths, options: &Options) -> Result<Run, Failure> {
    let plan = Plan::new(at, options).map_err(failure)?;
    let solution = plan.run(&strengths, &mut [], &mut |_, _, _| ()).map_err(failure)?;
    let s = solution.seconds;
    // The GPU has P2L and M2P in L2P.
    let last = s.l2p + s.m2p + s.p2l;
    Ok(Run {
        seconds: s.total,
        copies: 0.0,
        stages: [s.sort.unwrap_or(0.0), s.connect.unwrap_or(0.0), s.p2m, s.m2m, s.m2l, s.l2l, s.p2p, last],
        levels: plan.mesh.levels,
        pairs: plan.pairs.p2p,
        m2l: plan.pairs.m2l,
        field: solution.field,
    })
}

/// All pairs by the code of P2P. There is a box a thread has work with, and theta is so small that all boxes are near each other.
fn direct(at: Columns, strengths: Strengths, options: Options) -> Result<Run, Failure> {
    let n = at[0].len();
    for levels in (0..=3usize).rev() {
        let leaf = (5 * n).div_ceil(8 << (2 * levels)).max(1);
        let options = Options { theta: 0.05, leaf, order: 1, ..options.clone() };
        let run = on_cpu(at, strengths, &options)?;
        if run.pairs == (n as u64).pow(2) {
            return Ok(Run { seconds: run.stages[P2P], ..run });
        }
    }
    Err(Failure::Tool(format!("{n} points cannot be summed directly")))
}

/// Measures the cases of all figures.
pub fn measure(device: &mut Device, most: usize, repeat: u32) -> Result<Side, Failure> {
    let is_gpu = matches!(device, Device::Gpu(_));
    let part = if is_gpu { 1.0 } else { CPU_PART };
    let cases = Cases {
        most,
        longest: (part * most as f64) as usize,
        direct: DIRECT[is_gpu as usize],
        above: if is_gpu { 2 } else { 3 },
    };
    let (all, pairs) = (cases.all(), cases.pairs());
    let mut bench =
        Bench { side: device.side(), device, repeat, points: Points::new(Spread::Uniform), reference: None };
    // What a run costs goes with its points; those of Fig. 5 are not known before.
    let cost = |c: &Case| c.n;
    let rest: usize = pairs.iter().flatten().flatten().map(cost).sum();
    let total = all.iter().map(cost).sum::<usize>() + rest;
    let mut progress = Progress::new(format!("measuring on the {}", bench.side.name()), total);
    let mut done = 0;
    // The orders of Fig. 5 come with those of Fig. 4: each is a program of its own on a GPU.
    for case in &all {
        bench.add(*case)?;
        done += cost(case);
        progress.at(done);
        if case.what == What::Order {
            let pairs = pairs.iter().filter(|pairs| pairs[0][0].order == case.order).flatten();
            bench.best(pairs)?;
            done += rest / pairs_of(&all);
            progress.at(done);
        }
    }
    Ok(bench.side)
}

/// How often cases of Fig. 5 are run.
fn pairs_of(all: &[Case]) -> usize {
    all.iter().filter(|c| c.what == What::Order).count().max(1)
}

struct Bench<'d> {
    device: &'d mut Device,
    side: Side,
    repeat: u32,
    /// The points that were drawn last.
    points: Points,
    /// The direct sums of that many of them.
    reference: Option<(usize, Reference)>,
}

impl Bench<'_> {
    /// Compares two numbers of levels until the greater one was quicker twice.
    fn best<'c>(&mut self, pairs: impl Iterator<Item = &'c [Case; 2]>) -> Result<(), Failure> {
        let mut wins = 0;
        for [few, many] in pairs {
            let few = self.add(*few)?;
            let many = self.add(*many)?;
            wins += usize::from(many < few);
            if wins == 2 {
                break;
            }
        }
        Ok(())
    }

    /// Runs a case, checks and keeps it; gives its time.
    fn add(&mut self, case: Case) -> Result<f64, Failure> {
        if self.points.spread != case.spread {
            (self.points, self.reference) = (Points::new(case.spread), None);
        }
        self.points.reach(case.n);
        let (at, strengths) = self.points.first(case.n);
        if self.reference.as_ref().is_none_or(|(n, _)| *n != case.n) {
            self.reference = Some((case.n, Reference::new(at, strengths)));
        }
        let is_gpu = matches!(self.device, Device::Gpu(_));
        // The first run compiles the kernels, and allocates memory.
        let mut run = self.device.run(at, strengths, &case, false)?;
        let mut runs = Vec::new();
        if !is_gpu && run.seconds > LONG {
            runs.push((run.seconds, run.copies, run.stages));
        }
        let mut spent = run.seconds;
        while runs.is_empty() || (runs.len() < self.repeat as usize && spent < ENOUGH) {
            run = self.device.run(at, strengths, &case, false)?;
            spent += run.seconds + run.copies;
            runs.push((run.seconds, run.copies, run.stages));
        }
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = runs[(runs.len() - 1) / 2];
        let mut copies: Vec<f64> = runs.iter().map(|r| r.1).collect();
        copies.sort_unstable_by(f64::total_cmp);
        let stages = if is_gpu { self.device.run(at, strengths, &case, true)?.stages } else { middle.2 };
        let (_, reference) = self.reference.as_ref().expect("it was made");
        let [error, error_l2] = reference.errors(&run.field);
        let bound = match case.what {
            What::Direct => BOUNDS[2],
            _ if case.order >= ORDER => BOUNDS[0],
            _ => BOUNDS[1],
        };
        if error_l2.is_nan() || error_l2 > bound {
            let Case { n, order, spread, .. } = case;
            let what = format!("{n} points, {}, order {order}", spread.name());
            return Err(Failure::Tool(format!("{what}: the error is {error_l2:e}, beyond {bound:e}")));
        }
        let row = Row {
            case,
            levels: run.levels,
            seconds: runs.iter().map(|r| rounded(r.0)).collect(),
            copies: rounded(copies[copies.len() / 2]),
            stages: stages.map(rounded),
            pairs: run.pairs,
            m2l: run.m2l,
            error: rounded(error),
        };
        debug_assert!(case.what == What::Direct || row.levels == mesh::levels(case.n, case.leaf));
        self.side.rows.push(row);
        Ok(middle.0)
    }
}
