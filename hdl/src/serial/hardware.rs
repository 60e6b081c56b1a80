//! The board's end of the link as Verilog.

use super::Identity;
use super::frame::{POLYNOMIAL, RESIDUE};
use crate::rtl::Value;
use crate::rtl::memory::Ram;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Dir, Item, Module, Netlist};
use askama::Template;

#[derive(Template)]
#[template(path = "uart_rx.v", escape = "none")]
struct UartRx {
    phase_bits: u32,
    step: u32,
    start: u32,
}

#[derive(Template)]
#[template(path = "uart_tx.v", escape = "none")]
struct UartTx {
    phase_bits: u32,
    step: u32,
}

#[derive(Template)]
#[template(path = "link_rx.v", escape = "none")]
struct LinkRx {
    ring_bits: u32,
    polynomial: String,
    residue: String,
}

#[derive(Template)]
#[template(path = "link_deliver.v", escape = "none")]
struct Deliver {
    ring_bits: u32,
    stream_bits: u32,
    beat_bytes: u32,
    count_bits: u32,
}

#[derive(Template)]
#[template(path = "link_gather.v", escape = "none")]
struct Gather {
    ring_bits: u32,
    stream_bits: u32,
    beat_bytes: u32,
    count_bits: u32,
}

#[derive(Template)]
#[template(path = "link_tx.v", escape = "none")]
struct LinkTx {
    ring_bits: u32,
    polynomial: String,
    /// (place in the payload, byte in hexadecimal), as many as so many bits of a place name.
    identity: Vec<(usize, String)>,
    identity_bits: u32,
    identity_places: u32,
    identity_bytes: usize,
}

/// The board's end of the link. The top module, `KERNEL_link`, has the ports
///
/// | port | dir | width | meaning |
/// |---|---|---|---|
/// | `clk`, `rst` | in | 1 | the engine's clock, and its synchronous reset, active high |
/// | `uart_rx`, `uart_tx` | in, out | 1 | the serial line, from and to the host; `uart_rx` may be asynchronous |
/// | `engine_rst` | out | 1 | to the engine's `rst`: each session starts with a fresh engine |
/// | `lost` | out | 1 | high for a clock when a frame came broken or out of order |
/// | `s_tdata`, `s_tvalid`, `s_tready`, `s_tlast` | out, out, in, out | S, 1, 1, 1 | to the engine's input |
/// | `m_tdata`, `m_tvalid`, `m_tready`, `m_tlast` | in, in, out, in | S, 1, 1, 1 | from the engine's output |
///
/// The streams have the names of the engine's ports that they join. The identity has passed [`Identity::verify`].
pub fn netlist(identity: &Identity) -> Netlist {
    debug_assert_eq!(identity.verify(), Ok(()));
    let name = |what: &str| format!("{}_{what}", identity.prefix());
    let s = identity.stream_bits;
    let mut netlist = Netlist { top: name("link"), modules: Vec::new() };
    for module in blocks(identity) {
        netlist.add(module);
    }
    let mut top = Module { name: name("link"), ..Module::default() };
    top.doc = vec!["The serial link: an engine's two streams over a UART, in frames that survive a bad line.".into()];
    for (dir, port, width) in [
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "uart_rx", 1),
        (Out, "uart_tx", 1),
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
    ] {
        top.port(dir, port, width);
    }
    let (down, up) = (identity.down_bits as u32, identity.up_bits as u32);
    for (net, width) in [
        ("rx_data", 8),
        ("rx_valid", 1),
        ("tx_data", 8),
        ("tx_valid", 1),
        ("tx_ready", 1),
        ("in_we", 1),
        ("in_waddr", down),
        ("in_wdata", 8),
        ("in_re", 1),
        ("in_raddr", down),
        ("in_rdata", 8),
        ("out_we", 1),
        ("out_waddr", up),
        ("out_wdata", 8),
        ("out_re", 1),
        ("out_raddr", up),
        ("out_rdata", 8),
        ("next_offset", 16),
        ("acked_offset", 16),
        ("taken_offset", 16),
        ("head_offset", 16),
        ("session_tag", 6),
        ("nonce_byte", 8),
        ("nonce_pop", 1),
        ("start", 1),
        ("answer", 1),
        ("rewind", 1),
        ("half", 1),
        ("quiet", 1),
        ("resetting", 1),
    ] {
        top.net(net, width);
    }
    clear(&mut top);
    let ring = |bits: u32| name(&format!("link_ram_8x{}", 1 << bits));
    let plain = |names: &str| -> Vec<(String, String)> { names.split(' ').map(|n| (n.into(), n.into())).collect() };
    let joined = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(port, net)| (port.to_string(), net.to_string())).collect()
    };
    let memory = |side: &str| -> Vec<(String, String)> {
        let port = |p: &str| (p.to_string(), format!("{side}_{p}"));
        ["we", "waddr", "wdata", "re", "raddr", "rdata"].map(port).to_vec()
    };
    let beats_in = plain("s_tdata s_tvalid s_tready s_tlast");
    let beats_out = plain("m_tdata m_tvalid m_tready m_tlast");
    let instances = [
        (
            name("uart_rx"),
            "receiver",
            joined(&[("rst", "rst"), ("uart_rx", "uart_rx"), ("data", "rx_data"), ("valid", "rx_valid")]),
        ),
        (
            name("uart_tx"),
            "transmitter",
            joined(&[("rst", "rst"), ("data", "tx_data"), ("valid", "tx_valid"), ("ready", "tx_ready")])
                .into_iter()
                .chain(plain("uart_tx"))
                .collect(),
        ),
        (
            name("link_rx"),
            "frames_in",
            joined(&[("data", "rx_data"), ("valid", "rx_valid")])
                .into_iter()
                .chain(joined(&[("ring_we", "in_we"), ("ring_addr", "in_waddr"), ("ring_data", "in_wdata")]))
                .chain(plain("rst next_offset acked_offset session_tag nonce_byte nonce_pop start answer lost rewind"))
                .collect(),
        ),
        (ring(down), "ring_in", memory("in")),
        (
            name("link_deliver"),
            "deliver",
            joined(&[("ring_re", "in_re"), ("ring_addr", "in_raddr"), ("ring_data", "in_rdata")])
                .into_iter()
                .chain(beats_in)
                .chain(plain("clear next_offset taken_offset half"))
                .collect(),
        ),
        (
            name("link_gather"),
            "gather",
            joined(&[("ring_we", "out_we"), ("ring_addr", "out_waddr"), ("ring_data", "out_wdata")])
                .into_iter()
                .chain(beats_out)
                .chain(plain("clear acked_offset head_offset quiet"))
                .collect(),
        ),
        (ring(up), "ring_out", memory("out")),
        (
            name("link_tx"),
            "frames_out",
            joined(&[("uart_data", "tx_data"), ("uart_valid", "tx_valid"), ("uart_ready", "tx_ready")])
                .into_iter()
                .chain(joined(&[("ring_re", "out_re"), ("ring_addr", "out_raddr"), ("ring_data", "out_rdata")]))
                .chain(plain("rst next_offset acked_offset taken_offset head_offset session_tag nonce_byte nonce_pop"))
                .chain(plain("start answer lost rewind half quiet resetting"))
                .collect(),
        ),
    ];
    for (module, instance, mut connections) in instances {
        connections.insert(0, ("clk".into(), "clk".into()));
        let connections: Vec<(String, Value)> =
            connections.into_iter().map(|(port, name)| (port, top.signal(&name))).collect();
        top.instance(module, instance, connections);
    }
    netlist.extend([top]);
    netlist
}

