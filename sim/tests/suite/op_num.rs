//! The int, fixed and logic operators: their Verilog and their C against their `bits`, and their latency as declared.

use crate::common::built;
use hdl::Rounding;
use hdl::circuit::target::Clock;
use hdl::op::{Attrs, Inst, Operator, hardware, module_name, operator};
use hdl::{Flags, Format};
use sim::bench::MultiBench;
use std::process::Command;
use testkit::Random;

type Use = (&'static dyn Operator, Inst);

/// The operators of this file, whose uses are chosen by hand; `op_made_up` has those of every operator.
const NAMES: [&str; 27] = [
    "add", "sub", "mul", "xmul", "div", "rem", "xdiv", "neg", "abs", "and", "or", "xor", "not", "shl", "shr", "shlv",
    "shrv", "lt", "le", "eq", "ne", "nz", "isz", "mux", "min", "max", "icast",
];

const FORMATS: [&str; 24] = [
    "int1",
    "uint1",
    "int2",
    "uint3",
    "int5",
    "uint13",
    "int32",
    "int64",
    "uint64",
    "fixed1.0",
    "fixed1.1",
    "ufixed1.0",
    "ufixed1.1",
    "fixed2.1",
    "fixed5.5",
    "ufixed4.4",
    "fixed7.3",
    "ufixed17.9",
    "fixed32.31",
    "fixed64.64",
    "ufixed64.33",
    "fixed64.0",
    "float18.9",
    "float4.1",
];

/// Where casts meet: every width relation, point relation and signedness.
const CAST_FORMATS: [&str; 22] = [
    "int1",
    "uint1",
    "int2",
    "uint3",
    "int8",
    "uint33",
    "int64",
    "uint64",
    "fixed1.0",
    "fixed1.1",
    "ufixed1.1",
    "fixed4.4",
    "ufixed3.1",
    "fixed8.4",
    "fixed9.2",
    "ufixed12.12",
    "fixed32.31",
    "fixed40.8",
    "fixed64.64",
    "ufixed64.64",
    "fixed64.1",
    "ufixed64.32",
];

fn format(name: &str) -> Format {
    name.parse().unwrap()
}

/// Whether a use divides numbers of more than 32 bits: such modules are by far the largest, and take Verilator seconds each.
fn is_wide_divider((op, inst): &Use) -> bool {
    matches!(op.name(), "div" | "rem" | "xdiv") && inst.args[0].width() > 32
}

/// All uses of an operator on a format that make sense: argument lists, shift amounts, known signs.
fn uses_on(name: &str, f: Format) -> Vec<Use> {
    let op = operator(name).unwrap();
    let width = f.width() as i32;
    let amounts = match name {
        "shl" | "shr" => vec![0, 1, width / 2, width - 1],
        _ => vec![0],
    };
    let mut lists = vec![vec![f], vec![f, f], vec![format("uint1"), f, f]];
    if name == "shlv" || name == "shrv" {
        lists = ["uint1", "int1", "uint3", "int4", "int8", "uint64"].map(|n| vec![f, format(n)]).into();
    }
    // One wide divider of each kind is enough.
    let divides = matches!(name, "div" | "rem" | "xdiv");
    if divides
        && f.width() > 32
        && !matches!((name, f.to_string().as_str()), ("div", "int64") | ("xdiv", "ufixed64.33"))
    {
        return Vec::new();
    }
    let mut uses: Vec<Use> = Vec::new();
    for args in &lists {
        for &n in &amounts {
            let Ok(inst) = Inst::new(op, args, Attrs { n, ..Attrs::default() }) else { continue };
            if uses.iter().any(|u| u.1 == inst) {
                continue;
            }
            if f.is_signed() && f.width() <= 18 && matches!(name, "abs" | "div" | "rem" | "xdiv" | "lt" | "max") {
                uses.push((op, Inst { nonneg: 3, ..inst.clone() }));
            }
            uses.push((op, inst));
        }
    }
    uses
}

fn all_uses() -> Vec<Use> {
    let uses = NAMES.iter().flat_map(|n| FORMATS.iter().flat_map(|f| uses_on(n, format(f))));
    both_roundings(uses.filter(|u| u.0.name() != "icast").collect())
}

fn casts() -> Vec<Use> {
    let mut uses = Vec::new();
    for from in CAST_FORMATS.map(format) {
        for to in CAST_FORMATS.map(format) {
            let op = operator(if from.is_int() && to.is_int() { "icast" } else { "xcast" }).unwrap();
            let inst = Inst::new(op, &[from], Attrs { to: Some(to), ..Attrs::default() }).unwrap();
            if from.is_signed() && from.width() > 1 && to.width() % 2 == 0 {
                uses.push((op, Inst { nonneg: 1, ..inst.clone() }));
            }
            uses.push((op, inst));
        }
    }
    both_roundings(uses)
}

/// Every use, and those of operators that round once more, toward zero.
fn both_roundings(mut uses: Vec<Use>) -> Vec<Use> {
    let cut = |u: &Use| (u.0, Inst { attrs: Attrs { round: Rounding::Truncate, ..u.1.attrs.clone() }, ..u.1.clone() });
    let more: Vec<Use> = uses.iter().filter(|u| u.0.rounds()).map(cut).collect();
    uses.extend(more);
    uses
}

/// Valid patterns of a format: its ends, what lies around zero, one and the middle, and random ones of all lengths.
fn patterns(f: Format, nonneg: bool, count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut next = || random.bits() >> random.below(64);
    let one = 1u64 << f.frac().unwrap_or(0).min(63);
    let corners =
        [0, 1, !0, f.max_bits(), f.min_bits(), one, one >> 1, one.wrapping_neg(), (one >> 1) + 1, f.min_bits() | 1];
    let all = corners.into_iter().chain((0..count).map(|k| if k % 2 == 0 { next() } else { !next() }));
    let valid = all.map(|b| b & f.mask()).map(|b| match hdl::number::exact::check_raw(f, b) {
        Ok(b) => b,
        Err(_) => b ^ 1 << f.mant(),
    });
    valid
        .filter(|b| !nonneg || f.is_float() && b >> (f.width() - 1) == 0 || !f.is_float() && f.to_int(*b) >= 0)
        .collect()
}

/// Corners against corners, then random rows.
fn rows(inst: &Inst, count: usize) -> Vec<Vec<u64>> {
    let lists: Vec<Vec<u64>> =
        (0..inst.args.len()).map(|k| patterns(inst.args[k], inst.is_nonneg(k), count, 77 + 1000 * k as u64)).collect();
    let of = |pick: &dyn Fn(usize) -> usize| -> Vec<u64> {
        lists.iter().enumerate().map(|(k, l)| l[pick(k) % l.len()]).collect()
    };
    let corners = if inst.args.len() == 1 { 10 } else { 100 };
    let crossed = (0..corners).map(|n| of(&|k| [n % 10, n / 10, n / 3][if inst.args.len() == 3 { 2 - k } else { k }]));
    crossed.chain((0..count).map(|n| of(&|_| 10 + n))).collect()
}

/// The expected outputs of the module: the result, and a bit for each flag that can be raised.
fn expected(op: &dyn Operator, inst: &Inst, row: &[u64]) -> Vec<u64> {
    let (bits, raised) = op.bits(inst, row);
    let can = op.flags(inst);
    let flags = can.iter().enumerate().map(|(k, f)| (raised.contains(f) as u64) << k).sum();
    if can == Flags::NONE { vec![bits] } else { vec![bits, flags] }
}

/// Simulates all uses at once and compares every row.
fn check(uses: &[Use], clock: Clock, count: usize) {
    let modules = uses.iter().map(|(op, inst)| hardware(*op, inst, clock).module).collect();
    let Some(mut bench) = built(MultiBench::build(modules)) else { return };
    let input: Vec<_> = uses.iter().map(|u| rows(&u.1, count)).collect();
    let output = bench.run_all(&input);
    for (((op, inst), ins), outs) in uses.iter().zip(&input).zip(&output) {
        for (row, got) in ins.iter().zip(outs) {
            assert_eq!(*got, expected(*op, inst, row), "{} of {row:x?}", module_name(*op, inst));
        }
    }
}

#[test]
fn operators_agree_with_their_bits() {
    let uses: Vec<Use> = all_uses().into_iter().filter(|u| !is_wide_divider(u)).collect();
    assert!(uses.len() > 400, "{}", uses.len());
    check(&uses, Clock::default_clock(), 150);
}

#[test]
#[ignore = "a proof in depth"]
fn wide_dividers_agree_with_their_bits() {
    let uses: Vec<Use> = all_uses().into_iter().filter(is_wide_divider).collect();
    assert!(uses.len() > 2, "{}", uses.len());
    check(&uses, Clock::default_clock(), 1000);
}

#[test]
fn casts_agree_with_their_bits() {
    // Every second use: each format from and to about half of the others.
    check(&casts().into_iter().step_by(2).collect::<Vec<_>>(), Clock::default_clock(), 300);
}

#[test]
#[ignore = "a proof in depth"]
fn all_casts_agree_with_their_bits() {
    check(&casts(), Clock::default_clock(), 1000);
}

#[test]
#[ignore = "a proof in depth"]
fn the_clock_changes_latencies_and_no_bits() {
    let names = ["int9", "fixed12.7", "ufixed17.9", "float18.9"];
    let uses: Vec<Use> = NAMES.iter().flat_map(|n| names.iter().flat_map(|f| uses_on(n, format(f)))).collect();
    let casts: Vec<Use> = casts().into_iter().step_by(13).collect();
    for mhz in [40.0, 450.0] {
        check(&[&uses[..], &casts[..]].concat(), Clock { mhz, ..Clock::default_clock() }, 100);
    }
}

#[test]
fn latencies_are_as_declared() {
    let mut uses: Vec<Use> = Vec::new();
    for name in NAMES {
        let first = ["int13", "fixed20.7", "float18.9"].iter().flat_map(|f| uses_on(name, format(f))).next_back();
        uses.extend(first);
    }
    uses.extend(casts().into_iter().filter(|u| u.1.args[0] == format("fixed40.8") && u.1.nonneg == 0));
    for mhz in [100.0, 300.0] {
        let clock = Clock { mhz, ..Clock::default_clock() };
        let made: Vec<_> = uses.iter().map(|(op, inst)| hardware(*op, inst, clock)).collect();
        let modules = made.iter().map(|m| m.module.clone()).collect();
        let Some(mut bench) = built(MultiBench::build(modules)) else { return };
        for (k, (op, inst)) in uses.iter().enumerate() {
            let rows = rows(inst, 20);
            let changes = rows.windows(2).any(|w| expected(*op, inst, &w[0]) != expected(*op, inst, &w[1]));
            let measured = bench.measured_latency(k, &rows);
            match changes {
                true => assert_eq!(measured, Ok(made[k].latency), "{}", module_name(*op, inst)),
                false => assert!(measured.is_err()),
            }
        }
    }
}

/// C text with a function for each use, over patterns extended to 64 bits as `c_expr` says.
fn c_text(uses: &[Use]) -> String {
    let c_type = |f: Format| if f.is_signed() { "int64_t" } else { "uint64_t" };
    let mut text = String::from("#include <stdint.h>\n");
    for (k, (op, inst)) in uses.iter().enumerate() {
        let names = &["a", "b", "c"][..inst.args.len()];
        text += &format!("uint64_t f{k}(const uint64_t *x) {{\n");
        for (n, (name, f)) in names.iter().zip(&inst.args).enumerate() {
            text += &format!("    {0} {name} = ({0})x[{n}];\n", c_type(*f));
        }
        text += &format!("    {} q = {};\n    return (uint64_t)q;\n}}\n", c_type(inst.result), op.c_expr(inst, names));
    }
    text
}

#[test]
fn the_c_of_ints_and_fixeds_agrees_with_the_bits() {
    let uses: Vec<Use> = [all_uses(), casts()].concat();
    let uses: Vec<Use> =
        uses.into_iter().filter(|u| u.1.nonneg == 0 && !u.1.args.iter().any(|f| f.is_float())).collect();
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("ops.c"), folder.path().join("ops.so"));
    std::fs::write(&source, c_text(&uses)).unwrap();
    let mut clang = Command::new("clang");
    clang.args(["-O0", "-w", "-fsanitize=undefined", "-fsanitize-trap=undefined", "-fno-sanitize=shift-base"]);
    let Some((good, text)) = testkit::run(clang.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source)) else {
        return;
    };
    assert!(good, "{text}");
    let extended = |f: Format, bits: u64| f.to_int(bits) as u64;
    // SAFETY: the library was made above, and its functions have this type and read the arguments they have.
    unsafe {
        let library = libloading::Library::new(&library).unwrap();
        for (k, (op, inst)) in uses.iter().enumerate() {
            let f: libloading::Symbol<unsafe extern "C" fn(*const u64) -> u64> = library.get(format!("f{k}")).unwrap();
            for row in rows(inst, 200) {
                let args: Vec<u64> = row.iter().zip(&inst.args).map(|(b, f)| extended(*f, *b)).collect();
                let want = extended(inst.result, op.bits(inst, &row).0);
                assert_eq!(
                    f(args.as_ptr()),
                    want,
                    "{} of {row:x?}: {}",
                    module_name(*op, inst),
                    op.c_expr(inst, &["a", "b", "c"][..row.len()])
                );
            }
        }
    }
}
