//! A UDP socket as the kernel provides it: bursts in, bursts out.

use super::Udp;
use super::offload::{Offload, offload, segmentation_failed};
use super::peer::UdpPeer;
use super::remote::Remote;
use super::run::Run;
use super::runs::Runs;
use crate::SocketBase;
use crate::base::{Bound, Local};
use crate::datagram::{DatagramSocket, refusal, sendmmsg};
use crate::ecn::{Ecn, EcnState};
use crate::endpoint::{MAX_WIDTH, Received, ReceivingSocket, Request};
use crate::options::RECEIVE_BUFFER;
use crate::within_tokio::within_tokio;
use bertha_core::{Addr, Buf, Error, Properties};
use parking_lot::Mutex;
use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use rustix::net::{RecvFlags, SendFlags};
use socket2::{Domain, Protocol, SockAddr, SockRef, Type};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicUsize, Ordering};

/// Number of error reports that are discarded at once.
const MAX_REPORTS: usize = 64;

/// Has the kernel tell the destination of each datagram.
fn tell_destinations(socket: &tokio::net::UdpSocket, v4: bool) -> io::Result<()> {
    if v4 {
        nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::Ipv4PacketInfo, &true)?;
    } else {
        nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::Ipv6RecvPacketInfo, &true)?;
    }
    Ok(())
}

/// The receive modes of a socket, in [`UdpSocket::mode`].
pub(super) mod mode {
    /// No message has come, and the receive buffer has the system's default size.
    pub(in crate::udp) const FIRST: u8 = 0;
    /// A single message has come; the receive buffer is enlarged before the next message.
    pub(in crate::udp) const SECOND: u8 = 1;
    /// Messages come one by one. Plain calls, which can't report coalescing, cost half as much per message.
    pub(in crate::udp) const SINGLE: u8 = 2;
    /// A burst has come: the kernel coalesces arriving datagrams.
    pub(in crate::udp) const COALESCED: u8 = 3;
    /// Congestion marks have to be counted, which plain calls don't report: from the next message on, the
    /// socket receives as after a burst.
    pub(in crate::udp) const MARKS: u8 = 4;
}

/// A bound socket on the current tokio runtime.
#[derive(Debug)]
pub struct UdpSocket {
    pub(super) io: tokio::net::UdpSocket,
    /// The segmentation and coalescing of bursts.
    pub(super) state: &'static UdpSocketState,
    /// Number of messages that the kernel takes as a segmented datagram.
    segments: usize,
    /// The bound address, if the constructor was told.
    pub(super) local: Option<SocketAddr>,
    /// Size of the kernel's send buffer, set when the default buffer was full for the first time; 0
    /// afterwards. Most sockets never fill the default buffer.
    send_buffer: AtomicUsize,
    /// The peer that the socket is connected to.
    pub(super) peer: Option<SocketAddr>,
    /// Size of the kernel's receive buffer that is yet to be set; 0 if none is. A connecting socket sets it
    /// at its second receive: many sockets exchange a single message, and the kernel's default buffer holds
    /// the first messages of a peer.
    receive_buffer: AtomicUsize,
    /// Error number of an error that came behind a message in a call; 0 for none.
    pub(super) late_error: AtomicI32,
    /// The receive mode: a constant of [`mode`]. Relaxed accesses suffice, since a single call receives at a
    /// time.
    pub(super) mode: AtomicU8,
    /// True if the socket is bound to all addresses of the host, so that it asks for the destination of each
    /// datagram.
    pub(super) asks_where: bool,
    /// The peers whose marks for congestion are counted.
    pub(super) marks: Mutex<BTreeMap<SocketAddr, Arc<EcnState>>>,
}

