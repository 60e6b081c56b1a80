//! The top of a board with gigabit Ethernet: clocks, resets, the PHY's pins, the network's core, link, engine and LEDs.
//!
//! ```text
//! KERNEL_BOARD                top; ports as the board's constraints name them
//! ├── KERNEL_clock            the PLL: the engine's clock and the core's
//! ├── KERNEL_reset            power-on reset
//! ├── KERNEL_wire_reset       the resets of the other clocks and of the PHY
//! ├── KERNEL_rgmii            the PHY's pins by the family's primitives
//! └── KERNEL_gmii             what needs no vendor: what a simulation takes
//!     ├── KERNEL_ethernet     the network's core, generated from LiteEth
//!     └── KERNEL_network      link, engine and what the LEDs show
//! ```

use super::top::{Parts, clock_name, reset};
use super::{Board, network, pll, top};
use crate::ethernet::core;
use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::{Item, Module, Netlist};
use crate::rtl::{Name, Value};
use askama::Template;
use std::net::Ipv4Addr;

/// A gigabit port of a board: a PHY behind RGMII.
#[derive(Debug)]
pub struct Ethernet {
    /// Its pins, in the form of the family's tool, beside the constraints of the board.
    pub constraints: &'static str,
    /// Delays at the FPGA's pins in steps of the family: of what comes in, and of the clock that goes out. The PHY does the rest.
    pub rx_delay: u32,
    pub tx_delay: u32,
}

/// The MAC address of a board at that address: a local one, which no other board in the same network has.
pub fn mac(ip: Ipv4Addr) -> u64 {
    let [_, b, c, d] = ip.octets();
    [0x02, b'P', b'F', b, c, d].into_iter().fold(0, |mac, byte| mac << 8 | byte as u64)
}

/// How a board with Ethernet is clocked: the PLL's setting, the engine's clock in MHz, and the divider of the core's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clocks {
    pub setting: pll::Setting,
    pub mhz: f64,
    pub core_divider: u32,
}

impl Clocks {
    /// The core's clock in MHz.
    pub fn core_mhz(&self) -> f64 {
        self.setting.vco / self.core_divider as f64
    }
}

/// The clocks of a board for an engine's clock that is not above `wanted` MHz.
pub fn clocks(board: &Board, wanted: f64) -> Result<Clocks, String> {
    let (setting, mhz) = board.pll.looped(board.oscillator_mhz, wanted)?;
    if mhz < core::LEAST_MHZ {
        return Err(format!("Ethernet at a gigabit needs a clock of at least {} MHz, not {mhz}", core::LEAST_MHZ));
    }
    Ok(Clocks { setting, mhz, core_divider: (setting.vco / core::MHZ).round() as u32 })
}

#[derive(Template)]
#[template(path = "rgmii_ecp5.v", escape = "none")]
struct Rgmii {
    rx_delay: u32,
    tx_delay: u32,
}

#[derive(Template)]
#[template(path = "gigabit_reset.v", escape = "none")]
struct Resets;

/// The whole design around the text of the network's core; `engines` has the engine that `parts` names. `parts.clock` is not used.
pub fn top(parts: &Parts, clocks: &Clocks, ip: Ipv4Addr, engines: &Netlist) -> Result<Netlist, String> {
    let ethernet = parts.board.ethernet.ok_or_else(|| format!("the board {} has no Ethernet", parts.board.name))?;
    let kernel = parts.kernel;
    let mut all = on_wire(kernel, network::around(parts));
    all.extend([clock(parts, clocks), reset(kernel), wire_reset(kernel), rgmii(kernel, ethernet)]);
    let top = module(parts, ip);
    all.top = top.name.clone();
    all.extend([top]);
    engines.modules.iter().for_each(|m| all.add(m.clone()));
    Ok(all)
}

/// Name of the module from GMII on.
pub fn name(kernel: &str) -> String {
    format!("{kernel}_gmii")
}

/// Name of the module with the PHY's pins.
pub fn rgmii_name(kernel: &str) -> String {
    format!("{kernel}_rgmii")
}

/// The vendor-independent top: the network's core, whose text is elsewhere, in front of the modules that take and give the words of
/// datagrams (see [`network::around`]). The top, `KERNEL_gmii`, has the clocks, resets, addresses and GMII ports of the core, and the
/// lights `busy` and `resting`.
pub fn on_wire(kernel: &str, network: Netlist) -> Netlist {
    let mut all = network;
    let mut m = Module { name: name(kernel), ..Module::default() };
    m.doc = vec![format!("{kernel} on the network, from GMII on.")];
    let inner = all.module(&all.top).expect("a netlist holds its top").ports.clone();
    let core = core::outline(kernel);
    for port in &core.ports {
        // What the link has too is inside.
        if inner.iter().all(|p| p.name != port.name) {
            m.port(port.dir, port.name.as_str(), port.width);
        } else {
            m.net(port.name.as_str(), port.width);
        }
    }
    m.port(Out, "busy", 1);
    m.port(Out, "resting", 1);
    let connected = |ports: &[crate::rtl::netlist::Port], m: &Module| -> Vec<(Name, Value)> {
        let net = |port: &str| match port {
            "clk" => "user_clk".to_string(),
            "rst" => "user_rst".to_string(),
            other => other.to_string(),
        };
        ports.iter().map(|p| (p.name.clone(), m.signal(&net(&p.name)))).collect()
    };
    let (outer, behind) = (connected(&core.ports, &m), connected(&inner, &m));
    m.instance(core.name, "ethernet", outer);
    m.instance(all.top.clone(), "network", behind);
    all.top = m.name.clone();
    all.extend([m]);
    all
}

