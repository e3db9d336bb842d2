//! The connection that compresses.

use super::frame::{Bounds, STORED_HEADER, pack, unpack};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What [`Compress`](super::Compress) makes of a connection that carries bytes.
///
/// `send` compresses before it is first pending, on the caller's task. Errors, loss, backpressure and what dropping a future
/// means are those of the connection below. `send` fails with [`Exhausted`](ErrorKind::Exhausted) if there is no memory for the
/// compressed message, and with [`TooLarge`](ErrorKind::TooLarge) for one that would not fit as it is: whether a message
/// can be sent does not depend on what is in it.
pub struct CompressConnection<Inner> {
    inner: Inner,
    bounds: Bounds,
    /// What the layers below put in front of a message.
    below: usize,
    refused: AtomicU64,
}

impl<Inner: Connection<Data = Buf>> CompressConnection<Inner> {
    pub(super) fn new(inner: Inner, bounds: Bounds) -> Self {
        let below = inner.base().reserved();
        inner.base().reserve(STORED_HEADER);
        Self { inner, bounds, below, refused: AtomicU64::new(0) }
    }

    /// How many messages were dropped since they claimed to become too large, or were malformed.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    fn pack(&self, message: Buf) -> Result<Buf, Error> {
        let most = self.inner.mtu().saturating_sub(self.below + STORED_HEADER);
        if message.len() > most {
            return Err(too_large(message.len(), most));
        }
        pack(message, self.bounds, self.below).map_err(|error| error.at("Compress"))
    }

    fn unpack(&self, packed: Buf) -> Option<Buf> {
        unpack(packed, self.bounds)
            .inspect_err(|refused| {
                self.refused.fetch_add(1, Relaxed);
                tracing::debug!(?refused, "dropped a message that can't be decompressed");
            })
            .ok()
    }
}

#[cold]
fn too_large(len: usize, most: usize) -> Error {
    Error::new(ErrorKind::TooLarge, format!("message of {len} bytes, at most {most} fit")).at("Compress")
}

impl<Inner: Connection<Data = Buf>> Connection for CompressConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

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

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        let mut failed = Ok(());
        let packed = messages.map_while(|message| match self.pack(message) {
            Ok(packed) => Some(packed),
            Err(error) => {
                failed = Err(error);
                None
            }
        });
        self.inner.send_batch(packed).await?;
        failed
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let mut unpacked = Unpacked { connection: self, into, count: 0 };
        // A burst of nothing but garbage is no burst.
        while unpacked.count == 0 && limit > 0 {
            self.inner.recv_batch(&mut unpacked, limit).await?;
        }
        Ok(unpacked.count)
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

/// Takes what comes from below, and hands on what can be decompressed.
struct Unpacked<'a, Inner, Into> {
    connection: &'a CompressConnection<Inner>,
    into: &'a mut Into,
    count: usize,
}

impl<Inner: Connection<Data = Buf>, Into: Extend<Buf>> Extend<Buf> for Unpacked<'_, Inner, Into> {
    fn extend<I: IntoIterator<Item = Buf>>(&mut self, arrived: I) {
        let Self { connection, into, count } = self;
        into.extend(arrived.into_iter().filter_map(|packed| {
            let message = connection.unpack(packed);
            *count += usize::from(message.is_some());
            message
        }));
    }
}

impl<Inner: fmt::Debug> fmt::Debug for CompressConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompressConnection")
            .field("inner", &self.inner)
            .field("bounds", &self.bounds)
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}
