//! The link: how packets get to an engine and back, whatever the engine is (emulated, simulated, a board).

use super::Config;
use super::protocol::Stream;

/// Why a link failed; the text names the tool or device and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkError(pub String);

/// An engine at the other end of two streams. It keeps its state between calls.
pub trait Link {
    /// What the engine was built with.
    fn config(&self) -> &Config;

    /// Sends whole packets in order, and hands every whole packet that comes back to `receive`, its words without
    /// beat padding. It reads while it writes, returns once all of `input` was taken, and, if the last packet
    /// is END, once that was answered. Packets of earlier calls may arrive in later ones.
    fn exchange(&mut self, input: &Stream, receive: &mut dyn FnMut(&[u32])) -> Result<(), LinkError>;
}
