//! Taking a pipelined circuit apart into a module for each owner, so that tools report by owner.

use crate::rtl::names::Names;
use crate::rtl::netlist::{Dir, Item, Module, identifiers};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An item and the owner of what it defines.
pub(super) type Owned = (u32, Item);

/// Where a signal is defined.
struct Signal {
    /// The part, or `None` for the module itself.
    home: Option<u32>,
    width: u32,
}

/// How the items of a part, or those of the module itself, read others' signals: whether ever as a whole.
type Reads = BTreeMap<String, bool>;

/// Fills `module` with `items`, those of each owner that has a name in `parts` in a module `<module>_<name>` of their own,
/// whose instance has that name. Signals keep their names on both sides; an output port has one of its own.
/// `names` are all that the module has.
pub(super) fn split(
    module: &mut Module,
    items: Vec<Owned>,
    parts: &BTreeMap<u32, String>,
    names: &Names,
) -> Vec<Module> {
    let home = |owner: u32| parts.contains_key(&owner).then_some(owner);
    let mut signals: HashMap<String, Signal> = HashMap::new();
    for port in module.ports.iter().filter(|p| p.dir == Dir::In && p.name != "clk") {
        signals.insert(port.name.clone(), Signal { home: None, width: port.width });
    }
    for (owner, item) in &items {
        if let Some((name, width)) = definition(item) {
            signals.insert(name.to_string(), Signal { home: home(*owner), width });
        }
    }
    // What crosses from one home to another.
    let mut reads: BTreeMap<Option<u32>, Reads> = BTreeMap::new();
    let mut leaves: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for (owner, item) in &items {
        let here = home(*owner);
        for (name, sliced) in texts(item).into_iter().flat_map(uses) {
            let Some(from) = signals.get(name).filter(|s| s.home != here).map(|s| s.home) else { continue };
            *reads.entry(here).or_default().entry(name.to_string()).or_insert(false) |= !sliced;
            if let Some(from) = from {
                leaves.entry(from).or_default().insert(name.to_string());
            }
        }
    }
    let mut bodies: BTreeMap<u32, Vec<Item>> = parts.keys().map(|o| (*o, Vec::new())).collect();
    let mut rest = Vec::new();
    for (owner, item) in items {
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
            connections.push((m.port(Dir::In, "clk", 1), "clk".to_string()));
        }
        for name in inputs.keys() {
            connections.push((m.port(Dir::In, name, signals[name].width), name.clone()));
        }
        m.items = body;
        let mut names = names.clone();
        sink(&mut m, inputs.iter().filter(|(_, whole)| !**whole).map(|(name, _)| name), &mut names);
        for name in outputs {
            let port = names.unique(&format!("{name}_out"));
            m.items.push(Item::Assign { name: port.clone(), expr: name.clone() });
            connections.push((m.port(Dir::Out, port, signals[name].width), name.clone()));
        }
        instances.push(Item::Instance { module: m.name.clone(), name: parts[&owner].clone(), connections });
        made.push(m);
    }
    module.items.extend(rest);
    module.items.extend(instances);
    // A signal that another part reads is connected whole.
    let passed = |name: &str| reads.iter().any(|(home, r)| home.is_some() && r.contains_key(name));
    let own = reads.get(&None).unwrap_or(&none.0);
    sink(
        module,
        own.iter().filter(|(name, whole)| !**whole && !passed(name)).map(|(name, _)| name),
        &mut names.clone(),
    );
    made
}

/// Reads signals whole of which only some bits are read, so that linters do not ask about the others.
fn sink<'a>(module: &mut Module, signals: impl Iterator<Item = &'a String>, names: &mut Names) {
    let signals: Vec<&str> = signals.map(String::as_str).collect();
    if signals.is_empty() {
        return;
    }
    let expr = format!("&{{1'b0, {}}}", signals.join(", "));
    module.items.push(Item::Wire { name: names.unique("rest_unused"), width: 1, expr });
}

/// The name and width that an item declares.
fn definition(item: &Item) -> Option<(&str, u32)> {
    match item {
        Item::Wire { name, width, .. }
        | Item::Net { name, width }
        | Item::Reg { name, width, .. }
        | Item::Rom { name, width, .. } => Some((name, *width)),
        _ => None,
    }
}

/// The expressions of an item.
fn texts(item: &Item) -> Vec<&str> {
    match item {
        Item::Wire { expr, .. } | Item::Assign { expr, .. } => vec![expr],
        Item::Reg { next, .. } => vec![next],
        Item::Rom { addr, .. } => vec![addr],
        Item::Instance { connections, .. } => connections.iter().map(|c| c.1.as_str()).collect(),
        _ => vec![],
    }
}

/// The identifiers of an expression, and whether a bit or a slice of each is meant.
fn uses(expr: &str) -> impl Iterator<Item = (&str, bool)> {
    identifiers(expr).map(move |name| {
        let end = name.as_ptr() as usize - expr.as_ptr() as usize + name.len();
        (name, expr.as_bytes().get(end) == Some(&b'['))
    })
}
