//! The whole way: Verilog to area, or to a placed design, or to a bitstream.

use crate::area::Modules;
use crate::family::{Family, Mapping, Route, family};
use crate::fits::{Fits, GroupSample, Parts, fits, lacks, takes_groups};
use crate::floor::{self, PlacedCell};
use crate::run::{Call, Step};
use crate::yosys::{self, Synthesis};
use crate::{Area, FlowError, Timing, Tools, absorb, refuse, timing, wrapper};
use hdl::board::{Board, Device};
use hdl::circuit::target::Clock;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a design goes.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// One lane, its area in a family.
    Area(&'static str),
    /// The engine alone, placed and routed.
    Device(&'static Device),
    /// The engine on a board, with its bitstream.
    Board(&'static Board),
}

/// The synthesis to be done.
#[derive(Debug)]
pub struct SynthesisJob<'a> {
    pub goal: Goal,
    /// The Verilog of everything, and its top: the lane, the engine, or the board's top.
    pub verilog: &'a str,
    pub top: &'a str,
    /// Name of the lane's module, and how many there are.
    pub lane: &'a str,
    pub lanes: u32,
    /// The module of a lane group, and how many there are.
    pub group: &'a str,
    pub groups: u32,
    /// The group of an engine of as many lanes in each group as large engines have, to count how many fit.
    pub full_group: Option<GroupSample<'a>>,
    pub stream_bits: u32,
    /// Whether a pipeline takes a pair every several clocks: then its area matters most.
    pub folded: bool,
    /// Whether values of a folded pipeline wait in memories: then it is mostly choices among results from everywhere.
    pub stored: bool,
    /// Whether the design comes near what the device has, or a folded lane alone is counted: then tables are mapped for least area.
    pub least: bool,
    /// Constraints beside those of the board: of the pins of its PHY.
    pub constraints: &'a str,
    /// Whether the places of cells are wanted.
    pub floor: bool,
    /// The clock to reach in MHz.
    pub mhz: f64,
    /// Seed of the first placement, and how many seeds to try at most until one meets the clock.
    pub seed: u32,
    pub seeds: u32,
    /// The folder to work in: it gets `synth_work`, with what the tools read and write, and `synth_logs`.
    pub dir: &'a Path,
}

/// The outcome of a synthesis.
#[derive(Debug, Default)]
pub struct SynthesisOutcome {
    /// One lane: pipeline, i registers, accumulators, flags.
    pub lane: Area,
    /// The modules in it, each synthesised apart, without what is instantiated in them.
    pub modules: std::collections::BTreeMap<String, Area>,
    /// The whole design, unless only a lane was asked for.
    pub design: Option<Area>,
    pub timing: Option<Timing>,
    /// The seed of that placing, and how many were tried.
    pub seed: Option<(u32, u32)>,
    /// The places of cells, where they are wanted.
    pub cells: Vec<PlacedCell>,
    /// Pipelines that the device holds.
    pub fits: Option<Fits>,
    /// The bitstream, in `synth_work`.
    pub bitstream: Option<PathBuf>,
    /// The tools, as they name themselves.
    pub tools: Vec<String>,
}

impl Goal {
    pub fn target(&self) -> &'static str {
        match self {
            Goal::Area(target) => target,
            Goal::Device(device) => device.target,
            Goal::Board(board) => board.device.target,
        }
    }

    /// Whether only the vendor's tool places and routes it: then its area alone is found.
    pub fn is_vendors(&self) -> bool {
        matches!(self, Goal::Board(Board { vendor: Some(_), .. }))
    }

    pub fn device(&self) -> Option<&'static Device> {
        match self {
            Goal::Area(_) => None,
            Goal::Device(device) => Some(device),
            Goal::Board(board) => Some(board.device),
        }
    }
}

