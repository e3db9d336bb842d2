//! A socket with the connections that share it: a single connection of a connected socket, any number of a
//! listening socket.

mod counters;
mod error_watch;
mod receive_width;
#[cfg(test)]
mod tests;

use crate::Waiting;
use crate::async_socket::AsyncSocket;
use bertha_core::buf::Segments;
use bertha_core::{Buf, Error, ErrorKind};
use bertha_runtime::polling::{
    Awaited, Batched, Demux, Key, Limits, PollGuard, ReceiveBatch, Received as Polled, Role, Source, Spin,
    SpinHistory, WaiterKey, release,
};
pub use counters::Counters;
use error_watch::ErrorWatch;
use parking_lot::{Mutex, MutexGuard};
pub(crate) use receive_width::MAX_WIDTH;
use receive_width::ReceiveWidth;
use std::future::poll_fn;
use std::io;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tokio::task::yield_now;

/// Number of the only listener of a listening socket.
const LISTENER: usize = 0;

/// Number of attempts of a spinning call before it lets other tasks run. A message is noticed sooner than if
/// each attempt went through the scheduler, and other tasks wait for little more than a microsecond.
const ATTEMPTS: u32 = 4;

/// A socket that receives messages.
pub trait ReceivingSocket: Send + Sync + 'static {
    /// The key of a peer.
    type Peer: Key;

    /// The socket as tokio knows it.
    type Socket: AsyncSocket;

    /// Returns the socket as tokio knows it.
    fn socket(&self) -> &Self::Socket;

    /// Receives, and passes each buffer to `deliver` with the address of its peer and the length of the
    /// messages in it. `deliver` takes a lock, so it is called only after the last system call.
    ///
    /// # Errors
    /// `WouldBlock` if the socket is empty, which the reactor then knows, unless it was asked eagerly; errors
    /// of the socket.
    fn receive(&self, request: Request, deliver: impl FnMut(&Self::Peer, usize, Buf))
    -> io::Result<Received>;

    /// An error of a call on the socket, as connections report it.
    fn failure(&self, error: io::Error) -> Error {
        error.downcast::<Error>().unwrap_or_else(Error::from)
    }

    /// An error of the socket was returned to a caller.
    fn on_error(&self) {}
}

/// The options of a receiving call.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Largest number of buffers to fill.
    pub(crate) width: usize,
    /// True if the kernel has to be asked even if the reactor has not reported anything.
    pub(crate) eager: bool,
    /// True if other futures wait. One of these futures polls next, and the reactor should know by then that
    /// the socket is empty, even after a message that came alone: otherwise the future would be woken only to
    /// find this out.
    pub(crate) others_wait: bool,
}

/// The outcome of a receiving call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Received {
    /// Number of filled buffers.
    pub(crate) buffers: usize,
    /// Number of messages dropped because they were longer than the datapath carries.
    pub(crate) oversize: u64,
}

/// A socket and its demultiplexer.
pub(crate) struct Endpoint<S: ReceivingSocket> {
    socket: Arc<S>,
    /// Connections of a socket are used from several threads, and each may receive messages of another
    /// connection, so the queues and the role of the poller need mutual exclusion; atomics don't suffice,
    /// since a delivery and the registration of a future that waits for it have to exclude each other. The
    /// lock is never held over a system call that transfers data, nor while foreign code runs (wakers,
    /// `Extend`), so it is contended for some hundred nanoseconds at most. A lock per connection would cost
    /// the receiving future a lock for each peer instead of one lock for each burst.
    state: Mutex<EndpointState<S>>,
    waiting: Waiting,
    spin_history: SpinHistory,
    /// The errors of a connected socket, which concern its only connection. A listening socket's errors
    /// concern one peer of many.
    errors: OnceLock<ErrorWatch<S>>,
}

/// The state behind the lock.
struct EndpointState<S: ReceivingSocket> {
    demux: Demux<S::Peer>,
    /// The only connection of a connected socket.
    only: Option<usize>,
    width: ReceiveWidth,
    counters: Counters,
}

