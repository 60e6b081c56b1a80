//! An engine behind a stream of bytes that is not of this program: a TCP connection, or the standard input and output of a
//! command ([`hdl::engine::bytes`]). The stream loses nothing, so there is no link, and the engine itself says what it is.

use super::session::Session;
use hdl::engine::bytes::{self, Packets};
use hdl::engine::identity::EngineIdentity;
use hdl::engine::link::{Board, LinkError, Receive};
use hdl::engine::protocol::{END, END_REPLY, Ident, Stream};
use hdl::engine::{Config, Layout};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use system::{Process, Socket};

#[cfg_attr(unix, path = "stream/unix.rs")]
#[cfg_attr(not(unix), path = "stream/elsewhere.rs")]
mod system;

/// Longest wait for the answer to the first packet: over a connection, and of a command, which may have to make what it serves.
const OPEN: Duration = Duration::from_secs(10);
const OPEN_COMMAND: Duration = Duration::from_secs(120);
/// Longest time in which nothing goes in or comes out in the middle of the work.
const STALL: Duration = Duration::from_secs(60);
/// Longest wait for a command to end once its input has.
const LEAVE: Duration = Duration::from_secs(2);
/// Bytes of one call that reads or writes.
const PIECE: usize = 1 << 16;

/// A report of one of the threads of a wire.
enum Event {
    /// Bytes that came.
    Came(Vec<u8>),
    /// The number of bytes that went.
    Went(usize),
    /// The end of what comes or of what may go.
    Closed,
    /// The process of the command.
    #[cfg_attr(not(unix), expect(dead_code, reason = "commands are not started"))]
    Started(Process),
    /// The end of the command, in words.
    #[cfg_attr(not(unix), expect(dead_code, reason = "as above"))]
    Ended(String),
}

/// One end of a socket. Threads read and write, so that neither end waits for the other.
struct Wire {
    /// Name of the other end, for people.
    name: String,
    socket: Arc<Socket>,
    to_write: Sender<Vec<u8>>,
    events: Receiver<Event>,
    /// Bytes that are still to go.
    unwritten: usize,
    /// The command at the other end while it runs, and how it ended.
    command: Option<Process>,
    ended: Option<String>,
}

impl Wire {
    fn new(name: String, socket: Socket, (sender, events): (Sender<Event>, Receiver<Event>)) -> Wire {
        let socket = Arc::new(socket);
        let (to_write, to_send) = channel();
        let (reads, writes, told) = (socket.clone(), socket.clone(), sender.clone());
        std::thread::spawn(move || read(&reads, &told));
        std::thread::spawn(move || write(&writes, &to_send, &sender));
        Wire { name, socket, to_write, events, unwritten: 0, command: None, ended: None }
    }

    /// The connection with HOST:PORT. The error says what to do.
    fn tcp(address: &str) -> Result<Wire, String> {
        let name = format!("tcp:{address}");
        let stream = TcpStream::connect(address).map_err(|e| {
            format!("{name} cannot be reached: {e}; start what serves the engine, and name it as board:tcp:HOST:PORT")
        })?;
        // Packets are short and wait for answers; where this cannot be set they are slower.
        let _ = stream.set_nodelay(true);
        Ok(Wire::new(name, stream.into(), channel()))
    }

    /// The standard input and output of a command of the shell. The error says what to do.
    fn command(text: &str) -> Result<Wire, String> {
        if text.trim().is_empty() {
            return Err("no command is named; name it as board:pipe:COMMAND".into());
        }
        let name = format!("the command `{text}`");
        let (sender, events) = channel();
        let socket = system::start(text, sender.clone()).map_err(|e| format!("{name} cannot be started: {e}"))?;
        Ok(Wire::new(name, socket, (sender, events)))
    }

    fn send(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        self.unwritten += bytes.len();
        self.to_write.send(bytes).map_err(|_| self.closed())
    }

    /// The bytes that came next; none if only something went.
    fn next(&mut self, wait: Duration) -> Result<Vec<u8>, String> {
        match self.events.recv_timeout(wait) {
            Ok(Event::Came(bytes)) => return Ok(bytes),
            Ok(Event::Went(count)) => self.unwritten -= count,
            Ok(Event::Started(pid)) => self.command = Some(pid),
            // What it had written before comes first, and then the end of the stream.
            Ok(Event::Ended(how)) => self.end(how),
            Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => return Err(self.closed()),
            Err(RecvTimeoutError::Timeout) => {
                let name = &self.name;
                return Err(format!(
                    "{name}: nothing came or went for {} s; see whether what serves the engine still runs, and start anew",
                    wait.as_secs()
                ));
            }
        }
        Ok(Vec::new())
    }

    fn end(&mut self, how: String) {
        (self.command, self.ended) = (None, Some(how));
    }

