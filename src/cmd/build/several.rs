//! Several kernels in one design: an engine for each, behind one pair of streams.

use super::own::Whole;
use super::page::Drawn;
use super::{Args, LONGEST_PREFIX, config, made, prefix, warn_of_clock};
use crate::manifest::{Manifest, Several};
use hdl::circuit::target::Clock;
use hdl::engine::{Config, Design, design, switch};
use hdl::export::Text;
use hdl::serial::kernel_hash;
use pairforge::kernel::fit::Wanted;
use pg2::backend::build::Built;
use pg2::graph::Graph;
use pg2::syntax::sources::Sources;
use sim::testbench::Engine;
use terminal::failure::Failure;
use terminal::source;

/// A kernel of several.
pub struct Kernel {
    /// Where it came from, as shown in diagnostics.
    pub origin: String,
    pub sources: Sources,
    /// Of its own file.
    pub text: String,
    /// With its own name.
    pub graph: Graph,
    pub hash: u64,
}

/// Reads and compiles kernels for one design. Each has a name of its own and computes something of its own.
pub fn load(files: &[String]) -> Result<Vec<Kernel>, Failure> {
    let mut kernels: Vec<Kernel> = Vec::new();
    for file in files {
        let kernel = source::read(file)?;
        let graph = source::compile(&kernel)?;
        let hash = kernel_hash(&graph.canonical());
        if let Some(other) = kernels.iter().find(|k| k.hash == hash) {
            return Err(Failure::Usage(format!(
                "{} and {} are one kernel, which takes one engine; give that one more --pipelines",
                other.origin, kernel.origin
            )));
        }
        if let Some(other) = kernels.iter().find(|k| k.graph.name.eq_ignore_ascii_case(&graph.name)) {
            let (one, two) = (&other.graph.name, &graph.name);
            let names = match one == two {
                true => format!("both named {one}, as their modules would be"),
                false => format!("named {one} and {two}, which VHDL and file names do not tell apart everywhere"),
            };
            return Err(Failure::Usage(format!("{} and {} are {names}; rename a file", other.origin, kernel.origin)));
        }
        kernels.push(Kernel { origin: kernel.origin, sources: kernel.sources, text: kernel.text, graph, hash });
    }
    Ok(kernels)
}

pub fn build(args: &Args, clock: Clock) -> Result<(), Failure> {
    let kernels = load(&args.files)?;
    let count = kernels.len();
    let named: Vec<Graph> = kernels
        .iter()
        .map(|k| match &args.prefix {
            None => Ok(k.graph.clone()),
            Some(_) => Ok(Graph { name: format!("{}_{}", prefix(args, &k.graph)?, k.graph.name), ..k.graph.clone() }),
        })
        .collect::<Result<_, Failure>>()?;
    if let Some(long) = named.iter().find(|graph| graph.name.len() > LONGEST_PREFIX) {
        return Err(Failure::Usage(format!("the prefix {} has more than {LONGEST_PREFIX} bytes", long.name)));
    }
    let wanted: Vec<Wanted> = (0..count)
        .map(|k| {
            let (graph, sources, pipelines) = (&named[k], &kernels[k].sources, args.lanes.of((k, count))?.0);
            Ok(Wanted { graph, sources, clock, pipelines })
        })
        .collect::<Result<_, Failure>>()?;
    let built = args.fit.build_all(&wanted, &|k, built| config(args, built, (k, count)))?;
    built.iter().for_each(|built| warn_of_clock(built, &args.clock));
    let of = |(k, b): (usize, &Built)| Ok(Config { ident: Some(kernels[k].hash), ..config(args, b, (k, count))? });
    let configs = built.iter().enumerate().map(of).collect::<Result<Vec<Config>, Failure>>()?;
    let engines: Vec<Design> = configs.iter().zip(&built).map(|(c, b): (_, &Built)| design(c, &b.netlist)).collect();
    let first = match &args.prefix {
        None => named[0].name.clone(),
        Some(prefix) => prefix.clone(),
    };
    let netlist = switch::engines(&first, &engines, configs[0].stream_bits);
    let origins: Vec<&str> = kernels.iter().map(|k| k.origin.as_str()).collect();
    let mut all = args.own.verilog(&netlist, &made(&origins.join(", "), clock))?;
    let texts = all.len();
    let driven: Vec<Engine> =
        built.iter().zip(&configs).map(|(b, config)| Engine { graph: b.kernel(), config }).collect();
    all.extend(args.bench(&driven, &netlist.top)?);
    all.extend(args.own.extra(&Whole { netlist: &netlist, verilog: &all[..texts], clock }));
    all.extend(args.own.picture(&driven, &netlist)?);
    let names = |files: &[Text]| files.iter().map(|f| f.name.clone()).collect::<Vec<String>>();
    let manifests = (0..count).map(|k| {
        let made = Manifest::new(&built[k], &configs[k], (clock, kernels[k].hash), &engines[k].top, names(&all));
        // The kernel keeps its name, whatever the modules' prefix is.
        Manifest { kernel: kernels[k].graph.name.clone(), verilog: names(&all[..texts]), ..made }
    });
    let manifest = Several {
        kernels: manifests.collect(),
        files: names(&all),
        verilog: names(&all[..texts]),
        target: clock.target.name.to_string(),
        mhz: clock.mhz,
        stream_bits: configs[0].stream_bits,
        top: netlist.top,
    };
    let drawn: Vec<Drawn> = built
        .iter()
        .zip(&kernels)
        .map(|(built, kernel)| Drawn { built, sources: &kernel.sources, text: &kernel.text })
        .collect();
    args.write(all, &manifest, &drawn)
}
