//! Timing and area costs of an FPGA family: the delays that operators pipeline themselves by.
//!
//! A target is data, not code: a file in `hdl/targets` that gives each number and says where it comes from, and a line in
//! [`TEXTS`]. Delays include typical routing in a placed design. `scripts/measure_targets.py` measures them.

use crate::rtl::chains::Chains;
use crate::rtl::memory::block_width;
use serde::{Deserialize, Deserializer};
use std::sync::LazyLock;

/// A family of devices and its delays in nanoseconds. Its file has each of these keys and no other.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name on the command line.
    #[serde(deserialize_with = "kept")]
    pub name: &'static str,
    #[serde(deserialize_with = "kept")]
    pub summary: &'static str,
    /// One level of lookup tables.
    pub lut: f64,
    /// Entering and leaving a carry chain.
    pub carry_start: f64,
    /// Each further bit of a carry chain.
    pub carry_bit: f64,
    /// A multiplication that fits one multiplier block.
    pub mul: f64,
    /// From logic into the input registers of a multiplier block, beyond the way into a flip-flop beside the table; 0 where
    /// these registers are not used.
    pub mul_in: f64,
    /// Clock to data of a block memory.
    pub rom: f64,
    /// Out of a block memory's output register, beyond the way out of a flip-flop; 0 where there is none.
    pub rom_out: f64,
    /// Clock to output plus set-up of a flip-flop.
    pub ff: f64,
    /// Inputs of one lookup table.
    pub lut_inputs: u32,
    /// The widest unsigned operands of one multiplier block, the wider first.
    pub mul_a: u32,
    pub mul_b: u32,
    /// The narrowest operand for which a multiplier block is worth it.
    pub mul_from: u32,
    /// Flip-flops that must share a synchronous clear for it to cost nothing; 0 where none does.
    pub clear_from: u32,
    /// Bits of one block memory, and its greatest width.
    pub memory_bits: u32,
    pub memory_width: u32,
    pub delay: DelayMemory,
    /// The clock in MHz that is asked for where nobody names one.
    pub usual_mhz: f64,
}

/// Memories that serve as long delay lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayMemory {
    pub kind: DelayKind,
    /// Bits and words of one such memory; 0 where there is none.
    pub width: u32,
    pub depth: u32,
    /// The least number of cycles from which it is cheaper than flip-flops; 0 where there is none.
    pub from: u32,
}

/// The primitives that a delay line can be made of, apart from flip-flops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayKind {
    /// Flip-flops alone.
    None,
    /// A lookup table as a shift register.
    Shift,
    /// Lookup tables as memory, with a counter for an address.
    Lut,
    /// A block memory, with a counter for an address.
    Block,
}

/// The text of each target's file; the first target is the default.
const TEXTS: &[&str] = &[
    include_str!("../../targets/generic.toml"),
    include_str!("../../targets/ecp5.toml"),
    include_str!("../../targets/gowin.toml"),
    include_str!("../../targets/ice40.toml"),
    include_str!("../../targets/max10.toml"),
    include_str!("../../targets/cyclonev.toml"),
    include_str!("../../targets/xc7.toml"),
];

/// Every target; the first is the default.
pub static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(|| {
    TEXTS.iter().map(|text| toml::from_str(text).expect("a test reads every target's file")).collect()
});

/// A text of a target's file, which is kept for as long as the program runs.
fn kept<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    String::deserialize(from).map(|text| &*text.leak())
}

impl Target {
    /// The widest unsigned operand that fits either side of a multiplier block.
    pub fn mul_width(&self) -> u32 {
        self.mul_a.min(self.mul_b)
    }

    /// Block memories for a memory of so many words of so many bits: each block may be narrower and deeper by powers of two.
    pub fn blocks(&self, words: u64, bits: u64) -> u64 {
        let (all, widest) = (self.memory_bits as u64, self.memory_width as u64);
        // Below a byte the parity bits are lost: 9, 18, 36 bits wide, but 4, 2, 1.
        let widths =
            (0..).map(|k| widest >> k).take_while(|w| *w >= 8).chain([4, 2, 1].into_iter().filter(|w| *w < widest));
        let narrow = if widest % 9 == 0 { all / 9 * 8 } else { all };
        let least = widths.map(|w| words.div_ceil(if w >= 8 { all } else { narrow } / w) * bits.div_ceil(w));
        least.min().unwrap_or(0)
    }

    /// The same of a memory of the engine, which is cut to the width that a block of 18 Kibit has at its depth.
    pub fn cut_blocks(&self, words: u64, bits: u64) -> u64 {
        let step = block_width(words.min(u32::MAX as u64) as u32) as u64;
        bits / step * self.blocks(words, step) + self.blocks(words, bits % step)
    }
}

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

