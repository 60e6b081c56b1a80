//! The shipped kernels compute the formulas in their headers: each has an f64 reference, written from the formula, which the kernel's
//! real-arithmetic semantics equals and its bits approach as closely as the formats allow.

use hdl::Format;
use hdl::number::exact::{Exact, to_bits};
use pg2::graph::{Graph, PinClass};
use sim::stimuli::Random;

mod gravity;
mod neighbours;
mod plane;
mod screened;

/// One term of an output, and a size that bounds what was added up to make it.
type Term = (f64, f64);
/// The terms that one pair adds to each output element, from i, j and parameters.
type Pair = fn(&[f64], &[f64], &[f64]) -> Vec<Term>;

/// A kernel and its f64 reference.
struct F64Reference {
    name: &'static str,
    params: Vec<f64>,
    /// Elements of a target and of a source.
    i: fn(&mut Random) -> Vec<f64>,
    j: fn(&mut Random) -> Vec<f64>,
    pair: Pair,
    /// Half units in the last place by which a term may be off, counted along the formula.
    roundings: f64,
    /// Fraction bits of the kernel's floats.
    mant: i32,
    /// How many constants the format rounds.
    constants: f64,
}

const TARGETS: usize = 30;
const SOURCES: usize = 80;

/// A number in [-half, half).
fn symmetric(random: &mut Random, half: f64) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 52) as f64 * half - half
}

fn vector(random: &mut Random, half: f64) -> Vec<f64> {
    (0..3).map(|_| symmetric(random, half)).collect()
}

/// The record nearest to `values`, and what it stands for.
fn quantised(graph: &Graph, class: PinClass, values: &[f64]) -> (Vec<u64>, Vec<f64>) {
    let elements = graph.elements_of(class);
    assert_eq!(elements.len(), values.len(), "{}: {class:?}", graph.name);
    let one = |(element, x): (&(usize, u32), &f64)| {
        let format: Format = graph.pins[element.0].format;
        let exact = Exact::from_float(*x).expect("twins take finite numbers");
        let bits = to_bits(format, &exact).unwrap_or_else(|e| panic!("{}: {x} in {format}: {e}", graph.name)).0;
        (bits, format.to_f64(bits))
    };
    elements.iter().zip(values).map(one).unzip()
}

fn check(reference_of: &F64Reference) {
    let kernel = pg2::kernels::find(reference_of.name).expect("a shipped kernel");
    let compiled =
        pg2::compile(reference_of.name, kernel.text).unwrap_or_else(|e| panic!("{}: {e:#?}", reference_of.name));
    let graph = compiled.graph;
    let mut random = Random::new(1);
    let (params, real_params) = quantised(&graph, PinClass::Param, &reference_of.params);
    // Tables are read as they are filled.
    let held: Vec<u64> = real_params.iter().map(|x| x.to_bits()).collect();
    let filled = graph.bound(&held, true);
    let mut draw = |class, n, make: fn(&mut Random) -> Vec<f64>| -> Vec<(Vec<u64>, Vec<f64>)> {
        (0..n).map(|_| quantised(&graph, class, &make(&mut random))).collect()
    };
    let targets = draw(PinClass::Ipin, TARGETS, reference_of.i);
    let sources = draw(PinClass::Jpin, SOURCES, reference_of.j);
    let mut largest = 0f64;
    for (k, (bits, values)) in targets.iter().enumerate() {
        let mut sources = sources.clone();
        if k == 0 {
            // One source stands where the target does, as in a run of particles on themselves.
            let axes = bits.len().min(3);
            sources[SOURCES / 2].0[..axes].copy_from_slice(&bits[..axes]);
            sources[SOURCES / 2].1[..axes].copy_from_slice(&values[..axes]);
        }
        let patterns: Vec<Vec<u64>> = sources.iter().map(|s| s.0.clone()).collect();
        let mut sums = vec![(0.0, 0.0); graph.outputs.len()];
        for (_, source) in &sources {
            let terms = (reference_of.pair)(values, source, &real_params);
            let found = sim::reference::real::terms(filled.as_ref().unwrap_or(&graph), values, source, &real_params);
            for (((sum, term), found), output) in sums.iter_mut().zip(&terms).zip(&found).zip(&graph.outputs) {
                // A cast that is not last rounds to the output's format. Constants such as pi take the format of what they meet.
                let places = graph.pins[output.pin].format.frac().unwrap_or(0) as i32;
                let cast = if places > 0 { 2f64.powi(-places - 1) } else { 0.0 };
                let bound = (1e-9 + reference_of.constants * 2f64.powi(-reference_of.mant - 1))
                    * (1e-3 + term.0.abs() + term.1)
                    + cast;
                assert!(
                    (term.0 - found).abs() <= bound,
                    "{}: {found}, not {} for {source:?}",
                    reference_of.name,
                    term.0
                );
                *sum = (sum.0 + term.0, sum.1 + term.1.max(term.0.abs()));
            }
        }
        let (got, flags) = sim::reference::target(&graph, bits, &patterns, &params);
        assert!(flags.is_empty(), "{}: {flags:?}", reference_of.name);
        for ((got, (want, size)), output) in got.iter().zip(&sums).zip(&graph.outputs) {
            let format = graph.pins[output.pin].format;
            let places = format.frac().unwrap_or(0) as i32;
            let steps = if format.is_int() { 0.0 } else { SOURCES as f64 * 2f64.powi(-places - 1) };
            let bound = match format.is_int() {
                true => 0.0,
                false => reference_of.roundings * 2f64.powi(-reference_of.mant - 1) * size + steps,
            };
            let error = (format.to_f64(*got) - want).abs();
            assert!(error <= bound, "{}: {} off by {error}, more than {bound}", reference_of.name, format.to_f64(*got));
            largest = largest.max(error / bound.max(1e-300));
        }
    }
    println!("{}: at most {largest:.3} of the bound", reference_of.name);
}