impl<S: ReceivingSocket> Endpoint<S> {
    /// Creates the endpoint of a socket that receives from any peer.
    pub(crate) fn listening(socket: Arc<S>, limits: Limits, waiting: Waiting) -> Arc<Self> {
        let mut demux = Demux::new(limits);
        let listener = demux.listen();
        debug_assert_eq!(listener, LISTENER);
        Arc::new(Self::new(socket, demux, None, waiting))
    }

    /// Creates the endpoint of a socket that receives from a single peer, and returns the number of its
    /// connection too.
    pub(crate) fn connected(
        socket: Arc<S>,
        peer: S::Peer,
        limits: Limits,
        waiting: Waiting,
    ) -> (Arc<Self>, usize) {
        let (demux, connection) = Demux::of_one(limits, peer, ());
        let endpoint = Arc::new(Self::new(socket, demux, Some(connection), waiting));
        endpoint.errors.get_or_init(|| ErrorWatch::new(&endpoint));
        (endpoint, connection)
    }

    fn new(socket: Arc<S>, demux: Demux<S::Peer>, only: Option<usize>, waiting: Waiting) -> Self {
        let state =
            EndpointState { demux, only, width: ReceiveWidth::default(), counters: Counters::default() };
        let spin_history = SpinHistory::default();
        let errors = OnceLock::new();
        Self { socket, state: Mutex::new(state), waiting, spin_history, errors }
    }

    pub(crate) fn socket(&self) -> &Arc<S> {
        &self.socket
    }

    pub(crate) fn counters(&self) -> Counters {
        let mut state = self.state.lock();
        state.counters.unknown += state.demux.take_evicted() as u64;
        state.counters
    }

    /// Waits for a message of `connection`. The future is cancellation-safe. Returns `None` if this end
    /// closed the connection.
    #[inline]
    pub(crate) fn recv(&self, connection: usize) -> impl Future<Output = Result<Option<Buf>, Error>> {
        self.wait_for(Awaited::Connection(connection), move |state, batch| {
            if let Some(received) = batch.pop() {
                return Some(Some(received));
            }
            match state.demux.pop(connection) {
                None if !state.demux.is_closed(connection) => None,
                message => Some(message),
            }
        })
    }

    /// Waits for messages of `connection` and moves up to `max` to `into`. The future is cancellation-safe:
    /// the batch is only filled by the poll that completes it. Returns zero if this end closed the
    /// connection.
    pub(crate) fn recv_batch(
        &self,
        connection: usize,
        into: &mut (impl Extend<Buf> + Send),
        max: usize,
    ) -> impl Future<Output = Result<usize, Error>> {
        let mut guard = PollGuard::new(SocketSource::new(self), Awaited::Connection(connection));
        poll_fn(move |cx| {
            let mut batch = ReceiveBatch::new(connection, max);
            let polled = guard.poll(cx, &mut batch, |state, batch| {
                if batch.is_empty() {
                    state.demux.fill(connection, batch);
                }
                (!batch.is_empty() || state.demux.is_closed(connection)).then_some(())
            });
            match polled {
                Poll::Ready(Ok(())) => Poll::Ready(Ok(self.extend(into, connection, max, batch))),
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => self.poll_error(),
            }
        })
    }

    /// Moves a batch to `into`, then messages from the queue, at most `max` messages in all. The lock is
    /// taken once for each batch of buffers, and not held while `into` runs.
    fn extend(
        &self,
        into: &mut impl Extend<Buf>,
        connection: usize,
        max: usize,
        mut batch: ReceiveBatch<Segments>,
    ) -> usize {
        let mut received = 0;
        loop {
            let full = batch.is_full();
            for messages in batch.drain() {
                received += messages.len();
                into.extend(messages);
            }
            if !full || received >= max {
                return received;
            }
            batch = ReceiveBatch::new(connection, max - received);
            self.state.lock().demux.fill(connection, &mut batch);
        }
    }

    /// Waits for a new connection. The future is cancellation-safe.
    pub(crate) fn accept(&self) -> impl Future<Output = Result<(usize, S::Peer), Error>> {
        self.wait_for(Awaited::Listener(LISTENER), |state, _| state.demux.accept(LISTENER))
    }

