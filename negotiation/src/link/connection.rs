//! The way of a message through a link: `send` puts the header in front, and `recv` takes it off.

use super::{EpochQueue, Link, LinkShared, Parked};
use crate::wire::HEADER;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Gather, Gathered};
use std::pin::pin;

impl<C: Connection<Data = Buf>> Connection for Link<C> {
    type Data = Buf;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.base.base()
    }

    fn mtu(&self) -> usize {
        self.base.mtu()
    }

    async fn send(&self, mut message: Buf) -> Result<(), Error> {
        // Boxed, here and below, so that calls on a link that is up have nothing to set up for rare cases.
        if !self.shared.lifecycle.is_up() {
            match Box::pin(self.send_before_up(message)).await? {
                Some(left) => message = left,
                None => return Ok(()),
            }
        }
        self.base.send(seal(message, self.queue.header)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let shared = &*self.shared;
        loop {
            if !self.can_read() {
                match Box::pin(self.before_reading()).await? {
                    Some(message) => return Ok(message),
                    None => continue,
                }
            }
            let reception = pin!(self.base.recv());
            let reception = Parked::new(&shared.lifecycle, &self.queue, EpochQueue::READING, reception);
            let received = reception.await.map_err(|error| shared.not_received(error))?;
            let Some(mut message) = received else { continue };
            if strip(&mut message, self.queue.header) {
                shared.lifecycle.arrived();
                return Ok(message);
            }
            Box::pin(self.deal_with([message])).await;
        }
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        if !self.shared.lifecycle.is_up()
            && let Some(left) = Box::pin(self.send_batch_before_up(&mut messages)).await?
        {
            self.base.send(seal(left, self.queue.header)?).await?;
        }
        let mut outcome = Ok(());
        let header = self.queue.header;
        let failed = &mut outcome;
        let sealed = messages.map_while(move |message| match seal(message, header) {
            Ok(message) => Some(message),
            Err(error) => {
                *failed = Err(error);
                None
            }
        });
        self.base.send_batch(sealed).await?;
        outcome
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let shared = &*self.shared;
        if limit == 0 {
            return Ok(0);
        }
        loop {
            if !self.can_read() {
                match Box::pin(self.before_reading()).await? {
                    Some(message) => {
                        into.extend([message]);
                        return Ok(1);
                    }
                    None => continue,
                }
            }
            let mut filter = Filter::new(self.queue.header, into);
            let received = {
                let reception = pin!(self.base.recv_batch(&mut filter, limit));
                Parked::new(&shared.lifecycle, &self.queue, EpochQueue::READING, reception).await
            };
            let received = received.map_err(|error| shared.not_received(error))?;
            let Some(received) = received else { continue };
            let not_data = filter.not_data;
            let data = received.saturating_sub(not_data.len());
            if data > 0 {
                shared.lifecycle.arrived();
            }
            if !not_data.is_empty() {
                Box::pin(self.deal_with(not_data)).await;
            }
            if data > 0 {
                return Ok(data);
            }
        }
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.base.drain()
    }

    /// Tells the peer at most three times, until the peer has seen the close; a peer that has not seen it by
    /// then is gone. Over a base that loses messages a task repeats the close, and this method returns once
    /// the first was sent. The link of an epoch that is over, or has not begun, has nothing to tell, nor has a
    /// sibling.
    async fn close(&self) -> Result<(), Error> {
        if !self.queue.is_active() {
            return Ok(());
        }
        self.shared.close().await
    }
}

impl<C: Gather> Gather for Link<C> {
    /// Fails before the link is up, which it is once a message was received.
    async fn send_gathered(&self, message: Gathered) -> Result<(), Error> {
        let lifecycle = &self.shared.lifecycle;
        if !lifecycle.is_up() {
            lifecycle.check()?;
            return Err(Error::new(ErrorKind::Unavailable, "the link is not up").at("negotiation"));
        }
        let header = self.queue.header;
        self.base.send_gathered(message.with_bytes(|bytes| seal(bytes, header))?).await
    }
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// Returns true if a reception can read from the base at once: this epoch reads, its queue has no news,
    /// and the link is up. Otherwise [`before_reading`](Self::before_reading) has to run first.
    #[inline(always)]
    fn can_read(&self) -> bool {
        self.queue.state() == EpochQueue::READING && self.shared.lifecycle.is_up()
    }

    /// Does the work that comes before a reception from the base. Returns a message if that work has received
    /// a message.
    #[cold]
    async fn before_reading(&self) -> Result<Option<Buf>, Error> {
        if let Some(route) = &self.route {
            return self.begin_steering(&**route).await.map(|()| None);
        }
        let state = self.queue.state();
        if let Some(message) = self.take_queued() {
            return Ok(Some(message));
        }
        if EpochQueue::is_over(state) {
            return Err(self.shared.end_of_epoch());
        }
        if EpochQueue::is_not_reader(state) || EpochQueue::has_peer_closed(state) {
            return self.wait_for_turn(state).await.map(|()| None);
        }
        // A message that came meanwhile is in the queue, and goes first.
        if self.shared.lifecycle.is_up() { Ok(None) } else { self.receive_before_up().await }
    }

