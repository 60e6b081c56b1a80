//! From names in a netlist back to PG2: which operator, value and line a cell belongs to.
//!
//! The pipeline's instances are called `u17_fmul_mr` (node 17, an `fmul`, the value `mr`) and `wait_mr_d4`, and registers
//! inside operators end in `_s2` for stage 2. Yosys keeps these names with a dot between levels.

use pg2::report::explain::Row;

/// The owner of a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// In words: ``fmul `mr` (line 9)``, ``delay of `mr` ``, `lane`, `shell, decode`.
    pub what: String,
    /// The stage of the operator, if the name tells.
    pub stage: Option<u32>,
}

/// A kernel behind a link and the operators of its pipeline.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    pub name: String,
    pub rows: Vec<Row>,
}

/// The place of a cell with that hierarchical name. Several kernels have engines called `engine_0`, `engine_1`, in this order.
pub fn place(cell: &str, kernels: &[Kernel]) -> Place {
    let parts: Vec<&str> = cell.split('.').collect();
    let engine = |part: &&str| part.strip_prefix("engine_")?.parse::<usize>().ok().filter(|k| *k < kernels.len());
    let number = parts.iter().find_map(engine);
    let rows = kernels.get(number.unwrap_or(0)).map_or(&[][..], |kernel| &kernel.rows);
    let of = number.map_or(String::new(), |k| format!(" of {}", kernels[k].name));
    // Filters have pipelines of their own, in which these numbers are of other operators.
    let inside = parts.iter().position(|part| *part == "pipeline").map_or(parts.len(), |at| at + 1);
    for (k, part) in parts.iter().enumerate().skip(inside) {
        if let Some(row) = operator(part, rows) {
            return Place { what: describe(row) + &of, stage: parts.get(k + 1).and_then(|p| stage(p)) };
        }
        if let Some(value) = part.strip_prefix("wait_") {
            let name = value.rsplit_once("_d").map_or(value, |(name, _)| name);
            return Place { what: format!("delay of `{name}`{of}"), stage: None };
        }
    }
    let within: Vec<&str> =
        parts[..parts.len() - 1].iter().copied().filter(|p| !matches!(*p, "engine" | "alone")).collect();
    let what = match within.last() {
        Some(&"pipeline") => format!("flags or wires of the pipeline{of}"),
        Some(_) => {
            let name = |part: &&str| match engine(part) {
                Some(k) => kernels[k].name.clone(),
                None => lane(part),
            };
            within.iter().map(name).collect::<Vec<_>>().join(", ")
        }
        None => "top".to_string(),
    };
    Place { what, stage: None }
}

/// ``fmul `mr` (line 9)``.
pub fn describe(row: &Row) -> String {
    let value = if row.name.is_empty() { format!("%{}", row.node) } else { row.name.clone() };
    let line = match (row.line, row.file.as_str()) {
        (0, _) => String::new(),
        (line, "") => format!(" (line {line})"),
        (line, file) => format!(" ({file} line {line})"),
    };
    format!("{} `{value}`{line}", row.operator)
}

/// The node of an instance's name.
pub(crate) fn operator<'a>(instance: &str, rows: &'a [Row]) -> Option<&'a Row> {
    let (number, rest) = instance.strip_prefix('u')?.split_once('_')?;
    let node: u32 = number.parse().ok()?;
    rows.iter().find(|r| r.node == node && rest.starts_with(r.operator))
}

fn lane(part: &str) -> String {
    match part.strip_prefix("lane_").and_then(|n| n.parse::<u32>().ok()) {
        Some(n) => format!("lane {n}"),
        None => part.to_string(),
    }
}

/// The stage in a signal's name, such as `sum_s2_TRELLIS_FF_Q_3`.
fn stage(signal: &str) -> Option<u32> {
    let of = |piece: &str| piece.strip_prefix('s').and_then(|n| n.parse().ok());
    signal.split('_').rev().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_lead_back_to_the_source() {
        let graph =
            pg2::compile("k", "int32 a ipin; int32 b jpin; int64 o fout;\nd = a - b;\no += (int64)d;").unwrap().graph;
        let clock = hdl::circuit::target::Clock::default_clock();
        let text = "int32 a ipin; int32 b jpin; int64 o fout;\nd = a - b;\no += (int64)d;";
        let built = pg2::backend::build::build(&graph, clock, text, Vec::new());
        let rows = pg2::report::explain::explain(&built, text).rows;
        let kernel = |name: &str, rows: &[Row]| Kernel { name: name.into(), rows: rows.into() };
        let alone = [kernel("k", &rows)];
        let second = [kernel("other", &[]), kernel("k", &rows)];
        let sub = rows.iter().find(|r| r.operator == "sub").expect("the kernel subtracts");
        let name = format!("engine.lane_0.pipeline.u{}_sub_d.sub_s1_TRELLIS_FF_Q_3", sub.node);
        assert_eq!(place(&name, &alone), Place { what: "sub `d` (line 2)".into(), stage: Some(1) });
        let of_second = name.replacen("engine", "gmii.engine.engine_1", 1);
        assert_eq!(place(&of_second, &second), Place { what: "sub `d` (line 2) of k".into(), stage: Some(1) });
        let of_first = name.replacen("engine", "gmii.engine.engine_0", 1);
        assert!(place(&of_first, &second).what.starts_with("gmii, other, lane 0, pipeline, u"));
        assert_eq!(
            place("gmii.engine.engine_1.shell.decode.state_TRELLIS_FF_Q_1", &second).what,
            "gmii, k, shell, decode"
        );
        for (cell, what) in [
            ("engine.lane_3.pipeline.wait_d_d4.s1_TRELLIS_FF_Q", "delay of `d`"),
            ("engine.shell.decode.state_TRELLIS_FF_Q_1", "shell, decode"),
            ("engine.lane_3.first_TRELLIS_FF_Q", "lane 3"),
            ("engine.lane_3.filter_2.test.wait_d_d4.s1_TRELLIS_FF_Q", "lane 3, filter_2, test, wait_d_d4"),
            ("engine.lane_3.pipeline.overflow_c9_TRELLIS_FF_Q", "flags or wires of the pipeline"),
            ("rst_TRELLIS_FF_Q", "top"),
        ] {
            assert_eq!(place(cell, &alone).what, what);
        }
    }
}
