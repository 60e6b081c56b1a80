//! Datagrams that wait for the wire to a board. Hosts that send more than it carries lose the rest, as at the switch before a real one.

use hdl::ethernet::board::Peer;
use std::collections::VecDeque;

/// Bytes that wait at most: one millisecond of a gigabit.
const MOST: usize = 1 << 17;
/// Those of one sender: as many as the largest ring of a board holds, which a host does not exceed, so that nobody else takes all the
/// space.
const MOST_OF_ONE: usize = 1 << 16;

/// Frames that were given and have not passed yet.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    frames: VecDeque<(Peer, usize)>,
}

impl Waiting {
    /// Whether there is space for a frame of so many bytes, of which it takes note then. `left` frames of those before still wait.
    pub fn takes(&mut self, left: usize, from: Peer, bytes: usize) -> bool {
        self.frames.drain(..self.frames.len().saturating_sub(left));
        let own = self.frames.iter().filter(|(peer, _)| *peer == from).map(|f| f.1).sum::<usize>();
        let all = self.frames.iter().map(|f| f.1).sum::<usize>();
        let takes = all + bytes <= MOST && own + bytes <= MOST_OF_ONE;
        if takes {
            self.frames.push_back((from, bytes));
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_takes_its_share_of_the_room_and_leaves_the_rest() {
        let peer = |port| Peer { address: 1, port };
        let mut waiting = Waiting::default();
        let flood =
            |waiting: &mut Waiting, port| (0..10_000).filter(|_| waiting.takes(usize::MAX, peer(port), 1000)).count();
        assert_eq!(flood(&mut waiting, 1), MOST_OF_ONE / 1000);
        assert!(waiting.takes(usize::MAX, peer(2), 1000));
        // Many senders fill all of it, until some has passed.
        let more: usize = (3..9).map(|port| flood(&mut waiting, port)).sum();
        assert!(more * 1000 < MOST && !waiting.takes(usize::MAX, peer(9), 1000));
        assert!(waiting.takes(100, peer(9), 1000) && waiting.takes(0, peer(1), MOST_OF_ONE));
    }
}
