//! The file that a run is taken up from: the last snapshot, and beside its particles what integrators keep.

use super::{Snapshot, Units, dataset};
use crate::failure::Failure;
use crate::input;
use hdf5_reader::{Hdf5File, OpenOptions};
use hdf5_writer::{AttributeBuilder, Error, WriteOptions};
use pairforge::nbody::{Bodies, State};
use std::path::Path;

/// The state that is kept of one integration.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Kept {
    pub state: State,
    /// Rows of numbers, of which so many columns make one.
    pub log: Vec<f64>,
}

/// A run as it was left.
#[derive(Clone, PartialEq, Debug)]
pub struct Restart {
    pub time: f64,
    pub units: Units,
    /// The words of the command line that began it.
    pub words: Vec<String>,
    /// A hash of what else it depends on, such as the text of a kernel.
    pub hash: u64,
    /// Of the integration, and of one beside it.
    pub kept: Vec<Kept>,
}

const GROUP: &str = "Pairforge";
/// Another layout has another number.
const VERSION: u64 = 1;
const AXES: [&str; 3] = ["x", "y", "z"];
const VELOCITIES: [&str; 3] = ["vx", "vy", "vz"];

impl Restart {
    /// The file.
    pub fn hdf5(&self) -> Result<Vec<u8>, Error> {
        let first = self.kept.first().expect("a run has an integration");
        let bodies = &first.state.bodies;
        let mut file = Snapshot { time: self.time, bodies, units: self.units }.gadget()?;
        let Units { length, mass } = self.units;
        for (name, value) in [("Time", self.time), ("Length", length), ("Mass", mass)] {
            file = file.group_attribute(GROUP, AttributeBuilder::scalar(name, value)?);
        }
        for (name, value) in
            [("Version", VERSION), ("Hash", self.hash), ("Runs", self.kept.len() as u64), ("Steps", first.state.steps)]
        {
            file = file.group_attribute(GROUP, AttributeBuilder::scalar(name, value)?);
        }
        let words = serde_json::to_string(&self.words).expect("words are text");
        file = dataset(file, &format!("{GROUP}/Words"), [words.as_bytes()])?;
        for (k, kept) in self.kept.iter().enumerate() {
            for (name, column) in columns(kept) {
                file = dataset(file, &format!("{GROUP}/{k}/{name}"), [column])?;
            }
        }
        file.into_plan()?.encode(WriteOptions::default())
    }

    /// Reads such a file.
    pub fn read(path: &Path) -> Result<Restart, Failure> {
        let bytes = input::read(path)?;
        let most = bytes.len();
        let options = OpenOptions::default().with_chunk_cache_bytes(0).with_max_read_bytes(most);
        let file = Hdf5File::from_vec_with_options(bytes, options).map_err(|e| damaged(path, e))?;
        File { file, path }.restart()
    }
}

fn damaged(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::file(path, format!("is no file that a run can be taken up from: {why}"))
}

/// The columns of an integration by name.
fn columns(kept: &Kept) -> Vec<(&str, &[f64])> {
    let State { bodies: Bodies { mass, position, velocity }, potential, columns, .. } = &kept.state;
    let own = [("mass", mass), ("potential", potential), ("log", &kept.log)];
    let named = own.into_iter().chain(AXES.into_iter().zip(position)).chain(VELOCITIES.into_iter().zip(velocity));
    named.chain(columns.iter().map(|(name, column)| (&name[..], column))).map(|(name, c)| (name, &c[..])).collect()
}

struct File<'p> {
    file: Hdf5File,
    path: &'p Path,
}

