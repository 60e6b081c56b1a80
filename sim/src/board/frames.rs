//! Frames of Ethernet as they are on the wire, preamble and check included: UDP over IPv4, and ARP.
//!
//! Layouts: IEEE 802.3, RFC 791 (IP), RFC 768 (UDP), RFC 826 (ARP). Numbers have their high byte first.

use hdl::ethernet::board::Peer;
use hdl::serial::frame::{RESIDUE, crc_of};

/// Preamble and start of frame.
const START: [u8; 8] = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5];
/// Bytes of a frame without its check, at least.
const LEAST: usize = 60;
/// The longest frame on the wire.
pub const MOST: usize = 8 + 1518;
const IP: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
const UDP: u8 = 17;

/// A station: MAC and IP address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Station {
    pub mac: [u8; 6],
    pub ip: u32,
}

impl Station {
    /// A host at that address.
    pub fn host(ip: u32) -> Station {
        let [a, b, c, d] = ip.to_be_bytes();
        Station { mac: [2, 0, a, b, c, d], ip }
    }
}

/// A message that a board sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sent {
    Datagram(Peer, Vec<u8>),
    /// An ARP request for that address.
    Question(u32),
    /// An ARP reply with its own address to a host.
    Answer,
}

/// A whole frame on the wire.
fn frame(to: [u8; 6], from: [u8; 6], kind: [u8; 2], payload: &[u8]) -> Vec<u8> {
    let mut bytes = [&to[..], &from, &kind, payload].concat();
    bytes.resize(bytes.len().max(LEAST), 0);
    let check = !crc_of(&bytes);
    [&START[..], &bytes, &check.to_le_bytes()].concat()
}

/// The check of a header of IP: 0 over one that has its check.
fn ip_check(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|b| u16::from_be_bytes([b[0], b[1]]) as u32).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

/// A datagram from a host to the board's port.
pub fn datagram(from: Peer, (board, port): (Station, u16), payload: &[u8]) -> Vec<u8> {
    let host = Station::host(from.address);
    let length = |more: usize| ((payload.len() + more) as u16).to_be_bytes();
    let mut header = [&[0x45, 0][..], &length(28), &[0, 0, 0x40, 0, 64, UDP, 0, 0]].concat();
    header.extend(host.ip.to_be_bytes().into_iter().chain(board.ip.to_be_bytes()));
    let check = ip_check(&header);
    header[10..12].copy_from_slice(&check.to_be_bytes());
    header.extend(from.port.to_be_bytes().into_iter().chain(port.to_be_bytes()).chain(length(8)));
    // UDP without a check of its own.
    header.extend([0, 0]);
    frame(board.mac, host.mac, IP, &[&header, payload].concat())
}

/// A host's answer (or with `asks` its question) to the board by ARP: who has what address.
pub fn arp(host: Station, board: Station, asks: bool) -> Vec<u8> {
    let mut bytes = [0, 1, 8, 0, 6, 4, 0, if asks { 1 } else { 2 }].to_vec();
    bytes.extend(host.mac.into_iter().chain(host.ip.to_be_bytes()));
    bytes.extend(if asks { [0; 6] } else { board.mac }.into_iter().chain(board.ip.to_be_bytes()));
    frame(if asks { [0xff; 6] } else { board.mac }, host.mac, ARP, &bytes)
}

/// Parses the board's message in a frame on the wire; the error says what is wrong with it.
pub fn read(wire: &[u8], (board, port): (Station, u16)) -> Result<Sent, String> {
    let bytes = wire.strip_prefix(&START[..]).ok_or("a frame without preamble")?;
    if bytes.len() < LEAST + 4 || bytes.len() > MOST - START.len() {
        return Err(format!("a frame of {} bytes", bytes.len()));
    }
    if crc_of(bytes) != RESIDUE {
        return Err("a frame with a wrong check".into());
    }
    let bytes = &bytes[..bytes.len() - 4];
    if bytes[6..12] != board.mac {
        return Err("a frame that is not from the board".into());
    }
    let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    if bytes[12..14] == ARP {
        let sender = bytes[14..20] == [0, 1, 8, 0, 6, 4] && bytes[22..28] == board.mac && word(28) == board.ip;
        return match (sender, half(20)) {
            (true, 1) if bytes[..6] == [0xff; 6] => Ok(Sent::Question(word(38))),
            (true, 2) if bytes[..6] == bytes[32..38] => Ok(Sent::Answer),
            _ => Err("a wrong frame of ARP".into()),
        };
    }
    let (total, length) = (half(16) as usize, half(38) as usize);
    let to = Peer { address: word(30), port: half(36) };
    let fits = 14 + total <= bytes.len() && total == 20 + length && length >= 8;
    if bytes[12..15] != [IP[0], IP[1], 0x45] || bytes[23] != UDP || ip_check(&bytes[14..34]) != 0 || !fits {
        return Err("a frame with wrong headers".into());
    }
    if word(26) != board.ip || half(34) != port || bytes[..6] != Station::host(to.address).mac {
        return Err("a datagram from or to a wrong place".into());
    }
    Ok(Sent::Datagram(to, bytes[42..14 + total].to_vec()))
}
