//! The C expression of every operator, compiled and run, against its bits: exactly for ints and fixeds, for floats and logs
//! within what C's types allow.

use super::near::{agrees, combined, is_exact};
use super::shown_findings;
use hdl::Format;
use hdl::op::{Inst, OPERATORS, Operator};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::Random;
use testkit::uses::{describe, plain_uses, rows, shown};

/// Uses of one operator, and rows of each.
const USES: usize = 30;
const ROWS: usize = 120;

/// One use, its rows, and the arguments that C gets: of a row with logs, whose values C does not hold exactly, some.
struct Case {
    op: &'static dyn Operator,
    inst: Inst,
    rows: Vec<Vec<u64>>,
    inputs: Vec<Vec<Vec<u64>>>,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The C type that holds a format.
fn c_type(f: Format) -> &'static str {
    let small = if f.is_log() { f.width() - 2 - f.log_frac() <= 7 } else { f.mant() <= 23 && f.exp() <= 8 };
    match (f.is_integral(), f.is_signed(), small) {
        (true, true, _) => "int64_t",
        (true, false, _) => "uint64_t",
        (false, _, true) => "float",
        (false, _, false) => "double",
    }
}

/// The relative distance of two neighbours of that type.
fn place(f: Format) -> f64 {
    if c_type(f) == "float" { f32::EPSILON as f64 } else { f64::EPSILON }
}

/// The words that a pattern can be in C: ints extended, numbers as bits of a double.
fn words(f: Format, bits: u64) -> Vec<u64> {
    let x = f.to_f64(bits);
    match f {
        _ if f.is_integral() => vec![f.to_int(bits) as u64],
        Format::Log { .. } if x != 0.0 => [1.0 - place(f), 1.0, 1.0 + place(f)].map(|by| (x * by).to_bits()).into(),
        _ => vec![x.to_bits()],
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for op in OPERATORS.iter() {
        let uses = plain_uses(*op);
        let step = uses.len().div_ceil(if testkit::in_depth() { USES } else { USES / 5 }).max(1);
        for inst in uses.into_iter().step_by(step) {
            let all = rows(&inst, ROWS, &mut Random::new(5));
            let rows: Vec<Vec<u64>> = all.iter().step_by(all.len().div_ceil(2 * ROWS).max(1)).cloned().collect();
            let inputs = rows.iter().map(|row| combined(&inst.args, row, words)).collect();
            cases.push(Case { op: *op, inst, rows, inputs });
        }
    }
    cases
}

/// A function for each use, and a main that reads (use, number of rows, rows) until the end.
fn text(cases: &[Case]) -> String {
    let mut text = String::from(
        "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n\
         /* What CUDA has beside C's library. */\n\
         static double rsqrt(double x) { return 1 / sqrt(x); }\nstatic float rsqrtf(float x) { return 1 / sqrtf(x); }\n\
         static int __popcll(uint64_t x) { int n = 0; for (; x; x &= x - 1) n++; return n; }\n\
         static int __clzll(uint64_t x) { int n = 64; for (; x; x >>= 1) n--; return n; }\n\
         static long long __double_as_longlong(double d) { long long x; memcpy(&x, &d, 8); return x; }\n\
         static double __longlong_as_double(long long x) { double d; memcpy(&d, &x, 8); return d; }\n\
         static double number(uint64_t x) { double d; memcpy(&d, &x, 8); return d; }\n\
         static uint64_t word(double d) { uint64_t x; memcpy(&x, &d, 8); return x; }\n",
    );
    for (k, case) in cases.iter().enumerate() {
        let (inst, n) = (&case.inst, case.inst.args.len());
        text += &format!("static uint64_t f{k}(const uint64_t *x) {{\n");
        for (at, (name, f)) in NAMES.iter().zip(&inst.args).enumerate() {
            let from = if f.is_integral() { format!("x[{at}]") } else { format!("number(x[{at}])") };
            text += &format!("    {0} {name} = ({0}){from};\n", c_type(*f));
        }
        text += &format!("    {} q = {};\n", c_type(inst.result), case.op.c_expr(inst, &NAMES[..n]));
        text += if inst.result.is_integral() { "    return (uint64_t)q;\n}\n" } else { "    return word(q);\n}\n" };
    }
    let list = |item: &dyn Fn(usize) -> String| (0..cases.len()).map(item).collect::<Vec<_>>().join(", ");
    text += &format!("static uint64_t (*const all[])(const uint64_t *) = {{{}}};\n", list(&|k| format!("f{k}")));
    text += &format!("static const int arity[] = {{{}}};\n", list(&|k| cases[k].inst.args.len().to_string()));
    text + "int main(void) {\n    uint64_t head[2], x[4];\n    while (fread(head, 8, 2, stdin) == 2) {\n        \
            for (uint64_t n = 0; n < head[1]; n++) {\n            \
            if (fread(x, 8, arity[head[0]], stdin) != (size_t)arity[head[0]]) return 1;\n            \
            uint64_t q = all[head[0]](x);\n            fwrite(&q, 8, 1, stdout);\n        }\n        fflush(stdout);\n    }\n    return 0;\n}\n"
}

/// Compiles with whichever compiler there is; `None` where there is none and none is required.
pub(super) fn compiled(folder: &Path, source: &Path, compilers: &[&str]) -> Option<PathBuf> {
    let program = folder.join("operators");
    for compiler in compilers {
        let mut c = Command::new(compiler);
        c.args([
            "-O0",
            "-w",
            "-ffp-contract=off",
            "-fsanitize=undefined,float-cast-overflow",
            "-fno-sanitize=shift-base",
        ]);
        c.args(["-fsanitize-trap=undefined,float-cast-overflow", "-o"]).arg(&program).arg(source).arg("-lm");
        match c.output() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => panic!("{compiler}: {e}"),
            Ok(o) => {
                let text = String::from_utf8_lossy(&o.stderr).chars().take(3000).collect::<String>();
                assert!(o.status.success(), "{compiler} refuses {}:\n{text}", source.display());
                return Some(program);
            }
        }
    }
    assert!(std::env::var_os("REQUIRE_TOOLS").is_none_or(|v| v != "1"), "no C compiler found");
    eprintln!("skipped: {} not found", compilers.join(", "));
    None
}

