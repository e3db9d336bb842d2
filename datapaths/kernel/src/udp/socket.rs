//! A UDP socket as the kernel gives it: bursts in, bursts out.

use super::Udp;
use crate::demux::WIDTHS;
use crate::endpoint::Socket;
use bertha_core::Buf;
use quinn_udp::{RecvMeta, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Type};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;
use std::task::{Context, Poll};
use tokio::io::Interest;

/// The room for what one receive puts into a buffer: the largest datagram, or as many as the kernel coalesces.
const RECEIVE: usize = 65_536;

/// What is received stays in its large buffer from this length on; below, it moves to one of its size. A message that
/// its receiver keeps would otherwise keep 64 KiB from being used, a thousand queued ones 64 MiB; and the copy of so
/// few bytes, which are in the cache, costs less than fetching a large buffer that is not.
const KEEP: usize = 2048;

/// A bound socket on the current tokio runtime.
#[derive(Debug)]
pub(crate) struct UdpSocket {
    pub(super) io: tokio::net::UdpSocket,
    /// Coalesces and segments bursts.
    pub(super) state: &'static UdpSocketState,
}

impl UdpSocket {
    /// Binds to `local`, and connects to `peer` if there is one.
    pub(super) fn open(
        options: &Udp,
        local: Option<SocketAddr>,
        peer: Option<SocketAddr>,
    ) -> io::Result<Self> {
        let v4 = local.or(peer).is_none_or(|addr| addr.is_ipv4());
        let domain = if v4 { Domain::IPV4 } else { Domain::IPV6 };
        let socket = socket2::Socket::new(domain, Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
        // The system may grant less, and does so silently.
        socket.set_recv_buffer_size(options.receive_buffer)?;
        socket.set_send_buffer_size(options.send_buffer)?;
        if let Some(local) = local {
            socket.bind(&SockAddr::from(local))?;
        }
        if let Some(peer) = peer {
            socket.connect(&SockAddr::from(peer))?;
        }
        if state()?.gro_segments() > 1 {
            // Where the kernel has no coalescing, datagrams arrive one by one.
            let _ = nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::UdpGroSegment, &true);
        }
        let io = tokio::net::UdpSocket::from_std(socket.into())?;
        Ok(Self { io, state: state()? })
    }

    fn receive_with<const N: usize>(
        &self,
        eager: bool,
        mut deliver: impl FnMut(&SocketAddr, usize, Buf),
    ) -> io::Result<usize> {
        // Taken for the moment and given back: sockets that wait hold no memory, and all sockets of a thread share the
        // same few buffers, which stay in the cache.
        let mut buffers = [(); N].map(|()| Buf::new(RECEIVE, 0).ok());
        let mut meta = [RecvMeta::default(); N];
        let filled = {
            let mut slices =
                buffers.each_mut().map(|buffer| IoSliceMut::new(buffer.as_deref_mut().unwrap_or_default()));
            let mut receive = || self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut meta);
            if eager { receive()? } else { self.io.try_io(Interest::READABLE, receive)? }
        };
        for (buffer, meta) in buffers.into_iter().flatten().zip(&meta).take(filled) {
            deliver(&meta.addr, meta.stride, fitted(buffer, meta.len));
        }
        Ok(filled)
    }
}

impl Socket for UdpSocket {
    type Peer = SocketAddr;

    fn receive(
        &self,
        width: usize,
        eager: bool,
        deliver: impl FnMut(&SocketAddr, usize, Buf),
    ) -> io::Result<usize> {
        match width {
            1 => self.receive_with::<1>(eager, deliver),
            8 => self.receive_with::<8>(eager, deliver),
            _ => self.receive_with::<{ WIDTHS[2] }>(eager, deliver),
        }
    }

    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_recv_ready(cx)
    }

    async fn failed(&self) -> io::Error {
        loop {
            if let Err(error) = self.io.ready(Interest::ERROR).await {
                return error;
            }
            match self.io.take_error() {
                Ok(Some(error)) | Err(error) => return error,
                // A `send` or `recv` has reported it: re-arm.
                Ok(None) => {
                    drop(self.io.try_io(Interest::ERROR, || Err::<(), _>(io::ErrorKind::WouldBlock.into())))
                }
            }
        }
    }
}

/// The first `len` bytes of a receive buffer, in one of their size if they are few.
fn fitted(mut buffer: Buf, len: usize) -> Buf {
    buffer.truncate(len);
    if len > KEEP {
        return buffer;
    }
    Buf::copy_of(&buffer, 0).unwrap_or(buffer)
}

/// What the kernel can do, found out once.
///
/// The same for all sockets. It is made on a socket of its own, since making it also sets options that ours are to be
/// without: don't-fragment, which would limit messages to the path's MTU, and time stamps and addresses with each
/// datagram, which cost time and are not used.
fn state() -> io::Result<&'static UdpSocketState> {
    static STATE: OnceLock<UdpSocketState> = OnceLock::new();
    if let Some(state) = STATE.get() {
        return Ok(state);
    }
    let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .or_else(|_| std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)))?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    Ok(STATE.get_or_init(|| state))
}
