//! Boards that mean ill: identities of any bytes, and frames of any numbers.

use crate::link_common::identity;
use hdl::engine::{Config, Layout};
use hdl::ethernet::{Datagrams, datagram};
use hdl::serial::frame::{Frame, FrameType};
use hdl::serial::host::{Failure, HostEnd, Timeouts};
use hdl::serial::medium::{Medium, SerialLine};
use hdl::serial::{EngineIdentity, Identity};
use std::time::Duration;
use testkit::Random;

/// Numbers at the edges of fields of one, two and four bytes.
const EDGES: [u32; 20] =
    [0, 1, 2, 3, 4, 5, 8, 9, 11, 15, 16, 31, 127, 255, 256, 1 << 16, 1 << 20, (1 << 20) + 1, (1 << 28) + 1, u32::MAX];

/// An identity of 1 to 4 engines that is right, for one of the two links.
fn right(random: &mut Random, networked: bool) -> Identity {
    let one = identity(random.pick(&[32, 64, 128]), 11, 11);
    let engine = |k: u64| EngineIdentity { hash: k, kernel: format!("k{k}"), ..one.engines[0].clone() };
    let count = 1 + random.below(4u64);
    let several = Identity { engines: (0..count).map(engine).collect(), ..one.clone() };
    if networked { several.over_ethernet() } else { several }
}

/// The payload of such an identity with some of its fields, bytes or its length changed.
fn hostile(random: &mut Random, networked: bool) -> Vec<u8> {
    let mut bytes = right(random, networked).encode(7);
    for _ in 0..random.below(4) {
        let number = if random.once_in(3) { random.bits() as u32 } else { random.pick(&EDGES) };
        if bytes.len() == 4 {
            break;
        }
        let at = 4 + random.below(bytes.len() - 4);
        match random.below(8) {
            0..3 => bytes[at] = number as u8,
            3..6 => {
                let field = bytes[at / 4 * 4..].iter_mut().zip(number.to_le_bytes());
                field.for_each(|(byte, new)| *byte = new);
            }
            6 => bytes.truncate(at),
            _ => bytes.extend(std::iter::repeat_n(number as u8, random.below(60))),
        }
    }
    bytes.truncate(255);
    bytes
}

/// Result of the host's end for an answer, and for a thousand bytes to send after it.
fn opened<M: Medium>(answer: &[u8]) -> Result<Identity, Failure>
where
    M::Unit: Default,
{
    let mut host = HostEnd::<M>::new(7, Timeouts::default());
    host.transmit(Duration::ZERO)?;
    host.receive(Duration::ZERO, answer)?;
    let Some(identity) = host.identity().cloned() else { return Err(Failure::Silent) };
    host.send(&[M::Unit::default(); 1000]);
    while host.transmit(Duration::ZERO)?.is_some() {}
    Ok(identity)
}

/// Frame or datagram that answers the opening of the session, with that payload.
fn answer(networked: bool, payload: &[u8]) -> Vec<u8> {
    if !networked {
        let session = SerialLine::session(7) as u8;
        let payload = payload.to_vec();
        return Frame { kind: FrameType::Start, session, seq: 0, ack: 0, taken: 0, payload }.encode();
    }
    let word = |b: &[u8]| u32::from_le_bytes(std::array::from_fn(|k| b.get(k).copied().unwrap_or(0)));
    let payload = payload.chunks(4).map(word).collect();
    datagram::Datagram { payload, ..datagram::Datagram::bare(datagram::DatagramType::Start, Datagrams::session(7)) }
        .encode()
}

#[test]
fn an_identity_is_refused_or_that_of_a_board_that_can_be_built() {
    let (mut refused, mut taken) = (0, 0);
    for seed in 0..40_000 {
        let mut random = Random::new(seed);
        let networked = random.chance(0.5);
        let payload = hostile(&mut random, networked);
        let said = answer(networked, &payload);
        let found = if networked { opened::<Datagrams>(&said) } else { opened::<SerialLine>(&said) };
        match found {
            Ok(identity) => {
                taken += 1;
                for k in 0..identity.engines.len() {
                    let config: Config = identity.engine(k, Layout::default());
                    assert_eq!(config.verify(), Ok(()), "seed {seed}");
                }
                assert_eq!(identity.is_ethernet(), networked, "seed {seed}");
                assert!((1..=4).contains(&identity.engines.len()) && identity.clock_hz > 0, "seed {seed}");
                assert!(identity.engines.iter().all(|e| !e.kernel.contains(char::is_control)), "seed {seed}");
            }
            Err(Failure::Identity(why)) => {
                let known = ["makes no sense", "none of this program's", "speaks version"];
                assert!(known.iter().any(|words| why.contains(words)), "seed {seed}: {why}");
                refused += 1;
            }
            // A frame that has lost its nonce is none of ours.
            Err(e) => assert_eq!(e, Failure::Silent, "seed {seed}"),
        }
    }
    assert!(refused > 10_000 && taken > 5_000, "{refused} refused, {taken} taken");
}

