//! Area: what a netlist takes of a device, from yosys's statistics.

use crate::FlowError;
use crate::family::Family;
use crate::packing::Packing;
use hdl::circuit::target::Target;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The resources that a netlist takes of a device.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Area {
    /// Lookup tables, arithmetic ones and those used as memory included.
    pub luts: u64,
    /// Bits of carry chain among them.
    pub carries: u64,
    pub flip_flops: u64,
    /// Flip-flops behind no table of their own, and elements that could hold one of them beside their table; of a whole design
    /// alone.
    pub register_only: u64,
    pub room: u64,
    /// Multiplier blocks.
    pub multipliers: u64,
    /// Block memories.
    pub memories: u64,
    /// The cells themselves, by the tool's names.
    pub cells: BTreeMap<String, u64>,
}

/// The area of a netlist.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    /// Of each module, without what is instantiated in it.
    pub own: BTreeMap<String, Area>,
    /// Of the top with everything in it.
    pub whole: Area,
}

impl Modules {
    /// Notes how the flip-flops of the whole can be packed.
    pub fn pack(&mut self, packing: Packing) {
        (self.whole.register_only, self.whole.room) = (packing.register_only, packing.room);
    }
}

impl Area {
    /// Logic elements, or what is nearest to them in the family, if every flip-flop found a place beside a table: one
    /// holds a lookup table and a flip-flop, so the larger number decides.
    pub fn logic_elements(&self) -> u64 {
        self.luts.max(self.flip_flops)
    }

    /// The same where flip-flops without a table of their own are put beside other tables as far as these leave a way in.
    pub fn logic_elements_packed(&self) -> u64 {
        self.luts + self.register_only.saturating_sub(self.room)
    }

    /// The same where each flip-flop without a table of its own takes an element.
    pub fn logic_elements_most(&self) -> u64 {
        self.luts + self.register_only
    }

    /// The area of cells; memories that are not mapped to blocks are left out.
    fn of(family: &Family, cells: BTreeMap<String, u64>) -> Area {
        let mut area = Area::default();
        for (name, n) in &cells {
            // What is not in the list (an instance, a marker) takes nothing itself.
            let Some(cell) = family.cells.iter().find(|c| c.is(name)) else { continue };
            area.luts += n * cell.counts.luts;
            area.carries += n * cell.counts.carries;
            area.flip_flops += n * cell.counts.flip_flops;
            area.multipliers += n * cell.counts.multipliers;
            area.memories += n * cell.counts.memories;
        }
        area.cells = cells;
        area
    }

    /// Takes out `n` cells of a kind.
    pub(crate) fn without(&mut self, family: &Family, kind: &str, n: u64) {
        let Some(count) = self.cells.get_mut(kind) else { return };
        *count = count.saturating_sub(n);
        let (register_only, room) = (self.register_only, self.room);
        *self = Area { register_only, room, ..Area::of(family, std::mem::take(&mut self.cells)) };
    }

    /// This less `n` times `other`, nothing below 0.
    pub(crate) fn less(&self, n: u64, other: &Area) -> Area {
        Area {
            luts: self.luts.saturating_sub(n * other.luts),
            carries: self.carries.saturating_sub(n * other.carries),
            flip_flops: self.flip_flops.saturating_sub(n * other.flip_flops),
            register_only: 0,
            room: 0,
            multipliers: self.multipliers.saturating_sub(n * other.multipliers),
            memories: self.memories.saturating_sub(n * other.memories),
            cells: BTreeMap::new(),
        }
    }
}

/// Reads what `stat -json` wrote.
pub(crate) fn read(family: &Family, stat: &Path) -> Result<Modules, FlowError> {
    let text = std::fs::read(stat).map_err(FlowError::io(stat))?;
    let stat: Value = serde_json::from_slice(&text).map_err(FlowError::report(stat))?;
    let cells = |v: &Value| -> BTreeMap<String, u64> {
        let counts = v["num_cells_by_type"].as_object().into_iter().flatten();
        counts.filter_map(|(name, n)| Some((name.trim_start_matches('\\').to_string(), n.as_u64()?))).collect()
    };
    let mut modules = Modules { whole: Area::of(family, cells(&stat["design"])), ..Modules::default() };
    for (name, module) in stat["modules"].as_object().into_iter().flatten() {
        modules.own.insert(name.trim_start_matches('\\').to_string(), Area::of(family, cells(module)));
    }
    Ok(modules)
}

/// Counts the cells of a netlist in yosys's JSON, of a family whose memories are not mapped.
pub(crate) fn count(family: &Family, netlist: &Value, top: &str) -> Modules {
    let target = hdl::circuit::target::target(family.target).expect("every family is that of a target");
    let mut modules = Modules::default();
    for (name, module) in netlist["modules"].as_object().into_iter().flatten() {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        let mut memories = 0;
        for cell in module["cells"].as_object().into_iter().flat_map(|c| c.values()) {
            let kind = cell["type"].as_str().unwrap_or_default();
            *kinds.entry(kind.to_string()).or_insert(0) += 1;
            memories += if kind == "$mem_v2" { blocks(target, &cell["parameters"]) } else { 0 };
        }
        let area = Area::of(family, kinds);
        modules.own.insert(name.clone(), Area { memories: area.memories + memories, ..area });
    }
    modules.whole = total(&modules.own, top);
    modules
}

/// The area of a module with everything in it.
fn total(own: &BTreeMap<String, Area>, name: &str) -> Area {
    let mut sum = own.get(name).cloned().unwrap_or_default();
    for (inner, n) in sum.cells.clone().iter().filter(|(inner, _)| own.contains_key(*inner)) {
        let part = total(own, inner);
        sum.luts += n * part.luts;
        sum.carries += n * part.carries;
        sum.flip_flops += n * part.flip_flops;
        sum.multipliers += n * part.multipliers;
        sum.memories += n * part.memories;
    }
    sum
}

/// Block memories for a memory of `SIZE` words of `WIDTH` bits.
fn blocks(target: &Target, parameters: &Value) -> u64 {
    let number = |name: &str| match &parameters[name] {
        Value::String(bits) => u64::from_str_radix(bits, 2).unwrap_or(0),
        other => other.as_u64().unwrap_or(0),
    };
    target.blocks(number("SIZE"), number("WIDTH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_count_as_their_family_says() {
        let ecp5 = crate::family::family("ecp5").unwrap();
        let cells =
            [("LUT4", 10), ("CCU2C", 3), ("TRELLIS_FF", 40), ("MULT18X18D", 2), ("DP16KD", 1), ("some_module", 9)];
        let area = Area::of(ecp5, cells.map(|(name, n)| (name.to_string(), n)).into());
        let counts = [area.luts, area.carries, area.flip_flops, area.multipliers, area.memories, area.logic_elements()];
        assert_eq!(counts, [16, 6, 40, 2, 1, 40]);
    }
}