    /// Adds a connection of a listening socket to a peer, and returns its number. Returns `None` if the peer has one, which may wait to be
    /// accepted.
    pub(crate) fn connect(&self, peer: S::Peer) -> Option<usize> {
        self.state.lock().demux.connect_anew(peer, ())
    }

    /// Waits until `take` finds something, and receives in between: a single message, if the future waits for
    /// a connection.
    // The function is not `async`, so that it makes a single future in place of two, each with a state to be
    // checked at every poll.
    #[inline]
    fn wait_for<T>(
        &self,
        awaited: Awaited,
        mut take: impl FnMut(&mut EndpointState<S>, &mut ReceiveBatch<Buf>) -> Option<T>,
    ) -> impl Future<Output = Result<T, Error>> {
        let mut guard = PollGuard::new(SocketSource::new(self), awaited);
        poll_fn(move |cx| {
            let mut batch = match awaited {
                Awaited::Connection(connection) => ReceiveBatch::new(connection, 1),
                _ => ReceiveBatch::none(),
            };
            match guard.poll(cx, &mut batch, &mut take) {
                Poll::Pending => self.poll_error(),
                ready => ready,
            }
        })
    }

    /// Returns the error that the kernel reported meanwhile. The caller waits.
    #[inline]
    fn poll_error<T>(&self) -> Poll<Result<T, Error>> {
        match self.errors.get() {
            Some(errors) => errors.poll(&self.socket).map(|error| Err(self.socket.failure(error))),
            None => Poll::Pending,
        }
    }

    /// Closes the connection at this end.
    pub(crate) fn close(&self, connection: usize) {
        let mut state = self.state.lock();
        state.demux.close(connection);
        release(&SocketSource::<S, Buf>::new(self), state);
    }

    /// Adds a connection to `peer`, in the place of an earlier connection to the same peer, and returns its
    /// number.
    pub(crate) fn join(&self, peer: S::Peer) -> usize {
        self.state.lock().demux.connect(peer, ())
    }

    /// Returns the peer of a connection.
    pub(crate) fn peer(&self, connection: usize) -> S::Peer {
        self.state.lock().demux.connection_mut(connection).0.clone()
    }

    /// Removes a connection.
    pub(crate) fn remove(&self, connection: usize) {
        self.state.lock().demux.remove(connection);
    }

    /// Drops the backlog; from now on, strangers' messages are dropped.
    pub(crate) fn stop_listening(&self) {
        let demux = &mut self.state.lock().demux;
        while let Some((connection, _)) = demux.accept(LISTENER) {
            demux.remove(connection);
        }
        demux.stop_listening(LISTENER);
    }
}

impl<S: ReceivingSocket> EndpointState<S> {
    /// Delivers a buffer of messages, all from a single peer. Each message is `stride` bytes long, except for
    /// the last, which may be shorter.
    #[inline]
    fn sort_in<M: Batched>(
        &mut self,
        from: &S::Peer,
        stride: usize,
        buffer: Buf,
        batch: &mut ReceiveBatch<M>,
    ) {
        let found = match self.only {
            // The kernel lets no other peer's messages through, so the sender need not be looked up.
            Some(connection) => Some(connection),
            None => self.demux.find(from).or_else(|| self.demux.admit(LISTENER, from.clone(), ())),
        };
        match found {
            Some(own) if batch.connection() == found => self.demux.deliver_own(own, buffer, stride, batch),
            Some(other) => {
                self.counters.overflow += self.demux.deliver(other, buffer.into_segments(stride)) as u64;
            }
            None => self.counters.unknown += buffer.into_segments(stride).len() as u64,
        }
    }
}

/// A receiving call at an endpoint, for single messages or for buffers of messages.
struct SocketSource<'a, S: ReceivingSocket, M> {
    endpoint: &'a Endpoint<S>,
    spin: Spin,
    messages: PhantomData<M>,
}

