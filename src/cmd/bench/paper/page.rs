//! The page of the figures, with its tables and what follows from them.

use super::draw::{PAPER_GFLOPS, PAPER_GPU_GFLOPS};
use super::kept::{Kept, OPERATIONS, Offloaded, Size};
use super::machines::{I9, PAPER_ALL, ROW_OF_I9};
use super::measure::SIZES;
use askama::Template;
use pipelines::predict::roofline::haney;
use std::fmt::Write;
use terminal::chart::Unit;
use terminal::chart::axis::label;
use terminal::failure::Failure;

/// Watts of the paper's four chips and of its GPU.
const PAPER_WATTS: f64 = 60.0;
const PAPER_GPU_WATTS: f64 = 70.0;

/// The table of Gumerov and Duraiswami: particles, and seconds of their CPU and of their GPU.
const GUMEROV: [(usize, f64, f64); 9] = [
    (4096, 3.51e-2, 1.50e-3),
    (8192, 1.34e-1, 2.96e-3),
    (16384, 5.26e-1, 7.50e-3),
    (32768, 3.22e-1, 1.51e-2),
    (65536, 1.23, 2.75e-2),
    (131_072, 4.81, 7.13e-2),
    (262_144, 2.75, 1.20e-1),
    (524_288, 1.05e1, 2.21e-1),
    (1_048_576, 4.10e1, 5.96e-1),
];

#[derive(Template)]
#[template(path = "paper.md", escape = "none")]
struct Page<'a> {
    kept: &'a Kept,
    operations: f64,
    machines: String,
    agreement: String,
    sampling: String,
    n_max: String,
    stages: String,
    loses: String,
    direct: usize,
    totals: String,
    speedups: String,
    gpu: String,
    p2p: String,
    implied: String,
    sent: String,
    energy: String,
    watts: String,
    verdict: String,
    parts: String,
    published: String,
    gumerov: String,
    haney: String,
}

/// The page.
pub fn text(kept: &Kept) -> Result<String, Failure> {
    let board = Board::of(kept);
    let page = Page {
        kept,
        operations: OPERATIONS,
        machines: machines(kept),
        agreement: agreement(kept),
        sampling: sampling(kept),
        n_max: n_max(kept),
        stages: stages(kept),
        loses: board.sentence(),
        direct: kept.sizes.iter().filter(|s| !s.is_law).map(|s| s.n).max().unwrap_or(0),
        totals: totals(kept),
        speedups: speedups(kept),
        gpu: gpu(kept),
        p2p: p2p(kept),
        implied: format!("{:.0}", PAPER_GFLOPS * 1e9 / OPERATIONS / 288.0 / 1e6),
        sent: board.sent(),
        energy: energy(),
        watts: format!("{:.1}", board.p2p_rate() * PAPER_WATTS / (PAPER_GFLOPS * 1e9 / OPERATIONS)),
        verdict: board.verdict(),
        parts: parts(kept),
        published: published(kept),
        gumerov: gumerov(kept),
        haney: haneys(kept),
    };
    page.render().map_err(|e| Failure::Tool(e.to_string()))
}

/// The part that a terminal shows.
pub fn summary(kept: &Kept) -> Vec<String> {
    let off = kept.agreement.iter().map(|a| a.off().abs()).fold(0.0, f64::max);
    let agrees = match kept.agreement.is_empty() {
        true => "the model was not compared with Verilog".to_string(),
        false => format!("the model is off by {:.1}% of the clocks in simulated Verilog at most", 100.0 * off),
    };
    vec![agrees, Board::of(kept).sentence(), speedups(kept)]
}

fn seconds(x: f64) -> String {
    label(x, Unit::Seconds)
}

/// A table of markdown.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = format!("| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
    rows.for_each(|row| {
        let _ = write!(out, "\n| {} |", row.join(" | "));
    });
    out
}

fn machines(kept: &Kept) -> String {
    let row = |m: &super::kept::About| vec![m.name.clone(), m.lanes.clone(), format!("{}", m.mhz), m.link.clone()];
    table(&["device", "lanes", "MHz", "link"], kept.machines.iter().map(row))
}

