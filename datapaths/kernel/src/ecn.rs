//! Congestion marks on datagrams (explicit congestion notification, RFC 3168).

use bertha_core::EcnMarks;
use parking_lot::Mutex;
use quinn_udp::EcnCodepoint;
use rustix::net::sockopt::{set_ip_recvtos, set_ip_tos, set_ipv6_recvtclass, set_ipv6_tclass};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
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
}

/// The peers of a socket whose congestion marks are counted.
#[derive(Debug, Default)]
pub(crate) struct EcnCounts {
    peers: Mutex<BTreeMap<SocketAddr, Arc<EcnState>>>,
}

impl EcnCounts {
    /// Counts marked datagrams from `peer`, if a connection asked for it.
    #[cold]
    pub(crate) fn on_marked(&self, peer: SocketAddr, datagrams: usize, bytes: usize) {
        if let Some(state) = self.peers.lock().get(&peer) {
            state.datagrams.fetch_add(datagrams as u64, Ordering::Relaxed);
            state.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Ends the count of a connection, unless another connection counts the peer's marks by now.
    fn forget(&self, peer: SocketAddr, state: &Arc<EcnState>) {
        let mut peers = self.peers.lock();
        if peers.get(&peer).is_some_and(|counted| Arc::ptr_eq(counted, state)) {
            peers.remove(&peer);
        }
    }
}

/// A socket whose datagrams carry congestion marks.
pub(crate) trait EcnSocket: fmt::Debug + Send + Sync {
    /// Returns the descriptor, whose options are set.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Returns true if the socket is of IPv4.
    fn is_v4(&self) -> bool;

    /// Returns the peer that the socket is connected to.
    fn peer(&self) -> Option<SocketAddr>;

    /// Returns the peers whose marks are counted.
    fn counts(&self) -> &EcnCounts;

    /// Receives in the way that reports marks from now on. A call that is under way may receive another
    /// message in the earlier way.
    fn report_marks(&self);
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
        if on && let Err(error) = self.count() {
            tracing::debug!(%error, peer = %self.peer, "no marks for congestion on this socket");
            return false;
        }
        let set = self.permit(on);
        self.state.is_on.store(on && set.is_ok(), Ordering::Relaxed);
        set.is_ok()
    }

    /// Counts the marks on datagrams from the peer from now on.
    fn count(&self) -> io::Result<()> {
        if self.is_counting.load(Ordering::Relaxed) {
            return Ok(());
        }
        // The option is set over IPv6 too, where a socket may also have peers of IPv4.
        let v4 = set_ip_recvtos(self.socket.descriptor(), true);
        let set = if self.socket.is_v4() { v4 } else { set_ipv6_recvtclass(self.socket.descriptor(), true) };
        set?;
        self.socket.counts().peers.lock().insert(self.peer, self.state.clone());
        self.socket.report_marks();
        self.is_counting.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Permits or forbids marks on all datagrams of a connected socket. On any other socket, each datagram
    /// says if it may be marked, by the [state](EcnState::is_on) of its peer.
    fn permit(&self, on: bool) -> io::Result<()> {
        let field = if on { EcnCodepoint::Ect0 as u8 } else { 0 };
        match self.socket.peer() {
            None => {}
            Some(SocketAddr::V4(_)) => set_ip_tos(self.socket.descriptor(), field)?,
            Some(SocketAddr::V6(peer)) => {
                if peer.ip().to_ipv4_mapped().is_some() {
                    set_ip_tos(self.socket.descriptor(), field)?;
                }
                set_ipv6_tclass(self.socket.descriptor(), field.into())?;
            }
        }
        Ok(())
    }

    /// Returns the marks counted so far.
    pub(crate) fn marks(&self) -> EcnMarks {
        EcnMarks {
            datagrams: self.state.datagrams.load(Ordering::Relaxed),
            bytes: self.state.bytes.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Ecn {
    fn drop(&mut self) {
        if *self.is_counting.get_mut() {
            self.socket.counts().forget(self.peer, &self.state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixDatagram;

    /// A socket whose system reports no marks: it is no socket of IP.
    #[derive(Debug)]
    struct Unmarked {
        io: UnixDatagram,
        counts: EcnCounts,
    }

    impl EcnSocket for Unmarked {
        fn descriptor(&self) -> BorrowedFd<'_> {
            self.io.as_fd()
        }

        fn is_v4(&self) -> bool {
            true
        }

        fn peer(&self) -> Option<SocketAddr> {
            None
        }

        fn counts(&self) -> &EcnCounts {
            &self.counts
        }

        fn report_marks(&self) {}
    }

    #[test]
    fn marks_that_the_system_does_not_report_stay_forbidden_however_often_they_are_asked_for() {
        let socket = Unmarked { io: UnixDatagram::unbound().unwrap(), counts: EcnCounts::default() };
        let state = Arc::<EcnState>::default();
        let ecn = Ecn::new(Arc::new(socket), (Ipv4Addr::LOCALHOST, 7).into(), state.clone());
        for _ in 0..3 {
            assert!(!ecn.set(true));
            assert!(!state.is_on());
        }
        assert!(ecn.set(false));
    }
}
