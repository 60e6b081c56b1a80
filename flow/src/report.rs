//! The report that people read: area by operator, the slowest path in terms of the source, what fits, how fast.

use crate::names::{self, Kernel, Place};
use crate::summary::{Engine, Summary};
use crate::timing::DelayType;
use crate::{Area, SynthesisOutcome, Timing};
use hdl::rtl::netlist::{Item, Netlist};
use std::fmt::Write as _;

/// The inputs of the report.
pub struct Page<'a> {
    pub summary: &'a Summary,
    pub outcome: &'a SynthesisOutcome,
    /// The kernels in the order of their engines.
    pub kernels: &'a [Kernel],
    /// All modules of the first kernel's engine, and the lane's name among them.
    pub netlist: &'a Netlist,
    pub lane: &'a str,
    /// The summary's device or target, in words.
    pub place: &'a str,
}

/// A part of a lane and what it takes on its own.
pub struct AreaItem {
    pub what: String,
    /// Line of the source that it comes from; 0 where it is of none.
    pub line: usize,
    pub area: Area,
}

/// The whole text.
pub fn page(p: &Page) -> String {
    let mut text = String::new();
    let s = p.summary;
    let kernels: Vec<&str> = p.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let title = format!("{} on {}", kernels.join(" and "), p.place);
    let _ = writeln!(text, "{title}\n{}\n", "=".repeat(title.chars().count()));
    figures(&mut text, p);
    area_by_operator(&mut text, p);
    if let Some(timing) = &p.outcome.timing {
        slowest_path(&mut text, timing, p.kernels);
        device(&mut text, p, timing);
    }
    let _ = writeln!(text, "Made with {}. The tools' own words are in synth_logs/.", list(&s.tools));
    text
}

fn list(tools: &[String]) -> String {
    if tools.is_empty() { "tools that do not say their version".into() } else { tools.join(", ") }
}

fn figures(text: &mut String, p: &Page) {
    let s = p.summary;
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<21} {value}");
    };
    let of = match p.outcome.design {
        Some(_) if p.kernels.len() > 1 => "engines",
        Some(_) => "engine",
        None => "one lane",
    };
    let scheduled = s.scheduled_mhz.unwrap_or(s.mhz);
    let several = p.kernels.len() > 1;
    for engine in s.engines() {
        let name = if several { format!("pipelines of {}", engine.kernel) } else { "pipelines".into() };
        let each = if engine.ii > 1 { format!(", a pair every {} clocks", engine.ii) } else { String::new() };
        let behind =
            if engine.filters > 0 { format!(" behind {} filters each", engine.filters) } else { String::new() };
        let Engine { pipelines, latency, .. } = engine;
        let text = format!("{pipelines}{behind}, {latency} cycles long{each}, scheduled for {scheduled} MHz");
        line(&name, text);
    }
    line(
        &format!("area of {of}"),
        format!(
            "{} to {} logic elements: {} lookup tables, {} flip-flops",
            s.logic_elements_packed, s.logic_elements_most, s.lut, s.ff
        ),
    );
    line(
        "register-only",
        format!(
            "{} of the flip-flops are behind no table of their own; the fewest elements hold as many",
            s.register_only
        ),
    );
    line("", "of them as possible beside other tables, the most hold each of them alone".into());
    line("beside them", format!("{} multipliers, {} block memories", s.dsp, s.bram));
    if let (Some(fmax), Some(timing)) = (s.fmax_mhz, &p.outcome.timing) {
        let verdict = if s.timing_met == Some(true) { "met" } else { "MISSED" };
        let asked = if s.clocks.is_empty() { timing.asked_mhz } else { s.mhz };
        line("highest clock", format!("{fmax:.1} MHz; {asked:.1} MHz asked for: {verdict}"));
        for clock in &s.clocks {
            let name = clock
                .name
                .rsplit(['$', '.'])
                .find(|part| !part.is_empty() && *part != "TRELLIS_IO_IN")
                .unwrap_or_default();
            line("", format!("{name}: {:.1} MHz; {:.1} MHz asked for", clock.fmax_mhz, clock.mhz));
        }
        if let Some(tool) = s.tool_fmax_mhz {
            line(
                "",
                format!(
                    "with paths through multipliers and memories that nextpnr does not time; {tool:.1} MHz without"
                ),
            );
        }
        if !s.untimed.is_empty() {
            line("untimed", format!("paths through {}: no clock is known to be met", s.untimed.join(", ")));
        }
        if let (Some(seed), Some(tried)) = (s.seed, s.seeds) {
            let of = if tried == 1 { "the only one tried".into() } else { format!("the best of {tried} tried") };
            line("seed of the placing", format!("{seed}, {of}"));
        }
    }
    if let (Some(pairs), Some(clock)) = (s.pairs_per_second, s.clock_mhz) {
        let of = if several { format!(" of {}", s.kernel) } else { String::new() };
        line("pairs per second", format!("{pairs:.3e}{of} with every pipeline busy, at {clock:.1} MHz"));
    }
    if p.outcome.timing.is_some() {
        line(
            "energy per pair",
            match s.joules_per_pair {
                Some(joules) => format!("{joules:.2e} J"),
                None => "unknown: there is no open model of this family's power".into(),
            },
        );
    }
    if let (Some(n), Some(groups), Some(bound)) = (s.fitting_pipelines, s.fitting_groups, &s.fitting_bound) {
        let of = if groups > 1 { format!(" in {groups} groups") } else { String::new() };
        line("pipelines that fit", format!("{n}{of} by the number of cells, then {bound} are used up;"));
        line("", format!("placed and routed here: {} in {}", s.pipelines, groups_of(s.groups)));
    }
    if let Some(address) = &s.ethernet {
        line("on the network", format!("udp:{address}"));
    }
    if let Some(file) = &s.bitstream {
        line("bitstream", file.clone());
    }
    text.push('\n');
}

