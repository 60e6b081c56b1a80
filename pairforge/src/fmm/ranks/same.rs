//! Whether all ranks were given the same program, kernels and files: else they would mix what does not belong together.
//!
//! Where all ranks have one file of one machine, nothing is read for this. Else ranks that share a file read a part of it each.

use fmm::data::input::Input;
use fmm::data::problem::Geometry;
use fmm::shown;
use hdl::hash::fnv;
use pg2::graph::Graph;
use ranks::RankError;
use ranks::comm::{Comm, agree, gather_u64};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Input that a rank was given.
pub enum Content {
    /// A file of which it may have read its own part alone.
    File(PathBuf),
    /// The sum of all that it has read.
    Sum(u64),
}

/// Sums up words of 8 bytes, in their order.
#[derive(Clone, Copy)]
struct Sum(u64);

impl Sum {
    fn of(seed: u64) -> Sum {
        Sum(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }

    fn end(self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        mixed ^ mixed >> 29
    }
}

/// The sum of columns of numbers, by their bits.
pub fn of_columns<'a>(columns: impl IntoIterator<Item = &'a [f64]>) -> Content {
    let mut sum = Sum::of(1);
    for column in columns {
        sum.add(column.len() as u64);
        column.iter().for_each(|x| sum.add(x.to_bits()));
    }
    Content::Sum(sum.end())
}

/// The sum of sources and what they carry.
pub fn of_sources(input: &Input) -> Content {
    let Geometry { sources, .. } = input.geometry();
    let sets = input.sources();
    let carried = sets.iter().flat_map(|set| set.charges.into_iter().chain(set.dipoles.into_iter().flatten()));
    of_columns(sources.into_iter().chain(carried))
}

/// The sum of texts.
fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Content {
    let mut sum = Sum::of(2);
    texts.into_iter().for_each(|text| sum.add(fnv(text)));
    Content::Sum(sum.end())
}

/// Refuses ranks that run different builds of this program.
pub fn program(comm: &dyn Comm) -> Result<(), RankError> {
    // On Linux this is the file that runs, even where another one has taken its name.
    let linux = Path::new("/proc/self/exe");
    let own = if linux.exists() { Some(linux.into()) } else { std::env::current_exe().ok() };
    let version = of_texts([env!("CARGO_PKG_VERSION")]);
    let contents = [version, own.map_or(Content::Sum(0), Content::File)];
    match differs(comm, &contents)? {
        Some((rank, _)) => Err(RankError::Option(format!(
            "rank {rank} runs another version or build of this program than rank 0; start all ranks with one program"
        ))),
        None => Ok(()),
    }
}

/// Refuses ranks whose kernels, with all that these include, compute different things.
pub fn kernels<'a>(comm: &dyn Comm, kernels: impl IntoIterator<Item = &'a Graph>) -> Result<(), RankError> {
    let texts: Vec<String> = kernels.into_iter().map(Graph::to_string).collect();
    match differs(comm, &[of_texts(texts.iter().map(String::as_str))])? {
        Some((rank, _)) => Err(RankError::Range(format!(
            "rank {rank} has found another kernel than rank 0; let all ranks read the same files"
        ))),
        None => Ok(()),
    }
}

/// Refuses ranks that have read different things from files of these names.
pub fn files(comm: &dyn Comm, files: &[(PathBuf, Content)]) -> Result<(), RankError> {
    let contents: Vec<&Content> = files.iter().map(|file| &file.1).collect();
    match differs(comm, contents)? {
        Some((rank, which)) => Err(RankError::Range(format!(
            "rank {rank} has found another input than rank 0, since {} has other contents there; let all ranks read the \
             same files",
            shown::path(&files[which].0)
        ))),
        None => Ok(()),
    }
}

/// The first rank that has other contents than the first one, and which of them differs.
fn differs<'a>(
    comm: &dyn Comm,
    contents: impl IntoIterator<Item = &'a Content>,
) -> Result<Option<(usize, usize)>, RankError> {
    let contents: Vec<&Content> = contents.into_iter().collect();
    let keys: Vec<u64> = contents.iter().map(|content| content.key(comm.rank())).collect();
    let keys = gather_u64(comm, &keys)?;
    if keys.iter().all(|of_rank| *of_rank == keys[0]) {
        return Ok(None);
    }
    let part = |(which, content): (usize, &&Content)| {
        let has_it = |rank: &usize| keys[*rank].get(which) == keys[comm.rank()].get(which);
        let turn = (0..comm.rank()).filter(has_it).count();
        content.part(turn, (0..comm.size()).filter(has_it).count())
    };
    let parts: Result<Vec<u64>, RankError> = contents.iter().enumerate().map(part).collect();
    let parts = gather_u64(comm, &agree(comm, parts)?)?;
    // What those that share a file have found of it together.
    let whole = |rank: usize, which: usize| {
        let members = (0..comm.size()).filter(|other| keys[*other].get(which) == keys[rank].get(which));
        members.filter_map(|other| parts[other].get(which)).fold(0u64, |sum, part| sum.wrapping_add(*part))
    };
    let pairs = (1..comm.size()).flat_map(|rank| (0..contents.len()).map(move |which| (rank, which)));
    Ok(pairs.into_iter().find(|(rank, which)| whole(*rank, *which) != whole(0, *which)))
}

