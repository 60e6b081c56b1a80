//! The interactions of boxes: connectivity by the theta-criterion (section 2 of the paper).
//!
//! Two boxes of one level with radii R >= r and centres at distance d are well separated where R + theta r <= theta d. Every
//! box is strongly coupled to itself. Of the children of two strongly coupled boxes, those that are well separated interact by
//! M2L; the others are strongly coupled. Strongly coupled finest boxes with r + theta R <= theta d interact by P2L and M2P
//! (the sources of the larger box go to the local expansion of the smaller one, whose multipole expansion is evaluated at the
//! targets of the larger one), and the others by P2P.
//!
//! Boxes whose points all lie at one and the same place do not interact (docs/method/two-dimensions.md), and boxes too close for powers of
//! their distance to be held interact by P2P.

use super::mesh::{LEAST, Mesh, first, length};
use crate::parallel::prelude::*;

/// Lists of boxes, one behind the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flat {
    /// For each target box the place of its first source box, and behind the last one the number of all.
    pub start: Vec<usize>,
    /// Source boxes, ascending within a list.
    pub boxes: Vec<u32>,
}

/// The boxes that act on each box. Lists are directed: box a is in the list of b, and b in that of a. Where targets are not the
/// sources, boxes without sources are in no list, and boxes without targets have empty ones.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lists {
    /// M2L: for each box of all levels those well separated from it, as places among all boxes.
    pub weak: Flat,
    /// P2P: for each finest box those that it meets point by point, itself included, counted from 0 within the finest level, as
    /// are all that follow.
    pub near: Flat,
    /// P2L: for each finest box the larger ones whose sources enter its local expansion.
    pub p2l: Flat,
    /// M2P: for each finest box the smaller ones whose multipole expansions are evaluated at its targets.
    pub m2p: Flat,
}

impl Flat {
    /// The list of a box.
    pub fn of(&self, k: usize) -> &[u32] {
        &self.boxes[self.start[k]..self.start[k + 1]]
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn begin() -> Flat {
        Flat { start: vec![0], boxes: Vec::new() }
    }

    /// Appends a list for each number in `lengths`.
    fn extend(&mut self, lengths: &[u32], boxes: &[u32]) {
        for length in lengths {
            let end = self.start.last().expect("a start stands there") + *length as usize;
            self.start.push(end);
        }
        self.boxes.extend_from_slice(boxes);
    }
}

/// How two boxes of one level are coupled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coupling {
    None,
    Strong,
    Weak,
    /// Strong, and well separated with the roles of the radii exchanged: by P2L at the first box, or by M2P.
    ToLocal,
    FromMultipole,
}

/// Boxes whose lists one thread makes at a time.
const CHUNK: usize = 256;

/// The lists of one level for some of its boxes.
#[derive(Default)]
struct LevelLists {
    strong: (Vec<u32>, Vec<u32>),
    weak: (Vec<u32>, Vec<u32>),
    p2l: (Vec<u32>, Vec<u32>),
    m2p: (Vec<u32>, Vec<u32>),
}

impl Lists {
    pub fn new(mesh: &Mesh, theta: f64) -> Lists {
        let mut lists = Lists { weak: Flat::begin(), near: Flat::begin(), p2l: Flat::begin(), m2p: Flat::begin() };
        let couple = Couple { mesh, theta, acts: Sides::of(mesh) };
        // The root is its own parent's child here, so that its list is made as all others are.
        let mut strong = Flat { start: vec![0, 1], boxes: vec![0] };
        for level in 0..=mesh.levels {
            let is_finest = level == mesh.levels;
            let boxes = 1usize << (2 * level);
            let chunks = boxes.div_ceil(CHUNK);
            let range = |chunk: usize| chunk * CHUNK..boxes.min((chunk + 1) * CHUNK);
            let parts: Vec<LevelLists> =
                (0..chunks).into_par_iter().map(|chunk| couple.part(level, range(chunk), &strong, is_finest)).collect();
            strong = Flat::begin();
            for part in parts {
                lists.weak.extend(&part.weak.0, &part.weak.1);
                strong.extend(&part.strong.0, &part.strong.1);
                lists.p2l.extend(&part.p2l.0, &part.p2l.1);
                lists.m2p.extend(&part.m2p.0, &part.m2p.1);
            }
        }
        lists.near = strong;
        lists
    }
}

