//! Serial ports of Windows, macOS and other systems, through a crate that sets any baud rate there.

use super::{Refusal, WRITE, wrong_rate};
use serial2::{KeepSettings, SerialPort};
use std::io::{self, ErrorKind};
use std::time::Duration;

/// An open port.
#[derive(Debug)]
pub struct Line {
    port: SerialPort,
    /// The timeout of a read that is set.
    timeout: Duration,
}

/// The shortest timeout of a read: Windows knows none of no time.
const SHORTEST: Duration = Duration::from_millis(1);

impl Line {
    pub fn open(path: &str, baud: u32) -> Result<Line, String> {
        let mut port = SerialPort::open(path, KeepSettings).map_err(|e| refusal(path, &e))?;
        claim(&port).map_err(|e| refusal(path, &e))?;
        let mut settings = port.get_configuration().map_err(|_| Refusal::NoSerialPort.text(path))?;
        let mut set = || -> io::Result<()> {
            settings.set_raw();
            settings.set_baud_rate(baud)?;
            port.set_configuration(&settings)?;
            port.set_write_timeout(WRITE)?;
            port.set_read_timeout(SHORTEST)?;
            // What an earlier program left behind.
            port.discard_buffers()
        };
        set().map_err(|e| wrong_rate(path, baud, e))?;
        Ok(Line { port, timeout: SHORTEST })
    }

    /// Bytes that have come; none if the time is over.
    pub fn read(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        let timeout = timeout.max(SHORTEST);
        if timeout != self.timeout {
            self.port.set_read_timeout(timeout)?;
            self.timeout = timeout;
        }
        match self.port.read(buffer) {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the line was hung up")),
            Err(e) if matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            other => other,
        }
    }

    /// Drops the rest when nothing takes it for a while.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.port.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Keeps other programs from opening the port, which Windows does itself.
#[cfg(unix)]
fn claim(port: &SerialPort) -> io::Result<()> {
    rustix::fs::flock(port, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
    Ok(rustix::termios::ioctl_tiocexcl(port)?)
}

#[cfg(windows)]
fn claim(_: &SerialPort) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
impl Drop for Line {
    fn drop(&mut self) {
        // Others may hold the other end of a pseudo-terminal open, and with it the claim.
        let _ = rustix::termios::ioctl_tiocnxcl(&self.port);
    }
}

fn refusal(path: &str, e: &io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => Refusal::Absent.text(path),
        // So Windows calls a port that another program has.
        ErrorKind::PermissionDenied if cfg!(windows) => Refusal::InUse.text(path),
        ErrorKind::PermissionDenied => Refusal::Forbidden.text(path),
        ErrorKind::ResourceBusy | ErrorKind::WouldBlock => Refusal::InUse.text(path),
        _ => format!("{path} cannot be opened: {e}"),
    }
}

/// Why a port cannot be opened, as far as its permissions tell; it is not touched.
#[cfg(unix)]
pub fn closed(path: &str) -> Option<String> {
    use rustix::fs::{Access, access};
    access(path, Access::READ_OK | Access::WRITE_OK).err().map(|e| refusal(path, &e.into()))
}

#[cfg(windows)]
pub fn closed(_: &str) -> Option<String> {
    None
}

/// The serial ports of this machine that may be boards.
pub fn ports() -> Vec<String> {
    let names = SerialPort::available_ports().unwrap_or_default();
    let mut found: Vec<String> = names.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    // Ports of macOS have two names, of which this one does not wait for a modem.
    found.retain(|name| cfg!(windows) || name.starts_with("/dev/cu.usb"));
    found.sort();
    found
}
