//! Items on their way to other ranks, each in one piece with all that it carries, bucket by bucket: what a rank has is written once,
//! and the one that gets it finds a bucket small enough for a core's own cache.

use super::RankError;
use super::bytes::{Number, Reader, Writer, cut};
use super::comm::{Comm, Tag, exchange};
use fmm::parallel::prelude::*;
use std::ops::Range;

/// Items of a bucket, about, where there are many.
const FULL: u64 = 1 << 11;

/// The most buckets of all ranks together: what is being written of each stays in a core's cache.
const MOST: usize = 1 << 13;

/// Items that a task looks at, at least, and tasks of a rank.
const TASK: usize = 1 << 12;
const TASKS: usize = 64;

/// The most ranks: numbers of buckets are kept in 16 bits.
const RANKS: usize = 1 << 16;

/// Ranges of numbers, one a rank, each in as many buckets of equal width.
pub struct Ranges {
    /// Where each rank's begins, and where the last one ends.
    starts: Vec<u64>,
    /// For each rank the bits of a number's distance from its start that lie within a bucket.
    below: Vec<u32>,
    /// Buckets of a rank: two to this power.
    bits: u32,
}

impl Ranges {
    /// For about `total` items of all ranks.
    pub fn new(starts: &[u64], total: u64) -> Ranges {
        let ranks = starts.len() - 1;
        let buckets = (total / ranks as u64 / FULL).clamp(1, (MOST / ranks).max(1) as u64);
        let bits = buckets.ilog2();
        let below = |w: &[u64]| (u64::BITS - (w[1] - w[0]).saturating_sub(1).leading_zeros()).saturating_sub(bits);
        Ranges { starts: starts.to_vec(), below: starts.windows(2).map(below).collect(), bits }
    }

    /// Buckets of a rank.
    pub fn buckets(&self) -> usize {
        1 << self.bits
    }

    /// The bucket of a number among those of all ranks.
    #[inline(always)]
    fn of(&self, number: u64) -> usize {
        let ranks = self.below.len();
        let rank = self.starts[1..ranks].partition_point(|start| *start <= number);
        rank << self.bits | ((number - self.starts[rank]) >> self.below[rank]) as usize
    }

    /// The least number of a rank's bucket, and the bits of others that tell them from it.
    pub fn least(&self, rank: usize, bucket: usize) -> (u64, u32) {
        (self.starts[rank] + ((bucket as u64) << self.below[rank]), self.below[rank])
    }
}

/// The data sent of each item: an index, and a number of each column.
pub struct Records<'a> {
    pub index: Index<'a>,
    pub columns: &'a [&'a [f64]],
}

/// The indices of items.
#[derive(Clone, Copy)]
pub enum Index<'a> {
    /// From this one on.
    From(u32),
    Each(&'a [u32]),
}

impl Index<'_> {
    #[inline(always)]
    fn of(self, item: usize) -> u32 {
        match self {
            Index::From(first) => first + item as u32,
            Index::Each(all) => all[item],
        }
    }
}

/// The bytes of an index, and those of an item before its columns.
pub const INDEX: usize = 4;

/// The message to one rank: how many items each bucket has, and space for them.
struct Message {
    bytes: Vec<u8>,
    items: usize,
}

/// Where several threads write, each at places of its own.
struct Place(*mut u8);

// SAFETY: no place is given to two threads.
unsafe impl Sync for Place {}

