//! The stack of an interface. Arriving frames are handled in [`receive`](super::receive), the stack's own
//! frames in [`requests`](super::requests) and [`refuse`](super::refuse).

use super::interface::max_payload;
use super::neighbour::Resolution;
use super::neighbours::{Neighbours, Purpose};
use super::outbox::Outbox;
use super::path_mtu::PathMtus;
use super::rate_limit::RateLimit;
use super::{Counters, Flow, Interface, LinkHeader, Offload, Path, Prediction};
use std::net::IpAddr;
use std::time::Instant;

/// Number of errors in a second that tell strangers that no application receives their packets.
const MAX_ERRORS: u32 = 100;

/// The way of datagrams of a flow, or of packets to a peer.
#[derive(Debug, Clone)]
pub enum Route<Headers = Path> {
    /// The packets go with these headers.
    Ready(Headers),
    /// The packets go over no wire: the peer is this interface itself.
    Local,
    /// The way is unknown until a neighbour has answered. A request may be in [`Stack::poll_transmit`];
    /// [`Stack::take_settled`] says when to look again.
    Resolving,
    /// There is no way: the neighbour did not answer three requests within three seconds. For a second it is
    /// not asked again.
    NoNeighbour,
    /// There is no way: the peer is in no subnet of the interface, and there is no gateway.
    NoRoute,
}

/// The state of an interface.
#[derive(Debug)]
pub struct Stack {
    pub(super) interface: Interface,
    offload: Offload,
    /// True if datagrams over IPv4 have no UDP checksums, and none is verified.
    pub(super) unchecked: bool,
    pub(super) neighbours: Neighbours,
    path_mtus: PathMtus,
    pub(super) outbox: Outbox,
    pub(super) counters: Counters,
    pub(super) error_limit: RateLimit,
    /// True if another stack answers the frame that is being received.
    pub(super) overhears: bool,
    /// True if the frame that is being received comes from this interface itself.
    pub(super) loops_back: bool,
}

impl Stack {
    /// Creates a stack that knows no neighbours. `now` is the current time, as in all methods.
    pub fn new(interface: Interface, now: Instant) -> Self {
        Self {
            interface,
            offload: Offload::default(),
            unchecked: false,
            neighbours: Neighbours::new(now),
            path_mtus: PathMtus::new(),
            outbox: Outbox::new(),
            counters: Counters::default(),
            error_limit: RateLimit::new(MAX_ERRORS, now),
            overhears: false,
            loops_back: false,
        }
    }

    /// Leaves these checksums to the port.
    #[must_use]
    pub fn with_offload(self, offload: Offload) -> Self {
        Self { offload, ..self }
    }

    /// Omits UDP's checksums over IPv4, as RFC 768 allows, and verifies none: this serves ports without a
    /// wire, where frames are not damaged. IPv4's headers, TCP, and everything over IPv6 (RFC 8200, section
    /// 8.1) keep their checksums.
    #[must_use]
    pub fn without_udp_checksums(self) -> Self {
        Self { unchecked: true, ..self }
    }

    /// Returns the interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns the counters of dropped and answered frames.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the size of the largest payload of a datagram to `peer`, in bytes, as far as the path's MTU is
    /// known.
    pub fn max_payload(&self, peer: IpAddr) -> usize {
        max_payload(self.path_mtu(peer), peer)
    }

    fn path_mtu(&self, peer: IpAddr) -> usize {
        let mtu = self.interface.mtu();
        self.path_mtus.of(peer).map_or(mtu, |path| path.min(mtu))
    }

    /// Records for ten minutes that the path to `peer` carries packets of `mtu` bytes (RFC 1191, RFC 8201),
    /// but never less than the minimum of all paths: 576 bytes over IPv4, 1280 over IPv6. Returns false if
    /// the path was not thought to carry more.
    ///
    /// The caller must know that the [error](crate::Arrival::TooBig) concerns a flow that exists: such errors
    /// are easily forged.
    pub fn reduce_path_mtu(&mut self, peer: IpAddr, mtu: usize, now: Instant) -> bool {
        let before = self.path_mtu(peer);
        self.path_mtus.reduce(peer, mtu, before, now)
    }

    /// Returns the time at which [`poll_expired_path_mtu`](Self::poll_expired_path_mtu) is due; `None` if all
    /// paths carry as much as the interface.
    #[inline]
    pub fn path_mtu_expires_at(&self) -> Option<Instant> {
        self.path_mtus.expires_at()
    }

    /// Forgets a path MTU that was reported ten minutes ago, and returns the peer: the path may carry more by
    /// now.
    pub fn poll_expired_path_mtu(&mut self, now: Instant) -> Option<IpAddr> {
        self.path_mtus.poll_expired(now)
    }

