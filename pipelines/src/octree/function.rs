//! A P2P kernel as the function that a black-box expansion expands: what it means between two places, and whether an expansion
//! can hold that (RULES H15).

mod smooth;

use super::calibrate;
use crate::octree::bind::{Feed, Feeds, P2p};
use crate::octree::offload::{DifferenceKernel, KernelBox, Partners, at_zero};
use fmm::arith::scale::{exponent, ldexp};
use fmm::expansion::chebyshev::images::Lattice;
use fmm::expansion::chebyshev::{self, Function, Symmetry};
use fmm::octree::kernel::KernelError;
use fmm::octree::{FmmOptions, far_images};
use fmm::tree::{MAX_LEVEL, lists};
use hdl::op::semantics::Real;
use hdl::{Format, Rounding};
use pg2::graph::Graph;
use sim::reference::real::{Pairs, RealKernel, RealSources, in_numbers};
use std::sync::Arc;

/// How far results for one difference at several places may be from each other, and the gradient from the potential's,
/// relatively: fitted functions are no better.
const TOLERANCE: f64 = 1e-3;

/// The greatest weight of far images: sums over so many that cancel lose as much of f64.
const MOST_WEIGHT: f64 = 1e8;

/// A P2P kernel in boxes.
struct OfKernel {
    name: String,
    outputs: usize,
    evaluated: RealKernel,
    p2p: P2p,
    window: KernelBox,
    /// With periodic boundaries: images lie farther apart than coordinates reach.
    meaning: Option<DifferenceKernel>,
    params: Vec<u64>,
    slope: f64,
    symmetry: Symmetry,
    halving: Option<f64>,
}

/// The inputs that a kernel's parameters depend on.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The softening length in boxes, and the edge of the box.
    pub eps: f64,
    pub edge: f64,
    /// The values of parameters of its own.
    pub given: &'a [(String, f64)],
    /// The box of the kernel's coordinates.
    pub window: KernelBox,
}

/// The cells between which an expansion goes.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    pub near2: u64,
    /// The levels whose cells are looked at, and those that the tree may have.
    pub levels: usize,
    pub most: usize,
    /// The images that are not near the root, with periodic boundaries.
    pub images: Option<Lattice>,
}

impl Cells {
    pub fn of(options: &FmmOptions, levels: usize) -> Cells {
        Cells { near2: lists::near2(options.theta), levels, most: levels, images: far_images(options) }
    }
}

/// Takes a P2P kernel as a function of differences.
pub fn function(graph: &Graph, setting: &Setting, cells: &Cells) -> Result<Arc<dyn Function>, KernelError> {
    let p2p = P2p::bind(graph, true, setting.given)?;
    let window = setting.window;
    let value = |feed| match feed {
        Feed::Given(value) => value,
        Feed::Box => window.edge(setting.edge),
        _ => (window.length(setting.eps) * p2p.length).powi(2),
    };
    calibrate::is_linear(graph, &p2p, &p2p.params.iter().map(|(feed, _)| value(*feed)).collect::<Vec<f64>>())?;
    let params = patterns(&p2p.params, value).collect();
    let meaning = cells.images.map(|_| of_differences(graph, &p2p)).transpose()?;
    let (symmetry, halving) = (Symmetry::None, None);
    let (name, outputs, evaluated) = (graph.name.clone(), graph.outputs.len(), RealKernel::new(&in_numbers(graph)));
    let mut function =
        OfKernel { name, outputs, evaluated, p2p, window, meaning, params, slope: 1.0, symmetry, halving };
    function.check_invariance()?;
    function.slope = function.slope_of_gradient(setting.edge)?;
    function.symmetry = function.found_symmetry();
    function.halving = function.found_halving();
    let supercells = cells.images.map(|lattice| function.summed(&lattice)).transpose()?;
    let name = graph.name.clone();
    let kernel: Arc<dyn Function> = Arc::new(function);
    match smooth::rough(&kernel, cells, supercells) {
        None => Ok(kernel),
        Some(edge) => Err(KernelError(format!(
            "{name} is not 1/r, nor smooth at distances of about {:.3e} boxes: an expansion does not come closer to it with its order; \
             leave the far field out with --near-only, or take cut-offs and branches out of the kernel",
            2.0 * edge
        ))),
    }
}

