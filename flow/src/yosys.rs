//! Calls of yosys: scripts, and the netlists and statistics that come of them.

use crate::area::{self, Modules};
use crate::family::{Family, Mapping};
use crate::packing::packing;
use crate::run::{Call, Step};
use crate::tools::{Tools, YOSYS};
use crate::{FlowError, carries, elements, refuse};
use std::path::Path;

/// The carry chains and parts of MAX 10 and Cyclone IV.
const MAX10_CARRY: &str = include_str!("../techmap/max10_carry.v");
const MAX10_CLEAR: &str = include_str!("../techmap/max10_clear.v");
const MAX10_CELLS: &str = include_str!("../techmap/max10_cells.v");

/// A design to a mapped netlist.
pub(crate) struct Synthesis<'a> {
    pub family: &'static Family,
    pub mapping: Mapping<'a>,
    /// Name of the call's files.
    pub name: &'a str,
    /// The Verilog, relative to the folder.
    pub verilog: &'a str,
    pub what: &'a str,
}

/// Runs it in `dir`, which has the folders `synth_work` and `synth_logs`.
pub(crate) fn run(
    tools: &Tools,
    dir: &Path,
    s: &Synthesis,
    watch: &mut dyn FnMut(&Step),
) -> Result<Modules, FlowError> {
    let program = tools.find(&YOSYS)?;
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).map_err(FlowError::io(&dir.join(name)));
    let max10 = s.family.target == "max10";
    let mut script = Vec::new();
    if max10 {
        write("synth_work/max10_carry.v", MAX10_CARRY)?;
        write("synth_work/max10_clear.v", MAX10_CLEAR)?;
        write("synth_work/max10_cells.v", MAX10_CELLS)?;
        script.push("read_verilog -sv -lib +/intel/max10/cells_sim.v".to_string());
        script.push("read_verilog -lib synth_work/max10_cells.v".to_string());
    }
    script.push(format!("read_verilog {}", s.verilog));
    let calls = (s.family.commands)(&s.mapping);
    let last = calls.len() - 1;
    for (k, commands) in calls.into_iter().enumerate() {
        script.extend(commands);
        let name = if k == last { s.name.to_string() } else { format!("{}_{k}", s.name) };
        let netlist = format!("synth_work/{name}.il");
        let mut writes = Vec::new();
        if k < last {
            // The next call cannot begin without it.
            script.push(format!("write_rtlil {netlist}"));
        } else {
            script.push(format!("tee -q -o synth_work/{name}.stat.json stat -json"));
            writes.push(format!("synth_work/{name}.stat.json"));
            // Place and route reads the whole design's; the packing of flip-flops is counted in each whole one.
            if s.mapping.flatten || max10 {
                script.push(format!("write_json synth_work/{name}.json"));
                writes.push(format!("synth_work/{name}.json"));
            }
        }
        let file = format!("synth_work/{name}.ys");
        write(&file, &(script.join("\n") + "\n"))?;
        let log = format!("synth_logs/{name}.log");
        // Without a log of its own, YoWASP loses what yosys prints after a call of ABC.
        let args = ["-q", "-l", &log, &file].map(String::from).to_vec();
        Call { tools, program: program.clone(), args, dir, what: s.what, log: log.clone(), writes }.run(watch)?;
        refuse::check(&dir.join(log))?;
        script = vec![format!("read_rtlil {netlist}")];
    }
    let netlist = dir.join(format!("synth_work/{}.json", s.name));
    if max10 {
        return fold(s, &netlist);
    }
    let mut modules = area::read(s.family, &dir.join(format!("synth_work/{}.stat.json", s.name)))?;
    if s.mapping.flatten {
        let text = std::fs::read(&netlist).map_err(FlowError::io(&netlist))?;
        let mut mapped = serde_json::from_slice(&text).map_err(FlowError::report(&netlist))?;
        refuse::undefined(&netlist, &mapped, s.mapping.top)?;
        refuse::lost_multipliers(&dir.join(format!("synth_logs/{}.log", s.name)), &mapped, s.mapping.top)?;
        if s.mapping.dense && s.family.target == "ecp5" {
            let taken = carries::take_in(&mut mapped, s.mapping.top);
            rewrite(&netlist, &mapped)?;
            modules.whole.without(s.family, "LUT4", taken);
        }
        modules.pack(packing(s.family, &mapped, s.mapping.top));
    }
    Ok(modules)
}

