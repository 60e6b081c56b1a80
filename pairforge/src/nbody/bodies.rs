//! Bodies: masses, positions and velocities.

use fmm::data::particles::Columns;

/// Bodies as columns, all of one length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bodies {
    pub mass: Vec<f64>,
    pub position: [Vec<f64>; 3],
    pub velocity: [Vec<f64>; 3],
}

impl Bodies {
    pub fn len(&self) -> usize {
        self.mass.len()
    }

    pub fn is_empty(&self) -> bool {
        self.mass.is_empty()
    }

    /// The coordinates, axis by axis.
    pub fn columns(&self) -> Columns<'_> {
        self.position.each_ref().map(|x| &x[..])
    }

    pub fn push(&mut self, mass: f64, position: [f64; 3], velocity: [f64; 3]) {
        self.mass.push(mass);
        self.position.iter_mut().zip(position).for_each(|(to, x)| to.push(x));
        self.velocity.iter_mut().zip(velocity).for_each(|(to, v)| to.push(v));
    }

    /// Adds bodies behind these.
    pub fn append(&mut self, mut other: Bodies) {
        self.mass.append(&mut other.mass);
        self.position.iter_mut().zip(&mut other.position).for_each(|(to, x)| to.append(x));
        self.velocity.iter_mut().zip(&mut other.velocity).for_each(|(to, v)| to.append(v));
    }

    /// Multiplies masses, lengths and velocities.
    pub fn scale(&mut self, mass: f64, length: f64, velocity: f64) {
        self.mass.iter_mut().for_each(|m| *m *= mass);
        self.position.iter_mut().flatten().for_each(|x| *x *= length);
        self.velocity.iter_mut().flatten().for_each(|v| *v *= velocity);
    }

    /// Moves all by the same.
    pub fn shift(&mut self, position: [f64; 3], velocity: [f64; 3]) {
        for axis in 0..3 {
            self.position[axis].iter_mut().for_each(|x| *x += position[axis]);
            self.velocity[axis].iter_mut().for_each(|v| *v += velocity[axis]);
        }
    }

    /// Puts the centre of mass into the origin, at rest.
    pub fn centre(&mut self) {
        let total: f64 = self.mass.iter().sum();
        if total > 0.0 {
            let mean = |column: &Vec<f64>| -column.iter().zip(&self.mass).map(|(x, m)| x * m).sum::<f64>() / total;
            let (position, velocity) = (self.position.each_ref().map(mean), self.velocity.each_ref().map(mean));
            self.shift(position, velocity);
        }
    }
}
