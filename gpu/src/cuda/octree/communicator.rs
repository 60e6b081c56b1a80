//! The GPUs of a run, when some of them belong to other processes: what processes send each other, through the host's memory where their
//! GPUs do not read each other's ([`super::links`]).

use super::at_once;
use super::links::Links;
use crate::cuda::CudaError;
use crate::cuda::gpu_device::{From, GpuDevice, Plain};
use crate::cuda::staging;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::time::Instant;

/// The processes that share a run, each with as many GPUs as the others: the first one has the first GPUs, and so on. All do the
/// same in the same order, so that each exchange of one is met by those of all others.
pub trait Communicator {
    /// The number of this process.
    fn number(&self) -> usize;

    /// How many there are, with this one.
    fn count(&self) -> usize;

    /// Gives each process its bytes, and has what each has for this one; what is for oneself is left out. If a process has failed, all
    /// get its failure.
    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CudaError>;

    /// Waits until all processes have come here, or has the failure of one. GPUs may be at work meanwhile, so that it counts as no waiting.
    fn meet(&self) -> Result<(), CudaError>;

    /// Seconds up to now in which this process waited for slower ones.
    fn waited(&self) -> f64 {
        0.0
    }

    /// The same bytes for all.
    fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, CudaError> {
        let last = (0..self.count()).rev().find(|process| *process != self.number());
        let mut out: Vec<Vec<u8>> = (0..self.count())
            .map(|process| if Some(process) == last || process == self.number() { Vec::new() } else { own.clone() })
            .collect();
        if let Some(last) = last {
            out[last] = own;
        }
        self.exchange(out)
    }
}

/// Some numbers of each process, in the order of processes, this one among them.
pub fn numbers<N: Raw>(others: &dyn Communicator, own: &[N]) -> Result<Vec<Vec<N>>, CudaError> {
    let found = others.gather(bytes_of(own).to_vec())?;
    let of = |(process, bytes): (usize, Vec<u8>)| if process == others.number() { own.to_vec() } else { of(&bytes) };
    Ok(found.into_iter().enumerate().map(of).collect())
}

/// One process, with all GPUs.
pub struct SingleProcess;

impl Communicator for SingleProcess {
    fn number(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CudaError> {
        Ok(out)
    }

    fn meet(&self) -> Result<(), CudaError> {
        Ok(())
    }
}

/// Numbers that are as good as their bytes.
///
/// # Safety
/// Every byte of one means something, and any bytes are one.
pub unsafe trait Raw: Plain {}

// SAFETY: numbers of the machine.
unsafe impl Raw for f32 {}
// SAFETY: as above.
unsafe impl Raw for f64 {}
// SAFETY: as above.
unsafe impl Raw for u32 {}
// SAFETY: as above.
unsafe impl Raw for u64 {}

pub fn bytes_of<N: Raw>(numbers: &[N]) -> &[u8] {
    // SAFETY: as `Raw` says.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Puts bytes behind others.
pub fn push(to: &mut Vec<u8>, bytes: &[u8]) {
    to.reserve(bytes.len());
    staging::copy(as_room(bytes), &mut to.spare_capacity_mut()[..bytes.len()]);
    // SAFETY: so many have just been written.
    unsafe { to.set_len(to.len() + bytes.len()) };
}

fn as_room(bytes: &[u8]) -> &[MaybeUninit<u8>] {
    // SAFETY: the same bytes, of which each may mean nothing.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Few numbers from their bytes.
pub fn of<N: Raw>(bytes: &[u8]) -> Vec<N> {
    let mut numbers = vec![N::default(); bytes.len() / size_of::<N>()];
    // SAFETY: as `Raw` says, and there are as many bytes.
    let room = unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast::<u8>(), size_of_val(&numbers[..])) };
    room.copy_from_slice(&bytes[..room.len()]);
    numbers
}

/// The GPUs of a run: those of this process, and what is known of others.
pub struct Team<'a, C: GpuDevice> {
    pub devices: &'a [C],
    pub others: &'a dyn Communicator,
    /// Links by which GPUs of processes read each other's memory, where they do.
    pub(super) links: Option<&'a RefCell<Links<C>>>,
    /// Seconds in which this process's GPUs waited for exchanges with other ones.
    travelled: Cell<f64>,
    /// Between which events each GPU was in exchanges that hosts do not wait for.
    spans: RefCell<Vec<Vec<Span<C>>>>,
}

type Span<C> = (<C as GpuDevice>::Event, <C as GpuDevice>::Event);

/// The exchanges up to a point in time: seconds of the hosts, and how many exchanges of the GPUs.
#[derive(Clone, Copy, Debug)]
pub struct Exchanged {
    seconds: f64,
    spans: usize,
}

