//! The connection that an application holds.

use super::agent::{AgentRequest, AgentState, Leave, ended};
use super::dropped::Dropped;
use super::link::GroupLinkShared;
use super::statistics::GroupStatistics;
use crate::handshake::Agreement;
use crate::link::End;
use crate::upgrade::{Epochs, Pick};
use bertha_core::{Base, BoxFuture, Buf, Connection, Drops, Error, ErrorKind, Runtime, Statistics, forward};
use futures_util::future::{Either, select};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// The task that changes stacks, and the task that writes this end's status to the store.
type Tasks<C> = (TaskOf<C>, Option<TaskOf<C>>);

type TaskOf<C> = <<<C as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// A connection with any number of endpoints, made by [`rendezvous`](crate::rendezvous::Rendezvous::rendezvous).
///
/// A `send` reaches all other participants; a `recv` receives from any participant. All participants agree
/// through a store on the stack in use. The stack changes while messages flow, for one of these reasons: a
/// participant [asks for a change](Self::upgrade); a [condition](bertha_core::NumParticipantsAtMost) of a
/// `select!` prefers another alternative among the present number of participants; a newcomer can't run the
/// stack; or the participant that led the round has gone.
///
/// # Promises
/// * **Changes** lose, repeat and swap no message of a sender. A message is delivered by the stack through
///   which it was sent, and all messages of a stack before any message of the next. For this purpose a `send`
///   waits while the Chunnels drain, and a `recv` waits while the Chunnels of other participants drain.
/// * **Loss.** The stack promises what its Chunnels promise. Over a group that loses messages, a change waits
///   for missing messages no longer than [`drain_timeout`](crate::rendezvous::RendezvousSettings::drain_timeout) after
///   the last message, and takes a duplicate that no Chunnel suppresses for a missing message. The last
///   messages of a participant that vanished may reach some participants and not others.
/// * **Participants that vanish** expire in the store, and are then no longer waited for. A participant that
///   expired although it is still there joins again. The other participants may have changed to another round
///   in the meantime; its messages in the round that they have left are lost.
/// * **The store** may fail: then no participant can join and nothing changes, but messages flow on.
/// * **Receiving.** A participant takes part in changes while its application receives. A participant that
///   does not receive for long holds up the next change, which is then refused for not being staged in time.
/// * **Cancellation.** The rules of every [`Connection`] hold. A `send` or `recv` that is neither polled nor
///   dropped holds a change up.
/// * **Guarantees.** A change loses no guarantee of the stack in use except the guarantees that this
///   participant [may lose](crate::rendezvous::RendezvousSettings::may_lose). A participant that expired, and finds a
///   weaker stack in force when it joins again, ends with [`Refused`](bertha_core::ErrorKind::Refused).
/// * **Attackers.** Messages are authenticated only with a
///   [`group_key`](crate::rendezvous::RendezvousSettings::group_key); see [the module](crate::rendezvous#attackers) for what holds
///   without a key.
///
/// A call takes no lock and no memory of its own: one compare-and-swap finds the round in force. A `send`
/// needs no other read-modify-write, as long as at most eight threads send; a `recv` adds to a count of its
/// sender's messages.
///
/// [`close`](Connection::close) leaves the connection. If a connection is dropped without `close`, the other
/// participants wait until the store has expired this participant.
pub struct MultiEndpoint<C: Connection> {
    epochs: Arc<Epochs<C>>,
    member: Arc<dyn GroupMember<C::Base>>,
    requests: mpsc::Sender<AgentRequest>,
    leaving: mpsc::Sender<Leave>,
    state: watch::Receiver<AgentState>,
    /// Time for which draining may hold up a close.
    drain_limit: Duration,
    _tasks: Tasks<C>,
}

/// The ends of the channels to the agent that the connection holds.
pub(super) struct Handles {
    pub(super) requests: mpsc::Sender<AgentRequest>,
    pub(super) leaving: mpsc::Sender<Leave>,
    pub(super) state: watch::Receiver<AgentState>,
}

