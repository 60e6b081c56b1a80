//! The families' tools: how a design becomes a netlist, what its cells count as, and how it is placed and packed.
//!
//! A family is a row in [`FAMILIES`].

use crate::timing::blocks::{Arc, Model, Setup};
use crate::tools::{self, Tool};

/// The flow's description of a family.
#[derive(Debug)]
pub struct Family {
    /// Name of the [`hdl::circuit::target::Target`].
    pub target: &'static str,
    /// Yosys commands from the Verilog that was read to a mapped netlist, call by call: each goes on with the netlist of the one before.
    pub(crate) commands: fn(&Mapping) -> Vec<Vec<String>>,
    /// The resources that each cell of that netlist counts as.
    pub(crate) cells: &'static [Cell],
    /// The most inputs of a table beside which the element's flip-flop can take data of its own; 0 where none can.
    pub(crate) way_in: u64,
    /// Place and route, where there is an open one.
    pub route: Option<Route>,
}

/// The parameters of the commands.
pub(crate) struct Mapping<'a> {
    pub top: &'a str,
    /// Dissolve the modules into one, as for a device; without it the area of each module can be reported.
    pub flatten: bool,
    /// Whether there are multiplier blocks.
    pub multipliers: bool,
    /// Lookup tables in a row that a stage has time for.
    pub levels: u32,
    /// Whether tables go into steps of carry chains where the family has space there.
    pub dense: bool,
    /// Whether tables are mapped for least area, where the family has a way for that.
    pub least: bool,
}

/// A kind of cell: its name, or the start of it before a `*`.
#[derive(Debug)]
pub(crate) struct Cell {
    pub name: &'static str,
    pub counts: Counts,
}

/// The resources that one cell takes of a device.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    /// Lookup tables, arithmetic ones and those used as memory included.
    pub luts: u64,
    /// Bits of carry chain among them.
    pub carries: u64,
    pub flip_flops: u64,
    pub multipliers: u64,
    /// Block memories of the size that the target states.
    pub memories: u64,
}

/// Place and route, and the packer of bitstreams.
#[derive(Debug)]
pub struct Route {
    pub(crate) nextpnr: &'static Tool,
    /// How the constraints are named on its command line; `%` stands for the file.
    pub(crate) constraints: &'static [&'static str],
    /// The options that allow pins without a place.
    pub(crate) unconstrained: &'static [&'static str],
    /// Constraints for [`crate::wrapper::PINS`], where a place for each is demanded.
    pub(crate) alone: Option<&'static str>,
    /// The options that route a pipeline whose values wait in memories.
    pub(crate) stored: &'static [&'static str],
    /// The delays of cells that place and route does not time.
    pub(crate) model: Option<&'static Model>,
    /// The option for what the packer reads, and the file's ending.
    pub(crate) write: (&'static str, &'static str),
    pub(crate) packer: &'static Tool,
    /// Its arguments; `<` stands for the routed design and `>` for the bitstream.
    pub(crate) pack: &'static [&'static str],
    /// Ending of the bitstream's file.
    pub bitstream: &'static str,
}

const fn cell(name: &'static str, counts: Counts) -> Cell {
    Cell { name, counts }
}

const NOTHING: Counts = Counts { luts: 0, carries: 0, flip_flops: 0, multipliers: 0, memories: 0 };
const LUT: Counts = luts(1);
const ADDER: Counts = Counts { luts: 1, carries: 1, ..NOTHING };
const FLIP_FLOP: Counts = Counts { flip_flops: 1, ..NOTHING };
const MULTIPLIER: Counts = Counts { multipliers: 1, ..NOTHING };
const MEMORY: Counts = Counts { memories: 1, ..NOTHING };

/// Lookup tables in a row that are allowed for least area on ECP5, where a stage has time for as many: routing takes longer in a full device.
const MOST_LEVELS: u32 = 6;

const fn luts(n: u64) -> Counts {
    Counts { luts: n, ..NOTHING }
}

const fn arc(kind: &'static str, from: &'static str, to: &'static str, ns: f64) -> Arc {
    Arc { kind, from, to, ns }
}

const fn setup(kind: &'static str, pin: &'static str, ns: f64) -> Setup {
    Setup { kind, pin, ns }
}

