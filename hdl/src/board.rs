//! Boards: a device on a circuit board, how it is clocked and reached, and what it takes to get a design onto it.
//!
//! One board is one folder under `hdl/boards` (its data and its pins) and one line in [`BOARDS`]. Every board's top has
//! the same ports: `clk_in`, `uart_rx`, `uart_tx`, the LEDs and pins that only hold a level; a board's constraints say
//! where they are. On the network ([`gigabit`]), those of a PHY take the place of the serial line's. A [`Device`] alone (no pins, no clock) serves figures of area and speed.

pub mod gigabit;
pub mod network;
pub mod pll;
pub mod top;

use gigabit::Ethernet;
use pll::Pll;

/// A device: what it has, and how the tools name it.
#[derive(Debug)]
pub struct Device {
    /// Name on the command line, such as `ecp5-85`.
    pub name: &'static str,
    pub summary: &'static str,
    /// Its family: the name of a [`crate::circuit::target::Target`].
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
    /// The clock that is asked for where nobody names one: whole boards with the paper's P2P, or the small one, meet it
    /// (docs/results/hardware.md), which are slower than an engine alone.
    pub usual_mhz: f64,
    /// The same for designs that fill the device, whose wires are longer. Pipelines are scheduled for the other one.
    pub full_mhz: f64,
    pub pll: &'static Pll,
    pub leds: Leds,
    /// Outputs that hold one level.
    pub fixed_pins: &'static [(&'static str, bool)],
    /// The arguments that name the board or cable to openFPGALoader.
    pub loader: &'static [&'static str],
    /// Baud rate of the serial link.
    pub baud: u32,
    /// Its port for Ethernet at a gigabit, if it has one.
    pub ethernet: Option<&'static Ethernet>,
}

/// The LEDs of a board. Each has one for work under way, `led_busy`.
#[derive(Clone, Copy, Debug)]
pub struct Leds {
    /// `led_alive` blinks as long as the clock runs.
    pub alive: bool,
    /// `led_error` is lit from the first frame that arrives damaged or out of order.
    pub error: bool,
    /// They are lit by a low level.
    pub active_low: bool,
}

/// Every device.
pub static DEVICES: &[Device] = &[
    Device {
        name: "ecp5-85",
        summary: "Lattice LFE5U-85F, CABGA381, speed grade 6",
        target: "ecp5",
        route: &["--85k", "--package", "CABGA381", "--speed", "6"],
        luts: 83_640,
        flip_flops: 83_640,
        multipliers: 156,
        memories: 208,
        memory_bits: 18_432,
    },
    Device {
        name: "ecp5-45",
        summary: "Lattice LFE5U-45F, CABGA381, speed grade 6",
        target: "ecp5",
        route: &["--45k", "--package", "CABGA381", "--speed", "6"],
        luts: 43_848,
        flip_flops: 43_848,
        multipliers: 72,
        memories: 108,
        memory_bits: 18_432,
    },
    Device {
        name: "gw2ar-18",
        summary: "Gowin GW2AR-LV18QN88C8/I7",
        target: "gowin",
        route: &["--device", "GW2AR-LV18QN88C8/I7", "--vopt", "family=GW2A-18C"],
        luts: 20_736,
        flip_flops: 15_552,
        multipliers: 48,
        memories: 46,
        memory_bits: 18_432,
    },
    Device {
        name: "up5k",
        summary: "Lattice iCE40 UP5K, SG48",
        target: "ice40",
        route: &["--up5k", "--package", "sg48"],
        luts: 5_280,
        flip_flops: 5_280,
        multipliers: 8,
        memories: 30,
        memory_bits: 4_096,
    },
];

/// Every board.
pub static BOARDS: &[Board] = &[
    include!("../boards/ulx3s/board.rs"),
    include!("../boards/colorlight_i9/board.rs"),
    include!("../boards/tang_nano_20k/board.rs"),
    include!("../boards/icebreaker/board.rs"),
];

/// The device of that name.
pub fn device(name: &str) -> Option<&'static Device> {
    DEVICES.iter().find(|d| d.name == name)
}

/// The board of that name.
pub fn board(name: &str) -> Option<&'static Board> {
    BOARDS.iter().find(|b| b.name == name)
}

/// [`device`] for the data of boards; a device that does not exist is an error of compilation.
const fn device_of(name: &str) -> &'static Device {
    let mut k = 0;
    while k < DEVICES.len() {
        if same(DEVICES[k].name.as_bytes(), name.as_bytes()) {
            return &DEVICES[k];
        }
        k += 1;
    }
    panic!("a board names a device that is not in DEVICES")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut k = 0;
    while k < a.len() && k < b.len() && a[k] == b[k] {
        k += 1;
    }
    k == a.len() && k == b.len()
}
