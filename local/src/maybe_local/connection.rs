//! The two ways of a message.

use super::Way;
use super::meeting::Met;
use super::statistics::WayTaken;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use bertha_datapath_shm::{Credentials, ShmConnection};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// The connection of [`MaybeLocal`](super::MaybeLocal).
#[derive(Debug)]
pub struct MaybeLocalConnection<Inner> {
    inner: Inner,
    taken: Arc<WayTaken>,
}

impl<Inner> MaybeLocalConnection<Inner> {
    pub(super) fn new(inner: Inner, met: Met) -> Self {
        let taken = match met {
            Ok(near) => WayTaken::Memory(near),
            Err(far) => WayTaken::Network(far.reason),
        };
        Self { inner, taken: Arc::new(taken) }
    }

    /// Returns the state that the [statistics](bertha_core::statistics) show.
    pub(super) fn taken(&self) -> &Arc<WayTaken> {
        &self.taken
    }

    /// The way that messages take, and the reason if it is not shared memory.
    pub fn way(&self) -> Way {
        self.taken.way()
    }

    /// Returns true if the peer is on this machine, and messages go through shared memory.
    pub fn is_local(&self) -> bool {
        self.taken.near().is_some()
    }

    /// The connection below if the peer is not on this machine: for a Chunnel that goes on from there.
    ///
    /// # Errors
    /// This one, if it is.
    pub fn remote(self) -> Result<Inner, Self> {
        if self.is_local() { Err(self) } else { Ok(self.inner) }
    }

    /// The owner of the peer's process if that is on this machine, as the kernel vouches for it: of a client. A client's
    /// own process has made the socket, so a client knows of its server what the directory knows.
    pub fn local_client(&self) -> Option<Credentials> {
        self.taken.near().map(ShmConnection::peer_credentials)
    }
}

impl<Inner: Connection<Data = Buf>> MaybeLocalConnection<Inner> {
    /// Waits for `near` while the connection below hears what is said about the connection, and its end.
    async fn watching<T>(&self, near: impl Future<Output = Result<T, Error>> + Send) -> Result<T, Error> {
        let mut near = pin!(near);
        loop {
            let heard = {
                let mut below = pin!(self.inner.recv());
                poll_fn(|cx| match near.as_mut().poll(cx) {
                    Poll::Ready(received) => Poll::Ready(Heard::Near(received)),
                    // Polled where nothing is there, so this costs no message anything.
                    Poll::Pending => below.as_mut().poll(cx).map(Heard::Below),
                })
                .await
            };
            match heard {
                // Closed at the other end: either it says so below, or it has changed its stack.
                Heard::Near(Err(error)) if error.kind() == ErrorKind::Closed => {
                    return Err(self.inner.recv().await.err().unwrap_or(error));
                }
                Heard::Near(received) => return received,
                Heard::Below(Ok(message)) => {
                    tracing::debug!(bytes = message.len(), "a message below a local connection is dropped");
                }
                // What was sent before this end is in the memory.
                Heard::Below(Err(error)) => {
                    return match poll_fn(|cx| Poll::Ready(near.as_mut().poll(cx))).await {
                        Poll::Ready(Ok(received)) => Ok(received),
                        _ => Err(error),
                    };
                }
            }
        }
    }
}

enum Heard<T> {
    Near(Result<T, Error>),
    Below(Result<Buf, Error>),
}

impl<Inner: Connection<Data = Buf>> Connection for MaybeLocalConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.taken.near().map_or_else(|| self.inner.mtu(), |near| near.base().mtu())
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        match self.taken.near() {
            Some(near) => near.send(message).await,
            None => self.inner.send(message).await,
        }
    }

    async fn recv(&self) -> Result<Buf, Error> {
        match self.taken.near() {
            Some(near) => self.watching(near.recv()).await,
            None => self.inner.recv().await,
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        match self.taken.near() {
            Some(near) => near.send_batch(messages).await,
            None => self.inner.send_batch(messages).await,
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        match self.taken.near() {
            Some(near) if limit > 0 => self.watching(near.recv_batch(into, limit)).await,
            _ => self.inner.recv_batch(into, limit).await,
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        self.inner.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        if let Some(near) = self.taken.near() {
            near.close().await?;
        }
        self.inner.close().await
    }
}
