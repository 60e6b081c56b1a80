//! VHDL: expressions by GHDL against their values bit by bit, names, and what is refused.

use super::rtl::{LEAVES, random, value};
use hdl::rtl::delay::{self, Read};
use hdl::rtl::netlist::{Dir, Item, Module, Netlist};
use hdl::rtl::*;
use std::process::Command;
use testkit::Random;
use testkit::place::Place;

/// Names of the leaves: words of VHDL, and such as it takes only between backslashes.
const NAMES: [&str; 6] = ["entity", "a__b", "copies", "_c", "d_", "Plain"];

/// Bits, the lowest first, as a constant.
fn bits(bits: &[bool]) -> String {
    let digits: String = bits.iter().rev().map(|b| if *b { '1' } else { '0' }).collect();
    if bits.len() == 1 { format!("'{digits}'") } else { format!("\"{digits}\"") }
}

/// The whole text of a design.
fn text(netlist: &Netlist) -> String {
    netlist.vhdl().expect("it is sound").into_iter().map(|unit| unit.1).collect()
}

/// Simulates a design with a testbench `bench`, which prints PASS; nothing is checked where there is no GHDL.
fn simulate(design: &str, bench: &str) {
    let place = Place::of("ghdl");
    place.write("all.vhd", format!("{design}\n{bench}"));
    let steps = [
        &["-a", "--std=08", "all.vhd"][..],
        &["-e", "--std=08", "bench"],
        &["-r", "--std=08", "bench", "--ieee-asserts=disable"],
    ];
    for step in steps {
        let Some((good, said)) = testkit::run(Command::new("ghdl").args(step).current_dir(place.path("."))) else {
            return;
        };
        assert!(good && (step[0] == "-r" || said.trim().is_empty()), "{said}");
        assert!(step[0] != "-r" || said.contains("PASS"), "{said}");
    }
}

#[test]
fn expressions_have_their_values_in_ghdl() {
    const ROWS: usize = 3;
    let mut r = Random::new(44);
    let widths = [1, 1, 2, 5, 8, 9, 31, 64, 65, 100, 130];
    let expressions: Vec<Expr<u32>> = (0..160).map(|k| random(&mut r, widths[k % widths.len()], 3)).collect();
    let rows: Vec<Vec<Vec<bool>>> =
        (0..ROWS).map(|_| LEAVES.iter().map(|w| (0..*w).map(|_| r.bits() & 1 == 1).collect()).collect()).collect();
    let mut m = Module { name: "downto".into(), ..Module::default() };
    NAMES.iter().zip(LEAVES).for_each(|(name, width)| drop(m.port(Dir::In, *name, width)));
    for (k, e) in expressions.iter().enumerate() {
        m.port(Dir::Out, format!("o{k}"), e.width());
        let of = &mut |leaf: &u32, high: u32, low: u32| {
            net(NAMES[*leaf as usize], LEAVES[*leaf as usize]).bits(low, high - low + 1)
        };
        let named = e.map(of);
        // Half of them through a wire, whose type is another one.
        let driven = if k % 2 == 0 { named } else { m.wire(format!("w{k}"), named) };
        m.assign(format!("o{k}"), driven);
    }
    let mut bench = "library ieee;\nuse ieee.std_logic_1164.all;\nuse std.textio.all;\nentity bench is\nend entity;\n\
                     architecture a of bench is\n"
        .to_string();
    let kind = |width: u32| match width {
        1 => "std_logic".to_string(),
        _ => format!("std_logic_vector({} downto 0)", width - 1),
    };
    LEAVES.iter().enumerate().for_each(|(k, w)| bench += &format!(" signal i{k} : {};\n", kind(*w)));
    expressions.iter().enumerate().for_each(|(k, e)| bench += &format!(" signal o{k} : {};\n", kind(e.width())));
    let inputs = NAMES.iter().enumerate().map(|(k, name)| format!("{} => i{k}", names::vhdl(name)));
    let ports: Vec<String> = inputs.chain((0..expressions.len()).map(|k| format!("o{k} => o{k}"))).collect();
    bench += &format!(
        "begin\n dut : entity work.\\downto\\ port map ({});\n process\n  variable said : line;\n  variable wrong : integer := 0;\n begin\n",
        ports.join(", ")
    );
    for row in &rows {
        row.iter().enumerate().for_each(|(k, leaf)| bench += &format!("  i{k} <= {};\n", bits(leaf)));
        bench += "  wait for 1 ns;\n";
        for (k, e) in expressions.iter().enumerate() {
            let wanted = bits(&value(e, row));
            bench += &format!("  if o{k} /= {wanted} then wrong := wrong + 1; report \"o{k}\"; end if;\n");
        }
    }
    bench += "  if wrong = 0 then write(said, string'(\"PASS\")); writeline(output, said); end if;\n  wait;\n \
              end process;\nend architecture;\n";
    simulate(&text(&Netlist::new([m])), &bench);
}

