//! A connection over a port to a single peer.

use crate::device::Device;
use crate::ecn::Ecn;
use crate::failure::failure;
use crate::queue::{Ending, Frame, Obstacle, Queue, QueueSource, QueueState, Sent, look_after_another};
use crate::{Burst, DpdkBase};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Statistics};
use bertha_netstack::{Flow, Prediction};
use bertha_runtime::polling::{Awaited, PollGuard, ReceiveBatch};
use parking_lot::MutexGuard;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::task::yield_now;

/// Time for which a send waits until the link is up and the neighbour has answered; its three requests take
/// three seconds.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for which a send waits for room in the port's queue while the link is down.
const LINK_DOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Time for which a send waits for room while the link is up: a peer process that shares its processor with
/// many others may not run for seconds.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// A base connection over datagrams to a single peer.
///
/// A lost peer is not noticed, except that its host may report a closed port to the connecting end.
/// [`close`](Connection::close) ends the connection at this end alone: the layer above is responsible for
/// telling the peer.
///
/// `send` waits while the port's queue is full: for half a minute at most, or a second if the link is down. A
/// few messages to a neighbour that has not told its hardware address yet are kept for up to three seconds.
/// If they are too many, a connection that this end opened waits, and becomes
/// [`Unreachable`](ErrorKind::Unreachable) if the neighbour does not answer; a listener's connections drop
/// and count them, since any host can forge the address of a peer that does not exist.
pub struct DpdkConnection {
    device: Arc<Device>,
    /// Number of the connection's queue, and the connection's number in this queue.
    queue: usize,
    number: usize,
    base: DpdkBase,
    /// Length of the headers in front of the connection's messages.
    headers: usize,
    /// Recogniser of the peer's datagrams; `None` if they are of a rare kind.
    prediction: Option<Prediction>,
    closed: AtomicBool,
}

/// The frames of a burst that could not be sent at once.
struct Unsent {
    burst: Box<Burst>,
    /// True if the headers are written.
    sealed: bool,
}

/// The frames made of messages.
struct Framed {
    /// True if there may be more messages; or the error that ended the frames.
    more: Result<bool, Error>,
    /// Number of messages that were copied.
    copied: u64,
}

impl DpdkConnection {
    pub(crate) fn new(device: Arc<Device>, queue: usize, number: usize, flow: Flow) -> Self {
        let peer = flow.peer();
        let mut state = device.queues[queue].lock();
        let max_message = state.max_message(number, peer.ip());
        let prediction = state.network.stack.predict(flow);
        drop(state);
        let ecn = Ecn::new(&device, queue, number);
        let base = DpdkBase::new(device.port.pool, max_message, device.local_addr(flow), peer, ecn);
        let headers = device.interface.headers(peer.ip());
        Self { device, queue, number, base, headers, prediction, closed: AtomicBool::new(false) }
    }

    #[inline]
    fn queue(&self) -> &Queue {
        &self.device.queues[self.queue]
    }

    #[inline]
    fn check_open(&self) -> Result<(), Error> {
        // Relaxed access suffices: no other value depends on the flag; `close` changes the queue under the
        // lock.
        if self.closed.load(Ordering::Relaxed) { Err(self.base.closed()) } else { Ok(()) }
    }

    /// Makes a frame of a message, with room for its headers.
    // Inlining is forced, since the result is long, and would go through memory otherwise.
    #[inline(always)]
    fn frame(&self, message: Buf, max: usize) -> Result<Frame, Error> {
        if message.len() > max {
            Err(self.base.too_large(message.len()))
        } else {
            Frame::new(self.device.port.pool, message, self.headers)
        }
    }

    /// Makes frames of messages, as many as fit into the burst.
    #[inline]
    fn frames(&self, messages: &mut impl Iterator<Item = Buf>, burst: &mut Burst) -> Framed {
        let max = self.base.mtu();
        let mut copied = 0;
        for _ in 0..burst.room() {
            let Some(message) = messages.next() else { return Framed { more: Ok(false), copied } };
            match self.frame(message, max) {
                Ok(frame) => {
                    copied += u64::from(frame.copied);
                    let pushed = burst.push(frame.packet);
                    debug_assert!(pushed.is_ok(), "it is not full");
                }
                Err(error) => return Framed { more: Err(error), copied },
            }
        }
        Framed { more: Ok(true), copied }
    }

    // Bursts lie on the stack, and only unsent frames in a future: a future is moved before it is first
    // polled.

    #[inline]
    fn send_now(&self, message: Buf) -> Result<Option<Unsent>, Error> {
        self.check_open()?;
        let frame = self.frame(message, self.base.mtu())?;
        let mut burst = Burst::new();
        let pushed = burst.push(frame.packet);
        debug_assert!(pushed.is_ok(), "it was empty");
        self.transmit_now(&mut burst, frame.copied.into())
    }

