//! Links between processes whose GPUs read each other's memory, and the windows through which they do.
//!
//! A transfer goes in rounds. In each one a GPU copies what is for others to a half of its window and marks it filled; all processes
//! meet, so that all marks have been asked for; then each GPU waits for the marks of the others, on the GPU, copies what is for it, and
//! marks that it has taken it. Rounds take the halves in turn. A half is filled again two rounds later: by then all processes have met once
//! more, behind their mark of what they had taken, for which the GPU waits. So a round takes one meeting of the hosts, and no host waits
//! for a GPU.

use super::communicator::{Message, Raw, Team, Transfer, both, numbers};
use crate::cuda::CudaError;
use crate::cuda::gpu_device::{GpuDevice, Mark};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

/// Bytes of half a window: at least, at most, and what they are a multiple of.
const LEAST: usize = 4 << 20;
const MOST: usize = 128 << 20;
const UNIT: usize = 1 << 20;

/// Random words in a new window: who opens it must find them.
const WORDS: usize = 4;

/// The windows of this process's GPUs, and the views of others.
pub struct Links<C: GpuDevice> {
    /// Bytes of half a window, of however many GPUs. All processes have the same.
    half: usize,
    devices: usize,
    /// The most that half a window may have.
    most: usize,
    /// None if one of the GPUs has none to show.
    windows: Vec<C::Window>,
    words: [u64; WORDS],
    /// For each process the handle that it sent, and the views of its GPUs that each own GPU has; none if it is not linked.
    peers: Vec<Peer<C>>,
    /// For each two processes whether they are linked: each reads all windows of the other.
    linked: Vec<Vec<bool>>,
    /// Rounds since all GPUs had nothing to do.
    rounds: usize,
}

struct Peer<C: GpuDevice> {
    ipc_handle: Vec<u8>,
    views: Vec<Vec<C::View>>,
}

impl<C: GpuDevice> Default for Peer<C> {
    fn default() -> Peer<C> {
        Peer { ipc_handle: Vec::new(), views: Vec::new() }
    }
}

impl<C: GpuDevice> Peer<C> {
    /// As it is once the process tells this.
    fn follow(self, devices: &[C], ipc_handle: &[u8]) -> Peer<C> {
        if self.ipc_handle == ipc_handle && !self.views.is_empty() {
            return self;
        }
        // The old ones go first.
        drop(self);
        Peer { ipc_handle: ipc_handle.to_vec(), views: views(devices, ipc_handle).unwrap_or_default() }
    }
}

impl<C: GpuDevice> Default for Links<C> {
    fn default() -> Links<C> {
        Links::with_most(MOST)
    }
}

impl<C: GpuDevice> Links<C> {
    /// With windows of two halves of at most so many bytes.
    pub fn with_most(most: usize) -> Links<C> {
        Links {
            half: 0,
            devices: 0,
            most,
            windows: Vec::new(),
            words: [0; WORDS],
            peers: Vec::new(),
            linked: Vec::new(),
            rounds: 0,
        }
    }

    /// Bytes of half a window for GPUs that each have so many bytes for others in a usual transfer.
    fn half_for(&self, bytes: usize) -> usize {
        bytes.clamp(LEAST, MOST).next_multiple_of(UNIT).min(self.most)
    }

    /// Whether two processes read each other's windows.
    fn are_linked(&self, a: usize, b: usize) -> bool {
        self.linked.get(a).and_then(|row| row.get(b)).copied().unwrap_or(false)
    }

    /// Whether some processes do not, so that they give each other data by way of their hosts.
    fn some_are_apart(&self) -> bool {
        let count = self.linked.len();
        (0..count).any(|a| (0..count).any(|b| a != b && !self.linked[a][b]))
    }

    /// Closes the views of others' windows. The windows of this process stay until all have done so, and then goes with `self`.
    pub fn close(&mut self) {
        self.peers.clear();
        self.linked.clear();
    }

    /// New windows, all of them or none.
    fn open(&mut self, devices: &[C], half: usize) {
        self.windows.clear();
        (self.half, self.devices) = (half, devices.len());
        self.words = [0; WORDS].map(|_: u64| RandomState::new().build_hasher().finish());
        let window = |device: &C| {
            let window = device.window(half)?;
            let words = device.send(&self.words)?;
            device.fill(&window, 0, &words, 0..WORDS)?;
            device.finish()?;
            Ok(window)
        };
        // Without them, data goes by way of the hosts.
        self.windows = devices.iter().map(window).collect::<Result<_, CudaError>>().unwrap_or_default();
    }

