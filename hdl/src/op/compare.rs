//! Comparisons, choices and tests for zero, of every format.

pub(super) mod eq;
pub(super) mod isz;
pub(super) mod le;
pub(super) mod lt;
pub(super) mod max;
pub(super) mod min;
pub(super) mod mux;
pub(super) mod ne;
pub(super) mod nz;

use super::Operator;

/// The operators of this room.
pub(super) static OPERATORS: &[&dyn Operator] =
    &[&lt::Lt, &le::Le, &eq::Eq, &ne::Ne, &nz::Nz, &isz::Isz, &mux::Mux, &min::Min, &max::Max];