/// The constraints that operators are built for: a target, the clock frequency to reach on it, and the multipliers to spend.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub target: &'static Target,
    /// In MHz.
    pub mhz: f64,
    /// Multiplier blocks that one pipeline may use; `None`: as many as it takes. A circuit on its own is in logic
    /// where this is 0, and else in blocks.
    pub blocks: Option<u32>,
}

impl Clock {
    /// The generic target at 150 MHz.
    pub fn default_clock() -> Clock {
        Clock { target: &TARGETS[0], mhz: 150.0, blocks: None }
    }

    /// Time between two registers in ns, less the flip-flop's own.
    pub fn budget(&self) -> f64 {
        1000.0 / self.mhz - self.target.ff
    }

    /// The time for the accumulators behind a pipeline, of which an output may come out of a multiplier or memory block.
    pub fn chains(&self, from_block: bool) -> Chains {
        let t = self.target;
        Chains {
            // Wires from the column of multipliers are as long as from that of memories.
            out: if from_block { t.rom_out } else { 0.0 },
            gate: t.lut,
            start: t.carry_start,
            bit: t.carry_bit,
            budget: self.budget(),
        }
    }

    /// Whether any circuit can have it: there is time between two registers for a level of tables, and for a bit of a carry chain.
    /// The error says which clocks can be had.
    pub fn verify(&self) -> Result<(), String> {
        let t = self.target;
        let least = t.lut.max(t.carry_start + t.carry_bit);
        if self.budget() >= least {
            return Ok(());
        }
        Err(format!(
            "no circuit on {} runs at {} MHz: a flip-flop and a level of logic alone take {:.2} ns; the highest clock is {} MHz, \
             and kernels reach less",
            t.name,
            self.mhz,
            least + t.ff,
            (1000.0 / (least + t.ff)).floor()
        ))
    }

    /// How many signals can be ORed within one cycle; at least 2.
    pub fn or_inputs(&self) -> usize {
        let levels = (self.budget() / self.target.lut).clamp(1.0, 8.0) as u32;
        (self.target.lut_inputs.max(2) as usize).pow(levels)
    }
}

/// The cost of a piece of combinational logic; [`Cost::delay`] turns it into time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
    /// Logic of so many inputs in front of a carry chain of so many bits, and logic behind it.
    Path { before: u32, bits: u32, after: u32 },
    /// The way into a multiplier block's input registers.
    IntoProduct,
    /// The way from a block memory's output register.
    OutOfMemory,
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
            Cost::Path { before, bits, after } => {
                // A carry cell's own table takes in a function of four inputs.
                let logic = |inputs: u32, free: u32| if inputs <= free { 0.0 } else { Cost::Logic(inputs).delay(t) };
                logic(before, 4) + Cost::Add(bits).delay(t) + logic(after, 1)
            }
            Cost::Logic(inputs) => t.lut * levels(inputs),
            Cost::Add(bits) | Cost::Compare(bits) => t.carry_start + t.carry_bit * bits as f64,
            // A 4-input table holds a 2-way multiplexer, two tables a 4-way one.
            Cost::Mux(ways) => t.lut * ceil_log2(ways),
            Cost::Shift(positions) => t.lut * ceil_log2(positions),
            Cost::LeadingZeros(bits) => t.lut * ceil_log2(bits),
            Cost::IntoProduct => t.mul_in,
            Cost::OutOfMemory => t.rom_out,
        }
    }
}

