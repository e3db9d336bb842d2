//! The half of a stream that writes.

use super::waiting::{Side, Waiting};
use crate::failure::io_error;
use bertha_core::{Base, Chunk, Connection, Error, ErrorKind};
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio_util::sync::ReusableBoxFuture;

/// Maximum number of bytes of a chunk.
const LARGEST: usize = 64 << 10;

pub(super) struct Writing {
    /// The pending call of the connection.
    sending: ReusableBoxFuture<'static, Result<(), Error>>,
    stage: Stage,
    /// The tasks that the call wakes.
    waiting: Waiting,
    /// The error of a call that a read has completed.
    failed: Option<io::Error>,
    /// The largest chunk.
    largest: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No call is under way.
    Idle,
    /// A chunk is under way.
    Sending,
    /// The end of the stream is under way.
    Ending,
    /// The stream has ended.
    Ended,
}

impl Writing {
    pub(super) fn new<C: Connection<Data = Chunk>>(connection: &Arc<C>) -> Self {
        let base = connection.base();
        Self {
            sending: ReusableBoxFuture::new(end(connection.clone())),
            stage: Stage::Idle,
            waiting: Waiting::default(),
            failed: None,
            largest: connection.mtu().saturating_sub(base.reserved()).clamp(1, LARGEST),
        }
    }

    pub(super) fn poll_write<C: Connection<Data = Chunk>>(
        &mut self,
        connection: &Arc<C>,
        parts: &[IoSlice<'_>],
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(cx))?;
        if self.stage != Stage::Idle {
            let what = "the stream was shut down for writing";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::BrokenPipe, what)));
        }
        let whole = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
        let len = whole.min(self.largest);
        if len == 0 {
            // An empty chunk would end the stream.
            return Poll::Ready(Ok(0));
        }
        let mut buffer = connection.base().buffer(len).map_err(io_error)?;
        let mut room = &mut buffer[..];
        for part in parts {
            let (now, later) = room.split_at_mut(part.len().min(room.len()));
            now.copy_from_slice(&part[..now.len()]);
            room = later;
        }
        self.sending.set(send(connection.clone(), buffer.into()));
        self.stage = Stage::Sending;
        // The chunk counts as written in both cases: a pending call holds the bytes.
        match self.poll_call(Side::Writer, cx) {
            Poll::Pending => Poll::Ready(Ok(len)),
            Poll::Ready(sent) => Poll::Ready(sent.map(|()| len)),
        }
    }

    /// Waits for the call that is under way.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        match self.stage {
            Stage::Idle | Stage::Ended => Poll::Ready(Ok(())),
            Stage::Sending | Stage::Ending => self.poll_call(Side::Writer, cx),
        }
    }

    /// Polls the call that is under way on behalf of a read, since the writer may have given up its wait, and only read from
    /// now on. A call that begins while the read waits wakes it.
    pub(super) fn help(&mut self, cx: &mut Context<'_>) {
        if !matches!(self.stage, Stage::Sending | Stage::Ending) {
            return self.waiting.note_reader(cx.waker());
        }
        if let Poll::Ready(done) = self.poll_call(Side::Reader, cx) {
            self.failed = done.err();
        }
    }

    /// Polls the call that is under way.
    fn poll_call(&mut self, side: Side, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sending = &mut self.sending;
        let done = ready!(self.waiting.poll(side, cx, |cx| sending.poll(cx)));
        self.stage = if self.stage == Stage::Ending { Stage::Ended } else { Stage::Idle };
        Poll::Ready(done.map_err(io_error))
    }

    pub(super) fn poll_shutdown<C: Connection<Data = Chunk>>(
        &mut self,
        connection: &Arc<C>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.stage == Stage::Sending || self.failed.is_some() {
            ready!(self.poll_flush(cx))?;
        }
        if self.stage == Stage::Idle {
            self.sending.set(end(connection.clone()));
            self.stage = Stage::Ending;
        }
        self.poll_flush(cx)
    }
}

async fn send<C: Connection<Data = Chunk>>(connection: Arc<C>, chunk: Chunk) -> Result<(), Error> {
    connection.send(chunk).await
}

/// Ends the stream, and waits until all bytes have left the layers below. A peer that is gone needs no end:
/// over TCP, its reset also comes too late for a shutdown.
async fn end<C: Connection<Data = Chunk>>(connection: Arc<C>) -> Result<(), Error> {
    let ended = async {
        connection.send(Chunk::end()).await?;
        connection.drain().await
    };
    match ended.await {
        Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Reset) => Ok(()),
        ended => ended,
    }
}
