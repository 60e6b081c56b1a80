//! Projects of vendors' tools: a Tcl script that creates one, and the constraints of the clock and of the ports.

use super::{ALONE_PINS, Core, Pin, Text, alone, text};
use askama::Template;

/// A vendor's tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tool {
    /// As it is given on the command line.
    pub name: &'static str,
    /// Families of ours that it knows, each with a device; the first one serves any pipeline.
    devices: &'static [Device],
    /// The file name of the constraints.
    constraints: &'static str,
}

/// A tool's name of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Device {
    target: &'static str,
    /// The vendor's family, or a speed grade where the tool asks for that.
    more: &'static str,
    part: &'static str,
}

const fn device(target: &'static str, more: &'static str, part: &'static str) -> Device {
    Device { target, more, part }
}

/// All of them.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "quartus",
        devices: &[
            device("generic", "Cyclone V", "5CEBA4F23C7"),
            device("cyclonev", "Cyclone V", "5CEBA4F23C7"),
            device("max10", "MAX 10", "10M50DAF484C7G"),
        ],
        constraints: "sdc",
    },
    Tool {
        name: "vivado",
        devices: &[device("generic", "", "xc7a100tcsg324-1"), device("xc7", "", "xc7a100tcsg324-1")],
        constraints: "xdc",
    },
    Tool {
        name: "radiant",
        devices: &[
            device("generic", "9_High-Performance_1.0V", "LIFCL-40-9BG400I"),
            device("ice40", "High-Performance_1.2V", "iCE40UP5K-SG48I"),
        ],
        constraints: "sdc",
    },
];

/// The tool of that name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|t| t.name == name)
}

#[derive(Template)]
#[template(path = "export/quartus.tcl", escape = "none")]
struct Quartus<'a> {
    common: Common<'a>,
    pins: Vec<Pin<'a>>,
}

#[derive(Template)]
#[template(path = "export/vivado.tcl", escape = "none")]
struct Vivado<'a> {
    common: Common<'a>,
}

#[derive(Template)]
#[template(path = "export/radiant.tcl", escape = "none")]
struct Radiant<'a> {
    common: Common<'a>,
}

/// The fields common to all scripts.
struct Common<'a> {
    made: String,
    script: &'a str,
    top: &'a str,
    files: &'a [String],
    constraints: &'a str,
    device: Device,
}

#[derive(Template)]
#[template(path = "export/clock.sdc", escape = "none")]
struct Constraints<'a> {
    made: String,
    clock: &'static str,
    period: String,
    is_quartus: bool,
    /// Ports of the engine itself, without its clock; none where it is inside a top with few pins.
    inputs: Vec<&'a Pin<'a>>,
    outputs: Vec<&'a Pin<'a>>,
    /// Pins whose paths are not looked at.
    slow_inputs: Vec<&'static str>,
    slow_outputs: Vec<&'static str>,
}

impl Tool {
    /// Names of the families whose devices it can take.
    pub fn targets(&self) -> Vec<&'static str> {
        self.devices.iter().map(|d| d.target).collect()
    }

    /// The files of a project of an engine alone in a device: the script, the constraints, and a top with few pins where the
    /// tool can make no ports inside. `None` if it has no device of the engine's family.
    pub fn project(&self, core: &Core) -> Option<Vec<Text>> {
        let device = *self.devices.iter().find(|d| d.target == core.target)?;
        let engine = core.top.name.as_str();
        let mut made = Vec::new();
        let mut files = core.files.to_vec();
        let mut top = engine.to_string();
        let inside = self.name == "radiant";
        if inside {
            top = format!("{engine}_alone");
            files.push(format!("{top}.v"));
            made.push(Text { name: format!("{top}.v"), text: alone(&top, engine, core.data_bits()) });
        }
        let (script, constraints) = (format!("{engine}_{}.tcl", self.name), format!("{top}.{}", self.constraints));
        let common =
            Common { made: core.made(), script: &script, top: &top, files: &files, constraints: &constraints, device };
        let rendered = match self.name {
            "quartus" => Quartus { common, pins: core.pins() }.render(),
            "vivado" => Vivado { common }.render(),
            _ => Radiant { common }.render(),
        };
        made.push(text(script.clone(), rendered));
        made.push(text(constraints.clone(), self.constrain(core, inside)));
        Some(made)
    }

    fn constrain(&self, core: &Core, inside: bool) -> askama::Result<String> {
        let pins = core.pins();
        let of = |inputs: bool| pins.iter().filter(|p| !inside && !p.is_clock() && p.is_input == inputs).collect();
        let [clock, slow_inputs @ .., slow_output] = ALONE_PINS;
        Constraints {
            made: core.made(),
            clock,
            period: format!("{:.3}", 1000.0 / core.mhz),
            is_quartus: self.name == "quartus",
            inputs: of(true),
            outputs: of(false),
            slow_inputs: if inside { slow_inputs.to_vec() } else { Vec::new() },
            slow_outputs: if inside { vec![slow_output] } else { Vec::new() },
        }
        .render()
    }
}
