//! Kernels around functions of `pg_fn` that somebody might write who does not think of poles, jumps or formats.

use hdl::number::real::expr::CALLS;
use testkit::Random;

const FORMATS: [&str; 12] = [
    "float18.9",
    "float32.23",
    "float25.16",
    "float16.10",
    "float12.6",
    "float24.20",
    "fixed32.16",
    "fixed16.8",
    "fixed24.23",
    "ufixed12.3",
    "ufixed32.32",
    "fixed8.0",
];

/// Ends of intervals, constants and exponents: usual and extreme ones.
const NUMBERS: [&str; 18] = [
    "0",
    "1",
    "2",
    "0.5",
    "3",
    "0.1",
    "1e-3",
    "16",
    "100",
    "1e-9",
    "1e9",
    "1e-30",
    "1e30",
    "1e300",
    "1e-300",
    "0.25",
    "7.3",
    "1.0000001",
];

/// An expression of the variable `x`.
fn expression(dice: &mut Random, depth: u32) -> String {
    if depth == 0 || dice.once_in(6) {
        return match dice.below(3) {
            0 => dice.pick(&NUMBERS).to_string(),
            _ => "x".into(),
        };
    }
    let one = expression(dice, depth - 1);
    match dice.below(9) {
        0..3 => format!("{}({one})", CALLS[dice.below(CALLS.len())].0),
        3 => format!("pow({one}, {})", dice.pick(&["2", "3", "-1", "-3", "10", "0.5", "-0.5", "0"])),
        4 => format!("({}({one}, {}))", dice.pick(&["min", "max"]), expression(dice, depth - 1)),
        5 => format!("-({one})"),
        _ => format!("({one} {} {})", dice.pick(&["+", "-", "*", "/"]), expression(dice, depth - 1)),
    }
}

/// A kernel that sums a function of a pin.
pub fn kernel(dice: &mut Random) -> String {
    let (format, depth) = (dice.pick(&FORMATS), 1 + dice.below(4));
    let f = expression(dice, depth);
    let (low, high) = (dice.pick(&NUMBERS), dice.pick(&NUMBERS));
    let sign = if dice.once_in(4) { "-" } else { "" };
    let sum = if format.starts_with("float") { "(fixed64.30)" } else { "" };
    let out = if format.starts_with("float") { "fixed64.30" } else { format };
    format!(
        "{format} x ipin; {format} q jpin; {out} o fout;\ny = pg_fn(x, {f}, {sign}{low}, {high});\no += {sum}(y * q);\n"
    )
}
