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
