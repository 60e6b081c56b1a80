//! Boards: a device on a circuit board, how it is clocked and reached, and what it takes to get a design onto it.
//!
//! One board is one folder under `hdl/boards` (its data, `board.toml`, and its pins) and one line in [`TEXTS`]; a folder of a user's own
//! is read by the same [`Board::read`]. Every board's top has
//! the same ports: `clk_in`, `uart_rx`, `uart_tx`, the LEDs and pins that only hold a level; a board's constraints say
//! where they are. On the network ([`gigabit`]), those of a PHY take the place of the serial line's. A [`Device`] alone (no pins, no clock) serves figures of area and speed.

pub mod gigabit;
pub mod network;
pub mod pll;
pub mod top;

mod read;

use gigabit::Ethernet;
use pll::Pll;
pub use read::{OPEN, check_name};
use std::sync::OnceLock;

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
    /// The vendor's tool that makes its bitstream, where open tools cannot.
    pub vendor: Option<&'static Vendor>,
    /// The pins in the form of the family's tool: `.lpf`, `.cst` or `.pcf`; for vendors' tools `.xdc` or `.tcl`.
    pub constraints: &'static str,
    /// The oscillator in MHz.
    pub oscillator_mhz: f64,
    /// Whether its clock comes in at two pins, `clk_in` and `clk_in_n`, behind which stands a buffer of AMD's devices.
    pub differential: bool,
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

/// A vendor's tool, and its name of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vendor {
    /// One of [`VENDORS_TOOLS`].
    pub tool: &'static str,
    /// Of the device, where the tool asks for it.
    pub family: &'static str,
    pub part: &'static str,
}

/// The vendors' tools that a board can name.
pub const VENDORS_TOOLS: [&str; 2] = ["vivado", "quartus"];

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

// Dies, which come in several packages and speed grades.
const LFE5U_25: Device = Device {
    name: "",
    summary: "",
    target: "ecp5",
    route: &[],
    luts: 24_288,
    flip_flops: 24_288,
    multipliers: 28,
    memories: 56,
    memory_bits: 18_432,
};
const LFE5U_45: Device = Device {
    name: "",
    summary: "",
    target: "ecp5",
    route: &[],
    luts: 43_848,
    flip_flops: 43_848,
    multipliers: 72,
    memories: 108,
    memory_bits: 18_432,
};
const LFE5U_85: Device = Device {
    name: "",
    summary: "",
    target: "ecp5",
    route: &[],
    luts: 83_640,
    flip_flops: 83_640,
    multipliers: 156,
    memories: 208,
    memory_bits: 18_432,
};
const GW2A_18: Device = Device {
    name: "",
    summary: "",
    target: "gowin",
    route: &[],
    luts: 20_736,
    flip_flops: 15_552,
    multipliers: 48,
    memories: 46,
    memory_bits: 18_432,
};

