//! FMMs with all stages on a GPU beside the CPU's, both against direct sums: every distribution, boundary, order and precision, and inputs
//! that are odd.

use super::Args;
use fmm::data::particles::Particles;
use fmm::data::periodic::Periodic;
use fmm::data::random::{self, Charge, Distribution};
use fmm::direct::error::{self, Errors};
use fmm::expansion::basis::Basis;
use fmm::octree::Precision;
use gpu::cuda::{compile, device};
use pairforge::fmm::{Geometry, Options, Plan, Sources, Translations};
use terminal::failure::Failure;
use terminal::say;

/// Particles of a problem.
const N: usize = 20_000;

/// Targets that are compared with direct sums; Ewald sums of a target take longer.
const SAMPLES: usize = 200;
const PERIODIC_SAMPLES: usize = 24;

/// The error beside the CPU's of the same precision at most, whose tree has leaves of another size, and what rounding adds: to the
/// potential's relative L2 error, and to the median of the gradient's.
const MOST: f64 = 2.0;
const ROUNDING: [(Precision, [f64; 2]); 2] = [(Precision::F32, [3e-6, 3e-5]), (Precision::F64, [1e-11, 1e-10])];

const BOUNDARIES: [(&str, [bool; 3]); 4] = [
    ("free", [false; 3]),
    ("periodic along x", [true, false, false]),
    ("periodic along x and y", [true, true, false]),
    ("periodic", [true; 3]),
];

/// Orders of solid harmonics: all kinds of kernels that their degree decides on, up to the highest.
const ORDERS: [usize; 7] = [1, 2, 5, 8, 10, 11, 30];
const PERIODIC_ORDERS: [usize; 3] = [2, 5, 11];
const HESSIAN_ORDERS: [usize; 2] = [4, 9];

/// A squared offset that no cells have. With it the CPU's M2L goes by matrices at all orders, as the GPU's does.
const NOWHERE: f64 = 1e9;

/// One problem and how it is computed, but for order and precision.
struct Problem {
    name: String,
    particles: Particles,
    targets: Option<Particles>,
    axes: [bool; 3],
    eps: f64,
    theta: f64,
    hessian: bool,
    /// Sets of charges of one run, of which the first is the particles' own.
    sets: usize,
    orders: &'static [usize],
}

/// Outcome of all runs of a problem.
#[derive(Default)]
struct Outcome {
    runs: usize,
    /// Errors over what they may be, and where the largest one was found.
    worst: f64,
    at: String,
    failures: Vec<String>,
    refused: Option<String>,
}

/// Prints a line for each problem. Without a GPU it says so, and fails if it was named.
pub fn run(args: &Args) -> Result<(), Failure> {
    if let Err(why) = device::found().and_then(|_| compile::check()) {
        return match args.names.is_empty() {
            true => say!("  skipped: {why}"),
            false => Err(Failure::Tool(why.to_string())),
        };
    }
    let (mut runs, mut failures) = (0, Vec::new());
    for problem in regular().into_iter().chain(odd()) {
        let found = problem.check();
        let worst = match &found.refused {
            Some(why) => format!("unknown: {why}"),
            None => format!("at most {:.2} of what they may be, at {}", found.worst, found.at),
        };
        say!("  {}: {} runs, errors {worst}", problem.name, found.runs)?;
        runs += found.runs;
        failures.extend(found.failures.into_iter().map(|what| format!("{}, {what}", problem.name)));
    }
    say!("  {runs} runs, {} of which have larger errors than the CPU's order explains", failures.len())?;
    match failures.is_empty() {
        true => Ok(()),
        false => Err(Failure::Tool(failures.join("\n"))),
    }
}

/// Every distribution with every boundary, and with what else the GPU takes.
fn regular() -> Vec<Problem> {
    let mut all = Vec::new();
    for (k, (name, distribution)) in Distribution::ALL.into_iter().enumerate() {
        // Charges of one sign and of both, by turns.
        let charge = if k % 2 == 0 { Charge::Positive } else { Charge::Random };
        let particles = random::generate(N, distribution, charge, 1);
        for (boundary, axes) in BOUNDARIES {
            let is_free = axes == [false; 3];
            let orders: &[usize] = if is_free { &ORDERS } else { &PERIODIC_ORDERS };
            all.push(Problem { axes, orders, ..Problem::new(&format!("{name}, {boundary}"), particles.clone()) });
        }
        let targets = Some(random::generate(N / 4, distribution, charge, 2));
        let of = |what: &str| Problem {
            orders: &HESSIAN_ORDERS,
            ..Problem::new(&format!("{name}, {what}"), particles.clone())
        };
        all.push(Problem { targets, ..of("targets apart") });
        all.push(Problem { eps: 1e-5, ..of("softened") });
        all.push(Problem { sets: 3, ..of("three sets of charges") });
        // In a tree of one depth, and in an adaptive one.
        if matches!(distribution, Distribution::Uniform | Distribution::Plummer) {
            all.push(Problem { theta: 0.4, ..of("theta 0.4") });
            all.push(Problem { theta: 1.0 / 3.0, ..of("theta 1/3") });
            all.push(Problem { theta: 1.0 / 3.0, axes: [true; 3], ..of("theta 1/3, periodic") });
        }
        all.push(Problem { hessian: true, ..of("second derivatives") });
        all.push(Problem { hessian: true, axes: [true; 3], ..of("second derivatives, periodic") });
    }
    all
}

