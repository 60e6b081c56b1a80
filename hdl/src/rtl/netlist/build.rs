//! Writing a module item by item: each call declares a name and gives it back as an expression of its width.

use super::{Dir, Item, Module};
use crate::rtl::{Name, Value, net};

impl Module {
    /// An input port.
    pub fn input(&mut self, name: impl Into<Name>, width: u32) -> Value {
        net(self.port(Dir::In, name, width), width)
    }

    /// A wire that something drives.
    pub fn net(&mut self, name: impl Into<Name>, width: u32) -> Value {
        let name = name.into();
        let value = net(&name, width);
        self.items.push(Item::Net { name, width });
        value
    }

    /// A wire with its value.
    pub fn wire(&mut self, name: impl Into<Name>, value: Value) -> Value {
        let name = name.into();
        let wire = net(&name, value.width());
        self.items.push(Item::Wire { name, value });
        wire
    }

    /// A register with what it takes.
    pub fn reg(&mut self, name: impl Into<Name>, next: Value) -> Value {
        let name = name.into();
        let reg = net(&name, next.width());
        self.items.push(Item::Reg { name, next });
        reg
    }

    /// A register that is read before [`Module::load`] says what it takes.
    pub fn hold(&mut self, name: impl Into<Name>, width: u32) -> Value {
        let name = name.into();
        let reg = net(&name, width);
        self.items.push(Item::Hold { name, width });
        reg
    }

    /// Sets the value that a register of [`Module::hold`] takes.
    pub fn load(&mut self, name: impl Into<Name>, next: Value) {
        self.items.push(Item::Load { name: name.into(), next });
    }

    /// A register that counts the clocks.
    pub fn counter(&mut self, name: impl Into<Name>, width: u32) -> Value {
        let name = name.into();
        let counter = net(&name, width);
        self.items.push(Item::Counter { name, width });
        counter
    }

    /// The value of an output port or net.
    pub fn assign(&mut self, name: impl Into<Name>, value: Value) {
        self.items.push(Item::Assign { name: name.into(), value });
    }

    pub fn comment(&mut self, text: impl Into<String>) {
        self.items.push(Item::Comment(text.into()));
    }

    /// A module inside this one.
    pub fn instance<P: Into<Name>>(
        &mut self,
        module: impl Into<Name>,
        name: impl Into<Name>,
        connections: impl IntoIterator<Item = (P, Value)>,
    ) {
        let connections = connections.into_iter().map(|(port, value)| (port.into(), value)).collect();
        self.items.push(Item::Instance { module: module.into(), name: name.into(), connections });
    }

    /// The port, wire or register of that name, which is declared already.
    pub fn signal(&self, name: &str) -> Value {
        let port = self.ports.iter().find(|p| p.name == name).map(|p| p.width);
        let own = || self.items.iter().filter_map(Item::declares).find(|d| d.0 == name).map(|d| d.1);
        let width = port.or_else(own);
        net(name, width.unwrap_or_else(|| panic!("{} has no signal {name} yet", self.name)))
    }
}
