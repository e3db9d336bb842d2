//! A socket of which a turn reads a bounded number of bytes.

use super::credit::Credit;
use super::turnstile::Turnstile;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A socket that lets other tasks run after each turn, so that one that always has more to read takes no more than its share, and the
/// connections of a peer together no more than one.
#[derive(Debug)]
pub(crate) struct Turns<S> {
    socket: S,
    turnstile: Arc<Turnstile>,
    credit: Arc<Credit>,
    /// The place among those who wait for a turn.
    ticket: Option<u64>,
}

impl<S> Turns<S> {
    pub(crate) fn new(socket: S, turnstile: Arc<Turnstile>, credit: Arc<Credit>) -> Self {
        Self { socket, turnstile, credit, ticket: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Turns<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { socket, turnstile, credit, ticket } = &mut *self;
        if credit.is_paused() {
            return Poll::Pending;
        }
        let most = match turnstile.may_read(ticket, context) {
            0 => return Poll::Pending,
            left => into.remaining().min(left),
        };
        let mut part = ReadBuf::new(into.initialize_unfilled_to(most));
        let outcome = Pin::new(socket).poll_read(context, &mut part);
        let read = part.filled().len();
        into.advance(read);
        if read > 0 {
            turnstile.has_read(read);
            credit.hear(read);
            *ticket = None;
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

impl<S> Drop for Turns<S> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.turnstile.leave(ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::turnstile::TURN;
    use super::*;
    use futures_util::FutureExt;
    use tokio::io::AsyncReadExt;
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::task::{JoinSet, yield_now};

    #[tokio::test]
    async fn a_turn_ends_and_the_next_goes_on_where_it_ended() {
        let bytes: Vec<u8> = (0..3 * TURN + 5).map(|at| at as u8).collect();
        let mut turns = Turns::new(&bytes[..], Arc::default(), Arc::default());
        let mut all = Vec::new();
        let mut ended = 0;
        while all.len() < bytes.len() {
            let mut part = [0; TURN / 2 + 1];
            match turns.read(&mut part).now_or_never() {
                Some(count) => all.extend_from_slice(&part[..count.unwrap()]),
                None => {
                    ended += 1;
                    assert_eq!(all.len(), ended * TURN);
                    yield_now().await;
                    yield_now().await;
                }
            }
        }
        assert_eq!((all, ended), (bytes.clone(), 3));
    }

    #[tokio::test]
    async fn connections_of_a_peer_take_turns_one_after_another_and_others_run_between_them() {
        let (turnstile, (log, mut logged)) = (Arc::default(), unbounded_channel());
        // One waits, and goes when it is woken.
        let mut gone = Turns::new(&[0; TURN][..], Arc::clone(&turnstile), Arc::default());
        let mut tasks = JoinSet::new();
        for number in 0..9 {
            let mut turns = Turns::new(&[0; 3 * TURN][..], Arc::clone(&turnstile), Arc::default());
            let log = log.clone();
            tasks.spawn(async move {
                while turns.read(&mut [0; TURN]).await.unwrap() > 0 {
                    log.send(Some(number)).unwrap();
                }
            });
        }
        yield_now().await;
        assert!(gone.read(&mut [0; 1]).now_or_never().is_none());
        drop(gone);
        let other = async {
            loop {
                log.send(None).unwrap();
                yield_now().await;
            }
        };
        tokio::select! {
            _all = tasks.join_all() => {}
            () = other => {}
        }
        let log: Vec<Option<usize>> = std::iter::from_fn(|| logged.try_recv().ok()).collect();
        assert!(log.windows(2).all(|two| two.contains(&None)), "{log:?}");
        let turns: Vec<_> = log.into_iter().flatten().collect();
        // The first comes twice before there are others.
        let (first, rest) = turns.split_at(1);
        let all = [0, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!((first, rest), (&[0][..], &[&all[..], &all, &all[1..]].concat()[..]));
    }
}
