//! A connection of any type that is known for more than its messages.

use super::AnyConnection;
use crate::until_closed::UntilClosed;
use bertha::core::{BoxFuture, Statistics};
use bertha::{Addr, Agreement, Base, Buf, Connection, Error, ErrorKind, Pick};
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A connection of any type, with what it is known for beside its messages.
pub(crate) struct Known<C, K>(UntilClosed<Arc<Open<C, K>>, Remains>);

struct Open<C, K> {
    connection: Arc<C>,
    known: K,
}

/// The texts and figures of a connection that was closed.
struct Remains {
    longest: usize,
    explanation: String,
    chunnels: Vec<&'static str>,
    dropped: u64,
    forged: u64,
    peer_address: Addr,
    local_address: Addr,
    peer_identity: Option<String>,
    agreement: Option<Arc<Agreement>>,
    observed: Arc<Statistics>,
}

/// The knowledge about a connection beside its messages: the methods of [`AnyConnection`] of these names.
///
/// The defaults are those of a connection whose ends have agreed on nothing.
pub(crate) trait Knowledge<C>: Send + Sync + 'static {
    fn upgrade(&self, _: &Arc<C>, _: Pick) -> Option<BoxFuture<'static, Result<(), Error>>> {
        None
    }
    fn explain(&self, connection: &C) -> String;
    fn chunnels(&self, connection: &C) -> Vec<&'static str>;
    fn dropped(&self, _: &C) -> u64 {
        0
    }
    fn forged(&self, _: &C) -> u64 {
        0
    }
    fn agreement(&self, _: &C) -> Option<Arc<Agreement>> {
        None
    }
    fn observed(&self, connection: &C) -> Statistics;
}

impl<C: Connection<Data = Buf>, K: Knowledge<C>> Known<C, K> {
    pub(crate) fn new(connection: C, known: K) -> Self {
        Self(UntilClosed::new(Arc::new(Open { connection: Arc::new(connection), known })))
    }

    fn open(&self) -> Result<Arc<Open<C, K>>, Error> {
        self.0.get().ok_or_else(closed)
    }

    fn look<R>(&self, open: impl FnOnce(&Open<C, K>) -> R, closed: impl FnOnce(&Remains) -> R) -> R {
        self.0.look(|there| open(there), closed)
    }
}

impl<C: Connection<Data = Buf>, K: Knowledge<C>> Open<C, K> {
    fn longest(&self) -> usize {
        self.connection.mtu().saturating_sub(self.connection.base().reserved())
    }

    fn peer_identity(&self) -> Option<String> {
        self.connection.peer_identity().map(|identity| identity.to_string())
    }

    fn remains(&self) -> Remains {
        let Self { connection, known } = self;
        Remains {
            longest: self.longest(),
            explanation: known.explain(connection),
            chunnels: known.chunnels(connection),
            dropped: known.dropped(connection),
            forged: known.forged(connection),
            peer_address: connection.base().peer_addr(),
            local_address: connection.base().local_addr(),
            peer_identity: self.peer_identity(),
            agreement: known.agreement(connection),
            observed: Arc::new(known.observed(connection)),
        }
    }
}

#[cold]
fn closed() -> Error {
    Error::new(ErrorKind::Closed, "this end has closed the connection").ending_connection()
}

impl<C: Connection<Data = Buf>, K: Knowledge<C>> AnyConnection for Known<C, K> {
    fn buffer(&self, length: usize) -> Result<Buf, Error> {
        self.0.glance(|open| open.connection.base().buffer(length), |_| Err(closed()))
    }

    fn longest(&self) -> usize {
        self.0.glance(|open| open.longest(), |closed| closed.longest)
    }

    fn send(self: Arc<Self>, message: Buf) -> BoxFuture<'static, Result<(), Error>> {
        match self.open() {
            Ok(open) => Box::pin(async move { open.connection.send(message).await }),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn send_burst(self: Arc<Self>, messages: Vec<Buf>) -> BoxFuture<'static, Result<(), Error>> {
        match self.open() {
            Ok(open) => Box::pin(async move { open.connection.send_batch(messages.into_iter()).await }),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn receive_at_once(&self) -> Option<Result<Buf, Error>> {
        let open = match self.open() {
            Ok(open) => open,
            Err(error) => return Some(Err(error)),
        };
        match pin!(open.connection.recv()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(received) => Some(received),
            Poll::Pending => None,
        }
    }

    fn receive(&self) -> BoxFuture<'_, Result<Buf, Error>> {
        match self.open() {
            Ok(open) => Box::pin(async move { open.connection.recv().await }),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn receive_burst<'a>(
        &'a self,
        into: &'a mut Vec<Buf>,
        most: usize,
    ) -> BoxFuture<'a, Result<usize, Error>> {
        match self.open() {
            Ok(open) => Box::pin(async move { open.connection.recv_batch(into, most).await }),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn drain(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>> {
        match self.open() {
            Ok(open) => Box::pin(async move { open.connection.drain().await }),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>> {
        let Ok(open) = self.open() else { return Box::pin(ready(Ok(()))) };
        Box::pin(async move {
            let closed = open.connection.close().await;
            self.0.give_back(open.remains());
            closed
        })
    }

    fn upgrade(&self, to: Pick) -> Option<BoxFuture<'static, Result<(), Error>>> {
        match self.open() {
            Ok(open) => open.known.upgrade(&open.connection, to),
            Err(error) => Some(Box::pin(ready(Err(error)))),
        }
    }

    fn explain(&self) -> String {
        self.look(|open| open.known.explain(&open.connection), |closed| closed.explanation.clone())
    }

    fn chunnels(&self) -> Vec<&'static str> {
        self.look(|open| open.known.chunnels(&open.connection), |closed| closed.chunnels.clone())
    }

    fn dropped(&self) -> u64 {
        self.look(|open| open.known.dropped(&open.connection), |closed| closed.dropped)
    }

    fn forged(&self) -> u64 {
        self.look(|open| open.known.forged(&open.connection), |closed| closed.forged)
    }

    fn statistics(&self) -> String {
        self.observed().to_string()
    }

    fn peer_address(&self) -> Addr {
        self.look(|open| open.connection.base().peer_addr(), |closed| closed.peer_address.clone())
    }

    fn local_address(&self) -> Addr {
        self.look(|open| open.connection.base().local_addr(), |closed| closed.local_address.clone())
    }

    fn peer_identity(&self) -> Option<String> {
        self.look(Open::peer_identity, |closed| closed.peer_identity.clone())
    }

    fn agreement(&self) -> Option<Arc<Agreement>> {
        self.look(|open| open.known.agreement(&open.connection), |closed| closed.agreement.clone())
    }

    fn observed(&self) -> Arc<Statistics> {
        self.look(|open| Arc::new(open.known.observed(&open.connection)), |closed| closed.observed.clone())
    }
}
