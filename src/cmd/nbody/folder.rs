//! The files of a run in its folder. Each appears whole.

use super::track::{Noted, Track};
use super::{Args, SnapshotArg, compare, figure};
use fmm::shown;
use pairforge::nbody::{Conserved, Observed};
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use terminal::failure::Failure;
use terminal::output::{self, Batch};
use terminal::snapshot::{Kept, Restart, Snapshot, Units};

/// The state that a run is taken up from.
pub const RESTART: &str = "restart.hdf5";
const ENERGIES: &str = "energy.csv";
const FIGURE: &str = "energy.svg";

pub struct Folder {
    path: PathBuf,
    /// The restart file of before, which is written while the run goes on.
    writing: Option<JoinHandle<Result<(), Failure>>>,
}

impl Folder {
    /// A folder without a run.
    pub fn new(path: &Path) -> Result<Folder, Failure> {
        if let Some(found) = [RESTART, ENERGIES].into_iter().find(|name| path.join(name).exists()) {
            let dir = shown::path(path);
            let what =
                format!("holds a run already ({found}); go on with it by --resume {dir}, or name another folder");
            return Err(Failure::file(path, what));
        }
        output::check_folder(path)?;
        Ok(Folder::again(path.to_path_buf()))
    }

    /// The folder of a run.
    pub fn again(path: PathBuf) -> Folder {
        Folder { path, writing: None }
    }

    pub fn summary(&self) -> String {
        format!("{}: {ENERGIES}, {FIGURE}, snapshots, and {RESTART} to go on from", shown::path(&self.path))
    }

    pub fn snapshot(&self, observed: &Observed, number: u64, args: &Args) -> Result<(), Failure> {
        let snapshot = Snapshot { time: observed.time, bodies: observed.bodies, units: args.units() };
        let (bytes, ending) = match args.snapshots {
            SnapshotArg::Hdf5 => (snapshot.hdf5().map_err(encoded)?, "hdf5"),
            SnapshotArg::Csv => (snapshot.csv().into_bytes(), "csv"),
            SnapshotArg::None => return Ok(()),
        };
        write(&self.path, &[(&format!("snapshot_{number:03}.{ending}"), &bytes)])
    }

    /// Begins to write what the run can be taken up from: of many bodies that takes as long as many steps.
    pub fn restart(
        &mut self,
        (time, kept): (f64, Vec<Kept>),
        units: Units,
        words: &[String],
        hash: u64,
    ) -> Result<(), Failure> {
        let restart = Restart { time, units, words: words.to_vec(), hash, kept };
        self.finish()?;
        let path = self.path.clone();
        let writing = move || write(&path, &[(RESTART, &restart.hdf5().map_err(encoded)?)]);
        let thread = std::thread::Builder::new().name("restart file".into()).spawn(writing);
        self.writing = Some(thread.map_err(|e| Failure::Tool(format!("a thread to write files: {e}")))?);
        Ok(())
    }

    /// Waits for what is being written.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.writing.take().map_or(Ok(()), |writing| writing.join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// The sums over time as a table and a figure.
    pub fn energies(&self, tracks: &[Track], args: &Args) -> Result<(), Failure> {
        let track = &tracks[0];
        write(
            &self.path,
            &[(ENERGIES, table(&track.log).as_bytes()), (FIGURE, figure::energies(track, args).as_bytes())],
        )
    }

    /// The same of two integrations beside each other.
    pub fn comparison(&self, tracks: &[Track], args: &Args) -> Result<(), Failure> {
        let [one, two] = tracks else { return Ok(()) };
        let (table, figure) = (compare::table(one, two), compare::figure(one, two, args));
        write(&self.path, &[("compare.csv", table.as_bytes()), ("compare.svg", figure.as_bytes())])
    }
}

impl Drop for Folder {
    /// A run that ends early leaves no half of a file.
    fn drop(&mut self) {
        self.writing.take().map(JoinHandle::join);
    }
}

/// Writes some files into a folder, all of them or none.
fn write(folder: &Path, files: &[(&str, &[u8])]) -> Result<(), Failure> {
    let _made = output::Folder::at(folder)?;
    let mut batch = Batch::default();
    files.iter().try_for_each(|(name, bytes)| batch.add(&folder.join(name), |out| out.write_all(bytes)))?;
    batch.finish()
}

fn encoded(e: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("a snapshot cannot be made: {e}"))
}

/// The sums, with the energy and its change as a part of the first one.
fn table(log: &[Noted]) -> String {
    let mut text = Conserved::COLUMNS.join(",") + ",energy,error\n";
    for Noted { sums, .. } in log {
        let first = log[0].sums.energy();
        sums.row().iter().for_each(|x| write!(text, "{x:?},").expect("a string grows"));
        writeln!(text, "{:?},{:?}", sums.energy(), (sums.energy() - first) / first).expect("a string grows");
    }
    text
}
