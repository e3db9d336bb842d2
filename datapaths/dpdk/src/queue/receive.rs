//! Arriving frames: from the port to the connection whose future polls, or into the queues of other
//! connections.

use super::connections::{Obstacle, Undelivered};
use super::steering::Steered;
use super::{POLLS_PER_TICK, Queue, QueueState, look_after_another};
use crate::config::Polling;
use crate::eal::enter_thread;
use crate::mbuf::{Burst, Packet};
use crate::port::PortHandle;
use bertha_core::Buf;
use bertha_dpdk_sys as sys;
use bertha_netstack::{Arrival, Flow, Prediction};
#[cfg(feature = "tcp")]
use bertha_runtime::polling::{Awaited, PollGuard};
use bertha_runtime::polling::{Demux, ReceiveBatch, Received, Role, Source, WaiterKey, release};
use parking_lot::MutexGuard;
use std::convert::Infallible;
#[cfg(feature = "tcp")]
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
#[cfg(feature = "tcp")]
use std::task::ready;
use std::task::{Context, Poll};
use tokio::task::yield_now;

/// Number of attempts of a waiting future before it lets other tasks run. Together they take a microsecond or
/// two. A message is noticed sooner than if each attempt went through the scheduler, which asks the system
/// for events each time.
const ATTEMPTS: u32 = 8;

/// Number of polls in each attempt. The lock is not released between them, since releasing it takes as long
/// as a poll.
const POLLS: u32 = 8;

/// Number of futile polls after which a waiting future also gives the processor away, in case the sender has
/// none.
const IDLE: u32 = 16 * ATTEMPTS * POLLS;

/// A receive queue of a port.
// The value is the only `RxQueue` with its port and number.
pub(crate) struct RxQueue {
    port: Arc<PortHandle>,
    number: u16,
}

impl RxQueue {
    /// # Safety
    /// The port was set up with a receive queue of this number, and the function is called once for each
    /// number.
    pub(crate) unsafe fn new(port: Arc<PortHandle>, number: u16) -> Self {
        Self { port, number }
    }

    /// Appends arrived frames to `burst`, as far as it has room. Returns the number of appended frames.
    #[inline]
    pub(crate) fn receive(&mut self, burst: &mut Burst) -> usize {
        let port = self.port.number;
        let number = self.number;
        let mut dropped = 0;
        let receive = |frames, count| {
            // SAFETY: the port is open as long as its handle lives. No other thread receives from the queue:
            // `self` is exclusive, and the only value of its number. `receive_with` gives room for `count` frames.
            unsafe { sys::bertha_dpdk_receive(port, number, frames, count, &mut dropped) }
        };
        // SAFETY: the shim returns the number of frames that it wrote, at most `count`. Their mbufs are from
        // the port's pool, and belong to the caller as `rte_eth_rx_burst` returns them; each frame is in a
        // single segment, within its memory.
        let received = unsafe { burst.receive_with(receive) };
        if dropped > 0 {
            self.port.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
        received
    }
}

/// A queue, as a receiving call polls it.
pub(crate) struct QueueSource<'a> {
    queues: &'a [Queue],
    number: usize,
    /// Recogniser of datagrams for the connection that receives; `None` if all messages go through its queue.
    prediction: Option<&'a Prediction>,
    /// Number of consecutive futile polls.
    idle: u32,
}

impl<'a> QueueSource<'a> {
    /// Creates the source of the queue with this number.
    #[inline]
    pub(crate) fn new(queues: &'a [Queue], number: usize) -> Self {
        Self { queues, number, prediction: None, idle: 0 }
    }

    /// Sets the recogniser of a connection's datagrams.
    #[inline]
    pub(crate) fn with_prediction(self, prediction: Option<&'a Prediction>) -> Self {
        Self { prediction, ..self }
    }

    #[inline]
    fn queue(&self) -> &'a Queue {
        &self.queues[self.number]
    }
}

