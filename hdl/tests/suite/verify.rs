//! Sentences of `Netlist::verify`.

use hdl::rtl::Value;
use hdl::rtl::netlist::Dir;
use hdl::rtl::netlist::Item;
use hdl::rtl::netlist::Module;
use hdl::rtl::netlist::Netlist;
use hdl::rtl::{cat, net};

fn netlist(items: Vec<Item>) -> Netlist {
    let mut inner = Module { name: "inner".into(), ..Module::default() };
    let d = inner.input("d", 4);
    inner.port(Dir::Out, "q", 4);
    inner.assign("q", d);
    let mut m = Module { name: "m".into(), items, ..Module::default() };
    m.port(Dir::In, "clk", 1);
    m.port(Dir::In, "a", 4);
    m.port(Dir::Out, "q", 4);
    Netlist::new([inner, m])
}

fn n(name: &str) -> Value {
    net(name, 4)
}

fn a() -> Value {
    n("a")
}

fn q() -> Item {
    assign("q", a())
}

fn assign(name: &str, value: Value) -> Item {
    Item::Assign { name: name.into(), value }
}

fn wire(name: &str) -> Item {
    Item::Wire { name: name.into(), value: a() }
}

fn wires(name: &str, width: u32) -> Item {
    Item::Net { name: name.into(), width }
}

fn reg(name: &str, next: Value) -> Item {
    Item::Reg { name: name.into(), next }
}

fn hold(name: &str) -> Item {
    Item::Hold { name: name.into(), width: 4 }
}

fn load(name: &str, next: Value) -> Item {
    Item::Load { name: name.into(), next }
}

fn inside(connections: &[(&str, Value)]) -> Item {
    let connections = connections.iter().map(|(p, e)| (p.into(), e.clone())).collect();
    Item::Instance { module: "inner".into(), name: "u".into(), connections }
}

fn rom(name: &str) -> Item {
    Item::Rom { name: name.into(), width: 1, addr: a().bit(0), data: vec![0, 1] }
}

fn refused(cases: Vec<(Vec<Item>, &str)>) {
    for (items, wanted) in cases {
        assert_eq!(netlist(items.clone()).verify(), Err(format!("module m: {wanted}")), "{items:?}");
        assert!(netlist(items).verilog().is_err());
    }
}

#[test]
fn what_is_wrong_with_names_and_widths_is_told() {
    let undeclared = "b is used before it is declared, or is not declared at all";
    refused(vec![
        (vec![assign("q", a() ^ n("b"))], undeclared),
        (vec![assign("q", n("b")), wire("b")], undeclared),
        (vec![reg("r", n("b")), wire("b"), q()], undeclared),
        (vec![inside(&[("d", n("b")), ("q", n("q"))]), wire("b")], undeclared),
        (vec![assign("q", net("a", 5).low(4))], "a has 4 bits and is read as one of 5"),
        (vec![assign("q", a().low(3))], "an assignment of 3 bits drives q, which has 4"),
        (vec![wire("w"), wire("w"), assign("q", n("w"))], "w is declared twice"),
        (vec![wire("u"), inside(&[("d", a()), ("q", n("q"))])], "u is declared twice"),
        (vec![wire("wire"), q()], "`wire` is no name of a signal"),
        (vec![wire("q"), q()], "q is declared twice"),
        (vec![wire("w_rom"), rom("w"), q()], "w_rom is declared and is the memory of w"),
        (vec![rom("w"), wire("w_rom"), q()], "w_rom is declared and is the memory of w"),
        (vec![Item::Text("assign q = a ^ {4{clk}};".into()), q()], "hand-written text stands beside other items"),
        (vec![Item::Text("assign p = a;".into())], "output q is not in the hand-written text"),
    ]);
    netlist(vec![wire("w_1"), reg("r", n("r") + n("w_1")), assign("q", n("r"))]).verify().unwrap();
    let counted = vec![hold("r"), Item::Wire { name: "w".into(), value: n("r") + a() }, load("r", n("w")), q()];
    netlist(counted).verify().unwrap();
}

#[test]
fn what_is_wrong_with_drivers_is_told() {
    let to = |d: Value, to: Value| inside(&[("d", d), ("q", to)]);
    refused(vec![
        (vec![wire("w"), to(a(), n("w")), q()], "w is driven twice, once by port q of u"),
        (vec![wire("w")], "q is not driven"),
        (vec![q(), q()], "q is driven twice"),
        (vec![assign("a", n("q")), q()], "a is driven twice, once by an assignment"),
        (vec![wires("n", 4), q()], "n is not driven"),
        (vec![hold("r"), q()], "r is not driven"),
        (vec![hold("r"), load("r", a()), load("r", a()), q()], "r is driven twice"),
        (vec![wires("n", 4), load("n", a()), q()], "n is loaded and is no register that waits for it"),
        (vec![hold("r"), load("r", a().low(3)), q()], "what it takes of 3 bits drives r, which has 4"),
        (vec![inside(&[("d", a())]), q()], "port q of u is not connected"),
        (vec![inside(&[("d", a()), ("d", a()), ("q", n("q"))])], "port d of u is connected twice"),
        (vec![inside(&[("d", a()), ("q", n("q")), ("e", a())])], "inner has no port e, which u connects"),
        (vec![to(a().low(3), n("q"))], "port d of u and `a[2:0]` have 4 and 3 bits"),
        (vec![wires("n", 5), to(a(), net("n", 5)), q()], "port q of u and `n` have 4 and 5 bits"),
        (vec![to(a(), n("q") & a())], "port q of u drives `q & a`, which is no signal"),
        (vec![to(a(), n("q")), q()], "q is driven twice"),
        (vec![wires("n", 5), to(a(), net("n", 5).low(4)), q()], "bit 4 of n is not driven"),
        (vec![wires("n", 5), to(a(), net("n", 5).top(4)), q()], "bit 0 of n is not driven"),
        (vec![wires("n", 4), to(a(), cat([n("n").low(2), n("q").top(2)])), q()], "bit 2 of n is not driven"),
    ]);
    let two = net("n", 2);
    let low = |k: u32| Item::Instance {
        module: "inner".into(),
        name: format!("v{k}").into(),
        connections: vec![
            ("d".into(), a()),
            ("q".into(), cat([n("q").bits(2 * k, 2), net(["n", "o"][k as usize], 2)])),
        ],
    };
    netlist(vec![wires("n", 2), wires("o", 2), low(0), low(1)]).verify().unwrap();
    netlist(vec![wires("n", 2), to(cat([two, a().low(2)]), cat([net("n", 2), n("q").top(2)]))]).verify().unwrap_err();
}

#[test]
fn modules_of_one_name_and_unequal_contents_are_not_sound() {
    let mut all = netlist(vec![q()]);
    all.add(all.modules[0].clone());
    all.verify().unwrap();
    all.add(Module { name: "inner".into(), ..Module::default() });
    assert_eq!(all.verify(), Err("module inner is defined twice".into()));
    all.modules.pop();
    all.add(Module { name: "Inner".into(), ..Module::default() });
    assert_eq!(all.verify(), Err("modules inner and Inner differ in capitals alone".into()));
}
