//! The two ends of the link over thousands of random lines with faults: work is delivered exactly once and in order, or
//! the host says why not.

use crate::link_common::{Bench, Faults, identity, turned};
use hdl::engine::protocol::Stream;
use hdl::serial::board::BoardEnd;
use hdl::serial::chunks;
use hdl::serial::host::{Failure, Timeouts};
use hdl::serial::{Line, link_seconds};
use std::time::Duration;
use testkit::Random;

/// Random packets of up to `most` words, `total` words or a little more in all.
fn packets(random: &mut Random, most: u64, total: usize) -> Stream {
    let mut stream = Stream::default();
    while stream.words.len() < total {
        let length = 1 + random.below(most) as usize;
        // Flags and escapes are frequent in some packets.
        let special = random.below(4) == 0;
        let word = |r: &mut Random| if special { 0x7e7d_7d7e } else { r.bits() as u32 };
        let words: Vec<u32> = (0..length).map(|_| word(random)).collect();
        stream.packet(words);
    }
    stream
}

/// The words of packets as beats, and where packets end.
fn beats(stream: &Stream, beat_words: u32) -> (Vec<u32>, Vec<bool>) {
    let (mut words, mut lasts) = (Vec::new(), Vec::new());
    for packet in stream.packets() {
        let start = words.len();
        words.extend_from_slice(packet);
        hdl::engine::protocol::pad(&mut words, start, beat_words);
        let count = (words.len() - start) / beat_words as usize;
        lasts.extend((1..=count).map(|k| k == count));
    }
    (words, lasts)
}

/// Sends all of `stream` and waits until all of it came back.
fn exchange(bench: &mut Bench, stream: &Stream, beat_words: u32) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    chunks::pack(stream, beat_words, &mut bytes);
    bench.host.send(&bytes);
    let wanted = beats(stream, beat_words).0.len() * 4;
    let limit = bench.now + Duration::from_secs(600);
    while bench.host.unacknowledged() > 0 || bench.came.len() < wanted {
        bench.step()?;
        assert!(bench.now < limit, "the host gives up before that");
    }
    Ok(())
}

fn check(bench: &Bench, stream: &Stream, beat_words: u32) {
    let (words, lasts) = beats(stream, beat_words);
    assert_eq!(bench.engine.words, words);
    assert_eq!(bench.engine.lasts, lasts);
    let back: Vec<u8> = words.iter().enumerate().flat_map(|(k, w)| turned(k, *w).to_le_bytes()).collect();
    assert_eq!(bench.came, back);
}

/// Checks that the received words are right as far as they go.
fn check_prefix(bench: &Bench, stream: &Stream, beat_words: u32) {
    let (words, lasts) = beats(stream, beat_words);
    assert!(words.starts_with(&bench.engine.words) && lasts.starts_with(&bench.engine.lasts));
    let back: Vec<u8> = words.iter().enumerate().flat_map(|(k, w)| turned(k, *w).to_le_bytes()).collect();
    assert!(back.starts_with(&bench.came));
}

fn faults(random: &mut Random) -> Faults {
    let mut rate = |most: f64| if random.below(2) == 0 { 0.0 } else { most * random.below(1000) as f64 / 1000.0 };
    Faults { flip: rate(1e-3), drop: rate(1e-3), double: rate(1e-3), cut: rate(1e-4), noise: rate(1e-3) }
}

#[test]
fn work_is_delivered_once_and_in_order_over_any_line() {
    let mut faulty = 0;
    for seed in 0..1000 {
        let mut random = Random::new(seed);
        let stream_bits = [32, 64, 128][random.below(3) as usize];
        let rings = [9, 10, 11, 12, 14];
        let ring = |r: &mut Random| rings[r.below(5) as usize];
        let identity = identity(stream_bits, ring(&mut random), ring(&mut random));
        let lines = (faults(&mut random), faults(&mut random));
        // Timeouts is for dead boards; these lines are only bad.
        let timeouts = Timeouts { open: Duration::from_secs(60), ..Timeouts::default() };
        let most = [3, 40, 700][random.below(3) as usize];
        let total = 200 + random.below(800) as usize;
        let stream = packets(&mut random, most, total);
        let mut bench = Bench::new(seed, identity, lines, timeouts);
        exchange(&mut bench, &stream, stream_bits / 32)
            .unwrap_or_else(|e| panic!("seed {seed} at {:?}: {e:?} {lines:?} {:?}", bench.now, bench.host.traffic()));
        check(&bench, &stream, stream_bits / 32);
        faulty += (bench.host.traffic().again > 0) as u32;
    }
    println!("{faulty} of 1000 lines lost something");
    assert!(faulty > 500);
}

