//! Ranks as threads of this process: for tests, and for users without MPI.

use super::RankError;
use super::comm::{Comm, Tag, Traffic};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

/// Messages of each sender and kind, in their order.
type Letters = HashMap<(usize, Tag), VecDeque<Vec<u8>>>;

/// The messages that wait for a rank.
#[derive(Default)]
struct Box {
    letters: Mutex<Letters>,
    arrived: Condvar,
}

struct World {
    boxes: Vec<Box>,
    /// Why all ranks are to end.
    aborted: Mutex<Option<RankError>>,
}

/// One rank.
struct Rank<'a> {
    world: &'a World,
    rank: usize,
    messages: AtomicU64,
    bytes: AtomicU64,
}

/// Nothing panics while it holds a lock, so that what is behind it is sound.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl World {
    fn check(&self) -> Result<(), RankError> {
        lock(&self.aborted).as_ref().map_or(Ok(()), |why| Err(why.clone()))
    }

    fn abort(&self, why: &RankError) {
        lock(&self.aborted).get_or_insert_with(|| why.clone());
        for waiting in &self.boxes {
            // The lock is taken so that nobody is between looking and waiting.
            drop(lock(&waiting.letters));
            waiting.arrived.notify_all();
        }
    }
}

impl Comm for Rank<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.world.boxes.len()
    }

    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), RankError> {
        self.world.check()?;
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let there = &self.world.boxes[to];
        lock(&there.letters).entry((self.rank, tag)).or_default().push_back(bytes);
        there.arrived.notify_all();
        Ok(())
    }

    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>, RankError> {
        self.rest(from, tag)?;
        let found = lock(&self.world.boxes[self.rank].letters).get_mut(&(from, tag)).and_then(VecDeque::pop_front);
        Ok(found.expect("only the rank itself takes its messages"))
    }

    fn rest(&self, from: usize, tag: Tag) -> Result<(), RankError> {
        let own = &self.world.boxes[self.rank];
        let mut letters = lock(&own.letters);
        while letters.get(&(from, tag)).is_none_or(VecDeque::is_empty) {
            self.world.check()?;
            letters = own.arrived.wait(letters).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        Ok(())
    }

    fn abort(&self, why: &str) {
        self.world.abort(&RankError::Lost(why.into()));
    }

    fn traffic(&self) -> Traffic {
        let number = |x: &AtomicU64| x.load(Ordering::Relaxed);
        Traffic { messages: number(&self.messages), bytes: number(&self.bytes) }
    }
}

/// Runs `work` on so many ranks; what each gave, in their order. If one fails or panics, the others end with an error.
pub fn run<T: Send>(
    ranks: usize,
    work: impl Fn(&dyn Comm) -> Result<T, RankError> + Sync,
) -> Vec<Result<T, RankError>> {
    let world = World { boxes: (0..ranks).map(|_| Box::default()).collect(), aborted: Mutex::new(None) };
    let one = |rank: usize| {
        let own = Rank { world: &world, rank, messages: AtomicU64::new(0), bytes: AtomicU64::new(0) };
        let done = catch_unwind(AssertUnwindSafe(|| work(&own)));
        let done = done.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(RankError::Lost(format!("rank {rank} ended early: {}", text.unwrap_or("it panicked"))))
        });
        if let Err(e) = &done {
            world.abort(e);
        }
        done
    };
    std::thread::scope(|scope| {
        let one = &one;
        let all: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || one(rank))).collect();
        all.into_iter().map(|rank| rank.join().expect("panics are caught")).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::{agree, exchange, gather_u64};

    #[test]
    fn collectives_give_what_every_rank_gave() {
        for ranks in [1, 2, 5] {
            let found = run(ranks, |comm| {
                let me = comm.rank() as u64;
                assert_eq!(gather_u64(comm, &[me, 7])?, (0..ranks as u64).map(|r| vec![r, 7]).collect::<Vec<_>>());
                // To the next rank and to oneself.
                let next = (comm.rank() + 1) % ranks;
                let mut out = vec![(next, vec![me as u8])];
                if next != comm.rank() {
                    out.push((comm.rank(), vec![100]));
                }
                let found = exchange(comm, Tag::Cells, out)?;
                let before = (comm.rank() + ranks - 1) % ranks;
                assert!(found.contains(&(before, vec![before as u8])), "{found:?}");
                assert_eq!(found.len(), if ranks == 1 { 1 } else { 2 });
                Ok(comm.traffic())
            });
            let traffic = found.into_iter().map(|t| t.unwrap().messages).sum::<u64>();
            let (p, gathers) = (ranks as u64, 2);
            assert_eq!(traffic, if p == 1 { 0 } else { gathers * p * (p - 1) + p });
        }
    }

    #[test]
    fn a_failure_or_a_panic_of_one_rank_ends_all() {
        let found = run(3, |comm| match comm.rank() {
            1 => Err(RankError::Range("it is out of range".into())),
            _ => comm.receive(1, Tag::Cells),
        });
        assert!(found.iter().all(|r| r.as_ref().is_err_and(|e| e.to_string().contains("out of range"))));
        let found = run(3, |comm| match comm.rank() {
            2 => panic!("on purpose"),
            _ => comm.receive(2, Tag::Cells),
        });
        assert!(found.iter().all(|r| r.as_ref().is_err_and(|e| e.to_string() == "rank 2 ended early: on purpose")));
        let found = run(3, |comm| {
            let own = if comm.rank() == 1 { Err(RankError::Option("not so".into())) } else { Ok(()) };
            agree(comm, own)
        });
        assert!(found.iter().all(|r| matches!(r, Err(RankError::Option(text)) if text == "not so")));
    }
}
