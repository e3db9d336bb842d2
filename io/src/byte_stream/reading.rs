//! The half of a stream that reads.

use crate::failure::io_error;
use bertha_core::{Buf, Chunk, Connection, Error};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio_util::sync::ReusableBoxFuture;

pub(super) struct Reading {
    /// The rest of the chunk that arrived last.
    rest: Option<Buf>,
    /// The pending call of the connection. It is kept between polls, since it holds the waker.
    receiving: ReusableBoxFuture<'static, Result<Chunk, Error>>,
    is_receiving: bool,
    has_ended: bool,
}

impl Reading {
    pub(super) fn new<C: Connection<Data = Chunk>>(connection: &Arc<C>) -> Self {
        let receiving = ReusableBoxFuture::new(receive(connection.clone()));
        Self { rest: None, receiving, is_receiving: true, has_ended: false }
    }

    /// Waits for bytes, of which [`consume`](Self::consume) takes some. Returns no bytes at the end of the
    /// stream.
    pub(super) fn poll_fill<C: Connection<Data = Chunk>>(
        &mut self,
        connection: &Arc<C>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<&[u8]>> {
        if self.rest.is_none() && !self.has_ended {
            if !self.is_receiving {
                self.receiving.set(receive(connection.clone()));
                self.is_receiving = true;
            }
            let received = ready!(self.receiving.poll(cx));
            self.is_receiving = false;
            let chunk = received.map_err(io_error)?;
            self.has_ended = chunk.is_end();
            self.rest = (!self.has_ended).then(|| chunk.into());
        }
        Poll::Ready(Ok(self.rest.as_deref().unwrap_or_default()))
    }

    /// Takes the first `count` of these bytes.
    pub(super) fn consume(&mut self, count: usize) {
        if let Some(rest) = &mut self.rest
            && (rest.advance(count).is_err() || rest.is_empty())
        {
            self.rest = None;
        }
    }
}

async fn receive<C: Connection<Data = Chunk>>(connection: Arc<C>) -> Result<Chunk, Error> {
    connection.recv().await
}
