//! The module bench: `add`'s Verilog against its `bits`, and what the bench itself promises.

use crate::common::built;
use hdl::Format;
use hdl::circuit::target::Clock;
use hdl::op::{Attrs, Inst, Operator, hardware};
use hdl::rtl::netlist::{Dir, Item, Module, Netlist};
use sim::SimError;
use sim::bench::{ModuleBench, MultiBench};
use testkit::Random;

fn add(format: &str) -> (&'static dyn Operator, Inst) {
    let op = hdl::op::operator("add").unwrap();
    let format: Format = format.parse().unwrap();
    (op, Inst::new(op, &[format, format], Attrs::default()).unwrap())
}

#[test]
fn adders_of_many_formats_and_clocks_agree_with_their_bits() {
    let formats = ["int8", "uint1", "int64", "fixed40.20", "int32"];
    let uses: Vec<_> = testkit::some(formats, 3).map(add).collect();
    let clocks = [150.0, 400.0].map(|mhz| Clock { mhz, ..Clock::default_clock() });
    let modules = clocks.iter().flat_map(|c| uses.iter().map(|(op, inst)| hardware(*op, inst, *c).module)).collect();
    let Some(mut bench) = built(MultiBench::build(modules)) else { return };
    let rows = |inst: &Inst| -> Vec<Vec<u64>> {
        let mask = inst.result.mask();
        let mut random = Random::new(1);
        let mut next = || random.bits() & mask;
        let corners = [0, 1, mask, mask >> 1, (mask >> 1) + 1].map(|v| v & mask);
        let crossed = corners.iter().flat_map(|a| corners.map(|b| vec![*a, b]));
        crossed.chain((0..1000).map(|_| vec![next(), next()]).collect::<Vec<_>>()).collect()
    };
    let input: Vec<_> = clocks.iter().flat_map(|_| uses.iter().map(|u| rows(&u.1))).collect();
    let output = bench.run_all(&input);
    for (k, (ins, outs)) in input.iter().zip(&output).enumerate() {
        let (op, inst) = &uses[k % uses.len()];
        let wanted: Vec<_> = ins.iter().map(|row| vec![op.bits(inst, row).0]).collect();
        assert_eq!(*outs, wanted, "{:?}", inst.args);
        let declared = hardware(*op, inst, clocks[k / uses.len()]).latency;
        assert_eq!(bench.measured_latency(k, &ins[..40]), Ok(declared));
    }
    assert_eq!(bench.run(2, &input[2]), output[2]);
}

#[test]
fn modules_without_a_clock_and_with_submodules_are_supported() {
    let mut inner = Module { name: "inverter".into(), ..Module::default() };
    let a = inner.input("a", 64);
    inner.port(Dir::Out, "q", 64);
    inner.assign("q", !a);
    let mut outer = Module { name: "two".into(), latency: 1, ..Module::default() };
    outer.port(Dir::In, "clk", 1);
    let a = outer.input("a", 64);
    outer.port(Dir::Out, "q", 64);
    outer.port(Dir::Out, "one", 1);
    let n = outer.net("n", 64);
    outer.instance("inverter", "i", [("a".to_string(), a), ("q".to_string(), n.clone())]);
    let r = outer.reg("r", n);
    outer.assign("one", r.bit(0));
    outer.assign("q", r);
    let alone = Netlist::new([inner.clone()]);
    let nested = Netlist::new([inner, outer]);
    let rows: Vec<Vec<u64>> = (0..9u64).map(|k| vec![k << 60 | k]).collect();
    let Some(mut bench) = built(ModuleBench::build(&alone)) else { return };
    assert_eq!(bench.run(&rows), rows.iter().map(|r| vec![!r[0]]).collect::<Vec<_>>());
    assert_eq!(bench.measured_latency(&rows), Ok(0));
    let Some(mut bench) = built(ModuleBench::build(&nested)) else { return };
    assert_eq!(bench.run(&rows), rows.iter().map(|r| vec![!r[0], !r[0] & 1]).collect::<Vec<_>>());
    assert_eq!(bench.measured_latency(&rows), Ok(1));
}

#[test]
fn broken_verilog_is_an_error_with_the_tools_words() {
    let mut module = Module { name: "broken".into(), ..Module::default() };
    module.port(Dir::Out, "q", 1);
    // Only the tool looks into text.
    module.items.push(Item::Text("    assign q = nowhere(;".into()));
    match MultiBench::build(vec![module]).map(|_| ()) {
        Err(SimError::ToolFailed { tool, log, tail }) => {
            assert!(tool.contains("verilator") && tail.contains("syntax error"), "{tool}: {tail}");
            assert!(std::fs::read_to_string(log).unwrap().contains("nowhere"));
        }
        other => drop(built(other)),
    }
}

#[test]
fn a_warning_of_verilator_is_an_error() {
    let mut module = Module { name: "idle".into(), ..Module::default() };
    let a = module.input("a", 2);
    module.port(Dir::Out, "q", 1);
    module.assign("q", a.bit(0));
    match MultiBench::build(vec![module]).map(|_| ()) {
        Err(SimError::ToolFailed { tail, .. }) => assert!(tail.contains("UNUSED"), "{tail}"),
        Ok(()) => panic!("bit 1 of the input is not used"),
        other => drop(built(other)),
    }
}
