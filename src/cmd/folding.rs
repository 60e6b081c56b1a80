//! The options that say every how many clocks a pipeline takes a pair.

use super::lanes::each;
use hdl::board::{DEVICES, Device, device};
use hdl::circuit::target::Clock;
use hdl::engine::{Config, MOST_II};
use pairforge::backends::{BACKENDS, Entry};
use pg2::backend::build::{Built, build_folded};
use pg2::graph::Graph;
use pg2::report::area::{Area, engine, switch};
use pg2::syntax::sources::Sources;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::progress::Steps;

#[derive(clap::Args)]
pub struct FoldArgs {
    /// Clocks from one pair to the next (initiation interval): with more than 1, operators share units
    #[arg(long, value_name = "K", default_value = "1", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MOST_II as i64))]
    pub ii: Vec<u32>,
}

impl FoldArgs {
    /// The interval where all kernels have the same.
    pub fn one(&self) -> Result<u32, Failure> {
        each(&self.ii, (0, 1), "--ii")
    }

    /// Refuses an interval where there is no pipeline to be built.
    pub fn check(&self, entry: &Entry) -> Result<(), Failure> {
        if self.ii.iter().all(|ii| *ii == 1) || entry.traced {
            return Ok(());
        }
        let simulated: Vec<&str> = BACKENDS.iter().filter(|b| b.traced).map(|b| b.name).collect();
        let text = format!("--ii needs --backend {}; `{}` builds no pipeline", simulated.join(" or "), entry.name);
        Err(Failure::Usage(text))
    }
}

#[derive(clap::Args)]
pub struct FitArgs {
    /// Clocks from one pair to the next (initiation interval): with more than 1, operators share units
    ///
    /// Of several kernels one number for all or one for each; `fit` for those that --fit is to find.
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = interval)]
    ii: Option<Vec<Interval>>,
    /// Take the least --ii with which the engines fit a device, by an estimate (see `pairforge list devices`)
    #[arg(long, value_name = "DEVICE")]
    fit: Option<String>,
}

/// The value of `--ii`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Interval {
    Clocks(u32),
    Fit,
}

fn interval(text: &str) -> Result<Interval, String> {
    match text.parse() {
        _ if text == "fit" => Ok(Interval::Fit),
        Ok(clocks) if (1..=MOST_II).contains(&clocks) => Ok(Interval::Clocks(clocks)),
        _ => Err(format!("an interval is 1 to {MOST_II} clocks, or `fit`")),
    }
}

/// A kernel that is to be built.
pub struct Wanted<'a> {
    pub graph: &'a Graph,
    pub sources: &'a Sources,
    pub clock: Clock,
    /// Pipelines that share the device.
    pub pipelines: u32,
}

impl Wanted<'_> {
    fn built(&self, clock: Clock, ii: u32) -> Built {
        build_folded(self.graph, (clock, ii), self.sources, Vec::new())
    }
}

/// The engine around kernel `k` of those that are built together.
pub type Around<'a> = dyn Fn(usize, &Built) -> Result<Config, Failure> + 'a;

/// Of what a device has may be taken, in percent: placing needs space. The cells of iCE40 are known better and packed closer: 96% of a
/// UP5K were placed and routed.
const TAKEN: u64 = 92;
const TAKEN_CELLS: u64 = 98;

impl FitArgs {
    /// Builds the kernel with the interval that was asked for, or with the least that fits; `config` is the engine around it.
    pub fn build(&self, wanted: &Wanted, config: &dyn Fn(&Built) -> Result<Config, Failure>) -> Result<Built, Failure> {
        let mut built = self.build_all(std::slice::from_ref(wanted), &|_, built| config(built))?;
        Ok(built.remove(0))
    }

