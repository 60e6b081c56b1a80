//! The Verilog of the log operators against their bits, many uses in one build.

use hdl::netlist::{Module, Netlist};
use hdl::op::{Attrs, Inst, Operator, Rounding, hardware, operator};
use hdl::target::Clock;
use hdl::{Bounds, Format};
use sim::SimError;
use sim::bench::{MultiBench, wrap};
use sim::stimuli::{Random, corners, random};

const ROWS: usize = 1500;

fn format(name: &str) -> Format {
    name.parse().expect("a format of the test")
}

/// One use of an operator and the arguments it is tried with.
struct Case {
    op: &'static dyn Operator,
    inst: Inst,
    rows: Vec<Vec<u64>>,
}

impl Case {
    /// Corners against corners and random rows, within what is known of the arguments.
    fn new(name: &str, inst: Inst, source: &mut Random) -> Case {
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
        let mut kept: Vec<Vec<u64>> = Vec::new();
        for mut row in rows {
            for k in 0..row.len() {
                if inst.is_nonneg(k) {
                    row[k] &= inst.args[k].mask() >> 1;
                }
                if inst.same {
                    row[k] = row[0];
                }
            }
            if (0..row.len()).all(|k| inst.bounds(k).contain(inst.args[k], row[k])) {
                kept.push(row);
            }
        }
        assert!(kept.len() > 20, "{name} {inst:?}");
        Case { op, inst, rows: kept }
    }

    /// The port values that row `k` must give: the result, and the flags that can be raised.
    fn expected(&self, k: usize) -> Vec<u64> {
        let (bits, raised) = self.op.bits(&self.inst, &self.rows[k]);
        let declared = self.op.flags(&self.inst);
        assert!(declared.contains(raised), "{} {:?} raises an undeclared flag", self.op.name(), self.inst);
        assert!(self.op.bounds(&self.inst).contain(self.inst.result, bits), "{} {:?}", self.op.name(), self.inst);
        let port = declared.iter().enumerate().map(|(k, f)| (raised.contains(f) as u64) << k).sum();
        if declared.is_empty() { vec![bits] } else { vec![bits, port] }
    }
}

/// Every use that is tried on these formats.
fn cases(logs: &[&str]) -> Vec<Case> {
    let mut source = Random::new(8);
    let mut list = Vec::new();
    for f in logs.iter().map(|n| format(n)) {
        let mut add = |name: &str, args: &[Format], attrs: Attrs, known: &dyn Fn(&mut Inst)| {
            let mut inst = Inst::new(operator(name).expect("registered"), args, attrs).expect("fits");
            known(&mut inst);
            list.push(Case::new(name, inst, &mut source));
        };
        let plain = Attrs::default();
        let (one, mark) = (3i128 << (f.width() - 3), 1i128 << (f.width() - 2));
        // From a little below 1 to somewhat above, without 0.
        let some = Bounds { low: one - mark / 8, high: one + mark / 16, zero: false };
        for name in ["ladd", "lsub", "lmul", "ldiv", "min", "lt"] {
            for nonneg in [0, 1, 3] {
                add(name, &[f, f], plain, &|i| i.nonneg = nonneg);
            }
            add(name, &[f, f], plain, &|i| i.bounds = vec![some, Bounds::of(f)]);
            add(name, &[f, f], plain, &|i| (i.bounds, i.nonneg) = (vec![some, some], 3));
        }
        add("lmul", &[f, f], plain, &|i| i.same = true);
        add("lmul", &[f, f], plain, &|i| (i.same, i.bounds) = (true, vec![some; 2]));
        for n in -16..=16 {
            for (d, round) in [(1, Rounding::Nearest), (2, Rounding::Nearest), (2, Rounding::Truncate)] {
                let nonneg = (n & 1) as u32;
                add("lpow", &[f], Attrs { n, d, round, ..plain }, &|i| i.nonneg = nonneg);
            }
        }
        add("lneg", &[f], plain, &|_| {});
        add("labs", &[f], plain, &|_| {});
        for n in [0, 1, -1, 3, -5, 4096, -4096] {
            add("lscale", &[f], Attrs { n, ..plain }, &|_| {});
        }
        for amount in ["int1", "uint1", "int4", "uint6", "int13", "uint64"].map(format) {
            for d in [1, -1] {
                add("lscalev", &[f, amount], Attrs { d, ..plain }, &|_| {});
            }
        }
        for to in ["log5.1", "log9.4", "log14.6", "log17.8", "log20.10"].map(format) {
            for round in [Rounding::Nearest, Rounding::Truncate] {
                add("lcast", &[f], Attrs { to: Some(to), round, ..plain }, &|_| {});
            }
        }
        for g in ["float5.2", "float7.3", "float12.3", "float15.6", "float19.10"].map(format) {
            if g.mant() <= f.log_frac() + 2 {
                add("fromlog", &[f], Attrs { to: Some(g), ..plain }, &|_| {});
                add("tolog", &[g], Attrs { to: Some(f), ..plain }, &|i| i.nonneg = g.mant() & 1);
            }
        }
    }
    list
}

/// The simulation, or `None` (said on stderr) where Verilator is not installed and not required.
fn built(result: Result<MultiBench, SimError>) -> Option<MultiBench> {
    match result {
        Err(SimError::ToolMissing { tool, .. }) if std::env::var_os("REQUIRE_TOOLS").is_none_or(|v| v != "1") => {
            eprintln!("skipped: {tool} not found");
            None
        }
        other => Some(other.unwrap()),
    }
}

/// Every case of a group of formats at one clock: results, flags, and the latency that is declared.
fn check(logs: &[&str], mhz: f64) {
    let clock = Clock { mhz, ..Clock::default_clock() };
    let cases = cases(logs);
    let modules: Vec<Module> = cases.iter().map(|c| hardware(c.op, &c.inst, clock).module).collect();
    let Some(mut bench) = built(MultiBench::build(modules)) else { return };
    let rows: Vec<Vec<Vec<u64>>> = cases.iter().map(|c| c.rows.clone()).collect();
    for ((case, outputs), rows) in cases.iter().zip(bench.run_all(&rows)).zip(&rows) {
        for (t, got) in outputs.iter().enumerate() {
            let what = || format!("{} {:?} at {mhz} MHz of {:x?}", case.op.name(), case.inst, rows[t]);
            assert_eq!(*got, case.expected(t), "{}", what());
        }
    }
}

#[test]
fn all_operators_agree_with_their_bits_at_150_mhz() {
    check(&["log5.1", "log8.3", "log17.8"], 150.0);
}

#[test]
fn some_operators_agree_with_their_bits_at_300_mhz() {
    check(&["log9.4"], 300.0);
}

#[test]
fn the_verilog_is_clean() {
    let netlists: Vec<Netlist> = cases(&["log5.1", "log17.8"])
        .iter()
        .map(|c| hardware(c.op, &c.inst, Clock::default_clock()).module)
        .map(|m| Netlist { top: m.name.clone(), modules: vec![m] })
        .collect();
    let all = wrap(&netlists).expect("ports of at most 64 bits");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("operators.v");
    std::fs::write(&file, all.verilog()).expect("the text is written");
    // Many modules stand in one file here.
    let options = ["--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module", &all.top];
    match std::process::Command::new("verilator").args(options).arg(&file).output() {
        Ok(out) => assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr)),
        Err(_) if std::env::var_os("REQUIRE_TOOLS").is_none_or(|v| v != "1") => {
            eprintln!("skipped: verilator not found");
        }
        Err(e) => panic!("verilator: {e}"),
    }
}
