//! `pairforge fmm --predict`: its seconds against those of the simulated board, and what it writes.
#![cfg(unix)]

use crate::common::simulated::Simulated;
use crate::common::{Place, has_verilator};
use std::sync::Mutex;

/// A number in a file.
fn number(json: &serde_json::Value, key: &str) -> f64 {
    json.pointer(key).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{key} in {json}"))
}

/// Simulated time goes on while the host is held up by other programs, so the tests here take turns, and the least time of
/// a few runs counts: such a host only adds to it.
static ALONE: Mutex<()> = Mutex::new(());
const RUNS: usize = 5;

/// Baud rate that stands for Ethernet.
const ETHERNET: u32 = 0;

/// A kernel with a cut-off, which can have filters.
const CUT: &str = "fixed32.31 xi[3] ipin; fixed32.31 xj[3] jpin; float25.16 mj jpin; fixed64.30 pout fout;
r = (float25.16)(xj - xi);
r2 = r * r;
where (r2 < 0.01 && r2 > 0);
pout += (fixed64.30)(mj * pg_rsqrt(r2));
";

/// An FMM whose P2P is on a board, and M2L of an order too if one is given.
struct Case<'a> {
    p2p: &'a str,
    m2l: Option<u32>,
    /// Options of the engines, and their clock.
    engine: &'a str,
    mhz: u32,
    baud: u32,
    fmm: &'a str,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Case { p2p: "p2p_paper", m2l: None, engine: "", mhz: 50, baud: ETHERNET, fmm: "" }
    }
}

/// Seconds on the simulated board, its waiting for the host left out, over those predicted, and the prediction.
fn compared(case: &Case) -> (f64, serde_json::Value) {
    let Case { p2p, m2l, engine, mhz, baud, fmm } = *case;
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let place = Place::new();
    place.write("cut.pg2", CUT);
    let (mut file, mut far) = (String::new(), "--m2l native".to_string());
    if p2p == "cut.pg2" {
        far = "--near-only".into();
    }
    if let Some(order) = m2l {
        file = format!("m2l_p{order}.pg2");
        far = format!("--m2l {file} --order {order}");
        place.run(&format!("gen m2l --order {order} -o {file}")).expect(0);
    }
    place.run(&format!("build {p2p} {file} -o p2p {engine} --target ecp5 --freq {mhz}")).expect(0);
    let fmm = format!("fmm --p2p {p2p} {far} {fmm}");
    let (board, link, at) = match baud {
        ETHERNET => ("colorlight-i9", "--ethernet".to_string(), String::new()),
        _ => ("ulx3s", format!("--baud {baud}"), format!("@{baud}")),
    };
    place.run(&format!("{fmm} --predict {board} {engine} --freq {mhz} {link} --turnaround 0 --json p.json")).expect(0);
    let predicted = place.json("p.json");
    let mut least = f64::INFINITY;
    for _ in 0..RUNS {
        let words = if baud == ETHERNET { " --words" } else { "" };
        let simulated = Simulated::start(&place, "sim", &format!("{board} p2p {link}{words}"));
        place.run(&format!("{fmm} --backend board:{}{at} --json found.json", simulated.port)).expect(0);
        let saw = simulated.end(&place, "sim");
        std::fs::remove_file(place.path("sim.port")).unwrap();
        let found = place.json("found.json");
        assert_eq!((&predicted["pairs"], &predicted["clock_mhz"]), (&found["pairs"], &saw["clock_mhz"]));
        let clocks = number(&saw, "/cycles") - number(&saw, "/idle_cycles");
        let seconds = clocks / (number(&saw, "/clock_mhz") * 1e6);
        let ratio = seconds / number(&predicted, "/seconds/p2p");
        let counted = number(&found, "/cycles/p2p") / number(&predicted, "/cycles");
        println!(
            "{engine}, {baud} baud: {seconds:.6} s, {ratio:.4} of the prediction; the engine's cycles {counted:.4}"
        );
        least = least.min(ratio);
        if least < 1.05 {
            break;
        }
    }
    (least, predicted)
}

#[test]
#[ignore = "a proof in depth"]
fn where_the_line_bounds_the_seconds_are_those_of_the_simulated_board() {
    if !has_verilator() {
        return;
    }
    let (ratio, predicted) = compared(&Case {
        engine: "--pipelines 2 --jmem 2048",
        baud: 3_000_000,
        fmm: "--n 500 --leaf 16",
        ..Case::default()
    });
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert!(number(&predicted, "/utilisation") < 0.3, "the line does not bound: {predicted}");
}

