//! The connection that compresses.

use super::frame::{Bounds, STORED_HEADER, is_compressed, pack, unpack};
use super::statistics::CompressCounts;
use crate::burst::{Decoded, send_encoded};
use bertha_core::{Base, Buf, Connection, DropCounter, Error, ErrorKind, debug_fields, forward};
use std::fmt::Debug;
use std::sync::Arc;

/// The connection of [`Compress`](super::Compress) over a connection that carries bytes.
///
/// `send` compresses on the caller's task, at its first poll. Errors, loss, backpressure and cancellation are
/// those of the connection below. `send` fails with [`Exhausted`](ErrorKind::Exhausted) if there is no memory
/// for the compressed message, and with [`TooLarge`](ErrorKind::TooLarge) for a message that would not fit
/// uncompressed, so the content of a message never decides whether it can be sent.
pub struct CompressConnection<Inner> {
    inner: Inner,
    bounds: Bounds,
    /// The size of the headers of the layers below, in bytes.
    below: usize,
    refused: DropCounter,
    counts: Arc<CompressCounts>,
}

impl<Inner: Connection<Data = Buf>> CompressConnection<Inner> {
    pub(super) fn new(inner: Inner, bounds: Bounds, refused: DropCounter) -> Self {
        let below = inner.base().reserved();
        inner.base().reserve(STORED_HEADER);
        Self { inner, bounds, below, refused, counts: Arc::default() }
    }

    /// Returns the counters, which tell about themselves.
    pub(super) fn observed(&self) -> &Arc<CompressCounts> {
        &self.counts
    }

    /// Returns the number of messages that were dropped: too large when decompressed, or malformed.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    fn pack(&self, message: Buf) -> Result<Buf, Error> {
        let max = self.inner.mtu().saturating_sub(self.below + STORED_HEADER);
        if message.len() > max {
            return Err(too_large(message.len(), max));
        }
        let before = message.len();
        let packed = pack(message, self.bounds, self.below).map_err(|error| error.at("Compress"))?;
        if is_compressed(&packed) {
            self.counts.add(before, packed.len());
        }
        Ok(packed)
    }

    fn unpack(&self, packed: Buf) -> Option<Buf> {
        unpack(packed, self.bounds)
            .inspect_err(|refused| {
                self.refused.add(1);
                tracing::debug!(?refused, "dropped a message that can't be decompressed");
            })
            .ok()
    }
}

#[cold]
fn too_large(len: usize, max: usize) -> Error {
    let what = format!("message of {len} bytes, at most {max} fit below; put Fragment below Compress");
    Error::new(ErrorKind::TooLarge, what).at("Compress")
}

impl<Inner: Connection<Data = Buf>> Connection for CompressConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain, close);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.pack(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.unpack(self.inner.recv().await?) {
                return Ok(message);
            }
        }
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Buf> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        send_encoded(&self.inner, messages, |message| self.pack(message))
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let decode = |message| self.unpack(message);
        let mut unpacked = Decoded { into, decode, count: 0 };
        // A burst of malformed messages alone would return zero.
        while unpacked.count == 0 && limit > 0 {
            self.inner.recv_batch(&mut unpacked, limit).await?;
        }
        Ok(unpacked.count)
    }
}

debug_fields!(CompressConnection<Inner: Debug> { inner, bounds, refused });
