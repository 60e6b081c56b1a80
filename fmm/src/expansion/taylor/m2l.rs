//! M2L on the CPU, in f64 or f32: all eight children of a target cell at once against each child of its near cells.
//!
//! In units of the cell the derivatives depend on the integer offset alone, so they are tabulated for every offset of
//! two parents and every octant of the source. Near pairs of children have zeros there: the `flag` of the kernel.

use super::{LANES, Lane, Taylor};
use crate::arith::lanes::{Real, fastest, madd};
use crate::expansion::Far;
use crate::parallel::prelude::*;
use crate::tree::lists::{is_near, reach};

/// Tables beyond this many bytes are not kept; their entries are computed when needed.
const TABLE_LIMIT: usize = 128 << 20;

/// Derivatives for offsets of parents up to `reach` along each axis.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    reach: i64,
    /// For each offset the position of its first block, or `NONE`.
    starts: Vec<u32>,
    blocks: Vec<Lane<T>>,
}

const NONE: u32 = u32::MAX;

impl<T: Real> Table<T> {
    pub(super) fn new(e: &Taylor, near2: u64) -> Table<T> {
        let reach = reach(near2);
        let edge = 2 * reach + 1;
        let size = (edge as f64).powi(3) * (8 * e.l * size_of::<Lane<T>>()) as f64;
        let mut table = Table { reach, starts: Vec::new(), blocks: Vec::new() };
        if size > TABLE_LIMIT as f64 {
            return table;
        }
        for k in 0..edge.pow(3) {
            let offset = [k / (edge * edge), k / edge % edge, k % edge].map(|x| x - reach);
            if !is_near(offset, near2) || offset == [0; 3] {
                table.starts.push(NONE);
                continue;
            }
            table.starts.push(table.blocks.len() as u32);
            for octant in 0..8 {
                let at = table.blocks.len();
                table.blocks.resize(at + e.l, Lane::<T>::default());
                derivatives::<T>(e, offset, octant, near2, &mut table.blocks[at..]);
            }
        }
        table
    }

    /// The eight blocks of an offset, one for each octant of the source.
    fn find(&self, e: &Taylor, offset: [i64; 3]) -> Option<&[Lane<T>]> {
        if self.starts.is_empty() {
            return None;
        }
        let edge = 2 * self.reach + 1;
        let [x, y, z] = offset.map(|x| x + self.reach);
        let start = self.starts[((x * edge + y) * edge + z) as usize];
        (start != NONE).then(|| &self.blocks[start as usize..start as usize + 8 * e.l])
    }
}

/// The derivatives at the offsets of eight target octants from one source octant of a parent at `offset`.
fn derivatives<T: Real>(e: &Taylor, offset: [i64; 3], source: usize, near2: u64, out: &mut [Lane<T>]) {
    let bits = |octant: usize| [octant >> 2 & 1, octant >> 1 & 1, octant & 1].map(|b| b as i64);
    let mut x = [[T::default(); LANES]; 3];
    let mut far = [false; LANES];
    for target in 0..LANES {
        let (t, s) = (bits(target), bits(source));
        let d: [i64; 3] = std::array::from_fn(|a| 2 * offset[a] + t[a] - s[a]);
        (0..3).for_each(|a| x[a][target] = T::of(d[a] as f64));
        far[target] = !is_near(d, near2);
    }
    e.derivatives::<T, false>(&x, far, out);
}

/// Adds to `l` what the multipoles `m` of each cell's list give. The table was made for the same `near2`.
pub(super) fn m2l<T: Real>(far: Far, e: &Taylor, table: &Table<T>, m: &[T], l: &mut [T]) {
    let Far { tree, lists, near2 } = far;
    let scratch = || (vec![[T::default(); LANES]; e.l], vec![[T::default(); LANES]; e.l]);
    tree.by_parent(l, e.l).into_par_iter().for_each_init(scratch, |(sum, block), (parent, l)| {
        let sources = &lists.v[parent];
        if sources.is_empty() {
            return;
        }
        sum.fill([T::default(); LANES]);
        let at = tree.cells[parent].at;
        for s in sources {
            let source = &tree.acting()[*s as usize];
            let offset: [i64; 3] = std::array::from_fn(|a| at[a] as i64 - source.at[a] as i64);
            let blocks = table.find(e, offset);
            for child in source.child_range() {
                let octant = tree.cells[child].octant();
                let m = &m[child * e.m..(child + 1) * e.m];
                match blocks {
                    Some(blocks) => translate::<T>(e, m, &blocks[octant * e.l..(octant + 1) * e.l], sum),
                    None => {
                        derivatives(e, offset, octant, near2, block);
                        translate::<T>(e, m, block, sum);
                    }
                }
            }
        }
        for (child, l) in tree.cells[parent].child_range().zip(l.chunks_exact_mut(e.l)) {
            let octant = tree.cells[child].octant();
            l.iter_mut().zip(&*sum).for_each(|(l, sum)| *l += sum[octant]);
        }
    });
}

/// M2L at one offset.
pub(super) fn pair<T: Real>(e: &Taylor, offset: [i64; 3], m: &[T], l: &mut [T]) {
    let mut d = vec![[T::default(); LANES]; e.l];
    e.derivatives::<T, false>(&offset.map(|x| [T::of(x as f64); LANES]), [true; LANES], &mut d);
    for (k, l) in l.iter_mut().enumerate() {
        let mut sum = T::default();
        e.row(k).iter().for_each(|(n, i)| sum += m[*n as usize] * d[*i as usize][0]);
        *l += sum;
    }
}

fastest! {
    /// `L'_k += sum of M'_n D_{n+k}` for eight targets and one source.
    fn translate<T>(e: &Taylor, m: &[T], d: &[Lane<T>], sum: &mut [Lane<T>]) = translate_body
}

#[inline(always)]
fn translate_body<T: Real, const FMA: bool>(e: &Taylor, m: &[T], d: &[Lane<T>], sum: &mut [Lane<T>]) {
    let mut start = 0;
    for (sum, end) in sum.iter_mut().zip(&e.row_ends) {
        let mut total = *sum;
        for (n, i) in &e.rows[start..*end as usize] {
            let (m, d) = (m[*n as usize], &d[*i as usize]);
            for lane in 0..LANES {
                total[lane] = madd::<T, FMA>(m, d[lane], total[lane]);
            }
        }
        *sum = total;
        start = *end as usize;
    }
}
