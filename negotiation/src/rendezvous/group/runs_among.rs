//! The one bound that generic code needs.

use super::agent::{AgentState, Channels, Sharing, StoreAgent, build};
use super::board::{self, Board};
use super::by_store::round_of;
use super::connection::{GroupMember, Handles, MultiEndpoint};
use super::link::{GroupLink, GroupLinkShared};
use super::status::{Status, Statuses};
use crate::auth::GroupKey;
use crate::handshake::{Agreement, Requirements, check_possible};
use crate::rendezvous::member::View;
use crate::rendezvous::participant::Participant;
use crate::rendezvous::settings::RendezvousSettings;
use crate::rendezvous::store::{Name, RendezvousStore};
use crate::upgrade::{Staged, UpgradeTask};
use bertha_core::guarantee::Set;
use bertha_core::{
    Base, BoxFuture, Chunnel, Connection, Delivery, Error, ErrorKind, Group, NotePlace, Runtime,
};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Maximum length of the queue of the other participants' progress. They repeat progress that finds no room.
const INBOUND: usize = 1024;

/// Maximum length of the queue of the application's requests.
const REQUESTS: usize = 8;

/// A group over which the stack `S` runs among any number of participants.
///
/// A generic function has this bound, and names the data at the top of the stack:
///
/// ```
/// use bertha_core::{Connection, Error};
/// use bertha_negotiation::rendezvous::{Rendezvous, RendezvousStore, RunsAmong};
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
            let shared_by = match self.delivery() {
                Delivery::Shared { sends, receives, redelivery } => Some((sends, receives, redelivery)),
                _ => None,
            };
            // Where messages are shared, the leader of a round has no special task.
            let settings = RendezvousSettings { renews: shared_by.is_none(), ..settings };
            if shared_by.is_some() && settings.group_key.is_some() {
                let what = "a group key takes repetitions for attacks, and a messaging service repeats; secure the service instead";
                return Err(Error::new(ErrorKind::Invalid, what).at("rendezvous"));
            }
            let store = Arc::new(store);
            let board_name = board::name_of(&name)?;
            // The group is joined first, so that messages of other participants arrive from the moment at
            // which they see this participant.
            let base = self.join().await?;
            let nodes = stack.nodes();
            // The check comes before anything is written.
            check_possible(&nodes, Requirements::new(Set::NONE, base.base().properties()))?;
            let runtime = base.base().runtime().clone();
            let participant =
                Participant::join(store.clone(), name.clone(), &stack, runtime.clone(), settings.clone())
                    .await?;
            let active = participant.joined().clone();
            // A participant that is alone has made the record, and so the round.
            let has_part = match shared_by {
                Some(_) => View::of(&store.read(&name).await?).participants.len() == 1,
                None => active.leads(),
            };
            let (to_agent, inbound) = mpsc::channel(INBOUND);
            let key = settings.group_key.as_ref().map(GroupKey::new);
            let receives = shared_by.map(|(_, receives, _)| receives);
            let shared = GroupLinkShared::new(base, active.own_id, key, receives, to_agent);
            let leads = active.leads();
            let picks = active.picks.clone();
            // The leader of the first round has made it, so all messages that are sent in it arrive here.
            let Staged { link, queue } = shared.open_round(round_of(&active), has_part, false);
            let before = shared.base.base().reserved();
            let notes = NotePlace::default();
            let first = build(&stack, link, &picks, leads, 1, &notes).await?;
            let reserved = shared.base.base().reserved().saturating_sub(before);
            let agreement = Agreement::among(leads, &nodes, active.round, picks).noting(notes.take());
            let agreement = Arc::new(agreement);
            let participants = Arc::new([active.own_id]);
            let (to_state, state) = watch::channel(AgentState { agreement, participants, refusal: None });
            let (requests, requested) = mpsc::channel(REQUESTS);
            let (leaving, asked_to_leave) = mpsc::channel(1);
            let channels =
                Channels { inbound, requests: requested, leaving: asked_to_leave, state: to_state };
            let drain_limit = settings.handover_timeout;
            let mut sharing = None;
            let mut telling = None;
            if let Some((sends, receives, redelivery)) = shared_by {
                let round = round_of(&active);
                let own = Status { round, has_part, sends, receives, before: None, has_left: false };
                let statuses = Statuses::new(active.own_id, own);
                let board = Board::new(statuses);
                telling = Some(runtime.spawn(board::run(store, board_name, runtime.clone(), board.clone())));
                board.published(&runtime, settings.store_timeout).await;
                let quiet = redelivery + settings.drain_timeout;
                sharing = Some(Sharing {
                    board,
                    quiet,
                    current: queue.clone(),
                    next: None,
                    held_until: None,
                    wants_round: !has_part,
                });
            }
            let join_timeout = settings.join_timeout;
            let agent =
                StoreAgent::new(Arc::new(stack), shared.clone(), participant, settings, channels, sharing);
            let shell = UpgradeTask::new(agent, first, queue, reserved);
            let epochs = shell.epochs();
            let task = runtime.spawn(shell.run());
            let member: Arc<dyn GroupMember<_>> = shared;
            let handles = Handles { requests, leaving, state };
            let connection = MultiEndpoint::new(epochs, member, handles, drain_limit, (task, telling));
            if shared_by.is_some() && !has_part {
                connection.begun(&runtime, join_timeout).await?;
            }
            Ok(connection)
        })
    }
}
