//! The proof that a process has an address: the socket that listens there.

use super::key::Transport;
use bertha_core::Addr;
use rustix::io::Errno;
use rustix::net::sockopt::{ipv6_v6only, socket_acceptconn, socket_type};
use rustix::net::{SocketAddrAny, SocketAddrUnix, SocketType, getpeername, getsockname};
use std::ffi::OsStr;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The transport by which this socket takes in what is sent to the address. `None` if it does not: if it is bound elsewhere or is no
/// socket, if a socket of streams does not listen, and if a socket of datagrams is connected and so takes from one peer alone.
///
/// The kernel answers all questions from its own memory, so the owner of a hostile descriptor can't let them wait.
pub(super) fn transport_at(address: &Addr, socket: &OwnedFd) -> Option<Transport> {
    let transport = match socket_type(socket).ok()? {
        SocketType::STREAM if socket_acceptconn(socket) == Ok(true) => Transport::Stream,
        // A socket of datagrams has no such state.
        SocketType::DGRAM if getpeername(socket) == Err(Errno::NOTCONN) => Transport::Datagram,
        _ => return None,
    };
    let bound = getsockname(socket).ok()?;
    let takes = match address {
        Addr::Ip(wanted) => takes_ip(socket, bound, *wanted),
        Addr::Unix(wanted) => is_path(bound, wanted),
        _ => false,
    };
    takes.then_some(transport)
}

fn takes_ip(socket: impl AsFd, bound: SocketAddrAny, wanted: SocketAddr) -> bool {
    let Ok(bound) = SocketAddr::try_from(bound) else { return false };
    let takes_host = match (bound.ip(), wanted.ip()) {
        (IpAddr::V6(any), IpAddr::V4(_)) => any.is_unspecified() && ipv6_v6only(socket) == Ok(false),
        (IpAddr::V4(_), IpAddr::V6(_)) => false,
        (bound, wanted) => bound == wanted || bound.is_unspecified(),
    };
    takes_host && bound.port() == wanted.port() && !wanted.ip().is_unspecified()
}

fn is_path(bound: SocketAddrAny, wanted: &Path) -> bool {
    let Ok(bound) = SocketAddrUnix::try_from(bound) else { return false };
    match (bound.abstract_name(), bound.path_bytes()) {
        (Some(name), _) => wanted.as_os_str().as_bytes().strip_prefix(b"@") == Some(name),
        (None, Some(path)) => {
            wanted.as_os_str() == OsStr::from_bytes(path.strip_suffix(b"\0").unwrap_or(path))
        }
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::{UnixDatagram, UnixListener};

    fn at(text: &str, socket: impl Into<OwnedFd>) -> Option<Transport> {
        transport_at(&text.parse().unwrap(), &socket.into())
    }

    #[test]
    fn listening_sockets_have_their_address() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = tcp.local_addr().unwrap();
        let client = TcpStream::connect(own).unwrap();
        assert_eq!(at(&client.local_addr().unwrap().to_string(), client), None, "it does not listen");
        assert_eq!(at(&format!("127.0.0.2:{}", own.port()), tcp.try_clone().unwrap()), None);
        assert_eq!(at("127.0.0.1:1", tcp.try_clone().unwrap()), None);
        assert_eq!(at("unix:@x", tcp.try_clone().unwrap()), None);
        assert_eq!(at(&own.to_string(), tcp), Some(Transport::Stream));
        assert_eq!(at("127.0.0.1:1", std::fs::File::open("/dev/null").unwrap()), None);
    }

    #[test]
    fn datagrams_are_taken_by_sockets_that_are_not_connected() {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = udp.local_addr().unwrap().to_string();
        assert_eq!(at(&own, udp.try_clone().unwrap()), Some(Transport::Datagram));
        udp.connect("127.0.0.1:9").unwrap();
        assert_eq!(at(&own, udp), None);
    }

    #[test]
    fn a_wildcard_takes_all_addresses_of_its_families() {
        let all = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = all.local_addr().unwrap().port();
        assert_eq!(at(&format!("127.0.0.2:{port}"), all.try_clone().unwrap()), Some(Transport::Stream));
        assert_eq!(at(&format!("[::1]:{port}"), all.try_clone().unwrap()), None);
        assert_eq!(at(&format!("0.0.0.0:{port}"), all), None, "nobody connects there");
        let Ok(all) = TcpListener::bind("[::]:0") else { return };
        let port = all.local_addr().unwrap().port();
        assert_eq!(at(&format!("[::1]:{port}"), all.try_clone().unwrap()), Some(Transport::Stream));
        assert_eq!(at(&format!("127.0.0.1:{port}"), all), Some(Transport::Stream));
    }

    #[test]
    fn unix_sockets_have_their_path() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("socket");
        let text = format!("unix:{}", path.display());
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(at(&format!("{text}2"), listener.try_clone().unwrap()), None);
        assert_eq!(at(&text, listener), Some(Transport::Stream));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(at(&text, UnixDatagram::bind(&path).unwrap()), Some(Transport::Datagram));
    }
}
