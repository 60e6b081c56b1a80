//! Boards: a device on a circuit board, how it is clocked and reached, and what it takes to get a design onto it.
//!
//! One board is one folder under `hdl/boards` and one line in [`BOARDS`]. A [`Device`] alone (no pins, no clock) serves
//! figures of area and speed.

/// A device: what it has, and how the tools name it.
#[derive(Debug)]
pub struct Device {
    /// Name on the command line, such as `ecp5-85`.
    pub name: &'static str,
    pub summary: &'static str,
    /// Its family: the name of a [`crate::target::Target`].
    pub target: &'static str,
    /// Arguments that choose device, package and speed grade for place and route; empty where there is none.
    pub route: &'static [&'static str],
    pub luts: u32,
    pub flip_flops: u32,
    /// Multiplier blocks of the width that the target states.
    pub multipliers: u32,
    /// Block memories, and the bits of one.
    pub memories: u32,
    pub memory_bits: u32,
}

/// A board.
#[derive(Debug)]
pub struct Board {
    /// Name on the command line, such as `ulx3s`.
    pub name: &'static str,
    pub summary: &'static str,
    pub device: &'static Device,
    /// The pins in the form of the family's tool: `.lpf`, `.cst` or `.pcf`.
    pub constraints: &'static str,
    /// The oscillator in MHz.
    pub oscillator_mhz: f64,
    /// What openFPGALoader calls it.
    pub loader: &'static str,
    /// Baud rate of the serial link.
    pub baud: u32,
}

/// Every device.
pub static DEVICES: &[Device] = &[Device {
    name: "ecp5-85",
    summary: "Lattice LFE5U-85F, CABGA381, speed grade 6",
    target: "ecp5",
    route: &["--85k", "--package", "CABGA381", "--speed", "6"],
    luts: 83_640,
    flip_flops: 83_640,
    multipliers: 156,
    memories: 208,
    memory_bits: 18_432,
}];

/// Every board.
pub static BOARDS: &[Board] = &[];

/// The device of that name.
pub fn device(name: &str) -> Option<&'static Device> {
    DEVICES.iter().find(|d| d.name == name)
}

/// The board of that name.
pub fn board(name: &str) -> Option<&'static Board> {
    BOARDS.iter().find(|b| b.name == name)
}