impl UdpSocket {
    /// Opens a socket that is bound to `local`, and connected to `peer` if there is a peer.
    pub(super) fn open(
        Udp { options, keeps_whole }: &Udp,
        local: Option<SocketAddr>,
        peer: Option<SocketAddr>,
    ) -> io::Result<Self> {
        within_tokio()?;
        let v4 = local.or(peer).is_none_or(|addr| addr.is_ipv4());
        let domain = if v4 { Domain::IPV4 } else { Domain::IPV6 };
        let socket = socket2::Socket::new(domain, Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
        let later = match (peer, options.receive_buffer) {
            (Some(_), None) => RECEIVE_BUFFER,
            (_, asked) => {
                // The system may grant less without an error.
                socket.set_recv_buffer_size(asked.unwrap_or(RECEIVE_BUFFER))?;
                0
            }
        };
        if *keeps_whole && v4 {
            set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::PROBE)?;
        } else if *keeps_whole {
            set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::PROBE)?;
        }
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
        let mode = AtomicU8::new(if later > 0 { mode::FIRST } else { mode::SINGLE });
        let asks_where = peer.is_none() && local.is_some_and(|local| local.ip().is_unspecified());
        if asks_where {
            tell_destinations(&io, v4)?;
        }
        let (send_buffer, receive_buffer) = (AtomicUsize::new(options.send_buffer), AtomicUsize::new(later));
        let Offload { state, segments } = offload()?;
        let (segments, late_error) = (*segments, AtomicI32::new(0));
        Ok(Self {
            io,
            state,
            segments,
            local,
            send_buffer,
            peer,
            receive_buffer,
            late_error,
            mode,
            marks: Mutex::default(),
            asks_where,
        }
        .receiving_destinations())
    }

    /// On a socket that is bound to all addresses, every call receives the destination of datagrams, which plain calls don't tell.
    fn receiving_destinations(self) -> Self {
        if self.asks_where {
            self.coalesce();
        }
        self
    }

    /// Sends by `send`. If the send buffer is full, enlarges it to its wanted size and tries again.
    #[inline]
    fn sending<T>(&self, mut send: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        match send() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.enlarge() => send(),
            sent => sent,
        }
    }

    #[cold]
    fn enlarge(&self) -> bool {
        let wanted = self.send_buffer.swap(0, Ordering::Relaxed);
        // The system may grant less without an error.
        wanted > 0 && SockRef::from(&self.io).set_send_buffer_size(wanted).is_ok()
    }

    /// Returns true if the kernel can segment.
    pub(super) fn segments(&self) -> bool {
        self.segments > 1
    }

    /// Sends the first messages of a run as a datagram that is segmented on its way, and returns their
    /// number.
    fn send_segmented(&self, run: &Run, to: &Remote) -> io::Result<usize> {
        let (contents, segment_size) = (run.first(self.segments), Some(run.segment()));
        let transmit =
            Transmit { destination: to.peer, ecn: to.ecn(), contents, segment_size, src_ip: to.source };
        self.sending(|| self.state.try_send(UdpSockRef::from(&self.io), &transmit))?;
        Ok(run.count().min(self.segments))
    }

    /// Sends one message that may be marked, while others of this socket may not, or from the address that its peer has asked.
    #[cold]
    fn send_singly(&self, contents: &[u8], to: &Remote) -> io::Result<()> {
        let transmit =
            Transmit { destination: to.peer, ecn: to.ecn(), contents, segment_size: None, src_ip: to.source };
        self.state.try_send(UdpSockRef::from(&self.io), &transmit)
    }

    /// Returns true if the kernel has to be told more of a datagram to this peer than where it goes.
    #[inline]
    fn goes_singly(to: &Remote) -> bool {
        to.to().is_some() && (to.ecn().is_some() || to.source.is_some())
    }

    /// Sends the first messages of a run, and returns their number.
    fn send_run(&self, run: &Run, to: &Remote) -> io::Result<usize> {
        let count = run.count();
        if count == 1 {
            return self.send_one(run.contents(), to).map(|()| 1);
        }
        if to.segments() {
            match self.send_segmented(run, to) {
                Err(error) if segmentation_failed(&error) => {
                    tracing::debug!(%error, to = %to.peer, "no segmentation on this path");
                    to.never_segment();
                }
                done => return done,
            }
        }
        if Self::goes_singly(to) {
            return self.sending(|| self.send_singly(run.first(1), to)).map(|()| 1);
        }
        self.sending(|| sendmmsg(&self.io, run.contents().chunks(run.segment()), to.to()))
    }

    /// Turns on the kernel's coalescing of arriving datagrams, if the kernel has it.
    #[cold]
    fn coalesce(&self) {
        if self.state.gro_segments() > 1 {
            // If the call fails, datagrams arrive one by one.
            let _ = nix::sys::socket::setsockopt(&self.io, nix::sys::socket::sockopt::UdpGroSegment, &true);
        }
        self.mode.store(mode::COALESCED, Ordering::Relaxed);
    }

    /// Sets the kernel's receive buffer to its wanted size.
    #[cold]
    fn enlarge_receive_buffer(&self) {
        let wanted = self.receive_buffer.swap(0, Ordering::Relaxed);
        if wanted > 0 {
            // The system may grant less without an error.
            let _ = SockRef::from(&self.io).set_recv_buffer_size(wanted);
        }
        self.change_mode(mode::SECOND, mode::SINGLE);
    }

    /// Changes the receive mode from `from` to `to`, unless it has changed meanwhile.
    fn change_mode(&self, from: u8, to: u8) {
        // If the exchange fails, the other change stands.
        let _ = self.mode.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl ReceivingSocket for UdpSocket {
    type Peer = UdpPeer;
    type Socket = tokio::net::UdpSocket;

    fn socket(&self) -> &Self::Socket {
        &self.io
    }

    #[cold]
    fn failure(&self, error: io::Error) -> Error {
        refusal(error)
    }

    #[inline]
    fn receive(&self, request: Request, deliver: impl FnMut(&UdpPeer, usize, Buf)) -> io::Result<Received> {
        let (width, mut mode) = (request.width, self.mode.load(Ordering::Relaxed));
        if width == 1 && mode == mode::SINGLE {
            return self.receive_one(request, deliver);
        }
        if mode == mode::FIRST {
            let received = self.receive_one(request, deliver)?;
            self.change_mode(mode::FIRST, mode::SECOND);
            return Ok(received);
        }
        if mode == mode::SECOND || mode == mode::MARKS {
            self.enlarge_receive_buffer();
        }
        if (width > 2 && mode != mode::COALESCED) || mode == mode::MARKS {
            self.coalesce();
            mode = mode::COALESCED;
        }
        match width {
            1 if mode != mode::COALESCED => self.receive_one(request, deliver),
            1 if !request.others_wait => self.receive_with::<1>(request, deliver),
            1 | 2 => self.receive_with::<2>(request, deliver),
            8 => self.receive_with::<8>(request, deliver),
            _ => self.receive_with::<MAX_WIDTH>(request, deliver),
        }
    }

    /// Empties the queue of the kernel's error reports, which occupy memory of the receive buffer.
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
    type Burst = Runs;

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
        let sent = self.sending(|| match to.to() {
            None => Ok(rustix::net::send(&self.io, message, SendFlags::empty())?),
            Some(_) if Self::goes_singly(to) => self.send_singly(message, to).map(|()| message.len()),
            Some(to) => Ok(rustix::net::sendto(&self.io, message, SendFlags::empty(), to)?),
        });
        sent.map(drop)
    }

    fn send_some(&self, runs: &mut Runs, to: &Remote) -> io::Result<()> {
        let singles = runs
            .singles()
            .map(|mut singles| {
                if Self::goes_singly(to)
                    && let Some(first) = singles.next()
                {
                    return self.sending(|| self.send_singly(first, to)).map(|()| 1);
                }
                self.sending(|| sendmmsg(&self.io, singles.clone(), to.to()))
            })
            .transpose()?;
        if let Some(sent) = singles {
            runs.singles_have_left(sent);
        } else if let Some(run) = runs.next() {
            let sent = self.send_run(run, to)?;
            runs.have_left(sent);
        }
        Ok(())
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
    use bertha_core::buf::BurstArena;
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

        let (mut runs, mut left) = (Runs::new(), Vec::new());
        let mut messages = (0..8).map(|number| Buf::copy_of(&[number; 5], 0).unwrap());
        runs.fill(&mut messages, &BurstArena::new(), usize::MAX).unwrap();
        while let Some(run) = runs.next() {
            let sent = sender.send_run(run, &to).unwrap();
            runs.have_left(sent);
            left.push(sent);
        }
        if sender.segments() {
            assert_eq!(left, [3, 3, 2]);
        }

        let mut received = Vec::new();
        while received.len() < 8 * 5 {
            receiver.io.readable().await.unwrap();
            // The socket found no message, so the kernel is to be asked again.
            let _ = receiver.receive(request(2), |_, _, message| received.extend_from_slice(&message));
        }
        assert!(received.chunks(5).zip(0..).all(|(message, number)| message == [number; 5]), "{received:?}");
    }

    /// Returns the receive buffer that the kernel grants a connecting socket before its first receive, after
    /// it, and after the second.
    async fn granted(udp: &Udp) -> [usize; 3] {
        let peer = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let socket = UdpSocket::open(udp, None, Some(peer.local_addr().unwrap())).unwrap();
        let size = || SockRef::from(&socket.io).recv_buffer_size().unwrap();
        let mut granted = [size(), 0, 0];
        for (number, granted) in granted.iter_mut().enumerate().skip(1) {
            // Before the second receive two messages wait, and come together.
            for _ in 0..number {
                peer.send_to(b"message", socket.io.local_addr().unwrap()).unwrap();
            }
            let mut received = 0;
            while received < number {
                socket.io.readable().await.unwrap();
                let counted = socket.receive(request(number), |_, _, message| {
                    received += usize::from(*message == *b"message")
                });
                if let Ok(Received { buffers, .. }) = counted {
                    assert_eq!(buffers, number);
                }
            }
            *granted = size();
        }
        granted
    }

    #[tokio::test]
    async fn who_connects_asks_for_the_receive_buffer_when_it_receives_again_unless_it_is_told_one() {
        let [at_first, after_one, after_two] = granted(&Udp::new()).await;
        assert_eq!(at_first, after_one);
        let [told, still, again] = granted(&Udp::new().receive_buffer(RECEIVE_BUFFER)).await;
        assert_eq!([told, still, again], [after_two; 3]);
        let [small, ..] = granted(&Udp::new().receive_buffer(1 << 14)).await;
        assert!(small < at_first);
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
        type Socket = tokio::net::UdpSocket;

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
