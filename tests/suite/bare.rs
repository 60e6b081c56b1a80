//! `build --bare`: pipelines without an engine, simulated by others against the emulator's bits, with gaps between the pairs.

use crate::common::board::engine;
use crate::common::command::has;
use crate::common::{Place, shipped};
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

/// A testbench: pairs go in after random gaps, in which the pins are unknown, and each must come out so many clocks later.
fn bench(top: &str, layout: &Layout, params: &[u64]) -> String {
    let pins: Vec<&(String, Format)> = layout.i.iter().chain(&layout.j).collect();
    let outputs: Vec<(&str, u32)> =
        layout.outputs.iter().map(|o| (o.0.as_str(), o.1.width())).chain([("flags", 5)]).collect();
    let (in_bits, out_bits) = (pins.iter().map(|p| p.1.width()).sum::<u32>(), outputs.iter().map(|o| o.1).sum::<u32>());
    let mut text = format!(
        "module bench;\n reg clk = 0, rst = 1, in_valid = 0;\n wire out_valid;\n reg [{}:0] in;\n wire [{}:0] out;\n",
        in_bits - 1,
        out_bits - 1
    );
    let mut ports = vec![".clk(clk), .rst(rst), .in_valid(in_valid), .out_valid(out_valid)".to_string()];
    let mut place = |names: &[(&str, u32)], bus: &str, total: u32| {
        let mut high = total;
        for (name, width) in names {
            ports.push(format!(".{name}({bus}[{}:{}])", high - 1, high - width));
            high -= width;
        }
    };
    place(&pins.iter().map(|p| (p.0.as_str(), p.1.width())).collect::<Vec<_>>(), "in", in_bits);
    place(&outputs, "out", out_bits);
    ports.extend(layout.params.iter().zip(params).map(|((name, f), bits)| format!(".{name}({}'h{bits:x})", f.width())));
    text += &format!(" {top} pair ({});\n", ports.join(", "));
    text + &format!(
        " reg [{}:0] pairs [0:{PAIRS} - 1];\n reg [{}:0] wanted [0:{PAIRS} - 1];\n integer times [0:{PAIRS} - 1];
 integer sent = 0, got = 0, cycle = 0, wrong = 0, seed = 7;
 initial begin $readmemh(\"in.hex\", pairs); $readmemh(\"out.hex\", wanted); end
 always #5 clk = ~clk;
 always @(negedge clk) begin
  rst <= cycle < 4;
  in_valid <= 0;
  in <= {{{in_bits}{{1'bx}}}};
  if (cycle > 5 && sent < {PAIRS} && $random(seed) % 3 != 0) begin
   in_valid <= 1; in <= pairs[sent]; times[sent] = cycle; sent = sent + 1;
  end
 end
 always @(posedge clk) begin
  if (cycle > 4 && out_valid !== 0) begin
   if (out_valid !== 1 || out !== wanted[got] || cycle - times[got] != pair.LATENCY) wrong = wrong + 1;
   got = got + 1;
  end
  if (got == {PAIRS} || cycle > 20000) begin
   if (got == {PAIRS} && wrong == 0) $display(\"PASS\"); else $display(\"FAIL: %0d wrong of %0d\", wrong, got);
   $finish;
  end
  cycle = cycle + 1;
 end\nendmodule\n",
        in_bits - 1,
        out_bits - 1
    )
}

fn pairs_have_the_bits_of_the_emulator(name: &str, text: &str, tools: &[&str]) {
    let place = Place::new();
    place.write(&format!("{name}.pg2"), text);
    place.run(&format!("build {name}.pg2 --bare --freq 100 -o .")).expect(0);
    let graph = pg2::compile(name, text).unwrap_or_else(|_| panic!("{name} compiles")).graph;
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
    place.write("bench.v", bench(&top, &layout, &params));
    for tool in tools.iter().filter(|tool| testkit::require(tool)) {
        let (make, run) = match *tool {
            "iverilog" => (format!("iverilog -g2005 -o bench {top}.v bench.v"), "vvp bench"),
            _ => (
                format!("verilator --binary -Wno-lint -Wno-fatal --top-module bench {top}.v bench.v"),
                "obj_dir/Vbench",
            ),
        };
        for words in [make.as_str(), run] {
            let mut command = Command::new("sh");
            command.args(["-c", words]).current_dir(place.path("."));
            let ended = place.finish_within(command, 600).expect(0);
            assert!(words != run || ended.out.contains("PASS"), "{name}, {tool}: {}", ended.out);
        }
    }
}

#[test]
fn a_pipeline_alone_has_the_bits_of_the_emulator() {
    pairs_have_the_bits_of_the_emulator("own", OWN, &["iverilog"]);
}

#[test]
#[ignore = "a proof in depth"]
fn pipelines_alone_have_the_bits_of_the_emulator_in_two_simulators() {
    for (name, text) in
        [("own", OWN.to_string()), ("p2p_paper", shipped("p2p_paper")), ("lennard_jones", shipped("lennard_jones"))]
    {
        pairs_have_the_bits_of_the_emulator(name, &text, &["iverilog", "verilator"]);
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
    let arguments = ["--lint-only", "-Wall", "-f", "files.f", "--top-module", "mine_bare"];
    if let Some((good, said)) = testkit::run(Command::new("verilator").args(arguments).current_dir(place.path("out"))) {
        assert!(good && said.trim().is_empty(), "{said}");
    }
    let refused = |words: &str, code: i32, part: &str| has(&place.run(words).expect(code).err, &[part]);
    refused("build own.pg2 p2p_paper --bare -o two", 2, "--bare builds one kernel");
    refused("build own.pg2 --bare --wrapper litex -o two", 2, "--bare has no --wrapper litex");
    refused("build own.pg2 --bare --pipelines 2 -o two", 2, "cannot be used with");
    refused("build pair_histogram --bare -o two", 1, "which only an engine has; build it without --bare");
    assert!(!place.path("two").exists());
}
