//! The exact C of every operator, compiled and run, against its bits and flags.

use super::c_text::{compiled, run};
use super::shown_findings;
use hdl::op::ctext::{self, CText, CType, CVar, HEAD, PRELUDE};
use hdl::op::{Inst, OPERATORS, Operator};
use hdl::{Flags, Format};
use std::path::Path;
use testkit::Random;
use testkit::uses::{describe, rows, shown, uses, uses_on};

/// Uses of one operator, and rows of each.
const USES: usize = 30;
const ROWS: usize = 150;

/// Longer formats, on which functions by tables are tried too.
const LONG: &str = "float28.24 fixed24.22";

/// One use, its rows, and its statements.
struct Case {
    op: &'static dyn Operator,
    inst: Inst,
    rows: Vec<Vec<u64>>,
    body: String,
}

fn cases(c: &mut CText) -> Vec<Case> {
    let uses_each: usize = std::env::var("C_BITS_USES")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(if testkit::in_depth() { USES } else { USES / 5 });
    let mut cases = Vec::new();
    for op in OPERATORS.iter() {
        let (mut uses, mut random) = (uses(*op), Random::new(4));
        // Those that stand side by side are alike: any may go.
        while uses.len() > uses_each {
            uses.swap_remove(random.below(uses.len() as u64) as usize);
        }
        uses.extend(uses_on(*op, LONG));
        for inst in uses {
            let all = rows(&inst, ROWS, &mut Random::new(9));
            let mut rows: Vec<Vec<u64>> = all.iter().step_by(all.len().div_ceil(2 * ROWS).max(1)).cloned().collect();
            rows.extend(alike(&inst, &mut random));
            let body = body(c, *op, &inst);
            cases.push(Case { op: *op, inst, rows, body });
        }
    }
    cases
}

/// Rows of floats of about one size and random fractions, where every bit of a result counts; none where more is known of the
/// arguments than their formats.
fn alike(inst: &Inst, random: &mut Random) -> Vec<Vec<u64>> {
    let plain = inst.nonneg == 0 && inst.bounds.is_empty() && !inst.same && inst.args.iter().all(|f| f.is_float());
    let mut one = |f: &Format| {
        let (m, reach) = (f.mant(), (1u64 << f.exp()) - 2);
        let field = (f.bias() as u64 + random.below(2 * m as u64 + 4)).saturating_sub(m as u64 + 2).clamp(1, reach);
        random.below(2) << (f.width() - 1) | field << m | random.bits() & ((1 << m) - 1)
    };
    (0..if plain { ROWS } else { 0 }).map(|_| inst.args.iter().map(&mut one).collect()).collect()
}

/// The body of a function of patterns `x` that sets `*flags` and returns the result's pattern.
fn body(c: &mut CText, op: &dyn Operator, inst: &Inst) -> String {
    let args: Vec<CVar> = inst.args.iter().enumerate().map(|(k, f)| c.set(CType::of(*f), format!("x[{k}]"))).collect();
    let (value, raised) = ctext::of_use(op, inst, c, &args);
    let mut lines = std::mem::take(&mut c.lines);
    lines.extend(raised.iter().map(|(f, when)| format!("*flags |= ({when}) ? {}u : 0u;", f.0)));
    lines.push(format!("return {value};"));
    lines.join("\n    ")
}

/// A function for each use, and a main that reads (use, number of rows, rows) until the end.
fn text(c: &CText, cases: &[Case]) -> String {
    let mut text = format!("{HEAD}{PRELUDE}#include <cstdio>\n");
    c.tables.iter().for_each(|t| text += &t.definition());
    for (k, case) in cases.iter().enumerate() {
        text += &format!("static uint64_t f{k}(const uint64_t *x, uint64_t *flags) {{\n    {}\n}}\n", case.body);
    }
    let list = |item: &dyn Fn(usize) -> String| (0..cases.len()).map(item).collect::<Vec<_>>().join(", ");
    let all = list(&|k| format!("f{k}"));
    text += &format!("static uint64_t (*const all[])(const uint64_t *, uint64_t *) = {{{all}}};\n");
    text += &format!("static const size_t arity[] = {{{}}};\n", list(&|k| cases[k].inst.args.len().to_string()));
    text + "int main(void) {\n    uint64_t head[2], x[4], out[2];\n    while (fread(head, 8, 2, stdin) == 2) {\n        \
            for (uint64_t n = 0; n < head[1]; n++) {\n            \
            if (fread(x, 8, arity[head[0]], stdin) != arity[head[0]]) return 1;\n            \
            out[1] = 0;\n            out[0] = all[head[0]](x, &out[1]);\n            \
            fwrite(out, 8, 2, stdout);\n        }\n        fflush(stdout);\n    }\n    return 0;\n}\n"
}

/// The first error of a use.
fn wrong(case: &Case, results: &[[u64; 2]]) -> Option<String> {
    for (row, [got, raised]) in case.rows.iter().zip(results) {
        let (bits, flags) = case.op.bits(&case.inst, row);
        if (*got, *raised) != (bits, flags.0 as u64) {
            let (of, want) = (shown(&case.inst.args, row), shown(&[case.inst.result], &[bits]));
            let raised = Flags(*raised as u8);
            let text = &case.body;
            let use_ = describe(case.op, &case.inst);
            return Some(format!(
                "{use_}: `c_bits` of {of} gives {got:#x} {raised:?}, not {want} {flags:?}:\n    {text}"
            ));
        }
    }
    None
}

#[test]
fn the_exact_c_of_every_operator_gives_its_bits_and_flags() {
    let mut c = CText::default();
    let cases = cases(&mut c);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_bits");
    std::fs::create_dir_all(&folder).expect("a folder in the target folder");
    let source = folder.join("operators.cpp");
    std::fs::write(&source, text(&c, &cases)).expect("the text is written");
    let Some(program) = compiled(&folder, &source, &["clang++", "g++", "c++"]) else { return };
    let mut input = Vec::new();
    for (k, case) in cases.iter().enumerate() {
        input.extend([k as u64, case.rows.len() as u64]);
        input.extend(case.rows.iter().flatten());
    }
    let results = run(&program, &folder, &input);
    let results: Vec<[u64; 2]> = results.chunks_exact(2).map(|r| [r[0], r[1]]).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    for case in &cases {
        let use_ = describe(case.op, &case.inst);
        let results = results.get(at..at + case.rows.len());
        let results =
            results.unwrap_or_else(|| panic!("{use_}: `c_bits` is not defined for a row:\n    {}", case.body));
        found.extend(wrong(case, results).map(|text| (case.op.name(), text)));
        at += case.rows.len();
    }
    let mut lines = Vec::new();
    for op in OPERATORS.iter() {
        lines.extend(shown_findings(*op, found.iter().filter(|f| f.0 == op.name()).map(|f| f.1.clone()).collect()));
    }
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
