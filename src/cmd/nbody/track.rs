//! An integration with the sums that it should keep, from its beginning on.

use pairforge::nbody::{Conserved, Integrator};
use terminal::failure::Failure;
use terminal::snapshot::Kept;

/// A line of a log.
#[derive(Clone, Copy)]
pub struct Noted {
    pub sums: Conserved,
    /// Root mean square distance of bodies from those of the first integration; 0 of that one.
    pub apart: f64,
}

pub struct Track {
    pub backend: String,
    pub integrator: Box<dyn Integrator>,
    pub log: Vec<Noted>,
    bodies: usize,
}

impl Track {
    pub fn new(backend: &str, bodies: usize, integrator: Box<dyn Integrator>) -> Track {
        Track { backend: backend.to_string(), integrator, log: Vec::new(), bodies }
    }

    /// Takes the sums that were noted before, as numbers; none if they are not such.
    pub fn with_log(mut self, numbers: &[f64]) -> Option<Track> {
        let (rows, rest) = numbers.as_chunks::<10>();
        let noted = |row: &[f64; 10]| {
            let [sums @ .., apart] = *row;
            Noted { sums: Conserved::from_row(sums), apart }
        };
        self.log = rows.iter().map(noted).collect();
        (rest.is_empty() && !rows.is_empty()).then_some(self)
    }

    pub fn steps(&self) -> u64 {
        self.integrator.steps()
    }

    /// The number of bodies.
    pub fn len(&self) -> usize {
        self.bodies
    }

    pub fn advance(&mut self) -> Result<(), Failure> {
        Ok(self.integrator.advance(&mut |_, _, _| {})?)
    }

    /// Notes the sums at this time.
    pub fn observe(&mut self) -> Result<(), Failure> {
        let sums = self.integrator.conserved()?;
        if !sums.row().iter().all(|x| x.is_finite()) {
            let (time, step) = (sums.time, self.steps());
            return Err(Failure::Input(format!(
                "at t = {time} (step {step}) bodies are so fast or so far away that their energy is no finite number; take a shorter --step, \
                 or a longer --eps"
            )));
        }
        self.log.push(Noted { sums, apart: 0.0 });
        Ok(())
    }

    pub fn kept(&mut self) -> Result<Kept, Failure> {
        let log = self.log.iter().flat_map(|noted| noted.sums.row().into_iter().chain([noted.apart])).collect();
        Ok(Kept { state: self.integrator.state()?, log })
    }
}
