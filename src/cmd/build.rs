//! `pairforge build`: a kernel as a self-contained synthesisable design.

mod axi;
mod bare;
mod own;
pub mod page;
pub mod several;

use super::folding::FitArgs;
use super::lanes::{FilterArgs, LaneArgs, each};
use crate::manifest::{self, Manifest};
use fmm::shown::shown;
use hdl::board::Device;
use hdl::circuit::target::{Clock, TARGETS, target};
use hdl::engine::switch::MOST_ENGINES;
use hdl::engine::{Config, design, usual};
use hdl::export::Text;
use hdl::rtl::names::is_plain;
use hdl::serial::kernel_hash;
use page::Drawn;
use pairforge::kernel::design::{Around, made};
use pairforge::kernel::fit::Wanted;
use pairforge::kernel::parts;
use pairforge::kernel::schedule::Schedule;
use pg2::backend::build::Built;
use pg2::backend::filtered::build_filtered;
use pg2::graph::Graph;
use pg2::middle::coarse::reaching;
use sim::testbench::{Engine, Place};
use std::path::PathBuf;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::report::{Data, Page, Quantity};
use terminal::{output, source};

#[derive(clap::Args)]
pub struct Args {
    /// PG2 files, or names of shipped kernels: up to 4, an engine for each behind one pair of streams
    #[arg(value_name = "FILE", required = true, num_args = 1..=MOST_ENGINES)]
    files: Vec<String>,
    /// Folder to write the design to; made if absent
    #[arg(short, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    lanes: LaneArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    fit: FitArgs,
    /// j memory in 32-bit words [default: 16384, and as many more as the block memories for these hold]; of several kernels as
    /// --pipelines
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    jmem: Option<Vec<u32>>,
    /// Width of the streams in bits
    #[arg(long, value_name = "BITS", default_value = "32", value_parser = ["32", "64", "128"])]
    stream: String,
    /// What the names of all modules begin with, by default the kernel's name
    #[arg(long, value_name = "NAME")]
    prefix: Option<String>,
    /// Write the pipeline alone, without the engine: a pair with `in_valid` goes in each clock, its values with `out_valid` come out
    #[arg(long, conflicts_with_all = ["filters", "pipelines", "groups", "jmem", "stream", "ii", "fit", "testbench", "ip_xact", "wave", "project"])]
    bare: bool,
    /// With --bare: an input `enable`; while it is low, the pipeline stands still
    #[arg(long, requires = "bare")]
    enable: bool,
    /// With --bare: `ready` beside `valid` at both ends; the pipeline waits while nobody takes its values, and loses none
    #[arg(long, requires = "bare", conflicts_with = "enable")]
    handshake: bool,
    /// With --bare: the language of the pipeline, Verilog-2005 or VHDL-2008
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value_t)]
    language: bare::Language,
    /// Also write a self-checking testbench with its vectors, for any Verilog simulator
    #[arg(long)]
    testbench: bool,
    /// Write a page with the pipeline as a drawing, the cost of each line and the time between registers
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    clock: ClockArgs,
    #[command(flatten)]
    own: own::OwnArgs,
}

/// The first target: its list is read from texts, which every start of the program would wait for.
const USUAL_TARGET: &str = "generic";

/// What operators pipeline themselves for.
#[derive(clap::Args)]
pub struct ClockArgs {
    /// FPGA family (see `pairforge list targets`), or a device of it [default: generic, or that of the device of --fit]
    #[arg(long, value_name = "T")]
    target: Option<String>,
    /// Clock frequency to reach [default: the usual one of the family: 150, of ice40 24, of gowin 100]
    #[arg(long, value_name = "MHZ", value_parser = mhz)]
    pub freq: Option<f64>,
    #[command(flatten)]
    blocks: BlockArgs,
}

/// A clock of any command.
pub(super) fn mhz(text: &str) -> Result<f64, String> {
    match text.parse::<f64>().map_err(|e| e.to_string())? {
        mhz if (1.0..=1000.0).contains(&mhz) => Ok(mhz),
        mhz => Err(format!("a clock has 1 to 1000 MHz, not {mhz:?}")),
    }
}

/// What of a device a pipeline may use.
#[derive(clap::Args)]
pub struct BlockArgs {
    /// Multiplier blocks that a pipeline may use; further products are made of logic. All are in blocks unless given
    #[arg(long, value_name = "N")]
    pub dsp: Option<u32>,
}

