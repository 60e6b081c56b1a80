//! Lookup tables and their bits, as yosys writes them in JSON.

use serde_json::{Value, json};

/// A bit of a port: a net, or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Bit {
    Zero,
    One,
    Net(u64),
}

/// A function of up to four bits; bit k of the table is its value where the inputs are the binary digits of k.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Table {
    pub(super) inputs: Vec<Bit>,
    pub(super) values: u32,
}

pub(super) fn bit(value: &Value) -> Bit {
    match (value.as_u64(), value.as_str()) {
        (Some(net), _) => Bit::Net(net),
        (None, Some("1")) => Bit::One,
        _ => Bit::Zero,
    }
}

pub(super) fn text(bit: Bit) -> Value {
    match bit {
        Bit::Zero => json!("0"),
        Bit::One => json!("1"),
        Bit::Net(net) => json!(net),
    }
}

/// A parameter that yosys writes as binary digits.
pub(super) fn binary(value: &Value) -> u32 {
    value.as_str().and_then(|v| u32::from_str_radix(v.trim(), 2).ok()).unwrap_or(0)
}

impl Table {
    /// The inputs that are not constant, each once.
    pub(super) fn of(inputs: &[Bit], values: u32) -> Table {
        let mut nets: Vec<Bit> = inputs.iter().copied().filter(|b| matches!(b, Bit::Net(_))).collect();
        nets.sort_unstable();
        nets.dedup();
        let at = |k: usize| -> u32 {
            let set = |b: &Bit| match b {
                Bit::Zero => false,
                Bit::One => true,
                net => nets.iter().position(|n| n == net).is_some_and(|p| k >> p & 1 == 1),
            };
            inputs.iter().enumerate().map(|(p, b)| (set(b) as u32) << p).sum()
        };
        let values = (0..1usize << nets.len()).map(|k| (values >> at(k) & 1) << k).sum();
        Table { inputs: nets, values }
    }

    /// The cofactor where input `k` is `value`; inputs that no longer matter are left out.
    pub(super) fn cofactor(&self, k: usize, value: Bit) -> Table {
        let mut inputs = self.inputs.clone();
        inputs[k] = value;
        let mut t = Table::of(&inputs, self.values);
        while let Some(k) = (0..t.inputs.len()).find(|k| {
            let half = |v: Bit| {
                let mut inputs = t.inputs.clone();
                inputs[*k] = v;
                Table::of(&inputs, t.values)
            };
            half(Bit::Zero) == half(Bit::One)
        }) {
            let mut inputs = t.inputs.clone();
            inputs[k] = Bit::Zero;
            t = Table::of(&inputs, t.values);
        }
        t
    }

    /// The bit that this is, if it is nothing but one.
    pub(super) fn plain(&self) -> Option<Bit> {
        match (&self.inputs[..], self.values & 3) {
            ([], v) => Some(if v & 1 == 1 { Bit::One } else { Bit::Zero }),
            ([one], 2) => Some(*one),
            _ => None,
        }
    }
}
