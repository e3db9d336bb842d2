//! The stack of one interface. Frames that arrive are in [`receive`](super::receive), frames of its own in
//! [`requests`](super::requests) and [`refuse`](super::refuse).

use super::interface::max_payload;
use super::neighbour::Resolution;
use super::neighbours::{Neighbours, Purpose};
use super::outbox::Outbox;
use super::path_mtu::PathMtus;
use super::rate_limit::RateLimit;
use super::{Counters, Flow, Interface, LinkHeader, Offload, Path, Prediction};
use std::net::IpAddr;
use std::time::Instant;

/// The errors in a second that tell strangers that nobody takes their packets.
const MAX_ERRORS: u32 = 100;

/// The way of datagrams of a flow, or of packets to a peer.
#[derive(Debug, Clone)]
pub enum Route<Headers = Path> {
    /// With these headers.
    Ready(Headers),
    /// None over the wire: the peer is this interface itself.
    Local,
    /// Unknown until a neighbour has answered. A request may be in [`Stack::poll_transmit`]; [`Stack::take_settled`] says when to ask
    /// again.
    Resolving,
    /// None: the neighbour did not answer three requests within three seconds. For a second it is not asked again.
    NoNeighbour,
    /// None: the peer is in no subnet of the interface, and there is no gateway.
    NoRoute,
}

/// The state of one interface.
#[derive(Debug)]
pub struct Stack {
    pub(super) interface: Interface,
    offload: Offload,
    /// Datagrams over IPv4 have no checksums of UDP, and none is verified.
    pub(super) unchecked: bool,
    pub(super) neighbours: Neighbours,
    path_mtus: PathMtus,
    pub(super) outbox: Outbox,
    pub(super) counters: Counters,
    pub(super) error_limit: RateLimit,
    /// Another stack answers the frame that is being received.
    pub(super) overhears: bool,
    /// The frame that is being received comes from this interface itself.
    pub(super) loops_back: bool,
}

impl Stack {
    /// A stack that knows no neighbours. `now` is the current time, as everywhere.
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

    /// Omits UDP's checksums over IPv4, as RFC 768 allows, and verifies none: for ports without a wire, where frames are not damaged.
    /// IPv4's headers, TCP, and all over IPv6 (RFC 8200, section 8.1) keep theirs.
    #[must_use]
    pub fn without_udp_checksums(self) -> Self {
        Self { unchecked: true, ..self }
    }

    /// The interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The frames that were dropped and answered.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The largest payload of a datagram to `peer`, in bytes, as far as the path's MTU is known.
    pub fn max_payload(&self, peer: IpAddr) -> usize {
        max_payload(self.path_mtu(peer), peer)
    }

    fn path_mtu(&self, peer: IpAddr) -> usize {
        let mtu = self.interface.mtu();
        self.path_mtus.of(peer).map_or(mtu, |path| path.min(mtu))
    }

    /// Believes for ten minutes that the path to `peer` carries packets of `mtu` bytes (RFC 1191, RFC 8201); false if it was not
    /// thought to carry more. Never below the minimum of all paths: 576 bytes over IPv4, 1280 over IPv6.
    ///
    /// Only to be called for an [error](crate::Arrival::TooBig) about a flow that exists: such errors are easily forged.
    pub fn reduce_path_mtu(&mut self, peer: IpAddr, mtu: usize, now: Instant) -> bool {
        let before = self.path_mtu(peer);
        self.path_mtus.reduce(peer, mtu, before, now)
    }

    /// When [`poll_expired_path_mtu`](Self::poll_expired_path_mtu) is due; `None` if all paths carry as much as the interface.
    #[inline]
    pub fn path_mtu_expires_at(&self) -> Option<Instant> {
        self.path_mtus.expires_at()
    }

