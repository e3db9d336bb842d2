//! A connection of bytes in the form that tonic expects.

use bertha::io::ByteStream;
use bertha::{Addr, Base, Chunk, Connection};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// A [`ByteStream`] that makes its peer's address known to tonic's services:
/// `request.extensions().get::<Addr>()`.
#[derive(Debug)]
pub struct Io<C>(ByteStream<C>);

impl<C: Connection<Data = Chunk>> Io<C> {
    /// Wraps this connection.
    pub fn new(connection: C) -> Self {
        Self(ByteStream::new(connection))
    }
}

impl<C: Connection<Data = Chunk>> Connected for Io<C> {
    type ConnectInfo = Addr;

    fn connect_info(&self) -> Addr {
        self.0.connection().base().peer_addr()
    }
}

impl<C: Connection<Data = Chunk>> AsyncRead for Io<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, room)
    }
}

impl<C: Connection<Data = Chunk>> AsyncWrite for Io<C> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
