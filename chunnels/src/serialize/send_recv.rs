//! The messages of a connection on their way down and up.

use super::burst::{Decoded, Encoded};
use super::{Codec, SerializeConnection};
use bertha_core::{Buf, Connection, Error};

impl<Inner, T, C> Connection for SerializeConnection<Inner, T, C>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    type Data = T;
    type Base = Inner::Base;

    #[inline]
    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    #[inline]
    fn send(&self, message: T) -> impl Future<Output = Result<(), Error>> + Send {
        // Encoded at once, so that the future holds a buffer and the message is not moved into it.
        let encoded = self.encode(self.base(), &message);
        async move { self.inner.send(encoded?).await }
    }

    #[inline]
    async fn recv(&self) -> Result<T, Error> {
        loop {
            let bytes = self.inner.recv().await?;
            if let Some(message) = self.decode(&bytes) {
                return Ok(message);
            }
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = T> + Send) -> Result<(), Error> {
        let mut failed = None;
        self.inner.send_batch(Encoded::new(self, messages, &mut failed)).await?;
        failed.map_or(Ok(()), Err)
    }

    async fn recv_batch(&self, into: &mut (impl Extend<T> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        let mut decoded = Decoded::new(self, into);
        loop {
            let received = self.inner.recv_batch(&mut decoded, limit).await?;
            let well_formed = received.saturating_sub(decoded.finish_burst());
            // A burst of nothing but malformed messages is no burst.
            if well_formed > 0 {
                return Ok(well_formed);
            }
        }
    }

    #[inline]
    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