impl Records<'_> {
    /// Sends each of `count` items to the rank in whose range its number lies, in the order in which they stand; what this one gets.
    /// `numbers` puts those of some items that follow each other into a vector.
    pub fn share_out(
        &self,
        comm: &dyn Comm,
        tag: Tag,
        ranges: &Ranges,
        count: usize,
        numbers: &(dyn Fn(Range<usize>, &mut Vec<u64>) + Sync),
    ) -> Result<Arrived, RankError> {
        if comm.size() > RANKS {
            return Err(RankError::Option(format!("up to {RANKS} ranks are possible, not {}", comm.size())));
        }
        let width = INDEX + 8 * self.columns.len();
        let task = count.div_ceil(TASKS).max(TASK);
        let tasks: Vec<Range<usize>> = (0..count).step_by(task).map(|first| first..(first + task).min(count)).collect();
        // First the bucket of each item and their number in each bucket, then where the first of them goes among those of its rank.
        let count = |items: &Range<usize>| {
            let mut counts = vec![0u32; comm.size() << ranges.bits];
            let (mut buckets, mut room) = (Vec::with_capacity(items.len()), Vec::new());
            for first in items.clone().step_by(TASK) {
                room.clear();
                numbers(first..(first + TASK).min(items.end), &mut room);
                for number in &room {
                    let bucket = ranges.of(*number);
                    counts[bucket] += 1;
                    buckets.push(bucket as u16);
                }
            }
            (buckets, counts)
        };
        let (buckets, mut places): (Vec<Vec<u16>>, Vec<Vec<u32>>) =
            tasks.par_iter().map(count).collect::<Vec<_>>().into_iter().unzip();
        let mut messages: Vec<Message> = (0..comm.size())
            .map(|rank| message(rank * ranges.buckets(), ranges.buckets(), width, &mut places))
            .collect();
        let room = |m: &mut Message| Place(m.bytes.spare_capacity_mut().as_mut_ptr().cast());
        let rooms: Vec<Place> = messages.iter_mut().map(room).collect();
        tasks.into_par_iter().zip(buckets).zip(places).for_each(|((items, buckets), mut places)| {
            let columns: Vec<&[f64]> = self.columns.iter().map(|column| &column[items.clone()]).collect();
            for (k, bucket) in buckets.into_iter().map(usize::from).enumerate() {
                // SAFETY: the counts give every item space of its own in the message to its rank, of as many bytes.
                unsafe {
                    let mut to = rooms[bucket >> ranges.bits].0.add(places[bucket] as usize * width);
                    to.cast::<[u8; INDEX]>().write(self.index.of(items.start + k).to_le_bytes());
                    to = to.add(INDEX);
                    for column in &columns {
                        to.cast::<[u8; 8]>().write(column[k].to_le_bytes());
                        to = to.add(8);
                    }
                }
                places[bucket] += 1;
            }
        });
        let filled = |mut message: Message| {
            // SAFETY: every item has been written behind what was there.
            unsafe { message.bytes.set_len(message.bytes.len() + message.items * width) };
            message.bytes
        };
        let out = messages.into_iter().enumerate().filter(|m| m.1.items > 0).map(|(rank, m)| (rank, filled(m)));
        let found = exchange(comm, tag, out.collect())?;
        Arrived::new(found.into_iter().map(|one| one.1), width, ranges.buckets())
    }
}

/// The message to a rank, whose buckets begin at `first`. Numbers of items become the places of the first ones.
fn message(first: usize, buckets: usize, width: usize, places: &mut [Vec<u32>]) -> Message {
    let mut counts = vec![0u32; buckets];
    for places in places.iter() {
        counts.iter_mut().zip(&places[first..]).for_each(|(count, items)| *count += items);
    }
    let mut items = 0;
    let mut next: Vec<u32> = Vec::with_capacity(buckets);
    for count in &counts {
        next.push(items);
        items += count;
    }
    // Task by task, so that numbers are read as they stand.
    for places in places.iter_mut() {
        for (place, next) in places[first..].iter_mut().zip(&mut next) {
            *next += std::mem::replace(place, *next);
        }
    }
    let (mut bytes, items) = (Writer::default(), items as usize);
    if items > 0 {
        bytes.u32s(&counts);
    }
    let mut bytes = bytes.take();
    bytes.reserve_exact(items * width);
    Message { bytes, items }
}

/// The messages that arrived from all ranks, in their order.
pub struct Arrived {
    /// The bytes of an item.
    width: usize,
    messages: Vec<Vec<u8>>,
    /// For each message where each bucket begins in it, and where the last one ends.
    starts: Vec<Vec<usize>>,
    buckets: usize,
}

impl Arrived {
    fn new(messages: impl Iterator<Item = Vec<u8>>, width: usize, buckets: usize) -> Result<Arrived, RankError> {
        let messages: Vec<Vec<u8>> = messages.collect();
        let starts = |message: &Vec<u8>| {
            let counts = Reader::new(message).u32s()?;
            let mut starts = vec![8 + 4 * counts.len()];
            counts.iter().for_each(|count| starts.push(starts[starts.len() - 1] + *count as usize * width));
            match counts.len() == buckets && starts[buckets] == message.len() {
                true => Ok(starts),
                false => Err(cut()),
            }
        };
        let starts = messages.iter().map(starts).collect::<Result<_, _>>()?;
        Ok(Arrived { width, messages, starts, buckets })
    }

    /// Items in each bucket.
    pub fn counts(&self) -> Vec<usize> {
        let count = |bucket: usize| {
            let bytes: usize = self.starts.iter().map(|starts| starts[bucket + 1] - starts[bucket]).sum();
            bytes / self.width
        };
        (0..self.buckets).map(count).collect()
    }

