//! A datagram socket with the connections that share it.

use crate::Waiting;
use crate::demux::{Counters, Demux, Owner, Peer, Reactor, Ticket};
use crate::window::{WINDOW, Window};
use bertha_core::{Buf, Error, ErrorKind};
use parking_lot::{Mutex, MutexGuard};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;
use tokio::task::coop::poll_proceed;

/// How often one poll receives for others before it lets other tasks run.
const ROUNDS: usize = 16;

/// What a datagram socket does for its endpoint.
pub(crate) trait Socket: Send + Sync + 'static {
    /// How it addresses peers.
    type Peer: ?Sized + Peer;

    /// Receives what is there, with up to `width` buffers, and hands each to `deliver` with the address of its peer
    /// and the length of the messages in it. Returns how many buffers were filled.
    ///
    /// `WouldBlock` if nothing was there. With `eager`, it asks the kernel even if the reactor has not reported
    /// anything; otherwise a `WouldBlock` re-arms the reactor.
    fn receive(
        &self,
        width: usize,
        eager: bool,
        deliver: impl FnMut(&Self::Peer, usize, Buf),
    ) -> io::Result<usize>;

    /// As tokio's `poll_recv_ready`.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Waits until the kernel reports an error of a connected socket. That does not make the socket readable.
    fn failed(&self) -> impl Future<Output = io::Error> + Send;
}

/// A socket and its demultiplexer.
pub(crate) struct Endpoint<S: Socket> {
    socket: S,
    /// Connections of one socket are used from several threads, and each may receive what belongs to another, so the
    /// queues and the leader's role need mutual exclusion; atomics don't do, since a delivery and the registration of
    /// whoever waits for it have to exclude each other. Never held over a system call that transfers data, nor while
    /// foreign code runs (wakers, `Extend`), so it is contended for some hundred nanoseconds at most. A lock per
    /// connection would cost the receiver one per peer instead of one per burst.
    demux: Mutex<Demux<S::Peer>>,
    waiting: Waiting,
    /// Whether errors of the socket concern the one connection there is, rather than one peer of many.
    connected: bool,
}

impl<S: Socket> Endpoint<S> {
    pub(crate) fn new(socket: S, demux: Demux<S::Peer>, waiting: Waiting, connected: bool) -> Self {
        Self { socket, demux: Mutex::new(demux), waiting, connected }
    }

    pub(crate) fn socket(&self) -> &S {
        &self.socket
    }

    pub(crate) fn counters(&self) -> Counters {
        *self.demux.lock().counters()
    }

    /// Waits for a message of `connection`. Cancellation-safe. `None` if this end closed it.
    #[inline]
    pub(crate) async fn recv(&self, connection: usize) -> Result<Option<Buf>, Error> {
        self.attend(Owner::Connection(connection), |demux| match demux.pop(connection) {
            Some(message) => Some(Some(message)),
            None if demux.is_closed(connection) => Some(None),
            None => None,
        })
        .await
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
            window.fill(&mut demux.drain(connection, limit.min(WINDOW)), WINDOW);
            (!window.is_empty() || demux.is_closed(connection)).then_some(())
        })
        .await?;
        let mut received = 0;
        // The lock is taken once in a window, and not held while `into` runs.
        while !window.is_empty() {
            received += window.len();
            into.extend(window.drain());
            let wanted = (limit - received).min(WINDOW);
            window.fill(&mut self.demux.lock().drain(connection, wanted), WINDOW);
        }
        Ok(received)
    }

    /// Waits for a new connection. Cancellation-safe.
    pub(crate) async fn accept(&self) -> Result<(usize, <S::Peer as ToOwned>::Owned), Error> {
        self.attend(Owner::Acceptor, Demux::accept).await
    }

    /// Waits until `take` finds something, receiving in between.
    #[inline]
    async fn attend<T>(
        &self,
        owner: Owner,
        mut take: impl FnMut(&mut Demux<S::Peer>) -> Option<T>,
    ) -> Result<T, Error> {
        let mut visit = Visit::new(self, owner);
        let mut failed = pin!(self.socket.failed());
        poll_fn(|cx| match visit.poll(cx, &mut take) {
            Poll::Pending if self.connected => failed.as_mut().poll(cx).map(|error| Err(error.into())),
            poll => poll,
        })
        .await
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
    fn release(&self, mut demux: MutexGuard<'_, Demux<S::Peer>>) {
        let woken = demux.take_woken();
        drop(demux);
        if !woken.is_empty() {
            self.wake(woken);
        }
    }

    fn wake(&self, mut woken: Vec<Waker>) {
        woken.drain(..).for_each(Waker::wake);
        self.demux.lock().reuse(woken);
    }
}

/// How the endpoint waits, as its demultiplexer sees it.
struct Readiness<'a, S>(&'a S, Waiting);

