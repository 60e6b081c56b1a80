//! The backend `board:udp:ADDRESS` by the command line, against boards behind sockets of this machine, good ones and bad ones.

use crate::common::network::{Setting, UdpBoard};
use crate::common::{Ended, Place, shipped, told_soon};
use pg2::graph::Graph;
use sim::board::fault::Fault;
use std::net::UdpSocket;
use std::time::Duration;

const KERNEL: &str = "int32 a[2] ipin; int40 b jpin; uint9 c jpin; int8 k param; int64 s fout; int40 m fout;
s += a[0] * (int32)c + (int32)b - a[1]; m max= b + k;";

fn compile(name: &str, text: &str) -> Graph {
    pg2::compile(name, text).unwrap_or_else(|e| panic!("{}", e[0].message)).graph
}

/// A folder with the kernel, 40 targets and 3000 sources.
fn place() -> Place {
    let place = Place::new();
    place.write("kernel.pg2", KERNEL);
    let mixed = |k: u64, m: u64| (k + 1).wrapping_mul(m).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let table = |head: &str, n: u64, a: u32, b: u32| -> String {
        let line = |k| format!("{},{}\n", mixed(k, 3) >> (64 - a), mixed(k, 5) >> (64 - b));
        format!("{head}\n") + &(0..n).map(line).collect::<String>()
    };
    place.write("i.csv", table("a[0],a[1]", 40, 32, 32));
    place.write("j.csv", table("b,c", 3000, 40, 9));
    place
}

fn run_on(place: &Place, backend: &str, out: &str) -> Ended {
    place.run(&format!("run kernel.pg2 --i i.csv --j j.csv --raw --param k=200 --backend {backend} -o {out}"))
}

/// All faults of datagrams at one rate.
fn all(rate: f64) -> Vec<Fault> {
    [Fault::Flip, Fault::Drop, Fault::Double, Fault::Cut, Fault::Swap].map(|fault| fault(rate)).to_vec()
}

#[test]
fn a_board_gives_the_bits_of_the_emulator_over_any_network() {
    let place = place();
    run_on(&place, "emulator", "wanted.csv").expect(0);
    for (k, faults) in [vec![], all(0.01), all(0.05)].into_iter().enumerate() {
        let stream_bits = [32, 64, 128][k];
        let setting = Setting { stream_bits, faults, seed: k as u64, ..Setting::default() };
        let board = UdpBoard::start(&compile("kernel", KERNEL), setting);
        for attempt in ["first.csv", "second.csv"] {
            run_on(&place, &format!("board:udp:{}", board.address), attempt).expect(0);
            assert_eq!(place.text(attempt), place.text("wanted.csv"), "case {k}");
        }
        assert_eq!(board.end().injected > 0, k > 0);
    }
}

#[test]
fn an_fmm_runs_over_a_network_with_faults() {
    let place = Place::new();
    let setting = Setting { pipelines: 8, faults: all(0.01), ..Setting::default() };
    let board = UdpBoard::start(&compile("p2p", &shipped("p2p")), setting);
    let fmm = "fmm --n 10000 --leaf 64 --m2l native -o";
    place.run(&format!("{fmm} wanted.csv --backend emulator")).expect(0);
    place.run(&format!("{fmm} found.csv --backend board:udp:{}", board.address)).expect(0);
    assert!(place.bytes("found.csv") == place.bytes("wanted.csv"));
    assert!(board.end().injected > 10);
}

