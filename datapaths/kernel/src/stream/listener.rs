//! Accepting streams.

use super::unfinished::Unfinished;
use super::{Settings, StreamConnection, StreamSocket};
use bertha_core::{Addr, Buf, Error, ErrorKind, Listener, Octets, Properties, debug_fields};
use bertha_runtime::tokio::descriptors::{raise_limit, soft_limit};
use parking_lot::Mutex;
use rustix::io::Errno;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// Time without a descriptor after which the listener takes its spare one to turn a client away. Until then the owner of
/// the listener may give up connections for newcomers, whose descriptors are free once a task has closed them.
const PATIENCE: Duration = Duration::from_millis(500);

/// A socket that listens for streams.
///
/// The first one of a process raises the limit of descriptors (`RLIMIT_NOFILE`) to what the system allows the process, and its children inherit it. A
/// peer that is gone before it is accepted is passed over. While the process has no descriptor or memory left, accepting fails with
/// [`Exhausted`](ErrorKind::Exhausted); if that goes on, the listener accepts clients with a descriptor that it keeps for that, and ends
/// their streams at once, so that none waits in vain.
pub struct StreamListener<S: StreamSocket, Data = Buf> {
    acceptor: S::Acceptor,
    local: Addr,
    settings: Settings,
    unfinished: Arc<Unfinished>,
    /// A descriptor to be given up for a client that is to be turned away. Another part of the process may take it before the
    /// client does; then the next client's descriptor takes its place.
    spare: Mutex<Option<OwnedFd>>,
    shortage: Mutex<Shortage<S>>,
    turned_away: AtomicU64,
    data: PhantomData<fn() -> Data>,
}

/// The lack of descriptors.
struct Shortage<S> {
    /// Time of the first attempt in a row that found no descriptor.
    since: Option<Instant>,
    /// A client that has got the last descriptor of the process, and waits for a spare one to be there again.
    held: Option<(S, Addr)>,
}

impl<S> Shortage<S> {
    const NONE: Self = Self { since: None, held: None };

    /// Returns true if there has been no descriptor for long.
    fn is_long(&mut self, now: Instant) -> bool {
        now.saturating_duration_since(*self.since.get_or_insert(now)) >= PATIENCE
    }
}

impl<S: StreamSocket, Data> StreamListener<S, Data> {
    pub(crate) fn new(acceptor: S::Acceptor, settings: Settings) -> io::Result<Self> {
        raise_limit();
        let local = S::listens_at(&acceptor)?;
        let spare = Mutex::new(spare(&acceptor));
        let unfinished = Arc::new(Unfinished::new(settings.unfinished));
        Ok(Self {
            acceptor,
            local,
            settings,
            unfinished,
            spare,
            shortage: Mutex::new(Shortage::NONE),
            turned_away: AtomicU64::new(0),
            data: PhantomData,
        })
    }

    /// The number of clients that were accepted and turned away at once, since the process had no descriptor left for them.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// The number of connections that were ended because messages that had arrived in part took more memory than [all of the listener
    /// together](crate::Tcp::unfinished) may have.
    pub fn abandoned(&self) -> u64 {
        self.unfinished.abandoned()
    }

    /// Accepts a client by means of the spare descriptor, and ends its stream.
    #[cold]
    fn turn_away(&self) {
        let mut kept = self.spare.lock();
        drop(kept.take());
        let accepted = pin!(S::accept(&self.acceptor)).poll(&mut Context::from_waker(Waker::noop()));
        if let std::task::Poll::Ready(Ok((stream, peer))) = accepted {
            drop(stream);
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(%peer, local = %self.local, "turned a client away for want of a descriptor");
        }
        *kept = spare(&self.acceptor);
    }

    /// Makes the spare descriptor if there is none. Returns false if the process has none for it.
    fn has_spare(&self) -> bool {
        let mut kept = self.spare.lock();
        if kept.is_none() {
            *kept = spare(&self.acceptor);
        }
        kept.is_some()
    }

    /// Holds a client that has got the last descriptor. If there has been none for long, its stream ends, so that its
    /// descriptor becomes the spare one: without that, the clients behind it would wait in vain.
    #[cold]
    fn hold(&self, stream: S, peer: Addr) {
        let mut shortage = self.shortage.lock();
        if shortage.is_long(Instant::now()) {
            drop(stream);
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            self.has_spare();
            tracing::debug!(%peer, local = %self.local, "ended a client's stream for the spare descriptor");
        } else {
            shortage.held = Some((stream, peer));
        }
    }

    #[cold]
    fn exhausted(&self, error: io::Error) -> Error {
        let what = format!("cannot accept at {}: {error}", self.local);
        Error::new(ErrorKind::Exhausted, what).at(S::NAME).because(error)
    }

    /// Takes the client that waits for a spare descriptor.
    fn held(&self) -> Option<(S, Addr)> {
        self.shortage.lock().held.take()
    }
}

/// Any descriptor does.
fn spare(acceptor: &impl std::os::fd::AsFd) -> Option<OwnedFd> {
    acceptor.as_fd().try_clone_to_owned().ok()
}

impl<S: StreamSocket, Data: Octets> Listener<Data> for StreamListener<S, Data> {
    type Connection = StreamConnection<S, Data>;

    async fn accept(&self) -> Result<StreamConnection<S, Data>, Error> {
        loop {
            let accepted = match self.held() {
                Some(held) => Ok(held),
                None => S::accept(&self.acceptor).await,
            };
            let opened = match accepted {
                Ok((stream, peer)) if !self.has_spare() => {
                    self.hold(stream, peer);
                    return Err(self.exhausted(Errno::MFILE.into()));
                }
                Ok((stream, peer)) => {
                    StreamConnection::accepted(stream, peer, &self.settings, &self.unfinished)
                }
                Err(error) => Err(error),
            };
            let error = match opened {
                Ok(connection) => {
                    self.shortage.lock().since = None;
                    return Ok(connection);
                }
                Err(error) => error,
            };
            match Errno::from_io_error(&error) {
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC) => {
                    let is_long = self.shortage.lock().is_long(Instant::now());
                    if is_long {
                        self.turn_away();
                    }
                    return Err(self.exhausted(error));
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

    fn capacity(&self) -> Option<usize> {
        soft_limit()
    }
}

debug_fields!(StreamListener<S: StreamSocket, Data> { local });
