//! Congestion marks on the datagrams of a UDP socket.

use super::socket::{UdpSocket, mode};
use crate::ecn::{EcnSocket, EcnState};
use quinn_udp::{EcnCodepoint, RecvMeta};
use rustix::net::sockopt::{set_ip_recvtos, set_ip_tos, set_ipv6_recvtclass, set_ipv6_tclass};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl UdpSocket {
    /// Counts the marks of datagrams that came in a common buffer.
    #[cold]
    pub(super) fn on_marked(&self, meta: &RecvMeta) {
        if let Some(state) = self.marks.lock().get(&meta.addr) {
            state.on_marked(meta.len.div_ceil(meta.stride.max(1)) as u64, meta.len as u64);
        }
    }
}

impl EcnSocket for UdpSocket {
    fn count_marks(&self, peer: SocketAddr, state: &Arc<EcnState>) -> io::Result<()> {
        let is_v4 = self.local.or(self.peer).is_none_or(|addr| addr.is_ipv4());
        // The option is set over IPv6 too, where a socket may also have peers of IPv4.
        let v4 = set_ip_recvtos(&self.io, true);
        let set = if is_v4 { v4 } else { set_ipv6_recvtclass(&self.io, true) };
        set?;
        self.marks.lock().insert(peer, state.clone());
        // A call that is under way may receive one more message in the earlier mode.
        let _ = self.mode.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |mode| {
            (mode != mode::COALESCED).then_some(mode::MARKS)
        });
        Ok(())
    }

    fn forget_marks(&self, peer: SocketAddr, state: &Arc<EcnState>) {
        let mut marks = self.marks.lock();
        if marks.get(&peer).is_some_and(|counted| Arc::ptr_eq(counted, state)) {
            marks.remove(&peer);
        }
    }

    fn set_markable(&self, on: bool) -> io::Result<()> {
        let Some(peer) = self.peer else { return Ok(()) };
        let field = if on { EcnCodepoint::Ect0 as u8 } else { 0 };
        match peer {
            SocketAddr::V4(_) => set_ip_tos(&self.io, field)?,
            SocketAddr::V6(peer) => {
                if peer.ip().to_ipv4_mapped().is_some() {
                    set_ip_tos(&self.io, field)?;
                }
                set_ipv6_tclass(&self.io, field.into())?;
            }
        }
        Ok(())
    }
}
