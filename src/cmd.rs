//! The subcommands: one file each, and one line in [`Command`] and [`dispatch`].

mod bench;
mod board;
#[cfg_attr(not(unix), path = "cmd/board_sim/none.rs")]
mod board_sim;
mod build;
mod check;
mod completions;
mod deploy;
mod doctor;
mod explain;
mod explore;
mod fmm;
mod fmm2;
mod fmt;
mod folding;
mod r#gen;
mod help;
mod import;
mod lanes;
mod list;
mod lsp;
mod man;
mod nbody;
mod new;
mod prove;
#[cfg(test)]
mod reference;
mod run;
mod synth;

pub use fmm::{ErrorReporter, error_reporter};
pub use help::dressed;
use terminal::failure::Failure;
use terminal::files::Files;

/// Name of the program.
pub const PROGRAM: &str = "pairforge";

/// The commands that show progress.
const SHOW_PROGRESS: [&str; 9] = ["build", "explain", "explore", "fmm", "fmm2", "nbody", "prove", "run", "synth"];

const QUIET: &str = "quiet";

/// A command with the option `--quiet`, where it shows progress.
pub fn with_quiet(command: clap::Command) -> clap::Command {
    if !SHOW_PROGRESS.contains(&command.get_name()) {
        return command;
    }
    let quiet = clap::Arg::new(QUIET).short('q').long(QUIET).action(clap::ArgAction::SetTrue);
    command.arg(quiet.help("Show no progress; warnings and errors are still told"))
}

/// Whether the words of a subcommand ask for no progress.
pub fn is_quiet(matches: &clap::ArgMatches) -> bool {
    let of = matches.subcommand().map(|(_, of)| of);
    of.is_some_and(|of| matches!(of.try_get_one::<bool>(QUIET), Ok(Some(true))))
}

/// A subcommand with its arguments.
#[derive(clap::Subcommand)]
#[allow(clippy::large_enum_variant, reason = "a run has one")]
pub enum Command {
    /// Diagnose kernels; prints nothing when all is well
    Check(check::Args),
    /// Give kernels one canonical layout
    Fmt(fmt::Args),
    /// Compile a kernel into a self-contained synthesisable design
    Build(build::Args),
    /// List boards, and describe ones of your own
    Board(board::Args),
    /// Simulate a whole board clock by clock behind a pseudo-terminal
    BoardSim(board_sim::Args),
    /// Load a bitstream onto its board
    Deploy(deploy::Args),
    /// Show the schedule: operators, formats, cycles, register bits
    Explain(explain::Args),
    /// Error against cost over the widths of a kernel's formats
    Explore(explore::Args),
    /// Run a kernel on targets and sources from CSV files
    Run(run::Args),
    /// Whether the Verilog of a kernel has the specified bits: by a solver, by all arguments, or by many
    Prove(prove::Args),
    /// Area, clock and bitstream of an engine, through yosys and nextpnr
    Synth(synth::Args),
    /// Run the Fast Multipole Method
    Fmm(fmm::Args),
    /// Run the adaptive Fast Multipole Method in two dimensions
    Fmm2(fmm2::Args),
    /// Run an N-body simulation: start models, snapshots, energies over time
    Nbody(nbody::Args),
    /// Run the benchmarks, each printing its figure and its input
    Bench(bench::Args),
    /// Generate kernels
    Gen(r#gen::Args),
    /// Make kernels from other languages
    Import(import::Args),
    /// Serve editors: diagnostics, hover, definitions, completion, formatting
    Lsp(lsp::Args),
    /// Begin a kernel: a folder with a kernel and its test
    New(new::Args),
    /// List what is there: kernels, backends, boards, operators, targets
    List(list::Args),
    /// Report what this machine has: tools, GPUs, ports, what each is for, how to get it
    Doctor(doctor::Args),
    /// Print a script by which a shell completes the command line
    Completions(completions::Args),
    /// Write manual pages
    Man(man::Args),
}

impl Command {
    /// The files that it names.
    fn files(&self) -> Files {
        match self {
            Command::Check(args) => args.files(),
            Command::Fmt(args) => args.files(),
            Command::Build(args) => args.files(),
            Command::BoardSim(args) => args.files(),
            Command::Deploy(args) => args.files(),
            Command::Explain(args) => args.files(),
            Command::Explore(args) => args.files(),
            Command::Run(args) => args.files(),
            Command::Prove(args) => args.files(),
            Command::Synth(args) => args.files(),
            Command::Fmm(args) => args.files(),
            Command::Fmm2(args) => args.files(),
            Command::Nbody(args) => args.files(),
            Command::Bench(args) => args.files(),
            Command::Gen(args) => args.files(),
            Command::Import(args) => args.files(),
            // What it makes is in its name.
            Command::New(args) => args.files(),
            Command::Board(args) => args.files(),
            Command::Doctor(args) => args.files(),
            Command::Man(args) => args.files(),
            Command::Lsp(_) | Command::List(_) | Command::Completions(_) => Files::default(),
        }
    }
}

/// Runs a subcommand on files that do not spoil each other. Of many ranks the first one looks at that.
pub fn dispatch(command: Command) -> Result<(), Failure> {
    if !matches!(&command, Command::Fmm(args) if args.on_ranks()) {
        command.files().check()?;
    }
    match command {
        Command::Check(args) => check::run(args),
        Command::Fmt(args) => fmt::run(args),
        Command::Build(args) => build::run(args),
        Command::BoardSim(args) => board_sim::run(args),
        Command::Deploy(args) => deploy::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Explore(args) => explore::run(args),
        Command::Run(args) => run::run(args),
        Command::Prove(args) => prove::run(args),
        Command::Synth(args) => synth::run(args),
        Command::Fmm(args) => fmm::run(args),
        Command::Fmm2(args) => fmm2::run(args),
        Command::Nbody(args) => nbody::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Gen(args) => r#gen::run(args),
        Command::Import(args) => import::run(args),
        Command::Lsp(args) => lsp::run(args),
        Command::New(args) => new::run(args),
        Command::Board(args) => board::run(args),
        Command::List(args) => list::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

/// The error that a board is not on the network.
fn no_ethernet(board: &hdl::board::Board) -> Failure {
    let with: Vec<&str> = hdl::board::BOARDS.iter().filter(|b| b.ethernet.is_some()).map(|b| b.name).collect();
    Failure::Usage(format!("the board {} has no Ethernet; those that have it: {}", board.name, with.join(", ")))
}

/// The synthesis tools, of which only those are run that nobody else can have exchanged. They end with this program.
fn tools() -> flow::Tools {
    let trusted = |path: &std::path::Path| sim::cache::private::check(path).map(drop).map_err(|e| e.to_string());
    flow::Tools::standard().trusting(trusted).starting(sim::process::ends_with_us)
}