/// Runs the tools. `watch` is called a few times a second.
pub fn synthesise(
    tools: &Tools,
    job: &SynthesisJob,
    watch: &mut dyn FnMut(&Step),
) -> Result<SynthesisOutcome, FlowError> {
    let target = job.goal.target();
    let family = family(target).ok_or_else(|| {
        let known = crate::family::FAMILIES.iter().map(|f| f.target).collect::<Vec<_>>().join(", ");
        FlowError::Unsupported(format!("there are no tools for target `{target}`; there are for {known}"))
    })?;
    check_tools(tools, family, job)?;
    for folder in ["synth_work", "synth_logs"] {
        let path = job.dir.join(folder);
        fs::create_dir_all(&path).map_err(FlowError::io(&path))?;
    }
    let mut verilog = job.verilog.to_string();
    let mut top = job.top;
    if let Goal::Device(_) = job.goal {
        verilog += &wrapper::verilog(job.top, job.stream_bits);
        top = wrapper::TOP;
    }
    let path = job.dir.join("synth_work/design.v");
    fs::write(&path, verilog).map_err(FlowError::io(&path))?;
    let mut outcome = SynthesisOutcome { tools: Vec::new(), ..SynthesisOutcome::default() };
    let mapped = |part: (&'static str, &str), watch: &mut dyn FnMut(&Step)| -> Result<Area, FlowError> {
        let (name, top) = part;
        let area = map(tools, family, job, (top, name, true), watch)?.whole;
        // A design that does not fit is reported before further steps run.
        if let Some((device, what)) = job.goal.device().and_then(|d| Some((d.name.to_string(), lacks(&area, d)?))) {
            return Err(FlowError::TooLarge { device, what, log: job.dir.join(format!("synth_logs/{name}.log")) });
        }
        Ok(area)
    };
    outcome.lane = mapped(("lane", job.lane), watch)?;
    let design = if job.goal.device().is_some() { Some(mapped(("design", top), watch)?) } else { None };
    outcome.modules = map(tools, family, job, (job.lane, "operators", false), watch)?.own;
    if let (Some(device), Some(design)) = (job.goal.device(), design) {
        let own_group = mapped(("group", job.group), watch)?;
        // Engines of several groups are counted only where the device could hold their lanes.
        let full_group = match takes_groups(device, &outcome.lane) {
            true => full_group(tools, family, job, watch)?.unwrap_or_else(|| own_group.clone()),
            false => own_group.clone(),
        };
        let parts = Parts {
            design: &design,
            lanes: job.lanes as u64,
            groups: job.groups as u64,
            lane: &outcome.lane,
            own_group: &own_group,
            full_group: &full_group,
        };
        outcome.fits = Some(fits(device, &parts));
        if job.goal.is_vendors() {
            outcome.design = Some(design);
            outcome.tools = versions(job.dir);
            return Ok(outcome);
        }
        let mut inner = None;
        if target == "ecp5" && absorb_registers(job, top)?.operands > 0 {
            inner = Some(absorb::INNER_NS);
        }
        let route = family.route.as_ref().ok_or_else(|| no_route(device))?;
        let (mut timing, seed, tried) = best_placing(tools, route, device, job, watch)?;
        if let Some(ns) = inner {
            timing.limit(1000.0 / ns);
        }
        if job.floor {
            outcome.cells = cells(route, job)?;
        }
        (outcome.timing, outcome.seed) = (Some(timing), Some((seed, tried)));
        outcome.design = Some(design);
        if let Goal::Board(_) = job.goal {
            outcome.bitstream = Some(pack(tools, route, job, watch)?);
        }
    }
    outcome.tools = versions(job.dir);
    Ok(outcome)
}

/// The area of the lane group of larger engines, unless it is the design's own.
fn full_group(
    tools: &Tools,
    family: &'static Family,
    job: &SynthesisJob,
    watch: &mut dyn FnMut(&Step),
) -> Result<Option<Area>, FlowError> {
    let Some(sample) = &job.full_group else { return Ok(None) };
    let path = job.dir.join("synth_work/full_group.v");
    fs::write(&path, sample.verilog).map_err(FlowError::io(&path))?;
    Ok(Some(map(tools, family, job, (sample.top, "full_group", true), watch)?.whole))
}

/// Lets blocks of the netlist that is to be placed take in the registers beside them.
fn absorb_registers(job: &SynthesisJob, top: &str) -> Result<absorb::Absorbed, FlowError> {
    let path = job.dir.join("synth_work/design.json");
    let text = fs::read_to_string(&path).map_err(FlowError::io(&path))?;
    let wrong = |e: serde_json::Error| FlowError::Report { path: path.clone(), reason: e.to_string() };
    let mut netlist = serde_json::from_str(&text).map_err(wrong)?;
    let done = absorb::absorb(&mut netlist, top);
    let aside = path.with_extension("json.new");
    fs::write(&aside, netlist.to_string()).map_err(FlowError::io(&aside))?;
    fs::rename(&aside, &path).map_err(FlowError::io(&path))?;
    Ok(done)
}

fn no_route(device: &Device) -> FlowError {
    FlowError::Unsupported(format!("there is no open place and route for {}; use --area-only", device.name))
}

