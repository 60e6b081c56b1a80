//! The builder that operators describe themselves with, and the pipeliner that cuts them into stages.
//!
//! An operator writes a feed-forward dataflow of combinational pieces, each with a [`Cost`]; it never
//! mentions a register. [`pipeline`] then walks the pieces in order, puts each as early as its arguments
//! and the clock's budget allow, and inserts a register wherever a signal crosses from one stage into a
//! later one. So one description serves every target and frequency, and the latency is computed.

use crate::netlist::{Dir, Item, Module};
use crate::target::{Clock, Cost};

/// A signal of a circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sig(u32);

#[derive(Clone, Debug)]
enum Kind {
    Input,
    Expr { text: String, args: Vec<Sig>, cost: Cost },
    Rom { data: Vec<u64>, addr: Sig },
    Mul { a: Sig, b: Sig, signed: bool },
}

#[derive(Clone, Debug)]
struct Signal {
    name: String,
    width: u32,
    kind: Kind,
}

/// A feed-forward combinational description, in order of definition.
#[derive(Clone, Debug)]
pub struct Circuit {
    signals: Vec<Signal>,
    outputs: Vec<(String, Sig)>,
    clock: Clock,
}

impl Circuit {
    /// An empty circuit for a clock. Operators may ask for the clock to choose between forms, as long as
    /// the bits stay the same.
    pub fn new(clock: Clock) -> Circuit {
        Circuit { signals: Vec::new(), outputs: Vec::new(), clock }
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    pub fn width(&self, s: Sig) -> u32 {
        self.signals[s.0 as usize].width
    }

    fn push(&mut self, name: &str, width: u32, kind: Kind) -> Sig {
        assert!(width > 0, "signal {name} has no bits");
        // Names are made unique here, so that operators may reuse a word such as `sum`.
        let mut unique = name.to_string();
        let mut k = 1;
        while self.signals.iter().any(|s| s.name == unique) {
            k += 1;
            unique = format!("{name}_{k}");
        }
        self.signals.push(Signal { name: unique, width, kind });
        Sig(self.signals.len() as u32 - 1)
    }

    /// An input port.
    pub fn input(&mut self, name: &str, width: u32) -> Sig {
        self.push(name, width, Kind::Input)
    }

    /// Combinational logic: a Verilog expression in which `{0}`, `{1}`, ... stand for `args`. Every `{k}` is
    /// replaced by a plain identifier, so it may be sliced: `{0}[7:0]` (but not where `args[k]` has one bit).
    pub fn comb(&mut self, name: &str, width: u32, cost: Cost, text: impl Into<String>, args: &[Sig]) -> Sig {
        self.push(name, width, Kind::Expr { text: text.into(), args: args.to_vec(), cost })
    }

    /// Wires only: like [`Circuit::comb`] at no cost.
    pub fn wire(&mut self, name: &str, width: u32, text: impl Into<String>, args: &[Sig]) -> Sig {
        self.comb(name, width, Cost::Wire, text, args)
    }

    /// A table read through a registered block memory; `data` has 2^width(addr) words, missing ones are 0.
    pub fn rom(&mut self, name: &str, width: u32, addr: Sig, data: Vec<u64>) -> Sig {
        self.push(name, width, Kind::Rom { data, addr })
    }

    /// The full product of two signals, width(a) + width(b) bits, both unsigned or both signed.
    pub fn mul(&mut self, name: &str, a: Sig, b: Sig, signed: bool) -> Sig {
        let width = self.width(a) + self.width(b);
        self.push(name, width, Kind::Mul { a, b, signed })
    }

    /// An output port that carries `s`.
    pub fn output(&mut self, name: &str, s: Sig) {
        self.outputs.push((name.to_string(), s));
    }
}

/// When a signal is ready: in stage `stage`, `time` ns after the registers that open it.
#[derive(Clone, Copy, Debug)]
struct Ready {
    stage: u32,
    time: f64,
}

/// A circuit cut into stages.
pub struct Pipelined {
    pub module: Module,
    /// Cycles from inputs to outputs.
    pub latency: u32,
    /// Flip-flop bits inside.
    pub register_bits: u64,
    /// The longest time between two registers in ns, without the flip-flop's own; above the budget where
    /// a single piece does not fit the clock.
    pub worst: f64,
}

/// Cuts `circuit` into stages for its clock and gives it as a module of that name with a port `clk`.
/// Inputs are taken as ready at the edge (the producer registers them), and outputs come from registers,
/// unless the whole circuit is wires: then the latency is 0 and there is no `clk` use.
pub fn pipeline(name: &str, circuit: &Circuit) -> Pipelined {
    let budget = circuit.clock.budget();
    let t = circuit.clock.target;
    let mut ready: Vec<Ready> = Vec::with_capacity(circuit.signals.len());
    let mut worst = 0f64;
    for signal in &circuit.signals {
        let at = |args: &[Sig]| {
            let stage = args.iter().map(|s| ready[s.0 as usize].stage).max().unwrap_or(0);
            let time = args.iter().filter(|s| ready[s.0 as usize].stage == stage).map(|s| ready[s.0 as usize].time);
            Ready { stage, time: time.fold(0.0, f64::max) }
        };
        let place = |from: Ready, delay: f64| {
            if from.time > 0.0 && from.time + delay > budget {
                Ready { stage: from.stage + 1, time: delay }
            } else {
                Ready { stage: from.stage, time: from.time + delay }
            }
        };
        let r = match &signal.kind {
            Kind::Input => Ready { stage: 0, time: 0.0 },
            Kind::Expr { args, cost, .. } => place(at(args), cost.delay(t)),
            // A memory wants its address from a register or nearly so; its data leaves t.rom after the edge.
            Kind::Rom { addr, .. } => Ready { stage: at(&[*addr]).stage + 1, time: t.rom },
            // A multiplier block is registered at its output; wide products take one stage more for
            // the sum of their partial products.
            Kind::Mul { a, b, .. } => {
                let widest = circuit.width(*a).max(circuit.width(*b));
                let from = place(at(&[*a, *b]), t.mul);
                let extra = if widest > t.mul_width { widest.div_ceil(t.mul_width).ilog2() + 1 } else { 0 };
                Ready { stage: from.stage + 1 + extra, time: 0.0 }
            }
        };
        worst = worst.max(r.time);
        ready.push(r);
    }
    emit(name, circuit, &ready, worst)
}

/// Writes the staged circuit as a module: stage by stage, the registers that open a stage first.
fn emit(name: &str, circuit: &Circuit, ready: &[Ready], worst: f64) -> Pipelined {
    let wires_only =
        circuit.outputs.iter().all(|(_, s)| ready[s.0 as usize].stage == 0 && ready[s.0 as usize].time == 0.0);
    let latency = if wires_only {
        0
    } else {
        let end = |s: &Sig| ready[s.0 as usize].stage + (ready[s.0 as usize].time > 0.0) as u32;
        circuit.outputs.iter().map(|(_, s)| end(s)).max().unwrap_or(0)
    };
    // The last stage in which each signal is read; outputs are read at `latency`.
    let mut last: Vec<u32> = ready.iter().map(|r| r.stage).collect();
    for (k, signal) in circuit.signals.iter().enumerate() {
        let (args, stage): (Vec<Sig>, u32) = match &signal.kind {
            Kind::Input => (vec![], 0),
            Kind::Expr { args, .. } => (args.clone(), ready[k].stage),
            Kind::Rom { addr, .. } => (vec![*addr], ready[k].stage - 1),
            Kind::Mul { a, b, .. } => (vec![*a, *b], mul_input_stage(circuit, ready, *a, *b, k)),
        };
        for s in args {
            last[s.0 as usize] = last[s.0 as usize].max(stage);
        }
    }
    for (_, s) in &circuit.outputs {
        last[s.0 as usize] = last[s.0 as usize].max(latency);
    }
    let mut module = Module { name: name.to_string(), latency, ..Module::default() };
    if latency > 0 {
        module.port(Dir::In, "clk", 1);
    }
    for s in circuit.signals.iter().filter(|s| matches!(s.kind, Kind::Input)) {
        module.port(Dir::In, s.name.clone(), s.width);
    }
    for (port, s) in &circuit.outputs {
        module.port(Dir::Out, port.clone(), circuit.width(*s));
    }
    let named = |s: Sig, stage: u32| -> String {
        let signal = &circuit.signals[s.0 as usize];
        if stage == ready[s.0 as usize].stage { signal.name.clone() } else { format!("{}_s{stage}", signal.name) }
    };
    for stage in 0..=latency {
        if latency > 0 {
            module.items.push(Item::Comment(format!("stage {stage}")));
        }
        // Copies of earlier signals that are still needed.
        for (k, signal) in circuit.signals.iter().enumerate() {
            if ready[k].stage < stage && stage <= last[k] {
                let (name, next) = (named(Sig(k as u32), stage), named(Sig(k as u32), stage - 1));
                module.items.push(Item::Reg { name, width: signal.width, next });
            }
        }
        for (k, signal) in circuit.signals.iter().enumerate().filter(|(k, _)| ready[*k].stage == stage) {
            emit_signal(&mut module, circuit, ready, k, signal, &named);
        }
    }
    for (port, s) in &circuit.outputs {
        module.items.push(Item::Assign { name: port.clone(), expr: named(*s, latency) });
    }
    let register_bits = module.own_register_bits();
    Pipelined { module, latency, register_bits, worst }
}

/// The stage in which a multiplier reads its operands.
fn mul_input_stage(circuit: &Circuit, ready: &[Ready], a: Sig, b: Sig, k: usize) -> u32 {
    let t = circuit.clock.target;
    let widest = circuit.width(a).max(circuit.width(b));
    let extra = if widest > t.mul_width { widest.div_ceil(t.mul_width).ilog2() + 1 } else { 0 };
    ready[k].stage - 1 - extra
}

fn emit_signal(
    module: &mut Module,
    circuit: &Circuit,
    ready: &[Ready],
    k: usize,
    signal: &Signal,
    named: &dyn Fn(Sig, u32) -> String,
) {
    let stage = ready[k].stage;
    let (name, width) = (signal.name.clone(), signal.width);
    match &signal.kind {
        Kind::Input => {}
        Kind::Expr { text, args, .. } => {
            let expr = fill(text, |n| named(args[n], stage));
            module.items.push(Item::Wire { name, width, expr });
        }
        Kind::Rom { data, addr } => {
            let addr_width = circuit.width(*addr);
            let mut data = data.clone();
            data.resize(1 << addr_width, 0);
            module.items.push(Item::Rom { name, width, addr: named(*addr, stage - 1), addr_width, data });
        }
        Kind::Mul { a, b, signed } => {
            let from = mul_input_stage(circuit, ready, *a, *b, k);
            let (x, y) = (named(*a, from), named(*b, from));
            let product = if *signed {
                format!("$signed({x}) * $signed({y})")
            } else {
                // Widened operands, so that no tool sees a product narrower than its result.
                format!("{{{}'d0, {x}}} * {{{}'d0, {y}}}", circuit.width(*b), circuit.width(*a))
            };
            let steps = stage - from;
            let step_name = |n: u32| if n == steps { name.clone() } else { format!("{name}_p{n}") };
            module.items.push(Item::Reg { name: step_name(1), width, next: product });
            for n in 2..=steps {
                module.items.push(Item::Reg { name: step_name(n), width, next: step_name(n - 1) });
            }
        }
    }
}

/// Replaces `{k}` in `text` by `name(k)`; other braces stay, as in a Verilog concatenation.
fn fill(text: &str, name: impl Fn(usize) -> String) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let tail = &rest[open + 1..];
        match tail.find('}').and_then(|close| tail[..close].parse::<usize>().ok().map(|k| (k, close))) {
            Some((k, close)) => {
                out.push_str(&name(k));
                rest = &tail[close + 1..];
            }
            None => {
                out.push('{');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_chain_is_cut_into_stages_and_bypasses_are_delayed() {
        let mut c = Circuit::new(Clock::default_clock());
        let a = c.input("a", 32);
        let b = c.input("b", 32);
        let mut s = c.comb("s", 32, Cost::Add(32), "{0} + {1}", &[a, b]);
        for _ in 0..3 {
            s = c.comb("s", 32, Cost::Add(32), "{0} + {1}", &[s, b]);
        }
        c.output("q", s);
        let p = pipeline("chain", &c);
        assert!(p.latency > 1 && p.worst <= c.clock().budget());
        assert!(p.module.verilog().contains("b_s1"));
    }

    #[test]
    fn placeholders_and_concatenations_live_together() {
        assert_eq!(fill("{{0}, 3'd0, {1}[2:0]}", |k| format!("x{k}")), "{x0, 3'd0, x1[2:0]}");
    }
}
