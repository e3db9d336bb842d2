//! A connection over a port, to one peer.

use crate::catch::{AT_ONCE, Catch};
use crate::demux::{Ending, Owner};
use crate::device::{Device, Way};
use crate::failure::failure;
use crate::state::State;
use crate::visit::Visit;
use crate::{Burst, DpdkBase, Packet};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use bertha_netstack::{Flow, Prediction};
use parking_lot::MutexGuard;
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, ready};
use std::time::{Duration, Instant};
use tokio::task::yield_now;

/// How long a send waits until the link is up and the neighbour has answered. Its three requests take three seconds.
const WAY: Duration = Duration::from_secs(10);

/// How long a send waits for room in the port's queue while nobody is at the other end.
const ROOM: Duration = Duration::from_secs(1);

/// Likewise while somebody is: another process that shares its processor with many may not run for seconds.
const STALLED: Duration = Duration::from_secs(30);

/// A base connection over datagrams, to one peer.
///
/// Nobody notices that a peer is gone, except that it may say that its port is closed, to the end that connected.
/// [`close`](Connection::close) ends the connection at this end alone: telling the peer is up to the layer above.
///
/// The first `send` waits until the neighbour has told its hardware address; later ones only while the port's queue is full: for
/// half a minute at most, or a second if the link is down.
pub struct DpdkConnection {
    device: Arc<Device>,
    lane: usize,
    slot: usize,
    base: DpdkBase,
    /// The length of the headers in front of its messages.
    headers: usize,
    /// What the peer's look like on arrival; nothing if they are of a rare kind.
    prediction: Option<Prediction>,
    closed: AtomicBool,
}

/// What is left of a burst.
struct Rest {
    burst: Box<Burst>,
    /// Its way is known, and the headers are written.
    sealed: bool,
}

impl DpdkConnection {
    pub(crate) fn new(device: Arc<Device>, lane: usize, slot: usize, port: u16, peer: SocketAddr) -> Self {
        let own = device.interface().address_for(peer.ip()).unwrap_or(peer.ip());
        let flow = Flow::new(peer, port);
        let mut state = device.lock(lane);
        let (most, prediction) = (state.watch_path(slot, peer.ip()), state.stack.predict(flow));
        drop(state);
        let base = DpdkBase::new(device.pool(), most, (own, port).into(), peer);
        let headers = device.interface().headers(flow.peer().ip());
        Self { device, lane, slot, base, headers, prediction, closed: AtomicBool::new(false) }
    }

    #[inline]
    fn open(&self) -> Result<(), Error> {
        // Relaxed: the flag stands for itself; what `close` did to the queue is under the lock.
        if self.closed.load(Ordering::Relaxed) { Err(self.base.closed()) } else { Ok(()) }
    }

    /// Makes a message a frame that has yet to be sealed. Whether it was copied. Inlined, since what it gives is long, and goes through
    /// memory otherwise.
    #[inline(always)]
    fn frame(&self, message: Buf, most: usize) -> Result<(Packet, bool), Error> {
        if message.len() > most {
            Err(self.base.too_large(message.len()))
        } else {
            self.device.frame(message, self.headers)
        }
    }

    /// Makes messages frames, as far as there is room for them. Whether there may be more, and how many were copied.
    #[inline]
    fn frames(
        &self,
        messages: &mut impl Iterator<Item = Buf>,
        burst: &mut Burst,
    ) -> (Result<bool, Error>, u64) {
        let (most, mut copies) = (self.base.mtu(), 0);
        for _ in 0..burst.room() {
            let Some(message) = messages.next() else { return (Ok(false), copies) };
            match self.frame(message, most) {
                Ok((packet, copied)) => {
                    copies += u64::from(copied);
                    let pushed = burst.push(packet);
                    debug_assert!(pushed.is_ok(), "it is not full");
                }
                Err(error) => return (Err(error), copies),
            }
        }
        (Ok(true), copies)
    }

    // Bursts lie on the stack, and only what is left of one in a future: it is moved before it is first polled.

