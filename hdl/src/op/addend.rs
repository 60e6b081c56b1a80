//! The addend of a sum in the form in which conversions leave it to the accumulator (see `op/float/tofix/addend.rs`): the
//! signals of a [term](crate::rtl::term).

use crate::Flags;
use crate::circuit::Sig;
use crate::op::{Inst, Operator};
use crate::rtl::term::TermShape;

/// An addend as signals of a circuit.
pub struct Addend {
    pub shape: TermShape,
    /// The significand, shifted to its place within a group.
    pub window: Sig,
    /// Two bits a group, the lowest group lowest: 1x the window's lower (0) or upper (1) group, 0x all bits x.
    pub select: Sig,
    /// The bits above the groups, and what is carried into the lowest bit, which is bit 0.
    pub round: Sig,
    /// Flags that can be raised, each with its condition.
    pub flags: Vec<(Flags, Sig)>,
}

/// A scaling by a power of two of which nothing but a conversion reads the result: both are made in one.
pub struct Scaling<'a> {
    pub op: &'static dyn Operator,
    pub inst: &'a Inst,
    pub args: &'a [Sig],
}
