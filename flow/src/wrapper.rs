//! A small top for placing an engine alone in a device.

pub use hdl::export::ALONE_PINS as PINS;

/// Name of its module.
pub const TOP: &str = "pairforge_alone";

/// The wrapper around the engine `engine` with streams of `bits` bits.
pub fn verilog(engine: &str, bits: u32) -> String {
    hdl::export::alone(TOP, engine, bits)
}
