//! One queue of a port with its stack and its connections: what is behind a lane's lock.

use crate::catch::Catch;
use crate::demux::{Demux, Limits, Undelivered};
use crate::port::{Receiver, Shared};
use crate::sending::Sending;
use crate::steering::{Steered, Steering};
#[cfg(feature = "tcp")]
use crate::tcp::Driver;
use crate::{Burst, Counters, Packet, Pool, QueueCounters};
use bertha_core::{Buf, Error};
use bertha_netstack::{Arrival, Flow, Stack};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// How many connections of a listener wait to be accepted.
const BACKLOG: usize = 1024;

/// How many messages of a connection wait to be received.
const QUEUE: usize = 1024;

/// How many lists for what is left of bursts are kept: as many as sends that wait at once, mostly.
const SPARE: usize = 64;

/// How often the clock is looked at while frames arrive. What depends on it lasts seconds.
const POLLS_PER_LOOK: u32 = 64;

/// All of a lane that must not be used by two at once.
pub(crate) struct State {
    pub(crate) lane: usize,
    /// Nothing if the port has fewer queues than there are lanes.
    receiver: Option<Receiver>,
    pub(crate) sending: Sending,
    /// Nothing if this is the only lane.
    steering: Option<Steering>,
    port: Arc<Shared>,
    pub(crate) stack: Stack,
    pub(crate) demux: Demux,
    /// All segments arrive in the first lane.
    #[cfg(feature = "tcp")]
    pub(crate) tcp: Driver,
    /// What has arrived and was not sorted in. Empty whenever the lock is free; kept, so that nothing has to be made.
    arrived: Burst,
    /// Frames of the stack's own. Likewise.
    answers: Burst,
    /// For what is left of bursts that the port did not take, so that nothing has to be made while it is busy.
    #[expect(clippy::vec_box, reason = "they leave in their boxes")]
    spare: Vec<Box<Burst>>,
    /// The time as of the last look.
    pub(crate) now: Instant,
    polls: u32,
    /// Polls in a row that found nothing.
    pub(crate) idle: u32,
    /// Polls since the keeper has looked.
    pub(crate) since_kept: u32,
    pub(crate) counters: Counters,
    pub(crate) queue_counters: QueueCounters,
    /// The link was up when it was last looked at.
    was_up: bool,
}

impl State {
    /// With the port's queue and what else belongs to this `lane` alone; `shared` messages may wait to be received.
    pub(crate) fn new(
        lane: usize,
        shared: usize,
        (receiver, sending): (Option<Receiver>, Sending),
        steering: Option<Steering>,
        port: Arc<Shared>,
        stack: Stack,
        now: Instant,
    ) -> Self {
        Self {
            lane,
            receiver,
            sending,
            steering,
            port,
            demux: Demux::new(Limits { backlog: BACKLOG, queue: QUEUE, shared }),
            #[cfg(feature = "tcp")]
            tcp: Driver::new(stack.interface(), now),
            stack,
            arrived: Burst::new(),
            answers: Burst::new(),
            spare: Vec::new(),
            now,
            polls: 0,
            idle: 0,
            since_kept: 0,
            counters: Counters::default(),
            queue_counters: QueueCounters::default(),
            was_up: false,
        }
    }

    /// Polls the port once and sorts in what has arrived, into `catch` what is for that: how many frames there were.
    #[inline]
    pub(crate) fn poll(&mut self, pool: &Pool, catch: &mut Catch<'_>) -> usize {
        let received = match &mut self.receiver {
            Some(receiver) => receiver.receive(&mut self.arrived),
            None => 0,
        };
        self.since_kept = self.since_kept.wrapping_add(1);
        self.polls += 1;
        // Nothing, most times: how soon a message is noticed depends on how long this takes.
        if received == 0 && self.polls < POLLS_PER_LOOK && self.steering.is_none() {
            self.idle = self.idle.saturating_add(1);
            return 0;
        }
        self.deal_with(received, pool, catch)
    }

    /// Does what is due, and sorts in so many frames that have arrived.
    #[inline(never)]
    fn deal_with(&mut self, received: usize, pool: &Pool, catch: &mut Catch<'_>) -> usize {
        if self.polls >= POLLS_PER_LOOK {
            self.look_around(pool);
        }
        if self.steering.is_some() {
            return self.poll_steered(received, pool, catch);
        }
        if received == 0 {
            self.idle = self.idle.saturating_add(1);
            return 0;
        }
        self.idle = 0;
        self.sort_in_arrived(pool, catch);
        #[cfg(feature = "tcp")]
        self.flush(pool);
        if self.stack.has_frames() {
            self.send_answers(pool);
        }
        received
    }

