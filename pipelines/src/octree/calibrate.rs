//! Calibration of a kernel's outputs: its real-arithmetic semantics are evaluated at a few pairs and compared with 1/r or M2L (RULES H8).

use crate::octree::bind::{Feed, Feeds, M2l, P2p};
use fmm::expansion::taylor::LANES;
use fmm::octree::kernel::KernelError;
use fmm::tree::lists::reach;
use pg2::graph::Graph;
use sim::reference::real::terms;

/// The values of a P2P kernel for a potential and a gradient of 1, with lengths in boxes and unit charge.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Units {
    pub potential: f64,
    pub gradient: f64,
}

impl Default for Units {
    fn default() -> Units {
        Units { potential: 1.0, gradient: 1.0 }
    }
}

/// How far a kernel may be from M2L, or from being linear, relatively.
const TOLERANCE: f64 = 1e-3;

/// How far kernels of the narrowest and of the widest formats may be from 1/r, relatively.
const COARSEST: f64 = 1e-3;
const FINEST: f64 = 1e-6;

/// How far a kernel may be from what it is taken for, relatively: a step of the coarsest floats and logarithms that it computes with. A
/// kernel's own approximation of a root is no better than those, and one that is farther off is another function.
pub fn tolerance(graph: &Graph) -> f64 {
    let formats = graph.nodes.iter().map(|node| node.format);
    let bits = formats.filter(|f| f.is_sign_magnitude()).map(|f| f.mant().max(f.log_frac())).min();
    bits.map_or(COARSEST, |bits| 0.5f64.powi(bits as i32).clamp(FINEST, COARSEST))
}

/// Differences in boxes, from most of the box to a fine cell; exact in every coordinate format.
const DIFFERENCES: [[f64; 3]; 4] =
    [[0.25, 0.0, 0.0], [0.5, -0.25, 0.875], [-0.0625, 0.03125, 0.0], [0.0, -0.00390625, 0.0078125]];

/// Edges of boxes, beside 1, that a kernel with a pin `box` must be 1/r in: a length of its own, however long or short, shows in one
/// of them.
const EDGES: [f64; 2] = [1e-30, 1e30];

/// Powers of two by which differences are shortened for kernels that fall to nothing within a small part of the box.
const SHORTER: [i32; 3] = [0, -7, -14];

/// Outputs of a P2P kernel for a difference and a charge.
fn outputs(graph: &Graph, kernel: &P2p, d: [f64; 3], charge: f64, params: &[f64]) -> Vec<f64> {
    let fill = |feeds: &Feeds, sign: f64| -> Vec<f64> {
        let value = |f: &(Feed, hdl::Format)| match f.0 {
            Feed::At(a) => sign * 0.5 * d[a] * kernel.length,
            _ => charge,
        };
        feeds.iter().map(value).collect()
    };
    terms(graph, &fill(&kernel.i, -1.0), &fill(&kernel.j, 1.0), params)
}

/// The parameters of a P2P kernel in a box of some edge, without softening.
fn params(kernel: &P2p, edge: f64) -> Vec<f64> {
    let value = |f: &(Feed, hdl::Format)| match f.0 {
        Feed::Box => edge,
        Feed::Given(value) => value,
        _ => 0.0,
    };
    kernel.params.iter().map(value).collect()
}

/// Refuses a P2P kernel that does not give twice as much for twice the charge, with these values of its parameters: expansions add up
/// charges.
pub fn is_linear(graph: &Graph, kernel: &P2p, params: &[f64]) -> Result<(), KernelError> {
    let is_signed = kernel.j.iter().all(|(feed, format)| *feed != Feed::Charge || format.is_signed());
    for d in SHORTER.into_iter().flat_map(|power| DIFFERENCES.map(|d| d.map(|x| x * 2f64.powi(power)))) {
        let whole = outputs(graph, kernel, d, 1.0, params);
        let size = whole.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        for charge in [0.5, if is_signed { -0.25 } else { 0.25 }] {
            let part = outputs(graph, kernel, d, charge, params);
            if part.iter().zip(&whole).any(|(part, whole)| (part - charge * whole).abs() > TOLERANCE * size) {
                return Err(KernelError(format!(
                    "{} does not give {charge} times as much for a charge of {charge} as for one of 1, so that far charges cannot be \
                     added up; multiply by `mj` once, or leave the far field out with --near-only",
                    graph.name
                )));
            }
        }
    }
    Ok(())
}

