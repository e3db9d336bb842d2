//! Data from an address without a connection, of a connection whose Chunnel outlives the addresses of its peers.

use super::outcome::Outcome;
use super::replies::reply_with;
use super::server::Server;
use crate::Runs;
use crate::link::data_tag;
use crate::wire::{HEADER, Tag};
use bertha_core::{Base, Buf, Connection, Roaming};
use std::sync::Arc;

impl<S, D> Server<S, D>
where
    S: Send + Sync + 'static,
    D: Runs<S>,
{
    /// Gives a message to the connection to which it belongs, or lets the stack's lowest Chunnel say that there is none.
    /// Returns `None` if neither happens.
    pub(super) async fn roamed(
        &self,
        base: &Arc<D::Connection>,
        message: &Buf,
    ) -> Option<Outcome<D::Connection, D::Out>> {
        if !self.follows || base.base().properties().reliable {
            return None;
        }
        let tag = data_tag(message)?;
        let reply = {
            let roaming = D::roaming(&self.stack);
            let data = message.get(HEADER..)?;
            if let Some(chunnel) = roaming.iter().find(|chunnel| chunnel.knows(data)) {
                return Some(self.follow(*chunnel, base, tag, message));
            }
            let local = base.base().local_addr();
            let reply = roaming.iter().find_map(|chunnel| chunnel.disown(data, &local))?;
            [&message[..HEADER], &reply].concat()
        };
        self.count_dropped();
        reply_with(&**base, &reply).await;
        Some(Outcome::Nothing)
    }

    fn follow(
        &self,
        chunnel: &dyn Roaming,
        base: &Arc<D::Connection>,
        tag: Tag,
        message: &Buf,
    ) -> Outcome<D::Connection, D::Out> {
        let link = self.movable.at(base.clone(), tag, message, self.to_listener.clone());
        let Some((link, data)) = link.zip(message.get(HEADER..)) else {
            self.count_dropped();
            return Outcome::Nothing;
        };
        let setup = link.setup();
        if chunnel.adopt(data, Box::new(link)) {
            setup.done();
            tracing::debug!(target: "bertha::negotiation", peer = %base.base().peer_addr(), "a client goes on at another address");
            return Outcome::Followed;
        }
        setup.withdrawn();
        self.count_dropped();
        Outcome::Nothing
    }
}