#[test]
fn offsets_turn_over_many_times() {
    let line = Faults { flip: 2e-4, drop: 1e-4, double: 1e-4, cut: 2e-5, noise: 0.0 };
    for seed in 0..4 {
        let mut bench = Bench::new(seed, identity(32, 11, 11), (line, line), Timeouts::default());
        let stream = packets(&mut Random::new(seed), 300, 150_000);
        (bench.take, bench.give) = (80, 80);
        exchange(&mut bench, &stream, 1).expect("such a line is good enough");
        check(&bench, &stream, 1);
    }
}

#[test]
fn a_clean_line_sends_nothing_twice_and_is_well_used() {
    let mut bench = Bench::new(1, identity(32, 12, 12), Default::default(), Timeouts::default());
    let mut stream = Stream::default();
    let mut random = Random::new(1);
    (0..100).for_each(|_| stream.packet((0..300).map(|_| random.bits() as u32)));
    (bench.take, bench.give) = (1000, 1000);
    exchange(&mut bench, &stream, 1).expect("a clean line");
    check(&bench, &stream, 1);
    let traffic = bench.host.traffic();
    assert_eq!((traffic.again, traffic.broken), (0, 0));
    let bytes = 4 * stream.words.len() as u32;
    let efficiency = (bytes * Duration::from_nanos(3333)).as_secs_f64() / bench.now.as_secs_f64();
    println!("{efficiency:.3} of the baud rate, {traffic:?}");
    assert!(efficiency > 0.85, "{efficiency}");
}

#[test]
fn predicted_seconds_are_those_of_the_line() {
    for (bits, ring) in [(32, 10), (32, 11), (64, 12), (128, 13)] {
        let identity = identity(bits, ring, ring);
        // The bench's line: 0.2 ms down, and on average half of a 1 ms burst up.
        let line = Line { turnaround: 0.7e-3, ..Line::new(&identity) };
        let mut bench = Bench::new(1, identity, Default::default(), Timeouts::default());
        let mut stream = Stream::default();
        let mut random = Random::new(ring as u64);
        (0..300).for_each(|_| stream.packet((0..200).map(|_| random.bits() as u32)));
        (bench.take, bench.give) = (1000, 1000);
        while bench.host.identity().is_none() {
            bench.step().expect("a clean line");
        }
        let start = bench.now;
        exchange(&mut bench, &stream, bits / 32).expect("a clean line");
        let found = (bench.now - start).as_secs_f64();
        let words = stream.words.len() as u64;
        let wanted = link_seconds(&line, words, 300, words);
        println!("{bits} bits, rings of 2^{ring}: {found:.4} s, predicted {wanted:.4} s");
        assert!((found / wanted - 1.0).abs() < 0.05, "rings of 2^{ring}: {found} s, predicted {wanted}");
    }
}

#[test]
fn several_exchanges_follow_each_other() {
    let line = Faults { flip: 1e-3, ..Faults::default() };
    let mut bench = Bench::new(3, identity(64, 10, 10), (line, line), Timeouts::default());
    let mut all = Stream::default();
    for k in 0..20 {
        let stream = packets(&mut Random::new(k), 30, 300);
        let mut bytes = Vec::new();
        chunks::pack(&stream, 2, &mut bytes);
        bench.host.send(&bytes);
        stream.packets().for_each(|p| all.packet(p.iter().copied()));
        let wanted = 4 * beats(&all, 2).0.len();
        while bench.host.unacknowledged() > 0 || bench.came.len() < wanted {
            bench.step().expect("a line that is good enough");
        }
        // Nobody listens for a while, longer than any timeouts.
        bench.now += Duration::from_secs(100);
        bench.host.resume(bench.now);
    }
    check(&bench, &all, 2);
}

#[test]
fn what_is_left_of_an_earlier_session_is_never_taken() {
    for seed in 0..300 {
        let line = faults(&mut Random::new(seed));
        let timeouts = Timeouts { open: Duration::from_secs(60), ..Timeouts::default() };
        let mut bench = Bench::new(seed, identity(32, 11, 11), (line, line), timeouts);
        let mut old = Vec::new();
        chunks::pack(&packets(&mut Random::new(seed + 1000), 50, 3000), 1, &mut old);
        bench.host.send(&old);
        for _ in 0..bench.random.clone().below(400) {
            bench.step().expect("work is under way");
        }
        // The program ends in the middle; its bytes are still under way in both directions.
        bench.host = hdl::serial::host::HostEnd::new(bench.random.bits() as u32, timeouts);
        bench.came.clear();
        let stream = packets(&mut bench.random, 50, 500);
        exchange(&mut bench, &stream, 1).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        check(&bench, &stream, 1);
    }
}