fn groups_of(groups: u32) -> String {
    if groups == 1 { "one group".into() } else { format!("{groups} groups") }
}

const COLUMNS: &str = "  LUTs  carry   FFs  mult   mem";

fn columns(a: &Area) -> String {
    format!("{:>6} {:>6} {:>5} {:>5} {:>5}", a.luts, a.carries, a.flip_flops, a.multipliers, a.memories)
}

/// One lane by what it is made of.
fn area_by_operator(text: &mut String, p: &Page) {
    let parts = parts(p);
    let width = parts.iter().map(|x| x.what.chars().count()).max().unwrap_or(0).max(24);
    let of = if p.kernels.len() > 1 { format!(" of {}", p.summary.kernel) } else { String::new() };
    let _ = writeln!(text, "Area of a lane{of}, each part synthesised apart");
    let _ = writeln!(text, "  {:width$}{COLUMNS}", "");
    let mut sum = Area::default();
    for part in &parts {
        let _ = writeln!(text, "  {:width$}{}", part.what, columns(&part.area));
        add(&mut sum, &part.area);
    }
    let _ = writeln!(text, "  {}", "-".repeat(width + COLUMNS.len()));
    let _ = writeln!(text, "  {:width$}{}", "sum of the parts", columns(&sum));
    let _ = writeln!(text, "  {:width$}{}\n", "the lane as a whole", columns(&p.outcome.lane));
}

fn add(sum: &mut Area, other: &Area) {
    sum.luts += other.luts;
    sum.carries += other.carries;
    sum.flip_flops += other.flip_flops;
    sum.multipliers += other.multipliers;
    sum.memories += other.memories;
}

/// The parts of a lane of the first kernel: operators in their order, then delays, flags, and the lane itself.
pub fn parts(p: &Page) -> Vec<AreaItem> {
    let none = Area::default();
    let rows = p.kernels.first().map_or(&[][..], |kernel| &kernel.rows);
    let own = |module: &str| p.outcome.modules.get(module).unwrap_or(&none);
    let mut parts = Vec::new();
    let mut delays = AreaItem { what: "delay lines".into(), line: 0, area: Area::default() };
    let mut wires = AreaItem { what: "flags and wires between".into(), line: 0, area: Area::default() };
    let mut rest = AreaItem { what: "i registers, accumulators".into(), line: 0, area: Area::default() };
    let mut open = vec![(p.lane, 0)];
    while let Some((module, depth)) = open.pop() {
        let part = if depth == 0 { &mut rest } else { &mut wires };
        add(&mut part.area, own(module));
        for item in p.netlist.module(module).map(|m| &m.items[..]).unwrap_or(&[]) {
            let Item::Instance { module, name, .. } = item else { continue };
            match names::operator(name, rows) {
                Some(row) => {
                    let (what, line) = (names::describe(row), row.line);
                    parts.push((row.start, AreaItem { what, line, area: whole(p, module) }));
                }
                None if name.starts_with("wait_") => add(&mut delays.area, &whole(p, module)),
                None => open.push((module, depth + 1)),
            }
        }
    }
    parts.sort_by_key(|x| x.0);
    let mut parts: Vec<AreaItem> = parts.into_iter().map(|x| x.1).collect();
    parts.extend([delays, wires, rest].into_iter().filter(|part| part.area != none));
    parts
}