/// The Verilog of link and engine, clock by clock.
#[cfg(unix)]
#[test]
fn a_simulated_board_gives_the_bits_of_the_emulator_over_a_network_with_faults() {
    use crate::common::has_verilator;
    use crate::common::simulated::Simulated;
    if !has_verilator() {
        return;
    }
    let place = place();
    run_on(&place, "emulator", "wanted.csv").expect(0);
    place.run("build kernel.pg2 -o d --pipelines 2 --jmem 4096 --freq 50 --target ecp5").expect(0);
    let faults: String = all(0.01).iter().map(|f| format!(" --fault {f}")).collect();
    let simulated = Simulated::start(&place, "sim", &format!("colorlight-i9 d --ethernet --words{faults}"));
    assert!(simulated.port.starts_with("udp:127.0.0.1:"), "{}", simulated.port);
    run_on(&place, &format!("board:{}", simulated.port), "found.csv").expect(0);
    assert_eq!(place.text("found.csv"), place.text("wanted.csv"));
    let saw = simulated.end(&place, "sim");
    let number = |key: &str| saw[key].as_f64().unwrap_or_else(|| panic!("{key} in {saw}"));
    // 3000 records of 3 words and 40 of 2 go in, 40 of 4 come out.
    assert!(number("bytes_in") > 36_000.0 && number("bytes_out") > 640.0 && number("injected") > 0.0, "{saw}");
    assert!(number("cycles") > 60_000.0 && number("idle_cycles") < number("cycles"), "{saw}");
    let refused = place.run("board-sim ulx3s d --ethernet").expect(2);
    assert!(refused.err.contains("has no Ethernet; those that have it: colorlight-i9"), "{}", refused.err);
    assert!(place.run("board-sim colorlight-i9 d --fault swap:0.1").expect(2).err.contains("needs --ethernet"));
    assert!(place.run("board-sim colorlight-i9 . --ethernet").expect(1).err.contains("manifest.json"));
}

#[test]
fn a_pulled_cable_and_a_dead_board_are_told() {
    let place = place();
    for (fault, told) in [
        (Fault::Pull(6000), "no longer answers; check cable and power"),
        (Fault::Stall(6000), "no longer answers; check cable and power"),
        (Fault::Stall(0), "no board answers at"),
    ] {
        let board = UdpBoard::start(&compile("kernel", KERNEL), Setting { faults: vec![fault], ..Setting::default() });
        let run = || run_on(&place, &format!("board:udp:{}", board.address), "out.csv");
        told_soon(&place, run, &[told, &board.address]);
    }
}

#[test]
fn a_board_serves_one_host_and_says_so_to_others() {
    use hdl::ethernet::datagram::{Datagram, DatagramType};
    let place = place();
    let board = UdpBoard::start(&compile("kernel", KERNEL), Setting::default());
    let backend = format!("board:udp:{}", board.address);
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let send = |kind| other.send_to(&Datagram::bare(kind, 5).encode(), &board.address).unwrap();
    send(DatagramType::Start);
    let busy = std::thread::scope(|scope| {
        let run = scope.spawn(|| run_on(&place, &backend, "out.csv"));
        while !run.is_finished() {
            send(DatagramType::Notice);
            std::thread::sleep(Duration::from_millis(50));
        }
        run.join().unwrap().expect(3)
    });
    assert!(busy.err.contains("is in use by a program on 127.0.0.1"), "{}", busy.err);
    assert!(!place.names().contains(&"out.csv".to_string()));
    send(DatagramType::End);
    run_on(&place, &backend, "out.csv").expect(0);
}

#[test]
fn boards_are_found_and_wrong_addresses_refused() {
    let place = place();
    let board = UdpBoard::start(&compile("kernel", KERNEL), Setting::default());
    let found = place.run(&format!("list boards --scan {}", board.address)).expect(0);
    assert!(found.out.starts_with(&format!("board:udp:{}  runs `kernel` (", board.address)), "{}", found.out);
    assert!(found.out.trim_end().ends_with("with 2 pipelines at 50 MHz"), "{}", found.out);
    assert_eq!(found.out.lines().count(), 1);
    // Nobody listens there.
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let none = place.run(&format!("list boards --scan {free}")).expect(0);
    assert!(none.out.is_empty() && none.err.contains("no board answered"), "{}", none.err);
    assert!(place.run("list kernels --scan").expect(2).err.contains("pairforge list boards --scan"));
    let refused = |backend: &str, code| run_on(&place, backend, "out.csv").expect(code).err;
    assert!(
        refused("board:udp:127.0.0.1:x", 3).contains("names no port; a board on the network is named as udp:ADDRESS")
    );
    assert!(refused("board:udp:", 3).contains("names no address"));
    assert!(refused(&format!("board:udp:{free}"), 3).contains("no board answers at udp:127.0.0.1"));
}
