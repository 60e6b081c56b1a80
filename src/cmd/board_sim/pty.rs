//! A pseudo-terminal: the serial port that a simulated board is reached by.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// The board's end. A host opens `path`.
pub struct Pty {
    end: OwnedFd,
    pub path: String,
}

/// What a look at the port has found.
#[derive(PartialEq, Eq, Debug)]
pub enum Look {
    Bytes(usize),
    /// A host has the port open and sends nothing.
    Silence,
    /// No host has the port open.
    Nobody,
}

impl Pty {
    /// Makes one that passes bytes as they are.
    pub fn open() -> io::Result<Pty> {
        let (mut master, mut slave) = (-1, -1);
        let null = std::ptr::null_mut();
        // SAFETY: both numbers are live, and nothing else is asked for.
        check(unsafe { libc::openpty(&mut master, &mut slave, null, null.cast(), null.cast()) })?;
        // SAFETY: openpty gave these to nobody else.
        let (end, host) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        // A program that runs beside this one must not keep the port open.
        for fd in [&end, &host] {
            // SAFETY: the descriptor is open.
            check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) })?;
        }
        // SAFETY: the structure is filled in before it is read.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            check(libc::tcgetattr(host.as_raw_fd(), &mut settings))?;
            libc::cfmakeraw(&mut settings);
            check(libc::tcsetattr(host.as_raw_fd(), libc::TCSANOW, &settings))?;
            check(libc::fcntl(end.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK))?;
        }
        let mut name = [0 as libc::c_char; 128];
        // SAFETY: the buffer is as long as it is said to be; the name ends with a zero in it.
        let path = unsafe {
            if libc::ttyname_r(host.as_raw_fd(), name.as_mut_ptr(), name.len()) != 0 {
                return Err(io::Error::last_os_error());
            }
            std::ffi::CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        Ok(Pty { end, path })
    }

    /// Takes what the host has written.
    pub fn read(&self, room: &mut [u8]) -> io::Result<Look> {
        // SAFETY: the buffer is live and as long as it is said to be.
        let n = unsafe { libc::read(self.end.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
        match (n, io::Error::last_os_error()) {
            (0, _) => Ok(Look::Nobody),
            (n, _) if n > 0 => Ok(Look::Bytes(n as usize)),
            (_, e) if e.kind() == io::ErrorKind::WouldBlock || e.kind() == io::ErrorKind::Interrupted => {
                Ok(Look::Silence)
            }
            (_, e) if e.raw_os_error() == Some(libc::EIO) => Ok(Look::Nobody),
            (_, e) => Err(e),
        }
    }

    /// Gives the host what it has room for; says how much that was.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the buffer is live and as long as it is said to be.
        let n = unsafe { libc::write(self.end.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        match (n, io::Error::last_os_error()) {
            (n, _) if n >= 0 => Ok(n as usize),
            (_, e) if e.kind() == io::ErrorKind::WouldBlock || e.kind() == io::ErrorKind::Interrupted => Ok(0),
            // Nobody listens; the bytes are lost, as they are on a wire.
            (_, e) if e.raw_os_error() == Some(libc::EIO) => Ok(bytes.len()),
            (_, e) => Err(e),
        }
    }

    /// Waits until the host has written something, or for so long.
    pub fn wait(&self, time: Duration) {
        let mut look = libc::pollfd { fd: self.end.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live structure.
        let ready = unsafe { libc::poll(&mut look, 1, time.as_millis() as libc::c_int) };
        // A port that nobody has open is always ready.
        if ready > 0 && look.revents & libc::POLLIN == 0 {
            std::thread::sleep(time);
        }
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