/// A kernel of P2P as a machine of its own runs it: on differences of places in boxes, as it is.
#[derive(Clone, PartialEq, Debug)]
pub struct Law {
    /// A box in the kernel's unit of length, and its values for a potential and a component of a gradient of 1 in boxes.
    pub length: f64,
    pub units: [f64; 2],
    /// The values of its parameters, in the order of records.
    pub params: Vec<f64>,
    /// Whether a particle acts on itself and on others in its place.
    pub acts_at_zero: bool,
}

impl Law {
    pub fn new(graph: &Graph, setting: &Setting) -> Result<Law, KernelError> {
        let p2p = P2p::bind(graph, true, setting.given)?;
        let window = setting.window;
        let (length, eps, edge) = (window.length(p2p.length), window.length(setting.eps), window.edge(setting.edge));
        let wanted = at_zero::values(&p2p, eps, edge);
        let acts_at_zero = at_zero::acts_at_zero(&in_numbers(graph), &p2p, &wanted);
        // Floats are what they are; others are rounded, as wherever the kernel is evaluated.
        let rounded = |((_, format), x): (&(Feed, Format), &f64)| match format.frac() {
            Some(_) => format.to_f64(Real::cast(*format, Rounding::Nearest, *x).0.bits()),
            None => *x,
        };
        let params = p2p.params.iter().zip(&wanted).map(rounded).collect();
        let units = [0, 1].map(|a| p2p.unit(a) / window.boxed(a, 1.0));
        Ok(Law { length, units, params, acts_at_zero })
    }
}

/// Whether a kernel that is not 1/r has an expansion, as far as that can be known without particles.
pub fn check(graph: &Graph, options: &FmmOptions) -> Result<(), KernelError> {
    let kernel = P2p::bind(graph, true, &options.params)?;
    // Without a period, the unit of length is the edge of a box that particles make: a kernel with a length of its own is judged there.
    let has_length = |f: &(Feed, _)| f.0 == Feed::Box || f.0 == Feed::Eps2 && options.eps > 0.0;
    if options.periodic.is_none() && kernel.params.iter().any(has_length) {
        return Ok(());
    }
    let (eps, edge) = options.periodic.as_ref().map_or((0.0, 1.0), |p| (options.eps / p.length, p.length));
    let setting = Setting { eps, edge, given: &options.params, window: KernelBox::of(options) };
    function(graph, &setting, &Cells { most: MAX_LEVEL as usize + 1, ..Cells::of(options, 3) }).map(|_| ())
}

/// A kernel by the differences of coordinates, which are as long as they are.
fn of_differences(graph: &Graph, p2p: &P2p) -> Result<DifferenceKernel, KernelError> {
    DifferenceKernel::new(graph, p2p).ok_or_else(|| {
        KernelError(format!(
            "{} does not take coordinates as differences xj - xi that are cast to floats or compared with 0, and nothing else, so that \
             what it gives from images beyond the range of its coordinates is not known; write it so, or take near images alone with \
             --near-only",
            graph.name
        ))
    })
}

/// The patterns of a record that real-arithmetic evaluation takes.
fn patterns(feeds: &Feeds, value: impl Fn(Feed) -> f64) -> impl Iterator<Item = u64> {
    feeds.iter().map(move |(feed, format)| Real::cast(*format, Rounding::Nearest, value(*feed)).0.bits())
}

/// Directions that no symmetry of a kernel makes alike.
const DIRECTIONS: [[f64; 3]; 4] = [[0.31, -0.22, 0.17], [-0.05, 0.33, 0.21], [0.11, 0.12, -0.4], [-0.27, -0.3, -0.08]];

/// Parts of these at which symmetries and the like are looked for: a kernel with a short length of its own gives something at the shorter
/// ones alone. All halves of [`exact`] places are exact in the formats of coordinates.
const SCALES: [f64; 6] = [1.0, 0.125, 1.0 / 64.0, 1.0 / 512.0, 1.0 / 4096.0, 1.0 / 32768.0];

