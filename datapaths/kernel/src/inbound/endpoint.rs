//! A datagram socket with the connections that share it.

use super::Source;
use super::alarm::Alarm;
use super::demux::{Counters, Demux, Owner};
use super::profit::Profit;
use super::visit::Visit;
use crate::Waiting;
use crate::window::{WINDOW, Window};
use bertha_core::{Buf, Error};
use parking_lot::{Mutex, MutexGuard};
use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

/// A socket and its demultiplexer.
pub(crate) struct Endpoint<S: Source> {
    pub(super) socket: Arc<S>,
    /// Connections of one socket are used from several threads, and each may receive what belongs to another, so the
    /// queues and the leader's role need mutual exclusion; atomics don't do, since a delivery and the registration of
    /// whoever waits for it have to exclude each other. Never held over a system call that transfers data, nor while
    /// foreign code runs (wakers, `Extend`), so it is contended for some hundred nanoseconds at most. A lock per
    /// connection would cost the receiver one per peer instead of one per burst.
    pub(super) demux: Mutex<Demux<S::Peer>>,
    pub(super) waiting: Waiting,
    pub(super) profit: Profit,
    /// Of a connected socket: errors concern the one connection there is, rather than one peer of many.
    alarm: OnceLock<Alarm<S>>,
}

impl<S: Source> Endpoint<S> {
    /// A socket that receives from anyone.
    pub(crate) fn listening(socket: Arc<S>, demux: Demux<S::Peer>, waiting: Waiting) -> Arc<Self> {
        let demux = Mutex::new(demux);
        Arc::new(Self { socket, demux, waiting, profit: Profit::default(), alarm: OnceLock::new() })
    }

    /// A socket that receives from one peer alone.
    pub(super) fn connected(socket: Arc<S>, demux: Demux<S::Peer>, waiting: Waiting) -> Arc<Self> {
        let endpoint = Self::listening(socket, demux, waiting);
        endpoint.alarm.get_or_init(|| Alarm::new(&endpoint));
        endpoint
    }

    #[inline]
    pub(super) fn is_connected(&self) -> bool {
        self.alarm.get().is_some()
    }

    pub(crate) fn socket(&self) -> &Arc<S> {
        &self.socket
    }

    pub(crate) fn counters(&self) -> Counters {
        *self.demux.lock().counters()
    }

    /// Waits for a message of `connection`. Cancellation-safe. `None` if this end closed it.
    #[inline]
    pub(crate) fn recv(&self, connection: usize) -> impl Future<Output = Result<Option<Buf>, Error>> {
        self.attend(Owner::Connection(connection), move |demux| demux.next(connection))
    }

    /// Waits for messages of `connection` and moves up to `limit` to `into`. Cancellation-safe: the window is only
    /// filled by the poll that completes the future. Zero if this end closed it.
    pub(crate) async fn recv_batch(
        &self,
        connection: usize,
        into: &mut (impl Extend<Buf> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut window = Window::new();
        self.attend(Owner::Connection(connection), |demux| {
            window.fill(&mut demux.drain(connection, limit), WINDOW);
            (!window.is_empty() || demux.is_closed(connection)).then_some(())
        })
        .await?;
        let mut received = 0;
        // The lock is taken once in a window of buffers, and not held while `into` runs.
        while !window.is_empty() {
            for messages in window.drain() {
                received += messages.len();
                into.extend(messages);
            }
            window.fill(&mut self.demux.lock().drain(connection, limit - received), WINDOW);
        }
        Ok(received)
    }

    /// Waits for a new connection. Cancellation-safe.
    pub(crate) fn accept(&self) -> impl Future<Output = Result<(usize, S::Peer), Error>> {
        self.attend(Owner::Acceptor, Demux::accept)
    }

    /// Waits until `take` finds something, receiving in between.
    // Not `async`, so that it is one future and not two, each with a state to be looked at when it is polled.
    #[inline]
    fn attend<T>(
        &self,
        owner: Owner,
        mut take: impl FnMut(&mut Demux<S::Peer>) -> Option<T>,
    ) -> impl Future<Output = Result<T, Error>> {
        let mut visit = Visit::new(self, owner);
        poll_fn(move |cx| match (visit.poll(cx, &mut take), self.alarm.get()) {
            (Poll::Pending, Some(alarm)) => alarm.poll(&self.socket).map(|error| Err(error.into())),
            (poll, _) => poll,
        })
    }

    pub(crate) fn close(&self, connection: usize) {
        let mut demux = self.demux.lock();
        demux.close(connection);
        self.release(demux);
    }

    pub(crate) fn remove(&self, connection: usize) {
        self.demux.lock().remove(connection);
    }

    pub(crate) fn stop_accepting(&self) {
        self.demux.lock().stop_accepting();
    }

    /// Unlocks, then wakes whom others' messages were delivered to.
    #[inline]
    pub(super) fn release(&self, demux: MutexGuard<'_, Demux<S::Peer>>) {
        if demux.wakes() {
            self.wake(demux);
        }
    }

    #[inline(never)]
    fn wake(&self, mut demux: MutexGuard<'_, Demux<S::Peer>>) {
        let mut woken = demux.take_woken();
        drop(demux);
        woken.drain(..).for_each(Waker::wake);
        self.demux.lock().reuse(woken);
    }
}
