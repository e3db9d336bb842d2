//! The way of a message through a link: its header is put in front or taken off, and a reception also waits for the end of the link.

use super::{EpochQueue, Link, Liveness, Shared};
use crate::wire::HEADER;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use std::future::Pending;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

impl<C: Connection<Data = Buf>> Connection for Link<C> {
    type Data = Buf;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.shared.base.base()
    }

    fn mtu(&self) -> usize {
        self.shared.base.mtu()
    }

    async fn send(&self, mut message: Buf) -> Result<(), Error> {
        // Boxed, here and below, so that calls on a link in use have nothing to set up for what is rare.
        if !self.shared.liveness.is_alive() {
            match Box::pin(self.send_first(message)).await? {
                Some(left) => message = left,
                None => return Ok(()),
            }
        }
        self.shared.base.send(seal(message, self.queue.header)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let shared = &*self.shared;
        loop {
            let state = self.queue.state();
            if state != 0 {
                if let Some(message) = self.queued() {
                    return Ok(message);
                }
                if EpochQueue::is_aside(state) || EpochQueue::is_parted(state) {
                    Box::pin(self.aside(state)).await?;
                    continue;
                }
            }
            if !shared.liveness.is_alive() {
                match Box::pin(self.receive_first()).await? {
                    Some(message) => return Ok(message),
                    // Messages that came meanwhile are in the queue, and go first.
                    None => continue,
                }
            }
            let reception = pin!(shared.base.recv());
            let reception = Parked::new(&shared.liveness, &self.queue, state, reception);
            let received = reception.await.map_err(|error| shared.not_received(error))?;
            let Some(mut message) = received else { continue };
            if strip(&mut message, self.queue.header) {
                shared.liveness.arrived();
                return Ok(message);
            }
            Box::pin(shared.deal_with(Some(&self.queue), [message])).await;
        }
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        if !self.shared.liveness.is_alive()
            && let Some(left) = Box::pin(self.send_batch_first(&mut messages)).await?
        {
            self.shared.base.send(seal(left, self.queue.header)?).await?;
        }
        let mut outcome = Ok(());
        let (header, failed) = (self.queue.header, &mut outcome);
        let sealed = messages.map_while(move |message| match seal(message, header) {
            Ok(message) => Some(message),
            Err(error) => {
                *failed = Err(error);
                None
            }
        });
        self.shared.base.send_batch(sealed).await?;
        outcome
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let shared = &*self.shared;
        if limit == 0 {
            return Ok(0);
        }
        loop {
            let state = self.queue.state();
            if state != 0 {
                if let Some(message) = self.queued() {
                    into.extend([message]);
                    return Ok(1);
                }
                if EpochQueue::is_aside(state) || EpochQueue::is_parted(state) {
                    Box::pin(self.aside(state)).await?;
                    continue;
                }
            }
            if !shared.liveness.is_alive() {
                match Box::pin(self.receive_first()).await? {
                    Some(message) => {
                        into.extend([message]);
                        return Ok(1);
                    }
                    // Messages that came meanwhile are in the queue, and go first.
                    None => continue,
                }
            }
            let mut filter = Filter::new(self.queue.header, into);
            let received = {
                let reception = pin!(shared.base.recv_batch(&mut filter, limit));
                Parked::new(&shared.liveness, &self.queue, state, reception).await
            };
            let received = received.map_err(|error| shared.not_received(error))?;
            let Some(received) = received else { continue };
            let others = filter.others;
            let data = received.saturating_sub(others.len());
            if data > 0 {
                shared.liveness.arrived();
            }
            if !others.is_empty() {
                Box::pin(shared.deal_with(Some(&self.queue), others)).await;
            }
            if data > 0 {
                return Ok(data);
            }
        }
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.shared.base.drain()
    }

    /// Tells the peer, at most three times, until it says that it has seen it; a peer that doesn't is gone. Over a base
    /// that loses messages a task does so, and this returns once the first was sent.
    /// The link of an epoch that is over, or not yet there, has nothing to tell.
    async fn close(&self) -> Result<(), Error> {
        if !self.queue.is_in_force() {
            return Ok(());
        }
        self.shared.close().await
    }
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// The next message in the queue, unless the link can't be used.
    #[cold]
    fn queued(&self) -> Option<Buf> {
        let liveness = &self.shared.liveness;
        let (message, has_room) = if liveness.is_up() { self.queue.take()? } else { return None };
        if has_room {
            liveness.wake();
        }
        Some(message)
    }

    /// Waits as long as another reader reads, or none any more, and the queue, which had this `state`, is empty.
    #[cold]
    async fn aside(&self, state: u8) -> Result<(), Error> {
        let liveness = &self.shared.liveness;
        if !EpochQueue::is_aside(state)
            && let Some(close) = self.shared.close_after(&self.queue)
        {
            self.shared.closed_by_peer(close);
        }
        liveness.check()?;
        Parked::aside(liveness, &self.queue, state, || true).await.map(drop)
    }
}

