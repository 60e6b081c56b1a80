//! A plan in the plane as a [problem](Problem) whose stages run: its memory, and what the CPU does.

use super::mesh::Scale;
use super::shift::LANES;
use super::{Kernel, Plan, native};
use crate::arith::lanes::Real;
use crate::arith::scale::exponent;
use crate::parallel::prelude::*;
use crate::stages::{self, Coefficients, FmmError, Problem, Stage, Work};

/// The strengths of the sources, in the order of the input and the user's units.
#[derive(Clone, Copy, Debug)]
pub struct Strengths<'a> {
    pub re: &'a [f64],
    /// Zeros where absent. The kernel `log` takes none.
    pub im: Option<&'a [f64]>,
}

/// The strengths in the order of the sorted sources, times 2^-exponent, which brings the largest part to (1/2, 1].
#[derive(Clone, Debug)]
pub struct Scaled {
    pub re: Vec<f64>,
    /// Empty where all are real.
    pub im: Vec<f64>,
    pub exponent: i32,
}

impl Strengths<'_> {
    /// Sorts and scales.
    pub fn scaled(&self, order: &[u32]) -> Scaled {
        let largest = |c: &[f64]| c.par_iter().fold_reduce(|| 0.0, |a: f64, q| a.max(q.abs()), f64::max);
        let exponent = exponent(largest(self.re).max(self.im.map_or(0.0, largest)));
        let scale = Scale::new(-exponent);
        let column = |c: &[f64]| order.par_iter().map(|k| scale.of(c[*k as usize])).collect();
        Scaled { re: column(self.re), im: self.im.map_or(Vec::new(), column), exponent }
    }
}

/// The data that the stages of a run for one set of strengths work on.
///
/// Its expansions are the multipole and the local one of each box of all levels, 2 (p + 1) numbers each: the real parts of the
/// coefficients 0 to p, then their imaginary parts. In a box with the unit of length u ([`super::mesh::Boxes::unit`]) they are a_j / u^j and
/// b_j u^j of (2.2) and (2.3), which do not leave the range of the format whatever the size of the box. The expansions of the kernel
/// `harmonic` are those of Phi, with a_0 = 0; those of `log` are of the sum of q_j log(z - z_j), whose real part is the potential.
///
/// Behind the last multipole expansion stand zeros, so that whole vectors can be read from any place.
pub type State<'a> = stages::State<'a, Plan>;

/// Numbers of an expansion.
pub(super) fn stride(order: usize) -> usize {
    2 * (order + 1)
}

/// Expansions of so many boxes.
pub(super) fn zeros<T: Real>(boxes: usize, order: usize) -> Coefficients<T> {
    let numbers = boxes * stride(order);
    Coefficients::zeros(numbers + LANES, numbers)
}

impl Problem for Plan {
    type Charges = Scaled;
    type Sums = Sums;

    fn sums(&self) -> Sums {
        Sums::zeros(self.mesh.targets().len(), self.options.kernel)
    }

    fn add(to: &mut Sums, other: &Sums) {
        let columns = to.columns_mut().zip(other.columns());
        columns.for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(to, x)| *to += x));
    }

    fn native(stage: Stage, states: &mut [State]) -> Vec<Work> {
        states.iter_mut().map(|state| native::run(stage, state)).collect()
    }

    fn check(&self) -> Result<(), FmmError> {
        self.options.cancel.check()
    }
}

/// The sums at each sorted target, in units of the frame and the scaled strengths.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sums {
    /// The real and the imaginary part of Phi (`harmonic`), or the gradient of the potential (`log`).
    pub vector: [Vec<f64>; 2],
    /// The potential of `log`, where distances are in the user's units; else empty.
    pub potential: Vec<f64>,
}

impl Sums {
    pub fn zeros(targets: usize, kernel: Kernel) -> Sums {
        let zeros = || vec![0.0; targets];
        Sums { vector: [zeros(), zeros()], potential: if kernel == Kernel::Log { zeros() } else { Vec::new() } }
    }

    /// The vector's two columns, then the potential, where there is one.
    pub fn columns(&self) -> impl Iterator<Item = &Vec<f64>> {
        self.vector.iter().chain(Some(&self.potential).filter(|p| !p.is_empty()))
    }

    pub fn columns_mut(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        self.vector.iter_mut().chain(Some(&mut self.potential).filter(|p| !p.is_empty()))
    }
}

/// The result at each target, in the order of the input and the user's units; its columns are those of [`Sums`].
pub type Field = Sums;
