//! A connection over a port, to one peer.

use crate::demux::{Next, Owner};
use crate::device::{Device, Sealed};
use crate::failure::failure;
use crate::state::State;
use crate::visit::Visit;
use crate::{Burst, DpdkBase};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    closed: AtomicBool,
}

impl DpdkConnection {
    pub(crate) fn new(device: Arc<Device>, lane: usize, slot: usize, port: u16, peer: SocketAddr) -> Self {
        let own = device.interface().address_for(peer.ip()).unwrap_or(peer.ip());
        let most = device.lock(lane).watch_path(slot, peer.ip());
        let base = DpdkBase::new(device.pool(), most, (own, port).into(), peer);
        Self { device, lane, slot, base, closed: AtomicBool::new(false) }
    }

    #[inline]
    fn open(&self) -> Result<(), Error> {
        // Relaxed: the flag stands for itself; what `close` did to the queue is under the lock.
        if self.closed.load(Ordering::Relaxed) { Err(self.base.closed()) } else { Ok(()) }
    }

    fn fits(&self, message: &Buf) -> Result<(), Error> {
        if message.len() > self.base.mtu() { Err(self.base.too_large(message.len())) } else { Ok(()) }
    }

    /// Makes a frame of the message and hands it to the port, unless its way is not known: then it comes back.
    #[inline]
    fn try_send(&self, message: Buf, burst: &mut Burst) -> Result<Option<Buf>, Error> {
        let mut state = self.device.lock(self.lane);
        let unsent = match self.device.seal(&mut state, self.slot, message)? {
            Sealed::Frame(packet) => {
                let pushed = burst.push(packet);
                debug_assert!(pushed.is_ok(), "the burst was empty");
                state.transmit(burst);
                None
            }
            Sealed::Here => None,
            Sealed::NotYet(message) => {
                state.poll(&self.device.pool());
                Some(message)
            }
        };
        self.device.release(state);
        if unsent.is_some() {
            // The answer may arrive there.
            self.device.look_after_another(self.lane);
        }
        Ok(unsent)
    }

    /// Sends a message whose way has to be found.
    #[cold]
    async fn send_later(&self, mut message: Buf, burst: &mut Burst) -> Result<(), Error> {
        let deadline = Instant::now() + WAY;
        loop {
            yield_now().await;
            self.open()?;
            std::thread::yield_now();
            match self.try_send(message, burst)? {
                None => return Ok(()),
                Some(_) if Instant::now() >= deadline => {
                    return Err(self.base.unreachable("the link is down, or no neighbour answers"));
                }
                Some(unsent) => message = unsent,
            }
        }
    }

    /// Hands all frames to the port.
    #[inline]
    async fn flush(&self, burst: &mut Burst) -> Result<(), Error> {
        if burst.is_empty() { Ok(()) } else { self.flush_when_possible(burst).await }
    }

    async fn flush_when_possible(&self, burst: &mut Burst) -> Result<(), Error> {
        let mut full = None;
        loop {
            let sent = self.transmit(burst, full.is_some());
            if burst.is_empty() {
                return Ok(());
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
    }

    /// Hands frames to the port, as many as it takes; and receives, if it `was_full`: both ends may wait for room while neither
    /// receives, so what has come is moved out of the way.
    fn transmit(&self, burst: &mut Burst, was_full: bool) -> usize {
        let mut state = self.device.lock(self.lane);
        let sent = state.transmit(burst);
        if was_full {
            state.poll(&self.device.pool());
        }
        self.device.release(state);
        if was_full {
            self.device.look_after_another(self.lane);
        }
        sent
    }

    #[cold]
    fn ended(&self, why: Next) -> Error {
        match why {
            Next::Closed => self.base.closed(),
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
        self.open()?;
        self.fits(&message)?;
        let mut burst = Burst::new();
        if let Some(unsent) = self.try_send(message, &mut burst)? {
            self.send_later(unsent, &mut burst).await?;
        }
        self.flush(&mut burst).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let mut visit = Visit::new(&self.device, self.lane, Owner::Connection(self.slot));
        match poll_fn(|cx| visit.poll(cx, |state| state.demux.next(self.slot))).await {
            Next::Message(message) => Ok(message),
            ended => Err(self.ended(ended)),
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.open()?;
        let mut burst = Burst::new();
        let (mut path, mut copies) = (None, 0);
        for message in messages {
            if let Err(error) = self.fits(&message) {
                self.flush(&mut burst).await?;
                return Err(error);
            }
            if path.is_none() {
                path = self.device.path(self.lane, self.slot);
            }
            let Some(path) = &path else {
                // The first message finds the way.
                if let Some(unsent) = self.try_send(message, &mut burst)? {
                    self.send_later(unsent, &mut burst).await?;
                }
                self.flush(&mut burst).await?;
                continue;
            };
            let (packet, copied) = self.device.frame(message, path)?;
            copies += u64::from(copied);
            let pushed = burst.push(packet);
            debug_assert!(pushed.is_ok(), "a full burst is sent");
            if burst.is_full() {
                self.flush(&mut burst).await?;
            }
        }
        if copies > 0 {
            self.device.lock(self.lane).count_copies(copies);
        }
        self.flush(&mut burst).await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        /// How many messages are taken under one lock.
        const AT_ONCE: usize = 32;
        if limit == 0 {
            return Ok(0);
        }
        let mut visit = Visit::new(&self.device, self.lane, Owner::Connection(self.slot));
        let mut taken = [const { None }; AT_ONCE];
        let most = limit.min(AT_ONCE);
        let mut take = |state: &mut State| {
            let queue = state.demux.queue(self.slot);
            if queue.is_empty() {
                return state.demux.ending(self.slot).map(Err);
            }
            let count = queue.len().min(most);
            taken[..count].iter_mut().zip(queue.drain(..count)).for_each(|(place, it)| *place = Some(it));
            Some(Ok(count))
        };
        let found = poll_fn(|cx| visit.poll(cx, &mut take)).await;
        let mut count = found.map_err(|why| self.ended(why))?;
        drop(visit);
        // The lock is taken once in so many messages, and not held while `into` runs.
        let mut received = count;
        into.extend(taken[..count].iter_mut().filter_map(Option::take));
        while count == AT_ONCE && received < limit {
            count = 0;
            let mut state = self.device.lock(self.lane);
            let queue = state.demux.queue(self.slot);
            let there = queue.len().min(AT_ONCE).min(limit - received);
            for (place, message) in taken.iter_mut().zip(queue.drain(..there)) {
                *place = Some(message);
                count += 1;
            }
            drop(state);
            received += count;
            into.extend(taken[..count].iter_mut().filter_map(Option::take));
        }
        Ok(received)
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
