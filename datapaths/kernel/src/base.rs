//! The bottom of every connection through a kernel socket.

use crate::ecn::Ecn;
use crate::{Credentials, TokioRuntime};
use bertha_core::{Addr, Base, EcnMarks, Error, ErrorKind, Headroom, PeerIdentity, Properties};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The [`Base`] of UDP, TCP and Unix connections alike, so that such connections can be alternatives of an
/// erased type.
#[derive(Debug)]
pub struct SocketBase {
    runtime: TokioRuntime,
    datapath: &'static str,
    headroom: Headroom,
    mtu: usize,
    local: Local,
    peer: Addr,
    properties: Properties,
    /// Congestion marks, if datagrams can carry them.
    ecn: Option<Ecn>,
    /// The largest message that a stream takes at the moment.
    limit: Option<Arc<AtomicUsize>>,
    /// The owner of the peer, if the kernel vouches for it.
    credentials: Option<Credentials>,
}

/// The address that a socket is bound to.
#[derive(Debug, Clone)]
pub(crate) enum Local {
    /// The address is known.
    Known(Addr),
    /// The socket reports its address. The kernel chose the port, and few callers need it: the question is a
    /// system call.
    Of(Arc<dyn Bound>),
}

/// A socket that reports its bound address.
pub(crate) trait Bound: fmt::Debug + Send + Sync {
    /// Returns the bound address.
    fn local_addr(&self) -> Addr;
}

impl From<Addr> for Local {
    fn from(known: Addr) -> Self {
        Self::Known(known)
    }
}

impl SocketBase {
    pub(crate) fn new(
        datapath: &'static str,
        properties: Properties,
        mtu: usize,
        local: impl Into<Local>,
        peer: Addr,
    ) -> Self {
        let local = local.into();
        Self {
            runtime: TokioRuntime,
            datapath,
            headroom: Headroom::new(),
            mtu,
            local,
            peer,
            properties,
            ecn: None,
            limit: None,
            credentials: None,
        }
    }

    pub(crate) fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn: Some(ecn), ..self }
    }

    /// With a limit of received messages that can be set.
    pub(crate) fn with_limit(self, limit: Arc<AtomicUsize>) -> Self {
        Self { limit: Some(limit), ..self }
    }

    pub(crate) fn with_credentials(self, credentials: Option<Credentials>) -> Self {
        Self { credentials, ..self }
    }

    /// Returns the owner of the peer process, as the kernel vouches for it: of a [`UnixStream`](crate::UnixStream)
    /// when the peer connected, or began to listen; at a listener of [`Unix`](crate::Unix) that
    /// [asks for it](crate::Unix::credentials), of the process that sends. Returns `None` over the network, and
    /// at a client of [`Unix`](crate::Unix), whose server is the process that may write to the folder.
    pub fn peer_credentials(&self) -> Option<Credentials> {
        self.credentials
    }

    /// Returns the name of the datapath for errors.
    pub(crate) fn datapath(&self) -> &'static str {
        self.datapath
    }

    /// Returns the error for a message that the socket can't carry.
    #[cold]
    pub(crate) fn too_large(&self, len: usize) -> Error {
        let what = match len > self.mtu {
            true => format!("message of {len} bytes to {}, at most {} fit", self.peer, self.mtu),
            false => format!("message of {len} bytes to {}, more than goes there in one piece", self.peer),
        };
        Error::new(ErrorKind::TooLarge, what).at(self.datapath)
    }

    /// Adds the peer to an error of the socket.
    #[cold]
    pub(crate) fn concerning_peer(&self, error: Error) -> Error {
        let what = match error.kind() {
            ErrorKind::Unreachable => format!("nobody answers at {}: {}", self.peer, error.context()),
            _ => format!("{}, on the connection to {}", error.context(), self.peer),
        };
        error.retold(what).at(self.datapath)
    }

    /// Returns the error for a call after [`close`](bertha_core::Connection::close).
    #[cold]
    pub(crate) fn closed(&self) -> Error {
        Error::new(ErrorKind::Closed, format!("this end closed the connection to {}", self.peer))
            .at(self.datapath)
    }
}

impl Base for SocketBase {
    type Runtime = TokioRuntime;

    fn runtime(&self) -> &TokioRuntime {
        &self.runtime
    }

    #[inline]
    fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn limit_received(&self, bytes: usize) {
        if let Some(limit) = &self.limit {
            limit.store(bytes.min(self.mtu), Ordering::Relaxed);
        }
    }

    fn local_addr(&self) -> Addr {
        match &self.local {
            Local::Known(local) => local.clone(),
            Local::Of(socket) => socket.local_addr(),
        }
    }

    fn peer_addr(&self) -> Addr {
        self.peer.clone()
    }

    fn peer_identity(&self) -> Option<PeerIdentity> {
        self.credentials.map(|Credentials { user, group, .. }| PeerIdentity::Process { user, group })
    }

    fn properties(&self) -> Properties {
        self.properties
    }

    /// The system sends again what a stream has lost, and goes on with it once the socket is closed.
    fn delivers_alone(&self) -> bool {
        self.properties.reliable
    }

    fn set_ecn(&self, on: bool) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.set(on))
    }

    fn marks(&self) -> EcnMarks {
        self.ecn.as_ref().map_or_else(EcnMarks::default, Ecn::marks)
    }
}