    /// The items of a bucket, one behind the other. Those of several ranks are brought together in `room`.
    pub fn bucket<'r>(&'r self, bucket: usize, room: &'r mut Vec<u8>) -> Items<'r> {
        let parts =
            self.messages.iter().zip(&self.starts).map(|(all, starts)| &all[starts[bucket]..starts[bucket + 1]]);
        let mut parts = parts.filter(|part| !part.is_empty());
        let (first, second) = (parts.next().unwrap_or_default(), parts.next());
        let bytes = match second {
            None => first,
            Some(second) => {
                room.clear();
                [first, second].into_iter().chain(parts).for_each(|part| room.extend_from_slice(part));
                room
            }
        };
        Items { bytes, width: self.width }
    }
}

/// Items one behind the other.
#[derive(Clone, Copy)]
pub struct Items<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Items<'_> {
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// A number of an item, so many bytes behind its beginning.
    #[inline(always)]
    pub fn number<const N: usize, T: Number<N>>(&self, item: usize, at: usize) -> T {
        let first = item * self.width + at;
        T::of(self.bytes[first..first + N].try_into().expect("there are as many"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use fmm::data::random::Random;

    #[test]
    fn items_come_bucket_by_bucket_in_the_order_of_ranks_and_places() {
        // Ranks without numbers, and more buckets than a rank's range has numbers.
        for (starts, total) in
            [(vec![0, 1 << 40], 20_000), (vec![0, 0, 900, 1000, 1000, 40_000], 100_000), (vec![0, 3], 1 << 20)]
        {
            let (ranks, end) = (starts.len() - 1, starts[starts.len() - 1]);
            let numbers = |rank: usize| -> Vec<u64> {
                let mut random = Random::new(7 + rank as u64);
                (0..5000).map(|_| (random.unit() * end as f64) as u64).collect()
            };
            let all_numbers: Vec<u64> = (0..ranks).flat_map(numbers).collect();
            let column: Vec<f64> = (0..5000).map(f64::from).collect();
            let ranges = Ranges::new(&starts, total);
            let found = threads::run(ranks, |comm| {
                let (by, first) = (numbers(comm.rank()), comm.rank() as u32 * 5000);
                let records = Records { index: Index::From(first), columns: &[&column] };
                let numbers = |items: Range<usize>, to: &mut Vec<u64>| to.extend(&by[items]);
                let arrived = records.share_out(comm, Tag::Points, &ranges, by.len(), &numbers)?;
                let mut all = Vec::new();
                for (bucket, count) in arrived.counts().into_iter().enumerate() {
                    let (mut room, (least, below)) = (Vec::new(), ranges.least(comm.rank(), bucket));
                    let items = arrived.bucket(bucket, &mut room);
                    assert_eq!(items.len(), count);
                    for k in 0..count {
                        let (index, x): (u32, f64) = (items.number(k, 0), items.number(k, INDEX));
                        let number = all_numbers[index as usize];
                        assert!((least..least + (1 << below)).contains(&number), "{number} {least} {below}");
                        assert_eq!((index % 5000) as f64, x);
                        all.push((bucket, index, number));
                    }
                }
                // Within a bucket items stand as in the input.
                assert!(all.is_sorted());
                Ok(all)
            });
            let mut found: Vec<_> = found
                .into_iter()
                .enumerate()
                .flat_map(|(rank, all)| {
                    let range = starts[rank]..starts[rank + 1];
                    let all = all.unwrap();
                    assert!(all.iter().all(|item| range.contains(&item.2)), "rank {rank}");
                    all.into_iter().map(|item| (item.1, item.2))
                })
                .collect();
            found.sort_unstable();
            let wanted = all_numbers.iter().enumerate().map(|(k, number)| (k as u32, *number));
            assert!(found.into_iter().eq(wanted));
        }
    }

    #[test]
    fn a_message_that_is_cut_is_refused() {
        let mut bytes = Writer::default();
        bytes.u32s(&[1, 2]);
        let mut bytes = bytes.take();
        bytes.resize(bytes.len() + 3 * 12, 0);
        let arrived =
            |bytes: &[u8], buckets| Arrived::new([bytes.to_vec()].into_iter(), 12, buckets).map(|a| a.counts());
        assert_eq!(arrived(&bytes, 2), Ok(vec![1, 2]));
        assert!(
            arrived(&bytes, 4).is_err() && arrived(&bytes[..bytes.len() - 1], 2).is_err() && arrived(&[], 2).is_err()
        );
    }
}
