//! Between points and expansions: P2M, L2P, P2L and M2P, with a vector of points at a time.
//!
//! With z the place of a point relative to the centre of the box, in its unit u, and a_j and b_j the coefficients as they are
//! kept ([`super::State`]):
//!
//! - `harmonic`, Phi = Gamma_k / (z_k - z): a_j = -Gamma z_k^(j-1) / u; b_j = Gamma / (u z_k^(j+1)).
//! - `log`, W = q log(z - z_k): a_0 = q, a_j = -q z_k^j / j; b_0 = q log(-z_k), b_j = -q / (j z_k^j). The potential is Re W, the
//!   gradient (Re W', -Im W').

use super::{Kernel, MOST_ORDER};
use crate::arith::lanes::Real;
use crate::arith::vector::{Elementary, Vector, vectorised};

/// Points are filled up to a multiple of this, which is two of the widest vectors of f64.
pub const FILL: usize = 16;

/// A box as its points see it.
#[derive(Clone, Copy)]
pub struct Place {
    pub centre: [f64; 2],
    pub unit: f64,
}

/// Columns of some points relative to a box, filled up with zeros.
#[derive(Default)]
pub struct Block {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub re: Vec<f64>,
    pub im: Vec<f64>,
    /// The sums at these points.
    pub sums: [Vec<f64>; 3],
}

/// The parameters of operators on points and expansions.
#[derive(Clone, Copy)]
pub struct Setting {
    pub kernel: Kernel,
    pub order: usize,
    /// The logarithm of the user's unit of length in units of the frame, which is added to logarithms of distances.
    pub log_unit: f64,
}

impl Block {
    /// Takes points, in units of the box.
    pub fn place(&mut self, x: &[f64], y: &[f64], place: &Place) {
        let filled = x.len().next_multiple_of(FILL);
        let factor = 1.0 / place.unit;
        for (to, from, centre) in [(&mut self.x, x, place.centre[0]), (&mut self.y, y, place.centre[1])] {
            to.clear();
            to.extend(from.iter().map(|x| (x - centre) * factor));
            // A copy of a point is as far from everything as the point itself.
            to.resize(filled, to.last().copied().unwrap_or(0.0));
        }
    }

    /// Takes strengths; those of filling are 0.
    pub fn carry(&mut self, re: &[f64], im: &[f64], factor: f64) {
        let filled = self.x.len();
        for (to, from) in [(&mut self.re, re), (&mut self.im, im)] {
            to.clear();
            to.extend(from.iter().map(|q| q * factor));
            to.resize(filled, 0.0);
        }
    }

    /// Begins sums with zeros.
    pub fn clear_sums(&mut self) {
        let filled = self.x.len();
        for column in &mut self.sums {
            column.clear();
            column.resize(filled, 0.0);
        }
    }
}

vectorised! {
    /// Adds the multipole expansion of the points of a block. Strengths of `harmonic` are -Gamma / u.
    pub fn to_multipole<T>(block: [&[T]; 4], setting: Setting, out: &mut [T]) = to_multipole_in
}

vectorised! {
    /// Adds the local expansion of far points of a block. Strengths of `harmonic` are Gamma / u.
    pub fn to_local<T>(block: [&[T]; 4], setting: Setting, log_u: T, out: &mut [T]) = to_local_in
}

vectorised! {
    /// Adds the values of a local expansion at the points of a block; derivatives with respect to u z.
    pub fn from_local<T>(expansion: &[T], setting: Setting, block: [&[T]; 2], sums: [&mut [T]; 3]) = from_local_in
}

vectorised! {
    /// Adds the values of a multipole expansion at far points of a block.
    pub fn from_multipole<T>(expansion: &[T], setting: Setting, log_u: T, block: [&[T]; 2], sums: [&mut [T]; 3])
        = from_multipole_in
}

/// Two vectors of complex numbers.
type Pair<V> = [[V; 2]; 2];

/// Sums of powers: for j from 0 below `terms`, those of `t z^j` over all points.
#[inline(always)]
unsafe fn powers<V: Vector>(t: Pair<V>, z: Pair<V>, sums: &mut [[V; 2]]) {
    let mut t = t;
    for sum in sums {
        // SAFETY: as for the caller.
        unsafe {
            for k in 0..2 {
                let [re, im] = t[k];
                *sum = [sum[0].add(re), sum[1].add(im)];
                t[k] = product(t[k], z[k]);
            }
        }
    }
}

