//! `pairforge doctor`: what this machine has of what Pairforge uses, what each is for, and how to get what is missing.

mod devices;
mod machine;
mod tools;

use fmm::shown::shown;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;
use terminal::failure::{Failure, safe};
use terminal::files::{self, Files};
use terminal::{output, say};

#[derive(clap::Args)]
pub struct Args {
    /// Ask the serial ports and the network which boards are there
    ///
    /// Each port is opened and asked at the usual rate, and the network by a broadcast. Without it ports are only listed.
    #[arg(long)]
    scan: bool,
    /// Write the report
    #[arg(long, value_name = "REPORT.json")]
    json: Option<PathBuf>,
}

impl Args {
    pub fn files(&self) -> Files {
        Files::default().writes("--json", &self.json, files::JSON)
    }
}

/// Everything that was found, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
struct Report {
    version: &'static str,
    machine: machine::Machine,
    cache: machine::Kept,
    tools: Vec<tools::Finding>,
    gpus: Vec<devices::Gpu>,
    ports: Vec<devices::SerialPort>,
    /// Boards on the network; null where it was not asked.
    boards: Option<Vec<devices::NetworkBoard>>,
}

/// Programs answer in far less, on a busy machine too.
const ANSWER: Duration = Duration::from_secs(5);

/// Libraries are loaded and drivers begin in less.
const LONGEST: Duration = Duration::from_secs(10);

/// Looks at everything at the same time, and reports it.
pub fn run(args: Args) -> Result<(), Failure> {
    let (machine, cache) = (machine::Machine::find()?, machine::Kept::find());
    let gpus = begun(devices::gpus);
    let boards = begun(devices::boards_if(args.scan));
    let ports = begun(devices::ports_if(args.scan));
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        machine,
        cache,
        tools: tools::find(),
        gpus: gpus().unwrap_or_default(),
        ports: ports().unwrap_or_default(),
        boards: boards().flatten(),
    };
    print(&report)?;
    match &args.json {
        Some(path) => output::write_json(path, &report),
        None => Ok(()),
    }
}

/// Begins some work, and gives the way to its result: `None` where it is not there in time, as where a driver hangs. Work that never ends
/// ends with the program.
fn begun<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> Option<T> {
    let (send, receive) = channel();
    std::thread::spawn(move || send.send(work()));
    move || receive.recv_timeout(LONGEST).ok()
}

/// Width of the names, and of them with what was found.
const NAME: usize = 20;
const FOUND: usize = NAME + 9;

fn print(report: &Report) -> Result<(), Failure> {
    say!("pairforge {}", report.version)?;
    for (name, text) in report.machine.lines().into_iter().chain([("cache", report.cache.line())]) {
        say!("{name:NAME$} {}", safe(&text))?;
    }
    say!("")?;
    for tool in &report.tools {
        let [first, rest @ ..] = &tool.lines()[..] else { continue };
        say!("{:NAME$} {:8} {}", shown(&tool.name), tool.status.word(), safe(first))?;
        for line in rest {
            say!("{:FOUND$} {}", "", safe(line))?;
        }
    }
    say!("")?;
    for line in devices::lines(report) {
        say!("{}", safe(&line))?;
    }
    Ok(())
}
