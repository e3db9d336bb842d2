//! The TCP connections of a queue: their segments arrive from the queue's network, and are sent by it.

use super::table::{Found, Streams};
use super::wire::{NoWay, Outlet};
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
#[derive(Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) flow: Flow,
    /// The IP packet.
    pub(crate) packet: &'a mut [u8],
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
        match self.streams.find(flow, packet, opens, rand::random(), now) {
            Found::Connection(key) => {
                let event = match self.way(network, key) {
                    Way::Open { link, is_local } => {
                        let (streams, mut exit) = self.exit(network, link, is_local);
                        streams.receive(key, packet, now, &mut exit)
                    }
                    // The segment counts nevertheless: its sender would repeat it after a second at the earliest.
                    Way::Closed { for_good } => {
                        let event = self.streams.receive(key, packet, now, &mut NoWay { mtu: self.mtu });
                        self.strand(network, key, for_good);
                        event
                    }
                };
                self.announce(connections, key, event);
            }
            // Where there is no way yet, the peer has to ask again: nothing is kept for it.
            Found::Listener(listener) => match way(network, flow.peer().ip(), None, false) {
                Way::Open { link, is_local } => {
                    let (streams, mut exit) = self.exit(network, link, is_local);
                    streams.answer(listener, flow, packet, now, &mut exit);
                }
                Way::Closed { .. } => {
                    network.counters.unknown += 1;
                    network.send_replies();
                }
            },
            Found::Crowd => network.counters.unknown += 1,
            Found::Nobody => {
                network.counters.unknown += 1;
                return false;
            }
        }
        true
    }

    /// Sends a reset to this interface itself, because no connection has the segment.
    fn refuse_local(&mut self, network: &mut Network, flow: Flow, packet: &[u8]) {
        let now = network.now;
        if let Some(link) = network.stack.local_link_header(flow.peer().ip(), now) {
            let (streams, mut exit) = self.exit(network, link, true);
            streams.refuse(flow, packet, now, &mut exit);
        }
    }

    /// Sends everything that is due for a connection, after a call of the application or a timer.
    pub(crate) fn step(&mut self, network: &mut Network, connections: &mut Connections, key: usize) {
        let now = network.now;
        let event = match self.way(network, key) {
            Way::Open { link, is_local } => {
                let (streams, mut exit) = self.exit(network, link, is_local);
                streams.step(key, now, &mut exit)
            }
            Way::Closed { for_good } => {
                self.strand(network, key, for_good);
                None
            }
        };
        self.announce(connections, key, event);
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
                let packet = &mut frame[packet];
                let segment = Segment { flow, packet: &mut *packet, opens };
                if !self.receive(network, connections, segment) {
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

    /// Returns the connection's way out.
    fn way(&mut self, network: &mut Network, key: usize) -> Way {
        let Some(stream) = self.streams.get_mut(key) else { return Way::Closed { for_good: false } };
        let peer = stream.flow().peer().ip();
        let known = stream.link.take();
        let is_own = !self.streams.is_half_open(key);
        let way = way(network, peer, known, is_own);
        if let Way::Open { link, is_local: false } = &way
            && let Some(stream) = self.streams.get_mut(key)
        {
            stream.link = Some(link.clone());
        }
        way
    }

    /// Records that a connection has no way out, and sends the question for its neighbour.
    fn strand(&mut self, network: &mut Network, key: usize, for_good: bool) {
        self.streams.strand(key, for_good, network.now);
        network.send_replies();
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

#[cfg(test)]
mod tests {
    use super::super::tests::{Cable, flow, settings};
    use super::*;
    use crate::Config;
    use crate::open::open;
    use crate::queue::Transmitter;
    use bertha_netstack::{Checksums, MacAddr, Stack};
    use bertha_runtime::polling::Limits;
    use std::time::Duration;

    fn interface(number: u8) -> Interface {
        let subnet = format!("10.0.0.{number}/24").parse().unwrap();
        Interface::new(MacAddr([2, 0, 0, 0, 0, number]), 1500, None, &[subnet], &[]).unwrap()
    }

    /// A neighbour that remembers this interface's hardware address connects before this interface knows the
    /// neighbour's.
    #[test]
    fn the_first_segment_of_an_unknown_neighbour_is_taken_in() {
        if !crate::AVAILABLE {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
            return;
        }
        let config = Config { buffers: 255, descriptors: 64, ..Config::new("net_null25", "10.0.0.1/24") };
        let (port, now) = (open(&config).unwrap().handle, Instant::now());
        let mut network = Network::new(0, port, Stack::new(interface(1), now), Transmitter::None, now);
        let mut connections = Connections::new(Limits { backlog: 8, queue: 8, shared: 8 });
        let mut driver = Driver::new(&interface(1), now);
        driver.streams.listen("0.0.0.0:9".parse().unwrap(), settings(), 8, 0, 1).unwrap();

        let (mut client, mut cable) = (Streams::new(&interface(2), now), Cable::default());
        let to = "10.0.0.1:9".parse().unwrap();
        let (key, flow_there) = client.connect(to, &settings(), [1, 2], now).unwrap();
        client.step(key, now, &mut cable);
        let mut first = cable.0.pop().unwrap();
        let (from, opens) = flow(&first);
        let segment = Segment { flow: from, packet: &mut first, opens };
        assert!(driver.receive(&mut network, &mut connections, segment) && driver.leaving.is_empty());

        // The neighbour tells its address.
        let mut theirs = Stack::new(interface(2), now);
        let _ = theirs.route(flow_there, now);
        let mut question = theirs.poll_transmit(<[u8]>::to_vec).unwrap();
        network.stack.receive(&mut question, Checksums::Unknown, now);
        network.now += Duration::from_millis(10);
        driver.drive(&mut network, &mut connections);
        let answer = driver.leaving.pop().unwrap();
        assert_eq!(answer.bytes()[..6], [2, 0, 0, 0, 0, 2]);
        assert_eq!(answer.bytes()[14 + 20 + 13], 0x12, "the answer is SYN and ACK");
    }
}