impl<C: Connection<Data = Buf>> Shared<C> {
    /// An error of receiving from the base. A peer that closes says so before its stream ends, so a stream that ends without a word was
    /// cut.
    #[cold]
    pub(super) fn not_received(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Closed || !self.base.base().properties().reliable {
            return error;
        }
        self.liveness.check().err().unwrap_or_else(|| {
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

/// Takes the header off a message and returns true, if the message begins with it.
#[inline]
pub(super) fn strip(message: &mut Buf, header: u64) -> bool {
    message.strip_prefix(&header.to_le_bytes())
}

/// A copy, for a message that was not made by this connection's base and so has no room in front.
#[cold]
fn with_headroom(message: &[u8]) -> Result<Buf, Error> {
    Buf::copy_of(message, HEADER)
}

/// Takes the headers off a burst while the datapath hands it over: passes data on, and sets other messages aside.
struct Filter<'a, I> {
    header: u64,
    into: &'a mut I,
    /// The messages that were not passed on. Empty, and so not allocated, unless the peer sends something about the
    /// connection or changes its stack.
    others: Vec<Buf>,
}

impl<'a, I> Filter<'a, I> {
    fn new(header: u64, into: &'a mut I) -> Self {
        Self { header, into, others: Vec::new() }
    }
}

#[cold]
fn set_aside(others: &mut Vec<Buf>, message: Buf) {
    others.push(message);
}

impl<I: Extend<Buf>> Extend<Buf> for Filter<'_, I> {
    #[inline]
    fn extend<M: IntoIterator<Item = Buf>>(&mut self, messages: M) {
        // As one iterator: all that happens to a message becomes one loop, whose state stays in registers.
        let Self { header, into, others } = self;
        into.extend(messages.into_iter().filter_map(|mut message| {
            if strip(&mut message, *header) {
                return Some(message);
            }
            set_aside(others, message);
            None
        }));
    }
}

/// A reception that is interrupted by the end of the link, and by what another reader puts into the queue: then it is
/// ready with nothing. Costs nothing while messages are there: only a reception that has to wait also looks at the
/// link.
pub(crate) struct Parked<'a, F, W> {
    liveness: &'a Liveness,
    queue: &'a EpochQueue,
    state: u8,
    /// Nothing if somebody else reads.
    reception: Option<Pin<&'a mut F>>,
    waits: W,
    is_parked: bool,
}

impl<'a, F> Parked<'a, F, ()> {
    /// A reception, when this stood in the queue.
    pub(crate) fn new(
        liveness: &'a Liveness,
        queue: &'a EpochQueue,
        state: u8,
        reception: Pin<&'a mut F>,
    ) -> Parked<'a, F, impl Fn() -> bool> {
        Parked { liveness, queue, state, reception: Some(reception), waits: || true, is_parked: false }
    }
}

impl<'a, F, W: Fn() -> bool> Parked<'a, F, W> {
    /// As `new`, also interrupted when `waits` no longer holds and the link's tasks are woken.
    pub(super) fn while_waiting(
        liveness: &'a Liveness,
        queue: &'a EpochQueue,
        state: u8,
        reception: Pin<&'a mut F>,
        waits: W,
    ) -> Self {
        Self { liveness, queue, state, reception: Some(reception), waits, is_parked: false }
    }
}

impl<'a, W: Fn() -> bool> Parked<'a, Pending<Result<(), Error>>, W> {
    /// Waits without reading, and is also interrupted when `waits` no longer holds and the link's tasks are woken. That nothing
    /// is heard meanwhile says nothing about the peer.
    pub(crate) fn aside(liveness: &'a Liveness, queue: &'a EpochQueue, state: u8, waits: W) -> Self {
        Self { liveness, queue, state, reception: None, waits, is_parked: false }
    }
}

impl<T, F: Future<Output = Result<T, Error>>, W: Fn() -> bool + Unpin> Future for Parked<'_, F, W> {
    type Output = Result<Option<T>, Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(reception) = &mut self.reception {
            if let Poll::Ready(received) = reception.as_mut().poll(context) {
                return Poll::Ready(received.map(Some));
            }
            self.liveness.polled();
        }
        if !self.is_parked {
            self.is_parked = true;
            self.liveness.park();
        }
        if let Poll::Ready(error) = self.liveness.poll_ended(context) {
            return Poll::Ready(Err(error));
        }
        // After the task was remembered, so that what is put there from now on wakes it.
        if self.queue.state() != self.state || !(self.waits)() {
            return Poll::Ready(Ok(None));
        }
        Poll::Pending
    }
}

impl<F, W> Drop for Parked<'_, F, W> {
    #[inline]
    fn drop(&mut self) {
        if self.is_parked {
            self.liveness.unpark();
        }
    }
}
