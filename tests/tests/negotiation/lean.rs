//! A datapath whose calls fail when the test says so.

use bertha_core::{Addr, Buf, Connection, Datapath, Error, ErrorKind, Listener};
use bertha_datapath_sim::{SimBase, SimConnection, SimDatapath, SimListener};
use std::sync::atomic::{AtomicU64, Ordering};

/// The calls of a connection that fail: a bit for each of the first 64 calls, counted from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) sends: u64,
    pub(crate) receptions: u64,
    pub(crate) kind: ErrorKind,
}

/// A plan in which no call fails.
pub(crate) const GOOD: Plan = Plan { sends: 0, receptions: 0, kind: ErrorKind::Exhausted };

/// A datapath whose connections all follow this plan.
pub(crate) struct Lean(pub(crate) SimDatapath, pub(crate) Plan);

pub(crate) struct LeanListener(SimListener, Plan);

pub(crate) struct LeanConnection {
    inner: SimConnection,
    sends: Failing,
    receptions: Failing,
}

struct Failing {
    which: u64,
    kind: ErrorKind,
    calls: AtomicU64,
}

impl Failing {
    fn new(which: u64, kind: ErrorKind) -> Self {
        Self { which, kind, calls: AtomicU64::new(0) }
    }

    fn next(&self) -> Result<(), Error> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed).min(63);
        match self.which >> call & 1 {
            0 => Ok(()),
            _ => Err(Error::new(self.kind, "there is no room just now").at("lean")),
        }
    }
}

impl LeanConnection {
    fn new(inner: SimConnection, Plan { sends, receptions, kind }: Plan) -> Self {
        Self { inner, sends: Failing::new(sends, kind), receptions: Failing::new(receptions, kind) }
    }
}

impl Datapath for Lean {
    type Connection = LeanConnection;
    type Listener = LeanListener;

    async fn connect(&self, to: Addr) -> Result<LeanConnection, Error> {
        Ok(LeanConnection::new(self.0.connect(to).await?, self.1))
    }

    async fn listen(&self, on: Addr) -> Result<LeanListener, Error> {
        Ok(LeanListener(self.0.listen(on).await?, self.1))
    }
}

impl Listener for LeanListener {
    type Connection = LeanConnection;

    async fn accept(&self) -> Result<LeanConnection, Error> {
        Ok(LeanConnection::new(self.0.accept().await?, self.1))
    }

    fn local_addr(&self) -> Addr {
        self.0.local_addr()
    }
}

impl Connection for LeanConnection {
    type Data = Buf;
    type Base = SimBase;

    fn base(&self) -> &SimBase {
        self.inner.base()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.sends.next()?;
        self.inner.send(message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        self.receptions.next()?;
        self.inner.recv().await
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
