//! Sockets, and commands whose standard input and output are one.

use super::Event;
use rustix::net::{SendFlags, Shutdown, shutdown};
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;

pub type Socket = OwnedFd;

/// A command that was started.
#[derive(Clone, Copy)]
pub struct Process(Pid);

impl Process {
    /// Asks it to end.
    pub fn end(self) {
        let _ = kill_process(self.0, Signal::TERM);
    }
}

/// Starts a command of the shell, and gives our end of the socket that it reads and writes. What becomes of it is told.
pub fn start(text: &str, told: Sender<Event>) -> io::Result<Socket> {
    let (ours, theirs) = UnixStream::pair()?;
    let (input, output) = (OwnedFd::from(theirs.try_clone()?), OwnedFd::from(theirs));
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]).stdin(Stdio::from(input)).stdout(Stdio::from(output));
    sim::process::ends_with_us(&mut command);
    // The system ends a command together with the thread that started it.
    std::thread::spawn(move || {
        // Nobody listens once the session is over.
        let tell = |event: Event| drop(told.send(event));
        let child = command.spawn();
        match &child {
            Ok(child) => tell(Event::Started(Process(Pid::from_child(child)))),
            Err(e) => tell(Event::Ended(format!("it cannot be started: {e}"))),
        }
        // With it go our copies of the command's end of the socket, so that what follows comes behind these reports.
        drop(command);
        if let Ok(mut child) = child {
            let how = child.wait().map_or_else(|e| e.to_string(), |status| format!("it ended with {status}"));
            tell(Event::Ended(how));
        }
    });
    Ok(ours.into())
}

pub fn receive(socket: &Socket, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(socket, buffer)?)
}

pub fn send(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?)
}

/// Ends both directions: whoever waits at either end goes on.
pub fn close(socket: &Socket) {
    let _ = shutdown(socket, Shutdown::Both);
}
