//! The connection whose one end a program gets.

use rustix::net::{getpeername, getsockname};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use tokio::net::{TcpSocket, TcpStream};

/// The connections of others that may come before the program's.
const BACKLOG: u32 = 16;

/// The addresses of a program's socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
}

impl Addresses {
    pub(super) fn of(socket: &OwnedFd) -> io::Result<Self> {
        let local = SocketAddr::try_from(getsockname(socket)?)?;
        // A connection that is over has no peer any more.
        let peer = match getpeername(socket) {
            Ok(Some(peer)) => SocketAddr::try_from(peer)?,
            _ => SocketAddr::new(local.ip(), 0),
        };
        Ok(Self { local, peer })
    }

    /// The loopback of the same family.
    fn loopback(&self) -> Self {
        let ip = match self.local.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => {
                IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped())
            }
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        Self { local: SocketAddr::new(ip, 0), peer: SocketAddr::new(ip, 0) }
    }
}

/// Connects two sockets. Returns the daemon's and the program's, which have the addresses of a connection as far as they can: the ports are
/// other ones.
pub(super) async fn make(addresses: &Addresses) -> io::Result<(TcpStream, OwnedFd)> {
    match between(addresses).await {
        // They are of another namespace.
        Err(_) => between(&addresses.loopback()).await,
        made => made,
    }
}

async fn between(addresses: &Addresses) -> io::Result<(TcpStream, OwnedFd)> {
    let at = |address: SocketAddr| {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        let mut address = address;
        address.set_port(0);
        socket.bind(address)?;
        io::Result::Ok(socket)
    };
    let listener = at(addresses.peer)?.listen(BACKLOG)?;
    let program = at(addresses.local)?.connect(listener.local_addr()?).await?;
    loop {
        let (own, from) = listener.accept().await?;
        // Others of this machine may connect, too.
        if from == program.local_addr()? {
            return Ok((own, program.into_std()?.into()));
        }
    }
}