/// A module with everything in it.
fn whole(p: &Page, module: &str) -> Area {
    let mut area = p.outcome.modules.get(module).cloned().unwrap_or_default();
    for item in p.netlist.module(module).map(|m| &m.items[..]).unwrap_or(&[]) {
        if let Item::Instance { module, .. } = item {
            add(&mut area, &whole(p, module));
        }
    }
    area
}

/// A stretch of a path within one place.
pub struct Stretch {
    pub place: Place,
    pub cells: usize,
    /// Nanoseconds in cells, and in wires.
    pub logic: f64,
    pub routing: f64,
}

impl Stretch {
    /// Its place and stage in words.
    pub fn what(&self) -> String {
        match self.place.stage {
            Some(stage) => format!("{}, stage {stage}", self.place.what),
            None => self.place.what.clone(),
        }
    }
}

/// The slowest path, cells of one operator and stage taken together.
pub fn stretches(timing: &Timing, kernels: &[Kernel]) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for hop in &timing.path {
        let mut place = names::place(&hop.cell, kernels);
        // What lies between registers has no name of its own and counts to the register behind it or before it.
        if place.stage.is_none() {
            place.stage = stretches.last().filter(|s| s.place.what == place.what).and_then(|s| s.place.stage);
        }
        if stretches.last().is_none_or(|s| s.place != place) {
            stretches.push(Stretch { place, cells: 0, logic: 0.0, routing: 0.0 });
        }
        let last = stretches.last_mut().expect("one was pushed if there was none");
        match hop.kind {
            DelayType::Routing => last.routing += hop.ns,
            _ => last.logic += hop.ns,
        }
        last.cells += (hop.kind == DelayType::Logic) as usize;
    }
    stretches
}

/// Writes the slowest path.
fn slowest_path(text: &mut String, timing: &Timing, kernels: &[Kernel]) {
    let stretches = stretches(timing, kernels);
    if stretches.is_empty() {
        return;
    }
    let sum = |f: fn(&Stretch) -> f64| stretches.iter().map(f).sum::<f64>();
    let (logic, routing) = (sum(|s| s.logic), sum(|s| s.routing));
    let _ = writeln!(text, "Slowest path: {:.2} ns, {logic:.2} in cells and {routing:.2} in wires", logic + routing);
    let width = stretches.iter().map(|s| s.what().chars().count()).max().unwrap_or(0);
    for s in &stretches {
        let cells = if s.cells == 1 { "1 cell".to_string() } else { format!("{} cells", s.cells) };
        let _ =
            writeln!(text, "  {:width$}  {cells:>9}  {:>5.2} ns cells  {:>5.2} ns wires", s.what(), s.logic, s.routing);
    }
    text.push('\n');
}

/// Writes the resources used of the device, and those that a further lane would take.
fn device(text: &mut String, p: &Page, timing: &Timing) {
    if let Some(fits) = &p.outcome.fits {
        let rest = if p.kernels.len() > 1 { "all else" } else { "shell" };
        let _ = writeln!(text, "{:<18}{:>10}{:>11}{:>10}{:>11}", "", rest, "one group", "one lane", "there are");
        for r in &fits.resources {
            let _ = writeln!(text, "{:<18}{:>10}{:>11}{:>10}{:>11}", r.name, r.shell, r.group, r.lane, r.all);
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{:<18}{:>10}{:>21}", "after placing", "used", "there are");
    for (name, (used, available)) in timing.utilisation.iter().filter(|u| u.1.0 > 0) {
        let percent = 100.0 * *used as f64 / (*available).max(1) as f64;
        let _ = writeln!(text, "{name:<18}{used:>10}{available:>21}{percent:>9.1}%");
    }
    text.push('\n');
}
