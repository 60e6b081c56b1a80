//! The simulated Verilog of every operator against its bits, on uses that `testkit` makes up by asking the operator what it takes:
//! an operator that is new is tested here from the first day.

use crate::op_common::{Case, check_cases};
use hdl::circuit::target::Clock;
use hdl::op::{Inst, OPERATORS, Operator, hardware};
use testkit::Random;
use testkit::uses::{rows, uses};

/// Uses of one operator, about, in a usual run and in a proof in depth; and rows of each.
const USES: usize = 1;
const MANY_USES: usize = 12;
const ROWS: usize = 400;

/// The characters of Verilog that take long to compile, such as a divider of 64 bits or a table of thousands of entries: the
/// evaluated circuit is tested in `hdl`.
const LARGE: usize = 40_000;

fn cases(op: &'static dyn Operator, number: usize) -> Vec<Case> {
    let clock = Clock::default_clock();
    let all = uses(op);
    // Making the Verilog of all uses to see its size would take as long as simulating some.
    let step = (all.len() / (8 * number)).max(1);
    let mut all: Vec<Inst> = all.into_iter().step_by(step).collect();
    // Where all are large, the first ones serve.
    let size = |inst: &Inst| hardware(op, inst, clock).module.verilog().len();
    let small: Vec<_> = all.iter().filter(|inst| size(inst) <= LARGE).cloned().collect();
    if small.is_empty() {
        all.truncate(2);
    } else {
        all = small;
    }
    let step = (all.len() / number).max(1);
    let chosen = all.into_iter().step_by(step).take(number + 1).enumerate();
    chosen.map(|(k, inst)| Case { op, rows: thinned(rows(&inst, ROWS, &mut Random::new(k as u64))), inst }).collect()
}

/// At most about that many rows; short arguments have all rows that there are.
fn thinned(rows: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
    let step = rows.len().div_ceil(2 * ROWS).max(1);
    rows.into_iter().step_by(step).collect()
}

#[test]
fn the_verilog_of_every_operator_agrees_with_its_bits() {
    agrees(USES);
}

#[test]
#[ignore = "a proof in depth"]
fn the_verilog_of_every_operator_agrees_with_its_bits_on_many_uses() {
    agrees(MANY_USES);
}

fn agrees(number: usize) {
    let cases: Vec<Case> = OPERATORS.iter().flat_map(|op| cases(*op, number)).collect();
    check_cases(&cases, Clock::default_clock().mhz, |_| false);
}