fn agreement(kept: &Kept) -> String {
    if kept.agreement.is_empty() {
        return "Not compared in this run: there was no Verilator.".into();
    }
    let row = |a: &super::kept::Agreement| {
        let off = format!("{:+.1}%", 100.0 * a.off());
        vec![a.kernel.clone(), a.n.to_string(), a.pairs.to_string(), a.counted.to_string(), a.modelled.to_string(), off]
    };
    table(&["kernel", "particles", "pairs", "clocks counted", "modelled", "off by"], kept.agreement.iter().map(row))
}

/// How far a part of the work, scaled, is off the whole.
fn sampling(kept: &Kept) -> String {
    kept.sampling.as_ref().map_or(String::new(), |s| {
        let (n, off) = (s.n, 100.0 * s.off);
        format!(
            "Of {n} particles, for which both were predicted, that is off by {off:.1}% of a stage's seconds at most."
        )
    })
}

/// The option that made a run smaller than the paper's.
fn n_max(kept: &Kept) -> String {
    let largest = kept.sizes.iter().map(|s| s.n).max().filter(|n| *n < SIZES[SIZES.len() - 1]);
    largest.map_or(String::new(), |n| format!(" --n-max {n}"))
}

fn stages(kept: &Kept) -> String {
    let s = &kept.stages;
    let mut head = vec!["", "P2M", "M2M", "M2L", "L2L", "L2P", "P2P", "tree"];
    let cpu = [s.cpu.p2m, s.cpu.m2m, s.cpu.m2l, s.cpu.l2l, s.cpu.l2p, s.cpu.p2p, s.cpu.tree];
    let mut rows = vec![std::iter::once("CPU, measured".to_string()).chain(cpu.map(seconds)).collect::<Vec<_>>()];
    for d in &s.devices {
        let dash = || "—".to_string();
        let name = format!("{}, predicted", d.name);
        rows.push(vec![name, dash(), dash(), seconds(d.m2l), dash(), dash(), seconds(d.p2p), dash()]);
    }
    head[0] = "seconds";
    table(&head, rows.into_iter())
}

fn totals(kept: &Kept) -> String {
    let head = ["particles", "CPU alone", "CPU and an i9", "CPU and eight", "CPU and the paper's chips", "direct"];
    let row = |s: &Size| {
        let of = |device: Option<&str>| {
            let (depth, time) = s.best(device);
            format!("{} ({})", seconds(time), depth.depth)
        };
        let mark = if s.is_law { "~" } else { "" };
        let mut row = vec![s.n.to_string(), of(None)];
        row.extend([I9, ROW_OF_I9, PAPER_ALL].map(|d| of(Some(d))));
        row.push(format!("{mark}{}", seconds(s.direct)));
        row
    };
    table(&head, kept.sizes.iter().map(row))
}

/// The gain of the CPU by each device, at most particles.
fn speedups(kept: &Kept) -> String {
    let Some(last) = kept.sizes.last() else { return String::new() };
    let alone = last.best(None).1;
    let of = |name: &str| format!("{:.2} with {name}", alone / last.best(Some(name)).1);
    let all = [I9, ROW_OF_I9, PAPER_ALL].map(of).join(", ");
    format!("Here this CPU becomes {all} times as fast, by prediction, at {} particles.", last.n)
}

fn gpu(kept: &Kept) -> String {
    let Some(gpu) = &kept.gpu else {
        return "No GPU's figures were given; those of an H200 are among the [results](../gpu.md#p2p).".into();
    };
    let points = gpu.points.iter().map(|p| {
        let speed = format!("{:.0} ({:.3})", p.pairs_per_second * OPERATIONS / 1e9, p.pairs_per_second / 1e9);
        vec![p.what.clone(), p.n.to_string(), speed]
    });
    format!("Of a {}, by `bench cuda`:\n\n{}\n", gpu.device, table(&["input", "particles", "speed"], points))
}

fn p2p(kept: &Kept) -> String {
    let head = ["particles", "CPU", "i9", "eight i9", "the paper's four chips"];
    let show = |rate: f64| format!("{:.1} ({:.3})", rate * OPERATIONS / 1e9, rate / 1e9);
    let row = |s: &Size| {
        let devices = [s.p2p(I9, Some(I9)), s.p2p(ROW_OF_I9, Some(ROW_OF_I9)), s.p2p(PAPER_ALL, None)];
        [s.n.to_string(), show(s.p2p_cpu())].into_iter().chain(devices.map(show)).collect()
    };
    table(&head, kept.sizes.iter().map(row))
}