impl<'a, S: ReceivingSocket, M> SocketSource<'a, S, M> {
    #[inline]
    fn new(endpoint: &'a Endpoint<S>) -> Self {
        Self { endpoint, spin: Spin::default(), messages: PhantomData }
    }

    /// Returns true if the call should try again at once when the socket is empty.
    #[inline]
    fn spins(&mut self) -> bool {
        self.spin.goes_on(self.endpoint.waiting, &self.endpoint.spin_history)
    }
}

impl<'a, S: ReceivingSocket, M: Batched> Source<'a> for SocketSource<'a, S, M> {
    type State = EndpointState<S>;
    type Key = S::Peer;
    type Connection = ();
    type Message = M;
    type Error = Error;

    #[inline]
    fn lock(&self) -> MutexGuard<'a, EndpointState<S>> {
        self.endpoint.state.lock()
    }

    #[inline]
    fn demux(state: &mut EndpointState<S>) -> &mut Demux<S::Peer> {
        &mut state.demux
    }

    /// Receives once without the lock, or a few times if the call spins.
    fn receive(
        &mut self,
        mut state: MutexGuard<'a, EndpointState<S>>,
        key: &WaiterKey,
        batch: &mut ReceiveBatch<M>,
    ) -> (MutexGuard<'a, EndpointState<S>>, Polled<Error>) {
        if !state.demux.begin_receiving() {
            return (state, Polled::Excluded(Role::Follower));
        }
        let endpoint = self.endpoint;
        let width = state.width.get();
        let others_wait = state.demux.others_wait(key);
        release(self, state);
        let spins = self.spins();
        let request = Request { width, eager: spins, others_wait };
        let mut locked = None;
        let mut attempts = if spins { ATTEMPTS } else { 1 };
        let outcome = loop {
            let outcome = endpoint.socket.receive(request, |from, stride, messages| {
                locked.get_or_insert_with(|| endpoint.state.lock()).sort_in(from, stride, messages, batch);
            });
            attempts -= 1;
            match outcome {
                Err(error) if attempts > 0 && error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => break outcome,
            }
        };
        let mut state = locked.unwrap_or_else(|| endpoint.state.lock());
        state.demux.end_receiving();
        let received = match outcome {
            Ok(received) => {
                state.width.on_received(width, received.buffers);
                state.counters.oversize += received.oversize;
                Polled::Messages
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                state.width.on_nothing();
                Polled::Nothing
            }
            Err(error) if endpoint.errors.get().is_some() => {
                endpoint.socket.on_error();
                Polled::Failed(endpoint.socket.failure(error))
            }
            Err(error) => {
                tracing::debug!(%error, "receiving failed; the listener goes on");
                state.counters.errors += 1;
                Polled::Messages
            }
        };
        (state, received)
    }

    #[inline]
    fn on_taken(&mut self, has_waited: bool) {
        if has_waited {
            self.spin.on_hit(&self.endpoint.spin_history);
        }
    }

    fn arm(
        &mut self,
        state: MutexGuard<'a, EndpointState<S>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        if self.spins() {
            release(self, state);
            // The task yields in place of `wake_by_ref`: the runtime would poll the woken task many times
            // before it turns to other tasks, or to the reactor.
            let _ = pin!(yield_now()).poll(cx);
            return Poll::Pending;
        }
        let readable = self.endpoint.socket.socket().poll_readable(cx);
        release(self, state);
        readable.map_err(runtime_ended)
    }

    /// Registers the waker of another future at the reactor. A spinning future is woken instead, and so is a
    /// future for which the socket may already have messages.
    fn hand_over(&mut self, state: &mut EndpointState<S>) {
        let endpoint = self.endpoint;
        state.demux.promote(|waker| {
            let readable = || endpoint.socket.socket().poll_readable(&mut Context::from_waker(waker));
            endpoint.waiting != Waiting::Spin && readable().is_pending()
        });
    }
}

#[cold]
fn runtime_ended(error: io::Error) -> Error {
    Error::new(ErrorKind::Closed, "the tokio runtime on which the socket was opened has ended").because(error)
}