impl<'a> Source<'a> for QueueSource<'a> {
    type State = QueueState;
    type Key = Flow;
    type Connection = super::connections::ConnectionState;
    type Message = Buf;
    type Error = Infallible;

    #[inline]
    fn lock(&self) -> MutexGuard<'a, QueueState> {
        self.queue().lock()
    }

    #[inline]
    fn demux(state: &mut QueueState) -> &mut Demux<Flow, Self::Connection> {
        &mut state.connections.demux
    }

    #[inline]
    fn receive(
        &mut self,
        mut state: MutexGuard<'a, QueueState>,
        key: &WaiterKey,
        batch: &mut ReceiveBatch<Buf>,
    ) -> (MutexGuard<'a, QueueState>, Received<Infallible>) {
        let queue = self.queue();
        if queue.polling == Polling::Thread {
            return (state, Received::Excluded(Role::Onlooker));
        }
        // With caches, the thread allocates cheaply: the port takes a buffer for each frame that it receives,
        // and returns a buffer for each frame that it has sent.
        enter_thread();
        queue.on_poll();
        let polls = if state.connections.demux.follows(key) { 1 } else { POLLS };
        let received = (0..polls).any(|_| state.poll(batch, self.prediction) > 0);
        self.idle = state.idle;
        (state, if received { Received::Messages } else { Received::Nothing })
    }

    #[inline]
    fn attempts(&mut self, follows: bool) -> u32 {
        if follows { 1 } else { ATTEMPTS }
    }

    fn arm(
        &mut self,
        state: MutexGuard<'a, QueueState>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Infallible>> {
        release(self, state);
        look_after_another(self.queues, self.number);
        if self.idle >= IDLE {
            std::thread::yield_now();
        }
        // The task yields in place of `wake_by_ref`: the runtime would poll the woken task many times before
        // it turns to other tasks, or to its reactor. The yielding future is ready at its second poll.
        let _ = pin!(yield_now()).poll(cx);
        Poll::Pending
    }

    /// Does nothing: this future is likely to be the next that polls; otherwise the poll thread promotes
    /// another future.
    #[inline]
    fn hand_over(&mut self, _: &mut QueueState) {}
}

/// Waits until `take` finds something in the state of the queue with this number, and polls the queue
/// meanwhile.
#[cfg(feature = "tcp")]
pub(crate) fn wait_for<T>(
    queues: &[Queue],
    number: usize,
    awaited: Awaited,
    mut take: impl FnMut(&mut QueueState) -> Option<T>,
) -> impl Future<Output = T> {
    let mut guard = PollGuard::new(QueueSource::new(queues, number), awaited);
    poll_fn(move |cx| {
        let Ok(found) = ready!(guard.poll(cx, &mut ReceiveBatch::none(), |state, _| take(state)));
        Poll::Ready(found)
    })
}

impl QueueState {
    /// Polls once, and delivers all messages to the queues of their connections. Returns the number of
    /// frames.
    pub(crate) fn poll_for_others(&mut self) -> usize {
        self.poll(&mut ReceiveBatch::none(), None)
    }

    /// Polls the port once, and sorts the arrived frames: frames that `prediction` recognises go into `batch`
    /// as long as it wants more, all others to their connections. Returns the number of frames.
    #[inline]
    pub(crate) fn poll(&mut self, batch: &mut ReceiveBatch<Buf>, prediction: Option<&Prediction>) -> usize {
        let received = match &mut self.rx {
            Some(rx) => rx.receive(&mut self.arrived),
            None => 0,
        };
        self.polls_since_tick = self.polls_since_tick.wrapping_add(1);
        self.polls += 1;
        // Most polls find nothing: the length of this path decides how soon a message is noticed.
        if received == 0 && self.polls < POLLS_PER_TICK && self.steering.is_none() {
            self.idle = self.idle.saturating_add(1);
            return 0;
        }
        self.process(received, batch, prediction)
    }

    /// Does everything that is due, and sorts the `received` frames.
    #[inline(never)]
    fn process(
        &mut self,
        received: usize,
        batch: &mut ReceiveBatch<Buf>,
        prediction: Option<&Prediction>,
    ) -> usize {
        if self.polls >= POLLS_PER_TICK {
            self.tick();
        }
        let found = if self.steering.is_some() {
            self.sort_in_steered(received, batch, prediction)
        } else {
            self.sort_in_arrived(batch, prediction);
            received
        };
        if found == 0 {
            self.idle = self.idle.saturating_add(1);
            return 0;
        }
        self.idle = 0;
        #[cfg(feature = "tcp")]
        self.tcp.flush(&mut self.network, &mut self.connections);
        if let Some(steering) = &mut self.steering {
            self.network.counters.ring_full += steering.flush();
        }
        if self.network.stack.has_news() {
            self.network.send_replies();
            self.send_unresolved();
        }
        found
    }