fn energy() -> String {
    let row = |what: &str, watts: f64, gflops: f64| {
        let pairs = gflops * 1e9 / OPERATIONS;
        vec![what.to_string(), watts.to_string(), format!("{:.1}", pairs / 1e9), format!("{:.2}", 1e9 * watts / pairs)]
    };
    let rows = [
        row("the paper, four chips", PAPER_WATTS, PAPER_GFLOPS),
        row("the paper's GPU", PAPER_GPU_WATTS, PAPER_GPU_GFLOPS),
    ];
    table(&["device", "W", "1e9 pairs a second", "nJ a pair"], rows.into_iter())
}

/// Devices that one might buy, beside the CPU's time for both stages.
fn parts(kept: &Kept) -> String {
    let s = &kept.stages;
    let cpu = s.cpu.p2p + s.cpu.m2l;
    let head = [
        "device",
        "lanes",
        "MHz",
        "link",
        "1e9 pairs a second, all busy",
        "P2P and M2L",
        "of the CPU's",
        "whole FMM",
        "nJ a pair at most",
    ];
    let row = |part: &super::kept::PartRow| {
        let took = part.seconds();
        let energy =
            part.watts.map_or("—".to_string(), |watts| format!("{:.2}", 1e9 * watts * took / s.p2p_pairs as f64));
        vec![
            format!("`{}`, {}", part.about.name, part.summary),
            part.about.lanes.clone(),
            part.about.mhz.to_string(),
            part.about.link.clone(),
            format!("{:.1}", part.peak() / 1e9),
            seconds(took),
            format!("{:.2}", took / cpu),
            seconds(s.cpu.rest() + took),
            energy,
        ]
    };
    table(&head, kept.parts.iter().map(row))
}

fn published(kept: &Kept) -> String {
    let head = ["machine", "published, 1e9 pairs a second", "by the rules", "factor"];
    let row = |p: &super::kept::Published| {
        let factor = format!("{:.2}", p.by_rule / p.published);
        vec![p.what.clone(), format!("{:.1}", p.published / 1e9), format!("{:.1}", p.by_rule / 1e9), factor]
    };
    table(&head, kept.published.iter().map(row))
}

fn gumerov(kept: &Kept) -> String {
    let head = ["particles", "their CPU", "their GPU", "here, one thread", "here, all threads", "of an FMM of"];
    let rows = kept.gumerov.iter().filter_map(|g| {
        let (n, cpu, gpu) = GUMEROV.iter().find(|row| row.0 == g.n)?;
        let times = [*cpu, *gpu, g.p2p_one, g.p2p_all, g.fmm_all].map(seconds);
        Some(std::iter::once(n.to_string()).chain(times).collect())
    });
    table(&head, rows)
}

fn haneys(kept: &Kept) -> String {
    let rows = kept.haney.iter().map(|h| {
        let [link, compute, _] = haney(h.n as u64);
        std::iter::once(h.n.to_string()).chain([link, compute, h.seconds].map(seconds)).collect()
    });
    table(&["S", "K40, link", "K40, computing", "here"], rows)
}

/// One i9 beside this CPU, in P2P and M2L of Fig. 5.
struct Board<'a> {
    kept: &'a Kept,
    device: Option<&'a Offloaded>,
}

