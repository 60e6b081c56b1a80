//! Images of cells: what a periodic box repeats about itself (RULES H16).

use super::lists::{is_near, reach};
use super::{Cell, Tree};
use std::ops::Range;

/// An image has no child among the images.
const NONE: u32 = u32::MAX;

/// The cells of a tree together with those images of them that are near the box, and these images' children.
#[derive(Clone, Debug)]
pub struct Images {
    /// First the cells of the tree. An image has its place and else what the cell has: the same particles and children.
    cells: Vec<Cell>,
    /// The cells of the tree.
    own: usize,
    /// For each image the cell that it repeats.
    of: Vec<u32>,
    /// For each image that of its first child.
    first_child: Vec<u32>,
}

impl Images {
    /// The images along some axes of cells that are near below `near2`.
    fn new(tree: &Tree, axes: [bool; 3], near2: u64) -> Images {
        let own = tree.cells.len();
        let mut images = Images { cells: tree.cells.clone(), own, of: Vec::new(), first_child: Vec::new() };
        if own == 0 {
            return images;
        }
        let most = axes.map(|a| if a { reach(near2) as i32 } else { 0 });
        for x in -most[0]..=most[0] {
            for y in -most[1]..=most[1] {
                for z in -most[2]..=most[2] {
                    let at = [x, y, z];
                    if at != [0; 3] && is_near(at.map(i64::from), near2) {
                        images.push(0, at);
                    }
                }
            }
        }
        // Images that are pushed come up later themselves.
        let mut next = own;
        while next < images.cells.len() {
            images.push_children(next, near2);
            next += 1;
        }
        images
    }

    /// Adds the image of a cell at a place.
    fn push(&mut self, cell: u32, at: [i32; 3]) {
        self.cells.push(Cell { at, ..self.cells[cell as usize] });
        self.of.push(cell);
        self.first_child.push(NONE);
    }

    /// Adds the children of an image that is near the box.
    fn push_children(&mut self, image: usize, near2: u64) {
        let Cell { at, level, .. } = self.cells[image];
        let edge = 1i64 << level;
        let gap = at.map(|x| (-(x as i64)).max(x as i64 - (edge - 1)).max(0));
        if self.cells[image].is_leaf() || !is_near(gap, near2) {
            return;
        }
        self.first_child[image - self.own] = self.cells.len() as u32;
        for child in self.cells[image].child_range() {
            let octant = self.cells[child].octant();
            self.push(child as u32, std::array::from_fn(|a| at[a] << 1 | (octant >> (2 - a) & 1) as i32));
        }
    }
}

impl Tree {
    /// Adds images along some axes, for cells that are near below `near2`.
    pub fn repeat(&mut self, axes: [bool; 3], near2: u64) {
        self.images = Some(Images::new(self, axes, near2));
    }

    /// The images of the root that are near it, as sources.
    pub fn images_of_root(&self) -> impl Iterator<Item = u32> {
        let own = self.cells.len() as u32;
        let of_root = self.images.iter().flat_map(|images| images.of.iter().take_while(|cell| **cell == 0));
        of_root.zip(own..).map(|(_, image)| image)
    }

    /// The images of cells of a level, as sources.
    pub fn images_of_level(&self, level: u32) -> Range<usize> {
        let Some(images) = &self.images else { return self.cells.len()..self.cells.len() };
        // They were made level by level.
        let end = |level: u32| images.own + images.cells[images.own..].partition_point(|cell| cell.level < level);
        end(level)..end(level + 1)
    }

    /// The cells that can be sources: those of the tree, then their images.
    pub fn acting(&self) -> &[Cell] {
        self.images.as_ref().map_or(&self.cells, |images| &images.cells)
    }

    /// The cell that a source is, or is an image of.
    pub fn original(&self, source: u32) -> usize {
        match &self.images {
            Some(images) if source as usize >= images.own => images.of[source as usize - images.own] as usize,
            _ => source as usize,
        }
    }

