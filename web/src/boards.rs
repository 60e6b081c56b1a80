//! The pairs that a kernel's pipelines take a second on a board, where they fill its device.

use crate::kernel::Kernel;
use fmm::shown::shown;
use hdl::board::Board;
use hdl::circuit::target::{Clock, target};
use hdl::engine::usual;
use pairforge::fmm::predict::fill::{Around, Most, most};
use pairforge::kernel::fit::{NETWORK, Share, over, sum};
use pg2::backend::build::{Built, build};
use pg2::report::area::Area;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
pub struct Asked {
    kernel: Kernel,
    board: String,
}

/// The pipelines on a board, by the estimate of their area; the link is left out.
#[derive(Serialize)]
pub struct Row {
    board: &'static str,
    mhz: f64,
    /// 0 where none fits.
    pipelines: u32,
    pairs_per_second: f64,
    /// The part of the board's device that they take: of lookup tables and multipliers.
    tables: f64,
    multipliers: f64,
    /// The resource that there is too little of for one.
    missing: Option<String>,
}

pub fn board(asked: Asked) -> Result<Row, String> {
    let board =
        hdl::board::board(&asked.board).ok_or_else(|| format!("there is no board `{}`", shown(&asked.board)))?;
    let target = target(board.device.target).ok_or("a board has a target")?;
    let clock = Clock { target, mhz: board.usual_mhz, blocks: None };
    let kernel = asked.kernel.compiled()?;
    Ok(row(board, &build(&kernel.graph, clock, &kernel.sources, Vec::new())))
}

fn row(board: &Board, built: &Built) -> Row {
    let device = board.device;
    let taken = if board.ethernet.is_some() { NETWORK } else { Area::default() };
    let around = Around { share: Share::of(Some(device), 1), stream_bits: usual::STREAM_BITS };
    let found = most(built, device, taken, &around);
    let area = |most: Most| sum(taken, most.area(built, &around));
    let one = area(Most { lanes: 1, engines: 1 });
    let all = found.map(area);
    let part = |of: fn(&Area) -> u64, there: u32| all.as_ref().map_or(0.0, |a| of(a) as f64 / there as f64);
    let pipelines = found.map_or(0, Most::all);
    Row {
        board: board.name,
        mhz: board.usual_mhz,
        pipelines,
        pairs_per_second: pipelines as f64 * board.usual_mhz * 1e6 / built.ii() as f64,
        tables: part(|a| a.tables, device.luts),
        multipliers: part(|a| a.multipliers, device.multipliers),
        missing: if found.is_none() { over(&one, device) } else { None },
    }
}