    /// Sorts in what has arrived of several lanes' frames, and what others have handed over.
    fn poll_steered(&mut self, received: usize, pool: &Pool, catch: &mut Catch<'_>) -> usize {
        self.queue_counters.received += received as u64;
        self.steer_arrived(false, pool, catch);
        let handed = self.steering.as_ref().map_or(0, |steering| steering.take(&mut self.arrived));
        self.queue_counters.taken_over += handed as u64;
        self.steer_arrived(true, pool, catch);
        let found = received + handed;
        if found == 0 {
            self.idle = self.idle.saturating_add(1);
            return 0;
        }
        self.idle = 0;
        #[cfg(feature = "tcp")]
        self.flush(pool);
        if let Some(steering) = &mut self.steering {
            self.counters.ring_full += steering.flush();
        }
        if self.stack.has_frames() {
            self.send_answers(pool);
        }
        found
    }

    /// Sorts in what has arrived or was `handed` over, as far as it belongs here.
    fn steer_arrived(&mut self, handed: bool, pool: &Pool, catch: &mut Catch<'_>) {
        while let Some(packet) = self.arrived.pop() {
            let Some(steering) = &mut self.steering else { return self.sort_in(packet, pool) };
            match steering.steer(packet, handed) {
                Steered::Keep(packet) => match catch.offer(packet) {
                    Ok(()) => {}
                    Err(packet) => {
                        self.sort_in(packet, pool);
                        catch.line_up(&mut self.demux);
                    }
                },
                Steered::Overhear(packet) => self.overhear(packet),
                Steered::HandedOn => self.queue_counters.handed_on += 1,
            }
        }
    }

    /// Learns from what another lane has dealt with.
    fn overhear(&mut self, packet: Packet) {
        let checksums = packet.checksums();
        match self.stack.overhear(&mut packet.into_buf(), checksums, self.now) {
            Arrival::Unreachable(flow) => self.demux.fail(flow),
            Arrival::TooBig { flow, mtu } => self.narrow(flow, mtu),
            Arrival::Datagram { .. } | Arrival::Segment { .. } | Arrival::Reply(_) | Arrival::Nothing => {}
        }
    }

    pub(crate) fn look_at_clock(&mut self) {
        self.now = Instant::now();
        self.polls = 0;
        if self.stack.path_mtu_expires_at().is_some_and(|at| at <= self.now) {
            self.widen();
        }
    }

    /// Does what is due by the clock.
    #[cfg_attr(not(feature = "tcp"), expect(unused_variables, reason = "datagrams have no clock"))]
    pub(crate) fn look_around(&mut self, pool: &Pool) {
        self.look_at_clock();
        #[cfg(feature = "tcp")]
        self.drive(pool);
    }

    /// Hands messages of the connection that polls to it at once, and sorts in whatever else there is.
    #[inline]
    fn sort_in_arrived(&mut self, pool: &Pool, catch: &mut Catch<'_>) {
        loop {
            catch.take_from(&mut self.arrived);
            // Not for the connection that polls.
            let Some(packet) = self.arrived.pop() else { return };
            self.sort_in(packet, pool);
            catch.line_up(&mut self.demux);
        }
    }

    #[inline(never)]
    #[cfg_attr(not(feature = "tcp"), expect(unused_variables, reason = "datagrams need no buffers"))]
    fn sort_in(&mut self, packet: Packet, pool: &Pool) {
        let checksums = packet.checksums();
        let mut frame = packet.into_buf();
        match self.stack.receive(&mut frame, checksums, self.now) {
            Arrival::Datagram { flow, payload } => {
                let undelivered = match self.demux.find(flow) {
                    Ok(connection) => {
                        frame.truncate(payload.end);
                        // Within the frame, as the stack promises.
                        let _ = frame.advance(payload.start);
                        self.demux.deliver(connection, frame)
                    }
                    Err(Undelivered::Closed) => {
                        self.stack.refuse(&frame, self.now);
                        Err(Undelivered::Closed)
                    }
                    Err(undelivered) => Err(undelivered),
                };
                if let Err(undelivered) = undelivered {
                    self.count(undelivered);
                }
            }
            Arrival::Reply(len) => {
                frame.truncate(len);
                if let Ok(packet) = Packet::from_buf(frame) {
                    self.answer(packet);
                }
            }
            #[cfg(feature = "tcp")]
            Arrival::Segment { flow, packet, opens } => self.take_segment(pool, &frame, flow, packet, opens),
            #[cfg(not(feature = "tcp"))]
            Arrival::Segment { .. } => self.counters.unknown += 1,
            Arrival::Unreachable(flow) => self.demux.fail(flow),
            Arrival::TooBig { flow, mtu } => self.narrow(flow, mtu),
            Arrival::Nothing => {}
        }
    }