#[test]
#[ignore = "a proof in depth"]
fn where_the_pipeline_bounds_the_seconds_are_those_of_the_simulated_board() {
    if !has_verilator() {
        return;
    }
    let (ratio, predicted) = compared(&Case {
        engine: "--pipelines 1 --jmem 8192",
        baud: 8_000_000,
        fmm: "--n 1500 --leaf 300",
        ..Case::default()
    });
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert!(number(&predicted, "/utilisation") > 0.9, "the pipeline does not bound: {predicted}");
}

#[test]
fn over_ethernet_the_seconds_are_those_of_the_simulated_board() {
    if !has_verilator() {
        return;
    }
    let (engine, fmm) = ("--pipelines 2 --jmem 8192", "--n 4000 --leaf 100");
    let (ratio, predicted) = compared(&Case { engine, fmm, ..Case::default() });
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert!(number(&predicted, "/baud") == 0.0 && number(&predicted, "/turnaround_ms") == 0.0);
}

#[test]
#[ignore = "a proof in depth"]
fn behind_filters_the_seconds_are_those_of_the_simulated_board() {
    if !has_verilator() {
        return;
    }
    let (engine, fmm) = ("--pipelines 2 --filters 8 --jmem 8192", "--n 4000 --leaf 100");
    let (ratio, predicted) = compared(&Case { p2p: "cut.pg2", engine, fmm, ..Case::default() });
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert_eq!(number(&predicted, "/engines/0/filters"), 8.0);
}

#[test]
fn filters_are_predicted_as_options_or_a_synthesis_have_them() {
    let place = Place::new();
    place.write("cut.pg2", CUT);
    let fmm = "fmm --n 3000 --leaf 100 --p2p cut.pg2 --near-only --json p.json --predict colorlight-i9";
    let cycles = |words: &str| {
        let out = place.run(&format!("{fmm} {words}")).expect(0).out;
        let json = place.json("p.json");
        let filters = json.pointer("/engines/0/filters").map_or(0, |filters| filters.as_u64().expect("a count"));
        assert_eq!(out.contains("behind 8 filters"), filters == 8, "{out}");
        (filters, number(&json, "/cycles"), number(&json, "/pairs/p2p"))
    };
    let (without, each, pairs) = cycles("--pipelines 1");
    let (with, few, same) = cycles("--pipelines 1 --filters 8");
    assert_eq!((without, with, pairs), (0, 8, same));
    assert!(each >= pairs && few < pairs / 5.0 && few >= pairs / 8.0, "{each} {few} {pairs}");
    std::fs::create_dir(place.path("s")).unwrap();
    let synth = |filters: u32| {
        let engine = format!(
            r#""kernel": "cut", "pipelines": 1, "groups": 1, "i_banks": 2, "segments": 512, "jmem_records": 4096,
            "latency": 20, "ii": 1, "filters": {filters}"#
        );
        format!(
            r#"{{{engine}, "board": "colorlight-i9", "clock_mhz": 75.0, "ethernet": "192.168.1.50", "mhz": 75.0,
            "stream_bits": 32, "kernels": [{{{engine}}}]}}"#
        )
    };
    place.write("s/synth.json", synth(8));
    let (filters, clocks, _) = cycles("--synth s");
    assert!(filters == 8 && (clocks / few - 1.0).abs() < 0.2, "{clocks} {few}");
    place.write("s/synth.json", synth(200));
    let told = |words: &str, code: i32, part: &str| {
        let err = place.run(&format!("fmm --n 50 --predict colorlight-i9 {words}")).expect(code).err;
        assert!(err.contains(part), "{words}: {err}");
    };
    told("--p2p cut.pg2 --near-only --synth s", 1, "synth.json");
    told("--pipelines 1 --filters 8", 1, "has no filter");
    told("--filters 8 --order 2 --m2l m2l_2", 2, "leave out --ii, and M2L to the CPU by --m2l native");
    told("--filters 8 --ii 2", 2, "leave out --ii");
    told("--filters 8 --synth s", 2, "cannot be used with");
}

