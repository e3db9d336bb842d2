//! tokio's traits.

use super::ByteStream;
use bertha_core::{Chunk, Connection};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

impl<C: Connection<Data = Chunk>> AsyncRead for ByteStream<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if room.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let bytes = ready!(self.as_mut().poll_fill_buf(cx))?;
        let taken = bytes.len().min(room.remaining());
        room.put_slice(&bytes[..taken]);
        self.reading.consume(taken);
        Poll::Ready(Ok(()))
    }
}

impl<C: Connection<Data = Chunk>> AsyncBufRead for ByteStream<C> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let Self { connection, reading, writing } = self.get_mut();
        writing.help(cx);
        reading.poll_fill(connection, cx)
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        self.reading.consume(count);
    }
}

impl<C: Connection<Data = Chunk>> AsyncWrite for ByteStream<C> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { connection, writing, .. } = self.get_mut();
        writing.poll_write(connection, parts, cx)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writing.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { connection, writing, .. } = self.get_mut();
        writing.poll_shutdown(connection, cx)
    }
}
