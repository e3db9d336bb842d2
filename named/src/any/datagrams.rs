//! Sockets of datagrams as other programs have them: at an address, with any number of peers.

use super::plain::Nothing;
use super::{AnyConnection, Known};
use crate::Transport;
use bertha::core::{BoxFuture, Listener};
use bertha::kernel::{Udp, UdpListener};
use bertha::{Addr, Buf, Connection, Datapath, Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

/// A socket of datagrams at an address, whose peers know nothing of stacks. It has a connection to each peer, whose messages are datagrams.
pub trait AnyDatagrams: Send + Sync {
    /// Returns the address of the socket.
    fn local_address(&self) -> Addr;
    /// Waits for a peer that sends, to which there is no connection. The future is cancellation-safe.
    ///
    /// # Errors
    /// Errors of the datapath's `accept`.
    fn accept(&self) -> BoxFuture<'_, Result<Arc<dyn AnyConnection>, Error>>;
    /// Opens a connection to a peer. Nothing is sent.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse) if there is a connection to the peer, also one that waits to be accepted;
    /// [`Invalid`](ErrorKind::Invalid) for an address to which the socket cannot send.
    fn connect(&self, to: SocketAddr) -> Result<Arc<dyn AnyConnection>, Error>;
}

impl Transport {
    /// Opens a socket of datagrams at an address; a port of zero stands for any.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a datapath that carries no datagrams of UDP. The errors of the datapath's `listen`.
    pub async fn listen_datagrams(self, on: SocketAddr) -> Result<Box<dyn AnyDatagrams>, Error> {
        match self {
            Self::Udp => Ok(Box::new(Udp::new().listen(on.into()).await?)),
            #[cfg(feature = "dpdk")]
            Self::Dpdk => Ok(Box::new(bertha_datapath_dpdk::Dpdk::new().listen(on.into()).await?)),
            other => Err(Error::new(ErrorKind::Invalid, format!("{other} carries no datagrams of UDP"))),
        }
    }
}

/// A listener that opens connections from its own address, too.
trait Connects: Listener<Connection: Connection<Data = Buf>> {
    fn connect(&self, to: SocketAddr) -> Result<Self::Connection, Error>;
}

impl Connects for UdpListener {
    fn connect(&self, to: SocketAddr) -> Result<Self::Connection, Error> {
        self.connect(to)
    }
}

#[cfg(feature = "dpdk")]
impl Connects for bertha_datapath_dpdk::DpdkListener {
    fn connect(&self, to: SocketAddr) -> Result<Self::Connection, Error> {
        self.connect(to)
    }
}

impl<L: Connects> AnyDatagrams for L {
    fn local_address(&self) -> Addr {
        self.local_addr()
    }

    fn accept(&self) -> BoxFuture<'_, Result<Arc<dyn AnyConnection>, Error>> {
        Box::pin(async { Ok(any(Listener::accept(self).await?)) })
    }

    fn connect(&self, to: SocketAddr) -> Result<Arc<dyn AnyConnection>, Error> {
        Ok(any(Connects::connect(self, to)?))
    }
}

fn any<C: Connection<Data = Buf>>(connection: C) -> Arc<dyn AnyConnection> {
    Arc::new(Known::new(connection, Nothing))
}
