//! The order of two values in hardware, shared by comparisons, `min` and `max`.

use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::Inst;

/// One bit: `a op b`, where `op` is a Verilog comparison and both have format `inst.args[0]`. Floats and logs are sign and magnitude
/// with a single zero: inverting the magnitude of negative ones makes two's complement order of them.
pub fn compare(inst: &Inst, c: &mut Circuit, op: &str, a: Sig, b: Sig) -> Sig {
    let format = inst.args[0];
    let width = format.width();
    let equality = op == "==" || op == "!=";
    let unsigned = !format.is_signed() || (inst.is_nonneg(0) && inst.is_nonneg(1));
    if equality || unsigned {
        return c.comb("holds", 1, Cost::Compare(width), format!("{{0}} {op} {{1}}"), &[a, b]);
    }
    let mut key = |s: Sig, name: &str| {
        if !format.is_sign_magnitude() {
            return s;
        }
        let n = width - 1;
        let text = format!("{{{{0}}[{n}], {{0}}[{}:0] ^ {{{n}{{{{0}}[{n}]}}}}}}", n - 1);
        c.comb(name, width, Cost::Logic(2), text, &[s])
    };
    let (a, b) = (key(a, "key_a"), key(b, "key_b"));
    c.comb("holds", 1, Cost::Compare(width), format!("$signed({{0}}) {op} $signed({{1}})"), &[a, b])
}
