//! A datapath that counts its connections.

use bertha_core::{Addr, Buf, Connection, Datapath, Error, Listener};
use bertha_datapath_sim::{SimBase, SimConnection, SimDatapath, SimListener};
use std::sync::Arc;

/// Counts the connections that its listeners have accepted and that are held.
pub(crate) struct Counting {
    inner: SimDatapath,
    held: Held,
}

/// A count of connections. Each connection has a clone.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<()>);

pub(crate) struct CountingListener {
    inner: SimListener,
    held: Held,
}

pub(crate) struct CountedConnection {
    inner: SimConnection,
    _held: Option<Held>,
}

impl Counting {
    pub(crate) fn new(inner: SimDatapath) -> Self {
        Self { inner, held: Held::default() }
    }

    pub(crate) fn held(&self) -> Held {
        self.held.clone()
    }
}

impl Held {
    /// Returns the number of connections. The clones of the datapath, its listener and the caller do not
    /// count.
    pub(crate) fn count(&self) -> usize {
        Arc::strong_count(&self.0) - 3
    }
}

impl Datapath for Counting {
    type Connection = CountedConnection;
    type Listener = CountingListener;

    async fn connect(&self, to: Addr) -> Result<CountedConnection, Error> {
        Ok(CountedConnection { inner: self.inner.connect(to).await?, _held: None })
    }

    async fn listen(&self, on: Addr) -> Result<CountingListener, Error> {
        Ok(CountingListener { inner: self.inner.listen(on).await?, held: self.held.clone() })
    }
}

impl Listener for CountingListener {
    type Connection = CountedConnection;

    async fn accept(&self) -> Result<CountedConnection, Error> {
        Ok(CountedConnection { inner: self.inner.accept().await?, _held: Some(self.held.clone()) })
    }

    fn local_addr(&self) -> Addr {
        self.inner.local_addr()
    }
}

impl Connection for CountedConnection {
    type Data = Buf;
    type Base = SimBase;

    fn base(&self) -> &SimBase {
        self.inner.base()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        self.inner.recv().await
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
