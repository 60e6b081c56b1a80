//! The kinds of expansions, and the terms of the Cartesian one: multi-indices.

/// A multi-index (n_x, n_y, n_z).
pub type Index = [u8; 3];

/// The basis of expansions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Basis {
    #[default]
    Cartesian,
    Solid,
    /// Chebyshev polynomials: the black-box expansion of a P2P kernel.
    Chebyshev,
    /// Softened 1/r: solid harmonics, and Chebyshev polynomials of what softening changes.
    Softened,
}

impl Basis {
    /// The highest order. What tables are made of, such as (4P)! in solid harmonics, stays in the range of f64.
    pub fn max_order(self) -> usize {
        match self {
            Basis::Cartesian => 20,
            Basis::Solid | Basis::Softened => 30,
            // Tables are made from the kernel at (P+2)^6 pairs of nodes.
            Basis::Chebyshev => 10,
        }
    }
}

/// Terms of all orders 0 to `order` of the Cartesian basis.
pub fn terms(order: usize) -> usize {
    (order + 1) * (order + 2) * (order + 3) / 6
}

/// n + e_axis.
pub(super) fn raised(n: Index, axis: usize) -> Index {
    let mut n = n;
    n[axis] += 1;
    n
}

/// Order of a multi-index.
pub fn degree(n: Index) -> usize {
    n.iter().map(|k| *k as usize).sum()
}

pub(super) fn sum(a: Index, b: Index) -> Index {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(super) fn lowered(n: Index, axis: usize, by: u8) -> Option<Index> {
    let mut n = n;
    n[axis] = n[axis].checked_sub(by)?;
    Some(n)
}

pub fn indices_of(order: usize) -> Vec<Index> {
    let order = order as u8;
    (0..=order).rev().flat_map(|x| (0..=order - x).rev().map(move |y| [x, y, order - x - y])).collect()
}
