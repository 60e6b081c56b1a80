//! The cost of a lane in one number.

use hdl::board::DEVICES;
use hdl::circuit::target::Target;
use pg2::backend::build::Built;
use pg2::report::area::{Area, lane};
use serde::Serialize;

/// A lane's area, and what it costs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Price {
    /// Lookup tables and registers, with multipliers and block memories as what a device of the target has of tables for each.
    pub cost: f64,
    pub tables: u64,
    pub registers: u64,
    pub multipliers: u64,
    pub memories: u64,
}

/// The lookup tables that a multiplier and a block memory are worth, on average over the devices of a family, those of one size once; of a
/// family without one over all.
fn worth(target: &Target) -> (f64, f64) {
    let of_family = |d: &&hdl::board::Device| d.target == target.name;
    let any = DEVICES.iter().any(|d| of_family(&d));
    let mut devices: Vec<_> = DEVICES.iter().filter(|d| !any || of_family(d)).collect();
    let size = |d: &hdl::board::Device| (d.luts, d.multipliers, d.memories);
    devices.sort_by_key(|d| size(d));
    devices.dedup_by_key(|d| size(d));
    let average = |of: &dyn Fn(&hdl::board::Device) -> f64| {
        devices.iter().map(|d| of(d)).sum::<f64>() / devices.len().max(1) as f64
    };
    let luts = |d: &hdl::board::Device| d.luts as f64;
    (average(&|d| luts(d) / d.multipliers.max(1) as f64), average(&|d| luts(d) / d.memories.max(1) as f64))
}

/// The price of a kernel as built.
pub fn price(built: &Built) -> Price {
    let Area { tables, registers, multipliers, memories } = lane(built);
    let (multiplier, memory) = worth(built.library.clock.target);
    let cost = (tables + registers) as f64 + multiplier * multipliers as f64 + memory * memories as f64;
    Price { cost: cost.round(), tables, registers, multipliers, memories }
}