/// Gowin GW2A at speed C8/I7. Delays of tables, adders and memories are those of the vendor's timing table as Apicula reads it
/// (0.32), the slowest corner of each; nextpnr has them too, but not for the tables that it puts in front of flip-flops and for the
/// second ports of memories. Nobody has read the multiplier's from that table. 4.8 ns is an assumption that no
/// data sheet at hand confirms, above the 3.9 ns of ECP5's multiplier of the same size.
static GOWIN: Model = Model {
    arcs: &[
        arc("LUT*", "I0", "F", 0.549),
        arc("LUT*", "I1", "F", 0.570),
        arc("LUT*", "I2", "F", 0.462),
        arc("LUT*", "I3", "F", 0.371),
        arc("ALU", "CIN", "COUT", 0.035),
        arc("ALU", "CIN", "SUM", 0.469),
        arc("ALU", "I*", "SUM", 0.570),
        arc("ALU", "I*", "COUT", 0.570),
        arc("MUX2_*", "*", "O", 0.269),
        arc("MULT*", "A*", "DOUT*", 4.8),
        arc("MULT*", "B*", "DOUT*", 4.8),
        arc("DP*", "CLKA", "DOA*", 2.26),
        arc("DP*", "CLKB", "DOB*", 2.26),
        arc("SDP*", "CLKB", "DO*", 2.26),
        arc("SP*", "CLK", "DO*", 2.26),
        arc("pROM*", "CLK", "DO*", 2.26),
    ],
    setups: &[
        setup("DP*", "RESET*", 0.438),
        setup("SDP*", "RESET*", 0.438),
        setup("SP*", "RESET*", 0.438),
        setup("pROM*", "RESET*", 0.438),
        setup("DP*", "*", 0.096),
        setup("SDP*", "*", 0.096),
        setup("SP*", "*", 0.096),
        setup("pROM*", "*", 0.096),
        setup("RAM16*", "DI*", 0.035),
    ],
    replaced: &[],
    clocks: &["CLK*"],
    outside: &["IBUF", "OBUF", "TBUF", "IOBUF", "BUFG", "GSR", "rPLL", "DUMMY_CELL"],
    idle: &[],
};

/// Lattice iCE40 UP5K. Nextpnr takes a multiplier for registers with 0.1 ns before and behind them. These are the slowest ways
/// through one by IceStorm's table of the vendor's delays (`timings_up5k.txt`): through product and adder, 11.24 to the carry
/// out (SB_MAC16_MAC_U_16X16_BYPASS) and 1.16 more to the sum, of which the product alone is 9.05; and through the adder alone
/// (SB_MAC16_ADS_U_32P32_BYPASS). Where yosys has put registers into one, the way counts from in front of them to behind them.
static ICE40: Model = Model {
    arcs: &[
        arc("ICESTORM_DSP", "A_*", "*", 12.4),
        arc("ICESTORM_DSP", "B_*", "*", 12.4),
        arc("ICESTORM_DSP", "C_*", "*", 5.2),
        arc("ICESTORM_DSP", "D_*", "*", 5.2),
        arc("ICESTORM_DSP", "CI", "*", 5.2),
        arc("ICESTORM_DSP", "ADDSUB*", "*", 5.2),
        arc("ICESTORM_DSP", "ACCUMCI", "*", 5.2),
        arc("ICESTORM_DSP", "SIGNEXTIN", "*", 5.2),
    ],
    setups: &[],
    replaced: &["ICESTORM_DSP"],
    clocks: &["CLK", "RCLK", "WCLK", "CLOCK"],
    outside: &["SB_IO", "SB_GB", "ICESTORM_PLL", "PADIN"],
    // The carry is wired to I3 as well where the table takes it.
    idle: &[("ICESTORM_LC", "CIN")],
};

/// Every program of the flow, with the targets that it is for.
pub fn tools() -> Vec<(&'static Tool, Vec<&'static str>)> {
    let mut all: Vec<(&'static Tool, Vec<&'static str>)> = Vec::new();
    let of = |family: &'static Family| {
        let routed = family.route.iter().flat_map(|route| [route.nextpnr, route.packer]);
        std::iter::once(&tools::YOSYS).chain(routed).map(|tool| (tool, family.target))
    };
    for (tool, target) in FAMILIES.iter().flat_map(of) {
        match all.iter_mut().find(|(known, _)| *known == tool) {
            Some((_, targets)) => targets.push(target),
            None => all.push((tool, vec![target])),
        }
    }
    all
}