/// The program's input: for each use its number, how many rows there are, and the rows.
fn input(cases: &[Case]) -> Vec<u64> {
    let mut input = Vec::new();
    for (k, case) in cases.iter().enumerate() {
        let n: usize = case.inputs.iter().map(Vec::len).sum();
        input.extend([k as u64, n as u64].into_iter().chain(case.inputs.iter().flatten().flatten().copied()));
    }
    input
}

/// The words that a program writes of the words that it reads, as far as it comes.
pub(super) fn run(program: &Path, folder: &Path, input: &[u64]) -> Vec<u64> {
    let input: Vec<u8> = input.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let path = folder.join("input");
    std::fs::File::create(&path).and_then(|mut f| f.write_all(&input)).expect("the input is written");
    let stdin = Stdio::from(std::fs::File::open(&path).expect("the input is there"));
    let output = Command::new(program).stdin(stdin).output().expect("the program runs");
    output.stdout.chunks_exact(8).map(|c| u64::from_ne_bytes(c.try_into().expect("eight bytes"))).collect()
}

/// The error in the results of one row, if any.
fn wrong(case: &Case, row: &[u64], results: &[u64]) -> Option<String> {
    let (op, inst) = (case.op, &case.inst);
    let (bits, _) = op.bits(inst, row);
    let f = inst.result;
    let exact = is_exact(op, inst);
    let shown_result = |q: u64| if f.is_integral() { format!("{q:#x}") } else { format!("{:e}", f64::from_bits(q)) };
    let good = if exact {
        results[0] == f.to_int(bits) as u64
    } else {
        let value = |q: &u64| match f.is_integral() {
            true if f.is_signed() => *q as i64 as f64 * 2f64.powi(-(f.frac().unwrap_or(0) as i32)),
            true => *q as f64 * 2f64.powi(-(f.frac().unwrap_or(0) as i32)),
            false => f64::from_bits(*q),
        };
        let low = results.iter().map(value).fold(f64::INFINITY, f64::min);
        let high = results.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
        // Functions of the C library are off by a place or two, and so are sums of several terms.
        let off = if f.is_integral() { 0.0 } else { 4.0 * place(f) };
        let nan = results.iter().any(|q| value(q).is_nan());
        let spread = |x: f64| if x.is_finite() { x.abs() * off } else { 0.0 };
        !nan && agrees(op, inst, bits, low - spread(low), high + spread(high))
    };
    let message = || {
        let of = shown(&inst.args, row);
        let (got, want) = (shown_result(results[results.len() / 2]), shown(&[f], &[bits]));
        let text = op.c_expr(inst, &NAMES[..row.len()]);
        format!("{}: `c_expr` of {of} gives {got}, not {want}: {text}", describe(op, inst))
    };
    (!good).then(message)
}

#[test]
fn the_c_of_every_operator_agrees_with_its_bits() {
    let cases = cases();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_text");
    std::fs::create_dir_all(&folder).expect("a folder in the target folder");
    let source = folder.join("operators.c");
    std::fs::write(&source, text(&cases)).expect("the text is written");
    let Some(program) = compiled(&folder, &source, &["clang", "gcc", "cc"]) else { return };
    let results = run(&program, &folder, &input(&cases));
    let mut found = Vec::new();
    let mut at = 0;
    for case in &cases {
        let mut of_use = None;
        for (row, inputs) in case.rows.iter().zip(&case.inputs) {
            let Some(results) = results.get(at..at + inputs.len()) else {
                let text = case.op.c_expr(&case.inst, &NAMES[..row.len()]);
                panic!("{}: `c_expr` is not defined for one of its rows: {text}", describe(case.op, &case.inst));
            };
            of_use = of_use.or_else(|| wrong(case, row, results));
            at += inputs.len();
        }
        found.extend(of_use.map(|text| (case.op.name(), text)));
    }
    let mut lines = Vec::new();
    for op in OPERATORS.iter() {
        lines.extend(shown_findings(*op, found.iter().filter(|f| f.0 == op.name()).map(|f| f.1.clone()).collect()));
    }
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