#[test]
#[ignore = "a proof in depth"]
fn the_seconds_of_a_periodic_box_are_those_of_the_simulated_board() {
    if !has_verilator() {
        return;
    }
    let (engine, fmm) = ("--pipelines 2 --jmem 4096", "--n 200 --leaf 30 --order 2 --periodic 1 --periodic-axes xz");
    let (ratio, predicted) = compared(&Case { engine, fmm, ..Case::default() });
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    // Images are streamed too.
    assert!(number(&predicted, "/pairs/p2p") > 200.0 * 200.0, "{predicted}");
}

#[test]
#[ignore = "a proof in depth"]
fn p2p_and_m2l_on_one_board_take_the_seconds_of_the_simulated_board() {
    if !has_verilator() {
        return;
    }
    let (engine, fmm) = ("--pipelines 2,1 --ii 1,4 --jmem 8192", "--n 4000 --leaf 40");
    let (ratio, predicted) = compared(&Case { m2l: Some(2), engine, fmm, ..Case::default() });
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    assert_eq!((&predicted["predicted"][0], &predicted["engines"][1]["ii"]), (&"m2l".into(), &4.into()));
    // Both are at work at the same time.
    let clocks = number(&predicted, "/seconds/p2p") * number(&predicted, "/clock_mhz") * 1e6;
    let one_by_one = number(&predicted, "/cycles") + number(&predicted, "/m2l_cycles");
    assert!(one_by_one > 1.15 * clocks, "{predicted}");
}

/// The lanes that the area's estimate allows beside network core and link are those that are predicted, and that is simulated.
#[test]
#[ignore = "a proof in depth"]
fn a_board_that_is_filled_takes_three_tenths_of_a_second_for_a_hundred_thousand_particles() {
    if !has_verilator() {
        return;
    }
    let place = Place::new();
    let words = "fmm --n 100000 --leaf 64 --predict colorlight-i9 --json p.json";
    place.finish_within(place.command(words), 900).expect(0);
    let predicted = place.json("p.json");
    assert_eq!(predicted["predicted"], serde_json::json!(["m2l", "p2p"]));
    let (seconds, mhz) = (number(&predicted, "/seconds/p2p"), number(&predicted, "/clock_mhz"));
    assert!(seconds <= 0.3 && number(&predicted, "/seconds/m2l") == 0.0, "{predicted}");
    // What makes its bitstream is a figure of docs/results/hardware.md, whose report says that the clocks are met.
    let made = predicted["synth"].as_str().and_then(|command| command.strip_prefix("pairforge synth "));
    let made = made.and_then(|command| command.strip_suffix(" -o DIR")).expect("the command is told");
    let report = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/hardware/colorlight_i9_fmm.txt"));
    let report = report.expect("there is a report");
    assert!(report.lines().next().is_some_and(|first| first.contains(made)), "{made}");
    assert!(report.contains(&format!("{mhz:.1} MHz asked for: met")), "{mhz}");
    let of = |key: &str| [0, 1].map(|k| number(&predicted, &format!("/engines/{k}/{key}")));
    let ([p2p, m2l], [pair, often]) = (of("pipelines"), of("ii"));
    let engine = format!("--pipelines {p2p},{m2l} --ii {pair},{often} --jmem 8192");
    let case = Case {
        p2p: "p2p",
        m2l: Some(4),
        engine: &engine,
        mhz: mhz as u32,
        fmm: "--n 4000 --leaf 64",
        ..Case::default()
    };
    let (ratio, _) = compared(&case);
    assert!((ratio - 1.0).abs() < 0.05, "{ratio} with {engine}");
}

#[test]
#[ignore = "a proof in depth"]
fn m2l_of_order_4_is_busy_for_17_of_20_clocks_with_a_pair_every_8_on_a_stream_of_64_bits() {
    if !has_verilator() {
        return;
    }
    let place = Place::new();
    let words = "fmm --n 10000 --leaf 64 --backend cycle --stream 64 --ii 8 --json f.json";
    place.finish_within(place.command(words), 900).expect(0);
    let found = place.json("f.json");
    println!("{}", found["utilisation"]);
    assert!(number(&found, "/utilisation/m2l") >= 0.85, "{found}");
}