#[test]
fn a_board_that_dies_is_given_up_in_time() {
    for seed in 0..200 {
        let line = faults(&mut Random::new(seed));
        let mut bench = Bench::new(seed, identity(32, 11, 11), (line, line), Timeouts::default());
        let at = Duration::from_micros(bench.random.below(100_000));
        bench.dead = Some(at);
        let stream = packets(&mut Random::new(seed), 50, 20_000);
        let failure = exchange(&mut bench, &stream, 1).expect_err("the board is dead");
        assert!(matches!(failure, Failure::Silent | Failure::NoAnswer { .. }), "{failure:?}");
        assert!(bench.now < at + Duration::from_secs(8), "{:?}", bench.now);
        check_prefix(&bench, &stream, 1);
    }
}

#[test]
fn an_engine_that_stands_still_is_told_from_a_dead_board() {
    let mut bench = Bench::new(9, identity(32, 11, 11), Default::default(), Timeouts::default());
    bench.take = 0;
    let stream = packets(&mut Random::new(9), 50, 2000);
    assert_eq!(exchange(&mut bench, &stream, 1), Err(Failure::Stalled));
    assert!(bench.now < Duration::from_secs(32), "{:?}", bench.now);
    // It was asked all the time, but not without measure.
    assert!((100..3000).contains(&bench.host.traffic().sent), "{:?}", bench.host.traffic());
}

#[test]
fn a_board_that_begins_anew_is_noticed() {
    for seed in 0..100 {
        let mut bench = Bench::new(seed, identity(32, 11, 11), Default::default(), Timeouts::default());
        let stream = packets(&mut Random::new(seed), 50, 20_000);
        let mut bytes = Vec::new();
        chunks::pack(&stream, 1, &mut bytes);
        bench.host.send(&bytes);
        for _ in 0..100 + 10 * seed {
            bench.step().expect("work is under way");
        }
        check_prefix(&bench, &stream, 1);
        bench.board = BoardEnd::new(identity(32, 11, 11));
        let failure = loop {
            if let Err(e) = bench.step() {
                break e;
            }
        };
        assert_eq!(failure, Failure::Reset);
    }
}

#[test]
fn noise_without_a_board_is_no_answer() {
    let mut bench = Bench::new(4, identity(32, 11, 11), Default::default(), Timeouts::default());
    bench.dead = Some(Duration::ZERO);
    let failure = loop {
        let noise: Vec<u8> = (0..20).map(|_| bench.random.bits() as u8).collect();
        let now = bench.now;
        let mut random = bench.random.clone();
        bench.up.put(now, &noise, &mut random);
        bench.random = random;
        if let Err(e) = bench.step() {
            break e;
        }
    };
    assert!(matches!(failure, Failure::NoAnswer { bytes: 1.., frames: 0 }), "{failure:?}");
    assert!(bench.now <= Duration::from_secs(6));
}

#[test]
fn an_identity_reads_back() {
    let identity = identity(64, 9, 14);
    let payload = identity.encode(0xdead_beef);
    assert_eq!(hdl::serial::Identity::decode(&payload), Ok((0xdead_beef, identity.clone())));
    let mut other = payload.clone();
    other[4] = 9;
    assert!(hdl::serial::Identity::decode(&other).unwrap_err().contains("version 9"));
    assert!(hdl::serial::Identity::decode(&payload[1..]).is_err());
    let mut long = identity;
    long.engines[0].kernel = "a".repeat(100);
    assert_eq!(hdl::serial::Identity::decode(&long.encode(0)).unwrap().1.engines[0].kernel, "a".repeat(28));
}

#[test]
fn an_identity_of_several_engines_reads_back() {
    let one = identity(32, 11, 11);
    let engine = |k: u64| hdl::serial::EngineIdentity {
        kernel: format!("kernel_{k}"),
        hash: 7 << 60 | k,
        ii: 1 + k as u32,
        jmem_records: 1000 + k as u32,
        ..one.engines[0].clone()
    };
    for count in 2..=hdl::engine::switch::MOST_ENGINES as u64 {
        let several = hdl::serial::Identity { engines: (0..count).map(engine).collect(), ..one.clone() };
        let payload = several.encode(5);
        assert!(payload.len() <= hdl::serial::frame::MOST && payload.len().is_multiple_of(4));
        assert_eq!(hdl::serial::Identity::decode(&payload), Ok((5, several.clone())));
        for damaged in [&payload[..payload.len() - 1], &payload[..20], &payload[..3]] {
            assert!(hdl::serial::Identity::decode(damaged).is_err());
        }
        let twice = hdl::serial::Identity { engines: vec![engine(1); 2], ..several };
        assert!(twice.verify().unwrap_err().contains("are one kernel"));
    }
    let many = hdl::serial::Identity { engines: (0..5).map(engine).collect(), ..one };
    assert!(many.verify().unwrap_err().contains("1 to 4 engines"));
}
