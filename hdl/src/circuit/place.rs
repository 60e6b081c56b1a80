//! Placing the pieces of a circuit in stages.

use super::{Circuit, Kind, Sig, settle};

/// When a signal is ready: in stage `stage`, `time` ns after the registers that open it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Ready {
    pub stage: u32,
    pub time: f64,
    /// The stage in which the arguments are read.
    pub reads: u32,
    /// Nothing but constants: there in every stage without a register.
    pub fixed: bool,
}

/// The stages of a whole circuit.
pub(super) struct Placed {
    pub ready: Vec<Ready>,
    /// Whether each signal reaches an output.
    pub live: Vec<bool>,
    pub latency: u32,
    pub worst: f64,
}

/// Puts every signal as early as its arguments and the clock allow; then lets those wait that cost fewer registers
/// later, the latency being the same.
pub(super) fn place(circuit: &Circuit) -> Placed {
    let live = live(circuit);
    let mut release = vec![0; circuit.signals.len()];
    let mut best = earliest(circuit, &live, &release);
    let reads = reads(circuit, &live);
    let mut bits = settle::register_bits(circuit, &best, &reads);
    // Later users first, so that what they read can follow them; a few rounds reach the end.
    for _ in 0..3 {
        let before = bits;
        for k in (0..circuit.signals.len()).rev().filter(|k| live[*k]) {
            if best.ready[k].fixed || matches!(circuit.signals[k].kind, Kind::Input) {
                continue;
            }
            let mut kept = release[k];
            for stage in best.ready[k].reads + 1..=settle::latest(&best, &reads, k) {
                release[k] = stage;
                let placed = earliest(circuit, &live, &release);
                let cost = settle::register_bits(circuit, &placed, &reads);
                if cost <= bits && placed.latency == best.latency && placed.worst <= best.worst {
                    (best, bits, kept) = (placed, cost, stage);
                }
            }
            release[k] = kept;
        }
        if bits == before {
            break;
        }
    }
    best
}

/// Every read of a live signal: (signal, reader or `None` for an output, high, low).
pub(super) type Read = (Sig, Option<usize>, u32, u32);

pub(super) fn reads(circuit: &Circuit, live: &[bool]) -> Vec<Read> {
    let mut reads = Vec::new();
    for (k, signal) in circuit.signals.iter().enumerate().filter(|(k, _)| live[*k]) {
        match &signal.kind {
            Kind::Expr { text, args, .. } => {
                reads.extend(text.reads().map(|(a, high, low)| (args[a], Some(k), high, low)));
            }
            kind => reads.extend(kind.args().iter().map(|a| (*a, Some(k), circuit.width(*a) - 1, 0))),
        }
    }
    reads.extend(circuit.outputs.iter().map(|(_, s)| (*s, None, circuit.width(*s) - 1, 0)));
    reads
}

/// Every signal as early as possible, but no earlier than its stage in `release`.
fn earliest(circuit: &Circuit, live: &[bool], release: &[u32]) -> Placed {
    let mut ready: Vec<Ready> = Vec::with_capacity(circuit.signals.len());
    let mut worst = 0f64;
    for (k, live) in live.iter().enumerate() {
        let (r, used) = place_one(circuit, &ready, k, release[k]);
        if *live {
            worst = worst.max(used);
        }
        ready.push(r);
    }
    let ends = circuit.outputs.iter().map(|(_, s)| ready[s.index()]).map(|r| r.stage + (r.time > 0.0) as u32);
    let latency = ends.max().unwrap_or(0);
    Placed { ready, live: live.to_vec(), latency, worst }
}

fn live(circuit: &Circuit) -> Vec<bool> {
    // Ports stay, whether they are read or not.
    let mut live: Vec<bool> = circuit.signals.iter().map(|s| matches!(s.kind, Kind::Input)).collect();
    circuit.outputs.iter().for_each(|(_, s)| live[s.index()] = true);
    for k in (0..live.len()).rev() {
        if live[k] {
            circuit.signals[k].kind.args().iter().for_each(|a| live[a.index()] = true);
        }
    }
    live
}

/// Where signal `k` goes, and the longest time that its stage has run when it or its register takes over.
fn place_one(circuit: &Circuit, ready: &[Ready], k: usize, release: u32) -> (Ready, f64) {
    let (budget, t) = (circuit.clock.budget(), circuit.clock.target);
    let kind = &circuit.signals[k].kind;
    let args: Vec<Ready> = kind.args().iter().map(|s: &Sig| ready[s.index()]).filter(|r| !r.fixed).collect();
    let stage = args.iter().map(|r| r.stage).max().unwrap_or(0).max(release);
    let time = args.iter().filter(|r| r.stage == stage).map(|r| r.time).fold(0.0, f64::max);
    let after = |delay: f64| {
        if time > 0.0 && time + delay > budget {
            Ready { stage: stage + 1, time: delay, reads: stage + 1, fixed: false }
        } else {
            Ready { stage, time: time + delay, reads: stage, fixed: false }
        }
    };
    match kind {
        Kind::Input => (Ready { stage: 0, time: 0.0, reads: 0, fixed: false }, 0.0),
        Kind::Expr { .. } if args.is_empty() => (Ready { stage: 0, time: 0.0, reads: 0, fixed: true }, 0.0),
        Kind::Expr { cost, .. } => {
            let r = after(cost.delay(t));
            (r, r.time)
        }
        // The address is registered inside the memory; its data leaves t.rom after the edge.
        Kind::Rom { .. } => (Ready { stage: stage + 1, time: t.rom, reads: stage, fixed: false }, time.max(t.rom)),
        // A multiplier block is registered at its output.
        Kind::Mul { .. } => {
            let r = after(t.mul);
            (Ready { stage: r.stage + 1, time: 0.0, reads: r.stage, fixed: false }, r.time)
        }
    }
}
