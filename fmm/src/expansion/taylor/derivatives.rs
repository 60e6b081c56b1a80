//! Dipoles and second derivatives in Taylor expansions.
//!
//! A dipole p at y gives p.(d/dy) of what a charge gives: to M_n the sum of -p_a (c-y)^(n-e_a) / (n-e_a)!, and to L_k that of
//! -p_a D_(k+e_a). The second derivative along a and b is the sum of L_(n+e_a+e_b) x^n / n!, or that of M_n D_(n+e_a+e_b).

use super::operators::{block, lanes, p2l, p2m};
use super::{LANES, Operators, Taylor};
use crate::arith::lanes::{Real, fastest};
use crate::expansion::{Derivatives, PAIRS, Points, SecondDerivatives};

impl<T: Real> Operators<T> {
    /// The tables of the next order.
    fn upper(&self) -> &Taylor {
        self.upper.get_or_init(|| Taylor::new(self.taylor.order + 1))
    }
}

impl<T: Real> Derivatives<T> for Operators<T> {
    fn p2m_dipoles(&self, points: Points<T>, dipoles: [&[T]; 3], m: &mut [T], scratch: &mut Vec<T>) {
        let mut moments = vec![T::default(); self.taylor.m];
        for (axis, p) in dipoles.into_iter().enumerate() {
            moments.fill(T::default());
            p2m::<T>(&self.taylor, points, p, &mut moments, scratch);
            for (raised, moment) in self.taylor.raised.iter().zip(&moments) {
                if let Some(m) = m.get_mut(raised[axis] as usize) {
                    *m += -*moment;
                }
            }
        }
    }

    fn p2l_dipoles(&self, _: u32, points: Points<T>, dipoles: [&[T]; 3], l: &mut [T], scratch: &mut Vec<T>) {
        let upper = self.upper();
        let mut sums = vec![T::default(); upper.l];
        for (axis, p) in dipoles.into_iter().enumerate() {
            sums.fill(T::default());
            p2l::<T>(upper, points, p, &mut sums, scratch);
            l.iter_mut().zip(&upper.raised).for_each(|(l, raised)| *l += -sums[raised[axis] as usize]);
        }
    }

    fn l2p_hessian(&self, l: &[T], points: Points<T>, out: &mut [SecondDerivatives<T>], scratch: &mut Vec<T>) {
        let raised = &self.taylor.raised;
        // Twice raised terms exist for orders up to P - 2.
        let factors: Vec<SecondDerivatives<T>> = (raised.iter())
            .map_while(|once| {
                let twice = PAIRS.map(|[a, b]| Some(raised.get(once[a] as usize)?[b] as usize));
                twice[0].map(|_| twice.map(|place| l[place.expect("terms of one order have places alike")]))
            })
            .collect();
        l2p_hessian::<T>(&self.taylor, &factors, points, out, scratch);
    }

    fn m2p_hessian(&self, _: u32, m: &[T], points: Points<T>, out: &mut [SecondDerivatives<T>], scratch: &mut Vec<T>) {
        let upper = self.upper();
        let mut factors = vec![SecondDerivatives::default(); upper.l];
        for (m, once) in m.iter().zip(&upper.raised) {
            for (pair, [a, b]) in PAIRS.into_iter().enumerate() {
                factors[upper.raised[once[a] as usize][b] as usize][pair] += *m;
            }
        }
        m2p_hessian::<T>(upper, &factors, points, out, scratch);
    }
}

fastest! {
    fn l2p_hessian<T>(
        e: &Taylor, factors: &[SecondDerivatives<T>], points: Points<T>, out: &mut [SecondDerivatives<T>], scratch: &mut Vec<T>,
    ) = l2p_body
}

#[inline(always)]
fn l2p_body<T: Real, const FMA: bool>(
    e: &Taylor,
    factors: &[SecondDerivatives<T>],
    points: Points<T>,
    out: &mut [SecondDerivatives<T>],
    scratch: &mut Vec<T>,
) {
    if factors.is_empty() {
        return;
    }
    let powers = lanes(scratch, factors.len());
    for (k, out) in out.chunks_mut(LANES).enumerate() {
        e.powers(&block(&points, k * LANES), powers);
        add(factors, powers, out);
    }
}

fastest! {
    fn m2p_hessian<T>(
        e: &Taylor, factors: &[SecondDerivatives<T>], points: Points<T>, out: &mut [SecondDerivatives<T>], scratch: &mut Vec<T>,
    ) = m2p_body
}

#[inline(always)]
fn m2p_body<T: Real, const FMA: bool>(
    e: &Taylor,
    factors: &[SecondDerivatives<T>],
    points: Points<T>,
    out: &mut [SecondDerivatives<T>],
    scratch: &mut Vec<T>,
) {
    let d = lanes(scratch, e.l);
    for (k, out) in out.chunks_mut(LANES).enumerate() {
        e.derivatives::<T, FMA>(&block(&points, k * LANES), [true; LANES], d);
        add(factors, d, out);
    }
}

/// Adds the sums of factors times values at up to eight points.
#[inline(always)]
fn add<T: Real>(factors: &[SecondDerivatives<T>], values: &[[T; LANES]], out: &mut [SecondDerivatives<T>]) {
    let mut sums = [[T::default(); LANES]; 6];
    for (factors, value) in factors.iter().zip(values) {
        for a in 0..6 {
            for i in 0..LANES {
                sums[a][i] += factors[a] * value[i];
            }
        }
    }
    for (i, out) in out.iter_mut().enumerate() {
        (0..6).for_each(|a| out[a] += sums[a][i]);
    }
}
