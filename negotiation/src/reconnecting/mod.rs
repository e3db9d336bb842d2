//! A connection that is made again when it is lost.

mod connecting;
mod interruption;
mod ledger;
mod statistics;

use bertha_core::backoff::Backoff;
use bertha_core::{Base, Connection, Error, ErrorKind};
use connecting::Connecting;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use ledger::Ledger;
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::iter::from_fn;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{Mutex as Turn, Notify};

pub use interruption::{Interruption, Received};
pub use statistics::ReconnectingStatistics;

/// A connection that is made again when it is lost, and reports the messages that are then in doubt.
/// [`Connect::reconnecting`](crate::Connect::reconnecting) makes it from a stack, [`new`](Self::new) from any
/// way to connect.
///
/// A call that finds the connection lost reports the loss, and the next call connects again; without calls
/// nothing happens, and no task runs. Up to 16 attempts are made, with growing pauses drawn at random; then
/// the call fails with the last error, and a later call tries again. An error that another attempt would
/// repeat, such as [`Refused`](ErrorKind::Refused), ends the attempts at once.
///
/// * **Loss.** [`recv`](Self::recv) returns an [`Interruption`] for each loss: the numbers of the messages
///   that were sent over the lost connection and that were not [confirmed](Self::confirm). No message is kept
///   or sent again, so the application decides whether a message may arrive twice. Messages that had arrived
///   over the connection that was lost last are still received.
/// * **Ends.** A connection is lost with every error of `send` or `recv` that does not concern one message
///   alone. [`Unreachable`](ErrorKind::Unreachable) is such an error, although a forged report can cause it;
///   a forgery then costs one connection.
/// * **Bursts.** [`send_batch`](Self::send_batch) and [`recv_batch`](Self::recv_batch) send and receive
///   several messages.
/// * **Backpressure.** The connection's backpressure applies; while there is no connection, calls wait. An
///   application that does not receive gets one interruption for all losses, so nothing grows.
/// * **Cancellation.** Any future may be dropped. An attempt to connect goes on with the next call. A message
///   whose `send` was dropped while it waited for a connection was not sent; a message whose `send` was
///   dropped later has a number and may be in doubt.
///
/// ```no_run
/// # use bertha_core::{Connection, Error, backoff::Backoff};
/// # use bertha_negotiation::{Negotiate, Received, Runs};
/// # async fn example<S, D>(stack: S, datapath: D) -> Result<(), Error>
/// # where S: Negotiate + Clone + 'static, D: Runs<S, Out: Connection<Data = String>> + Clone {
/// let connection = stack.connect(datapath, "example.org:4242").reconnecting(Backoff::default()).await?;
/// let number = connection.send("hello".into()).await?;
/// match connection.recv().await? {
///     Received::Message(reply) if reply == "hello" => connection.confirm(number),
///     Received::Message(_) => {}
///     Received::Interrupted(loss) => drop(loss.in_doubt), // Ask the peer, or send them again.
/// }
/// # Ok(())
/// # }
/// ```
pub struct Reconnecting<C: Connection> {
    state: Mutex<ReconnectingState<C>>,
    /// The attempts under way, held by the call that connects.
    connecting: Turn<Connecting<C>>,
    /// Notifies waiting receptions that their connection was lost or closed.
    changed: Notify,
}

struct ReconnectingState<C> {
    current: Option<Arc<C>>,
    /// The connection that was lost last, which may have messages that had arrived.
    previous: Option<Arc<C>>,
    /// Number of connections that were made.
    connections: u64,
    ledger: Ledger,
    is_closed: bool,
}

/// A connection, and its number.
struct Numbered<C> {
    connection: Arc<C>,
    number: u64,
}

impl<C: Connection> Reconnecting<C> {
    /// Connects with `connect` now, and again whenever the connection is lost, with pauses by `backoff`
    /// between failed attempts.
    ///
    /// # Errors
    /// The errors of the first `connect`, which is not repeated.
    pub async fn new<F, A>(connect: F, backoff: Backoff) -> Result<Self, Error>
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<C, Error>> + Send + 'static,
    {
        let connection = connect().await?;
        let runtime = connection.base().runtime().clone();
        let state = ReconnectingState {
            current: Some(Arc::new(connection)),
            previous: None,
            connections: 1,
            ledger: Ledger::default(),
            is_closed: false,
        };
        let connecting = Turn::new(Connecting::new(connect, runtime, backoff));
        Ok(Self { state: Mutex::new(state), connecting, changed: Notify::new() })
    }

