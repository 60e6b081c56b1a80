//! A prediction as text.

use pairforge::fmm::predict::{Engine, Report};

/// An engine's lanes in words.
fn lanes(e: &Engine) -> String {
    let lanes = match (e.count, e.pipelines) {
        (1, 1) => "1 pipeline".to_string(),
        (1, many) => format!("{many} pipelines"),
        (count, many) => format!("{count} times {many} pipelines"),
    };
    let lanes = if e.filters == 0 { lanes } else { format!("{lanes} behind {} filters each", e.filters) };
    if e.ii == 1 { lanes } else { format!("{lanes} with a pair every {} clocks", e.ii) }
}

/// The tables as text.
pub fn text(r: &Report) -> String {
    let line = &r.link;
    let what = if r.engines.len() > 1 { "P2P and M2L" } else { "P2P" };
    let names: Vec<&str> = r.engines.iter().map(|e| e.kernel.as_str()).collect();
    let lanes: Vec<String> = r.engines.iter().map(lanes).collect();
    let each = match r.ranks {
        None | Some(1) => String::new(),
        Some(ranks) => format!(" on {ranks} ranks with a board each, of which the slowest counts"),
    };
    let made = r.synth.as_ref().map_or(String::new(), |command| format!("its bitstream: {command}\n"));
    let mut out = format!(
        "FMM of {} {}{each}, order {}, theta {}, leaf {}: {what} by {} on {} predicted, all else measured on this CPU\n\
         {} at {} MHz, {line}, turnaround {} ms\n{made}\n",
        r.n,
        r.what,
        r.order,
        r.theta,
        r.asked.leaf,
        names.join(" and "),
        r.board,
        lanes.join(" and "),
        r.clock_mhz,
        r.turnaround_ms
    );
    let s = &r.seconds;
    let exchange = r.exchange_seconds.map(|seconds| ("between", seconds));
    let stages = [
        ("tree", s.tree),
        ("P2M", s.p2m),
        ("M2M", s.m2m),
        ("M2L", s.m2l),
        ("P2L", s.p2l),
        ("L2L", s.l2l),
        ("L2P", s.l2p),
        ("M2P", s.m2p),
        ("P2P", s.p2p),
    ];
    out += &format!("{:<6} {:>12}\n", "stage", "seconds");
    for (name, seconds) in stages.into_iter().chain(exchange).chain([("total", s.total)]) {
        let how = match name {
            "P2P" if r.engines.len() > 1 => "predicted, M2L with it",
            "P2P" => "predicted",
            "M2L" if r.engines.len() > 1 => "with P2P",
            "total" => "",
            "between" => "measured: ranks exchange multipoles and results",
            _ => "measured",
        };
        out += format!("{name:<6} {seconds:>12.6} {how}").trim_end();
        out.push('\n');
    }
    out += &format!("\n{:.3e} pairs of P2P a second; ", r.asked.pairs_per_second);
    out += &r.joules.map_or("energy unknown: no power model of the device".into(), |j| format!("{j:.3} J for P2P"));
    out += &format!("\n\n{:>6} {:>12} {:>12} {:>12} {:>12}\n", "leaf", "P2P s", "CPU s", "total s", "pairs/s");
    for row in &r.leaves {
        let mark = if row.leaf == r.best_leaf { " best" } else { "" };
        out += &format!(
            "{:>6} {:>12.6} {:>12.6} {:>12.6} {:>12.3e}{mark}\n",
            row.leaf, row.p2p_seconds, row.cpu_seconds, row.total_seconds, row.pairs_per_second
        );
    }
    out
}