/// Bytes of a file that are summed up as one.
const BLOCK: u64 = 1 << 20;

impl Content {
    /// Equal where ranks have one thing: the same sum, or one file of one machine.
    fn key(&self, rank: usize) -> u64 {
        match self {
            Content::Sum(sum) => *sum,
            Content::File(path) => {
                let own = identity(path).unwrap_or_else(|| vec![u64::MAX, rank as u64]);
                let mut key = Sum::of(3);
                own.into_iter().for_each(|word| key.add(word));
                key.end()
            }
        }
    }

    /// The share of one of `of` ranks that have it, by its turn: all shares together sum up to the whole.
    fn part(&self, turn: usize, of: usize) -> Result<u64, RankError> {
        match self {
            Content::Sum(sum) => Ok(if turn == 0 { *sum } else { 0 }),
            Content::File(path) => sum_of_part(path, turn as u64, of as u64)
                .map_err(|e| RankError::Range(format!("{}: cannot be read: {e}", shown::path(path)))),
        }
    }
}

/// The machine, and which file and state of it a path names.
#[cfg(unix)]
fn identity(path: &Path) -> Option<Vec<u64>> {
    use std::os::unix::fs::MetadataExt;
    let found = path.metadata().ok()?;
    // Linux has another name for each start of a machine; without one, ranks share nothing.
    let machine = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let times = [found.mtime() as u64, found.mtime_nsec() as u64];
    Some([&[fnv(&machine), found.dev(), found.ino(), found.len()], &times[..]].concat())
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Vec<u64>> {
    None
}

fn sum_of_part(path: &Path, turn: u64, of: u64) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let blocks = file.metadata()?.len().div_ceil(BLOCK).max(1);
    let start = |turn: u64| (blocks as u128 * turn as u128 / of as u128) as u64;
    file.seek(SeekFrom::Start(start(turn) * BLOCK))?;
    let mut sum = 0u64;
    let mut block = Vec::new();
    for number in start(turn)..start(turn + 1) {
        block.clear();
        Read::by_ref(&mut file).take(BLOCK).read_to_end(&mut block)?;
        let mut own = Sum::of(number);
        own.add(block.len() as u64);
        let word = |bytes: &[u8]| u64::from_le_bytes(std::array::from_fn(|k| bytes.get(k).copied().unwrap_or(0)));
        block.chunks(8).for_each(|bytes| own.add(word(bytes)));
        sum = sum.wrapping_add(own.end());
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_file_sum_up_to_the_whole_and_every_byte_counts() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        for length in [0, 1, 7, 8, BLOCK as usize, BLOCK as usize + 1, 3 * BLOCK as usize + 5] {
            let bytes: Vec<u8> = (0..length).map(|k| ((k * k) >> 3) as u8).collect();
            let sum = |bytes: &[u8], of: u64| {
                std::fs::write(&path, bytes).unwrap();
                (0..of).fold(0u64, |sum, turn| sum.wrapping_add(sum_of_part(&path, turn, of).unwrap()))
            };
            let whole = sum(&bytes, 1);
            assert_eq!([2, 3, 7].map(|of| sum(&bytes, of)), [whole; 3], "{length} bytes");
            assert_ne!(sum(&[&bytes[..], &[0]].concat(), 2), whole, "{length} bytes");
            for at in [0, length / 2, length.saturating_sub(1)].into_iter().filter(|at| *at < length) {
                let mut other = bytes.clone();
                other[at] ^= 1;
                assert_ne!(sum(&other, 3), whole, "{length} bytes, {at}");
            }
        }
        let columns = |columns: &[&[f64]]| of_columns(columns.iter().copied()).key(0);
        let all = [columns(&[&[1.0, 2.0]]), columns(&[&[2.0, 1.0]]), columns(&[&[1.0], &[2.0]]), columns(&[&[1.0]])];
        assert!((0..4).all(|a| (0..a).all(|b| all[a] != all[b])), "{all:?}");
    }
}