    /// A router says that a path carries less. Only who knows a flow that uses it is believed.
    #[cold]
    fn narrow(&mut self, flow: Flow, mtu: usize) {
        let peer = flow.peer().ip();
        if self.demux.knows(flow) && self.stack.reduce_path_mtu(peer, mtu, self.now) {
            self.demux.set_most(peer, self.stack.max_payload(peer));
        }
    }

    /// Paths that were narrow some time ago may carry more by now.
    #[cold]
    fn widen(&mut self) {
        while let Some(peer) = self.stack.poll_expired_path_mtu(self.now) {
            self.demux.set_most(peer, self.stack.max_payload(peer));
        }
    }

    /// Where the largest message stands that the path of a new connection to `peer` carries. Kept up to date.
    pub(crate) fn watch_path(&mut self, connection: usize, peer: IpAddr) -> Arc<AtomicUsize> {
        let most = self.demux.most(connection);
        most.store(self.stack.max_payload(peer), Ordering::Relaxed);
        most
    }

    #[cold]
    fn count(&mut self, undelivered: Undelivered) {
        match undelivered {
            Undelivered::Closed | Undelivered::Unknown => self.counters.unknown += 1,
            Undelivered::Overflow => self.counters.overflow += 1,
        }
    }

    /// Delivers a message of `flow`, whose peer is this interface itself.
    pub(crate) fn deliver_here(&mut self, flow: Flow, message: Buf) {
        let (peer, port) = (flow.peer(), flow.local_port);
        let back = Flow::new((peer.ip(), port).into(), peer.port());
        let delivered = match self.demux.find(back) {
            Ok(connection) => self.demux.deliver(connection, message),
            Err(undelivered) => Err(undelivered),
        };
        if let Err(undelivered) = delivered {
            self.count(undelivered);
            if undelivered == Undelivered::Closed {
                self.demux.fail(flow);
            }
        }
    }

    /// Sends a frame of the stack's own; what the port does not take is dropped, for the other end asks again.
    fn answer(&mut self, packet: Packet) {
        if self.answers.push(packet).is_ok() {
            self.sending.transmit(&mut self.answers);
        }
        while self.answers.pop().is_some() {
            self.counters.not_sent += 1;
        }
    }

    /// Sends what the stack has to say.
    #[cold]
    pub(crate) fn send_answers(&mut self, pool: &Pool) {
        loop {
            let copy = self.stack.poll_transmit(|frame| {
                let mut copy = pool.buffer(frame.len(), 0)?;
                copy.copy_from_slice(frame);
                Ok::<Buf, Error>(copy)
            });
            match copy {
                None => return,
                Some(Ok(frame)) => {
                    if let Ok(packet) = Packet::from_buf(frame) {
                        self.answer(packet);
                    }
                }
                Some(Err(_)) => self.counters.not_sent += 1,
            }
        }
    }

    /// Hands frames to the port; what it did not take stays in the burst.
    #[inline]
    pub(crate) fn transmit(&mut self, burst: &mut Burst) -> usize {
        self.sending.transmit(burst)
    }

    /// Whether the link is up. When it comes up, the neighbours are told who is here.
    pub(crate) fn is_up(&mut self) -> bool {
        let up = self.port.is_up();
        // Once, whatever the number of lanes.
        if up && !self.was_up && self.lane == 0 {
            self.stack.announce();
        }
        self.was_up = up;
        up
    }

    /// Keeps what is left of a burst elsewhere than on the stack.
    #[cold]
    pub(crate) fn keep(&mut self, burst: &mut Burst) -> Box<Burst> {
        let mut kept = self.spare.pop().unwrap_or_default();
        std::mem::swap(&mut *kept, burst);
        kept
    }

    /// Takes back what [`keep`](Self::keep) gave, for later.
    pub(crate) fn give_back(&mut self, mut kept: Box<Burst>) {
        if self.spare.len() < SPARE {
            while kept.pop().is_some() {}
            self.spare.push(kept);
        }
    }

    pub(crate) fn count_copies(&mut self, copied: u64) {
        self.counters.copied += copied;
    }
}
