//! The output of `build` for an engineer's own design: one file a module, projects, components, IP-XACT, a wave.

use super::axi;
use super::bare::Language;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hdl::circuit::target::Clock;
use hdl::export::{Core, LANGUAGES, TOOLS, Text, Tool, ipxact, language, tool};
use hdl::rtl::netlist::{Netlist, Unsound};
use pairforge::kernel::design::one_file;
use sim::testbench::Engine;
use std::collections::HashMap;
use terminal::failure::Failure;

#[derive(clap::Args)]
#[command(next_help_heading = "For your own design")]
pub struct OwnArgs {
    /// Write one file a module, and their list files.f
    #[arg(long)]
    split: bool,
    /// Also write a project of a vendor's tool: a Tcl script that makes it, and constraints for --freq; may be given several times
    #[arg(long, value_name = "TOOL", value_parser = PossibleValuesParser::new(TOOLS.iter().map(|t| t.name)))]
    project: Vec<String>,
    /// Also write the engine as a component of another language, or behind registers with its packets in memory (axi); may be given
    /// several times
    #[arg(long, value_name = "LANGUAGE", value_parser = PossibleValuesParser::new(LANGUAGES.iter().map(|l| l.name).chain([axi::NAME])))]
    wrapper: Vec<String>,
    /// Width of the data of the masters of --wrapper axi, at least that of the streams [default: that]
    #[arg(long, value_name = "BITS", value_parser = PossibleValuesParser::new(["32", "64", "128"]).map(|bits| bits.parse::<u32>().unwrap_or_default()))]
    pub(super) axi_bits: Option<u32>,
    /// Also describe the engine and its two streams, and what --wrapper axi is, in IP-XACT (IEEE 1685-2014)
    #[arg(long)]
    pub(super) ip_xact: bool,
    /// Also draw the streams from the reset to the first result, as they are simulated; needs Verilator
    #[arg(long)]
    wave: bool,
}

/// Bytes of a module's name that make a file's name everywhere, with what is put behind it.
const LONGEST: usize = 240;

/// The list of a design's files, one a line.
const LIST: &str = "files.f";

/// A design whose top has an engine's ports, and its files.
pub struct Whole<'a> {
    pub netlist: &'a Netlist,
    pub verilog: &'a [Text],
    pub clock: Clock,
}

/// Refuses files of one folder whose names differ in capitals alone, of which the later one would take the place of the other
/// where file names do not tell capitals apart.
pub fn apart(files: &[Text]) -> Result<(), Failure> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for name in files.iter().map(|f| f.name.as_str()).chain(["manifest.json"]) {
        if let Some(other) = seen.insert(name.to_ascii_lowercase(), name) {
            let why = format!("the files {other} and {name} would have one name where capitals do not count");
            return Err(Failure::Input(format!("{why}; take other names for kernels or --prefix")));
        }
    }
    Ok(())
}

/// The file of one module.
fn file(name: String, ending: &str, text: String) -> Result<Text, Failure> {
    if name.len() > LONGEST {
        let advice = "leave --split out, or take shorter names in the kernel";
        return Err(Failure::Input(format!("the module {name} has too long a name for a file; {advice}")));
    }
    Ok(Text { name: name + ending, text })
}

impl OwnArgs {
    /// Refuses a project for a family that the tool has no devices of.
    pub fn check(&self, clock: Clock) -> Result<(), Failure> {
        let without = |tool: &&Tool| !tool.targets().contains(&clock.target.name);
        let Some(tool) = self.tools().find(without) else { return Ok(()) };
        Err(Failure::Usage(format!(
            "--project {} has no devices of the family {}, for which the pipelines are made; take --target {}",
            tool.name,
            clock.target.name,
            tool.targets().join(" or ")
        )))
    }

    /// Whether the wrapper behind registers is wanted.
    pub(super) fn has_axi(&self) -> bool {
        self.wrapper.iter().any(|name| name == axi::NAME)
    }

    /// Refuses components of languages whose texts are about an engine's streams, and of a pipeline that is VHDL itself.
    pub fn check_bare(&self, language: Language) -> Result<(), Failure> {
        if language == Language::Vhdl && !self.wrapper.is_empty() {
            return Err(Failure::Usage(
                "--language vhdl writes an entity, which needs no --wrapper; leave it out".into(),
            ));
        }
        match self.wrapper.iter().find(|name| *name != "vhdl") {
            Some(name) => {
                Err(Failure::Usage(format!("--bare has no --wrapper {name}; take vhdl, or the Verilog itself")))
            }
            None => Ok(()),
        }
    }

    /// The tools of which projects are asked for, each once.
    fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        let again = |k: &usize| self.project[..*k].contains(&self.project[*k]);
        (0..self.project.len()).filter(move |k| !again(k)).filter_map(|k| tool(&self.project[k]))
    }

    /// A design's Verilog as files, the top module's last; `made` is the first line of each.
    pub fn verilog(&self, netlist: &Netlist, made: &str) -> Result<Vec<Text>, Failure> {
        if !self.split {
            return Ok(vec![one_file(netlist, made)?]);
        }
        netlist
            .verilog_by_module()?
            .into_iter()
            .map(|(name, text)| file(name, ".v", format!("{made}\n{text}")))
            .collect()
    }

    /// The same of VHDL, in the order in which it is analysed.
    pub fn vhdl(&self, netlist: &Netlist, made: &str) -> Result<Vec<Text>, Failure> {
        let units = netlist.vhdl().map_err(Unsound)?;
        if !self.split {
            let text = units.into_iter().fold(made.to_string(), |text, unit| text + "\n" + &unit.1);
            return Ok(vec![Text { name: format!("{}.vhd", netlist.top), text }]);
        }
        units.into_iter().map(|(name, text)| file(name, ".vhd", format!("{made}\n{text}"))).collect()
    }

    /// All that was asked for around it.
    pub fn extra(&self, whole: &Whole) -> Vec<Text> {
        let files: Vec<String> = whole.verilog.iter().map(|f| f.name.clone()).collect();
        let top = whole.netlist.module(&whole.netlist.top).expect("a verified netlist has its top");
        let core = Core {
            top,
            files: &files,
            target: whole.clock.target.name,
            mhz: whole.clock.mhz,
            version: env!("CARGO_PKG_VERSION"),
        };
        let mut all = Vec::new();
        if self.split {
            all.push(Text { name: LIST.into(), text: files.join("\n") + "\n" });
        }
        all.extend(self.tools().filter_map(|tool| tool.project(&core)).flatten());
        let mut languages: Vec<&str> = self.wrapper.iter().map(String::as_str).collect();
        languages.sort_unstable();
        languages.dedup();
        all.extend(languages.into_iter().filter_map(language).map(|l| l.component(&core)));
        if self.ip_xact {
            all.push(ipxact::component(&core, &ipxact::ENGINE));
        }
        all
    }

    /// The argument by which a simulator finds the Verilog of a design with this top.
    pub fn simulated(&self, top: &str) -> String {
        if self.split { format!("-f {LIST}") } else { format!("{top}.v") }
    }

    /// The figure of a design's start, if it was asked for.
    pub fn picture(&self, engines: &[Engine], design: &Netlist) -> Result<Option<Text>, Failure> {
        if !self.wave {
            return Ok(None);
        }
        Ok(Some(Text { name: format!("{}.svg", design.top), text: sim::wave::svg(engines, design)? }))
    }
}
