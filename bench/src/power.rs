//! The tables behind `pg_pow`: what the search chose, and how far the results are from the exact powers.

use hdl::Format;
use hdl::op::table::pow::prepared;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::say;

/// Common powers at the significands of the shipped kernels and of IEEE single.
pub fn run() -> Result<(), Failure> {
    say!(
        "  {:<10} {:>6} {:>7} {:>7} {:>11} {:>17} {:>9}",
        "format",
        "power",
        "degree",
        "pieces",
        "table bits",
        "greatest error",
        "ms"
    )?;
    for mant in [9, 16, 20, 23] {
        for (n, d) in [(-1, 2), (-1, 1), (1, 2), (-3, 2), (-5, 2)] {
            let format = Format::float(mant + 9, mant).map_err(Failure::Input)?;
            let started = Instant::now();
            let table = prepared(format, n, d);
            let ms = 1e3 * started.elapsed().as_secs_f64();
            say!(
                "  {:<10} {:>6} {:>7} {:>7} {:>11} {:>13.3} ulp {ms:>9.2}",
                format.to_string(),
                format!("{n}/{d}"),
                table.table.degree,
                table.table.pieces() / d as usize,
                table.table.total_bits(),
                greatest_error(format, n, d)
            )?;
        }
    }
    say!("  errors over all significands of two octaves, against f64 powers")?;
    Ok(())
}

/// In units of the last place of the exact result.
fn greatest_error(format: Format, n: i32, d: i32) -> f64 {
    let table = prepared(format, n, d);
    let mant = format.mant();
    let one = (format.bias() as u64) << mant;
    let error = |x: u64| {
        let exact = format.to_f64(x).powf(n as f64 / d as f64);
        let exponent = (exact.to_bits() >> 52) as i32 - 1023;
        (format.to_f64(table.eval(x).0) - exact).abs() * 2f64.powi(mant as i32 - exponent)
    };
    (one - (1 << mant)..one + (1 << mant)).map(error).fold(0.0, f64::max)
}
