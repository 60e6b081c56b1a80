//! The link: how packets get to an engine and back, whatever the engine is (emulated, simulated, a board).

use super::Config;
use super::protocol::Stream;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a link failed; the text names the tool or device and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkError(pub String);

/// An engine at the other end of two streams. It keeps its state between calls.
pub trait Link: Send {
    /// The configuration the engine was built with.
    fn config(&self) -> &Config;

    /// Sends whole packets in order, and hands every whole packet that comes back to `receive`, its words without
    /// beat padding. It reads while it writes, returns once all of `input` was taken, and, if the last packet
    /// is END, once that was answered. Packets of earlier calls may arrive in later ones.
    fn exchange(&mut self, input: &Stream, receive: &mut dyn FnMut(&[u32])) -> Result<(), LinkError>;

    /// The board that the engine is on, and its number there, where several engines can work at the same time.
    fn on_board(&self) -> Option<(Shared, usize)> {
        None
    }
}

/// Several engines that are reached together. They work at the same time, each on its own packets in their order.
pub trait Board: Send {
    /// The configurations the engines were built with.
    fn configs(&self) -> &[Config];

    /// As [`Link::exchange`], for packets of several engines: `to` has the number of each packet's engine, and `receive` gets
    /// the number of the engine that a packet comes from. It returns when every END so far is answered, if the last packet is
    /// one.
    fn exchange(&mut self, input: &Stream, to: &[u8], receive: &mut Receive) -> Result<(), LinkError>;
}

/// Takes a packet and the number of the engine that it comes from.
pub type Receive<'a> = dyn FnMut(usize, &[u32]) + 'a;

/// A board as the links to its engines have it.
pub type Shared = Arc<Mutex<dyn Board>>;

/// One engine of a board.
pub struct Channel {
    board: Shared,
    number: usize,
    config: Config,
}

impl Channel {
    /// The link to engine `number`.
    pub fn new(board: Shared, number: usize) -> Channel {
        let config = board.lock().unwrap_or_else(PoisonError::into_inner).configs()[number].clone();
        Channel { board, number, config }
    }
}

impl Link for Channel {
    fn config(&self) -> &Config {
        &self.config
    }

    fn exchange(&mut self, input: &Stream, receive: &mut dyn FnMut(&[u32])) -> Result<(), LinkError> {
        let to = vec![self.number as u8; input.ends.len()];
        self.board.lock().unwrap_or_else(PoisonError::into_inner).exchange(input, &to, &mut |_, packet| receive(packet))
    }

    fn on_board(&self) -> Option<(Shared, usize)> {
        Some((self.board.clone(), self.number))
    }
}
