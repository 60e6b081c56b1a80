//! The board's end of the link over Ethernet as Verilog: 32 bits a clock in both directions.

use super::board::HOLD;
use super::datagram::MARK;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Dir, Module, Netlist};
use crate::rtl::{Name, Value};
use crate::serial::Identity;
use crate::serial::frame::{RESIDUE, crc};
use crate::serial::hardware::{block, ring};
use askama::Template;

#[derive(Template)]
#[template(path = "datagram_rx.v", escape = "none")]
struct Receiver {
    ring_bits: u32,
    ring_words: u32,
    mark: String,
    residue: String,
    crc: Vec<String>,
    /// Clocks after which a silent host may lose the board.
    hold: u64,
    hold_bits: u32,
}

#[derive(Template)]
#[template(path = "datagram_clear.v", escape = "none")]
struct Clear {
    bits: u32,
}

#[derive(Template)]
#[template(path = "datagram_tx.v", escape = "none")]
struct Transmitter {
    ring_bits: u32,
    mark: String,
    crc: Vec<String>,
    /// (place in the datagram, word in hexadecimal).
    identity: Vec<(usize, String)>,
    identity_words: usize,
}

#[derive(Template)]
#[template(path = "datagram_deliver.v", escape = "none")]
struct Deliver {
    ring_bits: u32,
    stream_bits: u32,
    beat_words: u32,
}

#[derive(Template)]
#[template(path = "datagram_gather.v", escape = "none")]
struct Gather {
    ring_bits: u32,
    stream_bits: u32,
    beat_words: u32,
}

/// Clocks for which a new session holds the engine in reset: longer than any pipeline needs to run empty.
const CLEAR_BITS: u32 = 10;

