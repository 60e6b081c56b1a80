//! `ready` beside `valid` around a pipeline: a skid buffer behind it, whose room is the pipeline's clock enable.
//!
//! The pipeline moves in clocks that begin with room for what may leave it, which a register says. So no path goes from `out_ready` to
//! `in_ready` or into the pipeline, and what leaves in the clock in which the taker begins to wait stands in a second register.

use hdl::rtl::netlist::Module;
use hdl::rtl::{Name, Value};

/// Ports of `ready`.
pub const IN_READY: &str = "in_ready";
pub const OUT_READY: &str = "out_ready";

/// Clocks that the buffer adds.
pub const LATENCY: u32 = 1;

/// A skid buffer whose registers are known before the pipeline that fills it.
pub struct Buffer {
    /// The pipeline moves; low in reset.
    pub moves: Value,
    /// Values stand in the second register.
    kept: Value,
}

impl Buffer {
    /// Adds the registers by which the pipeline moves.
    pub fn new(top: &mut Module) -> Buffer {
        top.comment("The pipeline moves while the second register behind it is free.");
        let buffer = Buffer { moves: top.hold("moves", 1), kept: top.hold("kept", 1) };
        top.assign(IN_READY, buffer.moves.clone());
        buffer
    }

    /// Adds what takes the pipeline's last registers, `valid` or not.
    pub fn fill(self, top: &mut Module, valid: Value, outputs: Vec<(Name, Value)>) {
        let Buffer { moves, kept } = self;
        top.comment("Values leave by the first register, and wait in the second one while that is not taken.");
        let [rst, ready] = ["rst", OUT_READY].map(|name| top.signal(name));
        let shown = top.hold("shown", 1);
        let free = top.wire("free", !&shown | &ready);
        let leaves = top.wire("leaves", valid & &moves);
        let stays = top.wire("stays", !&free & (&kept | &leaves));
        top.load("shown", !&rst & (&kept | &leaves | !&free));
        top.load("kept", !&rst & &stays);
        top.load("moves", !&rst & !&stays);
        top.assign("out_valid", shown);
        for (port, last) in outputs {
            let width = last.width();
            let second = top.hold(format!("kept_{port}"), width);
            top.load(format!("kept_{port}"), moves.mux(&last, &second));
            let first = top.hold(format!("shown_{port}"), width);
            top.load(format!("shown_{port}"), free.mux(&kept.mux(&second, &last), &first));
            top.assign(port, first);
        }
    }
}
