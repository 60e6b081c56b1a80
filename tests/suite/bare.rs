//! `build --bare`: pipelines without an engine, in Verilog and VHDL, simulated by others against the emulator's bits, with gaps between
//! the pairs, where they have a clock enable with clocks in which they stand still, and where they have `ready` with pauses at both ends.

mod bench;

use crate::common::board::engine;
use crate::common::command::has;
use crate::common::{Place, shipped};
use bench::{Bench, Waits};
use hdl::engine::link::Link;
use hdl::engine::protocol::{Reply, RunHeader, Segment, Stream};
use hdl::engine::{Config, Layout};
use hdl::{Flags, Format};
use pg2::graph::Graph;
use std::process::Command;
use testkit::Random;

/// Values of several formats, sums and extremes, a parameter; and several outputs of one pair.
const OWN: &str = "fixed24.12 x[2] ipin; fixed24.12 y[2] jpin; float20.12 w jpin; float20.12 k param;
float20.12 far fout; int48 near fout; fixed40.20 s fout;
d = (float20.12)(y - x); r = d * d;
far max= w * pg_sqrt(r);
near += (int48)(k / (r + 1.5)) << 3;
s += (fixed40.20)(w * d[0]);
";
/// Names that VHDL reserves, refuses or has from its packages, and widths of one bit.
const WORDS: &str = "int8 process[2] ipin; int1 a__b ipin; uint1 downto jpin; int12 signal_ jpin; uint4 unsigned_ jpin;
int32 std_logic fout; int24 entity fout; int4 rtl fout;
choose = (int24)process * (int24)signal_;
copies = (a__b == 0) ? choose[0] : choose[1];
std_logic += (int32)copies * (int32)unsigned_;
entity min= choose[0] ^ choose[1];
rtl += (int4)a__b + (int4)downto;
";
/// Logarithms, and powers by tables.
const LOGS: &str = "log17.8 x ipin; log17.8 y jpin; float16.8 z jpin; fixed32.16 s fout; float16.8 t fout;
p = x * pg_pow(y, -3, 2);
s += (fixed32.16)(p + y);
t max= (float16.8)pg_exp2((fixed24.12)z) - z;
";
/// A pipeline without a register of its own.
const SUM: &str = "int24 x ipin; int24 y jpin; int32 s fout; int24 t fout;
s += (int32)x;
t max= y;
";
/// Pairs of a test.
const PAIRS: usize = 200;

/// A random pattern of a format that no input rejects.
fn pattern(dice: &mut Random, format: Format) -> u64 {
    let bits = dice.bits() & format.mask();
    match format {
        Format::Float { width, .. } => bits & !(1 << (width - 2)),
        _ => bits,
    }
}

/// The values of pairs as the emulator has them: each is a run of a target over one source.
fn emulated(graph: &Graph, layout: &Layout, pairs: &[[Vec<u64>; 2]], params: &[u64]) -> Vec<(Vec<u64>, Flags)> {
    let config = Config { pipelines: 1, groups: 1, jmem_records: PAIRS as u32, ..Config::usual(layout.clone(), 1) };
    let mut stream = Stream::default();
    let words = |packing: hdl::engine::protocol::Packing, record: &[u64]| packing.pack_all(1, record);
    stream.param(&words(layout.param_packing(), params));
    for (k, [i, j]) in (0..).zip(pairs) {
        stream.load_j(k, 1, &words(layout.j_packing(), j));
        stream.run(RunHeader { tag: k, n_i: 1, ..RunHeader::default() }, &[Segment { first: k, count: 1 }]);
        stream.i(1, &words(layout.i_packing(), i));
    }
    stream.end();
    let mut values = Vec::new();
    let mut take = |packet: &[u32]| {
        if let Ok(Reply::Result { flags, records, .. }) = Reply::parse(packet, &config) {
            values.push((records, flags[0]));
        }
    };
    engine(graph, &config).exchange(&stream, &mut take).expect("an emulated engine does not fail");
    values
}

/// Patterns side by side, the first one highest, in hexadecimal.
fn joined(values: &[(u64, u32)]) -> String {
    let bits: String =
        values.iter().map(|(value, width)| format!("{value:064b}")[64 - *width as usize..].to_string()).collect();
    let filled = "0".repeat((4 - bits.len() % 4) % 4) + &bits;
    let digit = |k: usize| u8::from_str_radix(&filled[k..k + 4], 2).expect("bits");
    (0..filled.len()).step_by(4).map(|k| format!("{:x}", digit(k))).collect()
}

/// A pipeline alone under test.
struct Case<'a> {
    name: &'a str,
    text: &'a str,
    /// More arguments of `build`.
    options: &'a str,
    tools: &'a [&'a str],
}

