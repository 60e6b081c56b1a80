//! Particles as a struct of arrays, and results at them.

use super::input::Input;
use std::fmt::Write as _;

/// Positions and charges, in the order of the input.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Particles {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub z: Vec<f64>,
    pub q: Vec<f64>,
}

/// Coordinates x, y and z of points, all of one length.
pub type Columns<'a> = [&'a [f64]; 3];

/// The error in a particle file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParticleError {
    /// A mistake in a line of a CSV file, counted from 1.
    #[error("line {line}: {what}")]
    Line { line: usize, what: String },
    /// A mistake in a row of an array, counted from 0.
    #[error("row {row}: {what}")]
    Row { row: usize, what: String },
    /// The file as a whole.
    #[error("{0}")]
    File(String),
}

impl ParticleError {
    /// The same in a file with so many rows before.
    pub fn behind(self, rows: usize) -> ParticleError {
        match self {
            ParticleError::Row { row, what } => ParticleError::Row { row: rows + row, what },
            other => other,
        }
    }
}

impl Particles {
    pub fn with_capacity(n: usize) -> Particles {
        let column = || Vec::with_capacity(n);
        Particles { x: column(), y: column(), z: column(), q: column() }
    }

    pub fn len(&self) -> usize {
        self.x.len()
    }

    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    pub fn push(&mut self, position: [f64; 3], q: f64) {
        self.x.push(position[0]);
        self.y.push(position[1]);
        self.z.push(position[2]);
        self.q.push(q);
    }

    /// The coordinates, axis by axis.
    pub fn columns(&self) -> Columns<'_> {
        [&self.x, &self.y, &self.z]
    }

    pub fn position(&self, k: usize) -> [f64; 3] {
        [self.x[k], self.y[k], self.z[k]]
    }

    /// Reads text with the columns `x`, `y`, `z` and `q` ([`Input::from_csv`]).
    pub fn from_csv(text: &str) -> Result<Particles, ParticleError> {
        Ok(Input::from_csv(text)?.particles)
    }

    /// CSV that [`Particles::from_csv`] reads back to the bit.
    pub fn to_csv(&self) -> String {
        let mut text = String::from("x,y,z,q\n");
        for k in 0..self.len() {
            writeln!(text, "{:?},{:?},{:?},{:?}", self.x[k], self.y[k], self.z[k], self.q[k])
                .expect("a String takes any text");
        }
        text
    }
}

/// Potential and, where there is one, gradient at each particle in the order of the input.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Field {
    pub potential: Vec<f64>,
    /// Absent when the kernel of P2P gives the potential alone.
    pub gradient: Option<[Vec<f64>; 3]>,
    /// The second derivatives xx, xy, xz, yy, yz and zz, where they were asked for.
    pub hessian: Option<[Vec<f64>; 6]>,
}

impl Field {
    /// The columns there are.
    pub fn columns(&self) -> Vec<(&'static str, &[f64])> {
        let mut columns = vec![("potential", self.potential.as_slice())];
        if let Some([gx, gy, gz]) = &self.gradient {
            columns.extend([("gx", gx.as_slice()), ("gy", gy.as_slice()), ("gz", gz.as_slice())]);
        }
        if let Some(hessian) = &self.hessian {
            let names = ["hxx", "hxy", "hxz", "hyy", "hyz", "hzz"];
            columns.extend(names.into_iter().zip(hessian.iter().map(Vec::as_slice)));
        }
        columns
    }

    /// The first `n` targets, and those behind them.
    pub fn split_at(mut self, n: usize) -> [Field; 2] {
        let behind = Field {
            potential: self.potential.split_off(n),
            gradient: self.gradient.as_mut().map(|g| g.each_mut().map(|c| c.split_off(n))),
            hessian: self.hessian.as_mut().map(|h| h.each_mut().map(|c| c.split_off(n))),
        };
        [self, behind]
    }
}
