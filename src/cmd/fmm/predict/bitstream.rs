//! The bitstream of a folder that `synth` has written: its engines, its clock and its link.

use super::Wanted;
use flow::summary::Summary;
use fmm::octree::FmmOptions;
use fmm::shown::shown;
use hdl::board::Board;
use hdl::engine::Config;
use pairforge::fmm::kernels::generated;
use pairforge::fmm::predict::machine::{Machine, hashed};
use pg2::graph::Graph;
use pg2::kernels;
use pg2::middle::coarse;
use pipelines::octree::offload;
use std::path::{Path, PathBuf};
use terminal::failure::Failure;
use terminal::{input, output, source};

/// The summary of `synth` for a bitstream, with the clock that it runs at and the file.
struct Made {
    said: Summary,
    clock_mhz: f64,
    path: PathBuf,
}

fn made(board: &Board, dir: &Path) -> Result<Made, Failure> {
    let path = dir.join("synth.json");
    let make = format!("make it with `pairforge synth FILE --board {} -o DIR`", board.name);
    let bytes = input::text(&path, &format!("; {make}"))?;
    let said =
        Summary::parse(&bytes).map_err(|e| Failure::file(&path, format!("is not what this program writes: {e}")))?;
    let clock_mhz = match (&said.board, said.clock_mhz) {
        (Some(name), Some(mhz)) if name == board.name => mhz,
        (Some(name), _) => {
            return Err(Failure::file(&path, format!("is for the board {}, not {}", shown(name), board.name)));
        }
        _ => return Err(Failure::file(&path, format!("is of no board; {make}"))),
    };
    Ok(Made { said, clock_mhz, path })
}

/// The board that `synth` has made a bitstream for.
pub fn machine(asked: &Wanted, board: &'static Board, dir: &Path) -> Result<Machine, Failure> {
    let kernels = asked.kernels;
    let Made { said, clock_mhz, path } = made(board, dir)?;
    let all = said.engines();
    let engine = |(graph, option): (&Graph, &str)| {
        let Some(e) = all.iter().find(|e| e.kernel == graph.name) else {
            let names: Vec<String> = all.iter().map(|e| shown(&e.kernel).to_string()).collect();
            let which = if all.len() == 1 { "kernel" } else { "kernels" };
            let names = names.join(" and ");
            let text = format!("is of the {which} {names}, not {}; name it with {option}", graph.name);
            return Err(Failure::file(&path, text));
        };
        let config = Config {
            layout: coarse::layout(graph, e.filters),
            pipelines: e.pipelines,
            groups: e.groups,
            i_banks: e.i_banks,
            ident: None,
            ii: e.ii,
            filters: e.filters,
            segments: e.segments,
            stream_bits: said.stream_bits,
            jmem_records: e.jmem_records,
            pipeline_latency: e.latency,
        };
        let why = |why: String| Failure::file(&path, format!("has an engine that cannot be: {why}"));
        config.verify().map_err(why)?;
        Ok(hashed(graph, config))
    };
    let wanted = [(&kernels.p2p, "--p2p")].into_iter().chain(kernels.m2l.iter().map(|m2l| (m2l, "--m2l")));
    let engines = wanted.map(engine).collect::<Result<_, Failure>>()?;
    let over_ethernet = said.ethernet.is_some();
    if over_ethernet && asked.predict.baud.is_some() {
        return Err(Failure::file(&path, "is of a link over Ethernet, which has no baud rate; leave --baud out"));
    }
    let link = asked.predict.link(board, over_ethernet);
    let machine = Machine::new(board.name, (clock_mhz, link), engines);
    Ok(Machine { joules_per_pair: said.joules_per_pair, ..machine })
}

/// The M2L kernel among those of a bitstream: the one of the order, or a shipped one. A kernel of a user's file has to be named.
pub fn m2l(board: &Board, dir: &Path, p2p: &Graph, options: &FmmOptions) -> Result<Option<Graph>, Failure> {
    let all: Vec<String> = made(board, dir)?.said.engines().into_iter().map(|engine| engine.kernel).collect();
    if !all.contains(&p2p.name) {
        return Ok(None);
    }
    let others: Vec<String> = all.into_iter().filter(|name| *name != p2p.name).collect();
    for name in &others {
        let graph = match kernels::find(name).is_some() {
            true => source::load(name)?.1,
            false if *name == format!("m2l_p{}", options.order) => generated(options.order)?,
            false => continue,
        };
        if offload::bind(p2p, Some(&graph), options).is_ok() {
            return Ok(Some(graph));
        }
    }
    if !others.is_empty() {
        let names = others.iter().map(|name| shown(name).to_string()).collect::<Vec<_>>().join(" and ");
        let order = options.order;
        output::tell(&format!(
            "note: {names} of the bitstream is not used, since no M2L of order {order} is known by that name; take its order, or \
             name its file with --m2l\n"
        ));
    }
    Ok(None)
}
