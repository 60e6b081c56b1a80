//! Counts on the command line: whole numbers, also as `1e5` and `2.5e4`.

/// A whole number, however it is written.
pub fn count(text: &str) -> Result<usize, String> {
    let wrong = || format!("`{text}` is no whole number; numbers are written as 100000 or 1e5");
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| wrong())?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let exact = digits.trim_end_matches('0');
    let zeros = (digits.len() - exact.len()) as i64 - fraction.len() as i64 + exponent as i64;
    let exact = exact.trim_start_matches('0');
    if exact.is_empty() {
        return Ok(0);
    }
    let zeros = usize::try_from(zeros).map_err(|_| wrong())?;
    // More digits than any number of the machine has.
    let large = || format!("`{text}` is too large");
    if exact.len() + zeros > 20 {
        return Err(large());
    }
    (exact.to_string() + &"0".repeat(zeros)).parse().map_err(|_| large())
}

/// The same from `low` to `high`.
pub fn within(text: &str, low: u64, high: u64) -> Result<u64, String> {
    match count(text)? as u64 {
        n if (low..=high).contains(&n) => Ok(n),
        n => Err(format!("{n} is not in {low}..={high}")),
    }
}

/// The same for numbers of 32 bits.
pub fn within_u32(text: &str, low: u32, high: u32) -> Result<u32, String> {
    within(text, low.into(), high.into()).map(|n| n as u32)
}

/// More threads than this only wait for each other.
const MOST_THREADS: usize = 1024;

/// A number of threads; 0 stands for one a core.
pub fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse::<usize>().map_err(|e| e.to_string())?;
    if count <= MOST_THREADS { Ok(count) } else { Err(format!("at most {MOST_THREADS} threads are possible")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_however_they_are_written() {
        for (text, n) in [
            ("0", 0),
            ("100000", 100_000),
            ("1e5", 100_000),
            ("1E6", 1_000_000),
            ("2.5e4", 25_000),
            ("1e+3", 1000),
            ("007", 7),
            ("1000e-3", 1),
            ("1.50e1", 15),
            ("3.0", 3),
            ("0e99", 0),
            ("18446744073709551615", usize::MAX),
        ] {
            assert_eq!(count(text), Ok(n), "{text}");
        }
        for (text, why) in [
            ("1.5", "no whole number"),
            ("1e-1", "no whole number"),
            ("2.55e1", "no whole number"),
            ("", "no whole number"),
            ("e5", "no whole number"),
            (".", "no whole number"),
            ("1e", "no whole number"),
            ("-1", "no whole number"),
            ("1e5.0", "no whole number"),
            ("0x10", "no whole number"),
            ("nan", "no whole number"),
            ("1e20", "too large"),
            ("1e999999999", "too large"),
            ("18446744073709551616", "too large"),
            ("1e99999999999", "no whole number"),
        ] {
            let error = count(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
        assert_eq!(
            (within("1e3", 1, 1000), within_u32("1e3", 1, 999)),
            (Ok(1000), Err("1000 is not in 1..=999".into()))
        );
    }
}
