//! Periodic boundaries as kernels of P2P see them (RULES H16): the box of their coordinates has several periods, and behind
//! the sources' records stand those of their images.

use crate::job::SourceRange;
use fmm::data::periodic::Periodic;
use fmm::octree::FmmOptions;
use fmm::tree::Tree;
use fmm::tree::lists::{self, Direct, Lists, Shifted};
use hdl::number::real::exp2;

/// The box that a kernel's coordinates are those of. Its middle is that of the particles' box.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelBox {
    /// Its edge is 2^`doublings` edges of the particles' box.
    pub doublings: u32,
}

impl KernelBox {
    /// The particles' own box, or with periodic boundaries the least one that holds all differences of coordinates between a
    /// particle and the images that P2P takes: these are less than `reach + 1` periods.
    pub fn of(options: &FmmOptions) -> KernelBox {
        let periods = |_: &Periodic| lists::reach(lists::near2(options.theta)) as u64 + 1;
        KernelBox { doublings: options.periodic.as_ref().map_or(0, |p| periods(p).next_power_of_two().ilog2()) }
    }

    /// A length in this box's units of one in those of the particles' box.
    pub fn length(&self, x: f64) -> f64 {
        x * exp2(-(self.doublings as i32))
    }

    /// The edge in the user's units, for an edge of the particles' box.
    pub fn edge(&self, edge: f64) -> f64 {
        edge * exp2(self.doublings as i32)
    }

    /// A potential (`a` of 0) or a component of a gradient in units of the particles' box, of one in this box's.
    pub fn boxed(&self, a: usize, x: f64) -> f64 {
        self.length(if a == 0 { x } else { self.length(x) })
    }
}

/// The records of P2P's sources: all sources of the tree, then those of their images that act on a leaf, by shift.
pub struct SourceRecords {
    own: usize,
    /// Ascending stretches that do not meet, each with its first record.
    images: Vec<(Shifted, usize)>,
    count: usize,
}

impl SourceRecords {
    pub fn new(tree: &Tree, lists: &Lists) -> SourceRecords {
        let mut all: Vec<Shifted> = lists.u_images.items().iter().filter(|s| s.count > 0).copied().collect();
        all.sort_unstable();
        all.dedup_by(|next, last| {
            let end = last.first + last.count;
            let meet = next.shift == last.shift && next.first <= end;
            if meet {
                last.count = end.max(next.first + next.count) - last.first;
            }
            meet
        });
        let mut count = tree.len();
        let placed = |s: Shifted| {
            count += s.count as usize;
            (s, count - s.count as usize)
        };
        let images = all.into_iter().map(placed).collect();
        SourceRecords { own: tree.len(), images, count }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The source of a record, and by how many periods it is moved.
    pub fn source(&self, record: usize) -> (usize, [i32; 3]) {
        if record < self.own {
            return (record, [0; 3]);
        }
        let (s, first) = &self.images[self.images.partition_point(|s| s.1 <= record) - 1];
        (s.first as usize + record - first, s.shift)
    }

    /// The record of an image of a source, or of the source itself; `None` for an image that acts on no leaf.
    pub fn of(&self, source: usize, shift: [i32; 3]) -> Option<usize> {
        if shift == [0; 3] {
            return Some(source);
        }
        let after = self.images.partition_point(|(s, _)| (s.shift, s.first as usize) <= (shift, source));
        let (s, first) = self.images.get(after.checked_sub(1)?)?;
        let is_in = s.shift == shift && source < (s.first + s.count) as usize;
        is_in.then(|| first + source - s.first as usize)
    }

    /// The records of what acts directly on a leaf.
    pub fn segments(&self, direct: Direct<'_>) -> impl Iterator<Item = SourceRange> {
        let own = direct.own.iter().map(|s| SourceRange { first: s.0 as usize, count: s.1 as usize });
        let images = direct.images.iter().filter(|s| s.count > 0).map(|s| {
            let first = self.of(s.first as usize, s.shift).expect("every image of the lists has a record");
            SourceRange { first, count: s.count as usize }
        });
        own.chain(images)
    }
}