fn clock(parts: &Parts, clocks: &Clocks) -> Module {
    let mut m = Module { name: clock_name(parts.kernel), ..Module::default() };
    let (mhz, core) = (clocks.mhz, clocks.core_mhz());
    m.doc = vec![format!("{mhz} MHz and {core} MHz from the oscillator's {} MHz.", parts.board.oscillator_mhz)];
    m.port(In, "clk_in", 1);
    for port in ["clk", "core_clk", "locked"] {
        m.port(Out, port, 1);
    }
    m.items.push(Item::Text(parts.board.pll.verilog_of_two(&clocks.setting, clocks.core_divider)));
    m
}

fn wire_reset(kernel: &str) -> Module {
    let mut m = Module { name: format!("{kernel}_wire_reset"), ..Module::default() };
    m.doc = vec!["The resets of the core's clock, of the wire's clock and of the PHY.".into()];
    for port in ["rst", "core_clk", "wire_clk"] {
        m.port(In, port, 1);
    }
    for port in ["core_rst", "wire_rst", "phy_rst_n"] {
        m.port(Out, port, 1);
    }
    m.items.push(Item::Text(Resets.render().expect("the template renders into memory").trim_end().to_string()));
    m
}

/// The pins of a PHY, as (direction at the FPGA, name, width).
const PINS: [(crate::rtl::netlist::Dir, &str, u32); 6] = [
    (In, "rgmii_rx_clk", 1),
    (In, "rgmii_rx_ctl", 1),
    (In, "rgmii_rx_data", 4),
    (Out, "rgmii_tx_clk", 1),
    (Out, "rgmii_tx_ctl", 1),
    (Out, "rgmii_tx_data", 4),
];
const GMII: [(crate::rtl::netlist::Dir, &str, u32); 4] =
    [(Out, "gmii_rx_dv", 1), (Out, "gmii_rx_data", 8), (In, "gmii_tx_en", 1), (In, "gmii_tx_data", 8)];

/// Between the pins of a PHY and GMII, by primitives of ECP5. Its clock is that of both directions.
pub fn rgmii(kernel: &str, ethernet: &Ethernet) -> Module {
    let mut m = Module { name: rgmii_name(kernel), ..Module::default() };
    m.doc = vec!["The pins of the PHY: both edges of its clock.".into()];
    for (dir, port, width) in PINS.into_iter().chain([(Out, "clk", 1)]).chain(GMII) {
        m.port(dir, port, width);
    }
    let Ethernet { rx_delay, tx_delay, .. } = *ethernet;
    let text = Rgmii { rx_delay, tx_delay }.render().expect("the template renders into memory");
    m.items.push(Item::Text(text.trim_end().to_string()));
    m
}

/// The top module itself.
fn module(parts: &Parts, ip: Ipv4Addr) -> Module {
    let Parts { board, kernel, .. } = *parts;
    let mut m = Module { name: top::name(kernel, board), ..Module::default() };
    m.doc = vec![format!("{kernel} on {} at {ip}, {} MHz.", board.name, parts.mhz)];
    m.port(In, "clk_in", 1);
    for (dir, port, width) in PINS {
        m.port(dir, port, width);
    }
    m.port(Out, "phy_rst_n", 1);
    m.port(Out, "led_busy", 1);
    for (pin, _) in board.fixed_pins {
        m.port(Out, *pin, 1);
    }
    let nets = ["clk", "core_clk", "locked", "rst", "core_rst", "wire_clk", "wire_rst", "busy", "resting"];
    for net in nets {
        m.net(net, 1);
    }
    for (_, net, width) in GMII {
        m.net(net, width);
    }
    let mut add = |module: String, name: &str, pairs: &[(&str, &str)]| {
        let connections: Vec<(&str, Value)> = pairs.iter().map(|(p, n)| (*p, m.signal(n))).collect();
        m.instance(module, name, connections);
    };
    let same = |name: &'static str| (name, name);
    add(clock_name(kernel), "clock", &["clk_in", "clk", "core_clk", "locked"].map(same));
    add(format!("{kernel}_reset"), "reset", &["clk", "locked", "rst"].map(same));
    let resets = ["rst", "core_clk", "wire_clk", "core_rst", "wire_rst", "phy_rst_n"].map(same);
    add(format!("{kernel}_wire_reset"), "wire_reset", &resets);
    let gmii = GMII.map(|(_, name, _)| same(name));
    let pins: Vec<_> =
        PINS.map(|(_, name, _)| same(name)).into_iter().chain(gmii).chain([("clk", "wire_clk")]).collect();
    add(rgmii_name(kernel), "rgmii", &pins);
    let clocked = [("user_clk", "clk"), ("user_rst", "rst"), ("sys_clk", "core_clk"), ("sys_rst", "core_rst")];
    let wire = ["eth_rx", "eth_tx"].map(|side| (format!("{side}_clk"), format!("{side}_rst")));
    let joined = clocked.into_iter().chain(gmii).chain(["busy", "resting"].map(same));
    let mut joined: Vec<(String, Value)> = joined.map(|(port, net)| (port.to_string(), m.signal(net))).collect();
    for (clock, reset) in wire {
        joined.extend([(clock, m.signal("wire_clk")), (reset, m.signal("wire_rst"))]);
    }
    joined.push(("mac_address".into(), Value::constant(48, mac(ip) as i128)));
    joined.push(("ip_address".into(), Value::constant(32, ip.to_bits() as i128)));
    m.instance(name(kernel), "gmii", joined);
    let lit = m.signal("busy");
    m.assign("led_busy", if board.leds.active_low { !lit } else { lit });
    for (pin, high) in board.fixed_pins {
        m.assign(*pin, Value::flag(*high));
    }
    m
}
