//! A pseudo-terminal: the serial port that a simulated board is reached by.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The board's end. A host opens `path`.
pub struct Pty {
    end: OwnedFd,
    pub path: String,
}

/// The result of a look at the port.
#[derive(PartialEq, Eq, Debug)]
pub enum Look {
    Bytes(usize),
    /// A host has the port open and sends nothing.
    Silence,
    /// No host has the port open.
    Nobody,
}

impl Pty {
    /// Makes one that passes bytes as they are, and has this baud rate until a host sets another.
    pub fn open(baud: u32) -> io::Result<Pty> {
        // A program that runs beside this one must not keep the port open.
        let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&end)?;
        unlockpt(&end)?;
        let path = ptsname(&end, Vec::new())?.to_string_lossy().into_owned();
        let host = open(&path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        let mut settings = tcgetattr(&host)?;
        settings.make_raw();
        settings.set_speed(baud)?;
        tcsetattr(&host, OptionalActions::Now, &settings)?;
        fcntl_setfl(&end, fcntl_getfl(&end)? | OFlags::NONBLOCK)?;
        Ok(Pty { end, path })
    }

    /// The baud rate that the host has set.
    pub fn baud(&self) -> io::Result<u32> {
        Ok(tcgetattr(&self.end)?.output_speed())
    }

    /// Takes what the host has written.
    pub fn read(&self, room: &mut [u8]) -> io::Result<Look> {
        match rustix::io::read(&self.end, room) {
            Ok(0) | Err(Errno::IO) => Ok(Look::Nobody),
            Ok(n) => Ok(Look::Bytes(n)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Look::Silence),
            Err(e) => Err(e.into()),
        }
    }

    /// Gives the host what it has space for; says how much that was.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match rustix::io::write(&self.end, bytes) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            // Nobody listens; the bytes are lost, as they are on a wire.
            Err(Errno::IO) => Ok(bytes.len()),
            written => Ok(written?),
        }
    }

    /// Waits until the host has written something, or for so long.
    pub fn wait(&self, time: Duration) {
        let mut look = [PollFd::new(&self.end, PollFlags::IN)];
        let most = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos() as _ };
        let ready = poll(&mut look, Some(&most)).unwrap_or(0);
        // A port that nobody has open is always ready.
        if ready > 0 && !look[0].revents().contains(PollFlags::IN) {
            std::thread::sleep(time);
        }
    }
}
