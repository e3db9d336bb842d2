//! An end of a stream.

use super::{Segment, Stream};
use bertha_core::{Buf, Error};
use std::sync::Arc;

/// A connection's end of a stream.
pub(in crate::network) struct StreamEnd {
    stream: Arc<Stream>,
    end: usize,
}

impl StreamEnd {
    pub(in crate::network) fn new(stream: Arc<Stream>, end: usize) -> Self {
        Self { stream, end }
    }

    /// Fails if nothing can be sent any more.
    pub(in crate::network) fn check(&self) -> Result<(), Error> {
        self.stream.pipes[self.end].outbox.check()
    }

    pub(in crate::network) async fn send(&self, message: Buf) -> Result<(), Error> {
        let segment = Segment { due: self.stream.due(self.end), message: Some(message) };
        self.stream.pipes[self.end].outbox.push(segment).await?;
        self.stream.network.state().counters.sent += 1;
        self.stream.resume(self.end);
        Ok(())
    }

    pub(in crate::network) async fn recv(&self) -> Result<Buf, Error> {
        let peer = 1 - self.end;
        let message = self.stream.pipes[peer].inbox.pop().await;
        self.stream.resume(peer);
        message
    }

    pub(in crate::network) async fn recv_batch(
        &self,
        into: &mut (impl Extend<Buf> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let peer = 1 - self.end;
        let count = self.stream.pipes[peer].inbox.pop_some(into, limit).await;
        self.stream.resume(peer);
        count
    }

    pub(in crate::network) fn close(&self) {
        self.stream.close(self.end);
    }
}
