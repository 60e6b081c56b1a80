//! A run that is taken up from its folder.

use super::folder::{Folder, RESTART};
use super::{Args, Run, start};
use clap::{Args as _, FromArgMatches};
use std::path::PathBuf;
use terminal::failure::Failure;
use terminal::program;
use terminal::snapshot::Restart;

/// The words of the command line behind the command's name.
pub fn words() -> Vec<String> {
    let words = program::words().map(|word| word.to_string_lossy().into_owned());
    words.skip_while(|word| word != "nbody").skip(1).collect()
}

/// The options that such words are.
fn parsed(words: &[String]) -> Result<Args, clap::Error> {
    let command = super::super::with_quiet(Args::augment_args(clap::Command::new("nbody")));
    let command = program::with_negative_numbers(command).no_binary_name(true);
    Args::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// Goes on with the run of a folder.
pub fn run(given: Args, folder: PathBuf) -> Result<(), Failure> {
    let path = folder.join(RESTART);
    if !path.is_file() {
        let what =
            format!("has no {RESTART}, from which a run is taken up; give the folder of one, or begin one with -o");
        return Err(Failure::file(&folder, what));
    }
    let Restart { words, hash, kept, .. } = Restart::read(&path)?;
    let wrong = |what: String| Failure::file(&path, what);
    let mut args = parsed(&words)
        .map_err(|_| wrong(format!("was begun with options that this version does not have: {}", words.join(" "))))?;
    args.threads = given.threads;
    args.until = given.until.or(args.until);
    if start::hash(&args)? != hash {
        let kernel = args.p2p.as_deref().unwrap_or_default();
        return Err(wrong(format!("the kernel {kernel} is not the one that the run was begun with; begin it again")));
    }
    let total = args.total()?;
    let mut tracks = Vec::new();
    let backends = std::iter::once(&args.backend).chain(&args.compare);
    for (kept, backend) in kept.into_iter().zip(backends) {
        let track = start::again(&args, backend, kept.state)?;
        tracks.push(track.with_log(&kept.log).ok_or_else(|| wrong("has energies that are cut off".into()))?);
    }
    Run { args: &args, folder: Folder::again(folder), tracks, words, total }.go(false)
}
