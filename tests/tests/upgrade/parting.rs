//! A Chunnel that tells its peers when it ends, as a Chunnel with a session does.

use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const END: &[u8] = b"the end";

/// Sends a message on closing; a connection that receives it receives no more.
#[derive(Debug, Clone, Default, Identity)]
pub(crate) struct Parting {
    said: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Parting {
    /// Returns the number of connections that have notified their peer of their end, and the number of
    /// dropped connections.
    pub(crate) fn ended(&self) -> (usize, usize) {
        (self.said.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Parting {
    type Connection = PartingConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(PartingConnection { inner, parting: self.clone() })
    }
}

pub(crate) struct PartingConnection<Inner> {
    inner: Inner,
    parting: Parting,
}

impl<Inner: Connection<Data = Buf>> Connection for PartingConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.send(message)
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let message = self.inner.recv().await?;
        if *message == *END {
            return Err(Error::new(ErrorKind::Closed, "a counterpart has ended").at("Parting"));
        }
        Ok(message)
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    async fn close(&self) -> Result<(), Error> {
        self.parting.said.fetch_add(1, Ordering::Relaxed);
        let mut message = self.base().buffer(END.len())?;
        message.copy_from_slice(END);
        self.inner.send(message).await?;
        self.inner.close().await
    }
}

impl<Inner> Drop for PartingConnection<Inner> {
    fn drop(&mut self) {
        self.parting.dropped.fetch_add(1, Ordering::Relaxed);
    }
}