#[inline(always)]
unsafe fn product<V: Vector>(a: [V; 2], b: [V; 2]) -> [V; 2] {
    // SAFETY: as for the caller.
    unsafe { [a[0].mul(b[0]).sub(a[1].mul(b[1])), a[0].mul_add(b[1], a[1].mul(b[0]))] }
}

/// 1 / z.
#[inline(always)]
unsafe fn inverse<V: Elementary>(z: [V; 2]) -> [V; 2] {
    // SAFETY: as for the caller.
    unsafe {
        let i = z[0].mul_add(z[0], z[1].mul(z[1])).inverse_or_zero();
        [z[0].mul(i), V::splat(V::Item::default()).sub(z[1].mul(i))]
    }
}

/// Two vectors of a column, from place `k` on.
#[inline(always)]
unsafe fn two<V: Vector>(a: &[V::Item], b: &[V::Item], k: usize) -> Pair<V> {
    // SAFETY: as for the caller.
    unsafe { [[V::load(&a[k..]), V::load(&b[k..])], [V::load(&a[k + V::LANES..]), V::load(&b[k + V::LANES..])]] }
}

/// Adds the lanes of `sums`, each times its factor, to the coefficients from `first` on.
#[inline(always)]
unsafe fn add_lanes<V: Vector>(sums: &[[V; 2]], first: usize, setting: Setting, out: &mut [V::Item]) {
    let (re, im) = out.split_at_mut(setting.order + 1);
    for (k, sum) in sums.iter().enumerate() {
        let j = first + k;
        let factor = match setting.kernel {
            Kernel::Log if j > 0 => V::Item::of(-1.0 / j as f64),
            _ => V::Item::ONE,
        };
        // SAFETY: as for the caller.
        unsafe {
            re[j] += factor * sum[0].sum();
            im[j] += factor * sum[1].sum();
        }
    }
}

#[inline(always)]
unsafe fn to_multipole_in<V: Elementary>([x, y, re, im]: [&[V::Item]; 4], setting: Setting, out: &mut [V::Item]) {
    // SAFETY: as for this function.
    unsafe {
        let zero = V::splat(V::Item::default());
        let mut sums = [[zero; 2]; MOST_ORDER + 1];
        let first = if setting.kernel == Kernel::Log { 0 } else { 1 };
        let sums = &mut sums[..setting.order + 1 - first];
        for k in (0..x.len()).step_by(2 * V::LANES) {
            powers::<V>(two::<V>(re, im, k), two::<V>(x, y, k), sums);
        }
        add_lanes(sums, first, setting, out);
    }
}

#[inline(always)]
unsafe fn to_local_in<V: Elementary>(
    [x, y, re, im]: [&[V::Item]; 4],
    setting: Setting,
    log_u: V::Item,
    out: &mut [V::Item],
) {
    // SAFETY: as for this function.
    unsafe {
        let zero = V::splat(V::Item::default());
        let mut sums = [[zero; 2]; MOST_ORDER + 1];
        let sums = &mut sums[..setting.order + 1];
        let mut logs = zero;
        for k in (0..x.len()).step_by(2 * V::LANES) {
            let z = two::<V>(x, y, k);
            let w = [inverse(z[0]), inverse(z[1])];
            let mut t = two::<V>(re, im, k);
            match setting.kernel {
                Kernel::Harmonic => t = [product(t[0], w[0]), product(t[1], w[1])],
                Kernel::Log => {
                    for k in 0..2 {
                        let square = z[k][0].mul_add(z[k][0], z[k][1].mul(z[k][1]));
                        let log = square.ln().mul_add(V::splat(V::Item::of(0.5)), V::splat(log_u));
                        logs = t[k][0].mul_add(log, logs);
                    }
                }
            }
            powers::<V>(t, w, sums);
        }
        if setting.kernel == Kernel::Log {
            sums[0] = [logs, zero];
        }
        add_lanes(sums, 0, setting, out);
    }
}

