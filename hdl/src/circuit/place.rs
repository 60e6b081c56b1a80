//! Placing the pieces of a circuit in stages.

use super::retime::retime;
use super::{Circuit, NodeKind, Sig};

/// When a signal is ready: in stage `stage`, `time` ns after the registers that open it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Ready {
    pub stage: u32,
    pub time: f64,
    /// The stage in which the arguments are read.
    pub reads: u32,
    /// Made of constants and standing inputs alone: the same in every stage.
    pub fixed: bool,
}

/// The stages of a whole circuit.
pub(super) struct Placed {
    pub ready: Vec<Ready>,
    /// Whether each signal reaches an output.
    pub live: Vec<bool>,
    pub latency: u32,
    pub worst: f64,
    /// Register bits behind each signal.
    pub bits: Vec<u64>,
    /// The fewest register bits that any placing of this latency has, and those of the earliest placing.
    pub bound: u64,
    pub early: u64,
}

impl Placed {
    /// Registers between a signal and one of its readers.
    pub fn waits(&self, s: Sig, reader: Option<usize>) -> u32 {
        let ready = self.ready[s.index()];
        match reader.map(|r| self.ready[r]) {
            // What is static needs one register where it takes time to come.
            Some(r) if ready.fixed && r.fixed && r.reads == ready.stage => 0,
            _ if ready.fixed => (ready.time > 0.0) as u32,
            reader => reader.map_or(self.latency, |r| r.reads) - ready.stage,
        }
    }
}

/// How much a circuit may take to be placed.
pub(super) struct Limits {
    /// Register bits of the earliest placing.
    bits: u64,
    /// Steps to the best one.
    steps: u64,
}

/// Far above what devices hold and what kernels of their size need.
pub(super) const LIMITS: Limits = Limits { bits: 1 << 20, steps: 100_000_000 };

pub(super) const UNLIMITED: Limits = Limits { bits: u64::MAX, steps: u64::MAX };

/// Puts every signal where the circuit has the fewest register bits, the latency being that of the earliest placing;
/// `None` beyond the limits.
pub(super) fn place(circuit: &Circuit, limits: &Limits) -> Option<Placed> {
    let live = live(circuit);
    let mut early = earliest(circuit, &live, &vec![0; circuit.signals.len()]);
    let reads = reads(circuit, &live);
    early.early = register_bits(circuit, &early, &reads).iter().sum();
    if early.early > limits.bits {
        return None;
    }
    let best = retime(circuit, &early, &reads, limits.steps)?;
    let mut placed = earliest(circuit, &live, &best.stages);
    debug_assert!(placed.latency == early.latency && placed.worst <= early.worst.max(circuit.clock.budget()));
    debug_assert!(
        (0..live.len()).all(|k| !live[k] || placed.ready[k].reads == best.stages[k] || placed.ready[k].fixed)
    );
    placed.bits = register_bits(circuit, &placed, &reads);
    // What is static has its registers anyway.
    let still: u64 = (0..live.len()).filter(|k| placed.ready[*k].fixed).map(|k| placed.bits[k]).sum();
    (placed.early, placed.bound) = (early.early, best.bound + still);
    debug_assert_eq!(placed.bits.iter().sum::<u64>(), placed.bound, "the dual proves the placing");
    Some(placed)
}

/// Flip-flop bits behind each signal: the bits of it that are still to be read, in each later stage.
fn register_bits(circuit: &Circuit, placed: &Placed, reads: &[Read]) -> Vec<u64> {
    let mut last: Vec<Vec<u32>> = circuit.signals.iter().map(|s| vec![0; s.width as usize]).collect();
    for (s, reader, high, low) in reads {
        let waits = placed.waits(*s, *reader);
        last[s.index()][*low as usize..=*high as usize].iter_mut().for_each(|w| *w = waits.max(*w));
    }
    let mut bits: Vec<u64> = last.iter().map(|w| w.iter().map(|w| *w as u64).sum()).collect();
    // Memories, multipliers and what is held have a register of their own.
    let mut read: Vec<Vec<bool>> = circuit.signals.iter().map(|s| vec![false; s.width as usize]).collect();
    reads.iter().for_each(|(s, _, high, low)| read[s.index()][*low as usize..=*high as usize].fill(true));
    for (k, signal) in circuit.signals.iter().enumerate().filter(|(k, _)| placed.live[*k]) {
        bits[k] += match signal.kind {
            NodeKind::Rom { .. } | NodeKind::Ram { .. } => signal.width as u64,
            _ if signal.kind.held() => read[k].iter().filter(|r| **r).count() as u64,
            _ => 0,
        };
    }
    bits
}

