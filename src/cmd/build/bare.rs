//! The pipeline without the engine: a pair and `in_valid` go in each clock, its values and `out_valid` come out.

use super::own::Whole;
use super::{Args, made, prefix, warn_of_clock};
use hdl::circuit::target::Clock;
use hdl::export::Text;
use hdl::rtl::netlist::{Dir, Item, Module, Netlist, range};
use hdl::serial::kernel_hash;
use pg2::backend::build::{Built, build};
use pg2::graph::Graph;
use serde::Serialize;
use terminal::failure::Failure;
use terminal::source;

/// The manifest of a pipeline alone, in the keys of docs/reference/json.md.
#[derive(Serialize)]
struct Manifest {
    kernel: String,
    /// Clocks from a pair to its values.
    latency: u32,
    ports: Vec<Port>,
    files: Vec<String>,
    verilog: Vec<String>,
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
    args.own.check_bare()?;
    let kernel = source::read(file)?;
    let graph = source::compile(&kernel)?;
    let hash = kernel_hash(&graph.canonical());
    let (kernel_name, named) = (graph.name.clone(), Graph { name: prefix(args, &graph)?, ..graph });
    let built = build(&named, clock, &kernel.sources, Vec::new());
    warn_of_clock(&built, &args.clock);
    let netlist = bare(&named.name, &built)?;
    let mut all = args.own.verilog(&netlist, &made(&kernel.origin, clock))?;
    let count = all.len();
    let top = netlist.module(&netlist.top).expect("a netlist has its top");
    all.push(Text { name: format!("{}.veo", top.name), text: template(top) });
    all.extend(args.own.extra(&Whole { netlist: &netlist, verilog: &all[..count], clock }));
    let names = |files: &[Text]| files.iter().map(|f| f.name.clone()).collect::<Vec<String>>();
    let manifest = Manifest {
        kernel: kernel_name,
        latency: top.latency,
        ports: ports(&built),
        files: names(&all),
        verilog: names(&all[..count]),
        target: clock.target.name.to_string(),
        mhz: clock.mhz,
        hash: format!("{hash:016x}"),
        top: top.name.clone(),
    };
    args.write(all, &manifest)
}

/// The ports with the formats of their values.
fn ports(built: &Built) -> Vec<Port> {
    let layout = built.graph.layout();
    let inputs = layout.i.into_iter().chain(layout.j).chain(layout.params).map(|(name, format)| (name, "in", format));
    let outputs = layout.outputs.into_iter().map(|(name, format, _)| (name, "out", format));
    let port = |(name, direction, format): (String, &'static str, hdl::Format)| Port {
        name,
        direction,
        format: format.to_string(),
    };
    inputs.chain(outputs).map(port).collect()
}

/// The pipeline with `valid` beside it. What an engine would write into its memories, or read out of them, has no ports.
fn bare(name: &str, built: &Built) -> Result<Netlist, Failure> {
    let layout = built.graph.layout();
    let in_memory = built.netlist.module(&built.netlist.top).is_some_and(|m| !m.bins.is_empty());
    if !layout.tables.is_empty() || in_memory {
        let what = if in_memory { "sums in memory" } else { "parameters that are tables" };
        return Err(Failure::Input(format!("{name} has {what}, which only an engine has; build it without --bare")));
    }
    let mut netlist = built.plain();
    let inner = netlist.module(&netlist.top).expect("a netlist has its top");
    // Sums take their values out of the pipeline in parts, which are put together in a clock of their own.
    let latency = built.schedule.depth + 1;
    let mut top = Module { name: format!("{name}_bare"), latency, ..Module::default() };
    top.doc = vec![
        "The pipeline alone: a pair may go in each clock. Parameters stand still while pairs are on their way."
            .to_string(),
    ];
    for (port, dir) in [("clk", Dir::In), ("rst", Dir::In), ("in_valid", Dir::In), ("out_valid", Dir::Out)] {
        top.port(dir, port, 1);
    }
    for port in inner.ports.iter().filter(|p| p.name != "clk") {
        top.port(port.dir, port.name.clone(), port.width);
    }
    top.items.push(Item::Text(body(inner, latency)));
    netlist.top = top.name.clone();
    netlist.add(top);
    Ok(netlist)
}

/// The text around the pipeline: `valid` on its way, and a register for each output.
fn body(inner: &Module, latency: u32) -> String {
    let outputs: Vec<_> = inner.ports.iter().filter(|p| p.dir == Dir::Out).collect();
    let nets: String = outputs.iter().map(|p| format!("    wire {}next_{};\n", range(p.width), p.name)).collect();
    let registers: String = outputs
        .iter()
        .map(|p| {
            let (range, name) = (range(p.width), &p.name);
            format!("    reg {range}last_{name};\n    always @(posedge clk) last_{name} <= next_{name};\n    assign {name} = last_{name};\n")
        })
        .collect();
    let connection = |p: &hdl::rtl::netlist::Port| {
        let before = if p.dir == Dir::Out { "next_" } else { "" };
        format!("        .{0}({before}{0})", p.name)
    };
    let connections: Vec<String> = inner.ports.iter().map(connection).collect();
    format!(
        "    // Clocks from a pair and in_valid to its values and out_valid.
    localparam LATENCY = {latency};
    reg [LATENCY - 1:0] on_way;
    always @(posedge clk)
        if (rst) on_way <= {latency}'d0;
        else on_way <= {{on_way[LATENCY - 2:0], in_valid}};
    assign out_valid = on_way[LATENCY - 1];
{nets}    {} pipeline (
{}
    );
{registers}",
        inner.name,
        connections.join(",\n")
    )
    .trim_end()
    .to_string()
}

/// An instance of the module, to be copied.
fn template(top: &Module) -> String {
    let connections: Vec<String> = top.ports.iter().map(|p| format!("    .{0}({0})", p.name)).collect();
    format!(
        "// An instance of {0}: out_valid and what belongs to a pair come {1} clocks behind in_valid and the pair.\n{0} pair (\n{2}\n);\n",
        top.name,
        top.latency,
        connections.join(",\n")
    )
}
