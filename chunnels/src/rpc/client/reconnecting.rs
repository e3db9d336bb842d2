//! Calls over a connection that is made again when it is lost.

use super::{Answer, Caller, MultiplexedParts, Multiplexer};
use crate::rpc::encode::Encode;
use crate::rpc::{Failure, FailureKind, Message, Metadata, Method, WaitingBytes};
use bertha_core::backoff::Backoff;
use bertha_core::{Base, Connection, Error, Runtime};
use futures_util::Stream;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Mutex as Turn;

/// The attempts to connect again, for one call.
const ATTEMPTS: u32 = 16;

type RuntimeOf<C> = <<C as Connection>::Base as Base>::Runtime;

/// Calls over a connection that is made again when it is lost, by the call that finds it lost. Clones share it.
///
/// A call that was under way when the connection was lost is made again if it did not run, or if its method is
/// [idempotent](Method::idempotent). Any other fails with [`Disconnected`](FailureKind::Disconnected), and is
/// [in doubt](Self::in_doubt). So is a call made again that a server refuses which shuts down; once such a server has said
/// so, later calls connect anew, and calls under way end over the old connection. A call with a stream of requests is
/// made once in any case, since its stream is there once: a failure tells if it [may have run](Failure::may_have_run). A call connects up to 16 times, with growing pauses drawn at random, and not beyond its deadline.
///
/// ```
/// use bertha_chunnels::rpc::{Client, Message, Reconnecting};
/// use bertha_core::{Connection, Error};
/// # async fn connect() -> Result<impl Connection<Data = Message>, Error> {
/// #     Err::<bertha_core::BoxConnection<Message, bertha_datapath_sim::PairBase<bertha_runtime::tokio::TokioRuntime>>, _>(Error::new(bertha_core::ErrorKind::Closed, ""))
/// # }
/// # async fn example() -> Result<(), Error> {
/// let client = Client::over(Reconnecting::new(connect).await?);
/// # drop(client);
/// # Ok(())
/// # }
/// ```
pub struct Reconnecting<C: Connection, F> {
    shared: Arc<ReconnectingShared<C, F>>,
}

struct ReconnectingShared<C: Connection, F> {
    connect: F,
    runtime: RuntimeOf<C>,
    current: Mutex<Current<C>>,
    /// Held by the call that connects.
    turn: Turn<()>,
    in_doubt: AtomicU64,
}

struct Current<C: Connection> {
    calls: Option<Multiplexer<C>>,
    /// How often it was connected.
    connections: u64,
    /// The bound of responses that wait.
    waiting: WaitingBytes,
}

/// The pauses of a call whose servers shut down: none before the first.
#[derive(Default)]
struct Pauses {
    refusals: u32,
    backoff: Backoff,
}

impl Pauses {
    /// Waits, and returns true unless this was often enough.
    async fn next(&mut self, runtime: &impl Runtime) -> bool {
        self.refusals += 1;
        if self.refusals > 1 {
            runtime.sleep_until(runtime.now() + self.backoff.pause(runtime.random())).await;
        }
        self.refusals < ATTEMPTS
    }
}

/// A connection, and its number.
struct Numbered<C: Connection> {
    calls: Multiplexer<C>,
    number: u64,
}

