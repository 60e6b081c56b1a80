//! `run --profile`: the range and the bits that each value of a kernel takes.

use pg2::graph::Graph;
use pipelines::job::Table;
use sim::reference::profile::{Used, profile};
use std::fmt::Write as _;

/// Pairs that are looked at: some seconds.
const MOST: usize = 1_000_000;

/// The table of a kernel's values over all targets and sources.
pub fn table(graph: &Graph, targets: &Table, sources: &Table, params: &[u64]) -> String {
    let records = |table: &'_ Table| -> Vec<Vec<u64>> { (0..table.len()).map(|k| table.record(k).to_vec()).collect() };
    let (targets, sources) = (records(targets), records(sources));
    let [i, j] = [&targets, &sources].map(|records| records.iter().map(Vec::as_slice).collect::<Vec<&[u64]>>());
    let (used, count) = profile(graph, &i, &j, params, MOST);
    let mut rows = vec![["value", "format", "from", "to", "least", "high bits", "low bits"].map(String::from)];
    rows.extend(used.iter().map(|u| row(graph, u)));
    let mut out = format!("values over {count} of {} pairs\n", i.len() * j.len());
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

fn row(graph: &Graph, u: &Used) -> [String; 7] {
    let node = graph.node(u.node);
    let format = node.format;
    let output = graph.outputs.iter().find(|o| o.value == u.node);
    let name = match output {
        Some(o) if node.name.is_empty() => graph.pins[o.pin].column(o.element),
        _ => node.name.clone(),
    };
    let number = |x: f64| if x.is_finite() { format!("{x:.4e}") } else { "-".into() };
    // Of floats the bits of the exponent and of the fraction, of ints and fixeds those before and behind the point.
    let low = match format.frac() {
        Some(frac) => frac.saturating_sub(u.lowest.min(frac)),
        None => u.significant.saturating_sub(1),
    };
    let low = if format.is_log() { "-".into() } else { low.to_string() };
    [name, format.to_string(), number(u.low), number(u.high), number(u.least), u.high_bits(format).to_string(), low]
}
