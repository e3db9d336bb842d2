//! A socket as one receiving call polls it.

use super::{Endpoint, ReceivingSocket, Request, State};
use crate::Waiting;
use crate::async_socket::AsyncSocket;
use bertha_core::{Error, ErrorKind};
use bertha_polling::{Batched, Demux, ReceiveBatch, Received, Role, Source, WaiterKey, release};
use parking_lot::MutexGuard;
use std::io;
use std::marker::PhantomData;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::task::yield_now;

/// How often a call that spins asks the kernel before it lets other tasks run. A message is noticed sooner than if each
/// attempt went through the scheduler, and others wait for little more than a microsecond.
const ATTEMPTS: u32 = 4;

/// One receiving call at an endpoint, for single messages or for buffers of them.
pub(super) struct SocketSource<'a, S: ReceivingSocket, M> {
    endpoint: &'a Endpoint<S>,
    spin: Spin,
    messages: PhantomData<M>,
}

/// The state of an adaptive wait.
#[derive(Debug, Clone, Copy)]
enum Spin {
    /// It has not begun.
    Before,
    /// It spins until then.
    Until(Instant),
    /// It parks.
    Not,
}

impl<'a, S: ReceivingSocket, M> SocketSource<'a, S, M> {
    #[inline]
    pub(super) fn new(endpoint: &'a Endpoint<S>) -> Self {
        Self { endpoint, spin: Spin::Before, messages: PhantomData }
    }

    /// Whether to ask again at once, should nothing be there.
    #[inline]
    fn spins(&mut self) -> bool {
        match self.endpoint.waiting {
            Waiting::Park => false,
            Waiting::Spin => true,
            Waiting::Adaptive { spin_for } => self.spins_for(spin_for),
        }
    }

    fn spins_for(&mut self, spin_for: Duration) -> bool {
        match self.spin {
            Spin::Not => false,
            Spin::Before => {
                let should = self.endpoint.spin_history.should_spin();
                self.spin = if should { Spin::Until(Instant::now() + spin_for) } else { Spin::Not };
                should
            }
            Spin::Until(deadline) if Instant::now() < deadline => true,
            Spin::Until(_) => {
                self.endpoint.spin_history.on_miss();
                self.spin = Spin::Not;
                false
            }
        }
    }
}

impl<'a, S: ReceivingSocket, M: Batched> Source<'a> for SocketSource<'a, S, M> {
    type State = State<S>;
    type Key = S::Peer;
    type Connection = ();
    type Message = M;
    type Error = Error;

    #[inline]
    fn lock(&self) -> MutexGuard<'a, State<S>> {
        self.endpoint.state.lock()
    }

    #[inline]
    fn demux(state: &mut State<S>) -> &mut Demux<S::Peer> {
        &mut state.demux
    }

    /// Receives once without the lock, or a few times if it spins.
    fn receive(
        &mut self,
        mut state: MutexGuard<'a, State<S>>,
        key: &WaiterKey,
        batch: &mut ReceiveBatch<M>,
    ) -> (MutexGuard<'a, State<S>>, Received<Error>) {
        if !state.demux.begin_receiving() {
            return (state, Received::Excluded(Role::Follower));
        }
        let (endpoint, width) = (self.endpoint, state.width.get());
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
                Received::Messages
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                state.width.on_nothing();
                Received::Nothing
            }
            Err(error) if endpoint.errors.get().is_some() => {
                endpoint.socket.on_error();
                Received::Failed(from_source(error))
            }
            Err(error) => {
                tracing::debug!(%error, "receiving failed; the listener goes on");
                state.counters.errors += 1;
                Received::Messages
            }
        };
        (state, received)
    }

    #[inline]
    fn on_taken(&mut self, has_waited: bool) {
        if has_waited && matches!(self.spin, Spin::Until(_)) {
            self.endpoint.spin_history.on_hit();
        }
    }

    fn arm(&mut self, state: MutexGuard<'a, State<S>>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.spins() {
            release(self, state);
            // Not `wake_by_ref`: the runtime would poll the woken task many times before it turns to the others, or to the
            // reactor.
            let _ = pin!(yield_now()).poll(cx);
            return Poll::Pending;
        }
        let readable = self.endpoint.socket.socket().poll_readable(cx);
        release(self, state);
        readable.map_err(runtime_ended)
    }

    /// Registers the waker of another future at the reactor; one that spins is polled instead, and one for which there is
    /// something already.
    fn hand_over(&mut self, state: &mut State<S>) {
        let endpoint = self.endpoint;
        state.demux.promote(|waker| {
            let readable = || endpoint.socket.socket().poll_readable(&mut Context::from_waker(waker));
            endpoint.waiting != Waiting::Spin && readable().is_pending()
        });
    }
}

/// An error as its source made it, or made of the kernel's.
#[cold]
fn from_source(error: io::Error) -> Error {
    error.downcast::<Error>().unwrap_or_else(Error::from)
}

#[cold]
fn runtime_ended(error: io::Error) -> Error {
    Error::new(ErrorKind::Closed, "the tokio runtime on which the socket was opened has ended").because(error)
}
