//! Rounding and packing.