    /// Sorts the arrived frames. Frames of the polling connection bypass the stack and its queue.
    #[inline]
    fn sort_in_arrived(&mut self, batch: &mut ReceiveBatch<Buf>, prediction: Option<&Prediction>) {
        // Most frames belong to the polling connection.
        while let Some(prediction) = prediction
            && !batch.is_full()
            && let Some(packet) = self.arrived.pop()
        {
            self.sort_in_own(packet, batch, prediction);
        }
        while let Some(packet) = self.arrived.pop() {
            self.sort_in(packet);
        }
    }

    /// Sorts a frame while `batch` is not full: into the batch, if `prediction` recognises the frame.
    // Inlining is forced, since the function is called in loops: a call would save and restore registers for
    // each message.
    #[inline(always)]
    fn sort_in_own(&mut self, packet: Packet, batch: &mut ReceiveBatch<Buf>, prediction: &Prediction) {
        if let Some(payload) = prediction.payload(packet.bytes(), packet.checksums()) {
            return batch.push(packet.into_part(payload));
        }
        self.sort_in(packet);
        if let Some(connection) = batch.connection() {
            self.connections.demux.keep_order(connection, batch);
        }
    }

    /// Sorts frames where the port has several queues: frames that have arrived, and frames that other queues
    /// have handed over. Returns the number of frames.
    fn sort_in_steered(
        &mut self,
        received: usize,
        batch: &mut ReceiveBatch<Buf>,
        prediction: Option<&Prediction>,
    ) -> usize {
        self.counters.received += received as u64;
        self.steer_arrived(false, batch, prediction);
        let handed = self.steering.as_ref().map_or(0, |steering| steering.take(&mut self.arrived));
        self.counters.taken_over += handed as u64;
        self.steer_arrived(true, batch, prediction);
        received + handed
    }

    /// Sorts the frames of this queue, which arrived or were `handed` over, and hands all other frames over.
    fn steer_arrived(
        &mut self,
        handed: bool,
        batch: &mut ReceiveBatch<Buf>,
        prediction: Option<&Prediction>,
    ) {
        while let Some(packet) = self.arrived.pop() {
            let Some(steering) = &mut self.steering else { return self.sort_in(packet) };
            match steering.steer(packet, handed) {
                Steered::Keep(packet) => match prediction.filter(|_| !batch.is_full()) {
                    Some(prediction) => self.sort_in_own(packet, batch, prediction),
                    None => self.sort_in(packet),
                },
                Steered::Overhear(packet) => self.overhear(packet),
                Steered::HandedOn => self.counters.handed_on += 1,
            }
        }
    }

    /// Learns from a frame that another queue has received.
    fn overhear(&mut self, packet: Packet) {
        let checksums = packet.checksums();
        match self.network.stack.overhear(&mut packet.into_buf(), checksums, self.network.now) {
            Arrival::Refused(flow) => self.connections.on_unreachable(flow, Obstacle::Refused),
            Arrival::Unreachable(flow) => self.on_undelivered(flow),
            Arrival::TooBig { flow, mtu } => self.reduce_path_mtu(flow, mtu),
            Arrival::Datagram { .. } | Arrival::Segment { .. } | Arrival::Reply(_) | Arrival::Nothing => {}
        }
    }

    /// Passes a frame through the stack to its connection.
    #[inline(never)]
    fn sort_in(&mut self, packet: Packet) {
        let checksums = packet.checksums();
        let mut frame = packet.into_buf();
        match self.network.stack.receive(&mut frame, checksums, self.network.now) {
            Arrival::Datagram { flow, payload } => match self.connections.find(flow) {
                Ok(connection) => {
                    self.connections.count_mark(connection, &frame, payload.len());
                    frame.truncate(payload.end);
                    // The call can't fail: the payload lies within the frame, as the stack promises.
                    let _ = frame.advance(payload.start);
                    self.deliver(connection, frame);
                    self.network.counters.unknown += self.connections.demux.take_evicted() as u64;
                }
                Err(undelivered) => {
                    if undelivered == Undelivered::Closed {
                        self.network.stack.refuse(&frame, self.network.now);
                    }
                    self.network.counters.unknown += 1;
                }
            },
            Arrival::Reply(len) => {
                frame.truncate(len);
                if let Ok(packet) = Packet::from_buf(frame) {
                    self.network.send_reply(packet);
                }
            }
            #[cfg(feature = "tcp")]
            Arrival::Segment { flow, packet, opens } => {
                let segment = super::streams::Segment { flow, packet: &mut frame[packet], opens };
                if !self.tcp.receive(&mut self.network, &mut self.connections, segment) {
                    self.network.stack.refuse(&frame, self.network.now);
                }
            }
            #[cfg(not(feature = "tcp"))]
            Arrival::Segment { .. } => {
                self.network.counters.unknown += 1;
                self.network.stack.refuse(&frame, self.network.now);
            }
            Arrival::Refused(flow) => self.connections.on_unreachable(flow, Obstacle::Refused),
            Arrival::Unreachable(flow) => self.on_undelivered(flow),
            Arrival::TooBig { flow, mtu } => self.reduce_path_mtu(flow, mtu),
            Arrival::Nothing => {}
        }
    }

