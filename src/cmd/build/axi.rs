//! `build --wrapper axi`: the engine behind registers, with its commands and results in memory.

use super::made;
use super::own::OwnArgs;
use hdl::circuit::target::Clock;
use hdl::engine::Config;
use hdl::export::axi::{DATA_BITS, Package, Wrapper};
use hdl::export::{Core, Text, ipxact};
use terminal::failure::Failure;

/// Its name on the command line.
pub const NAME: &str = "axi";

/// The wrapper of an engine of one kernel.
pub struct Around<'a> {
    /// The origin of the kernel.
    pub origin: &'a str,
    /// The engine's top module.
    pub engine: &'a str,
    pub config: &'a Config,
    pub hash: u64,
    pub verilog: &'a [Text],
    pub clock: Clock,
}

impl OwnArgs {
    /// Refuses the width of masters that there are not, or that are narrower than the stream of the engine.
    pub(super) fn check_axi(&self, stream_bits: u32) -> Result<(), Failure> {
        let Some(bits) = self.axi_bits else { return Ok(()) };
        if !self.has_axi() {
            return Err(Failure::Usage("--axi-bits is for --wrapper axi; leave it out, or add that".into()));
        }
        if bits < stream_bits {
            return Err(Failure::Usage(format!(
                "--axi-bits {bits} is narrower than the streams of the engine; take at least {stream_bits}, or --stream {bits}"
            )));
        }
        Ok(())
    }

    /// The wrapper, if it was asked for.
    pub(super) fn axi(&self, around: &Around) -> Result<Vec<Text>, Failure> {
        if !self.has_axi() {
            return Ok(Vec::new());
        }
        let stream_bits = around.config.stream_bits;
        let data_bits = self.axi_bits.unwrap_or(stream_bits);
        debug_assert!(DATA_BITS.contains(&data_bits));
        let wrapper = Wrapper { engine: around.engine, config: around.config, data_bits };
        let (netlist, engine) = wrapper.netlist();
        let lint = "// The wrapper is one file of many modules, and its interrupt is named as Vitis has it:\n/* verilator lint_off DECLFILENAME */\n/* verilator lint_off SYMRSVDWORD */\n";
        let head = format!("{}{lint}\n", made(around.origin, around.clock));
        let verilog = Text { name: format!("{}.v", wrapper.top()), text: netlist.verilog_behind(head, &[engine])? };
        let files: Vec<String> = around.verilog.iter().chain([&verilog]).map(|f| f.name.clone()).collect();
        let version = env!("CARGO_PKG_VERSION");
        let package = Package { wrapper, hash: around.hash, files: &files, version };
        let mut all = vec![verilog];
        all.extend(package.texts());
        if self.ip_xact {
            let top = netlist.module(&netlist.top).expect("a verified netlist has its top");
            let clock = around.clock;
            let core = Core { top, files: &files, target: clock.target.name, mhz: clock.mhz, version };
            all.push(ipxact::component(&core, &ipxact::WRAPPER));
        }
        Ok(all)
    }
}
