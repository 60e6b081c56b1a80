//! Results of particles, as they come from a GPU, to columns.

use crate::cuda::p2p::Number;
use fmm::parallel::prelude::*;
use std::mem::MaybeUninit;

/// Particles whose results a thread brings to columns at a time.
const SPREAD: usize = 8192;

/// Results of particles one behind the other, of which the first numbers go to columns, each times its factor.
pub struct Results<'a, const N: usize> {
    pub factors: &'a [f64; N],
    pub width: usize,
}

impl<const N: usize> Results<'_, N> {
    /// Writes a piece of them, which begins at a number and may begin and end within a particle's.
    pub fn spread<T: Number>(&self, at: usize, piece: &[T], columns: [&mut [MaybeUninit<f64>]; N]) {
        let end = at + piece.len();
        let whole = at.next_multiple_of(self.width).min(end);
        let cut = (end / self.width * self.width).max(whole);
        for k in (at..whole).chain(cut..end).filter(|k| k % self.width < N) {
            let a = k % self.width;
            columns[a][k / self.width].write(piece[k - at].f64() * self.factors[a]);
        }
        let particles = whole / self.width..cut / self.width;
        self.spread_whole(&piece[whole - at..cut - at], columns.map(|column| &mut column[particles.clone()]));
    }

    fn spread_whole<T: Number>(&self, values: &[T], columns: [&mut [MaybeUninit<f64>]; N]) {
        let mut columns = columns.map(|column| column.chunks_mut(SPREAD));
        let mut next = || columns.each_mut().map(|chunks| chunks.next().expect("there are as many"));
        let parts: Vec<_> = values.chunks(self.width * SPREAD).map(|values| (values, next())).collect();
        parts.into_par_iter().for_each(|(values, columns)| {
            let n = values.len() / self.width;
            let columns = columns.map(|column| &mut column[..n]);
            for (k, v) in values.chunks_exact(self.width).take(n).enumerate() {
                let v = &v[..N];
                for a in 0..N {
                    columns[a][k].write(v[a].f64() * self.factors[a]);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_cut_results_give_the_columns_of_all() {
        let values: Vec<f64> = (0..12 * 7).map(f64::from).collect();
        for piece in [1, 5, 12, 17, 84] {
            let mut columns = [(); 10].map(|()| [MaybeUninit::new(0.0); 7]);
            for (k, part) in values.chunks(piece).enumerate() {
                let results = Results { factors: &[2.0; 10], width: 12 };
                results.spread(k * piece, part, columns.each_mut().map(|column| &mut column[..]));
            }
            for (a, column) in columns.iter().enumerate() {
                // SAFETY: all of it was written.
                let column = column.map(|x| unsafe { x.assume_init() });
                assert_eq!(column, std::array::from_fn(|k| 2.0 * (12 * k + a) as f64), "{piece}");
            }
        }
    }
}
