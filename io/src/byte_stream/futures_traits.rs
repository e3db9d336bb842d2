//! The traits of `futures-io`.

use super::ByteStream;
use bertha_core::{Chunk, Connection};
use futures_io::{AsyncBufRead, AsyncRead, AsyncWrite};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

impl<C: Connection<Data = Chunk>> AsyncRead for ByteStream<C> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        if room.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let bytes = ready!(AsyncBufRead::poll_fill_buf(self.as_mut(), cx))?;
        let taken = bytes.len().min(room.len());
        room[..taken].copy_from_slice(&bytes[..taken]);
        self.reading.consume(taken);
        Poll::Ready(Ok(taken))
    }
}

impl<C: Connection<Data = Chunk>> AsyncBufRead for ByteStream<C> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        tokio::io::AsyncBufRead::poll_fill_buf(self, cx)
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        self.reading.consume(count);
    }
}

impl<C: Connection<Data = Chunk>> AsyncWrite for ByteStream<C> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        tokio::io::AsyncWrite::poll_write(self, cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        tokio::io::AsyncWrite::poll_write_vectored(self, cx, parts)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        tokio::io::AsyncWrite::poll_flush(self, cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        tokio::io::AsyncWrite::poll_shutdown(self, cx)
    }
}