impl<S: Socket> Reactor for Readiness<'_, S> {
    fn register(&self, waker: &Waker) -> Poll<io::Result<()>> {
        match self.1 {
            // Whoever leads polls; see `Visit::spins`.
            Waiting::Spin => Poll::Ready(Ok(())),
            Waiting::Park | Waiting::Adaptive { .. } => self.0.poll_readable(&mut Context::from_waker(waker)),
        }
    }
}

/// A leader that spins: it is polled again without the reactor's help.
struct Spinning;

impl Reactor for Spinning {
    fn register(&self, waker: &Waker) -> Poll<io::Result<()>> {
        waker.wake_by_ref();
        Poll::Pending
    }
}

/// One future's attempts to get what it waits for, receiving for all where nobody else does.
struct Visit<'a, S: Socket> {
    endpoint: &'a Endpoint<S>,
    ticket: Ticket,
    owner: Owner,
    spin_until: Option<Instant>,
}

impl<'a, S: Socket> Visit<'a, S> {
    #[inline]
    fn new(endpoint: &'a Endpoint<S>, owner: Owner) -> Self {
        Self { endpoint, ticket: Ticket::new(owner), owner, spin_until: None }
    }

    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut Demux<S::Peer>) -> Option<T>,
    ) -> Poll<Result<T, Error>> {
        let endpoint = self.endpoint;
        // Else a connection that always has a message would starve the other tasks of its thread.
        let budget = ready!(poll_proceed(cx));
        let mut demux = endpoint.demux.lock();
        for _ in 0..ROUNDS {
            if let Some(taken) = take(&mut demux) {
                self.depart(demux);
                budget.made_progress();
                return Poll::Ready(Ok(taken));
            }
            if !demux.begin() {
                demux.follow(&mut self.ticket, cx.waker());
                endpoint.release(demux);
                return Poll::Pending;
            }
            let spins = self.spins();
            let (width, outcome);
            (demux, width, outcome) = self.receive(demux, spins);
            demux.end(width, outcome.as_ref().copied().unwrap_or_default());
            let error = match outcome {
                Ok(_) => continue,
                Err(error) => error,
            };
            if error.kind() == io::ErrorKind::WouldBlock {
                let led = if spins {
                    demux.lead(&mut self.ticket, cx.waker(), &Spinning)
                } else {
                    let readiness = Readiness(&endpoint.socket, Waiting::Park);
                    demux.lead(&mut self.ticket, cx.waker(), &readiness)
                };
                match led {
                    Poll::Pending => {
                        endpoint.release(demux);
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => {
                        self.depart(demux);
                        return Poll::Ready(Err(runtime_ended(error)));
                    }
                }
            } else if endpoint.connected {
                self.depart(demux);
                budget.made_progress();
                return Poll::Ready(Err(error.into()));
            } else {
                tracing::debug!(%error, "receiving failed; the listener goes on");
                demux.counters().errors += 1;
            }
        }
        // Others get everything: let the rest of the thread run, and go on.
        let _ = demux.lead(&mut self.ticket, cx.waker(), &Spinning);
        budget.made_progress();
        endpoint.release(demux);
        Poll::Pending
    }

    /// Receives once without the lock. Returns with it, after everything was delivered.
    fn receive(
        &self,
        demux: MutexGuard<'a, Demux<S::Peer>>,
        eager: bool,
    ) -> (MutexGuard<'a, Demux<S::Peer>>, usize, io::Result<usize>) {
        let endpoint = self.endpoint;
        let width = demux.width();
        endpoint.release(demux);
        let mut locked = None;
        let outcome = endpoint.socket.receive(width, eager, |from, stride, messages| {
            locked.get_or_insert_with(|| endpoint.demux.lock()).deliver(from, stride, messages, self.owner);
        });
        (locked.unwrap_or_else(|| endpoint.demux.lock()), width, outcome)
    }

    /// Whether to ask again at once, should nothing be there.
    fn spins(&mut self) -> bool {
        match self.endpoint.waiting {
            Waiting::Park => false,
            Waiting::Spin => true,
            Waiting::Adaptive { spin_for } => {
                let now = Instant::now();
                now < *self.spin_until.get_or_insert(now + spin_for)
            }
        }
    }

    #[inline]
    fn depart(&mut self, mut demux: MutexGuard<'_, Demux<S::Peer>>) {
        let endpoint = self.endpoint;
        demux.leave(&mut self.ticket, &Readiness(&endpoint.socket, endpoint.waiting));
        endpoint.release(demux);
    }
}

impl<S: Socket> Drop for Visit<'_, S> {
    fn drop(&mut self) {
        if self.ticket.waits() {
            self.depart(self.endpoint.demux.lock());
        }
    }
}

#[cold]
fn runtime_ended(error: io::Error) -> Error {
    Error::new(ErrorKind::Closed, "the tokio runtime on which the socket was opened has ended").because(error)
}