/// The commands that make a simulation of `bench` and run it.
fn simulator(tool: &str, top: &str) -> [String; 2] {
    match tool {
        "iverilog" => [format!("iverilog -g2005 -o bench {top}.v bench.v"), "vvp bench".into()],
        "verilator" => [
            format!("verilator --binary -Wno-lint -Wno-fatal --top-module bench {top}.v bench.v"),
            "obj_dir/Vbench".into(),
        ],
        // Pins are unknown on purpose, of which numeric_std would tell in each clock.
        "ghdl" => [
            format!("ghdl -a --std=08 {top}.vhd bench.vhd && ghdl -e --std=08 bench"),
            "ghdl -r --std=08 bench --ieee-asserts=disable".into(),
        ],
        other => panic!("no simulator {other}"),
    }
}

fn pairs_have_the_bits_of_the_emulator(case: &Case) {
    let (name, place) = (case.name, Place::new());
    place.write(&format!("{name}.pg2"), case.text);
    let graph = pg2::compile(name, case.text).unwrap_or_else(|_| panic!("{name} compiles")).graph;
    let layout = graph.layout();
    let mut dice = Random::new(18);
    let mut record =
        |formats: &mut dyn Iterator<Item = Format>| formats.map(|f| pattern(&mut dice, f)).collect::<Vec<_>>();
    let params = record(&mut layout.params.iter().map(|p| p.1));
    let pairs: Vec<[Vec<u64>; 2]> = (0..PAIRS)
        .map(|_| [record(&mut layout.i.iter().map(|p| p.1)), record(&mut layout.j.iter().map(|p| p.1))])
        .collect();
    let widths: Vec<u32> = layout.i.iter().chain(&layout.j).map(|p| p.1.width()).collect();
    let line =
        |[i, j]: &[Vec<u64>; 2]| joined(&i.iter().chain(j).copied().zip(widths.iter().copied()).collect::<Vec<_>>());
    place.write("in.hex", pairs.iter().map(|p| line(p) + "\n").collect::<String>());
    let line = |(values, flags): &(Vec<u64>, Flags)| {
        let values = values.iter().zip(&layout.outputs).map(|(value, o)| (*value, o.1.width()));
        joined(&values.chain([(flags.0 as u64, 5)]).collect::<Vec<_>>())
    };
    let wanted = emulated(&graph, &layout, &pairs, &params);
    assert_eq!(wanted.len(), PAIRS);
    place.write("out.hex", wanted.iter().map(|w| line(w) + "\n").collect::<String>());
    let top = format!("{name}_bare");
    let has = |option: &str| case.options.contains(option);
    let waits = match (has("--enable"), has("--handshake")) {
        (true, _) => Waits::Enable,
        (_, true) => Waits::Handshake,
        _ => Waits::Never,
    };
    let bench = Bench { top: &top, layout: &layout, params: &params, waits };
    place.write("bench.v", bench.verilog());
    place.write("bench.vhd", bench.vhdl());
    for tool in case.tools.iter().filter(|tool| testkit::require(tool)) {
        let language = if *tool == "ghdl" { "vhdl" } else { "verilog" };
        place.run(&format!("build {name}.pg2 --bare --language {language} {} -o .", case.options)).expect(0);
        let commands = simulator(tool, &top);
        for words in &commands {
            let mut command = Command::new("sh");
            command.args(["-c", words]).current_dir(place.path("."));
            let ended = place.finish_within(command, 600).expect(0);
            assert!(*words != commands[1] || ended.out.contains("PASS"), "{name}, {tool}: {}", ended.out);
        }
    }
}

#[test]
fn pipelines_alone_have_the_bits_of_the_emulator() {
    let small = shipped("p2p_small");
    for case in [
        Case { name: "own", text: OWN, options: "--freq 100", tools: &["iverilog"] },
        // A target with delay lines in memory.
        Case { name: "own", text: OWN, options: "--target ecp5 --enable", tools: &["iverilog", "ghdl"] },
        Case { name: "own", text: OWN, options: "--target ecp5 --handshake", tools: &["iverilog", "ghdl"] },
        Case { name: "p2p_small", text: &small, options: "--handshake", tools: &["verilator"] },
        Case { name: "sum", text: SUM, options: "--handshake", tools: &["iverilog"] },
        Case { name: "sum", text: SUM, options: "--enable", tools: &["iverilog"] },
        Case { name: "words", text: WORDS, options: "", tools: &["ghdl"] },
        Case { name: "p2p_small", text: &small, options: "", tools: &["ghdl"] },
    ] {
        pairs_have_the_bits_of_the_emulator(&case);
    }
}

