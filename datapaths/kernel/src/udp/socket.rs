//! A UDP socket, and its options.

use super::Udp;
use super::gso_batch::GsoBatch;
use super::io::UdpIo;
use super::offload::{Offload, offload};
use super::peer::UdpPeer;
use super::remote::Remote;
use crate::SocketBase;
use crate::base::{Bound, Local};
use crate::datagram::{DatagramSocket, Steered, refusal};
use crate::ecn::{Ecn, EcnCounts, EcnSocket};
use crate::endpoint::{MAX_WIDTH, Received, ReceivingSocket, Request};
use crate::within_tokio::within_tokio;
use bertha_core::{Addr, Buf, Error, Properties, Steering};
use quinn_udp::UdpSocketState;
use rustix::net::RecvFlags;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use socket2::{Domain, Protocol, SockAddr, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicUsize, Ordering};

/// Number of error reports that are discarded at once.
const MAX_REPORTS: usize = 64;

/// Has the kernel tell the destination of each datagram.
fn tell_destinations(socket: &impl AsFd, v4: bool) -> io::Result<()> {
    if v4 {
        nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::Ipv4PacketInfo, &true)?;
    } else {
        nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::Ipv6RecvPacketInfo, &true)?;
    }
    Ok(())
}

/// The receive modes of a socket, in [`UdpSocket::mode`].
mod mode {
    /// Messages come one by one. Plain calls, which can't report coalescing, cost half as much per message.
    pub(super) const SINGLE: u8 = 0;
    /// A burst has come. The kernel coalesces arriving datagrams.
    pub(super) const COALESCED: u8 = 1;
    /// Congestion marks have to be counted, which plain calls don't report: from the next message on, the
    /// socket receives as after a burst.
    pub(super) const MARKS: u8 = 2;
}

/// A bound socket.
#[derive(Debug)]
pub struct UdpSocket {
    pub(super) io: UdpIo,
    /// The state of receiving calls, which all sockets share.
    pub(super) state: &'static UdpSocketState,
    /// Number of messages that the kernel takes as a segmented datagram.
    pub(super) segments: usize,
    /// The bound address, if the caller has chosen it.
    pub(super) local: Option<SocketAddr>,
    /// Size of the kernel's send buffer, set when the default buffer was full for the first time; 0
    /// afterwards. Most sockets never fill the default buffer.
    pub(super) send_buffer: AtomicUsize,
    /// The peer that the socket is connected to.
    pub(super) peer: Option<SocketAddr>,
    /// Error number of an error that came behind a message in a call, or 0.
    pub(super) late_error: AtomicI32,
    /// The receive mode, a constant of [`mode`]. Relaxed accesses suffice, since a single call receives at a
    /// time.
    mode: AtomicU8,
    /// True if the socket is bound to all addresses of the host, so that it asks for the destination of each
    /// datagram.
    pub(super) asks_where: bool,
    /// False if the kernel must not coalesce arriving datagrams.
    pub(super) coalesces: bool,
    /// The settings of a socket that receives from any peer.
    pub(super) settings: Option<Box<Udp>>,
    /// The peers whose marks for congestion are counted.
    pub(super) ecn: EcnCounts,
}

/// Creates a socket that is not bound.
pub(super) fn create(Udp { options, keeps_whole }: &Udp, v4: bool) -> io::Result<socket2::Socket> {
    let domain = if v4 { Domain::IPV4 } else { Domain::IPV6 };
    let socket = socket2::Socket::new(domain, Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
    // The system may grant less without an error.
    socket.set_recv_buffer_size(options.receive_buffer)?;
    if *keeps_whole && v4 {
        set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::PROBE)?;
    } else if *keeps_whole {
        set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::PROBE)?;
    }
    Ok(socket)
}

