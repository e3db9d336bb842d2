//! The TCP connections of a queue: their segments arrive from the queue's network, and are sent by it.

use super::table::Streams;
use super::wire::Outlet;
use crate::mbuf::{Burst, Packet};
use crate::queue::{Connections, Network};
use bertha_core::Buf;
use bertha_netstack::{Arrival, Flow, HEADERS, Interface, LinkHeader, Route};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Instant;

/// Number of segments of this interface to itself that may wait. Further segments are dropped, and repeated
/// later.
const MAX_LOCAL: usize = 256;

/// The TCP connections of a port.
pub(crate) struct Driver {
    pub(crate) streams: Streams,
    /// Segments that the port has not taken yet.
    leaving: Burst,
    /// Frames of this interface to itself.
    local: VecDeque<Buf>,
    mtu: usize,
}

/// An arrived segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    pub(crate) flow: Flow,
    /// The IP packet.
    pub(crate) packet: &'a [u8],
    /// True if the segment asks for a new connection.
    pub(crate) opens: bool,
}

/// The way of packets to a peer.
enum Way {
    /// Packets go in frames with this header, over the wire or to this interface itself.
    Open { link: LinkHeader, is_local: bool },
    /// No packet can go, at this moment or `for_good`.
    Closed { for_good: bool },
}

/// The way out for the segments of a connection.
struct Exit<'a> {
    network: &'a mut Network,
    link: LinkHeader,
    is_local: bool,
    leaving: &'a mut Burst,
    local: &'a mut VecDeque<Buf>,
    mtu: usize,
}

impl Outlet for Exit<'_> {
    type Room = Buf;

    fn is_full(&mut self) -> bool {
        if self.is_local {
            return self.local.len() >= MAX_LOCAL;
        }
        if self.leaving.is_full() {
            self.network.transmitter.transmit(self.leaving);
        }
        self.leaving.is_full()
    }

    fn room(&mut self) -> Option<Buf> {
        let room = self.network.pool.buffer(self.mtu, HEADERS).ok();
        self.network.counters.not_sent += u64::from(room.is_none());
        room
    }

    fn send(&mut self, mut packet: Buf, len: usize) {
        let header = self.link.bytes();
        packet.truncate(len);
        let whole = match packet.prepend(header.len()) {
            Ok(front) => {
                front.copy_from_slice(header);
                true
            }
            Err(_) => false,
        };
        let sent = whole
            && !self.is_full()
            && if self.is_local {
                self.local.push_back(packet);
                true
            } else {
                Packet::from_buf(packet).is_ok_and(|packet| self.leaving.push(packet).is_ok())
            };
        self.network.counters.not_sent += u64::from(!sent);
    }
}

impl Driver {
    pub(crate) fn new(interface: &Interface, now: Instant) -> Self {
        Self {
            streams: Streams::new(interface, now),
            leaving: Burst::new(),
            local: VecDeque::new(),
            mtu: interface.mtu(),
        }
    }

    /// Passes a segment to its connection. Returns false if no connection has it, of which its sender has to
    /// be told.
    pub(crate) fn receive(
        &mut self,
        network: &mut Network,
        connections: &mut Connections,
        segment: Segment<'_>,
    ) -> bool {
        let Segment { flow, packet, opens } = segment;
        let now = network.now;
        if opens && self.streams.is_crowded(flow) {
            network.counters.unknown += 1;
            return true;
        }
        if let Some(key) = self.streams.find(flow, opens, rand::random(), now) {
            let event = self.with_exit(network, key, |streams, exit| streams.receive(key, packet, now, exit));
            self.announce(connections, key, event.flatten());
            return true;
        }
        network.counters.unknown += 1;
        false
    }

    /// Sends a reset to this interface itself, because no connection has the segment.
    fn refuse_local(&mut self, network: &mut Network, flow: Flow, packet: &[u8]) {
        let now = network.now;
        if let Some(link) = network.stack.local_link_header(flow.peer().ip(), now) {
            let (streams, mut exit) = self.exit(network, link, true);
            streams.refuse(packet, now, &mut exit);
        }
    }