/// Every read of a live signal: (signal, reader or `None` for an output, high, low).
pub(super) type Read = (Sig, Option<usize>, u32, u32);

pub(super) fn reads(circuit: &Circuit, live: &[bool]) -> Vec<Read> {
    let mut reads = Vec::new();
    for (k, signal) in circuit.signals.iter().enumerate().filter(|(k, _)| live[*k]) {
        match &signal.kind {
            NodeKind::Expr { expr, .. } => expr.reads(&mut |s, _, high, low| reads.push((*s, Some(k), high, low))),
            kind => reads.extend(kind.args().iter().map(|a| (*a, Some(k), circuit.width(*a) - 1, 0))),
        }
    }
    reads.extend(circuit.outputs.iter().map(|(_, s)| (*s, None, circuit.width(*s) - 1, 0)));
    reads
}

/// The stage of every signal, as early as possible.
pub(super) fn earliest_stages(circuit: &Circuit) -> Vec<u32> {
    let n = circuit.signals.len();
    earliest(circuit, &vec![true; n], &vec![0; n]).ready.iter().map(|r| r.stage).collect()
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
    // What is static must have settled too before the first pair leaves.
    let still = (0..live.len()).filter(|k| live[*k] && ready[*k].fixed).map(|k| ready[k]);
    let ends = circuit.outputs.iter().map(|(_, s)| ready[s.index()]).chain(still);
    let latency = ends.map(|r| r.stage + (r.time > 0.0) as u32).max().unwrap_or(0).max(circuit.least_latency);
    Placed { ready, live: live.to_vec(), latency, worst, bits: Vec::new(), bound: 0, early: 0 }
}

fn live(circuit: &Circuit) -> Vec<bool> {
    // Ports stay, whether they are read or not.
    let mut live: Vec<bool> = circuit.signals.iter().map(|s| matches!(s.kind, NodeKind::Input { .. })).collect();
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
    let args: Vec<Ready> = kind.args().iter().map(|s: &Sig| ready[s.index()]).collect();
    let fixed = args.iter().all(|r| r.fixed) && !matches!(kind, NodeKind::Input { still: false });
    let args: Vec<Ready> = args.into_iter().filter(|r| fixed || !r.fixed).collect();
    let release = if fixed { 0 } else { release };
    let stage = args.iter().map(|r| r.stage).max().unwrap_or(0).max(release);
    let time = args.iter().filter(|r| r.stage == stage).map(|r| r.time).fold(0.0, f64::max);
    let after = |delay: f64| {
        // Wires never need a stage of their own, however late what they carry is.
        if time > 0.0 && delay > 0.0 && time + delay > budget {
            Ready { stage: stage + 1, time: delay, reads: stage + 1, fixed }
        } else {
            Ready { stage, time: time + delay, reads: stage, fixed }
        }
    };
    let held = |r: Ready| (Ready { stage: r.stage + 1, time: 0.0, ..r }, r.time);
    match kind {
        NodeKind::Input { .. } => (Ready { stage: 0, time: 0.0, reads: 0, fixed }, 0.0),
        NodeKind::Expr { .. } if args.is_empty() => (Ready { stage: 0, time: 0.0, reads: 0, fixed }, 0.0),
        NodeKind::Expr { cost, held: true, .. } => held(after(cost.delay(t))),
        NodeKind::Expr { cost, .. } => {
            let r = after(cost.delay(t));
            (r, r.time)
        }
        // The address is registered inside the memory; its data leaves t.rom after the edge.
        NodeKind::Rom { .. } | NodeKind::Ram { .. } => {
            (Ready { stage: stage + 1, time: t.rom, reads: stage, fixed }, time.max(t.rom))
        }
        // A multiplier block is registered at its output.
        NodeKind::Mul { .. } => held(after(t.mul)),
    }
}