/// Every family with a flow.
pub static FAMILIES: &[Family] = &[
    Family {
        target: "ecp5",
        commands: ecp5,
        cells: &[
            cell("LUT4", LUT),
            cell("CCU2C", Counts { luts: 2, carries: 2, ..NOTHING }),
            cell("PFUMX", NOTHING),
            cell("L6MUX21", NOTHING),
            cell("TRELLIS_FF", FLIP_FLOP),
            // Four tables of memory, and two that its write port takes.
            cell("TRELLIS_DPR16X4", luts(6)),
            cell("MULT*", MULTIPLIER),
            cell("ALU54B", NOTHING),
            cell("DP16KD", MEMORY),
            cell("PDPW16KD", MEMORY),
        ],
        way_in: 4,
        route: Some(Route {
            nextpnr: &tools::NEXTPNR_ECP5,
            constraints: &["--lpf", "%"],
            unconstrained: &["--lpf-allow-unconstrained"],
            alone: None,
            // The usual placer gathers such a pipeline as densely as its cells allow, with more wires than there are.
            stored: &["--placer", "static"],
            // It times all but the inside of a multiplier between its own registers; see `absorb`.
            model: None,
            write: ("--textcfg", "config"),
            packer: &tools::ECPPACK,
            pack: &["--compress", "--input", "<", "--bit", ">"],
            bitstream: "bit",
        }),
    },
    Family {
        target: "gowin",
        commands: |m| one(format!("synth_gowin -family gw2a{} -top {}{}", no_dsp(m, "-nodsp"), m.top, hierarchy(m))),
        cells: &[
            cell("LUT*", LUT),
            cell("ALU", ADDER),
            cell("MUX2_*", NOTHING),
            cell("DFF*", FLIP_FLOP),
            cell("RAM16*", luts(4)),
            cell("MULT*", MULTIPLIER),
            cell("SDP*", MEMORY),
            cell("DP*", MEMORY),
            cell("SP*", MEMORY),
            cell("pROM*", MEMORY),
            cell("GND", NOTHING),
            cell("VCC", NOTHING),
        ],
        way_in: 4,
        route: Some(Route {
            nextpnr: &tools::NEXTPNR_GOWIN,
            constraints: &["--vopt", "cst=%"],
            unconstrained: &[],
            // Any four pins of the QN88 package; nothing that is measured depends on them.
            alone: Some(concat!(
                "IO_LOC \"clk\" 4;\nIO_LOC \"rst_in\" 88;\n",
                "IO_LOC \"serial_in\" 70;\nIO_LOC \"serial_out\" 69;\n"
            )),
            stored: &[],
            model: Some(&GOWIN),
            write: ("--write", "json"),
            packer: &tools::GOWIN_PACK,
            pack: &["-d", "GW2A-18C", "-o", ">", "<"],
            bitstream: "fs",
        }),
    },
    Family {
        target: "ice40",
        commands: ice40,
        cells: &[
            cell("SB_LUT4", LUT),
            // Sits beside the table of its sum.
            cell("SB_CARRY", Counts { carries: 1, ..NOTHING }),
            cell("SB_DFF*", FLIP_FLOP),
            cell("SB_MAC16", MULTIPLIER),
            cell("SB_RAM40*", MEMORY),
        ],
        way_in: 0,
        route: Some(Route {
            nextpnr: &tools::NEXTPNR_ICE40,
            constraints: &["--pcf", "%"],
            unconstrained: &["--pcf-allow-unconstrained"],
            alone: None,
            stored: &[],
            model: Some(&ICE40),
            write: ("--asc", "asc"),
            packer: &tools::ICEPACK,
            pack: &["<", ">"],
            bitstream: "bin",
        }),
    },
    Family {
        target: "max10",
        commands: |m| vec![crate::yosys::max10(m)],
        cells: &[
            cell("$lut", LUT),
            cell("pf_carry", ADDER),
            cell("dffeas", FLIP_FLOP),
            cell("pf_mul18", MULTIPLIER),
            // Counted by their sizes; see `area`.
            cell("$mem_v2", NOTHING),
        ],
        way_in: 3,
        route: None,
    },
    Family {
        target: "cyclonev",
        commands: |m| one(format!("synth_intel_alm -family cyclonev -top {}{}", m.top, hierarchy(m))),
        cells: &[
            cell("MISTRAL_ALUT_ARITH", ADDER),
            cell("MISTRAL_ALUT*", LUT),
            cell("MISTRAL_NOT", NOTHING),
            cell("MISTRAL_FF", FLIP_FLOP),
            cell("MISTRAL_MUL*", MULTIPLIER),
            cell("MISTRAL_M10K", MEMORY),
            cell("MISTRAL_MLAB", LUT),
        ],
        way_in: 6,
        route: None,
    },
    Family {
        target: "xc7",
        commands: |m| {
            let flatten = if m.flatten { " -flatten" } else { "" };
            one(format!("synth_xilinx -family xc7{} -top {}{flatten}", no_dsp(m, "-nodsp"), m.top))
        },
        cells: &[
            cell("LUT*", LUT),
            // The tables before it are counted already.
            cell("CARRY4", Counts { carries: 4, ..NOTHING }),
            cell("MUXF*", NOTHING),
            cell("INV", NOTHING),
            cell("FD*", FLIP_FLOP),
            cell("SRL*", LUT),
            cell("RAM32M", luts(4)),
            cell("RAM64M", luts(4)),
            cell("RAM32X1D", luts(2)),
            cell("RAM64X1D", luts(2)),
            cell("RAM128X1D", luts(4)),
            cell("DSP48E1", MULTIPLIER),
            cell("RAMB18E1", MEMORY),
            cell("RAMB36E1", Counts { memories: 2, ..NOTHING }),
            cell("BUFG", NOTHING),
            cell("IBUF", NOTHING),
            cell("OBUF", NOTHING),
        ],
        way_in: 6,
        route: None,
    },
];

