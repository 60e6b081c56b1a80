//! How many pieces a line has at least, from a few of them.
//!
//! A search that halves pieces until each keeps the bound finds out late that there are far too many: for sin(1000 x) it looks at
//! tens of thousands for every degree and goal. The length of the piece around an argument is found by a few fits.

/// Arguments of a line that are looked at, evenly spaced but for a shift of each.
pub const PROBES: u64 = 16;

/// A stretch that some probes lie on is at least as long as so many fewer of their spacings.
const ENDS: usize = 2;

/// A place of the line's probe `k`, among fractions from `first` to `last`.
pub fn place(k: u64, first: u64, last: u64) -> u64 {
    // Multiples of the golden ratio keep in step with nothing periodic.
    let shift = (k as f64 * 0.618_033_988_749_894_9).fract();
    let part = (k as f64 + shift) / PROBES as f64;
    (first + ((last - first) as f64 * part) as u64).min(last)
}

/// Pieces that a part of a line has at least, which is `share` of the whole, where the pieces around the probes are of these depths.
pub fn least(mut depths: Vec<u32>, share: f64) -> f64 {
    depths.sort_unstable_by(|a, b| b.cmp(a));
    let of = |(k, depth): (usize, &u32)| {
        // Where pieces are as short as this, or shorter.
        let part = (k + 1).saturating_sub(ENDS) as f64 / PROBES as f64;
        share * part * (*depth as f64).exp2()
    };
    depths.iter().enumerate().map(of).fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_spread_and_inside() {
        let places: Vec<u64> = (0..PROBES).map(|k| place(k, 100, 65_535)).collect();
        assert!(places.is_sorted() && places[0] >= 100 && places[15] <= 65_535, "{places:?}");
        assert!(places.windows(2).all(|p| p[1] - p[0] > 500), "{places:?}");
        assert_eq!([0, 15].map(|k| place(k, 7, 7)), [7, 7]);
    }

    #[test]
    fn a_few_short_pieces_are_not_taken_for_many() {
        // Pieces of 2^-10 everywhere: a little less than that many.
        assert_eq!(least(vec![10; 16], 1.0), 896.0);
        assert_eq!(least(vec![10; 16], 0.25), 224.0);
        // Two probes that happen to lie at a pole say nothing of how long the stretch around it is.
        assert_eq!(least([[20, 20].as_slice(), &[3; 14]].concat(), 1.0), 7.0);
    }
}
