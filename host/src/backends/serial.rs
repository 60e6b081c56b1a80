//! A serial port: raw bytes at a baud rate, never waiting longer than it is told to.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::termios::{self, ControlModes, OptionalActions, QueueSelector};
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Duration;

/// An open port.
#[derive(Debug)]
pub struct Serial {
    /// Not blocking.
    file: File,
}

/// Longest wait for room to write: far more than a line of any speed needs for a frame.
const WRITE: Duration = Duration::from_millis(500);

impl Serial {
    /// Opens the port for this program alone: 8 data bits, no parity, 1 stop bit, no flow control. The error says
    /// what to do.
    pub fn open(path: &str, baud: u32) -> Result<Serial, String> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(|e| refusal(path, e))?;
        flock(&fd, FlockOperation::NonBlockingLockExclusive).map_err(|e| refusal(path, e))?;
        let file = File::from(fd);
        set_up(&file, baud).map_err(|e| match e {
            Errno::NOTTY => format!("{path} is not a serial port; name the board's, such as {}", ports()),
            e => format!("{path} cannot be set to {baud} baud: {e}; choose a rate that its converter has"),
        })?;
        Ok(Serial { file })
    }

    /// Reads what is there, waiting up to `timeout` for it. 0 bytes: nothing came. An error: the port is gone.
    pub fn read(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        if !self.wait(PollFlags::IN, timeout)? {
            return Ok(0);
        }
        match self.file.read(buffer) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the line was hung up")),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            other => other,
        }
    }

    /// Writes `bytes`, or drops the rest of them when nothing takes them for a while. An error: the port is gone.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
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

    /// Waits until the port is ready; `false` if the time is over.
    fn wait(&self, ready: PollFlags, timeout: Duration) -> io::Result<bool> {
        let limit = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos() as _ };
        let mut fds = [PollFd::new(&self.file, ready)];
        match poll(&mut fds, Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => Ok(false),
            // An error is reported by the call that follows.
            Ok(_) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }
}

impl Drop for Serial {
    fn drop(&mut self) {
        // Others may hold the other end of a pseudo-terminal open, and with it the claim.
        let _ = termios::ioctl_tiocnxcl(&self.file);
    }
}

fn set_up(file: &File, baud: u32) -> rustix::io::Result<()> {
    let mut settings = termios::tcgetattr(file)?;
    settings.make_raw();
    settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    settings.control_modes -= ControlModes::CSTOPB | ControlModes::CRTSCTS;
    settings.set_speed(baud)?;
    termios::tcsetattr(file, OptionalActions::Now, &settings)?;
    termios::ioctl_tiocexcl(file)?;
    // What an earlier program left behind.
    termios::tcflush(file, QueueSelector::IOFlush)
}

fn refusal(path: &str, e: Errno) -> String {
    match e {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => {
            format!("there is no port {path}; connect the board and name its port, such as {}", ports())
        }
        Errno::ACCESS | Errno::PERM => format!(
            "{path} may not be opened by you; join the group that it belongs to (`sudo usermod -aG dialout $USER`, then \
             log in again)"
        ),
        Errno::BUSY | Errno::WOULDBLOCK => format!("{path} is in use by another program; end that one first"),
        e => format!("{path} cannot be opened: {e}"),
    }
}

/// The serial ports of this machine that may be boards, or an example.
fn ports() -> String {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
    let like = |n: &String| ["ttyUSB", "ttyACM", "cu.usb"].iter().any(|p| n.starts_with(p));
    let mut found: Vec<String> = names.filter(like).map(|n| format!("/dev/{n}")).collect();
    found.sort();
    if found.is_empty() { "/dev/ttyUSB0".into() } else { found.join(" or ") }
}