fn difference(i: &[f64], j: &[f64]) -> [f64; 3] {
    [j[0] - i[0], j[1] - i[1], j[2] - i[2]]
}

/// The same in a periodic box of side 1.
fn nearest_image(i: &[f64], j: &[f64]) -> [f64; 3] {
    difference(i, j).map(|x| x - (x + 0.5).floor())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Terms of a vector, each of the size of all of them.
fn sized<const N: usize>(v: [f64; N]) -> impl Iterator<Item = Term> {
    let size = v.iter().fold(0f64, |a, x| a.max(x.abs()));
    v.into_iter().map(move |x| (x, size))
}

fn position(random: &mut Random) -> Vec<f64> {
    vector(random, 0.5)
}

fn position_and_one(random: &mut Random) -> Vec<f64> {
    let mut v = position(random);
    v.push(symmetric(random, 1.0));
    v
}

fn position_and_vector(random: &mut Random) -> Vec<f64> {
    let mut v = position(random);
    v.extend(vector(random, 1.0));
    v
}

/// The cubic spline without its factor, and its derivative, piece by piece as in the literature.
fn spline(q: f64) -> (f64, f64) {
    match q {
        q if q < 1.0 => (1.0 - 1.5 * q * q + 0.75 * q * q * q, -3.0 * q + 2.25 * q * q),
        q if q < 2.0 => (0.25 * (2.0 - q).powi(3), -0.75 * (2.0 - q).powi(2)),
        _ => (0.0, 0.0),
    }
}

fn potential(i: &[f64], j: &[f64], _: &[f64]) -> Vec<Term> {
    let r = difference(i, j);
    vec![(if r == [0.0; 3] { 0.0 } else { j[3] / dot(&r, &r).sqrt() }, 0.0)]
}

#[test]
fn p2p_in_small_formats_is_the_potential() {
    let (i, j) = (position, position_and_one);
    // Of each coordinate's rounding the root takes half of twice; products and sums below it count half.
    check(&F64Reference {
        name: "p2p_small",
        params: vec![],
        i,
        j,
        pair: potential,
        roundings: 8.0,
        mant: 6,
        constants: 0.0,
    });
}

fn coulomb(i: &[f64], j: &[f64], _: &[f64]) -> Vec<Term> {
    let r = difference(i, j);
    if r == [0.0; 3] {
        return vec![(0.0, 0.0); 4];
    }
    let s = dot(&r, &r).sqrt();
    let e = i[3] * j[3] / s;
    std::iter::once((e, 0.0)).chain(sized(r.map(|x| -e * x / (s * s)))).collect()
}

#[test]
fn coulomb_has_charges_on_both_sides() {
    let i = position_and_one;
    check(&F64Reference {
        name: "coulomb",
        params: vec![],
        i,
        j: i,
        pair: coulomb,
        roundings: 24.0,
        mant: 16,
        constants: 0.0,
    });
}

fn lennard_jones(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    let [box_, cut2, ecut] = [p[0], p[1], p[2]];
    let r = nearest_image(i, j).map(|x| x * box_);
    let r2 = dot(&r, &r);
    if r2 == 0.0 || r2 >= cut2 {
        return vec![(0.0, 0.0); 4];
    }
    let (s6, s12) = (r2.powi(-3), r2.powi(-6));
    let mut terms = vec![(4.0 * (s12 - s6) - ecut, 4.0 * (s12 + s6) + ecut.abs())];
    let size = 24.0 * (2.0 * s12 + s6) / r2.sqrt();
    terms.extend(r.map(|x| (-24.0 * (2.0 * s12 - s6) / r2 * x, size)));
    terms
}

/// A place in the cells of side 1/6 of the box, shaken a little: targets around the cells' centres and sources around
/// their corners are never much nearer than the bottom of the potential.
fn shaken(random: &mut Random, offset: f64) -> Vec<f64> {
    (0..3).map(|_| (random.below(6) as f64 + offset) / 6.0 - 0.5 + symmetric(random, 0.01)).collect()
}

#[test]
fn lennard_jones_sees_nearest_images_within_the_cut_off() {
    let ecut = 4.0 * (2.5f64.powi(-12) - 2.5f64.powi(-6));
    for ecut in [0.0, ecut] {
        let params = vec![6.0, 6.25, ecut];
        let i = |random: &mut Random| shaken(random, 0.6);
        let j = |random: &mut Random| shaken(random, 0.1);
        check(&F64Reference {
            name: "lennard_jones",
            params,
            i,
            j,
            pair: lennard_jones,
            roundings: 90.0,
            mant: 16,
            constants: 0.0,
        });
    }
}

fn lennard_jones_species(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    // The parameters that have no index at run time come first, then the tables by rows.
    let [box_, cut2] = [p[0], p[1]];
    let at = 8 * i[3] as usize + j[3] as usize;
    let [eps, sigma, ecut] = [p[2 + at], p[66 + at], p[130 + at]];
    let r = nearest_image(i, j).map(|x| x * box_);
    let r2 = dot(&r, &r);
    if r2 == 0.0 || r2 >= cut2 {
        return vec![(0.0, 0.0); 4];
    }
    let (s6, s12) = ((sigma * sigma / r2).powi(3), (sigma * sigma / r2).powi(6));
    let mut terms = vec![(4.0 * eps * (s12 - s6) - ecut, 4.0 * eps * (s12 + s6) + ecut.abs())];
    let size = 24.0 * eps * (2.0 * s12 + s6) / r2.sqrt();
    terms.extend(r.map(|x| (-24.0 * eps * (2.0 * s12 - s6) / r2 * x, size)));
    terms
}

/// A place as `shaken` has it, and a species.
fn shaken_species(random: &mut Random, offset: f64) -> Vec<f64> {
    let mut v = shaken(random, offset);
    v.push(random.below(8) as f64);
    v
}

#[test]
fn species_have_depths_and_sizes_of_their_own() {
    let table = |of: fn(f64, f64) -> f64| (0..64).map(move |k| of((k / 8) as f64, (k % 8) as f64));
    let mut params = vec![6.0, 6.25];
    params.extend(table(|a, b| 0.5 + 0.125 * a + 0.25 * b));
    params.extend(table(|a, b| 0.75 + 0.03125 * (a + b)));
    params.extend(table(|a, b| 0.0009765625 * (a - 2.0 * b)));
    check(&F64Reference {
        name: "lennard_jones_species",
        params,
        i: |random| shaken_species(random, 0.6),
        j: |random| shaken_species(random, 0.1),
        pair: lennard_jones_species,
        // A size is rounded twice for its square, which the sixth power counts six times; depths once.
        roundings: 110.0,
        mant: 16,
        constants: 0.0,
    });
}

fn density(i: &[f64], j: &[f64], _: &[f64]) -> Vec<Term> {
    let r = difference(i, j);
    let q = dot(&r, &r).sqrt() * i[3];
    let factor = j[3] * i[3].powi(3) / std::f64::consts::PI;
    // The brackets of the kernel may cancel: (2 - q)^3 / 4 is at most 2.
    vec![(factor * spline(q).0, if q < 2.0 { 3.0 * factor.abs() } else { 0.0 }), ((q < 2.0) as u8 as f64, 0.0)]
}

/// Smoothing lengths of 0.15 to 0.25.
fn smoothing(random: &mut Random) -> f64 {
    0.2 + symmetric(random, 0.05)
}

#[test]
fn sph_density_is_the_cubic_spline() {
    let i = |random: &mut Random| {
        let mut v = position(random);
        v.push(1.0 / smoothing(random));
        v
    };
    check(&F64Reference {
        name: "sph_density",
        params: vec![],
        i,
        j: position_and_one,
        pair: density,
        roundings: 40.0,
        mant: 16,
        constants: 1.0,
    });
    // The spline is normalised: its integral over space is 1.
    let n = 20_000;
    let shell = |k: usize| (k as f64 + 0.5) * 2.0 / n as f64;
    let total: f64 = (0..n).map(|k| 4.0 * shell(k).powi(2) * spline(shell(k)).0 * 2.0 / n as f64).sum();
    assert!((total - 1.0).abs() < 1e-6, "{total}");
}

fn pressure(i: &[f64], j: &[f64], _: &[f64]) -> Vec<Term> {
    // i: x, h, P/rho^2; j: x, h, P/rho^2, m.
    let (r, h) = (difference(i, j), (i[3] + j[3]) / 2.0);
    let s = dot(&r, &r).sqrt();
    if s == 0.0 {
        return vec![(0.0, 0.0); 3];
    }
    let factor = j[5] * (i[4] + j[4]) / (std::f64::consts::PI * h.powi(4)) / s;
    // a = -m (..) grad_i W, and grad_i of |x_j - x_i| is -r / |r|.
    let slope = spline(s / h).1;
    let bound = if s < 2.0 * h { 6.0 * (factor * s).abs() } else { 0.0 };
    r.map(|x| (factor * slope * x, bound)).to_vec()
}

#[test]
fn sph_pressure_pushes_particles_apart() {
    let target = |random: &mut Random| {
        let mut v = position(random);
        v.extend([smoothing(random), 1.0 + symmetric(random, 0.5)]);
        v
    };
    let source = |random: &mut Random| {
        let mut v = position(random);
        v.extend([smoothing(random), 1.0 + symmetric(random, 0.5), 1.0 + symmetric(random, 0.5)]);
        v
    };
    check(&F64Reference {
        name: "sph_pressure",
        params: vec![],
        i: target,
        j: source,
        pair: pressure,
        roundings: 60.0,
        mant: 16,
        constants: 1.0,
    });
    let (i, j) = ([0.0, 0.0, 0.0, 0.2, 1.0], [0.1, 0.0, 0.0, 0.2, 1.0, 1.0]);
    assert!(pressure(&i, &j, &[])[0].0 < 0.0, "a neighbour on the right pushes to the left");
}

fn stokeslet(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    let (r, f) = (difference(i, j), &j[3..6]);
    let r2 = dot(&r, &r);
    let s3 = (r2 + p[0]).powf(1.5);
    if s3 == 0.0 {
        return vec![(0.0, 0.0); 3];
    }
    let size = dot(f, f).sqrt() * (2.0 * r2 + 2.0 * p[0]) / s3;
    (0..3).map(|k| ((f[k] * (r2 + 2.0 * p[0]) + dot(f, &r) * r[k]) / s3, size)).collect()
}

#[test]
fn stokeslets_drive_a_viscous_fluid() {
    for eps2 in [0.0, 1e-4] {
        let params = vec![eps2];
        let (i, j) = (position, position_and_vector);
        check(&F64Reference {
            name: "stokeslet",
            params,
            i,
            j,
            pair: stokeslet,
            roundings: 48.0,
            mant: 16,
            constants: 0.0,
        });
    }
}

fn biot_savart(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    let (r, a) = (difference(i, j), &j[3..6]);
    let r2 = dot(&r, &r);
    if r2 == 0.0 {
        return vec![(0.0, 0.0); 3];
    }
    let k = (r2 + 2.5 * p[0]) / (r2 + p[0]).powf(2.5);
    let size = k * r2.sqrt() * dot(a, a).sqrt();
    let cross = [r[1] * a[2] - r[2] * a[1], r[2] * a[0] - r[0] * a[2], r[0] * a[1] - r[1] * a[0]];
    cross.map(|x| (k * x, size)).to_vec()
}

#[test]
fn vortices_turn_around_themselves() {
    for s2 in [0.0, 1e-3] {
        let params = vec![s2];
        let (i, j) = (position, position_and_vector);
        check(&F64Reference {
            name: "biot_savart",
            params,
            i,
            j,
            pair: biot_savart,
            roundings: 60.0,
            mant: 16,
            constants: 0.0,
        });
    }
}

/// Kernels whose semantics have a test of their own: `nearest` and `pair_histogram` beside `pair_count`, the others in
/// `sim/tests/suite/definitions.rs`.
const APART: [&str; 5] = ["nearest", "pair_histogram", "p2p", "p2p_paper", "m2l_paper"];

#[test]
fn every_shipped_kernel_has_an_f64_reference() {
    let texts = [
        include_str!("f64_references.rs"),
        include_str!("f64_references/gravity.rs"),
        include_str!("f64_references/neighbours.rs"),
        include_str!("f64_references/plane.rs"),
        include_str!("f64_references/screened.rs"),
    ];
    for kernel in pg2::kernels::KERNELS {
        let reference_of = format!("name: \"{}\",", kernel.name);
        let has = APART.contains(&kernel.name) || texts.iter().any(|t| t.contains(&reference_of));
        assert!(
            has,
            "`{}` is shipped without an f64 reference: add one to sim/tests/suite/f64_references.rs",
            kernel.name
        );
    }
}