    /// The first of the children of a source as sources. For an image, they are there if it is near the box.
    pub fn first_acting_child(&self, source: u32) -> u32 {
        match &self.images {
            Some(images) if source as usize >= images.own => images.first_child[source as usize - images.own],
            _ => self.cells[source as usize].first_child,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::particles::Particles;
    use crate::data::random::{Charge, Distribution, generate};
    use crate::tree::lists::{self, ListOptions, Lists};

    /// How often each particle acts on each, by shift: `seen[shift][target][source]`.
    struct Coverage {
        n: usize,
        reach: i32,
        seen: Vec<u8>,
    }

    impl Coverage {
        fn of(tree: &Tree, lists: &Lists, near2: u64) -> Coverage {
            let reach = reach(near2) as i32;
            let n = tree.len();
            let mut all = Coverage { n, reach, seen: vec![0; (2 * reach as usize + 1).pow(3) * n * n] };
            for (k, cell) in tree.cells.iter().enumerate() {
                for s in &lists.u[k] {
                    all.add(cell.targets(), s.0 as usize..(s.0 + s.1) as usize, [0; 3]);
                }
                for s in &lists.u_images[k] {
                    assert_ne!(s.shift, [0; 3]);
                    all.add(cell.targets(), s.first as usize..(s.first + s.count) as usize, s.shift);
                }
                for s in lists.w[k].iter().chain(&lists.x[k]) {
                    let source = &tree.acting()[*s as usize];
                    let original = &tree.cells[tree.original(*s)];
                    assert_eq!((original.first, original.count), (source.first, source.count));
                    let edge = 1 << source.level;
                    let at: [i32; 3] = std::array::from_fn(|a| original.at[a] + edge * source.shift()[a]);
                    assert_eq!(at, source.at);
                    all.add(cell.targets(), source.sources(), source.shift());
                }
                for s in &lists.v[k] {
                    let source = &tree.acting()[*s as usize];
                    for t in &tree.cells[cell.child_range()] {
                        for s in &tree.cells[source.child_range()] {
                            let edge = 1 << s.level;
                            let d = [0, 1, 2].map(|a| t.at[a] - s.at[a] - edge * source.shift()[a]);
                            if !is_near(d.map(i64::from), near2) {
                                all.add(t.targets(), s.sources(), source.shift());
                            }
                        }
                    }
                }
            }
            all
        }

        fn add(&mut self, targets: Range<usize>, sources: Range<usize>, shift: [i32; 3]) {
            let edge = 2 * self.reach + 1;
            let block = shift.iter().fold(0, |k, s| k * edge + s + self.reach) as usize;
            for i in targets {
                sources.clone().for_each(|j| self.seen[(block * self.n + i) * self.n + j] += 1);
            }
        }

        /// Every pair once for each near image of the box along the axes, and never for another.
        fn check(&self, axes: [bool; 3], near2: u64, what: &str) {
            let edge = 2 * self.reach as i64 + 1;
            for (block, seen) in self.seen.chunks(self.n * self.n).enumerate() {
                let k = block as i64;
                let shift = [k / (edge * edge), k / edge % edge, k % edge].map(|x| x - self.reach as i64);
                let wanted = is_near(shift, near2) && (0..3).all(|a| axes[a] || shift[a] == 0);
                assert!(seen.iter().all(|c| *c == wanted as u8), "{what} {axes:?} near2 {near2} shift {shift:?}");
            }
        }
    }

    fn check(what: &str, particles: &Particles, leaf: usize, near2: u64, above: usize) {
        for k in 1..8 {
            let axes = [k & 4 != 0, k & 2 != 0, k & 1 != 0];
            let mut tree = Tree::build(particles.columns(), leaf);
            tree.repeat(axes, near2);
            let options = ListOptions { near2, m2p_above: above, p2l_above: above };
            let lists = lists::build(&tree, &options);
            Coverage::of(&tree, &lists, near2).check(axes, near2, &format!("{what} leaf {leaf} above {above}"));
        }
    }

    #[test]
    fn every_pair_is_covered_once_for_each_near_image() {
        for (name, d) in Distribution::ALL {
            let particles = generate(120, d, Charge::Random, 5);
            for leaf in [1, 6, 200] {
                for above in [0, 8, 10000] {
                    check(name, &particles, leaf, 4, above);
                }
            }
            check(name, &particles, 3, 9, 4);
        }
        check("wide", &generate(40, Distribution::Normal, Charge::Random, 5), 2, 23, 3);
    }

    #[test]
    fn few_particles_and_clumps_are_covered_too() {
        for n in [1, 2, 3] {
            check("few", &generate(n, Distribution::Uniform, Charge::Random, 2), 1, 4, 0);
        }
        let mut p = generate(20, Distribution::Uniform, Charge::Random, 2);
        // Deep cells at a face and at a corner of the box.
        (0..40).for_each(|k| p.push([1e-7 * k as f64, 0.4, 0.6], 1.0));
        (0..40).for_each(|k| p.push([1.0 - 1e-6 * k as f64, 1.0, 1.0], 1.0));
        for above in [0, 15] {
            check("clumps", &p, 4, 4, above);
        }
        let mut none = Tree::build(Particles::default().columns(), 1);
        none.repeat([true; 3], 4);
        assert!(none.acting().is_empty() && none.images_of_root().next().is_none());
    }
}
