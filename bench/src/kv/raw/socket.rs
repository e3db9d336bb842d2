//! A UDP socket that moves many datagrams per system call.

use super::ANY_PORT;
use super::inbox::Inbox;
use super::outbox::Outbox;
use crate::{Error, ErrorKind};
use quinn_udp::{Transmit, UdpSocketState};
use std::io;
use std::net::SocketAddr;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Requested size of each socket's buffers; the kernel may grant less.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;

/// A loopback socket with `recvmmsg` and the kernel's segmentation (GSO) and coalescing (GRO).
#[derive(Debug)]
pub(super) struct BatchSocket {
    socket: UdpSocket,
    state: UdpSocketState,
    max_segments: usize,
}

/// Length of the longest run that is tried: Linux takes as many segments in a call, and Bertha sends as many.
const SEGMENTS: usize = 128;

impl BatchSocket {
    /// Opens a socket on a port that the system chooses, in the current runtime.
    pub(super) fn open() -> Result<Self, Error> {
        let open = || {
            let socket = std::net::UdpSocket::bind(ANY_PORT)?;
            let state = UdpSocketState::new((&socket).into())?;
            state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER_BYTES)?;
            state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER_BYTES)?;
            let max_segments = max_segments(&state)?;
            Ok(Self { socket: UdpSocket::from_std(socket)?, state, max_segments })
        };
        open().map_err(Error::while_doing::<io::Error>(ErrorKind::Socket, "opening a key-value socket"))
    }

    pub(super) fn address(&self) -> Result<SocketAddr, Error> {
        self.socket
            .local_addr()
            .map_err(Error::while_doing(ErrorKind::Socket, "asking for a socket's address"))
    }

    /// Returns an outbox with runs as long as this socket can send.
    pub(super) fn outbox(&self) -> Outbox {
        Outbox::new(self.max_segments)
    }

    /// Waits for datagrams and puts the arrived datagrams into the inbox. Cancelling the call loses nothing.
    pub(super) async fn recv(&self, inbox: &mut Inbox) -> Result<(), Error> {
        self.socket
            .async_io(Interest::READABLE, || inbox.fill(&self.socket, &self.state))
            .await
            .map_err(Error::while_doing(ErrorKind::Socket, "receiving from a key-value socket"))?;
        if inbox.drained_the_socket() {
            // The call clears the runtime's readiness, which would cost another call in vain. A datagram that
            // arrived meanwhile is a new edge, which the poller has not seen yet.
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
            // The kernel or the device can't cut runs apart: then datagrams are sent one by one.
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

/// Returns the length of the longest run that the kernel takes in a call. The trial run goes to a socket of
/// its own, which discards it.
fn max_segments(state: &UdpSocketState) -> io::Result<usize> {
    let known = state.max_gso_segments();
    let trial = std::net::UdpSocket::bind(ANY_PORT)?;
    let transmit = Transmit {
        destination: trial.local_addr()?,
        ecn: None,
        contents: &[0; SEGMENTS],
        segment_size: Some(1),
        src_ip: None,
    };
    let takes = known > 1 && state.try_send((&trial).into(), &transmit).is_ok();
    Ok(if takes { SEGMENTS.max(known) } else { known })
}
