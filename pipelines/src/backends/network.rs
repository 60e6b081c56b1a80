//! A board on the network: one frame in each UDP datagram, and who is there.

use super::session::{Port, nonce};
use hdl::ethernet::datagram::{Datagram, DatagramType, MOST_BYTES};
use hdl::ethernet::{Datagrams, PORT};
use hdl::serial::Identity;
use hdl::serial::host::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

/// A socket that talks to one board.
#[derive(Debug)]
pub struct Network {
    /// Not blocking, and connected: datagrams of others do not come through.
    socket: UdpSocket,
    /// The board's address as it was given.
    name: String,
}

impl Network {
    /// A socket for the board at ADDRESS or ADDRESS:PORT. The error says what to do.
    pub fn open(text: &str) -> Result<Network, String> {
        let address = address(text)?;
        let open = || -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect(address)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let socket = open()
            .map_err(|e| format!("{text} cannot be reached: {e}; check the address and this machine's network"))?;
        Ok(Network { socket, name: format!("udp:{text}") })
    }
}

/// The address that a text names, with the port of boards where it names none.
pub fn address(text: &str) -> Result<SocketAddrV4, String> {
    let wrong = |why: &str| {
        format!(
            "`{text}` {why}; a board on the network is named as udp:ADDRESS or udp:ADDRESS:PORT, such as udp:192.168.1.50"
        )
    };
    let (host, port) = match text.rsplit_once(':') {
        None => (text, PORT),
        Some((host, port)) => match port.parse() {
            Ok(port) if port > 0 => (host, port),
            _ => return Err(wrong("names no port")),
        },
    };
    if host.is_empty() {
        return Err(wrong("names no address"));
    }
    let found =
        (host, port).to_socket_addrs().map_err(|e| wrong(&format!("is no address that is known here ({e})")))?;
    let mut four = found.filter_map(|a| if let SocketAddr::V4(a) = a { Some(a) } else { None });
    four.next().ok_or_else(|| wrong("has no IPv4 address, which boards need"))
}

/// Whether an error of a socket means no more than a datagram that was lost. (A board that is not there yet, or is being
/// loaded, refuses; whether it stays away is the session's to find out.)
fn is_loss(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused)
        || e.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}

/// Waits until something can be read; `false` if the time is over.
fn wait(socket: &UdpSocket, timeout: Duration) -> io::Result<bool> {
    let limit = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos() as _ };
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&limit)) {
        Ok(0) | Err(Errno::INTR) => Ok(false),
        Ok(_) => Ok(true),
        Err(e) => Err(e.into()),
    }
}

impl Port for Network {
    type Medium = Datagrams;

    fn name(&self) -> &str {
        &self.name
    }

    fn read(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        if !timeout.is_zero() && !wait(&self.socket, timeout)? {
            return Ok(0);
        }
        match self.socket.recv(buffer) {
            Err(e) if is_loss(&e) => Ok(0),
            other => other,
        }
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        match self.socket.send(frame) {
            Err(e) if !is_loss(&e) => Err(e),
            _ => Ok(()),
        }
    }

    fn reason(&self, failure: Failure) -> String {
        let name = &self.name;
        match failure {
            Failure::NoAnswer { bytes: 0, .. } => format!(
                "no board answers at {name}; check address, cable and power, load its bitstream with `pairforge deploy DIR`, and \
                 see who is there with `pairforge list boards --scan`"
            ),
            Failure::NoAnswer { .. } => {
                format!(
                    "what answers at {name} is no board of this program's; see who is there with `pairforge list boards --scan`"
                )
            }
            Failure::Busy(0) => format!("the board at {name} does not start a session; start anew"),
            Failure::Busy(holder) => format!(
                "the board at {name} is in use by a program on {}; end that one first, or wait for it",
                Ipv4Addr::from_bits(holder)
            ),
            Failure::Silent => format!("the board at {name} no longer answers; check cable and power, and start anew"),
            Failure::Stalled => format!(
                "the board at {name} answers, but its engine makes no progress; reset it and start anew, and if it happens \
                 again, lower the clock that its bitstream was made for"
            ),
            Failure::Reset => format!(
                "the board at {name} began anew in the middle of the work, by its reset, its power or another program; \
                 start anew"
            ),
            Failure::Identity(text) => format!("{name}: {text}"),
        }
    }
}

/// A board that answered a scan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub address: SocketAddrV4,
    /// The identity that it reports, or why that makes no sense.
    pub identity: Result<Identity, String>,
}

/// How often a scan asks, and how long it waits each time.
const ASKED: u32 = 4;
const EACH: Duration = Duration::from_millis(250);

/// Asks who is there: all that a broadcast reaches, or one address. The boards in the order of their addresses.
pub fn scan(place: Option<&str>) -> Result<Vec<Found>, String> {
    let to = place.map_or(Ok(SocketAddrV4::new(Ipv4Addr::BROADCAST, PORT)), address)?;
    let failed =
        |e: io::Error| format!("{to} cannot be asked: {e}; check this machine's network, or name an address to ask");
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(failed)?;
    socket.set_broadcast(true).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    let nonce = nonce();
    let question = Datagram::bare(DatagramType::Who, nonce).encode();
    let mut found: Vec<Found> = Vec::new();
    for _ in 0..ASKED {
        match socket.send_to(&question, to) {
            Err(e) if !is_loss(&e) => return Err(failed(e)),
            _ => {}
        }
        let until = Instant::now() + EACH;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !wait(&socket, left).map_err(failed)? {
                break;
            }
            if let Some(one) = answer(&socket, nonce).map_err(failed)?
                && found.iter().all(|f| f.address != one.address)
            {
                found.push(one);
            }
        }
    }
    found.sort_by_key(|f| f.address);
    Ok(found)
}

/// A datagram that waits on the socket, if it is an answer.
fn answer(socket: &UdpSocket, nonce: u32) -> io::Result<Option<Found>> {
    let mut buffer = [0; MOST_BYTES + 1];
    let (n, from) = match socket.recv_from(&mut buffer) {
        Err(e) if is_loss(&e) => return Ok(None),
        other => other?,
    };
    let (Some(datagram), SocketAddr::V4(address)) = (Datagram::decode(&buffer[..n]), from) else { return Ok(None) };
    if datagram.kind != DatagramType::Who || datagram.session != nonce {
        return Ok(None);
    }
    let bytes: Vec<u8> = datagram.payload.iter().flat_map(|w| w.to_le_bytes()).collect();
    Ok(Some(Found { address, identity: Identity::decode(&bytes).map(|(_, identity)| identity) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_named_with_or_without_a_port() {
        let here = |port| Ok(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
        assert_eq!(address("127.0.0.1"), here(PORT));
        assert_eq!(address("127.0.0.1:5"), here(5));
        for wrong in ["127.0.0.1:", "127.0.0.1:0", "127.0.0.1:x", ":7", "", "no such host"] {
            assert!(address(wrong).is_err_and(|e| e.contains("udp:ADDRESS:PORT")), "{wrong}");
        }
    }
}