/// The member's base connection, with its type erased.
pub(super) trait GroupMember<X>: Send + Sync {
    fn base(&self) -> &X;
    fn own_id(&self) -> u64;
    fn dropped(&self) -> &Dropped;
    fn observe(&self, into: &mut Statistics);
    /// Returns true if each message reaches one receiver, so that a dropped message is lost.
    fn is_shared(&self) -> bool;
    fn end(&self) -> BoxFuture<'_, Result<(), Error>>;
}

impl<B: Connection<Data = Buf>> GroupMember<B::Base> for GroupLinkShared<B> {
    fn base(&self) -> &B::Base {
        self.base.base()
    }

    fn own_id(&self) -> u64 {
        self.own_id.load(Ordering::Relaxed)
    }

    fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    fn observe(&self, into: &mut Statistics) {
        self.base.observe(into);
    }

    fn is_shared(&self) -> bool {
        GroupLinkShared::is_shared(self)
    }

    fn end(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.lifecycle.end(End::Closed);
        Box::pin(self.base.close())
    }
}

impl<C: Connection> MultiEndpoint<C> {
    pub(super) fn new(
        epochs: Arc<Epochs<C>>,
        member: Arc<dyn GroupMember<C::Base>>,
        handles: Handles,
        drain_limit: Duration,
        tasks: Tasks<C>,
    ) -> Self {
        let Handles { requests, leaving, state } = handles;
        Self { epochs, member, requests, leaving, state, drain_limit, _tasks: tasks }
    }

    /// Waits until a round has begun in which this participant has a part.
    pub(super) async fn begun(&self, runtime: &impl Runtime, limit: Duration) -> Result<(), Error> {
        let first = self.explain();
        let late = pin!(runtime.sleep_until(runtime.now() + limit));
        match select(pin!(self.changed(&first)), late).await {
            Either::Left((begun, _)) => begun.map(drop),
            Either::Right(_) => {
                let what = "no round began in which this participant has a part";
                let error = match &self.state.borrow().refusal {
                    Some(reason) => Error::new(ErrorKind::Refused, format!("{what}: {reason}")),
                    None => {
                        Error::new(ErrorKind::TimedOut, format!("{what}: somebody is late with an answer"))
                    }
                };
                Err(error.at("rendezvous"))
            }
        }
    }

    /// Returns this participant's id in the store. The id changes when the participant has expired and joined
    /// again.
    pub fn id(&self) -> u64 {
        self.member.own_id()
    }

    /// Returns the ids of all participants that this participant knows, its own included, in ascending order.
    pub fn participants(&self) -> Arc<[u64]> {
        self.state.borrow().participants.clone()
    }

    /// Waits until the number of participants differs from `known`, and returns the number.
    ///
    /// Cancellation-safe.
    ///
    /// # Errors
    /// [`Closed`](bertha_core::ErrorKind::Closed) once the connection has ended.
    pub async fn participants_other_than(&self, known: usize) -> Result<usize, Error> {
        let mut states = self.state.clone();
        let state = states.wait_for(|state| state.participants.len() != known).await.map_err(|_| ended())?;
        Ok(state.participants.len())
    }

    /// Returns the stack through which this participant sends.
    pub fn explain(&self) -> Arc<Agreement> {
        self.state.borrow().agreement.clone()
    }

    /// Waits until this participant sends through another stack than the stack of `since`, which
    /// [`explain`](Self::explain) or an earlier call returned. Changes that happened between two calls count
    /// as one change.
    ///
    /// Cancellation-safe.
    ///
    /// # Errors
    /// [`Closed`](bertha_core::ErrorKind::Closed) once the connection has ended.
    pub async fn changed(&self, since: &Agreement) -> Result<Arc<Agreement>, Error> {
        let mut states = self.state.clone();
        let is_new = |state: &AgentState| !std::ptr::eq(&raw const *state.agreement, since);
        let state = states.wait_for(is_new).await.map_err(|_| ended())?;
        Ok(state.agreement.clone())
    }

    /// Returns the number of messages that were dropped since they were damaged, late, of another connection,
    /// or found no room.
    pub fn dropped(&self) -> u64 {
        self.member.dropped().by_link()
    }

