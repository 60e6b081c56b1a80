//! The serial link: an engine's streams over a UART, in frames that survive a bad line.
//!
//! Four layers, each the simplest that does its duty; `docs/link.md` argues the choices.
//!
//! | layer | what it does | at the board |
//! |---|---|---|
//! | bytes | UART, 8 data bits, no parity, 1 stop bit | `templates/uart_rx.v`, `uart_tx.v` |
//! | frames | flags, byte stuffing, CRC-32: what is not whole is dropped ([`frame`]) | `link_rx.v`, `link_tx.v` |
//! | stream | go-back-N over byte offsets: each byte once and in order, and never more than there is space for | the same |
//! | beats | the bytes as an engine's packets ([`chunks`]) | `link_deliver.v`, `link_gather.v` |
//!
//! The board's end has no timer: the host asks, repeats and gives up. `board::BoardEnd` is that end in Rust, state for
//! state what the Verilog of `hardware` does; [`host::HostEnd`] is the other end, without any input or output of its own.

pub mod board;
pub mod chunks;
pub mod frame;
pub(crate) mod hardware;
pub mod host;
mod identity;
pub mod medium;
pub(crate) mod streams;
mod timing;

pub use crate::engine::identity::EngineIdentity;
pub use hardware::netlist;
pub use identity::{Identity, PROTOCOL_VERSION, SEVERAL_VERSION, kernel_hash};
pub use timing::{Line, down_bytes, link_seconds};
