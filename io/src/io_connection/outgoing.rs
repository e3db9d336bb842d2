//! The half for writing.

use bertha_core::{Buf, Error, ErrorKind};
use tokio::io::{AsyncWrite, AsyncWriteExt, WriteHalf};

/// The bytes to write, in order.
#[derive(Debug)]
pub(super) struct Outgoing<T> {
    half: WriteHalf<T>,
    /// The rest of the chunk that is being written. It outlives the call that began it, so that no partial
    /// chunk is left.
    rest: Option<Buf>,
}

impl<T: AsyncWrite> Outgoing<T> {
    pub(super) fn new(half: WriteHalf<T>) -> Self {
        Self { half, rest: None }
    }

    /// Writes a chunk behind the chunk before it. If the future is dropped, the next call writes the rest.
    pub(super) async fn write(&mut self, chunk: Buf) -> Result<(), Error> {
        self.finish().await?;
        self.rest = Some(chunk);
        self.finish().await
    }

    async fn finish(&mut self) -> Result<(), Error> {
        while let Some(rest) = &mut self.rest {
            let written = self.half.write(rest).await?;
            if written == 0 {
                return Err(Error::new(ErrorKind::Closed, "the stream takes no more bytes"));
            }
            rest.advance(written)?;
            if rest.is_empty() {
                self.rest = None;
            }
        }
        Ok(())
    }

    /// Writes the rest, and flushes the stream's buffers.
    pub(super) async fn flush(&mut self) -> Result<(), Error> {
        self.finish().await?;
        Ok(self.half.flush().await?)
    }

    /// Ends this half.
    pub(super) async fn end(&mut self) -> Result<(), Error> {
        self.flush().await?;
        Ok(self.half.shutdown().await?)
    }
}
