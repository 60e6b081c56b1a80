//! What an FMM reads and writes.

use super::{Args, BYTES_A_PARTICLE, roofline, table};
use crate::failure::Failure;
use crate::{input, memory, output};
use host::data::input::{Input, columns_of, to_csv};
use host::data::particles::{Field, Particles};
use host::data::random::{Charge, Distribution};
use host::data::{self, npy, random};
use host::fmm::MOST_PARTICLES;
use host::fmm::stats::Stats;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Says of the files that are to be written whether they can be, and that no two are one.
pub fn check_outputs(args: &Args) -> Result<(), Failure> {
    let named = [
        ("-o", &args.output),
        ("--json", &args.json),
        ("--report", &args.report),
        ("--save-particles", &args.save_particles),
    ];
    output::check_apart(&named)
}

pub fn input(args: &Args) -> Result<Input, Failure> {
    let Some(path) = &args.particles else {
        let distribution: Distribution = args.dist.into();
        let charge = args.charge.map_or(distribution.default_charge(), Charge::from);
        if args.n > MOST_PARTICLES {
            return Err(Failure::Usage(format!("--n takes up to {MOST_PARTICLES} particles, not {}", args.n)));
        }
        memory::check(args.n as u64 * BYTES_A_PARTICLE, format!("an FMM of {} particles", args.n))?;
        let particles = random::generate(args.n, distribution, charge, args.seed);
        return Ok(Input { targets: targets(args)?, ..particles.into() });
    };
    let bytes = input::read(path)?;
    let mut input = match npy::is_npy(&bytes) {
        true => Input::from_npy(&bytes).map_err(|e| Failure::file(path, e))?,
        false => Input::from_csv(input::csv(path, &bytes)?).map_err(|e| Failure::file(path, e))?,
    };
    input.targets = targets(args)?;
    Ok(input)
}

/// The targets, where they are not the particles.
fn targets(args: &Args) -> Result<Option<[Vec<f64>; 3]>, Failure> {
    let Some(path) = &args.targets else { return Ok(None) };
    let bytes = input::read(path)?;
    let read = match npy::is_npy(&bytes) {
        true => data::input::targets_from_npy(&bytes),
        false => data::input::targets_from_csv(input::csv(path, &bytes)?),
    };
    read.map(Some).map_err(|e| Failure::file(path, e))
}

/// Particles with one charge each, which are their own targets.
pub fn particles(args: &Args) -> Result<Particles, Failure> {
    let input = input(args)?;
    match input.is_plain() {
        true => Ok(input.particles),
        false => Err(Failure::Usage("a prediction is for particles with one charge each".into())),
    }
}

/// Writes the particles where that is asked for.
pub fn save_particles(args: &Args, input: &Input) -> Result<(), Failure> {
    let Some(path) = &args.save_particles else { return Ok(()) };
    let columns = input.columns();
    save(path, || npy::write_columns(&columns), || to_csv(&columns))
}

pub fn write(args: &Args, fields: &[Field], stats: &Stats) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        let columns = columns_of(fields);
        save(path, || npy::write_columns(&columns), || to_csv(&columns))?;
    }
    if let Some(path) = &args.json {
        output::write_json(path, stats)?;
    }
    if let Some(path) = &args.report {
        output::write_text(path, &table::html(stats, roofline::rows(args, stats)?)?)?;
    }
    // Results that go to standard output are not mixed with a table for people.
    let standard = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    if !standard(&args.output) && !standard(&args.json) && !standard(&args.save_particles) {
        output::print(&table::text(stats).to_string())?;
    }
    Ok(())
}

/// Writes an `.npy` file or CSV, by the ending of its name.
pub fn save(path: &Path, npy: impl FnOnce() -> Vec<u8>, csv: impl FnOnce() -> String) -> Result<(), Failure> {
    let bytes = if path.extension().is_some_and(|e| e == "npy") { npy() } else { csv().into_bytes() };
    output::write_with(path, |out: &mut dyn Write| out.write_all(&bytes))
}
