//! Accepting streams.

use super::{Settings, StreamConnection, StreamSocket};
use bertha_core::{Addr, Buf, Error, Listener, Octets, Properties};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::time::Duration;

/// How long to wait for descriptors or memory to become free.
const PAUSE: Duration = Duration::from_millis(20);

/// A socket that listens for streams.
///
/// A peer that is gone before it is accepted is passed over; while the process has no file descriptor left, accepting
/// pauses.
pub struct StreamListener<S: StreamSocket, Data = Buf> {
    acceptor: S::Acceptor,
    local: Addr,
    settings: Settings,
    data: PhantomData<fn() -> Data>,
}

impl<S: StreamSocket, Data> StreamListener<S, Data> {
    pub(crate) fn new(acceptor: S::Acceptor, settings: Settings) -> io::Result<Self> {
        let local = S::listens_at(&acceptor)?;
        Ok(Self { acceptor, local, settings, data: PhantomData })
    }
}

impl<S: StreamSocket, Data: Octets> Listener<Data> for StreamListener<S, Data> {
    type Connection = StreamConnection<S, Data>;

    async fn accept(&self) -> Result<StreamConnection<S, Data>, Error> {
        loop {
            let accepted = S::accept(&self.acceptor).await;
            let opened =
                accepted.and_then(|(stream, peer)| StreamConnection::new(stream, peer, &self.settings));
            let error = match opened {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            match Errno::from_io_error(&error) {
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    tracing::warn!(%error, local = %self.local, "accepting pauses");
                    tokio::time::sleep(PAUSE).await;
                }
                Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::FAULT) | None => {
                    return Err(Error::from(error).at(S::NAME));
                }
                Some(_) => {
                    tracing::debug!(%error, local = %self.local, "a peer was gone before it was accepted")
                }
            }
        }
    }

    fn local_addr(&self) -> Addr {
        self.local.clone()
    }

    fn properties(&self) -> Option<Properties> {
        Some(Properties::STREAM)
    }
}

impl<S: StreamSocket, Data> fmt::Debug for StreamListener<S, Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamListener").field("local", &self.local).finish_non_exhaustive()
    }
}
