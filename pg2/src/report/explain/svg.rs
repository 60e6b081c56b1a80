//! The pipeline as a figure: one row a value, time from left to right, delays as lines as thick as their bits.
//!
//! A box is an operator, as long as it takes. A line leaves where a value is ready, waits in its own row (that
//! is its delay line, and the registers it costs), and drops into the operators that read it. Values that settle
//! once, from parameters and constants alone, are left out: they cost no delay.

use super::{Row, row as row_of};
use crate::backend::build::Built;
use crate::graph::{NodeId, NodeKind};
use crate::middle::lines::Lines;
use crate::syntax::sources::Text;
use std::fmt::Write as _;

/// Widths and heights in pixels.
const CYCLE: u32 = 36;
const ROW: u32 = 30;
const LEFT: u32 = 110;
const TOP: u32 = 66;
const RIGHT: u32 = 220;

/// Draws a built kernel as SVG text; `text` is its source. Its size grows with cycles times values. Classes stand beside the colours, for
/// pages with colours of their own.
pub fn svg<'a>(built: &Built, text: impl Into<Text<'a>>) -> String {
    let lines = Lines::new(text.into());
    let (graph, s) = (&built.graph, &built.schedule);
    let drawn = |k: usize| !s.fixed[k] && !matches!(graph.nodes[k].kind, NodeKind::Const { .. });
    let mut order: Vec<usize> = (0..graph.nodes.len()).filter(|k| drawn(*k)).collect();
    order.sort_by_key(|k| (s.start[*k], *k));
    let mut row = vec![None; graph.nodes.len()];
    order.iter().enumerate().for_each(|(r, k)| row[*k] = Some(r as u32));
    let (width, height) = (LEFT + s.depth * CYCLE + RIGHT, TOP + order.len() as u32 * ROW + 20);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"DejaVu Sans, sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" class=\"ground\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"20\" class=\"ink\" font-size=\"15\" font-weight=\"bold\">{}</text>\n\
         <text x=\"12\" y=\"36\" class=\"soft\" fill=\"#57606a\">{} cycles at {} MHz on {}; {} register bits in operators, {} in delays</text>\n",
        escape(&graph.name),
        s.depth,
        built.library.clock.mhz,
        built.library.clock.target.name,
        s.operator_bits.iter().sum::<u64>(),
        s.delay_bits.iter().sum::<u64>()
    );
    grid(&mut out, s.depth, height);
    for &k in &order {
        wires(&mut out, built, &row, k);
    }
    for &k in &order {
        let at = row[k].expect("a drawn value has a row");
        value(&mut out, built, &row_of(built, &lines, k), at);
    }
    out.push_str("</svg>\n");
    out
}

fn x(cycle: u32) -> u32 {
    LEFT + cycle * CYCLE
}

/// The middle of a row.
fn y(row: u32) -> u32 {
    TOP + row * ROW + ROW / 2
}

/// How far a label's base line lies above the middle of its row, and a delay line below it: the thickest line (64 bits)
/// does not touch the letters.
const APART: u32 = 4;

/// A thin line at each cycle, and its number at every fifth.
fn grid(out: &mut String, depth: u32, height: u32) {
    for cycle in 0..=depth {
        let strong = cycle % 5 == 0;
        let shade = if strong { "#d0d7de" } else { "#eef1f4" };
        let _ = writeln!(
            out,
            "<line x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\" class=\"grid\" stroke=\"{shade}\"/>",
            x(cycle),
            TOP - 4,
            height - 10
        );
        if strong {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" class=\"soft\" fill=\"#57606a\" text-anchor=\"middle\">{cycle}</text>",
                x(cycle),
                TOP - 8
            );
        }
    }
}

