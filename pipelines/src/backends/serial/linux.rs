//! Serial ports of Linux, and pseudo-terminals in place of them.

use super::{Refusal, WRITE, wrong_rate};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, FlockOperation, Mode, OFlags, access, flock, open};
use rustix::io::Errno;
use rustix::termios::{self, ControlModes, OptionalActions, QueueSelector};
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Duration;

/// An open port, which does not block.
#[derive(Debug)]
pub struct Line(File);

impl Line {
    pub fn open(path: &str, baud: u32) -> Result<Line, String> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(|e| refusal(path, e))?;
        flock(&fd, FlockOperation::NonBlockingLockExclusive).map_err(|e| refusal(path, e))?;
        let line = Line(File::from(fd));
        line.set_up(baud).map_err(|e| match e {
            Errno::NOTTY => Refusal::NoSerialPort.text(path),
            e => wrong_rate(path, baud, e),
        })?;
        Ok(line)
    }

    fn set_up(&self, baud: u32) -> rustix::io::Result<()> {
        let mut settings = termios::tcgetattr(&self.0)?;
        settings.make_raw();
        settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
        settings.control_modes -= ControlModes::CSTOPB | ControlModes::CRTSCTS;
        settings.set_speed(baud)?;
        termios::tcsetattr(&self.0, OptionalActions::Now, &settings)?;
        termios::ioctl_tiocexcl(&self.0)?;
        // What an earlier program left behind.
        termios::tcflush(&self.0, QueueSelector::IOFlush)
    }

    /// Waits until the port is ready; `false` if the time is over.
    fn wait(&self, ready: PollFlags, timeout: Duration) -> io::Result<bool> {
        let limit = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos() as _ };
        let mut fds = [PollFd::new(&self.0, ready)];
        match poll(&mut fds, Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => Ok(false),
            // An error is reported by the call that follows.
            Ok(_) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    /// Bytes that have come; none if the time is over.
    pub fn read(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        if !self.wait(PollFlags::IN, timeout)? {
            return Ok(0);
        }
        match self.0.read(buffer) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the line was hung up")),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            other => other,
        }
    }

    /// Drops the rest when nothing takes it for a while.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.0.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if !self.wait(PollFlags::OUT, WRITE)? {
                        return Ok(());
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Others may hold the other end of a pseudo-terminal open, and with it the claim.
        let _ = termios::ioctl_tiocnxcl(&self.0);
    }
}

fn refusal(path: &str, e: Errno) -> String {
    match e {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => Refusal::Absent.text(path),
        Errno::ACCESS | Errno::PERM => Refusal::Forbidden.text(path),
        Errno::BUSY | Errno::WOULDBLOCK => Refusal::InUse.text(path),
        e => format!("{path} cannot be opened: {e}"),
    }
}

/// Why a port cannot be opened, as far as its permissions tell; it is not touched.
pub fn closed(path: &str) -> Option<String> {
    access(path, Access::READ_OK | Access::WRITE_OK).err().map(|e| refusal(path, e))
}

/// The serial ports of this machine that may be boards.
pub fn ports() -> Vec<String> {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
    let like = |n: &String| ["ttyUSB", "ttyACM"].iter().any(|p| n.starts_with(p));
    let mut found: Vec<String> = names.filter(like).map(|n| format!("/dev/{n}")).collect();
    found.sort();
    found
}