impl<C, F, A> Reconnecting<C, F>
where
    C: Connection<Data = Message>,
    F: Fn() -> A + Send + Sync + 'static,
    A: Future<Output = Result<C, Error>> + Send,
{
    /// Connects by `connect` now, and whenever the connection is lost.
    ///
    /// # Errors
    /// The errors of the first `connect`.
    pub async fn new(connect: F) -> Result<Self, Error> {
        let connection = connect().await?;
        let runtime = connection.base().runtime().clone();
        let (calls, waiting) = (Some(Multiplexer::new(connection)), WaitingBytes::of_clients());
        let current = Mutex::new(Current { calls, connections: 1, waiting });
        let (turn, in_doubt) = Default::default();
        Ok(Self { shared: Arc::new(ReconnectingShared { connect, runtime, current, turn, in_doubt }) })
    }

    /// Bounds the bytes of responses that wait for their callers by `waiting`, over each connection that it makes; see
    /// [`Multiplexer::waiting_with`].
    #[must_use]
    pub fn waiting_with(self, waiting: &WaitingBytes) -> Self {
        {
            let mut current = self.shared.current.lock();
            current.calls = current.calls.take().map(|calls| calls.waiting_with(waiting));
            current.waiting = waiting.clone();
        }
        self
    }

    /// How often it has connected.
    pub fn connections(&self) -> u64 {
        self.shared.current.lock().connections
    }

    /// Returns the number of calls that failed because the connection was lost, and may have run.
    pub fn in_doubt(&self) -> u64 {
        self.shared.in_doubt.load(Relaxed)
    }

    /// Returns the connection in use, or one that is made now.
    async fn connected(&self, deadline: Option<Instant>) -> Result<Numbered<C>, Failure> {
        let shared = &self.shared;
        if let Some(current) = shared.current() {
            return Ok(current);
        }
        let connecting = async {
            let _turn = shared.turn.lock().await;
            let mut backoff = Backoff::default();
            let mut last = None;
            for _ in 0..ATTEMPTS {
                // Made by the call that had its turn before.
                if let Some(current) = shared.current() {
                    return Ok(current);
                }
                match (shared.connect)().await {
                    Ok(connection) => return Ok(shared.replace(connection)),
                    Err(error) => {
                        tracing::debug!(%error, "no connection for calls yet");
                        last = Some(error);
                    }
                }
                let pause = backoff.pause(shared.runtime.random());
                shared.runtime.sleep_until(shared.runtime.now() + pause).await;
            }
            Err(last.map_or_else(lost, |error| Failure::of_connection(&error, false)))
        };
        let Some(deadline) = deadline else { return connecting.await };
        match select(pin!(connecting), pin!(shared.runtime.sleep_until(deadline))).await {
            Either::Left((connected, _)) => connected,
            Either::Right(_) => Err(late()),
        }
    }

    /// Returns true if a call that has failed is to be made again, after a pause if its server shuts down.
    async fn retries(&self, method: Method, failure: &Failure, number: u64, pauses: &mut Pauses) -> bool {
        match failure.kind() {
            FailureKind::Disconnected => {}
            FailureKind::Unavailable => {
                self.shared.lose(number);
                if failure.may_have_run() && !method.is_idempotent() {
                    return false;
                }
                // The new server may shut down as well.
                return pauses.next(&self.shared.runtime).await;
            }
            _ => return false,
        }
        self.shared.lose(number);
        let retries = method.is_idempotent() || !failure.may_have_run();
        if !retries {
            self.shared.in_doubt.fetch_add(1, Relaxed);
        }
        retries
    }

    /// Records the failure of a call that is not to be made again.
    fn note(&self, failure: &Failure, number: u64) {
        match failure.kind() {
            FailureKind::Unavailable => self.shared.lose(number),
            FailureKind::Disconnected => {
                self.shared.lose(number);
                self.shared.in_doubt.fetch_add(u64::from(failure.may_have_run()), Relaxed);
            }
            _ => {}
        }
    }

    /// Returns the deadline as a time, and what is left of it.
    fn until(&self, within: Option<Duration>) -> Option<Instant> {
        within.and_then(|within| self.shared.runtime.now().checked_add(within))
    }

    fn left(&self, deadline: Option<Instant>) -> Result<Option<Duration>, Failure> {
        let Some(deadline) = deadline else { return Ok(None) };
        match deadline.checked_duration_since(self.shared.runtime.now()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(late()),
        }
    }
}

impl<C: Connection<Data = Message>, F> ReconnectingShared<C, F> {
    fn current(&self) -> Option<Numbered<C>> {
        let mut current = self.current.lock();
        // Its calls under way go on.
        let left = current.calls.take_if(|calls| calls.is_leaving());
        let found = current.calls.clone().map(|calls| Numbered { calls, number: current.connections });
        drop(current);
        drop(left);
        found
    }

    fn replace(&self, connection: C) -> Numbered<C> {
        let calls = Multiplexer::new(connection);
        let mut current = self.current.lock();
        let calls = calls.waiting_with(&current.waiting);
        current.calls = Some(calls.clone());
        current.connections += 1;
        Numbered { calls, number: current.connections }
    }

    /// Records that the connection of this number has ended.
    fn lose(&self, number: u64) {
        let mut current = self.current.lock();
        let lost = if current.connections == number { current.calls.take() } else { None };
        drop(current);
        if lost.is_some() {
            tracing::debug!(number, "the connection for calls was lost");
        }
    }
}

impl<C, F, A> Caller for Reconnecting<C, F>
where
    C: Connection<Data = Message>,
    F: Fn() -> A + Send + Sync + 'static,
    A: Future<Output = Result<C, Error>> + Send + 'static,
{
    type Parts = MultiplexedParts<C>;

    /// Without a connection there is room: the next call connects.
    fn has_room(&self) -> bool {
        self.shared.current().is_none_or(|current| current.calls.has_room())
    }

    async fn room(&self) {
        if let Some(current) = self.shared.current() {
            current.calls.room().await;
        }
    }

    async fn ask<E: Encode + ?Sized>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
    ) -> Result<Answer, Failure> {
        let (deadline, mut pauses) = (self.until(deadline), Pauses::default());
        loop {
            let Numbered { calls, number } = self.connected(deadline).await?;
            match calls.ask(method, self.left(deadline)?, metadata, request).await {
                Err(failure) if self.retries(method, &failure, number, &mut pauses).await => {}
                outcome => return outcome,
            }
        }
    }

    async fn open<E: Encode + ?Sized>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
    ) -> Result<Self::Parts, Failure> {
        let (deadline, mut pauses) = (self.until(deadline), Pauses::default());
        loop {
            let Numbered { calls, number } = self.connected(deadline).await?;
            match calls.open(method, self.left(deadline)?, metadata, request).await {
                Err(failure) if self.retries(method, &failure, number, &mut pauses).await => {}
                opened => return opened,
            }
        }
    }

    async fn ask_with_requests<E: Encode + ?Sized, I: Encode + Send + 'static>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
        requests: impl Stream<Item = I> + Send + 'static,
    ) -> Result<Answer, Failure> {
        let deadline = self.until(deadline);
        let Numbered { calls, number } = self.connected(deadline).await?;
        let left = self.left(deadline)?;
        let asked = calls.ask_with_requests(method, left, metadata, request, requests).await;
        asked.inspect_err(|failure| self.note(failure, number))
    }

    async fn open_with_requests<E: Encode + ?Sized, I: Encode + Send + 'static>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
        requests: impl Stream<Item = I> + Send + 'static,
    ) -> Result<Self::Parts, Failure> {
        let deadline = self.until(deadline);
        let Numbered { calls, number } = self.connected(deadline).await?;
        let left = self.left(deadline)?;
        let opened = calls.open_with_requests(method, left, metadata, request, requests).await;
        opened.inspect_err(|failure| self.note(failure, number))
    }
}