/// Evaluates an expansion at two vectors of points: its value and its derivative.
#[inline(always)]
unsafe fn horner<V: Vector>(
    coefficients: impl Iterator<Item = [V::Item; 2]>,
    z: Pair<V>,
    has_derivative: bool,
) -> [Pair<V>; 2] {
    // SAFETY: as for the caller.
    unsafe {
        let zero = V::splat(V::Item::default());
        let (mut value, mut slope) = ([[zero; 2]; 2], [[zero; 2]; 2]);
        for [re, im] in coefficients {
            for k in 0..2 {
                if has_derivative {
                    slope[k] = product_add(slope[k], z[k], value[k]);
                }
                value[k] = product_add(value[k], z[k], [V::splat(re), V::splat(im)]);
            }
        }
        [value, slope]
    }
}

/// a b + c.
#[inline(always)]
unsafe fn product_add<V: Vector>(a: [V; 2], b: [V; 2], c: [V; 2]) -> [V; 2] {
    // SAFETY: as for the caller.
    unsafe { [a[0].mul_add(b[0], c[0]).sub(a[1].mul(b[1])), a[0].mul_add(b[1], a[1].mul_add(b[0], c[1]))] }
}

/// Adds a vector to a column.
#[inline(always)]
unsafe fn add_to<V: Vector>(sums: &mut [V::Item], k: usize, x: V) {
    // SAFETY: as for the caller.
    unsafe { V::load(&sums[k..]).add(x).store(&mut sums[k..]) }
}

#[inline(always)]
unsafe fn from_local_in<V: Elementary>(
    expansion: &[V::Item],
    setting: Setting,
    [x, y]: [&[V::Item]; 2],
    [first, second, potential]: [&mut [V::Item]; 3],
) {
    let (re, im) = expansion.split_at(setting.order + 1);
    let is_log = setting.kernel == Kernel::Log;
    for k in (0..x.len()).step_by(2 * V::LANES) {
        // SAFETY: as for this function.
        unsafe {
            let z = two::<V>(x, y, k);
            let [value, slope] = horner(re.iter().zip(im).rev().map(|(re, im)| [*re, *im]), z, is_log);
            for (part, k) in [k, k + V::LANES].into_iter().enumerate() {
                if is_log {
                    add_to(potential, k, value[part][0]);
                    add_to(first, k, slope[part][0]);
                    add_to(second, k, V::splat(V::Item::default()).sub(slope[part][1]));
                } else {
                    add_to(first, k, value[part][0]);
                    add_to(second, k, value[part][1]);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn from_multipole_in<V: Elementary>(
    expansion: &[V::Item],
    setting: Setting,
    log_u: V::Item,
    [x, y]: [&[V::Item]; 2],
    [first, second, potential]: [&mut [V::Item]; 3],
) {
    let (re, im) = expansion.split_at(setting.order + 1);
    let is_log = setting.kernel == Kernel::Log;
    let zero = V::Item::default();
    for k in (0..x.len()).step_by(2 * V::LANES) {
        // SAFETY: as for this function.
        unsafe {
            let z = two::<V>(x, y, k);
            let w = [inverse(z[0]), inverse(z[1])];
            // The sum of a_j w^j, the term of j = 0 being that of the logarithm.
            let terms = re.iter().zip(im).enumerate().rev();
            let terms = terms.map(|(j, (re, im))| if j == 0 { [zero; 2] } else { [*re, *im] });
            let [value, slope] = horner(terms, w, is_log);
            for (part, k) in [k, k + V::LANES].into_iter().enumerate() {
                if is_log {
                    let [x, y] = z[part];
                    let log = x.mul_add(x, y.mul(y)).ln().mul_add(V::splat(V::Item::of(0.5)), V::splat(log_u));
                    add_to(potential, k, value[part][0].add(log.mul(V::splat(re[0]))));
                    // W' = (a_0 - w (sum of a_j w^j)') w / u.
                    let inner = product(w[part], slope[part]);
                    let slope = product([V::splat(re[0]).sub(inner[0]), V::splat(im[0]).sub(inner[1])], w[part]);
                    add_to(first, k, slope[0]);
                    add_to(second, k, V::splat(zero).sub(slope[1]));
                } else {
                    add_to(first, k, value[part][0]);
                    add_to(second, k, value[part][1]);
                }
            }
        }
    }
}
