//! `pairforge synth`: area, clock and bitstream of a kernel's engine, through yosys and nextpnr.

use super::build::BlockArgs;
use super::build::page::Drawn;
use super::build::several::{Kernel, load};
use super::folding::FitArgs;
use super::lanes::{FilterArgs, GroupArgs, each};
use flow::summary::{Engine, Summary};
use flow::{Goal, GroupSample, SynthesisJob, SynthesisOutcome, names, report};
use hdl::board::pll::Source;
use hdl::board::{Board, Vendor};
use hdl::circuit::target::{Clock, target};
use hdl::engine::switch::{self, MOST_ENGINES};
use hdl::engine::{Config, Design, design};
use hdl::export::{PROJECT_FILES, Text, board_project};
use hdl::rtl::netlist::Netlist;
use pairforge::kernel::fit::{Wanted, crowded};
use pg2::backend::build::Built;
use pg2::backend::filtered::build_filtered;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::output;
use terminal::progress::Steps;
use terminal::report::Data;

mod floor;
mod page;
mod place;

use place::Way;

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("place").required(true).args(["board", "device", "target"])))]
pub struct Args {
    /// PG2 files, or names of shipped kernels: up to 4, an engine for each behind one link
    #[arg(value_name = "FILE", required = true, num_args = 1..=MOST_ENGINES)]
    files: Vec<String>,
    /// Make a board's bitstream (see `pairforge list boards`); of your own, the folder of `pairforge board new`
    #[arg(long, value_name = "BOARD")]
    board: Option<String>,
    /// Place and route the engine alone for a device (see `pairforge list devices`)
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// With --area-only: count one lane in an FPGA family (see `pairforge list targets`)
    #[arg(long, value_name = "T", requires = "area_only")]
    target: Option<String>,
    /// Synthesise without place and route
    #[arg(long, requires = "target")]
    area_only: bool,
    /// Folder to work in and to write synth.json and report.txt to; made if absent
    #[arg(short, value_name = "DIR")]
    output: PathBuf,
    /// Number of pipelines
    ///
    /// Of several kernels, one number for all or one for each, such as 4,1.
    #[arg(long, value_name = "N", default_value = "1", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=255))]
    pipelines: Vec<u32>,
    #[command(flatten)]
    groups: GroupArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    fit: FitArgs,
    /// Clock frequency to reach, by default the usual one of the board or family; a board gets the next that its PLL can make
    #[arg(long, value_name = "MHZ", value_parser = super::build::mhz)]
    freq: Option<f64>,
    /// Clock that pipelines are scheduled for, by default that of --freq; a faster one leaves room for wires in a full device
    #[arg(long, value_name = "MHZ", value_parser = super::build::mhz)]
    schedule: Option<f64>,
    #[command(flatten)]
    blocks: BlockArgs,
    /// j memory in 32-bit words [default: 16384, or what half of the device's memories hold for all kernels together, and as many
    /// more as these memories hold]
    ///
    /// Of several kernels, one number for all or one for each.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    jmem: Option<Vec<u32>>,
    /// Width of the streams in bits
    #[arg(long, value_name = "BITS", default_value = "32", value_parser = ["32", "64", "128"])]
    stream: String,
    /// With --board: the link over Ethernet in place of the serial line, at this IPv4 address [default: 192.168.1.50]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "192.168.1.50", requires = "board")]
    ethernet: Option<Ipv4Addr>,
    /// Seed of the placement
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u32,
    /// Seeds to try at most, one after the other until the clock is met; the fastest placement is kept
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Write a page with area by operator and line, the slowest path, and the pipelines as drawings
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
}

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().kernels("FILE", &self.files).fills("-o", [&self.output]);
        files.writes("--report", &self.report, files::HTML)
    }
}

