//! Tests of the wire format.

use super::*;
use crate::engine::{Config, Layout};
use crate::{Flags, Reduce};

fn config(pipelines: u32, stream_bits: u32) -> Config {
    let f = |s: &str| s.parse().expect("a format");
    let layout = Layout {
        kernel: "k".into(),
        i: vec![("i_a".into(), f("int40")), ("i_b".into(), f("float18.9"))],
        j: vec![("j_a".into(), f("int64"))],
        params: vec![],
        outputs: vec![("o_x".into(), f("int33"), Reduce::Sum), ("o_y".into(), f("uint7"), Reduce::Max)],
        ..Layout::default()
    };
    Config {
        layout,
        pipelines,
        groups: 1,
        i_banks: 2,
        jmem_records: 64,
        stream_bits,
        segments: 16,
        pipeline_latency: 3,
        ii: 1,
        ident: None,
        filters: 0,
    }
}

#[test]
fn records_read_back() {
    let packing = config(1, 32).layout.i_packing();
    let patterns = [0xab_1234_5678u64, 0x2_0001, 1, 0];
    let words = packing.pack_all(2, &patterns);
    assert_eq!(words, [0x1234_5678, 0xab, 0x2_0001, 1, 0, 0]);
    let mut back = Vec::new();
    words.chunks(packing.words()).for_each(|w| packing.unpack(w, &mut back));
    assert_eq!(back, patterns);
}

#[test]
fn bits_above_an_element_are_dropped() {
    let mut back = Vec::new();
    config(1, 32).layout.i_packing().unpack(&[u32::MAX; 3], &mut back);
    assert_eq!(back, [0xff_ffff_ffff, 0x3_ffff]);
}

#[test]
fn a_record_without_elements_is_one_word() {
    let packing = Layout::default().j_packing();
    let mut words = Vec::new();
    packing.pack(&[], &mut words);
    assert_eq!(words, [0]);
    assert_eq!(Layout::default().param_packing().words(), 0);
}

#[test]
fn packets_are_written_as_the_table_says() {
    let mut s = Stream::default();
    s.load_j(5, 1, &[7, 8]);
    s.param(&[]);
    let run = RunHeader { tag: 9, n_i: 3, group: 2, keep: true, hold: true };
    s.run(run, &[Segment { first: 1, count: 2 }, Segment { first: 3, count: 0 }]);
    s.i_groups(2, 3, &[10, 11, 12, 13, 14, 15]);
    s.status(true);
    s.end();
    let packets: Vec<&[u32]> = s.packets().collect();
    let expected: [&[u32]; 7] = [
        &[0x0100_0000, 5, 1, 7, 8],
        &[0x0200_0000],
        &[0x0300_0003, 9, 3, 0x0200_0002, 1, 2, 3, 0],
        &[0x0400_0002, 10, 11, 12, 13],
        &[0x0400_0001, 14, 15],
        &[0x0500_0001],
        &[0x0600_0000],
    ];
    assert_eq!(packets, expected);
}

#[test]
fn beats_carry_the_packet_and_its_end() {
    let words = [1, 2, 3, 4, 5];
    let all: Vec<_> = beats(&words, 2).collect();
    assert_eq!(all, [(&[1u32, 2][..], false), (&[3, 4][..], false), (&[5][..], true)]);
    let mut padded = vec![9, 1, 2, 3];
    pad(&mut padded, 1, 4);
    assert_eq!(padded, [9, 1, 2, 3, 0]);
}

#[test]
fn results_read_back_with_and_without_padding() {
    for (lanes, stream) in [(3, 32), (3, 64), (5, 128)] {
        let c = config(lanes, stream);
        let mut words = vec![RESULT << 24 | 2, 77, 0x1001];
        words.resize(c.result_head_words() as usize, 0);
        let records = [0x1_0000_0002, 127, 5, 6];
        words.extend(c.layout.result_packing().pack_all(2, &records));
        let expected =
            Reply::Result { tag: 77, n: 2, flags: vec![Flags::OVERFLOW, Flags::WRAP], records: records.to_vec() };
        assert_eq!(Reply::parse(&words, &c).as_ref(), Ok(&expected));
        pad(&mut words, 0, c.beat_words());
        assert_eq!(Reply::parse(&words, &c), Ok(expected));
    }
}