#[test]
fn the_best_leaf_is_the_one_of_least_total_and_what_is_measured_is_told() {
    let place = Place::new();
    let out = place.run("fmm --n 1000 --predict ulx3s --pipelines 4 --json p.json").expect(0).out;
    assert!(out.contains("predicted") && out.contains("measured") && out.contains("energy unknown"), "{out}");
    let json = place.json("p.json");
    assert!(json["joules"].is_null() && json["predicted"][0] == "p2p");
    let rows = json["leaves"].as_array().expect("rows");
    let total = |row: &serde_json::Value| number(row, "/total_seconds");
    let best = rows.iter().find(|r| r["leaf"] == json["best_leaf"]).expect("the best is among them");
    assert!(rows.len() > 7 && rows.iter().all(|r| total(r) >= total(best)), "{json}");
    for row in rows {
        let sum = number(row, "/p2p_seconds") + number(row, "/cpu_seconds");
        assert!((sum - total(row)).abs() < 1e-9 && number(row, "/p2p_seconds") > 0.0, "{row}");
    }
    let pairs = number(&json, "/pairs/p2p") / number(&json, "/seconds/p2p");
    assert!((pairs / number(&json, "/pairs_per_second") - 1.0).abs() < 1e-9, "{json}");
}

/// A UP5K has 1024 words of j memory for one engine and a 45F 8192 for each of two, and sources are sent again where they do not stay.
#[test]
#[ignore = "a proof in depth"]
fn without_jmem_the_memory_is_the_one_that_synth_takes() {
    let place = Place::new();
    let cases = [
        ("--n 600 --predict icebreaker --freq 12 --pipelines 1 --ii 32", 1024),
        ("--n 6000 --predict colorlight-i9 --ethernet --pipelines 1,1 --ii 1,26 --order 1", 8192),
    ];
    for (words, memory) in cases {
        let sent = |jmem: &str| {
            place.run(&format!("fmm {words} --leaf 64 {jmem} --json p.json")).expect(0);
            number(&place.json("p.json"), "/bytes_in")
        };
        let usual = sent("");
        assert_eq!(usual, sent(&format!("--jmem {memory}")), "{words}");
        assert_ne!(usual, sent(&format!("--jmem {}", 2 * memory)), "{words}");
    }
}

#[test]
fn a_board_with_ethernet_is_predicted_with_it_unless_a_line_is_asked_for() {
    let place = Place::new();
    let predicted = |words: &str| {
        place.run(&format!("fmm --n 300 --order 1 --pipelines 1 --predict {words} --json p.json")).expect(0);
        let json = place.json("p.json");
        (
            ["/baud", "/turnaround_ms", "/clock_mhz", "/bytes_in"].map(|key| number(&json, key)),
            number(&json, "/seconds/p2p"),
        )
    };
    let (usual, seconds) = predicted("colorlight-i9");
    assert_eq!((usual, seconds), predicted("colorlight-i9 --ethernet"));
    assert_eq!(usual[..2], [0.0, 0.05]);
    let (serial, longer) = predicted("colorlight-i9 --baud 1000000");
    assert!(serial[..2] == [1e6, 2.0] && longer > 10.0 * seconds, "{serial:?} {longer} {seconds}");
    assert_eq!(predicted("ulx3s").0[1], 2.0);
    assert!(place.run("fmm --n 300 --predict ulx3s --ethernet").expect(2).err.contains("has no Ethernet"));
}

#[test]
fn both_kernels_of_a_bitstream_are_taken() {
    let place = Place::new();
    std::fs::create_dir(place.path("s")).unwrap();
    let engine = |kernel: &str, ii: u32, latency: u32| {
        format!(
            r#"{{"kernel": "{kernel}", "pipelines": 1, "groups": 1, "i_banks": 2, "segments": 512, "jmem_records": 512,
            "latency": {latency}, "ii": {ii}}}"#
        )
    };
    let synth = |kernels: &[String]| {
        let kernels = kernels.join(", ");
        format!(
            r#"{{"kernel": "p2p", "board": "colorlight-i9", "clock_mhz": 68.75, "ethernet": "192.168.1.50", "mhz": 68.75,
            "stream_bits": 32, "kernels": [{kernels}]}}"#
        )
    };
    let fmm = "fmm --n 600 --leaf 16 --predict colorlight-i9 --synth s --json p.json";
    for (m2l, order) in testkit::some([("m2l_2", "2"), ("m2l_4", "4"), ("m2l_p3", "3"), ("m2l_p4", "4")], 2) {
        place.write("s/synth.json", synth(&[engine("p2p", 1, 22), engine(m2l, 32, 191)]));
        place.run(&format!("{fmm} --order {order}")).expect(0);
        let json = place.json("p.json");
        assert_eq!(json.pointer("/engines/1/kernel").and_then(|k| k.as_str()), Some(m2l), "{json}");
        assert_eq!(number(&json, "/engines/1/ii"), 32.0);
        assert!(number(&json, "/m2l_cycles") > 0.0, "{json}");
        // It is the CPU's where the user says so.
        place.run(&format!("{fmm} --order {order} --m2l native")).expect(0);
        assert!(place.json("p.json").pointer("/engines/1").is_none());
    }
    // One of another order, or of a file that nobody named, is left out and said to be.
    for (m2l, order) in [("m2l_4", "3"), ("m2l_p3", "4"), ("mine", "4")] {
        place.write("s/synth.json", synth(&[engine("p2p", 1, 22), engine(m2l, 32, 191)]));
        let err = place.run(&format!("{fmm} --order {order}")).expect(0).err;
        assert!(err.contains(&format!("{m2l} of the bitstream is not used")), "{err}");
        assert!(place.json("p.json").pointer("/engines/1").is_none());
    }
}

