//! Several kernels on one board: `build` with several files, the board's engines behind one link, and both kernels of an FMM.
#![cfg(unix)]

use crate::common::board::{PtyBoard, Setting};
use crate::common::network::UdpBoard;
use crate::common::simulated::Simulated;
use crate::common::{Ended, Place, has_verilator, shipped, told_soon};
use pg2::graph::Graph;
use sim::board::fault::Fault;

const FIRST: &str = "int24 a[2] ipin; int24 b[2] jpin; float20.12 w jpin; int56 s fout; int24 m fout;
d = (float20.12)(b - a); s += (int56)(w * (d * d)); m max= b[0] - a[1];";
const SECOND: &str = "int32 x ipin; uint12 y ipin; int32 u jpin; int9 k param; int64 s[2] fout;
p = (x - u) * (int32)y; s[0] += p * p; s[1] += p * (int32)k - u * x;";
/// Columns with their bits.
type Columns = &'static [(&'static str, u32)];
/// Name, parameters, and the columns of targets and sources.
const KERNELS: [(&str, &str, [Columns; 2]); 2] = [
    ("first", "", [&[("a[0]", 24), ("a[1]", 24)], &[("b[0]", 24), ("b[1]", 24), ("w", 20)]]),
    ("second", "--param k=77", [&[("x", 32), ("y", 12)], &[("u", 32)]]),
];

/// A folder with two kernels, and 50 targets and 400 sources for each.
fn place() -> Place {
    let place = Place::new();
    place.write("first.pg2", FIRST);
    place.write("second.pg2", SECOND);
    // Bits of a pattern; those of a float keep its exponent away from the largest one.
    let bits = |k: u64, m: u64, width: u32| {
        let mixed = (k + 1).wrapping_mul(2 * m + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width);
        if width == 20 { mixed & !(1 << 18) } else { mixed }
    };
    for (name, _, tables) in KERNELS {
        for (which, (columns, n)) in ["i", "j"].iter().zip(tables.iter().zip([50, 400])) {
            let head: Vec<&str> = columns.iter().map(|c| c.0).collect();
            let mut text = head.join(",") + "\n";
            for k in 0..n {
                let row: Vec<String> =
                    columns.iter().enumerate().map(|(c, column)| bits(k, c as u64, column.1).to_string()).collect();
                text += &(row.join(",") + "\n");
            }
            place.write(&format!("{name}_{which}.csv"), text);
        }
    }
    place
}

fn run_on(place: &Place, (name, param, _): (&str, &str, [&[(&str, u32)]; 2]), backend: &str, out: &str) -> Ended {
    place.run(&format!("run {name}.pg2 --i {name}_i.csv --j {name}_j.csv --raw {param} --backend {backend} -o {out}"))
}

/// Both kernels on a board give the emulator's bits, the second one first.
fn compare(place: &Place, backend: &str) {
    for kernel in [KERNELS[1], KERNELS[0], KERNELS[1]] {
        run_on(place, kernel, "emulator", "wanted.csv").expect(0);
        run_on(place, kernel, backend, "found.csv").expect(0);
        assert_eq!(place.text("found.csv"), place.text("wanted.csv"), "{} on {backend}", kernel.0);
    }
}

fn compile(name: &str, text: &str) -> Graph {
    pg2::compile(name, text).unwrap_or_else(|e| panic!("{}", e[0].message)).graph
}

fn line(rate: f64) -> Vec<Fault> {
    vec![Fault::Flip(rate / 2.0), Fault::Drop(rate), Fault::Double(rate), Fault::Cut(rate / 10.0)]
}

fn network(rate: f64) -> Vec<Fault> {
    [Fault::Flip, Fault::Drop, Fault::Double, Fault::Cut, Fault::Swap].map(|fault| fault(rate)).to_vec()
}

