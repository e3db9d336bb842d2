//! A socket of which a turn reads a bounded number of bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Number of bytes of a turn. They hold some two hundred of the shortest calls, which take about a millisecond.
const TURN: usize = 8 << 10;

/// A socket that lets other tasks run after each [turn](TURN), so that one that always has more to read takes no more than its share.
#[derive(Debug)]
pub(super) struct Turns<S> {
    socket: S,
    /// Number of bytes that are left of the turn.
    left: usize,
}

impl<S> Turns<S> {
    pub(super) fn new(socket: S) -> Self {
        Self { socket, left: TURN }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Turns<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            self.left = TURN;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let most = into.remaining().min(self.left);
        let mut part = ReadBuf::new(into.initialize_unfilled_to(most));
        let outcome = Pin::new(&mut self.socket).poll_read(context, &mut part);
        let read = part.filled().len();
        into.advance(read);
        match outcome {
            Poll::Ready(_) => self.left -= read,
            Poll::Pending => self.left = TURN,
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Turns<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn a_turn_ends_and_the_next_goes_on_where_it_ended() {
        let bytes: Vec<u8> = (0..3 * TURN + 5).map(|at| at as u8).collect();
        let mut turns = Turns::new(&bytes[..]);
        let mut read = Vec::new();
        let mut ended = 0;
        while read.len() < bytes.len() {
            let mut part = [0; TURN / 2 + 1];
            match turns.read(&mut part).now_or_never() {
                Some(count) => read.extend_from_slice(&part[..count.unwrap()]),
                None => {
                    ended += 1;
                    assert_eq!(read.len(), ended * TURN);
                }
            }
        }
        assert_eq!((read, ended), (bytes, 3));
    }
}
