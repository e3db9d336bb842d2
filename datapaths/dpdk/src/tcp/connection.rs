//! A TCP connection over a port.

use super::{QUEUE, TcpBase};
use crate::device::Device;
use crate::queue::streams::{Events, NAME, Stream, failure};
use crate::queue::{Queue, QueueState, wait_for};
use bertha_core::{Buf, Connection, Error, ErrorKind, Octets, Statistics};
use bertha_netstack::Flow;
use bertha_runtime::polling::Awaited;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time for which `close` waits until the peer has acknowledged everything.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Number of messages of a burst that become segments at a time.
const BURST: usize = 32;

/// A base connection over TCP and DPDK: of messages, or of bytes with [`Chunk`](bertha_core::Chunk) as `Data`.
///
/// `send` is ready once the message is in the send buffer. A message is taken whole or not at all: if its
/// future is dropped after the message was taken, the connection sends the rest of it.
///
/// Closing or dropping the connection ends the stream; the peer then gets [`Closed`](ErrorKind::Closed) after
/// the last message, or [`Reset`](ErrorKind::Reset) if the connection was dropped before the application had
/// received everything from the peer. On a stream of bytes, the empty chunk ends only this end's half.
pub struct TcpConnection<Data = Buf> {
    device: Arc<Device>,
    key: usize,
    events: Events,
    base: TcpBase,
    closed: AtomicBool,
    /// On a stream of messages, true if the end of the peer's stream was received: sending would still work
    /// until the peer drops the connection. On a stream of bytes, true if this end has sent the end of its
    /// half.
    ended: AtomicBool,
    data: PhantomData<fn() -> Data>,
}

impl<Data> TcpConnection<Data> {
    /// Creates the handle of the connection with this number, which no other value refers to.
    pub(super) fn new(
        device: &Arc<Device>,
        state: &mut QueueState,
        key: usize,
        flow: Flow,
        largest: usize,
    ) -> Self {
        let base = TcpBase::new(largest, device.local_addr(flow), flow.peer());
        let demux = &mut state.connections.demux;
        let events = Events { receive: demux.open_event(), send: demux.open_event() };
        state.tcp.streams.set_events(key, events);
        let closed = AtomicBool::new(false);
        let ended = AtomicBool::new(false);
        Self { device: device.clone(), key, events, base, closed, ended, data: PhantomData }
    }

    fn queue(&self) -> &Queue {
        &self.device.queues[QUEUE]
    }

    /// Waits until `take` finds something, among the calls that wait for `event`.
    fn wait_for<T>(
        &self,
        event: usize,
        take: impl FnMut(&mut QueueState) -> Option<T>,
    ) -> impl Future<Output = T> {
        wait_for(&self.device.queues, QUEUE, Awaited::Event(event), take)
    }

    /// Waits for the end of the handshake.
    pub(super) async fn established(&self) -> Result<(), Error> {
        let established = |state: &mut QueueState| {
            let stream = state.tcp.streams.get_mut(self.key)?;
            if stream.is_open() {
                return Some(Ok(()));
            }
            stream.end().map(|_| Err(stream.ending(false)))
        };
        self.wait_for(self.events.send, established).await
    }

    /// Takes the next message, if it is there, and tells the peer of the room that it leaves.
    fn take(&self, state: &mut QueueState) -> Option<Result<Buf, Error>> {
        if self.closed.load(Ordering::Relaxed) {
            return Some(Err(self.base.closed()));
        }
        let taken = state.tcp.streams.get_mut(self.key)?.next();
        self.send_window_update(state);
        taken
    }

    /// Sends a window update, if the messages that were taken have left much room.
    fn send_window_update(&self, state: &mut QueueState) {
        let now = state.network.now;
        if state.tcp.streams.get_mut(self.key).is_some_and(|stream| stream.needs_window_update(now)) {
            self.transmit(state);
        }
    }

    /// Returns the next message, if it is there.
    fn next_whole(&self) -> Option<Buf> {
        let mut state = self.queue().lock();
        let next = state.tcp.streams.get_mut(self.key).and_then(|stream| stream.next_whole());
        self.send_window_update(&mut state);
        self.queue().release(state);
        next
    }

    /// Puts a message into the send buffer, behind the previous message. The message is sent together with
    /// the next, unless it is the `last` at this time.
    async fn hand_over(&self, message: Buf, last: bool) -> Result<(), Error> {
        if message.len() > self.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        let mut message = Some(message);
        let mut number = 0;
        let offer = |state: &mut QueueState| {
            let untaken = message.is_some();
            // A message that was taken is sent even if the connection is closed meanwhile.
            if untaken && self.closed.load(Ordering::Relaxed) {
                return Some(Err(self.base.closed()));
            }
            let sent = state.tcp.streams.get_mut(self.key)?.offer(&mut message, &mut number);
            // Later there is nothing to do: acknowledgements make room, and the rest is sent then.
            if untaken && message.is_none() && (last || sent.is_none()) {
                self.transmit(state);
            }
            sent
        };
        self.wait_for(self.events.send, offer).await
    }