impl File<'_> {
    fn restart(&self) -> Result<Restart, Failure> {
        if self.number::<u64>("Version")? != VERSION {
            return Err(damaged(self.path, "another version of Pairforge has written it"));
        }
        let words = self.bytes(&format!("{GROUP}/Words"))?;
        let words = serde_json::from_slice(&words).map_err(|e| damaged(self.path, e))?;
        let units = Units { length: self.number("Length")?, mass: self.number("Mass")? };
        let steps = self.number("Steps")?;
        let count: u64 = self.number("Runs")?;
        let kept = (0..count).map(|k| self.kept(&format!("{GROUP}/{k}"), steps)).collect::<Result<Vec<_>, _>>()?;
        if kept.is_empty() {
            return Err(damaged(self.path, "it has no integration"));
        }
        Ok(Restart { time: self.number("Time")?, units, words, hash: self.number("Hash")?, kept })
    }

    fn kept(&self, group: &str, steps: u64) -> Result<Kept, Failure> {
        let wrong = |e| damaged(self.path, e);
        let (_, mut names) = self.file.group(group).and_then(|g| g.member_names()).map_err(wrong)?;
        names.sort_unstable();
        let mut columns = Vec::new();
        for name in names {
            let bytes = self.bytes(&format!("{group}/{name}"))?;
            let (numbers, _) = bytes.as_chunks::<8>();
            columns.push((name, numbers.iter().map(|number| f64::from_le_bytes(*number)).collect()));
        }
        let mut state = State { steps, columns, ..State::default() };
        let mut take = |name: &str| {
            let place = state.columns.iter().position(|(known, _)| known == name);
            let place = place.ok_or_else(|| damaged(self.path, format!("`{group}/{name}` is missing")))?;
            Ok::<_, Failure>(state.columns.swap_remove(place).1)
        };
        let [x, y, z] = AXES;
        let [vx, vy, vz] = VELOCITIES;
        let (position, velocity) = ([take(x)?, take(y)?, take(z)?], [take(vx)?, take(vy)?, take(vz)?]);
        let (bodies, log) = (Bodies { mass: take("mass")?, position, velocity }, take("log")?);
        let potential = take("potential")?;
        Ok(Kept { state: State { bodies, potential, ..state }, log })
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let read = self.file.dataset(path).and_then(|dataset| dataset.read_raw_bytes());
        read.map_err(|e| damaged(self.path, format!("`{path}`: {e}")))
    }

    fn number<T: hdf5_reader::H5Type>(&self, name: &str) -> Result<T, Failure> {
        let read = self.file.group(GROUP).and_then(|group| group.attribute(name)).and_then(|a| a.read_scalar::<T>());
        read.map_err(|e| damaged(self.path, format!("`{name}`: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restart() -> Restart {
        let mut bodies = Bodies::default();
        bodies.push(1.0, [0.5, -0.25, 1e-300], [0.1, f64::MIN_POSITIVE, -3.0]);
        bodies.push(0.25, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
        let columns = vec![("ax".to_string(), vec![0.1, 0.2]), ("fmm".to_string(), vec![4.0, f64::INFINITY])];
        let state = State { steps: 7, bodies, potential: vec![1.5, 2.5], columns };
        let kept = Kept { state, log: vec![0.0, 1.0, 2.0] };
        let words = ["--n", "2", "-o", "a \"b\" \u{fc}"].map(String::from).to_vec();
        let units = Units { length: 2.0, mass: 3.0 };
        Restart { time: 0.5, units, words, hash: u64::MAX, kept: vec![kept.clone(), kept] }
    }

    #[test]
    fn what_is_written_is_read_back_to_the_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("restart.hdf5");
        std::fs::write(&path, restart().hdf5().unwrap()).unwrap();
        assert_eq!(Restart::read(&path).unwrap(), restart());
    }

    #[test]
    fn a_file_that_is_cut_or_no_such_file_is_refused_with_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("restart.hdf5");
        let whole = restart().hdf5().unwrap();
        let bodies = restart().kept[0].state.bodies.clone();
        let snapshot = Snapshot { time: 0.0, bodies: &bodies, units: restart().units }.hdf5().unwrap();
        for bytes in [&whole[..whole.len() / 2], &whole[..100], b"text", &snapshot] {
            std::fs::write(&path, bytes).unwrap();
            let failure = Restart::read(&path).expect_err("it is refused");
            assert_eq!(failure.code(), 1);
            assert!(failure.text().contains("taken up from"), "{}", failure.text());
        }
    }
}
