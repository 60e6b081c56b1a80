//! The kernel of functions of one argument (`func`, `exp`, `log`): their prepared tables in a tight loop, lane by lane.

use super::Isa;
use crate::emulator::frame::{Class, Frame, Instr, LANES};
use hdl::Flags;
use hdl::op::Inst;
use hdl::op::table::{exp, func, ln};
use std::sync::Arc;

/// The prepared function of an instruction.
pub enum Prepared {
    Func(&'static func::Prepared),
    Exp(&'static exp::Prepared),
    Log(&'static ln::Prepared),
}

/// Chooses the kernel for a use of a function; false leaves it to the slow path.
pub fn prepare(name: &str, inst: &Inst, instr: &mut Instr, _: Isa) -> bool {
    let prepared = match name {
        "exp" => Prepared::Exp(exp::prepared(inst.result)),
        "log" => Prepared::Log(ln::prepared(inst.result)),
        "func" => {
            let function = inst.attrs.function.and_then(|f| func::prepared(inst.result, f).ok());
            let Some(p) = function else { return false };
            Prepared::Func(p)
        }
        _ => return false,
    };
    instr.function = Some(Arc::new(prepared));
    instr.kernel = kernel;
    true
}

/// Evaluates a function on a block.
///
/// # Safety
/// The slots of the instruction must exist.
unsafe fn kernel(instr: &Instr, frame: &mut Frame) {
    match instr.function.as_deref().expect("a function's instruction carries it") {
        Prepared::Func(p) => each(instr, frame, |x| p.eval(x)),
        Prepared::Exp(p) => each(instr, frame, |x| p.eval(x)),
        Prepared::Log(p) => each(instr, frame, |x| p.eval(x)),
    }
}

#[inline(always)]
fn each(instr: &Instr, frame: &mut Frame, eval: impl Fn(u64) -> (u64, Flags)) {
    let (format, class) = (instr.format, Class::of(instr.format));
    let mut all = Flags::NONE;
    for lane in 0..LANES {
        let x = class.pattern(format, frame.get(class, instr.args[0], lane));
        let (bits, flags) = eval(x);
        all |= flags;
        frame.set(class, instr.dst, lane, class.native(format, bits));
    }
    frame.flags |= all;
}
