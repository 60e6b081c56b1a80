//! How ranks talk: a small interface that the algorithm is written over, and what collectives are made of.

use super::RankError;
use super::bytes::{Reader, Writer};

/// The kind of a message. Messages of one kind between two ranks arrive in the order in which they were sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(i32)]
pub enum Tag {
    Counts = 1,
    Gather,
    Points,
    Cells,
    Requests,
    Tasks,
    Copies,
    Shared,
    Multipoles,
    Large,
    Results,
    Chain,
    Rows,
    Gpus,
    First,
    Barrier,
}

/// The number and the bytes of the messages that a rank has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    pub messages: u64,
    pub bytes: u64,
}

impl std::ops::Sub for Traffic {
    type Output = Traffic;

    fn sub(self, before: Traffic) -> Traffic {
        Traffic { messages: self.messages - before.messages, bytes: self.bytes - before.bytes }
    }
}

/// One rank's end of all connections. Only the thread of the rank itself calls it.
pub trait Comm: Sync {
    fn rank(&self) -> usize;

    fn size(&self) -> usize;

    /// Sends a message without waiting for the other rank.
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), RankError>;

    /// Waits for a message.
    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>, RankError>;

    /// Waits until a message can be received, however long that takes, and leaves the core to others meanwhile.
    fn rest(&self, from: usize, tag: Tag) -> Result<(), RankError>;

    /// Ends all ranks: those that wait get an error.
    fn abort(&self, why: &str);

    /// The traffic that this rank has sent up to now.
    fn traffic(&self) -> Traffic;

    /// Gathers the bytes of every rank on all ranks, in the order of ranks.
    fn all_gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, RankError> {
        for to in (0..self.size()).filter(|to| *to != self.rank()) {
            self.send(to, Tag::Gather, own.clone())?;
        }
        let mut own = Some(own);
        let one = |from: usize| match from == self.rank() {
            true => Ok(own.take().expect("it is taken once")),
            false => self.receive(from, Tag::Gather),
        };
        (0..self.size()).map(one).collect()
    }

    /// Gives each rank a number and gets one of each.
    fn counts(&self, to: &[u64]) -> Result<Vec<u64>, RankError> {
        for (rank, count) in to.iter().enumerate().filter(|c| c.0 != self.rank()) {
            self.send(rank, Tag::Counts, count.to_le_bytes().to_vec())?;
        }
        let one = |from: usize| match from == self.rank() {
            true => Ok(to[from]),
            false => Reader::new(&self.receive(from, Tag::Counts)?).u64(),
        };
        (0..self.size()).map(one).collect()
    }
}

/// Sends messages to some ranks, and gets those that others have for this one, in the order of ranks. A message to oneself is
/// allowed.
pub fn exchange(comm: &dyn Comm, tag: Tag, out: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>, RankError> {
    let mut counts = vec![0; comm.size()];
    let mut own = None;
    for (to, bytes) in out {
        if to == comm.rank() {
            own = Some(bytes);
        } else {
            counts[to] += 1;
            comm.send(to, tag, bytes)?;
        }
    }
    let counts = comm.counts(&counts)?;
    let mut found = Vec::new();
    for (from, count) in counts.into_iter().enumerate() {
        if from == comm.rank() {
            found.extend(own.take().map(|bytes| (from, bytes)));
        } else {
            (0..count).try_for_each(|_| comm.receive(from, tag).map(|bytes| found.push((from, bytes))))?;
        }
    }
    Ok(found)
}

/// Waits until all ranks have come here: in log2 P steps, in each of which a rank knows of twice as many.
pub fn barrier(comm: &dyn Comm) -> Result<(), RankError> {
    let (me, size) = (comm.rank(), comm.size());
    let mut step = 1;
    while step < size {
        comm.send((me + step) % size, Tag::Barrier, Vec::new())?;
        comm.receive((me + size - step) % size, Tag::Barrier)?;
        step *= 2;
    }
    Ok(())
}

/// Returns the first rank's bytes on every rank.
pub fn broadcast(comm: &dyn Comm, own: Vec<u8>) -> Result<Vec<u8>, RankError> {
    if comm.rank() > 0 {
        return comm.receive(0, Tag::First);
    }
    (1..comm.size()).try_for_each(|to| comm.send(to, Tag::First, own.clone()))?;
    Ok(own)
}

/// The number of this rank among those on its machine, and how many these are.
pub fn on_machine(comm: &dyn Comm) -> Result<(usize, usize), RankError> {
    // Linux has another name for each start of a machine, whatever containers call it. Elsewhere there are no GPUs to share.
    let own = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let all = comm.all_gather(own)?;
    let is_here = |rank: &usize| all[*rank] == all[comm.rank()];
    Ok(((0..comm.rank()).filter(is_here).count(), (0..comm.size()).filter(is_here).count()))
}

/// Numbers of every rank, in the order of ranks.
pub fn gather_u64(comm: &dyn Comm, own: &[u64]) -> Result<Vec<Vec<u64>>, RankError> {
    let mut bytes = Writer::default();
    bytes.u64s(own);
    comm.all_gather(bytes.take())?.iter().map(|bytes| Reader::new(bytes).u64s()).collect()
}

/// The same for other numbers.
pub fn gather_f64(comm: &dyn Comm, own: &[f64]) -> Result<Vec<Vec<f64>>, RankError> {
    let mut bytes = Writer::default();
    bytes.f64s(own);
    comm.all_gather(bytes.take())?.iter().map(|bytes| Reader::new(bytes).f64s()).collect()
}

/// Returns the result of this rank, if no rank failed; else on every rank the failure of the first one.
pub fn agree<T>(comm: &dyn Comm, own: Result<T, RankError>) -> Result<T, RankError> {
    let mut bytes = Writer::default();
    match &own {
        Ok(_) => bytes.u64(0),
        Err(e) => {
            bytes.u64(e.kind());
            bytes.bytes(e.to_string().as_bytes());
        }
    }
    for said in comm.all_gather(bytes.take())? {
        let mut said = Reader::new(&said);
        let kind = said.u64()?;
        if kind != 0 {
            return Err(RankError::of_kind(kind, String::from_utf8_lossy(&said.bytes()?).into_owned()));
        }
    }
    own
}
