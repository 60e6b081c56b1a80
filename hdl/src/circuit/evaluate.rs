//! A circuit's bits, computed in Rust without registers: what the pipeline gives, its latency ignored.

use super::{Circuit, NodeKind, Sig};
use crate::rtl::Expr;
use crate::rtl::eval::{Builder, LANES, Program};

/// A port of an evaluated circuit; `width` in bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    pub name: String,
    pub width: u32,
}

/// A circuit as a program.
pub struct Evaluator {
    program: Program,
    memory: Vec<[u64; LANES]>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

impl Evaluator {
    /// The program of a circuit whose inputs have at most 64 bits each, and its outputs at most 128.
    pub fn new(circuit: &Circuit) -> Evaluator {
        let port = |name: &str, s: Sig| Port { name: name.to_string(), width: circuit.width(s) };
        let named = |k: &usize| matches!(circuit.signals[*k].kind, NodeKind::Input { .. });
        let signals: Vec<Sig> = (0..circuit.signals.len()).filter(named).map(|k| Sig(k as u32)).collect();
        let inputs: Vec<Port> = signals.iter().map(|s| port(&circuit.signals[s.index()].name, *s)).collect();
        let outputs: Vec<Port> = circuit.outputs.iter().map(|(name, s)| port(name, *s)).collect();
        let wide = inputs.iter().find(|p| p.width > 64).or(outputs.iter().find(|p| p.width > 128));
        assert!(wide.is_none(), "{wide:?} is too wide to be evaluated");
        let mut b = Builder::new(&signals.iter().map(|s| (*s, circuit.width(*s))).collect::<Vec<_>>());
        for (k, signal) in circuit.signals.iter().enumerate() {
            let s = Sig(k as u32);
            match &signal.kind {
                NodeKind::Input { .. } => {}
                NodeKind::Expr { expr, .. } => b.define(s, expr),
                NodeKind::Rom { data, addr } => b.look(s, signal.width, &circuit.x(*addr), data),
                // Nothing has been written to it.
                NodeKind::Ram { addr, .. } => b.look(s, signal.width, &circuit.x(*addr), &[]),
                NodeKind::Mul { a, b: y, signed } => b.define(s, &circuit.x(*a).product(&circuit.x(*y), *signed)),
            }
        }
        let ends: Vec<Expr<Sig>> = circuit.outputs.iter().map(|(_, s)| circuit.x(*s)).collect();
        let program = b.finish(&ends);
        Evaluator { memory: program.memory(), program, inputs, outputs }
    }

    /// The input ports, in the order of [`Evaluator::run`].
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The output ports, in the order of the results.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Computes samples: `inputs` has one column of equal length for each input port, the results one for each output port. Bits
    /// above a port's width must be 0.
    pub fn run(&mut self, inputs: &[impl AsRef<[u64]>]) -> Vec<Vec<u128>> {
        assert_eq!(inputs.len(), self.inputs.len(), "one column for each input port");
        let count = inputs.iter().map(|c| c.as_ref().len()).max().unwrap_or(1);
        let mut results = vec![Vec::with_capacity(count); self.outputs.len()];
        for from in (0..count).step_by(LANES) {
            let n = LANES.min(count - from);
            for (row, (column, port)) in self.program.inputs().zip(inputs.iter().zip(&self.inputs)) {
                let words = &column.as_ref()[from..from + n];
                debug_assert!(
                    words.iter().all(|w| port.width == 64 || w >> port.width == 0),
                    "{port:?} gets more bits"
                );
                self.memory[row][..n].copy_from_slice(words);
            }
            self.program.run(&mut self.memory);
            for (result, rows) in results.iter_mut().zip(self.program.outputs()) {
                let word = |row: &u32, k: usize| self.memory[*row as usize][k] as u128;
                let value = |k: usize| word(&rows[0], k) | rows.get(1).map_or(0, |high| word(high, k) << 64);
                result.extend((0..n).map(value));
            }
        }
        results
    }
}
