//! Copies of a signal in registers that tools may not merge: one for each lane or lane group that reads it.

use crate::engine::shell::text_module;
use crate::rtl::Value;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::Module;
use askama::Template;

#[derive(Template)]
#[template(path = "hand.v", escape = "none")]
struct Hand {
    width: u32,
}

/// The module of such a copy of `width` bits.
pub(super) fn module(prefix: &str, width: u32) -> Module {
    let ports = vec![(In, "clk", 1), (In, "d", width), (Out, "q", width)];
    text_module(name(prefix, width), "Registers that stay apart.", ports, Hand { width })
}

fn name(prefix: &str, width: u32) -> String {
    format!("{prefix}_hand_{width}")
}

/// Adds a copy of `d` to a module, which it gives the name `net`.
pub(super) fn instance(to: &mut Module, prefix: &str, instance: &str, net: &str, d: Value) -> Value {
    let q = to.net(net, d.width());
    let module = name(prefix, d.width());
    let connections = [("clk", to.signal("clk")), ("d", d), ("q", q.clone())];
    to.instance(module, instance, connections);
    q
}
