//! The backend `board:PORT`: engines on FPGA boards, behind the link of [`hdl::serial`] or of [`hdl::ethernet`], or behind a
//! stream of bytes of their user's.
//!
//! A board runs the kernels that its bitstream was made of and says so when a session starts. Several ports may be
//! named; each kernel goes to a board that runs it. Kernels of one board run at the same time.

use super::network::Network;
use super::serial::Serial;
use super::session::{BoardSession, Session};
use super::stream::StreamSession;
use super::{BackendOptions, Entry, Needs};
use crate::driver::StreamBackend;
use crate::job::{Backend, BackendError};
use hdl::engine::link::{Channel, Link, Shared};
use hdl::serial::host::Timeouts;
use hdl::serial::{EngineIdentity, kernel_hash};
use pg2::graph::Graph;
use pg2::middle::coarse;
use std::sync::{Arc, Mutex, PoisonError};

/// Begins the name of a board on the network.
const NETWORK: &str = "udp:";
/// Begins the name of an engine behind a connection, and of one behind a command.
const CONNECTION: &str = "tcp:";
const COMMAND: &str = "pipe:";

pub const ENTRY: Entry = Entry {
    name: "board",
    place: Some("PORT"),
    summary: "an FPGA board at a serial port or, by `board:udp:ADDRESS`, on the network; an engine behind your own transport by `board:tcp:HOST:PORT` or `board:pipe:COMMAND`; `board:PORT,PORT` for boards with different kernels, or for ranks",
    needs: Needs::Device,
    exact: true,
    clocked: true,
    traced: false,
    shaped: false,
    native: false,
    open,
};

/// The boards that a text names, separated by commas. A command may have commas in it, and is the last one.
fn places(text: &str) -> Vec<&str> {
    let (mut all, mut rest) = (Vec::new(), text.trim());
    while let (false, Some((one, more))) = (rest.starts_with(COMMAND), rest.split_once(',')) {
        all.push(one.trim());
        rest = more.trim();
    }
    all.push(rest);
    all
}

/// Opens the boards at `options.place`.
fn open(options: &BackendOptions) -> Box<dyn Backend> {
    let ports: Vec<String> = places(&options.place).into_iter().map(str::to_string).collect();
    let boards = Mutex::new((ports, Vec::<Opened>::new()));
    let open = move |graph: &Graph, _: u64| -> Result<Box<dyn Link>, BackendError> {
        let (closed, open) = &mut *boards.lock().unwrap_or_else(PoisonError::into_inner);
        for port in closed.drain(..) {
            open.push(Opened::connect(&port, Timeouts::default()).map_err(BackendError::Tool)?);
        }
        let hash = kernel_hash(&graph.canonical());
        let found = open.iter().find_map(|board| Some((board, board.number(hash)?)));
        let Some((board, number)) = found else {
            return Err(BackendError::Tool(other_kernel(graph, hash, open)));
        };
        let mut session = board.session.lock().unwrap_or_else(PoisonError::into_inner);
        let filters = session.engines()[number].filters;
        session.set_layout(number, coarse::layout(graph, filters));
        drop(session);
        Ok(Box::new(Channel::new(board.shared.clone(), number)))
    };
    Box::new(StreamBackend::new(ENTRY.name, Box::new(open), ENTRY.clocked).on_device())
}

/// The boards of one rank among those that are named: each rank has as many, those of the first one first.
pub fn of_rank(place: &str, rank: usize, ranks: usize) -> Result<String, BackendError> {
    let boards = places(place);
    let (count, each) = (boards.len(), boards.len() / ranks.max(1));
    if each * ranks == count {
        return Ok(boards[rank * each..(rank + 1) * each].join(","));
    }
    let named = if count == 1 { "1 board is".into() } else { format!("{count} boards are") };
    let what = if each == 0 { format!("name {ranks} boards") } else { "name as many boards for each".to_string() };
    Err(BackendError::Unsupported(format!(
        "{named} named for {ranks} ranks, and a board serves one process: {what}, as in --backend {}:PORT,PORT",
        ENTRY.name
    )))
}

/// The engines of the board at a port. The error names the port and what to do.
pub fn engines(place: &str, timeouts: Timeouts) -> Result<Vec<EngineIdentity>, String> {
    Opened::connect(place, timeouts).map(|board| board.engines)
}

