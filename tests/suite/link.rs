//! The backend `board:PORT` by the command line, against boards behind pseudo-terminals, good ones and bad ones.

use crate::common::board::{PtyBoard, Setting};
use crate::common::{Place, shipped, told_soon};
use pg2::graph::Graph;
use sim::board::fault::Fault;
use std::time::Duration;

const KERNEL: &str = "int32 a[2] ipin; int40 b jpin; uint9 c jpin; int8 k param; int64 s fout; int40 m fout;
s += a[0] * (int32)c + (int32)b - a[1]; m max= b + k;";

fn compile(name: &str, text: &str) -> Graph {
    pg2::compile(name, text).unwrap_or_else(|e| panic!("{}", e[0].message)).graph
}

/// A folder with the kernel, 40 targets and 300 sources.
fn place() -> Place {
    let place = Place::new();
    place.write("kernel.pg2", KERNEL);
    let line = |k: u64, of: &[(u64, u32)]| -> String {
        let mixed = |m: u64| (k + 1).wrapping_mul(m).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        of.iter().map(|(m, bits)| (mixed(*m) & (u64::MAX >> (64 - bits))).to_string()).collect::<Vec<_>>().join(",")
    };
    let table = |head: &str, n: u64, of: &[(u64, u32)]| {
        head.to_string() + "\n" + &(0..n).map(|k| line(k, of) + "\n").collect::<String>()
    };
    place.write("i.csv", table("a[0],a[1]", 40, &[(3, 32), (5, 32)]));
    place.write("j.csv", table("b,c", 300, &[(7, 40), (11, 9)]));
    place
}

fn run_on(place: &Place, backend: &str, out: &str) -> crate::common::Ended {
    let file = "run kernel.pg2 --i i.csv --j j.csv --raw --param k=200";
    place.run(&format!("{file} --backend {backend} -o {out} --json {out}.json"))
}

#[test]
fn a_board_gives_the_bits_of_the_emulator_over_any_line() {
    let place = place();
    run_on(&place, "emulator", "wanted.csv").expect(0);
    let lines = [
        vec![],
        vec![Fault::Flip(1e-3)],
        vec![Fault::Drop(1e-3)],
        vec![Fault::Double(2e-3)],
        vec![Fault::Cut(1e-4)],
        vec![Fault::Flip(5e-4), Fault::Drop(5e-4), Fault::Double(5e-4), Fault::Cut(5e-5)],
    ];
    for (k, faults) in lines.into_iter().enumerate() {
        let stream_bits = [32, 64, 128][k % 3];
        let setting =
            Setting { pipelines: 3, stream_bits, faults: faults.clone(), seed: k as u64, ..Setting::default() };
        let board = PtyBoard::start(&compile("kernel", KERNEL), setting);
        for attempt in ["first.csv", "second.csv"] {
            run_on(&place, &format!("board:{}", board.path), attempt).expect(0);
            assert_eq!(place.text(attempt), place.text("wanted.csv"), "{faults:?}");
        }
        assert_eq!(place.json("first.csv.json")["pairs"], 40 * 300);
    }
}

#[test]
fn an_fmm_runs_on_two_boards() {
    let place = Place::new();
    let p2p = PtyBoard::start(&compile("p2p", &shipped("p2p")), Setting { pipelines: 4, ..Setting::default() });
    let text = pg2::gen_m2l(2).expect("a kernel of order 2");
    let setting = Setting { pipelines: 2, jmem_words: 8192, ..Setting::default() };
    let m2l = PtyBoard::start(&compile("m2l_p2", &text), setting);
    let fmm = "fmm --n 600 --leaf 20 --order 2 -o";
    place.run(&format!("{fmm} wanted.csv --backend emulator")).expect(0);
    // The boards are distinguished by the identities that they report, in any order.
    place.run(&format!("{fmm} found.csv --backend board:{},{}", m2l.path, p2p.path)).expect(0);
    assert_eq!(place.text("found.csv"), place.text("wanted.csv"));
    let lone = place.run(&format!("{fmm} - --backend board:{}", p2p.path)).expect(3);
    assert!(lone.err.contains("no board runs the kernel `m2l_p2`"), "{}", lone.err);
    assert!(lone.err.contains(&format!("{} runs `p2p`", p2p.path)), "{}", lone.err);
    // One board is enough with M2L on the CPU.
    place.run(&format!("{fmm} wanted.csv --m2l native --backend emulator")).expect(0);
    place.run(&format!("{fmm} found.csv --m2l native --backend board:{}", p2p.path)).expect(0);
    assert_eq!(place.text("found.csv"), place.text("wanted.csv"));
}

#[test]
fn a_board_that_runs_another_kernel_is_refused() {
    let place = place();
    // One more bit is another kernel, whatever its name.
    let other = compile("kernel", &KERNEL.replace("uint9", "uint10"));
    let board = PtyBoard::start(&other, Setting::default());
    let refused = run_on(&place, &format!("board:{}", board.path), "out.csv").expect(3);
    assert!(refused.err.contains("no board runs the kernel `kernel`"), "{}", refused.err);
    assert!(refused.err.contains("pairforge synth kernel --board"), "{}", refused.err);
    assert!(!place.names().contains(&"out.csv".to_string()));
}

#[test]
fn other_names_are_no_other_kernel() {
    let place = place();
    let renamed = KERNEL.replace("a[", "alpha[").replace(" b ", " beta ").replace("int40 b ", "int40 beta ");
    let renamed = renamed.replace("(int32)b", "(int32)beta").replace("b + k", "beta + k");
    let board = PtyBoard::start(&compile("other", &renamed), Setting::default());
    run_on(&place, &format!("board:{}", board.path), "out.csv").expect(0);
}

#[test]
fn a_pulled_cable_and_a_dead_board_are_told() {
    let place = place();
    for (fault, told) in [
        (Fault::Pull(3000), "is gone"),
        (Fault::Stall(3000), "no longer answers; check cable and power"),
        (Fault::Stall(0), "no board answers at"),
    ] {
        let board = PtyBoard::start(&compile("kernel", KERNEL), Setting { faults: vec![fault], ..Setting::default() });
        let run = || run_on(&place, &format!("board:{}", board.path), "out.csv");
        told_soon(&place, run, &[told, &board.path]);
    }
}

#[test]
fn ports_that_cannot_be_used_are_refused_with_a_remedy() {
    let place = place();
    let refused = |backend: &str, code| run_on(&place, backend, "out.csv").expect(code).err;
    assert!(refused("board:/dev/no-such-port", 3).contains("there is no port /dev/no-such-port; connect the board"));
    assert!(refused("board:/dev/null", 3).contains("/dev/null is not a serial port"));
    assert!(refused("board:/dev/null@quick", 3).contains("`quick` is no baud rate"));
    assert!(refused("board", 2).contains("board:PORT"));
    assert!(refused("emulator:/dev/null", 2).contains("takes nothing behind its name"));
}

#[test]
fn a_port_serves_one_program_at_a_time() {
    let place = place();
    let board =
        PtyBoard::start(&compile("kernel", KERNEL), Setting { faults: vec![Fault::Stall(0)], ..Setting::default() });
    let backend = format!("board:{}", board.path);
    std::thread::scope(|scope| {
        scope.spawn(|| run_on(&place, &backend, "first.csv").expect(3));
        std::thread::sleep(Duration::from_millis(1500));
        let second = run_on(&place, &backend, "second.csv").expect(3);
        assert!(second.err.contains("is in use by another program"), "{}", second.err);
    });
}
