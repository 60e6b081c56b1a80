//! Placing the pieces of a circuit in stages.

use super::{Circuit, Kind, Sig};

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

/// Puts every signal as early as its arguments and the clock allow.
pub(super) fn place(circuit: &Circuit) -> Placed {
    let live = live(circuit);
    let mut ready: Vec<Ready> = Vec::with_capacity(circuit.signals.len());
    let mut worst = 0f64;
    for (k, live) in live.iter().enumerate() {
        let (r, used) = place_one(circuit, &ready, k);
        if *live {
            worst = worst.max(used);
        }
        ready.push(r);
    }
    let ends = circuit.outputs.iter().map(|(_, s)| ready[s.index()]).map(|r| r.stage + (r.time > 0.0) as u32);
    let latency = ends.max().unwrap_or(0);
    Placed { ready, live, latency, worst }
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
fn place_one(circuit: &Circuit, ready: &[Ready], k: usize) -> (Ready, f64) {
    let (budget, t) = (circuit.clock.budget(), circuit.clock.target);
    let kind = &circuit.signals[k].kind;
    let args: Vec<Ready> = kind.args().iter().map(|s: &Sig| ready[s.index()]).filter(|r| !r.fixed).collect();
    let stage = args.iter().map(|r| r.stage).max().unwrap_or(0);
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
