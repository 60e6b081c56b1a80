//! The switch in front of several engines as a program.

use hdl::engine::protocol::{END_REPLY, RESULT, STATUS_REPLY, Stream, beats, pad, reply_words};
use hdl::engine::switch::{Switch, To, addressed};
use hdl::engine::{Config, Layout};
use hdl::serial::chunks::Replies;
use hdl::{Format, Reduce};
use std::collections::VecDeque;

fn config(beat_words: u32, results: usize) -> Config {
    let format = Format::int(32, true).expect("int32 is a format");
    let outputs = (0..results).map(|k| (format!("o_{k}"), format, Reduce::Sum)).collect();
    let layout = Layout { outputs, ..Layout::default() };
    Config { stream_bits: 32 * beat_words, ..Config::usual(layout, 1) }
}

#[test]
fn packets_go_to_the_engines_that_they_name() {
    for beat_words in [1, 2, 4] {
        let mut stream = Stream::default();
        (0..9u32).for_each(|k| stream.packet((0..=5 * k).map(|w| 100 * k + w)));
        let to = [0, 1, 2, 2, 3, 0, 9, 1, 0];
        let mut switch = Switch::new(vec![config(beat_words, 1); 3]);
        let mut came = vec![Stream::default(); 3];
        let mut packets = vec![Vec::new(); 3];
        let addressed = addressed(&stream, &to, beat_words);
        for (beat, last) in addressed.packets().flat_map(|p| beats(p, beat_words)) {
            if let To::Engine(k) = switch.pass(beat, last) {
                packets[k].extend_from_slice(beat);
                if last {
                    came[k].packet(std::mem::take(&mut packets[k]));
                }
            }
        }
        for (number, came) in came.iter().enumerate() {
            let mine = stream.packets().zip(to).filter(|(_, to)| *to as usize == number).map(|(p, _)| p);
            assert!(came.packets().eq(mine), "engine {number}, {beat_words} words");
        }
    }
}

#[test]
fn answers_come_whole_and_in_turn() {
    let configs = vec![config(2, 3), config(2, 1)];
    let packet = |header: u32, k: usize| {
        let length = reply_words(header, &configs[k]).expect("a packet that there is") as u32;
        let mut words: Vec<u32> = std::iter::once(header).chain(1..length).collect();
        pad(&mut words, 0, 2);
        words.chunks(2).map(<[u32]>::to_vec).collect::<Vec<_>>()
    };
    let headers = [[RESULT << 24 | 4, STATUS_REPLY << 24, END_REPLY << 24]; 2];
    let mut engines: Vec<VecDeque<Vec<u32>>> =
        headers.iter().enumerate().map(|(k, all)| all.iter().flat_map(|h| packet(*h, k)).collect()).collect();
    let mut switch = Switch::new(configs.clone());
    let mut found = Vec::new();
    while switch.offers(|k| !engines[k].is_empty()) {
        found.push(switch.take(|k| engines[k].pop_front()).expect("an offered beat"));
    }
    let mut wanted = Vec::new();
    for h in 0..3 {
        for (k, all) in headers.iter().enumerate() {
            wanted.push(vec![all[h] & 0xff00_0000 | k as u32, 0]);
            wanted.extend(packet(all[h], k));
        }
    }
    assert_eq!(found, wanted);
    // What the host makes of it.
    let bytes: Vec<u8> = found.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
    let mut replies = Replies::default();
    let mut came = Vec::new();
    for part in bytes.chunks(7) {
        replies.take(part, &configs, &mut |number, packet| came.push((number, packet[0]))).unwrap();
    }
    let wanted: Vec<(usize, u32)> = (0..3).flat_map(|h| [(0, headers[0][h]), (1, headers[1][h])]).collect();
    assert_eq!((came, replies.ends), (wanted, 2));
}
