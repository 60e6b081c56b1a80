//! The terms of an expansion in real solid harmonics, and the products of the differential operators behind them.
//!
//! `D_n^m = dz^(n-m) (dx + i dy)^m` gives `D_n^m 1/r = (-1)^n (n-m)! P_n^m(cos) e^(i m phi) / r^(n+1)`, with P_n^m without
//! the factor (-1)^m (Hobson, The Theory of Spherical and Ellipsoidal Harmonics, 1931, ch. 4). All operators of the
//! expansion follow from the product of two of these: since `dx^2 + dy^2 = -dz^2` on harmonic functions, the product of
//! two real or imaginary parts is a sum of two such parts.

/// The real (cosine) or imaginary (sine) part of degree `n` and order `m`, 0 to n. There is no sine of order 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    pub n: usize,
    pub m: usize,
    pub sine: bool,
}

impl Term {
    /// Its place among all terms by degree: n^2 and on, first order 0, then cosine and sine of each order.
    pub fn place(self) -> usize {
        self.n * self.n + if self.m == 0 { 0 } else { 2 * self.m - 1 + self.sine as usize }
    }

    /// In which coordinates it is odd: x is bit 2, y bit 1, z bit 0, as in octants.
    pub fn class(self) -> usize {
        let x = (self.m + self.sine as usize) % 2;
        x << 2 | (self.sine as usize) << 1 | ((self.n - self.m) % 2)
    }

    /// `sqrt(2 / ((n-m)! (n+m)!))`, or 1/n! of order 0: the operator times this takes from a harmonic function, at 0, the
    /// coefficient of the term's regular harmonic.
    pub fn weight(self) -> f64 {
        let factorial = |n: usize| (1..=n).fold(1.0, |a, k| a * k as f64);
        let both = factorial(self.n - self.m) * factorial(self.n + self.m);
        if self.m == 0 { 1.0 / factorial(self.n) } else { (2.0 / both).sqrt() }
    }
}

/// Terms of degrees 0 to `order`.
pub fn count(order: usize) -> usize {
    (order + 1) * (order + 1)
}

/// All terms of degrees 0 to `order`, in their places: those of a lower order come first.
pub fn terms(order: usize) -> Vec<Term> {
    let of_degree = |n: usize| {
        let later = (1..=n).flat_map(move |m| [false, true].map(|sine| Term { n, m, sine }));
        std::iter::once(Term { n, m: 0, sine: false }).chain(later)
    };
    (0..=order).flat_map(of_degree).collect()
}

/// The product of two operators' parts as a sum; a factor may be 0.
pub fn product(a: Term, b: Term) -> [(Term, f64); 2] {
    // Both parts follow from those of D_a D_b and D_a conj(D_b).
    let n = a.n + b.n;
    let swap = if a.m.min(b.m).is_multiple_of(2) { 0.5 } else { -0.5 };
    let sum = |sine: bool, factor: f64| (Term { n, m: a.m + b.m, sine }, factor);
    let difference = |sine: bool, factor: f64| (Term { n, m: a.m.abs_diff(b.m), sine }, factor);
    let sign = if a.m < b.m { -swap } else { swap };
    let both = match (a.sine, b.sine) {
        (false, false) => [sum(false, 0.5), difference(false, swap)],
        (true, true) => [sum(false, -0.5), difference(false, swap)],
        (false, true) => [sum(true, 0.5), difference(true, -sign)],
        (true, false) => [sum(true, 0.5), difference(true, sign)],
    };
    both.map(|(t, factor)| if t.m == 0 && t.sine { (Term { sine: false, ..t }, 0.0) } else { (t, factor) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_stand_in_their_places() {
        let all = terms(7);
        assert_eq!(all.len(), count(7));
        assert!(all.iter().enumerate().all(|(k, t)| t.place() == k));
    }

    #[test]
    fn every_class_has_its_share() {
        let mut counts = [0; 8];
        terms(5).iter().for_each(|t| counts[t.class()] += 1);
        assert_eq!(counts, [6, 6, 6, 3, 6, 3, 3, 3]);
    }
}