    /// Records that a router could not deliver a message. This ends no connection: the next message may
    /// arrive (RFC 1122, section 4.2.3.9).
    fn on_undelivered(&mut self, flow: Flow) {
        if self.connections.demux.find(&flow).is_some() {
            tracing::debug!(peer = %flow.peer(), "a message did not reach the peer's host, says a router");
        }
    }

    #[inline]
    fn deliver(&mut self, connection: usize, message: Buf) {
        if self.connections.deliver(connection, message).is_err() {
            self.network.counters.overflow += 1;
        }
    }

    /// Delivers a message of `flow`, whose peer is this interface itself.
    pub(super) fn deliver_locally(&mut self, flow: Flow, message: Buf) {
        let peer = flow.peer();
        // Both ends have the address.
        let back = Flow::new((peer.ip(), flow.local_port()).into(), peer.port()).at(flow.number());
        match self.connections.find(back) {
            Ok(connection) => self.deliver(connection, message),
            Err(undelivered) => {
                self.network.counters.unknown += 1;
                if undelivered == Undelivered::Closed {
                    self.connections.on_unreachable(flow, Obstacle::Refused);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marked::Marked;
    use crate::open::open;
    use crate::queue::{Connected, Network, Parts, Transmitter};
    use crate::{Config, Pool};
    use bertha_core::EcnMarks;
    use bertha_netstack::{Checksums, Interface, MacAddr, Path, Route, Stack};
    use std::time::Instant;

    fn stack(number: u8, now: Instant) -> Stack {
        let subnet = format!("10.0.0.{number}/24").parse().unwrap();
        Stack::new(Interface::new(MacAddr([2, 0, 0, 0, 0, number]), 1500, None, &[subnet], &[]).unwrap(), now)
    }

    /// A queue with a single connection, and the headers of its peer's datagrams.
    struct World {
        queue: Queue,
        pool: Pool,
        connection: usize,
        prediction: Prediction,
        path: Path,
    }

    impl World {
        /// Opens the world; returns `None` without DPDK.
        fn new(device: &str) -> Option<Self> {
            if !crate::AVAILABLE {
                assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
                return None;
            }
            let config = Config { buffers: 8191, ..Config::new(device, "10.0.0.1/24") };
            let port = open(&config).unwrap().handle;
            let (pool, now) = (port.pool, Instant::now());
            let (mut ours, mut theirs) = (stack(1, now), stack(2, now));
            let peer = "10.0.0.2:4000".parse().unwrap();
            let network = |stack| Network::new(0, port, stack, Transmitter::None, now);
            let parts = |stack| Parts { rx: None, network: network(stack), steering: None, max_queued: 1000 };
            // The neighbour asks for the address, and is answered.
            let there = |local_port| Flow::new(([10, 0, 0, 1], local_port).into(), 4000);
            let _ = theirs.route(there(9), now);
            let question = theirs.poll_transmit(<[u8]>::to_vec).unwrap();
            ours.receive(&mut question.clone(), Checksums::Unknown, now);
            let answer = ours.poll_transmit(<[u8]>::to_vec).unwrap();
            theirs.receive(&mut answer.clone(), Checksums::Unknown, now);
            let queue = Queue::new(0, Polling::Inline, parts(ours));
            let mut state = queue.lock();
            let Connected { connection, flow } = state.connections.connect(peer, 0, 1, |_| true).unwrap();
            let prediction = state.network.stack.predict(flow).unwrap();
            drop(state);
            let Route::Ready(path) = theirs.route(there(flow.local_port()), now) else { panic!("no answer") };
            Some(Self { queue, pool, connection, prediction, path })
        }

        /// Delivers a datagram of the connection, whole or damaged.
        fn arrive(&self, byte: u8, damaged: bool) {
            let mut frame = self.pool.buffer(self.path.len() + 3, 0).unwrap();
            frame[self.path.len()..].fill(byte);
            self.path.seal(&mut frame);
            frame[44] ^= u8::from(damaged);
            self.queue.lock().arrived.push(Packet::from_buf(frame).unwrap()).unwrap();
        }

        /// Sorts everything that has arrived, for a call that wants `max` messages.
        fn sort_in(&self, max: usize) -> ReceiveBatch<Buf> {
            let mut batch = ReceiveBatch::new(self.connection, max);
            self.queue.lock().sort_in_arrived(&mut batch, Some(&self.prediction));
            batch
        }

        fn queued(&self) -> Vec<u8> {
            let mut state = self.queue.lock();
            std::iter::from_fn(|| state.connections.demux.pop(self.connection)).map(|it| it[0]).collect()
        }
    }

    fn bytes(mut batch: ReceiveBatch<Buf>) -> Vec<u8> {
        batch.drain().map(|message| message[0]).collect()
    }

    #[test]
    fn marks_are_counted_once_that_is_asked_for() {
        let Some(mut world) = World::new("net_null24") else { return };
        let marked = Arc::<Marked>::default();
        world.path = world.path.clone().markable();
        let arrive = |world: &World, has_mark: bool| {
            let mut frame = world.pool.buffer(world.path.len() + 3, 0).unwrap();
            frame[world.path.len()..].fill(7);
            world.path.seal(&mut frame);
            if has_mark {
                // The frame changes as in a router, which also adjusts the checksum: its complement grows by
                // as much as the word shrinks.
                frame[15] |= 1;
                let checksum = u16::from_be_bytes([frame[24], frame[25]]);
                frame[24..26].copy_from_slice(&(checksum - 1).to_be_bytes());
            }
            let mut state = world.queue.lock();
            state.arrived.push(Packet::from_buf(frame).unwrap()).unwrap();
            state.sort_in_arrived(&mut ReceiveBatch::none(), None);
        };
        arrive(&world, true);
        assert_eq!(marked.marks(), EcnMarks::default());
        world.queue.lock().connections.set_ecn(world.connection, true, &marked);
        for has_mark in [true, false, true] {
            arrive(&world, has_mark);
        }
        assert_eq!(marked.marks(), EcnMarks { datagrams: 2, bytes: 6 });
        assert_eq!(world.queued(), [7; 4]);
    }

    #[test]
    fn messages_are_taken_in_order_up_to_the_limit_and_the_others_wait() {
        let Some(world) = World::new("net_null21") else { return };
        let before = world.pool.in_use();
        (0..6).for_each(|byte| world.arrive(byte, byte == 3));
        assert_eq!(bytes(world.sort_in(2)), [0, 1]);
        assert_eq!(world.queued(), [2, 4, 5]);
        assert_eq!(world.queue.lock().network.stack.counters().checksum, 1, "one is damaged");
        (0..3).for_each(|byte| world.arrive(byte, byte == 0));
        assert_eq!(bytes(world.sort_in(32)), [1, 2]);
        world.arrive(7, false);
        drop(world.sort_in(1));
        assert_eq!(world.pool.in_use(), before, "buffers were kept");
    }

    #[test]
    fn no_message_overtakes_one_that_waits_in_the_queue() {
        let Some(world) = World::new("net_null22") else { return };
        world.arrive(1, false);
        world.arrive(2, false);
        // A datagram that is not recognised comes in between.
        let mut batch = ReceiveBatch::new(world.connection, 3);
        let mut state = world.queue.lock();
        state.sort_in_arrived(&mut batch, Some(&world.prediction));
        drop(state);
        let mut unrecognised = world.pool.buffer(3, 0).unwrap();
        unrecognised.fill(3);
        let mut state = world.queue.lock();
        state.connections.deliver(world.connection, unrecognised).unwrap();
        state.connections.demux.keep_order(world.connection, &mut batch);
        drop(state);
        world.arrive(4, false);
        let mut state = world.queue.lock();
        state.sort_in_arrived(&mut batch, Some(&world.prediction));
        drop(state);
        assert_eq!((bytes(batch), world.queued()), (vec![1, 2], vec![3, 4]));
    }
}
