//! The FMM of random particles or of a file, beside direct sums at some of them.

use crate::kernel::Kernel;
use fmm::data::input::Input;
use fmm::data::npy::is_npy;
use fmm::data::random::{Distribution, generate};
use fmm::octree::Plan;
use fmm::shown::shown;
use pairforge::fmm::solver::Solver;
use pairforge::fmm::{Options, Problem, Solved, Stats};
use pairforge::kernel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The options of the command, by their names there.
#[derive(Deserialize)]
#[serde(default)]
pub struct Asked {
    n: usize,
    dist: String,
    seed: u64,
    /// The name of a file, whose bytes are beside the call; it takes the place of random particles.
    particles: Option<String>,
    p2p: Option<Kernel>,
    /// Values of the kernel's own parameters.
    params: BTreeMap<String, f64>,
    tol: Option<f64>,
    order: Option<usize>,
    leaf: Option<usize>,
    check: usize,
}

impl Default for Asked {
    fn default() -> Asked {
        let (params, dist) = (BTreeMap::new(), Distribution::ALL[0].0.into());
        Asked {
            n: 10_000,
            dist,
            seed: 1,
            particles: None,
            p2p: None,
            params,
            tol: None,
            order: None,
            leaf: None,
            check: 1000,
        }
    }
}

/// Particles at most, and targets of direct sums.
const MOST: usize = 1_000_000;
const MOST_CHECKED: usize = 10_000;

/// The report of the command. Beside it are columns of f32, one behind the other: x, y and z of the particles in box units, their
/// potentials, and x, y, z and the edge of each leaf.
#[derive(Serialize)]
pub struct Answer {
    stats: Stats,
    leaves: usize,
    /// The command that computes the same.
    command: String,
}

pub fn solve(asked: Asked, bytes: &mut Vec<u8>) -> Result<Answer, String> {
    let input = asked.input(&std::mem::take(bytes))?;
    let problem = Problem { geometry: input.geometry(), sets: input.sources() };
    let kernel = asked.p2p.as_ref().map(Kernel::name);
    let mut command = asked.command(kernel.as_deref());
    let mut solver = Solver::new(asked.options()?).map_err(|e| e.to_string())?;
    solver.check(&problem).map_err(|e| e.to_string())?;
    let Solved { solutions, plan } = solver.solve(&problem, &mut |_, _, _| {}).map_err(|e| e.to_string())?;
    let plan = plan.ok_or("there is no tree of these particles")?;
    let stats = solutions.stats;
    // Costs choose the leaves of another machine otherwise.
    let _ = write!(command, " --leaf {}", stats.leaf);
    if let Some(enlarge) = stats.enlarge {
        let _ = write!(command, " --enlarge {enlarge:?}");
    }
    let leaves = drawn(&plan, &input, &solutions.fields[0].potential, bytes);
    Ok(Answer { stats, leaves, command })
}

impl Asked {
    /// Particles of the file, or random ones.
    fn input(&self, file: &[u8]) -> Result<Input, String> {
        let within = |n: usize| match n {
            0 => Err("there are no particles".to_string()),
            n if n > MOST => Err(format!("a page takes up to {MOST} particles, not {n}; run more with the command")),
            _ => Ok(()),
        };
        let Some(name) = &self.particles else {
            within(self.n)?;
            let known = || Distribution::ALL.map(|d| d.0).join(", ");
            let dist = Distribution::from_name(&self.dist)
                .ok_or_else(|| format!("there is no distribution `{}`; they are {}", shown(&self.dist), known()))?;
            return Ok(generate(self.n, dist, dist.default_charge(), self.seed).into());
        };
        let read = match is_npy(file) {
            true => Input::from_npy(file),
            false => {
                let text = std::str::from_utf8(file);
                let text = text.map_err(|_| format!("{} is neither text nor .npy", shown(name)))?;
                Input::from_csv(text)
            }
        };
        let input = read.map_err(|e| format!("{}: {e}", shown(name)))?;
        within(input.particles.len())?;
        Ok(input)
    }

    fn options(self) -> Result<Options, String> {
        if self.check == 0 || self.check > MOST_CHECKED {
            return Err(format!("1 to {MOST_CHECKED} targets are compared with direct sums, not {}", self.check));
        }
        if let Some(wanted) = self.tol.filter(|wanted| !(*wanted > 0.0 && *wanted < 1.0)) {
            return Err(format!("a tolerance is above 0 and below 1, not {wanted:?}"));
        }
        let mut options = Options::default().samples(self.check).seed(self.seed);
        if let Some(wanted) = self.tol {
            options = options.tolerance(wanted);
        }
        if let Some(order) = self.order {
            options = options.order(order);
        }
        if let Some(leaf) = self.leaf {
            options = options.leaf(leaf);
        }
        let Some(p2p) = self.p2p else { return Ok(options) };
        let kernel = kernel::Kernel::of_graph(p2p.compiled()?.graph);
        Ok(options.kernel(self.params.iter().fold(kernel, |kernel, (name, value)| kernel.with_param(name, *value))))
    }

    /// The command for this, but for the leaves.
    fn command(&self, kernel: Option<&str>) -> String {
        let mut line = match &self.particles {
            Some(name) => format!("pairforge fmm --particles {}", quoted(name)),
            None => format!("pairforge fmm --n {} --dist {}", self.n, self.dist),
        };
        let _ = write!(line, " --seed {} --check {}", self.seed, self.check);
        if let Some(name) = kernel {
            let ending = if pg2::kernels::find(name).is_some() { "" } else { ".pg2" };
            let _ = write!(line, " --p2p {name}{ending}");
        }
        for (name, value) in &self.params {
            let _ = write!(line, " --param {name}={value:?}");
        }
        if let Some(tol) = self.tol {
            let _ = write!(line, " --tol {tol:?}");
        }
        if let Some(order) = self.order {
            let _ = write!(line, " --order {order}");
        }
        line
    }
}

/// A name as a shell takes it.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+".contains(c);
    match !name.starts_with('-') && name.chars().all(is_plain) {
        true => name.into(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

/// Writes the columns of an [`Answer`] that are drawn, and tells the number of leaves.
fn drawn(plan: &Plan, input: &Input, potential: &[f64], bytes: &mut Vec<u8>) -> usize {
    let tree = &plan.tree;
    let mut column =
        |values: &mut dyn Iterator<Item = f64>| bytes.extend(values.flat_map(|x| (x as f32).to_le_bytes()));
    for (axis, values) in input.geometry().sources.into_iter().enumerate() {
        column(&mut values.iter().map(|x| tree.map.unit(axis, tree.map.scaled(*x))));
    }
    column(&mut potential.iter().copied());
    let leaves = || tree.leaves.iter().map(|leaf| &tree.cells[*leaf as usize]);
    for axis in 0..3 {
        column(&mut leaves().map(|leaf| leaf.centre()[axis]));
    }
    column(&mut leaves().map(|leaf| leaf.edge()));
    tree.leaves.len()
}