impl<'a> Board<'a> {
    fn of(kept: &'a Kept) -> Board<'a> {
        Board { kept, device: kept.stages.devices.iter().find(|d| d.name == I9) }
    }

    /// Pairs of P2P a second with all lanes for it.
    fn p2p_rate(&self) -> f64 {
        self.device.map_or(f64::NAN, |d| self.kept.stages.p2p_pairs as f64 / d.p2p)
    }

    /// Times as long a stage takes as on the CPU.
    fn ratios(&self) -> [f64; 2] {
        let cpu = &self.kept.stages.cpu;
        self.device.map_or([f64::NAN; 2], |d| [d.p2p / cpu.p2p, d.m2l / cpu.m2l])
    }

    fn sentence(&self) -> String {
        let against = |ratio: f64| match ratio >= 1.0 {
            true => format!("takes {ratio:.1} times as long as {} threads of this CPU", self.kept.threads),
            false => format!("takes {ratio:.2} of the time of {} threads of this CPU", self.kept.threads),
        };
        let [p2p, m2l] = self.ratios();
        format!("One i9 {} for P2P, and {} for M2L.", against(p2p), against(m2l))
    }

    /// Times that a particle goes over the link.
    fn sent(&self) -> String {
        // A source is four words, a target three.
        let once = 28.0 * self.kept.stages.n as f64;
        match self.device {
            Some(d) => format!(
                "{:.1} times the bytes of all sources and targets, lists and M2L included, in Fig. 5",
                d.bytes_in as f64 / once
            ),
            None => String::new(),
        }
    }

    fn verdict(&self) -> String {
        let (s, Some(d)) = (&self.kept.stages, self.device) else { return String::new() };
        let about = self.kept.machines.iter().find(|m| m.name == I9);
        let (lanes, mhz) = about.map_or((0, 0.0), |m| (m.p2p_lanes, m.mhz));
        let peak = lanes as f64 * mhz * 1e6;
        let wanted = s.p2p_pairs as f64 / s.cpu.p2p;
        let busy = self.p2p_rate() / peak;
        let link = (d.bytes_in + d.bytes_out) as f64;
        let rate = d.bytes_in.max(d.bytes_out) as f64 / (s.cpu.p2p + s.cpu.m2l);
        let mut out = String::new();
        let mut line = |text: String| out += &format!("- {text}\n");
        line(format!(
            "{} P2P of Fig. 5 is {:.2}e9 pairs a second on this CPU and {:.2}e9 on the i9, whose {lanes} lanes at {mhz} MHz are {:.0}% busy.",
            self.sentence(),
            wanted / 1e9,
            self.p2p_rate() / 1e9,
            100.0 * busy
        ));
        line(format!(
            "**Lanes.** To be as fast in P2P, a device needs {:.0} such lanes at this clock and as busy, or {:.0} at 300 MHz.",
            (wanted / (busy * mhz * 1e6)).ceil(),
            (wanted / (busy * 300e6)).ceil()
        ));
        line(format!(
            "**Link.** P2P and M2L of Fig. 5 take {:.0} MB over the link. To be through in the CPU's time for both, its busier direction has to bring {:.0} \
             MB/s, whatever the lanes: {:.1} times a gigabit of Ethernet. {}",
            link / 1e6,
            rate / 1e6,
            rate / 125e6,
            link_in_words(rate)
        ));
        if let Some(row) = s.devices.iter().find(|d| d.name == ROW_OF_I9) {
            line(format!(
                "**Eight i9** with a gigabit each take {:.2} times the CPU's time for P2P, and {:.2} for M2L.",
                row.p2p / s.cpu.p2p,
                row.m2l / s.cpu.m2l
            ));
        }
        let wins = |name: &str| self.kept.sizes.iter().any(|s| s.best(Some(name)).1 < s.best(None).1);
        let words = [I9, ROW_OF_I9, PAPER_ALL].map(|name| {
            let verb = if wins(name) { "wins at some number of particles" } else { "never wins" };
            format!("a CPU with {name} {verb}")
        });
        line(format!("In the whole FMM of Fig. 6, beside this CPU alone, {}.", words.join("; ")));
        out.trim_end().to_string()
    }
}

/// A link of which the rate asks.
fn link_in_words(rate: f64) -> &'static str {
    match rate {
        r if r <= 117e6 => "A gigabit of Ethernet is enough.",
        r if r <= 1.17e9 => "Ethernet at 10 Gbit/s is enough.",
        r if r <= 3.6e9 => "PCI Express 2 with eight lanes is enough, Ethernet at 10 Gbit/s is not.",
        _ => "It takes PCI Express 3 with sixteen lanes.",
    }
}

#[cfg(test)]
mod tests {
    use super::super::kept::{
        About, Agreement, CpuStages, Depth, Gumerov, Haney, PartRow, Published, Sampling, Stages,
    };
    use super::*;

    fn device(name: &str, p2p: f64, m2l: f64) -> Offloaded {
        Offloaded { name: name.into(), p2p, m2l, bytes_in: 40_000_000, bytes_out: 20_000_000 }
    }

