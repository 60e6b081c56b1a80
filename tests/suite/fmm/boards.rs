//! `pairforge fmm` on ranks with a board each: the bytes of one rank with one board, and how runs end whose boards do not answer.
#![cfg(unix)]

use super::ranks::mpi;
use super::run;
use crate::common::board::PtyBoard;
use crate::common::network::{Setting, UdpBoard};
use crate::common::{Place, shipped, told_soon};
use pg2::graph::Graph;
use sim::board::fault::Fault;

/// The kernels of P2P, and of M2L at order 2.
fn kernels() -> [Graph; 2] {
    let m2l = pg2::gen_m2l(2).expect("an order that there is");
    [("p2p", shipped("p2p")), ("m2l_p2", m2l)].map(|(name, text)| pg2::compile(name, &text).expect("it compiles").graph)
}

/// Boards on the network with other numbers of lanes.
fn networked(graphs: &[Graph], count: u32) -> Vec<UdpBoard> {
    (0..count).map(|k| UdpBoard::with(graphs, Setting { pipelines: 2 + k, ..Setting::default() })).collect()
}

/// The backend of some boards.
fn backend(boards: &[UdpBoard]) -> String {
    let all: Vec<String> = boards.iter().map(|board| format!("udp:{}", board.address)).collect();
    format!("--backend board:{}", all.join(","))
}

#[test]
fn ranks_with_a_board_each_give_the_files_of_one() {
    let p = Place::new();
    let has_mpi = testkit::require("mpirun");
    let boards = networked(&kernels(), 3);
    let point: String = (0..30).map(|k| format!("0.3,0.4,0.5,{}\n", k % 5 - 1)).collect();
    p.write("point.csv", "x,y,z,q\n".to_string() + &point);
    p.write("t.csv", "x,y,z\n0.1,0.2,0.3\n0.5,0.5,0.5\n0.9,0.1,0.4\n0.3,0.4,0.6\n");
    for (k, words) in [
        "--n 500 --leaf 30 --m2l native --order 3",
        "--n 300 --leaf 20 --order 2 --dist plummer",
        "--n 300 --leaf 20 --near-only",
        "--n 200 --targets t.csv --leaf 20 --order 2",
        "--particles point.csv --order 2",
        "--n 2 --order 2",
        "--n 300 --tol 1e-2",
    ]
    .iter()
    .enumerate()
    {
        run(&p, &format!("{words} {} -o one.csv --json one.json", backend(&boards[..1])));
        let ranks = 2 + k % 2;
        let on = format!("{words} {} -o some.csv --json some.json", backend(&boards[..ranks]));
        let same = |what: &str| {
            assert!(p.bytes("one.csv") == p.bytes("some.csv"), "{words}: {ranks} ranks, {what}");
            let [one, some] = ["one.json", "some.json"].map(|name| p.json(name));
            for key in ["backend", "order", "leaf", "pairs", "streamed", "flags"] {
                assert_eq!(one[key], some[key], "{words}: {ranks} ranks, {what}: {key}");
            }
            // Each target goes to a board.
            assert!(some["words"]["i"].as_u64() >= one["words"]["i"].as_u64(), "{words}: {some}");
        };
        run(&p, &format!("{on} --ranks {ranks}"));
        same("threads");
        if has_mpi && k < 2 {
            mpi(&p, ranks, "", &on).expect(0);
            same("MPI");
        }
    }
}

#[test]
fn a_rank_takes_several_boards_and_lines() {
    let p = Place::new();
    let [p2p, m2l] = kernels();
    let boards = [&p2p, &m2l, &m2l, &p2p].map(|kernel| PtyBoard::start(kernel, Setting::default()));
    let ports = boards.each_ref().map(|board| board.path.as_str());
    run(&p, &format!("--n 120 --leaf 10 --order 2 -o one.csv --backend board:{}", ports[..2].join(",")));
    run(&p, &format!("--n 120 --leaf 10 --order 2 -o two.csv --backend board:{} --ranks 2", ports.join(",")));
    assert!(p.bytes("one.csv") == p.bytes("two.csv"));
    for (count, ranks, part) in [
        (1, 3, "1 board is named for 3 ranks, and a board serves one process: name 3 boards"),
        (3, 2, "3 boards are named for 2 ranks"),
        (4, 7, "name 7 boards"),
    ] {
        let words = format!("--n 120 --order 2 --backend board:{} -o out.csv", ports[..count].join(","));
        let ended = p.run(&format!("fmm {words} --ranks {ranks}")).expect(2);
        assert!(ended.err.contains(part) && ended.err.matches("error: ").count() == 1, "{}", ended.err);
    }
    let twice = format!("--n 120 --order 2 --backend board:{0},{0} -o out.csv --ranks 2", ports[0]);
    told_soon(&p, || p.run(&format!("fmm {twice} --m2l native")), &[ports[0], "in use"]);
}

#[test]
fn a_board_that_falls_silent_ends_all_ranks_with_one_sentence() {
    let p = Place::new();
    let [p2p, _] = kernels();
    let words = "--n 800 --leaf 40 --m2l native -o out.csv";
    for (fault, told) in [(Fault::Stall(0), "no board answers at"), (Fault::Stall(9000), "no longer answers")] {
        let good = UdpBoard::start(&p2p, Setting::default());
        let silent = UdpBoard::start(&p2p, Setting { faults: vec![fault], ..Setting::default() });
        let on = format!("{words} --backend board:udp:{},udp:{}", good.address, silent.address);
        let one_sentence = |run: &dyn Fn() -> crate::common::Ended| {
            told_soon(
                &p,
                || {
                    let ended = run();
                    assert_eq!(ended.err.matches("error: ").count(), 1, "{}", ended.err);
                    ended
                },
                &[told, &silent.address],
            );
        };
        // The timeouts of the link takes seconds, so that each is waited for once.
        match fault == Fault::Stall(0) && testkit::require("mpirun") {
            true => one_sentence(&|| mpi(&p, 2, "", &on)),
            false => one_sentence(&|| p.run(&format!("fmm {on} --ranks 2"))),
        }
    }
    let good = PtyBoard::start(&p2p, Setting::default());
    let pulled = PtyBoard::start(&p2p, Setting { faults: vec![Fault::Pull(9000)], ..Setting::default() });
    let on = format!("fmm {words} --backend board:{},{} --ranks 2", pulled.path, good.path);
    told_soon(&p, || p.run(&on), &["is gone", &pulled.path]);
}
