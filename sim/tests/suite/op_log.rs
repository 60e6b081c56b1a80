//! The Verilog of the log operators against their bits, many uses in one build.

use crate::op_common::{Case, ROWS, check_cases};
use hdl::Rounding;
use hdl::op::{Attrs, Inst, operator};
use hdl::{Bounds, Format};
use sim::stimuli::{Random, corners, random};

/// The fraction bits from which on sums need tables of thousands of entries, which take Verilator long.
const LONG: u32 = 8;

fn format(name: &str) -> Format {
    name.parse().expect("a format of the test")
}

/// Corners against corners and random rows, within what is known of the arguments.
fn case(name: &str, inst: Inst, source: &mut Random) -> Case {
    let op = operator(name).expect("registered");
    let mut rows: Vec<Vec<u64>> = vec![Vec::new()];
    for f in &inst.args {
        rows = rows.iter().flat_map(|r| corners(*f).into_iter().map(|v| [r.clone(), vec![v]].concat())).collect();
    }
    let mut row: Vec<u64> = inst.args.iter().map(|_| 0).collect();
    for _ in 0..ROWS {
        let near = row[0];
        for (x, f) in row.iter_mut().zip(&inst.args) {
            *x = random(*f, if f.width() == inst.args[0].width() { near } else { *x }, source);
        }
        rows.push(row.clone());
    }
    let mut case = Case { op, inst, rows }.known();
    let inst = &case.inst;
    case.rows.retain(|row| (0..row.len()).all(|k| inst.bounds(k).contain(inst.args[k], row[k])));
    assert!(case.rows.len() > 20, "{name} {:?}", case.inst);
    case
}

/// Every use that is tried on these formats.
fn cases(logs: &[&str]) -> Vec<Case> {
    let mut source = Random::new(8);
    let mut list = Vec::new();
    for f in logs.iter().map(|n| format(n)) {
        let mut add = |name: &str, args: &[Format], attrs: &Attrs, known: &dyn Fn(&mut Inst)| {
            let mut inst = Inst::new(operator(name).expect("registered"), args, attrs.clone()).expect("fits");
            known(&mut inst);
            list.push(case(name, inst, &mut source));
        };
        let plain = Attrs::default();
        let (one, mark) = (3i128 << (f.width() - 3), 1i128 << (f.width() - 2));
        // From a little below 1 to somewhat above, without 0.
        let some = Bounds { low: one - mark / 8, high: one + mark / 16, zero: false };
        let cut = Attrs { round: Rounding::Truncate, ..plain.clone() };
        let names = ["ladd", "lsub", "lmul", "ldiv", "min", "lt"].map(|name| (name, plain.clone()));
        for (name, attrs) in names.into_iter().chain([("ladd", cut.clone()), ("lsub", cut)]) {
            if f.log_frac() >= LONG && ["ladd", "lsub"].contains(&name) {
                // The tables are nearly the whole module, and nearly the same whatever is known of the arguments.
                match attrs.round {
                    Rounding::Nearest => add(name, &[f, f], &attrs, &|_| {}),
                    _ => add(name, &[f, f], &attrs, &|i| (i.bounds, i.nonneg) = (vec![some, some], 3)),
                }
                continue;
            }
            for nonneg in [0, 1, 3] {
                add(name, &[f, f], &attrs, &|i| i.nonneg = nonneg);
            }
            add(name, &[f, f], &attrs, &|i| i.bounds = vec![some, Bounds::of(f)]);
            add(name, &[f, f], &attrs, &|i| (i.bounds, i.nonneg) = (vec![some, some], 3));
        }
        add("lmul", &[f, f], &plain, &|i| i.same = true);
        add("lmul", &[f, f], &plain, &|i| (i.same, i.bounds) = (true, vec![some; 2]));
        for n in -16..=16 {
            for (d, round) in [(1, Rounding::Nearest), (2, Rounding::Nearest), (2, Rounding::Truncate)] {
                let nonneg = (n & 1) as u32;
                add("lpow", &[f], &Attrs { n, d, round, ..plain.clone() }, &|i| i.nonneg = nonneg);
            }
        }
        add("lneg", &[f], &plain, &|_| {});
        add("labs", &[f], &plain, &|_| {});
        for n in [0, 1, -1, 3, -5, 4096, -4096] {
            add("lscale", &[f], &Attrs { n, ..plain.clone() }, &|_| {});
        }
        for amount in ["int1", "uint1", "int4", "uint6", "int13", "uint64"].map(format) {
            for d in [1, -1] {
                add("lscalev", &[f, amount], &Attrs { d, ..plain.clone() }, &|_| {});
            }
        }
        for to in ["log5.1", "log9.4", "log14.6", "log17.8", "log20.10"].map(format) {
            for round in [Rounding::Nearest, Rounding::Truncate] {
                add("lcast", &[f], &Attrs { to: Some(to), round, ..plain.clone() }, &|_| {});
            }
        }
        for g in ["float5.2", "float7.3", "float12.3", "float15.6", "float19.10"].map(format) {
            if g.mant() <= f.log_frac() + 2 {
                for round in [Rounding::Nearest, Rounding::Truncate] {
                    add("fromlog", &[f], &Attrs { to: Some(g), round, ..plain.clone() }, &|_| {});
                    add("tolog", &[g], &Attrs { to: Some(f), round, ..plain.clone() }, &|i| i.nonneg = g.mant() & 1);
                }
            }
        }
    }
    list
}

/// Every case of a group of formats at one clock: results and flags, and the latency that sums declare.
fn check(logs: &[&str], mhz: f64) {
    check_cases(&cases(logs), mhz, |case| case.op.name() == "ladd" && case.inst.bounds.is_empty());
}

#[test]
#[ignore = "a proof in depth"]
fn all_operators_agree_with_their_bits_at_150_mhz() {
    check(&["log5.1", "log8.3", "log17.8"], 150.0);
}

#[test]
fn some_operators_agree_with_their_bits_at_300_mhz() {
    check(&["log9.4"], 300.0);
}
