//! Frames read back whatever they hold, and nothing else reads as a frame.

use super::*;
use testkit::Random;

fn frame(random: &mut Random) -> Frame {
    let length = random.below(MOST + 1);
    // Half of the payloads are made of what has to be stuffed.
    let special = random.once_in(2);
    let byte = |r: &mut Random| match special {
        true => r.pick(&[FLAG, ESCAPE, FLAG ^ 0x20, ESCAPE ^ 0x20]),
        false => r.bits() as u8,
    };
    let r = random.bits();
    Frame {
        kind: FrameType::from_bits(r as u8),
        session: (r >> 8) as u8 & 0x3f,
        seq: (r >> 16) as u16,
        ack: (r >> 32) as u16,
        taken: (r >> 48) as u16,
        payload: (0..length).map(|_| byte(random)).collect(),
    }
}

fn decode(line: &[u8]) -> Vec<Received> {
    let mut decoder = Decoder::default();
    line.iter().filter_map(|b| decoder.take(*b)).collect()
}

#[test]
fn the_check_is_that_of_ethernet() {
    let sum = !b"123456789".iter().fold(u32::MAX, |c, b| crc(c, *b));
    assert_eq!(sum, 0xcbf4_3926);
    assert_eq!(!crc_of(b"123456789"), sum);
    let with_check = b"123456789".iter().copied().chain(sum.to_le_bytes());
    assert_eq!(with_check.fold(u32::MAX, crc), RESIDUE);
}

#[test]
fn frames_read_back() {
    let mut random = Random::new(1);
    let frames: Vec<Frame> = (0..2000).map(|_| frame(&mut random)).collect();
    let line: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
    let found = decode(&line);
    assert_eq!(found, frames.into_iter().map(Received::Whole).collect::<Vec<_>>());
}

#[test]
fn damaged_frames_are_never_whole_and_the_next_one_is() {
    let mut random = Random::new(2);
    for case in 0..20_000 {
        let (sent, next) = (frame(&mut random), frame(&mut random));
        let mut line = sent.encode();
        let at = random.below(line.len());
        match random.below(4) {
            0 => line[at] ^= 1 << random.below(8),
            1 => drop(line.remove(at)),
            2 => line.insert(at, line[at]),
            _ => line.truncate(at),
        }
        line.extend(next.encode());
        let found = decode(&line);
        // A doubled or lost flag at either end does no harm, so the frame may have come through as it was.
        for frame in found.iter().filter_map(|r| if let Received::Whole(f) = r { Some(f) } else { None }) {
            assert!(*frame == sent || *frame == next, "case {case}: {frame:?}");
        }
        assert_eq!(found.last(), Some(&Received::Whole(next)), "case {case}");
    }
}

#[test]
fn a_line_without_flags_takes_no_memory() {
    let mut decoder = Decoder::default();
    for k in 0..100_000u32 {
        assert_eq!(decoder.take(k as u8 & 0x5f), None);
    }
    assert!(decoder.plain.len() < 300);
}