    /// Returns the way of datagrams of `flow`, to a peer that this end has chosen.
    pub fn route(&mut self, flow: Flow, now: Instant) -> Route {
        self.route_for(flow, Purpose::Own, now)
    }

    /// Returns the way of answers to a stranger, whose address may be forged: so neighbours are asked about
    /// no more than a thousand strangers in a second.
    pub fn route_back(&mut self, flow: Flow, now: Instant) -> Route {
        self.route_for(flow, Purpose::Answer, now)
    }

    fn route_for(&mut self, flow: Flow, purpose: Purpose, now: Instant) -> Route {
        let peer = flow.peer().ip();
        let Some(own) = self.interface.own(flow) else { return Route::NoRoute };
        match self.link_header_for(peer, purpose, now) {
            Route::Ready(link) => Route::Ready(Path::new(flow, own, &link, self.offload, self.unchecked)),
            Route::Local => Route::Local,
            Route::Resolving => Route::Resolving,
            Route::NoNeighbour => Route::NoNeighbour,
            Route::NoRoute => Route::NoRoute,
        }
    }

    /// Returns the predicted headers of arriving datagrams of `flow`; `None` if they are of a rare kind,
    /// which only [`receive`](Self::receive) handles.
    pub fn predict(&self, flow: Flow) -> Option<Prediction> {
        Prediction::new(&self.interface, flow, self.unchecked)
    }

    /// Returns the way of packets that have their IP header already, to `peer`, which this end has chosen.
    pub fn link_header(&mut self, peer: IpAddr, now: Instant) -> Route<LinkHeader> {
        self.link_header_for(peer, Purpose::Own, now)
    }

    /// Returns the way of packets that have their IP header already, to a stranger; see
    /// [`route_back`](Self::route_back).
    pub fn link_header_back(&mut self, peer: IpAddr, now: Instant) -> Route<LinkHeader> {
        self.link_header_for(peer, Purpose::Answer, now)
    }

    fn link_header_for(&mut self, peer: IpAddr, purpose: Purpose, now: Instant) -> Route<LinkHeader> {
        if self.interface.is_own(peer) {
            return Route::Local;
        }
        let Some(hop) = self.interface.next_hop(peer) else { return Route::NoRoute };
        let lookup = self.neighbours.look_up(hop, purpose, now);
        if let Some(question) = lookup.question {
            self.queue_request(hop, question);
        }
        match lookup.resolution {
            Resolution::Known { mac, until } => {
                Route::Ready(LinkHeader::new(&self.interface, peer, mac, self.generation(), until))
            }
            Resolution::Resolving => Route::Resolving,
            Resolution::Failed => Route::NoNeighbour,
        }
    }

    /// Returns the time at which [`poll_neighbours`](Self::poll_neighbours) is due; `None` if no question is
    /// pending.
    #[inline]
    pub fn neighbours_due(&self) -> Option<Instant> {
        self.neighbours.due()
    }

    /// Returns true if, since the last call, a neighbour that was [being resolved](Route::Resolving) has
    /// answered, or is not expected to answer any more.
    #[inline]
    pub fn take_settled(&mut self) -> bool {
        self.neighbours.take_settled()
    }

    /// Returns true if `neighbour` is being resolved.
    pub fn is_resolving(&self, neighbour: IpAddr) -> bool {
        self.neighbours.is_resolving(neighbour)
    }

    /// Returns true if the address of `neighbour` is known.
    pub fn is_resolved(&self, neighbour: IpAddr) -> bool {
        self.neighbours.is_known(neighbour)
    }

    /// Records that the link was down, and that other nodes may be at its end: the addresses of neighbours
    /// are used while they are verified.
    pub fn distrust_neighbours(&mut self) {
        self.neighbours.distrust();
    }

    /// Returns the header of frames from this interface to itself, if `peer` is its own address: such frames
    /// need no wire.
    pub fn local_link_header(&self, peer: IpAddr, now: Instant) -> Option<LinkHeader> {
        let own = self.interface.mac;
        self.interface.is_own(peer).then(|| LinkHeader::new(&self.interface, peer, own, 0, now))
    }

    /// Returns true if headers that [`route`](Self::route) returned are still valid.
    #[inline]
    pub fn is_current(&self, path: &Path, now: Instant) -> bool {
        path.generation == self.generation() && now < path.until
    }

    /// Returns true if a header that [`link_header`](Self::link_header) returned is still valid.
    #[inline]
    pub fn is_link_current(&self, link: &LinkHeader, now: Instant) -> bool {
        link.generation == self.generation() && now < link.until
    }

    /// Returns a number that changes whenever returned headers are no longer valid: a sum of two numbers that
    /// only grow.
    #[inline]
    fn generation(&self) -> u32 {
        self.neighbours.generation().wrapping_add(self.path_mtus.generation())
    }
}