    /// Handles messages that are not data of this link. A sibling gets such messages from a peer that has
    /// restarted, and drops them.
    #[cold]
    async fn deal_with(&self, messages: impl IntoIterator<Item = Buf>) {
        match self.route {
            None => self.shared.deal_with(Some(&self.queue), messages).await,
            Some(_) => messages.into_iter().for_each(|_| self.shared.count_dropped()),
        }
    }

    /// Returns the next message in the queue, unless the link is not usable.
    fn take_queued(&self) -> Option<Buf> {
        let lifecycle = &self.shared.lifecycle;
        if !lifecycle.is_usable() {
            return None;
        }
        let (message, has_room) = self.queue.take()?;
        // Readers of other epochs wait for room, or for the close behind the last message.
        let state = self.queue.state();
        if has_room || EpochQueue::has_peer_closed(state) && !EpochQueue::is_queued_in(state) {
            lifecycle.wake();
        }
        Some(message)
    }

    /// Waits as long as another reader reads, or the peer has closed, and the queue, which had this `state`,
    /// has no news.
    async fn wait_for_turn(&self, state: u8) -> Result<(), Error> {
        let lifecycle = &self.shared.lifecycle;
        if !EpochQueue::is_not_reader(state)
            && let Some(close) = self.shared.close_after(&self.queue)
        {
            self.shared.closed_by_peer(close);
        }
        lifecycle.check()?;
        let waits = || EpochQueue::is_not_reader(state) || !self.shared.is_close_next(&self.queue);
        Parked::not_reader(lifecycle, &self.queue, state, waits).await.map(drop)
    }
}

impl<C: Connection<Data = Buf>> LinkShared<C> {
    /// Returns the error of a reception for an error of the base. A peer that closes sends a close before its
    /// stream ends, so a stream that ends without a close was cut.
    #[cold]
    pub(super) fn not_received(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Closed || !self.base.base().properties().reliable {
            return error;
        }
        self.lifecycle.check().err().unwrap_or_else(|| {
            let what = format!("the connection was cut, so messages may be missing: {}", error.context());
            Error::new(ErrorKind::Reset, what).at("negotiation").because(error)
        })
    }
}

/// Puts the header in front of a message.
#[inline(always)]
pub(super) fn seal(mut message: Buf, header: u64) -> Result<Buf, Error> {
    if message.headroom() < HEADER {
        message = with_headroom(&message)?;
    }
    message.prepend(HEADER)?.copy_from_slice(&header.to_le_bytes());
    Ok(message)
}

/// Takes this header off a message. Returns false if the message does not begin with it.
#[inline]
pub(super) fn strip(message: &mut Buf, header: u64) -> bool {
    message.strip_prefix(&header.to_le_bytes())
}

/// Returns a copy with headroom, for a message that was not made by this connection's base.
#[cold]
fn with_headroom(message: &[u8]) -> Result<Buf, Error> {
    Buf::copy_of(message, HEADER)
}

/// Takes the headers off a burst while the datapath hands it over: it passes data on, and keeps other
/// messages.
struct Filter<'a, I> {
    header: u64,
    into: &'a mut I,
    /// The messages that are not data of this epoch. Empty, and so not allocated, unless the peer sends a
    /// message about the connection or changes its stack.
    not_data: Vec<Buf>,
}

impl<'a, I> Filter<'a, I> {
    fn new(header: u64, into: &'a mut I) -> Self {
        Self { header, into, not_data: Vec::new() }
    }
}

#[cold]
fn keep_apart(not_data: &mut Vec<Buf>, message: Buf) {
    not_data.push(message);
}

impl<I: Extend<Buf>> Extend<Buf> for Filter<'_, I> {
    #[inline]
    fn extend<M: IntoIterator<Item = Buf>>(&mut self, messages: M) {
        // As one iterator: all that happens to a message becomes one loop, whose state stays in registers.
        let Self { header, into, not_data } = self;
        into.extend(messages.into_iter().filter_map(|mut message| {
            if strip(&mut message, *header) {
                return Some(message);
            }
            keep_apart(not_data, message);
            None
        }));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::link::control_tests::plain_link;
    use bertha_datapath_sim::Sim;
    use futures_util::FutureExt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Wake, Waker};

    #[derive(Default)]
    struct Wakes(AtomicU32);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Readers of other epochs wait for room, or for the close behind the last message.
    #[test]
    fn the_reception_that_makes_room_and_the_last_before_a_close_wake_other_readers() {
        let sim = Sim::new(1);
        let link = plain_link(&sim);
        let put = || link.queue.put(Buf::copy_of(b"data", 0).unwrap(), true).unwrap();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(wakes.clone());
        let wakes_of_recv = || {
            assert!(link.shared.poll_ended(&mut Context::from_waker(&waker)).is_pending());
            link.recv().now_or_never().unwrap().unwrap();
            wakes.0.swap(0, Ordering::Relaxed)
        };
        while !link.queue.is_full() {
            put();
        }
        put();
        assert_eq!([wakes_of_recv(), wakes_of_recv(), wakes_of_recv()], [0, 1, 0]);
        link.queue.peer_closed();
        let mut last = 0;
        while link.queue.is_queued() {
            assert_eq!(last, 0, "a message before the last");
            last = wakes_of_recv();
        }
        assert_eq!(last, 1);
    }
}