    fn mtu(&self) -> usize {
        bertha_core::Base::mtu(&self.base)
    }

    /// Sends everything that is due.
    fn transmit(&self, state: &mut QueueState) {
        let QueueState { tcp, network, connections, .. } = state;
        tcp.step(network, connections, self.key);
        tcp.flush(network, connections);
    }

    /// Breaks the connection off. What was not sent is lost, and the peer gets a reset: its calls fail with
    /// [`Reset`](ErrorKind::Reset), where they would end after a mere drop.
    pub fn abort(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.end_by(Stream::abort);
    }

    /// Closes this end of the stream, and wakes the waiting futures.
    fn end(&self) {
        self.end_by(Stream::close);
    }

    fn end_by(&self, end: impl FnOnce(&mut Stream)) {
        let mut state = self.queue().lock();
        if let Some(stream) = state.tcp.streams.get_mut(self.key) {
            end(stream);
        }
        self.transmit(&mut state);
        for event in [self.events.receive, self.events.send] {
            state.connections.demux.announce(event);
        }
        self.queue().release(state);
    }

    /// Sends the messages in the send buffer.
    fn flush(&self) {
        let mut state = self.queue().lock();
        self.transmit(&mut state);
        self.queue().release(state);
    }
}

impl<Data: Octets> TcpConnection<Data> {
    fn check_open(&self) -> Result<(), Error> {
        // Relaxed accesses suffice: no other value depends on the flags; `close` changes the connection under
        // the lock.
        if self.closed.load(Ordering::Relaxed) {
            return Err(self.base.closed());
        }
        if self.ended.load(Ordering::Relaxed) {
            let who = if Data::HAS_BOUNDS { "the peer has ended" } else { "this end has ended" };
            return Err(failure(ErrorKind::Closed, format!("{who} the stream")));
        }
        Ok(())
    }

    /// Records an error of receiving, which may be the end of the stream.
    #[cold]
    fn not_received(&self, error: Error) -> Error {
        if Data::HAS_BOUNDS && error.ends_connection() {
            self.ended.store(true, Ordering::Relaxed);
        }
        error
    }

    /// Ends this end's half of the stream, behind everything that was sent.
    #[cold]
    fn end_half(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.end();
    }
}

impl<Data: Octets> Connection for TcpConnection<Data> {
    type Data = Data;
    type Base = TcpBase;

    fn base(&self) -> &TcpBase {
        &self.base
    }

    async fn send(&self, message: Data) -> Result<(), Error> {
        self.check_open()?;
        let message: Buf = message.into();
        if !Data::HAS_BOUNDS && message.is_empty() {
            self.end_half();
            return Ok(());
        }
        self.hand_over(message, true).await
    }

    async fn recv(&self) -> Result<Data, Error> {
        let message = self.wait_for(self.events.receive, |state| self.take(state)).await;
        message.map(Data::from).map_err(|error| self.not_received(error))
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Data> + Send) -> Result<(), Error> {
        self.check_open()?;
        let mut outcome = Ok(());
        for (number, message) in messages.enumerate() {
            let message: Buf = message.into();
            if !Data::HAS_BOUNDS && message.is_empty() {
                self.end_half();
                return Ok(());
            }
            outcome = self.hand_over(message, number % BURST == BURST - 1).await;
            if outcome.is_err() {
                break;
            }
        }
        self.flush();
        outcome
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Data> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend(Some(self.recv().await?));
        let mut received = 1;
        while received < limit {
            // The lock is not held while `into` runs.
            let Some(message) = self.next_whole() else { break };
            into.extend(Some(message.into()));
            received += 1;
        }
        Ok(received)
    }

    /// Waits until the peer has acknowledged every message that the stack has taken.
    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        self.end();
        let flushed = |state: &mut QueueState| {
            state.tcp.streams.get_mut(self.key).is_none_or(|stream| stream.is_flushed()).then_some(())
        };
        let flushed = self.wait_for(self.events.send, flushed);
        if tokio::time::timeout(CLOSE_TIMEOUT, flushed).await.is_err() {
            tracing::debug!(peer = %bertha_core::Base::peer_addr(&self.base), datapath = NAME, "closed before the peer has acknowledged everything");
        }
        Ok(())
    }

    fn observe(&self, into: &mut Statistics) {
        into.add_shared("Dpdk", &*self.device, self.device.statistics());
    }
}

impl<Data> Drop for TcpConnection<Data> {
    fn drop(&mut self) {
        let mut state = self.queue().lock();
        let now = state.network.now;
        state.tcp.streams.let_go(self.key, now);
        self.transmit(&mut state);
        for event in [self.events.receive, self.events.send] {
            state.connections.demux.close_event(event);
        }
        self.queue().release(state);
    }
}

impl<Data> fmt::Debug for TcpConnection<Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpConnection")
            .field("peer", &bertha_core::Base::peer_addr(&self.base))
            .finish_non_exhaustive()
    }
}
