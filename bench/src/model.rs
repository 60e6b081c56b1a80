//! The time of communication by Eq. 3 of Hu, Gumerov and Duraiswami: `T = a0 B/P + a1 mu (B/P)^(2/3) p^2 P + a2 8^l p^2 log P`, with B
//! boxes, P ranks, p^2 terms of an expansion and the critical level l.

/// The parameters of a prediction by the model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Case {
    pub boxes: f64,
    pub ranks: f64,
    pub terms: f64,
    pub critical_level: f64,
}

impl Case {
    /// The factor of each constant. Our exchange is direct, so that a rank has its own boundary alone to send; the paper's
    /// factor P is that of its manager.
    pub fn parts(&self, by_manager: bool) -> [f64; 3] {
        let own = self.boxes / self.ranks;
        let surface = own.powf(2.0 / 3.0) * self.terms * if by_manager { self.ranks } else { 1.0 };
        [
            own,
            if self.ranks > 1.0 { surface } else { 0.0 },
            8f64.powf(self.critical_level) * self.terms * self.ranks.ln(),
        ]
    }
}

/// The constants a0, a1 mu and a2.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Model {
    pub constants: [f64; 3],
    pub by_manager: bool,
}

impl Model {
    /// The constants, none of them negative, of least squares of the relative errors.
    pub fn fit(cases: &[(Case, f64)], by_manager: bool) -> Model {
        let rows: Vec<[f64; 3]> =
            cases.iter().map(|(case, seconds)| case.parts(by_manager).map(|part| part / seconds)).collect();
        let mut best = (f64::INFINITY, [0.0; 3]);
        for used in 1..8u32 {
            let Some(constants) = solve(&rows, used) else { continue };
            let error: f64 = rows.iter().map(|row| (1.0 - dot(row, &constants)).powi(2)).sum();
            if constants.iter().all(|c| *c >= 0.0) && error < best.0 {
                best = (error, constants);
            }
        }
        Model { constants: best.1, by_manager }
    }

    pub fn seconds(&self, case: &Case) -> f64 {
        dot(&case.parts(self.by_manager), &self.constants)
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Least squares to 1 with some of the columns; the other constants are 0.
fn solve(rows: &[[f64; 3]], used: u32) -> Option<[f64; 3]> {
    let columns: Vec<usize> = (0..3).filter(|k| used >> k & 1 == 1).collect();
    let n = columns.len();
    // Columns are scaled to length 1.
    let length = |k: usize| rows.iter().map(|row| row[k] * row[k]).sum::<f64>().sqrt();
    let lengths: Vec<f64> = columns.iter().map(|k| length(*k)).collect();
    if lengths.contains(&0.0) {
        return None;
    }
    let at = |row: &[f64; 3], i: usize| row[columns[i]] / lengths[i];
    let mut m: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let of = |j: usize| rows.iter().map(|row| at(row, i) * at(row, j)).sum::<f64>();
            (0..n).map(of).chain([rows.iter().map(|row| at(row, i)).sum()]).collect()
        })
        .collect();
    for i in 0..n {
        let pivot = m[i][i];
        if pivot < 1e-9 {
            return None;
        }
        let row = m[i].clone();
        for other in m.iter_mut().skip(i + 1) {
            let factor = other[i] / pivot;
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    let mut found = [0.0; 3];
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        let rest: f64 = (i + 1..n).map(|j| m[i][j] * x[j]).sum();
        x[i] = (m[i][n] - rest) / m[i][i];
        found[columns[i]] = x[i] / lengths[i];
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_found_again() {
        for by_manager in [false, true] {
            let truth = Model { constants: [3e-6, 2e-8, 5e-9], by_manager };
            let mut cases = Vec::new();
            for boxes in [1e4, 1e5, 1e6] {
                for ranks in [1.0, 2.0, 4.0, 16.0] {
                    let case = Case { boxes, ranks, terms: 25.0, critical_level: 2.0 };
                    cases.push((case, truth.seconds(&case)));
                }
            }
            let found = Model::fit(&cases, by_manager);
            for (a, b) in found.constants.iter().zip(truth.constants) {
                assert!((a / b - 1.0).abs() < 1e-6, "{found:?}");
            }
        }
    }

    #[test]
    fn no_constant_is_negative() {
        let case = |ranks: f64| Case { boxes: 1e5, ranks, terms: 25.0, critical_level: 2.0 };
        let found = Model::fit(&[(case(1.0), 1.0), (case(2.0), 0.4), (case(4.0), 0.2)], false);
        assert!(found.constants.iter().all(|c| *c >= 0.0), "{found:?}");
    }
}
