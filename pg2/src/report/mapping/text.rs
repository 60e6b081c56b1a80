//! What modules take that are hand-written text: the memories and registers that it declares, and the addresses of the memories.

use super::family::Family;
use crate::report::area::Area;
use hdl::circuit::target::Target;
use hdl::rtl::netlist::{Item, Module};

/// Words and bits of a memory that lookup tables hold.
const TABLE_WORDS: u64 = 16;
const TABLE_BITS: u64 = 4;
/// The cost of such a piece where tools choose the place of a memory.
const TABLE_COST: u64 = 4;

/// A register or a memory that a line declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Declared {
    bits: u64,
    /// 1 of a register.
    words: u64,
}

/// The resources of a module of text.
pub(super) fn area(module: &Module, family: &Family, target: &Target) -> Area {
    let mut area = Area::default();
    let lines = module.items.iter().filter_map(|item| if let Item::Text(text) = item { Some(text) } else { None });
    for Declared { bits, words } in lines.flat_map(|text| text.lines()).filter_map(declared) {
        if words == 1 {
            area.registers += bits;
            continue;
        }
        // A counter for an address, and the difference from it.
        area.tables += 2 * (words.ilog2() as u64 + 1);
        area.add(memory(family, target, words, bits));
    }
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
fn declared(line: &str) -> Option<Declared> {
    let code = line.split("//").next()?.trim();
    let code = code.strip_prefix("(*").and_then(|c| c.split_once("*)")).map_or(code, |c| c.1).trim_start();
    let rest = code.strip_prefix("reg ")?.split(';').next()?;
    let mut ranges = rest.split('[').skip(1).filter_map(|r| {
        let (a, b) = r.split(']').next()?.split_once(':')?;
        Some(a.trim().parse::<u64>().ok()?.abs_diff(b.trim().parse().ok()?) + 1)
    });
    let bits = if rest.trim_start().starts_with('[') { ranges.next()? } else { 1 };
    Some(Declared { bits, words: ranges.next().unwrap_or(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read() {
        let of = |line| declared(line).map(|d| (d.bits, d.words));
        assert_eq!(of("    reg [7:0] word;"), Some((8, 1)));
        assert_eq!(of("    reg flag;"), Some((1, 1)));
        assert_eq!(of("    (* no_rw_check *) reg [35:0] memory [0:511]; // words"), Some((36, 512)));
        assert_eq!(of("    wire [7:0] word;"), None);
    }
}