#[test]
fn each_kernel_of_a_board_gives_the_bits_of_the_emulator_over_a_bad_line() {
    let place = place();
    let graphs = [compile("first", FIRST), compile("second", SECOND)];
    for stream_bits in [32, 64, 128] {
        let setting = |faults| Setting { pipelines: 3, stream_bits, faults, ..Setting::default() };
        let serial = PtyBoard::with(&graphs, setting(line(5e-4)));
        compare(&place, &format!("board:{}", serial.path));
        let udp = UdpBoard::with(&graphs, setting(network(0.02)));
        compare(&place, &format!("board:udp:{}", udp.address));
        assert!(udp.end().injected > 0);
    }
    let udp = UdpBoard::with(&graphs, Setting::default());
    let found = place.run(&format!("list boards --scan {}", udp.address)).expect(0).out;
    assert!(found.contains("runs `first` (") && found.contains(" and `second` ("), "{found}");
    let place = Place::new();
    place.write("i.csv", "xi[0],xi[1],xi[2]\n0,0,0\n");
    place.write("j.csv", "xj[0],xj[1],xj[2],mj\n0,0,0,1\n");
    let other = format!("run p2p_paper --i i.csv --j j.csv --backend board:udp:{}", udp.address);
    let refused = place.run(&other).expect(3).err;
    assert!(refused.contains("no board runs the kernel `p2p_paper`"), "{refused}");
    assert!(refused.contains("runs `first` (") && refused.contains(" and `second` ("), "{refused}");
}

/// The kernels of an FMM of order 2.
fn fmm_kernels() -> [Graph; 2] {
    let text = pg2::gen_m2l(2).expect("a kernel of order 2");
    [compile("p2p", &shipped("p2p")), compile("m2l_p2", &text)]
}

#[test]
fn an_fmm_runs_on_one_board_over_bad_lines() {
    let place = Place::new();
    let setting = |faults| Setting { pipelines: 4, jmem_words: 8192, faults, ..Setting::default() };
    for (n, words, serial) in [(600, "", true), (300, "--periodic 1 --periodic-axes xz", true), (10_000, "", false)] {
        let fmm = format!("fmm --n {n} --leaf 32 --order 2 {words} -o");
        place.run(&format!("{fmm} wanted.csv --json wanted.json --backend emulator")).expect(0);
        if serial {
            let board = PtyBoard::with(&fmm_kernels(), setting(line(2e-4)));
            place.run(&format!("{fmm} found.csv --json found.json --backend board:{}", board.path)).expect(0);
        } else {
            let board = UdpBoard::with(&fmm_kernels(), setting(network(0.01)));
            let words = format!("{fmm} found.csv --json found.json --backend board:udp:{}", board.address);
            place.run(&words).expect(0);
            assert!(board.end().injected > 10);
        }
        assert!(place.bytes("found.csv") == place.bytes("wanted.csv"), "{n} particles {words}");
        let [wanted, found] = ["wanted.json", "found.json"].map(|name| place.json(name));
        assert_eq!((&found["pairs"], &found["streamed"]), (&wanted["pairs"], &wanted["streamed"]));
        assert!(found["pairs"]["m2l"].as_u64() > Some(0) && found["words"]["j"].as_u64() > Some(0));
    }
}

#[test]
fn a_pulled_cable_ends_an_fmm_with_a_sentence() {
    let place = Place::new();
    let setting = || Setting { pipelines: 4, faults: vec![Fault::Pull(30_000)], ..Setting::default() };
    let told = |backend: String, what: &str| {
        let run = || place.run(&format!("fmm --n 3000 --leaf 32 --order 2 -o out.csv --backend {backend}"));
        told_soon(&place, run, &[what]);
    };
    let serial = PtyBoard::with(&fmm_kernels(), setting());
    told(format!("board:{}", serial.path), "is gone");
    let udp = UdpBoard::with(&fmm_kernels(), setting());
    told(format!("board:udp:{}", udp.address), "no longer answers; check cable and power");
}