    /// Sends one message, and returns its number: 0 for the first message over all connections. Waits for a
    /// connection if there is none. If the connection is lost while it takes the message, the message is in
    /// doubt, and is reported as such.
    ///
    /// # Errors
    /// Errors that [the connection survives](Error::ends_connection), whose number is counted as sent nevertheless; the errors of
    /// connecting again, when the message was not sent; [`Closed`](ErrorKind::Closed) after [`close`](Self::close).
    pub async fn send(&self, message: C::Data) -> Result<u64, Error> {
        let (connection, number, sent) = loop {
            let Numbered { connection, number } = self.connected().await?;
            let mut state = self.state();
            // The error of a connection that was lost since would never be reported.
            if state.connections == number && state.current.is_some() {
                let sent = state.ledger.send();
                break (connection, number, sent);
            }
        };
        match connection.send(message).await {
            Ok(()) => Ok(sent),
            Err(error) if !is_loss(&error) => Err(error),
            Err(error) => {
                self.lose(number, &error);
                Ok(sent)
            }
        }
    }

    /// Sends a burst, and returns the numbers of its messages, from the first number to behind the last; if
    /// several calls send at once, some numbers in between belong to other calls. Messages that the
    /// connection has not taken when it is lost are sent over the next connection. If the future is dropped,
    /// messages that were not taken stay unsent, and messages that were taken keep their numbers.
    ///
    /// # Errors
    /// The errors of [`send`](Self::send). After an error, the messages still in the iterator were not sent;
    /// pass `&mut iterator` to keep them.
    pub async fn send_batch(
        &self,
        mut messages: impl Iterator<Item = C::Data> + Send,
    ) -> Result<Range<u64>, Error> {
        let mut numbers: Option<Range<u64>> = None;
        // A message for which there was no connection any more when it was taken from the iterator.
        let mut left = None;
        let mut is_over = false;
        while !is_over {
            let Numbered { connection, number } = self.connected().await?;
            let mut is_lost = false;
            let numbered = from_fn(|| {
                let Some(message) = left.take().or_else(|| messages.next()) else {
                    is_over = true;
                    return None;
                };
                let mut state = self.state();
                if state.connections != number || state.current.is_none() {
                    (left, is_lost) = (Some(message), true);
                    return None;
                }
                let sent = state.ledger.send();
                numbers.get_or_insert(sent..sent).end = sent + 1;
                Some(message)
            });
            match connection.send_batch(numbered.fuse()).await {
                Ok(()) => is_over |= !is_lost,
                Err(error) if !is_loss(&error) => return Err(error),
                Err(error) => self.lose(number, &error),
            }
        }
        Ok(numbers.unwrap_or_else(|| {
            let next = self.state().ledger.next();
            next..next
        }))
    }

    /// Waits for the next message, or the report that the connection was lost. Messages that had arrived over
    /// it come first.
    ///
    /// # Errors
    /// Errors that [the connection survives](Error::ends_connection); the errors of connecting again;
    /// [`Closed`](ErrorKind::Closed) after [`close`](Self::close).
    pub async fn recv(&self) -> Result<Received<C::Data>, Error> {
        loop {
            if let Some(previous) = self.previous() {
                if let Some(received) = left_over(previous.recv()) {
                    return received.map(Received::Message);
                }
                self.forget(&previous);
            }
            if let Some(interruption) = self.take_interruption() {
                return Ok(Received::Interrupted(interruption));
            }
            let Numbered { connection, number } = self.connected().await?;
            let changed = pin!(self.changed.notified());
            if !self.is_current(&connection) {
                continue;
            }
            let Either::Left((received, _)) = select(pin!(connection.recv()), changed).await else {
                continue;
            };
            match received {
                Ok(message) => return Ok(Received::Message(message)),
                Err(error) if !is_loss(&error) => return Err(error),
                Err(error) => self.lose(number, &error),
            }
        }
    }