impl UdpSocket {
    /// Opens a socket that is bound to `local`, and connected to `peer` if there is a peer.
    pub(super) fn open(
        settings: &Udp,
        local: Option<SocketAddr>,
        peer: Option<SocketAddr>,
    ) -> io::Result<Self> {
        within_tokio()?;
        let v4 = local.or(peer).is_none_or(|addr| addr.is_ipv4());
        let socket = create(settings, v4)?;
        if let Some(local) = local {
            socket.bind(&SockAddr::from(local))?;
        }
        if let Some(peer) = peer {
            // Without the option, the kernel does not report that no host answers at the address.
            if v4 {
                nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::Ipv4RecvErr, &true)?;
            } else {
                nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::Ipv6RecvErr, &true)?;
            }
            socket.connect(&SockAddr::from(peer))?;
        }
        let io = tokio::net::UdpSocket::from_std(socket.into())?;
        let local = local.map(|_| io.local_addr()).transpose()?;
        let is_open_to_all = peer.is_none().then(|| Box::new(settings.clone()));
        let mut socket =
            Self { peer, settings: is_open_to_all, ..Self::new(UdpIo::Registered(io), settings, local)? };
        socket.ask_where(v4)?;
        Ok(socket)
    }

    /// Makes the state of a socket without a peer.
    pub(super) fn new(io: UdpIo, settings: &Udp, local: Option<SocketAddr>) -> io::Result<Self> {
        let Offload { state, segments } = offload()?;
        Ok(Self {
            io,
            state,
            segments: *segments,
            local,
            send_buffer: AtomicUsize::new(settings.options.send_buffer),
            peer: None,
            late_error: AtomicI32::new(0),
            mode: AtomicU8::new(mode::SINGLE),
            ecn: EcnCounts::default(),
            asks_where: false,
            coalesces: true,
            settings: None,
        })
    }

    /// Has the kernel tell the destination of each datagram if the socket has several addresses.
    pub(super) fn ask_where(&mut self, v4: bool) -> io::Result<()> {
        self.asks_where = self.peer.is_none() && self.local.is_some_and(|local| local.ip().is_unspecified());
        if self.asks_where {
            tell_destinations(&self.io, v4)?;
            // Plain calls don't report destinations.
            self.coalesce();
        }
        Ok(())
    }

    /// Returns true if the kernel can segment.
    pub(super) fn segments(&self) -> bool {
        self.segments > 1
    }

    /// Turns on the kernel's coalescing of arriving datagrams, if the kernel has it.
    #[cold]
    fn coalesce(&self) {
        if self.coalesces && self.state.gro_segments() > 1 {
            // If the call fails, datagrams arrive one by one.
            let _ = nix::sys::socket::setsockopt(&self.io, nix::sys::socket::sockopt::UdpGroSegment, &true);
        }
        self.mode.store(mode::COALESCED, Ordering::Relaxed);
    }
}

impl ReceivingSocket for UdpSocket {
    type Peer = UdpPeer;
    type Socket = UdpIo;

    fn socket(&self) -> &Self::Socket {
        &self.io
    }

    #[cold]
    fn failure(&self, error: io::Error) -> Error {
        refusal(error)
    }

    #[inline]
    fn receive(&self, request: Request, deliver: impl FnMut(&UdpPeer, usize, Buf)) -> io::Result<Received> {
        let width = request.width;
        let mode = self.mode.load(Ordering::Relaxed);
        if width == 1 && mode == mode::SINGLE {
            return self.receive_one(request, deliver);
        }
        if mode == mode::MARKS || (width > 2 && mode == mode::SINGLE) {
            self.coalesce();
        }
        match width {
            1 if !request.others_wait => self.receive_with::<1>(request, deliver),
            1 | 2 => self.receive_with::<2>(request, deliver),
            8 => self.receive_with::<8>(request, deliver),
            _ => self.receive_with::<MAX_WIDTH>(request, deliver),
        }
    }

    /// Removes the kernel's error reports, which occupy memory of the receive buffer.
    #[cold]
    fn on_error(&self) {
        for _ in 0..MAX_REPORTS {
            if rustix::net::recv(&self.io, &mut [0_u8; 0][..], RecvFlags::ERRQUEUE).is_err() {
                return;
            }
        }
    }
}

impl DatagramSocket for UdpSocket {
    const NAME: &'static str = "Udp";
    const PROPERTIES: Properties = Properties::DATAGRAM;
    type Remote = Remote;
    type Burst = GsoBatch;

    fn remote(&self, peer: &UdpPeer) -> Remote {
        Remote::of(*peer, self.segments())
    }

    fn base(self: &Arc<Self>, peer: &UdpPeer, remote: &Remote) -> SocketBase {
        let UdpPeer { addr: peer, asked } = *peer;
        // The rest of a 16-bit length: IPv4 counts its own header, IPv6 does not.
        let mtu = if peer.is_ipv4() { 65_535 - 20 - 8 } else { 65_535 - 8 };
        let local = match (self.local, asked) {
            (Some(local), Some(asked)) => Local::Known((asked, local.port()).into()),
            (Some(local), None) => Local::Known(local.into()),
            (None, _) => Local::Of(self.clone()),
        };
        let ecn = Ecn::new(self.clone(), peer, remote.ecn_state().clone());
        SocketBase::new(Self::NAME, Self::PROPERTIES, mtu, local, peer.into()).with_ecn(ecn)
    }

    fn local_addr(&self) -> Addr {
        Bound::local_addr(self)
    }

    #[inline]
    fn send_one(&self, message: &[u8], to: &Remote) -> io::Result<()> {
        self.send_message(message, to)
    }

    fn send_some(&self, batch: &mut GsoBatch, to: &Remote) -> io::Result<()> {
        self.send_batch(batch, to)
    }

    fn steer(&self, by: &Steering) -> Result<Steered<Self>, Error> {
        self.open_shards(by)
    }
}

