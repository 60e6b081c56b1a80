//! What an FPGA family costs in time: the delays that operators pipeline themselves by.
//!
//! Delays include typical routing. A target is data, not code; a new one is a row in [`TARGETS`].

/// A family of devices and its delays in nanoseconds.
#[derive(Debug)]
pub struct Target {
    /// Name on the command line.
    pub name: &'static str,
    pub summary: &'static str,
    /// One level of lookup tables.
    pub lut: f64,
    /// Entering and leaving a carry chain.
    pub carry_start: f64,
    /// Each further bit of a carry chain.
    pub carry_bit: f64,
    /// A multiplication that fits one multiplier block.
    pub mul: f64,
    /// Clock to data of a block memory.
    pub rom: f64,
    /// Clock to output plus set-up of a flip-flop.
    pub ff: f64,
    /// Inputs of one lookup table.
    pub lut_inputs: u32,
    /// The widest unsigned operand of one multiplier block.
    pub mul_width: u32,
}

const GENERIC: Target = Target {
    name: "",
    summary: "",
    lut: 0.9,
    carry_start: 1.2,
    carry_bit: 0.05,
    mul: 3.8,
    rom: 3.0,
    ff: 0.8,
    lut_inputs: 4,
    mul_width: 18,
};

/// Every target; the first is the default.
pub static TARGETS: &[Target] = &[
    Target { name: "generic", summary: "a mid-range 4-input family; assumed delays, not measured", ..GENERIC },
    Target { name: "ecp5", summary: "Lattice ECP5, speed grade 6; delays still assumed", ..GENERIC },
    Target { name: "gowin", summary: "Gowin GW2A; delays still assumed", ..GENERIC },
    Target { name: "ice40", summary: "Lattice iCE40 HX and UP; delays still assumed", ..GENERIC },
    Target { name: "max10", summary: "Intel MAX 10, also for Cyclone IV; delays still assumed", ..GENERIC },
    Target { name: "cyclonev", summary: "Intel Cyclone V; delays still assumed", ..GENERIC },
    Target { name: "xc7", summary: "Xilinx 7 series; delays still assumed", ..GENERIC },
];

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

/// A target and the clock frequency to reach on it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub target: &'static Target,
    /// In MHz.
    pub mhz: f64,
}

impl Clock {
    /// The generic target at 150 MHz.
    pub fn default_clock() -> Clock {
        Clock { target: &TARGETS[0], mhz: 150.0 }
    }

    /// Time between two registers in ns, less the flip-flop's own.
    pub fn budget(&self) -> f64 {
        1000.0 / self.mhz - self.target.ff
    }

    /// How many signals can be ORed within one cycle; at least 2.
    pub fn or_inputs(&self) -> usize {
        let levels = (self.budget() / self.target.lut).clamp(1.0, 8.0) as u32;
        (self.target.lut_inputs.max(2) as usize).pow(levels)
    }
}

/// What a piece of combinational logic costs; [`Cost::delay`] turns it into time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cost {
    /// Wires only: slices, concatenations, constants.
    Wire,
    /// A function of that many input bits for each output bit.
    Logic(u32),
    /// An adder or subtractor of that many bits.
    Add(u32),
    /// A magnitude or equality comparison of that many bits.
    Compare(u32),
    /// A multiplexer with that many ways.
    Mux(u32),
    /// A barrel shifter with that many positions.
    Shift(u32),
    /// Counting the leading zeros of that many bits.
    LeadingZeros(u32),
}

impl Cost {
    /// Delay in ns.
    pub fn delay(self, t: &Target) -> f64 {
        // Counted in integers: a logarithm's rounding must not add a level at an exact power.
        let levels = |inputs: u32| {
            let reach = |n: &u32| (t.lut_inputs as u64).saturating_pow(*n) >= inputs as u64;
            (1..32).find(reach).unwrap_or(32) as f64
        };
        match self {
            Cost::Wire => 0.0,
            Cost::Logic(inputs) => t.lut * levels(inputs),
            Cost::Add(bits) | Cost::Compare(bits) => t.carry_start + t.carry_bit * bits as f64,
            // A 4-input table holds a 2-way multiplexer, two tables a 4-way one.
            Cost::Mux(ways) => t.lut * ceil_log2(ways),
            Cost::Shift(positions) => t.lut * ceil_log2(positions),
            Cost::LeadingZeros(bits) => t.lut * ceil_log2(bits),
        }
    }
}

/// Bits needed to count to `n`; at least 1.
fn ceil_log2(n: u32) -> f64 {
    n.max(2).next_power_of_two().ilog2() as f64
}