    /// Builds kernels that share a device.
    pub fn build_all(&self, wanted: &[Wanted], config: &Around) -> Result<Vec<Built>, Failure> {
        let usual = if self.fit.is_some() { Interval::Fit } else { Interval::Clocks(1) };
        let asked = self.ii.clone().unwrap_or(vec![usual]);
        let count = wanted.len();
        let intervals: Vec<Interval> =
            (0..count).map(|k| each(&asked, (k, count), "--ii")).collect::<Result<_, Failure>>()?;
        let Some(name) = &self.fit else {
            let one = |(wanted, interval): (&Wanted, &Interval)| match interval {
                Interval::Clocks(ii) => Ok(wanted.built(wanted.clock, *ii)),
                Interval::Fit => Err(Failure::Usage("--ii fit needs --fit DEVICE".into())),
            };
            return wanted.iter().zip(&intervals).map(one).collect();
        };
        if !intervals.contains(&Interval::Fit) {
            let text = "--fit finds --ii; leave --ii out, or give `fit` in it for a kernel that is to be fitted";
            return Err(Failure::Usage(text.into()));
        }
        let device = fitting(name, wanted)?;
        self.fitted(wanted, &intervals, device, config)
    }

    /// The least interval with which all fit a device.
    fn fitted(
        &self,
        wanted: &[Wanted],
        intervals: &[Interval],
        device: &Device,
        config: &Around,
    ) -> Result<Vec<Built>, Failure> {
        // Multiplier blocks are shared out by pipeline, unless a number is given.
        let pipelines: u32 = wanted.iter().map(|w| w.pipelines).sum();
        let clock =
            |w: &Wanted| Clock { blocks: Some(w.clock.blocks.unwrap_or(device.multipliers / pipelines)), ..w.clock };
        let mut tries = Tries { steps: Steps::default(), started: Instant::now() };
        let mut at = |ii: u32| -> Result<(Vec<Built>, Area), Failure> {
            tries.at(ii);
            let mut area = Area::default();
            let mut all = Vec::new();
            for (k, w) in wanted.iter().enumerate() {
                let built = match intervals[k] {
                    Interval::Clocks(given) => w.built(clock(w), given),
                    Interval::Fit => w.built(clock(w), ii),
                };
                let around = config(k, &built)?;
                area = sum(area, engine(&built, &around));
                if wanted.len() > 1 {
                    area = sum(area, switch(w.clock.target, &around));
                }
                all.push(built);
            }
            Ok((all, area))
        };
        let found = least(&mut at, device)?;
        drop(tries);
        let (ii, (built, area)) = found.map_err(|nearest| {
            let (lanes, fewer) = match pipelines {
                1 => ("1 pipeline".to_string(), ""),
                more => (format!("{more} pipelines"), "fewer pipelines, "),
            };
            Failure::Input(format!(
                "no --ii up to {MOST_II} fits {} with {lanes}: {nearest}; take {fewer}less --jmem or a larger device",
                device.name
            ))
        })?;
        let Area { tables, registers, multipliers, memories } = area;
        let logic = match logic(&area, device) {
            (what, cells, _) if device.target == "ice40" => format!("{cells} {what} of {}", device.luts),
            _ => format!("{tables} lookup tables of {}, {registers} registers of {}", device.luts, device.flip_flops),
        };
        eprintln!(
            "--ii {ii} fits {} by an estimate: about {logic}, {multipliers} multipliers of {}, {memories} block memories of {}",
            device.name, device.multipliers, device.memories
        );
        Ok(built)
    }

    /// The device of `--fit`, if there is one of that name.
    pub fn device(&self) -> Option<&'static Device> {
        self.fit.as_deref().and_then(device)
    }
}

/// The display of a search.
struct Tries {
    steps: Steps,
    started: Instant,
}

impl Tries {
    fn at(&mut self, ii: u32) {
        self.steps.at(&format!("estimating the area of --ii {ii}"), self.started.elapsed());
    }
}

/// The engines with an interval, and what they take.
type Try<'a> = dyn FnMut(u32) -> Result<(Vec<Built>, Area), Failure> + 'a;

