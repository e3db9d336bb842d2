//! A connection between two runtimes.

use super::attention::Attention;
use super::ring::Ring;
use crate::failure::failure;
use crate::{CaladanBase, CaladanRuntime, Task, spawn};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use bertha_runtime::tokio::TokioRuntime;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of messages of a connection that may wait in each direction.
const CAPACITY: usize = 256;

/// Number of messages that are taken from Caladan at a time.
const BURST: usize = 32;

/// A base connection over Caladan for tasks of tokio. When it is dropped, Caladan still sends the messages
/// that were passed to it.
pub struct BridgedConnection {
    outgoing: Arc<Ring<Buf>>,
    incoming: Arc<Ring<Result<Buf, Error>>>,
    base: CaladanBase<TokioRuntime>,
    closed: AtomicBool,
    /// True if the peer has ended the connection.
    ended: AtomicBool,
    _receiving: Task,
    _attention: Attention,
}

impl BridgedConnection {
    /// Creates the handle of a connection of Caladan's. The caller must run in Caladan's runtime.
    pub(super) fn new<C>(connection: C) -> Self
    where
        C: Connection<Data = Buf, Base = CaladanBase>,
    {
        let outgoing = Arc::new(Ring::new(CAPACITY));
        let incoming = Arc::new(Ring::new(CAPACITY));
        let base = connection.base().on(TokioRuntime);
        let connection = Arc::new(connection);
        spawn(send(connection.clone(), outgoing.clone(), incoming.clone()));
        let receiving = CaladanRuntime.spawn(receive(connection, incoming.clone()));
        let closed = AtomicBool::new(false);
        let ended = AtomicBool::new(false);
        Self { outgoing, incoming, base, closed, ended, _receiving: receiving, _attention: Attention::new() }
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.closed.load(Ordering::Acquire) { Err(self.base.closed()) } else { Ok(()) }
    }

    /// Unpacks a message or an error that came in.
    fn received(&self, item: Option<Result<Buf, Error>>) -> Result<Buf, Error> {
        self.check_open()?;
        let received =
            item.unwrap_or_else(|| Err(failure(ErrorKind::Closed, "the peer has closed the connection")));
        if received.as_ref().is_err_and(|error| error.ends_connection()) {
            self.ended.store(true, Ordering::Relaxed);
        }
        received
    }
}

/// Sends the content of the ring, until it is closed and empty.
async fn send<C: Connection<Data = Buf>>(
    connection: Arc<C>,
    outgoing: Arc<Ring<Buf>>,
    incoming: Arc<Ring<Result<Buf, Error>>>,
) {
    while let Some(message) = outgoing.pop().await {
        let sent = connection.send(message).await;
        outgoing.done();
        if let Err(error) = sent {
            let is_last = error.ends_connection();
            // The receiving end hears of it, as over the kernel; if there is none, it is not waited for.
            incoming.offer(Err(error));
            if is_last {
                outgoing.clear();
                break;
            }
        }
    }
    // The close tells the peer; nobody is left to report an error to.
    let _ = connection.close().await;
}

/// Puts arriving messages into the ring, until the connection ends.
async fn receive<C: Connection<Data = Buf>>(connection: Arc<C>, incoming: Arc<Ring<Result<Buf, Error>>>) {
    let mut burst = Vec::new();
    loop {
        let received = connection.recv_batch(&mut burst, BURST).await;
        for message in burst.drain(..) {
            if !incoming.push(Ok(message)).await {
                return;
            }
        }
        if let Err(error) = received {
            let is_last = error.ends_connection();
            if !incoming.push(Err(error)).await || is_last {
                incoming.close();
                return;
            }
        }
    }
}

impl Connection for BridgedConnection {
    type Data = Buf;
    type Base = CaladanBase<TokioRuntime>;

    fn base(&self) -> &Self::Base {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.check_open()?;
        if message.len() > self.base.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        if !self.ended.load(Ordering::Relaxed) && self.outgoing.push(message).await {
            return Ok(());
        }
        self.check_open()?;
        Err(failure(ErrorKind::Closed, "the connection has ended"))
    }

    async fn recv(&self) -> Result<Buf, Error> {
        self.check_open()?;
        self.received(self.incoming.pop().await)
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend(Some(self.recv().await?));
        let mut received = 1;
        while received < limit {
            // An error behind the first message concerns no later message, or the ring is closed behind it.
            let Some(item) = self.incoming.try_pop() else { break };
            let Ok(message) = self.received(Some(item)) else { break };
            into.extend(Some(message));
            received += 1;
        }
        Ok(received)
    }

    /// Waits until Caladan has taken all messages.
    async fn drain(&self) -> Result<(), Error> {
        self.outgoing.drained().await;
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Release);
        self.incoming.clear();
        self.outgoing.close();
        self.outgoing.drained().await;
        Ok(())
    }
}

impl Drop for BridgedConnection {
    fn drop(&mut self) {
        self.outgoing.close();
    }
}

impl fmt::Debug for BridgedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BridgedConnection").field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