#[test]
#[ignore = "a proof in depth"]
fn pipelines_alone_have_the_bits_of_the_emulator_for_every_target() {
    for (name, text) in [("own", OWN), ("words", WORDS), ("logs", LOGS), ("sum", SUM)] {
        for options in
            ["", "--target xc7", "--target ecp5 --enable", "--target gowin --enable", "--target ecp5 --handshake"]
        {
            let tools = &["iverilog", "verilator", "ghdl"];
            pairs_have_the_bits_of_the_emulator(&Case { name, text, options, tools });
        }
    }
}

/// Kernels with tables at run time or sums in memory, which only an engine has, and one whose results are of many pairs.
const NOT_ALONE: [&str; 3] = ["lennard_jones_species", "pair_histogram", "nearest"];
/// The greatest order of a generated kernel that GHDL simulates within minutes.
const MOST_ORDER: u32 = 2;

#[test]
#[ignore = "a proof in depth"]
fn every_shipped_pipeline_alone_has_the_bits_of_the_emulator_in_vhdl() {
    let shipped = pg2::kernels::KERNELS.iter().map(|k| (k.name.to_string(), k.text.to_string()));
    let made = (1..=MOST_ORDER).map(|order| (format!("m2l_{order}"), pg2::gen_m2l(order).expect("an order")));
    for (name, text) in shipped.filter(|k| !NOT_ALONE.contains(&k.0.as_str())).chain(made) {
        pairs_have_the_bits_of_the_emulator(&Case { name: &name, text: &text, options: "", tools: &["ghdl"] });
    }
}

#[test]
fn a_pipeline_alone_lints_and_is_described() {
    let place = Place::new();
    place.write("own.pg2", OWN);
    place.run("build own.pg2 --bare --wrapper vhdl --split --prefix mine -o out").expect(0);
    let manifest = place.json("out/manifest.json");
    let latency = manifest["latency"].as_u64().expect("clocks");
    assert!(latency > 5 && manifest["top"] == "mine_bare" && manifest["kernel"] == "own", "{manifest}");
    has(&place.text("out/mine_bare.v"), &[&format!("localparam LATENCY = {latency};"), "output wire out_valid"]);
    has(&place.text("out/mine_bare.veo"), &["mine_bare pair (", "    .in_valid(in_valid),", "    .o_near(o_near)"]);
    has(
        &place.text("out/mine_bare.vhd"),
        &["component mine_bare is", "in_valid : in  std_logic", "o_far : out std_logic_vector(19 downto 0)"],
    );
    let port = |name: &str| manifest["ports"].as_array().expect("a list").iter().find(|p| p["name"] == name).cloned();
    assert_eq!(port("p_k").expect("the parameter")["format"], "float20.12");
    assert_eq!(port("o_s").expect("the sum")["direction"], "out");
    place.run("build own.pg2 --bare --enable --language vhdl --split -o vhdl").expect(0);
    let manifest = place.json("vhdl/manifest.json");
    let files = manifest["vhdl"].as_array().expect("a list");
    assert!(files[0] == "own_bare_pkg.vhd" && files[files.len() - 1] == "own_bare.vhd", "{manifest}");
    assert!(manifest["verilog"].is_null() && manifest["latency"] == latency, "{manifest}");
    has(&place.text("vhdl/own_bare_pkg.vhd"), &[&format!("constant LATENCY : natural := {latency};")]);
    has(&place.text("vhdl/own_bare.vho"), &["pair : entity work.own_bare port map (", "    enable => enable,"]);
    has(
        &place.text("vhdl/own_bare.vhd"),
        &["VHDL-2008.", "use work.own_bare_pkg.all;", "        o_far : out std_logic_vector(19 downto 0)"],
    );
    let arguments = ["--lint-only", "-Wall", "-f", "files.f", "--top-module", "mine_bare"];
    if let Some((good, said)) = testkit::run(Command::new("verilator").args(arguments).current_dir(place.path("out"))) {
        assert!(good && said.trim().is_empty(), "{said}");
    }
    let refused = |words: &str, code: i32, part: &str| has(&place.run(words).expect(code).err, &[part]);
    refused("build own.pg2 p2p_paper --bare -o two", 2, "--bare builds one kernel");
    refused("build own.pg2 --bare --wrapper litex -o two", 2, "--bare has no --wrapper litex");
    refused("build own.pg2 --language vhdl -o two", 2, "add --bare, or take --wrapper vhdl");
    refused("build own.pg2 --bare --language vhdl --wrapper vhdl -o two", 2, "which needs no --wrapper; leave it out");
    refused("build own.pg2 --enable -o two", 2, "--bare");
    refused("build own.pg2 --handshake -o two", 2, "--bare");
    refused("build own.pg2 --bare --enable --handshake -o two", 2, "cannot be used with");
    refused("build own.pg2 --bare --pipelines 2 -o two", 2, "cannot be used with");
    refused("build pair_histogram --bare -o two", 1, "which only an engine has; build it without --bare");
    assert!(!place.path("two").exists());
}