impl EcnSocket for UdpSocket {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }

    fn is_v4(&self) -> bool {
        self.local.or(self.peer).is_none_or(|addr| addr.is_ipv4())
    }

    fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    fn counts(&self) -> &EcnCounts {
        &self.ecn
    }

    fn report_marks(&self) {
        // If the exchange fails, the socket coalesces already, or will with its next call.
        let _ = self.mode.compare_exchange(mode::SINGLE, mode::MARKS, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Bound for UdpSocket {
    /// Returns the bound address. If the kernel does not report it, the address is unnamed.
    fn local_addr(&self) -> Addr {
        match self.local.map_or_else(|| self.io.local_addr(), Ok) {
            Ok(local) => local.into(),
            Err(_) => Addr::Unnamed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Waiting;
    use crate::datagram::Burst;
    use crate::endpoint::Endpoint;
    use crate::options::RECEIVE_BUFFER;
    use socket2::SockRef;
    use std::net::Ipv4Addr;

    fn request(width: usize) -> Request {
        Request { width, eager: true, others_wait: false }
    }

    #[tokio::test]
    async fn runs_longer_than_the_kernel_takes_leave_in_parts() {
        let any_port = Some((Ipv4Addr::LOCALHOST, 0).into());
        let receiver = UdpSocket::open(&Udp::new(), any_port, None).unwrap();
        let mut sender = UdpSocket::open(&Udp::new(), None, receiver.local).unwrap();
        sender.segments = sender.segments.min(3);
        let to = Remote::connected(receiver.local.unwrap(), sender.segments());

        let mut batch = GsoBatch::new();
        let mut left = Vec::new();
        let mut messages = (0..8).map(|number| Buf::copy_of(&[number; 5], 0).unwrap());
        assert_eq!(batch.fill(&mut messages, usize::MAX), None);
        while !batch.messages().is_empty() {
            let before = batch.messages().len();
            sender.send_some(&mut batch, &to).unwrap();
            left.push(before - batch.messages().len());
        }
        if sender.segments() {
            assert_eq!(left, [3, 3, 2]);
        }

        let mut received = Vec::new();
        while received.len() < 8 * 5 {
            receiver.io.registered().unwrap().readable().await.unwrap();
            // The socket found no message, so the kernel is to be asked again.
            let _ = receiver.receive(request(2), |_, _, message| received.extend_from_slice(&message));
        }
        assert!(received.chunks(5).zip(0..).all(|(message, number)| message == [number; 5]), "{received:?}");
    }

    #[tokio::test]
    async fn a_socket_asks_for_its_receive_buffer_when_it_is_opened() {
        let peer = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let granted = |udp: Udp| {
            let socket = UdpSocket::open(&udp, None, Some(peer.local_addr().unwrap())).unwrap();
            SockRef::from(&socket.io).recv_buffer_size().unwrap()
        };
        let by_default = granted(Udp::new());
        assert_eq!(granted(Udp::new().receive_buffer(RECEIVE_BUFFER)), by_default);
        assert!(granted(Udp::new().receive_buffer(1 << 14)) < by_default);
    }

    /// A socket that counts its receiving calls: each call asks the kernel once, unless the reactor knows
    /// that the socket is empty.
    struct Counted {
        socket: UdpSocket,
        calls: AtomicUsize,
        in_vain: AtomicUsize,
    }

    impl ReceivingSocket for Counted {
        type Peer = UdpPeer;
        type Socket = UdpIo;

        fn socket(&self) -> &Self::Socket {
            &self.socket.io
        }

        fn receive(
            &self,
            request: Request,
            deliver: impl FnMut(&UdpPeer, usize, Buf),
        ) -> io::Result<Received> {
            let received = self.socket.receive(request, deliver);
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.in_vain.fetch_add(received.is_err().into(), Ordering::Relaxed);
            received
        }
    }

    #[tokio::test]
    async fn a_message_that_is_there_takes_one_call_and_no_visit_to_the_reactor() {
        const MESSAGES: usize = 100;
        let sender = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let socket = UdpSocket::open(&Udp::new(), None, Some(sender.local_addr().unwrap())).unwrap();
        let (peer, to) = (sender.local_addr().unwrap(), socket.io.local_addr().unwrap());
        let socket = Arc::new(Counted { socket, calls: AtomicUsize::new(0), in_vain: AtomicUsize::new(0) });
        let limits = Udp::new().options.limits;
        let (endpoint, connection) = Endpoint::connected(socket.clone(), peer.into(), limits, Waiting::Park);
        for number in 0..MESSAGES {
            sender.send_to(&[number as u8], to).unwrap();
            assert_eq!(*endpoint.recv(connection).await.unwrap().unwrap(), [number as u8]);
        }
        // The first call or two find nothing, as long as the reactor has not reported the socket.
        let (calls, in_vain) = (socket.calls.load(Ordering::Relaxed), socket.in_vain.load(Ordering::Relaxed));
        assert!(in_vain <= 2 && calls == MESSAGES + in_vain, "{calls} calls, {in_vain} in vain");
    }
}