/// The least interval whose engines fit, and these; else what is missing with the longest. A long interval takes a small area and is
/// scheduled fast, a short one the opposite: so the search goes from the longest down, by halves. Where every operator has one unit,
/// a longer interval takes a little more for its slots: so if the longest does not fit, its half may, or a half of that.
#[allow(clippy::type_complexity, reason = "an error of the search, or none that fits")]
fn least(at: &mut Try, device: &Device) -> Result<Result<(u32, (Vec<Built>, Area)), String>, Failure> {
    let mut longest = Err(String::new());
    for ii in (0..5).map(|halves| MOST_II >> halves) {
        let found = at(ii)?;
        match over(&found.1, device) {
            None => {
                longest = Ok((ii, found));
                break;
            }
            Some(what) if ii == MOST_II => longest = Err(what),
            Some(_) => {}
        }
    }
    let mut fits = match longest {
        Ok(fits) => fits,
        Err(what) => return Ok(Err(what)),
    };
    let mut below = 0;
    while fits.0 - below > 1 {
        let ii = below + (fits.0 - below) / 2;
        let found = at(ii)?;
        match over(&found.1, device) {
            None => fits = (ii, found),
            Some(_) => below = ii,
        }
    }
    Ok(Ok(fits))
}

/// The device of `--fit`.
fn fitting(name: &str, wanted: &[Wanted]) -> Result<&'static Device, Failure> {
    let Some(device) = device(name) else {
        let known: Vec<&str> = DEVICES.iter().map(|d| d.name).collect();
        return Err(Failure::Usage(format!("there is no device `{name}`; there are {}", known.join(", "))));
    };
    match wanted.iter().find(|w| w.clock.target.name != device.target) {
        Some(w) => Err(Failure::Usage(format!(
            "--fit {name} is of the family {}, and the pipeline is made for {}; add --target {0}",
            device.target, w.clock.target.name
        ))),
        None => Ok(device),
    }
}

/// The area of the network core and the link over Ethernet: 5,000 tables for LiteEth's core, as it was placed on an ECP5,
/// an estimate of 1,500 for the link, and its two rings of 32 KiB, each in 15 block memories.
pub const NETWORK: Area = Area { tables: 6_500, registers: 5_000, multipliers: 0, memories: 30 };

/// An engine of several that share a device, with its part of the switch before them.
pub fn beside(built: &Built, config: &Config) -> Area {
    sum(engine(built, config), switch(built.library.clock.target, config))
}

/// Percent of a device's tables from which a folded design is mapped for least area: below there is space, and its clock matters more.
const CROWDED: u64 = 75;

/// Whether engines come near what the device has, or there is no device, so that area is all that matters.
pub fn crowded(built: &[Built], configs: &[Config], device: Option<&Device>, over_network: bool) -> bool {
    let Some(device) = device else { return true };
    let one = |(built, config)| if configs.len() > 1 { beside(built, config) } else { engine(built, config) };
    let link = if over_network { NETWORK } else { Area::default() };
    let all = built.iter().zip(configs).map(one).fold(link, sum);
    all.tables > device.luts as u64 * CROWDED / 100
}

/// Of both together.
pub fn sum(a: Area, b: Area) -> Area {
    Area {
        tables: a.tables + b.tables,
        registers: a.registers + b.registers,
        multipliers: a.multipliers + b.multipliers,
        memories: a.memories + b.memories,
    }
}

/// The unit of a device's logic, how much of it an area needs, and how much may be taken.
fn logic(area: &Area, device: &Device) -> (&'static str, u64, u64) {
    match device.target {
        "ice40" => ("logic cells", area.cells(), device.luts as u64 * TAKEN_CELLS / 100),
        _ => ("logic elements", area.tables.max(area.registers), device.luts as u64 * TAKEN / 100),
    }
}

/// The resource that a device has too little of, if any.
pub fn over(area: &Area, device: &Device) -> Option<String> {
    let (what, elements, there) = logic(area, device);
    let rows = [
        (what, elements, there),
        ("multipliers", area.multipliers, device.multipliers as u64),
        ("block memories", area.memories, device.memories as u64),
    ];
    let row = rows.into_iter().find(|(_, needed, there)| needed > there)?;
    Some(format!("it needs about {} {} of {}", row.1, row.0, row.2))
}