/// Few particles, and places that no distribution has.
fn odd() -> Vec<Problem> {
    let few = [1, 2, 31, 33].map(|n| random::generate(n, Distribution::Uniform, Charge::Random, 3));
    let few = few.into_iter().map(|particles| (format!("{} particles", particles.len()), particles));
    let moved = |name: &str, place: &dyn Fn(usize, [f64; 3]) -> [f64; 3]| {
        let mut particles = random::generate(N, Distribution::Uniform, Charge::Positive, 4);
        for k in 0..N {
            let [x, y, z] = place(k, [particles.x[k], particles.y[k], particles.z[k]]);
            (particles.x[k], particles.y[k], particles.z[k]) = (x, y, z);
        }
        (name.to_string(), particles)
    };
    let places = [
        moved("all in one point", &|_, _| [0.25, 0.5, 0.75]),
        moved("all in two points", &|k, _| if k % 2 == 0 { [0.0; 3] } else { [1.0, 0.5, 0.25] }),
        moved("on a line", &|_, [x, _, _]| [x, 2.0 * x, -x]),
        moved("a cluster 1e-12 wide", &|k, at| if k % 2 == 0 { at } else { at.map(|x| 0.5 + 1e-12 * x) }),
        moved("most in one leaf", &|k, at| if k % 20 == 0 { at.map(|x| 1e3 * x) } else { at }),
        moved("coordinates of 1e300", &|_, at| at.map(|x| 1e300 * x)),
        moved("coordinates of 1e-300", &|_, at| at.map(|x| 1e-300 * x)),
    ];
    few.chain(places).map(|(name, particles)| Problem { orders: &[5], ..Problem::new(&name, particles) }).collect()
}

impl Problem {
    fn new(name: &str, particles: Particles) -> Problem {
        let name = name.to_string();
        let (eps, theta, sets) = (0.0, 0.5, 1);
        Problem { name, particles, targets: None, axes: [false; 3], eps, theta, hessian: false, sets, orders: &ORDERS }
    }

    fn is_periodic(&self) -> bool {
        self.axes != [false; 3]
    }

    fn options(&self, order: usize) -> Options {
        let samples = if self.is_periodic() { PERIODIC_SAMPLES } else { SAMPLES };
        let options = Options::default().order(order).expansion(Basis::Solid).leaf(48).softening(self.eps);
        let options = options.theta(self.theta).hessian(self.hessian).samples(samples);
        match self.is_periodic() {
            true => {
                let length = 1.01 * error::edge(self.particles.columns(), None);
                options.periodic(Periodic { length, axes: self.axes })
            }
            false => options,
        }
    }

    /// The particles' charges, and, for further sets, others of other sizes.
    fn charges(&self, set: usize) -> Vec<f64> {
        let q = &self.particles.q;
        (0..q.len()).map(|k| q[(k + 7 * set) % q.len()] * 10f64.powi(3 * set as i32)).collect()
    }

    /// The errors of a run, set by set.
    fn errors(&self, options: &Options) -> Result<Vec<Errors>, pairforge::Error> {
        let targets = self.targets.as_ref().map(|targets| targets.columns());
        let geometry = Geometry { sources: self.particles.columns(), targets };
        let charges: Vec<Vec<f64>> = (0..self.sets).map(|set| self.charges(set)).collect();
        let sets: Vec<Sources> = charges.iter().map(|charges| charges[..].into()).collect();
        let stats = Plan::new(geometry, options)?.run_all(&sets)?.stats;
        Ok(stats.error.into_iter().chain(stats.more_errors).collect())
    }

    fn check(&self) -> Outcome {
        let mut outcome = Outcome::default();
        for order in self.orders {
            for (precision, rounding) in ROUNDING {
                // Charges cancel against the background of a box that is periodic along all axes, and leave more of rounding.
                let rounding = if self.axes == [true; 3] { rounding.map(|x| 10.0 * x) } else { rounding };
                let name = if precision == Precision::F32 { "f32" } else { "f64" };
                let at = format!("order {order} in {name}");
                let options = self.options(*order).precision(precision);
                let cpu = self.errors(&options.clone().lower_beyond(NOWHERE));
                let own = self.errors(&options.backend("cuda").translations(Translations::Gpu));
                outcome.runs += 1;
                match (own, cpu) {
                    (Ok(own), Ok(cpu)) => {
                        let all = own.iter().zip(&cpu).map(|(own, cpu)| beyond(own, cpu, rounding));
                        all.for_each(|beyond| outcome.add(at.clone(), beyond));
                    }
                    (Err(why), _) => outcome.refused = Some(format!("{at}: {why}")),
                    (Ok(_), Err(why)) => outcome.failures.push(format!("{at}: the CPU says: {why}")),
                }
            }
        }
        outcome
    }
}

impl Outcome {
    fn add(&mut self, at: String, beyond: f64) {
        if beyond.is_nan() || beyond > 1.0 {
            self.failures.push(format!("{at}: {beyond:.2} times the error that it may have"));
        }
        if beyond.is_nan() || beyond >= self.worst {
            (self.worst, self.at) = (beyond, at);
        }
    }
}

/// Errors over what they may be beside the CPU's: the largest of potential, gradient and second derivatives.
fn beyond(own: &Errors, cpu: &Errors, [of_potential, of_gradient]: [f64; 2]) -> f64 {
    let over = |own: Option<f64>, cpu: Option<f64>, rounding: f64| match (own, cpu) {
        (Some(own), Some(cpu)) => own / (MOST * cpu + rounding),
        _ => 0.0,
    };
    let potential = over(Some(own.potential_rel_l2), Some(cpu.potential_rel_l2), of_potential);
    let gradient = over(own.gradient_median, cpu.gradient_median, of_gradient);
    // Close pairs rule these, and rounding with them.
    let hessian = over(own.hessian_rel_l2, cpu.hessian_rel_l2, 10.0 * of_gradient);
    let all = [potential, gradient, hessian];
    if all.iter().any(|x| x.is_nan()) { f64::NAN } else { all.into_iter().fold(0.0, f64::max) }
}
