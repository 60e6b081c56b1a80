//! The memory-mapped wrapper: a module around the engine with an AXI4-Lite slave for its registers, an AXI4 master that reads
//! commands from memory, and one that writes results there. Both buffers hold packets as [`bytes`](crate::engine::bytes) has them.
//!
//! | block | what it does | text |
//! |---|---|---|
//! | `control` | registers, the course of a job, resets | `templates/axi/control.v` |
//! | `fetch` | reads ahead into a queue | `templates/axi/fetch.v` |
//! | `feed` | words to packets for the engine | `templates/axi/feed.v` |
//! | `gather` | packets of the engine to words | `templates/axi/gather.v` |
//! | `store` | writes from a queue | `templates/axi/store.v` |

mod blocks;
mod package;
mod registers;

pub use package::Package;
pub use registers::{FAULTS, REGISTERS, Register};

use crate::engine::{Config, outline, plain_queue, plain_relay};
use crate::rtl::Value;
use crate::rtl::cat;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Dir, Module, Netlist};
use blocks::{Sizes, blocks};

/// Widths of the masters' data in bits.
pub const DATA_BITS: [u32; 3] = [32, 64, 128];

/// Beats of a queue in front of the engine or behind it: a block memory.
const QUEUE: u32 = 512;

/// The names of the interfaces, as they begin the names of their ports.
pub const CONTROL: &str = "s_axi_control";
pub const COMMANDS: &str = "m_axi_commands";
pub const RESULTS: &str = "m_axi_results";

/// The wrapper around an engine.
#[derive(Clone, Copy)]
pub struct Wrapper<'a> {
    /// The engine's top module.
    pub engine: &'a str,
    pub config: &'a Config,
    /// Bits of the masters' data: one of [`DATA_BITS`], and at least those of the engine's streams.
    pub data_bits: u32,
}

impl Wrapper<'_> {
    /// The name of its top module.
    pub fn top(&self) -> String {
        format!("{}_axi", self.engine)
    }

    /// Its modules without those of the engine, whose ports are the second value.
    pub fn netlist(&self) -> (Netlist, Module) {
        let engine = outline(self.engine, self.config.stream_bits);
        let sizes = Sizes::new(self);
        let (queues, relay) = (queues(&sizes), plain_relay(&sizes.top, sizes.stream_bits + 1));
        let blocks = blocks(&sizes);
        let top = top(&sizes, &blocks, &engine);
        let mut netlist = Netlist { top: top.name.clone(), modules: Vec::new() };
        queues.into_iter().chain([relay]).chain(blocks).chain([top]).for_each(|m| netlist.add(m));
        (netlist, engine)
    }
}

/// The queue of what was read, a beat and whether it could not be; and that of what is to be written, with a strobe for each word.
fn queues(s: &Sizes) -> [Module; 2] {
    [s.data_bits + 1, s.data_bits + s.beat_words].map(|width| plain_queue(&s.top, width, QUEUE))
}

/// Ports of the registers.
pub(super) fn control_ports() -> Vec<(Dir, String, u32)> {
    let port = |(dir, name, width): (Dir, &str, u32)| (dir, format!("{CONTROL}_{name}"), width);
    let ports = [
        (In, "awaddr", 12),
        (In, "awprot", 3),
        (In, "awvalid", 1),
        (Out, "awready", 1),
        (In, "wdata", 32),
        (In, "wstrb", 4),
        (In, "wvalid", 1),
        (Out, "wready", 1),
        (Out, "bresp", 2),
        (Out, "bvalid", 1),
        (In, "bready", 1),
        (In, "araddr", 12),
        (In, "arprot", 3),
        (In, "arvalid", 1),
        (Out, "arready", 1),
        (Out, "rdata", 32),
        (Out, "rresp", 2),
        (Out, "rvalid", 1),
        (In, "rready", 1),
    ];
    ports.map(port).into()
}

/// Ports of what a master says of a burst: `what` is `ar` or `aw`.
fn address_ports(name: &str, what: &str) -> Vec<(Dir, String, u32)> {
    let port = |(dir, signal, width): (Dir, &str, u32)| (dir, format!("{name}_{what}{signal}"), width);
    let ports = [
        (Out, "id", 1),
        (Out, "addr", 64),
        (Out, "len", 8),
        (Out, "size", 3),
        (Out, "burst", 2),
        (Out, "cache", 4),
        (Out, "prot", 3),
        (Out, "valid", 1),
        (In, "ready", 1),
    ];
    ports.map(port).into()
}

/// Ports of the master that reads commands.
pub(super) fn command_ports(data_bits: u32) -> Vec<(Dir, String, u32)> {
    let data = [("id", 1), ("data", data_bits), ("resp", 2), ("last", 1), ("valid", 1)];
    let data = data.map(|(signal, width)| (In, format!("{COMMANDS}_r{signal}"), width));
    let ready = (Out, format!("{COMMANDS}_rready"), 1);
    address_ports(COMMANDS, "ar").into_iter().chain(data).chain([ready]).collect()
}