impl ClockArgs {
    /// The clock for a device, if one is named, or what is wrong with it.
    pub fn clock(&self, device: Option<&Device>) -> Result<Clock, Failure> {
        let known = || TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        let name = self.target.as_deref().or(device.map(|d| d.target)).unwrap_or(USUAL_TARGET);
        // A device stands for its family.
        let name = parts::device_of(name).map_or(name, |device| device.target);
        let target = target(name)
            .ok_or_else(|| Failure::Usage(format!("there is no target `{}`; the targets are {}", name, known())))?;
        possible(Clock { target, mhz: self.freq.unwrap_or(target.usual_mhz), blocks: self.blocks.dsp })
    }
}

/// The clock, unless no circuit could have it.
pub fn possible(clock: Clock) -> Result<Clock, Failure> {
    clock.verify().map_err(Failure::Usage)?;
    Ok(clock)
}

/// Tells of a lane that the model of its target does not give the clock to that was asked for.
pub fn warn_of_clock(built: &Built, asked: &ClockArgs) {
    let (clock, longest) = (built.library.clock, built.longest());
    if asked.freq.is_some() && longest > clock.budget() + 1e-9 {
        output::tell(&format!(
            "warning: {} at {} MHz leaves {:.2} ns between two registers, and {} has a path of {longest:.2} ns that no \
             register cuts; by this model it runs at {:.0} MHz\n",
            clock.target.name,
            clock.mhz,
            clock.budget(),
            built.graph.name,
            (1000.0 / (longest + clock.target.ff)).floor()
        ));
    }
}

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().kernels("FILE", &self.files).fills("-o", [&self.output]);
        files.writes("--report", &self.report, files::HTML)
    }

    fn stream_bits(&self) -> u32 {
        self.stream.parse().unwrap_or(usual::STREAM_BITS)
    }

    /// Writes the folder whole, without what an earlier build has left there, and the page on the kernels.
    fn write(&self, files: Vec<Text>, manifest: &impl serde::Serialize, kernels: &[Drawn]) -> Result<(), Failure> {
        own::apart(&files)?;
        let stale = manifest::files_in(&self.output);
        let mut tree = output::Tree::new(&self.output);
        files.into_iter().for_each(|file| tree.add_text(&file.name, file.text));
        let schedules = self.report.as_ref().map(|_| kernels.iter().map(Drawn::schedule).collect());
        let written = WithSchedules { manifest, schedules };
        tree.add_json(manifest::NAME, &written);
        tree.finish(&stale)?;
        match &self.report {
            Some(path) => output::write_text(path, &page(&Data::new(&written), kernels).html()?),
            None => Ok(()),
        }
    }

    /// The files of the testbench, if it was asked for.
    fn bench(&self, engines: &[Engine], top: &str) -> Result<Vec<Text>, Failure> {
        if !self.testbench {
            return Ok(Vec::new());
        }
        let files = self.own.simulated(top);
        let made = sim::testbench::testbench(engines, Place { top, files: &files });
        let t = made.map_err(|e| Failure::Input(format!("the testbench's vectors cannot be made: {}", e.0)))?;
        Ok([t.verilog, t.input, t.output].map(|(name, text)| Text { name, text }).into())
    }
}

/// A manifest, with what the page of `--report` shows.
#[derive(serde::Serialize)]
struct WithSchedules<'a, M: serde::Serialize> {
    #[serde(flatten)]
    manifest: &'a M,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedules: Option<Vec<Schedule>>,
}

/// The page on the kernels of a design.
fn page(data: &Data, kernels: &[Drawn]) -> Page {
    let names: Vec<&str> = kernels.iter().map(|kernel| &kernel.built.graph.name[..]).collect();
    let named = |name: &str, key: &str, quantity| (name.to_string(), data.cell(key, quantity));
    let first = [
        named("pipelines", "pipelines", Quantity::Count),
        named("clocks of latency", "latency", Quantity::Count),
        named("register bits of a lane", "register_bits", Quantity::Count),
        named("clock", "mhz", Quantity::Of("MHz")),
    ];
    let of = |(k, drawn): (usize, &Drawn)| page::sections(drawn, data, (k, kernels.len()));
    Page {
        title: format!("Design of {}", names.join(" and ")),
        about: format!("Verilog for {}, with {} as its top", data.text("target"), data.text("top")),
        first: first.into_iter().filter(|(_, cell)| cell.has_key()).collect(),
        sections: kernels.iter().enumerate().flat_map(of).collect(),
    }
}

