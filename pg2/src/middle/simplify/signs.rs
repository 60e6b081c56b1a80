//! Known signs: which values are never negative, so that operators may leave out what a sign would need.

use crate::graph::NodeId;
use hdl::op::Inst;

/// Whether an operator's result is never negative. Ints and fixeds wrap, so most of theirs may be.
pub(super) fn result(name: &str, inst: &Inst, args: &[NodeId], of: &dyn Fn(&NodeId) -> bool) -> bool {
    let all = || args.iter().all(of);
    match name {
        "fabs" | "labs" | "sumsq" | "exp" => true,
        "func" => hdl::op::table::func::is_nonneg(inst),
        "fmul" | "lmul" => args[0] == args[1] || all(),
        // An even power, or a root, which gives 0 for a negative argument; 2/2 is neither.
        "pow" | "lpow" => match (inst.attrs.n, inst.attrs.d) {
            (n, 2) => n % 2 != 0 || n % 4 == 0 || all(),
            (n, _) => n % 2 == 0 || all(),
        },
        "mux" => of(&args[1]) && of(&args[2]),
        "max" | "and" => args.iter().any(of),
        "rem" | "shr" | "shrv" | "fscalev" | "lscalev" => of(&args[0]),
        "icast" => of(&args[0]) && inst.result.width() > inst.args[0].width() - inst.args[0].is_signed() as u32,
        "ladd" | "ldiv" | "lscale" | "lcast" | "tolog" | "fromlog" => all(),
        "fadd" | "fdiv" | "fscale" | "fcast" | "tofloat" | "tofix" | "xcast" | "min" | "or" | "xor" | "div" => all(),
        _ => false,
    }
}
