//! A connection over datagrams: a connected socket, or a peer of a listener's socket.

use super::{Burst, DatagramSocket, DatagramStatistics, refusal};
use crate::SocketBase;
use crate::async_socket::{AsyncSocket, unless_blocked};
use crate::endpoint::Endpoint;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Statistics};
use rustix::io::Errno;
use socket2::SockRef;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A base connection over datagrams to a single peer.
///
/// A datagram connection does not notice that its peer is gone, except that the kernel reports a closed port
/// or socket to the connecting end. [`close`](Connection::close) ends the connection at this end alone: the
/// layer above is responsible for telling the peer.
pub struct DatagramConnection<S: DatagramSocket> {
    endpoint: Arc<Endpoint<S>>,
    slot: usize,
    base: SocketBase,
    remote: S::Remote,
    closed: AtomicBool,
}

impl<S: DatagramSocket> DatagramConnection<S> {
    pub(crate) fn new(endpoint: Arc<Endpoint<S>>, slot: usize, base: SocketBase, remote: S::Remote) -> Self {
        Self { endpoint, slot, base, remote, closed: AtomicBool::new(false) }
    }

    /// Returns the key of the peer.
    pub(super) fn peer(&self) -> S::Peer {
        self.endpoint.peer(self.slot)
    }

    #[inline]
    fn open(&self) -> Result<(), Error> {
        // Relaxed access suffices: no other value depends on the flag; `close` changes the queue under the
        // lock.
        if self.closed.load(Ordering::Relaxed) { Err(self.base.closed()) } else { Ok(()) }
    }

    #[cold]
    fn failed(&self, error: io::Error, len: usize) -> Error {
        self.endpoint.socket().on_error();
        match Errno::from_io_error(&error) {
            Some(Errno::MSGSIZE) => self.base.too_large(len).because(error),
            Some(Errno::NOBUFS) => {
                let what = "the kernel has no buffer left to send with";
                Error::new(ErrorKind::Exhausted, what).at(self.base.datapath()).because(error)
            }
            _ => self.base.concerning_peer(refusal(error)),
        }
    }
}

impl<S: DatagramSocket> Connection for DatagramConnection<S> {
    type Data = Buf;
    type Base = SocketBase;

    fn base(&self) -> &SocketBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.open()?;
        if message.len() > self.base.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        let socket = self.endpoint.socket();
        let send = || socket.send_one(&message, &self.remote);
        let sent = match unless_blocked(send()) {
            Some(sent) => sent,
            None => socket.socket().when_writable(send).await,
        };
        sent.map_err(|error| self.failed(error, message.len()))
    }

    async fn recv(&self) -> Result<Buf, Error> {
        match self.endpoint.recv(self.slot).await {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(self.base.closed()),
            Err(error) => Err(self.base.concerning_peer(error)),
        }
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.open()?;
        let mtu = self.base.mtu();
        let mut oversize = None;
        let socket = self.endpoint.socket();
        let mut burst = S::Burst::new();
        loop {
            if oversize.is_none() {
                oversize = burst.fill(&mut messages, mtu);
            }
            let Some(next) = burst.next_len() else { break };
            let mut send = || socket.send_some(&mut burst, &self.remote);
            let sent = match unless_blocked(send()) {
                Some(sent) => sent,
                None => socket.socket().when_writable(send).await,
            };
            sent.map_err(|error| self.failed(error, next))?;
        }
        match oversize {
            Some(len) => Err(self.base.too_large(len)),
            None => Ok(()),
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        match self.endpoint.recv_batch(self.slot, into, limit).await {
            Ok(0) => Err(self.base.closed()),
            Ok(received) => Ok(received),
            Err(error) => Err(self.base.concerning_peer(error)),
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        self.endpoint.close(self.slot);
        Ok(())
    }

    fn observe(&self, into: &mut Statistics) {
        let socket = SockRef::from(self.endpoint.socket().socket());
        let bytes = |size: usize| size as u64;
        let statistics = DatagramStatistics {
            counters: self.endpoint.counters(),
            send_buffer: socket.send_buffer_size().ok().map(bytes),
            receive_buffer: socket.recv_buffer_size().ok().map(bytes),
        };
        into.add_shared(self.base.datapath(), &*self.endpoint, statistics);
    }
}

impl<S: DatagramSocket> Drop for DatagramConnection<S> {
    fn drop(&mut self) {
        self.endpoint.remove(self.slot);
    }
}

impl<S: DatagramSocket> fmt::Debug for DatagramConnection<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatagramConnection").field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
