//! The parts of an Ewald sum that are functions of a distance, with what follows from them for charges and dipoles.
//!
//! A function G of r^2 is given by g_0 = G and g_(k+1) = 2 dg_k/d(r^2). With d = y - x, its derivatives with respect to d are
//! `g_1 d_a`, `g_2 d_a d_b + g_1 delta_ab`, and `g_3 d_a d_b d_c + g_2 (delta_ab d_c + delta_ac d_b + delta_bc d_a)`.

use super::special::{END, EULER, Fit, logarithm, mean_decay, smooth};
use super::{CUT, LEAST_SQUARE};
use std::f64::consts::PI;

/// g_0 to g_3. The last two count for dipoles and second derivatives alone.
pub type Values = [f64; 4];

/// The charge and dipole moment of a source.
pub struct Source {
    pub q: f64,
    pub p: [f64; 3],
}

/// The parts for an `alpha`, lengths in units of L.
pub struct Radial {
    alpha: f64,
    /// `alpha (2 alpha^2)^k`
    powers: Values,
    smooth: &'static [Fit; 4],
    logarithm: &'static Fit,
}

impl Radial {
    pub fn new(alpha: f64) -> Radial {
        let powers = std::array::from_fn(|k| alpha * (2.0 * alpha * alpha).powi(k as i32));
        Radial { alpha, powers, smooth: smooth(), logarithm: logarithm() }
    }

    /// The distance up to which images count.
    pub fn reach(&self) -> f64 {
        CUT.sqrt() / self.alpha
    }

    /// The contribution of the uniform background, subtracted from the potential of a charge where all axes are periodic.
    pub fn background(&self) -> f64 {
        PI / (self.alpha * self.alpha)
    }

    /// `erfc(alpha r) / r` as `1/r - alpha S(alpha^2 r^2)`; without 1/r where r is next to nothing.
    #[inline(always)]
    pub fn near<const ALL: bool>(&self, r2: f64) -> Values {
        let x = (self.alpha * self.alpha * r2).min(CUT);
        let of = |k: usize| if ALL || k < 2 { self.powers[k] * self.smooth[k].at(x) } else { 0.0 };
        let hard = if r2 < LEAST_SQUARE { [0.0; 4] } else { inverse(r2) };
        std::array::from_fn(|k| hard[k] - of(k))
    }

    /// The field of a charge as a sheet, with two periodic axes, by the square of the third coordinate.
    #[inline(always)]
    pub fn sheet<const ALL: bool>(&self, r2: f64) -> Values {
        let x = self.alpha * self.alpha * r2;
        let (smooth, rest) = match x < END {
            true => {
                let of = |k: usize| if ALL || k < 1 { self.smooth[k].at(x) } else { 0.0 };
                ([of(0), of(1), of(2)], (-x).exp())
            }
            false => {
                let root = 1.0 / x.sqrt();
                ([root, -0.5 * root / x, 0.75 * root / (x * x)], 0.0)
            }
        };
        let [one, two, three] = std::array::from_fn(|k| -2.0 * PI * self.powers[k] * smooth[k]);
        [-2.0 * PI.sqrt() / self.alpha * (rest + PI.sqrt() * x * smooth[0]), one, two, three]
    }

    /// The field of a charge as a line, with one periodic axis, by the square of the distance from it.
    #[inline(always)]
    pub fn line<const ALL: bool>(&self, r2: f64) -> Values {
        let x = self.alpha * self.alpha * r2;
        let ein = if x < END { self.logarithm.at(x) } else { x.ln() + EULER };
        let slopes = if ALL { [0, 1, 2].map(|k| mean_decay(k, x)) } else { [mean_decay(0, x), 0.0, 0.0] };
        let [one, two, three] = std::array::from_fn(|k| -self.powers[k + 1] / self.alpha * slopes[k]);
        [EULER + 2.0 * self.alpha.ln() - ein, one, two, three]
    }
}

/// 1/r.
#[inline(always)]
pub fn inverse(r2: f64) -> Values {
    let inverse = 1.0 / r2.sqrt();
    let i2 = inverse * inverse;
    [inverse, -inverse * i2, 3.0 * inverse * i2 * i2, -15.0 * inverse * i2 * i2 * i2]
}

/// Adds what a source at `d` from a target gives by a function that depends on the coordinates `axes`; with `ALL`, also by its
/// dipole, and to the second derivatives.
#[inline(always)]
pub fn act<const ALL: bool>(d: [f64; 3], axes: [bool; 3], g: &Values, source: &Source, sum: &mut [f64; 10]) {
    let q = source.q;
    if !ALL {
        sum[0] += q * g[0];
        (0..3).for_each(|a| sum[a + 1] -= q * g[1] * d[a]);
        return;
    }
    let p: [f64; 3] = std::array::from_fn(|a| if axes[a] { source.p[a] } else { 0.0 });
    let along = p[0] * d[0] + p[1] * d[1] + p[2] * d[2];
    let [value, slope, bend] = [0, 1, 2].map(|k| q * g[k] + along * g[k + 1]);
    sum[0] += value;
    let mut place = 4;
    for a in 0..3 {
        sum[a + 1] -= slope * d[a] + g[1] * p[a];
        for b in a..3 {
            let diagonal = if a == b && axes[a] { slope } else { 0.0 };
            sum[place] += bend * d[a] * d[b] + g[2] * (p[a] * d[b] + p[b] * d[a]) + diagonal;
            place += 1;
        }
    }
}
