//! The pipeline without the engine: a pair and `in_valid` go in each clock, its values and `out_valid` come out.

mod handshake;

use super::own::Whole;
use super::page::Drawn;
use super::{Args, made, prefix, warn_of_clock};
use hdl::circuit::target::Clock;
use hdl::export::Text;
use hdl::rtl::names::vhdl;
use hdl::rtl::netlist::{Dir, Item, Module, Netlist, Unsound};
use hdl::rtl::{Name, Value, cat, net};
use hdl::serial::kernel_hash;
use pairforge::kernel::design::origin_of;
use pg2::backend::build::{Built, build};
use pg2::graph::Graph;
use serde::Serialize;
use terminal::failure::Failure;
use terminal::source;

/// The language of a pipeline alone.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, clap::ValueEnum)]
pub enum Language {
    #[default]
    Verilog,
    Vhdl,
}

/// The port that lets a pipeline run.
const ENABLE: &str = "enable";

/// The manifest of a pipeline alone, in the keys of docs/reference/json.md.
#[derive(Serialize)]
struct Manifest {
    kernel: String,
    /// Clocks from a pair to its values.
    latency: u32,
    ports: Vec<Port>,
    files: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verilog: Vec<String>,
    /// In the order in which they are analysed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    vhdl: Vec<String>,
    target: String,
    mhz: f64,
    hash: String,
    top: String,
}

/// A port of the top module that carries a value of the kernel.
#[derive(Serialize)]
struct Port {
    name: String,
    /// `in` or `out`.
    direction: &'static str,
    format: String,
}

/// Compiles and writes; nothing is written unless all of it can be.
pub fn build_bare(args: &Args, clock: Clock) -> Result<(), Failure> {
    let [file] = &args.files[..] else {
        return Err(Failure::Usage("--bare builds one kernel; build each into a folder of its own".into()));
    };
    args.own.check_bare(args.language)?;
    let kernel = source::read(file)?;
    let graph = source::compile(&kernel)?;
    let hash = kernel_hash(&graph.canonical());
    let (kernel_name, named) = (graph.name.clone(), Graph { name: prefix(args, &graph)?, ..graph });
    let built = build(&named, clock, &kernel.sources, Vec::new());
    warn_of_clock(&built, &args.clock);
    let netlist = bare(args, &named.name, &built)?;
    let mut all = match args.language {
        Language::Verilog => args.own.verilog(&netlist, &made(&kernel.origin, clock))?,
        Language::Vhdl => args.own.vhdl(&netlist, &format!("-- {} VHDL-2008.\n", origin_of(&kernel.origin, clock)))?,
    };
    let count = all.len();
    let top = netlist.module(&netlist.top).expect("a netlist has its top");
    all.push(template(top, args.language));
    all.extend(args.own.extra(&Whole { netlist: &netlist, verilog: &all[..count], clock }));
    let names = |files: &[Text]| files.iter().map(|f| f.name.clone()).collect::<Vec<String>>();
    let sources = |language| if language == args.language { names(&all[..count]) } else { Vec::new() };
    let manifest = Manifest {
        kernel: kernel_name,
        latency: top.latency,
        ports: ports(&built, args.language),
        files: names(&all),
        verilog: sources(Language::Verilog),
        vhdl: sources(Language::Vhdl),
        target: clock.target.name.to_string(),
        mhz: clock.mhz,
        hash: format!("{hash:016x}"),
        top: top.name.clone(),
    };
    let drawn = Drawn { built: &built, sources: &kernel.sources, text: &kernel.text };
    args.write(all, &manifest, &[drawn])
}

/// The ports with the formats of their values.
fn ports(built: &Built, language: Language) -> Vec<Port> {
    let layout = built.layout();
    let inputs = layout.i.into_iter().chain(layout.j).chain(layout.params).map(|(name, format)| (name, "in", format));
    let outputs = layout.outputs.into_iter().map(|(name, format, _)| (name, "out", format));
    let port = |(name, direction, format): (String, &'static str, hdl::Format)| Port {
        name: if language == Language::Vhdl { vhdl(&name).into_owned() } else { name },
        direction,
        format: format.to_string(),
    };
    inputs.chain(outputs).map(port).collect()
}

