//! The options that say every how many clocks a pipeline takes a pair.

use crate::failure::Failure;
use hdl::board::{DEVICES, Device, device};
use hdl::circuit::target::Clock;
use hdl::engine::{Config, MOST_II};
use host::backends::{BACKENDS, Entry};
use pg2::backend::build::{Built, build_folded};
use pg2::graph::Graph;
use pg2::report::area::{Area, engine};
use pg2::syntax::sources::Sources;

#[derive(clap::Args)]
pub struct FoldArgs {
    /// Clocks from one pair to the next (initiation interval): with more than 1, operators share units
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_II as i64))]
    pub ii: u32,
}

impl FoldArgs {
    /// Refuses an interval where there is no pipeline to be built.
    pub fn check(&self, entry: &Entry) -> Result<(), Failure> {
        if self.ii == 1 || entry.traced {
            return Ok(());
        }
        let simulated: Vec<&str> = BACKENDS.iter().filter(|b| b.traced).map(|b| b.name).collect();
        let text = format!("--ii needs --backend {}; `{}` builds no pipeline", simulated.join(" or "), entry.name);
        Err(Failure::Usage(text))
    }
}

#[derive(clap::Args)]
pub struct FitArgs {
    #[command(flatten)]
    fold: FoldArgs,
    /// Take the least --ii with which the engine fits a device, by an estimate (see `pairforge list devices`)
    #[arg(long, value_name = "DEVICE", conflicts_with = "ii")]
    fit: Option<String>,
}

/// A kernel that is to be built.
pub struct Wanted<'a> {
    pub graph: &'a Graph,
    pub sources: &'a Sources,
    pub clock: Clock,
    /// Pipelines that share the device.
    pub pipelines: u32,
}

/// Of what a device has may be taken, in percent: placing needs room.
const TAKEN: u64 = 92;

impl FitArgs {
    /// Builds the kernel with the interval that was asked for, or with the least that fits; `config` is the engine around it.
    pub fn build(&self, wanted: &Wanted, config: &dyn Fn(&Built) -> Result<Config, Failure>) -> Result<Built, Failure> {
        let build = |clock, ii| build_folded(wanted.graph, (clock, ii), wanted.sources, Vec::new());
        let Some(name) = &self.fit else { return Ok(build(wanted.clock, self.fold.ii)) };
        let Some(device) = device(name) else {
            let known: Vec<&str> = DEVICES.iter().map(|d| d.name).collect();
            return Err(Failure::Usage(format!("there is no device `{name}`; there are {}", known.join(", "))));
        };
        if device.target != wanted.clock.target.name {
            return Err(Failure::Usage(format!(
                "--fit {name} is of the family {}, and the pipeline is made for {}; add --target {0}",
                device.target, wanted.clock.target.name
            )));
        }
        let blocks = wanted.clock.blocks.unwrap_or(device.multipliers / wanted.pipelines);
        let clock = Clock { blocks: Some(blocks), ..wanted.clock };
        let mut nearest: Option<String> = None;
        for ii in 1..=MOST_II {
            let built = build(clock, ii);
            let area = engine(&built, &config(&built)?);
            match over(&area, device) {
                None => {
                    let Area { tables, registers, multipliers, .. } = area;
                    eprintln!(
                        "--ii {ii} fits {name}: about {tables} lookup tables of {}, {registers} registers of {}, {multipliers} \
                         multipliers of {}",
                        device.luts, device.flip_flops, device.multipliers
                    );
                    return Ok(built);
                }
                Some(what) => nearest = Some(what),
            }
        }
        let what = nearest.unwrap_or_default();
        Err(Failure::Input(format!(
            "no --ii up to {MOST_II} fits {name} with {} pipelines: {what}; take fewer pipelines, less --jmem or a larger device",
            wanted.pipelines
        )))
    }
}

/// What a device has too little of, if anything.
fn over(area: &Area, device: &Device) -> Option<String> {
    let blocks = area.memory_bits.div_ceil(device.memory_bits as u64);
    // A cell of iCE40 takes a register without its table only in place of one: of whole boards about a third pack together.
    let (more, fewer) = (area.tables.max(area.registers), area.tables.min(area.registers));
    let elements = if device.target == "ice40" { more + fewer * 7 / 10 } else { more };
    let rows = [
        ("logic elements", elements, device.luts as u64 * TAKEN / 100),
        ("multipliers", area.multipliers, device.multipliers as u64),
        ("block memories", blocks, device.memories as u64),
    ];
    let row = rows.into_iter().find(|(_, needed, there)| needed > there)?;
    Some(format!("it needs about {} {} of {}", row.1, row.0, row.2))
}
