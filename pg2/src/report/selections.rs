//! The selections of a kernel (RULES L14) and what their places take.

use crate::graph::Graph;

/// A selection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// `min=` or `max=`.
    pub reduce: &'static str,
    /// Names of the outputs, that of the key first. Of an output of several rows, the one that is meant.
    pub outputs: Vec<String>,
    /// The pairs that are kept.
    pub places: usize,
    /// Bits of a place, which has so many registers and a comparator of so many bits.
    pub bits: u32,
}

/// All selections, in order.
pub fn rows(graph: &Graph) -> Vec<Row> {
    let row = |selection: &hdl::number::reduce::Selection| {
        let mut outputs: Vec<String> = Vec::new();
        for output in &selection.ranks[0] {
            let output = &graph.outputs[*output];
            let pin = &graph.pins[output.pin];
            let whole = |of: &Vec<usize>| of.iter().filter(|o| graph.outputs[**o].pin == output.pin).count();
            let all: usize = selection.ranks.iter().map(whole).sum();
            // An output that the selection fills goes by its name.
            let name = match all == pin.elements() as usize {
                true => pin.name.clone(),
                false => pin.column(output.element),
            };
            if !outputs.contains(&name) {
                outputs.push(name);
            }
        }
        let bits = selection.members.iter().map(|f| f.width()).sum();
        let reduce = if selection.greatest { "max=" } else { "min=" };
        Row { reduce, outputs, places: selection.ranks.len(), bits }
    };
    graph.record().selections().iter().map(row).collect()
}

/// A line of `explain`.
impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Row { reduce, outputs, places, bits } = self;
        let names = outputs.join(", ");
        let pairs = if *places == 1 { "1 pair".to_string() } else { format!("{places} pairs") };
        let total = *places as u64 * *bits as u64;
        write!(
            f,
            "selection      {total:>8}  register bits of ({names}) {reduce}: {pairs}, each with a comparator of {bits} bits"
        )
    }
}
