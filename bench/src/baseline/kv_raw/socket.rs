//! A UDP socket that moves many datagrams per system call.

use super::inbox::Inbox;
use super::outbox::Outbox;
use crate::baseline::ANY_PORT;
use crate::{Error, ErrorKind};
use quinn_udp::{Transmit, UdpSocketState};
use std::io;
use std::net::SocketAddr;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// What is asked of the kernel for each socket's buffers; it may give less.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;

/// A loopback socket with `recvmmsg` and the kernel's segmentation (GSO) and coalescing (GRO).
#[derive(Debug)]
pub(super) struct BatchSocket {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl BatchSocket {
    /// Opens a socket on a port that the system chooses, in the current runtime.
    pub(super) fn open() -> Result<Self, Error> {
        let open = || {
            let socket = std::net::UdpSocket::bind(ANY_PORT)?;
            let state = UdpSocketState::new((&socket).into())?;
            state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER_BYTES)?;
            state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER_BYTES)?;
            Ok(Self { socket: UdpSocket::from_std(socket)?, state })
        };
        open().map_err(Error::while_doing::<io::Error>(ErrorKind::Socket, "opening a key-value socket"))
    }

    pub(super) fn address(&self) -> Result<SocketAddr, Error> {
        self.socket
            .local_addr()
            .map_err(Error::while_doing(ErrorKind::Socket, "asking for a socket's address"))
    }

    /// An outbox with runs as long as this socket can send.
    pub(super) fn outbox(&self) -> Outbox {
        Outbox::new(self.state.max_gso_segments())
    }

    /// Waits for datagrams and puts all that have come into the inbox. Cancelling it loses nothing.
    pub(super) async fn recv(&self, inbox: &mut Inbox) -> Result<(), Error> {
        self.socket
            .async_io(Interest::READABLE, || inbox.fill(&self.socket, &self.state))
            .await
            .map_err(Error::while_doing(ErrorKind::Socket, "receiving from a key-value socket"))?;
        if inbox.drained_the_socket() {
            // Says so to the runtime, which would else ask the kernel once more, for nothing. A datagram that has come
            // meanwhile is a new edge, which the poller has not seen yet.
            let _ = self.socket.try_io(Interest::READABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        }
        Ok(())
    }

    /// Sends and empties the outbox.
    pub(super) async fn flush(&self, outbox: &mut Outbox) -> Result<(), Error> {
        for transmit in outbox.transmits() {
            self.transmit(&transmit)
                .await
                .map_err(Error::while_doing(ErrorKind::Socket, "sending from a key-value socket"))?;
        }
        outbox.clear();
        Ok(())
    }

    async fn transmit(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let refused = match self.send(transmit).await {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        };
        match transmit.segment_size {
            // The kernel or the device turns out not to cut runs apart: then one by one.
            Some(segment) if segment < transmit.contents.len() && self.state.max_gso_segments() == 1 => {
                for contents in transmit.contents.chunks(segment) {
                    self.send(&Transmit { contents, segment_size: None, ..*transmit }).await?;
                }
                Ok(())
            }
            _ => Err(refused),
        }
    }

    async fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket
            .async_io(Interest::WRITABLE, || self.state.try_send((&self.socket).into(), transmit))
            .await
    }
}