/// The units of a P2P kernel, or that it is not 1/r.
pub fn p2p(graph: &Graph, kernel: &P2p) -> Result<Units, KernelError> {
    let units = in_box(graph, kernel, 1.0, None)?;
    if kernel.params.iter().any(|(feed, _)| *feed == Feed::Box) {
        EDGES.iter().try_for_each(|edge| in_box(graph, kernel, *edge, Some(units)).map(|_| ()))?;
    }
    is_linear(graph, kernel, &params(kernel, 1.0))?;
    Ok(units)
}

/// The same in a box of some edge, where the units are known from another box or are still to be found.
fn in_box(graph: &Graph, kernel: &P2p, edge: f64, mut units: Option<Units>) -> Result<Units, KernelError> {
    let tolerance = tolerance(graph);
    let snap = |x| snap(x, tolerance);
    for d in DIFFERENCES {
        let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        let out = outputs(graph, kernel, d, 1.0, &params(kernel, edge));
        let potential = out[kernel.potential] * r;
        let gradient = kernel.gradient.map(|g| g.map(|k| out[k] * r * r * r));
        let first = Units { potential, gradient: gradient.map_or(1.0, |g| g[0] / d[0]) };
        let units = units.get_or_insert(Units { potential: snap(first.potential), gradient: snap(first.gradient) });
        let fits = |found: f64, wanted: f64, size: f64| (found - wanted).abs() <= tolerance * size.abs();
        let mut good = units.potential != 0.0 && fits(potential, units.potential, units.potential);
        if let Some(g) = gradient {
            good &= units.gradient != 0.0;
            good &= (0..3).all(|a| fits(g[a], units.gradient * d[a], units.gradient * r));
        }
        if !good {
            let of = if edge == 1.0 { String::new() } else { format!(", in a box of edge {edge:.1e},") };
            return Err(KernelError(format!(
                "{} is not 1/r: at a distance of {r:.3} boxes{of} it gives {:.8} times what it should; for such a kernel take \
                 --expansion chebyshev, or leave the far field out with --near-only",
                graph.name,
                potential / units.potential
            )));
        }
    }
    Ok(units.expect("there are differences"))
}

/// Checks that the kernel computes M2L: far pairs of cells, some at the border of nearness, and a near one.
pub fn m2l(graph: &Graph, kernel: &M2l, near2: u64) -> Result<(), KernelError> {
    let e = &kernel.operators.taylor;
    let reach = reach(near2) as f64;
    let border = (near2 as f64).sqrt().ceil();
    let m: Vec<f64> = (0..e.m).map(|n| 1.0 / (1 + n % 5) as f64 - 0.375).collect();
    let cells = [
        ([border, 1.0, -1.0], true),
        ([1.0 - border, border, 2.0 * border - 1.0], true),
        ([0.0, 0.0, 2.0 * border], true),
        ([0.0, -reach, 0.0], false),
    ];
    for (c, far) in cells {
        let fill = |feeds: &Feeds, sign: f64| -> Vec<f64> {
            let value = |f: &(Feed, hdl::Format)| match f.0 {
                // Any place will do; the kernel may see the difference alone.
                Feed::At(a) => 100.0 + if sign > 0.0 { c[a] } else { 0.0 },
                Feed::M(n) => m[n],
                Feed::Near2 => near2 as f64,
                _ => 0.0,
            };
            feeds.iter().map(value).collect()
        };
        let out = terms(graph, &fill(&kernel.i, 1.0), &fill(&kernel.j, -1.0), &fill(&kernel.params, 0.0));
        let mut d = vec![[0.0; LANES]; e.l];
        e.derivatives::<f64, false>(&c.map(|x| [x; LANES]), [far; LANES], &mut d);
        for k in 0..e.l {
            let products = || e.row(k).iter().map(|(n, i)| m[*n as usize] * d[*i as usize][0]);
            let (wanted, size) = (products().sum::<f64>(), products().map(f64::abs).sum::<f64>());
            if (out[kernel.local[k]] - wanted).abs() > TOLERANCE * size {
                return Err(KernelError(format!(
                    "{} does not compute M2L: at a cell offset of {c:?} L[{k}] is {:.6e}, not {wanted:.6e}",
                    graph.name, out[kernel.local[k]]
                )));
            }
        }
    }
    Ok(())
}

/// The power of two that is meant, where one is near.
pub fn snap(x: f64, tolerance: f64) -> f64 {
    let power = x.abs().log2().round();
    let near = power.exp2().copysign(x);
    if power.is_finite() && (near - x).abs() <= tolerance * x.abs() { near } else { x }
}