/// Steps to either side by which a gradient is recognised, and the part of a potential by which it may change on one: better, and at most.
const STEP: f64 = 1.0 / 1024.0;
const SMALL_CHANGE: f64 = 0.02;
const MOST_CHANGE: f64 = 0.3;

/// A direction in whole steps, and a part of it.
fn exact(d: [f64; 3], scale: f64) -> [f64; 3] {
    d.map(|x| (x / STEP).round() * STEP * scale)
}

/// How far values may be from each other that are taken for the same, relatively.
const SAME: f64 = 1e-9;

impl OfKernel {
    /// Potential and gradient in the kernel's own units for a source of charge 1 at `source`.
    fn at(&self, target: [f64; 3], sources: &[[f64; 3]], out: &mut [[f64; 4]]) {
        let place = |x: [f64; 3]| {
            move |feed| match feed {
                Feed::At(axis) => x[axis],
                _ => 1.0,
            }
        };
        let scaled = |x: &[f64; 3]| x.map(|x| self.window.length(x) * self.p2p.length);
        let i: Vec<u64> = patterns(&self.p2p.i, place(scaled(&target))).collect();
        let j: Vec<u64> = sources.iter().flat_map(|x| patterns(&self.p2p.j, place(scaled(x)))).collect();
        let mut terms = vec![0.0; sources.len() * self.outputs];
        let sources = RealSources::new(self.p2p.j.len(), &j);
        let pairs = Pairs { i: &i, params: &self.params, sources: &sources };
        self.evaluated.terms(&mut self.evaluated.scratch(), &pairs, &mut terms);
        self.boxed(&terms, out);
    }

    /// Potential and gradient in boxes from the terms of all outputs for some sources.
    fn boxed(&self, terms: &[f64], out: &mut [[f64; 4]]) {
        for (out, terms) in out.iter_mut().zip(terms.chunks_exact(self.outputs)) {
            *out = std::array::from_fn(|a| self.window.boxed(a, self.p2p.boxed(a, |element| terms[element])));
        }
    }

    /// The levels of super-cells that the sum over all images takes, if there is one.
    fn summed(&self, lattice: &Lattice) -> Result<usize, KernelError> {
        let name = &self.name;
        let axes: Vec<&str> = (0..3).filter(|a| lattice.axes[*a]).map(|a| ["x", "y", "z"][a]).collect();
        let (count, axes) = (axes.len(), axes.join(", "));
        let remedy = match self.p2p.coulomb {
            true => "1/r has Ewald's sum: take --expansion solid or cartesian",
            false => "screen the kernel, or take near images alone with --near-only",
        };
        let Some(extent) = lattice.extent(self) else {
            return Err(KernelError(format!(
                "the sum of {name} over all images along {axes} does not converge absolutely, or hardly: a kernel must fall faster than \
                 1/r^{count} there, at least as 1/r^{count}.5; {remedy}"
            )));
        };
        if extent.weight > MOST_WEIGHT {
            return Err(KernelError(format!(
                "{name} falls so slowly beside the period that all its images along {axes} give {:.1e} times what the nearest do, and \
                 too little of f64 is left where charges cancel; {remedy}",
                extent.weight
            )));
        }
        Ok(extent.levels)
    }

    /// Whether a difference gives the same wherever it stands.
    fn check_invariance(&self) -> Result<(), KernelError> {
        let mut found = Vec::new();
        let all: Vec<[f64; 3]> = SCALES.into_iter().flat_map(|scale| DIRECTIONS.map(|d| exact(d, scale))).collect();
        for place in [[0.0; 3], [0.25, -0.125, 0.0625], [-0.25, 0.25, 0.1875]] {
            for d in &all {
                let mut out = [[0.0; 4]];
                let half = |sign: f64| std::array::from_fn(|a| 0.5 * place[a] + sign * 0.5 * d[a]);
                self.at(half(1.0), &[half(-1.0)], &mut out);
                found.push(out[0]);
            }
        }
        for (k, other) in found.iter().enumerate().skip(all.len()) {
            let one = found[k % all.len()];
            let size = one.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
            if one.iter().zip(other).any(|(a, b)| (a - b).abs() > TOLERANCE * size) {
                return Err(KernelError(format!(
                    "{} is not 1/r, and depends on where a pair stands, not on its difference of coordinates alone, so it has no expansion; \
                     leave the far field out with --near-only",
                    self.name
                )));
            }
        }
        Ok(())
    }

