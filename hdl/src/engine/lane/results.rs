//! The end of a lane: values and flags of a finished group.

use super::GUARD;
use crate::rtl::expr::Test;
use crate::rtl::netlist::Module;
use crate::rtl::{Value, cat, or_all};
use crate::{Format, Reduce};

/// Whether a total with its guard bits has left its format.
pub(super) fn wrap_of(total: &Value, format: Format) -> Value {
    let value = total.low(format.width());
    let sign = if format.is_signed() { value.msb() } else { Value::flag(false) };
    total.top(GUARD).compare(Test::Ne, false, &sign.repeat(GUARD))
}

/// The finished record and flags.
pub(super) fn results(lane: &mut Module, totals: &[(Value, Format, Reduce)], raised: &Value, done: &Value) {
    let mut values = Vec::new();
    let mut wraps = Vec::new();
    for (total, format, reduce) in totals {
        let value = total.low(format.width());
        if *reduce == Reduce::Sum {
            wraps.push(wrap_of(total, *format));
        }
        values.push((value, *format));
    }
    finish(lane, &values, wraps, raised, done);
}

/// The flags of a result: whether a sum wrapped, and what pairs raised, that one of them wrapped perhaps among it.
pub(super) fn all_flags(wrap: Value, raised: &Value) -> Value {
    let wrap = if raised.width() > 4 { wrap | raised.bit(4) } else { wrap };
    cat([wrap, raised.low(4)])
}

/// The ports of the result: the values of all outputs, and whether one of them wrapped.
pub(super) fn finish(lane: &mut Module, values: &[(Value, Format)], wraps: Vec<Value>, raised: &Value, done: &Value) {
    let mut parts: Vec<Value> = values.iter().map(|(value, format)| value.zext(32 * format.words())).collect();
    parts.reverse();
    if parts.is_empty() {
        parts.push(Value::zeros(32));
    }
    lane.comment("The result, good while `r_done` is high.");
    let wrap = lane.wire("wrap", or_all(wraps).unwrap_or_else(|| Value::flag(false)));
    lane.assign("r_data", cat(parts));
    lane.assign("r_flags", all_flags(wrap, raised));
    lane.assign("r_done", done.clone());
}
