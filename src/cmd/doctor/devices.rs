//! GPUs, serial ports, and boards that answer.

use super::super::list;
use super::Report;
use gpu::cuda::device;
use hdl::serial::EngineIdentity;
use hdl::serial::host::Timeouts;
use pairforge::backends::{board, network, serial};
use serde::Serialize;
use std::time::Duration;
use terminal::memory::gigabytes;

#[derive(Serialize)]
pub struct Gpu {
    name: String,
    architecture: String,
    /// Bytes.
    memory: u64,
}

/// A serial port that may be a board.
#[derive(Serialize)]
pub struct SerialPort {
    port: String,
    /// Engines of the board there; null where it was not asked or did not answer.
    engines: Option<Vec<Engine>>,
    /// Why it cannot be used.
    trouble: Option<String>,
}

/// A board on the network.
#[derive(Serialize)]
pub struct NetworkBoard {
    address: String,
    engines: Option<Vec<Engine>>,
    trouble: Option<String>,
}

#[derive(Serialize)]
struct Engine {
    kernel: String,
    pipelines: u32,
    /// For people.
    #[serde(skip)]
    text: String,
}

fn engines(all: &[EngineIdentity]) -> Vec<Engine> {
    let one = |e: &EngineIdentity| Engine { kernel: e.kernel.clone(), pipelines: e.pipelines, text: list::engine(e) };
    all.iter().map(one).collect()
}

/// GPUs that can be used; that there are none is told of the driver.
pub fn gpus() -> Vec<Gpu> {
    let all = device::seen().unwrap_or_default();
    all.into_iter().map(|gpu| Gpu { name: gpu.name, architecture: gpu.arch, memory: gpu.memory }).collect()
}

/// The serial ports, each asked for its board if so.
pub fn ports_if(asks: bool) -> impl FnOnce() -> Vec<SerialPort> + Send {
    let one = move |port: String| {
        let found = match serial::closed(&port) {
            Some(why) => Err(why),
            None if asks => board::engines(&port, TIMEOUTS).map(|all| Some(engines(&all))),
            None => Ok(None),
        };
        let (engines, trouble) = found.map_or_else(|why| (None, Some(why)), |engines| (engines, None));
        SerialPort { port, engines, trouble }
    };
    // Boards are slow to be found missing, so all are asked at the same time.
    move || {
        let asked: Vec<_> = serial::ports().into_iter().map(|port| std::thread::spawn(move || one(port))).collect();
        asked.into_iter().filter_map(|thread| thread.join().ok()).collect()
    }
}

/// A board that is there answers at once.
const TIMEOUTS: Timeouts =
    Timeouts { open: Duration::from_secs(1), silence: Duration::from_secs(1), stall: Duration::from_secs(1) };

/// The boards on the network, if it is to be asked.
pub fn boards_if(asks: bool) -> impl FnOnce() -> Option<Vec<NetworkBoard>> + Send {
    let one = |found: network::Found| {
        let address = found.address.to_string();
        match &found.identity {
            Ok(identity) => NetworkBoard { address, engines: Some(engines(&identity.engines)), trouble: None },
            Err(why) => NetworkBoard { address, engines: None, trouble: Some(why.clone()) },
        }
    };
    // A machine without a network has no boards there.
    move || asks.then(|| network::scan(None).unwrap_or_default().into_iter().map(one).collect())
}

/// For people.
pub(super) fn lines(report: &Report) -> Vec<String> {
    let gpu = |g: &Gpu| format!("GPU {}, {}, {}", g.name, g.architecture, gigabytes(g.memory));
    let state = |engines: &Option<Vec<Engine>>, trouble: &Option<String>| match (engines, trouble) {
        (_, Some(why)) => why.clone(),
        (Some(engines), _) => {
            let texts: Vec<&str> = engines.iter().map(|e| e.text.as_str()).collect();
            format!("runs {}", texts.join(" and "))
        }
        _ => "not asked which board it is; --scan does".into(),
    };
    let mut lines: Vec<String> = report.gpus.iter().map(gpu).collect();
    if report.ports.is_empty() {
        lines.push("no serial port that may be a board".into());
    }
    lines.extend(report.ports.iter().map(|p| format!("board:{}: {}", p.port, state(&p.engines, &p.trouble))));
    let boards = report.boards.iter().flatten();
    lines.extend(boards.map(|b| format!("board:udp:{}: {}", b.address, state(&b.engines, &b.trouble))));
    match &report.boards {
        None => lines.push("boards on the network: not asked; --scan does".into()),
        Some(boards) if boards.is_empty() => lines.push("boards on the network: none answered".into()),
        _ => {}
    }
    lines
}