/// The engine is in reset until a session starts and while its identity is sent, which takes longer than any pipeline
/// needs to run empty.
fn clear(top: &mut Module) {
    let [rst, resetting, start] = ["rst", "resetting", "start"].map(|name| top.signal(name));
    let no_session = top.signal("session_tag").is_number(0);
    let clear = top.reg("clear", rst | resetting | start | no_session);
    top.assign("engine_rst", clear);
}

fn blocks(identity: &Identity) -> Vec<Module> {
    let s = identity.stream_bits;
    let (down, up) = (identity.down_bits as u32, identity.up_bits as u32);
    let (phase_bits, step) = phase(identity.clock_hz, identity.baud);
    let half = 1u32 << (phase_bits - 1);
    let polynomial = format!("{POLYNOMIAL:08x}");
    let beat_bytes = s / 8;
    let count_bits = beat_bytes.ilog2();
    let mut bytes = identity.encode(0);
    let identity_bytes = bytes.len();
    let identity_places = identity_bytes.next_power_of_two();
    bytes.resize(identity_places, 0);
    let rom: Vec<(usize, String)> = bytes.iter().enumerate().map(|(k, b)| (k, format!("{b:02x}"))).collect();
    let (identity_bits, identity_places) = (identity_places.ilog2(), identity_places as u32);
    let text =
        |what: &str, doc: &str, ports: &[(Dir, &str, u32)], template| block(identity, what, doc, ports, template);
    let ring = |bits: u32| ring(identity, 8, bits);
    let clocked = [(In, "clk", 1), (In, "rst", 1)];
    let byte_out = [(Out, "data", 8), (Out, "valid", 1)];
    let offsets =
        [(In, "next_offset", 16), (In, "acked_offset", 16), (In, "taken_offset", 16), (In, "head_offset", 16)];
    let mut all = vec![
        text(
            "uart_rx",
            "Serial bits to bytes.",
            &[&clocked[..], &[(In, "uart_rx", 1)], &byte_out].concat(),
            UartRx { phase_bits, step, start: half + step }.render(),
        ),
        text(
            "uart_tx",
            "Bytes to serial bits.",
            &[&clocked[..], &[(In, "data", 8), (In, "valid", 1), (Out, "ready", 1), (Out, "uart_tx", 1)]].concat(),
            UartTx { phase_bits, step }.render(),
        ),
        text(
            "link_rx",
            "Frames from the host.",
            &[
                &clocked[..],
                &[(In, "data", 8), (In, "valid", 1)],
                &[(Out, "ring_we", 1), (Out, "ring_addr", down), (Out, "ring_data", 8)],
                &[(Out, "next_offset", 16), (Out, "acked_offset", 16), (Out, "session_tag", 6)],
                &[(Out, "nonce_byte", 8), (In, "nonce_pop", 1)],
                &[(Out, "start", 1), (Out, "answer", 1), (Out, "lost", 1), (Out, "rewind", 1)],
            ]
            .concat(),
            LinkRx { ring_bits: down, polynomial: polynomial.clone(), residue: format!("{RESIDUE:08x}") }.render(),
        ),
        text(
            "link_deliver",
            "The stream from the host to the engine's beats.",
            &[
                &[(In, "clk", 1), (In, "clear", 1), (In, "next_offset", 16), (Out, "taken_offset", 16)][..],
                &[(Out, "half", 1), (Out, "ring_re", 1), (Out, "ring_addr", down), (In, "ring_data", 8)],
                &[(Out, "s_tdata", s), (Out, "s_tvalid", 1), (In, "s_tready", 1), (Out, "s_tlast", 1)],
            ]
            .concat(),
            Deliver { ring_bits: down, stream_bits: s, beat_bytes, count_bits }.render(),
        ),
        text(
            "link_gather",
            "The engine's beats to the stream to the host.",
            &[
                &[(In, "clk", 1), (In, "clear", 1), (In, "acked_offset", 16), (Out, "head_offset", 16)][..],
                &[(Out, "quiet", 1), (Out, "ring_we", 1), (Out, "ring_addr", up), (Out, "ring_data", 8)],
                &[(In, "m_tdata", s), (In, "m_tvalid", 1), (Out, "m_tready", 1), (In, "m_tlast", 1)],
            ]
            .concat(),
            Gather { ring_bits: up, stream_bits: s, beat_bytes, count_bits }.render(),
        ),
        text(
            "link_tx",
            "Frames to the host.",
            &[
                &clocked[..],
                &offsets,
                &[(In, "session_tag", 6), (In, "nonce_byte", 8), (Out, "nonce_pop", 1)],
                &[(In, "start", 1), (In, "answer", 1), (In, "lost", 1), (In, "rewind", 1), (In, "half", 1)],
                &[(In, "quiet", 1), (Out, "resetting", 1)],
                &[(Out, "ring_re", 1), (Out, "ring_addr", up), (In, "ring_data", 8)],
                &[(Out, "uart_data", 8), (Out, "uart_valid", 1), (In, "uart_ready", 1)],
            ]
            .concat(),
            LinkTx { ring_bits: up, polynomial, identity: rom, identity_bits, identity_places, identity_bytes }
                .render(),
        ),
        ring(down),
    ];
    if up != down {
        all.push(ring(up));
    }
    all
}

