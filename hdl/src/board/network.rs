//! The vendor-independent part of a board on the network: link, engine and the light of work, at the words of datagrams.

use super::top::{Parts, lights, tapped};
use crate::rtl::netlist::Dir::Out;
use crate::rtl::netlist::{Module, Netlist};
use crate::rtl::{Name, Value};

/// Name of the top module.
pub fn name(kernel: &str) -> String {
    format!("{kernel}_network")
}

/// The link (see [`crate::ethernet::netlist`]) with the engine that `parts` names. The top module, `KERNEL_network`, has the
/// ports of the link for datagrams, `clk` and `rst`, and two outputs: `busy`, high from the first beat to the engine until it has
/// answered END, and `resting`, high as long as no host has a session.
pub fn around(parts: &Parts) -> Netlist {
    let kernel = parts.kernel;
    let mut m = Module { name: name(kernel), ..Module::default() };
    m.doc = vec![format!("{kernel} behind datagrams.")];
    let link = &parts.link.module(&parts.link.top).expect("a netlist holds its top").ports;
    let is_outer = |name: &str| ["clk", "rst"].contains(&name) || name.starts_with("rx_") || name.starts_with("tx_");
    for port in link.iter().filter(|p| is_outer(&p.name)) {
        m.port(port.dir, port.name.as_str(), port.width);
    }
    m.port(Out, "busy", 1);
    m.port(Out, "resting", 1);
    let leds = parts.board.leds;
    let lit = [(true, "busy"), (leds.alive, "alive"), (leds.error, "error")].into_iter().filter(|l| l.0).map(|l| l.1);
    let lit: Vec<&str> = lit.collect();
    for name in ["engine_rst", "lost"].into_iter().chain(lit.iter().copied().filter(|l| *l != "busy")) {
        m.net(name, 1);
    }
    for port in link.iter().filter(|p| p.name.starts_with("s_t") || p.name.starts_with("m_t")) {
        m.net(port.name.as_str(), port.width);
    }
    let mut add = |module: String, name: &str, ports: Vec<(Name, Name)>| {
        let connections: Vec<(Name, Value)> = ports.into_iter().map(|(port, net)| (port, m.signal(&net))).collect();
        m.instance(module, name, connections);
    };
    add(parts.link.top.clone(), "link", link.iter().map(|p| (p.name.clone(), p.name.clone())).collect());
    let stream = link.iter().filter(|p| p.name.starts_with("s_t") || p.name.starts_with("m_t"));
    let mut engine: Vec<(Name, Name)> = stream.map(|p| (p.name.clone(), p.name.clone())).collect();
    engine.extend([("clk".into(), "clk".into()), ("rst".into(), "engine_rst".into())]);
    add(parts.engine.to_string(), "engine", engine);
    let same = ["clk", "rst", "engine_rst", "lost"].into_iter().chain(lit);
    let mut watched: Vec<(String, Value)> = same.map(|name| (name.to_string(), m.signal(name))).collect();
    let side = |prefix: &'static str| {
        let m = &m;
        move |name: &str| m.signal(&format!("{prefix}_t{name}"))
    };
    watched.extend(tapped(parts, &side("s"), &side("m")));
    m.instance(format!("{kernel}_lights"), "lights", watched);
    let resting = m.signal("engine_rst");
    m.assign("resting", resting);
    let mut all = Netlist { top: m.name.clone(), modules: parts.link.modules.clone() };
    all.extend([lights(parts), m]);
    all
}
