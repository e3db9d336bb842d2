//! The client's means to build a stack that was agreed to, or is expected, and to remember the agreement.

use super::EarlyCache;
use super::built::Built;
use super::cache::Key;
use crate::handshake::{Choices, CurrentAgreement, Expected, HeldTicket, Requirements};
use crate::link::LinkConnector;
use crate::observing::{self, Parts};
use crate::wire::Answer;
use crate::{Agreement, Link, Runs, Session, ZeroRtt};
use bertha_core::{
    ConnectContext, Connection, Datapath, Describe, DifferingCapability, Error, Node, NotePlace, Picks, Role,
};
use std::sync::Arc;
use std::time::Instant;
use tracing::Span;

/// The means to build a stack, and to remember the agreement.
pub(super) struct Client<S, D> {
    pub(super) stack: S,
    pub(super) connector: Arc<LinkConnector<D>>,
    pub(super) nodes: Vec<Node>,
    pub(super) choices: Choices,
    pub(super) requirements: Requirements,
    pub(super) cache: EarlyCache,
    pub(super) key: Key,
    /// The span of connecting.
    pub(super) span: Span,
}

impl<S, D> Client<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data: Clone>>,
{
    /// Keeps the answer, with the time at which it was received, for the next connection to this server. It
    /// keeps no answer of a server that takes no early data.
    pub(super) fn remember(&self, answer: &Answer, received: Instant) {
        let Some(ticket) = answer.ticket else { return self.cache.forget(&self.key) };
        let client_picks = self.choices.contract(&answer.client_picks);
        let Answer { server_picks, idle_ms, capabilities, .. } = answer.clone();
        let expected = Expected { client_picks, server_picks, idle_ms, capabilities };
        self.cache.remember(&self.key, expected, HeldTicket { ticket, received });
    }

    /// Returns the agreement of an answer.
    pub(super) fn agreement(&self, answer: Answer, session: Arc<Session>, zero_rtt: ZeroRtt) -> Agreement {
        let agreement = Agreement::new(Role::Client, &self.nodes, answer, session).with(Some(zero_rtt));
        tracing::debug!(target: "bertha::negotiation", %agreement, "connected");
        agreement
    }

    /// Builds the stack of an agreement. `differing` has the capabilities of the server that differ from the
    /// client's.
    pub(super) async fn build(
        &self,
        link: Link<<D as Datapath>::Connection>,
        agreement: Agreement,
        differing: Vec<DifferingCapability>,
    ) -> Result<Built<D::Out>, Error> {
        let dropped = link.dropped();
        let setup = link.setup();
        let picks = agreement.picks().to_vec();
        let peer = agreement.peer_layers(differing);
        let session = agreement.session().clone();
        let secured = session.secured().clone();
        let notes = NotePlace::default();
        let context = ConnectContext::new(&*self.connector, Role::Client)
            .with_transcript(agreement.binding())
            .with_peer(Some(&peer))
            .with_secured(&secured)
            .with_registry(session.registry())
            .with_notes(&notes);
        let agreement = CurrentAgreement::new(agreement);
        link.stand(agreement.clone(), self.connector.clone());
        match D::instantiate(&self.stack, link, Picks::new(&picks), context).await {
            Ok(connection) => {
                setup.done();
                agreement.note(notes.take());
                let parts = Parts { session: &session, agreement: &agreement, dropped: &dropped };
                let _entry = observing::connected(&connection, parts);
                Ok(Built { _entry, connection, agreement, dropped, session })
            }
            Err(error) => {
                setup.failed(&error).await;
                Err(error)
            }
        }
    }
}