    /// The symmetry of the potential, by the places that are looked at.
    fn found_symmetry(&self) -> Symmetry {
        let same = |images: &dyn Fn([f64; 3]) -> Vec<[f64; 3]>| {
            let all = DIRECTIONS.iter().flat_map(|d| SCALES.map(|scale| d.map(|x| x * scale)));
            all.into_iter().all(|d| {
                let mut places = vec![d];
                places.extend(images(d));
                let mut out = vec![[0.0; 4]; places.len()];
                self.values(&places, &mut out);
                out.iter().all(|o| (o[0] - out[0][0]).abs() <= SAME * out[0][0].abs())
            })
        };
        if !same(&|d| vec![[-d[0], d[1], d[2]], [d[0], -d[1], d[2]], [d[0], d[1], -d[2]]]) {
            return Symmetry::None;
        }
        let exchanged = same(&|d| vec![[d[1], d[0], d[2]], [d[2], d[0], d[1]]]);
        if exchanged { Symmetry::Full } else { Symmetry::Mirrored }
    }

    /// The potential's factor at half the distance, if it is one at all places that are looked at.
    fn found_halving(&self) -> Option<f64> {
        let mut places = Vec::new();
        for d in DIRECTIONS {
            // Each half is exact in the formats of coordinates.
            let d = d.map(|x| (x * 1024.0).round() / 1024.0);
            places.extend((0..9).map(|k| d.map(|x| x * 2f64.powi(-k))));
        }
        let mut out = vec![[0.0; 4]; places.len()];
        self.values(&places, &mut out);
        let factor = out[1][0] / out[0][0];
        let halves = out.chunks_exact(9).flat_map(|d| d.windows(2));
        let is_one = halves.into_iter().all(|w| (w[1][0] - factor * w[0][0]).abs() <= SAME * w[1][0].abs());
        (factor.is_finite() && factor != 0.0 && is_one).then_some(factor)
    }

    /// Two parts of [`DIRECTIONS`] at which differences of the potential tell its gradient: the largest ones, below those at which a kernel
    /// that falls fast is as good as 0, or falls too fast; where it falls fast everywhere, the smallest ones. None where all is 0.
    fn told_scales(&self) -> Vec<f64> {
        // By how much of itself the potential changes on a step, at most.
        let change = |scale: &f64| {
            let places = DIRECTIONS.map(|d| [1.0, 1.0 + 2.0 * STEP].map(|part| exact(d, scale * part)));
            let mut out = [[0.0; 4]; 2 * DIRECTIONS.len()];
            self.values(places.as_flattened(), &mut out);
            let of_direction = |[one, next]: &[[f64; 4]; 2]| ((next[0] - one[0]) / one[0]).abs();
            // What is 0 has no such part.
            out.as_chunks().0.iter().map(of_direction).fold(0.0, |a: f64, x| if x <= a { a } else { x })
        };
        let changes: Vec<(f64, f64)> = SCALES.into_iter().map(|scale| (scale, change(&scale))).collect();
        let below = |most: f64| changes.iter().filter(move |(_, change)| *change <= most).map(|(scale, _)| *scale);
        let told: Vec<f64> = below(SMALL_CHANGE).take(2).collect();
        if told.is_empty() {
            below(MOST_CHANGE).collect::<Vec<f64>>().into_iter().rev().take(2).collect()
        } else {
            told
        }
    }