    /// Returns the messages that this participant has dropped, by layer and reason: below the stack, and in
    /// each Chunnel that [counts them](bertha_core::ConnectContext::counts_drops), messages of earlier rounds
    /// included.
    pub fn drops(&self) -> Drops {
        self.member.dropped().report()
    }

    /// Returns the state of the connection at this moment, by layer: of the group, of the datapath, and of each
    /// Chunnel that [lets itself be observed](bertha_core::ConnectContext::observes), with the
    /// [drops](Self::drops) of each.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        self.member.observe(&mut statistics);
        let (participants, round) = {
            let state = self.state.borrow();
            (state.participants.len(), state.agreement.round())
        };
        statistics.add("GroupLink", GroupStatistics { participants, round });
        self.member.dropped().by_chunnels.observe(&mut statistics);
        statistics.add_drops(&self.drops());
        statistics
    }

    /// Asks all participants to change to other alternatives of the stack's `select!`s, while messages flow.
    /// The future is ready when this participant sends through the new stack.
    ///
    /// Changes happen one after the other, and so do the calls of one participant. A policy that prefers
    /// another alternative proposes it afterwards. Dropping the future does not withdraw the request.
    ///
    /// # Errors
    /// The stack in use goes on after each of these errors.
    /// * [`Invalid`](bertha_core::ErrorKind::Invalid): there are no such alternatives.
    /// * [`Refused`](bertha_core::ErrorKind::Refused): a participant can't run such a stack, or did not stage it in time, or would lose a
    ///   guarantee; the text names the participant and the reason.
    /// * [`TimedOut`](bertha_core::ErrorKind::TimedOut): the store took this participant for gone in the meantime.
    /// * The errors of the store, and [`Closed`](bertha_core::ErrorKind::Closed) once the connection has
    ///   ended.
    pub async fn upgrade(&self, to: Pick) -> Result<Arc<Agreement>, Error> {
        let (report, reported) = oneshot::channel();
        self.requests.send(AgentRequest { pick: to, report }).await.map_err(|_| ended())?;
        reported.await.map_err(|_| ended())??;
        Ok(self.explain())
    }
}

impl<C: Connection> Connection for MultiEndpoint<C> {
    type Data = C::Data;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.member.base()
    }

    forward!(self.epochs => mtu, send, recv, send_batch, recv_batch, drain);

    /// Drains the Chunnels, leaves the connection, and closes. The other participants go on. This participant
    /// stays until a change that is under way is complete and, if it leads, until the other participants have
    /// begun another round: each for [`handover_timeout`](crate::rendezvous::RendezvousSettings::handover_timeout) at
    /// most. Messages that arrive in the meantime are dropped.
    async fn close(&self) -> Result<(), Error> {
        let runtime = self.base().runtime();
        let late = pin!(runtime.sleep_until(runtime.now() + self.drain_limit));
        if let Either::Left((Err(error), _)) = select(pin!(self.drain()), late).await {
            tracing::debug!(target: "bertha::negotiation", %error, "a stack was not drained before it was closed");
        }
        let (report, left) = oneshot::channel();
        // A change under way is finished first, and a leader answers the other participants until they have
        // another leader.
        let serving = pin!(async {
            if self.member.is_shared() {
                std::future::pending::<()>().await;
            }
            while self.recv().await.is_ok() {
                self.member.dropped().after_end.add(1);
            }
        });
        let leaving = pin!(async {
            match self.leaving.send(report).await {
                // An agent that has ended has left already.
                Ok(()) => left.await.unwrap_or(Ok(())),
                Err(_) => Ok(()),
            }
        });
        let left = match select(leaving, serving).await {
            Either::Left((left, _)) => left,
            Either::Right(((), leaving)) => leaving.await,
        };
        self.member.end().await?;
        left
    }
}

impl<C: Connection> fmt::Debug for MultiEndpoint<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.borrow();
        f.debug_struct("MultiEndpoint")
            .field("stack", &format_args!("{}", state.agreement))
            .field("participants", &state.participants.len())
            .finish_non_exhaustive()
    }
}