#[test]
fn text_has_the_types_that_it_needs() {
    let [a, b] = ["a", "b"].map(|n| net(n, 4));
    let [s, t] = ["s", "t"].map(|n| net(n, 1));
    let cases = [
        ((&a & &b) | &a, "(a and b) or a"),
        (&a + &b - &a, "a + b - a"),
        (&a - (&b - &a), "a - (b - a)"),
        (cat([s.clone(), a.low(3)]), "s & a(2 downto 0)"),
        (
            cat([s.clone(), t.clone(), s.clone(), t.clone()]).is(&a).repeat(4),
            "copies(logic(unsigned'(s & t & s & t) = a), 4)",
        ),
        (a.signed_lt(&Value::constant(4, -3)).repeat(4), "copies(logic(signed(a) < signed'(\"1101\")), 4)"),
        (s.lt(&t).repeat(4), "copies(not s and t, 4)"),
        (s.mux(&a, &b) + &b, "choose(s, a, b) + b"),
        (a.low(2).product(&b.low(2), true), "unsigned(signed(a(1 downto 0)) * signed(b(1 downto 0)))"),
        (s.mux(&a, &t.mux(&b, &Value::zeros(4))), "a when s = '1' else b when t = '1' else \"0000\""),
        (a.is(&b).mux(&a, &b), "a when a = b else b"),
    ];
    for (e, wanted) in cases {
        let mut m = Module { name: "m".into(), ..Module::default() };
        let ports = [("a", 4), ("b", 4), ("s", 1), ("t", 1)];
        ports.iter().for_each(|(name, width)| drop(m.port(Dir::In, *name, *width)));
        m.port(Dir::Out, "q", 4);
        m.assign("q", e);
        // Ports of a top are std_logic_vector, those inside are not.
        let mut top = Module { name: "top".into(), ports: m.ports.clone(), ..Module::default() };
        let connections: Vec<(Name, Value)> = m.ports.iter().map(|p| (p.name.clone(), net(&p.name, p.width))).collect();
        top.instance("m", "inner", connections);
        let text = text(&Netlist::new([m, top]));
        let line = text.lines().find_map(|line| line.trim().strip_prefix("q <= "));
        assert_eq!(line.expect("it is assigned"), format!("{wanted};"));
    }
}

/// A counter, a delay line through memory, a table and a register with a clock enable.
fn clocked(read: Read) -> Netlist {
    let mut m = Module { name: "top".into(), ..Module::default() };
    m.port(Dir::In, "clk", 1);
    let d = m.input("d", 6);
    m.port(Dir::Out, "q", 6);
    let late = m.net("late", 6);
    let line = delay::module(6, 5, read);
    let connections =
        [("clk", net("clk", 1)), ("d", &d ^ Value::constant(6, 21)), ("q", cat([late.top(2), late.low(4)]))];
    m.instance(&line.name, "line", connections);
    let data = (0..64).map(|k| k ^ 9).collect();
    m.items.push(Item::Rom { name: "word".into(), width: 6, addr: late, data });
    m.assign("q", net("word", 6));
    Netlist::new([line, m])
}

#[test]
fn memories_and_enables_are_simulated_as_they_are_meant() {
    for read in [Read::Registered, Read::Direct] {
        let netlist = clocked(read).enabled().expect("no part of it is text");
        netlist.verify().expect("it is sound");
        // The word of 6 clocks ago, of those in which it ran.
        let bench = "library ieee;\nuse ieee.std_logic_1164.all;\nuse ieee.numeric_std.all;\nuse std.textio.all;\n\
            entity bench is\nend entity;\narchitecture a of bench is\n signal clk, enable : std_logic := '0';\n\
            signal d, q : std_logic_vector(5 downto 0);\nbegin\n dut : entity work.top port map (clk, enable, d, q);\n process\n\
            variable ran, wrong : integer := 0;\n variable said : line;\n begin\n for k in 0 to 200 loop\n\
            enable <= '0' when k mod 3 = 1 or k mod 7 = 2 else '1';\n\
            d <= std_logic_vector(to_unsigned((ran * 5) mod 64, 6)) when not (k mod 3 = 1 or k mod 7 = 2) else \"XXXXXX\";\n\
            wait for 1 ns;\n clk <= '1';\n wait for 1 ns;\n clk <= '0';\n if enable = '1' then\n ran := ran + 1;\n end if;\n\
            if ran > 6 and q /= (std_logic_vector(to_unsigned(((ran - 6) * 5) mod 64, 6)) xor \"010101\" xor \"001001\") then\n\
            wrong := wrong + 1;\n end if;\n end loop;\n\
            if wrong = 0 then write(said, string'(\"PASS\")); writeline(output, said); end if;\n wait;\n end process;\n\
            end architecture;\n";
        simulate(&text(&netlist), bench);
    }
}

#[test]
fn what_is_text_has_no_vhdl_and_no_enable() {
    let mut m = Module { name: "m".into(), ..Module::default() };
    m.port(Dir::In, "clk", 1);
    m.port(Dir::Out, "q", 1);
    m.items.push(Item::Text("assign q = clk;".into()));
    let netlist = Netlist::new([m]);
    assert_eq!(netlist.vhdl().unwrap_err(), "m is text, which there is in Verilog alone");
    assert_eq!(netlist.enabled().unwrap_err(), "m is text, which no clock enable goes into");
}
