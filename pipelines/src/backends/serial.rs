//! A serial port: raw bytes at a baud rate, never waiting longer than its timeout.

use super::session::Port;
use hdl::serial::host::Failure;
use hdl::serial::medium::SerialLine;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, FlockOperation, Mode, OFlags, access, flock, open};
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
    path: String,
    baud: u32,
}

/// Baud rate where the port names none.
const BAUD: u32 = 3_000_000;
/// Longest wait for space to write: far more than a line of any speed needs for a frame.
const WRITE: Duration = Duration::from_millis(500);

/// A port with `@BAUD` or without.
fn port_and_baud(text: &str) -> Result<(&str, u32), String> {
    let Some((port, baud)) = text.rsplit_once('@') else { return Ok((text, BAUD)) };
    match baud.parse() {
        Ok(baud) if baud > 0 => Ok((port, baud)),
        _ => Err(format!("`{baud}` is no baud rate; a board is named as board:PORT or board:PORT@BAUD")),
    }
}

impl Serial {
    /// Opens the port that is named as PORT or PORT@BAUD.
    pub fn named(text: &str) -> Result<Serial, String> {
        let (path, baud) = port_and_baud(text)?;
        Serial::open(path, baud)
    }

    /// Opens the port for this program alone: 8 data bits, no parity, 1 stop bit, no flow control. The error says
    /// what to do.
    pub fn open(path: &str, baud: u32) -> Result<Serial, String> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(|e| refusal(path, e))?;
        flock(&fd, FlockOperation::NonBlockingLockExclusive).map_err(|e| refusal(path, e))?;
        let file = File::from(fd);
        set_up(&file, baud).map_err(|e| match e {
            Errno::NOTTY => format!("{path} is not a serial port; name the board's, such as {}", examples()),
            e => format!("{path} cannot be set to {baud} baud: {e}; choose a rate that its converter has"),
        })?;
        Ok(Serial { file, path: path.to_string(), baud })
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

impl Port for Serial {
    type Medium = SerialLine;

    fn name(&self) -> &str {
        &self.path
    }

    fn read(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        if !self.wait(PollFlags::IN, timeout)? {
            return Ok(0);
        }
        match self.file.read(buffer) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the line was hung up")),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            other => other,
        }
    }

    /// Drops the rest when nothing takes it for a while.
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
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

    fn reason(&self, failure: Failure) -> String {
        let (port, baud) = (&self.path, self.baud);
        match failure {
            Failure::NoAnswer { bytes: 0, .. } => format!(
                "no board answers at {port} at {baud} baud; load its bitstream with `pairforge deploy DIR`, check port and \
                 cable, and give the board's baud rate as board:{port}@BAUD if it is another"
            ),
            Failure::NoAnswer { frames: 0, .. } => format!(
                "what comes from {port} at {baud} baud makes no sense; give the board's baud rate as board:{port}@BAUD, or \
                 load its bitstream with `pairforge deploy DIR`"
            ),
            // (A serial line has one host.)
            Failure::NoAnswer { .. } | Failure::Busy(_) => {
                format!("the board at {port} does not start a session; reset it, and check the cable to it")
            }
            Failure::Silent => {
                format!("the board at {port} no longer answers; check cable and power, reset it, and start anew")
            }
            Failure::Stalled => format!(
                "the board at {port} answers, but its engine makes no progress; reset it and start anew, and if it happens \
                 again, lower the clock that its bitstream was made for"
            ),
            Failure::Reset => format!(
                "the board at {port} began anew in the middle of the work, by its reset, its power or another program; \
                 start anew"
            ),
            Failure::Identity(text) => format!("{port}: {text}"),
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
            format!("there is no port {path}; connect the board and name its port, such as {}", examples())
        }
        Errno::ACCESS | Errno::PERM => format!(
            "{path} may not be opened by you; join the group that it belongs to (`sudo usermod -aG dialout $USER`, then \
             log in again)"
        ),
        Errno::BUSY | Errno::WOULDBLOCK => format!("{path} is in use by another program; end that one first"),
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
    let like = |n: &String| ["ttyUSB", "ttyACM", "cu.usb"].iter().any(|p| n.starts_with(p));
    let mut found: Vec<String> = names.filter(like).map(|n| format!("/dev/{n}")).collect();
    found.sort();
    found
}

/// The same in words, or an example.
fn examples() -> String {
    let found = ports();
    if found.is_empty() { "/dev/ttyUSB0".into() } else { found.join(" or ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_named_with_or_without_a_baud_rate() {
        assert_eq!(port_and_baud("/dev/ttyUSB0"), Ok(("/dev/ttyUSB0", BAUD)));
        assert_eq!(port_and_baud("/dev/tty@home@115200"), Ok(("/dev/tty@home", 115_200)));
        assert!(port_and_baud("/dev/ttyUSB0@fast").is_err_and(|e| e.contains("no baud rate")));
        assert!(port_and_baud("/dev/ttyUSB0@0").is_err());
    }
}
