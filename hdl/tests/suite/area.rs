//! Tables and flip-flops that circuits take.

use hdl::circuit::Circuit;
use hdl::circuit::area::*;
use hdl::circuit::target::Clock;

#[test]
fn an_adder_takes_a_table_a_bit_and_what_nothing_reads_none() {
    let mut c = Circuit::new(Clock::default_clock());
    let (a, b) = (c.input("a", 16), c.input("b", 16));
    let sum = c.logic("sum", c.x(a) + c.x(b));
    c.logic("dead", c.x(a) - c.x(b));
    c.output("q", sum);
    assert_eq!(c.tables(), 16);
}

#[test]
fn a_choice_of_more_signals_takes_more_tables() {
    assert_eq!([1, 2, 3, 4, 6, 8].map(|ways| choice_tables(ways, 4)), [0, 1, 3, 3, 4, 5]);
    assert_eq!([2, 3, 6, 9].map(|ways| choice_tables(ways, 6)), [1, 1, 3, 4]);
}
