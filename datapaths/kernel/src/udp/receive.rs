//! Receiving datagrams: one by one, or a burst in a call.

use super::peer::UdpPeer;
use super::socket::UdpSocket;
use crate::async_socket::{AsyncSocket, Left};
use crate::endpoint::{Received, Request};
use bertha_core::Buf;
use quinn_udp::{EcnCodepoint, RecvMeta, UdpSockRef};
use rustix::net::RecvFlags;
use std::cell::Cell;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use tokio::io::Interest;

/// Number of bytes of a receive buffer. The largest datagram fits, and so do all datagrams that the kernel
/// coalesces.
const RECEIVE: usize = 65_536;

/// Longest message that is copied to a buffer of its own size.
///
/// A short message that its receiver keeps would keep all of a large buffer from being reused: a thousand
/// queued messages would occupy 64 MiB. The copy of so few bytes, which are in the cache, costs less than
/// fetching a large buffer that is not in the cache.
const FEW: usize = 2048;

thread_local! {
    /// Memory into which the sockets of a thread receive single messages: waiting sockets hold no memory, and
    /// the memory stays in the cache.
    static SPACE: Cell<Option<Buf>> = const { Cell::new(None) };
}

#[inline]
fn take_space() -> io::Result<Buf> {
    match SPACE.try_with(Cell::take) {
        Ok(Some(space)) => Ok(space),
        _ => Buf::new(RECEIVE, 0).map_err(io::Error::other),
    }
}

#[inline]
fn give_space_back(space: Buf) {
    // In a thread that ends, the buffer returns to its pool.
    let _ = SPACE.try_with(|place| place.set(Some(space)));
}

impl UdpSocket {
    /// Receives a single datagram, while the kernel does not coalesce. The call does not ask for a second
    /// datagram: mostly there is none, and the question would cost a system call and the reactor's knowledge
    /// that the socket may be readable.
    #[inline]
    pub(super) fn receive_one(
        &self,
        request: Request,
        mut deliver: impl FnMut(&UdpPeer, usize, Buf),
    ) -> io::Result<Received> {
        if request.others_wait || self.late_error.load(Ordering::Relaxed) != 0 {
            return self.receive_two(request, deliver);
        }
        let receive = || self.receive_now();
        let (message, from) =
            if request.eager { receive() } else { self.io.try_io(Interest::READABLE, receive) }?;
        deliver(&from.into(), message.len(), message);
        Ok(Received { buffers: 1, oversize: 0 })
    }

    /// Works as [`receive_one`](Self::receive_one), and asks for a second datagram: further futures wait, and
    /// the reactor would wake one of them in vain if it did not learn that the socket is empty.
    fn receive_two(
        &self,
        request: Request,
        mut deliver: impl FnMut(&UdpPeer, usize, Buf),
    ) -> io::Result<Received> {
        let late = self.late_error.swap(0, Ordering::Relaxed);
        if late != 0 {
            return Err(io::Error::from_raw_os_error(late));
        }
        let mut first = None;
        let mut receive = || {
            first = Some(self.receive_now()?);
            self.receive_now()
        };
        let second = if request.eager { receive() } else { self.io.try_io(Interest::READABLE, receive) };
        let is_empty = first.is_none();
        if let Some((message, from)) = first {
            deliver(&from.into(), message.len(), message);
        }
        match second {
            Ok((message, from)) => deliver(&from.into(), message.len(), message),
            Err(error) if is_empty => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => self.late_error.store(error.raw_os_error().unwrap_or_default(), Ordering::Relaxed),
        }
        Ok(Received { buffers: 1, oversize: 0 })
    }

    /// Receives a datagram and returns it with its sender. A short datagram lies in a buffer of its own size.
    #[inline]
    fn receive_now(&self) -> io::Result<(Buf, SocketAddr)> {
        let mut space = take_space()?;
        let received = match self.peer {
            Some(peer) => rustix::net::recv(&self.io, &mut space[..], RecvFlags::empty())
                .map(|(len, _)| (len, Some(peer))),
            None => rustix::net::recvfrom(&self.io, &mut space[..], RecvFlags::empty())
                .map(|(len, _, from)| (len, from.and_then(|from| SocketAddr::try_from(from).ok()))),
        };
        let (message, from) = match received {
            Ok((len, from)) if len > FEW => {
                space.truncate(len);
                (Ok(space), from)
            }
            Ok((len, from)) => {
                let copy = Buf::copy_of(&space[..len], 0);
                give_space_back(space);
                (copy, from)
            }
            Err(error) => {
                give_space_back(space);
                return Err(error.into());
            }
        };
        let from = from.ok_or_else(|| io::Error::other("a datagram without a sender"))?;
        Ok((message.map_err(io::Error::other)?, from))
    }

    /// Receives datagrams into several buffers, or several coalesced datagrams into each.
    pub(super) fn receive_with<const N: usize>(
        &self,
        request: Request,
        mut deliver: impl FnMut(&UdpPeer, usize, Buf),
    ) -> io::Result<Received> {
        let mut buffers = [const { None }; N];
        let mut meta = [RecvMeta::default(); N];
        let filled = self.io.attempt(request.eager, || {
            // The buffers are taken for the duration of the call: waiting sockets hold no memory, and all
            // sockets of a thread share a few buffers, which stay in the cache.
            buffers.fill_with(|| Buf::new(RECEIVE, 0).ok());
            let mut slices =
                buffers.each_mut().map(|buffer| IoSliceMut::new(buffer.as_deref_mut().unwrap_or_default()));
            let filled = self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut meta)?;
            let was_single = filled == 1 && meta[0].len <= meta[0].stride;
            let rearms = filled < N && (request.others_wait || !was_single);
            Ok((filled, if rearms { Left::Nothing } else { Left::Unknown }))
        })?;
        for (buffer, meta) in buffers.into_iter().flatten().zip(&meta).take(filled) {
            if meta.ecn == Some(EcnCodepoint::Ce) {
                let datagrams = meta.len.div_ceil(meta.stride.max(1));
                self.ecn.on_marked(meta.addr, datagrams, meta.len);
            }
            let peer = match self.asks_where {
                true => UdpPeer::asking(meta.addr, meta.dst_ip),
                false => meta.addr.into(),
            };
            deliver(&peer, meta.stride, buffer.fitted(meta.len));
        }
        Ok(Received { buffers: filled, oversize: 0 })
    }
}
