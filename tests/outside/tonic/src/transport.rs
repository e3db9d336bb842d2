//! A connection as tonic's servers take it.

use bertha::{Addr, Base, Connection, core::Chunk, io::ByteStream};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// A [`ByteStream`] that tells handlers where its peer is.
#[derive(Debug)]
pub struct Transport<C>(ByteStream<C>);

impl<C: Connection<Data = Chunk>> Transport<C> {
    /// A transport over this connection.
    pub fn new(connection: C) -> Self {
        Self(ByteStream::new(connection))
    }
}

impl<C: Connection<Data = Chunk>> Connected for Transport<C> {
    /// The peer's address.
    type ConnectInfo = Addr;

    fn connect_info(&self) -> Addr {
        self.0.connection().base().peer_addr()
    }
}

impl<C: Connection<Data = Chunk>> AsyncRead for Transport<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, room)
    }
}

impl<C: Connection<Data = Chunk>> AsyncWrite for Transport<C> {
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
