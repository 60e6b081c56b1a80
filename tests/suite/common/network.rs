//! A board behind a socket of this machine: the program of the link's end, and an emulated engine.

pub use super::board::Setting;
use pg2::graph::Graph;
use sim::board::network::{NetworkBoard, Program, Traffic, Turn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A running board.
pub struct UdpBoard {
    /// ADDRESS:PORT.
    pub address: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Traffic>>,
}

impl UdpBoard {
    /// Switches a board on that runs `graph`.
    pub fn start(graph: &Graph, setting: Setting) -> UdpBoard {
        UdpBoard::with(std::slice::from_ref(graph), setting)
    }

    /// Switches a board on that runs some kernels.
    pub fn with(graphs: &[Graph], setting: Setting) -> UdpBoard {
        let stop = Arc::new(AtomicBool::new(false));
        let (graphs, ended) = (graphs.to_vec(), stop.clone());
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let identity = setting.identity(&graphs, 50_000_000, 0).over_ethernet();
            let settings = setting.clone();
            let new = Box::new(move || Ok(settings.engines(&graphs)));
            let program = Program::new(identity, new).expect("engines");
            let mut board = NetworkBoard::new(0, program, (&setting.faults, setting.seed)).expect("a free port");
            tell.send(board.address().expect("a bound socket").to_string()).expect("the test waits for it");
            while !ended.load(Ordering::Relaxed) && board.turn().expect("a board that works") != Turn::Pulled {}
            board.traffic()
        });
        UdpBoard { address: told.recv().expect("the board says its address"), stop, thread: Some(thread) }
    }

    /// Switches it off; what it has seen.
    pub fn end(mut self) -> Traffic {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs until it is ended").join().expect("the board's thread does not panic")
    }
}

impl Drop for UdpBoard {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the board's thread panicked");
        }
    }
}