    #[inline]
    fn send_now(&self, message: Buf) -> Result<Option<Rest>, Error> {
        self.open()?;
        let (packet, copied) = self.frame(message, self.base.mtu())?;
        let mut burst = Burst::new();
        let pushed = burst.push(packet);
        debug_assert!(pushed.is_ok(), "it was empty");
        self.hand_over(&mut burst, copied.into())
    }

    /// Sends messages, a burst at most. Whether there may be more, and what is left of the burst.
    #[inline]
    fn send_some(
        &self,
        messages: &mut impl Iterator<Item = Buf>,
    ) -> (Result<bool, Error>, Result<Option<Rest>, Error>) {
        let mut burst = Burst::new();
        let (more, copies) = self.frames(messages, &mut burst);
        (more, self.hand_over(&mut burst, copies))
    }

    /// Hands frames to the port: what it has not taken, or what has to wait until its way is known.
    #[inline]
    fn hand_over(&self, burst: &mut Burst, copies: u64) -> Result<Option<Rest>, Error> {
        if burst.is_empty() {
            return Ok(None);
        }
        let mut state = self.device.lock(self.lane);
        state.count_copies(copies);
        if !self.device.seal_as_known(&mut state, self.slot, burst) {
            drop(state);
            return self.hand_over_elsewhere(burst);
        }
        state.transmit(burst);
        let rest = (!burst.is_empty()).then(|| Rest { burst: state.keep(burst), sealed: true });
        self.device.release(state);
        Ok(rest)
    }

    /// As [`hand_over`](Self::hand_over), of what goes no way that is known.
    #[cold]
    fn hand_over_elsewhere(&self, burst: &mut Burst) -> Result<Option<Rest>, Error> {
        let (mut state, open) = self.try_send(burst)?;
        let rest = (!burst.is_empty()).then(|| Rest { burst: state.keep(burst), sealed: open });
        self.leave(state, open);
        Ok(rest)
    }

    /// Seals frames and hands them to the port, as many as it takes; false if their way is not known.
    fn try_send(&self, burst: &mut Burst) -> Result<(MutexGuard<'_, State>, bool), Error> {
        let mut state = self.device.lock(self.lane);
        let open = match self.device.seal(&mut state, self.slot, burst)? {
            Way::Open => {
                state.transmit(burst);
                true
            }
            Way::Here => true,
            Way::NotYet => {
                state.poll(&self.device.pool(), &mut Catch::nothing());
                false
            }
        };
        Ok((state, open))
    }

    #[inline]
    fn leave(&self, state: MutexGuard<'_, State>, open: bool) {
        self.device.release(state);
        if !open {
            // The answer may arrive there.
            self.device.look_after_another(self.lane);
        }
    }

    /// Sends what could not be sent at once.
    #[cold]
    async fn send_rest(&self, mut rest: Rest) -> Result<(), Error> {
        let mut sent = if rest.sealed { Ok(()) } else { self.find_way(&mut rest.burst).await };
        if sent.is_ok() {
            sent = self.flush(&mut rest.burst).await;
        }
        self.device.lock(self.lane).give_back(rest.burst);
        sent
    }

    /// Waits until the way of these frames is known, and hands the port as many as it takes.
    async fn find_way(&self, burst: &mut Burst) -> Result<(), Error> {
        let deadline = Instant::now() + WAY;
        loop {
            yield_now().await;
            self.open()?;
            std::thread::yield_now();
            let (state, open) = self.try_send(burst)?;
            self.leave(state, open);
            if open {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(self.base.unreachable("the link is down, or no neighbour answers"));
            }
        }
    }

    /// Hands all frames, which are sealed, to the port.
    async fn flush(&self, burst: &mut Burst) -> Result<(), Error> {
        let mut full = None;
        while !burst.is_empty() {
            let sent = self.transmit(burst, full.is_some());
            if burst.is_empty() {
                break;
            }
            let now = Instant::now();
            if sent > 0 {
                full = None;
            } else {
                let waited = now - *full.get_or_insert(now);
                if waited >= ROOM && !self.device.is_up() {
                    return Err(self.base.unreachable("the link is down"));
                }
                if waited >= STALLED {
                    let what = "the port takes no frames; whoever is at its other end receives none";
                    return Err(failure(ErrorKind::Exhausted, what));
                }
            }
            std::thread::yield_now();
            yield_now().await;
        }
        Ok(())
    }

