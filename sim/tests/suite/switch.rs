//! The Verilog of the switch in front of several engines: behind a link over a bad network, each engine gets its packets and the
//! host its answers, as the switch as a program says; and it passes the checks of three tools.

use crate::echo;
use crate::ethernet::{Bench, all, simulated_around};
use hdl::engine::protocol::{Stream, beats, pad};
use hdl::engine::switch::{MOST_ENGINES, Switch, To, addressed, around};
use hdl::engine::{Config, Layout};
use hdl::ethernet::netlist;
use hdl::rtl::netlist::Dir::{In, Out};
use hdl::rtl::netlist::{Item, Module, Netlist};
use sim::stimuli::Random;
use std::collections::VecDeque;
use std::process::Command;

/// An engine that gives back what it takes, at a pace of its own, with its number in some bits.
fn echo(number: usize, stream_bits: u32) -> Module {
    let mut m = Module { name: format!("echo{number}_engine"), ..Module::default() };
    let s = stream_bits;
    for (dir, name, width) in [
        (In, "clk", 1),
        (In, "rst", 1),
        (In, "s_tdata", s),
        (In, "s_tvalid", 1),
        (Out, "s_tready", 1),
        (In, "s_tlast", 1),
        (Out, "m_tdata", s),
        (Out, "m_tvalid", 1),
        (In, "m_tready", 1),
        (Out, "m_tlast", 1),
    ] {
        m.port(dir, name, width);
    }
    m.items.push(Item::Text(format!(
        "    reg [22:0] noise;
    reg full, last;
    reg [{high}:0] beat;
    wire pause = noise[{pace}:0] != {bits}'d0;
    assign s_tready = ~full & ~pause;
    assign m_tvalid = full;
    assign m_tdata = beat;
    assign m_tlast = last;
    always @(posedge clk) begin
        noise <= rst ? 23'd{seed} : {{noise[21:0], noise[22] ^ noise[17]}};
        if (s_tvalid & s_tready) begin
            beat <= {{s_tdata[{high}:8], s_tdata[7:0] ^ 8'd{number}}};
            last <= s_tlast;
        end
        full <= ~rst & ((s_tvalid & s_tready) | (full & ~m_tready));
    end",
        high = s - 1,
        pace = number % 3,
        bits = number % 3 + 1,
        seed = 5 + number,
    )));
    m
}

/// The engines behind the switch.
fn engines(count: usize, stream_bits: u32) -> Netlist {
    let echoes: Vec<Module> = (0..count).map(|k| echo(k, stream_bits)).collect();
    let names: Vec<&str> = echoes.iter().map(|m| m.name.as_str()).collect();
    let mut all = around("echo", &names, stream_bits);
    echoes.into_iter().for_each(|m| all.add(m));
    all.verify().expect("a sound netlist");
    all
}

/// Packets, some of them for an engine that there is not, of a beat alone, or longer than a queue.
fn packets(random: &mut Random, count: usize, total: usize) -> (Stream, Vec<u8>) {
    let (mut stream, mut to) = (Stream::default(), Vec::new());
    while stream.words.len() < total {
        let most = [3, 40, 40, 1500][random.below(4) as usize];
        stream.packet((0..1 + random.below(most)).map(|_| random.bits() as u32));
        to.push(if random.below(9) == 0 { 200 } else { random.below(count as u64) as u8 });
    }
    (stream, to)
}

#[test]
fn each_engine_gets_its_packets_and_answers_come_whole() {
    answers_come_whole(&[(2, 32), (4, 128)]);
}

#[test]
#[ignore = "a proof in depth"]
fn each_of_two_to_four_engines_gets_its_packets_on_every_width() {
    answers_come_whole(&[(2, 64), (2, 128), (3, 32), (3, 64), (3, 128), (4, 32), (4, 64)]);
}

/// Boards of so many engines on streams of so many bits.
fn answers_come_whole(boards: &[(usize, u32)]) {
    for &(count, stream_bits) in boards {
        let link = netlist(&echo::identity(count, stream_bits, 50_000_000, 0, (13, 13)));
        let Some(board) = simulated_around(link, engines(count, stream_bits)) else { return };
        let mut bench = Bench::new(board, &all(0.01), count as u64);
        let beat_words = stream_bits / 32;
        let (packets, to) = packets(&mut Random::new(count as u64), count, 40_000);
        let mut stream = addressed(&packets, &to, beat_words);
        // The name of an engine without a packet behind it.
        stream.packet(vec![1; beat_words as usize]);
        // What the program gives to each engine, and so what each gives back.
        let configs = vec![Config { stream_bits, ..Config::usual(Layout::default(), 1) }; count];
        let mut switch = Switch::new(configs);
        let mut wanted = vec![VecDeque::new(); count];
        let mut words = 0;
        for packet in stream.packets() {
            let mut packet = packet.to_vec();
            pad(&mut packet, 0, beat_words);
            let mut answer: Option<(usize, Vec<u32>)> = None;
            for (beat, last) in beats(&packet, beat_words) {
                if let To::Engine(k) = switch.pass(beat, last) {
                    let mut beat = beat.to_vec();
                    beat[0] ^= k as u32;
                    answer.get_or_insert_with(|| (k, Vec::new())).1.extend(beat);
                }
            }
            if let Some((k, answer)) = answer {
                words += answer.len() + beat_words as usize;
                wanted[k].push_back(answer);
            }
        }
        bench.exchange_words(&stream, beat_words, words).expect("a network that is bad, but works");
        let mut came = &bench.came[..];
        let mut order = Vec::new();
        while !came.is_empty() {
            let (name, rest) = came.split_at(beat_words as usize);
            let k = (name[0] & 0xff) as usize;
            let packet = wanted[k].pop_front().expect("no more answers than packets");
            assert_eq!(name[0], packet[0] & 0xff00_0000 | k as u32);
            assert!(name[1..].iter().all(|w| *w == 0) && rest.starts_with(&packet), "an answer of engine {k}");
            came = &rest[packet.len()..];
            order.push(k);
        }
        assert!(wanted.iter().all(VecDeque::is_empty));
        // Answers overtake those of other engines.
        let asked: Vec<usize> = to.iter().map(|k| *k as usize).filter(|k| *k < count).collect();
        assert!(order.len() == asked.len() && order != asked);
    }
}

#[test]
fn the_switch_is_clean_on_every_width() {
    for count in 2..=MOST_ENGINES {
        for stream_bits in [32, 64, 128] {
            let netlist = engines(count, stream_bits);
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut files = Vec::new();
            for module in &netlist.modules {
                let (file, text) = (format!("{}.v", module.name), module.verilog());
                assert_eq!(testkit::used_before_declared(&text), None, "{}", module.name);
                std::fs::write(folder.path().join(&file), text).expect("the text is written");
                files.push(file);
            }
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let shape = format!("{count} engines, {stream_bits} bits");
            if let Some((good, said)) = testkit::slang(folder.path(), &files) {
                assert!(good && said.is_empty(), "{shape}\n{said}");
            }
            let verilator = ["--lint-only", "-Wall", "--top-module", &netlist.top];
            let icarus = ["-Wall", "-g2005", "-s", &netlist.top, "-o", "switch.vvp"];
            for (name, args) in [("verilator", &verilator[..]), ("iverilog", &icarus)] {
                let mut command = Command::new(name);
                let said = testkit::run(command.args(args).args(&files).current_dir(folder.path()));
                assert!(said.as_ref().is_none_or(|(good, text)| *good && text.trim().is_empty()), "{shape}: {said:?}");
            }
        }
    }
}