    /// Waits a while for the end of the command, where there is one.
    fn leave(&mut self) {
        while self.command.is_some() && self.ended.is_none() {
            match self.events.recv_timeout(LEAVE) {
                Ok(Event::Ended(how)) => self.end(how),
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }

    /// The error of a stream that has ended.
    fn closed(&mut self) -> String {
        self.leave();
        let how = self.ended.as_deref().map_or(String::new(), |how| format!(": {how}"));
        format!("{} closed the stream{how}; start what serves the engine again, and start anew", self.name)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Both threads end with it, and so does a command that reads its input.
        system::close(&self.socket);
        self.leave();
        if let Some(process) = self.command {
            process.end();
        }
    }
}

fn read(socket: &Socket, to: &Sender<Event>) {
    let mut buffer = vec![0; PIECE];
    loop {
        let event = match system::receive(socket, &mut buffer) {
            Ok(0) => Event::Closed,
            Ok(count) => Event::Came(buffer[..count].to_vec()),
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(_) => Event::Closed,
        };
        let is_end = matches!(event, Event::Closed);
        if to.send(event).is_err() || is_end {
            return;
        }
    }
}

fn write(socket: &Socket, from: &Receiver<Vec<u8>>, to: &Sender<Event>) {
    for bytes in from {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match system::send(socket, &rest[..rest.len().min(PIECE)]) {
                Ok(count) => {
                    rest = &rest[count..];
                    let _ = to.send(Event::Went(count));
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // Answers that came before are read first: the reader tells of the end.
                Err(_) => return,
            }
        }
    }
}

/// An engine behind a wire.
pub struct StreamSession {
    wire: Wire,
    engine: EngineIdentity,
    /// The layout is known when the kernel is.
    config: Config,
    packets: Packets,
    /// END packets that were sent and not answered yet.
    open_ends: u64,
}

impl StreamSession {
    /// The engine at HOST:PORT. The error says what to do.
    pub fn tcp(address: &str) -> Result<StreamSession, String> {
        Self::open(Wire::tcp(address)?, OPEN)
    }

    /// The engine that a command serves on its standard input and output. The error says what to do.
    pub fn command(text: &str) -> Result<StreamSession, String> {
        Self::open(Wire::command(text)?, OPEN_COMMAND)
    }

    /// Asks the engine what it is.
    fn open(mut wire: Wire, wait: Duration) -> Result<StreamSession, String> {
        let mut question = Stream::default();
        question.ident();
        wire.send(bytes::of_stream(&question)?)?;
        let (mut packets, mut answers) = (Packets::default(), Vec::new());
        while answers.is_empty() {
            let came = wire.next(wait)?;
            packets.take(&came, &mut |packet| answers.push(packet)).map_err(|e| no_engine(&wire.name, &e))?;
        }
        let ident = Ident::parse(&answers[0]).map_err(|e| no_engine(&wire.name, &e))?;
        if answers.len() > 1 {
            return Err(no_engine(&wire.name, "it sends packets that nobody asked for"));
        }
        let config = ident.engine.config(Layout::default(), ident.stream_bits);
        Ok(StreamSession { wire, engine: ident.engine, config, packets, open_ends: 0 })
    }

    fn transfer(&mut self, input: &Stream, receive: &mut Receive) -> Result<(), String> {
        let beat_words = self.config.beat_words() as usize;
        // An END that goes on into a second beat is too long, and is not answered.
        let is_end = |p: &&[u32]| p.first().is_some_and(|w| w >> 24 == END) && p.len() <= beat_words;
        self.open_ends += input.packets().filter(is_end).count() as u64;
        let ends_with_end = input.packets().last().is_some_and(|p| is_end(&p));
        self.wire.send(bytes::of_stream(input)?)?;
        while self.wire.unwritten > 0 || (ends_with_end && self.open_ends > 0) {
            let came = self.wire.next(STALL)?;
            let mut whole = Vec::new();
            let taken = self.packets.take(&came, &mut |packet| whole.push(packet));
            let wrong = |e: String| format!("the engine at {}: {e}", self.wire.name);
            for packet in whole {
                bytes::trimmed(&packet, &self.config, receive).map_err(wrong)?;
                let is_answer = packet[0] >> 24 == END_REPLY;
                self.open_ends = self
                    .open_ends
                    .checked_sub(is_answer as u64)
                    .ok_or_else(|| wrong("it answers an END that was not sent".into()))?;
            }
            taken.map_err(wrong)?;
        }
        Ok(())
    }
}

fn no_engine(name: &str, why: &str) -> String {
    format!("{name}: {why}; serve an engine of `pairforge build` there, packets as docs/engine.md has them")
}

impl Session for StreamSession {
    fn engines(&self) -> &[EngineIdentity] {
        std::slice::from_ref(&self.engine)
    }

    fn port(&self) -> &str {
        &self.wire.name
    }

    fn set_layout(&mut self, _: usize, layout: Layout) {
        self.config.layout = layout;
    }
}

impl Board for StreamSession {
    fn configs(&self) -> &[Config] {
        std::slice::from_ref(&self.config)
    }

    fn exchange(&mut self, input: &Stream, _: &[u8], receive: &mut Receive) -> Result<(), LinkError> {
        self.transfer(input, receive).map_err(LinkError)
    }
}