#[test]
fn status_and_end_read_back() {
    let c = config(1, 64);
    let counters = Counters { cycles: 1 << 40 | 1, busy: 2, pairs: 3, protocol_error: true };
    assert_eq!(Reply::parse(&[STATUS_REPLY << 24 | 1, 1, 256, 2, 0, 3, 0], &c), Ok(Reply::Status(counters)));
    assert_eq!(Reply::parse(&[END_REPLY << 24, 0], &c), Ok(Reply::End));
}

#[test]
fn hostile_replies_are_errors() {
    let c = config(3, 32);
    let good = |n: u32| vec![0u32; (c.result_head_words() + n * c.layout.result_words()) as usize];
    let with = |header: u32, mut words: Vec<u32>| {
        words[0] = header;
        Reply::parse(&words, &c)
    };
    assert!(Reply::parse(&[], &c).is_err());
    assert!(with(RESULT << 24 | 1, good(1)).is_ok());
    assert!(with(RESULT << 24, good(0)).is_err());
    assert!(with(RESULT << 24 | 4, good(4)).is_err(), "more targets than lanes");
    assert!(with(RESULT << 24 | 0xff_ffff, good(3)).is_err());
    assert!(with(RESULT << 24 | 2, good(1)).is_err(), "too short");
    assert!(with(RESULT << 24 | 1, good(2)).is_err(), "too long");
    assert!(with(STATUS_REPLY << 24, vec![0; 6]).is_err());
    assert!(with(0, vec![0; 6]).is_err());
    assert!(with(LOAD_J << 24, vec![0; 6]).is_err());
    let mut flags = good(1);
    flags[2] = 0x20;
    assert!(with(RESULT << 24 | 1, flags).is_err(), "a sixth flag");
}

#[test]
fn engines_that_cannot_be_built_are_refused() {
    let good = config(3, 64);
    assert_eq!(good.verify(), Ok(()));
    for bad in [
        Config { pipelines: 0, ..good.clone() },
        Config { pipelines: 256, ..good.clone() },
        Config { stream_bits: 48, ..good.clone() },
        Config { i_banks: 0, ..good.clone() },
        Config { i_banks: 3, ..good.clone() },
        Config { jmem_records: 0, ..good.clone() },
        Config { segments: 0, ..good.clone() },
        Config { pipeline_latency: 0, ..good.clone() },
    ] {
        assert!(bad.verify().is_err(), "{bad:?}");
    }
}

#[test]
fn an_identity_reads_back_and_others_are_refused() {
    for stream_bits in [32, 64, 128] {
        let config = Config { ii: 256, groups: 2, ..config(6, stream_bits) };
        let ident = Ident::new(&config, 0xfedc_ba98_7654_3210);
        let packet = ident.packet();
        assert_eq!(packet.len(), IDENT_WORDS);
        let mut padded = packet.to_vec();
        pad(&mut padded, 0, config.beat_words());
        for words in [&packet[..], &padded] {
            assert_eq!(Ident::parse(words), Ok(ident.clone()));
            assert_eq!(Reply::parse(words, &config), Ok(Reply::Ident(ident.clone())));
        }
        assert_eq!((ident.record_words, &packet[13..]), ([2, 3, 0, 3], &[2, 3, 0, 3][..]));
        let with = |at: usize, word: u32| {
            let mut words = packet;
            words[at] = word;
            Ident::parse(&words).expect_err("wrong")
        };
        assert!(with(0, END_REPLY << 24).contains("where an engine says what it is"));
        assert!(with(0, packet[0] + 1).contains("speaks version 2 of the packets"));
        assert!(with(0, IDENT_REPLY << 24 | 1).contains("a stream is 32, 64 or 128 bits wide, not 0"));
        assert!(with(1, 0).contains("an engine has 1 to 255 pipelines, not 0"));
        assert!(with(6, 0x2020_2020).contains("letters, digits"));
        let longer = [&padded[..], &[0]].concat();
        assert!(Ident::parse(&longer).expect_err("too long").contains("words, not 17"));
        assert!(Ident::parse(&packet[..16]).expect_err("too short").contains("words, not 17"));
    }
}