/// Compiles, runs the tools, and writes what came of it; the results of an earlier run are removed first, so that what
/// lies in the folder always belongs together.
pub fn run(args: Args) -> Result<(), Failure> {
    args.filters.check_engine(args.files.len(), &args.fit)?;
    args.filters.check_page(args.report.is_some())?;
    let goal = place::goal(&args)?;
    let (clock, source) = place::clock(&args, goal)?;
    let tools = super::tools();
    let kernels = load(&args.files)?;
    let count = kernels.len();
    if count > 1 && matches!(goal, Goal::Area(_)) {
        return Err(Failure::Usage("--area-only counts a lane of one kernel; count each kernel by itself".into()));
    }
    let scheduled = place::scheduled(&args, clock)?;
    let Made { built, configs, engines } = made(&args, goal, scheduled, &kernels)?;
    let hashes: Vec<(&Config, u64)> = configs.iter().zip(&kernels).map(|(c, k)| (c, k.hash)).collect();
    let (whole, project) = whole(goal, &hashes, &engines, (source, clock.mhz))?;
    // What is counted by lane is that of the first kernel.
    let (config, engine) = (&configs[0], &engines[0]);
    let _folder = folder(&args.output)?;
    let core = place::core(&tools, &source, &configs[0].layout.kernel)?;
    let verilog = whole.verilog_around(&core.outside)? + &core.text;
    let full = if count == 1 { full_group(config, &built[0])? } else { None };
    let folded = built.iter().any(|b| b.ii() > 1);
    let job = SynthesisJob {
        goal,
        verilog: &verilog,
        top: &whole.top,
        lane: &engine.lane,
        lanes: config.pipelines,
        group: &engine.group,
        groups: config.groups,
        folded,
        least: folded && crowded(&built, &configs, goal.device(), args.ethernet.is_some()),
        stored: built.iter().filter_map(|b| b.folded.as_ref()).any(|f| f.stored),
        full_group: full.as_ref().map(|verilog| GroupSample { verilog, top: &engine.group }),
        stream_bits: config.stream_bits,
        constraints: core.constraints(goal),
        floor: args.report.is_some(),
        mhz: clock.mhz,
        seed: args.seed,
        seeds: args.seeds,
        dir: &args.output,
    };
    let mut steps = Steps::default();
    let outcome = flow::synthesise(&tools, &job, &mut |s| steps.at(&s.what, s.elapsed))?;
    drop(steps);
    let mut summary = summary(goal, (&built, &configs), clock, &outcome);
    summary.ethernet = args.ethernet.map(|ip| ip.to_string());
    summary.scheduled_mhz = Some(scheduled.mhz).filter(|mhz| *mhz != clock.mhz);
    let named: Vec<names::Kernel> = built
        .iter()
        .zip(&kernels)
        .map(|(built, kernel)| names::Kernel {
            name: kernel.graph.name.clone(),
            rows: pg2::report::explain::explain(built, &kernel.sources).rows,
        })
        .collect();
    let drawn: Vec<Drawn> = built
        .iter()
        .zip(&kernels)
        .map(|(built, kernel)| Drawn { built, sources: &kernel.sources, text: &kernel.text })
        .collect();
    let found =
        Found { summary: &summary, outcome: &outcome, kernels: &named, engine, drawn: &drawn, project: &project };
    write(&args, goal, &found)?;
    print_clock(&summary);
    if let Goal::Board(Board { vendor: Some(vendor), .. }) = goal {
        tell_of_project(vendor, &args.output);
    }
    Ok(())
}

/// The kernels as engines.
struct Made {
    built: Vec<Built>,
    configs: Vec<Config>,
    engines: Vec<Design>,
}

fn made(args: &Args, goal: Goal, clock: Clock, kernels: &[Kernel]) -> Result<Made, Failure> {
    let count = kernels.len();
    let mut wanted = Vec::new();
    for (k, Kernel { graph, sources, .. }) in kernels.iter().enumerate() {
        wanted.push(Wanted { graph, sources, clock, pipelines: each(&args.pipelines, (k, count), "--pipelines")? });
    }
    let built = match args.filters.count() {
        0 => args.fit.build_all(&wanted, &|k, built| place::config(args, goal, built, (k, count)))?,
        _ => {
            let Kernel { graph, sources, .. } = &kernels[0];
            vec![build_filtered(graph, clock, sources, Vec::new()).map_err(Failure::Input)?]
        }
    };
    let config = |(k, built)| place::config(args, goal, built, (k, count));
    let configs = built.iter().enumerate().map(config).collect::<Result<Vec<_>, Failure>>()?;
    let engines = configs.iter().zip(&built).map(|(c, b): (_, &Built)| design(c, &b.netlist)).collect();
    Ok(Made { built, configs, engines })
}

/// All that goes to the open tools, and the project for the board's vendor, if it is routed by that.
fn whole(
    goal: Goal,
    hashes: &[(&Config, u64)],
    engines: &[Design],
    clock: (Way, f64),
) -> Result<(Netlist, Vec<Text>), Failure> {
    let all = design_for(goal, hashes, engines, clock)?;
    let Goal::Board(board @ Board { vendor: Some(_), .. }) = goal else { return Ok((all, Vec::new())) };
    let project = board_project(board, &all.top, all.verilog()?, env!("CARGO_PKG_VERSION"));
    // Yosys does not know every vendor's loop, which takes no logic.
    Ok((design_for(goal, hashes, engines, (Way::Serial(Source::Oscillator), clock.1))?, project))
}

