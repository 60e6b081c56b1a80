//! The figures as SVG, and the numbers behind them as CSV.

use super::kept::{CpuStages, Kept, OPERATIONS, Size};
use super::machines::{I9, PAPER_ALL, ROW_OF_I9};
use std::fmt::Write;
use terminal::chart::{Across, Axis, BESIDE, Bars, Chart, Rule, Series, Style, Unit};

/// The devices of Fig. 6 with their colours, and those of Fig. 7 that have P2P alone.
const DEVICES: [(&str, usize, Option<&str>); 3] =
    [(I9, 1, Some(I9)), (ROW_OF_I9, 2, Some(ROW_OF_I9)), (PAPER_ALL, 3, None)];

/// GFLOPS of the paper's text: four of its chips at 1e5 particles, and the peak of its GPU.
pub const PAPER_GFLOPS: f64 = 350.0;
pub const PAPER_GPU_GFLOPS: f64 = 160.0;

/// Stages of the CPU in the order of the paper.
fn stages(cpu: &CpuStages) -> [(&'static str, f64); 6] {
    [("P2M", cpu.p2m), ("M2M", cpu.m2m), ("M2L", cpu.m2l), ("L2L", cpu.l2l), ("L2P", cpu.l2p), ("P2P", cpu.p2p)]
}

pub fn figures(kept: &Kept) -> Vec<(&'static str, String)> {
    vec![("fig5.svg", fig5(kept)), ("fig6.svg", fig6(kept)), ("fig7.svg", fig7(kept))]
}

fn fig5(kept: &Kept) -> String {
    let s = &kept.stages;
    let cpu = stages(&s.cpu).map(|stage| Some(stage.1)).to_vec();
    let mut series = vec![(format!("CPU, {} threads", kept.threads), 0, cpu)];
    for (k, d) in s.devices.iter().enumerate() {
        let bars = vec![None, None, Some(d.m2l), None, None, Some(d.p2p)];
        series.push((d.name.clone(), 1 + k, bars));
    }
    Bars {
        title: "Fig. 5: seconds of the stages".into(),
        note: format!(
            "{} particles, depth {}, order 2; devices are predicted, with one stage at a time",
            s.n,
            s.levels.saturating_sub(1)
        ),
        y: Axis::linear("seconds").of(Unit::Seconds),
        categories: stages(&s.cpu).map(|stage| stage.0.to_string()).to_vec(),
        series,
    }
    .svg()
}

fn fig6(kept: &Kept) -> String {
    let line = |of: &dyn Fn(&Size) -> f64| kept.sizes.iter().map(|s| (s.n as f64, of(s))).collect::<Vec<_>>();
    let mut series = vec![Series::new("CPU alone", 0, Style::Line, line(&|s| s.best(None).1))];
    for (name, colour, _) in DEVICES {
        series.push(Series::new(format!("CPU and {name}"), colour, Style::Line, line(&|s| s.best(Some(name)).1)));
    }
    let measured = kept.sizes.iter().filter(|s| !s.is_law);
    series.push(Series::new("direct", 4, Style::Line, measured.map(|s| (s.n as f64, s.direct)).collect()));
    let law = kept.sizes.iter().rev().take_while(|s| s.is_law).count();
    let from = kept.sizes.len() - (law + 1).min(kept.sizes.len());
    let beyond = kept.sizes[from..].iter().map(|s| (s.n as f64, s.direct)).collect();
    series.push(Series::new("direct, by its square law", 4, Style::Dashed, beyond));
    Chart {
        title: "Fig. 6: seconds of the whole FMM".into(),
        note: "order 2, each at its best depth; P2P and M2L on devices are predicted, all else is measured".into(),
        x: Axis::log("particles N"),
        y: Axis::log("seconds").of(Unit::Seconds),
        series,
        rules: Vec::new(),
    }
    .svg()
}

fn fig7(kept: &Kept) -> String {
    let line = |of: &dyn Fn(&Size) -> f64| {
        kept.sizes.iter().map(|s| (s.n as f64, of(s) * OPERATIONS / 1e9)).collect::<Vec<_>>()
    };
    let mut series = vec![Series::new(format!("CPU, {} threads", kept.threads), 0, Style::Line, line(&Size::p2p_cpu))];
    for (name, colour, alone) in DEVICES {
        series.push(Series::new(format!("{name}, predicted"), colour, Style::Line, line(&|s| s.p2p(name, alone))));
    }
    if let Some(gpu) = &kept.gpu {
        let points = gpu.points.iter().map(|p| (p.n as f64, p.pairs_per_second * OPERATIONS / 1e9)).collect();
        series.push(Series::new(gpu.device.clone(), 5, Style::Marks, points));
    }
    series.push(Series::new("the paper, four chips", BESIDE, Style::Marks, vec![(1e5, PAPER_GFLOPS)]));
    Chart {
        title: "Fig. 7: speed of P2P".into(),
        note: format!("{OPERATIONS} operations a pair; the tree that is best for the whole FMM"),
        x: Axis::log("particles N"),
        y: Axis::log("GFLOPS"),
        series,
        rules: vec![Rule::new("the paper's GPU, peak", Across::Y(PAPER_GPU_GFLOPS))],
    }
    .svg()
}

/// A number with six digits, as a time is known at best.
fn cell(x: f64) -> String {
    if x.is_finite() { format!("{:?}", format!("{x:.5e}").parse().unwrap_or(x)) } else { String::new() }
}

pub fn tables(kept: &Kept) -> Vec<(&'static str, String)> {
    vec![
        ("fig5.csv", fig5_csv(kept)),
        ("fig6.csv", fig6_csv(kept)),
        ("fig7.csv", fig7_csv(kept)),
        ("agreement.csv", agreement_csv(kept)),
        ("gumerov.csv", gumerov_csv(kept)),
        ("haney.csv", haney_csv(kept)),
    ]
}

fn fig5_csv(kept: &Kept) -> String {
    let mut out = String::from("device,stage,seconds,is_predicted\n");
    for (stage, seconds) in stages(&kept.stages.cpu) {
        let _ = writeln!(out, "\"{}\",{stage},{},false", kept.cpu.replace('"', "'"), cell(seconds));
    }
    for d in &kept.stages.devices {
        let _ = writeln!(out, "{},M2L,{},true\n{},P2P,{},true", d.name, cell(d.m2l), d.name, cell(d.p2p));
    }
    out
}

fn fig6_csv(kept: &Kept) -> String {
    let mut out = String::from("n,device,depth,leaf,seconds,of_it_on_cpu,is_predicted\n");
    for s in &kept.sizes {
        let (depth, seconds) = s.best(None);
        let total = cell(seconds);
        let _ = writeln!(out, "{},cpu,{},{},{total},{total},false", s.n, depth.depth, depth.leaf);
        for (name, ..) in DEVICES {
            let (depth, seconds) = s.best(Some(name));
            let (n, cpu) = (s.n, cell(depth.cpu.rest()));
            let _ = writeln!(out, "{n},{name},{},{},{},{cpu},true", depth.depth, depth.leaf, cell(seconds));
        }
        let _ = writeln!(out, "{},direct,,,{},{},{}", s.n, cell(s.direct), cell(s.direct), s.is_law);
    }
    out
}

fn fig7_csv(kept: &Kept) -> String {
    let mut out = String::from("n,device,pairs_per_second,gflops,is_predicted\n");
    let mut row = |n: usize, device: &str, rate: f64, is_predicted: bool| {
        let _ = writeln!(out, "{n},\"{device}\",{},{},{is_predicted}", cell(rate), cell(rate * OPERATIONS / 1e9));
    };
    for s in &kept.sizes {
        row(s.n, "cpu", s.p2p_cpu(), false);
        DEVICES.iter().for_each(|(name, _, alone)| row(s.n, name, s.p2p(name, *alone), true));
    }
    if let Some(gpu) = &kept.gpu {
        gpu.points.iter().for_each(|p| row(p.n, &gpu.device, p.pairs_per_second, false));
    }
    out
}

fn agreement_csv(kept: &Kept) -> String {
    let mut out = String::from("kernel,n,leaf,pairs,cycles_counted,cycles_modelled\n");
    for a in &kept.agreement {
        let _ = writeln!(out, "{},{},{},{},{},{}", a.kernel, a.n, a.leaf, a.pairs, a.counted, a.modelled);
    }
    out
}

fn gumerov_csv(kept: &Kept) -> String {
    let mut out = String::from("n,p2p_one_thread,p2p_all_threads,fmm_all_threads\n");
    for g in &kept.gumerov {
        let _ = writeln!(out, "{},{},{},{}", g.n, cell(g.p2p_one), cell(g.p2p_all), cell(g.fmm_all));
    }
    out
}

fn haney_csv(kept: &Kept) -> String {
    let mut out = String::from("n,all_pairs_seconds\n");
    for h in &kept.haney {
        let _ = writeln!(out, "{},{}", h.n, cell(h.seconds));
    }
    out
}