/// A module of a link, the body of which is a template.
pub(crate) fn block(
    identity: &Identity,
    what: &str,
    doc: &str,
    ports: &[(Dir, &str, u32)],
    template: Result<String, askama::Error>,
) -> Module {
    let mut module = Module { name: format!("{}_{what}", identity.prefix()), ..Module::default() };
    module.doc = vec![doc.to_string()];
    for (dir, name, width) in ports {
        module.port(*dir, *name, *width);
    }
    let body = template.expect("a template of numbers and names renders");
    module.items.push(Item::Text(body.trim_end().to_string()));
    module
}

/// A ring of 2^`bits` items of a link.
pub(crate) fn ring(identity: &Identity, width: u32, bits: u32) -> Module {
    let ports = Ram::ports(width, bits);
    let ram = Ram::new(width, 1 << bits, true);
    block(identity, &format!("link_ram_{width}x{}", 1u32 << bits), "A ring of the link.", &ports, ram.render())
}

/// Bits of a phase and its step a clock, so that the phase turns `baud / clock_hz` times a clock to within a
/// thousandth: a tenth of what a UART tolerates over a byte.
fn phase(clock_hz: u32, baud: u32) -> (u32, u32) {
    let ratio = baud as f64 / clock_hz as f64;
    let step = |bits: u32| (ratio * (1u64 << bits) as f64).round();
    let exact = |bits: &u32| (step(*bits) / (ratio * (1u64 << bits) as f64) - 1.0).abs() < 1e-3;
    let bits = (3..28).find(exact).expect("a clock up to 2^16 times the baud rate needs up to 26 bits");
    (bits, step(bits) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_keeps_the_baud_rate() {
        for clock in [12_000_000, 25_000_000, 27_000_000, 48_000_000, 50_000_000, 100_000_000, 133_333_333] {
            for baud in [9600, 115_200, 921_600, 1_000_000, 2_000_000, 3_000_000, 12_000_000] {
                if clock < 6 * baud {
                    continue;
                }
                let (bits, step) = phase(clock, baud);
                let got = step as f64 * clock as f64 / (1u64 << bits) as f64;
                assert!((got / baud as f64 - 1.0).abs() < 1e-3, "{clock} Hz, {baud} baud: {got}");
                assert!(step + (1 << (bits - 1)) < 1 << bits, "the first sample stands inside the bit");
            }
        }
    }
}
