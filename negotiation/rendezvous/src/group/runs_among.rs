//! The one bound that generic code needs.

use super::agent::{Agent, Changes, State, build, known, round_of};
use super::connection::{Bottom, MultiEndpoint};
use super::handover::Stage;
use super::link::{GroupLink, Shared};
use crate::participant::Participant;
use crate::settings::RendezvousSettings;
use crate::store::{Name, RendezvousStore};
use bertha_core::guarantee::Set;
use bertha_core::{Base, BoxFuture, Chunnel, Connection, Error, Group, Runtime};
use bertha_negotiation::Agreement;
use bertha_negotiation::handshake::{Requirements, check_possible};
use bertha_negotiation::internals::Rounds;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// How many standings of others wait for the agent; they are said again.
const HEARD: usize = 1024;

/// How many wishes of the application wait for the agent.
const WISHES: usize = 8;

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
            // First, so that what others send from the moment at which they see this participant is here.
            let base = self.join().await?;
            let nodes = stack.nodes();
            // Before anybody hears of it.
            check_possible(&nodes, Requirements::new(Set::NONE, base.base().properties()))?;
            let runtime = base.base().runtime().clone();
            let participant =
                Participant::join(store, name, &stack, runtime.clone(), settings.clone()).await?;
            let in_force = participant.joined().clone();
            let (to_agent, heard) = mpsc::channel(HEARD);
            let shared = Shared::new(base, in_force.own_id, to_agent);
            let (leads, picks) = (in_force.leads(), in_force.picks.clone());
            // Who leads the first round has made it, so it hears all that is sent in it.
            let link = shared.begin(round_of(&in_force), leads, false);
            let again = link.again();
            let before = shared.base.base().reserved();
            let built = build(&stack, link, &picks, leads).await?;
            let current = Stage::new(built, &again, before);
            let rounds = Arc::new(Rounds::new(&current.round));
            let agreement = Agreement::among(leads, &nodes, (in_force.round, picks));
            let participants = Arc::new([in_force.own_id]);
            let (state, seen) = watch::channel(State { agreement: Arc::new(agreement), participants });
            let (wishes, wished) = mpsc::channel(WISHES);
            let (leaving, farewell) = mpsc::channel(1);
            let agent = Agent {
                stack: Arc::new(stack),
                shared: shared.clone(),
                rounds: rounds.clone(),
                participant,
                settings: settings.clone(),
                heard,
                wished,
                farewell,
                state,
                known: known(runtime.now(), &in_force),
                current,
                in_force,
                changes: Changes::default(),
            };
            let task = runtime.spawn(agent.run());
            let bottom: Arc<dyn Bottom<_>> = shared;
            Ok(MultiEndpoint::new(rounds, bottom, (wishes, leaving), seen, settings.handover_timeout, task))
        })
    }
}