#[cold]
fn late() -> Failure {
    Failure::of(FailureKind::TimedOut, "no connection before the deadline").before_running()
}

#[cold]
fn lost() -> Failure {
    Failure::of(FailureKind::Disconnected, "each connection was lost at once")
}

impl<C: Connection, F> Clone for Reconnecting<C, F> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<C: Connection, F> fmt::Debug for Reconnecting<C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = self.shared.current.lock().connections;
        f.debug_struct("Reconnecting").field("connections", &connections).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::rpc::Client;
    use crate::rpc::message::Content;
    use bertha_core::Buf;
    use bertha_datapath_sim::{Sim, pair_of};
    use futures_util::FutureExt;

    const METHOD: Method = Method::new("test").idempotent();

    #[test]
    fn connections_are_counted_and_a_call_without_time_is_not_made() {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        sim.run(async {
            let peers = Arc::new(Mutex::new(Vec::new()));
            let accepted = peers.clone();
            let connect = move || {
                let (here, there) = pair_of::<_, Message>(runtime.clone());
                accepted.lock().push(there);
                async move { Ok(here) }
            };
            let client = Client::over(Reconnecting::new(connect).await.unwrap());
            let call = async |within| {
                client.call::<_, u8>(METHOD, &7_u8).deadline(within).response().await.unwrap_err()
            };
            let late = call(Duration::ZERO).await;
            assert_eq!((late.kind(), late.may_have_run()), (FailureKind::TimedOut, false));
            let first = peers.lock().pop().unwrap();
            assert!(first.recv().now_or_never().is_none(), "the call was made");
            assert_eq!(client.caller().connections(), 1);
            drop(first);
            assert_eq!(call(Duration::from_secs(1)).await.kind(), FailureKind::TimedOut);
            assert_eq!((client.caller().connections(), peers.lock().len()), (2, 1));
        });
    }

    #[test]
    fn each_connection_has_the_bound_of_responses_that_wait() {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        sim.run(async {
            let peers = Arc::new(Mutex::new(Vec::new()));
            let (accepted, ends) = (peers.clone(), runtime.clone());
            let connect = move || {
                let (here, there) = pair_of::<_, Message>(ends.clone());
                accepted.lock().push(there);
                async move { Ok(here) }
            };
            let waiting = WaitingBytes::new(1);
            let client = Client::over(Reconnecting::new(connect).await.unwrap().waiting_with(&waiting));
            let settle = || runtime.sleep_until(runtime.now() + Duration::from_millis(1));
            for connections in 1..=2 {
                let stream = client.call::<_, u8>(METHOD, &7_u8).responses().await.unwrap();
                assert_eq!(client.caller().connections(), connections);
                let server = peers.lock().pop().unwrap();
                let call = server.recv().await.unwrap().call;
                let body = Some(Buf::copy_of(&[0; 5], 64).unwrap());
                let part = Message { body, ..Message::signal(call, Content::Part { index: 0 }) };
                server.send(part).await.unwrap();
                settle().await;
                assert_eq!(waiting.bytes(), 5);
                drop((stream, server));
                assert_eq!(waiting.bytes(), 0);
                settle().await;
            }
        });
    }

    /// A call without such a stream is made again, since the method is idempotent.
    #[test]
    fn a_call_with_requests_is_made_once() {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        sim.run(async {
            let peers = Arc::new(Mutex::new(Vec::new()));
            let accepted = peers.clone();
            let connect = move || {
                let (here, there) = pair_of::<_, Message>(runtime.clone());
                accepted.lock().push(there);
                async move { Ok(here) }
            };
            let client = Client::over(Reconnecting::new(connect).await.unwrap());
            let server = peers.lock().pop().unwrap();
            let leaving = async {
                server.recv().await.unwrap();
                drop(server);
            };
            let call = client.call::<_, u8>(METHOD, &7_u8).requests(futures_util::stream::iter([1_u8]));
            let (outcome, ()) = futures_util::join!(call.response(), leaving);
            let failure = outcome.unwrap_err();
            assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Disconnected, true));
            assert_eq!((client.caller().connections(), client.caller().in_doubt()), (1, 1));
        });
    }
}
