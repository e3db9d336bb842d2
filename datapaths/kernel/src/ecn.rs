//! Congestion marks on the datagrams of a connection (explicit congestion notification, RFC 3168).

use bertha_core::Marks;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The permission to mark datagrams to a peer, and the number of marks on datagrams from the peer. Relaxed
/// accesses suffice, since no value depends on another value.
#[derive(Debug, Default)]
pub(crate) struct EcnState {
    is_on: AtomicBool,
    datagrams: AtomicU64,
    bytes: AtomicU64,
}

impl EcnState {
    /// Returns true if datagrams to the peer may be marked.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Counts marked datagrams.
    pub(crate) fn on_marked(&self, datagrams: u64, bytes: u64) {
        self.datagrams.fetch_add(datagrams, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A socket whose datagrams carry congestion marks.
pub(crate) trait EcnSocket: fmt::Debug + Send + Sync {
    /// Counts the marks on datagrams from `peer` in `state`, until they are forgotten.
    ///
    /// # Errors
    /// Errors of a system that does not report marks.
    fn count_marks(&self, peer: SocketAddr, state: &Arc<EcnState>) -> io::Result<()>;

    /// Ends [`count_marks`](Self::count_marks), unless another connection counts the peer's marks by now.
    fn forget_marks(&self, peer: SocketAddr, state: &Arc<EcnState>);

    /// Permits or forbids marks on datagrams, if the socket has a single peer. Otherwise the peer's
    /// [state](EcnState::is_on) decides.
    ///
    /// # Errors
    /// Errors of the system.
    fn set_markable(&self, on: bool) -> io::Result<()>;
}

/// The congestion marks of a connection.
#[derive(Debug)]
pub(crate) struct Ecn {
    socket: Arc<dyn EcnSocket>,
    peer: SocketAddr,
    state: Arc<EcnState>,
    is_counting: AtomicBool,
}

impl Ecn {
    /// Creates the state with marks forbidden.
    pub(crate) fn new(socket: Arc<dyn EcnSocket>, peer: SocketAddr, state: Arc<EcnState>) -> Self {
        Self { socket, peer, state, is_counting: AtomicBool::new(false) }
    }

    /// Implements [`Base::set_ecn`](bertha_core::Base::set_ecn).
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

    /// Returns the marks counted so far.
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
