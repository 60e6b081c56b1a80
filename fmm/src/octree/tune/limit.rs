//! Causes that keep a wanted error out of reach, by the measured split of the error, and remedies.

use super::Search;
use crate::data::particles::Field;
use crate::octree::budget::{self, Cause, Seen};
use crate::octree::executor::{Executor, Stage};
use crate::octree::{FmmError, FmmOptions, Plan, Precision};

/// Arithmetic of P2P.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// Native code, in the precision of the options.
    Native,
    /// A kernel in its formats, or by its real-arithmetic semantics.
    Kernel,
    Real,
}

impl Arithmetic {
    pub fn of(executors: &[&mut dyn Executor<Plan>]) -> Arithmetic {
        match executors.iter().find(|e| e.takes(Stage::P2p)) {
            Some(near) if near.is_native() => Arithmetic::Native,
            Some(near) if near.is_real() => Arithmetic::Real,
            Some(_) => Arithmetic::Kernel,
            None => Arithmetic::Native,
        }
    }
}

/// The run of the least error, where none is good.
pub(super) struct Failed {
    pub order: usize,
    pub lower_beyond: Option<f64>,
    pub error: f64,
    pub fields: Vec<Field>,
    /// Whether the highest order was tried.
    pub is_highest: bool,
    /// Whether all pairs were summed directly.
    pub is_direct: bool,
}

/// Cause that keeps a wanted error out of reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    /// The formats of P2P's kernel, or the casts of its text where it is what it means that is computed, whose sums are f64; whether it is
    /// 1/r.
    Kernel,
    Casts(IsCoulomb),
    Grid(IsCoulomb),
    F32,
    /// Of f64, with a far field that higher orders do not change, and of direct sums.
    F64,
    Direct,
    Order,
    /// Higher orders do not come closer to a kernel of one's own.
    Function,
    /// The change by softening is not expanded as nearly.
    Softening,
}

type IsCoulomb = bool;

/// Orders between which an error must fall where truncation is what is left of it, and by how much an order at least.
const ORDERS: usize = 3;
const FALLS: f64 = 1.08;

impl Search<'_> {
    /// Cause of the error of a run, by the largest part of it.
    pub(super) fn limit(&mut self, options: &FmmOptions, failed: &Failed) -> Result<Limit, FmmError> {
        let (free, arithmetic) = (self.problem.free, self.runner.arithmetic());
        let is_native = arithmetic == Arithmetic::Native;
        match options.precision {
            // Both are tried before anything is said.
            Precision::F32 if is_native && free.precision => return Ok(Limit::F32),
            // All stages are in f64 already.
            Precision::F64 if is_native && failed.is_direct => return Ok(Limit::Direct),
            Precision::F64 if is_native => return self.of_expansion(options, failed),
            _ => {}
        }
        let errors = self.judged(&failed.fields);
        let set =
            (0..errors.len()).max_by(|a, b| errors[*a].total_cmp(&errors[*b])).expect("there is a set of charges");
        let runs = self.runner.split(failed.order, failed.lower_beyond, set)?;
        let (targets, reference, edge) = self.judges[set].drawn();
        let parts = *budget::of(&Seen { field: &failed.fields[set], targets, reference, edge }, &runs).judged();
        let is_coulomb = self.problem.near.is_none_or(|kernel| kernel.is_coulomb(options));
        Ok(match parts.largest {
            Some(Cause::Truncation) => self.of_expansion(options, failed)?,
            Some(Cause::P2p) => match arithmetic {
                Arithmetic::Native => Limit::F32,
                Arithmetic::Kernel => Limit::Kernel,
                Arithmetic::Real => Limit::Casts(is_coulomb),
            },
            Some(Cause::Grid) => Limit::Grid(is_coulomb),
            Some(Cause::M2l) => Limit::F32,
            Some(Cause::Rounding) | None => Limit::Direct,
        })
    }

    /// Cause of the error that the expansion leaves: truncation, if a higher order helps or would.
    fn of_expansion(&mut self, options: &FmmOptions, failed: &Failed) -> Result<Limit, FmmError> {
        let helps = failed.is_highest && self.falls()?;
        let is_hard = options.eps > 0.0 && self.problem.p2p.is_none();
        Ok(match self.problem.p2p {
            _ if helps => Limit::Order,
            _ if is_hard => Limit::Softening,
            Some(kernel) if !kernel.is_coulomb(options) => Limit::Function,
            _ => Limit::F64,
        })
    }

    /// Whether the error still falls at the highest order.
    fn falls(&mut self) -> Result<bool, FmmError> {
        let most = self.highest;
        let Some(lower) = most.checked_sub(ORDERS).filter(|order| *order > 0) else { return Ok(true) };
        let mut errors = [0.0; 2];
        for (error, order) in errors.iter_mut().zip([lower, most]) {
            let solution = self.runner.solve(order, None)?;
            *error = self.error(&solution.fields);
        }
        Ok(errors[0] > errors[1] * FALLS.powi(ORDERS as i32))
    }
}

pub(super) fn out_of_reach(wanted: f64, limit: Limit, best: f64) -> FmmError {
    let why = match limit {
        Limit::Kernel => "the number formats of the P2P kernel limit it; take a wider kernel or backend `cpu`",
        Limit::Casts(true) => {
            "the P2P kernel's own casts to int or fixed formats limit it; take wider ones, or native code (no --p2p)"
        }
        Limit::Casts(false) => "the P2P kernel's own casts to int or fixed formats limit it; take wider ones",
        Limit::Grid(true) => {
            "the grid of 31 bits limits it on which kernels get coordinates; take native code (--backend cpu without --p2p)"
        }
        Limit::Grid(false) => {
            "the grid of 31 bits limits it on which kernels get coordinates, whatever their formats; give a larger --tol"
        }
        Limit::F32 => "f32 limits it; take --precision f64",
        Limit::Order => "the highest order limits it; take a smaller --theta",
        Limit::F64 => "the rounding of f64 limits it, since higher orders do not come closer; give a larger --tol",
        Limit::Direct => "all pairs are summed directly, and the rounding of f64 limits it; give a larger --tol",
        Limit::Softening => {
            "softening limits it, whose change of the far field is not expanded as nearly; take a shorter --eps, or a larger --leaf or none"
        }
        Limit::Function => {
            "the P2P kernel limits it, since higher orders do not come closer: its gradient is not exactly that of its potential, or it \
             is not smooth; give a larger --tol"
        }
    };
    FmmError::Range(format!("an error of {wanted:e} is out of reach: the best was {best:.1e}; {why}"))
}
