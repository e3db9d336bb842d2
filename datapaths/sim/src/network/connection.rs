//! A simulated connection.

use super::stream::StreamEnd;
use super::{Network, SimBase};
use crate::queue::{Ending, NotTaken, Queue};
use bertha_core::{Buf, Connection, Error, Properties};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// The queue that a connection receives from.
pub(super) type Inbox = Arc<Queue<Buf>>;

/// A base connection over a simulated network.
///
/// Over datagrams, `close` and drop send nothing to the peer. The connection's address stays registered until
/// the connection is dropped, so that late messages after a `close` don't open a new connection. A closed
/// port is reported once, by the next `send` or `recv`, as
/// [`Unreachable`](bertha_core::ErrorKind::Unreachable); the connection goes on.
///
/// Streams tell the peer of the end, which first receives the messages sent before.
pub struct SimConnection {
    base: SimBase,
    transport: Transport,
}

enum Transport {
    Datagram(Inbox),
    Stream(StreamEnd),
}

impl SimConnection {
    pub(super) fn datagram(network: Network, local: SocketAddr, peer: SocketAddr, inbox: Inbox) -> Self {
        let base = SimBase::new(network, local, peer, Properties::DATAGRAM);
        Self { base, transport: Transport::Datagram(inbox) }
    }

    pub(super) fn stream(network: Network, local: SocketAddr, peer: SocketAddr, end: StreamEnd) -> Self {
        let base = SimBase::new(network, local, peer, Properties::STREAM);
        Self { base, transport: Transport::Stream(end) }
    }

    /// Delivers the datagram that opened this connection.
    pub(super) fn deliver(&self, payload: Buf) -> Result<(), NotTaken> {
        match &self.transport {
            Transport::Datagram(inbox) => inbox.try_push(payload),
            Transport::Stream(_) => Err(NotTaken::Ended),
        }
    }

    fn end(&self) {
        match &self.transport {
            Transport::Datagram(inbox) => drop(inbox.end_now(Ending::HERE)),
            Transport::Stream(end) => end.close(),
        }
    }
}

impl Connection for SimConnection {
    type Data = Buf;
    type Base = SimBase;

    fn base(&self) -> &SimBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        match &self.transport {
            Transport::Datagram(inbox) => {
                inbox.check()?;
                self.base.check(message.len())?;
                let is_markable = self.base.is_markable();
                self.base.network.transmit(self.base.local, self.base.peer, message, is_markable)
            }
            Transport::Stream(end) => {
                end.check()?;
                self.base.check(message.len())?;
                end.send(message).await
            }
        }
    }

    async fn recv(&self) -> Result<Buf, Error> {
        match &self.transport {
            Transport::Datagram(inbox) => inbox.pop().await,
            Transport::Stream(end) => end.recv().await,
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        match &self.transport {
            Transport::Datagram(inbox) => inbox.pop_some(into, limit).await,
            Transport::Stream(end) => end.recv_batch(into, limit).await,
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.end();
        Ok(())
    }
}

impl Drop for SimConnection {
    fn drop(&mut self) {
        if let Transport::Datagram(inbox) = &self.transport {
            self.base.network.forget(self.base.local, self.base.peer, inbox);
        }
        self.end();
    }
}

impl fmt::Debug for SimConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimConnection")
            .field("local", &self.base.local)
            .field("peer", &self.base.peer)
            .finish_non_exhaustive()
    }
}