#[test]
fn a_synthesis_gives_clock_and_engine() {
    let place = Place::new();
    std::fs::create_dir(place.path("s")).unwrap();
    let synth = r#"{"kernel": "p2p_paper", "board": "ulx3s", "device": "ecp5-85", "target": "ecp5", "pipelines": 3, "lut": 1,
        "ff": 1, "dsp": 1, "bram": 1, "carries": 1, "logic_elements": 1, "fmax_mhz": 70.0, "clock_mhz": 62.5,
        "pairs_per_second": 1.0, "joules_per_pair": 2e-9, "fitting_pipelines": null, "fitting_bound": null,
        "bitstream": null, "mhz": 62.5, "stream_bits": 32, "jmem_records": 1024, "groups": 1, "i_banks": 2,
        "segments": 512, "latency": 30, "tools": []}"#;
    place.write("s/synth.json", synth);
    place.run("fmm --n 300 --p2p p2p_paper --predict ulx3s --synth s --json p.json").expect(0);
    let json = place.json("p.json");
    assert_eq!((number(&json, "/pipelines"), number(&json, "/clock_mhz")), (3.0, 62.5));
    assert!((number(&json, "/joules") / (2e-9 * number(&json, "/pairs/p2p")) - 1.0).abs() < 1e-9, "{json}");
    // Its link is the one that it was made with.
    let fmm = "fmm --n 300 --p2p p2p_paper --predict colorlight-i9 --json p.json";
    for (link, ethernet) in [("0", r#""ethernet": "192.168.1.50", "#), ("1000000", "")] {
        let i9 = synth.replace("ulx3s", "colorlight-i9").replace(r#""tools""#, &format!("{ethernet}\"tools\""));
        place.write("s/synth.json", i9);
        place.run(&format!("{fmm} --synth s")).expect(0);
        assert_eq!(number(&place.json("p.json"), "/baud").to_string(), link);
    }
    let told = |words: &str, code: i32, part: &str| {
        let err = place.run(&format!("fmm --n 50 {words}")).expect(code).err;
        assert!(err.contains(part), "{words}: {err}");
    };
    let i9 = synth.replace("ulx3s", "colorlight-i9").replace(r#""tools""#, r#""ethernet": "192.168.1.50", "tools""#);
    place.write("s/synth.json", i9);
    told("--predict colorlight-i9 --synth s --p2p p2p_paper --baud 1000000", 1, "has no baud rate");
    place.write("s/synth.json", synth);
    told("--predict toaster", 2, "there is no board `toaster`; the boards are ulx3s");
    told("--predict ulx3s --synth s", 1, "is of the kernel p2p_paper, not p2p; name it with --p2p");
    told("--predict icebreaker --synth s", 1, "is for the board ulx3s, not icebreaker");
    told("--predict ulx3s --synth nowhere", 1, "make it with `pairforge synth FILE --board ulx3s -o DIR`");
    told("--predict ulx3s --baud 90000000", 1, "need a clock of at least 6 times that");
    told("--predict ulx3s --m2l p2p", 1, "");
    told(
        "--predict ulx3s --synth s --p2p p2p_paper --m2l m2l_paper --order 2",
        1,
        "is of the kernel p2p_paper, not m2l_paper",
    );
    told("--predict ulx3s --turnaround -1", 2, "");
}