/// Looks for every program before the first one runs for minutes.
fn check_tools(tools: &Tools, family: &Family, job: &SynthesisJob) -> Result<(), FlowError> {
    tools.find(&crate::tools::YOSYS)?;
    if job.goal.is_vendors() {
        return Ok(());
    }
    if let (Some(_), Some(route)) = (job.goal.device(), &family.route) {
        tools.find(route.nextpnr)?;
        if let Goal::Board(_) = job.goal {
            tools.find(route.packer)?;
        }
    }
    Ok(())
}

/// Maps a part of the design: its top, a name for its files, and whether modules are dissolved.
fn map(
    tools: &Tools,
    family: &'static Family,
    job: &SynthesisJob,
    (top, name, flatten): (&str, &str, bool),
    watch: &mut dyn FnMut(&Step),
) -> Result<Modules, FlowError> {
    let what = match name {
        "design" => "synthesising the design",
        "operators" => "synthesising operators one by one",
        "group" | "full_group" => "synthesising a lane group",
        _ => "synthesising a lane",
    };
    let multipliers = job.goal.device().is_none_or(|d| d.multipliers > 0);
    let target = hdl::circuit::target::target(family.target).expect("every family is that of a target");
    let clock = Clock { target, mhz: job.mhz, blocks: None };
    let levels = (clock.budget() / target.lut).clamp(1.0, 100.0) as u32;
    let mapping = Mapping { top, flatten, multipliers, levels, dense: job.folded, least: job.least };
    let verilog = if name == "full_group" { "synth_work/full_group.v" } else { "synth_work/design.v" };
    let synthesis = Synthesis { family, mapping, name, verilog, what };
    yosys::run(tools, job.dir, &synthesis, watch)
}

/// Places with one seed after the other until the clock is met, and keeps the fastest: its timing, its seed, and how many
/// were tried. A placing is a draw of luck: its clock differs by a few percent from seed to seed.
fn best_placing(
    tools: &Tools,
    route: &Route,
    device: &Device,
    job: &SynthesisJob,
    watch: &mut dyn FnMut(&Step),
) -> Result<(Timing, u32, u32), FlowError> {
    let kept = job.dir.join(format!("synth_work/best.{}", route.write.1));
    let routed = job.dir.join(routed(route));
    let mut best: Option<(Timing, u32)> = None;
    let mut tried = 0;
    while tried < job.seeds.max(1) && !best.as_ref().is_some_and(|(t, _)| t.met()) {
        let seed = job.seed.wrapping_add(tried);
        let timing = place_and_route(tools, route, device, (job, seed), watch)?;
        tried += 1;
        if best.as_ref().is_none_or(|(t, _)| timing.ratio() > t.ratio()) {
            fs::rename(&routed, &kept).map_err(FlowError::io(&routed))?;
            if writes_placing(route, job) {
                let placed = job.dir.join(PLACING);
                fs::rename(&placed, job.dir.join(PLACED)).map_err(FlowError::io(&placed))?;
            }
            best = Some((timing, seed));
        }
    }
    fs::rename(&kept, &routed).map_err(FlowError::io(&kept))?;
    let (timing, seed) = best.expect("one seed is tried at least");
    Ok((timing, seed, tried))
}

/// The option of nextpnr for a netlist with places, which of some families is the input of the packer.
const WRITE: &str = "--write";

/// Whether the places of cells are in a file of their own.
fn writes_placing(route: &Route, job: &SynthesisJob) -> bool {
    job.floor && route.write.0 != WRITE
}

/// The places of the cells of the best placing. A file of their own is removed: it is larger than all else.
fn cells(route: &Route, job: &SynthesisJob) -> Result<Vec<PlacedCell>, FlowError> {
    if !writes_placing(route, job) {
        return floor::read(&job.dir.join(routed(route)));
    }
    let path = job.dir.join(PLACED);
    let cells = floor::read(&path)?;
    fs::remove_file(&path).map_err(FlowError::io(&path))?;
    Ok(cells)
}

/// The input of the packer, in the folder.
fn routed(route: &Route) -> String {
    format!("synth_work/routed.{}", route.write.1)
}