/// Compiles and writes; nothing is written unless all of it can be.
pub fn run(args: Args) -> Result<(), Failure> {
    let clock = args.clock.clock(args.fit.device())?;
    args.own.check(clock)?;
    args.own.check_axi(args.stream_bits())?;
    if args.bare {
        return bare::build_bare(&args, clock);
    }
    if args.language == bare::Language::Vhdl {
        let text = "--language vhdl is for a pipeline alone, since engines have parts in Verilog; add --bare, or take \
                    --wrapper vhdl for a component around the engine's Verilog";
        return Err(Failure::Usage(text.into()));
    }
    args.filters.check_engine(args.files.len(), &args.fit)?;
    args.filters.check_page(args.report.is_some())?;
    if args.files.len() > 1 && args.own.has_axi() {
        return Err(Failure::Usage(
            "--wrapper axi is around an engine of one kernel; build each into a folder of its own".into(),
        ));
    }
    if args.files.len() > 1 {
        return several::build(&args, clock);
    }
    let kernel = source::read(&args.files[0])?;
    let graph = source::compile(&kernel)?;
    let hash = kernel_hash(&graph.canonical());
    let name = prefix(&args, &graph)?;
    // The kernel keeps its name, whatever the modules' prefix is.
    let (kernel_name, named) = (graph.name.clone(), Graph { name, ..graph });
    let named = if args.filters.count() > 0 { reaching(&named) } else { named };
    let wanted = Wanted { graph: &named, sources: &kernel.sources, clock, pipelines: args.lanes.one()?.0 };
    let built = built(&args, &wanted)?;
    warn_of_clock(&built, &args.clock);
    let config = Config { ident: Some(hash), ..config(&args, &built, (0, 1))? };
    let engine = design(&config, &built.netlist);
    let mut all = args.own.verilog(&engine.netlist, &made(&kernel.origin, clock))?;
    let count = all.len();
    // Pairs that pass are counted by the kernel as it was compiled.
    let graph = if config.filters > 0 { &named } else { &built.graph };
    let engines = [Engine { graph, config: &config }];
    all.extend(args.bench(&engines, &engine.top)?);
    all.extend(args.own.extra(&own::Whole { netlist: &engine.netlist, verilog: &all[..count], clock }));
    let (origin, top) = (&kernel.origin, &engine.top);
    let around = axi::Around { origin, engine: top, config: &config, hash, verilog: &all[..count], clock };
    let wrapper = args.own.axi(&around)?;
    all.extend(wrapper);
    all.extend(args.own.picture(&engines, &engine.netlist)?);
    let names = |files: &[Text]| files.iter().map(|f| f.name.clone()).collect::<Vec<String>>();
    let manifest = Manifest::new(&built, &config, (clock, hash), &engine.top, names(&all));
    let manifest = Manifest { kernel: kernel_name, verilog: names(&all[..count]), ..manifest };
    let drawn = Drawn { built: &built, sources: &kernel.sources, text: &kernel.text };
    args.write(all, &manifest, &[drawn])?;
    // The program ends next, and to free a large design first would take long.
    std::mem::forget((named, built, engine));
    Ok(())
}

/// The kernel's pipeline, or both of them where it has filters.
fn built(args: &Args, wanted: &Wanted) -> Result<Built, Failure> {
    match args.filters.count() {
        0 => args.fit.build(wanted, &|built| config(args, built, (0, 1))),
        _ => build_filtered(wanted.graph, wanted.clock, wanted.sources, Vec::new()).map_err(Failure::Input),
    }
}

/// The engine around the pipeline of kernel `place.0` of `place.1`.
fn config(args: &Args, built: &Built, place: (usize, usize)) -> Result<Config, Failure> {
    let (pipelines, groups) = args.lanes.of(place)?;
    let jmem_words = args.jmem.as_ref().map(|words| each(words, place, "--jmem")).transpose()?;
    let (stream_bits, filters) = (args.stream_bits(), args.filters.count());
    let around = Around { pipelines, groups, stream_bits, filters, jmem_words, engines: place.1 };
    around.config(built).map_err(Failure::Input)
}

/// Bytes of a prefix: it begins the names of files.
const LONGEST_PREFIX: usize = 200;

/// The prefix of the modules' names.
fn prefix(args: &Args, graph: &Graph) -> Result<String, Failure> {
    match &args.prefix {
        None => Ok(graph.name.clone()),
        Some(name) if is_plain(name) && name.len() <= LONGEST_PREFIX => Ok(name.clone()),
        Some(name) => Err(Failure::Usage(format!(
            "--prefix takes letters, digits and underscores, at most {LONGEST_PREFIX}, that begin with no digit, not `{}`",
            shown(name)
        ))),
    }
}
