//! Short-range kernels over neighbouring cells: seconds by the number of particles, and how full the lanes are.

use fmm::data::random::Random;
use pairforge::backends::{self, BackendOptions};
use pg2::graph::{Graph, PinClass};
use pipelines::cells::{self, CellLists, Reach};
use pipelines::encode::encode;
use pipelines::job::{Backend, BackendError, Job, Outcome, Table};
use std::time::Instant;
use terminal::bench::{spread, timed};
use terminal::csv::{columns, parameters};
use terminal::failure::Failure;
use terminal::say;
use terminal::source;

/// A kernel, its parameters and what its records hold besides coordinates; `reach` is in sides of the box.
struct Case {
    kernel: &'static str,
    /// How far a kernel reaches among `n` particles in a box of side 1.
    reach: fn(n: f64) -> f64,
    params: fn(n: f64) -> Vec<String>,
    /// The value of a pin other than the coordinates.
    value: fn(pin: &str, n: f64) -> f64,
}

/// Side of the box in units of sigma at a density of 0.8.
fn side(n: f64) -> f64 {
    (n / 0.8).cbrt()
}

/// Twice the smoothing length that has 50 neighbours.
fn smoothing(n: f64) -> f64 {
    (50.0 / (4.0 / 3.0 * std::f64::consts::PI * n)).cbrt()
}

const CASES: [Case; 2] = [
    Case {
        kernel: "lennard_jones",
        reach: |n| 2.5 / side(n),
        params: |n| vec![format!("box={}", side(n)), "cut2=6.25".into(), "ecut=0".into()],
        value: |_, _| 0.0,
    },
    Case {
        kernel: "sph_density",
        reach: smoothing,
        params: |_| Vec::new(),
        value: |pin, n| if pin == "hinv" { 2.0 / smoothing(n) } else { 1.0 / n },
    },
];

/// 1e5 and 1e6 particles on the emulator, and 1e5 on the cycle simulation.
pub fn run(repeat: u32) -> Result<(), Failure> {
    for case in &CASES {
        for (backend, edge, repeat) in [("emulator", 46, repeat), ("emulator", 100, repeat), ("cycle", 46, 1)] {
            one(case, backend, edge, repeat)?;
        }
    }
    say!(
        "  input: a cubic lattice in a periodic box, each particle moved by up to 0.3 of its spacing along each axis, seed 1;"
    )?;
    say!(
        "  lennard_jones at density 0.8 with a cut-off of 2.5, sph_density with 50 neighbours. 8 pipelines. The time is that"
    )?;
    say!("  of cells and pairs, without files")?;
    Ok(())
}

fn one(case: &Case, backend: &str, edge: usize, repeat: u32) -> Result<(), Failure> {
    let graph = source::load(case.kernel)?.1;
    let n = (edge * edge * edge) as f64;
    let places = lattice(edge);
    let (targets, sources) =
        (table(case, &graph, PinClass::Ipin, &places), table(case, &graph, PinClass::Jpin, &places));
    let params = parameters(&columns(&graph, PinClass::Param), &(case.params)(n), false)?;
    // The kernel's coordinates wrap at the side of the box where they have no integer bits.
    let wraps = case.kernel == "lennard_jones";
    let reach = Reach { radius: (case.reach)(n), sides: wraps.then(|| vec![1.0]) };
    let mut engine = (backends::find(backend)?.0.open)(&BackendOptions::default());
    let (mut planning, mut last) = (0.0, None);
    let seconds = timed(repeat, || {
        let started = Instant::now();
        let plan =
            cells::plan(&graph, &*engine, &targets, &sources, &reach).map_err(|e| Failure::Input(e.to_string()))?;
        planning = started.elapsed().as_secs_f64();
        let outcome = pairs(&mut *engine, &graph, &plan, &params)?;
        last = Some((plan, outcome));
        Ok(())
    })?;
    let (plan, outcome) = last.expect("a benchmark runs once at least");
    let utilisation = outcome.utilisation().map_or(String::new(), |u| format!(", utilisation {u:.3}"));
    say!(
        "  {:<13} {:<8} {n} particles, {} M pairs: {} s, {planning:.2} of it for {} cells; lanes with a target {:.3}{utilisation}",
        case.kernel,
        backend,
        outcome.pairs / 1_000_000,
        spread(&seconds, |s| format!("{s:.2}")),
        plan.report.occupied,
        filled(&plan, BackendOptions::default().pipelines as usize)
    )?;
    Ok(())
}

fn pairs(engine: &mut dyn Backend, graph: &Graph, plan: &CellLists, params: &[u64]) -> Result<Outcome, BackendError> {
    let CellLists { targets, sources, runs, segments, .. } = plan;
    engine.run(&Job { graph, targets, sources, params, runs, segments }, &mut |_| {})
}

/// The part of the lanes that has a target, weighed by the clocks that they take.
fn filled(plan: &CellLists, lanes: usize) -> f64 {
    let (mut pairs, mut places) = (0, 0);
    for run in &plan.runs {
        let sources: usize = plan.segments[run.segments.clone()].iter().map(|s| s.count).sum();
        pairs += run.count * sources;
        places += run.count.next_multiple_of(lanes) * sources;
    }
    pairs as f64 / places as f64
}

/// Particles near the points of a cubic lattice in a box of side 1 about 0.
fn lattice(edge: usize) -> Vec<[f64; 3]> {
    let mut random = Random::new(1);
    let mut near = |k: usize| (k as f64 + 0.5 + 0.3 * (2.0 * random.unit() - 1.0)) / edge as f64 - 0.5;
    let mut places: Vec<[f64; 3]> =
        (0..edge.pow(3)).map(|k| [k % edge, k / edge % edge, k / (edge * edge)].map(&mut near)).collect();
    // In an order that has nothing to do with space, as a file may have it.
    let mut random = Random::new(2);
    for k in (1..places.len()).rev() {
        places.swap(k, (random.next() % (k as u64 + 1)) as usize);
    }
    places
}

fn table(case: &Case, graph: &Graph, class: PinClass, places: &[[f64; 3]]) -> Table {
    let elements = graph.elements_of(class);
    let mut bits = Vec::with_capacity(places.len() * elements.len());
    for place in places {
        for (pin, element) in &elements {
            let pin = &graph.pins[*pin];
            let value = match pin.name.as_str() {
                "xi" | "xj" => place[*element as usize],
                name => (case.value)(name, places.len() as f64),
            };
            bits.push(encode(pin.format, value).0);
        }
    }
    Table { elements: elements.len(), bits }
}
