//! The link over Ethernet: the frames of the serial link in UDP datagrams, with 32-bit words in place of bytes.
//!
//! A datagram holds one frame ([`datagram`]). The network may lose, double, reorder, damage and cut datagrams, and anyone
//! on it may send some. So offsets have 32 bits, every frame carries the session's whole nonce, and a session is bound to
//! the host that opened it. [`board::BoardEnd`] is the board's end as a program. The host's end is that of the serial
//! link ([`crate::serial::host`]) with [`Datagrams`] as its medium. `docs/link.md` argues the choices.

pub mod board;
pub mod core;
pub mod datagram;
mod hardware;
mod medium;

pub use hardware::{netlist, netlist_that_holds};
pub use medium::Datagrams;

/// The UDP port that boards listen at.
pub const PORT: u16 = 20_550;
