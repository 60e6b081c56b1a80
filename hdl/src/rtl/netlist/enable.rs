//! A clock enable for everything in a netlist.

use super::{Dir, Item, Module, Netlist, Port};
use crate::hash::FastMap;
use crate::rtl::names::Names;
use crate::rtl::{Name, net};
use std::sync::Arc;

/// The name of the port, or of the nearest one that is free.
const ENABLE: &str = "enable";

impl Netlist {
    /// The same with an input at each module with a clock, by which its registers and memories take something. While it is low nothing
    /// changes. The error names a hand-written module with a clock, which has no such input.
    pub fn enabled(&self) -> Result<Netlist, String> {
        let clocked = |m: &&Arc<Module>| m.ports.iter().any(|p| p.name == "clk");
        let mut ports: FastMap<Name, Name> = FastMap::default();
        for module in self.modules.iter().filter(clocked) {
            if module.items.iter().any(|i| matches!(i, Item::Text(_))) {
                return Err(format!("{} is text, which no clock enable goes into", module.name));
            }
            ports.insert((&module.name).into(), free_name(module));
        }
        let mut netlist = self.clone();
        for module in netlist.modules.iter_mut().map(Arc::make_mut) {
            let Some(own) = ports.get(module.name.as_str()) else { continue };
            module.enable = Some(own.clone());
            let behind = module.ports.iter().position(|p| p.name == "clk").map_or(0, |k| k + 1);
            module.ports.insert(behind, Port { dir: Dir::In, name: own.clone(), width: 1 });
            for item in &mut module.items {
                if let Item::Instance { module, connections, .. } = item
                    && let Some(port) = ports.get(module)
                {
                    let behind = connections.iter().position(|c| c.0 == "clk").map_or(0, |k| k + 1);
                    connections.insert(behind, (port.clone(), net(own, 1)));
                }
            }
        }
        Ok(netlist)
    }
}

/// A name for the port that nothing in the module has.
fn free_name(module: &Module) -> Name {
    let mut names = Names::default();
    module.ports.iter().for_each(|p| names.reserve(&p.name));
    module.items.iter().flat_map(Item::names).for_each(|name| names.reserve(&name));
    names.unique(ENABLE)
}