/// Two folded kernels on boards, the first one by a serial line and the second one by the network.
fn share_a_simulated_board(on_line: &str, on_network: &str) {
    if !has_verilator() {
        return;
    }
    let place = place();
    let options = "--ii 2,3 --pipelines 2,1 --jmem 512,256 --freq 48 --target ecp5";
    place.run(&format!("build first.pg2 second.pg2 -o d {options}")).expect(0);
    let manifest = place.json("d/manifest.json");
    let of = |k: usize, key: &str| manifest["kernels"][k][key].clone();
    assert_eq!(
        (of(0, "ii"), of(1, "ii"), of(0, "pipelines"), of(1, "pipelines")),
        (2.into(), 3.into(), 2.into(), 1.into())
    );
    assert_eq!((of(1, "kernel"), &manifest["top"]), ("second".into(), &"first_engines".into()));
    let words = [format!("ulx3s d {on_line}"), format!("colorlight-i9 d --ethernet --words {on_network}")];
    for ((kernel, name), words) in KERNELS.into_iter().zip(["a", "b"]).zip(words) {
        let board = Simulated::start(&place, name, &words);
        run_on(&place, kernel, "emulator", "wanted.csv").expect(0);
        run_on(&place, kernel, &format!("board:{}", board.port), "found.csv").expect(0);
        assert_eq!(place.text("found.csv"), place.text("wanted.csv"), "{} by {words}", kernel.0);
        let saw = board.end(&place, name);
        assert_eq!((&saw["kernel"], &saw["pipelines"]), (&"first, second".into(), &3.into()));
        assert_eq!(saw["injected"].as_u64() > Some(0), words.contains("--fault"), "{saw}");
        std::fs::remove_file(place.path(&format!("{name}.port"))).unwrap();
    }
}

#[test]
#[ignore = "a proof in depth"]
fn two_folded_kernels_share_a_simulated_board() {
    share_a_simulated_board("", "--fault drop:0.02 --fault swap:0.02 --fault flip:0.02");
}

/// A line is slow to simulate where bytes are sent again.
#[test]
#[ignore = "a proof in depth"]
fn two_folded_kernels_share_a_simulated_board_at_a_bad_line() {
    share_a_simulated_board("--fault drop:2e-4 --fault flip:2e-5", "--fault drop:0.01");
}

#[test]
#[ignore = "a proof in depth"]
fn an_fmm_runs_on_one_simulated_board_with_faults() {
    if !has_verilator() {
        return;
    }
    let place = Place::new();
    place.run("gen m2l --order 1 -o m2l_p1.pg2").expect(0);
    let options = "--ii 1,2 --pipelines 2,1 --jmem 4096 --freq 48 --target ecp5";
    place.run(&format!("build p2p_paper m2l_p1.pg2 -o both {options}")).expect(0);
    let fmm = "fmm --n 1000 --leaf 16 --order 1 --p2p p2p_paper --m2l m2l_p1.pg2 --json";
    place.run(&format!("{fmm} wanted.json -o wanted.csv --backend emulator")).expect(0);
    let words = "colorlight-i9 both --ethernet --words --fault drop:0.01 --fault swap:0.01 --fault flip:0.01";
    let board = Simulated::start(&place, "sim", words);
    place.run(&format!("{fmm} found.json -o found.csv --backend board:{}", board.port)).expect(0);
    assert_eq!(place.text("found.csv"), place.text("wanted.csv"));
    let saw = board.end(&place, "sim");
    assert!(saw["injected"].as_u64() > Some(0), "{saw}");
    // The board is at work on both at once: its clocks are fewer than those of its engines together.
    let found = place.json("found.json");
    let counted = |kernel: &str| found["cycles"][kernel].as_u64().expect("a board counts");
    println!("{saw} {} {}", counted("p2p"), counted("m2l"));
}

/// Both kernels of an FMM on one board, from the frames at GMII on, each clock of the network core, the link and the engines.
#[test]
#[ignore = "a proof in depth"]
fn an_fmm_of_ten_thousand_particles_runs_over_simulated_ethernet() {
    if !has_verilator() {
        return;
    }
    let place = Place::new();
    place.run("gen m2l --order 4 -o m2l_p4.pg2").expect(0);
    let options = "--ii 1,26 --pipelines 3,1 --freq 75 --target ecp5";
    place.run(&format!("build p2p m2l_p4.pg2 -o both {options}")).expect(0);
    let fmm = "fmm --n 10000 --leaf 64 --m2l m2l_p4.pg2 -o";
    place.run(&format!("{fmm} wanted.csv --json wanted.json --backend emulator")).expect(0);
    let minutes = |words: &str| place.finish_within(place.command(words), 1800);
    let faults: String = network(0.01).iter().map(|f| format!(" --fault {f}")).collect();
    let board = Simulated::start(&place, "sim", &format!("colorlight-i9 both --ethernet{faults}"));
    assert!(!place.text("sim.err").contains("simulated without it"), "{}", place.text("sim.err"));
    minutes(&format!("{fmm} found.csv --json found.json --backend board:{}", board.port)).expect(0);
    assert!(place.bytes("found.csv") == place.bytes("wanted.csv"));
    assert_eq!(place.json("found.json")["pairs"], place.json("wanted.json")["pairs"]);
    let saw = board.end(&place, "sim");
    assert!(saw["injected"].as_u64() > Some(10) && saw["bytes_out"].as_u64() > Some(600_000), "{saw}");
    std::fs::remove_file(place.path("sim.port")).unwrap();
    let board = Simulated::start(&place, "sim", "colorlight-i9 both --ethernet --fault pull:300000");
    let ended = minutes(&format!("{fmm} out.csv --backend board:{}", board.port)).expect(3);
    assert!(ended.err.contains("no longer answers; check cable and power"), "{}", ended.err);
    assert!(!place.names().contains(&"out.csv".to_string()));
}

