//! The state of an integration as columns with names, for files.

use super::Bodies;
use crate::Error;

/// All that an integrator goes on with.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct State {
    /// Steps that were done.
    pub steps: u64,
    pub bodies: Bodies,
    /// The sum of m / r over all others.
    pub potential: Vec<f64>,
    /// All else that an integrator keeps: columns of any length, by name.
    pub columns: Vec<(String, Vec<f64>)>,
}

impl State {
    pub(super) fn with(mut self, name: impl Into<String>, column: Vec<f64>) -> State {
        self.columns.push((name.into(), column));
        self
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Vec<f64>> {
        let place = self.columns.iter().position(|(known, _)| known == name)?;
        Some(self.columns.swap_remove(place).1)
    }

    /// A column of so many numbers.
    pub(super) fn column(&mut self, name: &str, count: usize) -> Result<Vec<f64>, Error> {
        let found = self.take(name).filter(|column| column.len() == count);
        found
            .ok_or_else(|| Error::Input(format!("a state of this integrator has a column `{name}` of {count} numbers")))
    }

    /// Three such columns for the axes.
    pub(super) fn vector(&mut self, names: [&str; 3], count: usize) -> Result<[Vec<f64>; 3], Error> {
        let [x, y, z] = names;
        Ok([self.column(x, count)?, self.column(y, count)?, self.column(z, count)?])
    }

    /// Refuses columns of different lengths.
    pub(super) fn check(&self) -> Result<(), Error> {
        let Bodies { mass, position, velocity } = &self.bodies;
        let n = mass.len();
        match position.iter().chain(velocity).chain([&self.potential]).all(|column| column.len() == n) {
            true => Ok(()),
            false => {
                Err(Error::Input(format!("there are {n} masses, and not as many positions, velocities or potentials")))
            }
        }
    }
}
