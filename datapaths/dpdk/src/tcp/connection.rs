//! A TCP connection over a port.

use super::{LANE, NAME, TcpBase, failure};
use crate::demux::Owner;
use crate::device::Device;
use crate::state::State;
use crate::visit::Visit;
use bertha_core::{Buf, Connection, Error, ErrorKind};
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long `close` waits until the peer has acknowledged everything.
const LAST_ACKNOWLEDGEMENT: Duration = Duration::from_secs(1);

/// How many messages of a burst are made segments of at a time.
const TOGETHER: usize = 32;

/// A base connection over TCP and DPDK.
///
/// `send` is ready once the message is in the send buffer. It is taken whole or not at all: a future that is dropped later than
/// that leaves the rest to the connection.
///
/// Closing or dropping the connection ends the stream; the peer then gets [`Closed`](ErrorKind::Closed) after the last message, or
/// [`Reset`](ErrorKind::Reset) if it had sent something that nobody received before the connection was dropped.
pub struct TcpConnection {
    device: Arc<Device>,
    key: usize,
    /// Where the futures wait that want a message, and those that want to send one.
    places: [usize; 2],
    base: TcpBase,
    closed: AtomicBool,
    /// Whether the peer's end of the stream was received. Sending would still work until the peer lets go of it.
    ended: AtomicBool,
}

impl TcpConnection {
    /// The connection with this number, which is in nobody's hands.
    pub(super) fn new(
        device: &Arc<Device>,
        state: &mut State,
        key: usize,
        port: u16,
        peer: SocketAddr,
        largest: usize,
    ) -> Self {
        let own = device.interface().address_for(peer.ip()).unwrap_or(peer.ip());
        let base = TcpBase::new(largest, (own, port).into(), peer);
        let places = [state.demux.open_place(), state.demux.open_place()];
        state.tcp.streams.set_places(key, places);
        let (closed, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { device: device.clone(), key, places, base, closed, ended }
    }

    fn open(&self) -> Result<(), Error> {
        // Relaxed: the flags stand for themselves; what `close` did to the connection is under the lock.
        if self.closed.load(Ordering::Relaxed) {
            return Err(self.base.closed());
        }
        if self.ended.load(Ordering::Relaxed) {
            return Err(failure(ErrorKind::Closed, "the peer has closed the stream"));
        }
        Ok(())
    }

    /// The handshake is over.
    pub(super) async fn established(&self) -> Result<(), Error> {
        let mut visit = Visit::new(&self.device, LANE, Owner::Place(self.places[1]));
        let made = |state: &mut State| {
            let stream = state.tcp.streams.get_mut(self.key)?;
            if stream.is_open() {
                return Some(Ok(()));
            }
            stream.end().map(|_| Err(stream.ending(false)))
        };
        poll_fn(|cx| visit.poll(cx, made)).await
    }

    /// Takes the next message, if there is one; what it leaves free the peer is told.
    fn take(&self, state: &mut State) -> Option<Result<Buf, Error>> {
        if self.closed.load(Ordering::Relaxed) {
            return Some(Err(self.base.closed()));
        }
        let taken = state.tcp.streams.get_mut(self.key)?.next();
        self.tell_room(state);
        taken
    }

    /// Tells the peer, if what was taken has left much room.
    fn tell_room(&self, state: &mut State) {
        let now = state.now;
        if state.tcp.streams.get_mut(self.key).is_some_and(|stream| stream.has_room_to_tell(now)) {
            state.step(&self.device.pool(), self.key);
            state.flush(&self.device.pool());
        }
    }

    /// The next message, if one is there.
    fn next_whole(&self) -> Option<Buf> {
        let mut state = self.device.lock(LANE);
        let next = state.tcp.streams.get_mut(self.key).and_then(|stream| stream.next_whole());
        self.tell_room(&mut state);
        self.device.release(state);
        next
    }

    /// Notes an error of receiving, which may be the end of the stream.
    #[cold]
    fn not_received(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::Closed {
            self.ended.store(true, Ordering::Relaxed);
        }
        error
    }

    /// Hands a message over, once the one before it has left, and waits until it is in the send buffer. It is sent with the next,
    /// unless it is the `last` for now.
    async fn hand_over(&self, message: Buf, last: bool) -> Result<(), Error> {
        if message.len() > self.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        let (mut message, mut number) = (Some(message), 0);
        let mut visit = Visit::new(&self.device, LANE, Owner::Place(self.places[1]));
        let mut offer = |state: &mut State| {
            let untaken = message.is_some();
            // What was taken goes out, whoever closes the connection.
            if untaken && self.closed.load(Ordering::Relaxed) {
                return Some(Err(self.base.closed()));
            }
            let sent = state.tcp.streams.get_mut(self.key)?.offer(&mut message, &mut number);
            // Later there is nothing to do: acknowledgements make room, and what they make room for is sent then.
            if untaken && message.is_none() && (last || sent.is_none()) {
                self.transmit(state);
            }
            sent
        };
        poll_fn(|cx| visit.poll(cx, &mut offer)).await
    }

    fn mtu(&self) -> usize {
        bertha_core::Base::mtu(&self.base)
    }

    fn transmit(&self, state: &mut State) {
        state.step(&self.device.pool(), self.key);
        state.flush(&self.device.pool());
    }

    /// Ends this end of the stream, and wakes who waits.
    fn end(&self) {
        let mut state = self.device.lock(LANE);
        if let Some(stream) = state.tcp.streams.get_mut(self.key) {
            stream.close();
        }
        self.transmit(&mut state);
        for place in self.places {
            state.demux.announce(place);
        }
        self.device.release(state);
    }

    /// Sends what was handed over.
    fn flush(&self) {
        let mut state = self.device.lock(LANE);
        self.transmit(&mut state);
        self.device.release(state);
    }
}

impl Connection for TcpConnection {
    type Data = Buf;
    type Base = TcpBase;

