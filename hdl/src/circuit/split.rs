//! Taking a pipelined circuit apart into a module for each owner, so that tools report by owner.

use crate::rtl::names::{Inside, Names};
use crate::rtl::netlist::{Dir, Item, Module};
use crate::rtl::{Name, Value, cat, net};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// An item, and the owner of what it defines.
pub(super) struct Owned {
    pub owner: u32,
    pub item: Item,
}

/// Where a signal is defined.
struct Signal {
    /// The part, or `None` for the module itself.
    home: Option<u32>,
    width: u32,
}

/// How the items of a part, or those of the module itself, read others' signals: whether ever as a whole.
type Reads = BTreeMap<Name, bool>;

/// Fills `module` with `items`, those of each owner that has a name in `parts` in a module `<module>_<name>` of their own,
/// whose instance has that name. Signals keep their names on both sides; an output port has one of its own.
/// `names` are all that the module has.
pub(super) fn split(module: &mut Module, items: Vec<Owned>, parts: &BTreeMap<u32, Name>, names: &Names) -> Vec<Module> {
    let home = |owner: u32| parts.contains_key(&owner).then_some(owner);
    let mut signals: HashMap<Name, Signal> = HashMap::new();
    for port in module.ports.iter().filter(|p| p.dir == Dir::In && p.name != "clk") {
        signals.insert(port.name.clone(), Signal { home: None, width: port.width });
    }
    for Owned { owner, item } in &items {
        if let Some((name, width)) = item.declares() {
            signals.insert(name.clone(), Signal { home: home(*owner), width });
        }
    }
    // What crosses from one home to another.
    let mut reads: BTreeMap<Option<u32>, Reads> = BTreeMap::new();
    let mut leaves: BTreeMap<u32, BTreeSet<Name>> = BTreeMap::new();
    for o in &items {
        let here = home(o.owner);
        let mut see = |name: &Name, full: u32, whole: bool| {
            let Some(signal) = signals.get(name) else { return };
            assert!(signal.width == full, "{name} has {} bits and is read as one of {full}", signal.width);
            if signal.home == here {
                return;
            }
            *reads.entry(here).or_default().entry(name.clone()).or_insert(false) |= whole;
            if let Some(from) = signal.home {
                leaves.entry(from).or_default().insert(name.clone());
            }
        };
        for value in o.item.values() {
            value.reads(&mut |name, full, high, low| see(name, full, high - low + 1 == full));
        }
    }
    let mut bodies: BTreeMap<u32, Vec<Item>> = parts.keys().map(|o| (*o, Vec::new())).collect();
    let mut rest = Vec::new();
    for Owned { owner, item } in items {
        bodies.get_mut(&owner).unwrap_or(&mut rest).push(item);
    }
    for name in leaves.values().flatten() {
        module.items.push(Item::Net { name: name.clone(), width: signals[name].width });
    }
    let mut made = Vec::new();
    let mut instances = Vec::new();
    let none = (Reads::new(), BTreeSet::new());
    for (owner, body) in bodies.into_iter().filter(|(_, body)| !body.is_empty()) {
        let (inputs, outputs) = (reads.get(&Some(owner)).unwrap_or(&none.0), leaves.get(&owner).unwrap_or(&none.1));
        let mut m = Module { name: format!("{}_{}", module.name, parts[&owner]), ..Module::default() };
        let mut connections = Vec::new();
        if body.iter().any(Item::uses_clock) {
            connections.push((m.port(Dir::In, "clk", 1), net("clk", 1)));
        }
        for name in inputs.keys() {
            connections.push((name.clone(), m.input(name, signals[name].width)));
        }
        m.items = body;
        let mut names = names.inside();
        let sliced = inputs.iter().filter(|(_, whole)| !**whole).map(|(name, _)| net(name, signals[name].width));
        sink(&mut m, sliced.collect(), &mut names);
        for name in outputs {
            let port = names.unique(&format!("{name}_out"));
            let value = net(name, signals[name].width);
            m.assign(&port, value.clone());
            connections.push((m.port(Dir::Out, port, value.width()), value));
        }
        instances.push(Item::Instance { module: (&m.name).into(), name: parts[&owner].clone(), connections });
        made.push(m);
    }
    module.items.extend(rest);
    module.items.extend(instances);
    // A signal that another part reads is connected whole.
    let passed: HashSet<&Name> = reads.iter().filter(|r| r.0.is_some()).flat_map(|r| r.1.keys()).collect();
    let own = reads.get(&None).unwrap_or(&none.0);
    let sliced = own.iter().filter(|(name, whole)| !**whole && !passed.contains(name));
    sink(module, sliced.map(|(name, _)| net(name, signals[name].width)).collect(), &mut names.inside());
    made
}

/// Reads what nothing else reads, so that linters do not ask about it.
pub(super) fn unused(values: Vec<Value>) -> Value {
    cat([Value::flag(false)].into_iter().chain(values)).all()
}

/// Reads signals whole of which only some bits are read.
fn sink(module: &mut Module, signals: Vec<Value>, names: &mut Inside) {
    if !signals.is_empty() {
        module.wire(names.unique("rest_unused"), unused(signals));
    }
}
