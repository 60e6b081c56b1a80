//! The terms of an expansion: multi-indices and the two bases made of them.

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

/// A derivative of a harmonic function as a sum of those with at most one x: D_xx^m = (-1)^m (D_yy + D_zz)^m.
pub(super) fn reduced(n: Index) -> Vec<(Index, f64)> {
    let m = n[0] / 2;
    let mut coefficient = if m.is_multiple_of(2) { 1.0 } else { -1.0 };
    let mut sum = Vec::new();
    for i in 0..=m {
        sum.push(([n[0] % 2, n[1] + 2 * i, n[2] + 2 * (m - i)], coefficient));
        coefficient *= (m - i) as f64 / (i + 1) as f64;
    }
    sum
}