    /// Forgets a path MTU that was reported ten minutes ago, and returns the peer: the path may carry more by now.
    pub fn poll_expired_path_mtu(&mut self, now: Instant) -> Option<IpAddr> {
        self.path_mtus.poll_expired(now)
    }

    /// The way of datagrams of `flow`, to a peer that this end has chosen.
    pub fn route(&mut self, flow: Flow, now: Instant) -> Route {
        self.route_for(flow, Purpose::Own, now)
    }

    /// The way of answers to a stranger, whose address may be forged: so neighbours are asked about no more than a thousand of them
    /// in a second.
    pub fn route_back(&mut self, flow: Flow, now: Instant) -> Route {
        self.route_for(flow, Purpose::Answer, now)
    }

    fn route_for(&mut self, flow: Flow, purpose: Purpose, now: Instant) -> Route {
        let peer = flow.peer().ip();
        let Some(own) = self.interface.address_for(peer) else { return Route::NoRoute };
        match self.link_header_for(peer, purpose, now) {
            Route::Ready(link) => Route::Ready(Path::new(flow, own, &link, self.offload, self.unchecked)),
            Route::Local => Route::Local,
            Route::Resolving => Route::Resolving,
            Route::NoNeighbour => Route::NoNeighbour,
            Route::NoRoute => Route::NoRoute,
        }
    }

    /// The headers of datagrams of `flow` on arrival; `None` if they are of a rare kind, which [`receive`](Self::receive) alone
    /// knows.
    pub fn predict(&self, flow: Flow) -> Option<Prediction> {
        Prediction::new(&self.interface, flow, self.unchecked)
    }

    /// The way of packets to `peer`, which this end has chosen, that have their IP header already.
    pub fn link_header(&mut self, peer: IpAddr, now: Instant) -> Route<LinkHeader> {
        self.link_header_for(peer, Purpose::Own, now)
    }

    /// The same to a stranger; see [`route_back`](Self::route_back).
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

    /// When [`poll_neighbours`](Self::poll_neighbours) is due; `None` if there is nothing to ask.
    #[inline]
    pub fn neighbours_due(&self) -> Option<Instant> {
        self.neighbours.due()
    }

    /// Whether a neighbour that was [being resolved](Route::Resolving) has answered, or is not expected to any more, since this was
    /// last asked.
    #[inline]
    pub fn take_settled(&mut self) -> bool {
        self.neighbours.take_settled()
    }

    /// Whether `neighbour` is being resolved.
    pub fn is_resolving(&self, neighbour: IpAddr) -> bool {
        self.neighbours.is_resolving(neighbour)
    }

    /// Whether the address of `neighbour` is known.
    pub fn is_resolved(&self, neighbour: IpAddr) -> bool {
        self.neighbours.is_known(neighbour)
    }

    /// The link was down, and others may be at its end: the addresses of neighbours are used while they are verified.
    pub fn distrust_neighbours(&mut self) {
        self.neighbours.distrust();
    }

    /// The header of frames from this interface to itself, if `peer` is its own address: they need no wire.
    pub fn local_link_header(&self, peer: IpAddr, now: Instant) -> Option<LinkHeader> {
        let own = self.interface.mac;
        self.interface.is_own(peer).then(|| LinkHeader::new(&self.interface, peer, own, 0, now))
    }

    /// Whether headers that [`route`](Self::route) returned are still valid.
    #[inline]
    pub fn is_current(&self, path: &Path, now: Instant) -> bool {
        path.generation == self.generation() && now < path.until
    }

    /// Whether a header that [`link_header`](Self::link_header) returned is still valid.
    #[inline]
    pub fn is_link_current(&self, link: &LinkHeader, now: Instant) -> bool {
        link.generation == self.generation() && now < link.until
    }

    /// Changes whenever headers that were returned are no longer valid: a sum of two numbers that only grow.
    #[inline]
    fn generation(&self) -> u32 {
        self.neighbours.generation().wrapping_add(self.path_mtus.generation())
    }
}
