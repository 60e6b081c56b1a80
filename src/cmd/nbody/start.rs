//! The beginning of a run: bodies, options of the forces, and the integrator.

use super::track::Track;
use super::{Args, GalaxyArg, IntegratorArg, ModelArg, entry};
use fmm::octree::MOST_PARTICLES;
use pairforge::fmm::{Basis, Options, Precision};
use pairforge::kernel::{Kernel, RunError};
use pairforge::nbody::model::{self, Galaxies, Model};
use pairforge::nbody::{Bodies, Hermite, HermiteOptions, Leapfrog, State};
use terminal::failure::Failure;
use terminal::progress::Stages;
use terminal::{memory, particles, source};

/// The least memory of a run for each body: an FMM, the body, and the copies in which files are made.
const BYTES_A_BODY: u64 = super::super::fmm::BYTES_A_PARTICLE + 300;

/// An integration from the start.
pub fn track(args: &Args, backend: &str) -> Result<Track, Failure> {
    let bodies = bodies(args)?;
    let n = bodies.len();
    if args.integrator == IntegratorArg::Hermite {
        return Ok(Track::new(backend, n, Box::new(Hermite::start(bodies, hermite(args, backend)?)?)));
    }
    let options = options(args, backend, n)?;
    let mut shown = Stages::new(Some(backend));
    let progress = &mut |stage, done, total| shown.at(stage, done, total);
    let integrator = Leapfrog::start_with(bodies, &options, args.step, progress)?;
    Ok(Track::new(backend, n, Box::new(integrator)))
}

/// The same from what was kept of it.
pub fn again(args: &Args, backend: &str, state: State) -> Result<Track, Failure> {
    let n = state.bodies.len();
    if args.integrator == IntegratorArg::Hermite {
        return Ok(Track::new(backend, n, Box::new(Hermite::resume(state, hermite(args, backend)?)?)));
    }
    let options = options(args, backend, n)?;
    let integrator = Leapfrog::resume(state, &options, args.step)?;
    Ok(Track::new(backend, n, Box::new(integrator)))
}

fn bodies(args: &Args) -> Result<Bodies, Failure> {
    if let Some(path) = &args.bodies {
        let bodies = particles::read(path, &particles::BODIES, args.text)?;
        return match bodies.is_empty() {
            true => Err(Failure::file(path, "has no bodies")),
            false => Ok(bodies),
        };
    }
    if args.n > MOST_PARTICLES {
        return Err(Failure::Usage(format!("--n takes up to {MOST_PARTICLES} bodies, not {}", args.n)));
    }
    memory::check(args.n as u64 * BYTES_A_BODY, format!("a run of {} bodies", args.n))?;
    Ok(model::bodies(&args.start_model(), args.n, args.seed)?)
}

impl Args {
    fn start_model(&self) -> Model {
        let king = Model::King { w0: self.w0 };
        match self.model {
            ModelArg::Plummer => Model::Plummer,
            ModelArg::King => king,
            ModelArg::Collapse => Model::Collapse { virial: self.virial },
            ModelArg::Galaxies => {
                let of = Box::new(if self.galaxy == GalaxyArg::King { king } else { Model::Plummer });
                let Args { mass_ratio: ratio, separation, pericentre, .. } = *self;
                Model::Galaxies(Galaxies { of, ratio, separation, pericentre })
            }
        }
    }
}

/// The options of Hermite's scheme, which sums over all pairs.
fn hermite(args: &Args, backend: &str) -> Result<HermiteOptions, Failure> {
    let given = [
        ("--p2p", args.p2p.is_some()),
        ("--tol", args.tol.is_some()),
        ("--order", args.order.is_some()),
        ("--theta", args.theta.is_some()),
        ("--leaf", args.leaf.is_some()),
        ("--expansion", args.expansion.is_some()),
        ("--precision", args.precision.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        let why = format!(
            "{option} is for the leapfrog: Hermite's scheme sums over all pairs, on pipelines by gravity_hermite"
        );
        return Err(Failure::Usage(why));
    }
    let (_, place) = entry(args, backend)?;
    let engine = args.engine.options(&place, args.threads)?;
    let backend = backend.parse().map_err(|e: RunError| Failure::Usage(e.to_string()))?;
    Ok(HermiteOptions { step: args.step, eta: args.eta, eps: args.eps.unwrap_or(0.0), backend, engine })
}

/// The options of the forces.
fn options(args: &Args, backend: &str, n: usize) -> Result<Options, Failure> {
    let (_, place) = entry(args, backend)?;
    // As far as a body is deflected strongly by another one (Power et al., MNRAS 338, 14, 2003, eq. 15).
    let eps = args.eps.unwrap_or(1.0 / (n as f64).sqrt());
    let mut asked = Options::default().backend(backend).softening(eps);
    asked = asked.engine(args.engine.options(&place, args.threads)?);
    if let Some(file) = &args.p2p {
        let kernel = Kernel::of_graph(source::load(file)?.1);
        asked = asked.kernel(args.params.iter().fold(kernel, |k, (name, value)| k.with_param(name, *value)));
    }
    if args.direct {
        asked = asked.near_only(true).leaf(n);
    }
    macro_rules! given {
        ($($value:expr => $option:ident),*) => {
            $(if let Some(value) = $value { asked = asked.$option(value); })*
        };
    }
    given!(
        args.tol => tolerance,
        args.order => order,
        args.theta => theta,
        args.leaf => leaf,
        args.expansion.map(Basis::from) => expansion,
        args.precision.map(Precision::from) => precision
    );
    Ok(asked)
}

/// A hash of what the words do not have: the kernel.
pub fn hash(args: &Args) -> Result<u64, Failure> {
    match &args.p2p {
        Some(file) => Ok(hdl::hash::fnv(&source::load(file)?.1.to_string())),
        None => Ok(0),
    }
}
