//! Netlists as Verilog.

use hdl::rtl::netlist::*;

fn netlist(items: Vec<Item>) -> Netlist {
    let mut m = Module { name: "m".into(), items, ..Module::default() };
    m.port(Dir::In, "clk", 1);
    m.port(Dir::In, "a", 4);
    m.port(Dir::Out, "q", 4);
    Netlist::new([m])
}

#[test]
fn comments_stay_comments() {
    let assign = Item::Assign { name: "q".into(), value: hdl::rtl::net("a", 4) };
    let text = netlist(vec![Item::Comment("one\n`include é \\".into()), assign]).verilog().unwrap();
    assert!(text.contains("    // one?`include ?\n"), "{text}");
}