/// The pipeline with `valid` beside it. What an engine would write into its memories, or read out of them, has no ports.
fn bare(args: &Args, name: &str, built: &Built) -> Result<Netlist, Failure> {
    let layout = built.layout();
    let in_memory = built.netlist.module(&built.netlist.top).is_some_and(|m| !m.bins.is_empty());
    if !layout.tables.is_empty() || in_memory {
        let what = if in_memory { "sums in memory" } else { "parameters that are tables" };
        return Err(Failure::Input(format!("{name} has {what}, which only an engine has; build it without --bare")));
    }
    let plain = built.plain();
    let stalls = args.enable || args.handshake;
    let mut netlist = if stalls { plain.enabled().map_err(Unsound)? } else { plain };
    let inner = netlist.module(&netlist.top).expect("a netlist has its top");
    // Sums take their values out of the pipeline in parts, which are put together in a clock of their own.
    let behind = 1 + if args.handshake { handshake::LATENCY } else { 0 };
    let mut top = Module { name: format!("{name}_bare"), latency: built.schedule.depth + behind, ..Module::default() };
    let how = match args.handshake {
        false => "a pair may go in each clock",
        true => {
            "a pair goes in while in_valid and in_ready are high, and its values leave while out_valid and out_ready are"
        }
    };
    top.doc = vec![format!("The pipeline alone: {how}. Parameters stand still while pairs are on their way.")];
    let ready = |port, dir| args.handshake.then_some((port, dir));
    let own = [Some(("clk", Dir::In)), Some(("rst", Dir::In)), args.enable.then_some((ENABLE, Dir::In))];
    let taken = [Some(("in_valid", Dir::In)), ready(handshake::IN_READY, Dir::Out)];
    let given = [Some(("out_valid", Dir::Out)), ready(handshake::OUT_READY, Dir::In)];
    let ports = own.into_iter().chain(taken).chain(given).flatten();
    ports.for_each(|(port, dir)| drop(top.port(dir, port, 1)));
    for port in inner.ports.iter().filter(|p| p.name != "clk" && inner.enable.as_ref() != Some(&p.name)) {
        top.port(port.dir, port.name.clone(), port.width);
    }
    surround(&mut top, inner, args);
    netlist.top = top.name.clone();
    netlist.add(top);
    Ok(netlist)
}

/// Puts around the pipeline what takes `valid` along, and a register for each output.
fn surround(top: &mut Module, inner: &Module, args: &Args) {
    top.comment(match args.handshake {
        false => "Clocks from a pair and in_valid to its values and out_valid.",
        true => "Clocks from a pair to its values where nothing waits.",
    });
    top.items.push(Item::Constant { name: "LATENCY".into(), value: top.latency });
    let buffer = args.handshake.then(|| handshake::Buffer::new(top));
    let moves = buffer.as_ref().map(|b| b.moves.clone()).or_else(|| args.enable.then(|| top.signal(ENABLE)));
    let moved = |next: Value, own: &Value| moves.as_ref().map_or(next.clone(), |moves| moves.mux(&next, own));
    let stages = top.latency - if args.handshake { handshake::LATENCY } else { 0 };
    let (rst, in_valid) = (top.signal("rst"), top.signal("in_valid"));
    let on_way = top.hold("on_way", stages);
    let before = (stages > 1).then(|| on_way.low(stages - 1));
    let next = moved(cat(before.into_iter().chain([in_valid])), &on_way);
    top.load("on_way", rst.mux(&Value::zeros(stages), &next));
    let mut connections: Vec<(Name, Value)> = Vec::new();
    for port in &inner.ports {
        let value = match (port.dir, &moves) {
            (Dir::Out, _) => top.net(format!("next_{}", port.name), port.width),
            (Dir::In, Some(moves)) if inner.enable.as_ref() == Some(&port.name) => moves.clone(),
            (Dir::In, _) => top.signal(&port.name),
        };
        connections.push((port.name.clone(), value));
    }
    top.instance(&inner.name, "pipeline", connections);
    let outputs: Vec<(Name, Value)> = inner
        .ports
        .iter()
        .filter(|p| p.dir == Dir::Out)
        .map(|port| {
            let (next, last) = (top.signal(&format!("next_{}", port.name)), format!("last_{}", port.name));
            let own = net(&last, port.width);
            (port.name.clone(), top.reg(last, moved(next, &own)))
        })
        .collect();
    match buffer {
        Some(buffer) => buffer.fill(top, on_way.msb(), outputs),
        None => {
            top.assign("out_valid", on_way.msb());
            outputs.into_iter().for_each(|(port, last)| top.assign(port, last));
        }
    }
}

/// An instance of the module, to be copied.
fn template(top: &Module, language: Language) -> Text {
    let name = |name: &str| match language {
        Language::Verilog => name.to_string(),
        Language::Vhdl => vhdl(name).into_owned(),
    };
    let says = match top.ports.iter().any(|p| p.name == handshake::IN_READY) {
        false => format!("out_valid and values come {} clocks behind in_valid and their pair.", top.latency),
        true => format!("values come {} clocks behind their pair, and later where something waits.", top.latency),
    };
    let list = |connection: &dyn Fn(String) -> String| -> String {
        top.ports.iter().map(|p| connection(name(&p.name))).collect::<Vec<_>>().join(",\n")
    };
    let own = name(&top.name);
    match language {
        Language::Verilog => {
            let ports = list(&|port| format!("    .{port}({port})"));
            let text = format!("// An instance of {own}: {says}\n{own} pair (\n{ports}\n);\n");
            Text { name: format!("{}.veo", top.name), text }
        }
        Language::Vhdl => {
            let ports = list(&|port| format!("    {port} => {port}"));
            let text = format!("-- An instance of {own}: {says}\npair : entity work.{own} port map (\n{ports}\n);\n");
            Text { name: format!("{}.vho", top.name), text }
        }
    }
}