    /// The handle by which others open the windows; nothing if there are none.
    fn ipc_handle(&self) -> Vec<u8> {
        let mut ipc_handle: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for window in &self.windows {
            let one = C::ipc_handle(window);
            ipc_handle.extend((one.len() as u64).to_le_bytes());
            ipc_handle.extend(one);
        }
        if self.windows.is_empty() { Vec::new() } else { ipc_handle }
    }
}

/// A number from the beginning of some bytes.
fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (first, behind) = bytes.split_first_chunk::<8>()?;
    *bytes = behind;
    Some(u64::from_le_bytes(*first))
}

/// The views that each own GPU has of the windows that a process tells of, if it reads in all of them what it must.
fn views<C: GpuDevice>(devices: &[C], mut ipc_handle: &[u8]) -> Option<Vec<Vec<C::View>>> {
    let mut words = [0; WORDS];
    for place in &mut words {
        *place = word(&mut ipc_handle)?;
    }
    let mut all: Vec<Vec<C::View>> = devices.iter().map(|_| Vec::new()).collect();
    while !ipc_handle.is_empty() {
        let count = word(&mut ipc_handle)? as usize;
        let (one, behind) = ipc_handle.split_at_checked(count)?;
        ipc_handle = behind;
        for (device, views) in devices.iter().zip(&mut all) {
            let found = || -> Result<(C::View, [u64; WORDS]), CudaError> {
                let (view, room, mut found) = (device.view(one)?, device.allocate(WORDS)?, [0; WORDS]);
                device.pull(&view, 0, &room, 0..WORDS)?;
                device.read(&room, 0, &mut found)?;
                Ok((view, found))
            };
            // A link that copies something else is none.
            views.push(found().ok().filter(|(_, found)| *found == words)?.0);
        }
    }
    all.iter().all(|views| views.len() == devices.len()).then_some(all)
}

