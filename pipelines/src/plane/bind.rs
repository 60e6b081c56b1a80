//! The binding of a P2P kernel's pins in the plane, and the kinds of its outputs: kernels are bound by the names of their pins.

use crate::octree::bind::{Feed, Feeds, Wanted, check_given, check_pins, coordinate_unit, feeds, outputs_of};
use crate::octree::calibrate::{snap, tolerance};
use fmm::octree::kernel::KernelError;
use fmm::plane::Kernel;
use hdl::Format;
use pg2::graph::{Graph, PinClass};
use sim::reference::real::terms;

/// A P2P kernel, bound.
#[derive(Clone, Debug)]
pub struct P2p {
    pub i: Feeds,
    pub j: Feeds,
    pub params: Feeds,
    /// The outputs that are the columns of [`fmm::plane::Sums`].
    pub outputs: Vec<Output>,
    /// Coordinates of the kernel in a box of edge 1.
    pub length: f64,
    /// Whether strengths may have an imaginary part.
    pub is_complex: bool,
}

/// An output element of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Its place among them.
    pub place: usize,
    /// The output's value for 1, with lengths in the kernel's units for a logarithm and in boxes otherwise.
    pub unit: f64,
}

/// The shipped kernel of P2P.
pub fn shipped(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::Harmonic => "harmonic2d",
        Kernel::Log => "log2d",
    }
}

impl P2p {
    /// Binds a kernel, `given` values for parameters of its own, and checks by a few pairs that it computes what is wanted. `mj` may
    /// be a real number, and so may `pout` of a logarithm.
    pub fn bind(graph: &Graph, kernel: Kernel, given: &[(String, f64)]) -> Result<P2p, KernelError> {
        let is_log = kernel == Kernel::Log;
        // Complex numbers have two elements.
        let of_pin = |name: &str| graph.pins.iter().find(|p| p.name == name).map_or(Some(2), |p| p.len.and(Some(2)));
        let is_complex = of_pin("mj").is_some();
        let potential = if is_log { of_pin("pout") } else { Some(2) };
        let mut wanted = vec![
            Wanted { name: "xi", class: PinClass::Ipin, len: Some(2), feed: Feed::At, optional: false },
            Wanted { name: "xj", class: PinClass::Jpin, len: Some(2), feed: Feed::At, optional: false },
            Wanted { name: "mj", class: PinClass::Jpin, len: of_pin("mj"), feed: Feed::Strength, optional: false },
            Wanted { name: "pout", class: PinClass::Fout, len: potential, feed: Feed::Strength, optional: false },
        ];
        if is_log {
            wanted.push(Wanted { name: "gout", class: PinClass::Fout, len: Some(2), feed: Feed::At, optional: false });
        }
        check_given(graph, &wanted, given)?;
        check_pins("P2P", graph, &wanted, given)?;
        let [i, j, params] = feeds(graph, &wanted, given);
        let format = i[0].1;
        if i.iter().chain(&j).any(|f| matches!(f.0, Feed::At(_)) && f.1 != format) {
            return Err(KernelError(format!("`xi` and `xj` of {} must have one format", graph.name)));
        }
        let length = coordinate_unit(graph, format)?;
        let vector = outputs_of(graph, if is_log { "gout" } else { "pout" });
        let potential = outputs_of(graph, "pout").into_iter().take(if is_log { 1 } else { 0 });
        let outputs = vector.into_iter().chain(potential).map(|place| Output { place, unit: 1.0 }).collect();
        let mut p2p = P2p { i, j, params, outputs, length, is_complex };
        p2p.calibrate(graph, kernel)?;
        Ok(p2p)
    }

    /// Finds the units of the outputs, or that they are not what is wanted.
    fn calibrate(&mut self, graph: &Graph, kernel: Kernel) -> Result<(), KernelError> {
        let tolerance = tolerance(graph);
        // Differences in boxes, from most of the box to a fine cell; exact in every coordinate format.
        let differences = [[0.25, 0.125], [0.5, -0.875], [-0.0625, 0.03125], [0.0, -0.00390625]];
        let strengths: &[[f64; 2]] = match kernel {
            Kernel::Harmonic if self.is_complex => &[[1.0, 0.0], [0.0, 1.0], [0.5, -0.75]],
            _ => &[[1.0, 0.0], [-0.75, 0.0]],
        };
        let pairs: Vec<_> = strengths.iter().flat_map(|m| differences.map(|d| (d, *m))).collect();
        let found: Vec<Vec<f64>> = pairs.iter().map(|(d, m)| self.pair(graph, *d, *m)).collect();
        let right: Vec<[f64; 3]> = pairs.iter().map(|(d, m)| right(kernel, self.length, *d, *m)).collect();
        for (k, output) in self.outputs.iter_mut().enumerate() {
            let (pair, _) =
                right.iter().enumerate().max_by(|a, b| a.1[k].abs().total_cmp(&b.1[k].abs())).expect("pairs");
            output.unit = snap(found[pair][output.place] / right[pair][k], tolerance);
            let wrong = (0..pairs.len()).find(|p| {
                let size = if k < 2 { right[*p][0].hypot(right[*p][1]) } else { right[*p][2].abs() };
                let off = (found[*p][output.place] - output.unit * right[*p][k]).abs();
                output.unit == 0.0 || !output.unit.is_finite() || off > tolerance * output.unit.abs() * size
            });
            if let Some(wrong) = wrong {
                let ([x, y], pin) = (pairs[wrong].0, &graph.pins[graph.outputs[output.place].pin].name);
                let what = match kernel {
                    Kernel::Harmonic => "strength / (z_j - z_i)",
                    Kernel::Log if k < 2 => "the derivative of strength log |z_i - z_j|",
                    Kernel::Log => "strength log |z_i - z_j|",
                };
                return Err(KernelError(format!(
                    "`{pin}` of {} is not {what}, which --kernel {} computes: for z_j - z_i of {x} and {y} boxes it is {:.6e}; \
                     the shipped kernel is `{}`",
                    graph.name,
                    kernel.name(),
                    found[wrong][output.place],
                    shipped(kernel)
                )));
            }
        }
        Ok(())
    }

    /// The kernel's real-arithmetic values for one pair with a difference in boxes.
    fn pair(&self, graph: &Graph, d: [f64; 2], m: [f64; 2]) -> Vec<f64> {
        let fill = |feeds: &Feeds, sign: f64| -> Vec<f64> {
            let value = |(feed, _): &(Feed, Format)| match feed {
                Feed::At(a) => sign * 0.5 * d[*a] * self.length,
                Feed::Strength(part) => m[*part],
                Feed::Given(value) => *value,
                _ => 0.0,
            };
            feeds.iter().map(value).collect()
        };
        terms(graph, &fill(&self.i, -1.0), &fill(&self.j, 1.0), &fill(&self.params, 0.0))
    }
}

/// The columns of [`fmm::plane::Sums`] for one pair with lengths in boxes, but the argument of a logarithm in the kernel's units.
fn right(kernel: Kernel, length: f64, [x, y]: [f64; 2], [re, im]: [f64; 2]) -> [f64; 3] {
    let square = x * x + y * y;
    match kernel {
        Kernel::Harmonic => [(re * x + im * y) / square, (im * x - re * y) / square, 0.0],
        Kernel::Log => [-re * x / square, -re * y / square, re * (square.sqrt() * length).ln()],
    }
}
