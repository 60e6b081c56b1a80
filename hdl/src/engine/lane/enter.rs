//! The registers of each lane's own that the pairs of its group come through, so that lanes can stand apart.

use crate::engine::Config;
use crate::engine::hand;
use crate::hash::{FastMap, FastSet};
use crate::rtl::netlist::Module;
use crate::rtl::{Value, cat};

/// The signals through these registers: name and width of a port of the lane, or the part of a record that is that port of the pipeline.
fn coming(config: &Config, ports: &FastSet<&str>) -> Vec<(String, u32)> {
    let known = |port: &str| ports.contains(port);
    let layout = &config.layout;
    let mut coming: Vec<(String, u32)> =
        ["c_last", "c_first", "c_valid"].iter().map(|name| (name.to_string(), 1)).collect();
    coming.push(("c_active".into(), config.filters.max(1)));
    if config.i_banks == 2 && layout.i.iter().any(|(port, _)| known(port)) {
        coming.push(("c_bank".into(), 1));
    }
    if config.ii > 1 {
        coming.push(("c_start".into(), 1));
    }
    let elements = layout.j.iter().chain(&layout.params).filter(|(port, _)| known(port));
    coming.extend(elements.map(|(port, format)| (port.clone(), format.width())));
    let tables = layout.tables.iter().filter(|table| known(&table.port));
    coming.extend(tables.map(|table| (table.port.clone(), table.port_bits())));
    coming
}

/// The modules that [`enter`] needs.
pub(super) fn modules(config: &Config, ports: &FastSet<&str>) -> Vec<Module> {
    let width = coming(config, ports).iter().map(|c| c.1).sum();
    if config.spread() { vec![hand::module(&config.layout.kernel, width)] } else { Vec::new() }
}

/// Adds the registers, if the engine has them; `ports` are those of what reads them.
pub(super) fn enter(lane: &mut Module, config: &Config, ports: &FastSet<&str>) {
    if !config.spread() {
        return;
    }
    let coming = coming(config, ports);
    // Where the elements of records are.
    let mut places: FastMap<&str, Value> = FastMap::default();
    for (record, elements) in [("j_rec", &config.layout.j), ("param", &config.layout.params)] {
        let mut at = 0;
        for (port, format) in elements {
            places.insert(port, lane.signal(record).bits(at, format.width()));
            at += 32 * format.words();
        }
    }
    let source = |lane: &Module, name: &str| places.get(name).cloned().unwrap_or_else(|| lane.signal(name));
    lane.comment("What comes from the lane's group comes through registers of its own.");
    let d = cat(coming.iter().rev().map(|(name, _)| source(lane, name)));
    let held = hand::instance(lane, &config.layout.kernel, "enter", "entering", d);
    let mut at = 0;
    for (name, width) in coming {
        lane.wire(format!("entered_{name}"), held.bits(at, width));
        at += width;
    }
}

/// The signal behind the registers, or the port itself where there are none.
pub(super) fn entered(lane: &Module, name: &str) -> Value {
    let own = format!("entered_{name}");
    let known = lane.items.iter().filter_map(|i| i.declares()).any(|d| *d.0 == own);
    if known { lane.signal(&own) } else { lane.signal(name) }
}
