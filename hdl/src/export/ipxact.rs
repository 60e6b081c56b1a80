//! IP-XACT (IEEE 1685-2014): the engine as a component with two AXI4-Stream interfaces.

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
    streams: [Stream; 2],
}

/// One of the engine's streams.
struct Stream {
    /// The prefix of its ports' names, before an underscore.
    name: &'static str,
    mode: &'static str,
    description: &'static str,
}

/// The file that describes the engine.
pub fn component(core: &Core) -> Text {
    let streams = [
        Stream { name: "s", mode: "slave", description: "Packets to the engine" },
        Stream { name: "m", mode: "master", description: "Packets from the engine" },
    ];
    let component = Component {
        made: core.made(),
        version: core.version,
        top: &core.top.name,
        pins: core.pins(),
        files: core.files,
        streams,
    };
    text(format!("{}.xml", core.top.name), component.render())
}

impl Stream {
    /// The pins of this stream with their names in the standard, and the clock.
    fn maps<'p>(&self, pins: &'p [Pin<'p>]) -> Vec<(String, &'p str)> {
        let own = |pin: &'p Pin| {
            let signal = pin.name.strip_prefix(self.name)?.strip_prefix('_')?;
            Some((signal.to_ascii_uppercase(), pin.name))
        };
        let clock = pins.iter().filter(|p| p.is_clock()).map(|p| ("ACLK".to_string(), p.name));
        clock.chain(pins.iter().filter_map(own)).collect()
    }
}