impl<'a, C: GpuDevice> Team<'a, C> {
    pub fn alone(devices: &'a [C]) -> Team<'a, C> {
        Team { devices, others: &SingleProcess, links: None, travelled: Cell::new(0.0), spans: RefCell::default() }
    }

    pub fn among(devices: &'a [C], others: &'a dyn Communicator, links: &'a RefCell<Links<C>>) -> Team<'a, C> {
        Team { others, links: Some(links), ..Team::alone(devices) }
    }

    /// The number of GPUs in all processes.
    pub fn all(&self) -> usize {
        self.devices.len() * self.others.count()
    }

    /// The numbers of a process's GPUs.
    pub fn numbers(&self, process: usize) -> Range<usize> {
        process * self.devices.len()..(process + 1) * self.devices.len()
    }

    /// The numbers of this process's GPUs.
    pub fn own(&self) -> Range<usize> {
        self.numbers(self.others.number())
    }

    pub fn is_alone(&self) -> bool {
        self.others.count() == 1
    }

    /// The processes besides this one.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<'_, C> {
        (0..self.others.count()).filter(|process| *process != self.others.number())
    }

    /// The exchanges up to now.
    pub fn so_far(&self) -> Exchanged {
        Exchanged { seconds: self.travelled.get(), spans: self.spans.borrow().len() }
    }

    /// The seconds that an own GPU was in exchanges with GPUs of other processes between two points in time, once it has done all that it
    /// was asked for.
    pub fn exchanging(&self, device: usize, from: &Exchanged, to: &Exchanged) -> Result<f64, CudaError> {
        let spans = self.spans.borrow();
        let of_gpu = spans[from.spans..to.spans].iter().map(|all| C::seconds(&all[device].0, &all[device].1));
        Ok(to.seconds - from.seconds + of_gpu.sum::<Result<f64, CudaError>>()?)
    }

    /// Notes an exchange of the GPUs, which began at these events and ends with what they have been asked for.
    pub(super) fn exchanged(&self, before: Vec<C::Event>) -> Result<(), CudaError> {
        let ends = self.devices.iter().map(C::event).collect::<Result<Vec<_>, _>>()?;
        self.spans.borrow_mut().push(before.into_iter().zip(ends).collect());
        Ok(())
    }

    /// Does what is done with other processes, once the own GPUs have done what was asked for before.
    pub fn travel<R>(&self, work: impl FnOnce() -> Result<R, CudaError>) -> Result<R, CudaError> {
        self.devices.iter().try_for_each(C::finish)?;
        let start = Instant::now();
        let done = work();
        self.travelled.set(self.travelled.get() + start.elapsed().as_secs_f64());
        done
    }

    /// Copies from memory of GPUs to memory of GPUs, of all processes, which name the same copies in the same order. What is asked of a
    /// GPU later waits until all own GPUs have what they were to have of it.
    pub fn transfer<N: Raw>(
        &self,
        from: &[&C::Memory<N>],
        to: &[&C::Memory<N>],
        all: &[Transfer],
    ) -> Result<(), CudaError> {
        let own = self.own();
        let events = self.devices.iter().map(C::event).collect::<Result<Vec<_>, _>>()?;
        for copy in all.iter().filter(|copy| own.contains(&copy.from) && own.contains(&copy.to)) {
            let (j, k) = (copy.from - own.start, copy.to - own.start);
            let source = From { device: &self.devices[j], memory: from[j], part: copy.part.clone(), event: &events[j] };
            self.devices[k].take(to[k], copy.at, source)?;
        }
        if !self.is_alone() {
            self.transfer_to_others(from, to, all)?;
        }
        self.meet()
    }

    /// Lets each own GPU wait for what the others have been asked for so far.
    fn meet(&self) -> Result<(), CudaError> {
        if self.devices.len() == 1 {
            return Ok(());
        }
        let events = self.devices.iter().map(C::event).collect::<Result<Vec<_>, _>>()?;
        for (k, device) in self.devices.iter().enumerate() {
            events.iter().enumerate().filter(|(j, _)| *j != k).try_for_each(|(_, event)| device.wait(event))?;
        }
        Ok(())
    }

    /// The copies between GPUs of different processes that `is_wanted` names, by way of the hosts. What several GPUs of a process have of
    /// one GPU is sent once.
    pub(super) fn transfer_by_hosts<N: Raw>(
        &self,
        from: &[&C::Memory<N>],
        to: &[&C::Memory<N>],
        all: &[Transfer],
        is_wanted: &dyn Fn(usize, usize) -> bool,
    ) -> Result<(), CudaError> {
        let (own, number) = (self.own(), self.others.number());
        let wanted = || self.others().filter(|process| is_wanted(number, *process));
        let mut out: Vec<Vec<u8>> = vec![Vec::new(); self.others.count()];
        let mut known: Vec<(usize, Vec<Piece>)> = Vec::new();
        for process in wanted() {
            let there = self.numbers(process);
            let copies = all.iter().filter(|copy| own.contains(&copy.from) && there.contains(&copy.to));
            let pieces = Message::new(copies).pieces;
            match known.iter().find(|(_, before)| *before == pieces) {
                Some((before, _)) => {
                    let (mut bytes, before) = (Vec::new(), &out[*before]);
                    push(&mut bytes, before);
                    out[process] = bytes;
                }
                None => {
                    let parts = pieces.iter().map(|(device, part)| {
                        let device = device - own.start;
                        (&self.devices[device], from[device], part.clone())
                    });
                    append(&mut out[process], parts)?;
                    known.push((process, pieces));
                }
            }
        }
        let found = self.others.exchange(out)?;
        let mut arrived: Vec<Vec<(&[u8], usize)>> = vec![Vec::new(); own.len()];
        for process in wanted() {
            let there = self.numbers(process);
            let is_copy =
                |copy: &&Transfer| there.contains(&copy.from) && own.contains(&copy.to) && !copy.part.is_empty();
            let copies = || all.iter().filter(is_copy);
            let sent = Message::new(copies());
            for copy in copies() {
                let bytes = &found[process][sent.starts[&copy.piece()] * size_of::<N>()..];
                arrived[copy.to - own.start].push((&bytes[..copy.part.len() * size_of::<N>()], copy.at));
            }
        }
        at_once(self.devices.iter().zip(to).zip(arrived), |((device, memory), arrived)| {
            arrived.iter().try_for_each(|(bytes, at)| device.put::<N>(bytes, memory, *at))
        })
    }
}

/// Numbers that go from a part of a GPU's memory to a place in another's, or in its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub from: usize,
    pub part: Range<usize>,
    pub to: usize,
    pub at: usize,
}

