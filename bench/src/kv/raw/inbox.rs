//! Datagrams received in a system call.

use quinn_udp::{RecvMeta, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use tokio::net::UdpSocket;

/// Number of buffers that a single `recvmmsg` can fill.
const BUFFERS: usize = quinn_udp::BATCH_SIZE;

/// Size of a buffer: the largest run of datagrams that the kernel returns as one (GRO), and a cache line.
/// Buffers at a distance of a power of two would all compete for common cache sets.
const BUFFER_BYTES: usize = 65_536 + 64;

/// Receive buffers that are used again. Pages that no datagram reaches are never touched.
#[derive(Debug)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    metas: [RecvMeta; BUFFERS],
    filled: usize,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; BUFFERS * BUFFER_BYTES], metas: [RecvMeta::default(); BUFFERS], filled: 0 }
    }

    /// Replaces the content by the socket's waiting datagrams, up to a full batch, without waiting.
    pub(super) fn fill(&mut self, socket: &UdpSocket, state: &UdpSocketState) -> io::Result<()> {
        self.filled = 0;
        let mut buffers = self.bytes.chunks_exact_mut(BUFFER_BYTES);
        let mut slices: [IoSliceMut<'_>; BUFFERS] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        self.filled = state.recv(socket.into(), &mut slices, &mut self.metas)?;
        Ok(())
    }

    /// Returns true if the socket had fewer datagrams than fit, and so is empty now.
    pub(super) fn drained_the_socket(&self) -> bool {
        self.filled < BUFFERS
    }

    /// Returns the datagrams with their senders.
    pub(super) fn datagrams(&self) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        self.bytes.chunks_exact(BUFFER_BYTES).zip(&self.metas[..self.filled]).flat_map(|(buffer, meta)| {
            buffer[..meta.len].chunks(meta.stride.max(1)).map(|datagram| (meta.addr, datagram))
        })
    }
}