    /// Waits for at least one message, appends the available messages to `into`, at most `limit`, and returns
    /// their number; or returns the report that the connection was lost, as [`recv`](Self::recv) does. With a
    /// `limit` of zero it returns zero at once. If the future is dropped, appended messages stay in `into`.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    pub async fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> Result<Received<usize>, Error> {
        if limit == 0 {
            return Ok(Received::Message(0));
        }
        loop {
            if let Some(previous) = self.previous() {
                if let Some(received) = left_over(previous.recv_batch(into, limit)) {
                    return received.map(Received::Message);
                }
                self.forget(&previous);
            }
            if let Some(interruption) = self.take_interruption() {
                return Ok(Received::Interrupted(interruption));
            }
            let Numbered { connection, number } = self.connected().await?;
            let changed = pin!(self.changed.notified());
            if !self.is_current(&connection) {
                continue;
            }
            let receiving = pin!(connection.recv_batch(into, limit));
            let Either::Left((received, _)) = select(receiving, changed).await else {
                continue;
            };
            match received {
                Ok(count) => return Ok(Received::Message(count)),
                Err(error) if !is_loss(&error) => return Err(error),
                Err(error) => self.lose(number, &error),
            }
        }
    }

    /// Records that the message with this number has arrived, and all messages before it: a reply shows this,
    /// or [`drain`](Self::drain) over a stack that repeats messages until they are acknowledged. These
    /// messages are not in doubt any more. Messages that were already reported as in doubt are not affected.
    pub fn confirm(&self, number: u64) {
        self.state().ledger.confirm(number);
    }

    /// Returns the number of messages that would be in doubt if the connection was lost now.
    pub fn unconfirmed(&self) -> u64 {
        self.state().ledger.unconfirmed()
    }

    /// Returns the losses that [`recv`](Self::recv) has not reported, for an application that only sends.
    /// Each loss is reported once.
    pub fn take_interruption(&self) -> Option<Interruption> {
        self.state().ledger.take()
    }

    /// Returns the number of connections that were made.
    pub fn connections(&self) -> u64 {
        self.state().connections
    }

    /// Drains the connection in use, as [`Connection::drain`] does. No `send` may be under way.
    ///
    /// # Errors
    /// The errors of the connection; the next call connects again.
    pub async fn drain(&self) -> Result<(), Error> {
        let Numbered { connection, number } = self.connected().await?;
        connection.drain().await.inspect_err(|error| {
            if is_loss(error) {
                self.lose(number, error);
            }
        })
    }

    /// Closes the connection, as [`Connection::close`] does, and makes no further connection. Other calls
    /// fail with [`Closed`](ErrorKind::Closed).
    ///
    /// # Errors
    /// The errors of the connection in use, if any.
    pub async fn close(&self) -> Result<(), Error> {
        let current = {
            let mut state = self.state();
            state.is_closed = true;
            state.previous = None;
            state.current.take()
        };
        self.changed.notify_waiters();
        match current {
            Some(connection) => connection.close().await,
            None => Ok(()),
        }
    }

    /// Returns the connection in use, or makes a connection.
    async fn connected(&self) -> Result<Numbered<C>, Error> {
        if let Some(current) = self.state().current()? {
            return Ok(current);
        }
        let mut connecting = self.connecting.lock().await;
        // An earlier call may have made the connection.
        if let Some(current) = self.state().current()? {
            return Ok(current);
        }
        let Either::Left((connection, _)) = select(pin!(connecting.run()), pin!(self.closed())).await else {
            return Err(closed_here());
        };
        let connection = Arc::new(connection?);
        let mut state = self.state();
        if state.is_closed {
            return Err(closed_here());
        }
        state.current = Some(connection.clone());
        state.connections += 1;
        tracing::debug!(target: "bertha::negotiation", connections = state.connections, "connected again");
        Ok(Numbered { connection, number: state.connections })
    }

    /// Waits until this end has closed.
    async fn closed(&self) {
        loop {
            // The notification is created first, so that no news is missed between the check and the wait.
            let changed = self.changed.notified();
            if self.state().is_closed {
                return;
            }
            changed.await;
        }
    }

    /// Records that the connection of this number has ended.
    fn lose(&self, number: u64, error: &Error) {
        let mut state = self.state();
        if state.connections != number {
            return;
        }
        let Some(lost) = state.current.take() else { return };
        tracing::debug!(target: "bertha::negotiation", %error, number, "the connection was lost");
        let before = state.previous.replace(lost);
        state.ledger.lose(error);
        // The connection is dropped without the lock.
        drop(state);
        drop(before);
        self.changed.notify_waiters();
    }

    fn is_current(&self, connection: &Arc<C>) -> bool {
        self.state().current.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection))
    }

    /// Returns the connection that was lost, while it may have messages.
    fn previous(&self) -> Option<Arc<C>> {
        self.state().previous.clone()
    }

    /// Records that the lost connection has no more messages.
    fn forget(&self, previous: &Arc<C>) {
        let mut state = self.state();
        let is_same = state.previous.as_ref().is_some_and(|other| Arc::ptr_eq(other, previous));
        let over = if is_same { state.previous.take() } else { None };
        // The connection is dropped without the lock.
        drop(state);
        drop(over);
    }

    fn state(&self) -> MutexGuard<'_, ReconnectingState<C>> {
        self.state.lock()
    }
}

impl<C> ReconnectingState<C> {
    fn current(&self) -> Result<Option<Numbered<C>>, Error> {
        if self.is_closed {
            return Err(closed_here());
        }
        let numbered =
            |connection: &Arc<C>| Numbered { connection: connection.clone(), number: self.connections };
        Ok(self.current.as_ref().map(numbered))
    }
}

/// Returns true if a connection that fails so is given up for another one. A peer that can't be reached is among these cases although it
/// may come back: another connection goes to wherever the name leads by then.
fn is_loss(error: &Error) -> bool {
    error.ends_connection() || error.kind() == ErrorKind::Unreachable
}

/// What a connection that was lost still gives at once: messages, or an error that concerns one.
fn left_over<T>(receiving: impl Future<Output = Result<T, Error>>) -> Option<Result<T, Error>> {
    match receiving.now_or_never()? {
        Err(error) if is_loss(&error) => None,
        received => Some(received),
    }
}

#[cold]
fn closed_here() -> Error {
    Error::new(ErrorKind::Closed, "this end closed the connection").at("Reconnecting")
}

impl<C: Connection> fmt::Debug for Reconnecting<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Reconnecting")
            .field("connections", &state.connections)
            .field("unconfirmed", &state.ledger.unconfirmed())
            .finish_non_exhaustive()
    }
}
