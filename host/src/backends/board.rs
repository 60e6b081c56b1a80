//! The backend `board:PORT`: engines on FPGA boards, behind the link of [`hdl::serial`] or of [`hdl::ethernet`].
//!
//! A board runs the kernel that its bitstream was made of and says so when a session starts. Several ports may be
//! named; each kernel goes to a board that runs it.

use super::network::Network;
use super::serial::Serial;
use super::session::{BoardSession, Session};
use super::{BackendOptions, Entry, Needs};
use crate::driver::StreamBackend;
use crate::job::{Backend, BackendError};
use hdl::engine::link::Link;
use hdl::serial::host::Patience;
use hdl::serial::kernel_hash;
use pg2::graph::Graph;
use std::cell::RefCell;

/// Begins the name of a board on the network.
const NETWORK: &str = "udp:";

pub const ENTRY: Entry = Entry {
    name: "board",
    place: Some("PORT"),
    summary: "an FPGA board at a serial port or, by `board:udp:ADDRESS`, on the network; `board:PORT,PORT` for boards with different kernels",
    needs: Needs::Device,
    exact: true,
    clocked: true,
    traced: false,
    native: false,
    open,
};

/// Opens the boards at `options.place`: ports separated by commas.
fn open(options: &BackendOptions) -> Box<dyn Backend> {
    let ports: Vec<String> = options.place.split(',').map(|p| p.trim().to_string()).collect();
    // Boards that were opened for one kernel and run another wait here for it; what the others run is told where none fits.
    type Open = Vec<Box<dyn Session>>;
    let idle = RefCell::new((ports, Open::new(), Vec::<String>::new()));
    let open = move |graph: &Graph, _: u64| -> Result<Box<dyn Link>, BackendError> {
        let (closed, open, taken) = &mut *idle.borrow_mut();
        for port in closed.drain(..) {
            open.push(connect(&port, Patience::default()).map_err(BackendError::Tool)?);
        }
        let hash = kernel_hash(&graph.canonical());
        let Some(at) = open.iter().position(|b| b.identity().hash == hash) else {
            return Err(BackendError::Tool(other_kernel(graph, hash, open, taken)));
        };
        taken.push(runs(&*open[at]));
        Ok(open.swap_remove(at).with_engine(graph))
    };
    Box::new(StreamBackend::new(ENTRY.name, Box::new(open), ENTRY.clocked).on_device())
}

/// Opens a session with the board at a port: PORT, PORT@BAUD, udp:ADDRESS or udp:ADDRESS:PORT. The error names the port and
/// what to do.
fn connect(text: &str, patience: Patience) -> Result<Box<dyn Session>, String> {
    Ok(match text.strip_prefix(NETWORK) {
        Some(address) => Box::new(BoardSession::open(Network::open(address)?, patience)?),
        None => Box::new(BoardSession::open(Serial::named(text)?, patience)?),
    })
}

/// What a board says of itself.
fn runs(b: &dyn Session) -> String {
    format!("{} runs `{}` ({:016x})", b.port(), b.identity().kernel, b.identity().hash)
}

fn other_kernel(graph: &Graph, hash: u64, open: &[Box<dyn Session>], taken: &[String]) -> String {
    let boards: Vec<String> = taken.iter().cloned().chain(open.iter().map(|b| runs(&**b))).collect();
    let found = boards.join(", ");
    let name = &graph.name;
    format!(
        "no board runs the kernel `{name}` ({hash:016x}): {found}; make its bitstream with `pairforge synth {name} --board \
         BOARD -o DIR` and load it with `pairforge deploy DIR`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_ports_are_refused_with_a_remedy() {
        let refused = |port: &str| connect(port, Patience::default()).err().expect("no board");
        assert!(refused("/dev/no-such-port").contains("there is no port /dev/no-such-port; connect"));
        assert!(refused("/dev/null").contains("/dev/null is not a serial port"));
    }
}