fn place_and_route(
    tools: &Tools,
    route: &Route,
    device: &Device,
    (job, seed): (&SynthesisJob, u32),
    watch: &mut dyn FnMut(&Step),
) -> Result<Timing, FlowError> {
    let program = tools.find(route.nextpnr)?;
    let stored = if job.stored { route.stored } else { &[] };
    let mut args: Vec<String> = device.route.iter().chain(stored).map(|a| a.to_string()).collect();
    let constraints = match job.goal {
        Goal::Board(board) => Some(board.constraints.to_string() + job.constraints),
        _ => route.alone.map(String::from),
    };
    match constraints {
        Some(text) => {
            let path = job.dir.join(PINS);
            fs::write(&path, text).map_err(FlowError::io(&path))?;
            args.extend(route.constraints.iter().map(|a| a.replace('%', PINS)));
        }
        None => args.extend(route.unconstrained.iter().map(|a| a.to_string())),
    }
    let (log, what) = match seed == job.seed {
        true => ("synth_logs/route.log".to_string(), "placing and routing".to_string()),
        false => (format!("synth_logs/route_{seed}.log"), format!("placing and routing with seed {seed}")),
    };
    let (write, routed) = (route.write.0, routed(route));
    let mhz = job.mhz.to_string();
    let seed = seed.to_string();
    let fixed =
        ["--json", "synth_work/design.json", write, &routed, "--freq", &mhz, "--seed", &seed, "--report", REPORT];
    args.extend(fixed.map(String::from));
    args.extend(["--timing-allow-fail", "-q", "--log", &log].map(String::from));
    let mut writes = vec![routed.clone(), REPORT.to_string()];
    if writes_placing(route, job) {
        args.extend([WRITE, PLACING].map(String::from));
        writes.push(PLACING.to_string());
    }
    if route.model.is_some() {
        args.extend(["--sdf", DELAYS].map(String::from));
        writes.push(DELAYS.to_string());
    }
    let call = Call { tools, program, args, dir: job.dir, what: &what, log: log.clone(), writes };
    let log = job.dir.join(log);
    call.run(watch).map_err(|e| too_large(e, device))?;
    refuse::check(&log)?;
    let mut timing = timing::read(&job.dir.join(REPORT))?;
    if let Some(model) = route.model {
        let path = job.dir.join(DELAYS);
        timing.add(timing::blocks::count(model, &timing::sdf::read(&path)?));
        // It is larger than all else, and nobody reads it again.
        fs::remove_file(&path).map_err(FlowError::io(&path))?;
    }
    Ok(timing)
}

/// The netlist with the places of cells: that of a seed, and of the best one so far.
const PLACING: &str = "synth_work/placing.json";
const PLACED: &str = "synth_work/placed.json";

/// The constraints, nextpnr's report and its delays, in the folder.
const PINS: &str = "synth_work/pins";
const REPORT: &str = "synth_work/report.json";
const DELAYS: &str = "synth_work/delays.sdf";

/// Tells a design that is too large from a tool that failed.
fn too_large(e: FlowError, device: &Device) -> FlowError {
    let FlowError::ToolFailed { log, tail, .. } = &e else { return e };
    let signs = ["no BELs remaining", "Unable to place cell", "cells of type", "available", "failed to legalise"];
    let line = tail.lines().find(|l| l.contains("ERROR") && signs.iter().any(|s| l.contains(s)));
    match line {
        Some(line) => {
            let what = line.trim().trim_start_matches("ERROR: ").to_string();
            FlowError::TooLarge { device: device.name.to_string(), what, log: log.clone() }
        }
        None => e,
    }
}

fn pack(tools: &Tools, route: &Route, job: &SynthesisJob, watch: &mut dyn FnMut(&Step)) -> Result<PathBuf, FlowError> {
    let program = tools.find(route.packer)?;
    let (from, to) = (routed(route), format!("synth_work/design.{}", route.bitstream));
    let name = |a: &&str| match *a {
        "<" => from.clone(),
        ">" => to.clone(),
        other => other.to_string(),
    };
    let args = route.pack.iter().map(name).collect();
    let path = job.dir.join(&to);
    let _ = fs::remove_file(&path);
    let log = "synth_logs/pack.log".into();
    Call { tools, program, args, dir: job.dir, what: "packing the bitstream", log, writes: Vec::new() }.run(watch)?;
    if path.metadata().is_ok_and(|m| m.len() > 0) {
        return Ok(path);
    }
    Err(FlowError::Report { path, reason: format!("{} wrote no bitstream", route.packer.name) })
}

/// The tools' names and versions in their logs.
fn versions(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("synth_logs/lane.log")).unwrap_or_default();
    let line = text.lines().rev().find(|l| l.trim_start().starts_with("Yosys "));
    line.map(|l| l.split('(').next().unwrap_or(l).trim().to_string()).into_iter().collect()
}
