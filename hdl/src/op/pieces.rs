//! Parts shared by several operators' circuits and bits.

pub(super) mod division;
pub(crate) mod float_parts;
pub(super) mod fold;
pub(super) mod log_parts;
pub(super) mod monotone;
pub(super) mod normal;
pub(super) mod order;
pub(crate) mod parts;
pub mod power;
pub(super) mod scale;
pub(super) mod shift;
pub mod whole;
