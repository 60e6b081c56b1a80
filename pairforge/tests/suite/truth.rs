//! Direct summation in integers of any length: about 40 digits, whatever the range.

use fmm::data::particles::Particles;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use rayon::prelude::*;

/// `m * 2^e`.
#[derive(Clone, Debug)]
struct Num {
    m: BigInt,
    e: i64,
}

/// Bits that are kept of a number.
const BITS: u64 = 160;

impl Num {
    fn zero() -> Num {
        Num { m: BigInt::zero(), e: 0 }
    }

    fn of(x: f64) -> Num {
        let bits = x.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        let m = if field == 0 { fraction } else { fraction | 1 << 52 };
        let m = if x < 0.0 { -BigInt::from(m) } else { BigInt::from(m) };
        Num { m, e: field.max(1) - 1075 }
    }

    /// The sum, exact.
    fn plus(&self, other: &Num) -> Num {
        if self.m.is_zero() || other.m.is_zero() {
            return if self.m.is_zero() { other.clone() } else { self.clone() };
        }
        let e = self.e.min(other.e);
        Num { m: (&self.m << (self.e - e) as u64) + (&other.m << (other.e - e) as u64), e }
    }

    fn minus(&self, other: &Num) -> Num {
        self.plus(&Num { m: -&other.m, e: other.e })
    }

    fn times(&self, other: &Num) -> Num {
        Num { m: &self.m * &other.m, e: self.e + other.e }.cut()
    }

    /// Without the bits that nobody needs.
    fn cut(self) -> Num {
        let drop = self.m.bits().saturating_sub(BITS);
        Num { m: self.m >> drop, e: self.e + drop as i64 }
    }

    /// 1 / sqrt(self) of a positive number.
    fn inverse_root(&self) -> Num {
        // An even exponent, and enough bits for the quotient's root.
        let even = if self.e.rem_euclid(2) == 1 { 1 } else { 0 };
        let m = &self.m << even as u64;
        let shift = (m.bits() + 2 * BITS).next_multiple_of(2);
        let root = ((BigInt::from(1) << shift) / m).sqrt();
        Num { m: root, e: -(shift as i64) / 2 - (self.e - even) / 2 }.cut()
    }

    /// The nearest f64, up to its last bit; infinite where there is none.
    fn to_f64(&self) -> f64 {
        let drop = self.m.bits().saturating_sub(64);
        let m = (&self.m >> drop).to_f64().expect("64 bits");
        let mut e = self.e + drop as i64;
        let mut x = m;
        while e != 0 && x != 0.0 && x.is_finite() {
            let step = e.clamp(-500, 500);
            x *= 2f64.powi(step as i32);
            e -= step;
        }
        x
    }
}

/// A sum and the sum of magnitudes.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    pub value: f64,
    pub size: f64,
}

/// Targets that are looked at, at most.
const TARGETS: usize = 50;

/// Potential and gradient at some particles: the first, the last, and others between them.
pub fn sums(p: &Particles, eps: f64) -> Vec<(usize, [Sum; 4])> {
    let n = p.len();
    let positions: Vec<[Num; 3]> = (0..n).map(|k| p.position(k).map(Num::of)).collect();
    let charges: Vec<Num> = p.q.iter().map(|q| Num::of(*q)).collect();
    let eps2 = Num::of(eps).times(&Num::of(eps));
    let one = |i: usize| -> [Sum; 4] {
        let mut sums: [(Num, Num); 4] = std::array::from_fn(|_| (Num::zero(), Num::zero()));
        for j in 0..n {
            let d: [Num; 3] = std::array::from_fn(|a| positions[j][a].minus(&positions[i][a]));
            if d.iter().all(|d| d.m.is_zero()) {
                continue;
            }
            let squares = d.iter().fold(Num::zero(), |sum, d| sum.plus(&Num { m: &d.m * &d.m, e: 2 * d.e }));
            let inverse = squares.plus(&eps2).inverse_root();
            let potential = charges[j].times(&inverse);
            let slope = potential.times(&inverse).times(&inverse);
            let parts = [potential, slope.times(&d[0]), slope.times(&d[1]), slope.times(&d[2])];
            for ((sum, size), part) in sums.iter_mut().zip(parts) {
                *sum = sum.plus(&part);
                *size = size.plus(&Num { m: part.m.abs(), e: part.e });
            }
        }
        sums.map(|(sum, size)| Sum { value: sum.to_f64(), size: size.to_f64() })
    };
    let targets = (0..n).filter(|k| k % n.div_ceil(TARGETS) == 0 || k + 5 > n);
    targets.collect::<Vec<_>>().into_par_iter().map(|k| (k, one(k))).collect()
}