/// A board with an open session.
struct Opened {
    port: String,
    engines: Vec<EngineIdentity>,
    session: Arc<Mutex<dyn Session>>,
    /// The same, as the links to its engines have it.
    shared: Shared,
}

impl Opened {
    /// Opens a session with the board at a port: PORT, PORT@BAUD, udp:ADDRESS or udp:ADDRESS:PORT, or behind
    /// tcp:HOST:PORT or pipe:COMMAND. The error names the port and what to do.
    fn connect(text: &str, timeouts: Timeouts) -> Result<Opened, String> {
        if let Some(address) = text.strip_prefix(CONNECTION) {
            return Ok(Opened::new(StreamSession::tcp(address)?));
        }
        if let Some(command) = text.strip_prefix(COMMAND) {
            return Ok(Opened::new(StreamSession::command(command)?));
        }
        Ok(match text.strip_prefix(NETWORK) {
            Some(address) => Opened::new(BoardSession::open(Network::open(address)?, timeouts)?),
            None => Opened::new(BoardSession::open(Serial::named(text)?, timeouts)?),
        })
    }

    fn new<S: Session + 'static>(session: S) -> Opened {
        let (port, engines) = (session.port().to_string(), session.engines().to_vec());
        let session = Arc::new(Mutex::new(session));
        Opened { port, engines, session: session.clone(), shared: session }
    }

    /// The number of the engine that runs a kernel.
    fn number(&self, hash: u64) -> Option<usize> {
        self.engines.iter().position(|engine| engine.hash == hash)
    }

    /// A description of the board's kernels.
    fn runs(&self) -> String {
        let kernels: Vec<String> = self.engines.iter().map(|e| format!("`{}` ({:016x})", e.kernel, e.hash)).collect();
        format!("{} runs {}", self.port, kernels.join(" and "))
    }
}

fn other_kernel(graph: &Graph, hash: u64, open: &[Opened]) -> String {
    let boards: Vec<String> = open.iter().map(Opened::runs).collect();
    let found = boards.join(", ");
    let name = &graph.name;
    format!(
        "no board runs the kernel `{name}` ({hash:016x}): {found}; make its bitstream with `pairforge synth {name} --board \
         BOARD -o DIR` and load it with `pairforge deploy DIR`, or its engine for a transport of your own with `pairforge \
         build {name}`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_as_many_boards_each() {
        let of = |place: &str, rank, ranks| of_rank(place, rank, ranks).map_err(|e| e.to_string());
        let all = |place: &str, ranks| (0..ranks).map(|rank| of(place, rank, ranks).unwrap()).collect::<Vec<_>>();
        assert_eq!(all("a@9600", 1), ["a@9600"]);
        assert_eq!(all("a,b", 1), ["a,b"]);
        assert_eq!(all("udp:x:1, udp:y:1,c", 3), ["udp:x:1", "udp:y:1", "c"]);
        assert_eq!(all("a,b,c,d", 2), ["a,b", "c,d"]);
        let refused = |place: &str, ranks| of(place, 0, ranks).unwrap_err();
        assert!(
            refused("a", 3).starts_with("1 board is named for 3 ranks, and a board serves one process: name 3 boards")
        );
        assert!(
            refused("a,b,c", 2).contains("3 boards are named for 2 ranks") && refused("a,b,c", 2).contains("as many")
        );
    }

    #[test]
    fn a_command_is_named_last_with_all_its_commas() {
        assert_eq!(places("a@9600, udp:x ,tcp:h:1"), ["a@9600", "udp:x", "tcp:h:1"]);
        assert_eq!(places("tcp:h:1, pipe:serve a,b | log , c"), ["tcp:h:1", "pipe:serve a,b | log , c"]);
        assert_eq!(places("pipe:x,y"), ["pipe:x,y"]);
    }

    #[test]
    fn wrong_ports_are_refused_with_a_remedy() {
        let refused = |port: &str| Opened::connect(port, Timeouts::default()).err().expect("no board");
        assert!(refused("/dev/no-such-port").contains("there is no port /dev/no-such-port; connect"));
        assert!(refused("/dev/null").contains("/dev/null is not a serial port"));
    }
}
