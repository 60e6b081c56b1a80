//! The exponentials of a quadrature, and the matrices between them and the terms of an expansion.
//!
//! A multipole expansion is the integral over l and a of exponentials `exp(-l z + i l (x cos a + y sin a))` with the factors
//! `W(l, a) = sum over n, m of (-i)^m w_nm l^n (Mc_nm cos(m a) + Ms_nm sin(m a))`, w_nm being [`Term::weight`], and a local
//! expansion takes `w_nm (-1)^(n-m) i^m l^n` times the cosine or sine from each exponential. So both are sums over n at each node l, then
//! sums over m at each angle. For sources above, z changes its sign and with it the terms of odd n-m. Angles are
//! `2 pi (j + 1/2) / N` with N a multiple of 4: those of the other quadrants follow from the first quadrant's, by the signs of
//! four kinds of sums, and half of the circle is enough, since opposite exponentials are conjugate.

use super::nodes::{Node, nodes};
use crate::arith::lanes::Real;
use crate::expansion::solid::terms::Term;
use std::f64::consts::PI;
use std::ops::Range;

/// The kinds of sums over m: cosines and sines of even m, cosines and sines of odd m.
pub const KINDS: usize = 4;

/// Exponentials are padded to a multiple of the longest vector's numbers.
const PADDED: usize = 16;

/// A matrix in tiles of rows, each column after column.
pub struct Packed<T> {
    pub size: [usize; 2],
    pub tile: usize,
    pub entries: Vec<T>,
}

/// The terms of one m and of cosine or sine, and their sums over n by node.
pub struct Column {
    pub m: usize,
    pub sine: bool,
    /// The first term of even n-m and the first of odd n-m, in the order of [`Modes::terms`].
    pub terms: [usize; 2],
    /// The first of the sums of each.
    pub sums: [usize; 2],
    /// Nodes that have this m: so many first ones.
    pub nodes: usize,
}

/// The numbers of one node.
pub struct Around<T> {
    /// Angles in the first quadrant.
    pub quarter: usize,
    /// Its first exponential: those of the first quadrant, then their mirror images in the second.
    pub first: usize,
    /// The modes of each kind.
    pub kinds: [Range<usize>; KINDS],
    /// From the modes of a kind to angles, and back.
    pub to_angles: [Packed<T>; KINDS],
    pub to_modes: [Packed<T>; KINDS],
}

/// All of an order.
pub struct Modes<T> {
    /// Terms by m, cosine and sine, parity of n-m, and n.
    pub terms: Vec<Term>,
    pub columns: Vec<Column>,
    /// For each m and parity of n-m from the terms by n to the sums by node, and back with the weights of the quadrature.
    pub to_nodes: Vec<[Packed<T>; 2]>,
    pub to_terms: Vec<[Packed<T>; 2]>,
    pub around: Vec<Around<T>>,
    /// Sums over n in all, modes in all, and exponentials of half a circle in all, padded.
    pub sums: usize,
    pub modes: usize,
    pub exponentials: usize,
    /// The node and the angle of each exponential.
    pub places: Vec<[f64; 2]>,
}

impl<T: Real> Packed<T> {
    /// With tiles of at most so many rows.
    pub fn new(size: [usize; 2], most: usize, entry: impl Fn(usize, usize) -> f64) -> Packed<T> {
        let [rows, columns] = size;
        let tile = rows.div_ceil(rows.div_ceil(most).max(1)).max(1);
        let mut entries = Vec::with_capacity(rows * columns);
        for first in (0..rows).step_by(tile) {
            for column in 0..columns {
                entries.extend((first..rows.min(first + tile)).map(|row| T::of(entry(row, column))));
            }
        }
        Packed { size, tile, entries }
    }
}

/// The m of a kind, in order, up to the highest.
fn of_kind(kind: usize, highest: usize) -> impl Iterator<Item = usize> {
    // There is no sine of 0.
    let first = [0, 2, 1, 1][kind];
    (first..=highest).step_by(2)
}