/// The criterion of the coupling of boxes.
struct Couple<'a> {
    mesh: &'a Mesh,
    theta: f64,
    acts: Sides,
}

/// For each box of all levels whether it has sources and targets.
struct Sides {
    sources: Vec<bool>,
    targets: Vec<bool>,
}

impl Sides {
    fn of(mesh: &Mesh) -> Sides {
        let of = |points: &super::mesh::Points| {
            let levels = 0..=mesh.levels;
            let one = |level: usize| {
                (0..1usize << (2 * level)).map(move |k| !points.range_above(k, mesh.levels - level).is_empty())
            };
            levels.flat_map(one).collect::<Vec<bool>>()
        };
        Sides { sources: of(&mesh.sources), targets: of(mesh.targets()) }
    }
}

impl Couple<'_> {
    /// The lists of some boxes of a level, given those of strongly coupled boxes of the level above.
    fn part(&self, level: usize, boxes: std::ops::Range<usize>, above: &Flat, is_finest: bool) -> LevelLists {
        let (mut part, place) = (LevelLists::default(), first(level));
        for k in boxes {
            let before = [&part.strong, &part.weak, &part.p2l, &part.m2p].map(|list| list.1.len());
            let parent = if level == 0 { 0 } else { k / 4 };
            let children = |p: u32| if level == 0 { 0..1 } else { 4 * p..4 * p + 4 };
            let others = above.of(parent).iter().flat_map(|p| children(*p));
            for other in others.filter(|_| self.acts.targets[place + k]) {
                match self.coupling(place + k, place + other as usize, is_finest) {
                    Coupling::None => {}
                    Coupling::Strong => part.strong.1.push(other),
                    Coupling::Weak => part.weak.1.push((place + other as usize) as u32),
                    Coupling::ToLocal => part.p2l.1.push(other),
                    Coupling::FromMultipole => part.m2p.1.push(other),
                }
            }
            let lists = [&mut part.strong, &mut part.weak, &mut part.p2l, &mut part.m2p];
            for (list, before) in lists.into_iter().zip(before) {
                list.0.push((list.1.len() - before) as u32);
            }
        }
        if !is_finest {
            (part.p2l, part.m2p) = Default::default();
        }
        part
    }

    /// How box `a`, as a target, is coupled to `b`, as a source.
    fn coupling(&self, a: usize, b: usize, is_finest: bool) -> Coupling {
        if !self.acts.sources[b] {
            return Coupling::None;
        }
        let boxes = &self.mesh.boxes;
        let d = length(boxes.x[b] - boxes.x[a], boxes.y[b] - boxes.y[a]);
        let (ra, rb) = (boxes.radius[a], boxes.radius[b]);
        let (large, small) = (ra.max(rb), ra.min(rb));
        if d < LEAST {
            // Where coordinates may be rounded, one place in units of the frame may be several.
            let is_one_place = d == 0.0 && large == 0.0 && self.mesh.exact.is_none();
            return if is_one_place && a != b { Coupling::None } else { Coupling::Strong };
        }
        if large + self.theta * small <= self.theta * d {
            return Coupling::Weak;
        }
        // A box of one place may lie at a point of the larger one, on which it does not act.
        let is_outside = large < d * (1.0 - 2f64.powi(-40));
        match is_finest && is_outside && small + self.theta * large <= self.theta * d {
            false => Coupling::Strong,
            true if rb > ra => Coupling::ToLocal,
            true => Coupling::FromMultipole,
        }
    }
}