/// Bits needed to count to `n`; at least 1.
fn ceil_log2(n: u32) -> f64 {
    n.max(2).next_power_of_two().ilog2() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Reduce};

    #[test]
    fn every_target_has_a_file_that_makes_sense() {
        for (t, text) in TARGETS.iter().zip(TEXTS) {
            assert_eq!(target(t.name), Some(t), "{} is there twice", t.name);
            assert!(text.starts_with("# "), "{} does not say where its numbers come from", t.name);
            let delays = [t.lut, t.carry_start, t.carry_bit, t.mul, t.rom, t.ff];
            assert!(delays.iter().all(|d| (0.005..20.0).contains(d)), "{}: {delays:?}", t.name);
            assert!([t.mul_in, t.rom_out].iter().all(|d| (0.0..10.0).contains(d)), "{}", t.name);
            assert!((3..=8).contains(&t.lut_inputs) && t.mul_a >= t.mul_b && t.mul_b >= t.mul_from, "{}", t.name);
            assert!(t.memory_bits > 0 && (1..=72).contains(&t.memory_width), "{}", t.name);
            let (d, none) = (t.delay, t.delay.kind == DelayKind::None);
            assert_eq!(none, d.width == 0 && d.depth == 0 && d.from == 0, "{}", t.name);
            assert!(none || (2..=d.depth).contains(&d.from), "{}", t.name);
            // An adder of 64 bits is the longest single piece that operators ask for; see `circuit`.
            let clock = Clock { target: t, mhz: t.usual_mhz, blocks: None };
            assert!(clock.budget() > Cost::Add(64).delay(t), "{}", t.name);
        }
    }

    #[test]
    fn memories_take_as_few_blocks_as_a_shape_allows() {
        for (name, words, bits, blocks) in [
            ("max10", 1024, 9, 1),
            ("max10", 256, 36, 1),
            ("max10", 256, 37, 2),
            ("max10", 1024, 18, 2),
            ("max10", 8192, 1, 1),
            ("max10", 4096, 18, 8),
            ("max10", 2048, 4, 1),
            ("max10", 16, 64, 2),
            ("ice40", 256, 16, 1),
            ("ice40", 4, 33, 3),
            ("ice40", 1024, 4, 1),
            ("ice40", 512, 10, 2),
            ("ice40", 512, 0, 0),
        ] {
            let target = target(name).expect("a target");
            assert_eq!(target.blocks(words, bits), blocks, "{name}: {words} x {bits}");
        }
        // The engine's own memories have the shape of blocks of 18 Kibit at each depth, 16 of them without their parity bits.
        let ecp5 = target("ecp5").expect("a target");
        for (words, bits, blocks) in [(4096, 114, 29), (5461, 96, 48), (512, 73, 3), (2048, 100, 12), (64, 36, 1)] {
            assert_eq!(ecp5.cut_blocks(words, bits), blocks, "{words} x {bits}");
        }
    }

    #[test]
    fn a_file_has_each_key_once_and_no_other() {
        let generic = TEXTS[0];
        let refused = |text: String| toml::from_str::<Target>(text.leak()).expect_err("a mistake").to_string();
        let line = generic.lines().find(|l| l.starts_with("mul =")).expect("a key of the file");
        assert!(refused(generic.replace(line, "")).contains("missing field `mul`"));
        assert!(refused(format!("speed = 6\n{generic}")).contains("unknown field `speed`"));
        assert!(refused(format!("lut = 1\n{generic}")).contains("duplicate key"));
        assert!(refused(generic.replace("\"none\"", "\"flipflops\"")).contains("unknown variant `flipflops`"));
    }

    #[test]
    fn sums_are_cut_by_target_and_clock() {
        let lower = |name: &str, mhz: f64, from_block: bool, width: u32| {
            let clock = Clock { target: target(name).expect("a target"), mhz, blocks: None };
            clock.chains(from_block).low(Format::int(width, true).expect("a width"))
        };
        // A product of 32 bits and its guard bits in one clock: on ECP5 at 75 MHz and not at 150.
        assert_eq!([75.0, 150.0].map(|mhz| lower("ecp5", mhz, true, 32)), [64, 24]);
        assert_eq!(lower("generic", 150.0, true, 32), 64);
        // Longer sums are cut in any case, and short ones within their own bits.
        assert_eq!([75.0, 150.0].map(|mhz| lower("ecp5", mhz, false, 64)), [40, 40]);
        assert!(lower("ecp5", 190.0, true, 8) < 8);
        for t in TARGETS.iter() {
            let clock = Clock { target: t, mhz: t.usual_mhz, blocks: None };
            for (from_block, width) in [(true, 32), (false, 32), (true, 64), (false, 64), (true, 2), (false, 17)] {
                let time = clock.chains(from_block).longest(Format::int(width, true).expect("a width"), Reduce::Sum);
                assert!(time <= clock.budget(), "{}, {width} bits, from a block: {from_block}: {time}", t.name);
            }
        }
    }

    #[test]
    fn a_clock_that_no_circuit_has_is_refused() {
        let clock = |name: &str, mhz: f64| Clock { target: target(name).expect("a target"), mhz, blocks: None };
        for t in TARGETS.iter() {
            assert_eq!(clock(t.name, t.usual_mhz).verify(), Ok(()));
            assert!(clock(t.name, 1000.0).verify().is_err(), "{}", t.name);
        }
        let why = clock("ice40", 800.0).verify().expect_err("0.5 ns less than nothing");
        assert!(why.contains("the highest clock is 219 MHz"), "{why}");
    }
}
