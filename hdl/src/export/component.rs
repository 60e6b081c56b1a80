//! The engine as a component of another language.

use super::{Core, Pin, Text, text};
use crate::rtl::names::vhdl as identifier;
use askama::Template;

/// A language that engines are instantiated from.
#[derive(Clone, Copy)]
pub struct Language {
    /// As it is given on the command line.
    pub name: &'static str,
    /// How its file's name ends, behind the top's.
    ending: &'static str,
    render: fn(&Core) -> askama::Result<String>,
}

/// All of them.
pub const LANGUAGES: &[Language] = &[
    Language { name: "vhdl", ending: ".vhd", render: |core| vhdl(core).render() },
    Language { name: "rust-hdl", ending: ".rs", render: |core| RustHdl { common: common(core) }.render() },
    Language { name: "amaranth", ending: "_amaranth.py", render: |core| Amaranth { common: common(core) }.render() },
    Language { name: "litex", ending: "_litex.py", render: |core| Litex { common: common(core) }.render() },
];

/// The language of that name.
pub fn language(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|l| l.name == name)
}

impl Language {
    /// The file with the engine as a component.
    pub fn component(&self, core: &Core) -> Text {
        text(format!("{}{}", core.top.name, self.ending), (self.render)(core))
    }
}

struct Common<'a> {
    made: String,
    top: &'a str,
    pins: Vec<Pin<'a>>,
    bits: u32,
    files: &'a [String],
}

fn common<'a>(core: &'a Core) -> Common<'a> {
    Common { made: core.made(), top: &core.top.name, pins: core.pins(), bits: core.data_bits(), files: core.files }
}

impl Common<'_> {
    /// The pins of the two streams.
    fn beats(&self) -> impl Iterator<Item = &Pin<'_>> {
        self.pins.iter().filter(|p| !matches!(p.name, "clk" | "rst"))
    }
}

#[derive(Template)]
#[template(path = "export/component.vhd", escape = "none")]
struct Vhdl<'a> {
    common: Common<'a>,
    package: String,
    component: String,
    entity: String,
}

fn vhdl<'a>(core: &'a Core) -> Vhdl<'a> {
    let name = |ending: &str| identifier(&format!("{}{ending}", core.top.name)).into_owned();
    Vhdl { common: common(core), package: name("_pkg"), component: name(""), entity: name("_vhdl") }
}

impl Pin<'_> {
    /// Its mode and type in VHDL.
    fn vhdl(&self) -> String {
        let mode = if self.is_input { "in " } else { "out" };
        match self.width {
            1 => format!("{mode} std_logic"),
            width => format!("{mode} std_logic_vector({} downto 0)", width - 1),
        }
    }
}

#[derive(Template)]
#[template(path = "export/component.rs", escape = "none")]
struct RustHdl<'a> {
    common: Common<'a>,
}

impl Pin<'_> {
    /// Its type in rust-hdl.
    fn rust_hdl(&self) -> String {
        let dir = if self.is_input { "In" } else { "Out" };
        match (self.is_clock(), self.width) {
            (true, _) => format!("Signal<{dir}, Clock>"),
            (false, 1) => format!("Signal<{dir}, Bit>"),
            (false, width) => format!("Signal<{dir}, Bits<{width}>>"),
        }
    }
}

#[derive(Template)]
#[template(path = "export/amaranth.py", escape = "none")]
struct Amaranth<'a> {
    common: Common<'a>,
}

#[derive(Template)]
#[template(path = "export/litex.py", escape = "none")]
struct Litex<'a> {
    common: Common<'a>,
}

impl Pin<'_> {
    /// The argument of a Python `Instance` for it: direction and name.
    fn keyword(&self) -> String {
        format!("{}_{}", if self.is_input { 'i' } else { 'o' }, self.name)
    }

    /// The signal of a stream that it is, such as `valid`.
    fn signal(&self) -> &str {
        self.name.split_once("_t").map_or(self.name, |(_, signal)| signal)
    }

    /// Whether it belongs to the stream into the engine.
    fn of_input(&self) -> bool {
        self.name.starts_with("s_")
    }
}
