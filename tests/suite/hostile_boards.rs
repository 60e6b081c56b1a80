//! Boards that say of themselves what no board is: one sentence and status 3, over a serial line and over a network.
#![cfg(unix)]

use crate::common::Place;
use hdl::engine::{Config, Layout};
use hdl::ethernet::datagram::{Datagram, DatagramType};
use hdl::serial::Identity;
use hdl::serial::frame::{Decoder, Frame, FrameType, Received};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::Random;

const KERNEL: &str = "int32 a ipin; int32 b jpin; int64 o fout;\no += (int64)(a - b);\n";

fn place() -> Place {
    let p = Place::new();
    p.write("k.pg2", KERNEL);
    p.write("i.csv", "a\n1\n2\n");
    p.write("j.csv", "b\n3\n4\n");
    p
}

/// The identity of a board that runs the kernel.
fn right(networked: bool) -> Identity {
    let graph = pg2::compile("k", KERNEL).unwrap_or_else(|_| panic!("the kernel compiles")).graph;
    let config = Config { jmem_records: 64, ..Config::usual(Layout { kernel: "k".into(), ..graph.layout() }, 1) };
    let identity = Identity::new(&[(&config, hdl::serial::kernel_hash(&graph.canonical()))], 48_000_000, 3_000_000);
    if networked { identity.over_ethernet() } else { identity }
}

/// Payloads of identities that are refused: one field after another with numbers that it cannot have, then random ones.
fn wrong(networked: bool) -> Vec<Vec<u8>> {
    // Byte, bytes, and numbers of the fields in docs/link.md: version, rings, width, lanes, groups, banks, segments, records, clock.
    let fields: [(usize, usize, &[u32]); 10] = [
        (4, 1, &[0, 3, 255]),
        (5, 1, &[0, 8, 17, 255]),
        (6, 1, &[0, 8, 17, 255]),
        (7, 1, &[0, 3, 5, 255]),
        (8, 1, &[0]),
        (9, 1, &[0, 3, 5, 255]),
        (10, 1, &[0, 3, 255]),
        (12, 4, &[0, u32::MAX]),
        (16, 4, &[0, (1 << 28) + 1, u32::MAX]),
        (20, 4, &[0]),
    ];
    let bytes = right(networked).encode(0);
    let mut all = Vec::new();
    for (at, size, numbers) in fields {
        for number in numbers {
            let mut changed = bytes.clone();
            changed[at..at + size].copy_from_slice(&number.to_le_bytes()[..size]);
            all.push(changed);
        }
    }
    all.push(right(!networked).encode(0));
    let mut random = Random::new(46 + networked as u64);
    while all.len() < 60 {
        let mut changed = bytes.clone();
        for _ in 0..1 + random.below(12) {
            let at = 4 + random.below(bytes.len() - 4);
            changed[at] = random.bits() as u8;
        }
        if Identity::decode(&changed).is_err() {
            all.push(changed);
        }
    }
    all
}

/// Runs the kernel on a board that `answer` plays until the command has ended.
fn refused(p: &Place, port: &str, answer: impl FnOnce(&AtomicBool) + Send) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| answer(&over));
        let ended = p.run(&format!("run k.pg2 --i i.csv --j j.csv --backend board:{port} -o out.csv"));
        over.store(true, Ordering::Relaxed);
        let err = ended.expect(3).err;
        let known = ["makes no sense", "none of this program's", "speaks version"];
        assert!(err.lines().count() == 1 && known.iter().any(|words| err.contains(words)), "{err}");
        assert!(!p.path("out.csv").exists());
    });
}

#[test]
fn identities_that_make_no_sense_are_refused_over_a_network() {
    let p = place();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.set_read_timeout(Some(Duration::from_millis(5))).expect("a socket of our own");
    let address = socket.local_addr().expect("a bound socket");
    for payload in wrong(true) {
        refused(&p, &format!("udp:{address}"), |over| {
            let mut buffer = [0; 2048];
            while !over.load(Ordering::Relaxed) {
                let Ok((n, from)) = socket.recv_from(&mut buffer) else { continue };
                let Some(asked) = Datagram::decode(&buffer[..n]) else { continue };
                if asked.kind != DatagramType::Start {
                    continue;
                }
                let bytes = [&asked.session.to_le_bytes(), &payload[4..]].concat();
                let word = |b: &[u8]| u32::from_le_bytes(std::array::from_fn(|k| b.get(k).copied().unwrap_or(0)));
                let payload = bytes.chunks(4).map(word).collect();
                let answer = Datagram { payload, ..Datagram::bare(DatagramType::Start, asked.session) };
                let _ = socket.send_to(&answer.encode(), from);
            }
        });
    }
}

#[test]
fn identities_that_make_no_sense_are_refused_over_a_serial_line() {
    let p = place();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a pseudo-terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("a pseudo-terminal of our own");
    let path = ptsname(&master, Vec::new()).expect("its name").into_string().expect("a name in ASCII");
    // Held open, so that reading gives no error between two commands.
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let _held = rustix::fs::open(path.as_str(), flags, Mode::empty()).expect("its other end");
    let mut line = std::fs::File::from(master);
    for payload in wrong(false) {
        let line = &mut line;
        refused(&p, &path, move |over| {
            let mut decoder = Decoder::default();
            let mut buffer = [0; 1024];
            while !over.load(Ordering::Relaxed) {
                let nap = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
                if poll(&mut [PollFd::new(&*line, PollFlags::IN)], Some(&nap)).unwrap_or(0) == 0 {
                    continue;
                }
                let n = line.read(&mut buffer).unwrap_or(0);
                for byte in &buffer[..n] {
                    let Some(Received::Whole(asked)) = decoder.take(*byte) else { continue };
                    if asked.kind == FrameType::Start {
                        let payload = [&asked.payload[..4], &payload[4..]].concat();
                        let answer =
                            Frame { kind: FrameType::Start, session: asked.session, seq: 0, ack: 0, taken: 0, payload };
                        let _ = line.write_all(&answer.encode());
                    }
                }
            }
        });
    }
}