/// A port: direction, name and width.
type Port = (Dir, &'static str, u32);

/// The payloads of datagrams, from and to the network's core. It never waits for the link.
const NETWORK: [Port; 11] = [
    (In, "rx_valid", 1),
    (In, "rx_last", 1),
    (In, "rx_data", 32),
    (In, "rx_address", 32),
    (In, "rx_port", 16),
    (Out, "tx_valid", 1),
    (In, "tx_ready", 1),
    (Out, "tx_last", 1),
    (Out, "tx_data", 32),
    (Out, "tx_address", 32),
    (Out, "tx_port", 16),
];

/// The board's end of the link. The top module, `KERNEL_link`, has the ports
///
/// | port | dir | width | meaning |
/// |---|---|---|---|
/// | `clk`, `rst` | in | 1 | the engine's clock, and its synchronous reset, active high |
/// | `rx_valid`, `rx_last`, `rx_data` | in | 1, 1, 32 | the payload of a datagram, a word a clock or slower, low byte first |
/// | `rx_address`, `rx_port` | in | 32, 16 | who sent it, from its first word on |
/// | `tx_valid`, `tx_ready`, `tx_last`, `tx_data` | out, in, out, out | 1, 1, 1, 32 | the payload of a datagram |
/// | `tx_address`, `tx_port`, `tx_bytes` | out | 32, 16, 16 | whom it is for and its length, for all of its words |
/// | `engine_rst` | out | 1 | to the engine's `rst`: each session starts with a fresh engine |
/// | `lost` | out | 1 | high for a clock when a datagram came broken or out of order |
/// | `s_tdata`, `s_tvalid`, `s_tready`, `s_tlast` | out, out, in, out | S, 1, 1, 1 | to the engine's input |
/// | `m_tdata`, `m_tvalid`, `m_tready`, `m_tlast` | in, in, out, in | S, 1, 1, 1 | from the engine's output |
///
/// The identity is one of a link over Ethernet that has passed [`Identity::verify`].
pub fn netlist(identity: &Identity) -> Netlist {
    netlist_that_holds(identity, hold(identity.clock_hz))
}

/// The same with another number of clocks after which a silent host may lose the board to another one: a simulation has fewer
/// clocks in that time.
pub fn netlist_that_holds(identity: &Identity, hold: u64) -> Netlist {
    debug_assert!(identity.is_ethernet() && identity.verify().is_ok());
    let name = |what: &str| format!("{}_{what}", identity.prefix());
    let s = identity.stream_bits;
    let (down, up) = (identity.down_bits as u32 - 2, identity.up_bits as u32 - 2);
    let modules = blocks(identity, hold.max(1));
    let mut top = Module { name: name("link"), ..Module::default() };
    top.doc =
        vec!["The link over Ethernet: an engine's two streams in datagrams, on a network that loses some.".into()];
    let engine: [Port; 10] = [
        (Out, "engine_rst", 1),
        (Out, "lost", 1),
        (Out, "s_tdata", s),
        (Out, "s_tvalid", 1),
        (In, "s_tready", 1),
        (Out, "s_tlast", 1),
        (In, "m_tdata", s),
        (In, "m_tvalid", 1),
        (Out, "m_tready", 1),
        (In, "m_tlast", 1),
    ];
    let clocked: [Port; 2] = [(In, "clk", 1), (In, "rst", 1)];
    for (dir, port, width) in clocked.into_iter().chain(NETWORK).chain([(Out, "tx_bytes", 16)]).chain(engine) {
        top.port(dir, port, width);
    }
    // What joins the blocks: the nets that are no ports of the top.
    for module in &modules {
        for port in module.ports.iter().filter(|p| p.dir == Out) {
            if top.ports.iter().all(|p| p.name != port.name) && !["rdata"].contains(&port.name.as_str()) {
                top.net(net_of(module, &port.name), port.width);
            }
        }
    }
    for net in ["in_rdata", "out_rdata"] {
        top.net(net, 32);
    }
    let ring = |bits: u32| name(&format!("link_ram_32x{}", 1 << bits));
    let mut netlist = Netlist { top: name("link"), modules: Vec::new() };
    for module in modules {
        if !module.name.contains("link_ram") {
            let plain = |port: &Name| (port.clone(), top.signal(&net_of(&module, port)));
            let connections: Vec<(Name, Value)> = module.ports.iter().map(|p| plain(&p.name)).collect();
            let instance = module.name.rsplit('_').next().expect("a name of several words").to_string();
            top.instance(module.name.clone(), format!("datagram_{instance}"), connections);
        }
        netlist.add(module);
    }
    for (side, bits, writer, reader) in [("in", down, "receiver", "deliver"), ("out", up, "gather", "transmitter")] {
        let pairs = [
            ("clk", "clk".to_string()),
            ("we", format!("{writer}_ring_we")),
            ("waddr", format!("{writer}_ring_addr")),
            ("wdata", format!("{writer}_ring_data")),
            ("re", format!("{reader}_ring_re")),
            ("raddr", format!("{reader}_ring_addr")),
            ("rdata", format!("{side}_rdata")),
        ];
        let connections: Vec<(&str, Value)> = pairs.into_iter().map(|(port, net)| (port, top.signal(&net))).collect();
        top.instance(ring(bits), format!("ring_{side}"), connections);
    }
    netlist.extend([top]);
    netlist
}

/// The net of the top that a block's port is joined to: that of its name, but each side of a ring has its own.
fn net_of(module: &Module, port: &str) -> String {
    let block = module.name.rsplit('_').next().expect("a name of several words");
    match (port, block) {
        ("ring_data", "deliver") => "in_rdata".into(),
        ("ring_data", "transmitter") => "out_rdata".into(),
        ("ring_we" | "ring_addr" | "ring_data" | "ring_re", _) => format!("{block}_{port}"),
        _ => port.to_string(),
    }
}

fn blocks(identity: &Identity, hold: u64) -> Vec<Module> {
    let s = identity.stream_bits;
    let beat_words = s / 32;
    let (down, up) = (identity.down_bits as u32 - 2, identity.up_bits as u32 - 2);
    let mark = format!("{MARK:04x}");
    let block = |what: &str, doc: &str, ports: &[Port], template| block(identity, what, doc, ports, template);
    let ring = |bits: u32| ring(identity, 32, bits);
    let clocked: &[Port] = &[(In, "clk", 1), (In, "rst", 1)];
    let from_rx = |dir: Dir| -> Vec<Port> {
        [
            ("session_tag", 32),
            ("session_bound", 1),
            ("host_address", 32),
            ("host_port", 16),
            ("start", 1),
            ("greet", 1),
            ("answer", 1),
            ("lost", 1),
            ("rewind", 1),
            ("ack_valid", 1),
            ("ack_offset", 32),
            ("aside_valid", 1),
            ("aside_is_who", 1),
            ("aside_address", 32),
            ("aside_port", 16),
            ("aside_session", 32),
        ]
        .map(|(name, width)| (dir, name, width))
        .to_vec()
    };
    let receiver = Receiver {
        ring_bits: down,
        ring_words: 1 << down,
        mark: mark.clone(),
        residue: format!("{RESIDUE:08x}"),
        crc: masks(),
        hold,
        hold_bits: 64 - hold.leading_zeros(),
    };
    let words = identity.encode(0);
    let words = words.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let places: Vec<(usize, String)> =
        words.enumerate().skip(1).map(|(k, word)| (super::datagram::HEADER + k, format!("{word:08x}"))).collect();
    let identity_words = places.len() + 1;
    let transmitter = Transmitter { ring_bits: up, mark, crc: masks(), identity: places, identity_words };
    let mut all = vec![
        block(
            "datagram_receiver",
            "Datagrams from the network.",
            &[
                clocked,
                &NETWORK[..5],
                &[(In, "taken_offset", 32), (Out, "next_offset", 32)],
                &from_rx(Out),
                &[(Out, "ring_we", 1), (Out, "ring_addr", down), (Out, "ring_data", 32)],
            ]
            .concat(),
            receiver.render(),
        ),
        block(
            "datagram_deliver",
            "The stream from the host to the engine's beats.",
            &[
                &[(In, "clk", 1), (In, "clear", 1), (In, "next_offset", 32), (Out, "taken_offset", 32)][..],
                &[(Out, "half", 1), (Out, "ring_re", 1), (Out, "ring_addr", down), (In, "ring_data", 32)],
                &[(Out, "s_tdata", s), (Out, "s_tvalid", 1), (In, "s_tready", 1), (Out, "s_tlast", 1)],
            ]
            .concat(),
            Deliver { ring_bits: down, stream_bits: s, beat_words }.render(),
        ),
        block(
            "datagram_gather",
            "The engine's beats to the stream to the host.",
            &[
                &[(In, "clk", 1), (In, "clear", 1), (In, "acked_offset", 32), (Out, "head_offset", 32)][..],
                &[(Out, "quiet", 1), (Out, "ring_we", 1), (Out, "ring_addr", up), (Out, "ring_data", 32)],
                &[(In, "m_tdata", s), (In, "m_tvalid", 1), (Out, "m_tready", 1), (In, "m_tlast", 1)],
            ]
            .concat(),
            Gather { ring_bits: up, stream_bits: s, beat_words }.render(),
        ),
        block(
            "datagram_transmitter",
            "Datagrams to the network.",
            &[
                clocked,
                &[(In, "clear", 1), (In, "next_offset", 32), (In, "taken_offset", 32), (In, "head_offset", 32)],
                &[(Out, "acked_offset", 32), (In, "half", 1), (In, "quiet", 1)],
                &from_rx(In),
                &[(Out, "ring_re", 1), (Out, "ring_addr", up), (In, "ring_data", 32)],
                &NETWORK[5..],
                &[(Out, "tx_bytes", 16)],
            ]
            .concat(),
            transmitter.render(),
        ),
        block(
            "datagram_clear",
            "The reset of the engine.",
            &[clocked, &[(In, "start", 1), (In, "session_bound", 1), (Out, "clear", 1), (Out, "engine_rst", 1)]]
                .concat(),
            Clear { bits: CLEAR_BITS }.render(),
        ),
        ring(down),
    ];
    if up != down {
        all.push(ring(up));
    }
    all
}

/// [`HOLD`] in clocks.
fn hold(clock_hz: u32) -> u64 {
    (HOLD.as_millis() as u64 * clock_hz as u64 / 1000).max(1)
}

/// For each bit of the CRC register after a word, the bits of register XOR word that it is the parity of.
fn masks() -> Vec<String> {
    let column = |bit: u32| (0..4).fold(1u32 << bit, |register, _| crc(register, 0));
    let columns: Vec<u32> = (0..32).map(column).collect();
    let mask = |k: u32| columns.iter().enumerate().map(|(j, c)| (c >> k & 1) << j).sum::<u32>();
    (0..32).map(|k| format!("{:08x}", mask(k))).collect()
}
