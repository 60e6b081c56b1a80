//! IP-XACT (IEEE 1685-2014): a design as a component with its bus interfaces.

use super::{Core, Pin, Text, text};
use askama::Template;

#[derive(Template)]
#[template(path = "export/component.xml", escape = "none")]
struct Component<'a> {
    made: String,
    version: &'a str,
    top: &'a str,
    pins: Vec<Pin<'a>>,
    files: &'a [String],
    interfaces: &'a [Interface],
    /// A sentence on the reset.
    note: &'static str,
    description: &'static str,
}

/// A bus of a design.
pub struct Interface {
    /// The beginning of its ports' names, before an underscore.
    name: &'static str,
    /// Name and version of the bus in Arm's library AMBA4.
    bus: (&'static str, &'static str),
    mode: &'static str,
    description: &'static str,
}

/// The kind of design that is described.
pub struct Kind {
    interfaces: &'static [Interface],
    note: &'static str,
    description: &'static str,
}

const STREAM: (&str, &str) = ("AXI4Stream", "r0p0_1");
const MEMORY: (&str, &str) = ("AXI4", "r0p0_0");

/// An engine behind two streams.
pub const ENGINE: Kind = Kind {
    interfaces: &[
        Interface { name: "s", bus: STREAM, mode: "slave", description: "Packets to the engine" },
        Interface { name: "m", bus: STREAM, mode: "master", description: "Packets from the engine" },
    ],
    note: ". The reset is active high, so that it is no ARESETn of the streams.",
    description: "A Pairforge engine: pipelines of a pairwise function behind two AXI4-Stream interfaces. The reset is synchronous, active high, and lasts for at least two cycles.",
};

/// An engine behind registers, with its packets in memory.
pub const WRAPPER: Kind = Kind {
    interfaces: &[
        Interface { name: super::axi::CONTROL, bus: MEMORY, mode: "slave", description: "Registers, AXI4-Lite" },
        Interface { name: super::axi::COMMANDS, bus: MEMORY, mode: "master", description: "Reads commands" },
        Interface { name: super::axi::RESULTS, bus: MEMORY, mode: "master", description: "Writes results" },
    ],
    note: ".",
    description: "A Pairforge engine behind registers, with its commands and results in memory. The reset is synchronous and active low.",
};

/// The file that describes a design.
pub fn component(core: &Core, kind: &Kind) -> Text {
    let component = Component {
        made: core.made(),
        version: core.version,
        top: &core.top.name,
        pins: core.pins(),
        files: core.files,
        interfaces: kind.interfaces,
        note: kind.note,
        description: kind.description,
    };
    text(format!("{}.xml", core.top.name), component.render())
}

impl Interface {
    /// The pins of this bus with their names in the standard, its clock, and its reset where that is one of the bus.
    fn maps<'p>(&self, pins: &'p [Pin<'p>]) -> Vec<(String, &'p str)> {
        let common = |pin: &'p Pin| {
            let signal = if pin.is_clock() { Some("ACLK") } else { (pin.name == "ap_rst_n").then_some("ARESETN") };
            signal.map(|signal| (signal.to_string(), pin.name))
        };
        let own = |pin: &'p Pin| {
            let signal = pin.name.strip_prefix(self.name)?.strip_prefix('_')?;
            Some((signal.to_ascii_uppercase(), pin.name))
        };
        pins.iter().filter_map(common).chain(pins.iter().filter_map(own)).collect()
    }
}