    /// Components of the gradient at some places, beside those that differences of the potential tell.
    fn told_gradients(&self) -> Vec<(f64, f64)> {
        let mut pairs = Vec::new();
        for scale in self.told_scales() {
            for d in DIRECTIONS {
                let (d, step) = (exact(d, scale), STEP * scale);
                let at = |axis: usize, by: f64| std::array::from_fn(|a| d[a] + if a == axis { by * step } else { 0.0 });
                let mut places = vec![d];
                (0..3).for_each(|a| places.extend([1.0, -1.0, 2.0, -2.0].map(|by| at(a, by))));
                let mut out = vec![[0.0; 4]; places.len()];
                self.values(&places, &mut out);
                for a in 0..3 {
                    let slope = |k: usize| (out[4 * a + k][0] - out[4 * a + k + 1][0]) / step;
                    // Of single and of double steps, so that the error of the single ones' square is gone.
                    pairs.push((out[0][a + 1], (8.0 * slope(1) - slope(3)) / 12.0));
                }
            }
        }
        pairs
    }

    /// The kernel's gradient in units of the potential's, for a box of an edge.
    fn slope_of_gradient(&self, edge: f64) -> Result<f64, KernelError> {
        if self.p2p.gradient.is_none() {
            return Ok(1.0);
        }
        let pairs = self.told_gradients();
        if pairs.iter().all(|p| p.0 == 0.0 && p.1 == 0.0) {
            let (nearest, farthest) = (0.4 * SCALES[SCALES.len() - 1], 0.4);
            return Err(KernelError(format!(
                "{} is not 1/r, and gives 0 at distances from {nearest:.0e} to {farthest} of the box, which is {edge:e} wide, or falls to it at \
                 once: its own length is so short beside the box that nothing is left to expand; check the units of its parameters and \
                 of the coordinates, or leave the far field out with --near-only",
                self.name
            )));
        }
        // Products of the largest numbers would not be numbers.
        let largest = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).fold(0.0, |a: f64, x| a.max(x.abs()));
        let (one, other) = (exponent(largest(|p| p.0)), exponent(largest(|p| p.1)));
        let slope = {
            let scaled: Vec<(f64, f64)> = pairs.iter().map(|p| (ldexp(p.0, -one), ldexp(p.1, -other))).collect();
            let sum = |pick: fn(&(f64, f64)) -> f64| scaled.iter().map(pick).sum::<f64>();
            ldexp(sum(|p| p.0 * p.1) / sum(|p| p.1 * p.1), one - other)
        };
        let is_multiple = |p: &(f64, f64)| {
            let size = pairs.iter().fold(0.0, |a: f64, p| a.max(p.0.abs()));
            (p.0 - slope * p.1).abs() <= TOLERANCE * size
        };
        if slope.is_finite() && pairs.iter().all(is_multiple) {
            return Ok(slope);
        }
        Err(KernelError(format!(
            "{} is not 1/r, and its `gout` is not the gradient of `pout`, nor a multiple of it, so that one expansion cannot \
             give both; leave `gout` out, or the far field with --near-only",
            self.name
        )))
    }
}

impl Function for OfKernel {
    fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]) {
        if let Some(meaning) = &self.meaning {
            let column = |a: usize| d.iter().map(|d| -self.window.length(d[a])).collect();
            let partners = Partners { d: [0, 1, 2].map(column), charge: vec![1.0; d.len()] };
            let terms = meaning.terms(&mut meaning.scratch(), &self.params, &partners);
            return self.boxed(&terms, out);
        }
        // Differences reach from -1 to 1, as coordinates do.
        let sources: Vec<[f64; 3]> = d.iter().map(|d| d.map(|x| -x)).collect();
        self.at([0.0; 3], &sources, out);
    }

    fn sum(&self, d: &[Vec<f64>; 3], charges: &[f64]) -> [f64; 4] {
        let Some(meaning) = &self.meaning else {
            return chebyshev::sum_of_values(|d, out| self.values(d, out), d, charges);
        };
        let column = |d: &Vec<f64>| d.iter().map(|d| -self.window.length(*d)).collect();
        let partners = Partners { d: d.each_ref().map(column), charge: charges.to_vec() };
        let mut sums = vec![0.0; self.outputs];
        meaning.add(&mut meaning.scratch(), &self.params, &partners, &mut sums);
        let mut out = [[0.0; 4]];
        self.boxed(&sums, &mut out);
        out[0]
    }

    fn slope(&self) -> f64 {
        self.slope
    }

    fn symmetry(&self) -> Symmetry {
        self.symmetry
    }

    fn halving(&self) -> Option<f64> {
        self.halving
    }
}
