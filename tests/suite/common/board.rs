//! A board behind a pseudo-terminal: the model of the link's end, and an emulated engine.

use hdl::engine::Config;
use hdl::serial::board::BoardEnd;
use hdl::serial::{Identity, kernel_hash};
use pg2::graph::Graph;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use sim::board::fault::{Channel, Fault};
use sim::board::network::{Beats, Packets, Several};
use sim::emulator::engine::EmulatedEngine;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The settings of a board, and its faults.
#[derive(Clone)]
pub struct Setting {
    pub pipelines: u32,
    pub jmem_words: u32,
    pub stream_bits: u32,
    pub faults: Vec<Fault>,
    pub seed: u64,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { pipelines: 2, jmem_words: 4096, stream_bits: 32, faults: Vec::new(), seed: 1 }
    }
}

impl Setting {
    /// The engine that it asks for.
    pub fn config(&self, graph: &Graph) -> Config {
        let layout = graph.layout();
        Config {
            jmem_records: self.jmem_words / layout.j_words(),
            layout,
            pipelines: self.pipelines,
            groups: 1,
            i_banks: 2,
            stream_bits: self.stream_bits,
            segments: 64,
            pipeline_latency: 1,
            ii: 1,
            ident: None,
            filters: 0,
        }
    }

    /// The identity that a board with these kernels reports.
    pub fn identity(&self, graphs: &[Graph], clock_hz: u32, baud: u32) -> Identity {
        let configs: Vec<Config> = graphs.iter().map(|graph| self.config(graph)).collect();
        let engines: Vec<(&Config, u64)> =
            configs.iter().zip(graphs).map(|(config, graph)| (config, kernel_hash(&graph.canonical()))).collect();
        Identity::new(&engines, clock_hz, baud)
    }

    /// Its engines, emulated.
    pub fn engines(&self, graphs: &[Graph]) -> Box<dyn Beats> {
        let one = |graph: &Graph| {
            let config = self.config(graph);
            let engine: Box<dyn Beats> = Box::new(Packets::new(engine(graph, &config)));
            (config, engine)
        };
        let mut all: Vec<(Config, Box<dyn Beats>)> = graphs.iter().map(one).collect();
        if all.len() == 1 { all.remove(0).1 } else { Box::new(Several::new(all)) }
    }
}

/// A running board.
pub struct PtyBoard {
    /// Its port.
    pub path: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PtyBoard {
    /// Switches a board on that runs `graph`.
    pub fn start(graph: &Graph, setting: Setting) -> PtyBoard {
        PtyBoard::with(std::slice::from_ref(graph), setting)
    }

    /// Switches a board on that runs some kernels.
    pub fn with(graphs: &[Graph], setting: Setting) -> PtyBoard {
        // Programs that the tests start must not hold the line open when the board lets go of it.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a pseudo-terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a pseudo-terminal of our own");
        rustix::fs::fcntl_setfl(&master, OFlags::NONBLOCK).expect("a descriptor of our own");
        let path = ptsname(&master, Vec::new()).expect("its name").into_string().expect("a name in ASCII");
        // Held open, so that the master reads nothing rather than an error while no program has the port.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let held = rustix::fs::open(path.as_str(), flags, Mode::empty()).expect("its other end");
        let mut raw = rustix::termios::tcgetattr(&held).expect("a terminal");
        raw.make_raw();
        rustix::termios::tcsetattr(&held, rustix::termios::OptionalActions::Now, &raw).expect("a terminal");
        let stop = Arc::new(AtomicBool::new(false));
        let (graphs, ended) = (graphs.to_vec(), stop.clone());
        let thread = std::thread::spawn(move || {
            let _held = held;
            Running::new(graphs, &setting, File::from(master)).run(&ended);
        });
        PtyBoard { path, stop, thread: Some(thread) }
    }
}

impl Drop for PtyBoard {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the board's thread panicked");
        }
    }
}

struct Running {
    graphs: Vec<Graph>,
    setting: Setting,
    master: File,
    board: BoardEnd,
    engines: Box<dyn Beats>,
    faults: Vec<Fault>,
    down: Channel,
    up: Channel,
    flip: Channel,
    /// Bytes both ways.
    bytes: u64,
}

impl Running {
    fn new(graphs: Vec<Graph>, setting: &Setting, master: File) -> Running {
        let identity = setting.identity(&graphs, 48_000_000, 3_000_000);
        // Flipped bytes are made of the channel that doubles: each doubling is one.
        let flips = setting.faults.iter().filter_map(|f| if let Fault::Flip(rate) = f { Some(*rate) } else { None });
        let flips: Vec<Fault> = flips.map(Fault::Double).collect();
        Running {
            engines: setting.engines(&graphs),
            board: BoardEnd::new(identity),
            graphs,
            setting: setting.clone(),
            master,
            down: Channel::new(&setting.faults, setting.seed),
            up: Channel::new(&setting.faults, setting.seed + 1),
            flip: Channel::new(&flips, setting.seed + 2),
            faults: setting.faults.clone(),
            bytes: 0,
        }
    }

    /// Until it is switched off, or its cable is pulled.
    fn run(mut self, stop: &AtomicBool) {
        let mut buffer = [0; 1024];
        while !stop.load(Ordering::Relaxed) {
            let limit = |f: &Fault| if let Fault::Pull(at) = f { Some(*at) } else { None };
            if self.faults.iter().filter_map(limit).any(|at| self.bytes >= at) {
                return;
            }
            let mut fds = [PollFd::new(&self.master, PollFlags::IN)];
            let nap = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
            let ready = poll(&mut fds, Some(&nap)).expect("the pseudo-terminal can be waited for");
            let n = if ready == 0 { 0 } else { self.master.read(&mut buffer).unwrap_or(0) };
            self.bytes += n as u64;
            let limit = |f: &Fault| if let Fault::Stall(at) = f { Some(*at) } else { None };
            if self.faults.iter().filter_map(limit).any(|at| self.bytes >= at) {
                continue;
            }
            for byte in buffer[..n].iter().copied() {
                for _ in 0..self.down.copies() {
                    let byte = self.flipped(byte);
                    if self.board.receive(byte) {
                        self.engines = self.setting.engines(&self.graphs);
                    }
                }
            }
            self.work();
        }
    }

    fn flipped(&mut self, byte: u8) -> u8 {
        if self.flip.copies() == 2 { byte ^ 0x10 } else { byte }
    }

    fn work(&mut self) {
        loop {
            let mut worked = false;
            while let Some((words, last)) = self.board.take_beat() {
                self.engines.push(words, last).expect("an emulated engine does not fail");
                worked = true;
            }
            while self.board.ready() {
                let Some(beat) = self.engines.pop() else { break };
                self.board.give_beat(&beat);
                worked = true;
            }
            while let Some(line) = self.board.transmit(!self.engines.offers() || !self.board.ready()) {
                let mut out = Vec::new();
                for byte in line {
                    for _ in 0..self.up.copies() {
                        out.push(self.flipped(byte));
                    }
                }
                self.bytes += out.len() as u64;
                // Where nobody reads any more, the frame is lost.
                let _ = self.master.write_all(&out);
                worked = true;
            }
            if !worked {
                break;
            }
        }
    }
}

/// The emulated engine of a board.
pub fn engine(graph: &Graph, config: &Config) -> EmulatedEngine {
    EmulatedEngine::new(&pg2::middle::simplify::simplify(graph), config.clone(), 1)
}