    /// A run whose ratios are round: the i9 takes four times as long in P2P, and half as long in M2L.
    fn kept() -> Kept {
        let cpu = CpuStages { tree: 0.1, p2m: 0.01, m2m: 0.01, m2l: 0.04, l2l: 0.01, l2p: 0.01, p2p: 0.2, total: 0.38 };
        let devices = [I9, ROW_OF_I9].map(|name| device(name, 0.8, 0.02)).to_vec();
        let depth = |depth: u32, factor: f64| Depth {
            depth,
            leaf: 86,
            p2p_pairs: 800_000_000,
            cpu: CpuStages { total: factor * cpu.total, ..cpu },
            by_stage: devices.clone(),
            together: [I9, ROW_OF_I9, PAPER_ALL].map(|name| device(name, 0.4, 0.4)).to_vec(),
        };
        let size =
            |n: usize, is_law: bool| Size { n, depths: vec![depth(4, 2.0), depth(5, 1.0)], direct: n as f64, is_law };
        let about = |name: &str| About {
            name: name.into(),
            lanes: "16 of p2p_paper".into(),
            p2p_lanes: 16,
            mhz: 70.0,
            link: "a".into(),
        };
        Kept {
            cpu: "a CPU, \"fast\"".into(),
            threads: 2,
            repeat: 3,
            machines: vec![about(I9)],
            agreement: vec![Agreement {
                kernel: "p2p_paper".into(),
                n: 20,
                leaf: 4,
                pairs: 100,
                counted: 1000,
                modelled: 1020,
            }],
            sampling: Some(Sampling { n: 100_000, off: 0.0123 }),
            stages: Stages {
                n: 1_000_000,
                leaf: 86,
                levels: 6,
                p2p_pairs: 800_000_000,
                m2l_pairs: 5,
                cpu,
                devices: devices.clone(),
            },
            sizes: vec![size(10_000, false), size(1_000_000, true)],
            parts: vec![PartRow {
                summary: "a card".into(),
                about: about("card"),
                watts: Some(80.0),
                used: device("card", 0.12, 0.06),
            }],
            published: vec![Published { what: "theirs".into(), published: 4e10, by_rule: 3e10 }],
            gpu: None,
            gumerov: vec![Gumerov { n: 4096, p2p_one: 1e-3, p2p_all: 5e-4, fmm_all: 2e-3 }],
            haney: vec![Haney { n: 4913, seconds: 2e-3 }],
        }
    }

    #[test]
    fn the_page_says_by_how_much_the_board_loses_and_what_would_win() {
        let page = text(&kept()).expect("it renders");
        for wanted in [
            "One i9 takes 4.0 times as long as 2 threads of this CPU for P2P, and takes 0.50 of the time",
            // 4e9 pairs a second at 89% of 70 MHz.
            "needs 64 such lanes",
            // 40 MB in 0.24 s.
            "has to bring 167 MB/s, whatever the lanes: 1.3 times a gigabit of Ethernet. Ethernet at 10 Gbit/s is enough.",
            "| p2p_paper | 20 | 100 | 1000 | 1020 | +2.0% |",
            "| 1000000 | 380 ms (5) | 540 ms (5) |",
            "~1000000 s |",
            "Of 100000 particles, for which both were predicted, that is off by 1.2% of a stage's seconds at most.",
            "| 4096 | 35.1 ms | 1.5 ms | 1 ms | 500 \u{b5}s | 2 ms |",
            "| the paper, four chips | 60 | 31.8 | 1.89 |",
            "a CPU with Colorlight i9 never wins",
            // 80 W for 0.12 s and 8e8 pairs; half of the CPU's 0.24 s.
            "| `card`, a card | 16 of p2p_paper | 70 | a | 1.1 | 120 ms | 0.50 | 260 ms | 12.00 |",
            "| theirs | 40.0 | 30.0 | 0.75 |",
        ] {
            assert!(page.contains(wanted), "{wanted}\n{page}");
        }
        assert!(page.split(|c: char| !c.is_alphanumeric()).all(|word| word != "NaN" && word != "inf"), "{page}");
    }

    #[test]
    fn what_was_kept_reads_back_and_gives_the_same_figures() {
        let kept = kept();
        let text = serde_json::to_string(&kept).expect("numbers and names");
        let back: Kept = serde_json::from_str(&text).expect("it was written so");
        assert_eq!(back, kept);
        let all = super::super::draw::tables(&kept);
        assert!(all.iter().all(|(name, text)| name.ends_with(".csv") && text.lines().count() > 1), "{all:?}");
    }
}
