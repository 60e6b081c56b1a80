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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Particles::from_csv(text).expect_err("the text is wrong").to_string()
    }

    #[test]
    fn csv_reads_back_to_the_bit() {
        let mut p = Particles::default();
        p.push([0.1, -1e300, 5e-324], 1.0 / 3.0);
        p.push([-0.0, 1.0, 123456789.123], -2.0);
        let back = Particles::from_csv(&p.to_csv()).expect("own text");
        assert_eq!(back, p);
        assert_eq!(back.x[1].to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn columns_may_stand_in_any_order() {
        let p = Particles::from_csv("q, z ,y,x\r\n1,2,3,4\r\n\r\n").expect("good text");
        assert_eq!((p.position(0), p.q[0]), ([4.0, 3.0, 2.0], 1.0));
        assert!(Particles::from_csv("x,y,z,q\n").expect("no particle is legal").is_empty());
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        assert_eq!(error("x,y,z,q\n1,2,3,4\n1,2,nan,4\n"), "line 3: z = `nan` is not a finite number");
        assert_eq!(error("x,y,z,q\n1,2,3,1e999\n"), "line 2: q = `1e999` is not a finite number");
        assert_eq!(error("x,y,z,q\n1,2,3\n"), "line 2: 4 values are needed, here are 3");
        assert_eq!(error("x,y,z,q\n1,two,3,4\n"), "line 2: y = `two` is not a number");
        assert!(error("x,y,z\n").contains("column `q` is missing"));
        assert!(error("x,y,z,w\n").contains("column `q` is missing"));
        assert!(error("x,y,z,q,x\n").contains("twice"));
        assert!(error("").contains("empty"));
    }
}