/// Every device.
pub static DEVICES: &[Device] = &[
    Device {
        name: "ecp5-85",
        summary: "Lattice LFE5U-85F, CABGA381, speed grade 6",
        route: &["--85k", "--package", "CABGA381", "--speed", "6"],
        ..LFE5U_85
    },
    Device {
        name: "ecp5-45",
        summary: "Lattice LFE5U-45F, CABGA381, speed grade 6",
        route: &["--45k", "--package", "CABGA381", "--speed", "6"],
        ..LFE5U_45
    },
    Device {
        name: "ecp5-25",
        summary: "Lattice LFE5U-25F, CABGA381, speed grade 6",
        route: &["--25k", "--package", "CABGA381", "--speed", "6"],
        ..LFE5U_25
    },
    Device {
        name: "ecp5-25-csfbga285",
        summary: "Lattice LFE5U-25F, CSFBGA285, speed grade 8",
        route: &["--25k", "--package", "CSFBGA285", "--speed", "8"],
        ..LFE5U_25
    },
    Device {
        name: "ecp5-85-csfbga285",
        summary: "Lattice LFE5U-85F, CSFBGA285, speed grade 8",
        route: &["--85k", "--package", "CSFBGA285", "--speed", "8"],
        ..LFE5U_85
    },
    Device {
        name: "ecp5um5g-45",
        summary: "Lattice LFE5UM5G-45F, CABGA381, speed grade 8",
        route: &["--um5g-45k", "--package", "CABGA381", "--speed", "8"],
        ..LFE5U_45
    },
    Device {
        name: "gw2ar-18",
        summary: "Gowin GW2AR-LV18QN88C8/I7",
        route: &["--device", "GW2AR-LV18QN88C8/I7", "--vopt", "family=GW2A-18C"],
        ..GW2A_18
    },
    Device {
        name: "gw2a-18-pg256",
        summary: "Gowin GW2A-LV18PG256C8/I7",
        route: &["--device", "GW2A-LV18PG256C8/I7", "--vopt", "family=GW2A-18C"],
        ..GW2A_18
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

/// A board of this repository: its folder, which is read when it is asked for.
struct Shipped {
    /// The folder's name, which is the board's with `_` for `-`.
    folder: &'static str,
    /// Its `board.toml`.
    text: &'static str,
    /// The files beside it with their text, that of the pins first.
    files: &'static [(&'static str, &'static str)],
    board: OnceLock<Board>,
}

impl Shipped {
    fn is(&self, name: &str) -> bool {
        let own = self.folder.bytes().map(|c| if c == b'_' { b'-' } else { c });
        own.eq(name.bytes())
    }

    fn board(&self) -> &Board {
        let beside = |name: &str| {
            let file = self.files.iter().find(|f| f.0 == name);
            file.map(|f| f.1.to_string()).ok_or_else(|| format!("{name} is not in the folder"))
        };
        self.board.get_or_init(|| Board::read(self.text, &beside).expect("a test reads every board's folder"))
    }
}

/// The folder of that name.
macro_rules! folder {
    ($name:literal, $($file:literal),+) => {
        Shipped {
            folder: $name,
            text: include_str!(concat!("../boards/", $name, "/board.toml")),
            files: &[$(($file, include_str!(concat!("../boards/", $name, "/", $file)))),+],
            board: OnceLock::new(),
        }
    };
}

static SHIPPED: [Shipped; 13] = [
    folder!("ulx3s", "pins.lpf"),
    folder!("colorlight_i9", "pins.lpf", "ethernet.lpf"),
    folder!("tang_nano_20k", "pins.cst"),
    folder!("icebreaker", "pins.pcf"),
    folder!("colorlight_i5", "pins.lpf"),
    folder!("versa_ecp5", "pins.lpf"),
    folder!("orangecrab_25f", "pins.lpf"),
    folder!("orangecrab_85f", "pins.lpf"),
    folder!("tang_primer_20k", "pins.cst"),
    folder!("arty_a7_35", "pins.xdc"),
    folder!("arty_a7_100", "pins.xdc"),
    folder!("de10_nano", "pins.tcl"),
    folder!("zcu104", "pins.xdc"),
];

/// Every board. Each is read when an iterator comes to it: [`board`] reads the one that it gives alone.
pub struct Boards;

/// Every board.
pub static BOARDS: Boards = Boards;

impl Boards {
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'static Board> {
        SHIPPED.iter().map(Shipped::board)
    }
}

/// The file of a board's pins, its name and its text.
pub fn pins(name: &str) -> Option<[&'static str; 2]> {
    let files = SHIPPED.iter().find(|s| s.is(name))?.files;
    files.first().map(|(name, text)| [*name, *text])
}

/// The device of that name.
pub fn device(name: &str) -> Option<&'static Device> {
    DEVICES.iter().find(|d| d.name == name)
}

/// The board of that name.
pub fn board(name: &str) -> Option<&'static Board> {
    SHIPPED.iter().find(|s| s.is(name)).map(Shipped::board)
}
