//! What a port does for its connections over TCP: brings segments to them, and theirs to the wire.

use super::table::Streams;
use super::wire::Outlet;
use crate::sending::Sending;
use crate::state::State;
use crate::{Burst, Counters, Packet, Pool};
use bertha_core::Buf;
use bertha_netstack::{Arrival, Checksums, Flow, HEADERS, Interface, LinkHeader, Route};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::ops::Range;
use std::time::Instant;

/// How many segments of this interface to itself wait. What is dropped beyond that is repeated.
const TO_ITSELF: usize = 256;

/// The connections over TCP of a port.
pub(crate) struct Driver {
    pub(super) streams: Streams,
    /// Segments that the port has not taken yet.
    leaving: Burst,
    /// Frames of this interface to itself.
    to_itself: VecDeque<Buf>,
    mtu: usize,
}

impl Driver {
    pub(crate) fn new(interface: &Interface, now: Instant) -> Self {
        Self {
            streams: Streams::new(interface, now),
            leaving: Burst::new(),
            to_itself: VecDeque::new(),
            mtu: interface.mtu(),
        }
    }
}

/// How packets to a peer leave.
enum Way {
    /// In frames that begin like this, to this interface itself or to another.
    Open { link: LinkHeader, to_itself: bool },
    /// Not at the moment, or not at all.
    Closed { for_good: bool },
}

/// The port, as connections see it.
struct Exit<'a> {
    pool: Pool,
    link: LinkHeader,
    here: bool,
    port: &'a mut Sending,
    leaving: &'a mut Burst,
    to_itself: &'a mut VecDeque<Buf>,
    counters: &'a mut Counters,
    mtu: usize,
}

impl Outlet for Exit<'_> {
    type Room = Buf;

    fn is_full(&mut self) -> bool {
        if self.here {
            return self.to_itself.len() >= TO_ITSELF;
        }
        if self.leaving.is_full() {
            self.port.transmit(self.leaving);
        }
        self.leaving.is_full()
    }

    fn room(&mut self) -> Option<Buf> {
        let room = self.pool.buffer(self.mtu, HEADERS).ok();
        self.counters.not_sent += u64::from(room.is_none());
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
            && if self.here {
                self.to_itself.push_back(packet);
                true
            } else {
                Packet::from_buf(packet).is_ok_and(|packet| self.leaving.push(packet).is_ok())
            };
        self.counters.not_sent += u64::from(!sent);
    }
}

impl State {
    /// Brings a segment to its connection, or tells its sender that there is none.
    pub(crate) fn take_segment(
        &mut self,
        pool: &Pool,
        frame: &[u8],
        flow: Flow,
        packet: Range<usize>,
        opens: bool,
    ) {
        let (packet, now) = (&frame[packet], self.now);
        if opens && self.tcp.streams.is_crowded(flow) {
            self.counters.unknown += 1;
            return;
        }
        match self.tcp.streams.find(flow, opens, rand::random(), now) {
            Some(key) => {
                let place =
                    self.with_exit(pool, key, |streams, exit| streams.receive(key, packet, now, exit));
                self.announce(key, place.flatten());
            }
            None => {
                self.counters.unknown += 1;
                if self.stack.may_refuse(now)
                    && let Way::Open { link, to_itself } = self.way(flow.peer().ip(), None)
                {
                    let (streams, mut exit) = self.exit(pool, link, to_itself);
                    streams.refuse(packet, now, &mut exit);
                }
            }
        }
    }

    /// Does what is to be done for a connection, after something was asked of it.
    pub(super) fn step(&mut self, pool: &Pool, key: usize) {
        let now = self.now;
        let place = self.with_exit(pool, key, |streams, exit| streams.step(key, now, exit));
        self.announce(key, place.flatten());
    }

    /// Does what connections are due for, and hands the port what it has not taken.
    pub(crate) fn drive(&mut self, pool: &Pool) {
        let now = self.now;
        while let Some(key) = self.tcp.streams.take_due(now) {
            self.step(pool, key);
        }
        self.flush(pool);
    }

    /// Hands the port what is leaving, and this interface what is for itself.
    pub(crate) fn flush(&mut self, pool: &Pool) {
        while let Some(mut frame) = self.tcp.to_itself.pop_front() {
            let now = self.now;
            if let Arrival::Segment { flow, packet, opens } =
                self.stack.receive(&mut frame, Checksums::Good, now)
            {
                self.take_segment(pool, &frame, flow, packet, opens);
            }
        }
        if !self.tcp.leaving.is_empty() {
            self.sending.transmit(&mut self.tcp.leaving);
        }
    }

    /// Wakes those whom a change of the connection concerns, and who waits at `place`.
    fn announce(&mut self, key: usize, place: Option<usize>) {
        let places = self.tcp.streams.places(key);
        for place in places.into_iter().flatten().chain(place) {
            self.demux.announce(place);
        }
    }

    /// Runs `act` with the connection's way out; nothing if there is none at the moment.
    fn with_exit<T>(
        &mut self,
        pool: &Pool,
        key: usize,
        act: impl FnOnce(&mut Streams, &mut Exit<'_>) -> T,
    ) -> Option<T> {
        let now = self.now;
        let stream = self.tcp.streams.get_mut(key)?;
        let (peer, known) = (stream.flow().peer().ip(), stream.link.take());
        match self.way(peer, known) {
            Way::Open { link, to_itself } => {
                if !to_itself && let Some(stream) = self.tcp.streams.get_mut(key) {
                    stream.link = Some(link.clone());
                }
                let (streams, mut exit) = self.exit(pool, link, to_itself);
                Some(act(streams, &mut exit))
            }
            Way::Closed { for_good } => {
                self.tcp.streams.strand(key, for_good, now);
                self.send_answers(pool);
                None
            }
        }
    }

    /// The connections, and their way out by `link`.
    fn exit(&mut self, pool: &Pool, link: LinkHeader, here: bool) -> (&mut Streams, Exit<'_>) {
        let Self { tcp, sending, counters, .. } = self;
        let Driver { streams, leaving, to_itself, mtu } = tcp;
        (streams, Exit { pool: *pool, link, here, port: sending, leaving, to_itself, counters, mtu: *mtu })
    }

    /// How packets to `peer` leave; as before, if what was `known` is still right.
    fn way(&mut self, peer: IpAddr, known: Option<LinkHeader>) -> Way {
        let now = self.now;
        if let Some(link) = known
            && self.stack.is_link_current(&link, now)
        {
            return Way::Open { link, to_itself: false };
        }
        if let Some(link) = self.stack.local_link_header(peer, now) {
            return Way::Open { link, to_itself: true };
        }
        // A neighbour that nobody can reach is not to be asked for in vain.
        if !self.is_up() {
            return Way::Closed { for_good: false };
        }
        match self.stack.link_header(peer, now) {
            Route::Ready(link) => Way::Open { link, to_itself: false },
            Route::Resolving => Way::Closed { for_good: false },
            Route::Local | Route::NoNeighbour | Route::NoRoute => Way::Closed { for_good: true },
        }
    }
}