    /// Hands frames to the port, as many as it takes; and receives, if it `was_full`: both ends may wait for room while neither
    /// receives, so what has come is moved out of the way.
    fn transmit(&self, burst: &mut Burst, was_full: bool) -> usize {
        let mut state = self.device.lock(self.lane);
        let sent = state.transmit(burst);
        if was_full {
            state.poll(&self.device.pool(), &mut Catch::nothing());
        }
        self.device.release(state);
        if was_full {
            self.device.look_after_another(self.lane);
        }
        sent
    }

    /// Adds the connection's queue to what was caught: nothing if there are messages now, or else why there will be none.
    #[inline]
    fn take(&self, state: &mut State, catch: &mut Catch<'_>, limit: usize) -> Option<Option<Ending>> {
        // What is caught came before anything that is in the queue by now.
        if catch.len() == 0 {
            catch.fill(&mut state.demux, limit);
        }
        if catch.len() > 0 { Some(None) } else { state.demux.ending(self.slot).map(Some) }
    }

    /// Takes so many messages at most out of the connection's queue. The lock is taken once in as many as are taken at once.
    #[inline(never)]
    fn take_more(&self, into: &mut impl Extend<Buf>, limit: usize) -> usize {
        let mut taken = 0;
        while taken < limit {
            let mut catch = Catch::new(self.slot, None, 0);
            catch.fill(&mut self.device.lock(self.lane).demux, limit - taken);
            let count = catch.len();
            taken += count;
            into.extend(catch.drain());
            if count < AT_ONCE {
                break;
            }
        }
        taken
    }

    #[cold]
    fn ended(&self, why: Option<Ending>) -> Error {
        match why {
            Some(Ending::Closed) => self.base.closed(),
            _ => self.base.unreachable("its port is closed"),
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
            Some(rest) => self.send_rest(rest).await,
        }
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let mut visit = Visit::new(&self.device, self.lane, Owner::Connection(self.slot));
        poll_fn(|cx| {
            let mut catch = Catch::new(self.slot, self.prediction.as_ref(), 1);
            let found =
                ready!(visit.poll_catching(cx, &mut catch, |state, catch| self.take(state, catch, 1)));
            Poll::Ready(match (found, catch.drain().next()) {
                (None, Some(message)) => Ok(message),
                (why, _) => Err(self.ended(why)),
            })
        })
        .await
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.open()?;
        loop {
            let (more, rest) = self.send_some(&mut messages);
            if let Some(rest) = rest? {
                self.send_rest(rest).await?;
            }
            if !more? {
                return Ok(());
            }
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        let mut visit = Visit::new(&self.device, self.lane, Owner::Connection(self.slot));
        poll_fn(|cx| {
            let mut catch = Catch::new(self.slot, self.prediction.as_ref(), limit);
            let take = |state: &mut State, catch: &mut Catch<'_>| self.take(state, catch, limit);
            if let Some(why) = ready!(visit.poll_catching(cx, &mut catch, take)) {
                return Poll::Ready(Err(self.ended(Some(why))));
            }
            // The lock is not held while `into` runs.
            let received = catch.len();
            into.extend(catch.drain());
            let full = received == AT_ONCE && received < limit;
            let more = if full { self.take_more(into, limit - received) } else { 0 };
            Poll::Ready(Ok(received + more))
        })
        .await
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        let mut state = self.device.lock(self.lane);
        state.demux.close(self.slot);
        self.device.release(state);
        Ok(())
    }
}

impl Drop for DpdkConnection {
    fn drop(&mut self) {
        self.device.lock(self.lane).demux.remove(self.slot);
    }
}

impl fmt::Debug for DpdkConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DpdkConnection").field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
