//! Engines behind a stream of bytes, `board:tcp:HOST:PORT` and `board:pipe:COMMAND`: simulated ones, whose bits are the
//! emulator's, for this program and for the client in C; and ends of a stream that are no engine.
#![cfg(unix)]

use crate::common::simulated::Simulated;
use crate::common::{Ended, Place, has_verilator};
use hdl::engine::bytes::put;
use hdl::engine::protocol::{END_REPLY, Ident, STATUS_REPLY};
use hdl::engine::{Config, Layout};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

const KERNEL: &str = "int32 a[2] ipin; int40 b jpin; uint9 c jpin; int64 s fout; int40 m fout;
s += (int64)a[0] * (int64)c + (int64)b - (int64)a[1]; m max= b;";

/// Patterns of the k-th target and of the k-th source.
fn target(k: u64) -> [u64; 2] {
    [(k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32, (k + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33]
}

fn source(k: u64) -> [u64; 2] {
    [(k + 5).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24, k % 512]
}

/// A folder with the kernel, targets and sources.
pub fn kernel() -> Place {
    let place = Place::new();
    place.write("kernel.pg2", KERNEL);
    let lines = |head: &str, all: &mut dyn Iterator<Item = [u64; 2]>| {
        all.fold(format!("{head}\n"), |text, [x, y]| text + &format!("{x},{y}\n"))
    };
    place.write("i.csv", lines("a[0],a[1]", &mut (0..7).map(target)));
    place.write("j.csv", lines("b,c", &mut (0..40).map(source)));
    place
}

/// The same, and in `d` its engine.
fn place() -> Place {
    let place = kernel();
    place.run("build kernel.pg2 -o d --pipelines 3 --jmem 192 --freq 48 --target ecp5 --stream 64").expect(0);
    place
}

/// Writes the words of targets and sources, as programs in C read them.
pub fn write_words(place: &Place) {
    let words = |n: u64, record: fn(u64) -> Vec<u64>| {
        (0..n).flat_map(record).map(|word| format!("{word:x}\n")).collect::<String>()
    };
    place.write("i.txt", words(7, |k| target(k).to_vec()));
    place.write("j.txt", words(40, |k| vec![source(k)[0] & 0xffff_ffff, source(k)[0] >> 32, source(k)[1]]));
}

/// The output of programs in C for each target, its flags and words, as rows of CSV.
pub fn columns(out: &str) -> Vec<String> {
    out.lines()
        .map(|line| {
            let word: Vec<u64> = line.split(' ').map(|w| u64::from_str_radix(w, 16).expect("words")).collect();
            let [0, s_low, s_high, m_low, m_high] = word[..] else { panic!("{line}") };
            format!("{},{}", s_high << 32 | s_low, m_high << 32 | m_low)
        })
        .collect()
}

pub fn run_on(place: &Place, backend: &str, out: &str) -> Ended {
    place.run(&format!("run kernel.pg2 --i i.csv --j j.csv --raw --backend {backend} -o {out}"))
}

#[test]
fn an_engine_behind_any_stream_gives_the_bits_of_the_emulator() {
    if !has_verilator() {
        return;
    }
    let place = place();
    run_on(&place, "emulator", "wanted.csv").expect(0);
    let simulated = Simulated::start(&place, "sim", "ulx3s d --tcp");
    assert!(simulated.port.starts_with("tcp:127.0.0.1:"), "{}", simulated.port);
    run_on(&place, &format!("board:{}", simulated.port), "tcp.csv").expect(0);
    let saw = simulated.end(&place, "sim");
    // 40 records of 3 words and 7 of 2 go in, 7 of 4 come out.
    assert!(saw["bytes_in"].as_u64() > Some(536) && saw["bytes_out"].as_u64() > Some(112), "{saw}");
    assert!(saw["cycles"].as_u64() > Some(100) && saw["board"] == "ulx3s", "{saw}");
    place
        .program("serve", concat!("exec ", env!("CARGO_BIN_EXE_pairforge"), " board-sim ulx3s d --pipe --json \"$1\""));
    let mut command = place.command("run kernel.pg2 --i i.csv --j j.csv --raw -o pipe.csv --backend");
    command.arg("board:pipe:./serve pipe.json | cat");
    place.finish(command).expect(0);
    for found in ["tcp.csv", "pipe.csv"] {
        assert_eq!(place.text(found), place.text("wanted.csv"), "{found}");
    }
}

#[test]
fn a_client_in_c_gives_the_bits_of_the_emulator() {
    if !has_verilator() || !testkit::require("cc") {
        return;
    }
    let place = place();
    run_on(&place, "emulator", "wanted.csv").expect(0);
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/client/engine.c");
    let strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", client, "-o"];
    let made = Command::new("cc").args(strict).arg(place.path("client")).status();
    assert!(made.expect("the compiler starts").success());
    write_words(&place);
    let run = |hash: &str, simulated: &Simulated| {
        let (host, port) = simulated.port.trim_start_matches("tcp:").split_once(':').expect("an address");
        let mut command = Command::new(place.path("client"));
        command.args([host, port, hash, "j.txt", "i.txt"]).current_dir(place.path("."));
        place.finish(command)
    };
    let simulated = Simulated::start(&place, "sim", "ulx3s d --tcp");
    let hash = place.json("d/manifest.json")["hash"].as_str().expect("a hash").to_string();
    let out = run(&hash, &simulated).expect(0).out;
    simulated.end(&place, "sim");
    let wanted = place.text("wanted.csv");
    assert_eq!(columns(&out), wanted.lines().skip(1).collect::<Vec<_>>());
    std::fs::remove_file(place.path("sim.port")).unwrap();
    let simulated = Simulated::start(&place, "sim", "ulx3s d --tcp");
    let err = run("0123456789abcdef", &simulated).expect(3).err;
    assert!(err.contains("the engine runs kernel") && err.contains("another kernel"), "{err}");
}

/// The answer of an engine for the kernel of the tests, or for another one.
fn ident(hash: u64) -> Ident {
    let config =
        Config { jmem_records: 64, ..Config::usual(Layout { kernel: "other".into(), ..Layout::default() }, 1) };
    Ident::new(&config, hash)
}

#[test]
fn ends_of_a_stream_that_are_no_engine_are_told_in_a_sentence() {
    let place = Place::new();
    place.write("kernel.pg2", KERNEL);
    place.write("i.csv", "a[0],a[1]\n1,2\n");
    place.write("j.csv", "b,c\n3,4\n");
    let graph = pg2::compile("kernel", KERNEL).unwrap_or_else(|_| panic!("the kernel compiles")).graph;
    let right = ident(hdl::serial::kernel_hash(&graph.canonical())).packet();
    let packet = |words: &[u32]| {
        let mut bytes = Vec::new();
        put(words, &mut bytes);
        bytes
    };
    let with = |at: usize, word: u32| {
        let mut words = right;
        words[at] = word;
        packet(&words)
    };
    let cases = [
        (Vec::new(), "closed the stream"),
        (packet(&right)[..20].to_vec(), "closed the stream"),
        (b"HTTP/1.0 400 Bad Request\r\n\r\n".to_vec(), "a packet has 1 to"),
        (vec![0; 4], "a packet has 1 to 16777216 words, not 0"),
        (packet(&[END_REPLY << 24]), "where an engine says what it is"),
        (packet(&right[..9]), "its identity has 9 words, not 17"),
        (with(0, right[0] + 1), "speaks version 2 of the packets"),
        (with(1, 0), "makes no sense: an engine has 1 to 255 pipelines"),
        ([packet(&right), packet(&right)].concat(), "packets that nobody asked for"),
        (packet(&ident(7).packet()), "no board runs the kernel `kernel`"),
        // An engine at first.
        ([packet(&right), vec![]].concat(), "closed the stream"),
        ([packet(&right), b"later".to_vec(), packet(&[STATUS_REPLY << 24; 3])].concat(), "packet"),
    ];
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    for (bytes, part) in cases {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("a host");
                let mut question = [0; 8];
                stream.read_exact(&mut question).expect("IDENT");
                assert_eq!(question, [1, 0, 0, 0, 0, 0, 0, 7]);
                let _ = stream.write_all(&bytes);
            });
            let err = run_on(&place, &format!("board:tcp:{address}"), "out.csv").expect(3).err;
            assert!(err.lines().count() == 1 && err.contains(part), "{part}: {err}");
            assert!(!place.path("out.csv").exists());
        });
    }
    drop(listener);
    let refused = |backend: &str, part: &str| {
        let mut command = place.command("run kernel.pg2 --i i.csv --j j.csv -o out.csv --backend");
        command.arg(backend);
        let err = place.finish(command).expect(3).err;
        assert!(err.lines().count() == 1 && err.contains(part), "{part}: {err}");
    };
    refused(&format!("board:tcp:{address}"), "cannot be reached");
    refused("board:tcp:nowhere", "name it as board:tcp:HOST:PORT");
    refused("board:pipe:", "no command is named");
    refused("board:pipe:exit 7", "the command `exit 7` closed the stream: it ended with exit status: 7");
    refused("board:pipe:echo hello, world", "the command `echo hello, world`: a packet has 1 to");
}
