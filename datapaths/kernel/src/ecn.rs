//! Marks for congestion on the datagrams of a connection (explicit congestion notification, RFC 3168).

use bertha_core::Marks;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether datagrams to a peer may be marked, and the marks on those from it. Relaxed accesses do, since each value stands for itself.
#[derive(Debug, Default)]
pub(crate) struct EcnState {
    is_on: AtomicBool,
    datagrams: AtomicU64,
    bytes: AtomicU64,
}

impl EcnState {
    /// Whether datagrams to the peer may be marked.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Takes in marked datagrams.
    pub(crate) fn on_marked(&self, datagrams: u64, bytes: u64) {
        self.datagrams.fetch_add(datagrams, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A socket whose datagrams carry marks.
pub(crate) trait EcnSocket: fmt::Debug + Send + Sync {
    /// Counts the marks on datagrams from `peer` in `state`, until they are forgotten.
    ///
    /// # Errors
    /// If the system does not tell about marks.
    fn count_marks(&self, peer: SocketAddr, state: &Arc<EcnState>) -> io::Result<()>;

    /// Ends [`count_marks`](Self::count_marks), unless another connection counts them by now.
    fn forget_marks(&self, peer: SocketAddr, state: &Arc<EcnState>);

    /// Lets datagrams be marked or not, if the socket has one peer. Otherwise the [state](EcnState::is_on) of the peer tells.
    ///
    /// # Errors
    /// Those of the system.
    fn set_markable(&self, on: bool) -> io::Result<()>;
}

/// The marks of one connection.
#[derive(Debug)]
pub(crate) struct Ecn {
    socket: Arc<dyn EcnSocket>,
    peer: SocketAddr,
    state: Arc<EcnState>,
    is_counting: AtomicBool,
}

impl Ecn {
    /// Off.
    pub(crate) fn new(socket: Arc<dyn EcnSocket>, peer: SocketAddr, state: Arc<EcnState>) -> Self {
        Self { socket, peer, state, is_counting: AtomicBool::new(false) }
    }

    /// As [`Base::set_ecn`](bertha_core::Base::set_ecn).
    pub(crate) fn set(&self, on: bool) -> bool {
        if on && !self.is_counting.swap(true, Ordering::Relaxed) {
            let counts = self.socket.count_marks(self.peer, &self.state);
            if let Err(error) = counts {
                tracing::debug!(%error, peer = %self.peer, "no marks for congestion on this socket");
                return false;
            }
        }
        let set = self.socket.set_markable(on);
        self.state.is_on.store(on && set.is_ok(), Ordering::Relaxed);
        set.is_ok()
    }

    /// The marks so far.
    pub(crate) fn marks(&self) -> Marks {
        Marks {
            datagrams: self.state.datagrams.load(Ordering::Relaxed),
            bytes: self.state.bytes.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Ecn {
    fn drop(&mut self) {
        if *self.is_counting.get_mut() {
            self.socket.forget_marks(self.peer, &self.state);
        }
    }
}