    /// Sends at most a burst of messages. Returns true if there may be more, and the unsent frames.
    #[inline]
    fn send_burst(
        &self,
        messages: &mut impl Iterator<Item = Buf>,
    ) -> (Result<bool, Error>, Result<Option<Unsent>, Error>) {
        let mut burst = Burst::new();
        let framed = self.frames(messages, &mut burst);
        (framed.more, self.transmit_now(&mut burst, framed.copied))
    }

    /// Passes frames to the port. Returns the frames that the port has not taken, or whose headers are
    /// unknown.
    #[inline]
    fn transmit_now(&self, burst: &mut Burst, copied: u64) -> Result<Option<Unsent>, Error> {
        if burst.is_empty() {
            return Ok(None);
        }
        let mut state = self.queue().lock();
        state.network.counters.copied += copied;
        if !state.send_on_known_path(self.number, burst) {
            drop(state);
            return self.transmit_elsewhere(burst);
        }
        let unsent = (!burst.is_empty()).then(|| Unsent { burst: state.keep(burst), sealed: true });
        self.queue().release(state);
        Ok(unsent)
    }

    /// Sends as [`transmit_now`](Self::transmit_now), for frames whose headers are not known.
    #[cold]
    fn transmit_elsewhere(&self, burst: &mut Burst) -> Result<Option<Unsent>, Error> {
        let (mut state, sealed) = self.try_send(burst)?;
        let unsent = (!burst.is_empty()).then(|| Unsent { burst: state.keep(burst), sealed });
        self.release(state, sealed);
        Ok(unsent)
    }

    /// Passes frames to the port, as many as it takes. Returns false if their headers are unknown.
    fn try_send(&self, burst: &mut Burst) -> Result<(MutexGuard<'_, QueueState>, bool), Error> {
        let mut state = self.queue().lock();
        let sent = match state.send(self.number, burst) {
            Ok(Sent::Transmitted | Sent::Locally) => true,
            Ok(Sent::Kept) => {
                state.poll_for_others();
                true
            }
            Ok(Sent::Resolving) => {
                state.poll_for_others();
                false
            }
            Err(error) => return Err(error),
        };
        Ok((state, sent))
    }

    fn release(&self, state: MutexGuard<'_, QueueState>, sent: bool) {
        self.queue().release(state);
        if !sent {
            // The neighbour's reply may arrive in another queue.
            look_after_another(&self.device.queues, self.queue);
        }
    }

    /// Sends frames that could not be sent at once.
    #[cold]
    async fn send_unsent(&self, mut unsent: Unsent) -> Result<(), Error> {
        let mut sent = if unsent.sealed { Ok(()) } else { self.resolve(&mut unsent.burst).await };
        if sent.is_ok() {
            sent = self.flush(&mut unsent.burst).await;
        }
        self.queue().lock().give_back(unsent.burst);
        sent
    }

    /// Waits until the headers of frames are known, and passes as many frames to the port as it takes.
    async fn resolve(&self, burst: &mut Burst) -> Result<(), Error> {
        let deadline = Instant::now() + RESOLVE_TIMEOUT;
        loop {
            yield_now().await;
            self.check_open()?;
            std::thread::yield_now();
            let (state, sent) = self.try_send(burst)?;
            self.release(state, sent);
            if sent {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(self.base.unreachable("the link is down, or no neighbour answers"));
            }
        }
    }

    /// Polls for a neighbour's answer. Returns true if messages still wait for it.
    fn keeps_messages(&self) -> bool {
        let mut state = self.queue().lock();
        let keeps = state.keeps(self.number);
        if keeps {
            state.poll_for_others();
        }
        self.release(state, !keeps);
        keeps
    }

    /// Passes all frames, whose headers are written, to the port.
    async fn flush(&self, burst: &mut Burst) -> Result<(), Error> {
        let mut full_since = None;
        while !burst.is_empty() {
            let sent = self.transmit(burst, full_since.is_some());
            if burst.is_empty() {
                break;
            }
            let now = Instant::now();
            if sent > 0 {
                full_since = None;
            } else {
                let waited = now - *full_since.get_or_insert(now);
                if waited >= LINK_DOWN_TIMEOUT && !self.device.is_up() {
                    return Err(self.base.unreachable("the link is down"));
                }
                if waited >= STALL_TIMEOUT {
                    let what = "the port takes no frames; its other end receives none";
                    return Err(failure(ErrorKind::Exhausted, what));
                }
            }
            std::thread::yield_now();
            yield_now().await;
        }
        Ok(())
    }