    fn base(&self) -> &TcpBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.open()?;
        self.hand_over(message, true).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let mut visit = Visit::new(&self.device, LANE, Owner::Place(self.places[0]));
        let message = poll_fn(|cx| visit.poll(cx, |state| self.take(state))).await;
        message.map_err(|error| self.not_received(error))
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.open()?;
        let mut outcome = Ok(());
        for (number, message) in messages.enumerate() {
            outcome = self.hand_over(message, number % TOGETHER == TOGETHER - 1).await;
            if outcome.is_err() {
                break;
            }
        }
        self.flush();
        outcome
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend(Some(self.recv().await?));
        let mut received = 1;
        while received < limit {
            // The lock is not held while `into` runs.
            let Some(message) = self.next_whole() else { break };
            into.extend(Some(message));
            received += 1;
        }
        Ok(received)
    }

    /// The stack keeps every message that it has taken until the peer acknowledges it.
    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        self.end();
        let mut visit = Visit::new(&self.device, LANE, Owner::Place(self.places[1]));
        let flushed = |state: &mut State| {
            state.tcp.streams.get_mut(self.key).is_none_or(|stream| stream.is_flushed()).then_some(())
        };
        let flushed = poll_fn(|cx| visit.poll(cx, flushed));
        if tokio::time::timeout(LAST_ACKNOWLEDGEMENT, flushed).await.is_err() {
            tracing::debug!(peer = %bertha_core::Base::peer_addr(&self.base), datapath = NAME, "closed before the peer has acknowledged everything");
        }
        Ok(())
    }
}

impl Drop for TcpConnection {
    fn drop(&mut self) {
        let mut state = self.device.lock(LANE);
        let now = state.now;
        state.tcp.streams.let_go(self.key, now);
        self.transmit(&mut state);
        for place in self.places {
            state.demux.close_place(place);
        }
        self.device.release(state);
    }
}

impl fmt::Debug for TcpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpConnection")
            .field("peer", &bertha_core::Base::peer_addr(&self.base))
            .finish_non_exhaustive()
    }
}
