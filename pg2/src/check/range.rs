//! Ranges of pins: `in least..greatest` behind the class.

use super::Checker;
use super::value::Value;
use crate::diag::Diagnostic;
use crate::diag::codes;
use crate::graph::PinClass;
use crate::syntax::ast::Tree;
use hdl::Format;
use hdl::number::exact::{Exact, to_bits};
use hdl::number::reduce::order_key;
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive};

/// An end of a range.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Least,
    Greatest,
}

impl<'a> Checker<'a> {
    /// The patterns of the least and of the greatest number of a format within a stated range. Mistakes are reported.
    pub(super) fn range_of_pin(
        &mut self,
        format: Option<Format>,
        class: Option<PinClass>,
        [least, greatest]: &[Tree; 2],
    ) -> Option<[u64; 2]> {
        let ends = [self.end_of_range(*least), self.end_of_range(*greatest)];
        let span = self.span(least.root).to(self.span(greatest.root));
        let (Some(format), Some(class), [Some(low), Some(high)]) = (format, class, ends) else { return None };
        let mut fail = |message: &str, label: &str, help: &str| {
            self.error(Diagnostic::error(codes::RANGE, message, span, label).help(help));
            None
        };
        if class == PinClass::Fout {
            let help = "leave the range out, and state those of the inputs; `explain --error` prints what follows";
            return fail("an output has no stated range", "follows from the inputs", help);
        }
        if low > high {
            return fail("this range is empty", "the first number is the greater one", "write the lesser number first");
        }
        match (inside(format, &low, End::Least), inside(format, &high, End::Greatest)) {
            (Some(a), Some(b)) if order_key(format, a) <= order_key(format, b) => Some([a, b]),
            (Some(_), Some(_)) => {
                fail("this range holds no number of its format", "between two numbers", "write a wider range")
            }
            _ => {
                let message = format!("this range has no number of {format}");
                fail(&message, "beyond the format", "write numbers that the format holds, or take a wider format")
            }
        }
    }

    /// An end of a range, which is a compile-time number.
    fn end_of_range(&mut self, tree: Tree) -> Option<Exact> {
        match self.tree(tree) {
            Value::Error => None,
            Value::Exact(number) => Some(number.value),
            Value::Choice(_) | Value::Numbers(_) | Value::Typed(_) => {
                let span = self.span(tree.root);
                let message = "the range of a pin is known at compile time";
                let error = Diagnostic::error(codes::NOT_CONST, message, span, "known only at run time");
                self.error(error.help("write a literal or the name of a `const`"));
                None
            }
        }
    }
}

/// The number of a format that is nearest to an end of a range and inside; `None` where the range is beyond the format. The same
/// range serves a kernel whose formats are varied, so what a format does not have of it is left out.
fn inside(format: Format, x: &Exact, end: End) -> Option<u64> {
    if let Some(frac) = format.frac() {
        let scaled = x * Exact::from(BigInt::one() << frac);
        let whole = if end == End::Least { scaled.ceil() } else { scaled.floor() };
        let whole = whole.to_integer().to_i128()?;
        let (least, greatest) = (format.to_int(format.min_bits()), format.to_int(format.max_bits()));
        let held = if end == End::Least { whole.max(least) } else { whole.min(greatest) };
        return (least..=greatest).contains(&held).then_some(held as u64 & format.mask());
    }
    let bits = match to_bits(format, x) {
        Ok((bits, _)) => bits,
        Err(_) if end == End::Least && x.is_negative() => format.min_bits(),
        Err(_) if end == End::Greatest && x.is_positive() => format.max_bits(),
        Err(_) => return None,
    };
    let Some(value) = Exact::from_float(format.to_f64(bits)) else { return Some(bits) };
    // The logarithms of a log are no rational numbers: the nearest ones stand.
    let beyond = format.is_float() && if end == End::Least { value < *x } else { value > *x };
    let step = if end == End::Least { 1 } else { -1 };
    Some(if beyond { next(format, bits, step) } else { bits })
}

/// The float behind or before a number; there are none between 0 and the least one.
fn next(format: Format, bits: u64, step: i128) -> u64 {
    let least = 1i128 << format.mant();
    let key = order_key(format, bits) + step;
    let key = match key {
        0 => 0,
        key if key.abs() >= least => key,
        key if key.signum() == step => least * step,
        _ => 0,
    };
    let sign = if key < 0 { 1 << (format.width() - 1) } else { 0 };
    key.unsigned_abs() as u64 | sign
}