    /// Passes frames to the port, as many as it takes. Receives as well if the port `was_full`: both ends may
    /// wait for room while neither receives, so frames that have arrived are moved out of the way.
    fn transmit(&self, burst: &mut Burst, was_full: bool) -> usize {
        let mut state = self.queue().lock();
        let sent = state.network.transmitter.transmit(burst);
        if was_full {
            state.poll_for_others();
        }
        self.queue().release(state);
        if was_full {
            look_after_another(&self.device.queues, self.queue);
        }
        sent
    }

    /// Waits for messages, at most `max`, which come into `batch`.
    #[inline]
    fn poll_receive<'a>(
        &self,
        guard: &mut PollGuard<'a, QueueSource<'a>>,
        cx: &mut Context<'_>,
        batch: &mut ReceiveBatch<Buf>,
    ) -> Poll<Result<(), Error>> {
        let polled = guard.poll(cx, batch, |state, batch| {
            // Messages in the batch came before all messages that are in the queue by now.
            if batch.is_empty() {
                state.connections.demux.fill(self.number, batch);
            }
            if batch.is_empty() { state.connections.ending(self.number).map(Err) } else { Some(Ok(())) }
        });
        let Ok(received) = ready!(polled);
        Poll::Ready(received.map_err(|why| self.ended(why)))
    }

    fn guard(&self) -> PollGuard<'_, QueueSource<'_>> {
        let source = QueueSource::new(&self.device.queues, self.queue);
        let source =
            source.with_prediction(self.prediction.as_ref().filter(|_| !self.base.ecn.is_counting()));
        PollGuard::new(source, Awaited::Connection(self.number))
    }

    /// Moves messages from the connection's queue to `into`, at most `max`. The lock is taken once for each
    /// batch, and not held while `into` runs.
    #[inline(never)]
    fn extend_from_queue(&self, into: &mut impl Extend<Buf>, max: usize) -> usize {
        let mut taken = 0;
        while taken < max {
            let mut batch = ReceiveBatch::new(self.number, max - taken);
            self.queue().lock().connections.demux.fill(self.number, &mut batch);
            let is_last = !batch.is_full();
            let messages = batch.drain();
            taken += messages.len();
            into.extend(messages);
            if is_last {
                break;
            }
        }
        taken
    }

    #[cold]
    fn ended(&self, why: Ending) -> Error {
        match why {
            Ending::Closed => self.base.closed(),
            Ending::Unreachable(Obstacle::Refused) => self.base.unreachable("its port is closed"),
            Ending::Unreachable(Obstacle::NoNeighbour) => {
                self.base.unreachable("no neighbour says that it has the address")
            }
        }
    }
}

impl Connection for DpdkConnection {
    type Data = Buf;
    type Base = DpdkBase;

    fn base(&self) -> &DpdkBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        match self.send_now(message)? {
            None => Ok(()),
            Some(unsent) => self.send_unsent(unsent).await,
        }
    }

    // The function is not `async`, so that it makes a single future in place of two.
    fn recv(&self) -> impl Future<Output = Result<Buf, Error>> + Send {
        let mut guard = self.guard();
        poll_fn(move |cx| {
            let mut batch = ReceiveBatch::new(self.number, 1);
            ready!(self.poll_receive(&mut guard, cx, &mut batch))?;
            Poll::Ready(batch.pop().ok_or_else(|| self.base.closed()))
        })
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.check_open()?;
        loop {
            let (more, unsent) = self.send_burst(&mut messages);
            if let Some(unsent) = unsent? {
                self.send_unsent(unsent).await?;
            }
            if !more? {
                return Ok(());
            }
        }
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<Buf> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        let mut guard = self.guard();
        poll_fn(move |cx| {
            if limit == 0 {
                return Poll::Ready(Ok(0));
            }
            let mut batch = ReceiveBatch::new(self.number, limit);
            ready!(self.poll_receive(&mut guard, cx, &mut batch))?;
            // The lock is not held while `into` runs.
            let is_full = batch.is_full();
            let messages = batch.drain();
            let received = messages.len();
            into.extend(messages);
            let more = if is_full { self.extend_from_queue(into, limit - received) } else { 0 };
            Poll::Ready(Ok(received + more))
        })
    }

    /// Waits until the messages that were kept for a neighbour were sent or dropped.
    async fn drain(&self) -> Result<(), Error> {
        while self.keeps_messages() {
            std::thread::yield_now();
            yield_now().await;
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        let mut state = self.queue().lock();
        state.connections.demux.close(self.number);
        self.queue().release(state);
        Ok(())
    }

    fn observe(&self, into: &mut Statistics) {
        into.add_shared("Dpdk", &*self.device, self.device.statistics());
    }
}

impl Drop for DpdkConnection {
    fn drop(&mut self) {
        self.queue().lock().connections.remove(self.number);
    }
}

impl fmt::Debug for DpdkConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DpdkConnection").field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