impl<C: GpuDevice> Team<'_, C> {
    /// Lets the GPUs of all processes read each other's windows, where they can. `bytes` is what a GPU has for others in a usual transfer,
    /// the same number on all processes.
    pub fn connect(&self, bytes: usize) -> Result<(), CudaError> {
        let Some(links) = self.links.filter(|_| !self.is_alone()) else { return Ok(()) };
        let mut links = links.borrow_mut();
        let (links, devices, others) = (&mut *links, self.devices, self.others);
        // Nobody's GPU copies from a window any more once all have come to the next exchange.
        devices.iter().try_for_each(C::finish)?;
        let half = links.half_for(bytes);
        if half > links.half || links.devices != devices.len() {
            links.close();
            others.meet()?;
            links.open(devices, half);
        }
        links.rounds = 0;
        let (ipc_handle, own, count) = (others.gather(links.ipc_handle())?, others.number(), others.count());
        links.peers.resize_with(count, Peer::default);
        // The driver takes milliseconds for each; processes begin with different ones.
        for process in (own + 1..own + count).map(|process| process % count) {
            let peer = &mut links.peers[process];
            *peer = std::mem::take(peer).follow(devices, &ipc_handle[process]);
        }
        let reads: Vec<u32> = links.peers.iter().map(|peer| !peer.views.is_empty() as u32).collect();
        let reads = numbers(others, &reads)?;
        let pair = |a: usize, b: usize| a != b && reads[a][b] == 1 && reads[b][a] == 1;
        links.linked = (0..count).map(|a| (0..count).map(|b| pair(a, b)).collect()).collect();
        Ok(())
    }

    /// The copies between GPUs of different processes: through windows where processes are linked, else by way of the hosts.
    pub(super) fn transfer_to_others<N: Raw>(
        &self,
        from: &[&C::Memory<N>],
        to: &[&C::Memory<N>],
        all: &[Transfer],
    ) -> Result<(), CudaError> {
        let mut links = self.links.map(|links| links.borrow_mut());
        let Some(links) = links.as_deref_mut().filter(|links| links.linked.iter().flatten().any(|is| *is)) else {
            return self.travel(|| self.transfer_by_hosts(from, to, all, &|_, _| true));
        };
        if links.some_are_apart() {
            let are_apart = |a: usize, b: usize| !links.are_linked(a, b);
            self.travel(|| self.transfer_by_hosts(from, to, all, &are_apart))?;
        }
        self.transfer_by_windows(from, to, all, links)
    }

    fn transfer_by_windows<N: Raw>(
        &self,
        from: &[&C::Memory<N>],
        to: &[&C::Memory<N>],
        all: &[Transfer],
        links: &mut Links<C>,
    ) -> Result<(), CudaError> {
        let (own, size) = (self.own(), size_of::<N>());
        let process = |device: usize| device / self.devices.len();
        // What each GPU puts into its window.
        let mut copies: Vec<Vec<&Transfer>> = vec![Vec::new(); self.all()];
        for copy in all.iter().filter(|copy| links.are_linked(process(copy.from), process(copy.to))) {
            copies[copy.from].push(copy);
        }
        let filled: Vec<Message> = copies.iter().map(|copies| Message::new(copies.iter().copied())).collect();
        let a_round = links.half / size;
        let rounds = filled.iter().map(|message| message.count.div_ceil(a_round)).max().unwrap_or(0);
        if rounds == 0 {
            return Ok(());
        }
        let before = self.devices.iter().map(C::event).collect::<Result<Vec<_>, _>>()?;
        for round in 0..rounds {
            let (half, part) = (links.rounds % 2, round * a_round..(round + 1) * a_round);
            let place = |element: usize| half * links.half + (element - part.start) * size;
            for ((k, device), window) in self.devices.iter().enumerate().zip(&links.windows) {
                let message = &filled[own.start + k];
                if message.count <= part.start {
                    continue;
                }
                if links.rounds >= 2 {
                    links.views(k).flatten().try_for_each(|view| device.wait_for(view, Mark::Taken(half)))?;
                }
                for piece @ (_, elements) in &message.pieces {
                    let (at, elements) = within(message.starts[piece], elements, &part);
                    if !elements.is_empty() {
                        device.fill(window, place(at), from[k], elements)?;
                    }
                }
                device.mark(window, Mark::Filled(half))?;
            }
            self.others.meet()?;
            for (j, message) in filled.iter().enumerate().filter(|(j, _)| !own.contains(j)) {
                let mut waits = vec![true; self.devices.len()];
                for copy in copies[j].iter().filter(|copy| own.contains(&copy.to) && !copy.part.is_empty()) {
                    let (at, elements) = within(message.starts[&copy.piece()], &copy.part, &part);
                    if elements.is_empty() {
                        continue;
                    }
                    let k = copy.to - own.start;
                    let (device, view) = (&self.devices[k], &links.peers[process(j)].views[k][j % self.devices.len()]);
                    if std::mem::take(&mut waits[k]) {
                        device.wait_for(view, Mark::Filled(half))?;
                    }
                    let start = copy.at + elements.start - copy.part.start;
                    device.pull(view, place(at), to[k], start..start + elements.len())?;
                }
            }
            for (device, window) in self.devices.iter().zip(&links.windows) {
                device.mark(window, Mark::Taken(half))?;
            }
            links.rounds += 1;
        }
        self.exchanged(before)
    }
}

impl<C: GpuDevice> Links<C> {
    /// For each linked process the views of its GPUs that an own GPU has.
    fn views(&self, device: usize) -> impl Iterator<Item = &Vec<C::View>> {
        self.peers.iter().filter_map(move |peer| peer.views.get(device))
    }
}

/// Of elements that begin somewhere in a window without end, those in a part of it: where they begin there, and which they are.
fn within(start: usize, elements: &Range<usize>, part: &Range<usize>) -> (usize, Range<usize>) {
    let common = both(&(start..start + elements.len()), part);
    let first = elements.start + common.start - start.min(common.start);
    (common.start, first..first + common.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_have_all_elements_once() {
        for (start, elements) in [(0, 3..10), (5, 0..1), (7, 100..100), (13, 2..40)] {
            let mut found = Vec::new();
            for round in 0..20 {
                let part = 4 * round..4 * (round + 1);
                let (at, of) = within(start, &elements, &part);
                assert!(of.is_empty() || part.contains(&at) && at + of.len() <= part.end);
                assert!(of.is_empty() || at - start == of.start - elements.start);
                found.extend(of);
            }
            assert_eq!(found, elements.collect::<Vec<_>>());
        }
    }
}
