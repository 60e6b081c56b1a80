//! The numbers behind the figures, as CSV.

use super::draw::compared;
use super::measured::{Measured, Row, Side, What, rounded};
use super::paper;
use gpu::cuda::plane::STAGES;
use std::fmt::Write;

/// A number, or nothing.
fn cell(x: Option<f64>) -> String {
    x.filter(|x| x.is_finite()).map_or(String::new(), |x| format!("{:?}", rounded(x)))
}

/// The device and its threads, as a record begins. Names of processors may have commas.
fn device(side: &Side) -> String {
    let threads = side.threads.map_or(String::new(), |t| t.to_string());
    format!("\"{}\",{threads}", side.device.replace('"', "'"))
}

/// Runs of some kinds on all sides, and how many times as quick they are as the same run on the first of the sides that
/// are compared.
pub fn runs(sides: &[Side], whats: &[What]) -> String {
    let stages = STAGES.map(str::to_lowercase);
    let ratios = stages.each_ref().map(|s| format!("{s}_speedup"));
    let mut out = format!(
        "device,threads,what,distribution,sigma,n,order,leaf,levels,seconds,least,greatest,copies,largest_relative_error,pairs,m2l_shifts,\
         {},speedup,{}\n",
        stages.join(","),
        ratios.join(",")
    );
    let base = compared(sides).map(|both| both[0]);
    for side in sides {
        for row in whats.iter().flat_map(|what| side.of(*what)) {
            let slow = base.filter(|base| !std::ptr::eq(*base, side));
            // Direct sums have no boxes.
            let slow = slow.and_then(|base| base.rows.iter().find(|b| b.case == row.case));
            let case = &row.case;
            let what = format!("{:?}", case.what).to_lowercase();
            let _ = write!(
                out,
                "{},{what},{},{},{},{},{},{}",
                device(side),
                case.spread.name(),
                cell(case.spread.sigma()),
                case.n,
                case.order,
                case.leaf,
                row.levels
            );
            let ends = [row.time(), row.seconds[0], row.seconds[row.seconds.len() - 1], row.copies, row.error];
            ends.iter().for_each(|x| out += &format!(",{}", cell(Some(*x))));
            let _ = write!(out, ",{},{}", row.pairs, row.m2l);
            row.stages.iter().for_each(|s| out += &format!(",{}", cell(Some(*s))));
            let ratio = |of: &dyn Fn(&Row) -> f64| cell(slow.map(|slow| of(slow) / of(row)));
            let _ = write!(out, ",{}", ratio(&Row::total));
            (0..STAGES.len()).for_each(|k| out += &format!(",{}", ratio(&|r| r.stages[k])));
            out.push('\n');
        }
    }
    out
}

/// A line of each side.
pub fn curves(sides: &[Side], columns: &str, of: fn(&Side) -> Vec<(f64, f64)>) -> String {
    let mut out = format!("device,threads,{columns}\n");
    for side in sides {
        for (x, y) in of(side) {
            let _ = writeln!(out, "{},{x},{}", device(side), cell(Some(y)));
        }
    }
    out
}

/// Fig. 10.
pub fn relative(sides: &[Side], of: fn(&Side, &Row) -> Option<f64>) -> String {
    let mut out = String::from("device,threads,distribution,sigma,n,seconds,relative_time,pairs\n");
    for side in sides {
        for row in side.of(What::Sigma) {
            let spread = row.case.spread;
            let (time, ratio) = (cell(Some(row.time())), cell(of(side, row)));
            let (sigma, n, pairs) = (cell(spread.sigma()), row.case.n, row.pairs);
            let _ = writeln!(out, "{},{},{sigma},{n},{time},{ratio},{pairs}", device(side), spread.name());
        }
    }
    out
}

/// Table 1: a column for the paper and one or two for each side.
pub fn shares(sides: &[Side]) -> String {
    let mut columns =
        vec![("paper".to_string(), paper::SHARES.map(|s| s.1.map_or("<1".into(), |x| x.to_string())).to_vec())];
    for side in sides {
        let Some(row) = side.of(What::Shares).next() else { continue };
        let of = |with_copies| paper::shares(row, with_copies).into_iter().map(|s| format!("{s:.2}")).collect();
        let name = side.name().replace(", ", " ");
        columns.push((name.clone(), of(true)));
        if side.is_gpu() {
            columns.push((format!("{name} without copies"), of(false)));
        }
    }
    let mut out = format!("part,{}\n", columns.iter().map(|c| &c.0[..]).collect::<Vec<_>>().join(","));
    for (k, (part, _)) in paper::SHARES.iter().enumerate() {
        let cells: Vec<&str> = columns.iter().map(|c| &c.1[k][..]).collect();
        let _ = writeln!(out, "{part},{}", cells.join(","));
    }
    out
}

/// The paper's values and ours.
pub fn values(measured: &Measured) -> String {
    let names: Vec<String> = measured.sides.iter().map(|s| s.name().replace(", ", " ")).collect();
    let mut out = format!("what,section,paper,{}\n", names.join(","));
    for value in paper::values(measured) {
        let ours: Vec<String> = value.ours.iter().map(|x| cell(*x)).collect();
        let _ = writeln!(out, "\"{}\",\"{}\",{},{}", value.what, value.place, value.paper, ours.join(","));
    }
    out
}