/// Ports of the master that writes results.
pub(super) fn result_ports(data_bits: u32) -> Vec<(Dir, String, u32)> {
    let port = |(dir, name, width): (Dir, &str, u32)| (dir, format!("{RESULTS}_{name}"), width);
    let ports = [
        (Out, "wdata", data_bits),
        (Out, "wstrb", data_bits / 8),
        (Out, "wlast", 1),
        (Out, "wvalid", 1),
        (In, "wready", 1),
        (In, "bid", 1),
        (In, "bresp", 2),
        (In, "bvalid", 1),
        (Out, "bready", 1),
    ];
    address_ports(RESULTS, "aw").into_iter().chain(ports.map(port)).collect()
}

/// Adds an instance whose ports are joined to signals of their names, which are made where they are not there yet; but for those in
/// `others`.
fn join(top: &mut Module, module: &Module, name: &str, others: &[(&str, Value)]) {
    let mut connections = Vec::new();
    for port in &module.ports {
        let other = others.iter().find(|o| *o.0 == *port.name).map(|o| o.1.clone());
        let value = other.unwrap_or_else(|| declared(top, &port.name, port.width));
        connections.push((port.name.clone(), value));
    }
    top.instance(module.name.clone(), name, connections);
}

/// The signal of that name, which is made where it is not there yet.
fn declared(top: &mut Module, name: &str, width: u32) -> Value {
    let made = |m: &Module| m.items.iter().filter_map(|i| i.declares()).any(|d| **d.0 == *name);
    if top.ports.iter().any(|p| *p.name == *name) || made(top) { top.signal(name) } else { top.net(name, width) }
}

/// The wrapper itself: its blocks, queues and the engine.
fn top(s: &Sizes, blocks: &[Module], engine: &Module) -> Module {
    let mut top = Module { name: s.top.clone(), ..Module::default() };
    top.doc = vec![format!("{} behind registers, with its commands and results in memory.", engine.name)];
    for (dir, name, width) in [(In, "ap_clk", 1), (In, "ap_rst_n", 1), (Out, "interrupt", 1)] {
        top.port(dir, name, width);
    }
    for (dir, name, width) in
        control_ports().into_iter().chain(command_ports(s.data_bits)).chain(result_ports(s.data_bits))
    {
        top.port(dir, name, width);
    }
    let clocks = ["ap_clk", "ap_rst_n"].map(|name| top.signal(name));
    let [clk, rst_n] = [("clk", clocks[0].clone()), ("rst_n", clocks[1].clone())];
    for block in blocks {
        let name = block.name.rsplit('_').next().unwrap_or_default();
        join(&mut top, block, name, &[clk.clone(), rst_n.clone()]);
    }
    let [rst, clear] = ["rst", "clear"].map(|name| top.signal(name));
    let emptied = top.wire("emptied", rst.clone() | clear);
    let [read, write] = queues(s);
    let queued = |from: &str, to: &str| {
        [
            ("wdata", "beat", from),
            ("push", "push", from),
            ("rdata", "beat", to),
            ("valid", "valid", to),
            ("pop", "pop", to),
        ]
        .map(|(port, signal, side)| (port, format!("{side}_{signal}")))
    };
    for (module, name, from, to) in [(&read, "read_queue", "fetch", "feed"), (&write, "write_queue", "gather", "store")]
    {
        let mut others = vec![clk.clone(), ("rst", emptied.clone())];
        others.extend(queued(from, to).map(|(port, signal)| (port, top.signal(&signal))));
        let ready = declared(&mut top, &format!("{from}_ready"), 1);
        others.push(("ready", ready));
        join(&mut top, module, name, &others);
    }
    engine_between(&mut top, s, engine, &clk);
    // What is read has a place in its queue before it is asked for.
    top.wire("unused", cat([Value::flag(false), top.signal("fetch_ready")]).all());
    top
}

/// The engine between two relays, so that no path leads from it to the blocks around it.
fn engine_between(top: &mut Module, s: &Sizes, engine: &Module, clk: &(&'static str, Value)) {
    let relay = plain_relay(&s.top, s.stream_bits + 1);
    let beats = ["s_beat", "m_beat"].map(|name| top.net(name, s.stream_bits + 1));
    let [s_valid, s_ready, m_valid, m_ready] =
        ["s_valid", "s_ready", "m_valid", "m_ready"].map(|name| top.net(name, 1));
    let of = |top: &Module, name: &str| top.signal(name);
    let before = [
        clk.clone(),
        ("wdata", of(top, "to_beat")),
        ("push", of(top, "to_push")),
        ("ready", of(top, "to_ready")),
        ("rdata", beats[0].clone()),
        ("valid", s_valid.clone()),
        ("pop", s_ready.clone() & s_valid.clone()),
    ];
    join(top, &relay, "to_engine", &before);
    let streams = [
        clk.clone(),
        ("s_tdata", beats[0].low(s.stream_bits)),
        ("s_tlast", beats[0].msb()),
        ("s_tvalid", s_valid),
        ("s_tready", s_ready),
        ("m_tdata", beats[1].low(s.stream_bits)),
        ("m_tlast", beats[1].msb()),
        ("m_tvalid", m_valid.clone()),
        ("m_tready", m_ready.clone()),
    ];
    join(top, engine, "engine", &streams);
    let behind = [
        clk.clone(),
        ("wdata", beats[1].clone()),
        ("push", m_valid),
        ("ready", m_ready),
        ("rdata", of(top, "from_beat")),
        ("valid", of(top, "from_valid")),
        ("pop", of(top, "from_pop")),
    ];
    join(top, &relay, "from_engine", &behind);
}
