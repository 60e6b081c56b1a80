//! Operators without a block kernel: their own `lanes` over bit patterns, which is `bits` lane by lane unless an operator knows
//! better. So every operator is emulated from the day that it is registered.

use super::frame::{Class, Frame, Instr, LANES};
use hdl::op::{Inst, MOST_ARGS, Operator};

/// An operator and its use.
pub struct Slow {
    pub op: &'static dyn Operator,
    pub inst: Inst,
}

/// Evaluates one operator on a block.
///
/// # Safety
/// The slots of the instruction must exist.
pub unsafe fn kernel(instr: &Instr, frame: &mut Frame) {
    let Slow { op, inst } = instr.slow.as_deref().expect("a slow instruction carries its operator");
    let mut columns = [[0; LANES]; MOST_ARGS];
    for ((column, format), slot) in columns.iter_mut().zip(&inst.args).zip(instr.args) {
        let class = Class::of(*format);
        column.iter_mut().enumerate().for_each(|(lane, x)| *x = class.pattern(*format, frame.get(class, slot, lane)));
    }
    let mut args: [&[u64]; MOST_ARGS] = [&[]; MOST_ARGS];
    args.iter_mut().zip(&columns).for_each(|(arg, column)| *arg = column);
    let mut out = [0; LANES];
    frame.flags |= op.lanes(inst, &args[..inst.args.len()], &mut out);
    let class = Class::of(inst.result);
    out.iter().enumerate().for_each(|(lane, bits)| frame.set(class, instr.dst, lane, class.native(inst.result, *bits)));
}