impl Transfer {
    pub(super) fn piece(&self) -> (usize, Range<usize>) {
        (self.from, self.part.clone())
    }
}

/// A part of a GPU's memory.
type Piece = (usize, Range<usize>);

/// The message for some copies: each piece once, and where it begins.
pub(super) struct Message {
    pub pieces: Vec<Piece>,
    pub starts: HashMap<Piece, usize>,
    /// Elements of all pieces.
    pub count: usize,
}

impl Message {
    pub fn new<'a>(copies: impl Iterator<Item = &'a Transfer>) -> Message {
        let (mut pieces, mut starts, mut count) = (Vec::new(), HashMap::new(), 0);
        for copy in copies.filter(|copy| !copy.part.is_empty()) {
            starts.entry(copy.piece()).or_insert_with(|| {
                pieces.push(copy.piece());
                count += copy.part.len();
                count - copy.part.len()
            });
        }
        Message { pieces, starts, count }
    }
}

/// The intersection of two stretches; if they have nothing in common, an empty stretch.
pub fn both(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// Puts the bytes of parts of GPUs' memory behind others.
pub fn append<'a, C: GpuDevice + 'a, N: Raw>(
    bytes: &mut Vec<u8>,
    parts: impl Iterator<Item = (&'a C, &'a C::Memory<N>, Range<usize>)>,
) -> Result<(), CudaError>
where
    C::Memory<N>: 'a,
{
    let parts: Vec<_> = parts.collect();
    let before = bytes.len();
    let count: usize = parts.iter().map(|(.., part)| part.len() * size_of::<N>()).sum();
    bytes.reserve(count);
    let (mut rest, mut rooms) = (&mut bytes.spare_capacity_mut()[..count], Vec::with_capacity(parts.len()));
    for (.., part) in &parts {
        let (room, behind) = std::mem::take(&mut rest).split_at_mut(part.len() * size_of::<N>());
        rooms.push(room);
        rest = behind;
    }
    at_once(parts.into_iter().zip(rooms), |((device, memory, part), room)| {
        device.read_pieces(memory, part, &mut |at, piece: &[N]| {
            let (at, bytes) = (at * size_of::<N>(), bytes_of(piece));
            staging::copy(as_room(bytes), &mut room[at..at + bytes.len()]);
        })
    })?;
    // SAFETY: the parts, and so the pieces, are all of it.
    unsafe { bytes.set_len(before + count) };
    Ok(())
}
