//! A rank's own particles and its copies of others', numbered in the order of the whole; tree and lists in these numbers.

use super::bytes::push_each;
use super::demand::{Demand, Stretch, merged};
use super::essential::Essential;
use fmm::parallel::prelude::*;
use fmm::tree::boxmap::BoxMap;
use fmm::tree::lists::Lists;
use fmm::tree::sorted::Sorted;
use fmm::tree::{Tree, TreePart};
use std::ops::Range;

/// The particles of the whole that are here, and their places.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Stretches of the whole, ascending and merged, and where each begins here.
    stretches: Vec<Stretch>,
    starts: Vec<u32>,
    /// Own particles among all that are here, and the first of them in the whole.
    pub own: Range<u32>,
    first: u32,
    pub count: usize,
}

impl Layout {
    /// For own particles of the whole and copies of others.
    pub fn new(own: Range<u32>, copies: &[Stretch]) -> Layout {
        let mut all = copies.to_vec();
        all.push((own.start, own.end - own.start));
        let stretches = merged(all.into_iter().filter(|s| s.1 > 0).collect());
        let mut count = 0;
        let start = |s: &Stretch| {
            count += s.1;
            count - s.1
        };
        let starts = stretches.iter().map(start).collect();
        let mut layout = Layout { stretches, starts, own: 0..0, first: own.start, count: count as usize };
        if let Some(first) = layout.place(own.start).filter(|_| !own.is_empty()) {
            layout.own = first..first + (own.end - own.start);
        }
        layout
    }

    /// Where a particle of the whole is here.
    pub fn place(&self, of: u32) -> Option<u32> {
        // Most are the rank's own.
        if of >= self.first && of - self.first < self.own.end - self.own.start {
            return Some(self.own.start + (of - self.first));
        }
        let k = self.stretches.partition_point(|s| s.0 <= of).checked_sub(1)?;
        let (first, count) = self.stretches[k];
        (of < first + count).then(|| self.starts[k] + (of - first))
    }
}

/// The tree and the lists that a rank works on.
pub struct Local {
    pub tree: Tree,
    pub lists: Lists,
    pub layout: Layout,
    /// For each of the tree's leaves its place among the nodes.
    pub leaves: Vec<u32>,
    /// The rank's own ones of these.
    pub own_leaves: Range<usize>,
    /// For each of the rank's own targets its place in the tree.
    pub place: Vec<u32>,
}

/// Points in Morton order, of which the own ones are known.
pub struct Known<'a> {
    pub map: &'a BoxMap,
    pub sources: [&'a [f64]; 3],
    pub targets: Option<[&'a [f64]; 3]>,
}

impl Local {
    /// Numbers everything by what is here; copies have no coordinates yet, see `Local::sources`.
    pub fn new(essential: &mut Essential, lists: Lists, copies: &[Stretch], own: Range<u32>, known: &Known) -> Local {
        let layout = Layout::new(own, copies);
        let (mut cells, mut lists) = (std::mem::take(&mut essential.cells), lists);
        let nodes = &essential.nodes;
        cells.par_iter_mut().for_each(|cell| {
            // A cell whose particles are not here gets a place that nothing has.
            let place = if cell.count > 0 { layout.place(cell.first) } else { Some(layout.own.start) };
            cell.first = place.unwrap_or(u32::MAX - cell.count);
            if known.targets.is_none() && cell.targets > 0 {
                cell.first_target = cell.first;
            }
        });
        let moved = |first: &mut u32| *first = layout.place(*first).unwrap_or(u32::MAX);
        lists.u.items_mut().par_iter_mut().for_each(|s| moved(&mut s.0));
        lists.u_images.items_mut().par_iter_mut().for_each(|s| moved(&mut s.first));
        let is_copied = |n: &super::essential::Node| n.count > 0 && layout.place(n.first).is_some();
        let is_leaf = |k: &u32| {
            let node = &nodes[*k as usize];
            !node.is_split && (node.is_here || known.targets.is_none() && is_copied(node))
        };
        let mut leaves: Vec<u32> = (0..nodes.len() as u32).into_par_iter().filter(is_leaf).collect();
        // Those of each level are in order.
        leaves.par_sort_by_key(|k| nodes[*k as usize].first_key());
        let is_here = |k: &u32| nodes[*k as usize].is_here;
        let first = leaves.iter().position(is_here).unwrap_or(leaves.len());
        let own_leaves = first..first + leaves.iter().filter(|k| is_here(k)).count();
        let count = known.targets.map_or(known.sources[0].len(), |t| t[0].len()) as u32;
        let place = match known.targets {
            Some(_) => (0..count).collect(),
            None => layout.own.clone().collect(),
        };
        let in_order = |columns, count: u32| Sorted::in_order(columns, (0..count).collect(), known.map);
        let part = TreePart {
            map: *known.map,
            sources: layout.sources(known),
            targets: known.targets.map(|columns| in_order(columns, count)),
            cells,
            leaves: leaves.clone(),
            own: layout.own.clone(),
        };
        Local { tree: Tree::of_part(part), lists, layout, leaves, own_leaves, place }
    }
}

impl Layout {
    /// All that is here in order: own points, and copies, which are at 0 until they are known.
    fn sources(&self, known: &Known) -> Sorted {
        // Results are in the order of own points.
        let order = (0..self.count as u32).into_par_iter().map(|k| k.wrapping_sub(self.own.start)).collect();
        let own = self.own.start as usize..self.own.end as usize;
        Sorted::among(known.sources, own, self.count, order, known.map)
    }

    /// One column of all that is here, where copies are 0.
    pub fn column(&self, own: Vec<f64>) -> Vec<f64> {
        if own.len() == self.count {
            return own;
        }
        let mut all = Vec::with_capacity(self.count);
        all.resize(self.own.start as usize, 0.0);
        push_each(&mut all, &own, |x| *x);
        all.resize(self.count, 0.0);
        all
    }
}

/// The places of those leaves that lie in some stretches of the whole.
pub fn leaves_in(stretches: &[Stretch], leaves: &[u32], essential: &Essential) -> Vec<usize> {
    let node = |place: usize| &essential.nodes[leaves[place] as usize];
    let first = |of: u32| leaves.partition_point(|leaf| essential.nodes[*leaf as usize].first < of);
    let within = |s: &Stretch| first(s.0)..first(s.0 + s.1);
    // Leaves without sources lie nowhere.
    stretches.iter().flat_map(within).filter(|place| node(*place).count > 0).collect()
}

impl Demand {
    /// Pairs of each of the rank's own leaves.
    pub fn pairs_of_leaves(&self, essential: &Essential) -> Vec<u64> {
        let pairs =
            |k: &u32| essential.cells[*k as usize].targets as u64 * self.lists.direct(*k as usize).count() as u64;
        self.leaves.par_iter().map(pairs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_keep_the_order_of_the_whole() {
        let layout = Layout::new(10..20, &[(2, 3), (20, 4), (40, 1)]);
        assert_eq!((layout.count, layout.own.clone()), (18, 3..13));
        let places = [1, 2, 4, 5, 10, 19, 20, 23, 24, 40, 41].map(|k| layout.place(k));
        let (no, at) = (None, Some);
        assert_eq!(places, [no, at(0), at(2), no, at(3), at(12), at(13), at(16), no, at(17), no]);
        assert_eq!(Layout::new(0..0, &[]).own, 0..0);
    }
}
