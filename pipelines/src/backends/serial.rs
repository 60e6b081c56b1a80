//! A serial port: raw bytes at a baud rate, never waiting longer than its timeout.

use super::session::Port;
use hdl::serial::host::Failure;
use hdl::serial::medium::SerialLine;
use std::io;
use std::time::Duration;

#[cfg_attr(target_os = "linux", path = "serial/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "serial/elsewhere.rs")]
mod system;

pub use system::{closed, ports};

/// An open port.
#[derive(Debug)]
pub struct Serial {
    line: system::Line,
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
        Ok(Serial { line: system::Line::open(path, baud)?, path: path.to_string(), baud })
    }
}

impl Port for Serial {
    type Medium = SerialLine;

    fn name(&self) -> &str {
        &self.path
    }

    fn read(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        self.line.read(buffer, timeout)
    }

    /// Drops the rest when nothing takes it for a while.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.line.write(bytes)
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

/// What keeps a port from being opened.
enum Refusal {
    Absent,
    Forbidden,
    InUse,
    NoSerialPort,
}

impl Refusal {
    /// What to do.
    fn text(self, path: &str) -> String {
        match self {
            Refusal::Absent => {
                format!("there is no port {path}; connect the board and name its port, such as {}", examples())
            }
            Refusal::Forbidden => format!(
                "{path} may not be opened by you; join the group that it belongs to (`sudo usermod -aG dialout $USER`, then \
                 log in again)"
            ),
            Refusal::InUse => format!("{path} is in use by another program; end that one first"),
            Refusal::NoSerialPort => format!("{path} is not a serial port; name the board's, such as {}", examples()),
        }
    }
}

fn wrong_rate(path: &str, baud: u32, e: impl std::fmt::Display) -> String {
    format!("{path} cannot be set to {baud} baud: {e}; choose a rate that its converter has")
}

/// The ports of this machine in words, or an example.
fn examples() -> String {
    let found = ports();
    let example = if cfg!(windows) { "COM3" } else { "/dev/ttyUSB0" };
    if found.is_empty() { example.into() } else { found.join(" or ") }
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
