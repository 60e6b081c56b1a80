//! Operators without a block kernel: lane by lane through `bits`, so that every operator is emulated from the day
//! that it is registered.

use super::frame::{Class, Frame, Instr, LANES};
use hdl::op::{Inst, Operator};

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
    let classes: Vec<Class> = inst.args.iter().map(|f| Class::of(*f)).collect();
    let result = Class::of(inst.result);
    let mut args = vec![0; inst.args.len()];
    for lane in 0..LANES {
        for (k, arg) in args.iter_mut().enumerate() {
            *arg = classes[k].pattern(inst.args[k], frame.get(classes[k], instr.args[k], lane));
        }
        let (bits, flags) = op.bits(inst, &args);
        frame.flags |= flags;
        frame.set(result, instr.dst, lane, result.native(inst.result, bits));
    }
}
