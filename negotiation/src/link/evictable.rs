//! A link that its server may end in favour of another connection.

use super::{Link, LinkShared};
use bertha_core::{Base, Buf, Connection};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Waker};

/// A connection that its server may end to make room.
pub(crate) trait Evictable: Send + Sync {
    /// Returns the running count of messages of the peer.
    fn arrivals(&self) -> u32;

    /// Ends the connection: this end's calls fail with [`Reset`](bertha_core::ErrorKind::Reset) and `reason`,
    /// and the peer is told once, if the datapath takes the message at once.
    fn evict(&self, reason: &str);
}

impl<C: Connection<Data = Buf>> Evictable for LinkShared<C> {
    fn arrivals(&self) -> u32 {
        let further = self.further_links();
        further
            .iter()
            .fold(self.lifecycle.arrivals(), |sum, link| sum.wrapping_add(link.lifecycle.arrivals()))
    }

    fn evict(&self, reason: &str) {
        self.further_links().iter().for_each(|link| link.evict(reason));
        self.lifecycle.evicted(reason);
        let peer = self.base.base().peer_addr();
        tracing::debug!(target: "bertha::negotiation", %peer, reason, "gave an unused connection up for others");
        let told = pin!(self.send_close(reason.into()));
        let _ = told.poll(&mut Context::from_waker(Waker::noop()));
    }
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// Returns the link for as long as it exists.
    pub(crate) fn evictable(&self) -> Weak<dyn Evictable> {
        let shared: Arc<dyn Evictable> = self.shared.clone();
        Arc::downgrade(&shared)
    }
}
