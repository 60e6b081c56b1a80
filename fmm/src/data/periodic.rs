//! Periodic boundaries: a period and the axes along which it holds (RULES H16).

/// The box repeats itself with the same period along some of the axes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Periodic {
    /// The period L in the user's units: a normal number above 0.
    pub length: f64,
    pub axes: [bool; 3],
}

/// Every choice of periodic axes.
pub const ALL_AXES: [[bool; 3]; 7] = [
    [true, true, true],
    [true, true, false],
    [true, false, true],
    [false, true, true],
    [true, false, false],
    [false, true, false],
    [false, false, true],
];

impl Periodic {
    /// The coordinate that lies in [-L/2, L/2) and differs by a multiple of L: exact, as every remainder is.
    pub fn wrap(&self, axis: usize, x: f64) -> f64 {
        if !self.axes[axis] {
            return x;
        }
        let (length, half) = (self.length, 0.5 * self.length);
        // A remainder takes long, and most coordinates are not far from the box.
        let rest = if x.abs() < length { x } else { x % length };
        if rest >= half {
            rest - length
        } else if rest < -half {
            rest + length
        } else {
            rest
        }
    }

    /// The number of periodic axes.
    pub fn count(&self) -> usize {
        self.axes.iter().filter(|a| **a).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_is_exact_and_ends_in_the_box() {
        let p = Periodic { length: 0.75, axes: [true, false, true] };
        for (x, wanted) in [(0.0, 0.0), (0.375, -0.375), (-0.375, -0.375), (0.74, 0.74 - 0.75), (-0.5, 0.25)] {
            assert_eq!(p.wrap(0, x), wanted);
            assert_eq!(p.wrap(1, x), x);
            // Multiples of the period that f64 holds beside the coordinate.
            for k in [-3.0, 1.0, 64.0] {
                let far = wanted + k * p.length;
                if far - k * p.length == wanted {
                    assert_eq!(p.wrap(2, far), wanted, "{x} {k}");
                }
            }
        }
        for length in [1e-300, 0.1, 7.3e299] {
            let p = Periodic { length, axes: [true; 3] };
            for x in [1e-310, -1e-310, 0.05, -0.05, 1e300, -1.7e308, length, -length] {
                let w = p.wrap(0, x);
                assert!(w >= -0.5 * length && w < 0.5 * length, "{x} {length} {w}");
                assert_eq!(p.wrap(0, w), w);
            }
        }
    }
}