    /// Sends everything that is due for a connection, after a call of the application or a timer.
    pub(crate) fn step(&mut self, network: &mut Network, connections: &mut Connections, key: usize) {
        let now = network.now;
        let event = self.with_exit(network, key, |streams, exit| streams.step(key, now, exit));
        self.announce(connections, key, event.flatten());
    }

    /// Steps all connections that are due, and flushes.
    pub(crate) fn drive(&mut self, network: &mut Network, connections: &mut Connections) {
        while let Some(key) = self.streams.take_due(network.now) {
            self.step(network, connections, key);
        }
        self.flush(network, connections);
    }

    /// Passes outgoing segments to the port, and segments to this interface to their connections.
    pub(crate) fn flush(&mut self, network: &mut Network, connections: &mut Connections) {
        while let Some(mut frame) = self.local.pop_front() {
            let now = network.now;
            if let Arrival::Segment { flow, packet, opens } = network.stack.receive_own(&mut frame, now) {
                let packet = &frame[packet];
                if !self.receive(network, connections, Segment { flow, packet, opens }) {
                    self.refuse_local(network, flow, packet);
                }
            }
        }
        if !self.leaving.is_empty() {
            network.transmitter.transmit(&mut self.leaving);
        }
    }

    /// Announces a change of a connection, and the event of a listener if the change concerns it.
    fn announce(&self, connections: &mut Connections, key: usize, listener: Option<usize>) {
        let own = self.streams.events(key).map(|events| [events.receive, events.send]);
        for event in own.into_iter().flatten().chain(listener) {
            connections.demux.announce(event);
        }
    }

    /// Runs `act` with the connection's way out. Returns `None` if there is no way at this moment.
    fn with_exit<T>(
        &mut self,
        network: &mut Network,
        key: usize,
        act: impl FnOnce(&mut Streams, &mut Exit<'_>) -> T,
    ) -> Option<T> {
        let stream = self.streams.get_mut(key)?;
        let peer = stream.flow().peer().ip();
        let known = stream.link.take();
        let is_own = !self.streams.is_half_open(key);
        match way(network, peer, known, is_own) {
            Way::Open { link, is_local } => {
                if !is_local && let Some(stream) = self.streams.get_mut(key) {
                    stream.link = Some(link.clone());
                }
                let (streams, mut exit) = self.exit(network, link, is_local);
                Some(act(streams, &mut exit))
            }
            Way::Closed { for_good } => {
                self.streams.strand(key, for_good, network.now);
                network.send_replies();
                None
            }
        }
    }

    /// Returns the connections, and a way out for them.
    fn exit<'a>(
        &'a mut self,
        network: &'a mut Network,
        link: LinkHeader,
        is_local: bool,
    ) -> (&'a mut Streams, Exit<'a>) {
        let Self { streams, leaving, local, mtu } = self;
        (streams, Exit { network, link, is_local, leaving, local, mtu: *mtu })
    }
}

/// Returns the way of packets to `peer`: the `known` way, if it is still valid. A peer that is not `own` may
/// have forged its address.
fn way(network: &mut Network, peer: IpAddr, known: Option<LinkHeader>, is_own: bool) -> Way {
    let now = network.now;
    if let Some(link) = known
        && network.stack.is_link_current(&link, now)
    {
        return Way::Open { link, is_local: false };
    }
    if let Some(link) = network.stack.local_link_header(peer, now) {
        return Way::Open { link, is_local: true };
    }
    // While the link is down, requests for a neighbour would be futile.
    if !network.is_up() {
        return Way::Closed { for_good: false };
    }
    let stack = &mut network.stack;
    let route = if is_own { stack.link_header(peer, now) } else { stack.link_header_back(peer, now) };
    match route {
        Route::Ready(link) => Way::Open { link, is_local: false },
        Route::Resolving => Way::Closed { for_good: false },
        Route::Local | Route::NoNeighbour | Route::NoRoute => Way::Closed { for_good: true },
    }
}
