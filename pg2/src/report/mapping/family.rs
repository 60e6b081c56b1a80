//! Families as their tools cover logic: the costs of tables and the cells of carry chains.

use super::tables::WIDEST;

/// The form of a family's carry chains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chain {
    /// A cell adds two bits and inverts the second where all of a chain are.
    Whole,
    /// The same for bits that come with their inversion in a table; only the sum takes one.
    Split,
    /// A cell takes the XOR of the bits from a table.
    Propagated,
}

/// The figures of a family, as yosys has them.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// The most inputs of tables that multiplexers join.
    pub inputs: usize,
    /// By the number of inputs: what it counts as while tables are chosen, and the tables that it takes.
    pub area: [f32; WIDEST + 1],
    pub tables: [u64; WIDEST + 1],
    /// Delays in ns of the inputs, the fastest first, for each number of them; each with the wire before it.
    pub pins: [[f32; WIDEST]; WIDEST + 1],
    pub chain: Chain,
    /// Steps of chains come in as many at a time.
    pub steps: u64,
    /// Tables that a step takes.
    pub step_tables: u64,
    /// The widest addition that is left to tables.
    pub soft: usize,
    /// Whether the last carry of a sum takes a step of its own.
    pub last_step: bool,
    /// Whether multipliers have a register for their product, and an adder behind it.
    pub adding_multipliers: bool,
    /// Whether a table takes the place of a cell of a chain that it alone reads the sum of.
    pub joined_sums: bool,
    /// Bits of a read-only memory that tables hold rather than a block.
    pub logic_bits: u64,
    /// The tables that 16 words of 4 bits of a memory take, 0 where tables are none; and the cost of a block where such a piece costs 4.
    pub memory_tables: u64,
    pub block_cost: u64,
    /// Delays of chains: from an operand to sum and carry, from carry to carry and to the sum.
    pub into_sum: f32,
    pub into_carry: f32,
    pub carry: f32,
    pub carry_sum: f32,
}

const NEVER: f32 = 1e9;

/// The pins of tables with a wire before them; those with fewer inputs than the smallest that is given have its fastest pins.
fn pins(wire: f32, given: &[&[f32]]) -> [[f32; WIDEST]; WIDEST + 1] {
    let mut all = [[0.0; WIDEST]; WIDEST + 1];
    for (count, pins) in all.iter_mut().enumerate() {
        let own = given.iter().find(|g| g.len() >= count).or(given.last());
        for (k, pin) in pins.iter_mut().enumerate() {
            *pin = own.and_then(|own| own.get(k.min(own.len() - 1))).map_or(0.0, |ns| ns + wire);
        }
    }
    all
}

impl Family {
    /// The delays of the inputs of a table.
    pub fn pins(&self, inputs: u8) -> &[f32] {
        &self.pins[inputs as usize][..inputs as usize]
    }

    /// The family of a target; what is like none is taken for one with plain tables of four inputs.
    pub fn of(target: &str) -> Family {
        // Tables of four inputs, of which multiplexers join two, four and eight.
        let joined = Family {
            inputs: 7,
            area: [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0],
            tables: [0, 1, 1, 1, 1, 2, 4, 8],
            pins: [[0.0; WIDEST]; WIDEST + 1],
            chain: Chain::Whole,
            steps: 1,
            step_tables: 1,
            soft: 2,
            last_step: true,
            adding_multipliers: false,
            joined_sums: false,
            logic_bits: 2048,
            memory_tables: 0,
            block_cost: 128,
            into_sum: 0.4,
            into_carry: 0.5,
            carry: 0.05,
            carry_sum: 0.3,
        };
        let plain = |inputs: usize| {
            let mut area = [1.0; WIDEST + 1];
            (inputs + 1..=WIDEST).for_each(|k| area[k] = NEVER);
            Family { inputs, area, tables: [1; WIDEST + 1], ..joined.clone() }
        };
        match target {
            "ecp5" => Family {
                pins: pins(
                    0.3,
                    &[
                        &[0.141, 0.275, 0.379, 0.379],
                        &[0.151, 0.239, 0.373, 0.477, 0.477],
                        &[0.148, 0.292, 0.38, 0.514, 0.618, 0.618],
                        &[0.148, 0.289, 0.433, 0.521, 0.655, 0.759, 0.759],
                    ],
                ),
                steps: 2,
                soft: 4,
                // Four tables of memory, and two that its write port takes.
                memory_tables: 6,
                into_sum: 0.5,
                into_carry: 0.516,
                carry: 0.0215,
                carry_sum: 0.265,
                ..joined
            },
            "gowin" => Family {
                pins: pins(
                    0.5,
                    &[
                        &[0.902],
                        &[0.902, 1.184],
                        &[0.902, 1.184, 1.486],
                        &[0.902, 1.184, 1.486, 1.583],
                        &[0.68, 1.116, 1.371, 1.638, 1.638],
                        &[0.723, 0.935, 1.371, 1.626, 1.893, 1.893],
                        &[0.723, 0.978, 1.19, 1.626, 1.881, 2.148, 2.148],
                    ],
                ),
                memory_tables: 4,
                into_sum: 1.43,
                into_carry: 1.5,
                carry: 0.082,
                carry_sum: 0.811,
                ..joined
            },
            "ice40" => Family {
                pins: pins(0.25, &[&[0.316, 0.379, 0.4, 0.449]]),
                chain: Chain::Split,
                last_step: false,
                adding_multipliers: true,
                joined_sums: true,
                logic_bits: 1024,
                into_sum: 0.4,
                into_carry: 0.259,
                carry: 0.126,
                carry_sum: 0.316,
                ..plain(4)
            },
            "xc7" => Family {
                pins: pins(0.3, &[&[0.127, 0.238, 0.407, 0.472, 0.631, 0.642]]),
                area: [1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0, NEVER],
                chain: Chain::Propagated,
                step_tables: 0,
                last_step: false,
                memory_tables: 2,
                ..plain(6)
            },
            "cyclonev" => {
                Family { memory_tables: 4, pins: pins(0.2, &[&[0.097, 0.26, 0.4, 0.44, 0.5, 0.605]]), ..plain(6) }
            }
            _ => Family { pins: pins(0.3, &[&[0.4, 0.4, 0.4, 0.4]]), ..plain(4) },
        }
    }
}
