//! `pairforge list`: what is there.

use fmm::shown::shown;
use hdl::board::{BOARDS, Board, Device};
use hdl::serial::EngineIdentity;
use pairforge::backends::{Entry, gpu_of, network};
use pairforge::kernel::parts::PARTS;
use pg2::syntax::functions::{FUNCTIONS, Function};
use terminal::failure::Failure;
use terminal::{output, say};

#[derive(clap::Args)]
pub struct Args {
    #[arg(value_enum)]
    what: What,
    /// With `boards`: ask the network which boards are there, by a broadcast or at one address
    #[arg(long, value_name = "ADDRESS[:PORT]", num_args = 0..=1)]
    scan: Option<Option<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Kernels,
    Backends,
    Boards,
    Devices,
    Functions,
    Operators,
    Targets,
}

/// Prints one line a thing: its name and what it is.
pub fn run(args: Args) -> Result<(), Failure> {
    if let Some(place) = &args.scan {
        if args.what != What::Boards {
            return Err(Failure::Usage("--scan looks for boards: `pairforge list boards --scan`".into()));
        }
        return scan(place.as_deref());
    }
    let rows: Vec<(String, String)> = match args.what {
        What::Kernels => pg2::kernels::all().map(|k| (k.0.to_string(), k.1.to_string())).collect(),
        What::Backends => pairforge::backends::BACKENDS.iter().map(|b| (b.usage(), backend(b))).collect(),
        What::Boards => boards(),
        What::Devices => {
            let routed = hdl::board::DEVICES.iter().map(|d| (d.name.to_string(), d.summary.to_string()));
            let bought = |d: &Device| (d.name.to_string(), format!("{}; predicted, not routed", d.summary));
            routed.chain(PARTS.iter().map(|part| bought(&part.device))).collect()
        }
        What::Functions => {
            let row = |f: &Function| (f.call(), format!("{} ({})", f.text, f.formats()));
            FUNCTIONS.iter().map(row).collect()
        }
        What::Operators => hdl::op::OPERATORS.iter().map(|o| (o.name().to_string(), o.summary().to_string())).collect(),
        What::Targets => {
            hdl::circuit::target::TARGETS.iter().map(|t| (t.name.to_string(), t.summary.to_string())).collect()
        }
    };
    print(&rows)
}

/// The boards with their devices, oscillators, links to the host, and the tools that place and route.
fn boards() -> Vec<(String, String)> {
    let row = |b: &Board| {
        let ethernet = if b.ethernet.is_some() { ", Ethernet" } else { "" };
        let tool = b.vendor.map_or("nextpnr", |vendor| vendor.tool);
        let [clock, links] = [format!("{} MHz", b.oscillator_mhz), format!("{} baud{ethernet}", b.baud)];
        [b.device.name.to_string(), clock, links, tool.to_string()]
    };
    let rows: Vec<[String; 4]> = BOARDS.iter().map(row).collect();
    let widths: [usize; 4] = std::array::from_fn(|k| rows.iter().map(|row| row[k].len()).max().unwrap_or(0));
    let of = |(board, row): (&Board, &[String; 4])| {
        let columns: String = row.iter().zip(widths).map(|(text, width)| format!("{text:width$}  ")).collect();
        (board.name.to_string(), columns + board.summary)
    };
    BOARDS.iter().zip(&rows).map(of).collect()
}

/// Asks the network for boards, and prints them as the backend takes them.
fn scan(place: Option<&str>) -> Result<(), Failure> {
    let found = network::scan(place).map_err(Failure::Tool)?;
    if found.is_empty() {
        let asked = place.map_or("the broadcast".to_string(), |p| shown(p).to_string());
        output::tell(&format!(
            "no board answered {asked}; check cables and power, or ask another address by --scan ADDRESS\n"
        ));
    }
    let says = |f: &network::Found| match &f.identity {
        Ok(i) => {
            let engines: Vec<String> = i.engines.iter().map(engine).collect();
            format!("runs {} at {} MHz", engines.join(" and "), i.clock_hz as f64 / 1e6)
        }
        Err(why) => why.clone(),
    };
    let rows: Vec<(String, String)> = found.iter().map(|f| (format!("board:udp:{}", f.address), says(f))).collect();
    print(&rows)
}

/// An engine of a board.
pub fn engine(e: &EngineIdentity) -> String {
    format!("`{}` ({:016x}) with {} pipelines", shown(&e.kernel), e.hash, e.pipelines)
}

fn print(rows: &[(String, String)]) -> Result<(), Failure> {
    let width = rows.iter().map(|r| r.0.len()).max().unwrap_or(0);
    for (name, summary) in rows {
        say!("{name:width$}  {summary}")?;
    }
    Ok(())
}

/// The summary of a backend and, of one on a GPU, whether that is there.
fn backend(entry: &Entry) -> String {
    match gpu_of(entry) {
        None => entry.summary.to_string(),
        Some(Ok(name)) => format!("{} (here: {name})", entry.summary),
        Some(Err(why)) => {
            let why = why.to_string();
            let (what, _) = why.split_once([';', ':']).unwrap_or((&why, ""));
            format!("{} (not here: {what})", entry.summary)
        }
    }
}
