//! The siblings of a link: links of the same connection over sockets of shards.
//!
//! Siblings share the state of the link, so its end is theirs, and what they receive counts as heard from the
//! peer. The link alone handles the messages about the connection, which never reach a sibling.

use super::{EpochQueue, Link, LinkShared, LinkState, Parked};
use crate::wire::HEADER;
use bertha_core::{Base, Buf, Connection, Error, Route, STEERED_PREFIX, Siblings};
use std::sync::Arc;

const _: () = assert!(HEADER == STEERED_PREFIX, "a datapath knows a connection by the header of its data");

/// Makes the siblings of a link.
pub(crate) struct SiblingLinks<C: Connection<Data = Buf>> {
    shared: Arc<LinkShared<C>>,
    header: u64,
}

impl<C: Connection<Data = Buf>> Link<C> {
    pub(crate) fn sibling_links(&self) -> SiblingLinks<C> {
        SiblingLinks { shared: self.shared.clone(), header: self.queue.header }
    }
}

impl<C: Connection<Data = Buf>> SiblingLinks<C> {
    /// Returns the base of the link.
    pub(crate) fn base(&self) -> &C {
        &self.shared.base
    }

    /// Returns the bytes with which data of the connection begins.
    pub(crate) fn prefix(&self) -> [u8; STEERED_PREFIX] {
        self.header.to_le_bytes()
    }

    /// Returns a link over each sibling of the base.
    pub(crate) fn over(&self, siblings: Siblings<C>) -> Vec<Link<C>> {
        let Siblings { connections, route } = siblings;
        let link = |base: C| {
            base.base().reserve(HEADER);
            Link {
                shared: self.shared.clone(),
                queue: Arc::new(EpochQueue::sibling(self.header)),
                base: Arc::new(base),
                route: Some(route.clone()),
            }
        };
        connections.into_iter().map(link).collect()
    }
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// Waits until the link is up, and begins the steering. A sibling whose steering can't begin waits for the
    /// end of the link: the messages arrive at the link itself.
    pub(super) async fn begin_steering(&self, route: &dyn Route) -> Result<(), Error> {
        let lifecycle = &self.shared.lifecycle;
        let state = self.queue.state();
        lifecycle.check()?;
        if !lifecycle.is_up() {
            return Parked::not_reader(lifecycle, &self.queue, state, || !lifecycle.is(LinkState::Up))
                .await
                .map(drop);
        }
        match route.begin() {
            Ok(()) => self.queue.set_not_reader(false),
            Err(error) => {
                let peer = self.shared.base.base().peer_addr();
                tracing::debug!(target: "bertha::negotiation", %peer, %error, "messages are not steered");
                Parked::not_reader(lifecycle, &self.queue, state, || true).await?;
            }
        }
        Ok(())
    }
}
