//! Arithmetic: vector code, scaling by powers of two, and sums of any magnitude.

pub mod lanes;
pub mod ranges;
pub mod scale;
pub mod vector;
pub mod wide;

/// 2^k, exactly, for k from -1074 to 1023; 0 and infinity beyond.
pub fn exp2(k: i32) -> f64 {
    match k {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (k + 1074)),
        -1022..=1023 => f64::from_bits(((1023 + k) as u64) << 52),
        _ => f64::INFINITY,
    }
}
