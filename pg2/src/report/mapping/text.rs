//! Modules that are delay lines in memory or hand-written text: the memories and registers that it declares, and the addresses of the memories.

use super::family::Family;
use crate::report::area::Area;
use hdl::circuit::target::Target;
use hdl::rtl::delay::Read;
use hdl::rtl::netlist::{Item, Module};

/// Words and bits of a memory that lookup tables hold.
const TABLE_WORDS: u64 = 16;
const TABLE_BITS: u64 = 4;
/// The cost of such a piece where tools choose the place of a memory.
const TABLE_COST: u64 = 4;

/// A register or a memory that a line declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Declared<'a> {
    name: &'a str,
    bits: u64,
    /// 1 of a register.
    words: u64,
}

/// The resources of a module that is text or a memory.
pub(super) fn area(module: &Module, family: &Family, target: &Target) -> Area {
    let mut area = Area::default();
    for item in &module.items {
        match item {
            Item::Counter { width, .. } => area.registers += *width as u64,
            Item::Memory { words, data, read, .. } => {
                // The counter, and the difference from it.
                area.tables += 2 * (words.ilog2() as u64 + 1);
                let width = data.width() as u64;
                let memory = memory(family, target, *words, width);
                // What a block memory is read into is a register of its own.
                let own = *read == Read::Registered && memory.memories == 0;
                area.registers += if own { width } else { 0 };
                area.add(memory);
            }
            _ => {}
        }
    }
    let texts = || module.items.iter().filter_map(|item| if let Item::Text(text) = item { Some(text) } else { None });
    let lines = || texts().flat_map(|text| text.lines());
    let counts = lines().any(|line| line.contains(" + "));
    let mut in_blocks = false;
    let mut registers = Vec::new();
    for Declared { name, bits, words } in lines().filter_map(declared) {
        if words == 1 {
            registers.push((name, bits));
            continue;
        }
        if counts {
            // A counter for an address, and the difference from it.
            area.tables += 2 * (words.ilog2() as u64 + 1);
        }
        let memory = memory(family, target, words, bits);
        in_blocks |= memory.memories > 0;
        area.add(memory);
    }
    // What a block memory is read into is a register of its own.
    let read = |name: &str| lines().any(|line| line.contains(&format!(" {name} <= memory")));
    area.registers +=
        registers.iter().filter(|(name, _)| !(in_blocks && read(name))).map(|(_, bits)| bits).sum::<u64>();
    area
}

/// Bits of a memory that flip-flops hold where tables are none.
const FLIP_FLOPS: u64 = 32;

/// A memory in blocks, or in tables where these are cheaper.
pub(super) fn memory(family: &Family, target: &Target, words: u64, bits: u64) -> Area {
    let pieces = words.div_ceil(TABLE_WORDS) * bits.div_ceil(TABLE_BITS);
    let blocks = target.blocks(words, bits);
    match family.memory_tables > 0 {
        true if pieces * TABLE_COST < blocks * family.block_cost => {
            Area { tables: pieces * family.memory_tables, ..Area::default() }
        }
        false if words * bits <= FLIP_FLOPS => Area { registers: words * bits, ..Area::default() },
        _ => Area { memories: blocks, ..Area::default() },
    }
}

/// `reg [7:0] name;` or `reg [7:0] name [0:15];`, with attributes in front of it or not.
fn declared(line: &str) -> Option<Declared<'_>> {
    let code = line.split("//").next()?.trim();
    let code = code.strip_prefix("(*").and_then(|c| c.split_once("*)")).map_or(code, |c| c.1).trim_start();
    let rest = code.strip_prefix("reg ")?.split(';').next()?;
    let mut ranges = rest.split('[').skip(1).filter_map(|r| {
        let (a, b) = r.split(']').next()?.split_once(':')?;
        Some(a.trim().parse::<u64>().ok()?.abs_diff(b.trim().parse().ok()?) + 1)
    });
    let bits = if rest.trim_start().starts_with('[') { ranges.next()? } else { 1 };
    let name = if rest.trim_start().starts_with('[') { rest.split_once(']')?.1 } else { rest };
    let name = name.split('[').next()?.trim();
    Some(Declared { name, bits, words: ranges.next().unwrap_or(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read() {
        let of = |line| declared(line).map(|d| (d.name, d.bits, d.words));
        assert_eq!(of("    reg [7:0] word;"), Some(("word", 8, 1)));
        assert_eq!(of("    reg flag;"), Some(("flag", 1, 1)));
        assert_eq!(of("    (* no_rw_check *) reg [35:0] memory [0:511]; // words"), Some(("memory", 36, 512)));
        assert_eq!(of("    wire [7:0] word;"), None);
    }
}
