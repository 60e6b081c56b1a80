//! The core of the network (MAC, ARP, IP and UDP), which is generated from LiteEth: its name, its ports and its clock.

use crate::rtl::netlist::Dir::{In, Out};
use crate::rtl::netlist::Module;

/// The core's own clock in MHz: at 45 or more it keeps up with a gigabit, and it is placed at 60 to 73.
pub const MHZ: f64 = 50.0;
/// The least clock of engine and link in MHz that keeps up too.
pub const LEAST_MHZ: f64 = 40.0;

/// Name of the core's module.
pub fn name(prefix: &str) -> String {
    format!("{prefix}_ethernet")
}

/// The core with its ports alone. `user` is the clock of link and engine, `sys` the core's own, `eth_rx` and `eth_tx` are those
/// of GMII at 125 MHz. Each has a synchronous reset, active high.
pub fn outline(prefix: &str) -> Module {
    let mut m = Module { name: name(prefix), ..Module::default() };
    for clock in ["eth_rx", "eth_tx", "sys", "user"] {
        m.port(In, format!("{clock}_clk"), 1);
        m.port(In, format!("{clock}_rst"), 1);
    }
    for (dir, port, width) in [
        (In, "mac_address", 48),
        (In, "ip_address", 32),
        (In, "gmii_rx_dv", 1),
        (In, "gmii_rx_data", 8),
        (Out, "gmii_tx_en", 1),
        (Out, "gmii_tx_data", 8),
        (Out, "rx_valid", 1),
        (Out, "rx_last", 1),
        (Out, "rx_data", 32),
        (Out, "rx_address", 32),
        (Out, "rx_port", 16),
        (In, "tx_valid", 1),
        (Out, "tx_ready", 1),
        (In, "tx_last", 1),
        (In, "tx_data", 32),
        (In, "tx_address", 32),
        (In, "tx_port", 16),
        (In, "tx_bytes", 16),
    ] {
        m.port(dir, port, width);
    }
    m
}
