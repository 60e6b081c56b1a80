//! Code shared by the tests of operators' Verilog: uses with their arguments, and one build for many of them.

use crate::common::built;
use hdl::Flags;
use hdl::circuit::target::Clock;
use hdl::op::{Inst, Operator, hardware};
use hdl::rtl::netlist::Module;
use sim::bench::MultiBench;
use testkit::uses::describe;

/// Rows of arguments for one use, at least.
pub const ROWS: usize = 1500;

/// One use of an operator and the arguments it is tried with.
pub struct Case {
    pub op: &'static dyn Operator,
    pub inst: Inst,
    pub rows: Vec<Vec<u64>>,
}

impl Case {
    /// An argument that is known not to be negative is not, and arguments that are known to be one value are.
    pub fn known(mut self) -> Case {
        for row in &mut self.rows {
            for (k, f) in self.inst.args.iter().enumerate() {
                if self.inst.is_nonneg(k) {
                    row[k] &= f.mask() >> 1;
                }
                if self.inst.same {
                    row[k] = row[0];
                }
            }
        }
        self
    }

    /// The port values that row `k` must give: the result, and the flags that can be raised.
    fn expected(&self, k: usize) -> Vec<u64> {
        let (bits, raised) = self.op.bits(&self.inst, &self.rows[k]);
        let declared = self.op.flags(&self.inst);
        let what = || describe(self.op, &self.inst);
        assert!(declared.contains(raised), "{}: raises an undeclared flag", what());
        assert!(self.op.bounds(&self.inst).contain(self.inst.result, bits), "{}: outside of its bounds", what());
        let port = declared.iter().enumerate().map(|(k, f): (usize, Flags)| (raised.contains(f) as u64) << k).sum();
        if declared.is_empty() { vec![bits] } else { vec![bits, port] }
    }
}

/// Results and flags of every case at one clock, and the latency of those that are `timed`.
pub fn check_cases(cases: &[Case], mhz: f64, timed: impl Fn(&Case) -> bool) {
    let clock = Clock { mhz, ..Clock::default_clock() };
    let modules: Vec<Module> = cases.iter().map(|c| hardware(c.op, &c.inst, clock).module).collect();
    let declared: Vec<u32> = modules.iter().map(|m| m.latency).collect();
    let Some(mut bench) = built(MultiBench::build(modules)) else { return };
    let rows: Vec<Vec<Vec<u64>>> = cases.iter().map(|c| c.rows.clone()).collect();
    let outputs = bench.run_all(&rows);
    for (k, case) in cases.iter().enumerate() {
        for (t, got) in outputs[k].iter().enumerate() {
            let what = || format!("{}: at {mhz} MHz of {:x?}", describe(case.op, &case.inst), case.rows[t]);
            assert_eq!(*got, case.expected(t), "{}", what());
        }
        // All rows match at the declared latency; here it is also measured.
        if timed(case) {
            let latency = bench.measured_latency(k, &case.rows[case.rows.len() - 8..]);
            assert_eq!(latency, Ok(declared[k]), "{} at {mhz} MHz", describe(case.op, &case.inst));
        }
    }
}