/// The design; each engine has its configuration and the hash of its kernel.
fn design_for(
    goal: Goal,
    hashes: &[(&Config, u64)],
    engines: &[Design],
    clock: (Way, f64),
) -> Result<Netlist, Failure> {
    let (config, first) = (hashes[0].0, &engines[0]);
    let inner = match engines.len() {
        1 => first.netlist.clone(),
        _ => switch::engines(&config.layout.kernel, engines, config.stream_bits),
    };
    match goal {
        Goal::Board(board) => place::on_board(board, hashes, &inner, clock),
        Goal::Device(_) => Ok(inner),
        Goal::Area(_) => Ok(Netlist { top: first.lane.clone(), ..inner }),
    }
}

/// Lanes of a group in large engines.
const FULL_GROUP: u32 = 8;

/// The Verilog of a lane group of so many lanes, unless those of the engine are such.
fn full_group(config: &Config, built: &Built) -> Result<Option<String>, Failure> {
    if config.lanes() == FULL_GROUP {
        return Ok(None);
    }
    let large = design(&Config { pipelines: FULL_GROUP, groups: 1, ..config.clone() }, &built.netlist);
    Ok(Some(large.netlist.verilog()?))
}

/// Tells the user of a clock that is missed.
fn print_clock(summary: &Summary) {
    let (Some(false), Some(fmax)) = (summary.timing_met, summary.fmax_mhz) else { return };
    let next = if summary.board.is_some() {
        "; `deploy` will refuse to load it: ask for a lower --freq, a higher --schedule or more --seeds"
    } else {
        ""
    };
    if !summary.untimed.is_empty() {
        let kinds = summary.untimed.join(", ");
        output::tell(&format!("warning: nobody timed paths through {kinds}; no clock is known to be met\n"));
        return;
    }
    // Of several clocks, the one that misses most.
    let ratio = |c: &&flow::timing::ClockTiming| c.fmax_mhz / c.mhz;
    let slowest = summary.clocks.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let (fmax, mhz, name) = match slowest {
        Some(clock) => (clock.fmax_mhz, clock.mhz, format!(" of {}", clock.name)),
        None => (fmax, summary.mhz, String::new()),
    };
    output::tell(&format!("warning: the clock{name} is missed: {fmax:.1} MHz of {mhz:.1} MHz{next}\n"));
}

/// Tells the user how to go on with a board that the vendor's tool routes.
fn tell_of_project(vendor: &Vendor, dir: &Path) {
    let (command, dir, made) = (vendor.command(&dir.display().to_string()), dir.display(), vendor.bitstream());
    output::tell(&format!(
        "note: the area is yosys's, and no clock was found; `{command}` makes {dir}/{made}, which `pairforge deploy {dir}` loads\n"
    ));
}

/// The names of what is written in the end.
const RESULTS: [&str; 3] = ["synth.json", "report.txt", NOTICE];

/// LiteEth's terms, which go with a bitstream that has its core.
const NOTICE: &str = "liteeth-license.txt";

/// Makes the folder, without the results of an earlier run.
fn folder(dir: &Path) -> Result<output::Folder, Failure> {
    let made = output::Folder::at(dir)?;
    let bitstreams = flow::family::FAMILIES.iter().filter_map(|f| f.route.as_ref()).map(|r| bitstream(r.bitstream));
    let vendors = hdl::board::BOARDS.iter().filter_map(|b| b.vendor).map(|v| v.bitstream());
    let texts = RESULTS.into_iter().chain(PROJECT_FILES).chain(vendors).map(String::from);
    for name in texts.chain(bitstreams) {
        match std::fs::remove_file(dir.join(&name)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Failure::file(&dir.join(name), format!("cannot be removed: {e}")));
            }
            _ => {}
        }
    }
    Ok(made)
}

fn bitstream(ending: &str) -> String {
    format!("engine.{ending}")
}

/// The parameters of an engine as it was built, for other programs.
fn engine_of((built, config): (&Built, &Config)) -> Engine {
    Engine {
        kernel: built.graph.name.clone(),
        pipelines: config.pipelines,
        groups: config.groups,
        i_banks: config.i_banks,
        segments: config.segments,
        jmem_records: config.jmem_records,
        latency: built.schedule.depth,
        ii: config.ii,
        filters: config.filters,
    }
}