/// The kind of an m.
pub fn kind(m: usize, sine: bool) -> usize {
    2 * (m % 2) + sine as usize
}

impl<T: Real> Modes<T> {
    /// For products of matrices in tiles of at most so many rows.
    pub fn new(order: usize, rows: usize) -> Modes<T> {
        let nodes = nodes(order);
        let mut modes = Modes {
            terms: Vec::new(),
            columns: Vec::new(),
            to_nodes: Vec::new(),
            to_terms: Vec::new(),
            around: Vec::new(),
            sums: 0,
            modes: 0,
            exponentials: 0,
            places: Vec::new(),
        };
        for m in 0..=order {
            modes.add_m(m, order, &nodes, rows);
        }
        nodes.iter().for_each(|node| modes.add_node(node, rows));
        modes.exponentials = modes.places.len().next_multiple_of(PADDED);
        modes
    }

    fn add_m(&mut self, m: usize, order: usize, nodes: &[Node], rows: usize) {
        let has = nodes.iter().take_while(|node| node.modes >= m).count();
        let of_parity = |odd: usize| (m + odd..=order).step_by(2).collect::<Vec<usize>>();
        for sine in [false, true].into_iter().take(1 + (m > 0) as usize) {
            let mut column = Column { m, sine, terms: [0; 2], sums: [0; 2], nodes: has };
            for odd in 0..2 {
                (column.terms[odd], column.sums[odd]) = (self.terms.len(), self.sums);
                self.terms.extend(of_parity(odd).into_iter().map(|n| Term { n, m, sine }));
                self.sums += has;
            }
            self.columns.push(column);
        }
        let factor = |n: usize, node: &Node| Term { n, m, sine: false }.weight() * node.lambda.powi(n as i32);
        let both = [0, 1].map(|odd| {
            let n = of_parity(odd);
            let to_nodes = Packed::new([has, n.len()], rows, |k, column| factor(n[column], &nodes[k]));
            let to_terms = Packed::new([n.len(), has], rows, |row, k| nodes[k].factor() * factor(n[row], &nodes[k]));
            (to_nodes, to_terms)
        });
        let [even, odd] = both;
        self.to_nodes.push([even.0, odd.0]);
        self.to_terms.push([even.1, odd.1]);
    }

    fn add_node(&mut self, node: &Node, rows: usize) {
        let quarter = node.around / 4;
        let angle = |q: usize| 2.0 * PI * (q as f64 + 0.5) / node.around as f64;
        let part = |kind: usize, m: usize, q: usize| {
            let (sin, cos) = (m as f64 * angle(q)).sin_cos();
            let sign = if (m / 2).is_multiple_of(2) { 1.0 } else { -1.0 };
            sign * if kind % 2 == 0 { cos } else { sin }
        };
        let mut matrices = |kind: usize| {
            let m: Vec<usize> = of_kind(kind, node.modes).collect();
            let range = self.modes..self.modes + m.len();
            self.modes = range.end;
            let to_angles = Packed::new([quarter, m.len()], rows, |q, column| part(kind, m[column], q));
            // i^m has the other sign of (-i)^m where m is odd.
            let sign = if kind < 2 { 1.0 } else { -1.0 };
            let to_modes = Packed::new([m.len(), quarter], rows, |row, q| sign * part(kind, m[row], q));
            (range, to_angles, to_modes)
        };
        let all: [_; KINDS] = std::array::from_fn(&mut matrices);
        let [a, b, c, d] = all;
        self.around.push(Around {
            quarter,
            first: self.places.len(),
            kinds: [a.0, b.0, c.0, d.0],
            to_angles: [a.1, b.1, c.1, d.1],
            to_modes: [a.2, b.2, c.2, d.2],
        });
        self.places.extend((0..quarter).map(|q| [node.lambda, angle(q)]));
        self.places.extend((0..quarter).map(|q| [node.lambda, PI - angle(q)]));
    }
}
