//! A slice of the tree: the cells that a plane through the particles cuts, and the particles beside it.

use fmm::octree::Plan;
use fmm::tree::{self, Tree};
use serde::Serialize;
use std::fmt::Write as _;
use terminal::report::{Cell, Data, Figure, Key, Quantity, Table};

/// Most particles and most cells of a picture.
const MOST: (usize, usize) = (1500, 2500);

/// Edge of the picture in pixels.
const EDGE: f64 = 480.0;

/// The contents of the picture, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
pub struct Slice {
    /// The plane's height, in the user's units.
    z: f64,
    /// The greatest distance of particles from it.
    within: f64,
    particles: usize,
    cells: usize,
    /// The level below which cells are not drawn.
    level: u32,
    /// The ends of the picture along x and y.
    x: [f64; 2],
    y: [f64; 2],
    #[serde(skip)]
    svg: String,
}

impl Slice {
    /// The slice at the middle one of the heights of sources; none without any.
    pub fn of(plan: &Plan) -> Option<Slice> {
        let tree = &plan.tree;
        let heights = &tree.sources.unit[2];
        if heights.is_empty() {
            return None;
        }
        let middle = heights.len() / 2;
        let at = *heights.clone().select_nth_unstable_by(middle, f64::total_cmp).1;
        let mut near: Vec<usize> = (0..heights.len()).collect();
        let apart = |k: &usize| (heights[*k] - at).abs();
        if near.len() > MOST.0 {
            near.select_nth_unstable_by(MOST.0, |a, b| apart(a).total_cmp(&apart(b)));
            near.truncate(MOST.0);
        }
        let (level, cells) = cut(tree, at);
        let view = View::around(tree, &near);
        let ends = |a: usize| [-1.0, 1.0].map(|side| tree.map.user(a, view.centre[a] + side * view.half));
        Some(Slice {
            z: tree.map.user(2, at),
            within: near.iter().map(apart).fold(0.0, f64::max) * tree.map.edge(),
            particles: near.len(),
            cells: cells.len(),
            level,
            x: ends(0),
            y: ends(1),
            svg: svg(tree, &view, &near, &cells),
        })
    }

    /// The figure, from the key `slice`.
    pub fn figure(&self, data: &Data) -> Figure {
        let row =
            |name: &str, key: &str, quantity| vec![Cell::text(name), data.cell(&format!("slice/{key}"), quantity)];
        let rows = vec![
            row("height z", "z", Quantity::Plain),
            row("particles within", "within", Quantity::Plain),
            row("particles", "particles", Quantity::Count),
            row("cells", "cells", Quantity::Count),
            row("their deepest level", "level", Quantity::Count),
            row("x from", "x/0", Quantity::Plain),
            row("x to", "x/1", Quantity::Plain),
            row("y from", "y/0", Quantity::Plain),
            row("y to", "y/1", Quantity::Plain),
        ];
        let heads = ["of the picture", "value"].map(String::from).into();
        Figure {
            caption: "A slice of the tree, x to the right and y upwards, and the particles nearest to it".into(),
            svg: self.svg.clone(),
            keys: vec![Key { name: "particle".into(), colour: 0 }],
            data: Some(Table { caption: "The slice".into(), heads, rows }),
            is_wide: false,
        }
    }
}

/// The cells that a height cuts, down to the deepest level that leaves few enough of them.
fn cut(tree: &Tree, at: f64) -> (u32, Vec<&tree::Cell>) {
    let is_cut = |cell: &&tree::Cell| (cell.centre()[2] - at).abs() <= 0.5 * cell.edge();
    let cut: Vec<&tree::Cell> = tree.cells.iter().filter(is_cut).collect();
    let shown = |level: u32| cut.iter().filter(move |c| c.level == level || c.is_leaf() && c.level < level).copied();
    let deepest = cut.iter().map(|c| c.level).max().unwrap_or(0);
    let level = (0..=deepest).rev().find(|level| shown(*level).count() <= MOST.1).unwrap_or(0);
    (level, shown(level).collect())
}

/// The square that is drawn, in box units.
struct View {
    centre: [f64; 2],
    half: f64,
}

/// Part of the particles that the square is made for: a few may lie far outside of a cluster.
const INNER: f64 = 0.95;

impl View {
    /// The whole root cell, unless nearly all of these particles lie in a much smaller square.
    fn around(tree: &Tree, near: &[usize]) -> View {
        let sorted = |axis: usize, of: &dyn Fn(f64) -> f64| {
            let mut all: Vec<f64> = near.iter().map(|k| of(tree.sources.unit[axis][*k])).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        };
        let centre = [0, 1].map(|axis| sorted(axis, &|x| x)[near.len() / 2]);
        let inner = ((near.len() as f64 * INNER) as usize).min(near.len() - 1);
        let half = [0, 1].map(|axis| sorted(axis, &|x| (x - centre[axis]).abs())[inner]);
        match 1.25 * half[0].max(half[1]) {
            half if half > 0.0 && half < 0.3 => View { centre, half },
            _ => View { centre: [0.0, 0.0], half: 0.5 },
        }
    }

    /// Pixels of a coordinate; y grows upwards.
    fn at(&self, axis: usize, x: f64) -> f64 {
        let part = (x - self.centre[axis]) / self.half;
        0.5 * EDGE * if axis == 0 { 1.0 + part } else { 1.0 - part }
    }

    fn length(&self, x: f64) -> f64 {
        0.5 * EDGE * x / self.half
    }

    /// Whether anything of a square is drawn.
    fn shows(&self, at: [f64; 2], half: f64) -> bool {
        at.iter().zip(self.centre).all(|(x, centre)| (x - centre).abs() < self.half + half)
    }
}

fn svg(tree: &Tree, view: &View, near: &[usize], cells: &[&tree::Cell]) -> String {
    let mut out = format!(
        "<svg viewBox=\"-4 -4 {0} {0}\" class=\"fits\" role=\"img\" aria-label=\"Slice of the tree\">\n",
        EDGE + 8.0
    );
    let mut path = String::new();
    for cell in cells {
        let ([x, y, _], half) = (cell.centre(), 0.5 * cell.edge());
        if view.shows([x, y], half) {
            let (left, top, edge) = (view.at(0, x - half), view.at(1, y + half), view.length(cell.edge()));
            let _ = write!(path, "M{left:.1} {top:.1}h{edge:.2}v{edge:.2}h-{edge:.2}z");
        }
    }
    let _ = writeln!(out, "<path d=\"{path}\" class=\"cell\"/>");
    let mut path = String::new();
    let [x, y] = [0, 1].map(|a| &tree.sources.unit[a]);
    for at in near.iter().map(|k| [x[*k], y[*k]]).filter(|at| view.shows(*at, 0.0)) {
        // A point of no length, which its round ends make a dot.
        let _ = write!(path, "M{:.1} {:.1}h0", view.at(0, at[0]), view.at(1, at[1]));
    }
    let _ = writeln!(out, "<path d=\"{path}\" class=\"s0 dots\"/>");
    out + "</svg>\n"
}
