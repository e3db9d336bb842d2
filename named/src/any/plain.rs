//! TCP as other programs have it: a stream of bytes, whose other end knows nothing of stacks.

use super::{AnyConnection, AnyIncoming, Knowledge, Known, Listened};
use crate::Transport;
use bertha::core::{BoxFuture, Listener, Statistics, forward};
use bertha::kernel::{Tcp, TcpConnection};
use bertha::{Buf, Chunk, Connection, Datapath, Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time before a listener tries again to accept, where the process lacks descriptors or memory.
const PAUSE: Duration = Duration::from_millis(20);

impl Transport {
    /// Returns true for TCP, which carries bytes [as they are](Self::connect_plain).
    pub fn is_plain(self) -> bool {
        match self {
            Self::Tcp => true,
            #[cfg(feature = "dpdk")]
            Self::DpdkTcp => true,
            _ => false,
        }
    }

    /// Connects to any program that listens by TCP. A message of the connection is some bytes of the stream, and the empty message is the end of
    /// a direction, behind which to receive is [`Closed`](ErrorKind::Closed). A connection that is dropped without `close` is reset.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a datapath that is not [plain](Self::is_plain). The errors of the datapath's `connect`.
    pub async fn connect_plain(self, to: SocketAddr) -> Result<Arc<dyn AnyConnection>, Error> {
        match self {
            Self::Tcp => Ok(plain(Tcp::new().bytes().connect(to.into()).await?)),
            #[cfg(feature = "dpdk")]
            Self::DpdkTcp => Ok(plain(bertha_datapath_dpdk::Tcp::new().bytes().connect(to.into()).await?)),
            other => Err(other.not_plain()),
        }
    }

    /// Listens for any program that connects by TCP. Its connections are as those of [`connect_plain`](Self::connect_plain).
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a datapath that is not [plain](Self::is_plain). The errors of the datapath's `listen`.
    pub async fn listen_plain(self, on: SocketAddr) -> Result<Listened, Error> {
        match self {
            Self::Tcp => listen(Tcp::new().bytes(), on).await,
            #[cfg(feature = "dpdk")]
            Self::DpdkTcp => listen(bertha_datapath_dpdk::Tcp::new().bytes(), on).await,
            other => Err(other.not_plain()),
        }
    }

    /// Returns the datapath of UDP of the same device, if this one is [plain](Self::is_plain).
    pub fn datagrams(self) -> Option<Self> {
        match self {
            Self::Tcp => Some(Self::Udp),
            #[cfg(feature = "dpdk")]
            Self::DpdkTcp => Some(Self::Dpdk),
            _ => None,
        }
    }

    fn not_plain(self) -> Error {
        Error::new(ErrorKind::Invalid, format!("{self} carries no plain stream of bytes; TCP does"))
    }
}

async fn listen<D>(datapath: D, on: SocketAddr) -> Result<Listened, Error>
where
    D: Datapath<Chunk, Connection: Cut>,
{
    let listener = datapath.listen(on.into()).await?;
    Ok((listener.local_addr(), Box::new(PlainIncoming(listener)), None))
}

struct PlainIncoming<L>(L);

impl<L: Listener<Chunk, Connection: Cut>> AnyIncoming for PlainIncoming<L> {
    fn next(&mut self) -> BoxFuture<'_, Option<Arc<dyn AnyConnection>>> {
        Box::pin(async {
            loop {
                match self.0.accept().await {
                    Ok(connection) => return Some(plain(connection)),
                    Err(error) if error.kind() == ErrorKind::Exhausted => tokio::time::sleep(PAUSE).await,
                    Err(_) => return None,
                }
            }
        })
    }
}

/// A connection that tells its peer of a cut.
trait Cut: Connection<Data = Chunk> {
    fn cut(&self);
}

impl Cut for TcpConnection<Chunk> {
    fn cut(&self) {
        self.abort();
    }
}

#[cfg(feature = "dpdk")]
impl Cut for bertha_datapath_dpdk::TcpConnection<Chunk> {
    fn cut(&self) {
        self.abort();
    }
}

fn plain<C: Cut>(stream: C) -> Arc<dyn AnyConnection> {
    let (has_ended, is_closed) = (AtomicBool::new(false), AtomicBool::new(false));
    Arc::new(Known::new(Plain { stream, has_ended, is_closed }, Nothing))
}

/// A stream of bytes as a connection of messages.
struct Plain<C: Cut> {
    stream: C,
    /// True once the peer's end was received.
    has_ended: AtomicBool,
    is_closed: AtomicBool,
}

impl<C: Cut> Plain<C> {
    fn open(&self) -> Result<(), Error> {
        // Relaxed: the flag stands for itself.
        match self.has_ended.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Closed, "the peer has ended the stream")),
            false => Ok(()),
        }
    }

    fn received(&self, chunk: Chunk) -> Buf {
        if chunk.is_end() {
            self.has_ended.store(true, Ordering::Relaxed);
        }
        chunk.into()
    }
}

impl<C: Cut> Connection for Plain<C> {
    type Data = Buf;
    type Base = C::Base;

    forward!(self.stream => base, mtu, drain);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.stream.send(message.into()).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        self.open()?;
        Ok(self.received(self.stream.recv().await?))
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.stream.send_batch(messages.map(Chunk::from)).await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        self.open()?;
        self.stream.recv_batch(&mut Received { by: self, into }, limit).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.is_closed.store(true, Ordering::Relaxed);
        self.stream.close().await
    }

    fn observe(&self, into: &mut Statistics) {
        self.stream.observe(into);
    }
}

impl<C: Cut> Drop for Plain<C> {
    fn drop(&mut self) {
        if !self.is_closed.load(Ordering::Relaxed) {
            self.stream.cut();
        }
    }
}

/// The messages of a caller, to which chunks are added.
struct Received<'a, C: Cut, E> {
    by: &'a Plain<C>,
    into: &'a mut E,
}

impl<C: Cut, E: Extend<Buf>> Extend<Chunk> for Received<'_, C, E> {
    fn extend<I: IntoIterator<Item = Chunk>>(&mut self, chunks: I) {
        let by = self.by;
        self.into.extend(chunks.into_iter().map(|chunk| by.received(chunk)));
    }
}

/// The knowledge about a connection without a stack.
pub(super) struct Nothing;

impl<C: Connection> Knowledge<C> for Nothing {
    fn explain(&self, _: &C) -> String {
        "as it is".to_owned()
    }

    fn chunnels(&self, _: &C) -> Vec<&'static str> {
        Vec::new()
    }

    fn observed(&self, connection: &C) -> Statistics {
        let mut statistics = Statistics::default();
        connection.observe(&mut statistics);
        statistics
    }
}
