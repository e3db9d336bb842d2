//! The one bound that generic code needs.

use super::agent::{Channels, State, StoreAgent, build};
use super::by_store::round_of;
use super::connection::{GroupMember, Handles, MultiEndpoint};
use super::link::{GroupLink, Shared};
use crate::participant::Participant;
use crate::settings::RendezvousSettings;
use crate::store::{Name, RendezvousStore};
use bertha_core::guarantee::Set;
use bertha_core::{Base, BoxFuture, Chunnel, Connection, Error, Group, Runtime};
use bertha_negotiation::Agreement;
use bertha_negotiation::handshake::{Requirements, check_possible};
use bertha_negotiation::internals::{GroupKey, Shell, Staged};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// The bound of the queue of the others' progress. They repeat what found no place.
const INBOUND: usize = 1024;

/// The bound of the queue of the application's requests.
const REQUESTS: usize = 8;

/// A group over which the stack `S` runs among any number of participants.
///
/// A generic function asks for it, and for the data that it wants to see at the top:
///
/// ```
/// use bertha_core::{Connection, Error};
/// use bertha_rendezvous::{Rendezvous, RendezvousStore, RunsAmong};
///
/// async fn announce<S, G, T>(stack: S, group: G, store: T, text: String) -> Result<(), Error>
/// where
///     S: Rendezvous + 'static,
///     G: RunsAmong<S, Out: Connection<Data = String>>,
///     T: RendezvousStore,
/// {
///     let connection = stack.rendezvous(group, store, "news").await?;
///     connection.send(text).await?;
///     connection.close().await
/// }
/// ```
///
/// Implemented for every stack that fits; never by hand.
#[diagnostic::on_unimplemented(
    message = "the stack `{S}` cannot run over the group `{Self}`",
    label = "this stack does not fit this group"
)]
pub trait RunsAmong<S>: Group + Sized {
    /// The connection at the top of the stack.
    type Out: Connection;

    /// Makes a participant's connection.
    #[doc(hidden)]
    fn run_among<T: RendezvousStore>(
        self,
        stack: S,
        store: T,
        name: Name,
        settings: RendezvousSettings,
    ) -> BoxFuture<'static, Result<MultiEndpoint<Self::Out>, Error>>;
}

impl<G, S> RunsAmong<S> for G
where
    G: Group,
    S: Chunnel<GroupLink<G::Connection>, Connection: Connection<Base = <G::Connection as Connection>::Base>>
        + 'static,
{
    type Out = S::Connection;

    fn run_among<T: RendezvousStore>(
        self,
        stack: S,
        store: T,
        name: Name,
        settings: RendezvousSettings,
    ) -> BoxFuture<'static, Result<MultiEndpoint<S::Connection>, Error>> {
        Box::pin(async move {
            let settings = RendezvousSettings { renews: true, ..settings };
            // First, so that messages of others arrive from the moment at which they see this participant.
            let base = self.join().await?;
            let nodes = stack.nodes();
            // Before anything is written.
            check_possible(&nodes, Requirements::new(Set::NONE, base.base().properties()))?;
            let runtime = base.base().runtime().clone();
            let participant =
                Participant::join(store, name, &stack, runtime.clone(), settings.clone()).await?;
            let in_force = participant.joined().clone();
            let (to_agent, inbound) = mpsc::channel(INBOUND);
            let key = settings.group_key.as_ref().map(GroupKey::new);
            let shared = Shared::new(base, in_force.own_id, key, to_agent);
            let (leads, picks) = (in_force.leads(), in_force.picks.clone());
            // The leader of the first round has made it, so all that is sent in it arrives here.
            let Staged { link, queue } = shared.open_round(round_of(&in_force), leads, false);
            let before = shared.base.base().reserved();
            let first = build(&stack, link, &picks, leads).await?;
            let reserved = shared.base.base().reserved().saturating_sub(before);
            let agreement = Arc::new(Agreement::among(leads, &nodes, (in_force.round, picks)));
            let participants = Arc::new([in_force.own_id]);
            let (to_state, state) = watch::channel(State { agreement, participants });
            let (requests, requested) = mpsc::channel(REQUESTS);
            let (leaving, asked_to_leave) = mpsc::channel(1);
            let channels =
                Channels { inbound, requests: requested, leaving: asked_to_leave, state: to_state };
            let drain_limit = settings.handover_timeout;
            let agent = StoreAgent::new(Arc::new(stack), shared.clone(), participant, settings, channels);
            let shell = Shell::new(agent, first, queue, reserved);
            let epochs = shell.epochs();
            let task = runtime.spawn(shell.run());
            let member: Arc<dyn GroupMember<_>> = shared;
            let handles = Handles { requests, leaving, state };
            Ok(MultiEndpoint::new(epochs, member, handles, drain_limit, task))
        })
    }
}