fn summary(goal: Goal, (all, configs): (&[Built], &[Config]), clock: Clock, outcome: &SynthesisOutcome) -> Summary {
    let (built, config) = (&all[0], &configs[0]);
    // How many lanes of one kernel fit says nothing beside another one.
    let fits = outcome.fits.as_ref().filter(|_| all.len() == 1);
    let pairs = configs.iter().map(|c| c.pipelines as f64 / c.ii as f64).sum::<f64>();
    let area = outcome.design.as_ref().unwrap_or(&outcome.lane);
    let timing = outcome.timing.as_ref();
    let fmax = timing.map(|t| t.engine_mhz());
    let running = match goal {
        Goal::Board(_) => Some(clock.mhz),
        _ => fmax.filter(|_| timing.is_some_and(|t| t.untimed.is_empty())),
    };
    let ending = |path: &PathBuf| path.extension().map(|e| bitstream(&e.to_string_lossy()));
    Summary {
        kernel: built.graph.name.clone(),
        board: if let Goal::Board(board) = goal { Some(board.name.to_string()) } else { None },
        device: goal.device().map(|d| d.name.to_string()),
        target: clock.target.name.to_string(),
        pipelines: config.pipelines,
        lut: area.luts,
        ff: area.flip_flops,
        dsp: area.multipliers,
        bram: area.memories,
        carries: area.carries,
        logic_elements: area.logic_elements(),
        register_only: area.register_only,
        logic_elements_packed: area.logic_elements_packed(),
        logic_elements_most: area.logic_elements_most(),
        fmax_mhz: fmax,
        clocks: timing.map(|t| t.clocks.clone()).filter(|c| c.len() > 1).unwrap_or_default(),
        timing_met: fmax
            .zip(timing)
            .map(|(fmax, t)| fmax >= clock.mhz && t.untimed.is_empty() && (t.clocks.len() < 2 || t.met())),
        tool_fmax_mhz: timing.and_then(|t| t.tool_mhz),
        untimed: timing.map(|t| t.untimed.keys().cloned().collect()).unwrap_or_default(),
        seed: outcome.seed.map(|s| s.0),
        seeds: outcome.seed.map(|s| s.1),
        clock_mhz: running,
        pairs_per_second: running.map(|mhz| mhz * 1e6 * pairs),
        // No family has an open model of its power that could be cited.
        joules_per_pair: None,
        fitting_pipelines: fits.map(|f| f.pipelines),
        fitting_groups: fits.map(|f| f.groups),
        fitting_bound: fits.map(|f| f.bound.to_string()),
        // Known to the caller.
        ethernet: None,
        bitstream: outcome.bitstream.as_ref().and_then(ending),
        mhz: clock.mhz,
        scheduled_mhz: None,
        stream_bits: config.stream_bits,
        jmem_records: config.jmem_records,
        groups: config.groups,
        i_banks: config.i_banks,
        segments: config.segments,
        latency: built.schedule.depth,
        ii: config.ii,
        filters: config.filters,
        kernels: all.iter().zip(configs).map(engine_of).collect(),
        tools: outcome.tools.clone(),
    }
}

/// The findings of the tools, and what they are of.
#[derive(Clone, Copy)]
struct Found<'a> {
    summary: &'a Summary,
    outcome: &'a SynthesisOutcome,
    kernels: &'a [names::Kernel],
    engine: &'a Design,
    drawn: &'a [Drawn<'a>],
    /// The files for the board's vendor.
    project: &'a [Text],
}

/// Writes the results, `synth.json` last of those in the folder: where it lies, the others do.
fn write(args: &Args, goal: Goal, found: &Found) -> Result<(), Failure> {
    let (dir, Found { summary, outcome, kernels, engine, drawn, project }) = (&args.output, *found);
    let place = match goal {
        Goal::Area(name) => target(name).map(|t| t.summary.to_string()).unwrap_or_default(),
        Goal::Device(device) => format!("{} ({})", device.name, device.summary),
        Goal::Board(board) => format!("{} ({})", board.name, board.summary),
    };
    let text = report::Page { summary, outcome, kernels, netlist: &engine.netlist, lane: &engine.lane, place: &place };
    let mut batch = output::Batch::default();
    batch.add_text(&dir.join("report.txt"), &report::page(&text))?;
    if summary.ethernet.is_some() {
        batch.add_text(&dir.join(NOTICE), flow::core::NOTICE)?;
    }
    for file in project {
        batch.add_text(&dir.join(&file.name), &file.text)?;
    }
    let details = args.report.as_ref().map(|_| page::Details::new(&text, drawn));
    let detailed = page::Detailed { summary, details };
    batch.add_json(&dir.join("synth.json"), &detailed)?;
    if let (Some(from), Some(name)) = (&outcome.bitstream, &summary.bitstream) {
        batch.add_moved(from, &dir.join(name));
    }
    batch.finish()?;
    match &args.report {
        Some(path) => output::write_text(path, &page::page(&Data::new(&detailed), &detailed, drawn, &place).html()?),
        None => Ok(()),
    }
}
