//! Circuits cut into pipelines.

use hdl::circuit::target::Clock;
use hdl::circuit::*;
use hdl::rtl::cat;

#[test]
fn a_long_chain_is_cut_into_stages_and_bypasses_are_delayed() {
    let mut c = Circuit::new(Clock::default_clock());
    let a = c.input("a", 32);
    let b = c.input("b", 32);
    let mut s = c.logic("s", c.x(a) + c.x(b));
    for _ in 0..3 {
        s = c.logic("s", c.x(s) + c.x(b));
    }
    c.output("q", s);
    let p = pipeline("chain", &c);
    assert!(p.latency > 1 && p.worst <= c.clock().budget());
    assert!(p.module.verilog().contains("b_s1"));
}

#[test]
fn wires_alone_take_no_cycle_and_no_clock() {
    let mut c = Circuit::new(Clock::default_clock());
    let a = c.input("a", 8);
    let q = c.logic("q", cat([c.x(a).bit(0), c.x(a).slice(7, 1)]));
    let dead = c.logic("dead", c.x(a) + c.x(a));
    c.mul("deader", dead, a, false);
    c.output("q", q);
    let p = pipeline("turn", &c);
    assert_eq!((p.latency, p.register_bits, p.multipliers), (0, 0, 0));
    assert!(!p.module.verilog().contains("clk") && !p.module.verilog().contains("dead"));
    // The signal may not take the port's name.
    assert!(p.module.verilog().contains("wire [7:0] q_2 = {a[0], a[7:1]};"), "{}", p.module.verilog());
}

#[test]
fn only_bits_that_are_read_later_are_registered() {
    let mut c = Circuit::new(Clock::default_clock());
    let a = c.input("a", 16);
    let p = c.mul("p", a, a, false);
    let s = c.logic("s", c.x(p).slice(31, 24) + c.x(a).low(8));
    c.output("q", s);
    let made = pipeline("part", &c);
    let text = made.module.verilog();
    assert_eq!((made.latency, made.register_bits), (2, 8 + 8 + 8), "{text}");
    assert!(text.contains("p[7:0]") || text.contains("p + a_s1"), "{text}");
    assert!(text.contains("unused"), "{text}");
}

#[test]
fn constants_stand_still() {
    let mut c = Circuit::new(Clock::default_clock());
    let a = c.input("a", 40);
    let k = c.logic("k", X::constant(40, 7));
    let mut s = a;
    for _ in 0..4 {
        s = c.logic("s", c.x(s) + c.x(k));
    }
    c.output("q", s);
    assert_eq!(pipeline("sevens", &c).register_bits, 40 * pipeline("sevens", &c).latency as u64);
}
