//! Messages to neighbours whose hardware address is not known yet.
//!
//! Frames to strangers, whose addresses may be forged, never make a sender wait: a few frames wait here, and
//! further frames are dropped and counted, since a peer that exists asks again. Connections that this end
//! opened have more room, and when it is full their sends wait.

use super::QueueState;
use super::connections::Obstacle;
use super::send::Sent;
use crate::mbuf::{Burst, Packet};
use bertha_netstack::{Flow, Path, Route, Waiting, WaitingLimits};
use std::net::IpAddr;

/// Bounds on frames to peers that this end has chosen.
const OWN: WaitingLimits = WaitingLimits { frames: 16, neighbours: 64 };

/// Bounds on answers to strangers.
const ANSWERS: WaitingLimits = WaitingLimits { frames: 4, neighbours: 64 };

/// Frames without headers, which wait for the addresses of their neighbours.
pub(crate) struct Unresolved {
    own: Waiting<Headless>,
    answers: Waiting<Headless>,
}

/// A frame with room for its headers.
struct Headless {
    flow: Flow,
    packet: Packet,
}

impl Unresolved {
    pub(super) fn new() -> Self {
        Self { own: Waiting::new(OWN), answers: Waiting::new(ANSWERS) }
    }

    /// Takes the first frames of a burst, as far as there is room. Returns the number of older frames that
    /// were dropped for them.
    pub(super) fn take(&mut self, hop: IpAddr, flow: Flow, is_own: bool, burst: &mut Burst) -> u64 {
        let waiting = if is_own { &mut self.own } else { &mut self.answers };
        while waiting.has_room(hop)
            && let Some(packet) = burst.pop()
        {
            // There is room, so the call succeeds.
            let _ = waiting.push(hop, Headless { flow, packet });
        }
        waiting.take_displaced()
    }

    /// Returns true if a frame of this flow waits.
    fn has(&self, flow: Flow) -> bool {
        self.own.iter().chain(self.answers.iter()).any(|frame| frame.flow == flow)
    }

    /// Removes a frame whose neighbour is not `resolving` any more. Returns it with the neighbour, and true
    /// if this end chose the peer.
    fn pop(&mut self, resolving: impl Fn(IpAddr) -> bool) -> Option<(IpAddr, Headless, bool)> {
        let own = self.own.pop(&resolving).map(|(hop, frame)| (hop, frame, true));
        own.or_else(|| self.answers.pop(&resolving).map(|(hop, frame)| (hop, frame, false)))
    }
}

impl QueueState {
    /// Keeps frames until their neighbour has answered, as far as there is room. When the room is full,
    /// frames to a peer that this end has chosen stay in the burst; all other frames are dropped.
    pub(super) fn keep_unresolved(&mut self, flow: Flow, is_own: bool, burst: &mut Burst) -> Sent {
        if let Some(hop) = self.network.stack.interface().next_hop(flow.peer().ip()) {
            self.network.counters.unresolved += self.network.unresolved.take(hop, flow, is_own, burst);
        }
        if is_own && !burst.is_empty() {
            return Sent::Resolving;
        }
        self.drop_unresolved(burst);
        Sent::Kept
    }

    /// Returns true if frames of this connection wait for their neighbour.
    pub(crate) fn keeps(&mut self, connection: usize) -> bool {
        let flow = *self.connections.demux.connection_mut(connection).0;
        self.network.unresolved.has(flow)
    }

    pub(super) fn drop_unresolved(&mut self, burst: &mut Burst) {
        while burst.pop().is_some() {
            self.network.counters.unresolved += 1;
        }
    }

    /// Sends the frames whose neighbours have answered, and drops the frames whose neighbours have not.
    #[cold]
    pub(crate) fn send_unresolved(&mut self) {
        if !self.network.stack.take_settled() {
            return;
        }
        let mut burst = Burst::new();
        loop {
            let network = &mut self.network;
            let stack = &mut network.stack;
            let now = network.now;
            let resolving = |hop| stack.is_resolving(hop);
            let Some((hop, frame, is_own)) = network.unresolved.pop(resolving) else { break };
            let Headless { flow, packet } = frame;
            match stack.is_resolved(hop).then(|| stack.route_back(flow, now)) {
                Some(Route::Ready(path)) => self.send_resolved(&mut burst, packet, &path),
                _ => {
                    network.counters.unresolved += 1;
                    if is_own {
                        self.connections.on_unreachable(flow, Obstacle::NoNeighbour);
                    }
                }
            }
        }
        self.send_rest(&mut burst);
    }

    fn send_resolved(&mut self, burst: &mut Burst, mut packet: Packet, path: &Path) {
        path.seal(packet.bytes_mut());
        if let Some(offloaded) = path.offloaded() {
            packet.offload(offloaded);
        }
        let pushed = burst.push(packet);
        debug_assert!(pushed.is_ok(), "it was not full");
        if burst.is_full() {
            self.send_rest(burst);
        }
    }

    /// Sends the burst. Frames that the port does not take are dropped.
    fn send_rest(&mut self, burst: &mut Burst) {
        self.network.transmitter.transmit(burst);
        while burst.pop().is_some() {
            self.network.counters.not_sent += 1;
        }
    }
}
