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

super::operators! {
    LT: lt::Lt,
    LE: le::Le,
    EQ: eq::Eq,
    NE: ne::Ne,
    NZ: nz::Nz,
    ISZ: isz::Isz,
    MUX: mux::Mux,
    MIN: min::Min,
    MAX: max::Max,
}