/// The delay of value `k` in its row, and its lines to the operators that read it.
fn wires(out: &mut String, built: &Built, row: &[Option<u32>], k: usize) {
    let (graph, s) = (&built.graph, &built.schedule);
    let Some(own) = row[k] else { return };
    let ready = s.ready(NodeId(k as u32));
    let thickness = 0.8 + graph.nodes[k].format.width() as f64 / 12.0;
    let mut last = ready;
    for (user, node) in graph.nodes.iter().enumerate() {
        let (NodeKind::Op { args, .. }, Some(to)) = (&node.kind, row[user]) else { continue };
        if args.contains(&NodeId(k as u32)) {
            last = last.max(s.start[user]);
            let _ = writeln!(
                out,
                "<path d=\"M{0} {1} V{2}\" class=\"wire\" stroke=\"#8c959f\" stroke-width=\"1\" fill=\"none\"/>",
                x(s.start[user]),
                y(own) + APART,
                y(to)
            );
        }
    }
    if graph.outputs.iter().any(|o| o.value.0 as usize == k) {
        last = last.max(s.depth);
    }
    let bits = s.delay_bits[k];
    if bits > 0 {
        // Of a kernel that is one circuit a user may start before its last piece reads.
        last = last.max(ready + 1);
        let _ = writeln!(
            out,
            "<line x1=\"{0}\" y1=\"{2}\" x2=\"{1}\" y2=\"{2}\" class=\"held\" stroke=\"#bf6a02\" stroke-width=\"{thickness:.1}\">\
             <title>waits {3} cycles: {bits} bits</title></line>",
            x(ready),
            x(last),
            y(own) + APART,
            last - ready
        );
    }
}

/// The box of an operator, or the mark of a pin, with its name.
fn value(out: &mut String, built: &Built, row: &Row, at: u32) {
    let (graph, s, k) = (&built.graph, &built.schedule, row.node as usize);
    let node = &graph.nodes[k];
    let (left, middle) = (x(s.start[k]), y(at));
    // Values of the kernel's own file are linked with their lines.
    let line = if row.line > 0 && row.file.is_empty() { format!(" data-line=\"{}\"", row.line) } else { String::new() };
    let what = match &node.kind {
        NodeKind::Op { op, .. } => op.name(),
        _ => "",
    };
    if what.is_empty() {
        // On the height of its delay line.
        let middle = middle + APART;
        let _ = writeln!(
            out,
            "<circle{line} cx=\"{left}\" cy=\"{middle}\" r=\"4\" class=\"pin\" fill=\"#1b7f4b\"/>\
             <text{line} x=\"{}\" y=\"{}\" class=\"ink\" text-anchor=\"end\">{} <tspan class=\"soft\" fill=\"#57606a\">{}</tspan></text>",
            left - 8,
            middle + 4,
            escape(&node.name),
            node.format.width()
        );
        return;
    }
    // An operator of wires alone takes no cycle; it is drawn as a thin box.
    let wide = (s.latency[k] * CYCLE).max(6);
    let _ = writeln!(
        out,
        "<rect{line} x=\"{left}\" y=\"{}\" width=\"{wide}\" height=\"20\" rx=\"3\" class=\"operator\" fill=\"#dbe9f6\" stroke=\"#2f6f9f\">\
         <title>{}</title></rect>",
        middle - 10,
        escape(&about(row))
    );
    let name = if node.name.is_empty() { String::new() } else { format!(" {}", escape(&node.name)) };
    let output = graph.outputs.iter().find(|o| o.value.0 as usize == k);
    let to = output.map_or(String::new(), |o| format!(" → {}", escape(&graph.pins[o.pin].column(o.element))));
    let _ = writeln!(
        out,
        "<text{line} x=\"{}\" y=\"{}\" class=\"ink\"><tspan class=\"accent\" fill=\"#1d4e75\">{what}</tspan><tspan font-weight=\"bold\">{name}</tspan>\
         <tspan class=\"soft\" fill=\"#57606a\"> {}{to}</tspan></text>",
        left + wide + 4,
        middle - APART,
        node.format
    );
}

/// The words of an operator's box.
fn about(row: &Row) -> String {
    let Row { operator, name, formats, start, ready, line, operator_bits, delay_bits, multipliers, rom_bits, .. } = row;
    let mut words = format!(
        "{operator} {name}: cycles {start} to {ready}, {operator_bits} register bits and {delay_bits} of delays; {formats}"
    );
    for (count, what) in [(*multipliers as u64, "multipliers"), (*rom_bits, "bits of tables")] {
        if count > 0 {
            let _ = write!(words, ", {count} {what}");
        }
    }
    if *line > 0 {
        let _ = write!(words, "; line {line}");
    }
    words
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