/// The family of that target.
pub fn family(target: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|f| f.target == target)
}

/// The commands for ECP5. Yosys's mapper for delay makes pairs of tables where one would do. For least area, a mapper without pairs takes
/// its place, where the clock is slow enough for it. It has a call of its own, so that it works on the netlist
/// alone, without what the steps before leave in memory.
fn ecp5(m: &Mapping) -> Vec<Vec<String>> {
    let whole = format!("synth_ecp5{} -top {}{}", no_dsp(m, "-nodsp"), m.top, hierarchy(m));
    // Within fewer tables in a row, the mapper without pairs takes more of them than the other: 23,060 against 21,839 for a lane of M2L of
    // order 4 at 150 MHz, a pair every 8 clocks.
    if !m.least || m.levels < MOST_LEVELS {
        return vec![vec![whole]];
    }
    let unmapped = vec![format!("{whole} -run begin:map_luts"), "techmap -map +/lattice/latches_map.v".into()];
    let map = format!("abc -lut 4 -script +strash;if,-D,{MOST_LEVELS};mfs2,-a");
    vec![unmapped, vec![map, "clean".into(), format!("{whole} -noabc9 -run map_cells:")]]
}

/// The commands for iCE40. Where products meet in an adder, yosys 0.70 puts the register of one into the other's multiplier, as
/// that of its addend, and into its own multiplier as well: the adder then adds what nothing drives. So registers of products
/// that an adder reads are kept out of other multipliers; their own still take them in.
fn ice40(m: &Mapping) -> Vec<Vec<String>> {
    let device = if m.multipliers { "u -dsp" } else { "hx" };
    let whole = format!("synth_ice40 -device {device} -top {}{}", m.top, hierarchy(m));
    if !m.multipliers {
        return one(whole);
    }
    let held = "select -set held t:$mul %co1:+[Y] w:* %i %co1:+$dff[D] t:$dff %i %co1:+$dff[Q] w:* %i";
    let added = "select -set added t:$add %ci1:+$add[A,B] w:* %i";
    let keep = [held, added, "setattr -set keep 1 @held @added %i", "select -clear"].map(String::from);
    let mut commands = vec![format!("{whole} -run begin:coarse")];
    commands.extend(keep);
    commands.push(format!("{whole} -run coarse:"));
    vec![commands]
}

/// One command in one call.
fn one(command: String) -> Vec<Vec<String>> {
    vec![vec![command]]
}

fn hierarchy(m: &Mapping) -> &'static str {
    if m.flatten { "" } else { " -noflatten" }
}

fn no_dsp(m: &Mapping, option: &str) -> String {
    if m.multipliers { String::new() } else { format!(" {option}") }
}

impl Cell {
    pub(crate) fn is(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == self.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_but_the_generic_one_has_a_flow() {
        for target in hdl::circuit::target::TARGETS.iter().filter(|t| t.name != "generic") {
            assert!(family(target.name).is_some(), "{}", target.name);
        }
        for device in hdl::board::DEVICES {
            let family = family(device.target).unwrap_or_else(|| panic!("{} has no family", device.name));
            assert!(family.route.is_some(), "{} cannot be placed", device.name);
        }
    }
}
