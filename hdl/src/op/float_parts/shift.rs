//! Aligning and normalising.