#[test]
fn every_limit_of_an_engine_holds_for_the_identity_of_one() {
    let one = identity(32, 11, 11);
    type Change = fn(&mut EngineIdentity);
    let wrong: [(&str, Change); 10] = [
        ("pipelines, not 0", |e| e.pipelines = 0),
        ("lane groups, not 0", |e| e.groups = 0),
        ("2 pipelines do not make 3", |e| e.groups = 3),
        ("2 pipelines do not make 4", |e| e.groups = 4),
        ("banks of i registers, not 0", |e| e.i_banks = 0),
        ("segments in a list, not 0", |e| e.segments = 0),
        ("filters in front of a pipeline, not 17", |e| e.filters = 17),
        ("filters in front of a pipeline, not 1", |e| e.filters = 1),
        ("records of j memory, not 0", |e| e.jmem_records = 0),
        ("records of j memory, not 4294967295", |e| e.jmem_records = u32::MAX),
    ];
    for (words, change) in wrong {
        for (count, networked) in [(1, false), (1, true), (3, false), (3, true)] {
            let engine = |k: u64| EngineIdentity { hash: k, ..one.engines[0].clone() };
            let mut board = Identity { engines: (0..count).map(engine).collect(), ..one.clone() };
            board = if networked { board.over_ethernet() } else { board };
            change(board.engines.last_mut().expect("it has engines"));
            let why = Identity::decode(&board.encode(7)).expect_err(words);
            assert!(why.contains("makes no sense") && why.contains(words), "{why}");
        }
    }
    let named = |kernel: &str| {
        let mut board = one.clone();
        board.engines[0].kernel = kernel.into();
        Identity::decode(&board.encode(7)).is_ok()
    };
    assert!(named("p2p_paper") && !named("\u{1b}[2J") && !named("a b") && !named("é"));
    // Each link has a form of its own.
    let (serial, network) = (answer(false, &one.clone().over_ethernet().encode(7)), answer(true, &one.encode(7)));
    for found in [opened::<SerialLine>(&serial), opened::<Datagrams>(&network)] {
        assert!(matches!(&found, Err(Failure::Identity(why)) if why.contains("which this is not")), "{found:?}");
    }
}

/// An open session that hears frames of any numbers, all with a right check.
fn any_frames<M: Medium>(random: &mut Random, said: &[u8], frame: impl Fn(&mut Random) -> Vec<u8>)
where
    M::Unit: Default,
{
    let mut host = HostEnd::<M>::new(7, Timeouts::default());
    let _ = host.transmit(Duration::ZERO);
    host.receive(Duration::ZERO, said).expect("the identity is right");
    let mut now = Duration::ZERO;
    for _ in 0..40 {
        host.send(&vec![M::Unit::default(); random.below(3000)]);
        for _ in 0..random.below(4) {
            if !matches!(host.transmit(now), Ok(Some(_))) {
                break;
            }
        }
        if host.receive(now, &frame(random)).is_err() {
            return;
        }
        host.fetch();
        let _ = host.wake();
        now += Duration::from_micros(random.below(300_000));
    }
}

#[test]
fn a_host_survives_frames_of_any_numbers() {
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let number = |r: &mut Random| if r.chance(0.5) { r.below(4000) as u32 } else { r.bits() as u32 };
        let kinds = [FrameType::Data, FrameType::Notice, FrameType::Rewind];
        if random.chance(0.5) {
            let said = answer(false, &right(&mut random, false).encode(7));
            any_frames::<SerialLine>(&mut random, &said, |r| {
                let [seq, ack, taken] = [number(r), number(r), number(r)].map(|n| n as u16);
                let payload = vec![0x7e; r.below(256)];
                Frame { kind: r.pick(&kinds), session: SerialLine::session(7) as u8, seq, ack, taken, payload }.encode()
            });
        } else {
            let said = answer(true, &right(&mut random, true).encode(7));
            any_frames::<Datagrams>(&mut random, &said, |r| {
                let [seq, ack, taken] = [number(r), number(r), number(r)];
                let payload = vec![7; r.below(256)];
                let kind = r.pick(&[
                    datagram::DatagramType::Data,
                    datagram::DatagramType::Notice,
                    datagram::DatagramType::Rewind,
                ]);
                datagram::Datagram { kind, session: Datagrams::session(7), seq, ack, taken, payload }.encode()
            });
        }
    }
}
