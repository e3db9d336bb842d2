//! UDP multicast.

use crate::SocketBase;
use crate::within_tokio::within_tokio;
use bertha_core::{Addr, Buf, Connection, Error, ErrorKind, Group, Properties, debug_fields};
use socket2::{Domain, Protocol, SockAddr, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::net::UdpSocket;
use tokio::sync::Notify;

const NAME: &str = "udp multicast";

/// Largest datagram over IPv4.
const MTU: usize = 65_507;

/// A UDP multicast group over IPv4, among the processes of one host or the hosts of one network.
///
/// A member has two sockets: a receiving socket that is bound to the group's address, and a sending socket.
/// The system returns a member's datagrams to its own host, for other members there ([RFC
/// 1112](https://www.rfc-editor.org/rfc/rfc1112), section 6.1), and so to the member itself: it recognises
/// its datagrams by their source and drops them.
///
/// ```no_run
/// # async fn run() -> Result<(), bertha_core::Error> {
/// use bertha_core::{Connection, Group};
/// use bertha_datapath_kernel::UdpMulticast;
/// use std::net::Ipv4Addr;
///
/// // Among the processes of this host.
/// let group = UdpMulticast::new("239.255.77.1:7701".parse().unwrap()).interface(Ipv4Addr::LOCALHOST);
/// let member = group.join().await?;
/// let message = member.recv().await?;
/// # Ok(())
/// # }
/// ```
///
/// Messages are as large as a datagram, 65,507 bytes. A message beyond the path's MTU is fragmented, and lost
/// with any fragment. Each message takes a system call.
#[derive(Debug, Clone)]
pub struct UdpMulticast {
    group: SocketAddrV4,
    interface: Ipv4Addr,
    hops: u32,
    buffer: usize,
}

impl UdpMulticast {
    /// Creates the group at `group`, over the interface that the system picks, within the local network.
    pub fn new(group: SocketAddrV4) -> Self {
        Self { group, interface: Ipv4Addr::UNSPECIFIED, hops: 1, buffer: 4 << 20 }
    }

    /// Selects the interface with this address. [`LOCALHOST`](Ipv4Addr::LOCALHOST) reaches the processes of
    /// this host alone.
    #[must_use]
    pub fn interface(self, interface: Ipv4Addr) -> Self {
        Self { interface, ..self }
    }

    /// Limits the number of networks that datagrams may cross, 1 by default; with 0 they stay on this host.
    #[must_use]
    pub fn hops(self, hops: u32) -> Self {
        Self { hops, ..self }
    }

    /// Sets the size of the kernel's buffers of each socket in bytes, 4 MiB by default. The system may grant
    /// less.
    #[must_use]
    pub fn buffer(self, bytes: usize) -> Self {
        Self { buffer: bytes, ..self }
    }

    fn socket(&self) -> io::Result<socket2::Socket> {
        let socket = socket2::Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
        // The system may grant less without an error.
        socket.set_recv_buffer_size(self.buffer)?;
        socket.set_send_buffer_size(self.buffer)?;
        Ok(socket)
    }

    fn open(&self) -> io::Result<(UdpSocket, UdpSocket)> {
        within_tokio()?;
        let incoming = self.socket()?;
        // Members on one host share the group's port.
        incoming.set_reuse_address(true)?;
        incoming.bind(&SockAddr::from(self.group))?;
        incoming.join_multicast_v4(self.group.ip(), &self.interface)?;
        let outgoing = self.socket()?;
        outgoing.set_multicast_if_v4(&self.interface)?;
        outgoing.set_multicast_loop_v4(true)?;
        outgoing.set_multicast_ttl_v4(self.hops)?;
        outgoing.bind(&SockAddr::from(SocketAddrV4::new(self.interface, 0)))?;
        // A connected socket has a fixed source address, by which the member recognises its own datagrams.
        outgoing.connect(&SockAddr::from(self.group))?;
        Ok((UdpSocket::from_std(incoming.into())?, UdpSocket::from_std(outgoing.into())?))
    }
}

impl Group for UdpMulticast {
    type Connection = MulticastConnection;

    async fn join(&self) -> Result<MulticastConnection, Error> {
        let group = self.group;
        if !group.ip().is_multicast() || group.port() == 0 {
            let what = format!("{group} is no multicast address with a port");
            return Err(Error::new(ErrorKind::Invalid, what).at(NAME));
        }
        let (incoming, outgoing) = self.open().map_err(|error| failed(error, "join", group))?;
        let local = outgoing.local_addr().map_err(|error| failed(error, "join", group))?;
        let peer = Addr::Ip(SocketAddr::V4(group));
        let base = SocketBase::new(NAME, Properties::DATAGRAM, MTU, Addr::Ip(local), peer);
        let own = AtomicU64::new(0);
        let is_closed = AtomicBool::new(false);
        Ok(MulticastConnection { incoming, outgoing, local, base, own, is_closed, closing: Notify::new() })
    }
}

#[cold]
fn failed(error: io::Error, doing: &str, group: SocketAddrV4) -> Error {
    let kind = Error::from(io::Error::from(error.kind())).kind();
    Error::new(kind, format!("cannot {doing} {group}: {error}")).at(NAME).because(error)
}

/// A member's base connection of [`UdpMulticast`].
///
/// [`close`](Connection::close) ends the connection at this end; the other members are not told.
pub struct MulticastConnection {
    incoming: UdpSocket,
    outgoing: UdpSocket,
    local: SocketAddr,
    base: SocketBase,
    /// Number of its own datagrams that came back.
    own: AtomicU64,
    is_closed: AtomicBool,
    closing: Notify,
}

impl MulticastConnection {
    /// Returns the number of its own messages that came back and were dropped.
    pub fn own_messages(&self) -> u64 {
        self.own.load(Ordering::Relaxed)
    }

    /// Returns a message of another member, or `None` if no message has arrived.
    fn take(&self) -> io::Result<Option<Buf>> {
        loop {
            // The buffer has room for the largest datagram. A message is copied to a buffer of its own size,
            // since the receiver may keep it for long, and most messages are small.
            let mut space = Buf::new(MTU, 0).map_err(io::Error::other)?;
            match self.incoming.try_recv_from(&mut space) {
                Ok((_, source)) if source == self.local => {
                    self.own.fetch_add(1, Ordering::Relaxed);
                }
                Ok((len, _)) => {
                    return Buf::copy_of(&space[..len], 0).map(Some).map_err(io::Error::other);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn readable(&self) -> Result<(), Error> {
        let closing = self.closing.notified();
        if self.is_closed.load(Ordering::Acquire) {
            return Err(self.base.closed());
        }
        tokio::select! {
            readable = self.incoming.readable() => readable.map_err(|error| self.base.concerning_peer(error.into())),
            () = closing => Err(self.base.closed()),
        }
    }
}

impl Connection for MulticastConnection {
    type Data = Buf;
    type Base = SocketBase;

    fn base(&self) -> &SocketBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(self.base.closed());
        }
        if message.len() > MTU {
            return Err(self.base.too_large(message.len()));
        }
        match self.outgoing.send(&message).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.base.concerning_peer(error.into())),
        }
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            self.readable().await?;
            match self.take() {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(error) => return Err(self.base.concerning_peer(error.into())),
            }
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let mut received = 0;
        while received < limit {
            match self.take() {
                Ok(Some(message)) => {
                    into.extend([message]);
                    received += 1;
                }
                Ok(None) if received > 0 => break,
                Ok(None) => self.readable().await?,
                // An error behind messages of this call is reported by the next call.
                Err(_) if received > 0 => break,
                Err(error) => return Err(self.base.concerning_peer(error.into())),
            }
        }
        Ok(received)
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.is_closed.store(true, Ordering::Release);
        self.closing.notify_waiters();
        Ok(())
    }
}

debug_fields!(MulticastConnection { local });

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha_core::Base;

    async fn member(port: u16) -> MulticastConnection {
        let group = SocketAddrV4::new(Ipv4Addr::new(239, 255, 77, 9), port);
        UdpMulticast::new(group).interface(Ipv4Addr::LOCALHOST).join().await.unwrap()
    }

    fn message(text: &str) -> Buf {
        Buf::copy_of(text.as_bytes(), 0).unwrap()
    }

    /// Returns a port that no other socket uses at this moment.
    fn free_port() -> u16 {
        std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }

    #[tokio::test]
    async fn what_a_member_sends_reaches_all_others_and_not_itself() {
        let port = free_port();
        let one = member(port).await;
        let two = member(port).await;
        let three = member(port).await;
        one.send(message("of one")).await.unwrap();
        two.send(message("of two")).await.unwrap();
        assert_eq!(&*three.recv().await.unwrap(), b"of one");
        let mut got = Vec::new();
        three.recv_batch(&mut got, 9).await.unwrap();
        assert_eq!(&*got[0], b"of two");
        assert_eq!(&*two.recv().await.unwrap(), b"of one");
        assert_eq!(&*one.recv().await.unwrap(), b"of two");
        assert_eq!((one.own_messages(), three.own_messages()), (1, 0));
        assert_ne!(one.base().local_addr(), two.base().local_addr());
    }

    #[tokio::test]
    async fn close_wakes_who_receives() {
        let one = member(free_port()).await;
        let (closed, received) = tokio::join!(one.close(), one.recv());
        closed.unwrap();
        assert_eq!(received.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(one.send(message("late")).await.unwrap_err().kind(), ErrorKind::Closed);
    }

    #[tokio::test]
    async fn only_a_group_can_be_joined_and_only_a_datagram_sent() {
        let error = UdpMulticast::new(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7)).join().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let one = member(free_port()).await;
        let error = one.send(Buf::new(MTU + 1, 0).unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
}
