//! Facts of an operator that the compiler's passes and the emulator ask for.

use super::{Inst, Operator};
use crate::Flags;

/// The result of a use that needs no computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// That argument, as it is.
    Arg(usize),
    Const(u64),
}

/// The effect of an operator on its own result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Twice {
    /// The same again: f(f(x)) = f(x).
    Same,
    /// Its argument: f(f(x)) = x.
    Undone,
}

/// The integers that a result can be before it wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unwrapped {
    /// The noun for the result in messages, such as a sum.
    pub what: &'static str,
    pub low: i128,
    pub high: i128,
}

/// The part of a value that a conversion can lose besides rounding a float.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The number of high bits lost.
    High(u32),
    /// The number of fraction bits lost.
    Fraction(u32),
    /// It saturates.
    Range,
}

/// The outcome of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Always(bool),
    Open,
}

/// The loops over native values that the emulator has for many lanes at once. What an operator names here must be its bits and
/// flags wherever it rounds to nearest; the emulator chooses by the formats, and has not every loop for all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fast {
    /// Arithmetic: ints and fixeds wrap (RULES N3), floats round and raise flags (RULES N2).
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Abs,
    And,
    Or,
    Xor,
    Not,
    Shl(u32),
    Shr(u32),
    /// A float times that power of two.
    Scale(i32),
    /// A float times two to the power of the second argument with that sign.
    ScaleBy(i32),
    /// A cast, as N5 has it.
    Cast,
    Lt,
    Le,
    Eq,
    Ne,
    Nonzero,
    Zero,
    Min,
    Max,
    /// The second or the third argument, by the first.
    Select,
    /// x^(n/d) of a float, whose significand depends on that of x alone: a table of the operator's own bits.
    Power(i32, i32),
}

/// An operator over lanes, one after the other: see [`Operator::lanes`].
pub(super) fn lanes<O: Operator + ?Sized>(op: &O, inst: &Inst, args: &[&[u64]], out: &mut [u64]) -> Flags {
    let mut row = [0; super::MOST_ARGS];
    let row = &mut row[..args.len()];
    each(out, |lane| {
        row.iter_mut().zip(args).for_each(|(x, column)| *x = column[lane]);
        op.bits(inst, row)
    })
}

/// Fills `out` lane by lane; gives the flags of all of them.
pub(super) fn each(out: &mut [u64], mut of: impl FnMut(usize) -> (u64, Flags)) -> Flags {
    let mut all = Flags::NONE;
    for (lane, out) in out.iter_mut().enumerate() {
        let (bits, flags) = of(lane);
        *out = bits;
        all |= flags;
    }
    all
}
