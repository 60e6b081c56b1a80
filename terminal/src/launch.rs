//! Launchers of MPI: commands that do not run on ranks are refused there once, where each rank would run a copy of them.

use crate::failure::Failure;

/// A launcher by the variables that it gives to each of its processes.
struct Launcher {
    what: &'static str,
    rank: &'static str,
    /// Variable that has the number of processes, where there is one.
    count: Option<&'static str>,
    /// Whether ranks of its kind find each other by Open MPI's library.
    is_open_mpi: bool,
}

/// The first that matches has started this process. What an allocation alone sets, without a step of `srun`, is none of these.
static LAUNCHERS: &[Launcher] = &[
    Launcher { what: "mpirun", rank: "OMPI_COMM_WORLD_RANK", count: Some("OMPI_COMM_WORLD_SIZE"), is_open_mpi: true },
    Launcher { what: "mpirun", rank: "MV2_COMM_WORLD_RANK", count: Some("MV2_COMM_WORLD_SIZE"), is_open_mpi: false },
    // `srun --mpi=pmix` says by PMIx that it is there, and by its own variables how many there are.
    Launcher { what: "srun", rank: "PMIX_RANK", count: Some("SLURM_STEP_NUM_TASKS"), is_open_mpi: true },
    Launcher { what: "a launcher of PMIx", rank: "PMIX_RANK", count: None, is_open_mpi: true },
    // Hydra, which MPICH and Intel MPI have.
    Launcher { what: "mpirun", rank: "PMI_RANK", count: Some("PMI_SIZE"), is_open_mpi: false },
    Launcher { what: "srun", rank: "SLURM_PROCID", count: Some("SLURM_STEP_NUM_TASKS"), is_open_mpi: false },
];

/// This process as one of several.
struct Rank {
    launcher: &'static Launcher,
    rank: usize,
    /// Variable that says that there are several.
    variable: &'static str,
}

impl Rank {
    /// `None` where this process is the only one.
    fn find(variable: &dyn Fn(&str) -> Option<String>) -> Option<Rank> {
        let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<usize>().ok());
        let one = |launcher: &'static Launcher| {
            let rank = number(launcher.rank)?;
            let count = match launcher.count {
                Some(name) => number(name)?,
                // Nobody says how many: the first one is taken for the only one, and the others see that they are not.
                None => rank + 1,
            };
            Some((Rank { launcher, rank, variable: launcher.count.unwrap_or(launcher.rank) }, count))
        };
        let (rank, count) = LAUNCHERS.iter().find_map(one)?;
        (count > 1).then_some(rank)
    }

    /// A refusal of `what` on ranks, which the first one reports.
    fn refusal(&self, what: &str) -> Refusal {
        match self.rank {
            0 => Refusal::Told(Failure::Usage(format!(
                "{what} does not run on ranks: each would compute the same and overwrite the others' files; start it without {}, or \
                 unset {} where copies with options of their own are meant",
                self.launcher.what, self.variable
            ))),
            _ => Refusal::Silent,
        }
    }

    /// A refusal where ranks do not find each other.
    fn strangers(&self) -> Refusal {
        match self.rank {
            0 => Refusal::Told(Failure::Usage(format!(
                "ranks of `fmm` find each other by Open MPI, and {} has started these otherwise ({}): take Open MPI's mpirun, or \
                 srun --mpi=pmix",
                self.launcher.what, self.variable
            ))),
            _ => Refusal::Silent,
        }
    }
}

/// Why a command does not begin on ranks.
pub enum Refusal {
    /// The first rank says so.
    Told(Failure),
    /// The others end without a word and with status 0: launchers end all ranks as soon as one fails.
    Silent,
}

fn own() -> Option<Rank> {
    Rank::find(&|name| std::env::var(name).ok())
}

/// Whether the command line of `words` (behind the program's name) is refused, since this process is one of several, and its command
/// is none of those that run `on_ranks`.
pub fn refused(words: impl Iterator<Item = std::ffi::OsString>, on_ranks: &[&str]) -> Option<Refusal> {
    of(own()?, words, on_ranks)
}

fn of(rank: Rank, mut words: impl Iterator<Item = std::ffi::OsString>, on_ranks: &[&str]) -> Option<Refusal> {
    let first = words.next().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    match first.as_str() {
        "fmm" if !rank.launcher.is_open_mpi => Some(rank.strangers()),
        command if on_ranks.contains(&command) => None,
        // Help and version, which one tells.
        command if command.is_empty() || command.starts_with('-') || command == "help" => {
            (rank.rank > 0).then_some(Refusal::Silent)
        }
        command => Some(rank.refusal(&format!("`{}`", fmm::shown::shown(command)))),
    }
}

/// Whether `what`, a part of a command that else runs on ranks, is refused.
pub fn refused_part(what: &str) -> Option<Refusal> {
    Some(own()?.refusal(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &str) -> Option<Rank> {
        let all: Vec<(&str, &str)> = variables.split_whitespace().filter_map(|v| v.split_once('=')).collect();
        Rank::find(&|name| all.iter().find(|(other, _)| *other == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn launchers_are_told_from_allocations() {
        for variables in [
            "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=2",
            "PMIX_RANK=2 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4",
            "PMIX_RANK=2",
            "PMI_RANK=2 PMI_SIZE=4",
            "SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4",
            "MV2_COMM_WORLD_RANK=2 MV2_COMM_WORLD_SIZE=3",
            // mpirun within a step of one task.
            "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4",
        ] {
            assert_eq!(found(variables).map(|rank| rank.rank), Some(2), "{variables}");
        }
        for variables in [
            "",
            // An allocation, a batch script in it, and its shell as a step of its own.
            "SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_NPROCS=4",
            "SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_LOCALID=0",
            "SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1",
            "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 PMIX_RANK=0",
            "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0",
            "PMI_RANK=0 PMI_SIZE=1",
            "PMIX_RANK=0",
            "OMPI_COMM_WORLD_SIZE=four OMPI_COMM_WORLD_RANK=0",
        ] {
            assert!(found(variables).is_none(), "{variables}");
        }
    }

    #[test]
    fn commands_are_refused_but_those_that_run_on_ranks() {
        let refused = |command: &str, rank: usize, by: &str| {
            let rank = found(&by.replace('%', &rank.to_string())).expect("one of several");
            of(rank, [command.into()].into_iter(), &["fmm", "bench"])
        };
        let open = "OMPI_COMM_WORLD_RANK=% OMPI_COMM_WORLD_SIZE=4";
        for name in ["fmm", "bench"] {
            assert!((0..4).all(|rank| refused(name, rank, open).is_none()), "{name}");
        }
        for name in ["build", "synth", "run"] {
            let Some(Refusal::Told(why)) = refused(name, 0, open) else { panic!("{name}: nobody says why") };
            assert!(why.text().contains(name) && why.code() == 2, "{name}");
            assert!(matches!(refused(name, 3, open), Some(Refusal::Silent)), "{name}");
        }
        for by in ["PMI_RANK=% PMI_SIZE=2", "SLURM_PROCID=% SLURM_STEP_NUM_TASKS=2"] {
            assert!(matches!(refused("fmm", 0, by), Some(Refusal::Told(why)) if why.text().contains("--mpi=pmix")));
            assert!(matches!(refused("fmm", 1, by), Some(Refusal::Silent)));
        }
        assert!(refused("--version", 0, open).is_none() && refused("--version", 1, open).is_some());
    }
}