/// Writes a netlist in place of an earlier one.
fn rewrite(path: &Path, netlist: &serde_json::Value) -> Result<(), FlowError> {
    let aside = path.with_extension("json.new");
    std::fs::write(&aside, netlist.to_string()).map_err(FlowError::io(&aside))?;
    std::fs::rename(&aside, path).map_err(FlowError::io(path))
}

/// Lets the family's elements and multipliers do what yosys does not know that they can, and counts what is left.
fn fold(s: &Synthesis, path: &Path) -> Result<Modules, FlowError> {
    let text = std::fs::read(path).map_err(FlowError::io(path))?;
    let mut netlist = serde_json::from_slice(&text).map_err(FlowError::report(path))?;
    elements::fold(&mut netlist);
    rewrite(path, &netlist)?;
    let mut modules = area::count(s.family, &netlist, s.mapping.top);
    if s.mapping.flatten {
        modules.pack(packing(s.family, &netlist, s.mapping.top));
    }
    Ok(modules)
}

/// The commands for MAX 10 and Cyclone IV. Yosys's own `synth_intel` maps no carry chains, and for Cyclone IV no
/// multipliers; this maps both, and leaves block memories as they are.
pub(crate) fn max10(m: &Mapping) -> Vec<String> {
    let target = hdl::circuit::target::target("max10").expect("it is in the list");
    let (a, b, from) = (target.mul_a, target.mul_b, target.mul_from);
    let sizes = format!(
        "-D DSP_A_MAXWIDTH={a} -D DSP_B_MAXWIDTH={b} -D DSP_A_MINWIDTH={from} -D DSP_B_MINWIDTH={from} -D DSP_NAME=pf_mul18"
    );
    let multipliers = format!("techmap -map +/mul2dsp.v {sizes}");
    let top = format!("hierarchy -check -top {}", m.top);
    let mut list = vec![top.as_str(), "proc"];
    if m.flatten {
        list.push("flatten");
    }
    list.extend(["opt_expr", "opt_clean", "check", "opt", "wreduce", "peepopt", "opt_clean", "share"]);
    list.extend(["opt_expr", "opt_clean"]);
    if m.multipliers {
        // Products by a few bits stay in logic.
        list.extend([multipliers.as_str(), "chtype -set $mul t:$__soft_mul"]);
    }
    list.extend(["alumacc", "opt", "memory -nomap", "opt_clean"]);
    list.extend(["opt -fast -mux_undef -undriven -fine -full", "techmap -map synth_work/max10_carry.v"]);
    list.extend(["techmap -map +/techmap.v", "opt -full", "simplemap", "clean -purge", "setundef -undriven -zero"]);
    // The family's flip-flops have an enable and a synchronous clear, which a whole block of elements shares.
    let flip_flops = format!("dfflegalize -cell $_DFFE_PN0P_ 01 -cell $_SDFFCE_PP0P_ 01 -minsrst {}", elements::BLOCK);
    list.push(&flip_flops);
    list.extend(["techmap -map synth_work/max10_clear.v", "techmap -map +/intel/common/ff_map.v"]);
    // Least area within as many tables in a row as a stage has time for: six at 150 MHz. The operators are written in the
    // form that maps well, which restructuring for delay would undo.
    let map = format!("abc -lut 4 -script +strash;if,-D,{};mfs2,-a", m.levels);
    list.extend([map.as_str(), "clean", "opt -fast", "clean"]);
    list.into_iter().map(String::from).collect()
}
