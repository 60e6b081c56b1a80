//! The bits that say how large the values of a kernel are: how many they need, by what they are on the inputs.

use super::data::{Data, SPARE, SPARE_OF_SUMS, exponent_bits, range_bits, whole_bits};
use hdl::op::accuracy::Meaning;
use hdl::{Format, Reduce};
use pg2::error::trial::Trial;
use pg2::graph::{Graph, NodeKind, PinClass};
use pg2::vary::apart::{Apart, Knob};
use std::collections::HashMap;
use terminal::failure::Failure;

/// Pairs that are looked at.
const MOST: usize = 20_000;

/// The least and the greatest magnitude other than 0.
#[derive(Clone, Copy)]
struct Seen {
    least: f64,
    most: f64,
}

impl Seen {
    const NOTHING: Seen = Seen { least: f64::INFINITY, most: 0.0 };

    fn take(&mut self, other: Seen) {
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
    }
}

/// For each choice the fewest bits of exponents, or before the point, that its values need in real arithmetic.
pub fn needs(graph: &Graph, apart: &Apart, data: &Data) -> Result<Vec<u32>, Failure> {
    let trial = Trial::new(graph);
    let is_chosen = |f: Format| f.is_float() || f.is_fixed();
    let values: Vec<usize> = (0..graph.nodes.len()).filter(|k| is_chosen(graph.nodes[*k].format)).collect();
    let mut seen = vec![Seen::NOTHING; graph.nodes.len()];
    let mut places: HashMap<(usize, u32), (PinClass, usize)> = HashMap::new();
    for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
        places.extend(graph.elements_of(class).into_iter().enumerate().map(|(k, e)| (e, (class, k))));
    }
    for batch in &data.batches {
        let inputs = data.inputs(graph, batch)?;
        let (ni, nj) = (inputs.targets.len(), inputs.sources.len());
        let step = (ni * nj * data.batches.len()).div_ceil(MOST).max(1);
        for pair in (0..ni * nj).step_by(step) {
            let (i, j) = (inputs.targets.record(pair / nj), inputs.sources.record(pair % nj));
            let of = |k: &usize| match &graph.nodes[*k].kind {
                NodeKind::Pin { pin, element } => match places.get(&(*pin, *element)) {
                    Some((PinClass::Ipin, at)) => i[*at],
                    Some((PinClass::Jpin, at)) => j[*at],
                    Some((_, at)) => inputs.params[*at],
                    None => 0,
                },
                _ => 0,
            };
            let found = trial.pair(&trial.pins.iter().map(of).collect::<Vec<u64>>());
            for k in &values {
                let x = found.real[*k].value(graph.nodes[*k].format).abs();
                if x > 0.0 {
                    seen[*k].take(Seen { least: x, most: x });
                }
            }
        }
    }
    let mut of_knobs = vec![Seen::NOTHING; apart.knobs.len()];
    let least = least_needed(graph);
    for k in values {
        let node = &graph.nodes[k];
        // What is less than this may become 0.
        seen[k].least = seen[k].least.max(least[k]);
        let knob = match &node.kind {
            _ if node.format.is_fixed() => word_of(apart, node.format),
            NodeKind::Pin { pin, .. } => {
                let name = &graph.pins[*pin].name;
                apart.knobs.iter().position(|knob| knob.is_input && knob.name == *name)
            }
            _ => apart.knob_of(node.span, node.format),
        };
        knob.into_iter().for_each(|knob| of_knobs[knob].take(seen[k]));
    }
    for (k, output) in graph.outputs.iter().enumerate().filter(|(_, o)| o.reduce == Reduce::Sum) {
        let most = data.batches.iter().map(|b| b.reference.most(k)).fold(0.0, f64::max);
        let spare = 2f64.powi(SPARE_OF_SUMS - SPARE);
        let knob = word_of(apart, graph.pins[output.pin].format);
        knob.into_iter().for_each(|knob| of_knobs[knob].take(Seen { least: f64::INFINITY, most: most * spare }));
    }
    // What is read in another format must be within that too.
    for (from, to) in apart.passes() {
        let read = of_knobs[from];
        of_knobs[to].take(read);
    }
    let bits = |(seen, knob): (&Seen, &Knob)| match knob.format {
        // The numbers of inputs are those of the pins' own range.
        f if f.is_fixed() && !knob.is_input => whole_bits(f, seen.most).min(range_bits(f)),
        f if f.is_float() && seen.most > 0.0 => exponent_bits(seen.least.min(seen.most), seen.most),
        f if f.is_float() => 2,
        f => range_bits(f),
    };
    Ok(of_knobs.iter().zip(&apart.knobs).map(bits).collect())
}

/// Octaves below a fixed's last place of which nothing is left in it.
const BELOW: i32 = 2;

/// The magnitude of each node below which it matters to none that reads it: terms of sums by themselves, and what becomes a fixed.
fn least_needed(graph: &Graph) -> Vec<f64> {
    let mut least = vec![f64::INFINITY; graph.nodes.len()];
    for node in &graph.nodes {
        let NodeKind::Op { op, inst, args } = &node.kind else { continue };
        let needed = match (op.accuracy(inst).meaning, node.format.frac()) {
            (Meaning::Sum | Meaning::Difference, None) => continue,
            (Meaning::Same, Some(frac)) => 2f64.powi(-(frac as i32) - BELOW),
            _ => 0.0,
        };
        args.iter().for_each(|a| least[a.0 as usize] = least[a.0 as usize].min(needed));
    }
    graph.outputs.iter().for_each(|o| least[o.value.0 as usize] = 0.0);
    least
}

/// The choice of a fixed format.
fn word_of(apart: &Apart, format: Format) -> Option<usize> {
    apart.knobs.iter().position(|knob| knob.format == format && format.is_fixed())
}