#[test]
fn what_one_board_cannot_have_is_told() {
    let place = place();
    let told = |words: &str, code: i32, part: &str| {
        let err = place.run(words).expect(code).err;
        assert!(err.contains(part), "{words}: {err}");
    };
    place.write("renamed.pg2", SECOND.replace("p * p", "q * q").replace("p = ", "q = ").replace("+= p ", "+= q "));
    std::fs::create_dir(place.path("other")).unwrap();
    place.write("other/second.pg2", FIRST);
    told("build second.pg2 renamed.pg2 -o d", 2, "are one kernel, which takes one engine");
    told("build second.pg2 other/second.pg2 -o d", 2, "are both named second");
    std::fs::create_dir(place.path("one")).unwrap();
    // Names that differ in capitals alone, in letters that a name does not take, or in both.
    for (one, two) in [("second", "Second"), ("a-b", "a_b"), ("a-b", "A_B"), ("P2P", "p2p"), ("x.y", "X_Y")] {
        place.write(&format!("one/{one}.pg2"), SECOND);
        place.write(&format!("other/{two}.pg2"), FIRST);
        for command in ["build", "synth"] {
            let board = if command == "synth" { " --board colorlight-i9" } else { "" };
            let words = format!("{command} one/{one}.pg2 other/{two}.pg2 -o d{board}");
            let err = place.run(&words).expect(2).err;
            assert!(err.contains("named") && err.contains("rename a file"), "{words}: {err}");
        }
    }
    told("build first.pg2 second.pg2 -o d --pipelines 1,2,3", 2, "--pipelines has 3 numbers for 2 kernels");
    told("build first.pg2 -o d --ii 1,2", 2, "--ii has 2 numbers for 1 kernel");
    told("build first.pg2 second.pg2 p2p p2p_paper gravity -o d", 2, "");
    told("build first.pg2 second.pg2 -o d --ii 1,fit", 2, "--ii fit needs --fit DEVICE");
    told(
        "build first.pg2 second.pg2 -o d --fit up5k --target ice40 --pipelines 100 --jmem 64",
        1,
        "no --ii up to 256 fits up5k",
    );
    told("build first.pg2 -o d --fit up5k --target ice40 --pipelines 1", 1, "; take less --jmem or a larger device");
    let fitted = place.run("explain p2p --fit up5k --target ice40 --freq 12").expect(0).err;
    assert!(fitted.contains("fits up5k by an estimate: about 5") && fitted.contains("logic cells of 5280"), "{fitted}");
    told("explain p2p_paper --fit up5k --target ecp5", 2, "--fit up5k is of the family ice40");
    assert!(!place.names().contains(&"d".to_string()));
    place.run("build first.pg2 second.pg2 -o d --prefix mine --pipelines 1").expect(0);
    let text = place.text("d/mine_engines.v");
    let named = |line: &&str| line.starts_with("module ");
    assert!(text.lines().filter(named).count() > 20);
    assert!(text.lines().filter(named).all(|line| line.starts_with("module mine_")));
    place.run("build first.pg2 second.pg2 -o f --fit ecp5-45 --target ecp5 --ii fit,2").expect(0);
    assert_eq!(place.json("f/manifest.json")["kernels"][1]["ii"], 2);
}
