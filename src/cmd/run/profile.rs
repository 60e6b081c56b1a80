//! `run --profile`: the range and the bits that each value of a kernel takes.

use hdl::Format;
use pg2::graph::Graph;
use pg2::report::origins::lines_of_nodes;
use pipelines::job::Table;
use serde::Serialize;
use sim::reference::profile::{Used, profile};
use std::fmt::Write as _;
use terminal::source::Kernel;

/// Pairs that are looked at: some seconds.
const MOST: usize = 1_000_000;

/// The ranges of a kernel's values over targets and sources, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
pub struct Profile {
    /// Pairs that were looked at, and all there are.
    pub pairs: usize,
    pub of: usize,
    pub values: Vec<Value>,
}

/// A value of the kernel. Bits are those of exponents and fractions of floats, and those before and behind the point of ints and fixeds.
#[derive(Serialize)]
pub struct Value {
    pub name: String,
    pub format: String,
    /// Line of the kernel's file; null of a value from an included one.
    pub line: Option<usize>,
    /// Ends of the values; null without any.
    pub from: Option<f64>,
    pub to: Option<f64>,
    /// The least magnitude other than 0; null where there is none.
    pub least: Option<f64>,
    pub high_bits: u32,
    /// Null of logs.
    pub low_bits: Option<u32>,
    /// Bits that the format has.
    pub high_bits_there: u32,
    pub low_bits_there: Option<u32>,
    /// The greatest and the least magnitude that the format holds.
    pub most: f64,
    pub smallest: f64,
    /// Powers of two between the greatest magnitude and the format's; null where all values are 0.
    pub headroom: Option<f64>,
}

impl Profile {
    pub fn new(kernel: &Kernel, graph: &Graph, [targets, sources]: [&Table; 2], params: &[u64]) -> Profile {
        let records = |table: &Table| -> Vec<Vec<u64>> { (0..table.len()).map(|k| table.record(k).to_vec()).collect() };
        let (targets, sources) = (records(targets), records(sources));
        let [i, j] = [&targets, &sources].map(|records| records.iter().map(Vec::as_slice).collect::<Vec<&[u64]>>());
        let (used, pairs) = profile(graph, &i, &j, params, MOST);
        let lines = lines_of_nodes(graph, &kernel.sources);
        let line =
            |u: &Used| lines[u.node.0 as usize].as_ref().filter(|line| line.file.is_none()).map(|line| line.number);
        let values = used.iter().map(|u| Value::new(graph, u, line(u))).collect();
        Profile { pairs, of: i.len() * j.len(), values }
    }

    /// The table.
    pub fn text(&self) -> String {
        let mut rows = vec![["value", "format", "from", "to", "least", "high bits", "low bits"].map(String::from)];
        rows.extend(self.values.iter().map(Value::row));
        let mut out = format!("values over {} of {} pairs\n", self.pairs, self.of);
        let widths: Vec<usize> = (0..7).map(|c| rows.iter().map(|r| r[c].len()).max().unwrap_or(0)).collect();
        for row in &rows {
            let _ = write!(out, "{:w0$}  {:w1$}", row[0], row[1], w0 = widths[0], w1 = widths[1]);
            for c in 2..7 {
                let _ = write!(out, "  {:>w$}", row[c], w = widths[c]);
            }
            out.push('\n');
        }
        out
    }
}

impl Value {
    fn new(graph: &Graph, u: &Used, line: Option<usize>) -> Value {
        let node = graph.node(u.node);
        let format = node.format;
        let output = graph.outputs.iter().find(|o| o.value == u.node);
        let name = match output {
            Some(o) if node.name.is_empty() => graph.pins[o.pin].column(o.element),
            _ => node.name.clone(),
        };
        let low_bits = match format.frac() {
            Some(frac) => frac.saturating_sub(u.lowest.min(frac)),
            None => u.significant.saturating_sub(1),
        };
        let (most, smallest) = ends(format);
        let greatest = u.low.abs().max(u.high.abs());
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        let (high_bits_there, low_bits_there) = match format.frac() {
            Some(frac) => (format.width() - frac, Some(frac)),
            None if format.is_log() => (format.width() - 1, None),
            None => (format.exp(), Some(format.mant())),
        };
        Value {
            name,
            format: format.to_string(),
            line,
            from: finite(u.low),
            to: finite(u.high),
            least: finite(u.least),
            high_bits: u.high_bits(format),
            low_bits: (!format.is_log()).then_some(low_bits),
            high_bits_there,
            low_bits_there,
            most,
            smallest,
            headroom: finite(most.log2() - greatest.log2()),
        }
    }

    fn row(&self) -> [String; 7] {
        let number = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.4e}"));
        let low = self.low_bits.map_or("-".into(), |bits| bits.to_string());
        let (name, format, high) = (self.name.clone(), self.format.clone(), self.high_bits.to_string());
        [name, format, number(self.from), number(self.to), number(self.least), high, low]
    }
}

/// The greatest and the least magnitude other than 0 that a format holds.
fn ends(format: Format) -> (f64, f64) {
    let [least, most] = [format.min_bits(), format.max_bits()].map(|bits| format.to_f64(bits).abs());
    let smallest = match format.frac() {
        Some(frac) => 2f64.powi(-(frac as i32)),
        // Exponent field 0 is that of 0 alone.
        None if format.is_float() => 2f64.powi(1 - format.bias()),
        None => 1.0 / most,
    };
    (most.max(least), smallest)
}
