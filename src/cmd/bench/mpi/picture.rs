//! The picture of `bench mpi`: seconds by ranks, with as many particles on each rank and with as many in all.

use super::{Row, Table};
use crate::cmd::explore::picture::{Log, escaped};
use std::fmt::Write;

const PANEL: (f64, f64) = (330.0, 280.0);
const LEFT: f64 = 80.0;
const TOP: f64 = 70.0;
const GAP: f64 = 90.0;

/// What is drawn of a row, and its colour.
type Column = (&'static str, &'static str, fn(&Row) -> f64);

const COLUMNS: [Column; 4] = [
    ("total", "#222", |r| r.total),
    ("stages of the FMM", "#2f6f9f", |r| r.stages),
    ("data structures", "#a0522d", |r| r.data),
    ("exchange", "#4d8f3a", |r| r.exchange),
];

pub fn svg(rows: &[Row], ranks_by: &str) -> String {
    let panels =
        [(Table::Weak, "uniform"), (Table::Weak, "sphere"), (Table::Strong, "uniform"), (Table::Strong, "sphere")];
    let (width, height) = (LEFT + 2.0 * (PANEL.0 + GAP) + 120.0, TOP + 2.0 * (PANEL.1 + GAP));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">An FMM on ranks: seconds of the slowest rank</text>\n\
         <text x=\"{LEFT}\" y=\"42\">{}</text>\n",
        escaped(ranks_by)
    );
    for (k, (table, distribution)) in panels.into_iter().enumerate() {
        let of: Vec<&Row> = rows.iter().filter(|r| r.table == table && r.run.distribution == distribution).collect();
        let corner = (LEFT + (k % 2) as f64 * (PANEL.0 + GAP), TOP + (k / 2) as f64 * (PANEL.1 + GAP));
        panel(&mut out, corner, &of);
    }
    let right = LEFT + 2.0 * PANEL.0 + GAP + 14.0;
    let names = COLUMNS.iter().map(|c| (c.0, c.1)).chain([("perfect scaling", "#999")]);
    for (k, (name, colour)) in names.enumerate() {
        let at = TOP + 20.0 + 20.0 * k as f64;
        let _ = writeln!(out, "<text x=\"{right}\" y=\"{at}\" fill=\"{colour}\">{name}</text>");
    }
    out + "</svg>\n"
}

fn panel(out: &mut String, (left, top): (f64, f64), rows: &[&Row]) {
    let Some(first) = rows.first() else { return };
    let (right, bottom) = (left + PANEL.0, top + PANEL.1);
    let ideal = |r: &Row| match r.table {
        Table::Weak => first.total,
        _ => first.total * first.run.ranks as f64 / r.run.ranks as f64,
    };
    let seconds = || rows.iter().flat_map(|r| COLUMNS.iter().map(|c| c.2(r))).filter(|s| *s > 0.0);
    let x = Log::around(rows.iter().map(|r| r.run.ranks as f64), left, right);
    let y = Log::around(seconds().chain(rows.iter().map(|r| ideal(r))), bottom, top);
    let what = if first.table == Table::Weak { "particles a rank" } else { "particles" };
    let (distribution, n) = (first.run.distribution, first.run.n);
    let _ = writeln!(out, "<text x=\"{left}\" y=\"{}\">{distribution}, {n} {what}</text>", top - 8.0);
    let (width, height) = PANEL;
    let frame = format!("width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#999\"");
    let _ = writeln!(out, "<rect x=\"{left}\" y=\"{top}\" {frame}/>");
    for row in rows {
        let (at, ranks) = (x.at(row.run.ranks as f64), row.run.ranks);
        let _ = writeln!(out, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{ranks}</text>", bottom + 18.0);
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">ranks</text>",
        (left + right) / 2.0,
        bottom + 36.0
    );
    for tick in y.ticks() {
        let at = y.at(tick);
        let _ = writeln!(out, "<line x1=\"{left}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#eee\"/>");
        let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick:.0e}</text>", left - 8.0, at + 4.0);
    }
    let mut line = |colour: &str, dashes: &str, of: &dyn Fn(&Row) -> f64| {
        let points = rows.iter().filter(|r| of(r) > 0.0);
        let points: Vec<String> =
            points.map(|r| format!("{:.1},{:.1}", x.at(r.run.ranks as f64), y.at(of(r)))).collect();
        let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}");
        let _ = writeln!(out, "<polyline points=\"{}\" {style}/>", points.join(" "));
    };
    line("#999", " stroke-dasharray=\"5 4\"", &ideal);
    COLUMNS.iter().for_each(|(_, colour, of)| line(colour, "", of));
}
